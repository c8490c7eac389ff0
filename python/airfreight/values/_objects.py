"""Columns of Python objects to Arrow and back.

Cells of one type that Arrow gives back are a plain column of that type. All others, and cells of
several types, are a text column of documents (`formats/document.md`), one for each cell.
"""

from __future__ import annotations

import datetime
import decimal
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from airfreight import _json
from airfreight.values import document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airfreight.values import Options

#: Python's numbers in a column of objects, by the name that the spec gives them.
_NUMBERS = {"bool": "bool", "int": "int64", "float": "float64"}
#: What a list may hold to be one of Arrow: its type there.
_LIST_ITEMS = {
    bool: ("bool", pa.bool_()),
    bytes: ("bytes", pa.large_binary()),
    float: ("float", pa.float64()),
    int: ("int", pa.int64()),
    str: ("string", pa.large_string()),
}
#: Of Arrow's decimal128.
_MAX_DIGITS = 38
#: Cells that become documents at a time, and the bytes of these: bounds what exists twice.
_FIRST_CELLS = 1 << 8
_MAX_CELLS = 1 << 16
_CELL_BYTES = 16 << 20
#: Elements of a text column that are measured to estimate its size.
_SAMPLE = 512
#: Days of a `datetime.timedelta` that 64 bits of microseconds hold, however long the last of them.
_MAX_DAYS = datetime.timedelta(microseconds=2**63 - 1).days - 1


class Refused(Exception):  # noqa: N818 (becomes a TypeError with the column's label)
    """A column that can't be kept exactly, and why."""


class Plan(NamedTuple):
    """How a column of objects is kept.

    Attributes:
        spec: members of its spec.
        type: of Arrow.
        values: what `to_arrow` takes slices of.
        row_bytes: estimated Arrow memory of one row.
    """

    spec: dict[str, Any]
    type: pa.DataType
    values: Any
    row_bytes: float


def plan(values: np.ndarray[Any, Any], options: Options | None) -> Plan:
    """Decides how cells are kept, by one pass over their types.

    Raises:
        Refused: one can't be kept exactly.
    """
    # No list of the cells is made, which would take longer than the look at them.
    address, _ = values.__array_interface__["data"]
    cells = address, len(values), values.strides[0]
    kinds = _json.types_at(*cells)
    nulls = []
    if type(None) in kinds:
        nulls.append("none")
    if type(pd.NA) in kinds:
        nulls.append("na")
    kinds -= {type(None), type(pd.NA)}
    if float in kinds:
        numbers, nans = _json.floats_at(*cells)
        if numbers and len(kinds) > 1:
            return documents(values.tolist(), options)
        if nans:
            nulls.append("nan")
        if not numbers and len(kinds) > 1:
            kinds.discard(float)
    if len(kinds) > 1 or len(nulls) > 1:
        return documents(values.tolist(), options)
    null = nulls[0] if nulls else "none"
    found = _plain(kinds.pop() if kinds else type(None), cells, values)
    if found is None:
        return documents(values.tolist(), options)
    name, arrow, row_bytes, more = found
    return Plan({"null": null, "arrow": name, **more}, arrow, values, row_bytes)


def to_arrow(values: Any, kind: pa.DataType, spec: dict[str, Any]) -> pa.Array:
    """The Arrow array of some cells."""
    name = spec["arrow"]
    if name == "document":
        return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], kind)
    if name == "list":
        missing = np.fromiter((type(item) is not list for item in values), bool, len(values))
        return pa.array(values.tolist(), type=kind, mask=missing)
    if name == "ndarray":
        arrays = [item if isinstance(item, np.ndarray) else None for item in values]
        lengths = [0 if item is None else len(item) for item in arrays]
        missing = np.array([item is None for item in arrays], dtype=bool)
        offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        there = [item for item in arrays if item is not None]
        flat = np.concatenate(there) if there else np.empty(0, dtype=spec["items"])
        return pa.LargeListArray.from_arrays(
            pa.array(offsets, mask=np.append(missing, [False])) if missing.any() else offsets,
            pa.array(flat, type=kind.value_type),
        )
    return pa.array(values, type=kind, from_pandas=True)


def from_arrow(chunks: pa.ChunkedArray, spec: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The inverse of `to_arrow`: an array of objects."""
    kind = spec["arrow"]
    array = np.empty(len(chunks), dtype=object)
    start = 0
    for chunk in chunks.chunks:
        stop = start + len(chunk)
        array[start:stop] = _cells(chunk, kind, spec)
        start = stop
    if chunks.null_count and kind != "document":
        null = {"none": None, "nan": np.nan, "na": pd.NA}[spec["null"]]
        array[chunks.is_null().to_numpy()] = null
    return array


# --- Documents ------------------------------------------------------------------------------------


def documents(items: Sequence[Any], options: Options | None) -> Plan:
    """Cells as documents: None as null, so that tools that read the column see what is missing.

    Raises:
        Refused: names the cell.
    """
    chunks: list[pa.Array] = []
    start, step = 0, _FIRST_CELLS
    while start < len(items):
        chunks.append(pa.array(_texts(items, start, step, options), pa.large_string()))
        start += step
        step = _step(chunks[-1])
    values = pa.chunked_array(chunks, pa.large_string())
    row_bytes = values.nbytes / max(1, len(values))
    return Plan({"arrow": "document"}, values.type, values, row_bytes)


def _step(texts: pa.Array) -> int:
    """How many cells to take at a time, by what these are like."""
    fitting: int = _CELL_BYTES * len(texts) // (texts.nbytes + 1)
    return max(1, min(_MAX_CELLS, fitting))


def _texts(
    items: Sequence[Any], start: int, count: int, options: Options | None
) -> list[bytes | None]:
    cells = items[start : start + count]
    try:
        return document.Encoder(options=options).texts(list(cells))
    except document.Unsupported as error:
        step = error.steps.pop() if error.steps else "[0]"
        place = f"row {start + int(step[1:-1])}"
        message = str(error.as_type_error()).removeprefix("value")
        raise Refused(f"{place}{message}") from None


def undocument(chunk: pa.Array) -> Iterator[Any]:
    """The cells of documents."""
    step = _step(chunk)
    for start in range(0, len(chunk), step):
        texts = chunk.slice(start, step).cast(pa.large_binary()).to_pylist()
        yield from document.decode(memoryview(document.array(texts)))


# --- Plain columns --------------------------------------------------------------------------------


def _plain(
    kind: type, cells: tuple[int, int, int], values: np.ndarray[Any, Any]
) -> tuple[str, pa.DataType, float, dict[str, Any]] | None:
    """Name, type and size of a column whose cells are of one type; None: Arrow changes them."""
    if kind is str:
        return "string", pa.large_string(), sampled_bytes(values), {}
    if kind is type(None):
        return "null", pa.null(), 0.125, {}
    if kind is bool:
        return "bool", pa.bool_(), 0.25, {}
    if kind is float:
        return "float", pa.float64(), 8, {}
    if kind is bytes:
        return "bytes", pa.large_binary(), sampled_bytes(values), {}
    if kind is datetime.date:
        return "date", pa.date32(), 4, {}
    if kind is int:
        # Those beyond 64 bits show when they are converted, at no cost for all others.
        return "int", pa.int64(), 8, {}
    if kind in (datetime.time, datetime.datetime):
        if not _json.naive_at(*cells):
            return None
        if kind is datetime.time:
            return "time", pa.time64("us"), 8, {}
        return "datetime", pa.timestamp("us"), 8, {}
    if kind is datetime.timedelta:
        fits = _json.days_at(*cells) <= _MAX_DAYS
        return ("timedelta", pa.duration("us"), 8, {}) if fits else None
    if kind is decimal.Decimal:
        arrow = _decimal_type(cells)
        return None if arrow is None else ("decimal", arrow, 16, {})
    if kind is list:
        return _lists(cells)
    if kind is np.ndarray:
        return _arrays([item for item in values.tolist() if type(item) is kind])
    return None


def _decimal_type(cells: tuple[int, int, int]) -> pa.DataType | None:
    """Arrow gives all decimals of a column one number of places, so they must have it already."""
    found = _json.decimals_at(*cells)
    if found is None:
        return None
    digits, places = found
    return pa.decimal128(digits, places) if places >= 0 and digits <= _MAX_DIGITS else None


def _lists(cells: tuple[int, int, int]) -> tuple[str, pa.DataType, float, dict[str, Any]] | None:
    kinds, total = _json.lists_at(*cells)
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind not in _LIST_ITEMS:
        return None
    name, arrow = _LIST_ITEMS[kind]
    each = 16 if kind in (str, bytes) else 8
    return "list", pa.large_list(arrow), 8 + each * total / cells[1], {"items": name}


def _arrays(items: list[Any]) -> tuple[str, pa.DataType, float, dict[str, Any]] | None:
    """Vectors of numbers, of one dtype."""
    dtype = items[0].dtype
    # (Parquet has no half floats before pyarrow 15, and no long doubles; a `longlong` would come
    # back as the `int64` that it equals.)
    if dtype.kind not in "biuf" or not dtype.isnative or dtype in (np.float16, np.longdouble):
        return None
    if np.dtype(dtype.str).char != dtype.char:
        return None
    # Nearly always they share one object, which is then looked at once.
    dtypes = {id(each): each for each in map(attrgetter("dtype"), items)}
    if set(map(attrgetter("ndim"), items)) != {1} or any(
        each != dtype or each.char != dtype.char or each.metadata is not None
        for each in dtypes.values()
    ):
        return None
    row_bytes = 8 + dtype.itemsize * sum(map(len, items)) / len(items)
    return "ndarray", pa.large_list(pa.from_numpy_dtype(dtype)), row_bytes, {"items": dtype.str}


def sampled_bytes(values: Any) -> float:
    """Estimated bytes of one text, with its offset."""
    step = max(1, len(values) // _SAMPLE)
    sizes = [len(item) for item in values[::step] if isinstance(item, (str, bytes))]
    return 8 + sum(sizes) / max(1, len(sizes))


def _cells(chunk: pa.Array, kind: str, spec: dict[str, Any]) -> Any:
    """An array of objects: never a list, which numpy would look into for more dimensions."""
    if kind in ("string", "bytes"):
        return chunk.to_numpy(zero_copy_only=False)
    if kind in _NUMBERS:
        filled = chunk.fill_null(False if kind == "bool" else 0)
        return filled.to_numpy(zero_copy_only=False).astype(object)
    return np.fromiter(_items(chunk, kind, spec), dtype=object, count=len(chunk))


def _items(chunk: pa.Array, kind: str, spec: dict[str, Any]) -> Any:
    if kind == "list":
        flat = chunk.values
        whole = flat.to_pylist() if spec["items"] in ("string", "bytes", "bool") else (
            flat.to_numpy(zero_copy_only=False).tolist()
        )  # fmt: skip
        return (whole[a:b] for a, b in _bounds(chunk))
    if kind == "ndarray":
        numbers = chunk.values.to_numpy(zero_copy_only=False)
        return (numbers[a:b].astype(spec["items"]) for a, b in _bounds(chunk))
    if kind == "document":
        return undocument(chunk)
    return chunk.to_pylist()


def _bounds(chunk: pa.Array) -> Any:
    """Where each list lies in the values of all."""
    offsets = chunk.offsets.to_numpy().tolist()
    return pairwise(offsets)

"""One column of a frame (or one level of its index) to Arrow and back, exactly.

A column is described by its spec, a small JSON object in the file's metadata, from which the reader
makes the same dtype again; Arrow's and pandas' own notions of a round trip are not relied on.
"""

from __future__ import annotations

import base64
import datetime
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from airfreight._imports import loading
from airfreight.errors import UnsupportedError
from airfreight.values import _arrow_types, _objects, document
from airfreight.values._freq_names import of_period
from airfreight.values._freqs import pack_freq, same_freq, set_freq, unpack_freq
from airfreight.values._objects import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airfreight.values import Options

#: The dtypes of numpy that Parquet keeps: kind letters of numpy.dtype.kind.
_NUMPY_KINDS = "biufmM"
#: pandas' masked dtypes, whose names make them again.
_MASKED = frozenset(
    (
        *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)),
        "Float32",
        "Float64",
        "boolean",
    )
)
#: What an integer of time is when there is no time.
_NO_TIME = np.iinfo(np.int64).min
#: Parquet has no seconds: they become milliseconds.
_MAX_SECONDS = (2**63 - 1) // 1000
#: Whether Parquet has half floats: since pyarrow 15.
_HALF_FLOATS = int(pa.__version__.partition(".")[0]) >= 15
#: Kinds, and among them those of `arrow`, that version 1 of the format knows.
_FIRST_KINDS = frozenset(
    (
        *("arrow", "categorical", "interval", "masked", "numpy"),
        *("object", "period", "string", "zoned"),
    )
)
_FIRST_OBJECTS = frozenset(
    ("bool", "bytes", "date", "decimal", "float", "int", "null", "string", "time")
)
#: Members of a spec that version 1 does not know.
_LATER_MEMBERS = frozenset(("documents", "freq", "freqs", "schema", "ticks"))
#: Numbers that stay in a core's cache while their nulls are filled.
_FILLED_AT_ONCE = 32 << 10

#: Fill values of sparse dtypes that tell nothing of the cells. (numpy has "np.int64(0)" for one.)
_NO_FILLS = frozenset(("", "nan", "0", "0.0", "0j", "False", "NaT", "<NA>"))

#: Bytes of labels or categories from which on they are compressed.
WORTH_COMPRESSING = 4096


@dataclass(frozen=True)
class Column:
    """How one column is kept.

    Attributes:
        spec: for the file's metadata: what `from_arrow` makes the column of again.
        type: Arrow type in the file.
        values: what `to_arrow` takes slices of: an array of numpy or of pandas.
        row_bytes: estimated Arrow memory of one row.
    """

    spec: dict[str, Any]
    type: pa.DataType
    values: Any
    row_bytes: float


def describe(column: Column) -> str:
    """The dtype, for people."""
    name = str(column.spec["dtype"])
    if column.spec["kind"] == "sparse":
        head, _, fill = name.removesuffix("]").partition(", ")
        if re.sub(r"np\.\w+\((.*)\)", r"\1", fill).strip("'") not in _NO_FILLS:
            name = f"{head}]"  # It is what cells hold.
    return name


def null_count(column: Column, array: pa.Array) -> int:
    """How many of the cells are null in an array that `to_arrow` made of them; -1: not known."""
    spec = column.spec
    if spec["kind"] == "sparse":
        spec = spec["values"]
    kind = spec["kind"]
    if kind in ("complex", "raw"):
        return -1
    if kind == "interval":
        array = array.field(0)
    elif kind == "ipc":  # Of all rows, in the first of them.
        return -1
    return int(array.null_count)


def version(spec: dict[str, Any]) -> int:
    """The version of the format that a reader of this spec must know."""
    kind = spec["kind"]
    if kind == "categorical":
        from airfreight.values._labels import version as labels_version

        return labels_version(spec["categories"])
    if kind == "interval" and "freqs" not in spec:
        return version(spec["ends"])
    first = kind in _FIRST_KINDS and not _LATER_MEMBERS & spec.keys()
    return 1 if first and (kind != "object" or spec["arrow"] in _FIRST_OBJECTS) else 2


def may_be_documents(column: Column) -> bool:
    """Whether the cells of a column are no documents, and can be."""
    spec = column.spec
    if spec["kind"] == "object":
        return bool(spec["arrow"] != "document")
    return spec["kind"] == "string" and "documents" not in spec


def make_column(
    series: pd.Series[Any] | pd.Index[Any],
    options: Options | None = None,
    *,
    documents: bool = False,
) -> Column:
    """Decides how a column is kept. `documents`: texts as documents, which keep any code points.

    Raises:
        Refused: it can't be kept exactly.
    """
    dtype = series.dtype
    spec: dict[str, Any] = {"dtype": str(dtype)}
    if isinstance(dtype, np.dtype):
        if dtype.kind == "O":
            return _object_column(series, spec, options, documents=documents)
        return _numpy_column(series, dtype, spec)
    if isinstance(dtype, pd.CategoricalDtype):
        return _categorical_column(series, dtype, spec, options)
    if isinstance(dtype, pd.DatetimeTZDtype):
        spec["kind"] = "zoned"
        spec["unit"] = dtype.unit
        spec["zone"] = pack_zone(dtype.tz)
        # As UTC without a zone: Arrow and pandas need not agree on how zones are called.
        values = series.array.asi8
        if dtype.unit == "s" and not _fits_milliseconds(values):
            spec["ticks"] = True
            return Column(spec, pa.int64(), values, 8)
        return Column(spec, pa.timestamp(dtype.unit, "UTC"), values, 8)
    if isinstance(dtype, pd.StringDtype):
        spec["kind"] = "string"
        spec["storage"] = str(dtype.storage).partition("_")[0]  # "pyarrow_numpy" of pandas 2.1
        spec["na"] = "nan" if _is_missing_nan(dtype) else "na"
        array = series.array
        if documents:
            spec["documents"] = True
            cells = [cell if isinstance(cell, str) else None for cell in array.tolist()]
            plan = _objects.documents(cells, options)
            return Column(spec, plan.type, plan.values, plan.row_bytes)
        return Column(spec, pa.large_string(), array, _text_bytes(array, series))
    if str(dtype) in _MASKED:
        spec["kind"] = "masked"
        array = series.array
        return Column(
            spec, pa.from_numpy_dtype(dtype.numpy_dtype), array, dtype.numpy_dtype.itemsize + 0.125
        )
    if isinstance(dtype, pd.PeriodDtype):
        spec["kind"] = "period"
        if not _is_told(dtype):
            spec["freq"] = pack_freq(dtype.freq, options)
        return Column(spec, pa.int64(), series.array.asi8, 8)
    if isinstance(dtype, pd.IntervalDtype):
        spec["kind"] = "interval"
        spec["closed"] = dtype.closed
        left, right = series.array.left, series.array.right
        ends = [make_column(left), make_column(right)]
        if ends[0].spec != ends[1].spec:  # One of them is beyond what the other's type holds.
            ends = [_ticks(ends[0], left), _ticks(ends[1], right)]
        spec["ends"] = ends[0].spec
        freqs = [getattr(end, "freq", None) for end in (left, right)]
        if isinstance(left, (pd.DatetimeIndex, pd.TimedeltaIndex)) and any(freqs):
            spec["freqs"] = [freq and pack_freq(freq, options) for freq in freqs]
        struct = pa.struct([("left", ends[0].type), ("right", ends[1].type)])
        return Column(spec, struct, ends, 2 * ends[0].row_bytes)
    if isinstance(dtype, pd.ArrowDtype):
        # (To make a chunked array of one again loses what types are not registered.)
        chunks = series.array.__arrow_array__()
        if not isinstance(chunks, pa.ChunkedArray):
            chunks = pa.chunked_array([chunks])
        more, arrow = _arrow_types.plan(chunks)
        return Column(spec | more, arrow, chunks, _arrow_types.size(chunks) / max(1, len(chunks)))
    if isinstance(dtype, pd.SparseDtype):
        return _sparse_column(series, dtype, spec, options)
    raise Refused(
        f"its dtype {dtype} is not supported; convert it with .astype(…) before it is pushed"
    )


def _is_told(dtype: pd.PeriodDtype) -> bool:
    """Whether the name of a dtype tells its frequency in full."""
    try:
        named: Any = pd.api.types.pandas_dtype(str(dtype))
    except TypeError:  # Weeks that end on no day in particular have none.
        return False
    return same_freq(named.freq, dtype.freq)


def to_arrow(column: Column, start: int, stop: int) -> pa.Array:
    """The Arrow array of some rows."""
    spec = column.spec
    kind = spec["kind"]
    if kind == "interval":
        ends = [to_arrow(end, start, stop) for end in column.values]
        return pa.StructArray.from_arrays(ends, ["left", "right"])
    if kind in ("arrow", "ipc"):
        return _arrow_types.to_arrow(column.values, spec, start, stop)
    if isinstance(column.values, Column):
        return to_arrow(column.values, start, stop)
    values = column.values[start:stop]
    if kind == "sparse":
        spec, kind, values = spec["values"], spec["values"]["kind"], values.to_dense()
    if kind == "numpy":
        if (nulls := _nulls(values, column.type)) is not None:
            return _of_numbers(values, column.type, nulls)
        return pa.array(values, type=column.type, from_pandas=True)
    if kind in ("zoned", "period", "ticks"):
        return _of_numbers(values, pa.int64(), values == _NO_TIME).cast(column.type)
    if kind == "categorical":
        return _of_numbers(values, column.type, values < 0)
    if kind == "masked" and isinstance(values, pd.arrays.IntegerArray):
        return _of_numbers(values._data, column.type, values._mask)
    if kind == "object":
        return _objects.to_arrow(values, column.type, spec)
    if kind == "complex":
        parts = [pa.array(np.ascontiguousarray(part)) for part in (values.real, values.imag)]
        return pa.StructArray.from_arrays(parts, ["real", "imag"])
    if kind == "raw":
        data = np.ascontiguousarray(values)
        return pa.Array.from_buffers(column.type, len(data), [None, pa.py_buffer(data.tobytes())])
    if spec.get("documents"):
        return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], column.type)
    array = pa.array(values, type=column.type)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _nulls(values: Any, kind: pa.DataType) -> Any:
    """Which of some numbers are none; None where pyarrow has to look, and perhaps to convert."""
    dtype = values.dtype
    if dtype.kind not in "fmM" or dtype.itemsize < 4 or pa.from_numpy_dtype(dtype) != kind:
        return None
    return np.isnan(values) if dtype.kind == "f" else np.isnat(values)


def _of_numbers(values: Any, kind: pa.DataType, nulls: Any) -> pa.Array:
    """The array of numbers that it is to hold as they are, in their own memory.

    As pyarrow makes it, which looks at them one by one and takes four times as long.
    """
    values = np.ascontiguousarray(values)
    count = int(np.count_nonzero(nulls))
    bitmap = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if count else None
    raw = pa.py_buffer(values.view(f"i{values.dtype.itemsize}"))
    return pa.Array.from_buffers(kind, len(values), [bitmap, raw], count)


def from_arrow(chunks: pa.ChunkedArray, spec: dict[str, Any]) -> Any:
    """The inverse: an array of numpy or of pandas that may be written to, in memory of its own.

    `chunks` may lose theirs to it: nobody may use them any more.
    """
    kind = spec["kind"]
    if kind == "numpy":
        return _numpy_from(chunks, np.dtype(spec["dtype"]))
    if kind == "object":
        return _objects.from_arrow(chunks, spec)
    if kind == "zoned":
        moments = pd.DatetimeIndex(_times_from(chunks, np.dtype(f"M8[{spec['unit']}]")))
        return moments.tz_localize("UTC").tz_convert(unpack_zone(spec["zone"])).array
    if kind == "ticks":
        return _times_from(chunks, np.dtype(spec["dtype"]))
    if kind == "period":
        if "freq" in spec:
            dtype: Any = pd.PeriodDtype(unpack_freq(spec["freq"]))
        else:
            name = spec["dtype"].removeprefix("period[").removesuffix("]")
            dtype = of_period(pd.PeriodDtype, name)
        ordinals = _numpy_from(chunks, np.dtype("i8"), _NO_TIME)
        return pd.arrays.PeriodArray(ordinals, dtype=dtype)
    if kind == "categorical":
        from airfreight.values._labels import unpack_index

        codes = _numpy_from(chunks, np.dtype(str(chunks.type)), -1)
        categories = unpack_index(spec["categories"], None)
        dtype = pd.CategoricalDtype(categories, ordered=spec["ordered"])
        return pd.Categorical.from_codes(codes, dtype=dtype)
    if kind == "string":
        return _string_from(chunks, spec)
    if kind == "masked":
        dtype = pd.api.types.pandas_dtype(spec["dtype"])
        mask = np.concatenate([_valid(chunk) for chunk in chunks.chunks] or [[]]) == 0
        filler = False if spec["dtype"] == "boolean" else 0
        data = _numpy_from(chunks, dtype.numpy_dtype, filler)
        return dtype.construct_array_type()(data, mask)
    if kind == "interval":
        left, right = (from_arrow(_field(chunks, end), spec["ends"]) for end in ("left", "right"))
        array = pd.arrays.IntervalArray.from_arrays(left, right, closed=spec["closed"])
        for end, freq in zip((array.left, array.right), spec.get("freqs", ()), strict=False):
            if freq is not None:
                set_freq(end, unpack_freq(freq))
        return array
    if kind in ("arrow", "ipc"):
        return pd.arrays.ArrowExtensionArray(_arrow_types.from_arrow(chunks, spec))
    if kind == "complex":
        array = np.empty(len(chunks), dtype=spec["dtype"])
        for part in ("real", "imag"):
            ends = _numpy_from(_field(chunks, part), getattr(array, part).dtype)
            setattr(array, part, ends)
        return array
    if kind == "raw":
        return _raw_from(chunks, spec)
    if kind == "sparse":
        return _sparse_from(chunks, spec)
    raise ValueError(f"a column of an unknown kind {kind!r}")


def from_batches(
    batches: Iterator[list[Any]], rows: int, specs: Sequence[dict[str, Any]]
) -> list[Any]:
    """As `from_arrow`, of columns that come in batches of rows: arrays, or chunks of them.

    Numbers of one batch of many are where they belong before the next is decoded, whose memory is
    then the same. The lists are emptied.
    """
    arrays: list[Any] = [None] * len(specs)
    others: list[list[pa.Array]] = [[] for _ in specs]
    kinds: list[Any] = [None] * len(specs)
    start = 0
    for columns in batches:
        stop = start + (len(columns[0]) if columns else 0)
        if rows and stop == start:
            continue
        for position, spec in enumerate(specs):
            column, columns[position] = columns[position], None
            if spec["kind"] == "numpy" and stop - start < rows:
                if arrays[position] is None:
                    arrays[position] = np.empty(rows, np.dtype(spec["dtype"]))
                _put(arrays[position][start:stop], column)
            else:
                others[position] += getattr(column, "chunks", [column])
                kinds[position] = column.type
        start = stop
    for position, spec in enumerate(specs):
        if arrays[position] is None:
            # Each Arrow column goes as soon as its array is there.
            chunks, others[position] = others[position], []
            arrays[position] = from_arrow(pa.chunked_array(chunks, kinds[position]), spec)
    return arrays


# --- numpy ----------------------------------------------------------------------------------------


def _numpy_column(series: Any, dtype: np.dtype[Any], spec: dict[str, Any]) -> Column:
    values = series.to_numpy()
    if not dtype.isnative:
        # Its numbers in the order of this machine; the spec says in which they were.
        values = values.astype(dtype.newbyteorder("="))
    size = dtype.itemsize
    if dtype.char in "gG" or (dtype.kind == "f" and size == 2 and not _HALF_FLOATS):
        spec |= {"kind": "raw", "dtype": dtype.str, "mantissa": int(np.finfo(dtype).nmant)}
        if dtype.char in "gG":
            values = _without_padding(values)
        return Column(spec, pa.binary(size), values, size)
    if dtype.kind == "c":
        spec |= {"kind": "complex", "dtype": dtype.str}
        part = pa.float32() if size == 8 else pa.float64()
        struct = pa.struct([("real", part), ("imag", part)])
        return Column(spec, struct, values, size)
    if dtype.kind not in _NUMPY_KINDS:
        raise Refused(f"its dtype {dtype} is not supported; convert it with .astype(…)")
    if dtype.kind == "M" and np.datetime_data(dtype)[0] == "s":
        ticks = values.view("i8")
        if not _fits_milliseconds(ticks):
            spec["kind"] = "ticks"
            return Column(spec, pa.int64(), ticks, size)
    spec["kind"] = "numpy"
    if not dtype.isnative:
        spec["dtype"] = dtype.str
    if np.dtype(dtype.str).char != dtype.char:  # `longlong`, which is an `int64` by its bytes.
        name = "longlong" if dtype.kind == "i" else "ulonglong"
        spec["dtype"] = name if dtype.isnative else f"{dtype.str[0]}{dtype.char}"
    return Column(spec, pa.from_numpy_dtype(values.dtype), values, size)


def _fits_milliseconds(seconds: Any) -> bool:
    beyond = (seconds > _MAX_SECONDS) | ((seconds < -_MAX_SECONDS) & (seconds != _NO_TIME))
    return not beyond.any()


def _ticks(column: Column, ends: pd.Index[Any]) -> Column:
    """A column of seconds that is like one beyond what milliseconds hold."""
    if column.spec["kind"] == "zoned":
        return Column(column.spec | {"ticks": True}, pa.int64(), column.values, 8)
    return Column(column.spec | {"kind": "ticks"}, pa.int64(), ends.asi8, 8)


def _without_padding(values: Any) -> Any:
    """Long doubles whose bytes beyond the number, which are anything, are zeros."""
    values = np.array(values)
    if np.finfo(values.dtype).nmant == 63:  # The extended precision of x86: 10 bytes.
        part = values.dtype.itemsize // (2 if values.dtype.kind == "c" else 1)
        values.view("u1").reshape(-1, part)[:, 10:] = 0
    return values


def _raw_from(chunks: pa.ChunkedArray, spec: dict[str, Any]) -> Any:
    dtype = np.dtype(spec["dtype"])
    if np.finfo(dtype).nmant != spec["mantissa"]:
        raise UnsupportedError(
            f"a column of {dtype} was written on a machine whose numbers of that name have "
            f"{spec['mantissa']} bits; here they have {np.finfo(dtype).nmant}."
        )
    raw = b"".join(b"".join(chunk.to_pylist()) for chunk in chunks.chunks)
    # They lie in the order of the machine that wrote them, whatever the dtype's is.
    return np.frombuffer(bytearray(raw), dtype=dtype.newbyteorder("=")).astype(dtype, copy=False)


def _times_from(chunks: pa.ChunkedArray, dtype: np.dtype[Any]) -> Any:
    if not pa.types.is_integer(chunks.type):
        return _numpy_from(chunks, dtype)
    return _numpy_from(chunks, np.dtype("i8"), _NO_TIME).view(dtype)


def _numpy_from(chunks: pa.ChunkedArray, dtype: np.dtype[Any], missing: Any = None) -> Any:
    """`missing` is what nulls become; None: NaN or NaT, and integers have none."""
    if chunks.num_chunks == 1 and (lent := _lent(chunks.chunk(0), dtype, missing)) is not None:
        return lent
    # Chunk by chunk into memory that is pandas' own: Arrow lends its arrays read-only, and joining
    # them first would be a copy more. (Seconds come back as milliseconds: Parquet has no seconds.)
    array: Any = np.empty(len(chunks), dtype=dtype)
    start = 0
    for chunk in chunks.chunks:
        _put(array[start : start + len(chunk)], chunk, missing)
        start += len(chunk)
    return array


def _lent(chunk: pa.Array, dtype: np.dtype[Any], missing: Any) -> Any:
    """The numbers of an array that was just decoded, in Arrow's own memory, which it then has.

    None where they have to be copied: others may see that memory (it is a part of a larger one, as
    of a file that is not compressed), or it holds something else.
    """
    array = _view(chunk, dtype, missing)
    if array is None or not array.flags.writeable or chunk.buffers()[1].parent is not None:
        return None
    if chunk.null_count:
        _fill(array, array, _valid(chunk), missing)
    return array


def _view(chunk: pa.Array, dtype: np.dtype[Any], missing: Any) -> Any:
    """The numbers of an array in Arrow's memory, whatever lies there for its nulls.

    None where there is something else than such numbers, or no number for a null.
    """
    kind = chunk.type
    if pa.types.is_timestamp(kind):
        kind = pa.timestamp(kind.unit)  # Zones are not numpy's.
    if dtype.kind not in "iufmM" or not dtype.isnative or pa.from_numpy_dtype(dtype) != kind:
        return None
    if not len(chunk) or (chunk.null_count and dtype.kind in "iu" and missing is None):
        return None
    buffer = chunk.buffers()[1]
    if buffer is None:
        return None
    return np.frombuffer(buffer, dtype, len(chunk), chunk.offset * dtype.itemsize)


def _put(out: Any, chunk: pa.Array, missing: Any = None) -> None:
    """Copies the numbers of an array to where they belong. `missing`: as `_numpy_from` has it."""
    values = _view(chunk, out.dtype, missing)
    if values is None:
        if missing is not None:
            chunk = chunk.fill_null(missing)
        out[:] = chunk.to_numpy(zero_copy_only=False)
    elif chunk.null_count:
        _fill(out, values, _valid(chunk), missing)
    else:
        out[:] = values


def _valid(chunk: pa.Array) -> Any:
    """One for each number of an array, zero for each null (a tenth of the time of `is_null`)."""
    bitmap = chunk.buffers()[0]
    if bitmap is None:
        return np.ones(len(chunk), "u1")
    first = chunk.offset // 8
    skipped = chunk.offset % 8
    raw = np.frombuffer(bitmap, "u1", (skipped + len(chunk) + 7) // 8, first)
    return np.unpackbits(raw, count=skipped + len(chunk), bitorder="little")[skipped:]


def _fill(out: Any, values: Any, valid: Any, missing: Any) -> None:
    """The values that are valid, else `missing`, in an array that may be the same.

    By arithmetic on their bits, which has no branch: where every other cell is null that takes a
    fifth of the time of an assignment to those.
    """
    if missing is None:
        missing = np.array("NaT", out.dtype) if out.dtype.kind in "mM" else np.nan
    bits = np.dtype(f"u{out.dtype.itemsize}")
    filler = np.array(missing, out.dtype).view(bits)[()]
    numbers, cells = values.view(bits), out.view(bits)
    for start in range(0, len(out), _FILLED_AT_ONCE):
        part = slice(start, start + _FILLED_AT_ONCE)
        np.multiply(numbers[part], valid[part], out=cells[part])
        if filler:
            cells[part] |= np.multiply(valid[part] ^ 1, filler, dtype=bits)


def _field(chunks: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    return pa.chunked_array(
        [chunk.field(name) for chunk in chunks.chunks], type=chunks.type.field(name).type
    )


# --- text -----------------------------------------------------------------------------------------


def _text_bytes(array: Any, series: Any) -> float:
    """Estimated bytes of one text, with its offset."""
    rows = len(array)
    if rows == 0:
        return 8
    if array.dtype.storage == "pyarrow":
        return float(array.nbytes) / rows
    return _objects.sampled_bytes(series.to_numpy())


def _is_missing_nan(dtype: pd.StringDtype) -> bool:
    missing = getattr(dtype, "na_value", pd.NA)
    return missing is not pd.NA


def _string_from(chunks: pa.ChunkedArray, spec: dict[str, Any]) -> Any:
    storage = spec["storage"]
    if spec["na"] == "na":
        dtype = pd.StringDtype(storage)
    else:
        try:
            dtype = pd.StringDtype(storage, na_value=np.nan)
        except TypeError:
            # pandas before 2.3 has no such dtype: as it would have had it, objects with NaN.
            arrow = "document" if spec.get("documents") else "string"
            array = _objects.from_arrow(chunks, {"arrow": arrow, "null": "nan"})
            array[chunks.is_null().to_numpy()] = np.nan
            return array
    if spec.get("documents"):
        cells = [cell for chunk in chunks.chunks for cell in _objects.undocument(chunk)]
    elif storage == "python" and spec["na"] == "nan":
        # (pandas 2.3 would make the class of the other python strings here.)
        cells = _objects.from_arrow(chunks, {"arrow": "string", "null": "nan"})
    else:
        try:
            return dtype.__from_arrow__(chunks)
        except ValueError:  # pandas before 2.2 takes texts of 32-bit offsets only.
            return dtype.__from_arrow__(chunks.cast(pa.string()))
    return dtype.construct_array_type()._from_sequence(cells, dtype=dtype)


# --- categories -----------------------------------------------------------------------------------


def _categorical_column(
    series: Any, dtype: pd.CategoricalDtype, spec: dict[str, Any], options: Options | None
) -> Column:
    from airfreight.values._labels import pack_index

    spec["kind"] = "categorical"
    try:
        spec["categories"] = pack_index(dtype.categories, options)
    except Refused as error:
        raise Refused(f"its categories: {error}") from None
    spec["ordered"] = bool(dtype.ordered)
    codes = series.array.codes
    return Column(spec, pa.from_numpy_dtype(codes.dtype), codes, codes.dtype.itemsize)


# --- Objects --------------------------------------------------------------------------------------


def _object_column(
    series: Any, spec: dict[str, Any], options: Options | None, *, documents: bool
) -> Column:
    spec["kind"] = "object"
    values = series.to_numpy()
    if documents:
        plan = _objects.documents(values.tolist(), options)
    else:
        plan = _objects.plan(values, options)
    return Column(spec | plan.spec, plan.type, plan.values, plan.row_bytes)


# --- Sparse ---------------------------------------------------------------------------------------


def _sparse_column(
    series: Any, dtype: pd.SparseDtype, spec: dict[str, Any], options: Options | None
) -> Column:
    """As a dense column, which every tool reads; the encodings of the file make it small again."""
    array = series.array
    try:
        spec["fill"] = document.Encoder(options=options).encode(dtype.fill_value)
    except document.Unsupported as error:
        raise Refused(f"its fill value {dtype.fill_value!r} is not kept ({error.cls})") from None
    spec["kind"] = "sparse"
    spec["blocks"] = type(array.sp_index).__name__ == "BlockIndex"
    stored = array.sp_values
    fills = pd.isna(stored) if pd.isna(dtype.fill_value) else stored == dtype.fill_value
    plain = array.sp_index.to_int_index()
    if np.any(fills) or (spec["blocks"] and not plain.to_block_index().equals(array.sp_index)):
        # Cells that are stored although they are the fill value.
        spec["positions"] = to_base64(pa.array(plain.indices))
    # One row tells the kind for most dtypes, and there may be very many such columns.
    column = make_column(pd.Series(array[:1].to_dense(), dtype=dtype.subtype), options)
    values = array
    if column.spec["kind"] not in ("numpy", "complex") or dtype.subtype.kind == "M":
        dense = pd.Series(array.to_dense(), dtype=dtype.subtype)
        column = make_column(dense, options, documents=dtype.subtype.kind == "O")
        values = column
    spec["values"] = column.spec
    return Column(spec, column.type, values, column.row_bytes)


def _sparse_from(chunks: pa.ChunkedArray, spec: dict[str, Any]) -> Any:
    dense = from_arrow(chunks, spec["values"])
    dtype = pd.SparseDtype(dense.dtype, document.from_json(spec["fill"]))
    kind = "block" if spec["blocks"] else "integer"
    if "positions" not in spec:
        return pd.arrays.SparseArray(dense, fill_value=dtype.fill_value, kind=kind, dtype=dtype)
    positions = _numpy_from(from_base64(spec["positions"]), np.dtype("i4"))
    stored = np.zeros(len(dense), dtype=bool)
    stored[positions] = True
    index = pd.arrays.SparseArray(stored, fill_value=False, kind=kind).sp_index
    return pd.arrays.SparseArray(dense[positions], sparse_index=index, dtype=dtype)


# --- Time zones -----------------------------------------------------------------------------------


def pack_zone(zone: Any) -> Any:
    """A time zone as JSON."""
    module = type(zone).__module__.partition(".")[0]
    if module == "pytz":
        if (name := getattr(zone, "zone", None)) is not None:
            return ["pytz", name]
        return ["pytz-fixed", zone.utcoffset(None) // datetime.timedelta(minutes=1)]
    try:
        return document.pack_zone(zone, type(zone))
    except document.Unsupported as error:
        raise Refused(error.reason) from None


def unpack_zone(packed: Any) -> datetime.tzinfo:
    """The inverse. A zone of pytz comes back as the standard library's where pytz is not there."""
    if isinstance(packed, list) and packed[0] in ("pytz", "pytz-fixed"):
        try:
            with loading:
                import pytz
        except ModuleNotFoundError:
            if packed[0] == "pytz-fixed":
                return datetime.timezone(datetime.timedelta(minutes=packed[1]))
            packed = ["iana", packed[1]]
        else:
            make = pytz.timezone if packed[0] == "pytz" else pytz.FixedOffset
            zone: datetime.tzinfo = make(packed[1])
            return zone
    zone_or_none = document.unpack_zone(packed)
    assert zone_or_none is not None
    return zone_or_none


def to_base64(array: pa.Array) -> str:
    """An Arrow array as text, for the file's metadata."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([array], names=["v"])
    # No codec of Parquet's sees what lies in the metadata, such as 60,000 categories.
    compression = "zstd" if _arrow_types.size(array) >= WORTH_COMPRESSING else None
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def from_base64(text: str) -> pa.ChunkedArray:
    """The inverse."""
    with pa.ipc.open_stream(base64.b64decode(text, validate=True)) as reader:
        return reader.read_all().column(0)

"""One column of a frame (or one level of its index) to Arrow and back, exactly.

A column is described by its spec, a small JSON object in the file's metadata, from which the reader
makes the same dtype again; Arrow's and pandas' own notions of a round trip are not relied on.
"""

from __future__ import annotations

import base64
import datetime
import decimal
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from airfreight._imports import loading
from airfreight.values import document

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
#: Python's numbers in a column of objects, by the name that the spec gives them.
_OBJECT_NUMBERS = {"bool": "bool", "int": "int64", "float": "float64"}
#: Elements of a text column that are measured to estimate its size.
_SAMPLE = 512


class Refused(Exception):  # noqa: N818 (becomes a TypeError with the column's label)
    """A column that can't be kept exactly, and why."""


@dataclass(frozen=True)
class Column:
    """How one column is kept.

    Attributes:
        spec: for the file's metadata: what `from_arrow` makes the column of again.
        type: Arrow type in the file.
        values: what `to_arrow` takes slices of: an array of numpy or of pandas.
        row_bytes: estimated Arrow memory of one row.
        dictionary: whether a Parquet dictionary pays; None: look at a sample.
    """

    spec: dict[str, Any]
    type: pa.DataType
    values: Any
    row_bytes: float
    dictionary: bool | None = None


def describe(column: Column) -> str:
    """The dtype, for people."""
    return str(column.spec["dtype"])


def make_column(series: pd.Series[Any] | pd.Index[Any]) -> Column:
    """Decides how a column is kept.

    Raises:
        Refused: it can't be kept exactly.
    """
    dtype = series.dtype
    spec: dict[str, Any] = {"dtype": str(dtype)}
    if isinstance(dtype, np.dtype):
        if dtype.kind == "O":
            return _object_column(series, spec)
        return _numpy_column(series, dtype, spec)
    if isinstance(dtype, pd.CategoricalDtype):
        return _categorical_column(series, dtype, spec)
    if isinstance(dtype, pd.DatetimeTZDtype):
        spec["kind"] = "zoned"
        spec["unit"] = dtype.unit
        spec["zone"] = pack_zone(dtype.tz)
        # As UTC without a zone: Arrow and pandas need not agree on how zones are called.
        values = series.array.asi8
        return Column(spec, pa.timestamp(dtype.unit, "UTC"), values, 8)
    if isinstance(dtype, pd.StringDtype):
        spec["kind"] = "string"
        spec["storage"] = str(dtype.storage)
        spec["na"] = "na" if getattr(dtype, "na_value", pd.NA) is pd.NA else "nan"
        array = series.array
        return Column(spec, pa.large_string(), array, _text_bytes(array, series))
    if str(dtype) in _MASKED:
        spec["kind"] = "masked"
        array = series.array
        return Column(
            spec, pa.from_numpy_dtype(dtype.numpy_dtype), array, dtype.numpy_dtype.itemsize + 0.125
        )
    if isinstance(dtype, pd.PeriodDtype):
        spec["kind"] = "period"
        if pd.api.types.pandas_dtype(str(dtype)) != dtype:
            raise Refused(f"its dtype {dtype} has a frequency that its name does not tell")
        return Column(spec, pa.int64(), series.array.asi8, 8)
    if isinstance(dtype, pd.IntervalDtype):
        spec["kind"] = "interval"
        spec["closed"] = dtype.closed
        ends = [make_column(pd.Index(end)) for end in (series.array.left, series.array.right)]
        spec["ends"] = ends[0].spec
        struct = pa.struct([("left", ends[0].type), ("right", ends[1].type)])
        return Column(spec, struct, ends, 2 * ends[0].row_bytes, dictionary=False)
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow_column(series, dtype, spec)
    if isinstance(dtype, pd.SparseDtype):
        raise Refused(f"sparse columns are not kept ({dtype}); convert it with .sparse.to_dense()")
    raise Refused(
        f"its dtype {dtype} is not supported; convert it with .astype(…) before it is pushed"
    )


def to_arrow(column: Column, start: int, stop: int) -> pa.Array:
    """The Arrow array of some rows."""
    kind = column.spec["kind"]
    if kind == "interval":
        ends = [to_arrow(end, start, stop) for end in column.values]
        return pa.StructArray.from_arrays(ends, ["left", "right"])
    values = column.values[start:stop]
    if kind == "numpy":
        return pa.array(values, type=column.type, from_pandas=True)
    if kind in ("zoned", "period"):
        return pa.array(values, type=pa.int64(), mask=values == np.iinfo(np.int64).min).cast(
            column.type
        )
    if kind == "categorical":
        return pa.array(values, type=column.type, mask=values < 0)
    if kind == "object":
        return pa.array(values, type=column.type, from_pandas=True)
    array = pa.array(values, type=column.type)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def from_arrow(chunks: pa.ChunkedArray, spec: dict[str, Any]) -> Any:
    """The inverse: an array of numpy or of pandas that owns its memory and may be written to."""
    kind = spec["kind"]
    if kind == "numpy":
        return _numpy_from(chunks, np.dtype(spec["dtype"]))
    if kind == "object":
        return _object_from(chunks, spec)
    if kind == "zoned":
        moments = pd.DatetimeIndex(_numpy_from(chunks, np.dtype(f"M8[{spec['unit']}]")))
        return moments.tz_localize("UTC").tz_convert(unpack_zone(spec["zone"])).array
    if kind == "period":
        dtype = pd.api.types.pandas_dtype(spec["dtype"])
        ordinals = chunks.fill_null(np.iinfo(np.int64).min)
        return pd.arrays.PeriodArray(_numpy_from(ordinals, np.dtype("i8")), dtype=dtype)
    if kind == "categorical":
        from airfreight.values._labels import unpack_index

        codes = _numpy_from(chunks.fill_null(-1), np.dtype(str(chunks.type)))
        categories = unpack_index(spec["categories"], None)
        dtype = pd.CategoricalDtype(categories, ordered=spec["ordered"])
        return pd.Categorical.from_codes(codes, dtype=dtype)
    if kind == "string":
        return _string_from(chunks, spec)
    if kind == "masked":
        dtype = pd.api.types.pandas_dtype(spec["dtype"])
        mask = _numpy_from(chunks.is_null(), np.dtype("bool"))
        filler = False if spec["dtype"] == "boolean" else 0
        data = _numpy_from(chunks.fill_null(filler), dtype.numpy_dtype)
        return dtype.construct_array_type()(data, mask)
    if kind == "interval":
        left, right = (from_arrow(_field(chunks, end), spec["ends"]) for end in ("left", "right"))
        return pd.arrays.IntervalArray.from_arrays(left, right, closed=spec["closed"])
    if kind == "arrow":
        return pd.arrays.ArrowExtensionArray(chunks.cast(_arrow_type(spec["type"])))
    raise ValueError(f"a column of an unknown kind {kind!r}")


# --- numpy ----------------------------------------------------------------------------------------


def _numpy_column(series: Any, dtype: np.dtype[Any], spec: dict[str, Any]) -> Column:
    if dtype.kind not in _NUMPY_KINDS or not dtype.isnative:
        hint = ""
        if dtype.kind == "c":
            hint = "; split it into its real and imaginary part"
        elif not dtype.isnative:
            hint = "; convert it with .astype(dtype.newbyteorder('='))"
        raise Refused(f"Parquet has no type for its dtype {dtype}{hint}")
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise Refused(
            f"Parquet has no type for its dtype {dtype}; convert it with .astype('float64')"
        )
    spec["kind"] = "numpy"
    return Column(
        spec,
        pa.from_numpy_dtype(dtype),
        series.to_numpy(),
        dtype.itemsize,
        dictionary=False if dtype.kind == "b" else None,
    )


def _numpy_from(chunks: pa.ChunkedArray, dtype: np.dtype[Any]) -> Any:
    # Chunk by chunk into memory that is pandas' own: Arrow lends its arrays read-only, and joining
    # them first would be a copy more. (Seconds come back as milliseconds: Parquet has no seconds.)
    array: Any = np.empty(len(chunks), dtype=dtype)
    start = 0
    for chunk in chunks.chunks:
        array[start : start + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
        start += len(chunk)
    return array


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
    return _sampled_bytes(series.to_numpy())


def _sampled_bytes(values: Any) -> float:
    step = max(1, len(values) // _SAMPLE)
    sizes = [len(item) for item in values[::step] if isinstance(item, (str, bytes))]
    return 8 + sum(sizes) / max(1, len(sizes))


def _string_from(chunks: pa.ChunkedArray, spec: dict[str, Any]) -> Any:
    if spec["na"] == "na":
        dtype = pd.StringDtype(spec["storage"])
    else:
        try:
            dtype = pd.StringDtype(spec["storage"], na_value=np.nan)
        except TypeError:
            # pandas before 2.3 has no such dtype: as it would have had it, objects with NaN.
            return _object_from(chunks, {"arrow": "string", "null": "nan"})
    return dtype.__from_arrow__(chunks)


# --- categories -----------------------------------------------------------------------------------


def _categorical_column(series: Any, dtype: pd.CategoricalDtype, spec: dict[str, Any]) -> Column:
    from airfreight.values._labels import pack_index

    spec["kind"] = "categorical"
    try:
        spec["categories"] = pack_index(dtype.categories)
    except Refused as error:
        raise Refused(f"its categories: {error}") from None
    spec["ordered"] = bool(dtype.ordered)
    codes = series.array.codes
    return Column(
        spec, pa.from_numpy_dtype(codes.dtype), codes, codes.dtype.itemsize, dictionary=False
    )


# --- Arrow dtypes ---------------------------------------------------------------------------------


def _arrow_column(series: Any, dtype: pd.ArrowDtype, spec: dict[str, Any]) -> Column:
    arrow = dtype.pyarrow_dtype
    text = str(arrow)
    try:
        known = _arrow_type(text) == arrow
    except ValueError:
        known = False
    if not known:
        raise Refused(f"its dtype {dtype} is not supported; convert it with .astype(…)")
    spec["kind"] = "arrow"
    spec["type"] = text
    chunks = pa.chunked_array(series.array.__arrow_array__())
    return Column(spec, arrow, chunks, chunks.nbytes / max(1, len(chunks)))


def _arrow_type(text: str) -> pa.DataType:
    """The Arrow types that Parquet gives back, or that a cast makes again without loss."""
    simple = {
        str(kind): kind
        for kind in (
            *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
            *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
            *(pa.float32(), pa.float64(), pa.bool_()),
            *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary()),
            *(pa.date32(), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")),
            *(pa.duration("ms"), pa.duration("us"), pa.duration("ns")),
        )
    }
    if text not in simple:
        raise ValueError(f"an Arrow type that is not kept: {text}")
    return simple[text]


# --- Python objects -------------------------------------------------------------------------------


def _object_column(series: Any, spec: dict[str, Any]) -> Column:
    """A column of Python objects: kept when all of them are of one type that Arrow gives back."""
    values = series.to_numpy()
    items = values.tolist()
    kinds = set(map(type, items))
    nulls = set()
    if type(None) in kinds:
        nulls.add("none")
    if type(pd.NA) in kinds:
        nulls.add("na")
    kinds -= {type(None), type(pd.NA)}
    if float in kinds and len(kinds) > 1:
        if any(item == item for item in items if type(item) is float):  # noqa: PLR0124 (not NaN)
            raise Refused(_mixed(kinds))
        nulls.add("nan")
        kinds.discard(float)
    if len(kinds) > 1:
        raise Refused(_mixed(kinds))
    kind = kinds.pop() if kinds else type(None)
    if kind is float and any(item != item for item in items if type(item) is float):  # noqa: PLR0124
        nulls.add("nan")
    if len(nulls) > 1:
        raise Refused(
            "it mixes several kinds of missing values (None, NaN, NA); choose one of them"
        )
    spec["kind"] = "object"
    spec["null"] = nulls.pop() if nulls else "none"
    name, arrow, row_bytes = _object_type(kind, items, values)
    spec["arrow"] = name
    return Column(spec, arrow, values, row_bytes)


def _mixed(kinds: set[type]) -> str:
    names = ", ".join(sorted(kind.__name__ for kind in kinds)[:4])
    return (
        f"its cells are of several types ({names}), which Parquet would change; convert them "
        "to one "
        "type, e.g. with .astype(str)"
    )


def _object_type(kind: type, items: list[Any], values: Any) -> tuple[str, pa.DataType, float]:
    if kind is str:
        return "string", pa.large_string(), _sampled_bytes(values)
    if kind is type(None):
        return "null", pa.null(), 0.125
    if kind is bool:
        return "bool", pa.bool_(), 0.25
    if kind is int:
        numbers = [item for item in items if type(item) is int]
        if min(numbers) < -(2**63) or max(numbers) >= 2**63:
            raise Refused("it holds integers of more than 64 bits; convert them with .astype(str)")
        return "int", pa.int64(), 8
    if kind is float:
        return "float", pa.float64(), 8
    if kind is bytes:
        return "bytes", pa.large_binary(), _sampled_bytes(values)
    if kind is datetime.date:
        return "date", pa.date32(), 4
    if kind is datetime.time:
        if any(item.tzinfo is not None or item.fold for item in items if type(item) is kind):
            raise Refused("its times have a zone or a fold, which Parquet does not keep")
        return "time", pa.time64("us"), 8
    if kind is decimal.Decimal:
        return "decimal", _decimal_type([item for item in items if type(item) is kind]), 16
    raise Refused(
        f"its cells are of type {kind.__name__}, which Parquet would change; convert them, "
        "e.g. to text "
        "or to columns of their own"
    )


def _decimal_type(items: list[decimal.Decimal]) -> pa.DataType:
    """Arrow gives all decimals of a column one number of places, so they must have it already."""
    places = set()
    digits = 1
    for item in items:
        sign, figures, exponent = item.as_tuple()
        if not isinstance(exponent, int) or (sign and not any(figures)):
            raise Refused("it holds a Decimal that is not finite, or a negative zero")
        places.add(-exponent)
        digits = max(digits, len(figures), -exponent)
    if len(places) > 1 or min(places) < 0 or digits > 38:
        raise Refused(
            "its Decimals have different numbers of places, or more than 38 digits; bring them "
            "to one with "
            ".map(lambda d: d.quantize(…))"
        )
    return pa.decimal128(digits, places.pop())


def _object_from(chunks: pa.ChunkedArray, spec: dict[str, Any]) -> np.ndarray[Any, Any]:
    kind = spec["arrow"]
    if kind in ("string", "bytes"):
        array = _numpy_from(chunks, np.dtype(object))
    elif kind in ("bool", "int", "float"):
        filler = False if kind == "bool" else 0
        array = _numpy_from(chunks.fill_null(filler), np.dtype(_OBJECT_NUMBERS[kind])).astype(
            object
        )
    else:
        array = np.empty(len(chunks), dtype=object)
        array[:] = chunks.to_pylist()
    if chunks.null_count:
        null = {"none": None, "nan": np.nan, "na": pd.NA}[spec["null"]]
        array[chunks.is_null().to_numpy()] = null
    return array


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
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def from_base64(text: str) -> pa.ChunkedArray:
    """The inverse."""
    with pa.ipc.open_stream(base64.b64decode(text, validate=True)) as reader:
        return reader.read_all().column(0)

"""Columns of pandas' ArrowDtype: as they are where Parquet gives their type back, else as IPC."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_

from airfreight.values._objects import Refused
from airfreight.values.arrow_ import check_extensions, names_in

#: Types that the first version of the format knew, by their names.
_NAMED = {
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
#: Parquet has no seconds: they become milliseconds.
_MAX_SECONDS = (2**63 - 1) // 1000


def plan(chunks: pa.ChunkedArray) -> tuple[dict[str, Any], pa.DataType]:
    """Members of the spec, and the type in the file."""
    kind = chunks.type
    name = str(kind)
    if _NAMED.get(name) == kind:
        return {"kind": "arrow", "type": name}, kind
    # (A list has the name of its field, which casts and comparisons leave out.)
    spec: dict[str, Any] = {"type": name, "schema": _pack_type(kind)}
    if not same_type(back := _unpack_type(spec["schema"]), kind):
        raise Refused(
            f"its type {name} would come back as {back}: register its extension type with "
            "pyarrow.register_extension_type, or convert it with .astype(…)"
        )
    if names := list(names_in(kind)):
        spec["extensions"] = names
    if is_.is_timestamp(kind) and kind.unit == "s":
        kept = _fits_milliseconds(chunks)
    else:
        kept = _is_kept(kind)
    if kept:
        return {"kind": "arrow", **spec}, kind
    return {"kind": "ipc", **spec}, pa.large_binary()


def to_arrow(chunks: pa.ChunkedArray, spec: dict[str, Any], start: int, stop: int) -> pa.Array:
    """The Arrow array of some rows."""
    part = chunks[start:stop]
    if spec["kind"] == "arrow":
        return pa.concat_arrays(part.chunks) if part.num_chunks else pa.array([], part.type)
    # The rows as a stream of Arrow, in the first of them.
    sink = pa.BufferOutputStream()
    table = pa.table({"v": part})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    rows: list[bytes | None] = [None] * len(part)
    rows[:1] = [sink.getvalue().to_pybytes()] * min(1, len(part))
    return pa.array(rows, pa.large_binary())


def size(chunks: pa.Array | pa.ChunkedArray) -> int:
    """Bytes of the cells; where pyarrow can't tell them (views, before 24), of their buffers."""
    try:
        return int(chunks.nbytes)
    except pa.ArrowException:
        return int(chunks.get_total_buffer_size())


def from_arrow(chunks: pa.ChunkedArray, spec: dict[str, Any]) -> pa.ChunkedArray:
    """The inverse of `to_arrow`, for all rows of a column."""
    kind = _unpack_type(spec["schema"]) if "schema" in spec else _named(spec["type"])
    check_extensions("the value has a column", spec.get("extensions", []), list(names_in(kind)))
    if spec["kind"] == "arrow":
        return chunks if same_type(chunks.type, kind) else _retyped(chunks, kind)
    parts: list[pa.Array] = []
    for chunk in chunks.chunks:
        for stream in chunk.drop_null():
            with pa.ipc.open_stream(stream.as_buffer()) as reader:
                parts += reader.read_all().column(0).chunks
    return pa.chunked_array(parts, kind)


def same_type(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether two types are the same to the names and metadata of nested fields."""
    return bool(pa.field("", one).equals(pa.field("", other), check_metadata=True))


def _retyped(chunks: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if not is_.is_nested(kind):
        return chunks.cast(kind)
    return pa.chunked_array([_retype(chunk, kind) for chunk in chunks.chunks], kind)


def _retype(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same cells with the names, nullability and metadata of nested fields that a type has."""
    if same_type(array.type, kind):
        return array
    if is_.is_nested(kind) and array.type.id == kind.id:
        inner = [_retype(child, kind.field(at).type) for at, child in enumerate(_children(array))]
        if is_.is_struct(kind):
            fields = [kind.field(at) for at in range(kind.num_fields)]
            missing = array.is_null() if array.null_count else None
            return pa.StructArray.from_arrays(inner, fields=fields, mask=missing)
        return pa.Array.from_buffers(
            kind, len(array), array.buffers()[:2], array.null_count, array.offset, inner
        )
    return array.cast(kind)


def _children(array: pa.Array) -> list[pa.Array]:
    if is_.is_struct(array.type):
        return [array.field(at) for at in range(array.type.num_fields)]
    return [array.values]


def _is_kept(kind: pa.DataType) -> bool:
    """Whether Parquet gives a type back, by way of the Arrow schema that pyarrow keeps beside."""
    if _NAMED.get(str(kind)) == kind:
        return True
    if is_.is_timestamp(kind):
        return bool(kind.unit != "s")
    if is_.is_time32(kind):
        return bool(kind.unit == "ms")
    if is_.is_decimal128(kind) or is_.is_decimal256(kind):
        return bool(0 <= kind.scale <= kind.precision)
    if is_.is_fixed_size_binary(kind):
        return bool(kind.byte_width > 0)
    if is_.is_time64(kind):
        return True
    if is_.is_list(kind) or is_.is_large_list(kind):
        return _is_kept(kind.value_type)
    if is_.is_struct(kind):
        fields = [kind.field(at) for at in range(kind.num_fields)]
        return len({field.name for field in fields}) == len(fields) > 0 and all(
            _is_kept(field.type) for field in fields
        )
    return False


def _fits_milliseconds(chunks: pa.ChunkedArray) -> bool:
    ends = pc.min_max(chunks.cast(pa.int64())).as_py()
    return ends["min"] is None or (ends["min"] >= -_MAX_SECONDS and ends["max"] <= _MAX_SECONDS)


def _named(text: str) -> pa.DataType:
    if text not in _NAMED:
        raise ValueError(f"an Arrow type that is not kept: {text}")
    return _NAMED[text]


def _pack_type(kind: pa.DataType) -> str:
    return base64.b64encode(pa.schema([pa.field("v", kind)]).serialize()).decode()


def _unpack_type(text: str) -> pa.DataType:
    schema = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(text, validate=True)))
    return schema.field(0).type

"""Tables and arrays of pyarrow and of polars."""

from __future__ import annotations

from typing import Any

from tests.oracle import items


def compare(one: Any, other: Any, place: str) -> Any:
    """The difference of two values of one class; NotImplemented: not looked at here."""
    if type(one).__module__.startswith("polars"):
        return _polars(one, other, place)
    import pyarrow as pa

    if isinstance(one, pa.Schema):
        # To Arrow no metadata and empty ones are the same.
        same = one.equals(other, check_metadata=True) and one.metadata == other.metadata
        return None if same else f"{place}: {one} and {other}"
    if isinstance(one, pa.Field):
        return None if one.equals(other, check_metadata=True) else f"{place}: {one} and {other}"
    if isinstance(one, pa.DataType):
        return types(one, other, place)
    if isinstance(one, (pa.Table, pa.RecordBatch)):
        found = compare(one.schema, other.schema, f"{place}.schema")
        if found:
            return found
        if one.num_rows != other.num_rows:
            return f"{place}: {one.num_rows} rows against {other.num_rows}"
        for position, name in enumerate(one.schema.names):
            found = elements(
                one.column(position), other.column(position), f"{place}, column {name!r}"
            )
            if found:
                return found
        return None
    if isinstance(one, (pa.Array, pa.ChunkedArray)):
        return elements(one, other, place)
    if isinstance(one, pa.Scalar):
        found = types(one.type, other.type, place)
        return found or elements(pa.array([one]), pa.array([other]), place)
    return NotImplemented


def types(one: Any, other: Any, place: str) -> str | None:
    """Two Arrow types, with the names, nullability and metadata of nested fields."""
    import pyarrow as pa

    same = pa.field("", one).equals(pa.field("", other), check_metadata=True)
    return None if same and str(one) == str(other) else f"{place}: type {one} against {other}"


def whole(array: Any) -> Any:
    """What pandas gives Arrow, as one array."""
    import pyarrow as pa

    found = array.__arrow_array__()
    if not isinstance(found, pa.ChunkedArray):
        return found
    if found.num_chunks:
        return pa.concat_arrays(found.chunks)
    kind = found.type
    if not pa.types.is_dictionary(kind):
        return pa.array([], kind)
    # (pyarrow 23 forgets that it is ordered.)
    ends = pa.array([], kind.index_type), pa.array([], kind.value_type)
    return pa.DictionaryArray.from_arrays(*ends, ordered=kind.ordered)


def elements(one: Any, other: Any, place: str) -> str | None:
    """Two arrays of Arrow: type, chunks, dictionaries, and every element with the sign of zeros."""
    import pyarrow as pa

    found = types(one.type, other.type, place)
    if found:
        return found
    if len(one) != len(other):
        return f"{place}: {len(one)} rows against {len(other)}"
    if isinstance(one, pa.ChunkedArray):
        lengths = [[len(chunk) for chunk in each.chunks] for each in (one, other)]
        if lengths[0] != lengths[1]:
            return f"{place}: chunks of {lengths[0]} rows against {lengths[1]}"
        for number, (chunk, other_chunk) in enumerate(zip(one.chunks, other.chunks, strict=True)):
            found = elements(chunk, other_chunk, f"{place}, chunk {number}")
            if found:
                return found
        return None
    if pa.types.is_dictionary(one.type) and len(one):
        found = elements(one.dictionary, other.dictionary, f"{place}.dictionary")
        return found or elements(one.indices, other.indices, f"{place}.indices")
    # `equals` takes one zero for the other, and no NaN for itself: as Python objects for these.
    if one.equals(other) and not _floating(one.type):
        return None
    return items(one.to_pylist(), other.to_pylist(), place)


def _floating(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_floating(kind):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return _floating(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return True  # Whatever is in it.
    return any(_floating(kind.field(at).type) for at in range(kind.num_fields))


def _polars(one: Any, other: Any, place: str) -> Any:
    import polars as pl

    if isinstance(one, pl.DataFrame):
        if one.schema != other.schema or one.columns != other.columns:
            return f"{place}: schema {one.schema} against {other.schema}"
        for name in one.columns:
            found = _polars(one[name], other[name], f"{place}, column {name!r}")
            if found:
                return found
        return None if one.height == other.height else f"{place}: {one.height} and {other.height}"
    if isinstance(one, pl.LazyFrame):
        return _polars(one.collect(), other.collect(), place)
    if isinstance(one, pl.Series):
        if one.name != other.name:
            return f"{place}.name: {one.name!r} against {other.name!r}"
        if one.dtype != other.dtype or str(one.dtype) != str(other.dtype):
            return f"{place}: {one.dtype!r} against {other.dtype!r}"
        return items(one.to_list(), other.to_list(), place)
    if isinstance(one, pl.DataType):
        return None if one == other else f"{place}: {one!r} against {other!r}"
    return NotImplemented

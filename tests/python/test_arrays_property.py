"""Arrays and tables of any kind come back as they were: generated values, decoded as encoded."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import polars as pl
import polars.testing.parametric as plt
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from tests.oracle import assert_same
from tests.python.conftest import MANY

from airfreight import values
from airfreight.values import Options, arrow_

PROFILE = settings(
    max_examples=80 * MANY,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

options = st.builds(
    Options,
    compression=st.sampled_from(["snappy", "zstd", "lz4", "none"]),
    format=st.sampled_from(["parquet", "arrow"]),
)


def through(value: Any, chosen: Options) -> Any:
    """Encoded, and decoded by what a reference would tell."""
    codec = values.for_value(value)
    assert codec is not None
    body: Any = codec.encode(value, chosen, values.new_sink).body
    data = body.getvalue() if hasattr(body, "getvalue") else b"".join(body)
    reader = values.for_type(codec.TYPE)
    assert reader is not None
    return reader.decode(memoryview(bytearray(data)))


scalar_dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64, 128)),
    hnp.complex_number_dtypes(endianness="?"),
    hnp.datetime64_dtypes(endianness="?"),
    hnp.timedelta64_dtypes(endianness="?"),
    hnp.byte_string_dtypes(endianness="?", min_len=1),
    hnp.unicode_string_dtypes(endianness="?", min_len=1),
)
plain_dtypes = st.one_of(
    scalar_dtypes,
    hnp.nested_dtypes(scalar_dtypes, max_leaves=6, max_itemsize=400),
)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    dtype = draw(plain_dtypes)
    if dtype.subdtype is not None:
        dtype = dtype.base
    if dtype.names is not None and draw(st.booleans()):
        dtype = np.dtype(
            {
                "names": list(dtype.names),
                "formats": [dtype.fields[name][0] for name in dtype.names],
            },
            align=True,
        )
    shape = draw(shapes)
    count = math.prod(shape) * dtype.itemsize
    # Any bits: NaNs with payloads, texts with surrogates, padding.
    raw = draw(st.binary(min_size=count, max_size=count))
    made: Any = np.ndarray(shape, dtype, raw or b"\0").copy()
    if made.dtype != dtype:
        made = made.astype(dtype)
    if not made.ndim:
        return made
    return draw(st.sampled_from([made, np.asfortranarray(made), made.T, made[::-1][::2]]))


@PROFILE
@given(array=arrays(), chosen=options)
def test_any_array_comes_back_bit_for_bit(array: Any, chosen: Options) -> None:
    back = through(array, chosen)
    assert type(back) is np.ndarray
    assert back.dtype == array.dtype
    assert back.dtype.isalignedstruct == array.dtype.isalignedstruct
    assert back.shape == array.shape
    assert back.flags.f_contiguous == array.flags.f_contiguous or not array.flags.forc
    assert back.flags.writeable
    if array.dtype.names is None:
        assert back.tobytes() == array.tobytes()
    else:
        for name in array.dtype.names:
            assert np.ascontiguousarray(back[name]).tobytes() == array[name].tobytes()


cells = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.binary(),
        st.decimals(),
        st.dates(),
        st.complex_numbers(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(), st.integers()), inner, max_size=3),
    ),
    max_leaves=6,
)


@PROFILE
@given(
    items=st.lists(cells, min_size=6, max_size=6),
    shape=st.sampled_from([(6,), (2, 3), (3, 2, 1)]),
    order=st.sampled_from("CF"),
    chosen=options,
)
def test_any_cells_come_back(items: list[Any], shape: Any, order: Any, chosen: Options) -> None:
    flat = np.empty(6, dtype=object)
    for number, item in enumerate(items):
        flat[number] = item
    array = np.array(flat.reshape(shape), order=order)
    assert_same(through(array, chosen), array)


@PROFILE
@given(array=arrays(), mask=st.binary(min_size=64, max_size=64), hard=st.booleans(), chosen=options)
def test_any_masked_array_comes_back(array: Any, mask: bytes, hard: bool, chosen: Options) -> None:
    if array.dtype.names is not None or array.dtype.kind in "V":
        return
    bits = np.frombuffer(mask, np.uint8)[: array.size] % 2 == 1
    masked = np.ma.MaskedArray(array, mask=bits.reshape(array.shape), hard_mask=hard)
    back = through(masked, chosen)
    assert type(back) is np.ma.MaskedArray
    assert back.data.tobytes() == masked.data.tobytes()
    assert back.mask.tobytes() == masked.mask.tobytes()
    assert back.hardmask == hard
    assert (back._fill_value is None) == (masked._fill_value is None)


KINDS: dict[Any, Any] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.string(): st.text(st.characters(codec="utf-8"), max_size=8),
    pa.large_string(): st.text(st.characters(codec="utf-8"), max_size=8),
    pa.binary(): st.binary(max_size=8),
    pa.binary(4): st.binary(min_size=4, max_size=4),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("s", "Europe/Berlin"): st.integers(0, 2**31),
    pa.duration("ns"): st.integers(-(2**60), 2**60),
    pa.decimal128(20, 3): st.decimals(-1000, 1000, places=3),
    pa.null(): st.none(),
}


@st.composite
def arrow_arrays(draw: st.DrawFn, depth: int = 2) -> Any:
    length = draw(st.integers(0, 6))
    kind, items = draw(arrow_kinds(depth))
    cells_ = draw(st.lists(st.one_of(st.none(), items), min_size=length, max_size=length))
    array = pa.array(cells_, kind)
    if draw(st.booleans()) and not pa.types.is_nested(kind) and kind != pa.null():
        array = array.dictionary_encode()
    start = draw(st.integers(0, length))
    return array[start:]


@st.composite
def arrow_kinds(draw: st.DrawFn, depth: int) -> Any:
    which = draw(st.sampled_from(["leaf", "list", "fixed", "struct", "map"] if depth else ["leaf"]))
    if which == "leaf":
        kind = draw(st.sampled_from(list(KINDS)))
        return kind, KINDS[kind]
    inner, items = draw(arrow_kinds(depth - 1))
    some = st.one_of(st.none(), items)
    if which == "list":
        return pa.list_(inner), st.lists(some, max_size=3)
    if which == "fixed":
        return pa.list_(inner, 2), st.lists(some, min_size=2, max_size=2)
    if which == "map":
        pairs = st.lists(st.tuples(st.text("abc", min_size=1, max_size=3), some), max_size=2)
        return pa.map_(pa.string(), inner), pairs
    return pa.struct([("x", inner), ("y", pa.int8())]), st.fixed_dictionaries(
        {"x": some, "y": st.one_of(st.none(), st.integers(0, 9))}
    )


SEEN: Counter[str] = Counter()


@PROFILE
@given(array=arrow_arrays(), chosen=options)
def test_any_array_of_arrow_comes_back(array: Any, chosen: Options) -> None:
    SEEN[str(array.type).partition("<")[0]] += 1
    assert_same(through(array, chosen), array)


@PROFILE
@given(
    columns=st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=3),
    metadata=st.dictionaries(st.binary(max_size=5), st.binary(max_size=5), max_size=2),
    chosen=options,
)
def test_any_chunks_of_a_table_come_back(
    columns: list[list[int]], metadata: dict[bytes, bytes], chosen: Options
) -> None:
    rows = min(sum(lengths) for lengths in columns)
    arrays_ = []
    for lengths in columns:
        chunks, left = [], rows
        for length in lengths:
            chunks.append(pa.array(range(min(length, left)), pa.int64()))
            left -= len(chunks[-1])
        arrays_.append(pa.chunked_array(chunks, pa.int64()))
    table = pa.Table.from_arrays(arrays_, names=["a"] * len(columns)).replace_schema_metadata(
        metadata or None
    )
    back = through(table, chosen)
    assert_same(back, table)
    assert arrow_.layouts(back) == arrow_.layouts(table)


@PROFILE
@given(
    frame=plt.dataframes(max_cols=4, max_size=6, allow_null=True, excluded_dtypes=[pl.Object]),
    chosen=options,
)
def test_any_frame_of_polars_comes_back(frame: pl.DataFrame, chosen: Options) -> None:
    back = through(frame, chosen)
    assert back.schema == frame.schema
    assert repr(back.schema) == repr(frame.schema)
    assert back.equals(frame, null_equal=True)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_any_array_of_each_kind_of_arrow_comes_back(kind: Any) -> None:
    @settings(PROFILE, max_examples=15 * MANY)
    @given(
        cells=st.lists(st.one_of(st.none(), KINDS[kind]), max_size=20),
        start=st.integers(0, 20),
        dictionary=st.booleans(),
        chosen=options,
    )
    def check(cells: list[Any], start: int, dictionary: bool, chosen: Options) -> None:
        array = pa.array(cells, kind)[start:]
        if dictionary and kind != pa.null():
            array = array.dictionary_encode()
        assert_same(through(array, chosen), array)

    check()


def test_the_kinds_of_nested_arrays_that_were_generated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    test_any_array_of_arrow_comes_back()
    with capsys.disabled():
        print(f" arrow types: {dict(sorted(SEEN.items()))} ", end="")
    assert {"list", "fixed_size_list", "struct", "map"} <= set(SEEN)

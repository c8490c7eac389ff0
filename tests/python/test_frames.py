# ruff: noqa: E501 (tables, one case a line)
"""Frames come back exactly, whatever pandas is installed, or are refused when they are pushed."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.python.conftest import MANY, Box, stored

import airfreight
from airfreight import runtime

D = decimal.Decimal
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
DAYS = pd.date_range("2026-01-01", periods=4, freq="D")


def objects(*items: Any) -> Any:
    return pd.Series(list(items), dtype=object)


def made(expression: str) -> Any:
    return eval(
        expression,
        {
            "pd": pd,
            "pa": pa,
            "np": np,
            "D": D,
            "datetime": datetime,
            "IST": IST,
            "DAYS": DAYS,
            "objects": objects,
        },
    )


KEPT = {
    "basic": "pd.DataFrame({'a': range(3), 'b': list('xyz'), 'c': [1.5, np.nan, -0.0], 'd': [True, False, True]})",
    "empty": "pd.DataFrame()",
    "no rows": "pd.DataFrame({'a': np.array([], dtype='i1'), 's': objects(), 't': DAYS[:0]})",
    "no columns": "pd.DataFrame(index=range(3))",
    "no columns, text index": "pd.DataFrame(index=list('abc'))",
    "every int and float": "pd.DataFrame({k: np.array([0, 1], dtype=k) for k in 'i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8'.split()})",
    "extremes": "pd.DataFrame({'i': [2**63 - 1, -(2**63)], 'u': np.array([0, 2**64 - 1], dtype='u8'), 'f': [np.inf, 5e-324]})",
    "datetimes of every unit": "pd.DataFrame({u: np.array(['2026-01-01', 'NaT'], dtype=f'M8[{u}]') for u in ('s', 'ms', 'us', 'ns')})",
    "timedeltas of every unit": "pd.DataFrame({u: np.array([1, 'NaT'], dtype=f'm8[{u}]') for u in ('s', 'ms', 'us', 'ns')})",
    "nanosecond": "pd.DataFrame({'t': np.array([1, 2], dtype='M8[ns]')})",
    "before 1970": "pd.DataFrame({'t': np.array(['0001-01-01', '9999-12-31'], dtype='M8[s]')})",
    "utc": "pd.DataFrame({'t': DAYS.tz_localize('UTC')})",
    "zone": "pd.DataFrame({'t': pd.DatetimeIndex([*DAYS, pd.NaT]).tz_localize('Europe/Berlin')})",
    "fixed offset": "pd.DataFrame({'t': DAYS.tz_localize(IST)})",  # pandas-dev/pandas#35997
    "timezone.utc index": "pd.DataFrame({'a': range(4)}, index=DAYS.tz_localize(datetime.timezone.utc))",
    "masked": "pd.DataFrame({'i': pd.array([1, None, 2**62 + 1], dtype='Int64'), 'b': pd.array([True, None, False], dtype='boolean'), 'f': pd.array([0.1, None, 2], dtype='Float64'), 'u': pd.array([1, None, 255], dtype='UInt8')})",
    "string": "pd.DataFrame({'p': pd.array(['x', None], dtype='string[python]'), 'a': pd.array(['x', None], dtype='string[pyarrow]')})",
    "category of texts": "pd.DataFrame({'c': pd.Categorical(['x', None, 'y'], categories=['z', 'y', 'x'], ordered=True)})",
    "category of ints": "pd.DataFrame({'c': pd.Categorical([1, 2, 1])})",  # pandas-dev/pandas#60491
    "category of floats, bools, times": "pd.DataFrame({'f': pd.Categorical([.5, .25] * 2), 'b': pd.Categorical([True, False] * 2), 't': pd.Categorical(DAYS)})",
    "category without values": "pd.DataFrame({'c': pd.Categorical([None, None], categories=[])})",
    "category of mixed": "pd.DataFrame({'c': pd.Categorical(['a', 1, 'a'])})",
    "cut": "pd.DataFrame({'c': pd.cut([1, 2, 3, 4], 2)})",
    "interval beside a column called as its end": "pd.DataFrame({'a': pd.IntervalIndex.from_breaks([.5, 1.5, 2.5, 4.]), 'a.left': [10**9, 5, 7], 'a.right': [1, 2, 3]})",
    "levels with missing ints": "pd.DataFrame({'a': range(3)}, index=pd.MultiIndex(levels=[[1, 2**62 + 1], np.array([2**64 - 1], dtype='u8'), [True]], codes=[[0, -1, 1], [0, 0, -1], [-1, 0, 0]]))",
    "labels with missing ints": "pd.DataFrame([[1, 2, 3]], columns=pd.MultiIndex(levels=[[1, 2**62 + 1], ['x']], codes=[[0, -1, 1], [0, 0, -1]]))",
    "a level without labels": "pd.DataFrame({'a': [1, 2]}, index=pd.MultiIndex(levels=[np.array([], dtype='i8'), ['x']], codes=[[-1, -1], [0, 0]]))",
    "arrow dtypes of missing values": "pd.DataFrame({k: pd.array([None, None], dtype=pd.ArrowDtype(pa.type_for_alias(k))) for k in ('int8', 'uint64', 'float', 'string', 'large_string', 'binary', 'bool', 'date32', 'timestamp[ns]', 'duration[us]')})",
    "objects of texts and None": "pd.DataFrame({'s': objects('x', None)})",
    "objects of texts and NaN": "pd.DataFrame({'s': objects('x', np.nan)})",
    "objects of texts and NA": "pd.DataFrame({'s': objects('x', pd.NA)})",
    "objects of ints": "pd.DataFrame({'s': objects(1, 2**62 + 1)})",
    "objects of ints and None": "pd.DataFrame({'s': objects(1, None)})",
    "objects of bools": "pd.DataFrame({'s': objects(True, None)})",
    "objects of floats": "pd.DataFrame({'s': objects(1.5, np.nan)})",
    "objects of floats and None": "pd.DataFrame({'s': objects(1.5, None)})",
    "objects of bytes": "pd.DataFrame({'s': objects(b'a\\x00', None)})",
    "objects of dates": "pd.DataFrame({'s': objects(datetime.date(2020, 1, 1), None)})",
    "objects of times": "pd.DataFrame({'s': objects(datetime.time(1, 2, 3, 4), None)})",
    "objects of decimals": "pd.DataFrame({'s': objects(D('1.10'), D('-22.00'))})",
    "objects of None": "pd.DataFrame({'s': objects(None, None)})",
    "objects of NaN": "pd.DataFrame({'s': objects(np.nan, np.nan)})",
    "period": "pd.DataFrame({'p': pd.period_range('2026-01', periods=3, freq='M')})",
    "period index": "pd.DataFrame({'a': [1, 2]}, index=pd.period_range('2026', periods=2, freq='W-SUN'))",
    "interval": "pd.DataFrame({'i': pd.interval_range(0, 3, closed='both')})",
    "interval index": "pd.DataFrame({'a': [1, 2]}, index=pd.IntervalIndex.from_tuples([(0.5, 1), (1, 2)]))",
    "filtered index": "pd.DataFrame({'a': range(10)}).query('a % 2 == 0')",
    "range index": "pd.DataFrame({'a': range(3)}, index=pd.RangeIndex(2, 8, 2, name='r'))",
    "index with frequency": "pd.DataFrame({'a': range(4)}, index=DAYS)",
    "index with zone and frequency": "pd.DataFrame({'a': range(5)}, index=pd.date_range('2026-03-28', periods=5, freq='12h', tz='Europe/Berlin'))",
    "timedelta index": "pd.DataFrame({'a': [1, 2]}, index=pd.timedelta_range(0, periods=2, freq='s'))",
    "int index name": "pd.DataFrame({'a': [1]}, index=pd.Index([5], name=5))",
    "Int64 index": "pd.DataFrame({'a': [1, 2]}, index=pd.Index([1, None], dtype='Int64'))",  # pandas-dev/pandas#54000
    "category index": "pd.DataFrame({'a': [1, 2]}, index=pd.CategoricalIndex(['x', 'y'], categories=['y', 'x']))",
    "multi index": "pd.DataFrame({'a': range(4)}, index=pd.MultiIndex.from_product([['x', 'y'], [1, 2]], names=['k', None]))",
    "period level": "pd.DataFrame({'a': range(2)}, index=pd.MultiIndex.from_arrays([pd.period_range('2026', periods=2, freq='M'), ['a', 'b']]))",
    "duplicate index": "pd.DataFrame({'a': [1, 2]}, index=['x', 'x'])",
    "int columns": "pd.DataFrame(np.zeros((2, 3)))",
    "mixed columns": "pd.DataFrame([[1, 2]], columns=[1, 'a'])",
    "0 and '0'": "pd.DataFrame([[1, 2]], columns=[0, '0'])",  # apache/arrow#2864
    "duplicate columns": "pd.DataFrame([[1, 'x']], columns=['a', 'a'])",  # dask/fastparquet#118
    "tuple columns": "pd.DataFrame([[1, 2]], columns=pd.Index([('a', 1), 'b'], tupleize_cols=False))",
    "multi columns": "pd.DataFrame(np.ones((2, 4)), columns=pd.MultiIndex.from_product([['x', 'y'], [1, 2]], names=['k', 7]))",
    "date columns": "pd.DataFrame(np.ones((2, 4)), columns=DAYS)",
    "column index name": "pd.DataFrame([[1]], columns=pd.Index(['a'], name='cols'))",
    "no name": "pd.DataFrame([[1, 2]], columns=['', None])",
    "odd names": "pd.DataFrame([[1, 2, 3, 4]], columns=['a.b', 'a', '__index_level_0__', 'a\\x00'])",
    "index named as a column": "pd.DataFrame({'a': [1]}, index=pd.Index([5], name='a'))",
    "leading zeros": "pd.DataFrame({'zip': ['01234']}, index=['k'])",
    "nul in text": "pd.DataFrame({'a': ['x\\x00y']})",
    "arrow dtypes": "pd.DataFrame({'i': pd.array([1, None], dtype='int32[pyarrow]'), 'b': pd.array([True, None], dtype='bool[pyarrow]')})",
    "strided": "pd.DataFrame(np.arange(12.).reshape(4, 3)).iloc[::2]",
}

REFUSED = {
    "ints and texts": ("pd.DataFrame({'ok': [1, 1], 'bad': objects(1, 'x')})", "'bad'", "int, str"),
    "dates and datetimes": (  # apache/arrow#41896
        "pd.DataFrame({'bad': objects(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 5))})",
        "'bad'",
        "date, datetime",
    ),
    "bytes and texts": ("pd.DataFrame({'bad': objects(b'a', 'b')})", "'bad'", "bytes, str"),
    "dicts": ("pd.DataFrame({'bad': objects({'x': 1}, {'y': 2})})", "'bad'", "dict"),
    "tuples": ("pd.DataFrame({'bad': objects((1, 2))})", "'bad'", "tuple"),
    "sets": ("pd.DataFrame({'bad': objects({1})})", "'bad'", "set"),
    "lists": ("pd.DataFrame({'bad': objects([1])})", "'bad'", "list"),
    "arrays": ("pd.DataFrame({'bad': objects(np.zeros(2))})", "'bad'", "ndarray"),
    "huge ints": ("pd.DataFrame({'bad': objects(2**70)})", "'bad'", "64 bits"),
    "decimal places": ("pd.DataFrame({'bad': objects(D('1.1'), D('1.10'))})", "'bad'", "Decimals"),
    "NaN and None": (
        "pd.DataFrame({'bad': objects('x', None, np.nan)})",
        "'bad'",
        "missing values",
    ),
    "complex": ("pd.DataFrame({'bad': [1j]})", "'bad'", "complex128"),
    "big endian": ("pd.DataFrame({'bad': np.array([1], dtype='>i8')})", "'bad'", ">i8"),
    "sparse": ("pd.DataFrame({'bad': pd.arrays.SparseArray([0, 1])})", "'bad'", "to_dense"),
    "surrogate": ("pd.DataFrame({'bad': objects('\\ud800')})", "'bad'", "surrogate"),
    "position": ("pd.DataFrame([[1, objects]], columns=['a', 'a'])", "'a'", "function"),
    "zoned time": ("pd.DataFrame({'bad': objects(datetime.time(1, tzinfo=IST))})", "'bad'", "zone"),
    "timestamps as objects": (
        "pd.DataFrame({'bad': objects(pd.Timestamp('2026'))})",
        "'bad'",
        "Timestamp",
    ),
    "index": ("pd.DataFrame({'a': [1, 2]}, index=pd.Index([1, 'x']))", "the index", "int, str"),
    "label": (
        "pd.DataFrame([[1]], columns=pd.Index([frozenset([print])], dtype=object))",
        "labels",
        "builtin",
    ),
    "nested arrow": (
        "pd.DataFrame({'bad': pd.array([[1]], dtype=pd.ArrowDtype(__import__('pyarrow').list_(__import__('pyarrow').int64())))})",
        "'bad'",
        "list",
    ),
    "business days with holidays": (
        "pd.DataFrame({'a': [1, 2]}, index=pd.date_range('2026-01-05', periods=2, freq=pd.offsets.CustomBusinessDay(holidays=['2026-01-06'])))",
        "the index",
        "frequency",
    ),
}


def assert_same(back: Any, frame: Any) -> None:
    """Equal to the last detail that pandas lets one see."""
    pd.testing.assert_frame_equal(
        back,
        frame,
        check_exact=True,
        check_freq=True,
        check_index_type="exact",
        check_column_type="exact",
    )
    assert type(back) is type(frame)
    for one, other in ((back.index, frame.index), (back.columns, frame.columns)):
        assert type(one) is type(other)
        assert one.dtype == other.dtype
        assert list(one.names) == list(other.names)
        assert list(map(type, one)) == list(map(type, other))
        assert getattr(one, "freq", None) == getattr(other, "freq", None)
        if isinstance(other, pd.MultiIndex) and len(other):
            assert [level.dtype for level in one.levels] == [level.dtype for level in other.levels]
    assert list(back.dtypes) == list(frame.dtypes)
    for position in range(frame.shape[1]):
        ours, theirs = back.iloc[:, position], frame.iloc[:, position]
        if theirs.dtype == object:
            assert list(map(type, ours)) == list(map(type, theirs))
        if isinstance(theirs.dtype, pd.DatetimeTZDtype):
            assert str(ours.dtype) == str(theirs.dtype)
        if theirs.dtype.kind == "f" and isinstance(theirs.dtype, np.dtype):
            assert (
                ours[~theirs.isna()].to_numpy().tobytes()
                == theirs[~theirs.isna()].to_numpy().tobytes()
            )
    assert back.attrs == frame.attrs
    assert back.flags.allows_duplicate_labels == frame.flags.allows_duplicate_labels


@pytest.mark.parametrize("name", KEPT)
def test_a_frame_comes_back_exactly(box: Box, name: str) -> None:
    frame = made(KEPT[name])
    before = frame.copy(deep=True)
    row = box.push(frame)
    assert_same(frame, before)  # A push changes nothing of the value.
    fields = box.fields(row)
    assert fields["_xcom_type"] == "pandas.DataFrame"
    assert fields["rows"] == len(frame)
    back = box.pull(stored(row))
    assert_same(back, frame)


@pytest.mark.parametrize("name", KEPT)
def test_a_frame_without_rows_comes_back_exactly(box: Box, name: str) -> None:
    frame = made(KEPT[name]).iloc[:0]
    if isinstance(frame.index, pd.MultiIndex):
        frame.index = frame.index.remove_unused_levels()  # They are no labels of the frame.
    assert_same(box.through(frame), frame)


@pytest.mark.parametrize("name", KEPT)
def test_what_comes_back_may_be_written_to(box: Box, name: str) -> None:
    frame = box.through(made(KEPT[name]))
    if len(frame):
        for position in range(frame.shape[1]):
            frame.iloc[0, position] = frame.iloc[-1, position]


@pytest.mark.parametrize("name", REFUSED)
def test_a_frame_that_would_change_is_refused_by_column_and_reason(box: Box, name: str) -> None:
    expression, place, reason = REFUSED[name]
    with pytest.raises(TypeError) as caught:
        box.push(made(expression))
    message = str(caught.value)
    assert message.startswith("value: ")
    assert place in message
    assert reason in message
    assert box.objects() == []


def test_attrs_and_flags_come_back(box: Box) -> None:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = {"source": ("s3", 1), "when": datetime.datetime(2026, 1, 1), 5: {b"x"}}
    frame.flags.allows_duplicate_labels = False
    assert_same(box.through(frame), frame)
    frame.attrs["bad"] = [object()]
    with pytest.raises(TypeError, match=r"^value\.attrs\['bad'\]\[0\]"):
        box.push(frame)


def test_more_metadata_than_pyarrow_reads_by_itself_is_read(box: Box) -> None:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = {"x": "y" * 105_000_000}  # Above thrift_string_size_limit's default.
    assert box.through(frame).attrs == frame.attrs


def test_a_subclass_is_refused_with_the_conversion(box: Box) -> None:
    GeoDataFrame = type("GeoDataFrame", (pd.DataFrame,), {})  # noqa: N806
    with pytest.raises(TypeError, match=r"subclass of pandas\.DataFrame.*pandas\.DataFrame\(…\)"):
        box.push(GeoDataFrame({"a": [1]}))
    with pytest.raises(TypeError, match=r"value\['x'\]"):
        box.push({"x": GeoDataFrame({"a": [1]})})


def test_a_class_that_only_looks_like_a_frame_is_refused(box: Box) -> None:
    fake = type("DataFrame", (), {"__module__": "pandas"})
    with pytest.raises(TypeError, match="only looks like"):
        box.push(fake())


def test_a_three_row_frame_gives_a_readable_reference(box: Box) -> None:
    fields = box.fields(box.push(made("pd.DataFrame({'id': [1, 2, 3], 'price': [.5, 1, 2]})")))
    assert fields["_xcom_type"] == "pandas.DataFrame"
    assert fields["rows"] == 3
    assert fields["columns"] == [["id", "int64"], ["price", "float64"]]
    assert fields["summary"].startswith("DataFrame 3 × 2: id int64, price float64 · ")
    assert fields["summary"].endswith(" parquet")
    assert fields["uri"].endswith(
        "/sales/manual__2026-01-01T00%3A00%3A00%2B00%3A00/extract/map_-1/return_value.parquet"
    )
    assert "0.5" not in json.dumps(fields)  # No contents.


def bytes_of(payload: Any) -> bytes:
    raw: bytes = payload.body.getvalue()
    return raw


def large(rows: int) -> Any:
    r = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "price": np.round(r.lognormal(3, 1, rows), 2),
            "country": r.choice(["DE", "FR", "US"], rows),
            "sku": [f"SKU-{i:07d}" for i in r.integers(0, rows, rows)],
            "flag": r.random(rows) > 0.5,
            "ts": pd.Timestamp("2026-01-01")
            + pd.to_timedelta(r.integers(0, 86400, rows), unit="s"),
        },
        index=pd.Index(r.permutation(rows), name="k"),
    )


@pytest.mark.slow
def test_a_large_frame_is_written_in_several_row_groups(box: Box) -> None:
    frame = large(700_000)
    row = box.push(frame)
    file = pq.ParquetFile(box.file(row))
    assert file.metadata.num_row_groups > 1
    assert_same(box.pull(stored(row)), frame)
    # Any reader of Parquet reads it.
    assert file.read(columns=["id"]).column("id").to_pylist()[-3:] == [699_997, 699_998, 699_999]


def test_parquet_is_compressed_as_the_setting_says(box: Box) -> None:
    for name, expected in (
        ("snappy", "SNAPPY"),
        ("zstd", "ZSTD"),
        ("none", "UNCOMPRESSED"),
        ("lz4", "LZ4"),
    ):
        box.set(compression=name)
        row = box.push(pd.DataFrame({"a": ["x"] * 1000}))
        column = pq.ParquetFile(box.file(row)).metadata.row_group(0).column(0)
        assert column.compression.startswith(expected)


@pytest.mark.slow
def test_long_texts_are_written_in_small_row_groups(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pandas-dev/pandas#55606: above 2 GiB of one column in one group offsets overflow.
    frame = pd.DataFrame({"a": ["x" * (1 << 20)] * 150, "b": range(150)})
    row = box.push(frame)
    metadata = pq.ParquetFile(box.file(row)).metadata
    assert metadata.num_row_groups >= 2
    assert_same(box.pull(stored(row)), frame)


def test_a_text_column_of_another_pandas_is_objects_where_that_dtype_is_not_there(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    # apache/airflow#70791: written under pandas 3, read under pandas 2.2.
    frame = pd.DataFrame({"a": objects("x", np.nan)})
    spec = {"kind": "string", "dtype": "str", "storage": "pyarrow", "na": "nan"}
    from airfreight.values import _columns

    original = pd.StringDtype

    def old(storage: str | None = None, **kw: Any) -> Any:
        if kw:
            raise TypeError("unexpected keyword argument 'na_value'")
        return original(storage)

    monkeypatch.setattr(pd, "StringDtype", old)
    back = _columns.from_arrow(pa.chunked_array([pa.array(["x", None])]), spec)
    assert list(map(type, back)) == [str, float]
    assert back.dtype == object
    assert frame is not None


def test_a_frame_of_a_newer_format_says_so(box: Box) -> None:
    from airfreight.values import pandas_

    raw = bytes_of(pandas_.encode(pd.DataFrame({"a": [1]})))
    newer = raw.replace(b'{"version":1', b'{"version":2')
    assert newer != raw
    with pytest.raises(airfreight.NewerFormatError, match="version 2"):
        pandas_.decode(memoryview(newer))
    table = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1]}), table)
    with pytest.raises(ValueError, match="no metadata"):
        pandas_.decode(memoryview(table.getvalue()))


def test_the_result_does_not_live_in_the_memory_that_was_read(box: Box) -> None:
    from airfreight.values import pandas_

    frame = made(KEPT["basic"])
    data = bytearray(bytes_of(pandas_.encode(frame)))
    back = pandas_.decode(memoryview(data))
    data[:] = b"\xff" * len(data)
    assert_same(back, frame)


# --- Whatever hypothesis finds --------------------------------------------------------------------

cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.decimals(allow_nan=False),
    st.just(pd.NA),
    st.just(np.nan),
    st.tuples(st.integers()),
    st.lists(st.integers(), max_size=2),
)
one_kind = st.sampled_from(
    [
        st.text(max_size=3),
        st.text(max_size=3) | st.none(),
        st.text(max_size=3) | st.just(np.nan),
        st.integers(-(2**63), 2**63 - 1) | st.none(),
        st.booleans(),
        st.floats(),
        st.binary(max_size=3),
        st.dates() | st.none(),
        st.times(),
        st.just(None),
        st.text(max_size=3) | st.just(pd.NA),
        cells,
    ]
)
DTYPES = [
    *(
        "int8",
        "uint64",
        "float32",
        "float64",
        "bool",
        "datetime64[ns]",
        "datetime64[s]",
        "timedelta64[us]",
    ),
    *(
        "Int64",
        "UInt8",
        "Float64",
        "boolean",
        "string",
        "category",
        "datetime64[ns, Europe/Berlin]",
        "period[D]",
    ),
]


@st.composite
def columns(draw: Any, rows: int) -> Any:
    if draw(st.booleans()):
        kind = draw(one_kind)
        return pd.Series(draw(st.lists(kind, min_size=rows, max_size=rows)), dtype=object)
    dtype = draw(st.sampled_from(DTYPES))
    numbers = draw(st.lists(st.integers(0, 100), min_size=rows, max_size=rows))
    if "64[" in dtype or dtype.startswith(("period", "datetime")):
        base = pd.Series(pd.to_datetime(numbers, unit="D"))
        if dtype.startswith("timedelta"):
            return pd.Series(pd.to_timedelta(numbers, unit="s")).astype(dtype)
        if dtype.startswith("period"):
            return base.dt.to_period("D")
        return base.dt.tz_localize("Europe/Berlin") if "Berlin" in dtype else base.astype(dtype)
    series = pd.Series(numbers)
    if dtype == "boolean":
        series = series > 50
    return (
        series.astype(str).astype(dtype)
        if dtype in ("string", "category")
        else series.astype(dtype)
    )


@st.composite
def frames(draw: Any) -> Any:
    rows = draw(st.integers(0, 4))
    parts = draw(st.lists(columns(rows), max_size=4))
    frame = pd.concat(parts, axis=1) if parts else pd.DataFrame(index=range(rows))
    labels = (
        st.text(max_size=3)
        | st.integers(-2, 2)
        | st.none()
        | st.tuples(st.text(max_size=1), st.integers(0, 1))
    )
    names = draw(st.lists(labels, min_size=len(parts), max_size=len(parts)))
    frame.columns = pd.Index(names, dtype=object, tupleize_cols=False)
    if draw(st.booleans()):
        frame.index = pd.Index(draw(columns(rows)))
    return frame


@settings(
    max_examples=150 * MANY,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(frame=frames())
def test_any_frame_comes_back_exactly_or_is_refused(box: Box, frame: Any) -> None:
    row, refusal = None, ""
    try:
        row = box.push(frame)
    except TypeError as error:
        refusal = str(error)
    if refusal:
        assert refusal.startswith("value")
    else:
        assert_same(box.pull(stored(row)), frame)


def test_the_core_is_not_needed_to_look_at_a_frame_that_is_refused(box: Box) -> None:
    with pytest.raises(TypeError):
        box.push(made(REFUSED["dicts"][0]))
    assert runtime.loaded() is None

# ruff: noqa: E501 (tables, one case a line)
"""The oracle of `tests/oracle` finds each near miss, and takes a copy for the same."""

from __future__ import annotations

import collections
import copy
import datetime
import decimal
import enum
import fractions
import importlib
import uuid
import zoneinfo
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.oracle import assert_same, difference

D = decimal.Decimal
DAYS = pd.date_range("2026-01-01", periods=2, freq="D")


class Point(NamedTuple):
    x: int
    y: int


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Number(enum.IntEnum):
    ONE = 1


@dataclass
class Record:
    x: Any
    y: Any = 0


def objects(*items: Any) -> Any:
    return pd.Series(list(items), dtype=object)


NAMES = {
    "np": np,
    "pd": pd,
    "pa": pa,
    "D": D,
    "DAYS": DAYS,
    "objects": objects,
    "Point": Point,
    "Color": Color,
    "Number": Number,
    "Record": Record,
    "datetime": datetime,
    "collections": collections,
    "fractions": fractions,
    "zone": zoneinfo.ZoneInfo,
    "ARROW": pd.ArrowDtype,
}

#: Two values that are not the same, and what the message says.
NEAR_MISSES = [
    # Scalars of Python.
    ("1", "True", "bool"), ("1", "1.0", "float"), ("1", "np.int64(1)", "int64"),
    ("0.0", "-0.0", "-0.0"), ("complex(0, -0.0)", "0j", "complex"),
    ("None", "float('nan')", "NoneType"), ("pd.NA", "pd.NaT", "NAType"), ("pd.NaT", "None", "NaT"),
    ("'a'", "b'a'", "bytes"), ("b'a'", "bytearray(b'a')", "bytearray"), ("'a'", "np.str_('a')", "str_"),
    ("D('1.0')", "D('1.00')", "1.00"), ("D('0')", "D('-0')", "-0"), ("D(1)", "1", "Decimal"),
    ("'\\u00e9'", "'e\\u0301'", "value"), ("'a'", "'a\\x00'", "x00"),
    ("Number.ONE", "1", "Number"), ("Color.RED", "Color.BLUE", "BLUE"),
    ("fractions.Fraction(1)", "1", "Fraction"),
    # Times.
    ("datetime.datetime(2026, 1, 1)", "datetime.date(2026, 1, 1)", "date"),
    ("datetime.datetime(2026, 1, 1)", "pd.Timestamp(2026, 1, 1)", "Timestamp"),
    ("datetime.datetime(2026, 10, 25, 2, fold=1)", "datetime.datetime(2026, 10, 25, 2)", "folds"),
    ("datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)", "datetime.datetime(2026, 1, 1, tzinfo=zone('UTC'))", "tzinfo"),
    ("datetime.datetime(2026, 1, 1, 1, tzinfo=zone('Europe/Berlin'))", "datetime.datetime(2026, 1, 1, 1, tzinfo=zone('Europe/Paris'))", "Paris"),
    ("datetime.timezone(datetime.timedelta(0))", "datetime.timezone(datetime.timedelta(0), 'x')", "timezone"),
    ("datetime.timezone(datetime.timedelta(0), 'UTC')", "datetime.timezone.utc", "'UTC'"),
    ("datetime.time(1, fold=1)", "datetime.time(1)", "folds"),
    # Containers.
    ("[1]", "(1,)", "tuple"), ("Point(1, 2)", "(1, 2)", "Point"), ("{1: 0}", "{True: 0}", "keys"),
    ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", "keys"), ("{'a': [1]}", "{'a': [1.0]}", "value['a'][0]"),
    ("{1}", "frozenset({1})", "frozenset"), ("{1, 2}", "{True, 2}", "in one of them"), ("[None]", "[np.nan]", "[0]"),
    ("{}", "collections.OrderedDict()", "OrderedDict"), ("collections.defaultdict(int)", "collections.defaultdict(list)", "default_factory"),
    ("collections.Counter('a')", "{'a': 1}", "Counter"), ("collections.deque([1], 2)", "collections.deque([1])", "maxlen"),
    ("range(0)", "range(0, 0, 2)", "[2]"), ("Record(1)", "Record(1.0)", ".x"), ("[1, 2]", "[1]", "items"),
    # numpy.
    ("np.int64(1)", "np.int32(1)", "int32"), ("np.float64(0)", "np.float64(-0.)", "-0"), ("np.float64(1)", "1.0", "float"), ("np.bytes_(b'a')", "np.bytes_(b'a\\x00')", "bytes_"),
    ("np.zeros(2)", "-np.zeros(2)", "[0]"), ("np.zeros(2)", "np.zeros((2, 1))", "shape"), ("np.zeros(2, '>f8')", "np.zeros(2)", "dtype"),
    ("np.zeros((2, 2))", "np.zeros((2, 2), order='F')", "order"), ("np.array([1])", "np.array(1)", "shape"), ("np.array(1)", "np.int64(1)", "ndarray"),
    ("np.array([1, 'x'], object)", "np.array([True, 'x'], object)", "[0]"), ("np.array([None])", "np.array([np.nan], object)", "[0]"),
    ("np.array(['NaT'], 'M8[s]')", "np.array(['NaT'], 'M8[ns]')", "dtype"), ("np.array([1], 'm8[s]')", "np.array([1000], 'm8[ms]')", "dtype"),
    ("np.ma.array([1, 2], mask=[0, 1])", "np.ma.array([1, 2], mask=[1, 0])", "mask"), ("np.ma.array([1])", "np.array([1])", "MaskedArray"),
    ("np.ma.array([1], fill_value=3)", "np.ma.array([1], fill_value=4)", "fill_value"), ("np.ma.array([1], mask=[0])", "np.ma.array([1])", "mask"),
    ("np.zeros(1, [('a', 'i4')])", "np.zeros(1, [('b', 'i4')])", "dtype"), ("np.zeros(1, [(('t', 'a'), 'i4')])", "np.zeros(1, [('a', 'i4')])", "dtype"),
    ("np.zeros(1, [('a', 'f4')])", "np.array([(-0.,)], [('a', 'f4')])", "'a'"), ("np.array(['a'])", "np.array(['a'], 'U2')", "dtype"),
    ("np.dtype('i4')", "np.dtype('>i4')", "dtype"), ("np.array([complex(0, -0.)])", "np.array([0j])", "[0]"),
    # Scalars of pandas.
    ("pd.Timestamp(1)", "pd.Timestamp(1).as_unit('us')", "ns"), ("pd.Timestamp('2026', tz='UTC')", "pd.Timestamp('2026')", "tzinfo"),
    ("pd.Timedelta(1, 's').as_unit('ms')", "pd.Timedelta(1, 's').as_unit('s')", "(s)"), ("pd.Period('2026', 'M')", "pd.Period('2026', 'D')", "2026-01"),
    ("pd.Interval(0, 1)", "pd.Interval(0, 1, 'left')", "Interval"), ("pd.Interval(0, 1)", "pd.Interval(0., 1)", ".left"),
    ("pd.offsets.Day(1)", "pd.offsets.Hour(24)", "Hour"), ("pd.offsets.MonthEnd(1)", "pd.offsets.MonthEnd(1, normalize=True)", "MonthEnd"),
    # Series, and what their dtypes leave out.
    ("objects(1)", "objects(True)", "[0]"), ("objects(None)", "objects(np.nan)", "[0]"), ("objects(pd.NA)", "objects(pd.NaT)", "[0]"),
    ("objects(1)", "objects(np.int64(1))", "[0]"), ("objects('x')", "pd.Series(['x'], dtype='string')", "Array"),
    ("objects((1,))", "objects([1])", "[0]"), ("objects(D('1.0'))", "objects(D('1.00'))", "[0]"), ("objects(0.0)", "objects(-0.0)", "[0]"),
    ("pd.Series([0.0])", "pd.Series([-0.0])", "[0]"), ("pd.Series([1])", "pd.Series([1], name='a')", ".name"), ("pd.Series([1], name=1)", "pd.Series([1], name=True)", ".name"),
    ("pd.Series([1])", "pd.Series([1], dtype='Int64')", "Array"), ("pd.Series([1], dtype='Int64')", "pd.Series([1], dtype='Int32')", "dtype"),
    ("pd.Series([1, None], dtype='Int64')", "pd.Series([1, 1], dtype='Int64')", "isna"), ("pd.Series([1], dtype='Int64')", "pd.Series([2], dtype='Int64')", "[0]"),
    ("pd.Series([1], dtype='int64[pyarrow]')", "pd.Series([1], dtype='Int64')", "Array"), ("pd.Series([1], dtype='string[pyarrow]')", "pd.Series([1], dtype='string[python]')", "Array"),
    ("pd.Series([0.], dtype=ARROW(pa.float64()))", "pd.Series([-0.], dtype=ARROW(pa.float64()))", "[0]"),
    ("pd.Series([[1]], dtype=ARROW(pa.list_(pa.int64())))", "pd.Series([[1]], dtype=ARROW(pa.large_list(pa.int64())))", "type"),
    ("pd.Series(['a']).astype(ARROW(pa.string()))", "pd.Series(['a']).astype(ARROW(pa.large_string()))", "type"),
    ("pd.Series(DAYS)", "pd.Series(DAYS.as_unit('s'))", "dtype"), ("pd.Series(DAYS.tz_localize('UTC'))", "pd.Series(DAYS.tz_localize(zone('UTC')))", "tz"),
    ("pd.Series([1], dtype='>i8')", "pd.Series([1])", "dtype"), ("pd.Series([1j])", "pd.Series([1j], dtype='c8')", "dtype"),
    ("pd.Series(pd.arrays.SparseArray([0, 1]))", "pd.Series(pd.arrays.SparseArray([0, 1], fill_value=1))", "fill_value"),
    ("pd.Series(pd.arrays.SparseArray([0, 1]))", "pd.Series(pd.arrays.SparseArray([0, 1], kind='block'))", "kind"), ("pd.Series(pd.arrays.SparseArray([0, 1]))", "pd.Series([0, 1])", "Array"),
    # Categories.
    ("pd.Categorical(['a'], ['a', 'b'])", "pd.Categorical(['a'], ['b', 'a'])", "categories"), ("pd.Categorical(['a'], ['a', 'b'])", "pd.Categorical(['a'])", "categories"),
    ("pd.Categorical(['a'])", "pd.Categorical(['a'], ordered=True)", "ordered"), ("pd.Categorical([1])", "pd.Categorical([1.0])", "categories"),
    ("pd.Categorical([1])", "pd.Categorical(pd.array([1], dtype='Int64'))", "categories"), ("pd.Categorical([None], ['a'])", "pd.Categorical(['a'])", "codes"),
    ("pd.Categorical(DAYS)", "pd.Categorical(pd.DatetimeIndex(list(DAYS)))", "freq"), ("pd.Categorical.from_codes([0], pd.RangeIndex(1))", "pd.Categorical.from_codes([0], pd.Index([0]))", "categories"),
    # Indexes.
    ("pd.RangeIndex(2)", "pd.Index([0, 1])", "RangeIndex"), ("pd.RangeIndex(0)", "pd.RangeIndex(5, 5)", "(0, 0, 1)"), ("DAYS", "pd.DatetimeIndex(list(DAYS))", "freq"),
    ("pd.Index([1])", "pd.Index([1], name=0)", "names"), ("pd.Index([1], name='a')", "pd.Index([1], name=('a',))", "names"),
    ("pd.Index([1])", "pd.Index([1], dtype='int32')", "dtype"), ("pd.Index([1])", "pd.Index([1], dtype=object)", "dtype"), ("pd.Index([1, 'a'])", "pd.Index([True, 'a'])", "[0]"),
    ("pd.Index([('a', 1)], tupleize_cols=False)", "pd.Index([('a', 1)])", "MultiIndex"), ("pd.CategoricalIndex(['a'])", "pd.Index(['a'])", "CategoricalIndex"),
    ("pd.period_range('2026', periods=1, freq='M')", "pd.period_range('2026', periods=1, freq='D')", "dtype"), ("pd.timedelta_range(0, periods=2, freq='s')", "pd.TimedeltaIndex(list(pd.timedelta_range(0, periods=2, freq='s')))", "freq"),
    ("pd.interval_range(0, 2)", "pd.interval_range(0., 2.)", "subtype"), ("pd.interval_range(0, 2)", "pd.interval_range(0, 2, closed='both')", "closed"),
    ("pd.MultiIndex.from_arrays([[1], ['a']])", "pd.MultiIndex.from_arrays([[1.], ['a']])", "level 0"), ("pd.MultiIndex.from_arrays([[1], ['a']])", "pd.MultiIndex.from_arrays([[1], ['a']], names=['x', None])", "names"),
    ("pd.MultiIndex([[1, 2]], [[0]])", "pd.MultiIndex([[1]], [[0]])", "level 0"), ("pd.MultiIndex([[2, 1]], [[0]])", "pd.MultiIndex([[1, 2]], [[1]])", "level 0"), ("pd.MultiIndex([[1, 2]], [[0]])", "pd.MultiIndex([[1, 2]], [[1]])", "codes"),
    # Frames.
    ("pd.DataFrame({'a': [1]})", "pd.DataFrame({'a': [True]})", "'a'"), ("pd.DataFrame({'a': [1]})", "pd.DataFrame({'b': [1]})", "columns"),
    ("pd.DataFrame({'a': objects(None)})", "pd.DataFrame({'a': objects(np.nan)})", "'a'"), ("pd.DataFrame(columns=[1])", "pd.DataFrame(columns=pd.Index([1], dtype=object))", "columns"),
    ("pd.DataFrame([[1]], columns=[0])", "pd.DataFrame([[1]], columns=['0'])", "columns"), ("pd.DataFrame([[1]])", "pd.DataFrame([[1]], columns=[0])", "columns"),
    ("pd.DataFrame(index=range(1))", "pd.DataFrame()", "index"), ("pd.DataFrame({'a': [1, 2]}, index=DAYS)", "pd.DataFrame({'a': [1, 2]}, index=list(DAYS))", "freq"),
    # pyarrow.
    ("pa.array([1])", "pa.array([1], pa.int32())", "Int32Array"), ("pa.array([0.0])", "pa.array([-0.0])", "[0]"), ("pa.array([None, 1])", "pa.array([0, 1])", "[0]"), ("pa.array([1])", "pa.chunked_array([[1]])", "ChunkedArray"),
    ("pa.array(['a']).dictionary_encode()", "pa.DictionaryArray.from_arrays([0], ['a', 'b'])", "type"), ("pa.table({'a': [1]})", "pa.table({'b': [1]})", "schema"),
    ("pa.table({'a': [1]})", "pa.table({'a': [1]}).replace_schema_metadata({'k': 'v'})", "schema"), ("pa.table({'a': [1.0]})", "pa.table({'a': [2.0]})", "'a'"),
    ("pa.schema([pa.field('a', pa.int8())])", "pa.schema([pa.field('a', pa.int8(), nullable=False)])", "value"), ("pa.scalar(1)", "pa.scalar(2)", "[0]"), ("pa.array([{'a': 0.0}])", "pa.array([{'a': -0.0}])", "'a'"),
]  # fmt: skip


def made(expression: str) -> Any:
    return eval(expression, dict(NAMES))


@pytest.mark.parametrize(("one", "other", "said"), NEAR_MISSES)
def test_a_near_miss_is_found(one: str, other: str, said: str) -> None:
    left, right = made(one), made(other)
    found = difference(left, right)
    assert found is not None
    assert said in found
    assert difference(right, left) is not None
    assert difference([left], {"a": left}) is not None
    with pytest.raises(AssertionError):
        assert_same([{"in": left}], [{"in": right}])


@pytest.mark.parametrize("expression", sorted({side for miss in NEAR_MISSES for side in miss[:2]}))
def test_a_value_is_the_same_as_its_like_and_its_copy(expression: str) -> None:
    value = made(expression)
    assert difference(value, value) is None
    assert difference(value, made(expression)) is None
    assert difference([value], [copy.deepcopy(value)]) is None


def test_attrs_and_flags_of_frames_and_series_count() -> None:
    for value in (pd.DataFrame({"a": [1]}), pd.Series([1])):
        other = value.copy()
        other.attrs = {"a": 1}
        assert "attrs" in (difference(value, other) or "")
        value.attrs = {"a": 1.0}
        assert "attrs['a']" in (difference(value, other) or "")
        other.attrs = {"a": 1.0}
        assert difference(value, other) is None
        other.flags.allows_duplicate_labels = False
        assert "allows_duplicate_labels" in (difference(value, other) or "")


def test_offsets_of_pytz_views_and_blocks_count() -> None:
    pytz = pytest.importorskip("pytz")
    berlin = pytz.timezone("Europe/Berlin")
    summer = berlin.localize(datetime.datetime(2026, 7, 1))
    assert "tzinfo" in (difference(summer, summer.replace(tzinfo=berlin)) or "")
    assert difference(summer, copy.deepcopy(summer)) is None
    assert difference(memoryview(b"a"), memoryview(b"a").cast("b")) is not None
    assert difference(memoryview(b"a"), memoryview(bytearray(b"a"))) is not None
    assert difference(memoryview(b"a"), memoryview(b"a")) is None
    assert difference(np.zeros(0, "V5"), np.zeros(0, "V5")) is None
    union = pa.sparse_union([pa.field("a", pa.int8())])
    assert difference(pa.chunked_array([], union), pa.chunked_array([], union)) is None
    sparse = importlib.import_module("pandas._libs.sparse")
    ones, others = (
        pd.arrays.SparseArray([1.0, 2.0], sparse_index=sparse.BlockIndex(2, *blocks))
        for blocks in (([0], [2]), ([0, 1], [1, 1]))
    )
    assert difference(ones, others) is not None


def test_chunks_and_empty_metadata_count() -> None:
    ours, theirs = pa.chunked_array([[1], [2, 3]]), pa.chunked_array([[1, 2], [3]])
    assert "chunks" in (difference(ours, theirs) or "")
    assert "column 'a'" in (difference(pa.table({"a": ours}), pa.table({"a": theirs})) or "")
    assert difference(ours, pa.chunked_array([[1], [2, 3]])) is None
    assert "chunk 1" in (difference(ours, pa.chunked_array([[1], [2, 4]])) or "")
    table = pa.table({"a": ours})
    assert "schema" in (difference(table, table.replace_schema_metadata({})) or "")


def test_whether_a_uuid_is_safe_counts() -> None:
    ours, theirs = (uuid.UUID(int=1, is_safe=safe) for safe in list(uuid.SafeUUID)[:2])
    assert ours == theirs
    assert "SafeUUID" in (difference(ours, theirs) or "")


def test_the_payload_of_a_nan_does_not_count() -> None:
    quiet, other = np.array([0x7FF8000000000000, 0xFFF8000000000001], dtype="u8").view("f8")
    assert_same([np.array([quiet]), float(quiet)], [np.array([other]), float(other)])


def test_polars_frames_are_compared_by_schema_and_cells() -> None:
    import polars as pl

    assert_same(pl.DataFrame({"a": [1, None]}), pl.DataFrame({"a": [1, None]}))
    for other in ({"a": [1.0, None]}, {"b": [1, None]}, {"a": [1, 0]}, {"a": [1]}):
        assert difference(pl.DataFrame({"a": [1, None]}), pl.DataFrame(other)) is not None
    assert difference(pl.Series("a", [0.0]), pl.Series("a", [-0.0])) is not None
    assert difference(pl.Series("a", [1]), pl.Series("b", [1])) is not None

"""Generated values of each kind by itself come back exactly; what was generated is printed.

The examples are the same in each run (`derandomize`); `./dev soak` takes more of them. Columns and
labels of pandas are in test_frame_properties.py, types of Arrow in test_arrays_property.py.
"""

from __future__ import annotations

import collections
import datetime
import pathlib
import zoneinfo
from typing import TYPE_CHECKING, Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import polars as pl
import polars.testing.parametric as plt
import pytest
from hypothesis import HealthCheck, given, settings
from tests.matrix.versions import decode, encode
from tests.oracle import assert_same
from tests.python.conftest import MANY
from tests.python.strategies import ANY_TEXTS, TEXTS, ZONES

from airfreight.values import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How many values of each kind were made.
DRAWN: collections.Counter[str] = collections.Counter()
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
KEYS = st.none() | st.integers() | TEXTS | st.tuples(st.integers(), TEXTS) | st.binary(max_size=3)
ZONE = st.none() | st.sampled_from(list(ZONES.values()))
PAIRS = st.lists(st.tuples(KEYS, PLAIN), max_size=4)
DOCUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "None": st.none(),
    "bool": st.booleans(),
    "int": st.integers(-(2**63), 2**64 - 1),
    "int beyond 64 bits": st.integers(2**64, 2**200) | st.integers(-(2**200), -(2**63) - 1),
    "float": st.floats(),
    "complex": st.complex_numbers(),
    "str": st.text(),
    "str of any code points": ANY_TEXTS,
    "bytes": st.binary(),
    "bytearray": st.binary().map(bytearray),
    "list": st.lists(PLAIN),
    "tuple": st.lists(PLAIN).map(tuple),
    "set": st.sets(KEYS),
    "frozenset": st.frozensets(KEYS),
    "dict of texts": st.dictionaries(st.text(), PLAIN),
    "dict of other keys": st.dictionaries(KEYS, PLAIN),
    "dict of keys that are ours or Airflow's": st.dictionaries(
        st.sampled_from(["_airfreight", "_xcom_backend", "__classname__", "__type", "~tuple"]),
        PLAIN,
    ),
    "OrderedDict": PAIRS.map(collections.OrderedDict),
    "defaultdict": PAIRS.map(lambda it: collections.defaultdict(list, it)),
    "Counter": st.lists(KEYS).map(collections.Counter),
    "deque": st.builds(collections.deque, st.lists(PLAIN), st.none() | st.integers(0, 5)),
    "range": st.builds(range, st.integers(), st.integers(), st.integers(1)),
    "slice": st.builds(slice, PLAIN, PLAIN, PLAIN),
    "Ellipsis": st.just(...),
    "date": st.dates(),
    "time": st.builds(
        datetime.time.replace, st.times(), tzinfo=ZONE, fold=st.integers(0, 1)
    ),
    "datetime": st.builds(
        datetime.datetime.replace, st.datetimes(), tzinfo=ZONE, fold=st.integers(0, 1)
    ),
    "timedelta": st.timedeltas(),
    "timezone": st.sampled_from(list(ZONES.values())),
    "Decimal": st.decimals(),
    "Fraction": st.fractions(),
    "UUID": st.uuids(),
    "PurePosixPath": TEXTS.filter(lambda it: "\0" not in it).map(pathlib.PurePosixPath),
    "PureWindowsPath": TEXTS.map(pathlib.PureWindowsPath),
}  # fmt: skip
ARRAYS: dict[str, st.SearchStrategy[Any]] = {
    "bool": hnp.boolean_dtypes(),
    "int": hnp.integer_dtypes(endianness="?"),
    "uint": hnp.unsigned_integer_dtypes(endianness="?"),
    "float": hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    "longdouble": st.just(np.dtype("longdouble")),
    "complex": hnp.complex_number_dtypes(endianness="?", sizes=(64, 128)),
    "datetime64": hnp.datetime64_dtypes(endianness="?"),
    "timedelta64": hnp.timedelta64_dtypes(endianness="?"),
    "bytes": hnp.byte_string_dtypes(endianness="?", min_len=1),
    "texts": hnp.unicode_string_dtypes(endianness="?", min_len=1),
    "raw bytes": st.integers(1, 9).map(lambda size: np.dtype(f"V{size}")),
    "structured": hnp.array_dtypes(hnp.integer_dtypes() | hnp.floating_dtypes()),
    "structured with subarrays": hnp.array_dtypes(hnp.integer_dtypes(), allow_subarrays=True),
}  # fmt: skip
POLARS: dict[str, Any] = {
    **{str(it): it for it in (
        pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32,
        pl.UInt64, pl.Float32, pl.Float64, pl.String, pl.Binary, pl.Date, pl.Time, pl.Null,
        pl.Datetime("ms"), pl.Datetime("ns", "Europe/Berlin"), pl.Duration("us"),
        pl.Decimal(20, 3), pl.Categorical, pl.Enum(["unused", "a", "b"]), pl.List(pl.Int8),
        pl.Array(pl.Int8, 2), pl.Struct({"a": pl.Int8, "b": pl.String}))},
}  # fmt: skip
PROFILE = settings(
    max_examples=10 * MANY,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module", autouse=True)
def printed(request: pytest.FixtureRequest) -> Iterator[None]:
    """What was generated, once all tests here are through."""
    yield
    capture: Any = request.config.pluginmanager.getplugin("capturemanager")
    shown = ", ".join(f"{kind} {count}" for kind, count in DRAWN.items())
    with capture.global_and_fixture_disabled():
        print(f"\n{len(DRAWN)} kinds of values, generated each: {shown}")


def comes_back(kind: str, value: Any, **options: Any) -> None:
    DRAWN[kind] += 1
    name, data = encode(value, Options(**options))
    assert_same(decode(name, data), value)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_any_value_of_this_kind_comes_back(kind: str) -> None:
    @PROFILE
    @given(DOCUMENTS[kind], st.sampled_from(["itself", "a list", "a key or a member"]))
    def check(value: Any, where: str) -> None:
        if where == "a list":
            value = [value, (value,)]
        elif where == "a key or a member":
            try:
                value = {value: value}
            except TypeError:  # It can't be hashed.
                value = {1: value}
        comes_back(kind, value)

    check()
    assert DRAWN[kind]


@pytest.mark.parametrize("kind", ARRAYS)
def test_any_array_of_this_kind_comes_back(kind: str) -> None:
    @PROFILE
    @given(
        st.data(), ARRAYS[kind], hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
    )
    def check(data: Any, dtype: Any, shape: Any) -> None:
        size = int(np.prod(shape)) * dtype.itemsize
        raw = data.draw(st.binary(min_size=size, max_size=size))
        array = np.ndarray(shape, dtype, raw or b"\0").copy()
        if dtype.char == "g":  # Of their bytes some are padding.
            array = np.arange(array.size, dtype=dtype).reshape(shape) / 7
        comes_back(f"array of {kind}", data.draw(st.sampled_from([array, array.T])))

    check()
    assert DRAWN[f"array of {kind}"]


@pytest.mark.parametrize("kind", POLARS)
def test_any_series_of_polars_of_this_kind_comes_back(kind: str) -> None:
    @PROFILE
    @given(
        plt.series(name="x", dtype=POLARS[kind], max_size=5, allow_null=True),
        st.sampled_from(["parquet", "arrow"]),
    )
    def check(series: Any, form: str) -> None:
        comes_back(f"polars {kind}", series, format=form)

    check()
    assert DRAWN[f"polars {kind}"]

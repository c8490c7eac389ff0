"""Rare parts of frames: what pandas compares, names or copies only in part comes back too."""

from __future__ import annotations

import decimal
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.oracle import assert_same
from tests.python.conftest import Box, stored
from tests.python.frame_cases import objects

import airfreight
from airfreight.values import _freqs, _labels, pandas_

OFFSETS = pd.offsets
LONE = "\ud800"


class Unregistered(pa.ExtensionType):  # type: ignore[misc]
    """A type of Arrow that this process has not registered."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "airfreight.tests.unregistered")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, raw: bytes) -> Unregistered:
        return cls()


def arrow(array: Any) -> Any:
    """An array of pandas' ArrowDtype."""
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))


def indexed(index: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": np.arange(len(index))}, index=index)


@pytest.mark.parametrize("dtype", [">g", ">G", ">f2"])
def test_big_endian_numbers_of_raw_bytes_come_back(box: Box, dtype: str) -> None:
    values = np.array([1.5, -0.0, 3], dtype=dtype)
    frame = pd.DataFrame({"a": pd.Series(values)})
    back = box.through(frame)
    assert back["a"].dtype.str == frame["a"].dtype.str
    assert back["a"].tolist() == [1.5, 0, 3]
    assert_same(back, frame)


# --- Types of Arrow -------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda array: array, lambda array: array[:0]])
def test_an_extension_type_that_is_not_registered_is_refused(box: Box, wrap: Any) -> None:
    array = wrap(pa.ExtensionArray.from_storage(Unregistered(), pa.array([1])))
    with pytest.raises(TypeError, match=r"column 'x'.*come back as int64.*register_extension"):
        box.push(pd.DataFrame({"x": arrow(array)}))


def test_an_extension_type_that_the_reader_lacks_is_an_error_there(box: Box) -> None:
    kind = Unregistered()
    pa.register_extension_type(kind)
    try:
        array = pa.ExtensionArray.from_storage(kind, pa.array([1, None]))
        frame = pd.DataFrame({"x": arrow(array)})
        row = stored(box.push(frame))
        assert box.pull(row)["x"].dtype == frame["x"].dtype
    finally:
        pa.unregister_extension_type(kind.extension_name)
    with pytest.raises(airfreight.UnsupportedError, match=r"airfreight\.tests\.unregistered"):
        box.pull(row)


@pytest.mark.parametrize("rows", [0, 2])
def test_a_dictionary_of_a_dictionary_is_refused(box: Box, rows: int) -> None:
    inner = pa.array(["a", "b"]).dictionary_encode()
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1]), inner)[:rows]
    with pytest.raises(TypeError, match=r"column 'x'.*would come back as dictionary"):
        box.push(pd.DataFrame({"x": arrow(array)}))


def test_binary_of_no_bytes_comes_back(box: Box) -> None:
    frame = pd.DataFrame({"x": arrow(pa.array([b"", None], pa.binary(0)))})
    assert_same(box.through(frame), frame)


def test_labels_of_types_that_arrow_does_not_compare_come_back(box: Box) -> None:
    union = pa.UnionArray.from_sparse(
        pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]
    )
    frame = pd.DataFrame([[1, 2]], columns=pd.Index(arrow(union)))
    assert box.through(frame).columns.tolist() == [1, "b"]
    spans = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    frame = pd.DataFrame([[1]], columns=pd.Index(arrow(spans)))
    assert box.through(frame).columns.tolist() == frame.columns.tolist()


def test_views_of_arrow_come_back(box: Box) -> None:
    texts = arrow(pa.array(["a" * 100, None, "b"], pa.string_view()))
    frame = pd.DataFrame({"a": texts, "b": arrow(pa.array([[1], None, []], pa.list_(pa.int8())))})
    assert_same(box.through(frame), frame)
    assert_same(box.through(pd.Index(texts)), pd.Index(texts))


def test_categories_that_python_can_not_hold_come_back(box: Box) -> None:
    times = pd.Index(arrow(pa.array([2**62], pa.timestamp("s"))))
    series = pd.Series(pd.Categorical.from_codes([0, -1], categories=times))
    for describe in ("schema", "full"):
        box.set(describe=describe)
        assert_same(box.through(series), series)


def test_labels_that_python_can_not_hold_are_refused(box: Box) -> None:
    frame = pd.DataFrame([[1]], columns=pd.Index(arrow(pa.array([-(2**60)], pa.timestamp("us")))))
    with pytest.raises(TypeError, match=r"^value: column '0': .*OverflowError"):
        box.push(frame)


# --- Frequencies ----------------------------------------------------------------------------------

PARTS = {
    "business hours, turned": lambda: pd.date_range("2021-03-26", periods=4, freq="bh")[::-1],
    "two units, turned": lambda: pd.date_range(
        "2021-03-26", periods=4, freq=OFFSETS.DateOffset(months=1, days=2)
    )[::-1],
    "last week": lambda: pd.date_range(
        "2021-03-26", periods=4, freq=OFFSETS.LastWeekOfMonth(weekday=3)
    )[1:2],
    "fiscal year": lambda: pd.date_range(
        "2021-03-26",
        periods=4,
        freq=OFFSETS.FY5253(weekday=3, startingMonth=2, variation="last"),
    )[1:2],
    "fiscal quarter": lambda: pd.date_range(
        "2021-03-26",
        periods=4,
        freq=OFFSETS.FY5253Quarter(
            weekday=3, startingMonth=2, variation="last", qtr_with_extra_week=2
        ),
    )[1:2],
    "easter": lambda: pd.date_range("2021-03-26", periods=4, freq=OFFSETS.Easter())[1:2],
}


@pytest.mark.parametrize("name", PARTS)
def test_the_frequency_of_a_part_of_an_index_comes_back(box: Box, name: str) -> None:
    index = PARTS[name]()
    assert index.freq is not None
    assert_same(box.through(indexed(index)), indexed(index))


@pytest.mark.parametrize(
    "freq",
    [
        OFFSETS.MonthEnd(normalize=True),
        OFFSETS.BDay(offset=pd.Timedelta("2h")),
        OFFSETS.MonthEnd(3),
    ],
    ids=str,
)
def test_what_the_name_of_a_periods_frequency_leaves_out_comes_back(box: Box, freq: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # pandas will drop periods of BDay.
        index = pd.period_range("2021", periods=3, freq=freq)
        back = box.through(indexed(index)).index
    assert _freqs.same_freq(back.freq, freq)
    assert back.asi8.tolist() == index.asi8.tolist()


def test_the_frequencies_of_the_ends_of_intervals_come_back(box: Box) -> None:
    index = pd.interval_range(pd.Timestamp("2020", tz="UTC"), periods=3)
    frame = pd.DataFrame(
        {
            "a": index,
            "b": pd.Categorical(index),
            "c": pd.interval_range(pd.Timedelta(0), periods=3),
        },
        index=index,
    )
    back = box.through(frame)
    assert back.index.left.freq == back.index.right.freq == OFFSETS.Day()
    assert back["a"].array.left.freq == OFFSETS.Day()
    assert back["b"].cat.categories.left.freq == frame["b"].cat.categories.left.freq
    assert back["c"].array.right.freq == frame["c"].array.right.freq
    assert_same(back, frame)
    back = box.through(frame.T.iloc[:1])
    assert back.columns.left.freq == OFFSETS.Day()


def test_frequencies_are_written_so_that_other_versions_of_pandas_read_them() -> None:
    packed = _freqs.pack_freq(OFFSETS.Easter(), None)
    assert packed in ("Easter", {"offset": "Easter", "n": 1, "normalize": False, "kwds": {}})
    packed = _freqs.pack_freq(OFFSETS.LastWeekOfMonth(weekday=3), None)
    assert packed["kwds"] == {"weekday": 3}  # pandas 2 does not know its name, LWOM-THU.


# --- Levels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [object, "string[python]"])
def test_levels_of_texts_that_utf8_can_not_hold_come_back(box: Box, dtype: Any) -> None:
    texts = pd.Index([LONE, "z"], dtype=dtype)
    index = pd.MultiIndex.from_arrays([texts, [1, 2]])
    assert_same(box.through(indexed(index)), indexed(index))
    assert_same(box.through(pd.DataFrame([[1, 2]], columns=index)).columns, index)
    other = pd.MultiIndex(levels=[texts[::-1], [1, 2]], codes=[[0, 1], [0, 1]])
    assert_same(box.through(indexed(other)), indexed(other))


def test_labels_and_categories_of_texts_that_utf8_can_not_hold_come_back(box: Box) -> None:
    texts = pd.Index([LONE, "z"], dtype="string[python]")
    frame = pd.DataFrame([[1, 2]], columns=texts)
    assert_same(box.through(frame), frame)
    frame = pd.DataFrame({"a": pd.Categorical.from_codes([0, 1, -1], texts)})
    assert_same(box.through(frame), frame)


NAN = float("nan")
LEVELS = {
    "tuples of a NaN": objects((1, NAN), "x", frozenset([(NAN,)])),
    "decimals of none": objects(decimal.Decimal(1), (decimal.Decimal("NaN"),), "x"),
    "intervals": pd.IntervalIndex.from_tuples([(0, 5), (1, 3), (2, 9)], closed="left"),
    "long intervals": pd.IntervalIndex.from_arrays([2**60 + 1, 3, 5], [2**61 + 1, 4, 6]),
    "intervals of a frequency": pd.interval_range(pd.Timestamp("2026", tz="UTC"), periods=3),
    "dictionaries": arrow(pa.array(["a", "b", "c"]).dictionary_encode()),
    "times that Python has not": np.array([10**11, -(10**12), 0], "M8[s]"),
}


@pytest.mark.parametrize("codes", [[0, 1, 2], [2, -1, 0], [0, 0, 2]])
@pytest.mark.parametrize("kind", LEVELS)
def test_levels_of_rare_labels_come_back(box: Box, kind: str, codes: list[int]) -> None:
    labels = LEVELS[kind]
    level = pd.Index(labels, dtype=labels.dtype, tupleize_cols=False)
    index = pd.MultiIndex([level, ["p", "q", "r"]], [codes, [1, 0, -1]], names=["a", ("b", 1)])
    assert_same(box.through(indexed(index)), indexed(index))
    frame = pd.DataFrame(np.arange(3)[np.newaxis])
    frame.columns = index
    assert_same(box.through(frame), frame)


def test_labels_that_only_one_process_tells_apart_are_refused(box: Box) -> None:
    level = pd.Index(objects(frozenset([NAN]), frozenset([float("nan")])), dtype=object)
    index = pd.MultiIndex([level], [[0, 1]])
    with pytest.raises(TypeError, match=r"the index: level 0 has labels .* not tell apart"):
        box.push(indexed(index))


def test_labels_that_no_row_uses_come_back_however_many(box: Box) -> None:
    frame = indexed(pd.MultiIndex.from_arrays([np.arange(100_000)] * 2)[:5])
    back = box.through(frame)
    assert [len(level) for level in back.index.levels] == [100_000, 100_000]
    assert_same(back, frame)


def test_more_such_labels_than_a_file_should_carry_are_refused(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_labels, "_MAX_SPARE_BYTES", 1000)
    frame = indexed(pd.MultiIndex.from_arrays([np.arange(1000)] * 2)[:5])
    with pytest.raises(TypeError, match=r"the index: level 0 .*index\.remove_unused_levels\(\)"):
        box.push(frame)
    used = frame.set_axis(frame.index.remove_unused_levels())
    assert_same(box.through(used), used)


def test_a_level_with_a_label_twice_is_refused(box: Box) -> None:
    index = pd.MultiIndex([["a", "a"], [1, 2]], [[0, 1], [0, 1]], verify_integrity=False)
    with pytest.raises(TypeError, match=r"the index: level 0 has a label twice"):
        box.push(indexed(index))


# --- What can't be kept ---------------------------------------------------------------------------


def test_a_frame_that_holds_itself_is_refused(box: Box) -> None:
    frame = pd.DataFrame({"x": [None]}, dtype=object)
    frame.at[0, "x"] = frame
    with pytest.raises(TypeError, match=r"^value: column 'x': row 0") as caught:
        box.push(frame)
    assert len(str(caught.value)) < 2000
    frame = pd.DataFrame({"x": [1]})
    frame.attrs["me"] = frame
    with pytest.raises(TypeError, match=r"^value\.attrs\['me'\].*holds itself") as caught:
        box.push(frame)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("dtype", ["q", "Q", "l", "L", ">q"])
def test_a_longlong_stays_one(box: Box, dtype: str) -> None:
    array = np.array([1, 2], dtype=dtype)
    for value in (
        pd.DataFrame({"a": array}, index=pd.Index(array)),
        pd.Series(array),
        pd.DataFrame({"a": objects([array, array])}),
        pd.DataFrame({"a": objects([array, array.astype("q"), array.astype("l")])}),
        pd.DataFrame({"a": objects([array, "x", array[0]])}),
    ):
        assert_same(value, box.through(value))


def test_a_decimal_that_raises_when_it_is_compared_comes_back(box: Box) -> None:
    frame = pd.DataFrame({"a": objects(decimal.Decimal("sNaN"), 1)})
    assert str(box.through(frame)["a"][0]) == "sNaN"
    back = box.through(frame["a"].array)
    assert type(back) is type(frame["a"].array)
    assert str(back[0]) == "sNaN"


# --- Partial reads --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (pd.date_range("2020", periods=3, freq="D"), "2020"),
        (pd.period_range("2020", periods=3, freq="M"), "2020"),
        (pd.period_range("2020", periods=3, freq="M"), "2020-01-01"),
        (pd.Index([1, 2, 3]), True),
        (pd.Index([1, 2, 3]), 1.0),
        (pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), "a"),
        (pd.Index(["a", "b", "a"]), "a"),
    ],
    ids=str,
)
def test_columns_are_found_as_pandas_finds_them(labels: pd.Index[Any], wanted: Any) -> None:
    frame = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=labels)
    data = memoryview(pandas_.encode(frame).body.getvalue())  # type: ignore[union-attr]
    try:
        expected = frame[[wanted]]
    except (LookupError, TypeError, ValueError):
        with pytest.raises(airfreight.InvalidError, match="has no column"):
            pandas_.decode_columns(data, [wanted])
    else:
        assert_same(pandas_.decode_columns(data, [wanted]), expected)

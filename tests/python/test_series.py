"""Series, indexes, categoricals and arrays of pandas come back exactly, as types of their own."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.oracle import assert_same
from tests.python.conftest import Box, stored
from tests.python.frame_cases import DAYS, KEPT, made, objects

import airfreight
from airfreight import values
from airfreight.values._freqs import same_freq


@pytest.mark.parametrize("name", KEPT)
def test_the_columns_and_indexes_of_frames_come_back_by_themselves(box: Box, name: str) -> None:
    frame = made(KEPT[name])
    for index in (frame.index, frame.columns):
        row = box.push(index)
        assert box.fields(row)["_xcom_type"] == "pandas.Index"
        assert_same(box.pull(stored(row)), index)
    for position in range(min(frame.shape[1], 3)):
        series = frame.iloc[:, position]
        row = box.push(series)
        assert box.fields(row)["_xcom_type"] == "pandas.Series"
        assert box.fields(row)["rows"] == len(series)
        assert_same(box.pull(stored(row)), series)
        kind = "Categorical" if isinstance(series.array, pd.Categorical) else "array"
        row = box.push(series.array)
        assert box.fields(row)["_xcom_type"] == f"pandas.{kind}"
        assert_same(box.pull(stored(row)), series.array)


@pytest.mark.parametrize(
    "label", [None, 0, True, 1.5, np.nan, ("a", 1), "x", b"x", "\ud800", frozenset({1})], ids=repr
)
def test_the_name_of_a_series_comes_back(box: Box, label: Any) -> None:
    series = pd.Series([1, 2], name=label)
    assert_same(box.through(series), series)


@pytest.mark.parametrize(
    "freq",
    [
        pd.offsets.Week(),  # Which has no name as that of a period.
        pd.offsets.MonthEnd(normalize=True),
        pd.offsets.QuarterEnd(startingMonth=2, normalize=True),
        pd.offsets.Week(2, weekday=3),
        pd.offsets.YearEnd(month=5),
    ],
    ids=repr,
)
def test_periods_keep_what_the_name_of_their_frequency_does_not_tell(box: Box, freq: Any) -> None:
    period = pd.Period("2026-01-01", freq=freq)
    series = pd.Series([period, pd.NaT], dtype=pd.PeriodDtype(freq))
    for number, value in enumerate((period, [period], series, pd.PeriodIndex(series))):
        back = box.through(value, key=str(number))
        one = back if number == 0 else back[0]
        assert type(one) is pd.Period
        assert one == period
        assert same_freq(one.freq, freq)


def test_frequencies_of_one_name_are_kept_apart(box: Box) -> None:
    freqs = [pd.offsets.MonthEnd(normalize=normalized) for normalized in (False, True, False)]
    back = box.through([pd.Period("2026-01", freq=freq) for freq in freqs])
    assert [one.freq.normalize for one in back] == [False, True, False]


def test_a_frequency_that_pandas_here_does_not_have_is_unsupported(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    period = pd.Period("2026-01-01", freq=pd.offsets.MonthEnd(normalize=True))
    rows = [box.push([period]), box.push(pd.PeriodIndex([period]), key="index")]
    monkeypatch.delattr(pd.offsets, "MonthEnd")
    for row in rows:
        with pytest.raises(airfreight.UnsupportedError, match="frequency MonthEnd, which pandas"):
            box.pull(stored(row))


def test_attrs_and_flags_of_a_series_come_back_and_stay_as_they_were(box: Box) -> None:
    series = pd.Series([1.5], index=["k"], name="a")
    series.attrs = {"source": ("s3", 1)}
    series.flags.allows_duplicate_labels = False
    back = box.through(series)
    assert_same(back, series)
    assert series.name == "a"
    back.iloc[0] = 2.5
    assert series.iloc[0] == 1.5


def test_the_frequency_of_an_array_comes_back(box: Box) -> None:
    for array in (DAYS.array, pd.timedelta_range(0, periods=3, freq="s").array):
        back = box.through(array)
        assert_same(back, array)
        assert back.freq == array.freq


def test_a_series_inside_another_value_comes_back(box: Box) -> None:
    value = {"c": pd.Categorical(["a"]), "i": [DAYS, pd.RangeIndex(3)], "s": objects(1, "x")}
    assert_same(box.through(value), value)


def test_the_row_of_a_series_tells_its_type(box: Box) -> None:
    fields = box.fields(box.push(pd.Series([1.5, 2], name="price")))
    assert fields["columns"] == [["price", "float64"]]
    assert fields["summary"].startswith("Series 2 float64 · ")
    assert box.fields(box.push(pd.RangeIndex(5)))["summary"].startswith("RangeIndex 5 int64 · ")
    with pytest.raises(airfreight.InvalidError, match=r"pandas\.Series"):
        airfreight.get(box.fields(box.push(pd.Series([1]))), columns=["a"])


def test_a_series_that_would_change_is_refused_with_the_place(box: Box) -> None:
    for value, words in (
        (objects(1, print), "value: its values: row 1: an object of type builtin_function"),
        (pd.Series([1], index=pd.Index([print])), "value: the index: row 0: an object of type"),
        (pd.Series([1], name=print), "value: the name: "),
        (pd.Index([1, print]), "value: the index: row 1"),
        (
            type("Series", (pd.Series,), {})([1]),
            "value: an object of .*convert it with pandas",
        ),
        (type("Index", (pd.Index,), {}), "value: an object of type type"),
    ):
        with pytest.raises(TypeError, match=words):
            box.push(value)


def test_an_array_of_another_library_is_refused_with_the_conversion(box: Box) -> None:
    Theirs = type("Theirs", (pd.arrays.IntegerArray,), {})  # noqa: N806
    array = Theirs(np.array([1]), np.array([False]))
    with pytest.raises(TypeError, match=r"value: .*Theirs.* is no pandas\.array.*to_numpy"):
        box.push(array)


def test_an_array_of_objects_whose_comparison_raises_comes_back(box: Box) -> None:
    value = pd.Series([decimal.Decimal("sNaN")], dtype=object).array
    back = box.through(value)
    assert type(back) is type(value)
    assert back._ndarray[0].as_tuple() == value._ndarray[0].as_tuple()


GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "pandas" / "v1"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_golden_files_are_read(path: Path) -> None:
    kind, expression = path.read_text().splitlines()
    codec = values.for_type(kind)
    assert codec is not None
    back = codec.decode(memoryview(bytearray(path.with_suffix("").read_bytes())))
    assert_same(back, eval(expression, {"np": np, "pd": pd}))

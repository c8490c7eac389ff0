"""What is looked at in C++ of columns of objects: the same as a look in Python tells."""

from __future__ import annotations

import datetime
import decimal
import gc
import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.conftest import MANY

from airfreight import _json

UTC = datetime.timezone.utc

others = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
lists = st.lists(st.integers() | st.none() | st.text(max_size=2), max_size=3)
decimals = st.decimals().filter(lambda number: not number.is_snan()) | st.decimals(
    places=2, allow_nan=False, allow_infinity=False
)
times = st.datetimes() | st.times() | st.builds(datetime.time, fold=st.integers(0, 1))
cells = st.lists(
    others | st.floats() | lists | decimals | times | st.timedeltas() | st.just(np.float64(1)),
    max_size=9,
)


def objects(items: list[Any]) -> Any:
    array = np.empty(len(items), dtype=object)
    for position, item in enumerate(items):  # Lists would else make another dimension.
        array[position] = item
    return array


def memory(array: Any) -> tuple[int, int, int]:
    return array.__array_interface__["data"][0], len(array), array.strides[0]


def decimals_of(items: list[Any]) -> Any:
    found = [item.as_tuple() for item in items if type(item) is decimal.Decimal]
    places = {exponent for _, _, exponent in found}
    zeros = any(sign and not any(figures) for sign, figures, _ in found)
    if len(places) != 1 or not isinstance(exponent := places.pop(), int) or zeros:
        return None
    return max(max(len(figures), -exponent) for _, figures, _ in found), -exponent


@settings(max_examples=300 * MANY, deadline=None)
@given(items=cells, backwards=st.booleans())
def test_cells_are_seen_as_python_sees_them(items: list[Any], *, backwards: bool) -> None:
    array = objects(items)[:: -1 if backwards else 1]
    place = memory(array)
    assert _json.types_at(*place) == set(map(type, items))
    floats = [item for item in items if type(item) is float]
    nans = [math.isnan(item) for item in floats]
    assert _json.floats_at(*place) == (not all(nans), any(nans))
    moments = [item for item in items if type(item) in (datetime.datetime, datetime.time)]
    naive = not any(item.tzinfo or item.fold for item in moments)
    assert _json.naive_at(*place) is naive
    days = [abs(item.days) for item in items if type(item) is datetime.timedelta]
    assert _json.days_at(*place) == max(days, default=0)
    assert _json.decimals_at(*place) == decimals_of(items)
    inner = [item for one in items if type(one) is list for item in one]
    assert _json.lists_at(*place) == (set(map(type, inner)), len(inner))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1.10", "-22.05"], (4, 2)),
        (["0.00", "0.05"], (2, 2)),
        (["0"], (1, 0)),
        (["1E-8", "0E-8"], (8, 8)),
        (["1E+3"], (1, -3)),
        (["12E+3", "1E+3"], (2, -3)),
        (["1.0", "1"], None),
        (["-0.0"], None),
        (["NaN"], None),
        (["sNaN"], None),
        (["-Infinity"], None),
        ([], None),
    ],
)
def test_decimals_are_read_to_the_last_place(texts: list[str], expected: Any) -> None:
    array = objects([None, *map(decimal.Decimal, texts)])
    assert _json.decimals_at(*memory(array)) == expected


def test_a_zone_or_a_fold_is_seen() -> None:
    for cell in (
        datetime.datetime(2026, 1, 1, tzinfo=UTC),
        datetime.datetime(2026, 1, 1, fold=1),
        datetime.time(1, tzinfo=UTC),
        datetime.time(1, fold=1),
    ):
        assert not _json.naive_at(*memory(objects([datetime.datetime(2026, 1, 1), None, cell])))


def test_memory_of_no_object_is_none() -> None:
    assert _json.types_at(*memory(np.empty(3, dtype=object))) == {type(None)}
    assert _json.types_at(*memory(np.empty(0, dtype=object))) == set()


def test_nothing_is_kept_of_what_was_looked_at() -> None:
    zone = UTC
    array = objects([datetime.datetime(2026, 1, 1, tzinfo=zone), decimal.Decimal(1), [None], 1.5])
    looks = (
        *(_json.types_at, _json.floats_at, _json.naive_at, _json.days_at),
        *(_json.decimals_at, _json.lists_at),
    )
    gc.collect()
    before = sys.getrefcount(None), sys.getrefcount(zone), sys.getrefcount(array[0])
    for _ in range(200):
        for look in looks:
            look(*memory(array))
    after = sys.getrefcount(None), sys.getrefcount(zone), sys.getrefcount(array[0])
    assert all(abs(one - other) < 100 for one, other in zip(before, after, strict=True))

"""Columns and labels of every kind that pandas has, for property tests.

`COLUMNS` and `LABELS` have a strategy for each kind, by its name, which takes a length: what is
covered is read off their keys.
"""

from __future__ import annotations

import datetime
import decimal
import zoneinfo
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

Made = st.SearchStrategy[Any]

ZONES = {
    "utc": datetime.timezone.utc,
    "UTC": zoneinfo.ZoneInfo("UTC"),
    "fixed": datetime.timezone(datetime.timedelta(hours=5, minutes=30)),
    "named": datetime.timezone(datetime.timedelta(hours=-3), "here"),
    "Berlin": zoneinfo.ZoneInfo("Europe/Berlin"),
}
UNITS = ("s", "ms", "us", "ns")
#: Numbers of seconds that every unit holds as a time.
SECONDS = st.integers(-(2**31), 2**31)
TEXTS = st.text(max_size=4)
ANY_TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=3)
MISSING = {
    "None": st.none(),
    "NaN": st.just(float("nan")),
    "NA": st.just(pd.NA),
    "NaT": st.just(pd.NaT),
}

# --- Cells ----------------------------------------------------------------------------------------

SCALARS: dict[str, Made] = {
    "bool": st.booleans(),
    "bytes": st.binary(max_size=3),
    "complex": st.complex_numbers(),
    "date": st.dates(),
    "datetime": st.datetimes(timezones=st.none() | st.sampled_from(list(ZONES.values()))),
    # (pandas itself asks each cell whether it is null, and a signalling NaN raises then.)
    "decimal": st.decimals().filter(lambda number: not number.is_snan()),
    "float": st.floats(),
    "huge int": st.integers(-(2**80), 2**80),
    "int": st.integers(-(2**63), 2**63 - 1),
    "numpy": st.sampled_from([np.int8(1), np.float32(0.5), np.bool_(True), np.datetime64(5, "s")]),
    "pandas": st.sampled_from(
        [
            *(pd.Timestamp(5), pd.Timestamp("2026", tz=ZONES["Berlin"]).as_unit("s"), pd.NaT),
            *(pd.Timedelta(1, "s"), pd.Period("2026", "Q-NOV"), pd.Interval(0, 1.5, "both")),
        ]
    ),
    "text": ANY_TEXTS,
    "time": st.times(timezones=st.none() | st.just(ZONES["fixed"])),
    "timedelta": st.timedeltas(),
    "uuid": st.uuids(),
}
HASHABLE = st.none() | st.one_of(*(SCALARS[kind] for kind in SCALARS if kind != "decimal"))
CELLS = st.recursive(
    st.none() | st.one_of(*SCALARS.values()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(TEXTS, inner, max_size=3),
        st.dictionaries(HASHABLE, inner, max_size=2),
        st.sets(st.integers() | TEXTS, max_size=3),
        st.frozensets(st.integers(), max_size=3),
    ),
    max_leaves=6,
)


def objects(cells: Made, rows: int) -> Made:
    return st.lists(cells, min_size=rows, max_size=rows).map(_objects)


def _objects(items: list[Any]) -> Any:
    array = np.empty(len(items), dtype=object)
    for position, item in enumerate(items):
        array[position] = item
    return pd.Series(array, dtype=object)


# --- Columns --------------------------------------------------------------------------------------


def lists(items: Made, rows: int) -> Made:
    return st.lists(items, min_size=rows, max_size=rows)


def numbers(dtype: str, rows: int) -> Made:
    """Any bits, as a column of numpy's; of long doubles any quotients."""
    known = np.dtype(dtype)
    if known.char in "gG":
        return lists(st.integers(-9, 9), rows).map(
            lambda items: pd.Series(np.array(items, dtype=known) / 7)
        )
    if known.kind == "b":
        return lists(st.booleans(), rows).map(lambda items: pd.Series(items, dtype=bool))
    size = known.itemsize
    return lists(st.binary(min_size=size, max_size=size), rows).map(
        lambda items: pd.Series(np.frombuffer(bytearray(b"".join(items)), dtype=known))
    )


def times(kind: str, unit: str, rows: int) -> Made:
    cells = st.none() | st.integers(-(2**63) + 1, 2**63 - 1)
    return lists(cells, rows).map(
        lambda items: pd.Series(
            np.array([-(2**63) if item is None else item for item in items], dtype="i8").view(
                f"{kind}8[{unit}]"
            )
        )
    )


def zoned(zone: str, unit: str, rows: int) -> Made:
    return times("M", "s", rows).flatmap(
        lambda _: lists(st.none() | SECONDS, rows).map(
            lambda items: pd.Series(
                pd.DatetimeIndex(np.array(items, dtype="M8[s]"))
                .as_unit(unit)
                .tz_localize("UTC")
                .tz_convert(ZONES[zone])
            )
        )
    )


def masked(dtype: str, rows: int) -> Made:
    if dtype == "boolean":
        cells: Made = st.booleans()
    elif dtype.startswith("Float"):
        cells = st.floats(width=32)
    else:
        limits = np.iinfo(dtype.lower())
        cells = st.integers(int(limits.min), int(limits.max))
    return st.tuples(lists(cells, rows), lists(st.booleans(), rows)).map(
        lambda both: pd.Series(_masked(dtype, *both))
    )


def _masked(dtype: str, items: list[Any], mask: list[bool]) -> Any:
    # Not by `pd.array`: that takes NaN for NA.
    known = pd.api.types.pandas_dtype(dtype)
    data = np.array(items, dtype=known.numpy_dtype)
    return known.construct_array_type()(data, np.array(mask, dtype=bool))


def strings(storage: str, missing: Any, rows: int) -> Made:
    texts = TEXTS if storage == "pyarrow" else ANY_TEXTS
    dtype = pd.StringDtype(storage, na_value=missing)
    return lists(st.none() | texts, rows).map(lambda items: pd.Series(items, dtype=dtype))


def periods(freq: str, rows: int) -> Made:
    return lists(st.none() | st.integers(-500, 500), rows).map(
        lambda items: pd.Series(
            pd.arrays.PeriodArray(
                np.array([-(2**63) if item is None else item for item in items], dtype="i8"),
                dtype=pd.PeriodDtype(freq),
            )
        )
    )


def intervals(ends: str, closed: str, rows: int) -> Made:
    cells: Made = st.tuples(st.integers(-99, 99), st.integers(0, 9))
    if ends in ("f8", "M8[us]", "zoned"):
        cells |= st.none()

    def make(items: list[Any]) -> Any:
        sides = []
        for side in (0, 1):
            found = [None if one is None else one[0] + side * one[1] for one in items]
            if ends == "f8":
                sides.append(np.array(found, dtype="f8"))
            elif ends == "zoned":
                index = pd.DatetimeIndex(np.array(found, dtype="M8[ms]"))
                sides.append(index.tz_localize(ZONES["Berlin"]))
            else:
                sides.append(np.array(found, dtype=ends))
        return pd.Series(pd.arrays.IntervalArray.from_arrays(*sides, closed=closed))

    return lists(cells, rows).map(make)


@st.composite
def categories(draw: Any, labels: Callable[[int], Made], rows: int) -> Any:
    found = pd.Index(draw(labels(4))).dropna().unique()
    codes = draw(lists(st.integers(-1, len(found) - 1), rows))
    return pd.Series(pd.Categorical.from_codes(codes, found, ordered=draw(st.booleans())))


def sparse(dtype: str, fill: Any, kind: str, rows: int) -> Made:
    return lists(st.sampled_from([0, 1, 2]), rows).map(
        lambda items: pd.Series(
            pd.arrays.SparseArray(np.array(items, dtype=dtype), fill_value=fill, kind=kind)
        )
    )


def stored_fills(rows: int) -> Made:
    made = sparse("i8", 0, "integer", rows)
    return made.map(lambda series: pd.Series(series.array * 0))


def arrow(kind: pa.DataType, cells: Made, rows: int) -> Made:
    return lists(st.none() | cells, rows).map(
        lambda items: pd.Series(pd.arrays.ArrowExtensionArray(pa.array(items, type=kind)))
    )


@st.composite
def dictionaries(draw: Any, rows: int) -> Any:
    values = pa.array(draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True)))
    code = st.none() | st.integers(0, len(values) - 1)
    codes = pa.array(draw(lists(code, rows)), type=pa.int8())
    array = pa.DictionaryArray.from_arrays(codes, values, ordered=draw(st.booleans()))
    return pd.Series(pd.arrays.ArrowExtensionArray(array))


_NAIVE = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))
_INTS = st.integers(-99, 99)
_ARROW: dict[str, tuple[pa.DataType, Made]] = {
    "bool": (pa.bool_(), st.booleans()),
    "int8": (pa.int8(), _INTS),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "string": (pa.string(), TEXTS),
    "large_string": (pa.large_string(), TEXTS),
    "binary": (pa.binary(), st.binary(max_size=3)),
    "large_binary": (pa.large_binary(), st.binary(max_size=3)),
    "fixed_size_binary": (pa.binary(2), st.binary(min_size=2, max_size=2)),
    "decimal128": (pa.decimal128(9, 3), _INTS.map(decimal.Decimal)),
    "decimal256": (pa.decimal256(60, 3), _INTS.map(decimal.Decimal)),
    "date32": (pa.date32(), st.dates()),
    "date64": (pa.date64(), st.dates()),
    "time32[s]": (pa.time32("s"), st.times().map(lambda it: it.replace(microsecond=0))),
    "time64[us]": (pa.time64("us"), st.times()),
    "timestamp[s]": (pa.timestamp("s"), _NAIVE.map(lambda it: it.replace(microsecond=0))),
    "timestamp[us]": (pa.timestamp("us"), _NAIVE),
    "timestamp[us, zone]": (pa.timestamp("us", "Europe/Berlin"), _NAIVE),
    "timestamp[ns]": (pa.timestamp("ns"), _NAIVE),
    "duration[s]": (pa.duration("s"), _INTS),
    "duration[us]": (pa.duration("us"), _INTS),
    "list": (pa.list_(pa.int64()), st.lists(st.none() | _INTS, max_size=3)),
    "large_list": (pa.large_list(pa.string()), st.lists(st.none() | TEXTS, max_size=3)),
    "fixed_size_list": (pa.list_(pa.int8(), 2), st.lists(_INTS, min_size=2, max_size=2)),
    "list of lists": (pa.list_(pa.list_(pa.bool_())), st.lists(st.lists(st.booleans()))),
    "struct": (
        pa.struct([("a", pa.float64()), pa.field("b", pa.list_(pa.string()))]),
        st.fixed_dictionaries({"a": st.none() | st.floats(), "b": st.lists(TEXTS, max_size=2)}),
    ),
    "map": (pa.map_(pa.string(), pa.int64()), st.lists(st.tuples(TEXTS, _INTS), max_size=2)),
    "null": (pa.null(), st.none()),
}
_BIG = (">i2", ">i8", ">u4", ">f4", ">f8", ">c16")
_MASKED = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
_FREQUENCIES = ("D", "M", "Q-NOV", "W-SUN", "h", "3M", "us", "Y-MAR")
_CLOSED = ("left", "right", "both", "neither")

COLUMNS: dict[str, Callable[[int], Made]] = {
    **{f"numpy {dtype}": partial(numbers, dtype) for dtype in (
        "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8",
        "f2", "f4", "f8", "g", "c8", "c16", "G")},
    **{f"numpy {dtype}": partial(numbers, dtype) for dtype in _BIG},
    **{f"numpy {kind}8[{unit}]": partial(times, kind, unit) for kind in "mM" for unit in UNITS},
    **{f"zoned {zone}": partial(zoned, zone, unit) for zone, unit in zip(
        ZONES, (*UNITS, "ns"), strict=True)},
    **{f"masked {dtype}": partial(masked, dtype) for dtype in (
        *_MASKED, "Float32", "Float64", "boolean")},
    **{f"string {storage} {missing}": partial(strings, storage, missing)
       for storage in ("python", "pyarrow") for missing in (pd.NA, np.nan)},
    **{f"period {freq}": partial(periods, freq) for freq in _FREQUENCIES},
    **{f"interval {ends} {closed}": partial(intervals, ends, closed) for ends, closed in zip(
        ("i8", "f8", "M8[us]", "m8[s]", "zoned"), (*_CLOSED, "left"), strict=True)},
    **{f"sparse {dtype} {fill} {kind}": partial(sparse, dtype, fill, kind)
       for dtype, fill, kind in (
        ("i8", 0, "integer"), ("i4", 1, "block"), ("f8", np.nan, "integer"), ("f8", 0.0, "block"),
        ("?", False, "integer"), ("c16", 0j, "integer"), ("u1", 2, "block"))},
    "sparse with stored fills": stored_fills,
    **{f"arrow {name}": partial(arrow, *it) for name, it in _ARROW.items()},
    "arrow dictionary": dictionaries,
    **{f"objects {name}": partial(objects, cells) for name, cells in SCALARS.items()},
    **{f"objects {name} or {missing}": partial(objects, SCALARS[name] | nothing)
       for name in ("text", "int", "float", "date", "bool")
       for missing, nothing in MISSING.items()},
    **{f"objects {missing}": partial(objects, nothing) for missing, nothing in MISSING.items()},
    "objects missing of every kind": partial(objects, st.one_of(*MISSING.values())),
    "objects lists of ints": partial(objects, st.lists(_INTS, max_size=3) | st.none()),
    "objects lists of floats": partial(objects, st.lists(st.floats(), max_size=3)),
    "objects lists of texts": partial(objects, st.lists(ANY_TEXTS, max_size=3)),
    "objects vectors": partial(objects, st.lists(_INTS, max_size=3).map(np.array)),
    "objects tuples": partial(objects, st.tuples(_INTS, TEXTS)),
    "objects dicts": partial(objects, st.dictionaries(TEXTS, _INTS | st.none(), max_size=3)),
    "objects sets": partial(objects, st.sets(_INTS, max_size=3)),
    "objects of any kind": partial(objects, CELLS),
}  # fmt: skip
COLUMNS |= {
    f"category of {kind}": partial(categories, COLUMNS[kind])
    for kind in (
        *("objects text", "objects int", "objects bytes", "numpy i8", "numpy u1", "numpy f8"),
        *("numpy ?", "numpy M8[ns]", "numpy m8[us]", "zoned Berlin", "masked Int64"),
        *("masked boolean", "period M", "interval i8 left", "string python nan"),
        *("string pyarrow <NA>", "arrow int8", "arrow timestamp[ns]", "numpy c16"),
    )
}

# --- Labels ---------------------------------------------------------------------------------------


def index_of(kind: str, size: int) -> Made:
    return COLUMNS[kind](size).map(lambda series: pd.Index(series, dtype=series.dtype))


def ranges(size: int) -> Made:
    steps = st.sampled_from([-3, -1, 1, 2])
    return st.tuples(st.integers(-5, 5), steps).map(
        lambda it: pd.RangeIndex(it[0], it[0] + size * it[1], it[1])
    )


def regular(freq: Any, zone: str | None, size: int) -> Made:
    tz = None if zone is None else ZONES[zone]
    return st.integers(0, 500).map(
        lambda day: pd.date_range(
            pd.Timestamp("2026-01-01") + pd.Timedelta(days=day), periods=size, freq=freq, tz=tz
        )
    )


def mixed(cells: Made, size: int) -> Made:
    return lists(cells, size).map(lambda items: pd.Index(_objects(items), dtype=object))


def duplicates(size: int) -> Made:
    return lists(st.sampled_from(["x", "y"]), size).map(pd.Index)


@st.composite
def levels(draw: Any, size: int) -> Any:
    """Of up to three kinds, of a larger index, so that some labels may be unused."""
    kinds = draw(st.lists(st.sampled_from(LEVELS), min_size=1, max_size=3))
    whole = pd.MultiIndex.from_arrays([draw(LABELS[kind](size + 1)) for kind in kinds])
    return whole[:size] if draw(st.booleans()) else whole[1:]


_OFFSETS: dict[str, Any] = {
    "day": "D", "12 hours": "12h", "month end": pd.offsets.MonthEnd(), "week": "W-WED",
    "business": "B", "backwards": "-2D", "offset": pd.DateOffset(months=1, days=1),
    "holidays": pd.offsets.CustomBusinessDay(holidays=["2026-01-06"]),
    "quarter": pd.offsets.QuarterBegin(startingMonth=2),
}  # fmt: skip
LABELS: dict[str, Callable[[int], Made]] = {
    "range": ranges,
    "duplicates": duplicates,
    "mixed": partial(mixed, HASHABLE),
    "tuples": partial(mixed, st.tuples(_INTS, TEXTS)),
    "texts": partial(mixed, TEXTS),
    **{f"frequency {name}": partial(regular, freq, None) for name, freq in _OFFSETS.items()},
    "frequency of a zone": partial(regular, "h", "Berlin"),
    "frequency of timedeltas": lambda size: st.integers(1, 9).map(
        lambda step: pd.timedelta_range(0, periods=size, freq=f"{step}min")
    ),
    **{
        kind: partial(index_of, kind)
        for kind in (
            *("numpy i8", "numpy u1", "numpy f8", "numpy ?", "numpy c16", "numpy M8[us]"),
            *("numpy m8[ns]", "zoned fixed", "zoned Berlin", "masked Int64", "masked Float64"),
            *("masked boolean", "string python nan", "string pyarrow <NA>", "period M"),
            *("interval i8 left", "interval f8 right", "arrow int8", "arrow string"),
            *("category of numpy i8", "category of objects text", "objects date"),
        )
    },
}
LEVELS = sorted(LABELS)
LABELS["levels"] = levels

NAMES = st.none() | TEXTS | _INTS | st.tuples(TEXTS, _INTS) | st.just(decimal.Decimal("1.0"))


def named(labels: Made) -> Made:
    """An index with names."""

    def name(index: Any) -> Made:
        return lists(NAMES, index.nlevels).map(index.set_names)

    return labels.flatmap(name)


@st.composite
def frames(draw: Any) -> Any:
    """Of any columns, labels, index and attrs."""
    rows = draw(st.integers(0, 4))
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), max_size=4))
    index = draw(named(st.sampled_from(sorted(LABELS)).flatmap(lambda kind: LABELS[kind](rows))))
    parts = {
        at: pd.Series(series.array, index=index, dtype=series.dtype)
        for at, series in enumerate(draw(COLUMNS[kind](rows)) for kind in kinds)
    }
    frame = pd.DataFrame(parts, index=index)
    frame.columns = draw(
        named(st.sampled_from(sorted(LABELS)).flatmap(lambda kind: LABELS[kind](len(kinds))))
    )
    frame.attrs = draw(st.dictionaries(TEXTS, CELLS, max_size=1))
    return frame


__all__ = ["CELLS", "COLUMNS", "LABELS", "frames", "named"]

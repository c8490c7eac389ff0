"""Whether two values are the same: bit for bit, with the classes of everything inside.

Equality of Python and of the libraries is too lax for what Airfreight promises: `1 == True == 1.0`,
`0.0 == -0.0`, a tuple equals a namedtuple, `assert_frame_equal` takes None for NaN. Here two values
are the same when no program that gets one of them could tell that it is not the other, except by
identity, by where its bytes lie in memory, and by the payload of a NaN.

No library is imported: values of one are looked at by its own rules when it is loaded already.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import sys
import uuid
import zoneinfo
from typing import Any

__all__ = ["assert_same", "difference"]

#: Types whose `==` between two of exactly that type tells everything.
_PLAIN = (
    *(bool, int, str, bytes, bytearray, type(None), type(Ellipsis), type),
    *(datetime.date, datetime.timedelta, datetime.timezone, fractions.Fraction, uuid.UUID),
)


def assert_same(ours: Any, theirs: Any) -> None:
    """Raises AssertionError, with the place, when two values differ in anything."""
    found = difference(ours, theirs)
    assert found is None, found


def difference(one: Any, other: Any, place: str = "value") -> str | None:
    """Where and how two values differ, or None when they are the same."""
    if type(one) is not type(other):
        return f"{place}: {_shown(one)} against {_shown(other)}"
    kind = type(one)
    if kind in _PLAIN:
        # (Whether it was given a name shows, if that is the one that it has without.)
        if kind is datetime.timezone and repr(one) != repr(other):
            return _differ(one, other, place)
        if kind is uuid.UUID and one.is_safe is not other.is_safe:
            return f"{place}: {one.is_safe} against {other.is_safe}"
        return None if one == other else _differ(one, other, place)
    if kind is float:
        return None if _bits(one) == _bits(other) else _differ(one, other, place)
    if kind is complex:
        same = _bits(one.real) == _bits(other.real) and _bits(one.imag) == _bits(other.imag)
        return None if same else _differ(one, other, place)
    if kind in (range, slice):
        ours, theirs = ([it.start, it.stop, it.step] for it in (one, other))
        return items(ours, theirs, place)
    if kind is decimal.Decimal:
        return None if one.as_tuple() == other.as_tuple() else _differ(one, other, place)
    package = kind.__module__.partition(".")[0]
    if package in {"numpy", "pandas", "polars", "pyarrow"} and package in sys.modules:
        found = _by_library(package, one, other, place)
        if found is not NotImplemented:
            assert found is None or isinstance(found, str)
            return found
    if isinstance(one, (datetime.datetime, datetime.time)):
        return _moments(one, other, place)
    if isinstance(one, datetime.tzinfo):
        return zones(one, other, place)
    if kind is memoryview:
        looks = [(it.format, it.shape, it.readonly, it.tobytes()) for it in (one, other)]
        return difference(looks[0], looks[1], place)
    if isinstance(one, (enum.Enum, pathlib.PurePath)):
        return None if one == other else _differ(one, other, place)
    return _containers(one, other, place)


def _by_library(package: str, one: Any, other: Any, place: str) -> Any:
    if package == "numpy":
        from tests.oracle import _numpy

        return _numpy.compare(one, other, place)
    if package == "pandas":
        from tests.oracle import _pandas

        return _pandas.compare(one, other, place)
    from tests.oracle import _arrow

    return _arrow.compare(one, other, place)


def _containers(one: Any, other: Any, place: str) -> str | None:
    if isinstance(one, collections.defaultdict) and one.default_factory is not (
        other.default_factory
    ):
        return f"{place}: default_factory {one.default_factory} against {other.default_factory}"
    if isinstance(one, collections.deque) and one.maxlen != other.maxlen:
        return f"{place}: maxlen {one.maxlen} against {other.maxlen}"
    if isinstance(one, collections.abc.Mapping):
        return _mappings(one, other, place)
    if isinstance(one, (set, frozenset)):
        return _sets(one, other, place)
    if isinstance(one, (list, tuple, collections.deque)):
        return items(one, other, place)
    if isinstance(one, (str, bytes, bytearray, int, float)) and one != other:
        return _differ(one, other, place)
    if fields := _fields(one):
        for name in fields:
            found = difference(
                getattr(one, name, _ABSENT), getattr(other, name, _ABSENT), f"{place}.{name}"
            )
            if found:
                return found
        return None
    return None if one == other else _differ(one, other, place)


def items(one: Any, other: Any, place: str) -> str | None:
    """The first difference of two sequences."""
    if len(one) != len(other):
        return f"{place}: {len(one)} items against {len(other)}"
    for position, (left, right) in enumerate(zip(one, other, strict=True)):
        # Most cells are the same object or plain: the place is not put together for these.
        if left is right or (type(left) is type(right) and type(left) in _QUICK and left == right):
            continue
        found = difference(left, right, f"{place}[{position}]")
        if found:
            return found
    return None


def _mappings(one: Any, other: Any, place: str) -> str | None:
    # In their order: it is what iteration shows.
    found = items(list(one), list(other), f"{place}.keys()")
    if found:
        return found
    for (key, left), right in zip(one.items(), other.values(), strict=True):
        found = difference(left, right, f"{place}[{key!r}]")
        if found:
            return found
    return None


def _sets(one: Any, other: Any, place: str) -> str | None:
    if len(one) != len(other):
        return f"{place}: {len(one)} items against {len(other)}"
    left = list(other)
    for item in one:
        at = next((at for at, it in enumerate(left) if difference(item, it) is None), None)
        if at is None:
            return f"{place}: {_shown(item)} is in one of them only"
        del left[at]
    return None


def _moments(one: Any, other: Any, place: str) -> str | None:
    same = one.replace(tzinfo=None) == other.replace(tzinfo=None) and one.fold == other.fold
    if not same:
        return f"{_differ(one, other, place)} (folds {one.fold} and {other.fold})"
    return zones(one.tzinfo, other.tzinfo, f"{place}.tzinfo")


def zones(one: Any, other: Any, place: str) -> str | None:
    """The difference of two time zones, or of one and None."""
    if type(one) is not type(other):
        # pytz makes a class for each zone, and an instance for each of its offsets.
        names = {getattr(zone, "zone", None) for zone in (one, other)}
        if len(names) == 1 and None not in names:
            return None
        return _differ(one, other, place)
    if one is None or one is other:
        return None
    if isinstance(one, zoneinfo.ZoneInfo):
        return None if one.key == other.key else _differ(one, other, place)
    if isinstance(one, datetime.timezone):
        return difference(one, other, place)
    name = getattr(one, "zone", None)
    if name is not None:
        bound = ("_utcoffset", "_dst", "_tzname")  # Which of the zone's offsets.
        same = all(getattr(one, it, None) == getattr(other, it, None) for it in bound)
        return None if same and name == other.zone else _differ(one, other, place)
    if type(one).__module__ == "pendulum.tz.timezone":  # Compared by identity.
        return difference(vars(one), vars(other), place)
    # (To dateutil the names of its offsets are nothing.)
    same = one == other and getattr(one, "_name", None) == getattr(other, "_name", None)
    return None if same else _differ(one, other, place)


_ABSENT = object()
_QUICK = frozenset((str, int, bool, bytes))


def _fields(value: Any) -> list[str]:
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    elif hasattr(type(value), "__attrs_attrs__"):
        names = [field.name for field in type(value).__attrs_attrs__]
    elif hasattr(type(value), "__pydantic_fields__"):
        names = list(type(value).__pydantic_fields__)
        names += [f"__pydantic_{name}__" for name in ("extra", "fields_set", "private")]
    else:
        return []
    extra = [name for name in getattr(value, "__dict__", ()) if name not in names]
    return [*names, *extra]


def _bits(value: float) -> str:
    return value.hex()  # With the sign of a zero; "nan" for each NaN.


def _differ(one: Any, other: Any, place: str) -> str:
    return f"{place}: {_shown(one)} against {_shown(other)}"


def _shown(value: Any) -> str:
    text = repr(value)
    name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    return f"{name} {text if len(text) <= 80 else text[:79] + '…'}"

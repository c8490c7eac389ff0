"""Whether an object that Airflow's serializer has brought back is the one that was pushed.

Equality is too lax for that: `(1,) == Point(1)`, `1 == True == 1.0`, `Decimal("1.10") ==
Decimal("1.1")`, and a field may be left out of it. Here two objects are the same when they are of
one class and so is everything inside them, to the sign of a zero.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import functools
import math
import zoneinfo
from typing import TYPE_CHECKING, Any

from airfreight.values import DEFAULTS, class_name, embed
from airfreight.values._content import is_plain_text
from airfreight.values._unsupported import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable

_INNER = (list, tuple, dict, set, frozenset, collections.deque)
_SCALARS = (str, bytes, bytearray, int, datetime.date, datetime.timedelta)
_DATE = ("year", "month", "day")
#: Of pandas, the last two.
_TIME = ("hour", "minute", "second", "microsecond", "fold", "nanosecond", "unit")
#: Where an object keeps what is worked out from the rest of it.
_CACHES = frozenset(("_attrs_cached_hash", "_hashcode", "__weakref__", "__dict__"))
_ABSENT = object()
#: As of document.MAX_ROW_FLOAT: PostgreSQL's jsonb keeps numbers as decimals.
_MAX_ROW_FLOAT = 1e16


def check(value: Any, back: Any) -> None:
    """Raises Unsupported, with the place in an object, when it would come back changed.

    What neither declares fields nor has an equality of its own is its class's to bring back.
    """
    cls = type(value)
    if type(back) is cls and not _is_looked_into(value):
        if _has_equality(cls) and not back == value:
            raise Unsupported(cls, "it would come back changed: push what it is made of, as a dict")
        return
    _compare(value, back)


def stays_in_row(encoded: Any) -> bool:
    """Whether a database that keeps rows as jsonb gives JSON back as it was, but for the order."""
    kind = type(encoded)
    if kind is str:
        return is_plain_text(encoded)
    if kind is float:
        return -_MAX_ROW_FLOAT < encoded < _MAX_ROW_FLOAT and (
            encoded != 0 or math.copysign(1, encoded) > 0
        )
    if kind is list:
        return all(map(stays_in_row, encoded))
    if kind is dict:
        return all(map(is_plain_text, encoded)) and all(map(stays_in_row, encoded.values()))
    return kind is not int or -(1 << 63) <= encoded < 1 << 64


def _is_looked_into(value: Any) -> bool:
    declares = ("__dataclass_fields__", "__attrs_attrs__", "__pydantic_fields__")
    return isinstance(value, (datetime.datetime, datetime.tzinfo, *_INNER, *_SCALARS)) or any(
        hasattr(type(value), name) for name in declares
    )


def _compare(one: Any, other: Any) -> None:
    kind = type(one)
    if kind is not type(other):
        name = class_name(type(other)).removeprefix("builtins.")
        raise Unsupported(
            kind,
            f"Airflow's serializer would bring it back as {name}: make it one before it is pushed, "
            "or push a dict of the fields, which is kept exactly",
        )
    if one is other:
        return
    if isinstance(one, float):
        same = one == other and math.copysign(1, one) == math.copysign(1, other)
        _require(one, same or (one != one and other != other))  # noqa: PLR0124 (a NaN)
    elif isinstance(one, complex):
        _compare([one.real, one.imag], [other.real, other.imag])
    elif isinstance(one, decimal.Decimal):
        _require(one, one.as_tuple() == other.as_tuple())
    elif isinstance(one, enum.Enum):
        _require(one, same=False)  # Members are one object each.
        return
    elif isinstance(one, (datetime.datetime, datetime.time)):
        _compare_moments(one, other)
    elif isinstance(one, datetime.tzinfo):
        _compare_zones(one, other)
        return
    elif isinstance(one, _SCALARS):
        _require(one, one == other)
    elif isinstance(one, _INNER):
        _compare_inner(one, other)
    elif _compare_as_written(one, other):
        return
    _compare_state(one, other)


def _require(value: Any, same: bool) -> None:
    if not same:
        raise Unsupported(
            type(value),
            "Airflow's serializer would bring it back changed: push a dict of the fields, which is "
            "kept exactly",
        )


def _compare_moments(one: Any, other: Any) -> None:
    for name in (*_DATE, *_TIME):
        ours = getattr(one, name, None)
        if ours != getattr(other, name, None):
            raise Unsupported(
                type(one),
                f"Airflow's serializer would change its {name}: push a dict of the fields, which "
                "is kept exactly",
            )
    _at(".tzinfo", one.tzinfo, other.tzinfo)


def _compare_zones(one: Any, other: Any) -> None:
    if isinstance(one, zoneinfo.ZoneInfo):
        _require(one, bool(one.key) and one.key == other.key)
    elif isinstance(one, datetime.timezone):
        _require(one, repr(one) == repr(other))  # With the name that it was given.
    elif _has_equality(type(one)):
        _require(one, one == other)
    else:  # pytz has one object for each.
        _require(one, bool(_state(one)) and not type(one).__module__.startswith("pytz"))
        _compare_state(one, other)


def _compare_inner(one: Any, other: Any) -> None:
    _require(one, len(one) == len(other))
    for name in ("default_factory", "maxlen"):
        _require(one, getattr(one, name, None) is getattr(other, name, None))
    if isinstance(one, dict):
        for ours, theirs in zip(one, other, strict=True):
            _at(f" key {_shown(ours)}", ours, theirs)
        for key, theirs in other.items():
            _at(f"[{_shown(key)}]", one[key], theirs)
    elif isinstance(one, (set, frozenset)):
        there = {item: item for item in other}
        for item in one:
            _at("{…}", item, there.get(item, _ABSENT))
    else:
        for index, (ours, theirs) in enumerate(zip(one, other, strict=True)):
            _at(f"[{index}]", ours, theirs)


def _compare_as_written(one: Any, other: Any) -> bool:
    """Frames, arrays and the like: by the bytes of their objects. False for other values."""
    try:
        ours = embed(one, DEFAULTS)
    except TypeError as error:
        raise Unsupported(type(one), message=str(error).removeprefix("value")) from error
    if ours is not None:
        _require(one, ours == embed(other, DEFAULTS))
        return True
    if hasattr(one, "dtype") and hasattr(one, "tobytes"):  # A scalar of numpy's.
        _require(one, one.dtype == other.dtype and one.tobytes() == other.tobytes())
        return True
    return False


def _compare_state(one: Any, other: Any) -> None:
    ours, theirs = _state(one), _state(other)
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        if (name in ours) != (name in theirs):
            lost = "lose" if name in ours else "give it"
            raise Unsupported(
                type(one),
                f"Airflow's serializer would {lost} the attribute {name}: push a dict of the "
                "fields, which is kept exactly",
            )
        _at(f".{name}", ours[name], theirs[name])
    if not ours and not isinstance(one, (*_INNER, *_SCALARS)):
        _require(one, not _has_equality(type(one)) or bool(one == other))


def _has_equality(cls: Any) -> bool:
    """Whether a class tells equal objects apart from the same one."""
    equality: Any = cls.__eq__
    return equality is not object.__eq__


def _state(value: Any) -> dict[str, Any]:
    """The attributes that an object itself has: what pydantic keeps beside the fields, too."""
    cls = type(value)
    names: list[str] = list(getattr(value, "__dict__", ()))
    for base in cls.__mro__:
        slots: Iterable[str] = vars(base).get("__slots__", ())
        for slot in [slots] if isinstance(slots, str) else slots:
            private = slot.startswith("__") and not slot.endswith("__")
            names.append(f"_{base.__name__.lstrip('_')}{slot}" if private else slot)
    found = {}
    for name in names:
        if name in _CACHES or isinstance(getattr(cls, name, None), functools.cached_property):
            continue
        item = getattr(value, name, _ABSENT)
        if item is not _ABSENT:
            found[name] = item
    return found


def _at(step: str, one: Any, other: Any) -> None:
    try:
        _compare(one, other)
    except Unsupported as error:
        raise error.within(step) from None


def _shown(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 60 else f"{text[:59]}…"

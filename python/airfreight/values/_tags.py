"""Tags of Python's own types: `formats/document.md`."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import json
import pathlib
import uuid
import zoneinfo
from typing import TYPE_CHECKING, Any

from airfreight.values._content import (
    from_base64,
    items,
    pairs,
    text_from_base64,
    to_base64,
    typed,
)
from airfreight.values._unsupported import ITEMS, PAIRS, RAW, Unsupported
from airfreight.values._zones import pack_zone, unpack_zone

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Encodes a value that lies inside another, at some level.
    Inner = Callable[[Any, int], Any]
    #: Name, content, what the content holds and, where there is one, what comes before that.
    Tag = tuple[str, Any, int] | tuple[str, Any, int, Any]

#: Levels of JSON between a container and its items: a tag is an object, pairs are arrays.
LEVELS: dict[type, int] = {
    list: 1,
    tuple: 2,
    set: 2,
    frozenset: 2,
    dict: 3,
    collections.OrderedDict: 3,
    collections.Counter: 3,
    collections.defaultdict: 4,
    collections.deque: 3,
}

#: What a defaultdict may make its values with: types that every Python has.
_FACTORIES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        bool, bytearray, bytes, complex, dict, float, frozenset, int, list, object, set, str, tuple,
        collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque,
        decimal.Decimal, fractions.Fraction,
    )
}  # fmt: skip
_PATHS: dict[str, type[pathlib.PurePath]] = {
    "PurePosixPath": pathlib.PurePosixPath,
    "PureWindowsPath": pathlib.PureWindowsPath,
    "PosixPath": pathlib.PosixPath,
}


def _ordered(value: collections.OrderedDict[Any, Any]) -> Tag:
    if vars(value):
        raise Unsupported(type(value), "it has attributes of its own")
    return "~odict", list(value.items()), PAIRS


def _counter(value: collections.Counter[Any]) -> Tag:
    if vars(value):
        raise Unsupported(type(value), "it has attributes of its own")
    return "~counter", list(value.items()), PAIRS


def _defaultdict(value: collections.defaultdict[Any, Any]) -> Tag:
    factory = value.default_factory
    name = None if factory is None else getattr(factory, "__name__", "")
    if factory is not None and _FACTORIES.get(str(name)) is not factory:
        raise Unsupported(
            type(value),
            "its default_factory is none of Python's own plain types (list, dict, int, Counter, …):"
            " convert it with dict(…)",
        )
    return "~defaultdict", list(value.items()), PAIRS, name


def _deque(value: collections.deque[Any]) -> Tag:
    return "~deque", list(value), ITEMS, value.maxlen


def _set(value: set[Any] | frozenset[Any], inner: Inner, depth: int) -> Tag:
    try:
        encoded = [inner(item, depth + 2) for item in value]
    except Unsupported as error:
        raise error.within("{…}") from None
    # A set has no order; its text should not change from run to run.
    encoded.sort(key=lambda item: json.dumps(item, sort_keys=True))
    return ("~set" if type(value) is set else "~frozenset"), encoded, RAW


def _moment(value: datetime.datetime | datetime.time) -> list[Any]:
    text = value.replace(tzinfo=None, fold=0).isoformat()
    return [text, pack_zone(value.tzinfo, type(value)), value.fold]


def _path(value: pathlib.PurePath) -> Tag:
    name = type(value).__name__
    if _PATHS[name](str(value)) != value:
        raise Unsupported(type(value), "its text does not tell it")
    return "~path", [name, str(value)], ITEMS


#: Type -> its tag, of those that C++ has not, or not of all values: bytes that may lie beside the
#: document, times of zones that it meets for the first time, UUIDs that are known to be safe, or
#: not. Those that hold values of which the order is to be found need an encoder.
ENCODERS: dict[type, Callable[[Any], Tag]] = {
    bytearray: lambda value: ("~bytearray", to_base64(value), RAW),
    bytes: lambda value: ("~bytes", to_base64(value), RAW),
    collections.Counter: _counter,
    collections.OrderedDict: _ordered,
    collections.defaultdict: _defaultdict,
    collections.deque: _deque,
    complex: lambda value: ("~complex", [repr(value.real), repr(value.imag)], RAW),
    datetime.datetime: lambda value: ("~datetime", _moment(value), RAW),
    datetime.time: lambda value: ("~time", _moment(value), RAW),
    datetime.timezone: lambda value: ("~tz", pack_zone(value, datetime.timezone), RAW),
    fractions.Fraction: lambda value: ("~fraction", [value.numerator, value.denominator], ITEMS),
    pathlib.PosixPath: _path,
    pathlib.PurePosixPath: _path,
    pathlib.PureWindowsPath: _path,
    range: lambda value: ("~range", [value.start, value.stop, value.step], ITEMS),
    slice: lambda value: ("~slice", [value.start, value.stop, value.step], ITEMS),
    type(...): lambda _: ("~ellipsis", None, RAW),
    uuid.UUID: lambda value: ("~uuid.safe", [str(value), value.is_safe.value], RAW),
    zoneinfo.ZoneInfo: lambda value: ("~tz", pack_zone(value, zoneinfo.ZoneInfo), RAW),
}  # fmt: skip
SETS: dict[type, Callable[[Any, Inner, int], Tag]] = {frozenset: _set, set: _set}


def _undatetime(content: Any) -> datetime.datetime:
    text, zone, fold = typed(content, list)
    moment = datetime.datetime.fromisoformat(typed(text, str))
    return moment.replace(tzinfo=unpack_zone(zone), fold=fold)


def _untime(content: Any) -> datetime.time:
    text, zone, fold = typed(content, list)
    moment = datetime.time.fromisoformat(typed(text, str))
    return moment.replace(tzinfo=unpack_zone(zone), fold=fold)


def _undefaultdict(content: Any) -> collections.defaultdict[Any, Any]:
    name, members = typed(content, list)
    factory = None if name is None else _FACTORIES[typed(name, str)]
    return collections.defaultdict(factory, dict(pairs(members)))


def _uncounter(content: Any) -> collections.Counter[Any]:
    counter: collections.Counter[Any] = collections.Counter()
    # Its own update() adds up.
    dict.update(counter, dict(pairs(content)))
    return counter


def _undeque(content: Any) -> collections.deque[Any]:
    most, members = typed(content, list)
    if most is not None and len(members) > typed(most, int):
        raise ValueError(f"{len(members)} items where there may be {most}")
    return collections.deque(typed(members, list), most)


def _unrange(content: Any) -> range:
    return range(*items(content, int, int, int))


def _unslice(content: Any) -> slice:
    start, stop, step = typed(content, list)
    return slice(start, stop, step)


def _unpath(content: Any) -> pathlib.PurePath:
    name, text = items(content, str, str)
    return _PATHS[name](text)


def _unsafe_uuid(content: Any) -> uuid.UUID:
    text, safe = items(content, str, int)
    return uuid.UUID(text, is_safe=uuid.SafeUUID(safe))


def _ellipsis(content: Any) -> Any:
    return typed(content, type(None)) or ...


#: Tag -> what makes its value of a content whose own tags are read.
DECODERS: dict[str, Callable[[Any], Any]] = {
    "~bytearray": lambda content: bytearray(from_base64(content)),
    "~bytes": from_base64,
    "~complex": lambda content: complex(*map(float, items(content, str, str))),
    "~counter": _uncounter,
    "~date": lambda content: datetime.date.fromisoformat(typed(content, str)),
    "~datetime": _undatetime,
    # The constructor is exact whatever the context's precision.
    "~decimal": lambda content: decimal.Decimal(typed(content, str)),
    "~defaultdict": _undefaultdict,
    "~deque": _undeque,
    "~dict": lambda content: dict(pairs(content)),
    "~ellipsis": _ellipsis,
    "~float": lambda content: float(typed(content, str)),
    "~fraction": lambda content: fractions.Fraction(*items(content, int, int)),
    "~frozenset": lambda content: frozenset(typed(content, list)),
    "~int": lambda content: int(typed(content, str), 16),
    "~odict": lambda content: collections.OrderedDict(pairs(content)),
    "~path": _unpath,
    "~range": _unrange,
    "~set": lambda content: set(typed(content, list)),
    "~slice": _unslice,
    "~str": text_from_base64,
    "~time": _untime,
    "~timedelta": lambda content: datetime.timedelta(*items(content, int, int, int)),
    "~tuple": lambda content: tuple(typed(content, list)),
    "~tz": unpack_zone,
    "~uuid": lambda content: uuid.UUID(typed(content, str)),
    "~uuid.safe": _unsafe_uuid,
}

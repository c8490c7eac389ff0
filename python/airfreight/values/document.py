"""Tagged JSON, for values that plain JSON would change. Specification: `formats/document.md`.

A tag is an object with exactly one member whose name begins with `~`: `{"~tuple": [1, 2]}`.
"""

from __future__ import annotations

import base64
import collections
import datetime
import decimal
import json
import math
import pickle
import uuid
import zoneinfo
from typing import TYPE_CHECKING, Any

from airfreight._imports import loading
from airfreight.errors import Error, NewerFormatError
from airfreight.reference import Reference
from airfreight.values import Options, Payload, class_name, embed, for_type, human_bytes
from airfreight.values.json_ import (
    MARKERS,
    MAX_DEPTH,
    MAX_INT,
    MAX_ROW_FLOAT,
    MIN_INT,
    describe,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    #: Serializes an object of a class that this format does not know, or raises Unsupported.
    Leaf = Callable[[Any], str]
    #: The inverse.
    LeafReader = Callable[[str], Any]
    #: What stands in a bundle's document for a value that lies beside it; None: nothing does.
    Heavy = Callable[[Any], Any]

TYPE = "document"
EXTENSION = "json"
CONTENT_TYPE = "application/json"

_MICROSECOND = datetime.timedelta(microseconds=1)
#: Characters of a place inside a value that a message shows: a log line stays readable.
_MAX_PLACE = 200


class Unsupported(Exception):  # noqa: N818 (never leaves this package: it becomes a TypeError)
    """An object that can't be kept exactly; its place is put together on the way out."""

    def __init__(self, cls: type, reason: str = "", *, message: str = "") -> None:
        super().__init__(reason or message)
        self.cls = cls
        self.reason = reason
        #: A codec's own words, which follow the place as they are.
        self.message = message
        self.steps: list[str] = []

    def within(self, step: str) -> Unsupported:
        """Notes a step of the path; the innermost comes first."""
        self.steps.append(step)
        return self

    def as_type_error(self) -> TypeError:
        """The error that the pusher sees."""
        place = "value" + "".join(reversed(self.steps))
        if len(place) > _MAX_PLACE:
            place = f"{place[: _MAX_PLACE // 2]} … {place[-_MAX_PLACE // 2 :]}"
        if self.message:
            return TypeError(f"{place}{self.message}")
        name = class_name(self.cls).removeprefix("builtins.")
        reason = self.reason or "convert it to one of the supported types before it is returned"
        return TypeError(f"{place}: an object of type {name} can't be pushed as an XCom; {reason}")


class Encoder:
    """Encodes values to tagged JSON.

    Attributes:
        tagged: whether a tag was needed, other than for leaves.
        leaves: how many objects were left to the leaf serializer.
        levels: of JSON, the deepest place.

    `leaf` serializes objects of other classes. `options` is for values that have a codec of their
    own (frames, arrays); None: these are refused, as where a frame's own metadata is encoded.
    `heavy` is asked first, of each value that does not stand for itself: what it returns goes into
    a tag `~leaf`.

    Threads: one value, one thread. Blocking: never. Errors: Unsupported, with the place.
    """

    def __init__(
        self,
        leaf: Leaf | None = None,
        *,
        options: Options | None = None,
        heavy: Heavy | None = None,
    ) -> None:
        self._leaf = leaf
        self._options = options
        self._heavy = heavy
        self._depth = 0
        self.tagged = False
        self.leaves = 0
        self.levels = 0

    def encode(self, value: Any) -> Any:
        """Returns the JSON form of a value."""
        kind = type(value)
        if kind is str:
            return value if is_plain_text(value) else self._tag("~str", _text_to_base64(value))
        if kind is bool or value is None:
            return value
        if kind is int:
            return value if MIN_INT <= value <= MAX_INT else self._tag("~int", hex(value))
        if kind is float:
            return value if _is_plain_float(value) else self._tag("~float", repr(value))
        levels = 1 if kind is dict and _is_plain_dict(value) else _LEVELS.get(kind, 0)
        self._descend(levels, kind)
        try:
            return self._encode_other(value, kind, plain=levels == 1)
        finally:
            self._depth -= levels

    def _descend(self, levels: int, kind: type) -> None:
        self._depth += levels
        if self._depth > MAX_DEPTH:
            self._depth -= levels
            raise Unsupported(
                kind,
                f"it lies deeper than {MAX_DEPTH} levels of JSON (a tuple or a set takes two of "
                "them, a dict of other keys than texts three), or the value contains itself",
            )
        self.levels = max(self.levels, self._depth)

    def _encode_other(self, value: Any, kind: type, *, plain: bool) -> Any:
        if kind is list:
            return self._items(value)
        if kind is dict:
            return self._members(value) if plain else self._tag("~dict", self._pairs(value))
        if self._heavy is not None and (placed := self._heavy(value)) is not None:
            return self._tag("~leaf", placed)
        encode = _ENCODERS.get(kind)
        if encode is not None:
            return self._tag(*encode(self, value))
        name = class_name(kind)
        if name == "airfreight.reference.Reference":
            return self._tag("~ref", value.to_dict())
        if name == "zoneinfo.ZoneInfo":
            return self._tag("~tz", pack_zone(value, kind))
        if name.startswith("numpy.") and hasattr(value, "dtype") and hasattr(value, "tobytes"):
            scalar = _numpy_scalar(value)
            if scalar is not None:
                return self._tag("~numpy", scalar)
        if self._options is not None:
            try:
                embedded = embed(value, self._options)
            except TypeError as error:
                raise Unsupported(kind, message=str(error).removeprefix("value")) from error
            if embedded is not None:
                name, data = embedded
                return self._tag("~value", [name, base64.b64encode(data).decode()])
        return self._object(value, kind)

    def _items(self, items: Iterable[Any]) -> list[Any]:
        result = []
        for index, item in enumerate(items):
            try:
                result.append(self.encode(item))
            except Unsupported as error:
                raise error.within(f"[{index}]") from None
        return result

    def _members(self, value: dict[str, Any]) -> dict[str, Any]:
        result = {}
        for key, item in value.items():
            try:
                result[key] = self.encode(item)
            except Unsupported as error:
                raise error.within(f"[{_shown(key)}]") from None
        return result

    def _pairs(self, value: dict[Any, Any]) -> list[Any]:
        pairs = []
        for key, item in value.items():
            try:
                encoded_key = self.encode(key)
            except Unsupported as error:
                raise error.within(f" key {_shown(key)}") from None
            try:
                pairs.append([encoded_key, self.encode(item)])
            except Unsupported as error:
                raise error.within(f"[{_shown(key)}]") from None
        return pairs

    def _set(self, value: set[Any] | frozenset[Any]) -> list[Any]:
        try:
            encoded = [self.encode(item) for item in value]
        except Unsupported as error:
            raise error.within("{…}") from None
        # A set has no order; its text should not change from run to run.
        return sorted(encoded, key=lambda item: json.dumps(item, sort_keys=True))

    def _tag(self, name: str, content: Any) -> dict[str, Any]:
        self.tagged = True
        if name not in _NESTING:
            self.levels = max(self.levels, self._depth + 1 + _levels(content))
        return {name: content}

    def _object(self, value: Any, kind: type) -> Any:
        if self._leaf is None:
            raise Unsupported(kind)
        try:
            text = self._leaf(value)
        except Unsupported as error:
            raise self._blame(value, error) from None
        self.leaves += 1
        return {"~airflow": text}

    def _blame(self, value: Any, error: Unsupported) -> Unsupported:
        """Finds the field that an object of declared fields was refused for."""
        for name, field in _declared_fields(value):
            try:
                self.encode(field)
            except Unsupported as inner:
                return inner.within(f".{name}")
        return error


def encode(value: Any, _options: Any = None, _new_sink: Any = None, /) -> Payload:
    """Encodes a value without objects that are left to Airflow.

    Raises:
        TypeError: naming the place inside the value, and the type.
    """
    try:
        return payload(value, Encoder().encode(value))
    except Unsupported as error:
        raise error.as_type_error() from None


def payload(value: Any, encoded: Any) -> Payload:
    """The payload of a value that is encoded already."""
    text = dump(encoded)
    return Payload(body=(text,), summary=f"{describe(value)} · {human_bytes(len(text))} document")


def dump(encoded: Any) -> bytes:
    """The compact text of an encoded value."""
    return json.dumps(encoded, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def decode(data: memoryview, leaf: LeafReader | None = None) -> Any:
    """Decodes the text of a document."""
    return from_json(json.loads(str(data, "utf-8")), leaf)


def from_json(encoded: Any, leaf: LeafReader | None = None) -> Any:
    """Decodes JSON that was read already.

    Raises:
        ValueError: a tag has the wrong content.
        NewerFormatError: a tag is not of this release.
    """
    kind = type(encoded)
    if kind is list:
        return [from_json(item, leaf) for item in encoded]
    if kind is not dict:
        return encoded
    if len(encoded) == 1:
        ((tag, content),) = encoded.items()
        if tag.startswith("~"):
            return _untag(tag, content, leaf)
    return {key: from_json(item, leaf) for key, item in encoded.items()}


def _untag(tag: str, content: Any, leaf: LeafReader | None) -> Any:
    if tag == "~airflow":
        if leaf is None:
            raise ValueError("a value that was left to Airflow, where no Airflow is")
        return leaf(_typed(content, str))
    if tag == "~ref":
        return Reference.from_dict(_typed(content, dict))
    if tag == "~value":
        return _unembed(content)
    if tag == "~leaf":
        raise ValueError("a document's tag ~leaf stands outside of a bundle")
    decoder = _DECODERS.get(tag)
    if decoder is None:
        raise NewerFormatError(f"a document has the tag {tag!r}, which this release does not know")
    try:
        return decoder(content, leaf)
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise ValueError(f"a document's tag {tag} has a wrong content ({error})") from error


def _unembed(content: Any) -> Any:
    """A value that has a codec of its own."""
    name, text = _items(content, str, 2)
    codec = for_type(name)
    if codec is None:
        raise NewerFormatError(f"a document holds a {name!r}, which this release does not know")
    data = bytearray(_unbase64(text))
    try:
        return codec.decode(memoryview(data))
    except Error:
        raise
    except Exception as error:  # whatever a library says of bytes that it can't read
        raise ValueError(
            f"a document's tag ~value has a wrong content ({type(error).__name__}: {error})"
        ) from error


# --- What stands for itself -----------------------------------------------------------------------


def is_plain_text(text: str) -> bool:
    """Whether every database keeps a text: no NUL, no lone surrogate."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_plain_float(value: float) -> bool:
    return -MAX_ROW_FLOAT < value < MAX_ROW_FLOAT and (value != 0 or math.copysign(1, value) > 0)


def _is_plain_dict(value: dict[Any, Any]) -> bool:
    if value and set(map(type, value)) != {str}:
        return False
    if not MARKERS.isdisjoint(value):
        return False
    if len(value) == 1 and next(iter(value)).startswith("~"):
        return False
    return all(map(is_plain_text, value))


def _levels(encoded: Any) -> int:
    """Levels of JSON in the content of a tag that holds no other values."""
    if type(encoded) is list:
        return 1 + max(map(_levels, encoded), default=0)
    if type(encoded) is dict:
        return 1 + max(map(_levels, encoded.values()), default=0)
    return 0


def _shown(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _declared_fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of dataclasses, attrs classes and pydantic models."""
    cls = type(value)
    names: Iterable[str] = ()
    for attribute in ("__dataclass_fields__", "__pydantic_fields__", "model_fields"):
        declared = getattr(cls, attribute, None)
        if isinstance(declared, dict):
            names = declared
            break
    else:
        attributes = getattr(cls, "__attrs_attrs__", ())
        names = [attribute.name for attribute in attributes]
    for name in names:
        if isinstance(name, str) and hasattr(value, name):
            yield name, getattr(value, name)


# --- Tags -----------------------------------------------------------------------------------------


def _text_to_base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def pack_zone(zone: datetime.tzinfo | None, owner: type) -> Any:
    """A time zone of the standard library as JSON; Unsupported, for `owner`, when it is another."""
    if zone is None:
        return None
    if zone is datetime.timezone.utc:
        return "utc"
    name = class_name(type(zone))
    if name == "datetime.timezone":
        offset = zone.utcoffset(None)
        label = zone.tzname(None)
        assert offset is not None
        unnamed = datetime.timezone(offset).tzname(None)
        # The name is any text.
        shown = None if label == unnamed else Encoder().encode(label)
        return ["fixed", offset // _MICROSECOND, shown]
    key = getattr(zone, "key", None)
    if name == "zoneinfo.ZoneInfo" and isinstance(key, str):
        try:
            zone.__reduce__()
        except pickle.PicklingError:
            raise Unsupported(
                owner, "its time zone was read from a file, and its name does not tell it"
            ) from None
        return ["iana", key]
    raise Unsupported(owner, f"its time zone is of type {name}, which is not kept exactly")


def unpack_zone(content: Any) -> datetime.tzinfo | None:
    """The inverse of `pack_zone`."""
    if content is None:
        return None
    if content == "utc":
        return datetime.timezone.utc
    kind, *rest = _typed(content, list)
    if kind == "fixed":
        micros, label = rest
        offset = datetime.timedelta(microseconds=_typed(micros, int))
        if label is None:
            return datetime.timezone(offset)
        return datetime.timezone(offset, _typed(from_json(label), str))
    if kind == "iana":
        (key,) = rest
        return zoneinfo.ZoneInfo(_typed(key, str))
    raise ValueError(f"unknown kind of time zone {kind!r}")


def _moment(value: datetime.datetime | datetime.time) -> list[Any]:
    text = value.replace(tzinfo=None, fold=0).isoformat()
    return [text, pack_zone(value.tzinfo, type(value)), value.fold]


def _undatetime(content: Any, _: LeafReader | None) -> datetime.datetime:
    text, zone, fold = _typed(content, list)
    moment = datetime.datetime.fromisoformat(_typed(text, str))
    return moment.replace(tzinfo=unpack_zone(zone), fold=fold)


def _untime(content: Any, _: LeafReader | None) -> datetime.time:
    text, zone, fold = _typed(content, list)
    moment = datetime.time.fromisoformat(_typed(text, str))
    return moment.replace(tzinfo=unpack_zone(zone), fold=fold)


def _undecimal(content: Any, _: LeafReader | None) -> decimal.Decimal:
    # The constructor is exact whatever the context's precision.
    return decimal.Decimal(_typed(content, str))


def _numpy_scalar(value: Any) -> list[str] | None:
    with loading:
        import numpy as np

    if not isinstance(value, np.generic):
        return None  # An array.
    dtype = value.dtype
    plain = not dtype.hasobject and dtype.names is None and dtype.subdtype is None
    # Long doubles: their bytes differ between machines.
    if type(value) is dtype.type and plain and dtype.char not in "gG":
        packed = [dtype.str, base64.b64encode(_numpy_bytes(value, dtype)).decode()]
        back = _unnumpy(packed, None)
        if (
            type(back) is type(value)
            and back.dtype == dtype
            and _numpy_bytes(back, dtype) == _numpy_bytes(value, dtype)
        ):
            return packed
    raise Unsupported(type(value), f"a numpy scalar of dtype {dtype} is not kept exactly")


def _numpy_bytes(value: Any, dtype: Any) -> bytes:
    # Of texts and bytes numpy's own notion of an item drops zeros at the end.
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, str):
        return value.encode(_utf32(dtype), "surrogatepass")
    data: bytes = value.tobytes()
    return data


def _utf32(dtype: Any) -> str:
    return "utf-32-be" if dtype.str.startswith(">") else "utf-32-le"


def _unnumpy(content: Any, _: LeafReader | None) -> Any:
    with loading:
        import numpy as np

    text, data = _typed(content, list)
    dtype = np.dtype(_typed(text, str))
    if dtype.hasobject:
        raise ValueError("no Python objects here")
    raw = base64.b64decode(_typed(data, str), validate=True)
    if dtype.kind == "S":
        return dtype.type(raw)
    if dtype.kind == "U":
        return dtype.type(raw.decode(_utf32(dtype), "surrogatepass"))
    if dtype.itemsize == 0:
        return dtype.type()
    return np.frombuffer(raw, dtype=dtype, count=1)[0]


def _undict(content: Any, leaf: LeafReader | None) -> dict[Any, Any]:
    return dict(_unpairs(content, leaf))


def _unpairs(content: Any, leaf: LeafReader | None) -> Iterator[tuple[Any, Any]]:
    for pair in _typed(content, list):
        key, item = _typed(pair, list)
        yield from_json(key, leaf), from_json(item, leaf)


def _unlist(content: Any, leaf: LeafReader | None) -> list[Any]:
    return [from_json(item, leaf) for item in _typed(content, list)]


def _typed(content: Any, kind: type) -> Any:
    if type(content) is not kind:
        raise ValueError(f"expected {kind.__name__}, found {type(content).__name__}")
    return content


def _items(content: Any, kind: type, count: int) -> list[Any]:
    items = [_typed(item, kind) for item in _typed(content, list)]
    if len(items) != count:
        raise ValueError(f"expected {count} items, found {len(items)}")
    return items


def _unbase64(content: Any) -> bytes:
    return base64.b64decode(_typed(content, str), validate=True)


#: Levels of JSON between a container and its items: a tag is an object, pairs are arrays.
_LEVELS: dict[type, int] = {
    list: 1,
    tuple: 2,
    set: 2,
    frozenset: 2,
    dict: 3,
    collections.OrderedDict: 3,
}
_NESTING = frozenset(("~tuple", "~set", "~frozenset", "~dict", "~odict"))

_ENCODERS: dict[type, Callable[[Encoder, Any], tuple[str, Any]]] = {
    tuple: lambda encoder, value: ("~tuple", encoder._items(value)),
    set: lambda encoder, value: ("~set", encoder._set(value)),
    frozenset: lambda encoder, value: ("~frozenset", encoder._set(value)),
    collections.OrderedDict: lambda encoder, value: ("~odict", encoder._pairs(value)),
    bytes: lambda _, value: ("~bytes", base64.b64encode(value).decode()),
    bytearray: lambda _, value: ("~bytearray", base64.b64encode(value).decode()),
    complex: lambda _, value: ("~complex", [repr(value.real), repr(value.imag)]),
    decimal.Decimal: lambda _, value: ("~decimal", str(value)),
    uuid.UUID: lambda _, value: ("~uuid", str(value)),
    datetime.datetime: lambda _, value: ("~datetime", _moment(value)),
    datetime.date: lambda _, value: ("~date", value.isoformat()),
    datetime.time: lambda _, value: ("~time", _moment(value)),
    datetime.timedelta: lambda _, value: (
        "~timedelta",
        [value.days, value.seconds, value.microseconds],
    ),
    datetime.timezone: lambda _, value: ("~tz", pack_zone(value, datetime.timezone)),
}

_DECODERS: dict[str, Callable[[Any, LeafReader | None], Any]] = {
    "~tuple": lambda content, leaf: tuple(_unlist(content, leaf)),
    "~set": lambda content, leaf: set(_unlist(content, leaf)),
    "~frozenset": lambda content, leaf: frozenset(_unlist(content, leaf)),
    "~dict": _undict,
    "~odict": lambda content, leaf: collections.OrderedDict(_unpairs(content, leaf)),
    "~str": lambda content, _: _unbase64(content).decode("utf-8", "surrogatepass"),
    "~bytes": lambda content, _: _unbase64(content),
    "~bytearray": lambda content, _: bytearray(_unbase64(content)),
    "~int": lambda content, _: int(_typed(content, str), 16),
    "~float": lambda content, _: float(_typed(content, str)),
    "~complex": lambda content, _: complex(*map(float, _items(content, str, 2))),
    "~decimal": _undecimal,
    "~uuid": lambda content, _: uuid.UUID(_typed(content, str)),
    "~datetime": _undatetime,
    "~date": lambda content, _: datetime.date.fromisoformat(_typed(content, str)),
    "~time": _untime,
    "~timedelta": lambda content, _: datetime.timedelta(*_items(content, int, 3)),
    "~tz": lambda content, _: unpack_zone(content),
    "~numpy": _unnumpy,
}

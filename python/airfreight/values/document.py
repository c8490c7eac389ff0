"""Tagged JSON, for values that plain JSON would change. Specification: `formats/document.md`.

A tag is an object with exactly one member whose name begins with `~`: `{"~tuple": [1, 2]}`. The
text is written, and read, in one pass in C++ (python/bindings/json/document.h, tags.h), which has
the tags of Python's frequent types itself; this package is asked for the others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from airfreight import _json
from airfreight._imports import loading
from airfreight.errors import Error, ForgedError, NewerFormatError
from airfreight.reference import Reference
from airfreight.values import (
    PICKLE_TYPE,
    Options,
    Payload,
    _classes,
    _pendulum,
    _scalars,
    _tags,
    embed,
    for_type,
    human_bytes,
    package_of,
    unreadable,
)
from airfreight.values._content import from_base64, is_plain_text, items, to_base64, typed
from airfreight.values._unsupported import RAW, Unsupported
from airfreight.values._zones import pack_zone, unpack_zone
from airfreight.values.json_ import MAX_DEPTH, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from airfreight.values._tags import Tag

    #: Serializes an object of a class that this format does not know, or raises Unsupported.
    Leaf = Callable[[Any], str]
    #: The inverse.
    LeafReader = Callable[[str], Any]
    #: What stands in a bundle's document for a value that lies beside it; None: nothing does.
    Heavy = Callable[[Any], Any]

__all__ = [
    "CONTENT_TYPE",
    "EXTENSION",
    "TYPE",
    "Encoder",
    "Unsupported",
    "array",
    "decode",
    "dump",
    "encode",
    "from_json",
    "is_plain_text",
    "joined",
    "pack_zone",
    "parsed",
    "payload",
    "unpack_zone",
]

TYPE = "document"
EXTENSION = "json"
CONTENT_TYPE = "application/json"

#: After what else can be done about an object that can't be kept.
_LAST_WAY = (
    "; the last way, where an administrator allows it, is a pickle: [airfreight] pickle = allow "
    "(AIRFLOW__AIRFREIGHT__PICKLE=allow)"
)

#: Of `airfreight.options`, whose value is packed in one way as a whole.
_NOT_INSIDE = (
    ": airfreight.options(…) lies inside a value, and has to be the whole of what a task returns "
    "or pushes: give the options to the whole, or push this part for itself (ti.xcom_push, "
    "airfreight.put)"
)


class Encoder:
    """Encodes values to tagged JSON.

    Attributes:
        tagged: whether a tag was needed, other than for leaves.
        leaves: how many objects were left to the leaf serializer.
        levels: of JSON, the deepest place.

    `leaf` serializes objects of other classes. `options` is for values that have a codec of their
    own (frames, arrays); None: these are refused, as where a frame's own metadata is encoded.
    `heavy` is asked first, of each value that does not stand for itself: what it returns goes into
    a tag `~leaf`. `last` is asked in the same way of what nothing else keeps.

    Threads: one value, one thread. Blocking: never. Errors: Unsupported, with the place.
    """

    def __init__(
        self,
        leaf: Leaf | None = None,
        *,
        options: Options | None = None,
        heavy: Heavy | None = None,
        last: Heavy | None = None,
    ) -> None:
        self._leaf = leaf
        self._options = options
        self._heavy = heavy
        self._last = last
        self.tagged = False
        self.leaves = 0
        self.levels = 0

    def segments(self, value: Any) -> list[bytes]:
        """The text of a value, in parts."""
        return self._segments(value, 0)

    def text(self, value: Any) -> bytes:
        """The text of a value."""
        return joined(self.segments(value))

    def texts(self, values: list[Any]) -> list[bytes | None]:
        """The text of each of several values; None for None. The first step of a place is there."""
        return _json.documents(values, self._tag)

    def encode(self, value: Any) -> Any:
        """The JSON of a value, as what `json.loads` makes of its text."""
        return parsed(self.segments(value))

    def _segments(self, value: Any, depth: int) -> list[bytes]:
        heavy = self._heavy is not None
        segments, levels, tagged = _json.document(value, self._tag, depth, heavy)
        self.levels = max(self.levels, levels)
        self.tagged = self.tagged or tagged
        return segments

    def _inner(self, value: Any, depth: int) -> Any:
        return parsed(self._segments(value, depth))

    def _tag(self, value: Any, depth: int) -> Tag:
        kind = type(value)
        levels = _tags.LEVELS.get(kind, 0)
        if levels and depth + levels > MAX_DEPTH:
            raise Unsupported(
                kind,
                f"it lies deeper than {MAX_DEPTH} levels of JSON (a tuple or a set takes two of "
                "them, a dict of other keys than texts three), or the value contains itself",
            )
        tag = self._tag_heavy(value) if self._heavy is not None else None
        if tag is None:
            tag = self._tag_known(value, kind, depth)
        if tag is None:
            return self._tag_object(value)
        self.tagged = True
        return tag

    def _tag_heavy(self, value: Any) -> Tag | None:
        placed = self._heavy(value) if self._heavy is not None else None
        return None if placed is None else ("~leaf", placed, RAW)

    def _tag_known(self, value: Any, kind: type, depth: int) -> Tag | None:
        if (encode := _tags.ENCODERS.get(kind)) is not None:
            return encode(value)
        if (encode_set := _tags.SETS.get(kind)) is not None:
            return encode_set(value, self._inner, depth)
        if kind is Reference:
            return "~ref", value.to_dict(), RAW
        library = package_of(kind)
        tag = None
        if library == "numpy":
            tag = _scalars.tag_numpy(value)
        elif library == "pandas":
            tag = _scalars.tag_pandas(value)
        return tag or self._tag_embedded(value, kind) or _classes.tag(value)

    def _tag_embedded(self, value: Any, kind: type) -> Tag | None:
        if self._options is None:
            return None
        try:
            embedded = embed(value, self._options)
        except TypeError as error:
            raise Unsupported(kind, message=str(error).removeprefix("value")) from error
        if embedded is None:
            return None
        name, data = embedded
        return "~value", [name, to_base64(data)], RAW

    def _tag_object(self, value: Any) -> Tag:
        if type(value).__module__ == "airfreight.wrapped":
            raise Unsupported(type(value), message=_NOT_INSIDE)
        try:
            text = self._left(value)
        except Unsupported as error:
            # What Airflow's form would change (a dataclass inside another, say) ours keeps.
            wrong = error
            try:
                tag = _pendulum.tag(value) or _classes.tag_fields(value)
            except Unsupported as ours:
                tag = None
                # (Airflow says no more than that it has failed, of what its list forbids too.)
                if self._leaf is None or any(it in ours.reason for it in _classes.TELLING):
                    wrong = ours
            tag = tag or self._tag_last(value, wrong)
            if tag is None:
                raise self._blame(value, wrong) from None
            self.tagged = True
            return tag
        self.leaves += 1
        return "~airflow", text, RAW

    def _tag_last(self, value: Any, error: Unsupported) -> Tag | None:
        # What Airflow's own list of classes forbids is not let in by another setting.
        if self._heavy is None or _classes.SETTING in error.reason:
            return None
        if self._last is None:
            error.hint = _LAST_WAY
            return None
        return "~leaf", self._last(value), RAW

    def _left(self, value: Any) -> str:
        """The text of an object that is left to the leaf serializer."""
        if self._leaf is None:
            raise Unsupported(type(value))
        text = self._leaf(value)
        if not is_plain_text(text):
            raise Unsupported(type(value), "Airflow's form of it has a lone surrogate")
        return text

    def _blame(self, value: Any, error: Unsupported) -> Unsupported:
        """Finds the field that an object of declared fields was refused for."""
        if error.steps:
            return error
        for name, field in _declared_fields(value):
            try:
                self.segments(field)
            except Unsupported as inner:
                return inner.within(f".{name}")
        return error


def _declared_fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a dataclass, attrs or pydantic object."""
    cls = type(value)
    for source in ("__dataclass_fields__", "__pydantic_fields__", "model_fields"):
        declared = getattr(cls, source, None)
        if isinstance(declared, dict):
            for name in declared:
                if hasattr(value, name):
                    yield name, getattr(value, name)
            return
    for attribute in getattr(cls, "__attrs_attrs__", ()):
        yield attribute.name, getattr(value, attribute.name, None)


def encode(value: Any, _options: Any = None, _new_sink: Any = None, /) -> Payload:
    """Encodes a value without objects that are left to Airflow.

    Raises:
        TypeError: naming the place inside the value, and the type.
    """
    try:
        return payload(value, Encoder().segments(value))
    except Unsupported as error:
        raise error.as_type_error() from None


def payload(value: Any, segments: list[bytes]) -> Payload:
    """The payload of a value whose text is made already."""
    size = human_bytes(sum(map(len, segments)))
    return Payload(body=segments, summary=f"{describe(value)} · {size} document")


def dump(encoded: Any) -> bytes:
    """The compact text of what is JSON. TypeError: it is none."""
    return joined(_json.dump(encoded))


def joined(segments: list[bytes]) -> bytes:
    """One text of its parts."""
    return segments[0] if len(segments) == 1 else b"".join(segments)


def parsed(segments: list[bytes]) -> Any:
    """The JSON that a text in parts stands for, its tags as they are."""
    return _json.decode(joined(segments))


def array(texts: Iterable[bytes | None]) -> bytes:
    """The text of a list of those values whose texts are given; None is that of None."""
    return b"[%b]" % b",".join(b"null" if text is None else text for text in texts)


def decode(data: memoryview, leaf: LeafReader | None = None) -> Any:
    """Decodes the text of a document. Raises as `from_json`, and ValueError when it is no JSON."""
    return _json.decode(data, partial(_untag, leaf))


def from_json(encoded: Any, leaf: LeafReader | None = None) -> Any:
    """Decodes JSON that was read already.

    Raises:
        ValueError: a tag has the wrong content.
        NewerFormatError: a tag is not of this release.
        ImportError: an object's class may not be loaded here, or its library is missing.
    """
    return _json.untagged(encoded, partial(_untag, leaf))


#: Tag -> what makes its value of a content whose own tags are read.
_DECODERS: dict[str, Callable[[Any], Any]] = {
    **_tags.DECODERS,
    **_scalars.DECODERS,
    **_classes.DECODERS,
    **_pendulum.DECODERS,
}


def _untag(leaf: LeafReader | None, tag: str, content: Any) -> Any:
    if tag == "~airflow":
        if leaf is None:
            raise ValueError("a value that was left to Airflow, where no Airflow is")
        return leaf(typed(content, str))
    if tag == "~ref":
        return Reference.from_dict(typed(content, dict))
    if tag == "~value":
        return _unembed(content)
    if tag == "~leaf":
        raise ValueError("a document's tag ~leaf stands outside of a bundle")
    decoder = _DECODERS.get(tag)
    if decoder is None:
        raise NewerFormatError(f"a document has the tag {tag!r}, which this release does not know")
    try:
        return decoder(content)
    except Error:  # Of a setting.
        raise
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise ValueError(f"a document's tag {tag} has a wrong content ({error})") from error


def _unembed(content: Any) -> Any:
    """A value that has a codec of its own."""
    name, text = items(content, str, str)
    forged = ForgedError("a document holds a pickle, which no push writes there")
    if name == PICKLE_TYPE:  # Whoever may write rows could run code by it.
        raise forged
    codec = for_type(name)
    if codec is None:
        raise NewerFormatError(f"a document holds a {name!r}, which this release does not know")
    data = bytearray(from_base64(text))
    if getattr(codec, "NESTING", False) and _holds_pickle(name, data):
        raise forged
    try:
        return codec.decode(memoryview(data))
    except Error:
        raise
    except Exception as error:  # whatever a library says of bytes that it can't read
        if (wrong := unreadable("a part of a document", name, error)) is not None:
            raise wrong from error
        raise ValueError(
            f"a document's tag ~value has a wrong content ({type(error).__name__}: {error})"
        ) from error


def _holds_pickle(name: str, data: bytearray) -> bool:
    with loading:
        from airfreight.values import _pickles

    return _pickles.holds_pickle(name, memoryview(data))

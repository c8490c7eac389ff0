"""Documents with heavy leaves: one ZIP archive, each leaf in its own format.

Specification: `formats/bundle.md`.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from airfreight import values
from airfreight.errors import InvalidError
from airfreight.values import (
    FILE_TYPE,
    PICKLE_TYPE,
    Payload,
    class_name,
    document,
    for_type,
    for_value,
    human_bytes,
)
from airfreight.values._describe import label
from airfreight.values._leaves import (
    VALUE,
    ArchiveWriter,
    Ranges,
    Whole,
    codec_of,
    land,
    make,
    part_of,
    place,
    take,
    taken,
)
from airfreight.values._names import Names
from airfreight.values.json_ import describe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airfreight._core import Reader
    from airfreight.values import NewSink, Options
    from airfreight.values._leaves import LeafReader, Source
    from airfreight.values._zip import Entry

TYPE = "bundle"
EXTENSION = "zip"
CONTENT_TYPE = "application/zip"
#: `encode` and `decode` take what writes and reads objects that are left to Airflow.
NESTING = True

_TAG = "~leaf"
#: Tags whose content is no document.
_OPAQUE = frozenset(("~ref", "~airflow", "~value"))
#: Of an array: so little is better told in the document than as a member of its own.
_TINY_ARRAY = 1 << 10
#: Of bytes inside a document: their base64 would take a third more.
_LONG_BYTES = 4 << 10
#: Packages whose types tell their size in the ways that `_weight` knows.
_WITH_SIZES = frozenset(("builtins", "numpy", "pandas", "polars", "pyarrow"))
#: The weight of all other values.
_NOT_TOLD = 1 << 40
#: Leaves that a summary names.
_SHOWN_LEAVES = 6


class _LeafValue(NamedTuple):
    value: Any
    codec: Any


class Packed:
    """A value whose heavy leaves are taken out of its document.

    Attributes:
        value: the value.
        segments: the text of its document, where `{"~leaf": n}` stands for a leaf.
        leaves: these.
        weight: bytes that they take in memory, roughly; what can't be told counts as very much.
        levels: of JSON in the document.
        pickled: whether a leaf is one that only a pickle keeps.
        tagged, airflow: whether it has tags, and how many objects were left to Airflow.
    """

    def __init__(self, value: Any, leaf: document.Leaf | None, options: Options) -> None:
        self.value = value
        self._leaf = leaf
        self._options = options
        self.leaves: list[_LeafValue] = []
        self.weight = 0
        self.pickled = False
        self._numbers: dict[int, int] = {}
        self._codecs: dict[type, Any] = {}
        encoder = self._encoder(self._place)
        self.segments = encoder.segments(value)
        self.levels = encoder.levels
        self.tagged = encoder.tagged
        self.airflow = encoder.leaves

    def choice(self) -> tuple[Any, Any]:
        """The codec of the value, and what that is to encode: of a pickle, it is no bundle."""
        if self.pickled and len(self.leaves) == 1 and self.leaves[0].value is self.value:
            return self.leaves[0].codec, self.value
        return sys.modules[__name__], self

    def _encoder(self, heavy: document.Heavy) -> document.Encoder:
        last = self._pickle if self._options.pickle else None
        return document.Encoder(self._leaf, options=self._options, heavy=heavy, last=last)

    def _pickle(self, value: Any) -> int:
        """What stands for a value that nothing else keeps."""
        self.pickled = True
        return self._number(value, for_type(PICKLE_TYPE))

    def _place(self, value: Any) -> Any:
        """What stands for a value in the document; None when it is no heavy leaf."""
        kind = type(value)
        try:
            codec = self._codecs[kind]
        except KeyError:
            codec = self._codecs[kind] = for_value(value)
        if codec is None or _is_light(value, kind):
            return None
        return self._number(value, codec)

    def _number(self, value: Any, codec: Any) -> int:
        # The same object twice is stored once, and comes back as one object. (It is kept by the
        # list, so that no other has its number.)
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.leaves)
            self.leaves.append(_LeafValue(value, codec))
            self.weight += _weight(value, codec)
        return number

    def refusal(self, leaf: Any, error: TypeError) -> TypeError:
        """The error of a codec, with the place of the leaf in the value."""

        def find(value: Any) -> Any:
            if value is leaf:
                raise document.Unsupported(
                    type(value), message=str(error).removeprefix("value")
                ) from error
            return self._place(value)

        try:
            self._encoder(find).segments(self.value)
        except document.Unsupported as found:
            return found.as_type_error()
        return error


def _is_light(value: Any, kind: type) -> bool:
    if kind in (bytes, bytearray):
        return len(value) < _LONG_BYTES
    if class_name(kind) != "numpy.ndarray":
        return False
    return value.nbytes <= _TINY_ARRAY and not value.dtype.hasobject


def _weight(value: Any, codec: Any) -> int:
    """About how many bytes a leaf takes in memory."""
    package = values.package_of(type(value))
    # What is light may be encoded twice: for the row first.
    if codec.TYPE == PICKLE_TYPE:
        return _NOT_TOLD  # No row holds one.
    if package not in _WITH_SIZES or values.reads_once(codec, value):
        return _NOT_TOLD
    for name in ("nbytes", "size"):
        try:
            size = getattr(value, name, None)
        except Exception:  # noqa: BLE001 (pyarrow before 24 knows none of views)
            return _NOT_TOLD
        if type(size) is int:
            return size if name == "nbytes" else 8 * size
    estimated = getattr(value, "estimated_size", None)
    if callable(estimated):
        return int(estimated())
    return len(value) if isinstance(value, (bytes, bytearray)) else _NOT_TOLD


def reads_once(packed: Packed) -> bool:
    """Whether a leaf is used up by being encoded."""
    return any(values.reads_once(codec, value) for value, codec in packed.leaves)


# --- Push -----------------------------------------------------------------------------------------


def encode(
    packed: Packed, options: Options, new_sink: NewSink, leaf: document.Leaf | None = None, /
) -> Payload:
    """Writes a value's leaves, one after the other, and its document.

    Raises:
        TypeError: a leaf can't be kept exactly; names its place.
    """
    writer = ArchiveWriter(new_sink, leaf)
    names = Names((VALUE,))
    root = [document.parsed(packed.segments)]
    steps: dict[int, tuple[str, ...]] = {}
    for number, path in _places(root):
        steps.setdefault(number, path)
    members: dict[int, list[str]] = {}
    told = []
    for number, (value, codec) in enumerate(packed.leaves):
        path = steps.get(number, ())
        try:
            name, payload = writer.add(value, codec, options, partial(names.new, path))
        except TypeError as error:
            raise packed.refusal(value, error) from error
        members[number] = [name, codec.TYPE]
        told.append(("/".join(path) or "value", codec.TYPE, payload.summary))
    for holder, at, number in _slots(root):
        holder[at] = {_TAG: members[number]}
    sink, size = writer.finish(root[0])
    # Keys may be data. Whoever reads a part finds them in the archive.
    keys = options.describe == "full"
    return Payload(
        body=sink,
        summary=_summary(packed.value, told, size, keys=keys, pickled=writer.pickled),
        columns=[(place if keys else "", kind) for place, kind, _ in told],
        pickled=writer.pickled,
    )


def _summary(
    value: Any, told: Sequence[tuple[str, str, str]], size: int, *, keys: bool, pickled: bool
) -> str:
    shown = ", ".join(
        f"{f'{label(place)}: ' if keys else ''}{summary.partition(' · ')[0].partition(':')[0]}"
        for place, _, summary in told[:_SHOWN_LEAVES]
    )
    more = f", … {len(told) - _SHOWN_LEAVES:,} more" if len(told) > _SHOWN_LEAVES else ""
    mark = " (pickle inside)" if pickled else ""
    return f"{describe(value)}{mark} with {shown}{more} · {human_bytes(size)} zip"


def _slots(root: list[Any]) -> list[tuple[Any, Any, Any]]:
    """Where leaves stand in a document: what holds each, at which place, the tag's content."""
    found = []
    stack: list[Any] = [root]
    while stack:
        holder = stack.pop()
        for at, item in enumerate(holder) if type(holder) is list else holder.items():
            if type(item) is list:
                stack.append(item)
            elif type(item) is dict:
                if len(item) == 1:
                    ((tag, content),) = item.items()
                    if tag == _TAG:
                        found.append((holder, at, content))
                    if tag == _TAG or tag in _OPAQUE:
                        continue
                stack.append(item)
    return found


def _places(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The leaves of a document with the steps that lead to each, as text."""
    if type(node) is list:
        for at, item in enumerate(node):
            # The outermost list is only there to hold the document.
            yield from _places_in(item, (*path, str(at)))
    elif type(node) is dict:
        for key, item in node.items():
            yield from _places_in(item, (*path, key))


def _places_in(node: Any, path: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    if type(node) is not dict or len(node) != 1:
        yield from _places(node, path)
        return
    ((tag, content),) = node.items()
    if tag == _TAG:
        yield content, path[1:]
    elif tag in ("~dict", "~odict"):
        for at, (key, item) in enumerate(content):
            yield from _places_in(key, (*path, f"key{at}"))
            plain = key is None or type(key) in (str, int, float, bool)
            yield from _places_in(item, (*path, str(key) if plain else f"item{at}"))
    elif not tag.startswith("~"):
        yield from _places(node, path)
    elif tag not in _OPAQUE:
        yield from _places(content, path)


# --- Pull -----------------------------------------------------------------------------------------


def decode(data: memoryview, unleaf: LeafReader | None = None) -> Any:
    """Decodes a whole archive."""
    return _Parts(Whole(data), unleaf).value((), None)


def decode_part(
    data: memoryview, path: Sequence[Any], columns: Sequence[Any] | None, unleaf: LeafReader
) -> Any:
    """As `decode`, of one part."""
    return _Parts(Whole(data), unleaf).value(path, columns)


def read_part(
    reader: Reader, path: Sequence[Any], columns: Sequence[Any] | None, unleaf: LeafReader
) -> Any:
    """As `decode_part`, of an object of which only what is needed is read."""
    return _Parts(Ranges(reader), unleaf).value(path, columns)


def read(reader: Reader, unleaf: LeafReader) -> Any:
    """As `decode`, of an object whose Files go to the disk piece by piece."""
    return _Parts(Ranges(reader), unleaf).value((), None)


def read_bytes(reader: Reader, path: Sequence[Any], unleaf: LeafReader) -> Iterator[memoryview]:
    """The bytes of a leaf, in the format in which it lies in the archive, some at a time."""
    return _Parts(Ranges(reader), unleaf).bytes_of(path)


def decode_bytes(data: memoryview, path: Sequence[Any], unleaf: LeafReader) -> Iterator[memoryview]:
    """As `read_bytes`, of a whole archive."""
    return _Parts(Whole(data), unleaf).bytes_of(path)


class _Parts:
    """Parts of an archive as values."""

    def __init__(self, source: Source, unleaf: LeafReader | None) -> None:
        self._source = source
        self._unleaf = unleaf
        self._entries = {entry.name: entry for entry in source.entries}

    def _entry(self, name: str) -> Entry:
        entry = self._entries.get(name)
        if entry is None:
            raise ValueError(f"there is no member {name!r}")
        return entry

    def value(self, path: Sequence[Any], columns: Sequence[Any] | None) -> Any:
        node, rest = self._descend(path)
        leaf = _leaf_of(node)
        if leaf is None:
            if columns is not None and not rest:
                raise InvalidError(
                    "columns were asked for, and this part of the value is no frame. Leave "
                    "columns=… out"
                )
            return taken(self._build(node), (path[: len(path) - len(rest)], rest), columns)
        found = part_of(
            self._source,
            (self._entry(leaf[0]), leaf[1]),
            (path[: len(path) - len(rest)], rest),
            columns,
            self._unleaf,
        )
        return found if rest or columns is not None else _no_document(found, leaf[1])

    def bytes_of(self, path: Sequence[Any]) -> Iterator[memoryview]:
        node, rest = self._descend(path)
        leaf = _leaf_of(node)
        if leaf is None or rest:
            raise InvalidError(
                f"{place(path)} is no leaf with a file of its own; to=… takes the whole value, or "
                "a frame or an array in it"
            )
        return self._source.pieces(self._entry(leaf[0]))

    def _descend(self, path: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """Follows a path as far as the document tells; returns the steps that are left too."""
        node = self._source.document
        for at, step in enumerate(path):
            if _leaf_of(node) is not None:
                return node, path[at:]
            items = _indexable(node, self._unleaf)
            if items is None:
                return node, path[at:]
            node = take(items, step, path[:at])
            if type(node) is tuple:  # A slice of one.
                node = {"~tuple": list(node)}
        return node, ()

    def _build(self, node: Any) -> Any:
        """The value of a part of the document, with the leaves in it fetched at once."""
        root = [node]
        slots = [(holder, at, _leaf(content)) for holder, at, content in _slots(root)]
        wanted = list(dict.fromkeys(leaf for _, _, leaf in slots))
        views = self._source.fetch(
            [self._entry(name) for name, kind in wanted if kind != FILE_TYPE]
        )
        # The bytes go as soon as their value is there.
        made = {
            leaf: self._make(leaf, next(views))
            if leaf[1] != FILE_TYPE
            else land(self._source.pieces(self._entry(leaf[0])))
            for leaf in wanted
        }
        for holder, at, leaf in slots:
            holder[at] = made[leaf]
        return document.from_json(root[0], self._unleaf)

    def _make(self, leaf: tuple[str, str], data: memoryview) -> Any:
        return _no_document(make(leaf[1], leaf[0], data, self._unleaf), leaf[1])


def _no_document(made: Any, kind: str) -> Any:
    # What is one of these stands in the document itself.
    if type(made) in (list, dict):
        raise ValueError(f"a {kind} is no leaf")
    return made


def _leaf_of(node: Any) -> tuple[str, str] | None:
    if type(node) is dict and len(node) == 1 and _TAG in node:
        return _leaf(node[_TAG])
    return None


def _leaf(content: Any) -> tuple[str, str]:
    if type(content) is not list or list(map(type, content)) != [str, str]:
        raise ValueError("a document's tag ~leaf has a wrong content")
    name, kind = content
    codec_of(kind)
    return name, kind


def _indexable(node: Any, unleaf: LeafReader | None) -> Any:
    """A part of a document as what can be indexed as its value can; None: not so simply."""
    if type(node) is list:
        return node
    if type(node) is not dict:
        return None
    if len(node) != 1:
        return node
    ((tag, content),) = node.items()
    if not tag.startswith("~"):
        return node
    if tag == "~tuple" and type(content) is list:
        return tuple(content)
    if tag in ("~dict", "~odict") and not _slots([[key for key, _ in content]]):
        return {document.from_json(key, unleaf): item for key, item in content}
    return None

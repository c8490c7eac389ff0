"""`airfreight.mappable`: an archive with a member for each element, which is read by itself.

Specification: `formats/mappable.md`.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from airfreight import values
from airfreight.mapped import MappableDict, MappableList, local
from airfreight.values import (
    DEFAULTS,
    FILE_TYPE,
    Payload,
    document,
    for_value,
    human_bytes,
    json_,
)
from airfreight.values._leaves import (
    VALUE,
    ArchiveWriter,
    Ranges,
    Whole,
    codec_of,
    land,
    make,
    part_of,
    pieces_of,
    taken,
)
from airfreight.values._names import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airfreight._core import Reader
    from airfreight.values import NewSink, Options
    from airfreight.values._leaves import LeafReader, Source
    from airfreight.values._zip import Entry

TYPE = "mappable"
EXTENSION = "zip"
CONTENT_TYPE = "application/zip"
#: `encode` and `decode` take what writes and reads objects that are left to Airflow.
NESTING = True

_TAG = "~mappable"
#: From this size on elements are read by themselves. Every instance of a mapped task takes one more
#: request for that, and all of them together move so much less.
_WORTH_PARTS = 32 << 10
#: Types of elements that a summary names.
_SHOWN_KINDS = 6
#: How many may lie in each other: far less than Python's functions may call each other.
_DEEPEST = 16
#: Those that are being gone through, by id, the outermost first.
_around: ContextVar[tuple[int, ...]] = ContextVar("airfreight_mappables", default=())


# --- Push -----------------------------------------------------------------------------------------


def encode(
    value: MappableList | MappableDict,
    options: Options,
    new_sink: NewSink,
    leaf: document.Leaf | None = None,
    /,
) -> Payload:
    """Writes the elements, one after the other, and their index.

    Raises:
        TypeError: an element can't be kept exactly; names its place.
    """
    around = _around.get()
    if id(value) in around or len(around) >= _DEEPEST:
        raise TypeError(
            f"value: a mappable that contains itself, or lies in {_DEEPEST} others, can't be "
            "pushed: take it out of itself"
        )
    token = _around.set((*around, id(value)))
    try:
        return _encode(value, options, new_sink, leaf)
    finally:
        _around.reset(token)


def _encode(
    value: MappableList | MappableDict,
    options: Options,
    new_sink: NewSink,
    leaf: document.Leaf | None,
) -> Payload:
    writer = ArchiveWriter(new_sink, leaf, worth_parts=_WORTH_PARTS)
    kind = "dict" if type(value) is MappableDict else "list"
    keys = list(value) if isinstance(value, MappableDict) else None
    names = Names((VALUE,))
    digits = len(str(max(len(value) - 1, 0)))
    kinds = []
    for position, element in enumerate(
        value.values() if isinstance(value, MappableDict) else value
    ):
        step = f"{position:0{digits}}" if keys is None else keys[position]
        try:
            kinds.append(_add(writer, element, options, partial(names.new, (step,)), leaf))
        except TypeError as error:
            place = f"value[{position if keys is None else keys[position]!r}]"
            raise TypeError(f"{place}{str(error).removeprefix('value')}") from error
    runs = [[name, len(list(run))] for name, run in itertools.groupby(kinds)]
    content = [kind, runs]
    if keys is not None:
        content.append(document.Encoder().encode(keys))
    sink, size = writer.finish({_TAG: content})
    found = list(dict.fromkeys(kinds))
    shown = ", ".join(found[:_SHOWN_KINDS]) + (", …" if len(found) > _SHOWN_KINDS else "")
    mark = " (pickle inside)" if writer.pickled else ""
    head = f"mappable {kind} of {len(value):,} elements{mark} ({shown})"
    return Payload(body=sink, summary=f"{head} · {human_bytes(size)} zip", pickled=writer.pickled)


def reads_once(value: MappableList | MappableDict) -> bool:
    """Whether an element, or a part of one, is used up by being encoded."""
    elements = local(value)
    around = _around.get()
    if elements is None or id(value) in around or len(around) >= _DEEPEST:
        return False
    token = _around.set((*around, id(value)))
    try:
        return any(map(_reads_once, elements))
    finally:
        _around.reset(token)


def _reads_once(element: Any) -> bool:
    from airfreight.values import bundle

    codec = for_value(element)
    if codec is not None:
        return values.reads_once(codec, element)
    try:
        return bundle.reads_once(bundle.Packed(element, lambda _: "", DEFAULTS))
    except document.Unsupported:
        return False  # It is refused before anything is read of it.


def _add(
    writer: ArchiveWriter,
    element: Any,
    options: Options,
    name: Callable[[str], str],
    leaf: document.Leaf | None,
) -> str:
    """Writes an element; returns its type."""
    codec = for_value(element)
    if codec is None:
        text = json_.text_of(element)
        if text is not None:
            return writer.add_payload(json_.payload(element, text), json_, name)
        codec, element, payload = _document(element, options, leaf)
        if payload is not None:
            return writer.add_payload(payload, codec, name)
    writer.add(element, codec, options, name)
    return codec.TYPE


def _document(
    element: Any, options: Options, leaf: document.Leaf | None
) -> tuple[Any, Any, Payload | None]:
    from airfreight.values import bundle

    try:
        packed = bundle.Packed(element, leaf, options)
    except document.Unsupported as error:
        raise error.as_type_error() from None
    if packed.leaves:
        return *packed.choice(), None
    return document, element, document.payload(element, packed.segments)


# --- Pull -----------------------------------------------------------------------------------------


def decode(data: memoryview, unleaf: LeafReader | None = None) -> MappableList | MappableDict:
    """Decodes an archive; an element is decoded when it is asked for."""
    source = Whole(data)
    index = Index(source.entries, source.document)
    return index.value(_InMemory(source, index, unleaf))


def decode_part(
    data: memoryview, path: Sequence[Any], columns: Sequence[Any] | None, unleaf: LeafReader | None
) -> Any:
    """A part of an archive, or columns of a frame in it."""
    return _part(Whole(data), path, columns, unleaf)


def read_part(
    reader: Reader, path: Sequence[Any], columns: Sequence[Any] | None, unleaf: LeafReader | None
) -> Any:
    """As `decode_part`, of an object of which only what is needed is read."""
    return _part(Ranges(reader), path, columns, unleaf)


def _part(
    source: Source, path: Sequence[Any], columns: Sequence[Any] | None, unleaf: LeafReader | None
) -> Any:
    index = Index(source.entries, source.document)
    position = index.position(path[0])
    if position is not None:
        leaf = index.entries[position], index.kinds[position]
        return part_of(source, leaf, (path[:1], path[1:]), columns, unleaf)
    # Several elements, a pair of a dict, or none.
    return taken(index.value(_InMemory(source, index, unleaf)), ((), path), columns)


def open_index(reader: Reader) -> Index:
    """Reads what tells where the elements lie."""
    source = Ranges(reader)
    return Index(source.entries, source.document)


class Index:
    """What an archive tells of its elements. Immutable.

    Attributes:
        entries: their members.
        kinds: their types.
    """

    def __init__(self, entries: list[Entry], content: Any) -> None:
        self.entries = entries[:-1]
        self._kind, runs, self._keys = _parse(content)
        told = sum(count for _, count in runs)
        if told != len(self.entries):
            raise ValueError(f"{len(self.entries)} elements have {told} types")
        self.kinds = [name for name, count in runs for _ in range(count)]
        if self._keys is not None and len(self._keys) != len(self.entries):
            raise ValueError(f"{len(self.entries)} elements have {len(self._keys)} keys")
        for name, _ in runs:
            codec_of(name)

    def value(self, elements: Any) -> MappableList | MappableDict:
        """The list or dict, of which the elements are somewhere."""
        if self._keys is None:
            return MappableList(elements)
        return MappableDict(self._keys, elements)

    def position(self, step: Any) -> int | None:
        """Which element it is that an index or a key leads to; None when it is not just one."""
        if self._keys is not None:
            return self._keys.index(step) if type(step) is str and step in self._keys else None
        try:
            return range(len(self.entries))[operator.index(step)]
        except (TypeError, IndexError):
            return None

    def read(
        self, reader: Reader, positions: Sequence[int], unleaf: LeafReader | None
    ) -> list[Any]:
        """Fetches elements and nothing else."""
        wanted = sorted({position for position in positions if self.entries[position].size})
        entries = {position: self.entries[position] for position in wanted}
        reader.set_checks([run for entry in entries.values() for run in entry.runs()])
        files = [position for position in wanted if self.kinds[position] == FILE_TYPE]
        landed = {position: land(pieces_of(reader, entries.pop(position))) for position in files}
        ranges = [(entry.start, entry.size) for entry in entries.values()]
        found = dict(zip(entries, reader.read(ranges), strict=True))
        nothing = memoryview(bytearray())
        uses = Counter(positions)
        made = []
        for position in positions:
            if position in landed:
                made.append(landed[position])
                continue
            uses[position] -= 1
            # The bytes go as soon as their value is there.
            data = found.get(position, nothing) if uses[position] else found.pop(position, nothing)
            made.append(self.make(position, data, unleaf))
        return made

    def make(self, position: int, data: memoryview, unleaf: LeafReader | None) -> Any:
        """The element of a member's data."""
        return make(self.kinds[position], self.entries[position].name, data, unleaf)


class _InMemory:
    """The elements of an archive of which some are in memory anyway."""

    def __init__(self, source: Source, index: Index, unleaf: LeafReader | None) -> None:
        self._source = source
        self._index = index
        self._unleaf = unleaf

    def __len__(self) -> int:
        return len(self._index.entries)

    def size(self, position: int) -> int:
        return self._index.entries[position].size

    def fetch(self, positions: Sequence[int]) -> list[Any]:
        views = self._source.fetch([self._index.entries[position] for position in positions])
        return [
            self._index.make(position, _own(view), self._unleaf)
            for position, view in zip(positions, views, strict=True)
        ]


def _own(view: memoryview) -> memoryview:
    """The same bytes in memory of their own: an element is the puller's, and so is its memory."""
    whole = view.obj
    if type(whole) is bytearray and len(whole) == len(view):
        return view  # It was copied already.
    return memoryview(bytearray(view))


def _parse(content: Any) -> tuple[str, list[tuple[str, int]], list[str] | None]:
    wrong = ValueError(f"{VALUE!r} is no index of elements")
    if type(content) is not dict or list(content) != [_TAG] or type(content[_TAG]) is not list:
        raise wrong
    kind, *rest = content[_TAG] or [None]
    if (kind, len(rest)) not in (("list", 1), ("dict", 2)) or type(rest[0]) is not list:
        raise wrong
    runs = []
    for run in rest[0]:
        if type(run) is not list or list(map(type, run)) != [str, int] or run[1] < 1:
            raise wrong
        runs.append((run[0], run[1]))
    keys = None
    if kind == "dict":
        keys = document.from_json(rest[1])
        if type(keys) is not list or set(map(type, keys)) - {str} or len(set(keys)) < len(keys):
            raise wrong
    return kind, runs, keys

"""What bundles and mappable lists share: members of an archive, and how each becomes a value."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from airfreight.errors import Error, InvalidError, NewerFormatError, is_of_machine
from airfreight.values import FILE_TYPE, _zip, extensions, for_type, for_value, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airfreight._core import Reader
    from airfreight.values import Form, NewSink, Options, Payload
    from airfreight.values._zip import Entry

    #: Reads what was left to Airflow's serializer.
    LeafReader = Callable[[str], Any]

#: The member that tells what the others are.
VALUE = "value.json"
#: From this size on an archive is read in parts: what is shorter takes one request whole, and two
#: in parts. (Of a size with what a reader takes along between two ranges, `value_reader.cc`.)
WORTH_PARTS = 256 << 10
#: Members of these types have parts, and are read as a whole.
_IN_MEMORY = frozenset(("document", "json"))
#: What may hold objects that are left to Airflow's serializer, besides archives.
_DOCUMENT = "document"
#: Sequences of what is no value of its own. (Frames and arrays are none here: of them, columns.)
_WHOLE = (str, bytes, bytearray, memoryview)
#: Labels that an error names.
_SHOWN = 20
#: Of a member that goes to a file, in memory at a time: whole chunks that have a checksum.
_PIECE_BYTES = 8 << _zip.CHUNK_BITS
#: A longer document is no part of the tail, which each reader of a part fetches.
_LONG_DOCUMENT = 256 << 10


class LateSink:
    """A sink that is opened when the first byte comes: a value that is refused needs none."""

    def __init__(self, new_sink: NewSink) -> None:
        self._new_sink = new_sink
        self._sink: Any = None

    @property
    def sink(self) -> Any:
        """What `new_sink` gave."""
        if self._sink is None:
            self._sink = self._new_sink()
        return self._sink

    def write(self, data: Any) -> None:
        self.sink.write(data)

    def abandon(self, *, hurry: bool = False) -> None:
        if self._sink is not None:
            self._sink.abandon(hurry=hurry)


class ArchiveWriter:
    """Writes values of any codec as members of one archive. One thread at a time."""

    def __init__(
        self, new_sink: NewSink, leaf: Any = None, *, worth_parts: int = WORTH_PARTS
    ) -> None:
        self._leaf = leaf
        self._worth_parts = worth_parts
        self._sink = LateSink(new_sink)
        self._archive = _zip.Archive(self._sink)
        #: Whether a pickle is among the members, or in one.
        self.pickled = False

    def add(
        self, value: Any, codec: Any, options: Options, name: Callable[[str], str]
    ) -> tuple[str, Payload]:
        """Writes one value; returns its member's name, which `name` makes of the extension.

        Raises:
            TypeError: as the codec does.
        """
        opened: list[tuple[_zip.Member, str]] = []

        def new_member(form: Form | None = None, /) -> Any:
            apart = form is not None and form.may_start_over
            if opened:
                last = opened[-1][0]
                if not (last.apart and last.abandoned):
                    # What an archive has been written stays in it.
                    raise TypeError(
                        "value: its codec opens a second sink; one that may do so says it in the "
                        "form that it asks for (may_start_over), and abandons the first one"
                    )
                called = opened[-1][1]
            else:
                called = name(codec.EXTENSION if form is None else form.extension)
            opened.append((self._archive.open(called, apart=apart), called))
            return opened[-1][0]

        payload = encode(codec, value, options, new_member, self._leaf)
        self.pickled |= payload.pickled
        if opened:
            self._archive.close(*opened[-1])
            return opened[-1][1], payload
        return self._add_body(payload, codec, name), payload

    def add_payload(self, payload: Payload, codec: Any, name: Callable[[str], str]) -> str:
        """Writes a value that is encoded already; returns its type."""
        self._add_body(payload, codec, name)
        return str(codec.TYPE)

    def _add_body(self, payload: Payload, codec: Any, name: Callable[[str], str]) -> str:
        called = name(codec.EXTENSION if payload.form is None else payload.form.extension)
        body: Any = payload.body
        # (polars writes to a sink of its own.)
        self._archive.add(called, (body.getvalue(),) if hasattr(body, "getvalue") else body)
        return called

    def finish(self, encoded: Any) -> tuple[Any, int]:
        """Writes the document and the index; returns what was written to, and its size."""
        text = json.dumps(
            encoded, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
        long = len(text) > _LONG_DOCUMENT
        if not long:
            self._seal()
        self._archive.add(VALUE, (text,))
        if long:
            self._seal()
        self._archive.finish()
        return self._sink.sink, self._archive.tell()

    def _seal(self) -> None:
        """What follows is the tail, which a reader of parts fetches first."""
        sink = self._sink.sink
        if self._archive.tell() >= self._worth_parts and hasattr(sink, "seal_blocks"):
            sink.seal_blocks()


def encode(codec: Any, value: Any, options: Options, new_sink: NewSink, leaf: Any) -> Payload:
    """As `Codec.encode`; those that hold documents are told what objects are left to."""
    payload: Payload = (
        codec.encode(value, options, new_sink, leaf)
        if getattr(codec, "NESTING", False)
        else codec.encode(value, options, new_sink)
    )
    return payload


class Source(Protocol):
    """An archive that is read."""

    #: The members in their order.
    entries: list[Entry]
    #: The content of the document.
    document: Any

    def fetch(self, entries: Sequence[Entry]) -> Iterator[memoryview]:
        """The data of members, in their order; each is kept by none but the caller."""

    def pieces(self, entry: Entry) -> Iterator[memoryview]:
        """The data of a member, some of it at a time."""

    def columns(self, entry: Entry, codec: Any, columns: Sequence[Any]) -> Any:
        """Columns of a member that is a frame."""

    def part(self, entry: Entry, codec: Any, *asked: Any) -> Any:
        """What `codec.read_part` gives of a member that is an archive itself."""


class Whole:
    """An archive that is in memory."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.entries = _zip.read_whole(data)
        (text,) = self.fetch([_last(self.entries)])
        self.document = _parse(text)

    def fetch(self, entries: Sequence[Entry]) -> Iterator[memoryview]:
        # One by one: all copies at once would take as much memory as the archive again.
        return map(self._view, entries)

    def pieces(self, entry: Entry) -> Iterator[memoryview]:
        yield self._data[entry.start : entry.stop]

    def _view(self, entry: Entry) -> memoryview:
        view = self._data[entry.start : entry.stop]
        if 2 * len(view) >= len(self._data):
            return view
        # What lives in this memory must not keep much more of it alive than it needs.
        return memoryview(bytearray(view))

    def columns(self, entry: Entry, codec: Any, columns: Sequence[Any]) -> Any:
        return codec.decode_columns(self._view(entry), columns)

    def part(self, entry: Entry, codec: Any, *asked: Any) -> Any:
        return codec.decode_part(self._view(entry), *asked)


class Ranges:
    """An archive of which only what is needed is read: first its tail, then members."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._offset = reader.tail_offset
        self._tail = reader.read_tail()
        self.entries = _zip.read_index(self._tail, self._offset)
        self._runs = [
            run for entry in self.entries if entry.end <= self._offset for run in entry.runs()
        ]
        self._set_runs(self._runs)
        (text,) = self.fetch([_last(self.entries)])
        self.document = _parse(text)

    def _set_runs(self, runs: list[tuple[int, int, int]]) -> None:
        self._reader.set_checks(runs)

    def fetch(self, entries: Sequence[Entry]) -> Iterator[memoryview]:
        wanted = [entry for entry in entries if entry.size and entry.start < self._offset]
        if any(not entry.checks for entry in wanted):
            raise InvalidError(
                "a part of this value is so long that it is read with the whole value only"
            )
        found = dict(
            zip(
                (entry.header for entry in wanted),
                self._reader.read([(entry.start, entry.size) for entry in wanted]),
                strict=True,
            )
        )
        views = [self._found(entry, found) for entry in reversed(entries)]
        found.clear()
        return (views.pop() for _ in entries)

    def pieces(self, entry: Entry) -> Iterator[memoryview]:
        if not entry.checks or entry.start >= self._offset:
            return self.fetch([entry])
        return pieces_of(self._reader, entry)

    def _found(self, entry: Entry, found: dict[int, memoryview]) -> memoryview:
        view = found.get(entry.header)
        if view is not None:
            return view
        if not entry.size:
            return memoryview(bytearray())
        return self._tail[entry.start - self._offset : entry.stop - self._offset]

    def columns(self, entry: Entry, codec: Any, columns: Sequence[Any]) -> Any:
        if entry.tail is None:
            (view,) = self.fetch([entry])
            return codec.decode_columns(view, columns)
        return codec.read_columns(_Leaf(self._reader, entry), columns)

    def part(self, entry: Entry, codec: Any, *asked: Any) -> Any:
        if entry.tail is None:
            (view,) = self.fetch([entry])
            return codec.decode_part(view, *asked)
        return codec.read_part(_Leaf(self._reader, entry), *asked)


class _Leaf:
    """One member as the reader of a whole object: `Reader` without its requests."""

    def __init__(self, reader: Reader, entry: Entry) -> None:
        assert entry.tail is not None
        self._reader = reader
        self._entry = entry
        self.size = entry.size
        self.tail_offset = entry.tail

    def read_tail(self) -> memoryview:
        start = self._entry.start + self.tail_offset
        (view,) = self._reader.read([(start, self.size - self.tail_offset)])
        return view

    def set_blocks(self, table: bytes) -> None:
        every = _zip.BLOCK_BYTES
        count = -(-self.tail_offset // every)
        if len(table) != 4 * count:
            raise ValueError("a frame's table of blocks is that of another length")
        start = self._entry.start
        self._reader.set_checks(
            [
                (start + at * every, min(every, self.tail_offset - at * every), check)
                for at, check in enumerate(struct.unpack(f"<{count}I", table))
            ]
        )

    def set_checks(self, checks: Sequence[tuple[int, int, int]]) -> None:
        start = self._entry.start
        self._reader.set_checks([(start + offset, length, crc) for offset, length, crc in checks])

    def read(self, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        start = self._entry.start
        return self._reader.read([(start + offset, length) for offset, length in ranges])


def part_of(
    source: Source,
    leaf: tuple[Entry, str],
    path: tuple[Sequence[Any], Sequence[Any]],
    columns: Sequence[Any] | None,
    unleaf: LeafReader | None,
) -> Any:
    """A part of a member, or all of it, or columns of it.

    Args:
        source: the archive.
        leaf: the member and its type.
        path: the steps that lead to the member, and those that lead on in it.
        columns: of a frame; None: all.
        unleaf: as for `make`.

    Raises:
        InvalidError: it has no such part or columns.
    """
    entry, kind = leaf
    before, rest = path
    codec = codec_of(kind)
    if rest and hasattr(codec, "read_part"):
        try:
            return source.part(entry, codec, rest, columns, unleaf)
        except InvalidError as error:  # Which knows nothing of what lies around.
            raise InvalidError(error.message.replace("the value", place(before), 1)) from None
    if rest and kind not in _IN_MEMORY:
        raise InvalidError(
            f"{place(before)} is a {kind}, of which nothing can be read by itself: leave "
            f"{rest[0]!r} out"
        )
    if not rest and columns is not None:
        return source.columns(entry, frame_codec(kind), columns)
    if kind == FILE_TYPE:
        return land(source.pieces(entry))
    (data,) = source.fetch([entry])
    return taken(make(kind, entry.name, data, unleaf), path, columns)


def land(pieces: Iterator[memoryview]) -> Any:
    """The value of a member that is a File: it goes to the disk piece by piece."""
    files: Any = for_type(FILE_TYPE)
    return files.decode_pieces(pieces)


def pieces_of(reader: Reader, entry: Entry) -> Iterator[memoryview]:
    """The data of a member that lies before the tail, in ranges of whole chunks."""
    for at in range(0, entry.size, _PIECE_BYTES):
        yield reader.read([(entry.start + at, min(_PIECE_BYTES, entry.size - at))])[0]


def taken(
    found: Any, path: tuple[Sequence[Any], Sequence[Any]], columns: Sequence[Any] | None
) -> Any:
    """A part of a value that is here, or columns of a frame in it; `path` as in `part_of`."""
    before, rest = path
    for at, step in enumerate(rest):
        found = take(found, step, (*before, *rest[:at]))
    if columns is None:
        return found
    codec = for_value(found)
    if codec is None or not hasattr(codec, "select"):
        raise InvalidError(
            f"columns were asked for, and {place((*before, *rest))} is no frame. Leave columns=… "
            "out"
        )
    return codec.select(found, columns)


def take(items: Any, step: Any, before: Sequence[Any]) -> Any:
    """One step into a value; InvalidError when there is no such part."""
    has_parts = isinstance(items, (Mapping, Sequence)) and not isinstance(items, _WHOLE)
    try:
        # (What is not there is not made, as by a defaultdict.)
        if has_parts and (not isinstance(items, dict) or step in items):
            return items[step]
    except (LookupError, TypeError, ValueError):
        pass
    kind = type(items)
    if isinstance(items, Mapping):
        shown = ", ".join(repr(key) for key in list(items)[:_SHOWN])
        more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
        has = f"it has {shown}{more}" if items else "it is empty"
    elif has_parts:
        has = f"it has {len(items)} items, from 0 on"
    else:
        has = f"it is a {kind.__name__}, which has no parts"
    raise InvalidError(f"{place(before)} has no part {step!r}; {has}")


def place(path: Sequence[Any]) -> str:
    """A path as an expression."""
    return "the value" + "".join(f"[{step!r}]" for step in path)


def make(kind: Any, name: str, data: memoryview, unleaf: LeafReader | None) -> Any:
    """The value of a member.

    Raises:
        ValueError: it can't be read.
        NewerFormatError: its type is not of this release.
        UnsupportedError: the library of its type can't read it.
    """
    codec = codec_of(kind)
    try:
        if kind == _DOCUMENT or getattr(codec, "NESTING", False):
            return codec.decode(data, unleaf)
        return codec.decode(data)
    except (Error, ImportError, MemoryError):
        raise
    except Exception as error:  # whatever a library says of bytes that it can't read
        if is_of_machine(error):
            raise
        # (Who says that it is of a type that has another extension does not know what it is.)
        if name.endswith(tuple(f".{extension}" for extension in extensions(kind))) and (
            wrong := unreadable(f"member {name!r}", kind, error)
        ):
            raise wrong from error
        raise ValueError(
            f"member {name!r} can't be read as {kind} ({type(error).__name__}: {error})"
        ) from error


def codec_of(kind: Any) -> Any:
    """The codec of a member's type; NewerFormatError when this release has none."""
    codec = for_type(kind) if type(kind) is str else None
    if codec is None:
        raise NewerFormatError(
            f"a part of the value is a {kind!r}, which this release does not know."
        )
    return codec


def frame_codec(kind: Any) -> Any:
    """The codec of a member of which columns are asked for; InvalidError when it has none."""
    codec = codec_of(kind)
    if not hasattr(codec, "decode_columns"):
        raise InvalidError(
            f"columns were asked for, and this part is a {kind}: only frames have columns. Leave "
            "columns=… out"
        )
    return codec


def _last(entries: Sequence[Entry]) -> Entry:
    if not entries or entries[-1].name != VALUE:
        raise ValueError(f"the archive's last member is not {VALUE!r}")
    return entries[-1]


def _parse(text: memoryview) -> Any:
    try:
        return json.loads(str(text, "utf-8"))
    except RecursionError:
        raise ValueError(f"{VALUE!r} is too deep") from None

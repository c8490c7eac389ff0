"""ZIP archives of one strict profile. Specification: `formats/bundle.md`.

Any tool reads what is written here; what is read here must be of the profile, byte for byte, so
that an archive means the same to everybody. Numbers and signatures are those of PKWARE's
APPNOTE.TXT 6.3.10 (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT).
"""

from __future__ import annotations

import re
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from airfreight._imports import loading
from airfreight.values._sinks import Writable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from typing_extensions import Buffer

#: Data begins at multiples of this many bytes: an array is used where it lies, and no processor
#: asks for more (a cache line; the widest registers take as much).
ALIGNMENT = 64
#: Bytes of a member that have a checksum of their own, as a power of two: 4 MiB.
CHUNK_BITS = 22
#: Blocks of `Member.seal_blocks`, as `airfreight.h` has them (kBlockBytes).
BLOCK_BYTES = 64 << 10
#: Checksums that fit a header's extra field, which has 16 bits for its length: 56 GiB of a member.
#: A longer one has none, and is read with the whole object only.
MAX_CHUNKS = 14_000

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END_64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR_64 = struct.Struct("<4sIQI")
_DESCRIPTOR_64 = struct.Struct("<4sI2Q")
_EXTRA_64 = struct.Struct("<2H2Q")
_EXTRA = struct.Struct("<2H")

_LOCAL_SIGNATURE = b"PK\3\4"
_CENTRAL_SIGNATURE = b"PK\1\2"
_END_SIGNATURE = b"PK\5\6"
_END_64_SIGNATURE = b"PK\6\6"
_LOCATOR_64_SIGNATURE = b"PK\6\7"
_DESCRIPTOR_SIGNATURE = b"PK\7\10"

_UTF8 = 0x0800
_STREAMED = 0x0008
_VERSION, _VERSION_64 = 20, 45
_UNIX = 3 << 8
#: A regular file, readable by all.
_MODE = 0o100644 << 16
#: 1980-01-01 00:00:00, where ZIP's time begins: two pushes of a value are the same bytes.
_DATE = 0x21
_MAX_16, _MAX_32 = 0xFFFF, 0xFFFFFFFF

_ID_64 = 0x0001
#: Of the padding that aligns data: Android's, which tools know (libzip, zipalign).
_ID_ALIGNMENT = 0xD935
#: Of our checksums: "af".
_ID_CHECKS = 0x6661
#: In the first byte of our checksums: the member has a tail.
_WITH_TAIL = 0x80

#: What is written at a time: hot in the cache for two checksums and the sink.
_STEP = 1 << 20


#: Controls, spaces but the one, what formats, and halves of pairs. Told by number: what "prints"
#: depends on the version of Unicode that an interpreter has.
_UNSEEN = re.compile(
    "[\0-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f]"
)


class Entry(NamedTuple):
    """A member, as the central directory tells of it.

    Attributes:
        name: its path in the archive.
        header: where its local header begins.
        size: of its data.
        crc32: of its data.
        streamed: whether its size was not known when it was begun.
        tail: where its own tail begins, in its data; None: it has none.
        checks: CRC-32C of each chunk before the tail, and of the tail; empty: not kept.
    """

    name: str
    header: int
    size: int
    crc32: int
    streamed: bool
    tail: int | None
    checks: tuple[int, ...]

    @property
    def start(self) -> int:
        """Where its data begins."""
        return _data_start(self.header, len(self.name.encode()), streamed=self.streamed)

    @property
    def stop(self) -> int:
        """Where its data ends."""
        return self.start + self.size

    @property
    def end(self) -> int:
        """Where what comes after it begins."""
        return self.stop + (_DESCRIPTOR_64.size if self.streamed else 0)

    def runs(self) -> list[tuple[int, int, int]]:
        """Offset in the archive, length and CRC-32C of each run that has a checksum."""
        return list(self._runs())

    def _runs(self) -> Iterator[tuple[int, int, int]]:
        if not self.checks:
            return
        body = self.size if self.tail is None else self.tail
        for number, check in enumerate(self.checks[: _chunks(body)]):
            begin = number << CHUNK_BITS
            yield self.start + begin, min(body - begin, 1 << CHUNK_BITS), check
        if self.tail is not None:
            yield self.start + self.tail, self.size - self.tail, self.checks[-1]


def _chunks(size: int) -> int:
    return -(-size >> CHUNK_BITS)


def _data_start(header: int, name_bytes: int, *, streamed: bool) -> int:
    least = header + _LOCAL.size + name_bytes + (_EXTRA_64.size if streamed else 0)
    least += _EXTRA.size + 2
    return -(-least // ALIGNMENT) * ALIGNMENT


# --- Writing --------------------------------------------------------------------------------------


class Member(Writable):
    """The data of one member while it is written: a file object for codecs. One thread at a time.

    `seal_blocks` does within the member what that of a `Writer` does within an object.

    Attributes:
        apart: whether it is kept beside its archive until it is closed.
        abandoned: whether it is given up.
    """

    def __init__(
        self,
        write: Callable[[Any], Any],
        abandon: Callable[[bool], None],
        crc32: int | None = None,
        *,
        apart: bool = False,
    ) -> None:
        self.apart = apart
        # Known beforehand: nobody seals blocks then.
        self._known = crc32 is not None
        self._write = write
        self._abandon = abandon
        # Only now: what is refused, or only read, needs no core.
        with loading:
            from airfreight._core import crc32c

        self._crc32c = crc32c
        self._size = 0
        self.closed = False
        self.abandoned = False
        self._chunks: list[int] = []
        self._blocks: list[int] = []
        self._tail: int | None = None
        self.crc32 = crc32 or 0

    def write(self, data: Buffer) -> int:
        """Appends bytes-like data; returns its length."""
        if self.closed:
            raise ValueError("write to a closed member")
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _STEP):
            self._step(view[start : start + _STEP])
        return len(view)

    def _step(self, view: memoryview) -> None:
        if not self._known:
            self.crc32 = zlib.crc32(view, self.crc32)
        if self._tail is not None:
            self._chunks[-1] = self._crc32c(view, self._chunks[-1])
        else:
            self._extend(self._chunks, 1 << CHUNK_BITS, view)
            if not self._known:
                self._extend(self._blocks, BLOCK_BYTES, view)
        self._size += len(view)
        self._write(view)

    def _extend(self, sums: list[int], every: int, view: memoryview) -> None:
        """Adds bytes to the checksums of runs of `every` bytes."""
        position = 0
        while position < len(view):
            room = every - (self._size + position) % every
            if room == every:
                sums.append(0)
            piece = view[position : position + room]
            sums[-1] = self._crc32c(piece, sums[-1])
            position += len(piece)

    def seal_blocks(self) -> bytes:
        """Checksums of the blocks so far, 32 bits each, little-endian; what follows is the tail."""
        if self._tail is None:
            self._tail = self._size
            self._chunks.append(0)
        return struct.pack(f"<{len(self._blocks)}I", *self._blocks)

    def tell(self) -> int:
        return self._size

    def close(self) -> None:
        self.closed = True

    def abandon(self, *, hurry: bool = False) -> None:
        """What is still written is dropped; of the whole archive, unless it is apart from it."""
        self.abandoned = True
        self._abandon(hurry)

    def entry(self, name: str, header: int, *, streamed: bool) -> Entry:
        """What the central directory is to tell."""
        tail = self._tail
        if tail is not None and tail == self._size:
            raise ValueError("a sealed member has a tail")
        checks = tuple(self._chunks) if len(self._chunks) <= MAX_CHUNKS else ()
        if not checks:
            tail = None
        return Entry(name, header, self._size, self.crc32, streamed, tail, checks)


class Archive:
    """Writes members one after the other into a sink. One thread at a time."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self._position = 0
        self._header = 0  # Of the member that is being written.
        self._apart: list[bytes] | None = None  # Its data, where that is kept for now.
        self.entries: list[Entry] = []

    def tell(self) -> int:
        """Bytes so far."""
        return self._position

    def add(self, name: str, buffers: Sequence[Buffer]) -> Entry:
        """Writes a member whose data is there."""
        views = [memoryview(buffer).cast("B") for buffer in buffers]
        size = sum(map(len, views))
        streamed = size >= _MAX_32  # Its header has no room for more.
        crc = None
        if streamed:
            member = self.open(name)
        else:
            crc = 0
            for view in views:
                crc = zlib.crc32(view, crc)
            self._header = self._position
            self._write(_local(name, self._position, size, crc, streamed=False))
            member = Member(self._write, self._abandon, crc)
        for view in views:
            member.write(view)
        return self.close(member, name) if streamed else self._end(member, name, streamed=False)

    def open(self, name: str, *, apart: bool = False) -> Member:
        """Begins a member whose size is not known yet; `close` it before the next one.

        One that is `apart` is kept in memory until then: it may be abandoned, and another opened.
        """
        if apart:
            kept: list[bytes] = []
            self._apart = kept
            return Member(lambda view: kept.append(bytes(view)), lambda _: kept.clear(), apart=True)
        self._apart = None
        self._begin(name)
        return Member(self._write, self._abandon)

    def _begin(self, name: str) -> None:
        self._header = self._position
        self._write(_local(name, self._position, 0, 0, streamed=True))

    def close(self, member: Member, name: str) -> Entry:
        """Ends what `open` began last, under this name."""
        if self._apart is not None:
            kept, self._apart = self._apart, None
            self._begin(name)
            kept.reverse()
            while kept:  # Each goes as soon as it is written.
                self._write(kept.pop())
        entry = self._end(member, name, streamed=True)
        self._write(_descriptor(entry))
        return entry

    def finish(self) -> None:
        """Writes the central directory."""
        start = self._position
        for entry in self.entries:
            self._write(_central(entry))
        self._write(_ending(len(self.entries), start, self._position - start))

    def _end(self, member: Member, name: str, *, streamed: bool) -> Entry:
        entry = member.entry(name, self._header, streamed=streamed)
        self.entries.append(entry)
        return entry

    def _write(self, data: Any) -> None:
        self._sink.write(data)
        self._position += len(data)

    def _abandon(self, hurry: bool) -> None:
        self._sink.abandon(hurry=hurry)


def _local(name: str, header: int, size: int, crc: int, *, streamed: bool) -> bytes:
    raw = name.encode()
    start = _data_start(header, len(raw), streamed=streamed)
    extra = _EXTRA_64.pack(_ID_64, 16, 0, 0) if streamed else b""
    padding = start - header - _LOCAL.size - len(raw) - len(extra) - _EXTRA.size
    extra += _EXTRA.pack(_ID_ALIGNMENT, padding) + struct.pack("<H", ALIGNMENT)
    extra += bytes(padding - 2)
    shown = _MAX_32 if streamed else size
    flags = _UTF8 | (_STREAMED if streamed else 0)
    version = _VERSION_64 if streamed else _VERSION
    return (
        _LOCAL.pack(
            _LOCAL_SIGNATURE, version, flags, 0, 0, _DATE,
            0 if streamed else crc, shown, shown, len(raw), len(extra),
        )
        + raw
        + extra
    )  # fmt: skip


def _descriptor(entry: Entry) -> bytes:
    return _DESCRIPTOR_64.pack(_DESCRIPTOR_SIGNATURE, entry.crc32, entry.size, entry.size)


def _central(entry: Entry) -> bytes:
    raw = entry.name.encode()
    wide = b""
    size, header = entry.size, entry.header
    if entry.size >= _MAX_32:
        wide += struct.pack("<2Q", entry.size, entry.size)
        size = _MAX_32
    if entry.header >= _MAX_32:
        wide += struct.pack("<Q", entry.header)
        header = _MAX_32
    extra = _EXTRA.pack(_ID_64, len(wide)) + wide if wide else b""
    if entry.checks:
        kind = CHUNK_BITS if entry.tail is None else CHUNK_BITS | _WITH_TAIL
        packed = bytes((kind,))
        if entry.tail is not None:
            packed += struct.pack("<Q", entry.tail)
        packed += struct.pack(f"<{len(entry.checks)}I", *entry.checks)
        extra += _EXTRA.pack(_ID_CHECKS, len(packed)) + packed
    version = _VERSION_64 if entry.streamed or wide else _VERSION
    return (
        _CENTRAL.pack(
            _CENTRAL_SIGNATURE, _UNIX | version, version,
            _UTF8 | (_STREAMED if entry.streamed else 0), 0, 0, _DATE, entry.crc32, size, size,
            len(raw), len(extra), 0, 0, 0, _MODE, header,
        )
        + raw
        + extra
    )  # fmt: skip


def _ending(count: int, start: int, size: int) -> bytes:
    """The end of the central directory, in both forms where one is too narrow."""
    wide = b""
    if count >= _MAX_16 or start >= _MAX_32 or size >= _MAX_32:
        wide = _END_64.pack(
            _END_64_SIGNATURE, _END_64.size - 12, _UNIX | _VERSION_64, _VERSION_64, 0, 0,
            count, count, size, start,
        ) + _LOCATOR_64.pack(_LOCATOR_64_SIGNATURE, 0, start + size, 1)  # fmt: skip
    shown = min(count, _MAX_16)
    return wide + _END.pack(
        _END_SIGNATURE, 0, 0, shown, shown, min(size, _MAX_32), min(start, _MAX_32), 0
    )


# --- Reading --------------------------------------------------------------------------------------


def read_index(tail: memoryview, offset: int) -> list[Entry]:
    """The members, of the end of an archive, which begins at `offset` of it.

    Raises:
        ValueError: it is not of the profile, or the central directory begins before `offset`.
    """
    size = offset + len(tail)
    count, start, length, ending = _read_ending(tail)
    if start < offset or start + length + ending != size:
        raise ValueError("the archive's central directory is not where its end says")
    entries = []
    position = start - offset
    expected = 0
    names: set[str] = set()
    for _ in range(count):
        entry, position = _read_central(tail, position)
        if entry.header != expected:
            raise ValueError(f"member {entry.name!r} begins at {entry.header}, not {expected}")
        if entry.name in names:
            raise ValueError(f"there are two members {entry.name!r}")
        names.add(entry.name)
        entries.append(entry)
        expected = entry.end
    if position != start - offset + length or expected != start:
        raise ValueError("the archive's central directory does not cover it")
    return entries


def read_whole(data: memoryview) -> list[Entry]:
    """As `read_index`, of a whole archive, whose local headers are looked at too."""
    start = _read_ending(data)[1]
    if start > len(data):
        raise ValueError("the archive's central directory lies outside of it")
    entries = read_index(data[start:], start)
    for entry in entries:
        head = _local(entry.name, entry.header, entry.size, entry.crc32, streamed=entry.streamed)
        if data[entry.header : entry.start] != head:
            raise ValueError(f"the header of member {entry.name!r} is not what the index says")
        if entry.streamed and data[entry.stop : entry.end] != _descriptor(entry):
            raise ValueError(f"the end of member {entry.name!r} is not what the index says")
    return entries


def _read_ending(data: memoryview) -> tuple[int, int, int, int]:
    """Number of members, where the directory begins, its length, that of what comes after it."""
    if len(data) < _END.size:
        raise ValueError("this is not a ZIP archive: it is too short")
    found = _END.unpack_from(data, len(data) - _END.size)
    ending = _END.size
    _, _, _, count, _, size, start, _ = found
    wide = len(data) - ending - _LOCATOR_64.size - _END_64.size
    if _MAX_32 in (size, start) or count == _MAX_16:
        if wide < 0:
            raise ValueError("this is not a ZIP archive: its end is cut")
        _, _, _, _, _, _, count, _, size, start = _END_64.unpack_from(data, wide)
        ending = len(data) - wide
    # What would have been written, and nothing else.
    if data[len(data) - ending :] != _ending(count, start, size):
        raise ValueError("this is not a ZIP archive of the profile: its end is another")
    return count, start, size, ending


def _read_central(data: memoryview, position: int) -> tuple[Entry, int]:
    try:
        found = _CENTRAL.unpack_from(data, position)
    except struct.error:
        raise ValueError("the archive's central directory is cut") from None
    flags, crc, size = found[3], found[7], found[8]
    name_bytes, extra_bytes, header = found[10], found[11], found[16]
    begin = position + _CENTRAL.size
    end = begin + name_bytes + extra_bytes
    if end > len(data):
        raise ValueError("the archive's central directory is cut")
    name = str(data[begin : begin + name_bytes], "utf-8")
    _check_name(name)
    extra = _read_extra(data[begin + name_bytes : end])
    wide = extra.get(_ID_64, b"")
    if size == _MAX_32:
        size = _number(wide, 0)
        wide = wide[16:]
    if header == _MAX_32:
        header = _number(wide, 0)
    tail, checks = _read_checks(extra.get(_ID_CHECKS, b""), size)
    entry = Entry(name, header, size, crc, bool(flags & _STREAMED), tail, checks)
    # What would have been written, and nothing else.
    if data[position:end] != _central(entry):
        raise ValueError(f"the index says of member {name!r} what is not of the profile")
    return entry, end


def _read_extra(data: memoryview) -> dict[int, bytes]:
    found = {}
    position = 0
    while position < len(data):
        if position + _EXTRA.size > len(data):
            raise ValueError("an extra field is cut")
        kind, length = _EXTRA.unpack_from(data, position)
        position += _EXTRA.size
        found[kind] = bytes(data[position : position + length])
        position += length
    return found


def _read_checks(packed: bytes, size: int) -> tuple[int | None, tuple[int, ...]]:
    if not packed:
        return None, ()
    tail = None
    rest = packed[1:]
    if packed[0] & _WITH_TAIL:
        tail = _number(rest, 0)
        rest = rest[8:]
        if tail >= size:
            raise ValueError("a member's tail lies outside of it")
    count = _chunks(size if tail is None else tail) + (tail is not None)
    if len(rest) != 4 * count or packed[0] & ~_WITH_TAIL != CHUNK_BITS:
        raise ValueError("a member has another number of checksums than chunks")
    return tail, struct.unpack(f"<{count}I", rest)


def _number(data: bytes, at: int) -> int:
    if len(data) < at + 8:
        raise ValueError("an extra field is cut")
    (number,) = struct.unpack_from("<Q", data, at)
    return int(number)


def _check_name(name: str) -> None:
    if not is_safe(name):
        raise ValueError(f"{name!r} is no name of a member that is written here")


def is_safe(name: str) -> bool:
    """Whether a member of this name stays in the folder that an archive is unpacked in."""
    parts = name.split("/")
    return (
        all(part not in ("", ".", "..") for part in parts)
        and "\\" not in name
        and _UNSEEN.search(name) is None
        and ":" not in name
    )

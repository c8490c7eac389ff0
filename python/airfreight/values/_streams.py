"""Streams of Arrow IPC of which columns are read: what is written behind their end for that.

Specification: `formats/arrow.md`. A stream has no index. So the heads of its messages, which tell
where each buffer lies, stand once more behind the mark that ends it, where no reader of streams
looks, together with the checksums of what lies before. That is the tail of the object.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airfreight.values import _ipc
from airfreight.values._sinks import Writable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airfreight._core import Reader

#: From this size on a stream gets a tail: shorter ones take one request, and parts would take two.
WORTH_PARTS = 1 << 20
#: Heads that are a larger part of a stream than this are not written twice: so small are batches.
_MOST_HEADS = 1 / 16
#: Blocks of `Writer.seal_blocks`, as `airfreight.h` has them (kBlockBytes).
_BLOCK_BYTES = 64 << 10
#: Before each head in the tail: where it lies, and its length.
_HEAD = struct.Struct("<QI")
#: Before a message: a mark, and the length of its metadata; 0: the stream ends.
#: https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format
_PREFIX = struct.Struct("<4si")
_MARK = b"\xff\xff\xff\xff"
#: Fields of Message in Message.fbs, and the number of RecordBatch in its union.
_HEADER_TYPE, _BODY_LENGTH = 1, 3
_RECORD_BATCH = 3


class Heads(Writable):
    """Notes the heads of the messages that go through it to a sink. One thread at a time.

    A file for pyarrow, as `_sinks.File` is.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._position = 0
        self._next = 0  # Where the next message begins.
        self._head = bytearray()
        self._heads: list[tuple[int, bytes]] = []

    def write(self, data: Any) -> int:
        """As of the file, which is given all of it."""
        view = data if type(data) is bytes else memoryview(data).cast("B")
        written: int = self._file.write(view)
        end = self._position + len(view)
        while self._next < end and (at := self._next + len(self._head)) < end:
            wanted = self._wanted() - len(self._head)
            start = at - self._position
            self._head += view[start : start + wanted]
            if len(self._head) == self._wanted():
                self._end_head()
        self._position = end
        return written

    def _wanted(self) -> int:
        """How many bytes the head has, as far as is known."""
        if len(self._head) < _PREFIX.size:
            return _PREFIX.size
        mark, length = _PREFIX.unpack_from(self._head)
        if mark != _MARK or length < 0:
            raise ValueError("what pyarrow writes is no stream of Arrow IPC")
        return _PREFIX.size + int(length)

    def _end_head(self) -> None:
        head = bytes(self._head)
        self._heads.append((self._next, head))
        self._head.clear()
        self._next += len(head) + (_body_length(head) if len(head) > _PREFIX.size else 0)

    def seal(self, sink: Any) -> None:
        """Writes the tail, where that is worth it."""
        size = sum(_HEAD.size + len(head) for _, head in self._heads)
        if (
            self._position < WORTH_PARTS
            or size > _MOST_HEADS * self._position
            or not hasattr(sink, "seal_blocks")
        ):
            return
        sink.write(sink.seal_blocks())
        for offset, head in self._heads:
            sink.write(_HEAD.pack(offset, len(head)) + head)

    def tell(self) -> int:
        """Bytes so far."""
        return self._position


def fetch(reader: Reader, choose: Any) -> memoryview:
    """A stream of which some columns are there, and what all of them need; zeros elsewhere.

    Args:
        reader: of an object that has such a tail.
        choose: the numbers of the columns that are wanted, of the schema.
    """
    end = reader.tail_offset
    tail = reader.read_tail()
    blocks = 4 * -(-end // _BLOCK_BYTES)
    # Pages that nobody writes to take no memory.
    data = mmap.mmap(-1, end)
    heads = list(_heads(tail[blocks:], end))
    for start, head in heads:
        data[start : start + len(head)] = head
    reader.set_blocks(bytes(tail[:blocks]))
    schema = pa.ipc.open_stream(pa.py_buffer(data)).schema
    ranges = list(_ranges(data, heads, schema, choose(schema)))
    for (start, length), view in zip(ranges, reader.read(ranges), strict=True):
        data[start : start + length] = view
    return memoryview(data)


def _heads(tail: memoryview, end: int) -> Iterator[tuple[int, memoryview]]:
    position = 0
    while position < len(tail):
        start, length = _HEAD.unpack_from(tail, position)
        position += _HEAD.size
        head = tail[position : position + length]
        if len(head) < length or start + length > end:
            raise ValueError("the tail of the stream is no list of heads of messages")
        yield start, head
        position += length


def _ranges(
    data: Any, heads: Sequence[tuple[int, memoryview]], schema: pa.Schema, positions: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Offset and length of what columns need, in the order in which it lies."""
    spans = _spans(schema)
    for start, head in heads[1:]:  # The first one is the schema.
        if len(head) <= _PREFIX.size:
            continue
        body, length = start + len(head), _body_length(head)
        if _header_type(head) != _RECORD_BATCH or (positions and positions[-1] >= len(spans)):
            # A dictionary, which a reader of the stream takes in any case, or types of which their
            # buffers have no fixed number.
            if length:
                yield body, length
            continue
        buffers = list(_ipc._buffers(data, start))
        for position in positions:
            first, last = spans[position]
            used = [buffer for buffer in buffers[first:last] if buffer[1]]
            if used:
                yield body + used[0][0], used[-1][0] + used[-1][1] - used[0][0]


def _spans(schema: pa.Schema) -> list[tuple[int, int]]:
    """Which of a batch's buffers are those of each field, up to one whose type does not tell it."""
    spans, start = [], 0
    for field in schema:
        kind = field.type
        count = _ipc._count(kind.index_type if pa.types.is_dictionary(kind) else kind)
        if count is None:
            break
        spans.append((start, start + count))
        start += count
    return spans


def _header_type(head: Any) -> int:
    message = _ipc._root(head, _PREFIX.size)
    at = _ipc._field(head, message, _HEADER_TYPE)
    return 0 if at is None else int(head[at])


def _body_length(head: Any) -> int:
    message = _ipc._root(head, _PREFIX.size)
    at = _ipc._field(head, message, _BODY_LENGTH)
    return 0 if at is None else int(struct.unpack_from("<q", head, at)[0])

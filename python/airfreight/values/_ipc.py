"""Tables as files of Arrow IPC: written batch by batch, read whole or by columns.

https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format. Our entries are the metadata of
a last batch of no rows, which lies with the footer in the tail of the object: what is known when
all else is written can stand there, and a reader of some columns has it with its first request.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as is_

from airfreight.values import Form
from airfreight.values._parquet import BLOCKS_KEY, METADATA_KEY, WORTH_PARTS, group_rows
from airfreight.values._sinks import File

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airfreight._core import Reader
    from airfreight.values._parquet import Table

FORM = Form("arrow", "application/vnd.apache.arrow.file")
#: First and last bytes of a file.
MAGIC = b"ARROW1"
#: What the format knows: https://github.com/apache/arrow/blob/main/format/Message.fbs,
#: CompressionType. snappy, the default, is named for its speed, as lz4 is.
_COMPRESSIONS = {"snappy": "lz4", "lz4": "lz4", "zstd": "zstd", "none": None}
#: Rows of a batch, each of which has the places of all buffers anew: 120 kB more for four of 200
#: columns, which are compressed at the same time in any case.
_LEAST_ROWS = 64 << 10
#: The length of the footer and the magic bytes, which end the file.
_END = struct.Struct("<i6s")
#: Block of File.fbs: offset, length of the metadata, padding, length of the body.
_BLOCK = struct.Struct("<qi4xq")
#: Buffer of Message.fbs: offset in the body, length.
_BUFFER = struct.Struct("<qq")


def write(sink: Any, table: Table, entry: bytes, compression: str) -> None:
    """Writes a file; `entry` is ours in its metadata.

    The sink is abandoned when something is raised.
    """
    schema = table.schema
    # A file has one dictionary for each field, which all its batches share.
    whole = any(is_.is_dictionary(field.type) for field in schema)
    group = max(1, table.rows) if whole else group_rows(table, _LEAST_ROWS)
    file = File(sink)
    arrays = [pa.nulls(0, field.type) for field in schema]
    writer = None
    try:
        writer = pa.ipc.new_file(
            pa.PythonFile(file, mode="w"),
            schema,
            options=pa.ipc.IpcWriteOptions(compression=_COMPRESSIONS[compression]),
        )
        for start in range(0, table.rows, group) if len(schema) else ():
            arrays = list(table.take(start, min(start + group, table.rows)))
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
        entries = {METADATA_KEY: entry}
        if hasattr(sink, "seal_blocks") and sink.tell() >= WORTH_PARTS:
            entries[BLOCKS_KEY] = sink.seal_blocks()
        # (Slices would be written with all their offsets, and a dictionary must stay the same.)
        nothing = [
            array.slice(0, 0) if is_.is_dictionary(array.type) else pa.nulls(0, array.type)
            for array in arrays
        ]
        writer.write_batch(
            pa.RecordBatch.from_arrays(nothing, schema=schema), custom_metadata=entries
        )
        writer.close()
    except BaseException as error:
        # What the writer still writes when it is closed is for nobody.
        sink.abandon(hurry=not isinstance(error, Exception))
        if writer is not None:
            with contextlib.suppress(Exception):
                writer.close()
        if file.error is not None and error is not file.error:
            raise file.error from None
        raise


class Source:
    """A file that is read whole or by columns.

    Attributes:
        entry: ours in the metadata; None when there is none.
    """

    def __init__(self, data: Any, reader: Reader | None = None) -> None:
        self._data = pa.py_buffer(data)
        self._reader = reader
        self._file = pa.ipc.open_file(pa.BufferReader(self._data))
        last = self._file.num_record_batches - 1
        entries: Any = self._file.get_batch_with_custom_metadata(last)[1] if last >= 0 else None
        self._entries = dict(entries) if entries is not None else {}
        self.entry: bytes | None = self._entries.get(METADATA_KEY)

    @classmethod
    def of_parts(cls, reader: Reader, tail: memoryview) -> Source:
        """A file of which only the tail was read; columns are fetched when they are read."""
        # Pages that nobody writes to take no memory.
        data = mmap.mmap(-1, reader.size)
        data[reader.tail_offset :] = tail
        source = cls(data, reader)
        source._mapped = data
        return source

    _mapped: mmap.mmap

    def batches(
        self, positions: Sequence[int] | None = None
    ) -> tuple[int, Iterator[list[pa.Array]]]:
        """How many rows there are, and the columns batch by batch.

        One batch is decompressed at a time, when it is asked for. `positions` are numbers of
        columns, which rise; None: all of them.
        """
        if positions is not None and self._reader is not None:
            self._fetch(self._reader, positions)
        rows = sum(_rows(self._data, start) for start, _, _ in _record_batches(self._data))
        return rows, self._batches(positions)

    def _batches(self, positions: Sequence[int] | None) -> Iterator[list[pa.Array]]:
        options = pa.ipc.IpcReadOptions(included_fields=positions and list(positions))
        with pa.ipc.open_file(pa.BufferReader(self._data), options=options) as file:
            for number in range(file.num_record_batches):
                # (An empty list of fields means all.)
                yield file.get_batch(number).columns if positions != [] else []

    def _fetch(self, reader: Reader, positions: Sequence[int]) -> None:
        reader.set_blocks(self._entries[BLOCKS_KEY])
        data, end = self._mapped, reader.tail_offset
        spans = _spans(self._file.schema)
        blocks = list(_record_batches(data))
        if spans is None:
            self._read(reader, [(0, end)])
            return
        self._read(reader, [(start, start + head) for start, head, _ in blocks])
        ranges = []
        for start, head, _ in blocks:
            buffers = list(_buffers(data, start))
            body = start + head
            for position in positions:
                first, last = spans[position]
                used = [buffer for buffer in buffers[first:last] if buffer[1]]
                if used:
                    ranges.append((body + used[0][0], body + used[-1][0] + used[-1][1]))
        self._read(reader, ranges)

    def _read(self, reader: Reader, ranges: Sequence[tuple[int, int]]) -> None:
        end = reader.tail_offset
        wanted = [(start, min(stop, end) - start) for start, stop in ranges if start < end]
        for (start, length), view in zip(wanted, reader.read(wanted), strict=True):
            self._mapped[start : start + length] = view


def _spans(schema: pa.Schema) -> list[tuple[int, int]] | None:
    """Which of a batch's buffers are those of each field; None where types do not tell that."""
    spans, start = [], 0
    for field in schema:
        count = _count(field.type)
        if count is None:
            return None
        spans.append((start, start + count))
        start += count
    return spans


def _count(kind: pa.DataType) -> int | None:
    """The buffers of a type with all that it is made of.

    https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout
    """
    if isinstance(kind, pa.BaseExtensionType):
        return _count(kind.storage_type)
    if is_.is_null(kind):
        return 0
    if is_.is_string(kind) or is_.is_binary(kind):
        return 3
    if is_.is_large_string(kind) or is_.is_large_binary(kind):
        return 3
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_map(kind):
        own = 2
    elif is_.is_struct(kind) or is_.is_fixed_size_list(kind):
        own = 1
    elif is_.is_primitive(kind) or is_.is_decimal(kind) or is_.is_fixed_size_binary(kind):
        return 2
    else:  # Dictionaries lie in batches of their own; views have buffers without a fixed number.
        return None
    children = [_count(kind.field(number).type) for number in range(kind.num_fields)]
    if is_.is_map(kind):  # A struct lies between.
        own += 1
        children = [_count(kind.key_type), _count(kind.item_type)]
    if any(count is None for count in children):
        return None
    return own + sum(count or 0 for count in children)


# --- Flatbuffers (https://flatbuffers.dev/internals) ---------------------------------------------


def _record_batches(data: Any) -> Iterator[tuple[int, ...]]:
    """Offset, length of the metadata and of the body of each batch, as the footer has them."""
    length, magic = _END.unpack_from(data, len(data) - _END.size)
    if magic != MAGIC:
        raise ValueError("the file does not end as one of Arrow IPC")
    footer = _root(data, len(data) - _END.size - length)
    yield from _structs(data, footer, 3, _BLOCK)


def _rows(data: Any, start: int) -> int:
    """The rows of the batch that begins there."""
    at = _field(data, _header(data, start), 0)
    return struct.unpack_from("<q", data, at)[0] if at is not None else 0


def _header(data: Any, start: int) -> int:
    # A marker and the length come before the message.
    message = _root(data, start + 8)
    header = _field(data, message, 2)
    if header is None:
        raise ValueError("a message has no header")
    return header + _u32(data, header)


def _buffers(data: Any, start: int) -> Iterator[tuple[int, ...]]:
    """Offset in the body, and length, of each buffer of the batch that begins there."""
    yield from _structs(data, _header(data, start), 2, _BUFFER)


def _u32(data: Any, at: int) -> int:
    number: int = struct.unpack_from("<I", data, at)[0]
    return number


def _root(data: Any, at: int) -> int:
    return at + _u32(data, at)


def _field(data: Any, table: int, number: int) -> int | None:
    """Where a field of a table is; None when it is not there."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    place = 4 + 2 * number
    if place >= struct.unpack_from("<H", data, vtable)[0]:
        return None
    offset = struct.unpack_from("<H", data, vtable + place)[0]
    return table + offset if offset else None


def _structs(
    data: Any, table: int, number: int, layout: struct.Struct
) -> Iterator[tuple[int, ...]]:
    """The structs of a field that is a vector of them."""
    at = _field(data, table, number)
    if at is None:
        return
    vector = at + _u32(data, at)
    for index in range(_u32(data, vector)):
        yield layout.unpack_from(data, vector + 4 + index * layout.size)

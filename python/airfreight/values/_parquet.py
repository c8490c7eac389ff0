"""Tables as Parquet: written row group by row group, read whole or by columns.

Of the values themselves nothing is known here: see `pandas_` for what lies in the file's metadata.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import struct
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as is_

from airfreight._imports import loading
from airfreight.values import _encodings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from airfreight._core import Reader

_T = TypeVar("_T")

EXTENSION = "parquet"
CONTENT_TYPE = "application/vnd.apache.parquet"

#: Our entry in the file's metadata, and the table of `Writer.seal_blocks`, in base64.
METADATA_KEY = b"airfreight"
BLOCKS_KEY = b"airfreight.blocks"
#: From this size on the file gets one: smaller files take one request, and parts would take two.
WORTH_PARTS = 1 << 20
#: Whether this pyarrow knows of checksums of pages.
_PAGE_CHECKSUMS = int(pa.__version__.partition(".")[0]) >= 15
#: Whether entries can come when all else is written: since pyarrow 16.
_LATE_ENTRIES = hasattr(pq.ParquetWriter, "add_key_value_metadata")
#: Whether files can be joined: before 18 pyarrow puts a copy of a chunk's metadata behind its
#: pages, whose offsets are those in the file that it wrote.
_JOINS = int(pa.__version__.partition(".")[0]) >= 18

#: Arrow memory of one row group: large enough that Parquet's per-chunk costs vanish, small enough
#: that a few more of it do not show beside the frame.
_GROUP_BYTES = 16 << 20
_MIN_GROUP_ROWS = 8 << 10
_MAX_GROUP_ROWS = 1 << 20
#: Threads that encode row groups: beyond that the conversion from pandas, which is one thread's,
#: and the network are what a push waits for, and each holds a row group more.
_MOST_THREADS = 4
#: Arrow memory of what they encode at the same time; where texts are long a row group has more.
_AT_ONCE_BYTES = 64 << 20
#: A column that is so much more than a thread's even share of a row group keeps the others waiting.
_DOMINANT = 1.5
#: Bytes of a row group's file that are no values: heads of pages, the footer.
_ROOM = 1 << 18
#: Magic bytes at the beginning of a file; at its end the length of the footer, and these again.
_MAGIC = b"PAR1"
_END = struct.Struct("<I4s")
#: Arrow memory of a table from which on a look at it may save more than a few kilobytes.
_WORTH_CHOOSING = 4096
#: Parquet's readers and writers hold a page's length in 32 bits; a page takes this many values.
_BATCH_VALUES = 16 << 10
_BATCH_BYTES = 16 << 20


class Table(NamedTuple):
    """What is written.

    Attributes:
        schema: of the file.
        rows: their number.
        row_bytes: estimated Arrow memory of one row of each column.
        take: the arrays of the rows from one number up to another, a column each.
    """

    schema: pa.Schema
    rows: int
    row_bytes: Sequence[float]
    take: Callable[[int, int], Sequence[pa.Array]]


def group_rows(table: Table, least: int | None = None) -> int:
    """Rows of a row group, or of a batch: of all but the last, which has no more.

    `least`: where rows are long there are no fewer, unless they are very long.
    """
    row_bytes = sum(table.row_bytes) or 1
    least = _MIN_GROUP_ROWS if least is None else least
    most = max(least, min(_MAX_GROUP_ROWS, int(_GROUP_BYTES / row_bytes)))
    # Long texts: no lower bound on rows there, because one page must stay far below 2 GiB.
    most = max(1, min(most, int(4 * _GROUP_BYTES / row_bytes) or 1))
    # Of one size, and if many an even number: they are encoded at the same time. (A few more of few
    # would be that many requests more for who reads columns.) How many there are does not depend on
    # the machine, so that the same table is the same file everywhere.
    count = -(-table.rows // most)
    count += count % 2 if count > 3 else 0
    return max(1, -(-table.rows // max(1, count)))


def write(sink: Any, table: Table, entry: bytes, compression: str) -> None:
    """Writes a file; `entry` is ours in its metadata.

    The sink is abandoned when something is raised. Threads: encodes row groups at the same time, on
    threads of its own, which have ended when it returns (or soon after what a signal's handler
    raises); the sink is written to by the caller's.
    """
    group = group_rows(table)
    widest = max(1.0, *table.row_bytes) if table.row_bytes else 1.0
    try:
        options = {
            # No statistics: readers of an XCom take all of it, and they cost a sixth of the
            # encoding.
            "write_statistics": False,
            "write_batch_size": max(1, min(_BATCH_VALUES, int(_BATCH_BYTES / widest))),
            "version": "2.6",
            **_encoding_options(table, min(group, table.rows), compression),
            **({"write_page_checksum": True} if _PAGE_CHECKSUMS else {}),
        }
        threads = _threads(table, group)
        if threads > 1:
            _write_at_once(sink, table, entry, options, group, threads)
        else:
            _write_in_turn(sink, table, entry, options, group)
    except BaseException as error:
        sink.abandon(hurry=not isinstance(error, Exception))
        raise


def _threads(table: Table, group: int) -> int:
    if table.rows <= group or not len(table.schema) or not _JOINS:
        return 1
    with loading:
        from airfreight import _core

    fitting = int(_AT_ONCE_BYTES / (group * sum(table.row_bytes) or 1))
    return max(1, min(_core.available_cpus(), _MOST_THREADS, -(-table.rows // group), fitting))


def _write_in_turn(
    sink: Any, table: Table, entry: bytes, options: dict[str, Any], group: int
) -> None:
    """By one writer of pyarrow's, straight into the sink."""
    schema = table.schema
    if not _LATE_ENTRIES:  # (Else ours would lie in the file twice.)
        schema = schema.with_metadata({METADATA_KEY: entry})
    writer = None
    try:
        writer = pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, **options)
        for start in range(0, table.rows, group) if len(schema) else ():
            arrays = table.take(start, min(start + group, table.rows))
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=group)
        if _LATE_ENTRIES:
            writer.add_key_value_metadata(_entries(sink, entry))
        writer.close()
    except BaseException as error:
        # What the writer still writes when it is closed, be it by the garbage collector, is for
        # nobody.
        sink.abandon(hurry=not isinstance(error, Exception))
        if writer is not None:
            with contextlib.suppress(Exception):
                writer.close()
        raise


def _write_at_once(
    sink: Any, table: Table, entry: bytes, options: dict[str, Any], group: int, threads: int
) -> None:
    """By several writers, each of which makes a file of one row group in memory.

    What is sent is their pages, in order, and one footer made of theirs: byte for byte the file
    that one writer would have made.
    """
    with loading:
        from airfreight import _core

    waiting: collections.deque[Future[memoryview]] = collections.deque()
    footers: list[tuple[memoryview, int]] = []
    sink.write(_MAGIC)

    def send_first() -> None:
        file = waiting.popleft().result()
        end = len(file) - _END.size
        footer_at = end - _END.unpack_from(file, end)[0]
        # (A copy, which lets the pages go.)
        footer = memoryview(bytes(file[footer_at:end]))
        footers.append((footer, sink.tell() - len(_MAGIC)))
        sink.write(file[len(_MAGIC) : footer_at])

    pool = ThreadPoolExecutor(threads, "airfreight-encode")
    try:
        for start in range(0, table.rows, group):
            arrays = table.take(start, min(start + group, table.rows))
            part = pa.Table.from_arrays(arrays, schema=table.schema)
            waiting.append(_submit(pool, _encode_group, part, options))
            del arrays, part  # Held by whoever encodes them, no longer than that.
            while waiting and (len(waiting) > threads or waiting[0].done()):
                send_first()
        while waiting:
            send_first()
    finally:
        # After an error (of a task's time-out, perhaps) only for those who are in a row group.
        pool.shutdown(wait=True, cancel_futures=True)
    sink.write(_core.merge_parquet_footers(footers, list(_entries(sink, entry).items())))


def _submit(pool: ThreadPoolExecutor, work: Callable[..., _T], /, *arguments: Any) -> Future[_T]:
    try:
        return pool.submit(work, *arguments)
    except RuntimeError:  # No thread is to be had, or the interpreter is ending.
        done: Future[_T] = Future()
        done.set_result(work(*arguments))
        return done


def _encode_group(part: pa.Table, options: dict[str, Any]) -> memoryview:
    """A file of one row group."""
    # As long as its pages could hardly be: what is not touched costs nothing, and a buffer that
    # grows is copied several times.
    room = pa.allocate_buffer(part.nbytes + _ROOM)
    try:
        size = _encode_into(pa.FixedSizeBufferWriter(room), part, options)
    except (pa.ArrowException, OSError):  # It was longer, or can't be encoded, which is said again.
        growing = pa.BufferOutputStream()
        _encode_into(growing, part, options)
        return memoryview(growing.getvalue()).cast("B")
    return memoryview(room).cast("B")[:size]


def _encode_into(file: Any, part: pa.Table, options: dict[str, Any]) -> int:
    with pq.ParquetWriter(file, part.schema, **options) as writer:
        writer.write_table(part, row_group_size=max(1, len(part)))
    size: int = file.tell()
    return size


def _entries(sink: Any, entry: bytes) -> dict[bytes, bytes]:
    """Our entries of the metadata, now that all pages are written."""
    entries = {METADATA_KEY: entry}
    if hasattr(sink, "seal_blocks") and sink.tell() >= WORTH_PARTS:
        entries[BLOCKS_KEY] = base64.b64encode(sink.seal_blocks())
    return entries


def _encoding_options(table: Table, group: int, compression: str) -> dict[str, Any]:
    """Options of pyarrow for what `_encodings` chooses of a sample."""
    if table.rows * sum(table.row_bytes) < _WORTH_CHOOSING:
        return {"compression": compression, "use_dictionary": False}
    blocks = [table.take(start, stop) for start, stop in _encodings.blocks(table.rows)]
    found = [
        leaf
        for name, *sample in zip(table.schema.names, *blocks, strict=True)
        for leaf in _encodings.leaves(name, sample)
    ]
    # Options go by path, and the end of an interval may be called as a column is.
    paths = collections.Counter(path for path, _ in found)
    choices = {
        path: _encodings.choose(sample, group, compression)
        if paths[path] == 1
        else _encodings.Choice("PLAIN", compress=True)
        for path, sample in found
    }
    return {
        "compression": {
            path: compression if choice.compress else "none" for path, choice in choices.items()
        },
        "use_dictionary": [
            path for path, choice in choices.items() if choice.encoding == "DICTIONARY"
        ]
        or False,
        "column_encoding": {
            path: choice.encoding
            for path, choice in choices.items()
            if choice.encoding not in ("DICTIONARY", "PLAIN")
        }
        or None,
    }


# --- Reading --------------------------------------------------------------------------------------


def open_file(source: Any, **options: Any) -> pq.ParquetFile:
    """Opens a file whose bytes are verified.

    Its footer may hold more than pyarrow's 100 MB of text (long attrs, a million categories): the
    limits against hostile files do not serve here.
    """
    return pq.ParquetFile(
        source,
        thrift_string_size_limit=2**31 - 1,
        thrift_container_size_limit=2**31 - 1,
        **options,
    )


class Source:
    """A file that is read whole or by columns.

    Attributes:
        entry: ours in the metadata; None when there is none.
    """

    def __init__(
        self,
        file: pq.ParquetFile,
        fetch: Callable[[Sequence[tuple[int, int]]], None] | None = None,
        data: pa.Buffer | None = None,
    ) -> None:
        self._file = file
        self._fetch = fetch
        self._data = data
        self.entry: bytes | None = (file.metadata.metadata or {}).get(METADATA_KEY)

    @classmethod
    def of(cls, data: memoryview) -> Source:
        """A file that is there."""
        buffer = pa.py_buffer(data)
        return cls(open_file(pa.BufferReader(buffer)), data=buffer)

    @classmethod
    def of_parts(cls, reader: Reader, tail: memoryview) -> Source:
        """A file of which only the tail was read; columns are fetched when they are read."""
        offset = reader.tail_offset
        pieces = _Pieces(reader.size)
        pieces.add(offset, tail)
        metadata = metadata_of(tail)
        # Chunk by chunk: to read what lies between chunks would be to read what is not there.
        options = {"pre_buffer": False}
        if _PAGE_CHECKSUMS:
            options["page_checksum_verification"] = True
        file = open_file(pa.PythonFile(pieces, mode="r"), metadata=metadata, **options)

        def fetch(ranges: Sequence[tuple[int, int]]) -> None:
            reader.set_blocks(base64.b64decode(metadata.metadata[BLOCKS_KEY]))
            wanted = [(at, min(stop, offset) - at) for at, stop in ranges if at < offset]
            for (start, _), view in zip(wanted, reader.read(wanted), strict=True):
                pieces.add(start, view)

        return cls(file, fetch)

    def batches(
        self, positions: Sequence[int] | None = None
    ) -> tuple[int, Iterator[list[pa.ChunkedArray]]]:
        """How many rows there are, and the columns, all in one: readers decode them at once.

        `positions` are numbers of columns, which rise; None: all of them.
        """
        if not self._file.num_row_groups:  # Which pyarrow 18 takes for an error.
            table = self._file.schema_arrow.empty_table()
            columns = list(table.columns if positions is None else table.select(positions).columns)
        elif positions is None:
            columns = list(self._read().columns)
        else:
            leaves = leaf_numbers(self._file.schema_arrow, positions)
            if self._fetch is not None:
                self._fetch(extents(self._file.metadata, leaves))
            # By number: by name pyarrow would also take a column whose name begins like another's.
            read = self._file.reader.read_all
            columns = list(read(column_indices=leaves, use_threads=True).columns)
        return self._file.metadata.num_rows, iter([columns])

    def _read(self) -> pa.Table:
        """All columns.

        Threads: pyarrow reads columns at the same time, each from its first row group to its last.
        Where one column is most of the file, row groups are read at the same time instead, by
        threads that have ended when this returns.
        """
        metadata = self._file.metadata
        threads = _reading_threads(metadata) if self._data is not None else 1
        if threads == 1:
            return self._file.read(use_threads=True)

        def read(number: int) -> pa.Table:
            # A file of its own for each: they are not safe for threads.
            file = open_file(pa.BufferReader(self._data), metadata=metadata)
            return file.read_row_groups([number], use_threads=False)

        pool = ThreadPoolExecutor(threads, "airfreight-decode")
        try:
            waiting = [_submit(pool, read, number) for number in range(metadata.num_row_groups)]
            return pa.concat_tables([part.result() for part in waiting])
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _reading_threads(metadata: Any) -> int:
    """How many threads read row groups; 1: pyarrow's own, by columns, are as fast."""
    groups = metadata.num_row_groups
    if groups == 1:
        return 1
    group = metadata.row_group(0)
    sizes = [group.column(at).total_uncompressed_size for at in range(group.num_columns)]
    with loading:
        from airfreight import _core

    threads = min(_core.available_cpus(), _MOST_THREADS, groups)
    # By columns nothing is done sooner than the largest one; by row groups their shares are even.
    return threads if max(sizes, default=0) * threads > _DOMINANT * sum(sizes) else 1


def metadata_of(tail: Any) -> Any:
    """The metadata in the end of a file."""
    # Of the tail alone, because pyarrow reads 64 KiB before it looks how long a footer is.
    return open_file(pa.BufferReader(pa.py_buffer(tail))).metadata


def leaf_numbers(schema: pa.Schema, positions: Sequence[int]) -> list[int]:
    """The numbers of Parquet's columns that make up fields of a schema."""
    numbers, start = {}, 0
    for position, field in enumerate(schema):
        width = _width(field.type)
        numbers[position] = range(start, start + width)
        start += width
    return [number for position in positions for number in numbers[position]]


def _width(kind: pa.DataType) -> int:
    """Of how many columns of Parquet a type is made."""
    if isinstance(kind, pa.BaseExtensionType):
        return _width(kind.storage_type)
    if is_.is_map(kind):
        return _width(kind.key_type) + _width(kind.item_type)
    if is_.is_nested(kind):
        return sum(_width(kind.field(number).type) for number in range(kind.num_fields))
    return 1


def extents(metadata: Any, leaves: Sequence[int]) -> list[tuple[int, int]]:
    """Where columns lie in a file: beginning and end of each chunk."""
    extents = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for leaf in leaves:
            chunk = group.column(leaf)
            start = chunk.data_page_offset
            if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
                start = chunk.dictionary_page_offset
            extents.append((start, start + chunk.total_compressed_size))
    return extents


class _Pieces:
    """A file of which some ranges are there."""

    closed = False

    def __init__(self, size: int) -> None:
        self._size = size
        self._position = 0
        self._views: dict[int, memoryview] = {}

    def add(self, offset: int, view: memoryview) -> None:
        # Two that touch are one for whoever reads across: the last column lies before the tail.
        self._views[offset] = view

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def size(self) -> int:
        return self._size

    def read(self, count: int = -1) -> memoryview | bytes:
        begin = self._position
        end = self._size if count < 0 else min(begin + count, self._size)
        found = []
        position = begin
        while position < end:
            start = max((start for start in self._views if start <= position), default=-1)
            part = self._views[start][position - start : end - start] if start >= 0 else b""
            if not len(part):
                raise ValueError(f"bytes {position} to {end} of the file were not read")
            found.append(part)
            position += len(part)
        self._position = position
        return found[0] if len(found) == 1 else b"".join(found)

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return True

"""Tables as Parquet: written row group by row group, read whole or by columns.

Of the values themselves nothing is known here: see `pandas_` for what lies in the file's metadata.
"""

from __future__ import annotations

import base64
import collections
import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as is_

from airfreight.values import _encodings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airfreight._core import Reader

EXTENSION = "parquet"
CONTENT_TYPE = "application/vnd.apache.parquet"

#: Our entry in the file's metadata, and the table of `Writer.seal_blocks`, in base64.
METADATA_KEY = b"airfreight"
BLOCKS_KEY = b"airfreight.blocks"
#: From this size on the file gets one: smaller files take one request, and parts would take two.
WORTH_PARTS = 1 << 20
#: Whether this pyarrow knows of checksums of pages.
_PAGE_CHECKSUMS = int(pa.__version__.partition(".")[0]) >= 15

#: Arrow memory of one row group: large enough that Parquet's per-chunk costs vanish, small enough
#: that one more of it does not show beside the frame.
_GROUP_BYTES = 16 << 20
_MIN_GROUP_ROWS = 64 << 10
_MAX_GROUP_ROWS = 1 << 20
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


def group_rows(table: Table) -> int:
    """Rows of a row group, or of a batch."""
    row_bytes = sum(table.row_bytes) or 1
    group = max(_MIN_GROUP_ROWS, min(_MAX_GROUP_ROWS, int(_GROUP_BYTES / row_bytes)))
    # Long texts: no lower bound on rows there, because one page must stay far below 2 GiB.
    return max(1, min(group, int(4 * _GROUP_BYTES / row_bytes) or 1))


def write(sink: Any, table: Table, entry: bytes, compression: str) -> None:
    """Writes a file; `entry` is ours in its metadata.

    The sink is abandoned when something is raised.
    """
    schema = table.schema
    group = group_rows(table)
    # Since pyarrow 16 entries can come late; in the schema ours would lie in the file twice.
    late = hasattr(pq.ParquetWriter, "add_key_value_metadata")
    if not late:
        schema = schema.with_metadata({METADATA_KEY: entry})
    widest = max(1.0, *table.row_bytes) if table.row_bytes else 1.0
    writer = None
    try:
        writer = pq.ParquetWriter(
            pa.PythonFile(sink, mode="w"),
            schema,
            # No statistics: readers of an XCom take all of it, and they cost a sixth of the
            # encoding.
            write_statistics=False,
            write_batch_size=max(1, min(_BATCH_VALUES, int(_BATCH_BYTES / widest))),
            version="2.6",
            **_encoding_options(table, min(group, table.rows), compression),
            **({"write_page_checksum": True} if _PAGE_CHECKSUMS else {}),
        )
        for start in range(0, table.rows, group) if len(schema) else ():
            arrays = table.take(start, min(start + group, table.rows))
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=group)
        if late:
            entries = {METADATA_KEY: entry}
            if hasattr(sink, "seal_blocks") and sink.tell() >= WORTH_PARTS:
                entries[BLOCKS_KEY] = base64.b64encode(sink.seal_blocks())
            writer.add_key_value_metadata(entries)
        writer.close()
    except BaseException as error:
        # What the writer still writes when it is closed, be it by the garbage collector, is for
        # nobody.
        sink.abandon(hurry=not isinstance(error, Exception))
        if writer is not None:
            with contextlib.suppress(Exception):
                writer.close()
        raise


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
    ) -> None:
        self._file = file
        self._fetch = fetch
        self.entry: bytes | None = (file.metadata.metadata or {}).get(METADATA_KEY)

    @classmethod
    def of(cls, data: memoryview) -> Source:
        """A file that is there."""
        return cls(open_file(pa.BufferReader(pa.py_buffer(data))))

    @classmethod
    def of_parts(cls, reader: Reader, tail: memoryview) -> Source:
        """A file of which only the tail was read; columns are fetched when they are read."""
        offset = reader.tail_offset
        pieces = _Pieces(reader.size)
        pieces.add(offset, tail)
        # Of the tail alone, because pyarrow reads 64 KiB before it looks how long a footer is.
        metadata = open_file(pa.BufferReader(pa.py_buffer(tail))).metadata
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

    def read(self) -> list[pa.ChunkedArray]:
        """All columns."""
        return list(self._file.read(use_threads=True).columns)

    def read_columns(self, positions: Sequence[int]) -> list[pa.ChunkedArray]:
        """Columns by their numbers, which rise."""
        leaves = leaf_numbers(self._file.schema_arrow, positions)
        if self._fetch is not None:
            self._fetch(extents(self._file.metadata, leaves))
        # By number: by name pyarrow would also take a column whose name begins like another's.
        return list(self._file.reader.read_all(column_indices=leaves, use_threads=True).columns)


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

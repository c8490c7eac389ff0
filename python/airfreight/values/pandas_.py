"""pandas frames as Parquet. Specification: `formats/frame.md`.

A frame is converted and encoded row group by row group into one native buffer: there is never a
whole Arrow table of it. What Parquet does not know of a frame (labels, index, exact dtypes, kinds
of missing values, attrs) lies in the file's metadata under the key `airfreight`, so that what comes
back does not depend on the reader's versions of pandas and pyarrow. What can't be kept exactly is
refused.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as is_

from airfreight import values
from airfreight.errors import InvalidError, NewerFormatError
from airfreight.values import DEFAULTS, Payload, document, human_bytes
from airfreight.values._columns import Column, Refused, describe, from_arrow, make_column, to_arrow
from airfreight.values._labels import level_values, pack_index, unpack_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airfreight._core import Reader
    from airfreight.values import NewSink, Options


# What pyarrow itself imports when it first meets pandas has to be there too: see `_imports`.
pa.array(pd.Series([0]))

TYPE = "pandas.DataFrame"
EXTENSION = "parquet"
CONTENT_TYPE = "application/vnd.apache.parquet"

#: Version of our entry in the file's metadata.
VERSION = 1
_METADATA_KEY = b"airfreight"
#: The table of `Writer.seal_blocks`, in base64.
_BLOCKS_KEY = b"airfreight.blocks"
#: From this size on the file gets one: smaller files take one request, and parts would take two.
_WORTH_PARTS = 1 << 20
#: Whether this pyarrow knows of checksums of pages.
_PAGE_CHECKSUMS = int(pa.__version__.partition(".")[0]) >= 12
#: Labels that an error names.
_SHOWN_LABELS = 20

#: Arrow memory of one row group: large enough that Parquet's per-chunk costs vanish, small enough
#: that one more of it does not show beside the frame.
_GROUP_BYTES = 16 << 20
_MIN_GROUP_ROWS = 64 << 10
_MAX_GROUP_ROWS = 1 << 20
#: Rows that are looked at to tell whether a column repeats itself.
_SAMPLE_ROWS = 16 << 10
_MIN_SAMPLE_ROWS = 1 << 10
#: Parquet's readers and writers hold a page's length in 32 bits; a page takes this many values.
_BATCH_VALUES = 1024
_BATCH_BYTES = 64 << 20


def encode(
    value: pd.DataFrame,
    options: Options = DEFAULTS,
    new_sink: NewSink = values.new_sink,
    /,
) -> Payload:
    """Encodes a frame into a native sink, which may send it while this goes on.

    Raises:
        TypeError: a part of it can't be kept exactly; names the column and the reason.
    """
    if type(value) is not pd.DataFrame:
        raise TypeError(f"value: {type(value)!r} only looks like a pandas DataFrame")
    columns, index_columns, metadata = _plan(value)
    sink = new_sink()
    _write(value, [*columns, *index_columns], metadata, sink, options.compression)
    size = sink.tell()
    labels = [
        (_label(label), describe(column))
        for label, column in zip(value.columns, columns, strict=True)
    ]
    return Payload(
        body=sink,
        rows=len(value),
        columns=labels,
        summary=_summary(len(value), labels, size),
    )


def decode(data: memoryview) -> pd.DataFrame:
    """Decodes what `encode` wrote. Nothing of the result lives in the memory of the view."""
    return _decode(_open(pa.BufferReader(pa.py_buffer(data))))


def decode_columns(data: memoryview, columns: Sequence[Any]) -> pd.DataFrame:
    """As `decode(data)[columns]`, without decoding others."""
    return _decode(_open(pa.BufferReader(pa.py_buffer(data))), columns)


def read_columns(reader: Reader, columns: Sequence[Any]) -> pd.DataFrame:
    """As `decode_columns`, of an object of which only what is needed is read: its tail, columns."""
    offset, tail = reader.tail_offset, reader.read_tail()
    pieces = _Pieces(reader.size)
    pieces.add(offset, tail)

    def fetch(ranges: list[tuple[int, int]], table: bytes) -> None:
        reader.set_blocks(table)
        wanted = [(start, min(stop, offset) - start) for start, stop in ranges if start < offset]
        for (start, _), view in zip(wanted, reader.read(wanted), strict=True):
            pieces.add(start, view)

    # Of the tail alone, because pyarrow reads 64 KiB before it looks how long a footer is.
    metadata = _open(pa.BufferReader(pa.py_buffer(tail))).metadata
    # Chunk by chunk: to read what lies between chunks too would be to read what is not there.
    options = {"pre_buffer": False}
    if _PAGE_CHECKSUMS:
        options["page_checksum_verification"] = True
    file = _open(pa.PythonFile(pieces, mode="r"), metadata=metadata, **options)
    return _decode(file, columns, fetch)


def _open(source: Any, **options: Any) -> pq.ParquetFile:
    # The footer may hold more than pyarrow's 100 MB of text (long attrs, a million categories): its
    # bytes are verified by now, so that its limits against hostile files do not serve here.
    return pq.ParquetFile(
        source,
        thrift_string_size_limit=2**31 - 1,
        thrift_container_size_limit=2**31 - 1,
        **options,
    )


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


def _decode(
    file: pq.ParquetFile,
    wanted: Sequence[Any] | None = None,
    fetch: Callable[[list[tuple[int, int]], bytes], None] | None = None,
) -> pd.DataFrame:
    """Decodes a file, or some columns of it after `fetch` was told where they lie."""
    entries = file.metadata.metadata or {}
    raw = entries.get(_METADATA_KEY)
    if raw is None:
        raise ValueError("the Parquet file has no metadata of Airfreight's")
    metadata = json.loads(raw)
    if metadata["version"] > VERSION:
        raise NewerFormatError(
            f"the frame was written in version {metadata['version']}; this release reads up to "
            f"{VERSION}."
        )
    specs = [*metadata["columns"], *metadata["index_columns"]]
    count = len(metadata["columns"])
    labels = unpack_index(metadata["labels"], None)
    if wanted is None:
        positions = list(range(count))
        chunks = list(file.read(use_threads=True).columns)
    else:
        positions = _positions(labels, wanted)
        if not metadata["duplicate_labels"] and len(set(positions)) < len(positions):
            raise InvalidError(
                "columns=… names a column of the frame twice, and the frame's flags do not allow "
                "duplicate labels: name it once"
            )
        labels = labels.take(positions)
        needed = sorted({*positions, *range(count, len(specs))})
        leaves = _leaves(file.schema_arrow, needed)
        if fetch is not None:
            fetch(_extents(file.metadata, leaves), base64.b64decode(entries[_BLOCKS_KEY]))
        # By number: by name pyarrow would also take a column whose name begins like another's.
        chunks = list(file.reader.read_all(column_indices=leaves, use_threads=True).columns)
        specs = [specs[position] for position in needed]
        positions = [needed.index(position) for position in positions]
        count = len(needed) - (len(metadata["index_columns"]))
    # Each Arrow column goes as soon as its array is there.
    arrays = [from_arrow(chunks.pop(0), spec) for spec in specs]
    index = unpack_index(metadata["index"], arrays[count:])
    uses = Counter(positions)
    # Positions as labels for now: real ones may be anything, duplicates included.
    # As series with their dtype, because pandas guesses one from objects.
    series = {
        number: pd.Series(array, index=index, dtype=array.dtype, copy=uses[at] > 1)
        for number, at in enumerate(positions)
        for array in (arrays[at],)
    }
    frame = pd.DataFrame(series, index=index, copy=False)
    frame.columns = labels
    frame.attrs = document.from_json(metadata["attrs"])
    if not metadata["duplicate_labels"]:
        frame.flags.allows_duplicate_labels = False
    return frame


def _positions(labels: pd.Index[Any], wanted: Sequence[Any]) -> list[int]:
    """Where the wanted columns are: all that bear a label, in the order of asking."""
    everywhere = np.arange(len(labels))
    found: list[int] = []
    for label in wanted:
        try:
            found += np.atleast_1d(everywhere[labels.get_loc(label)]).tolist()
        except (LookupError, TypeError, ValueError, pd.errors.InvalidIndexError):
            shown = ", ".join(repr(other) for other in labels[:_SHOWN_LABELS])
            more = f" and {len(labels) - _SHOWN_LABELS} more" if len(labels) > _SHOWN_LABELS else ""
            raise InvalidError(f"the frame has no column {label!r}; it has {shown}{more}") from None
    return found


def _leaves(schema: pa.Schema, positions: Sequence[int]) -> list[int]:
    """The numbers of Parquet's columns that make up columns: an interval is kept as two."""
    widths = [field.type.num_fields if is_.is_struct(field.type) else 1 for field in schema]
    starts = np.concatenate(([0], np.cumsum(widths))).tolist()
    return [leaf for at in positions for leaf in range(starts[at], starts[at] + widths[at])]


def _extents(metadata: Any, leaves: Sequence[int]) -> list[tuple[int, int]]:
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


def _plan(frame: pd.DataFrame) -> tuple[list[Column], list[Column], dict[str, Any]]:
    """How each column and index level is kept, and what the file's metadata says of it."""
    columns = []
    for position, label in enumerate(frame.columns):
        try:
            columns.append(make_column(frame.iloc[:, position]))
        except Refused as error:
            raise TypeError(f"value: column {_label(label)!r}: {error}") from None
    try:
        labels = pack_index(frame.columns)
    except Refused as error:
        raise TypeError(f"value: the column labels: {error}") from None
    try:
        index = pack_index(frame.index, inline=False)
        index_columns = []
        if not index.get("range"):
            multi = isinstance(frame.index, pd.MultiIndex)
            index_columns = [
                make_column(level_values(frame.index, level) if multi else frame.index)
                for level in range(frame.index.nlevels)
            ]
    except Refused as error:
        raise TypeError(f"value: the index: {error}") from None
    try:
        attrs = document.Encoder().encode(dict(frame.attrs))
    except document.Unsupported as error:
        raise TypeError(f"value.attrs{str(error.as_type_error()).removeprefix('value')}") from None
    metadata = {
        "version": VERSION,
        "pandas": pd.__version__,
        "columns": [column.spec for column in columns],
        "index_columns": [column.spec for column in index_columns],
        "labels": labels,
        "index": index,
        "attrs": attrs,
        "duplicate_labels": frame.flags.allows_duplicate_labels,
    }
    return columns, index_columns, metadata


def _write(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    metadata: dict[str, Any],
    sink: Any,
    compression: str,
) -> None:
    rows = len(frame)
    schema = pa.schema(
        [
            pa.field(name, column.type)
            for name, column in zip(_field_names(frame, columns), columns, strict=True)
        ]
    )
    entry = {_METADATA_KEY: document.dump(metadata)}
    # Since pyarrow 16; in the schema it would lie in the file twice.
    late = hasattr(pq.ParquetWriter, "add_key_value_metadata")
    if not late:
        schema = schema.with_metadata(entry)
    row_bytes = sum(column.row_bytes for column in columns) or 1
    group = max(_MIN_GROUP_ROWS, min(_MAX_GROUP_ROWS, int(_GROUP_BYTES / row_bytes)))
    # Long texts: no lower bound on rows there, because one page must stay far below 2 GiB.
    group = max(1, min(group, int(4 * _GROUP_BYTES / row_bytes) or 1))
    widest = max(1, *(column.row_bytes for column in columns)) if columns else 1
    repeating = _repeating(frame, columns, schema)
    # Parquet's options go by path: the end of an interval may be called as a column is.
    taken = {
        f"{field.name}.{end.name}"
        for field in schema
        if pa.types.is_struct(field.type)
        for end in field.type
    }
    writer = pq.ParquetWriter(
        pa.PythonFile(sink, mode="w"),
        schema,
        compression=compression,
        # No statistics: readers of an XCom take all of it, and they cost a sixth of the encoding.
        write_statistics=False,
        use_dictionary=repeating,
        # Differences: for ids and times a tenth to two thirds of the bytes, and faster both ways.
        column_encoding={
            name: "DELTA_BINARY_PACKED"
            for name, kind in zip(schema.names, schema.types, strict=True)
            if name not in repeating and name not in taken and _is_integer(kind)
        },
        write_batch_size=max(1, min(_BATCH_VALUES, int(_BATCH_BYTES / widest))),
        version="2.6",
        **({"write_page_checksum": True} if _PAGE_CHECKSUMS else {}),
    )
    try:
        for start in range(0, rows, group) if columns else ():
            stop = min(start + group, rows)
            arrays = [
                _arrow(frame, column, position, start, stop)
                for position, column in enumerate(columns)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=group)
        if late:
            if hasattr(sink, "seal_blocks") and sink.tell() >= _WORTH_PARTS:
                entry[_BLOCKS_KEY] = base64.b64encode(sink.seal_blocks())
            writer.add_key_value_metadata(entry)
        writer.close()
    except BaseException as error:
        # What the writer still writes when it is closed, be it by the garbage collector, is for
        # nobody.
        sink.abandon(hurry=not isinstance(error, Exception))
        with contextlib.suppress(Exception):
            writer.close()
        raise


def _arrow(frame: pd.DataFrame, column: Column, position: int, start: int, stop: int) -> pa.Array:
    try:
        return to_arrow(column, start, stop)
    except Exception as error:
        if not isinstance(error, (pa.ArrowException, TypeError, ValueError, OverflowError)):
            raise
        count = frame.shape[1]
        place = f"column {_label(frame.columns[position])!r}" if position < count else "the index"
        if isinstance(error, UnicodeEncodeError):
            # Not chained: the error of Python quotes the text.
            raise TypeError(
                f"value: {place}: a text in it has a lone surrogate, which UTF-8 can't hold"
            ) from None
        raise TypeError(
            f"value: {place}: its values can't be kept in Parquet ({type(error).__name__})"
        ) from error


def _repeating(frame: pd.DataFrame, columns: Sequence[Column], schema: pa.Schema) -> list[str]:
    """The fields that a dictionary makes smaller: building one for unique values is time lost."""
    rows = len(frame)
    # Of a small frame a part, since a wrong guess costs little there and counting is not free.
    size = min(rows, _SAMPLE_ROWS, max(_MIN_SAMPLE_ROWS, rows // 16))
    start = (rows - size) // 2
    stop = start + size
    names = []
    for position, column in enumerate(columns):
        if column.dictionary is not None:
            wanted = column.dictionary
        else:
            sample = _arrow(frame, column, position, start, stop)
            try:
                wanted = 2 * pc.count_distinct(sample).as_py() < len(sample)
            except pa.ArrowNotImplementedError:  # Types that Arrow can't count.
                wanted = False
        if wanted:
            names.append(schema.names[position])
    return names


def _is_integer(kind: pa.DataType) -> bool:
    """Whether Parquet keeps a type as integers of 32 or 64 bits."""
    return bool(is_.is_integer(kind) or is_.is_temporal(kind))


def _field_names(frame: pd.DataFrame, columns: Sequence[Column]) -> list[str]:
    """Parquet's names: the labels where these are distinct texts, else numbers."""
    labels = list(frame.columns)
    plain = (
        all(type(label) is str and document.is_plain_text(label) for label in labels)
        and len(set(labels)) == len(labels)
        and not any(label.startswith("__index_level_") for label in labels)
    )
    names = list(labels) if plain else [f"c{position}" for position in range(len(labels))]
    return names + [f"__index_level_{level}__" for level in range(len(columns) - len(labels))]


def _label(label: Any) -> str:
    text = str(label)
    if not text.isprintable():
        text = ascii(text)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _summary(rows: int, labels: Sequence[tuple[str, str]], size: int) -> str:
    shown = ", ".join(f"{label} {dtype}" for label, dtype in labels[:6])
    more = ", …" if len(labels) > 6 else ""
    head = f"DataFrame {rows:,} × {len(labels):,}"
    return f"{head}{': ' if shown else ''}{shown}{more} · {human_bytes(size)} parquet"

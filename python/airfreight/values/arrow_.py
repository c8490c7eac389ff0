"""Arrow's own types of pyarrow, as streams of Arrow IPC. Specification: `formats/arrow.md`.

The stream holds the value and nothing else: batch by batch as it lies in memory, with its chunks,
dictionaries and schema metadata. The type that was pushed stands in the reference.
"""

from __future__ import annotations

import contextlib
import json
import re
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airfreight import values
from airfreight.errors import UnsupportedError
from airfreight.values import DEFAULTS, Payload, _describe, _streams
from airfreight.values._sinks import File

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airfreight._core import Reader
    from airfreight.values import NewSink, Options

#: Our own entries in the schema's metadata, which the value can't have.
_OUR_PREFIX = b"airfreight."
#: JSON list of the names of the extension types in the schema, in the order of the fields.
_EXTENSIONS_KEY = b"airfreight.extensions"
#: JSON list of the lengths of each column's chunks, of a table whose columns have different ones.
_CHUNKS_KEY = b"airfreight.chunks"
#: Beside another of these: the schema has metadata of its own, of no entries.
_EMPTY_KEY = b"airfreight.empty"
#: IPC knows two compressions; the one that is named for Parquet's speed is the faster of them.
_COMPRESSIONS = {"snappy": "lz4", "lz4": "lz4", "zstd": "zstd", "none": None}
#: Readers that were pushed, by id: a second push would find nothing left, and say nothing of it.
_read_already: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

#: Types in the name of one. (What a colon follows is the name of a field.)
_VIEWS = re.compile(r"\b(?:string|binary|list|large_list)_view\b(?!:)")


class ArrowCodec:
    """The codec of one of pyarrow's types.

    Attributes:
        TYPE: `_xcom_type`.
        READS_ONCE: whether a value is used up by being encoded.
    """

    #: As https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format recommends.
    EXTENSION = "arrows"
    CONTENT_TYPE = "application/vnd.apache.arrow.stream"

    def __init__(
        self,
        kind: str,
        open_: Callable[[Any], tuple[pa.Schema, Iterable[pa.RecordBatch], str]],
        make: Callable[[pa.Schema, Iterator[pa.RecordBatch]], Any],
        *,
        reads_once: bool = False,
    ) -> None:
        self.TYPE = kind
        self.READS_ONCE = reads_once
        self._open = open_
        self._make = make

    def encode(
        self, value: Any, options: Options = DEFAULTS, new_sink: NewSink = values.new_sink, /
    ) -> Payload:
        """Encodes batch by batch into a native sink, which may send them while this goes on.

        Raises:
            TypeError: a type in it is one that a reader would not get back.
        """
        schema, batches, name = self._open(value)
        marked = _marked(schema, layouts(value) if self.TYPE == "pyarrow.Table" else None)
        # What is refused is refused before an object is begun, as far as a schema tells.
        pa.ipc.new_stream(pa.BufferOutputStream(), marked).close()
        sink = new_sink()
        written = _Written(len(schema), options.preview_rows if self.READS_ONCE else 0)
        _write(sink, marked, written.seen(batches), options)
        return Payload(
            body=sink,
            rows=written.rows,
            summary=_summary(name, written.rows, schema, sink.tell(), options),
            columns=[(field.name, str(field.type)) for field in schema],
            nulls=written.nulls,
            sample=written.sample(),
        )

    def decode(self, data: memoryview) -> Any:
        """Decodes a value that lives in the memory of the view where that is not compressed."""
        stream = pa.ipc.open_stream(pa.py_buffer(data))
        schema = _unmarked(stream.schema)
        made = self._make(schema, _batches(stream, schema))
        chunks = (stream.schema.metadata or {}).get(_CHUNKS_KEY)
        return made if chunks is None else _rechunked(made, json.loads(chunks))


class TableCodec(ArrowCodec):
    """The codec of a type that has columns."""

    def decode_columns(self, data: memoryview, columns: Sequence[Any]) -> Any:
        """As `decode`, of some columns in the order of asking: all that bear a name.

        Raises:
            InvalidError: there are no such columns.
        """
        buffer = pa.py_buffer(data)
        marked = pa.ipc.open_stream(buffer).schema
        schema = _unmarked(marked)
        positions = positions_of(schema.names, columns)
        if not positions and len(schema):  # Batches without columns do not tell their rows.
            return self.select(self.decode_columns(data, schema.names[:1]), ())
        needed = sorted(set(positions))
        options = pa.ipc.IpcReadOptions(included_fields=needed)
        stream = pa.ipc.open_stream(buffer, options=options)
        order = [needed.index(position) for position in positions]
        wanted = pa.schema([schema.field(at) for at in positions], metadata=schema.metadata)
        batches = (batch.select(order).replace_schema_metadata(wanted.metadata) for batch in stream)
        made = self._make(wanted, batches)
        chunks = (marked.metadata or {}).get(_CHUNKS_KEY)
        if chunks is None:
            return made
        layout = json.loads(chunks)
        return _rechunked(made, [layout[position] for position in positions])

    def read_columns(self, reader: Reader, columns: Sequence[Any]) -> Any:
        """As `decode_columns`, of an object of which only what is needed is read."""

        def choose(schema: pa.Schema) -> list[int]:
            names = schema.names
            return sorted(set(positions_of(names, columns) or positions_of(names, names[:1])))

        return self.decode_columns(_streams.fetch(reader, choose), columns)

    def select(self, value: Any, columns: Sequence[Any]) -> Any:
        """As `decode_columns`, of a value that is here."""
        positions = positions_of(value.schema.names, columns)
        if not isinstance(value, pa.RecordBatchReader):
            return value.select(positions)
        schema = pa.schema(
            [value.schema.field(at) for at in positions], metadata=value.schema.metadata
        )
        return pa.RecordBatchReader.from_batches(
            schema, (batch.select(positions) for batch in value)
        )


def positions_of(names: Sequence[str], columns: Sequence[Any]) -> list[int]:
    """Where the wanted columns are: all that bear a name, in the order of asking."""
    values.require_labels(names, columns)
    return [at for wanted in columns for at, name in enumerate(names) if name == wanted]


def _batches(stream: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    same = schema.equals(stream.schema, check_metadata=True)
    for batch in stream:
        yield batch if same else batch.replace_schema_metadata(schema.metadata)


# --- Encoding -------------------------------------------------------------------------------------


class _Written:
    """What is told of batches that are seen once.

    Attributes:
        rows: their number.
        nulls: how many there are in each column.
    """

    def __init__(self, columns: int, kept: int) -> None:
        self.rows = 0
        self.nulls = [0] * columns
        self._kept = kept
        self._first: list[pa.Table] = []

    def seen(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if self.rows < self._kept and batch.num_rows:
                self._first.append(_copied(batch.slice(0, self._kept - self.rows)))
            self.rows += batch.num_rows
            for position, column in enumerate(batch.columns):
                found = _null_count(column)
                known = self.nulls[position] >= 0 and found >= 0
                self.nulls[position] = self.nulls[position] + found if known else -1
            yield batch

    def sample(self) -> pa.Table | None:
        """The first rows; None where none were to be kept."""
        return pa.concat_tables(self._first) if self._first else None


def _null_count(array: pa.Array) -> int:
    """How many cells are null; -1 where Arrow does not count them."""
    if isinstance(array, pa.ExtensionArray):
        return _null_count(array.storage)
    kind = array.type
    if pa.types.is_union(kind) or pa.types.is_run_end_encoded(kind):
        return -1
    if pa.types.is_dictionary(kind) and array.dictionary.null_count:
        return -1
    return int(array.null_count)


def _copied(batch: pa.RecordBatch) -> pa.Table:
    """A few rows that do not keep the memory of all."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _write(
    sink: Any, schema: pa.Schema, batches: Iterable[pa.RecordBatch], options: Options
) -> None:
    """Writes a stream."""
    settings = pa.ipc.IpcWriteOptions(compression=_COMPRESSIONS[options.compression])
    heads = _streams.Heads(File(sink))
    writer = pa.ipc.new_stream(pa.PythonFile(heads, mode="w"), schema, options=settings)
    try:
        for batch in batches:
            if batch.schema.metadata != schema.metadata:
                batch = batch.replace_schema_metadata(schema.metadata)  # noqa: PLW2901
            writer.write_batch(batch)
        writer.close()
        heads.seal(sink)
    except BaseException as error:
        # What the writer still writes when it is closed is for nobody.
        sink.abandon(hurry=not isinstance(error, Exception))
        with contextlib.suppress(Exception):
            writer.close()
        if isinstance(error, (pa.ArrowNotImplementedError, pa.ArrowInvalid)):
            raise TypeError(
                f"value: it can't be kept as a stream of Arrow IPC ({error})"
            ) from error
        raise


def _marked(schema: pa.Schema, chunks: list[list[int]] | None) -> pa.Schema:
    """The schema with what it does not tell itself, after making sure that it comes back."""
    metadata = schema.metadata or {}
    for key in metadata:
        if key.startswith(_OUR_PREFIX):
            raise TypeError(
                f"value: the schema's metadata has the key {key.decode()!r}, which is one of "
                "airfreight's own: take it out with value.replace_schema_metadata(…)"
            )
    try:
        back = pa.ipc.read_schema(schema.serialize())
    except pa.ArrowException as error:  # Of an extension type as the values of a dictionary.
        raise TypeError(
            f"value: its schema would not come back from a stream of Arrow IPC ({error}); push the "
            "storage of its extension types, or cast what it can't be read with"
        ) from error
    if not back.equals(schema, check_metadata=True):
        raise TypeError(f"value: {_changed(schema, back)}")
    ours = {}
    if names := extension_names(schema):
        ours[_EXTENSIONS_KEY] = json.dumps(names).encode()
    if chunks and any(layout != chunks[0] for layout in chunks):
        ours[_CHUNKS_KEY] = json.dumps(chunks, separators=(",", ":")).encode()
    if ours and schema.metadata == {}:
        ours[_EMPTY_KEY] = b"{}"
    return schema.with_metadata({**metadata, **ours}) if ours else schema


def _changed(schema: pa.Schema, back: pa.Schema) -> str:
    for field, other in zip(schema, back, strict=True):
        if not field.equals(other, check_metadata=True):
            return (
                f"column {field.name!r} of type {field.type} would come back as {other.type}: "
                "register its extension type with pyarrow.register_extension_type, or push its "
                "storage"
            )
    return "the metadata of the schema would come back changed"


def extension_names(schema: pa.Schema) -> list[str]:
    """The names of all extension types in a schema, in the order of its fields."""
    return [name for field in schema for name in names_in(field.type)]


def names_in(kind: pa.DataType) -> Iterator[str]:
    """The names of all extension types in a type, in the order of its fields."""
    if isinstance(kind, pa.BaseExtensionType):
        yield kind.extension_name
        yield from names_in(kind.storage_type)
    elif pa.types.is_dictionary(kind):
        yield from names_in(kind.value_type)
    elif pa.types.is_map(kind):
        yield from names_in(kind.key_type)
        yield from names_in(kind.item_type)
    elif pa.types.is_struct(kind) or pa.types.is_union(kind):
        for number in range(kind.num_fields):
            yield from names_in(kind.field(number).type)
    elif pa.types.is_nested(kind) or hasattr(kind, "value_type"):  # Lists; run-end encoding.
        yield from names_in(kind.value_type)


def check_extensions(what: str, wanted: Sequence[str], found: Sequence[str]) -> None:
    """Raises UnsupportedError where a type has other extension types here than when it was pushed.

    `wanted` and `found` are their names in the order of the fields.
    """
    if wanted == found:
        return
    missing = sorted(set(wanted) - set(found))
    more = sorted(set(found) - set(wanted))
    if more and not missing:
        # Arrow makes it of a field's metadata, which was all that the writer knew of it.
        raise UnsupportedError(
            f"{what} whose metadata name the Arrow extension type {', '.join(map(repr, more))}, "
            "which was not registered in the process that pushed, and is in this one, where it "
            "would make another type of them: register it there too (with the same pyarrow, or "
            f"the package that brings it), or call pyarrow.unregister_extension_type({more[0]!r}) "
            "before the value is pulled."
        )
    raise UnsupportedError(
        f"{what} of the Arrow extension type {', '.join(map(repr, missing or wanted))}, which is "
        "not registered in this process: import the package that registers it, or call "
        "pyarrow.register_extension_type, before the value is pulled."
    )


def _unmarked(schema: pa.Schema) -> pa.Schema:
    """The inverse of `_marked`; UnsupportedError when this process lacks an extension type."""
    metadata = dict(schema.metadata or {})
    raw = metadata.pop(_EXTENSIONS_KEY, None)
    chunks = metadata.pop(_CHUNKS_KEY, None)
    if not hasattr(pa, "string_view"):
        # Before 16 pyarrow reads them, and has no class for their arrays: any look at one fails.
        for field in schema:
            if found := _VIEWS.search(str(field.type)):
                raise UnsupportedError(
                    f"the value has a column of Arrow's type {found[0]}, which pyarrow "
                    f"{pa.__version__} here does not have: install 16 or later, or cast the column "
                    "before it is pushed."
                )
    check_extensions("the value has columns", json.loads(raw or "[]"), extension_names(schema))
    if raw is None and chunks is None:
        return schema
    empty = metadata.pop(_EMPTY_KEY, None) is not None
    # (`with_metadata(None)` gives one that is there and empty.)
    return schema.with_metadata(metadata) if metadata or empty else pa.schema(list(schema))


def _summary(name: str, rows: int, schema: pa.Schema, size: int, options: Options) -> str:
    if name in ("Array", "ChunkedArray"):
        kind = _describe.dtype(str(schema.field(0).type), options)
        return _describe.line(f"{name} of {rows:,} {kind}", (), size, "arrow", options)
    columns = [(field.name, str(field.type)) for field in schema]
    return _describe.line(f"{name} {rows:,} × {len(schema):,}", columns, size, "arrow", options)


# --- Types ----------------------------------------------------------------------------------------


def _open_table(value: pa.Table) -> tuple[pa.Schema, Iterable[pa.RecordBatch], str]:
    return value.schema, table_batches(value), "Table"


def layouts(table: Any) -> list[list[int]]:
    """The lengths of the chunks of each column; nothing for what is no table of pyarrow's."""
    if type(table) is not pa.Table:
        return []
    return [[len(chunk) for chunk in column.chunks] for column in table.columns]


def _rechunked(table: pa.Table, chunks: list[list[int]]) -> pa.Table:
    """The table with chunks of these lengths, each of which lies in whole batches."""
    columns = []
    for column, lengths in zip(table.columns, chunks, strict=True):
        pieces, made = list(column.chunks), []
        for length in lengths:
            taken: list[pa.Array] = []
            while sum(map(len, taken)) < length:
                taken.append(pieces.pop(0))
            whole = pa.concat_arrays(taken) if len(taken) > 1 else (taken or [None])[0]
            made.append(pa.nulls(0, column.type) if whole is None else whole)
        columns.append(pa.chunked_array(made, type=column.type))
    return pa.Table.from_arrays(columns, schema=table.schema)


def table_batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The batches of a table, with chunks of no rows where all columns have them alike."""
    chunks = layouts(table)
    if not chunks or any(layout != chunks[0] for layout in chunks):
        yield from table.to_batches()
        return
    for number in range(len(chunks[0])):
        chunks = [column.chunk(number) for column in table.columns]
        yield pa.RecordBatch.from_arrays(chunks, schema=table.schema)


def _open_batch(value: pa.RecordBatch) -> tuple[pa.Schema, Iterable[pa.RecordBatch], str]:
    return value.schema, (value,), "RecordBatch"


def _make_batch(_: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch:
    (batch,) = batches
    return batch


def _open_array(value: pa.Array) -> tuple[pa.Schema, Iterable[pa.RecordBatch], str]:
    # A class of its own may be given to an extension type, and to nothing else.
    if type(value) is not type(value[:0]):
        raise TypeError(
            f"value: an array of class {type(value).__qualname__} would come back as "
            f"{type(value[:0]).__qualname__}"
        )
    schema = pa.schema([pa.field("", value.type)])
    return schema, (pa.RecordBatch.from_arrays([value], schema=schema),), "Array"


def _make_array(_: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.Array:
    (batch,) = batches
    return batch.column(0)


def _open_chunked(value: pa.ChunkedArray) -> tuple[pa.Schema, Iterable[pa.RecordBatch], str]:
    schema = pa.schema([pa.field("", value.type)])
    batches = (pa.RecordBatch.from_arrays([chunk], schema=schema) for chunk in value.chunks)
    return schema, batches, "ChunkedArray"


def _make_chunked(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.ChunkedArray:
    return pa.chunked_array([batch.column(0) for batch in batches], type=schema.field(0).type)


def _open_reader(
    value: pa.RecordBatchReader,
) -> tuple[pa.Schema, Iterable[pa.RecordBatch], str]:
    if id(value) in _read_already:
        raise TypeError(
            "value: this RecordBatchReader was read by an earlier push, or by an attempt at this "
            "one: make it anew, or push its table (value.read_all())"
        )
    _read_already[id(value)] = value
    return value.schema, value, "RecordBatchReader"


def _open_stream(value: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch], str]:
    """Anything with `__arrow_c_stream__` that has no codec of its own."""
    # https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
    try:
        if hasattr(pa.RecordBatchReader, "from_stream"):  # Since pyarrow 15.
            reader = pa.RecordBatchReader.from_stream(value)
        else:
            reader = pa.RecordBatchReader._import_from_c_capsule(value.__arrow_c_stream__())
    except (TypeError, ValueError) as error:  # (A ValueError of a capsule of another kind.)
        name = values.class_name(type(value))
        raise TypeError(
            f"value: a {name} is no table of Arrow's ({error}): push pyarrow.chunked_array(value)"
        ) from error
    return reader.schema, reader, "Table"


TABLE = TableCodec("pyarrow.Table", _open_table, lambda s, b: pa.Table.from_batches(b, schema=s))
BATCH = TableCodec("pyarrow.RecordBatch", _open_batch, _make_batch)
ARRAY = ArrowCodec("pyarrow.Array", _open_array, _make_array)
CHUNKED_ARRAY = ArrowCodec("pyarrow.ChunkedArray", _open_chunked, _make_chunked)
READER = TableCodec(
    "pyarrow.RecordBatchReader",
    _open_reader,
    pa.RecordBatchReader.from_batches,
    reads_once=True,
)
STREAM = TableCodec("pyarrow.Table", _open_stream, TABLE._make, reads_once=True)

"""polars frames and series, by polars' own Parquet or Arrow IPC. Specification: `formats/arrow.md`.

The file holds the value and nothing else; polars writes its dtypes into it (categories of an Enum,
time zones, names). What one of the formats does not keep goes by the other; that both sides agree
is made sure with the value's schema before an object is begun.
"""

from __future__ import annotations

import contextlib
import io
import struct
from typing import TYPE_CHECKING, Any

import polars as pl

from airfreight import values
from airfreight._imports import loading
from airfreight.errors import InvalidError
from airfreight.values import DEFAULTS, Form, Payload, _describe, _polars_enums, require_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from airfreight._core import Reader
    from airfreight.values import NewSink, Options

# What polars itself imports when it first writes has to be there too: see `_imports`.
with contextlib.suppress(ImportError):
    import polars._utils.parquet

PARQUET = Form("parquet", "application/vnd.apache.parquet")
ARROW = Form("arrow", "application/vnd.apache.arrow.file")

_PARQUET_MAGIC = b"PAR1"
#: The length of the footer, before the last four bytes.
_FOOTER = struct.Struct("<I4x")
#: From this size on a file is one that is read in parts: smaller ones take one request whole.
WORTH_PARTS = 1 << 20
#: Blocks of `Writer.seal_blocks`, as `airfreight.h` has them (kBlockBytes).
_BLOCK_BYTES = 64 << 10
#: IPC knows two compressions; the one that is named for Parquet's speed is the faster of them.
_IPC = {"snappy": "lz4", "lz4": "lz4", "zstd": "zstd", "none": "uncompressed"}


class PolarsCodec:
    """The codec of one of polars' types. Its `TYPE` is the `_xcom_type`."""

    EXTENSION = PARQUET.extension
    CONTENT_TYPE = PARQUET.content_type

    def __init__(
        self,
        kind: str,
        cls: type,
        to_frame: Callable[[Any], pl.DataFrame],
        from_frame: Callable[[pl.DataFrame], Any],
    ) -> None:
        self.TYPE = kind
        self._class = cls
        self._to_frame = to_frame
        self._from_frame = from_frame

    def encode(
        self, value: Any, options: Options = DEFAULTS, new_sink: NewSink = values.new_sink, /
    ) -> Payload:
        """Encodes into memory.

        polars writes in a thread of its own while this one waits: a sink that waits for the store
        there would hold back the handlers of signals, which run in the main thread only.

        Raises:
            TypeError: a column holds what neither format keeps; names it.
        """
        if type(value) is not self._class:
            raise TypeError(f"value: {type(value)!r} only looks like a {self.TYPE}")
        frame = self._to_frame(value)
        form = _form(frame, options)
        file = io.BytesIO()
        _write(frame, form, file, options)
        hides = _hides(options)
        columns = [(name, _shown(name, dtype, hides)) for name, dtype in frame.schema.items()]
        size = f"{frame.height:,} × {frame.width:,}"
        if self._class is pl.Series:
            size = f"of {frame.height:,} {_describe.dtype(columns[0][1], options)}"
        return Payload(
            body=_body(file.getbuffer(), form, new_sink),
            rows=frame.height,
            columns=columns,
            summary=_describe.line(
                f"{self.TYPE.replace('.', ' ')} {size}",
                columns if self._class is not pl.Series else (),
                file.tell(),
                form.extension,
                options,
            ),
            form=form,
            nulls=[column.null_count() for column in frame.iter_columns()],
            sample=frame.head(options.preview_rows) if self._class is pl.LazyFrame else None,
        )

    def decode(self, data: memoryview) -> Any:
        """Decodes what `encode` wrote. Nothing of the result lives in the memory of the view.

        Raises:
            UnsupportedError: a dtype is one that this release of polars reads as another.
        """
        return self._from_frame(_polars_enums.check(_read(data), data))


def _body(data: memoryview, form: Form, new_sink: NewSink) -> Any:
    """What is sent of a file: one of Parquet can be read in parts.

    Before its footer, where no reader of Parquet looks, lie the checksums of what comes before.
    """
    if form is not PARQUET or len(data) < WORTH_PARTS:
        return [data]
    sink: Any = new_sink(form)
    if not hasattr(sink, "seal_blocks"):
        return [data]
    (footer,) = _FOOTER.unpack_from(data, len(data) - _FOOTER.size)
    end = len(data) - _FOOTER.size - footer
    sink.write(data[:end])
    sink.write(sink.seal_blocks())
    sink.write(data[end:])
    return sink


class FrameCodec(PolarsCodec):
    """The codec of a type that has columns."""

    def decode_columns(self, data: memoryview, columns: Sequence[Any]) -> Any:
        """As `decode`, of some columns in the order of asking.

        Raises:
            InvalidError: there are no such columns.
        """
        if _is_parquet(data):
            _polars_enums.require(data)
        source = io.BytesIO(data)
        schema = (pl.read_parquet_schema if _is_parquet(data) else pl.read_ipc_schema)(source)
        frame = _read(data, _names(list(schema), columns))
        return self._from_frame(_polars_enums.check(frame, data, schema.values()))

    def read_columns(self, reader: Reader, columns: Sequence[Any]) -> Any:
        """As `decode_columns`, of an object of which only what is needed is read.

        Without pyarrow, which tells where columns lie, that is all of it.
        """
        end, tail = reader.tail_offset, reader.read_tail()
        _polars_enums.require(tail)
        blocks = 4 * -(-end // _BLOCK_BYTES)
        reader.set_blocks(bytes(tail[:blocks]))
        schema = pl.read_parquet_schema(io.BytesIO(tail))
        names = list(schema)
        wanted = _names(names, columns)
        # (Some of the file's memory is never written to.)
        data = bytearray(reader.size)
        data[end:] = tail
        data[: len(_PARQUET_MAGIC)] = _PARQUET_MAGIC
        ranges = _ranges(tail, [names.index(name) for name in wanted], end)
        for (start, length), view in zip(ranges, reader.read(ranges), strict=True):
            data[start : start + length] = view
        frame = _polars_enums.check(
            _read(memoryview(data), wanted), memoryview(data), schema.values()
        )
        return self._from_frame(frame)

    def select(self, value: Any, columns: Sequence[Any]) -> Any:
        """As `decode_columns`, of a value that is here."""
        frame = self._to_frame(value)
        return self._from_frame(frame.select(_names(frame.columns, columns)))


def _ranges(tail: memoryview, positions: Sequence[int], end: int) -> list[tuple[int, int]]:
    """Offset and length of what columns need of a Parquet file."""
    try:
        from airfreight.values import _parquet
    except ImportError:
        return [(0, end)]
    try:
        metadata = _parquet.metadata_of(tail)
        schema = metadata.schema.to_arrow_schema()
    except (NotImplementedError, ValueError):  # polars has types that this pyarrow has not.
        return [(0, end)]
    leaves = _parquet.leaf_numbers(schema, positions)
    return [(start, stop - start) for start, stop in _parquet.extents(metadata, leaves)]


def _names(names: list[str], columns: Sequence[Any]) -> list[str]:
    require_labels(names, columns)
    if len(set(columns)) < len(columns):
        raise InvalidError(
            "columns=… names a column of the frame twice, and a frame of polars has each column "
            "once: name it once"
        )
    return list(columns)


def _is_parquet(data: memoryview) -> bool:
    return data[: len(_PARQUET_MAGIC)] == _PARQUET_MAGIC


@contextlib.contextmanager
def _no_panics() -> Iterator[None]:
    """Makes an error of what polars raises of a dtype that it did not expect: no Exception."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise pl.exceptions.ComputeError(f"polars panics: {error}") from error


@_no_panics()
def _read(data: memoryview, columns: list[str] | None = None) -> pl.DataFrame:
    if _is_parquet(data):
        _polars_enums.require(data)
    source = io.BytesIO(data)
    if columns == []:
        # (In the part of a file that is there when no column is asked for, there is none.)
        schema = pl.read_parquet_schema(source) if _is_parquet(data) else pl.read_ipc_schema(source)
        return pl.DataFrame(schema=schema).select([])
    frame = (
        pl.read_parquet(source, columns=columns)
        if _is_parquet(data)
        else pl.read_ipc(source, columns=columns)
    )
    return frame if columns is None else frame.select(columns)


def _form(frame: pl.DataFrame, options: Options) -> Form:
    """The form that keeps a frame; the wanted one if it does."""
    for name, dtype in frame.schema.items():
        if any(inner == pl.Object for inner in _dtypes(dtype)):
            raise TypeError(
                f"value: column {name!r} has the dtype Object: its cells are Python objects, which "
                "polars can't write. Convert it to another dtype, or push its list"
            )
    wanted, other = (ARROW, PARQUET) if options.format == "arrow" else (PARQUET, ARROW)
    for form in (wanted, other):
        if _keeps(frame, form):
            return form
    for name in frame.columns:
        for form in (wanted, other):
            if _keeps(frame.select(name), form):
                break
        else:
            raise TypeError(
                f"value: column {name!r} of dtype {frame.schema[name]} is not kept exactly, "
                "neither by Parquet nor by Arrow IPC, as this release of polars writes them"
            )
    raise TypeError(
        "value: no format keeps all columns of this polars value: Structs without fields need "
        "Arrow IPC, Arrays of width 0 Parquet. Push them apart"
    )


def _keeps(frame: pl.DataFrame, form: Form) -> bool:
    if form is ARROW and any(
        isinstance(inner, pl.Array) and 0 in inner.shape
        for dtype in frame.schema.values()
        for inner in _dtypes(dtype)
    ):
        return False  # "Cannot read zero sized arrays from IPC", once it has rows.
    if form is ARROW and any(_needs(frame)):
        return False  # It has no place to say so.
    sink = values.new_sink()
    try:
        _write(frame.clear(), form, sink, DEFAULTS)
        back = _read(memoryview(sink.getvalue())).schema
    except (pl.exceptions.PolarsError, TypeError, OSError):
        return False
    return back == frame.schema and repr(back) == repr(frame.schema)


def _needs(frame: pl.DataFrame) -> set[str]:
    """What a release of polars has to have to read the dtypes of a frame as they are."""
    inside = [one for dtype in frame.schema.values() for one in _dtypes(dtype)]
    found = {"Float16" for one in inside if one == getattr(pl, "Float16", None)}
    for one in inside:
        categories = getattr(one, "categories", None) if isinstance(one, pl.Categorical) else None
        if categories is not None and not categories.is_global():
            found.add("Categories")
    return found


def _dtypes(dtype: Any) -> Iterator[Any]:
    """A dtype and those inside it."""
    yield dtype
    if isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            yield from _dtypes(field.dtype)
    elif isinstance(dtype, (pl.List, pl.Array)) and dtype.inner is not None:
        yield from _dtypes(dtype.inner)


@_no_panics()
def _write(frame: pl.DataFrame, form: Form, sink: Any, options: Options) -> None:
    target: Any = sink
    if form is PARQUET:
        kind: Any = "uncompressed" if options.compression == "none" else options.compression
        needs = {f"{_polars_enums.NEEDS}{name}": "1" for name in _needs(frame)}
        more: Any = {"metadata": needs} if needs else {}
        # No statistics: readers of an XCom take all of it.
        frame.write_parquet(target, compression=kind, statistics=False, **more)
    else:
        packed: Any = _IPC[options.compression]
        frame.write_ipc(target, compression=packed)


def _hides(options: Options) -> Callable[[str], bool]:
    """Whether the categories in a column, or a field, of a name are hidden."""
    if options.describe != "full":
        return _always
    with loading:
        from airfreight.values import _preview

    return _preview.hides_by(options)


def _always(_name: str) -> bool:
    return True


def _shown(name: str, dtype: Any, hides: Callable[[str], bool]) -> str:
    """The name of a dtype, without the categories in it that are hidden."""
    inside = [*_dtypes(dtype)]
    fields = [it.name for one in inside if isinstance(one, pl.Struct) for it in one.fields]
    if not any(map(_has_categories, inside)) or not any(map(hides, (name, *fields))):
        return str(dtype)
    if hides(name):
        hides = _always
    if _has_categories(dtype):
        return type(dtype).__name__ if hides is _always else str(dtype)
    if isinstance(dtype, pl.Struct):
        shown = (f"{it.name!r}: {_shown(it.name, it.dtype, hides)}" for it in dtype.fields)
        return f"Struct({{{', '.join(shown)}}})"
    more = f", shape={dtype.shape}" if isinstance(dtype, pl.Array) else ""
    return f"{type(dtype).__name__}({_shown(name, dtype.inner, hides)}{more})"


def _has_categories(dtype: Any) -> bool:
    return isinstance(dtype, getattr(pl, "Enum", ()))


FRAME = FrameCodec("polars.DataFrame", pl.DataFrame, lambda value: value, lambda frame: frame)
LAZY_FRAME = FrameCodec(
    "polars.LazyFrame", pl.LazyFrame, lambda value: value.collect(), lambda frame: frame.lazy()
)
SERIES = PolarsCodec(
    "polars.Series", pl.Series, lambda value: value.to_frame(), lambda frame: frame.to_series()
)

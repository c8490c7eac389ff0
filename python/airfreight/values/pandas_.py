"""pandas frames as Parquet, or Arrow IPC. Specification: `formats/frame.md`.

A frame is converted and encoded row group by row group into one native buffer: there is never a
whole Arrow table of it. What Parquet does not know of a frame (labels, index, exact dtypes, kinds
of missing values, attrs) lies in the file's metadata under the key `airfreight`, so that what comes
back does not depend on the reader's versions of pandas and pyarrow. Cells that Arrow would change
are documents, one for each cell. What can't be kept exactly is refused.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from airfreight import values
from airfreight._imports import loading
from airfreight.errors import CorruptError, Error, InvalidError, NewerFormatError
from airfreight.values import DEFAULTS, Form, Payload, _describe, _ipc, _parquet, document
from airfreight.values._columns import (
    Column,
    describe,
    from_batches,
    make_column,
    may_be_documents,
    null_count,
    to_arrow,
    version,
)
from airfreight.values._labels import level_values, pack_index, unpack_index
from airfreight.values._labels import version as labels_version
from airfreight.values._objects import Refused

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from airfreight._core import Reader, Sink, Writer
    from airfreight.values import NewSink, Options

    Source = _ipc.Source | _parquet.Source


# What pyarrow itself imports when it first meets pandas has to be there too: see `_imports`.
pa.array(pd.Series([0]))

TYPE = "pandas.DataFrame"
EXTENSION = _parquet.EXTENSION
CONTENT_TYPE = _parquet.CONTENT_TYPE

#: Newest version of our entry in the file's metadata.
VERSION = 3
#: What Arrow raises of a cell that it can't hold.
_CELL_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)
#: What else pandas and pyarrow raise of a column or labels.
_PART_ERRORS = (*_CELL_ERRORS, ArithmeticError, AssertionError, AttributeError, NotImplementedError)
#: Characters of a reason that an error shows: of a frame that holds itself it has no end.
_SHOWN_TEXT = 1000
#: What pandas raises of a label that is not there, or can't be one.
_LABEL_ERRORS = (
    *(AssertionError, LookupError, TypeError, ValueError),
    pd.errors.InvalidIndexError,
)
#: Categories that a row shows.
_SHOWN_CATEGORIES = 6
#: Labels that an error names.
_SHOWN_LABELS = 20


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
    encoded = encode_frame(value, options, new_sink)
    head = f"DataFrame {len(value):,} × {value.shape[1]:,}"
    return Payload(
        body=encoded.sink,
        rows=len(value),
        columns=encoded.columns,
        nulls=encoded.nulls,
        summary=_describe.line(head, encoded.columns, encoded.sink.tell(), options.format, options),
    )


class Encoded(NamedTuple):
    """A frame that was written, and what is told of it.

    Attributes:
        sink: what it was written to.
        columns: label and dtype of each column.
        nulls: how many each has in the file; -1: not known.
        levels, level_nulls: the same of the index.
    """

    sink: Sink | Writer
    columns: list[tuple[Any, str]]
    nulls: Sequence[int]
    levels: list[tuple[Any, str]]
    level_nulls: Sequence[int]


def encode_frame(
    frame: pd.DataFrame, options: Options, new_sink: NewSink, what: str = ""
) -> Encoded:
    """Encodes a frame, or what is one here.

    `what` is said of a column in an error where it is no column of a frame. Raises as `encode`.
    """
    documents: set[int] = set()
    while True:
        columns, index_columns, metadata = _plan(frame, options, documents, what)
        risky = any(map(_may_not_keep, (*columns, *index_columns)))
        sink = new_sink(_form(options)._replace(may_start_over=risky))
        try:
            nulls = _write(frame, [*columns, *index_columns], metadata, sink, options)
        except _NotKept:
            # So rare that no look for it is paid for beforehand.
            sink.abandon()
            documents |= _not_kept([*columns, *index_columns], len(frame))
            continue
        dtypes = [describe(column) for column in (*columns, *index_columns)]
        count = len(columns)
        if options.describe == "full":
            _name_categories(frame, dtypes, options)
        if frame.index.nlevels == len(index_columns):
            levels = list(zip(frame.index.names, dtypes[count:], strict=True))
        else:
            levels, nulls = [(frame.index.name, str(frame.index.dtype))], [*nulls, 0]
        return Encoded(
            sink,
            list(zip(_labels(frame), dtypes, strict=False)),
            nulls[:count],
            levels,
            nulls[count:],
        )


def _name_categories(frame: pd.DataFrame, dtypes: list[str], options: Options) -> None:
    """Puts the first categories into the names of dtypes, but where the cells are masked."""
    with loading:
        from airfreight.values import _preview

    hides = _preview.hides_by(options)
    names = [*_labels(frame), *frame.index.names]
    levels = getattr(frame.index, "levels", (frame.index,))
    for position, dtype in enumerate((*frame.dtypes, *(level.dtype for level in levels))):
        if isinstance(dtype, pd.CategoricalDtype) and not hides(names[position]):
            try:
                first = ", ".join(map(_describe.label, dtype.categories[:_SHOWN_CATEGORIES]))
            except _PART_ERRORS:  # Python has no such objects.
                continue
            dtypes[position] = f"category ({first})"


class _NotKept(Exception):  # noqa: N818 (never leaves this module)
    """A text in a column has a lone surrogate, which UTF-8 can't hold, or an int over 64 bits."""


def _may_not_keep(column: Column) -> bool:
    # A text that lies in Arrow's memory is one that Arrow can hold.
    dtype = getattr(column.values, "dtype", None)
    return may_be_documents(column) and getattr(dtype, "storage", None) != "pyarrow"


def _not_kept(columns: Sequence[Column], rows: int) -> set[int]:
    """The columns in which Arrow can't hold a cell."""
    found = set()
    for position, column in enumerate(columns):
        if may_be_documents(column):
            try:
                to_arrow(column, 0, rows)
            except _CELL_ERRORS:
                found.add(position)
    return found


def decode(data: memoryview) -> pd.DataFrame:
    """Decodes what `encode` wrote.

    Of the result only texts of an uncompressed Arrow file live in the memory of the view.
    """
    return _decode(_source(data))


def decode_columns(data: memoryview, columns: Sequence[Any]) -> pd.DataFrame:
    """As `decode(data)[columns]`, without decoding others."""
    return _decode(_source(data), columns)


def read_columns(reader: Reader, columns: Sequence[Any]) -> pd.DataFrame:
    """As `decode_columns`, of an object of which only what is needed is read: its tail, columns."""
    tail = reader.read_tail()
    kind = _ipc.Source if bytes(tail[-len(_ipc.MAGIC) :]) == _ipc.MAGIC else _parquet.Source
    return _decode(kind.of_parts(reader, tail), columns)


def select(value: pd.DataFrame, columns: Sequence[Any]) -> pd.DataFrame:
    """As `decode_columns`, of a frame that is here."""
    positions = _positions(value.columns, columns)
    _require_once(positions, allowed=value.flags.allows_duplicate_labels)
    return value.iloc[:, positions]


def _require_once(positions: Sequence[int], *, allowed: bool) -> None:
    if not allowed and len(set(positions)) < len(positions):
        raise InvalidError(
            "columns=… names a column of the frame twice, and the frame's flags do not allow "
            "duplicate labels: name it once"
        )


def _source(data: memoryview) -> Source:
    if bytes(data[: len(_ipc.MAGIC)]) == _ipc.MAGIC:
        return _ipc.Source(data)
    return _parquet.Source.of(data)


def _decode(source: Source, wanted: Sequence[Any] | None = None) -> pd.DataFrame:
    """Decodes a file, or some columns of it."""
    raw = source.entry
    if raw is None:
        raise CorruptError("the object is a file of frames without the metadata of Airfreight's.")
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
        rows, batches = source.batches()
    else:
        positions = _positions(labels, wanted)
        _require_once(positions, allowed=metadata["duplicate_labels"])
        labels = labels.take(positions)
        needed = sorted({*positions, *range(count, len(specs))})
        rows, batches = source.batches(needed)
        specs = [specs[position] for position in needed]
        positions = [needed.index(position) for position in positions]
        count = len(needed) - (len(metadata["index_columns"]))
    arrays = from_batches(batches, rows, specs)
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
    # As pandas finds them, in a frame whose cells are the positions.
    everywhere = pd.DataFrame(np.arange(len(labels))[np.newaxis], columns=labels)
    try:
        found: list[int] = _selected(everywhere, wanted).iloc[0].tolist()
    except _LABEL_ERRORS:
        label = next((one for one in wanted if not _is_there(everywhere, one)), wanted[0])
        shown = ", ".join(repr(other) for other in labels[:_SHOWN_LABELS])
        more = f" and {len(labels) - _SHOWN_LABELS} more" if len(labels) > _SHOWN_LABELS else ""
        raise InvalidError(f"the frame has no column {label!r}; it has {shown}{more}") from None
    return found


def _selected(frame: pd.DataFrame, wanted: Sequence[Any]) -> pd.DataFrame:
    if wanted and all(isinstance(label, (bool, np.bool_)) for label in wanted):
        # To pandas a list of these is no labels, but tells which rows are taken.
        at = [
            position
            for label in wanted
            for position, other in enumerate(frame.columns)
            if isinstance(other, (bool, np.bool_)) and other == label
        ]
        if set(wanted) - {frame.columns[position] for position in at}:
            raise KeyError(wanted)
        return frame.iloc[:, at]
    return frame[list(wanted)]


def _is_there(frame: pd.DataFrame, label: Any) -> bool:
    try:
        _selected(frame, [label])
    except _LABEL_ERRORS:
        return False
    return True


def _plan(
    frame: pd.DataFrame, options: Options, documents: Collection[int], what: str = ""
) -> tuple[list[Column], list[Column], dict[str, Any]]:
    """How each column and index level is kept, and what the file's metadata says of it.

    `documents` are columns and levels of which Arrow can't hold a cell.
    """
    try:
        # First: pandas copies them with each column that is taken.
        with _refusing("attrs"):
            attrs = document.Encoder(options=options).encode(dict(frame.attrs))
    except document.Unsupported as error:
        raise TypeError(
            f"value.attrs{_short(str(error.as_type_error()).removeprefix('value'))}"
        ) from None
    columns = []
    for position, label in enumerate(_labels(frame)):
        with _refusing(what or f"column {_label(label)!r}"):
            series = frame.iloc[:, position]
            columns.append(make_column(series, options, documents=position in documents))
    with _refusing("the name" if what else "the column labels"):
        labels = pack_index(frame.columns, options)
    with _refusing("the index"):
        index = pack_index(frame.index, options, inline=False)
        index_columns = []
        if not index.get("range"):
            multi = isinstance(frame.index, pd.MultiIndex)
            index_columns = [
                make_column(
                    level_values(frame.index, level) if multi else frame.index,
                    options,
                    documents=len(columns) + level in documents,
                )
                for level in range(frame.index.nlevels)
            ]
    specs = [column.spec for column in columns]
    index_specs = [column.spec for column in index_columns]
    metadata = {
        # The least that a reader must know, so that older ones read what they can.
        "version": max(
            (labels_version(labels), labels_version(index), *map(version, specs + index_specs))
        ),
        "pandas": pd.__version__,
        "columns": specs,
        "index_columns": index_specs,
        "labels": labels,
        "index": index,
        "attrs": attrs,
        "duplicate_labels": frame.flags.allows_duplicate_labels,
    }
    return columns, index_columns, metadata


@contextlib.contextmanager
def _refusing(place: str) -> Iterator[None]:
    """Makes of what is raised of a part of a frame a TypeError that names it."""
    try:
        yield
    except Refused as error:
        raise TypeError(f"value: {place}: {_short(str(error))}") from None
    except RecursionError:
        raise TypeError(
            f"value: {place}: it holds itself, or is nested too deep to be kept; take out what "
            "leads back to the frame"
        ) from None
    except (Error, document.Unsupported):
        raise
    except _PART_ERRORS as error:
        # Of pandas or pyarrow, for values that they themselves only half know.
        text = _short(ascii(str(error))[1:-1])
        raise TypeError(
            f"value: {place}: can't be kept exactly ({type(error).__name__}: {text}); convert it "
            "with .astype(…)"
        ) from error


def _write(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    metadata: dict[str, Any],
    sink: Any,
    options: Options,
) -> list[int]:
    """Writes the file, and returns the number of nulls of each column; -1: not known."""
    fields = zip(_field_names(frame, columns), columns, strict=True)
    nulls: dict[int, tuple[int, list[int]]] = {}

    def take(start: int, stop: int) -> list[pa.Array]:
        arrays = [
            _arrow(frame, column, position, start, stop) for position, column in enumerate(columns)
        ]
        # A sample of rows may have been taken before they were written.
        nulls[start] = stop, list(map(null_count, columns, arrays))
        return arrays

    table = _parquet.Table(
        schema=pa.schema([pa.field(name, column.type) for name, column in fields]),
        rows=len(frame),
        row_bytes=[column.row_bytes for column in columns],
        take=take,
    )
    write = _ipc.write if options.format == "arrow" else _parquet.write
    write(sink, table, document.dump(metadata), options.compression)
    return _total(nulls, len(frame), len(columns))


def _total(nulls: dict[int, tuple[int, list[int]]], rows: int, columns: int) -> list[int]:
    """The sums of counts, each of rows from one number up to another."""
    sums, start = [0] * columns, 0
    while columns and start < rows:
        if start not in nulls:
            return [-1] * columns
        start, counts = nulls[start]
        sums = [-1 if count < 0 else sum_ + count for sum_, count in zip(sums, counts, strict=True)]
    return sums


def _arrow(frame: pd.DataFrame, column: Column, position: int, start: int, stop: int) -> pa.Array:
    try:
        return to_arrow(column, start, stop)
    except Exception as error:
        if not isinstance(error, _CELL_ERRORS):
            raise
        if may_be_documents(column):
            raise _NotKept from None
        count = frame.shape[1]
        place = f"column {_label(_labels(frame)[position])!r}" if position < count else "the index"
        raise TypeError(
            f"value: {place}: its values can't be kept in Parquet ({type(error).__name__})"
        ) from error


def _field_names(frame: pd.DataFrame, columns: Sequence[Column]) -> list[str]:
    """Parquet's names: the labels where these are distinct texts, else numbers."""
    labels = _labels(frame)
    plain = (
        all(type(label) is str and document.is_plain_text(label) for label in labels)
        and len(set(labels)) == len(labels)
        and not any(label.startswith("__index_level_") for label in labels)
    )
    names = list(labels) if plain else [f"c{position}" for position in range(len(labels))]
    return names + [f"__index_level_{level}__" for level in range(len(columns) - len(labels))]


def _labels(frame: pd.DataFrame) -> list[Any]:
    """The labels of the columns as objects; their numbers where Python has no such objects."""
    try:
        return list(frame.columns)
    except (*_CELL_ERRORS, NotImplementedError):
        return list(range(frame.shape[1]))


def _label(label: Any) -> str:
    try:
        text = str(label)
    except Exception:  # noqa: BLE001 (a tuple of times that Python's own classes do not reach)
        return f"<{type(label).__name__}>"
    if not text.isprintable():
        text = ascii(text)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _short(reason: str) -> str:
    if len(reason) <= _SHOWN_TEXT:
        return reason
    return f"{reason[: _SHOWN_TEXT // 2]} … {reason[-_SHOWN_TEXT // 2 :]}"


def _form(options: Options) -> Form:
    return _ipc.FORM if options.format == "arrow" else Form(EXTENSION, CONTENT_TYPE)

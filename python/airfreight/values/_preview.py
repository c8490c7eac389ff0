"""The first rows of a value as texts, for the row: the setting `preview_rows`.

Only the first rows are ever looked at, and of each cell no more than is shown. Cells of columns and
members of dicts whose names match `redact`, or which Airflow's own masking of secrets names, are
masked. Nothing is raised: what can't be shown shows its type.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fnmatch
import fractions
import itertools
import logging
import pathlib
import re
import unicodedata
import uuid
from collections import OrderedDict, defaultdict, deque
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from airfreight import _airflow
from airfreight.values import _describe, package_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from airfreight.values import Options

    #: Whether the cells under a label are hidden.
    Hides = Callable[[Any], bool]

#: What stands for a hidden cell, as in Airflow's logs.
MASK = "***"
#: Characters of a cell.
_CELL = 64
#: Bytes of all cells: more do not fit a reference.
_ROOM = 4096
#: How deep into a cell one looks.
_DEEPEST = 4
#: Items of a nested cell that are made into objects of Python's. (Each takes a character at least.)
_ITEMS = _CELL + 1
#: Bytes of nested cells of polars in a column, all of which become such objects.
_MOST_NESTED = 1 << 20
#: An integer of more bits is one that nobody reads, and slow to write down.
_MOST_BITS = 256

_TEXTS = (
    *(bool, float, complex, type(None), decimal.Decimal, fractions.Fraction, uuid.UUID),
    *(datetime.date, datetime.time, datetime.timedelta, pathlib.PurePath),
)
_DICTS = (dict, OrderedDict, defaultdict)
_NAMES = (str, bytes, bytearray, memoryview, enum.Enum)
_LISTS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("{", "}"),
    deque: ("[", "]"),
}
#: Scalars of pandas, whose texts are short.
_PANDAS = frozenset(("Interval", "NAType", "NaTType", "Period", "Timedelta", "Timestamp"))

_log = logging.getLogger("airfreight")


def cells(value: Any, labels: Sequence[Any], count: int, redact: Sequence[str]) -> list[list[str]]:
    """The first `count` rows of a value, each as the texts of its first cells.

    Args:
        value: pandas', polars', pyarrow's or numpy's, or a list of dicts; of all others there is no
            preview.
        labels: of the columns that are shown, in their order.
        count: of rows.
        redact: patterns of names, as `hider` takes them.
    """
    try:
        return _cells(value, labels, count, hider(tuple(redact), _airflow.sensitive_names()))
    except Exception as error:  # noqa: BLE001 (a preview is no reason to fail)
        _log.debug("No preview of a %s: %s", type(value).__name__, type(error).__name__)
        return []


def hides_by(options: Options) -> Hides:
    """What tells whether a label is hidden, by the settings and Airflow's own masking."""
    return hider(tuple(options.redact), _airflow.sensitive_names())


@lru_cache(maxsize=8)
def hider(redact: tuple[str, ...], names: frozenset[str] = frozenset()) -> Hides:
    """What tells whether a label is hidden.

    Args:
        redact: patterns with `*`, `?`, `[…]` of whole labels; without them a part of a label.
        names: parts of labels.
    """
    patterns = [
        rf"\A{fnmatch.translate(text)}" if re.search(r"[*?\[]", text) else re.escape(text)
        for text in map(_folded, redact)
    ]
    parts = (re.escape(_folded(name)) for name in sorted(names))
    found = re.compile("|".join((*patterns, *parts)), re.IGNORECASE)

    def hides(label: Any) -> bool:
        return bool(found.pattern) and any(found.search(_folded(one)) for one in _names_of(label))

    return hides


def _folded(text: str) -> str:
    """The text without the differences in spelling that no reader sees, or minds."""
    if not text.isascii():
        # A byte order mark before the first column of a CSV file, or a soft hyphen, is not seen;
        # nor is a filler, which is a letter.
        text = re.sub(_describe.IGNORABLE, "", text)
        text = "".join(one for one in text if unicodedata.category(one) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _names_of(label: Any) -> Iterator[str]:
    """What a label of a column or a dict is called."""
    if isinstance(label, (dict, frozenset, tuple)):  # A struct, as key of a map; of a MultiIndex.
        for one in label.values() if isinstance(label, dict) else label:
            yield from _names_of(one)
    elif isinstance(label, enum.Enum):
        yield label.name
        yield from _names_of(label.value)
    elif isinstance(label, (bytes, bytearray, memoryview)):
        raw = bytes(label[:_ROOM])
        yield raw.decode(errors="replace")
        yield raw.decode("latin-1")
    else:
        yield str.__str__(label) if isinstance(label, str) else str(label)


def _cells(value: Any, labels: Sequence[Any], count: int, hides: Hides) -> list[list[str]]:
    package = package_of(type(value))
    take = _OF_LIST if type(value) is list else _TAKERS.get(package)
    if take is None:
        return []
    hidden = [
        hides(name) for name in (_with_titles(value, labels) if package == "numpy" else labels)
    ]
    rows, used = [], 0
    for row in itertools.islice(take(value, labels, count), count):
        # A two-dimensional array has cells without labels of their own.
        covers = itertools.chain(hidden, itertools.repeat(any(hidden)))
        shown = [MASK if cover else text(cell, hides) for cell, cover in zip(row, covers)]  # noqa: B905 (endless)
        rows.append(shown)
        used += sum(map(len, shown)) + 3 * len(shown)
        if used > _ROOM:
            break
    return rows


def _with_titles(value: Any, labels: Sequence[Any]) -> list[Any]:
    """Labels with the other names that fields of numpy's structures may have."""
    fields = value.dtype.fields or {}
    return [(name, *fields[name][2:]) if name in fields else name for name in labels]


# --- Rows -----------------------------------------------------------------------------------------


def _of_pandas(value: Any, labels: Sequence[Any], count: int) -> Iterator[Sequence[Any]]:
    if hasattr(value, "iloc") and value.ndim == 2:
        head = value.iloc[:count, : len(labels)]
        head.attrs = {}  # Which pandas copies with each column.
        columns = [_pandas_column(head.iloc[:, at]) for at in range(len(labels))]
    elif type(value).__name__ == "MultiIndex":
        head = value[:count]
        columns = [_pandas_column(head.get_level_values(level)) for level in range(head.nlevels)]
    else:
        columns = [_pandas_column(value.iloc[:count] if hasattr(value, "iloc") else value[:count])]
    return zip(*columns, strict=True)


def _pandas_column(column: Any) -> list[Any]:
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is None or not kind.num_fields:
        return list(column)
    # Of a nested cell pandas makes all of it.
    cells: Any = getattr(column, "array", column).__arrow_array__()
    return [_arrow(cell) for cell in cells]


def _of_polars(value: Any, labels: Sequence[Any], count: int) -> Iterator[Sequence[Any]]:
    if not hasattr(value, "columns"):
        return ((cell,) for cell in _polars_column(value.head(count)))
    head = value.head(count)
    names = head.columns[: len(labels)]
    return zip(*(_polars_column(head.get_column(name)) for name in names), strict=True)


def _polars_column(column: Any) -> list[Any]:
    if str(column.dtype).startswith("List"):
        column = column.list.head(_ITEMS)
    if column.dtype.is_nested():
        column = column.gather(list(range(len(column))))  # Without the memory of all other rows.
        if column.estimated_size() > _MOST_NESTED:
            return [Nested()] * len(column)
    found: list[Any] = column.to_list()
    return found


class Nested:
    """Stands for a nested cell of which only the whole could be made."""


class Map(list[tuple[Any, Any]]):
    """The members of a cell that is a map, whose keys are names whatever they are."""


def _of_arrow(value: Any, labels: Sequence[Any], count: int) -> Iterator[Sequence[Any]]:
    tabular = hasattr(value, "schema")
    columns = value.columns[: len(labels)] if tabular else [value]
    return zip(*([_arrow(cell) for cell in column[:count]] for column in columns), strict=True)


def _arrow(scalar: Any, left: list[int] | None = None, room: int = 4 * (_CELL + 1)) -> Any:
    """A scalar of Arrow's as an object, with not more of it than is shown.

    Args:
        scalar: one cell, or what lies in one.
        left: how many more items of the cell, whatever it is that they lie in.
        room: bytes of a text.
    """
    left = [_ITEMS] if left is None else left
    kind = type(scalar).__name__
    if hasattr(scalar, "is_valid") and not scalar.is_valid:
        return None
    if kind in ("ExtensionScalar", "DictionaryScalar"):
        return _arrow(scalar.value, left, room)
    if kind == "MapScalar":
        pairs = scalar.values
        keys, items = pairs.field(0), pairs.field(1)
        return Map(
            # Of a key more than is shown is looked at.
            (_arrow(keys[at], room=_ROOM), _arrow(items[at], left))
            for at in _few(len(pairs), left)
        )
    if kind == "StructScalar":
        fields = range(scalar.type.num_fields)
        return {
            scalar.type.field(at).name: _arrow(scalar[at], left) for at in _few(len(fields), left)
        }
    if "List" in kind:
        found = scalar.values
        return [_arrow(found[at], left) for at in _few(len(found), left)]
    if "String" in kind:
        return bytes(scalar.as_buffer()[:room]).decode(errors="ignore")
    if "Binary" in kind:
        return memoryview(scalar.as_buffer())
    try:
        return scalar.as_py()
    except ValueError:  # Nanoseconds, without pandas.
        return str(scalar)


def _few(count: int, left: list[int]) -> Iterator[int]:
    """The numbers of the items that are made."""
    for at in range(count):
        if left[0] <= 0:
            return
        left[0] -= 1
        yield at


def _of_numpy(value: Any, labels: Sequence[Any], count: int) -> Iterator[Sequence[Any]]:
    if value.ndim not in (1, 2) or (value.ndim == 2 and value.dtype.names):
        return iter(())
    head = value[:count]
    if value.dtype.names:
        return zip(*(_items(head[name]) for name in value.dtype.names[: len(labels)]), strict=True)
    if value.ndim == 1:
        return ((cell,) for cell in _items(head))
    return iter(_items(head[:, : _describe.SCHEMA_COLUMNS]))


def _items(array: Any) -> list[Any]:
    # (Of a masked array what is masked is None; structures inside of one keep their names.)
    found: list[Any] = list(array) if array.dtype.kind in "mMV" else array.tolist()
    return found


def _of_list(value: Any, labels: Sequence[Any], count: int) -> Iterator[Sequence[Any]]:
    for record in value[:count]:
        if type(record) is not dict:
            return
        yield [record.get(name, "") for name in labels]


_OF_LIST = _of_list
_TAKERS: dict[str, Callable[[Any, Sequence[Any], int], Iterator[Sequence[Any]]]] = {
    "numpy": _of_numpy,
    "pandas": _of_pandas,
    "polars": _of_polars,
    "pyarrow": _of_arrow,
}


# --- Cells ----------------------------------------------------------------------------------------


def text(cell: Any, hides: Hides) -> str:
    """A cell as text of one line and bounded length. Never raises."""
    found = ""
    try:
        for piece in _pieces(cell, hides, 0):
            found += piece
            if len(found) > _CELL:
                found = f"{found[: _CELL - 1]}…"
                break
    except Exception:  # noqa: BLE001 (of an object of somebody's)
        found = f"<{type(cell).__name__[:_CELL]}>"
    return _describe.visible(found)


def _pieces(cell: Any, hides: Hides, depth: int) -> Iterator[str]:
    kind = type(cell)
    if kind is str:
        head = cell[: _CELL + 1]
        yield head if depth == 0 else repr(head)
    elif kind is int:
        bits = cell.bit_length()
        yield str(cell) if bits <= _MOST_BITS else f"<int of {bits:,} bits>"
    elif kind in (bytes, bytearray, memoryview):
        yield f"<{len(cell):,} bytes>"
    elif depth >= _DEEPEST:
        yield "…"
    elif kind in _DICTS:
        yield from _members(cell.items(), hides, depth)
    elif isinstance(cell, tuple) and hasattr(kind, "_fields"):
        yield from _members(zip(kind._fields, cell, strict=False), hides, depth)
    elif kind is Map:
        yield "["
        yield from _joined(_member(pair, hides, depth + 1, hidden=hides(pair[0])) for pair in cell)
        yield "]"
    elif kind is tuple and len(cell) == 2 and isinstance(cell[0], _NAMES) and hides(cell[0]):
        # A member of a dict, as Arrow has it.
        yield from _member(cell, hides, depth, hidden=True)
    elif kind in _LISTS:
        begin, end = _LISTS[kind]
        yield begin
        yield from _joined(_pieces(item, hides, depth + 1) for item in cell)
        yield end
    elif _is_of(kind, "numpy"):
        yield from _numpy_pieces(cell, hides, depth)
    elif isinstance(cell, enum.Enum):
        yield f"{kind.__name__}.{cell.name}"
    elif isinstance(cell, _TEXTS) or (kind.__name__ in _PANDAS and _is_of(kind, "pandas")):
        yield str(cell)
    else:
        # Its own text may tell anything.
        yield f"<{kind.__name__}>"


def _member(pair: tuple[Any, Any], hides: Hides, depth: int, *, hidden: bool) -> Iterator[str]:
    """A key and what it leads to."""
    name, item = pair
    yield "("
    yield from _pieces(name, hides, depth + 1)
    yield ", "
    yield from (MASK,) if hidden else _pieces(item, hides, depth + 1)
    yield ")"


def _is_of(kind: type, package: str) -> bool:
    return package_of(kind) == package


def _numpy_pieces(cell: Any, hides: Hides, depth: int) -> Iterator[str]:
    if type(cell).__name__ == "MaskedConstant":
        yield "None"
    elif hasattr(cell, "ndim") and cell.ndim:
        yield "["
        yield from _joined(_pieces(item, hides, depth + 1) for item in cell)
        yield "]"
    elif names := cell.dtype.names:
        hidden = {name for name in names if hides(_with_titles(cell, [name])[0])}
        fields = ((name, cell[name]) for name in names)
        yield from _members(fields, hides, depth, hidden.__contains__)
    elif cell.dtype.kind not in "mM" and type(plain := cell.item()) is not type(cell):
        yield from _pieces(plain, hides, depth)
    else:
        yield str(cell)  # A long double; a time, which may be a number for Python.


def _members(
    items: Iterable[tuple[Any, Any]], hides: Hides, depth: int, hidden: Hides | None = None
) -> Iterator[str]:
    """Names and what they lead to; `hidden` tells which are, where names are not all of it."""
    hidden = hidden or hides
    yield "{"
    yield from _joined(
        itertools.chain(
            _pieces(name, hides, depth + 1),
            (": ",),
            (MASK,) if hidden(name) else _pieces(item, hides, depth + 1),
        )
        for name, item in items
    )
    yield "}"


def _joined(parts: Iterable[Iterable[str]]) -> Iterator[str]:
    for number, part in enumerate(parts):
        if number:
            yield ", "
        yield from part

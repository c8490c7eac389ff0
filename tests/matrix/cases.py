"""The cases, and what became of one of them.

A **cell** is one of

- `exact`: the same type, bit for bit, by the oracle (tests/oracle);
- `nearest: what`: documented, and exactly that;
- `refused: why`: an error at push, or one at pull that says what the reader lacks;
- `absent: why`: the libraries at hand can't make the value;
- `changed: where`, `lost: why`: what must never be.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.matrix import other_cases, pandas_cases
from tests.matrix.table import SEPARATOR
from tests.matrix.world import made
from tests.oracle import difference


class Case(NamedTuple):
    """One kind of value."""

    family: str
    name: str
    expression: str

    def __str__(self) -> str:
        return f"{self.family}{SEPARATOR}{self.name}"


FAMILIES = pandas_cases.FAMILIES | other_cases.FAMILIES
CASES = [Case(family, *each) for family, them in FAMILIES.items() for each in them.items()]
#: Values that come back as another type, as documented: what that is, and how to make it.
NEAREST = {
    "duckdb relation": ("a pyarrow.Table", "pa.table({'a': [1]})"),
    "any object with __arrow_c_stream__": ("a pyarrow.Table", "pa.table({'a': [1, None]})"),
    # In the row only, and as with Airflow's own backend: formats/document.md.
    "dict in the order of its making": (
        "in a row an equal dict, in the database's order",
        "{'a': 2, 'z': 1}",
    ),
}
#: Better first.
RANKS = ("exact", "nearest", "refused", "absent", "lost", "changed")


def kind(cell: str) -> str:
    """The first word of a cell."""
    return cell.partition(":")[0]


def value(case: Case) -> Any:
    """The value of a case, made anew. Raises Absent where the libraries have no such thing."""
    try:
        return made(case.expression)
    except Exception as error:
        raise Absent(_short(error)) from error


class Absent(Exception):  # noqa: N818 (no error)
    """The libraries at hand can't make a value."""


class Refusal(Exception):  # noqa: N818 (of the error that caused it)
    """A push, or a reader that lacks something, said no, with this error as its cause."""


def outcome(case: Case, through: Callable[[Any], Any]) -> str:
    """The cell of a case; `through` pushes and pulls, and raises Refusal where that may be."""
    try:
        pushed = value(case)
    except Absent as error:
        return f"absent: {error}"
    try:
        back = through(pushed)
    except Refusal as error:
        return f"refused: {_short(error.__cause__)}"
    except Exception as error:
        return f"lost: {_short(error)}"
    return compared(case, back)


def compared(case: Case, back: Any) -> str:
    """The cell of what came back."""
    back = comparable(back)
    found = difference(back, comparable(value(case)))
    if found is None:
        return "exact"
    what = ""
    if case.name in NEAREST:
        what, expression = NEAREST[case.name]
        found = difference(back, comparable(made(expression)))
    return f"nearest: {what}" if found is None else f"changed: {_cut(found)}"


def comparable(it: Any) -> Any:
    """What the oracle can look at, of values that are more than what they hold."""
    pa, mapped = sys.modules.get("pyarrow"), sys.modules.get("airfreight.mapped")
    files = sys.modules.get("airfreight.files")
    if pa is not None and isinstance(it, pa.RecordBatchReader):
        return "a reader", it.read_all()
    if mapped is not None and isinstance(it, mapped.MappableList):
        return "a mappable list", list(it)
    if mapped is not None and isinstance(it, mapped.MappableDict):
        return "a mappable dict", dict(it)
    if files is not None and isinstance(it, files.File):
        return "a file", it.path.name, dict(_contents(it.path))
    if type(it) is dict:
        return {name: comparable(item) for name, item in it.items()}
    return it


def _contents(path: Path) -> Iterator[tuple[str, Any]]:
    for each in [path, *sorted(path.rglob("*"))]:
        yield str(each.relative_to(path)), each.read_bytes() if each.is_file() else None


def _short(error: BaseException | None) -> str:
    return _cut(f"{error}" or type(error).__name__)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 200 else f"{text[:199]}…"


def worst(cells: list[str]) -> str:
    """The worst of several cells of one case."""
    return max(cells, key=lambda cell: RANKS.index(kind(cell)))

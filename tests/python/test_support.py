"""The support table: what came back exactly does so still, and what is refused is known."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.matrix import backends, table
from tests.matrix.cases import CASES, FAMILIES, RANKS, Case, kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.python.conftest import Box

TABLE = table.load()
COLUMN = backends.environment()
AGAIN = "if it is meant so, `./dev support` measures the table anew"


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The classes of the cases may be loaded."""
    monkeypatch.setenv("AIRFLOW__CORE__ALLOWED_DESERIALIZATION_CLASSES", backends.ALLOWED)
    forget_patterns()
    yield
    monkeypatch.undo()
    forget_patterns()


def forget_patterns() -> None:
    # Where the first is there the second is its old name, and warns.
    try:
        serde: Any = importlib.import_module("airflow.sdk.serde")
    except ModuleNotFoundError:
        serde = importlib.import_module("airflow.serialization.serde")
    for function in ("_match", "_match_glob", "_match_regexp", "_get_patterns"):
        getattr(getattr(serde, function, None), "cache_clear", lambda: None)()


@pytest.mark.skipif(COLUMN not in TABLE["environments"], reason="the table has no such Airflow")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_cell_of_the_table_gets_worse(box: Box, case: Case) -> None:
    known = TABLE["families"][case.family][case.name][COLUMN]
    found = backends.with_airfreight(case, box)
    cell = f"{COLUMN}, {case}"
    assert kind(found) in ("exact", "nearest", "refused", "absent"), f"{cell}: {found}"
    worse = RANKS.index(kind(found)) - RANKS.index(kind(known))
    assert worse <= 0, f"{cell}: was {known}, is {found}"
    assert worse == 0, f"{cell}: was {known}, is {found}: `./dev support` writes that down"
    if kind(known) == "nearest":
        assert found == known, f"{cell}: {AGAIN}"


def test_the_table_has_a_row_for_each_case() -> None:
    rows = {(family, name) for family, them in TABLE["families"].items() for name in them}
    assert rows == {(case.family, case.name) for case in CASES}
    assert sum(map(len, FAMILIES.values())) == len(rows)


def test_what_the_table_says_is_possible_at_all() -> None:
    """No cell may say that a value changed or got lost, and each exists somewhere."""
    for family, rows in TABLE["families"].items():
        for name, row in rows.items():
            ours = [cell for column, cell in row.items() if column.startswith("airflow-")]
            pairs = list(row.get(table.VERSIONS, {}).values())
            for cell in ours + pairs:
                assert kind(cell) in ("exact", "nearest", "refused", "absent"), (family, name, cell)
            assert not all(kind(cell) == "absent" for cell in ours), (family, name)
            if family != "not supported":
                assert "refused" not in map(kind, ours), (family, name, ours)

# ruff: noqa: E501 (the page's text)
"""The committed support table, `support.json`, and the page that is made of it.

For each family and name of a case, by column: `airflow-<version>` and `official` hold a cell,
`versions` the cells that are not exact when one set of versions (tools/matrix/) writes and another
reads: `"oldest > newest"` to its cell.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("support.json")
OFFICIAL = "official"
VERSIONS = "versions"
#: Between the family and the name of a case, where both are one text.
SEPARATOR = " · "

_HEAD = """\
# What comes back

Each kind of value, pushed and pulled, and compared bit for bit, with the classes of everything inside (`tests/oracle`): in the row where it is small and Parquet otherwise,
and all of it in the store as Arrow. This page is made from `tests/matrix/support.json` by `./dev support`, which measures it; the tests fail when a cell
gets worse.

- **exact**: the same type and dtypes, labels, index, order, missing values, attributes.
- **nearest**: another type, as documented.
- **refused**: a `TypeError` at push, with the place and the reason; in the column *versions* also an error at pull that names what the reader lacks.
- **absent**: the libraries of that environment can't make such a value.

*Versions* is written under one set of versions of pandas, numpy, pyarrow and polars and read under another, in all pairs of those below. *Official* is Airflow's
`XComObjectStorageBackend` (`apache-airflow-providers-common-io`), threshold 0, on Airflow 3.3.2, called as Airflow calls it: **changed** came back as something else, **lost** could not be read.
"""


def load() -> dict[str, Any]:
    """The committed table."""
    found: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def text(table: dict[str, Any]) -> str:
    """The table as it is committed: a line for each case."""
    lines = []
    for family, rows in table["families"].items():
        cells = [f"   {_json(name)}: {_json(row)}" for name, row in rows.items()]
        lines.append(f"  {_json(family)}: {{\n" + ",\n".join(cells) + "\n  }")
    environments = ",\n".join(
        f"  {_json(name)}: {_json(its)}" for name, its in table["environments"].items()
    )
    body = ",\n".join(lines)
    return f'{{\n "environments": {{\n{environments}\n }},\n "families": {{\n{body}\n }}\n}}\n'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def page(table: dict[str, Any]) -> str:
    """The text of docs/support.md."""
    columns = [name for name in table["environments"] if name.startswith("airflow-")]
    sets = [name for name in table["environments"] if name not in columns]
    parts = [_HEAD]
    parts.append(_rows(["", "python", "pandas", "numpy", "pyarrow", "polars"], [
        [name, *(table["environments"][name].get(it, "–") for it in
                 ("python", "pandas", "numpy", "pyarrow", "polars"))]
        for name in table["environments"]
    ]))  # fmt: skip
    rows = [row for family in table["families"].values() for row in family.values()]
    parts.append("\n" + _rows(["of these kinds", *columns, OFFICIAL], _counts(rows, columns)))
    pairs = len(sets) ** 2
    for family, cases in table["families"].items():
        lines = []
        for name, row in cases.items():
            cells = [_cell(row.get(column, "")) for column in columns]
            lines.append([name, *cells, _versions(row.get(VERSIONS), pairs), _cell(row[OFFICIAL])])
        parts.append(f"\n## {family}\n\n" + _rows(["", *columns, VERSIONS, OFFICIAL], lines))
    return "\n".join(parts)


def _counts(rows: list[Any], columns: list[str]) -> list[list[str]]:
    kinds = ("exact", "nearest", "refused", "absent", "changed", "lost")
    counted = []
    for kind in kinds:
        of_each = [
            sum(row[column].partition(":")[0] == kind for row in rows)
            for column in (*columns, OFFICIAL)
        ]
        counted.append([kind, *map(str, of_each)])
    return [*counted, ["all", *[str(len(rows))] * (len(columns) + 1)]]


def _versions(cells: dict[str, str] | None, pairs: int) -> str:
    if cells is None:
        return "–"
    if not cells:
        return "exact"
    told: dict[str, list[str]] = {}
    for pair, cell in cells.items():
        told.setdefault(_cell(cell), []).append(pair)
    shown = [f"{cell} ({', '.join(its)})" for cell, its in told.items()]
    if len(cells) < pairs:
        shown.append("else exact")
    return "; ".join(shown)


def _cell(cell: str) -> str:
    kind, _, why = cell.partition(": ")
    if kind in ("absent", "lost") or (kind == "refused" and len(why) > 90):
        why = why if len(why) <= 90 else f"{why[:89]}…"
    return f"{kind}: {why}" if why else kind


def _rows(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_escaped, line)) + " |" for line in lines) + "\n"


def _escaped(text_: str) -> str:
    return text_.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")

"""`./dev support` and the stage `matrix`: what comes back, also under other versions of libraries.

Each file of tools/matrix/ is a set of versions of pandas, numpy, pyarrow and polars. A small
environment of each, without an Airflow, writes all values of tests/matrix and reads what the others
wrote.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from tests.matrix import table

from tools import airflow_env
from tools.dev import build, docs
from tools.dev import setup as installing
from tools.dev.base import BUILD, ROOT, VENVS, DevError, run, say

SETS = ROOT / "tools" / "matrix"
#: Whose cells the table has; the first has the official backend too.
AIRFLOWS = ("3.3.2", "2.11.2")
_SHOWN = 20


def sets() -> list[str]:
    """The names of the sets, oldest first."""
    return sorted((path.stem for path in SETS.glob("*.txt")), key=_oldest_first)


def _oldest_first(name: str) -> tuple[int, ...]:
    pinned = dict(
        line.split("==") for line in (SETS / f"{name}.txt").read_text().splitlines() if "==" in line
    )
    return tuple(int(part) for part in pinned["pyarrow"].split("."))


def environment(name: str, wheel: Path) -> Path:
    """The Python of an environment with a set and the wheel."""
    venv = VENVS / f"matrix-{name}"
    pins = SETS / f"{name}.txt"
    stamp = venv / ".airfreight-matrix"
    wanted = hashlib.sha256(wheel.read_bytes() + pins.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        uv = installing.tools_venv() / "bin" / "uv"
        run([uv, "venv", "-q", "--clear", "--python", airflow_env.base_python(), venv], quiet=True)
        run([uv, "pip", "install", "-q", "--python", venv, "-r", pins, wheel], quiet=True)
        stamp.write_text(wanted)
    return venv / "bin" / "python"


def _measured(python: Path, *words: str | Path) -> dict[str, Any]:
    """What a program of tests/matrix finds."""
    out = (
        BUILD / "matrix" / ("-".join(Path(word).name for word in words) + f"-{_name(python)}.json")
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    run([python, "-m", "tests.matrix", *words, out], quiet=True)
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def _name(python: Path) -> str:
    return python.parents[1].name


class Pairs:
    """The cells of every pair of sets, and the versions of each set."""

    def __init__(self, wheel: Path) -> None:
        names = sets()
        pythons = {name: environment(name, wheel) for name in names}
        folder = BUILD / "matrix" / "corpus"
        shutil.rmtree(folder, ignore_errors=True)
        with ThreadPoolExecutor(2) as pool:
            wrote = dict(
                zip(
                    names,
                    pool.map(lambda it: _measured(pythons[it], "write", folder / it), names),
                    strict=True,
                )
            )
            pairs = list(product(names, names))
            read = pool.map(lambda it: _measured(pythons[it[1]], "read", folder / it[0]), pairs)
            found = {
                f"{writer} > {reader}": result["cells"]
                for (writer, reader), result in zip(pairs, read, strict=True)
            }
        self.versions: dict[str, dict[str, str]] = {it: wrote[it]["versions"] for it in names}
        #: By case: pair to cell, where that is not exact.
        self.cells: dict[str, dict[str, str]] = {}
        for pair, cells in found.items():
            failed = wrote[pair.partition(" > ")[0]]["cells"]
            for case, cell in {**cells, **failed}.items():
                its = self.cells.setdefault(case, {})
                if cell != "exact":
                    its[pair] = cell


def check() -> None:
    """Raise when a value comes back worse, or better, under some pair than the table says."""
    pairs = Pairs(build.wheel())
    known = {
        f"{family}{table.SEPARATOR}{name}": row[table.VERSIONS]
        for family, rows in table.load()["families"].items()
        for name, row in rows.items()
        if table.VERSIONS in row
    }
    differing = [
        f"{case}, {pair}: was {was}, is {now}"
        for case in sorted(known.keys() | pairs.cells.keys())
        for pair in sorted(known.get(case, {}).keys() | pairs.cells.get(case, {}).keys())
        if _kind(was := known.get(case, {}).get(pair, "exact"))
        != _kind(now := pairs.cells.get(case, {}).get(pair, "exact"))
    ]
    count = len(pairs.versions) ** 2
    say(f"{len(pairs.cells)} values, {count} pairs of {', '.join(pairs.versions)}")
    if differing:
        more = f"\n… and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
        raise DevError(
            "cells of the support table differ (if that is meant so, `./dev support` writes it "
            "down):\n" + "\n".join(differing[:_SHOWN]) + more
        )


def _kind(cell: str) -> str:
    # Of what is near it counts what it is.
    return cell if cell.startswith("nearest") else cell.partition(":")[0]


def measure() -> None:
    """Measure the table and write it, and its page."""
    wheel = build.wheel()
    environments: dict[str, dict[str, str]] = {}
    columns: dict[str, dict[str, str]] = {}
    for version in AIRFLOWS:
        python = installing.airflow_venv(version, wheel) / "bin" / "python"
        found = _measured(python, "airfreight")
        name = f"airflow-{version}"
        environments[name], columns[name] = found["versions"], found["cells"]
        if table.OFFICIAL not in columns:
            columns[table.OFFICIAL] = _measured(python, "official")["cells"]
    pairs = Pairs(wheel)
    environments |= pairs.versions
    families: dict[str, dict[str, Any]] = {}
    for case in columns[table.OFFICIAL]:
        family, name = case.split(table.SEPARATOR, 1)
        row: dict[str, Any] = {column: cells[case] for column, cells in columns.items()}
        if case in pairs.cells:
            row[table.VERSIONS] = pairs.cells[case]
        families.setdefault(family, {})[name] = row
    written = table.text({"environments": environments, "families": families})
    table.PATH.write_text(written, encoding="utf-8")
    docs.write()

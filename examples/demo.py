"""`./dev demo`: the example DAG on a real Airflow, with Airfreight and the official backend.

Prints what the database rows hold, what lies in the store, and what each task took.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.airflow.harness import Airflow, XComRow

VERSION = "3.3.2"
DAG = "airfreight_demo"
DAGS = Path(__file__).resolve().parent / "dags"


@dataclass
class Outcome:
    """What one run of the DAG left behind; the dictionaries are by task."""

    state: str
    rows: list[XComRow]
    objects: list[tuple[str, int]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def value(self, task: str, key: str) -> Any:
        """The decoded row of a task; None when there is none."""
        found = [row.value for row in self.rows if (row.task_id, row.key) == (task, key)]
        return found[0] if found else None

    def push_seconds(self) -> float | None:
        """From the moment the frame was made to the end of its task: push, row, farewell."""
        made = self.value("extract", "made")
        return None if made is None else self.ended["extract"] - float(made)

    def pull_seconds(self) -> float | None:
        """What pulling the frame took the task that checks it."""
        facts = self.value("check", "return_value")
        return facts["pull_seconds"] if isinstance(facts, dict) else None

    def frame_bytes(self) -> int:
        """What the frame takes in the store."""
        return sum(size for name, size in self.objects if "/extract/" in name)


def run_dag(backend: str, settings: dict[str, str], store: Path | None = None) -> Outcome:
    """Start an Airflow with the given backend, run the DAG to its end and gather what it left.

    Args:
        backend: `[core] xcom_backend`.
        settings: environment variables.
        store: where the objects lie; by default in Airfreight's default store.
    """
    env = {"AIRFLOW__CORE__XCOM_BACKEND": backend, **settings}
    with Airflow(VERSION, DAGS, env, name="demo") as airflow:
        run = airflow.trigger(DAG)
        state = airflow.wait(DAG, run)
        instances = airflow.postgres.rows(
            "SELECT task_id, map_index, state,"
            " EXTRACT(EPOCH FROM end_date - start_date) AS seconds,"
            " EXTRACT(EPOCH FROM end_date) AS ended"
            " FROM task_instance WHERE run_id = :'run'",
            run=run,
        )
        outcome = Outcome(state, airflow.xcom_rows(DAG, run))
        for row in instances:
            name = row["task_id"]
            outcome.seconds[name] = outcome.seconds.get(name, 0.0) + float(row["seconds"] or 0)
            outcome.ended[name] = max(outcome.ended.get(name, 0.0), float(row["ended"] or 0))
            worse = {outcome.states.get(name), row["state"]} - {"success", None}
            outcome.states[name] = worse.pop() if worse else "success"
            if row["state"] == "failed" and name not in outcome.errors:
                log = airflow.task_log(DAG, run, name, row["map_index"])
                outcome.errors[name] = _error(log)
        root = store or airflow.home / "airfreight"
        outcome.objects.extend(
            sorted(
                (str(path.relative_to(root)), path.stat().st_size)
                for path in root.rglob("*")
                if path.is_file() and "/." not in f"/{path.relative_to(root)}"
            )
        )
        return outcome


def _error(log: str) -> str:
    """The type and message of the exception that ended a task, from its log's JSON lines."""
    for line in reversed(log.splitlines()):
        try:
            detail = json.loads(line).get("error_detail") or []
        except (ValueError, AttributeError):
            continue
        for item in detail:
            return f"{item.get('exc_type')}: {str(item.get('exc_value'))[:90]}"
    return "failed"


def megabytes(size: float) -> str:
    """A size for people, decimal units."""
    return f"{size / 1e6:.2f} MB" if size >= 1e5 else f"{size:.0f} B"


def report(ours: Outcome, official: Outcome) -> None:
    """Print the tables."""
    print("What the database rows hold (Airfreight)")
    reference = None
    for row in ours.rows:
        value = row.value
        where = row.task_id + (f"[{row.map_index}]" if row.map_index >= 0 else "")
        shown = json.dumps(value)
        if isinstance(value, dict) and "_airfreight" in value:
            shown = value["summary"]
            reference = reference or value
        print(f"  {where:<12}{row.key:<14}{len(row.raw):>5} B  {shown}")
    print("\nOne of them whole, as the UI and REST show it without any access to the store")
    for name, content in (reference or {}).items():
        print(f"  {name:<14}{json.dumps(content, ensure_ascii=False)}")

    print("\nWhat lies in the store (Airfreight)")
    for name, size in ours.objects:
        print(f"  {megabytes(size):>10}  {unquote(name)}")

    print("\nThe same DAG with each backend")
    print(f"  {'':<34}{'Airfreight':>12}{'official':>18}")

    def line(text: str, mine: str, theirs: str, note: str = "") -> None:
        print(f"  {text:<34}{mine:>12}{theirs:>18}  {note}".rstrip())

    line(
        "push of the frame, to its task's end", _s(ours.push_seconds()), _s(official.push_seconds())
    )
    line("pull of the frame", _s(ours.pull_seconds()), _s(official.pull_seconds()))
    line("the frame in the store", megabytes(ours.frame_bytes()), megabytes(official.frame_bytes()))
    for name in ("extract", "check", "simulate", "collect"):
        theirs = official.states.get(name, "?")
        cell = _s(official.seconds[name]) if theirs == "success" else theirs
        note = official.errors.get(name, "")
        line(
            f"task {name}" + (" × 10" if name == "simulate" else ""),
            _s(ours.seconds[name]),
            cell,
            note,
        )
    print(f"\nAirfreight: {ours.state}. Official backend: {official.state}.")


def _s(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f} s"


def main() -> int:
    """Run both and print the tables."""
    print(
        f"The DAG on Airflow {VERSION} with Airfreight (default store: a directory) …", flush=True
    )
    ours = run_dag("airfreight.XComBackend", {})
    print("… and with the official backend of the common.io provider.\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="airfreight-demo-") as directory:
        official = run_dag(
            "airflow.providers.common.io.xcom.backend.XComObjectStorageBackend",
            {
                "AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_PATH": f"file://{directory}",
                "AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_THRESHOLD": "32768",
            },
            Path(directory),
        )
    report(ours, official)
    return 0 if ours.state == "success" else 1


if __name__ == "__main__":
    sys.exit(main())

"""`./dev demo`: run the example DAG on a real Airflow, with Airfreight and with the official backend.

Prints what the database rows hold, what lies in the store, and what each task took.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from tests.airflow.harness import Airflow, XComRow

VERSION = "3.3.2"
DAG = "airfreight_demo"
DAGS = Path(__file__).resolve().parent / "dags"


@dataclass(frozen=True)
class Outcome:
    """What one run of the DAG left behind."""

    state: str
    rows: list[XComRow]
    objects: list[tuple[str, int]]
    seconds: dict[str, float]
    states: dict[str, str]
    errors: dict[str, str]


def run_dag(backend: str, settings: dict[str, str]) -> Outcome:
    """Start an Airflow with the given backend, run the DAG to its end and gather what it left."""
    env = {"AIRFLOW__CORE__XCOM_BACKEND": backend, **settings}
    with Airflow(VERSION, DAGS, env, name="demo") as airflow:
        run = airflow.trigger(DAG)
        state = airflow.wait(DAG, run)
        instances = airflow.postgres.rows(
            "SELECT task_id, map_index, state, EXTRACT(EPOCH FROM end_date - start_date) AS seconds"
            " FROM task_instance WHERE run_id = :'run'",
            run=run,
        )
        seconds: dict[str, float] = {}
        states: dict[str, str] = {}
        errors: dict[str, str] = {}
        for row in instances:
            name = row["task_id"]
            seconds[name] = seconds.get(name, 0.0) + float(row["seconds"] or 0)
            worse = {states.get(name), row["state"]} - {"success", None}
            states[name] = worse.pop() if worse else "success"
            if row["state"] == "failed" and name not in errors:
                errors[name] = _error(airflow.task_log(DAG, run, name, row["map_index"]))
        root = airflow.home / "airfreight"  # The default store.
        objects = sorted(
            (str(path.relative_to(root)), path.stat().st_size)
            for path in root.rglob("*")
            if path.is_file() and not path.name.startswith(".")
        )
        return Outcome(state, airflow.xcom_rows(DAG, run), objects, seconds, states, errors)


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


def main() -> int:
    """Run both and print the tables."""
    print("Running the DAG on Airflow 3.3.2 with Airfreight (default store: a directory) …", flush=True)
    ours = run_dag("airfreight.XComBackend", {})
    print("… and with the official backend of the common.io provider.\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="airfreight-demo-") as directory:
        official = run_dag(
            "airflow.providers.common.io.xcom.backend.XComObjectStorageBackend",
            {
                "AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_PATH": f"file://{directory}",
                "AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_THRESHOLD": "32768",
            },
        )

    print("What the database rows hold (Airfreight)")
    first = True
    for row in ours.rows:
        value = row.value
        where = row.task_id + (f"[{row.map_index}]" if row.map_index >= 0 else "")
        is_reference = isinstance(value, dict) and "_airfreight" in value
        shown = value["summary"] if is_reference else json.dumps(value)
        print(f"  {where:<14}{row.key:<14}{len(row.raw):>6} B  {shown[:110]}")
        if first and is_reference:
            print("    the whole reference:")
            print("      " + json.dumps(value, indent=2).replace("\n", "\n      "))
            first = False

    print("\nWhat lies in the store (Airfreight)")
    for name, size in ours.objects:
        print(f"  {megabytes(size):>10}  {unquote(name)}")

    print("\nThe same DAG, seconds per task (ten instances added up), rows in the database")
    print(f"  {'task':<12}{'Airfreight':>12}{'official':>12}")
    for name in ("extract", "check", "simulate", "collect"):
        theirs = official.states.get(name, "?")
        cell = f"{official.seconds[name]:.1f} s" if theirs == "success" else theirs
        print(f"  {name:<12}{ours.seconds[name]:>10.1f} s{cell:>12}  {official.errors.get(name, '')}")
    print(
        f"  {'rows':<12}{megabytes(sum(len(r.raw) for r in ours.rows)):>12}"
        f"{megabytes(sum(len(r.raw) for r in official.rows)):>12}"
    )
    print(f"\nAirfreight: {ours.state}. Official backend: {official.state}.")
    return 0 if ours.state == "success" else 1


if __name__ == "__main__":
    sys.exit(main())

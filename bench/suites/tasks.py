"""Whole tasks on a real Airflow: what its own walk around a value costs, and what is left of it.

The same DAG twice (`bench/dags`), its tasks one after the other: with Airflow's own ways (the value
that a task returns is logged, all of an argument is rendered), and with Airfreight's policy. Both
have Airfreight's backend and a store in a directory. The time of a task is that between its start
and its end in Airflow's database; `nothing` is a task that does nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.airflow.harness import Airflow, HarnessError

from bench.parent import BenchError
from bench.report import Bar, save, table

if TYPE_CHECKING:
    from bench.suites import Options

ENVIRONMENT = {"AIRFLOW__CORE__XCOM_BACKEND": "airfreight.XComBackend"}
DAGS = Path(__file__).resolve().parent.parent / "dags"
#: How long a run may take, in seconds, before it is said to hang.
PATIENCE = 900
VERSIONS = ("3.3.2", "2.11.2")
BEFORE, AFTER = "as_airflow", "by_policy"
CASES = (
    ("return_text", "returns a text of 64 MB"),
    ("take_records", "takes 300,000 records, 20 MB"),
    ("pull_records", "pulls them itself"),
    ("take_frame", "takes a polars frame, 80 MB"),
    ("pull_frame", "pulls it itself"),
    ("nothing", "does nothing"),
)


def run(_options: Options) -> list[Bar]:
    """Both DAGs, on each release that there is an environment for."""
    bars: list[Bar] = []
    for version in VERSIONS:
        try:
            airflow = Airflow(version, DAGS, ENVIRONMENT, rest=False, name=f"bench-{version}")
        except HarnessError as error:
            print(f"\ntasks: not on Airflow {version}: {error}")
            continue
        with airflow:
            bars += _on(airflow, version)
    return bars


def _on(airflow: Airflow, version: str) -> list[Bar]:
    seconds = {dag: _seconds(airflow, dag) for dag in (BEFORE, AFTER)}
    save(f"tasks-{version}", seconds)
    rows = [
        [title, f"{seconds[BEFORE][task]:.1f}", f"{seconds[AFTER][task]:.1f}"]
        for task, title in CASES
    ]
    table(
        f"whole tasks on Airflow {version}: seconds",
        ["a task that", "Airflow's own ways", "policy"],
        rows,
    )
    return [
        Bar(
            f"{version}: a task that {title}",
            seconds[AFTER][task] / seconds[BEFORE][task],
            1,
            note="policy over Airflow's own ways",
        )
        for task, title in CASES
        if task in ("return_text", "take_records", "take_frame")
    ]


def _seconds(airflow: Airflow, dag: str) -> dict[str, float]:
    run = airflow.trigger(dag)
    state = airflow.wait(dag, run, PATIENCE)
    if state != "success":
        states = airflow.task_states(dag, run)
        raise BenchError(f"{dag} ended as {state}: {states}")
    found = airflow.postgres.rows(
        "SELECT task_id, EXTRACT(EPOCH FROM end_date - start_date) AS seconds"
        " FROM task_instance WHERE dag_id = :'dag' AND run_id = :'run'",
        dag=dag,
        run=run,
    )
    return {row["task_id"]: float(row["seconds"]) for row in found}

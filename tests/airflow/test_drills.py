"""The worst, in the midst of a run: store, worker and tasks are killed, the database restarts.

With retries on, every value that a task reported as pushed is pulled equal afterwards, and none is
another. `./dev soak drills` does the same with 200 tasks (`AIRFLOW_TEST_DRILLS`).
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.airflow.conftest import BACKEND, DAGS, RUN_ID, Run
from tests.airflow.harness import POLL, Airflow
from tests.servers.versitygw import VersityGW

pytestmark = [pytest.mark.airflow, pytest.mark.s3, pytest.mark.releases("3.3.2")]

TASKS = int(os.environ.get("AIRFLOW_TEST_DRILLS", "20"))
#: How many are killed: a worker, and processes of tasks.
KILLS = max(3, TASKS // 20)
#: No task of a healthy machine takes a tenth of it.
PATIENCE = 240.0 + 6 * TASKS

# Arrays may stay in their rows while the store is away; what pushes others is tried again.
POLICY = '[[rules]]\nname = "arrays"\ntype = "numpy.ndarray"\noutage = "inline"\n'


class Drill:
    """An Airflow on an S3 server, and what happens to both."""

    def __init__(self, airflow: Airflow, server: VersityGW, facts: pathlib.Path) -> None:
        self.airflow = airflow
        self.server = server
        self.facts = facts
        self.killed = 0
        self.revived: list[str] = []

    def noted(self, dag: str = "drills") -> dict[str, list[Any]]:
        """What tasks have noted so far, by name."""
        found: dict[str, list[Any]] = {}
        path = self.facts / dag / f"{RUN_ID}.jsonl"
        for line in path.read_text().splitlines() if path.exists() else ():
            one = json.loads(line)
            found.setdefault(one["fact"], []).append(one["outcome"])
        return found

    def states(self) -> list[str | None]:
        with contextlib.suppress(Exception):  # The database is on its way.
            return list(self.airflow.task_states("drills", RUN_ID).values())
        return []

    def kept(self) -> list[dict[str, Any]]:
        """The values that lie in their rows since the outage."""
        rows = [row.value for row in self.airflow.xcom_rows("drills", RUN_ID)]
        return [row for row in rows if row["_xcom_backend"] == "inline"]

    def until(self, what: str, done: Callable[[], bool], busy: Callable[[], None]) -> None:
        """Waits as a supervisor does: whoever has ended is started again."""
        end = time.monotonic() + PATIENCE
        while not done():
            self.revived += self.airflow.revive()
            if time.monotonic() > end:
                pytest.fail(f"waited {PATIENCE:.0f} s until {what}: {self.states()}")
            busy()
            time.sleep(POLL)

    def kill_one(self) -> None:
        """Kills a process that is running a task, if one has just said that it does.

        The first is the worker itself: the task then runs on with nobody who looks after it.
        """
        if self.killed >= KILLS:
            return
        for mark in (self.facts / "running").glob("*"):
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                mark.unlink()
                task, worker = map(int, mark.name.split("-"))
                os.kill(task if self.killed else worker, signal.SIGKILL)
                self.killed += 1
                return


@pytest.fixture(scope="module")
def drill(version: str, scratch: pathlib.Path, given_env: dict[str, str]) -> Iterator[Drill]:
    facts = scratch / "drill-facts"
    with VersityGW(bucket="freight") as server:
        env = {
            **BACKEND,
            **server.environment(),
            "AWS_ENDPOINT_URL_S3": server.endpoint,
            "AIRFLOW__AIRFREIGHT__STORE": "s3://freight/xcom",
            "AIRFLOW__AIRFREIGHT__POLICY": POLICY,
            "AIRFLOW__AIRFREIGHT__TIMEOUT": "1",
            "AIRFLOW_TEST_FACTS": str(facts),
            "AIRFLOW_TEST_DRILLS": str(TASKS),
            # Whoever lost its process is found soon.
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "2",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
            "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
            "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "10",
            **given_env,
        }
        with Airflow(version, DAGS, env, name=f"{version}-drills") as airflow:
            yield Drill(airflow, server, facts)


def test_what_tasks_reported_as_pushed_is_pulled_equal_whatever_failed(drill: Drill) -> None:
    airflow, server = drill.airflow, drill.server
    airflow.trigger("drills", RUN_ID)

    def succeeded() -> int:
        return drill.states().count("success")

    drill.until("the first tasks have ended", lambda: succeeded() >= 2, lambda: None)
    server.kill()
    drill.until(
        "values stay in rows and other tasks have failed for want of the store",
        lambda: bool(drill.kept()) and "up_for_retry" in drill.states(),
        lambda: None,
    )
    server.revive()
    drill.until("a worker was killed", lambda: drill.killed > 0, drill.kill_one)
    # In the midst of it all: the task of that worker has not come to its end.
    assert succeeded() < TASKS
    airflow.postgres.restart()
    drill.until(
        "task processes were killed",
        lambda: drill.killed >= KILLS or succeeded() == TASKS,
        drill.kill_one,
    )
    drill.until("all have ended", lambda: succeeded() == TASKS, lambda: None)

    assert len(airflow.xcom_rows("drills", RUN_ID)) == 2 * TASKS
    kept = drill.kept()
    assert {row["_xcom_type"] for row in kept} == {"numpy.ndarray"}
    assert drill.killed > 1
    print(
        f"{TASKS} tasks, {drill.killed} killed, {len(kept)} values in rows, revived "
        f"{drill.revived}, {len(drill.noted()['pushed'])} attempts that pushed"
    )
    check_all_is_there(drill)


def check_all_is_there(drill: Drill) -> None:
    """Has a task pull every value."""
    run = drill.airflow.trigger("drills_read", conf={"run": RUN_ID})
    reading = Run(drill.airflow, "drills_read", run, drill.facts)
    drill.until(
        "all is read",
        lambda: drill.airflow.run_state("drills_read", run) in ("success", "failed"),
        lambda: None,
    )
    assert reading.outcome("wrong") == []
    assert reading.outcome("lost") == []


def test_what_an_outage_left_in_rows_moves_to_the_store(drill: Drill) -> None:
    before = [row.value for row in drill.airflow.xcom_rows("drills", RUN_ID)]
    kept = len(drill.kept())
    assert kept > 0
    command = (str(drill.airflow.python.parent / "airfreight"), "repatriate", "--json")
    dry = run(drill.airflow, *command)
    assert (dry["found"], dry["moved"], dry["dry_run"]) == (kept, kept, True)
    assert [row.value for row in drill.airflow.xcom_rows("drills", RUN_ID)] == before
    run(drill.airflow, command[0], "claim", "--yes", "--json")
    done = run(drill.airflow, *command, "--yes")
    assert (done["found"], done["moved"], done["failed"]) == (kept, kept, {})
    rows = [row.value for row in drill.airflow.xcom_rows("drills", RUN_ID)]
    assert all(row["_xcom_backend"] == "s3" for row in rows)
    assert run(drill.airflow, *command)["found"] == 0
    check_all_is_there(drill)


def run(airflow: Airflow, *command: str) -> dict[str, Any]:
    """What a command says, as JSON."""
    done = subprocess.run(command, env=airflow.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said

"""Event loops, triggers and mapped tasks on a real Airflow, with credentials of a connection.

Nothing in the environment leads to the store, so that each process has to ask Airflow for the
connection; the store is behind a proxy that counts, and lets one object wait.
"""

from __future__ import annotations

import pathlib
import re
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tests.airflow.conftest import BACKEND, DAGS, Run, Runs
from tests.airflow.harness import Airflow
from tests.servers.counting_proxy import CountingProxy, Recorded
from tests.servers.versitygw import VersityGW

pytestmark = [pytest.mark.airflow, pytest.mark.s3, pytest.mark.releases("3.3.2")]

# How long an object called "slow" takes. A loop that stands still meanwhile ticks once.
SLOW = 2.0
# How long the parts of an upload wait that Airflow has to end.
HELD = 240.0


class Loops(NamedTuple):
    """The runs of the DAGs `loops` and `stalls`, and what they asked the store for."""

    run: Run
    stalls: Run
    proxy: CountingProxy


@pytest.fixture(scope="module")
def loops(version: str, scratch: pathlib.Path, given_env: dict[str, str]) -> Iterator[Loops]:
    facts = scratch / "loops-facts"
    release = threading.Event()

    def script(request: Recorded) -> None:
        if request.method == "GET" and request.path.endswith("/slow.bin"):
            time.sleep(SLOW)
        elif "/held.bin" in request.path and "partNumber=" in request.target:
            release.wait(HELD)

    with VersityGW(bucket="freight") as server, CountingProxy(server.endpoint) as proxy:
        proxy.script = script
        env = {
            **BACKEND,
            "AIRFLOW__AIRFREIGHT__STORE": "s3://warehouse@freight/xcom",
            "AIRFLOW_TEST_FACTS": str(facts),
            "AWS_EC2_METADATA_DISABLED": "true",
            # Where the triggerer finds the trigger.
            "PYTHONPATH": str(DAGS),
            **given_env,
        }
        with Airflow(version, DAGS, env, name=f"{version}-loops", triggerer=True) as airflow:
            connection = {
                "connection_id": "warehouse",
                "conn_type": "aws",
                "login": server.access_key,
                "password": server.secret_key,
                "extra": f'{{"endpoint_url": "{proxy.url}", "region_name": "us-east-1"}}',
            }
            airflow.rest("POST", "/api/v2/connections", connection)
            runs = Runs(airflow, facts)
            yield Loops(runs.trigger("loops"), runs.trigger("stalls"), proxy)
            release.set()


@pytest.mark.parametrize(
    "fact",
    [
        "awaited_pull_goes_on_with_the_loop",
        "awaited_push",
        "several_at_a_time",
        "synchronous_pull_on_the_loop",
        "pull_of_a_trigger",
        "push_of_a_trigger",
        "all_values_of_a_mapped_task",
    ],
)
def test_values_pass_through_event_loops(loops: Loops, fact: str) -> None:
    assert loops.run.holds(fact)


def test_every_object_of_a_mapped_task_is_asked_for_once(loops: Loops) -> None:
    assert loops.run.wait() == "success", loops.run.story()
    gets = [
        request
        for request in loops.proxy.requests
        if request.method == "GET" and "/mapped/" in request.path
    ]
    assert len(gets) == 90  # Every tenth value is a number, which stays in its row.
    assert len({request.path for request in gets}) == 90
    assert len({request.connection for request in gets}) <= 16


@pytest.mark.parametrize(
    ("task", "exception"),
    [
        ("timed_out", "AirflowTaskTimeout"),
        ("terminated", "KilledError"),
        # Airflow 3 raises nothing of its own.
        ("told_to_end", "CancelledError"),
    ],
)
def test_airflow_ends_a_stalled_upload_with_its_own_exception(
    loops: Loops, task: str, exception: str
) -> None:
    said = re.fullmatch(r"(\w+) after ([0-9.]+) s", loops.stalls.outcome(task))
    assert said is not None
    assert said[1] == exception
    # Its parts would still be waiting.
    assert float(said[2]) < HELD / 4
    assert loops.stalls.airflow.task_states("stalls", loops.stalls.run_id)[(task, -1)] == "failed"
    requests = [r for r in loops.proxy.requests if f"/{task}/" in r.path]
    assert [r for r in requests if r.method == "DELETE" and "uploadId=" in r.target]
    assert not [r for r in requests if r.method == "POST" and "uploadId=" in r.target]


@pytest.mark.parametrize(
    "fact", ["columns_of_a_return", "whole_of_a_return", "columns_of_several_tasks"]
)
def test_columns_of_what_a_task_returned_are_pulled(loops: Loops, fact: str) -> None:
    assert loops.stalls.holds(fact)

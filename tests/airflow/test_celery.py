"""A run on two Celery workers, one of which writes and one of which only reads."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.airflow.conftest import BACKEND, DAGS, RUN_ID, DirectoryStore, Run, Runs, readable
from tests.airflow.harness import Airflow

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.celery,
    pytest.mark.releases("3.3.2"),
]


@pytest.fixture(scope="module")
def shared(scratch: pathlib.Path) -> DirectoryStore:
    (scratch / "shared").mkdir()
    return DirectoryStore(scratch / "shared")


@pytest.fixture(scope="module")
def queues(
    version: str, scratch: pathlib.Path, shared: DirectoryStore, given_env: dict[str, str]
) -> Iterator[Run]:
    env = {
        **BACKEND,
        "AIRFLOW__AIRFREIGHT__STORE": shared.url,
        "AIRFLOW__AIRFREIGHT__FILE_STORE_SHARED": "True",
        "AIRFLOW_TEST_FACTS": str(scratch / "celery-facts"),
        **given_env,
    }
    workers = {
        "writer": {"AIRFLOW_TEST_WORKER": "writer"},
        "reader": {"AIRFLOW_TEST_WORKER": "reader", "AIRFLOW__AIRFREIGHT__THRESHOLD": "-1"},
    }
    with Airflow(version, DAGS, env, workers=workers, name=f"{version}-celery") as airflow:
        yield Runs(airflow, scratch / "celery-facts").trigger("queues")


def test_each_task_runs_on_the_worker_of_its_queue(queues: Run) -> None:
    assert queues.outcome("worker_of_produce") == "writer"
    assert queues.outcome("worker_of_only_read") == "reader"
    assert queues.outcome("worker_of_collect") == "writer"


@pytest.mark.parametrize(
    "fact",
    [
        "frame_on_the_other_worker",
        "plain_row_on_the_writer",
        "mapped_wherever_there_was_room",
    ],
)
def test_what_one_worker_wrote_is_what_the_other_reads(queues: Run, fact: str) -> None:
    assert queues.holds(fact)


def test_the_writing_worker_writes_references_and_the_reading_one_plain_rows(queues: Run) -> None:
    assert queues.row("produce").value["_xcom_type"] == "pandas.DataFrame"
    assert queues.row("produce", "large").value["_xcom_type"] == "json"
    assert set(queues.row("only_read").value) == {"numbers", "name"}


def test_a_mapped_instance_is_an_object_when_the_writing_worker_ran_it(
    queues: Run, shared: DirectoryStore
) -> None:
    expected = []
    for index in range(3):
        value = queues.row("measure", map_index=index).value
        if "_airfreight" in value:
            expected.append(f"map_{index}/return_value.json")
        else:
            assert value["worker"] == "reader"
    assert shared.objects("queues", RUN_ID, "measure") == expected


def test_a_directory_that_nobody_said_is_shared_is_refused(queues: Run) -> None:
    assert queues.wait() == "failed"
    states = queues.airflow.task_states("queues", RUN_ID)
    assert states[("not_said_to_be_shared", -1)] == "failed"
    assert [row for row in queues.rows() if row.task_id == "not_said_to_be_shared"] == []
    log = queues.log("not_said_to_be_shared")
    assert "AIRFLOW__AIRFREIGHT__FILE_STORE_SHARED=True" in log, readable(log)

"""Keys as the processes of tasks find them, and a reference in the row of another DAG."""

from __future__ import annotations

import json

import pytest
from tests.airflow.conftest import RUN_ID, Run, Runs, readable

pytestmark = pytest.mark.releases("3.3.2", "2.11.2")


@pytest.fixture(scope="module")
def signed(runs: Runs) -> Run:
    run = runs.trigger("signed")
    run.wait()
    return run


@pytest.mark.parametrize(
    ("task", "key"),
    [("by_file", "file"), ("by_cmd", "cmd"), ("by_secret", "secret"), ("by_configuration", "cfg")],
)
def test_the_process_of_a_task_finds_its_key(signed: Run, task: str, key: str) -> None:
    value = signed.row(task).value
    assert value["sig"].partition(":")[0] == key
    assert value["digest"].startswith("sha256:")


@pytest.mark.parametrize(
    "fact", ["signed_by_file", "signed_by_cmd", "signed_by_secret", "signed_by_another_key"]
)
def test_what_is_signed_is_read_where_the_key_is(signed: Run, fact: str) -> None:
    assert signed.holds(fact)


def test_a_required_key_that_is_not_there_stops_the_push_with_one_clear_error(signed: Run) -> None:
    states = signed.airflow.task_states("signed", RUN_ID)
    assert states["without", -1] == "failed"
    log = signed.log("without")
    assert "AIRFLOW__AIRFREIGHT__SIGNING_KEYS_CMD failed with status 1" in log, readable(log)
    assert "without" not in {row.task_id for row in signed.rows()}


def test_a_valid_reference_in_the_row_of_another_dag_is_refused(signed: Run, runs: Runs) -> None:
    planted = runs.trigger("planted")
    assert planted.wait() == "success", planted.story()
    signed.airflow.postgres.text(
        "UPDATE xcom SET value = (SELECT value FROM xcom WHERE dag_id = 'signed'"
        " AND task_id = 'by_configuration' AND run_id = :'run' AND key = 'return_value')"
        " WHERE dag_id = 'planted' AND run_id = :'run' AND key = 'return_value'",
        run=RUN_ID,
    )
    assert planted.row("row").value == signed.row("by_configuration").value
    reader = runs.trigger("reader")
    assert reader.wait() == "success", reader.story()
    assert reader.holds("row_of_another_dag")
    assert reader.holds("reference_of_another_dag")
    assert json.dumps(planted.row("row").value).count("by_configuration")

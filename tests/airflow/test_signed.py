"""Keys as the processes of tasks find them, and a reference in the row of another DAG."""

from __future__ import annotations

import json
import urllib.parse

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
    [
        *(("by_environment", "environment"), ("by_file", "file"), ("by_cmd", "cmd")),
        *(("by_secret", "secret"), ("by_configuration", "cfg")),
    ],
)
def test_the_process_of_a_task_finds_its_key(signed: Run, task: str, key: str) -> None:
    value = signed.row(task).value
    assert value["sig"].partition(":")[0] == key
    assert value["digest"].startswith("sha256:")


@pytest.mark.parametrize(
    "fact",
    [f"signed_by_{name}" for name in ("environment", "file", "cmd", "secret", "another_key")],
)
def test_what_is_signed_is_read_where_the_key_is(signed: Run, fact: str) -> None:
    assert signed.holds(fact)


def test_a_required_key_that_is_not_there_stops_the_push_with_one_clear_error(signed: Run) -> None:
    states = signed.airflow.task_states("signed", RUN_ID)
    assert states["without", -1] == "failed"
    log = signed.log("without")
    assert "AIRFLOW__AIRFREIGHT__SIGNING_KEYS_CMD failed with status 1" in log, readable(log)
    assert "without" not in {row.task_id for row in signed.rows()}


def test_what_tasks_push_and_pull_is_in_none_of_their_logs(signed: Run) -> None:
    """(The end of this Airflow looks for the marker in these values, and for signatures.)"""
    assert signed.airflow.task_states("signed", RUN_ID)["planted_contents", -1] == "failed"
    assert "value['list'][0]" in signed.log("planted_contents")
    assert signed.holds("planted_contents")
    assert signed.airflow.leaked() == []


@pytest.fixture(scope="module")
def reader(signed: Run, runs: Runs, version: str) -> Run:
    """What a task reads after somebody has changed rows."""
    planted = runs.trigger("planted")
    assert planted.wait() == "success", planted.story()
    signed.airflow.postgres.text(
        "UPDATE xcom SET value = (SELECT value FROM xcom WHERE dag_id = 'signed'"
        " AND task_id = 'by_configuration' AND run_id = :'run' AND key = 'return_value')"
        " WHERE dag_id = 'planted' AND run_id = :'run' AND task_id = 'row'"
        " AND key = 'return_value'",
        run=RUN_ID,
    )
    genuine = signed.row("by_configuration").value
    assert planted.row("row").value == genuine
    if version.startswith("3"):  # (The API of Airflow 2 changes no XCom.)
        mine = genuine | {"dag": "planted", "task": "edited"}
        edits = {
            "moved": genuine,
            "elsewhere": mine | {"key": "elsewhere", "uri": "file:///etc/passwd.json"},
            "unsigned": {name: mine[name] for name in mine if name != "sig"} | {"key": "unsigned"},
            "text": json.dumps(genuine),
            "nested": {"a": genuine},
        }
        folder = f"dagRuns/{urllib.parse.quote(RUN_ID, safe='')}/taskInstances/edited/xcomEntries"
        for name, value in edits.items():
            path = f"/api/v2/dags/planted/{folder}/{name}"
            signed.airflow.rest("PATCH", path, {"value": value})
            assert planted.row("edited", name).value == value
    run = runs.trigger("reader")
    assert run.wait() == "success", run.story()
    return run


@pytest.mark.parametrize("fact", ["row_of_another_dag", "reference_of_another_dag"])
def test_a_valid_reference_in_the_row_of_another_dag_is_refused(reader: Run, fact: str) -> None:
    assert reader.holds(fact)


@pytest.mark.releases("3.3.2")
@pytest.mark.parametrize("name", ["moved", "elsewhere", "unsigned", "text", "nested"])
def test_what_somebody_writes_by_rest_is_refused_or_stays_a_value(reader: Run, name: str) -> None:
    assert reader.holds(f"edited_{name}")

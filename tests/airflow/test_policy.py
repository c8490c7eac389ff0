"""What tasks log of the values they return, and how Airflow renders large arguments."""

from __future__ import annotations

import json

import pytest
from tests.airflow.conftest import RUN_ID, Run, Runs, readable

pytestmark = pytest.mark.releases("3.3.2", "2.11.2")


@pytest.fixture(scope="module")
def policy(runs: Runs) -> Run:
    run = runs.trigger("policy")
    assert run.wait() == "success", run.story()
    return run


def test_a_task_logs_no_value_that_it_returns(policy: Run) -> None:
    log = policy.log("returns_text")
    assert "a-returned-text-" not in log
    assert "Returned value not shown" in log, readable(log)
    assert "small-value-1" not in policy.log("counts", map_index=1)


def test_a_task_logs_its_value_where_its_dag_says_so(policy: Run) -> None:
    assert "Returned value was: said-by-the-dag" in policy.log("returns_as_the_dag_says")


@pytest.mark.parametrize(
    ("task", "map_index", "said"),
    [
        ("returns_text", -1, "str, 80.0 kB, is at "),
        ("returns_records", -1, "list, "),
        ("counts", 1, "str, 15 bytes, stays in its row"),
    ],
)
def test_each_push_is_one_line_of_the_tasks_own_log(
    policy: Run, task: str, map_index: int, said: str
) -> None:
    log = policy.log(task, map_index)
    lines = [line for line in log.splitlines() if "XCom 'return_value'" in line]
    assert len(lines) == 1, readable(log)
    assert f"XCom 'return_value': {said}" in lines[0]
    if map_index < 0:
        assert policy.row(task).value["uri"] in lines[0]


def test_large_arguments_arrive_whole(policy: Run) -> None:
    assert policy.holds("large_arguments_arrive_whole")
    for index in range(2):
        assert policy.holds(f"large_arguments_of_mapped_tasks_arrive_whole_{index}")


def test_of_large_arguments_the_first_part_is_rendered(policy: Run) -> None:
    rows = policy.airflow.postgres.rows(
        "SELECT task_id, rendered_fields::text AS fields FROM rendered_task_instance_fields"
        " WHERE dag_id = 'policy' AND run_id = :'run' AND task_id IN ('takes', 'takes_mapped')",
        run=RUN_ID,
    )
    assert sorted(row["task_id"] for row in rows) == ["takes", "takes_mapped", "takes_mapped"]
    for row in rows:
        fields = json.loads(row["fields"])
        assert "name 5" in str(fields), row
        assert "Truncated" in str(fields), row
        assert len(row["fields"]) < 20_000, row["task_id"]

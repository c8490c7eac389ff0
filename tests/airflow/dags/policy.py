# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `policy`: what tasks log of the values they return, and how large arguments are rendered."""

import datetime
import os
from typing import Any

# Before the policy sees the tasks below, in every process that reads this file.
os.environ["AIRFLOW__AIRFREIGHT__RENDER_WHOLE_ARGUMENTS"] = "False"

from common import dag, fact, task

#: Nothing of these may stand in a log, unless the DAG wants it.
RETURNED = "a-returned-text-" * 5000
SAID = "said-by-the-dag"


def records() -> list[dict[str, Any]]:
    return [{"n": n, "name": f"name {n}"} for n in range(20_000)]


@task
def returns_text() -> str:
    return RETURNED


@task
def returns_records() -> list[dict[str, Any]]:
    return records()


@task(show_return_value_in_logs=True)
def returns_as_the_dag_says() -> str:
    return SAID


@task
def counts(index: int) -> str:
    return f"small-value-{index}"


@task
def takes(large: Any, small: Any, *, nested: Any) -> None:
    with fact("large_arguments_arrive_whole"):
        assert type(large) is list
        assert large == records()
        assert nested == {"text": [RETURNED]}
        assert list(small) == ["small-value-0", "small-value-1"]


@task
def takes_mapped(index: int, large: Any) -> None:
    with fact(f"large_arguments_of_mapped_tasks_arrive_whole_{index}"):
        assert type(large) is list
        assert large == records()


@dag(dag_id="policy", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def policy() -> None:
    text, large = returns_text(), returns_records()
    returns_as_the_dag_says()
    takes(large, counts.expand(index=[0, 1]), nested={"text": [text]})
    takes_mapped.partial(large=large).expand(index=[0, 1])


policy()

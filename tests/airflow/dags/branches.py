# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `branches`: a branch at threshold 0, where every value goes to the store.

Airflow's scheduler reads for itself which branch was skipped (key `skipmixin_key`), so that value
must lie in the row all the same.
"""

import datetime
import os
from typing import Any

from common import dag, fact, note, small, task

# Read in each process that runs one of these tasks: there, and nowhere else, the threshold is 0.
os.environ["AIRFLOW__AIRFREIGHT__THRESHOLD"] = "0"


@task
def produce() -> dict[str, Any]:
    return small()


@task.branch
def choose(value: Any) -> str:
    with fact("small_dict_at_threshold_0"):
        assert value == small()
    return "taken"


@task
def taken() -> None:
    note("taken", "ran")


@task
def left_out() -> None:
    note("left_out", "ran")


@dag(dag_id="branches", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def branches() -> None:
    choose(produce()) >> [taken(), left_out()]


branches()

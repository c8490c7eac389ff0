# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAGs `leaving` and `left`: values whose rows go in the ways that Airflow has."""

import datetime
import os
from typing import Any

from common import dag, task

START = datetime.datetime(2024, 1, 1)


@task
def count(ti: Any = None) -> list[int]:
    """Three, and two when it runs again."""
    return list(range(3 if ti.try_number == 1 else 2))


@task
def make(index: int) -> bytes:
    return index.to_bytes(1, "big") + os.urandom(100)


@dag(dag_id="leaving", schedule=None, start_date=START, catchup=False)
def leaving() -> None:
    make.expand(index=count())


@dag(dag_id="left", schedule=None, start_date=START, catchup=False)
def left() -> None:
    make(7)


leaving()
left()

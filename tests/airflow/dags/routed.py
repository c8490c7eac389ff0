# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `routed`: two tasks whose values a policy sends to two stores (see test_bucket.py)."""

import datetime
from typing import Any

from common import dag, fact, frame, task


@task
def plain() -> Any:
    return frame()


@task
def secret_salaries() -> Any:
    return frame()


@task
def read(first: Any, second: Any) -> None:
    import pandas as pd

    with fact("frames_of_two_stores"):
        for whole in (first, second):
            pd.testing.assert_frame_equal(whole, frame(), check_freq=False)


@dag(dag_id="routed", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def routed() -> None:
    read(plain(), secret_salaries())


routed()

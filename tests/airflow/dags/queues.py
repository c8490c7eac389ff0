# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `queues`: tasks of one run on two Celery workers, one of which only reads (threshold −1)."""

import datetime
import os
from typing import Any

from common import dag, fact, frame, large, note, task


def where() -> None:
    """Notes which worker runs this task."""
    note(f"worker_of_{os.environ['AIRFLOW_CTX_TASK_ID']}", os.environ["AIRFLOW_TEST_WORKER"])


@task(queue="writer")
def produce(ti: Any = None) -> Any:
    where()
    ti.xcom_push(key="large", value=large())
    return frame()


@task(queue="reader")
def only_read(whole: Any, ti: Any = None) -> Any:
    import pandas as pd

    where()
    with fact("frame_on_the_other_worker"):
        pd.testing.assert_frame_equal(whole, frame(), check_freq=False)
        assert ti.xcom_pull(task_ids="produce", key="large") == large()
    return large()


@task
def measure(index: int) -> Any:
    return {"index": index, "worker": os.environ["AIRFLOW_TEST_WORKER"], **large()}


@task(queue="writer")
def collect(plain: Any, measured: Any) -> None:
    where()
    with fact("plain_row_on_the_writer"):
        assert plain == large()
    with fact("mapped_wherever_there_was_room"):
        assert [one["index"] for one in measured] == [0, 1, 2]
        assert all(one["numbers"] == large()["numbers"] for one in measured)


@task(queue="writer")
def not_said_to_be_shared() -> Any:
    # This machine's disk, for all that the worker knows.
    os.environ.pop("AIRFLOW__AIRFREIGHT__FILE_STORE_SHARED", None)
    return frame()


@dag(dag_id="queues", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def queues() -> None:
    made = produce()
    collect(only_read(made), measure.expand(index=[0, 1, 2])) >> not_said_to_be_shared()


queues()

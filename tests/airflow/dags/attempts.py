# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAGs `retried` and `changed`: what a second attempt of a task does to what the first one left."""

import datetime
from typing import Any

from common import BaseXCom, XCom, array, dag, fact, frame, task

# From 3.4 on no attempt writes where another did.
ATTEMPTS_KEEP_ROWS = hasattr(BaseXCom, "store_value")
START = datetime.datetime(2024, 1, 1)


@task(retries=1, retry_delay=datetime.timedelta(0))
def flaky(ti: Any = None) -> Any:
    ti.xcom_push(key="part", value=frame(ti.try_number))
    if ti.try_number == 1 and not ATTEMPTS_KEEP_ROWS:
        # As when the worker dies after the object is written and before the row is.
        XCom.serialize_value(
            frame(5),
            key="rowless",
            task_id=ti.task_id,
            dag_id=ti.dag_id,
            run_id=ti.run_id,
            map_index=ti.map_index,
        )
    if ti.try_number == 1:
        raise RuntimeError("the first attempt fails, after its push")
    ti.xcom_push(key="rowless", value=frame(6))
    return array()


@task
def read(_: Any, ti: Any = None) -> None:
    import pandas as pd

    with fact("second_attempt_is_what_is_read"):
        part = ti.xcom_pull(task_ids="flaky", key="part")
        pd.testing.assert_frame_equal(part, frame(2), check_freq=False)
    with fact("an_object_without_a_row_is_replaced"):
        pulled = ti.xcom_pull(task_ids="flaky", key="rowless")
        pd.testing.assert_frame_equal(pulled, frame(6), check_freq=False)


@dag(dag_id="retried", schedule=None, start_date=START, catchup=False)
def retried() -> None:
    read(flaky())


@task
def change(ti: Any = None) -> Any:
    return frame() if ti.try_number == 1 else {"attempt": 2}


@dag(dag_id="changed", schedule=None, start_date=START, catchup=False)
def changed() -> None:
    change()


retried()
changed()

# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `thresholds`: workers that only read (threshold −1) among workers that write.

This is the state of an installation in the days when Airfreight is rolled out, or taken back.
"""

import datetime
import os
from typing import Any

from common import BaseXCom, blob, dag, fact, frame, large, note, task


@task
def write(ti: Any = None) -> Any:
    ti.xcom_push(key="large", value=large())
    return frame()


@task
def only_read(ti: Any = None) -> None:
    import pandas as pd

    os.environ["AIRFLOW__AIRFREIGHT__THRESHOLD"] = "-1"
    with fact("reader_reads_references"):
        pulled = ti.xcom_pull(task_ids="write")
        pd.testing.assert_frame_equal(pulled, frame(), check_freq=False)
        assert ti.xcom_pull(task_ids="write", key="large") == large()
    coordinate = {
        "task_id": ti.task_id,
        "dag_id": ti.dag_id,
        "run_id": ti.run_id,
        "map_index": ti.map_index,
    }
    # Values that Airflow's own backend stores in its own way, each beside what that backend makes.
    for name, value in (("json", large()), ("frame", frame())):
        ti.xcom_push(key=name, value=value)
        BaseXCom.set(key=f"{name}_by_default", value=value, **coordinate)
    # And one that it refuses.
    for name, push in (
        ("refusal", lambda: ti.xcom_push(key="bytes", value=blob())),
        ("refusal_by_default", lambda: BaseXCom.set(key="bytes", value=blob(), **coordinate)),
    ):
        try:
            push()
        except Exception as error:
            note(name, f"{type(error).__name__}: {error}")
        else:
            note(name, "pushed")


@task
def read_again(ti: Any = None) -> None:
    import pandas as pd

    with fact("writer_reads_plain_rows"):
        assert ti.xcom_pull(task_ids="only_read", key="json") == large()
        pulled = ti.xcom_pull(task_ids="only_read", key="frame")
        pd.testing.assert_frame_equal(pulled, frame(), check_freq=False)


@dag(dag_id="thresholds", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def thresholds() -> None:
    write() >> only_read() >> read_again()


thresholds()

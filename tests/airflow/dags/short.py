# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `short`: push, pull and map, in what all releases from 2.9 on can do."""

import datetime
from typing import Any

from common import array, blob, dag, fact, frame, large, small, task


@task
def produce(ti: Any = None) -> Any:
    ti.xcom_push(key="blob", value=blob())
    ti.xcom_push(key="large", value=large())
    ti.xcom_push(key="small", value=small())
    return frame()


@task
def measure(index: int) -> Any:
    return array(index)


@task
def read(whole: Any, measured: Any, ti: Any = None) -> None:
    import numpy as np
    import pandas as pd

    with fact("frame"):
        assert type(whole) is pd.DataFrame
        pd.testing.assert_frame_equal(whole, frame(), check_freq=False)
    with fact("bytes"):
        pulled = ti.xcom_pull(task_ids="produce", key="blob")
        assert type(pulled) is bytes
        assert pulled == blob()
    with fact("json"):
        assert ti.xcom_pull(task_ids="produce", key="large") == large()
        assert ti.xcom_pull(task_ids="produce", key="small") == small()
    with fact("mapped"):
        assert len(measured) == 2
        assert np.array_equal(measured[1], array(1))
        assert all(np.array_equal(one, array(n)) for n, one in enumerate(measured))
        assert len(list(ti.xcom_pull(task_ids="measure"))) == 2


@dag(dag_id="short", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def short() -> None:
    read(produce(), measure.expand(index=[0, 1]))


short()

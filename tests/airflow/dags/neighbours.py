# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `neighbour`: reads what DAG `values` wrote in the run of the same name."""

import datetime
from typing import Any

from common import array, dag, fact, frame, task


@task
def read(ti: Any = None) -> None:
    import numpy as np
    import pandas as pd

    with fact("frame_of_another_dag"):
        pulled = ti.xcom_pull(task_ids="produce", dag_id="values")
        pd.testing.assert_frame_equal(pulled, frame(), check_freq=False)
    with fact("mapped_of_another_dag"):
        pulled = list(ti.xcom_pull(task_ids="measure", dag_id="values"))
        assert len(pulled) == 3
        assert all(np.array_equal(one, array(n)) for n, one in enumerate(pulled))


@dag(dag_id="neighbour", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def neighbour() -> None:
    read()


neighbour()

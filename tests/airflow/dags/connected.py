# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `connected`: the store's credentials come from a connection in Airflow's database."""

import datetime
import os
from typing import Any

from common import dag, fact, frame, task

# Read in each process that runs one of these tasks: there is nothing in its environment from which
# the store could be reached.
if "AIRFLOW_TEST_CONNECTED_STORE" in os.environ:
    os.environ["AIRFLOW__AIRFREIGHT__STORE"] = os.environ["AIRFLOW_TEST_CONNECTED_STORE"]
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]


@task
def write() -> Any:
    return frame()


@task
def read(whole: Any) -> None:
    import pandas as pd

    with fact("frame_through_a_connection"):
        assert not [name for name in os.environ if name.startswith("AWS_")]
        pd.testing.assert_frame_equal(whole, frame(), check_freq=False)


@dag(dag_id="connected", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def connected() -> None:
    read(write())


connected()

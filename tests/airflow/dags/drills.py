# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAGs `drills` and `drills_read`: many values, of tasks to which the worst happens meanwhile.

Each task notes the process that it runs in and that of its worker, for whoever kills one of them,
and that it has come to its end.
"""

import datetime
import hashlib
import os
import pathlib
from typing import Any

from common import dag, note, task

START = datetime.datetime(2024, 1, 1)
TASKS = int(os.environ.get("AIRFLOW_TEST_DRILLS", "20"))


def made(index: int) -> Any:
    """The value of a task: a frame, an array, bytes or a large list, of content of its own."""
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(index)
    if index % 4 == 0:
        return pd.DataFrame({"index": index, "x": random.random(2_000)})
    if index % 4 == 1:
        return random.random((50, 40))
    if index % 4 == 2:
        return random.bytes(20_000)
    return [index, *random.random(3_000).tolist()]


def print_of(value: Any) -> str:
    """Tells a value from all others, and from one of another type."""
    import numpy as np
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        data = repr([*value.dtypes.items()]).encode() + value.to_csv(index=True).encode()
    elif isinstance(value, np.ndarray):
        data = repr((value.dtype, value.shape)).encode() + value.tobytes()
    else:
        data = repr(value).encode()
    return f"{type(value).__name__} {hashlib.sha256(data).hexdigest()}"


@task(retries=10, retry_delay=datetime.timedelta(seconds=1))
def produce(index: int, ti: Any = None) -> Any:
    running = pathlib.Path(os.environ["AIRFLOW_TEST_FACTS"]) / "running"
    running.mkdir(parents=True, exist_ok=True)
    mark = running / f"{os.getpid()}-{os.getppid()}"
    mark.touch()
    value = made(index)
    ti.xcom_push(key="also", value=made(index + 1_000))
    note("pushed", [index, ti.try_number])
    mark.unlink(missing_ok=True)
    return value


@dag(dag_id="drills", schedule=None, start_date=START, catchup=False, max_active_tasks=8)
def drills() -> None:
    produce.expand(index=list(range(TASKS)))


@task(retries=3, retry_delay=datetime.timedelta(seconds=1))
def read(params: Any = None, ti: Any = None) -> None:
    run = params["run"]
    wrong, lost = [], []
    for key, first in (("return_value", 0), ("also", 1_000)):
        for index in range(TASKS):
            got = ti.xcom_pull(
                dag_id="drills", run_id=run, task_ids="produce", key=key, map_indexes=index
            )
            if got is None:
                lost.append([key, index])
            elif print_of(got) != print_of(made(first + index)):
                wrong.append([key, index])
    note("wrong", wrong)
    note("lost", lost)


@dag(dag_id="drills_read", schedule=None, start_date=START, catchup=False, params={"run": ""})
def drills_read() -> None:
    read()


drills()
drills_read()

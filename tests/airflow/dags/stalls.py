# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `stalls`: transfers that stand still, ended by Airflow; and columns of a frame."""

import datetime
import os
import signal
import threading
import time
from typing import Any

from common import dag, fact, frame, note, task

# What the test's proxy holds for as long as it can (`tests/airflow/test_loops.py`).
HELD = "held"


def large() -> bytes:
    return b"0123456789abcdef" * (2 << 20)  # 32 MiB: several parts.


def ended_by(name: str, begin: float, error: BaseException) -> None:
    note(name, f"{type(error).__name__} after {time.monotonic() - begin:.1f} s")


@task(execution_timeout=datetime.timedelta(seconds=3))
def timed_out(ti: Any = None) -> None:
    begin = time.monotonic()
    try:
        ti.xcom_push(key=HELD, value=large())
    except BaseException as error:
        ended_by("timed_out", begin, error)
        raise


class KilledError(Exception):
    """What the task's `on_kill` raises: all that Airflow 3 does on SIGTERM is to call it."""


def push_until_terminated(name: str, ti: Any) -> None:
    begin = time.monotonic()

    def terminate() -> None:
        nonlocal begin
        time.sleep(3)
        begin = time.monotonic()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=terminate, daemon=True).start()
    try:
        ti.xcom_push(key=HELD, value=large())
    except BaseException as error:
        ended_by(name, begin, error)
        raise


@task
def terminated(ti: Any = None) -> None:
    def on_kill() -> None:
        raise KilledError

    ti.task.on_kill = on_kill
    push_until_terminated("terminated", ti)


@task
def told_to_end(ti: Any = None) -> None:
    push_until_terminated("told_to_end", ti)


@task
def produce() -> Any:
    return frame(5)


@task
def columns(_: Any, ti: Any = None) -> None:
    import pandas as pd

    import airfreight

    with fact("columns_of_a_return"):
        pulled = airfreight.pull(task_ids="produce", columns=["kind", "id"])
        expected = frame(5)[["kind", "id"]]
        pd.testing.assert_frame_equal(pulled, expected, check_freq=False)
    with fact("whole_of_a_return"):
        pulled = airfreight.pull(task_ids="produce")
        pd.testing.assert_frame_equal(pulled, frame(5), check_freq=False)
    with fact("columns_of_several_tasks"):
        (pulled,) = airfreight.pull(task_ids=["produce"], columns=["id"])
        pd.testing.assert_frame_equal(pulled, frame(5)[["id"]], check_freq=False)


@dag(dag_id="stalls", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def stalls() -> None:
    timed_out()
    terminated()
    told_to_end()
    columns(produce())


stalls()

# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `outages`: stores that don't answer, and objects that are not what they were."""

import datetime
import os
import pathlib
import threading
import urllib.parse
from typing import Any

from common import dag, frame, note, task

# This file is read in each process that runs one of its tasks, and there it sets the store: a
# folder for this DAG alone, which can be taken away without harm to the others.
if "AIRFLOW_TEST_OUTAGES" in os.environ:
    os.environ["AIRFLOW__AIRFREIGHT__STORE"] = f"file://{os.environ['AIRFLOW_TEST_OUTAGES']}"

# Nothing listens on the discard port of the loopback address.
UNREACHABLE = {
    "AIRFLOW__AIRFREIGHT__STORE": "s3://unreachable-bucket/xcom",
    "AIRFLOW__AIRFREIGHT__TIMEOUT": "3",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_REGION": "us-east-1",
}


def outcome_of_pull(ti: Any, key: str) -> str:
    """What pulling raises, as text; or what kind of thing it gave."""
    try:
        value = ti.xcom_pull(task_ids="produce", key=key)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"gave a {type(value).__name__}"


@task
def produce(ti: Any = None) -> None:
    for key in ("whole", "lost", "damaged"):
        ti.xcom_push(key=key, value=frame())


@task
def push_to_nowhere() -> Any:
    os.environ.update(UNREACHABLE)
    return frame()


@task
def push_by_a_wrong_setting() -> Any:
    os.environ["AIRFLOW__AIRFREIGHT__THRESHOLD"] = "much"
    return frame()


@task
def push_what_nobody_can_keep() -> Any:
    return {"model": {"layers": [1, 2, threading.Lock()]}}


@task
def pull(ti: Any = None) -> None:
    note("whole", outcome_of_pull(ti, "whole"))
    object_of(ti, "lost").unlink()
    note("lost", outcome_of_pull(ti, "lost"))
    damaged = object_of(ti, "damaged")
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    note("damaged", outcome_of_pull(ti, "damaged"))
    # Last: the folder itself is gone, as when a disk is not mounted.
    root = pathlib.Path(os.environ["AIRFLOW_TEST_OUTAGES"])
    root.rename(root.with_name(f"{root.name}-away"))
    note("cut_off", outcome_of_pull(ti, "whole"))


def object_of(ti: Any, key: str) -> pathlib.Path:
    """The file that holds what `produce` pushed under `key`."""
    run = urllib.parse.quote(ti.run_id, safe="")
    folder = pathlib.Path(os.environ["AIRFLOW_TEST_OUTAGES"], ti.dag_id, run, "produce", "map_-1")
    (path,) = folder.glob(f"{key}.*")
    return path


@dag(dag_id="outages", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def outages() -> None:
    produce() >> pull() >> push_to_nowhere()
    push_by_a_wrong_setting()
    push_what_nobody_can_keep()


outages()

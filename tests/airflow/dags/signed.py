# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `signed`: where a task's process finds its keys; `planted`, `reader`: rows that were moved.

Signing is off in the Airflow of these tests, but for the processes that read this file. The file
`airflow.cfg` has keys for those that name no other source.
"""

import base64
import datetime
import os
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["AIRFLOW__AIRFREIGHT__SIGNING"] = "required"

from common import dag, fact, large, task

PREFIX = "AIRFLOW__AIRFREIGHT__SIGNING_KEYS"
#: Whatever holds it may be in no log.
MARK = os.environ["AIRFLOW_TEST_MARK"]


def key(name: str) -> str:
    """A key that is known by the marker in it; its id tells where it came from."""
    return f"{name}:{base64.b64encode((MARK + name).encode().ljust(32, b'.')).decode()}"


KEYS = {name: key(name) for name in ("environment", "file", "cmd", "secret")}


class Vault:
    """A secrets backend."""

    def get_config(self, key: str) -> "str | None":
        return KEYS["secret"] + "\n" if key == "airfreight/keys" else None

    def get_conn_value(self, conn_id: str) -> None:
        return None

    get_variable = get_conn_value


def forged(pull: Callable[[], Any]) -> str:
    """What is said of a row that is not followed."""
    import airfreight

    try:
        pull()
    except airfreight.ForgedError as error:
        return str(error)
    raise AssertionError("it was followed")


@task
def by_environment() -> Any:
    os.environ[PREFIX] = KEYS["environment"]
    return large()


@task
def by_file() -> Any:
    path = os.environ["AIRFLOW_TEST_FACTS"] + "-key"
    with open(path, "w", encoding="utf-8") as file:
        file.write(KEYS["file"] + "\n")
    os.environ[PREFIX + "_FILE"] = path
    return large()


@task
def by_cmd() -> Any:
    os.environ[PREFIX + "_CMD"] = f"echo {KEYS['cmd']}"
    return large()


@task
def by_secret() -> Any:
    os.environ[PREFIX + "_SECRET"] = "airfreight/keys"
    os.environ["AIRFLOW__SECRETS__BACKEND"] = "signed.Vault"
    return large()


@task
def by_configuration() -> Any:
    return large()


@task
def without() -> Any:
    # (What is in airflow.cfg comes after this.)
    os.environ[PREFIX + "_CMD"] = "false"
    return large()


def planted_values() -> "dict[str, Any]":
    """Values of each kind, whose contents are in no log of Airfreight's."""
    import numpy as np
    import pandas as pd

    return {
        "frame": pd.DataFrame({"name": [MARK] * 3}),
        "array": np.array([MARK] * 3),
        "bytes": MARK.encode(),
        "json": {"names": [MARK] * 5000},
        "document": {1: (MARK, MARK.encode())},
    }


@task
def planted_contents(ti: Any = None) -> None:
    os.environ[PREFIX] = KEYS["cmd"]
    for name, value in planted_values().items():
        ti.xcom_push(name, value)
    ti.xcom_push("refused", {"list": [object()], "name": MARK})  # And the task fails.


@task(trigger_rule="all_done")
def pulls(ti: Any = None) -> None:
    os.environ[PREFIX] = " ".join(KEYS.values())
    for name in KEYS:
        with fact(f"signed_by_{name}"):
            assert ti.xcom_pull(task_ids=f"by_{name}") == large()
    with fact("signed_by_another_key"):
        refused = forged(lambda: ti.xcom_pull(task_ids="by_configuration"))
        assert '"cfg"' in refused, refused
    with fact("planted_contents"):
        for name, value in planted_values().items():
            pulled = ti.xcom_pull(task_ids="planted_contents", key=name)
            assert type(pulled) is type(value)
            assert repr(pulled) == repr(value)


@task
def row() -> Any:
    return large()


#: Rows that somebody edits through Airflow's REST API (test_signed.py).
EDITED = ("moved", "elsewhere", "text", "nested", "unsigned")


@task
def edited(ti: Any = None) -> None:
    for name in EDITED:
        ti.xcom_push(name, {"before": name})


@task
def reads(ti: Any = None) -> None:
    with fact("row_of_another_dag"):
        # A pull from another DAG, whose row holds what that DAG has pushed.
        assert ti.xcom_pull(task_ids="by_configuration", dag_id="signed") == large()
    with fact("reference_of_another_dag"):
        # The same reference, valid as it is, which somebody has put into another row.
        refused = forged(lambda: ti.xcom_pull(task_ids="row", dag_id="planted"))
        assert "it was copied there from another row" in refused, refused


@task
def reads_edited(ti: Any = None) -> None:
    import json

    def pull(key: str) -> Any:
        return ti.xcom_pull(task_ids="edited", dag_id="planted", key=key)

    with fact("edited_moved"):
        assert "it was copied there from another row" in forged(lambda: pull("moved"))
    for name in ("elsewhere", "unsigned"):
        with fact(f"edited_{name}"):
            forged(partial(pull, name))
    with fact("edited_text"):
        text = pull("text")
        assert type(text) is str
        assert json.loads(text)["_xcom_backend"] == "file"
    with fact("edited_nested"):
        nested = pull("nested")
        assert type(nested) is dict
        assert type(nested["a"]) is dict
        assert nested["a"]["_xcom_backend"] == "file"


START: Any = {"schedule": None, "start_date": datetime.datetime(2024, 1, 1), "catchup": False}


@dag(dag_id="signed", **START)
def signed() -> None:
    keys = [by_environment(), by_file(), by_cmd(), by_secret(), by_configuration(), without()]
    [*keys, planted_contents()] >> pulls()


@dag(dag_id="planted", **START)
def planted() -> None:
    row()
    edited()


@dag(dag_id="reader", **START)
def reader() -> None:
    reads()
    reads_edited()


signed()
planted()
reader()

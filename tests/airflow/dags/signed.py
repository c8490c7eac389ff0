# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `signed`: where a task's process finds its keys; `planted`, `reader`: rows that were moved.

Signing is off in the Airflow of these tests, but for the processes that read this file. The file
`airflow.cfg` has keys for those that name no other source.
"""

import datetime
import os
from collections.abc import Callable
from typing import Any

os.environ["AIRFLOW__AIRFREIGHT__SIGNING"] = "required"

from common import dag, fact, large, task

PREFIX = "AIRFLOW__AIRFREIGHT__SIGNING_KEYS"
#: By the id of each key, which tells where it came from.
KEYS = {
    name: f"{name}:{digit * 43}=" for name, digit in (("file", "A"), ("cmd", "E"), ("secret", "I"))
}


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


@task(trigger_rule="all_done")
def pulls(ti: Any = None) -> None:
    os.environ[PREFIX] = " ".join(KEYS.values())
    for name in ("file", "cmd", "secret"):
        with fact(f"signed_by_{name}"):
            assert ti.xcom_pull(task_ids=f"by_{name}") == large()
    with fact("signed_by_another_key"):
        refused = forged(lambda: ti.xcom_pull(task_ids="by_configuration"))
        assert '"cfg"' in refused, refused


@task
def row() -> Any:
    return large()


@task
def reads(ti: Any = None) -> None:
    with fact("row_of_another_dag"):
        # A pull from another DAG, whose row holds what that DAG has pushed.
        assert ti.xcom_pull(task_ids="by_configuration", dag_id="signed") == large()
    with fact("reference_of_another_dag"):
        # The same reference, valid as it is, which somebody has put into another row.
        refused = forged(lambda: ti.xcom_pull(task_ids="row", dag_id="planted"))
        assert "it was copied there from another row" in refused, refused


START: Any = {"schedule": None, "start_date": datetime.datetime(2024, 1, 1), "catchup": False}


@dag(dag_id="signed", **START)
def signed() -> None:
    [by_file(), by_cmd(), by_secret(), by_configuration(), without()] >> pulls()


@dag(dag_id="planted", **START)
def planted() -> None:
    row()


@dag(dag_id="reader", **START)
def reader() -> None:
    reads()


signed()
planted()
reader()

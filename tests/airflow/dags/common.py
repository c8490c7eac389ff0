# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""What the DAGs of these tests share: samples, and a way to say what a task found out.

Runs inside Airflow, from 2.9 to 3.4. A task checks several facts, each under a name, and writes
every outcome to a file; the test of the fact reads it there. So one task process serves many tests,
and a fact that fails hides no other.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import traceback
from collections.abc import Iterator
from typing import Any

try:
    from airflow.sdk import dag, task
    from airflow.sdk.bases.xcom import BaseXCom
    from airflow.sdk.execution_time.xcom import XCom
except ImportError:
    from airflow.decorators import dag, task
    from airflow.models.xcom import BaseXCom, XCom

__all__ = [
    "BaseXCom",
    "XCom",
    "array",
    "blob",
    "dag",
    "fact",
    "frame",
    "large",
    "note",
    "small",
    "task",
]


@contextlib.contextmanager
def fact(name: str) -> Iterator[None]:
    """Writes down whether the block, full of assertions, went through."""
    try:
        yield
    except Exception:
        note(name, traceback.format_exc())
    else:
        note(name, "holds")


def note(name: str, outcome: object) -> None:
    """Writes down an outcome for the run that this task belongs to."""
    directory = pathlib.Path(os.environ["AIRFLOW_TEST_FACTS"])
    directory /= os.environ["AIRFLOW_CTX_DAG_ID"]
    directory.mkdir(parents=True, exist_ok=True)
    # One line, in one write: tasks of a run add to it at a time.
    line = json.dumps({"fact": name, "outcome": outcome}) + "\n"
    run = os.environ["AIRFLOW_CTX_DAG_RUN_ID"].replace("/", "_")
    with (directory / f"{run}.jsonl").open("a", encoding="utf-8") as file:
        file.write(line)


def frame(rows: int = 3) -> Any:
    """A pandas DataFrame with the kinds of columns that people have."""
    import pandas as pd

    count = range(rows)
    return pd.DataFrame(
        {
            "id": pd.array(list(count), dtype="int64"),
            "price": [None if n % 3 == 1 else n / 7 for n in count],
            "name": [f"näme {n}" for n in count],
            "paid": [n % 2 == 0 for n in count],
            "at": pd.date_range("2026-03-29T00:30", periods=rows, freq="h", tz="Europe/Berlin"),
            "kind": pd.Categorical(["ab"[n % 2] for n in count], categories=["b", "a"]),
            "seats": pd.array([None if n % 2 else n for n in count], dtype="Int64"),
        },
        index=pd.Index([f"r{n}" for n in count], name="row"),
    )


def array(index: int = 0) -> Any:
    """A two-dimensional numpy array, another one for each index."""
    import numpy as np

    return np.arange(12, dtype="float32").reshape(3, 4) * 0.1 + index


def blob() -> bytes:
    """Every byte there is."""
    return bytes(range(256)) * 4


def small() -> dict[str, object]:
    """A JSON value far below the default threshold."""
    return {"n": 3, "x": 0.1, "names": ["a", "ü", None], "deep": {"true": True}}


def large() -> dict[str, object]:
    """A JSON value far above the default threshold of 32,768 bytes."""
    return {"numbers": list(range(20_000)), "name": "größer"}

"""Rich values from task to task, with nothing in the DAG that knows of it.

A task returns a DataFrame of a million rows, the next one checks that it got that very frame; ten
mapped instances return an array each, the last task pulls all ten. Small dicts pass as they always
did.
"""

from __future__ import annotations

import hashlib
import time
from typing import Any

import numpy as np
import pandas as pd
from airflow.sdk import dag, get_current_context, task

ROWS = 1_000_000


def make_frame() -> pd.DataFrame:
    """A frame of eight columns of six kinds, the same at every call."""
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(ROWS),
            "price": np.round(random.lognormal(3, 1, ROWS), 2),
            "qty": random.integers(1, 50, ROWS),
            "country": random.choice(["DE", "FR", "US", "NL", "PL"], ROWS),
            "sku": [f"SKU-{i:07d}" for i in random.integers(0, 100_000, ROWS)],
            "ts": pd.Timestamp("2026-01-01")
            + pd.to_timedelta(random.integers(0, 86400 * 90, ROWS), unit="s"),
            "flag": random.random(ROWS) > 0.5,
            "score": random.normal(size=ROWS),
        }
    )


def make_array(seed: int) -> np.ndarray:
    """100,000 normal variates."""
    return np.random.default_rng(seed).normal(size=100_000)


@dag(schedule=None, catchup=False, tags=["airfreight"])
def airfreight_demo() -> None:
    """The demo."""

    @task
    def extract() -> pd.DataFrame:
        frame = make_frame()
        get_current_context()["ti"].xcom_push(key="made", value=time.time())
        return frame

    @task(multiple_outputs=False)
    def check() -> dict[str, Any]:
        begin = time.perf_counter()
        frame = get_current_context()["ti"].xcom_pull(task_ids="extract")
        seconds = time.perf_counter() - begin
        pd.testing.assert_frame_equal(frame, make_frame(), check_exact=True)
        return {"rows": len(frame), "equal": True, "pull_seconds": round(seconds, 3)}

    @task
    def simulate(seed: int) -> np.ndarray:
        return make_array(seed)

    @task(multiple_outputs=False)
    def collect(facts: dict[str, Any]) -> dict[str, Any]:
        arrays = get_current_context()["ti"].xcom_pull(task_ids="simulate")
        for seed, array in enumerate(arrays):
            np.testing.assert_array_equal(array, make_array(seed))
        digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
        return {"rows": facts["rows"], "arrays": len(arrays), "sha256": digest}

    checked = check()
    extract() >> checked
    simulate.expand(seed=list(range(10))) >> collect(checked)


airfreight_demo()

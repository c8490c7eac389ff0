"""What Airflow's own interface shows of a reference, without the store."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING

import pytest
from tests.airflow.conftest import RUN_ID, DirectoryStore, Runs

if TYPE_CHECKING:
    from tests.airflow.harness import Airflow

pytestmark = [pytest.mark.airflow, pytest.mark.releases("3.3.2")]


@pytest.mark.parametrize(
    "case", [("produce", -1, "pandas.DataFrame"), ("measure", 2, "numpy.ndarray")], ids=str
)
def test_the_rest_entry_is_the_readable_reference_while_the_store_is_gone(
    runs: Runs, airflow: Airflow, store: DirectoryStore, case: tuple[str, int, str]
) -> None:
    task, map_index, kind = case
    run = runs.trigger("values")
    assert run.wait() == "success", run.story()
    # The request of Airflow's web interface.
    run_id = urllib.parse.quote(RUN_ID, safe="")
    path = f"/api/v2/dags/values/dagRuns/{run_id}/taskInstances/{task}/xcomEntries/return_value"
    query = f"deserialize=true&stringify=false&map_index={map_index}"
    away = store.root.with_name("store-away")
    store.root.rename(away)
    try:
        entry = airflow.rest("GET", f"{path}?{query}")
    finally:
        away.rename(store.root)
    assert entry["value"] == run.row(task, map_index=map_index).value
    assert entry["value"]["_xcom_type"] == kind
    assert entry["value"]["uri"].startswith(store.url)
    assert entry["value"]["summary"]
    assert entry["value"]["columns"]
    # numpy has no nulls.
    nulls = entry["value"].get("nulls", [])
    assert len(nulls) == (len(entry["value"]["columns"]) if kind == "pandas.DataFrame" else 0)

"""A task that goes on in another process, after a deferral or a reschedule, loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.airflow.conftest import RUN_ID, DirectoryStore, Run, Runs

if TYPE_CHECKING:
    import pathlib

    from tests.airflow.harness import Airflow

pytestmark = [pytest.mark.airflow, pytest.mark.releases("3.3.2", "2.11.2")]


@pytest.fixture(scope="module")
def resumed(airflow: Airflow, scratch: pathlib.Path) -> Run:
    return Runs(airflow, scratch / "facts").trigger("resumed")


@pytest.mark.parametrize(
    "fact",
    [
        "pushed_before_a_deferral",
        "all_of_a_deferral",
        "pushed_before_a_reschedule",
        "all_of_a_reschedule",
    ],
)
def test_what_was_pushed_before_and_after_is_there(resumed: Run, fact: str) -> None:
    assert resumed.holds(fact)


def test_each_row_has_one_object(resumed: Run, store: DirectoryStore) -> None:
    assert resumed.wait() == "success", resumed.story()
    assert store.objects("resumed", RUN_ID) == [
        "poking/map_-1/seen.parquet",
        "resuming/map_-1/before.parquet",
        "resuming/map_-1/both.parquet",
        "resuming/map_-1/return_value.npy",
    ]

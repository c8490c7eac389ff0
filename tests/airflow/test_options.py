"""`airfreight.options` on a real Airflow: for it, the wrapper is as its value."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.airflow.conftest import DirectoryStore, Run, Runs

pytestmark = [pytest.mark.airflow, pytest.mark.releases("3.3.2", "2.11.2")]


@pytest.fixture
def options(runs: Runs) -> Run:
    return runs.trigger("options")


@pytest.mark.parametrize(
    "fact",
    [
        "instances_get_their_elements",
        "instances_of_a_dict_get_pairs",
        "multiple_outputs",
        "whole",
        "what_is_not_allowed_names_the_rule",
        "options_inside_a_value_are_refused_with_their_place",
    ],
)
def test_a_value_with_options_is_as_the_bare_one(options: Run, fact: str) -> None:
    assert options.holds(fact)


@pytest.mark.parametrize(
    ("task", "key", "map_index", "extension"),
    [
        ("outputs", "table", -1, "arrow"),
        ("push", "pushed", -1, "arrow"),
        ("mapped", "return_value", 0, "parquet"),
        ("mapped", "return_value", 1, "arrow"),
    ],
)
def test_each_value_is_kept_as_its_task_says(
    options: Run, task: str, key: str, map_index: int, extension: str
) -> None:
    row = options.row(task, key, map_index).value
    assert row["uri"].endswith(f".{extension}"), row
    assert row["_xcom_type"] == "pandas.DataFrame"


def test_options_hold_for_what_lies_in_a_value(options: Run, store: DirectoryStore) -> None:
    for task, names in (
        ("produce", ["0.arrow", "1.arrow", "value.json"]),
        ("produce_mappable", ["0.arrow", "1.arrow", "2.arrow", "value.json"]),
    ):
        row = options.row(task).value
        assert zipfile.ZipFile(store.path(row["uri"])).namelist() == names
    assert options.row("outputs", "number").value == 3

"""`airfreight.mappable` on a real Airflow: mapping is as over the bare list or dict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.airflow.conftest import DirectoryStore, Run, Runs

pytestmark = [pytest.mark.airflow, pytest.mark.releases("3.3.2", "2.11.2")]


@pytest.fixture
def mappables(runs: Runs) -> Run:
    return runs.trigger("mappables")


@pytest.mark.parametrize(
    "fact",
    [
        "instances_get_their_elements",
        "instances_of_a_dict_get_pairs",
        "expand_kwargs",
        "map",
        "zip",
        "multiple_outputs",
        "whole",
        "whole_dict",
    ],
)
def test_a_mappable_value_is_mapped_as_the_bare_one(mappables: Run, fact: str) -> None:
    assert mappables.holds(fact)


def test_the_list_lies_in_one_object_with_a_member_for_each_element(
    mappables: Run, store: DirectoryStore
) -> None:
    import zipfile

    row = mappables.row("produce").value
    assert row["_xcom_type"] == "mappable"
    names = zipfile.ZipFile(store.path(row["uri"])).namelist()
    assert names == ["0.npy", "1.npy", "2.npy", "3.npy", "value.json"]

"""What must hold on every release that we support: push, pull and map on its real scheduler."""

from __future__ import annotations

import pytest
from tests.airflow.conftest import RUN_ID, DirectoryStore, Run, Runs

pytestmark = [pytest.mark.airflow, pytest.mark.releases("2.9.3", "2.10.5", "3.0.6", "3.4.0b2")]


@pytest.fixture(scope="module")
def short(runs: Runs) -> Run:
    return runs.trigger("short")


@pytest.mark.parametrize("fact", ["frame", "bytes", "json", "mapped"])
def test_what_a_task_pushed_is_what_another_gets(short: Run, fact: str) -> None:
    assert short.holds(fact)


def test_every_task_of_the_run_succeeds(short: Run) -> None:
    assert short.wait() == "success", short.story()


def test_frames_and_arrays_are_references_and_a_small_dict_is_not(short: Run) -> None:
    frame = short.row("produce").value
    assert (frame["_xcom_type"], frame["rows"]) == ("pandas.DataFrame", 3)
    assert short.row("measure", map_index=1).value["_xcom_type"] == "numpy.ndarray"
    assert short.row("produce", "large").value["_xcom_type"] == "json"
    assert set(short.row("produce", "small").value) == {"n", "x", "names", "deep"}


def test_each_value_in_the_store_is_one_object(short: Run, store: DirectoryStore) -> None:
    references = [row.value for row in short.rows() if "_airfreight" in row.value]
    assert len(references) == 5
    objects = store.objects("short", RUN_ID)
    assert len(objects) == 5
    assert all(store.path(reference["uri"]).is_file() for reference in references)


def test_each_mapped_instance_has_an_object_of_its_own(short: Run, version: str) -> None:
    uris = [short.row("measure", map_index=n).value["uri"] for n in (0, 1)]
    folders = [uri.split("/")[-2] for uri in uris]
    if version.startswith("3.4"):
        # A coordinate of 3.4 has the attempt's id in place of the map index.
        assert all(folder.startswith("ti-") for folder in folders)
        assert len(set(folders)) == 2
    else:
        assert folders == ["map_0", "map_1"]


def test_after_a_retry_the_second_attempt_is_what_is_read(runs: Runs) -> None:
    run = runs.trigger("retried")
    assert run.wait() == "success", run.story()
    assert run.holds("second_attempt_is_what_is_read")
    assert run.holds("an_object_without_a_row_is_replaced")


def test_a_retry_leaves_one_object_for_each_row(
    runs: Runs, store: DirectoryStore, version: str
) -> None:
    run = runs.trigger("retried")
    assert run.wait() == "success", run.story()
    rows = [row for row in run.rows() if row.task_id == "flaky"]
    # From 3.4 on an earlier attempt keeps its rows, and so its objects.
    keys = ["part"] * (2 if version.startswith("3.4") else 1) + ["return_value", "rowless"]
    assert sorted(row.key for row in rows) == keys
    folder = store.folder("retried", RUN_ID)
    objects = {folder / name for name in store.objects("retried", RUN_ID)}
    assert {store.path(row.value["uri"]) for row in rows} == objects

"""What must hold on the newest releases of Airflow 3 and 2, with a directory store."""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING

import pytest
from tests.airflow.conftest import RUN_ID, VALUE_FACTS, DirectoryStore, Run, Runs, readable

if TYPE_CHECKING:
    from tests.airflow.harness import Airflow, XComRow

pytestmark = [pytest.mark.airflow, pytest.mark.releases("3.3.2", "2.11.2")]


@pytest.fixture
def values(runs: Runs) -> Run:
    return runs.trigger("values")


@pytest.fixture(scope="module")
def outages(runs: Runs) -> Run:
    return runs.trigger("outages")


def is_reference(row: XComRow) -> bool:
    value = row.value
    return isinstance(value, dict) and "_airfreight" in value and "_xcom_backend" in value


# Values.


@pytest.mark.parametrize("fact", VALUE_FACTS)
def test_what_a_task_pushed_is_what_another_gets(values: Run, fact: str) -> None:
    assert values.holds(fact)


def test_every_task_of_the_run_succeeds(values: Run) -> None:
    assert values.wait() == "success", values.story()


def test_the_row_of_a_frame_is_a_reference_that_a_person_can_read(
    values: Run, store: DirectoryStore
) -> None:
    reference = values.row("produce").value
    assert reference["_xcom_backend"] == "file"
    assert reference["_xcom_type"] == "pandas.DataFrame"
    assert reference["rows"] == 3
    run = urllib.parse.quote(RUN_ID, safe="")
    path = f"values/{run}/produce/map_-1/return_value.parquet"
    assert reference["uri"] == f"{store.url}/{path}"
    assert reference["size_bytes"] == store.path(reference["uri"]).stat().st_size
    assert "DataFrame" in reference["summary"]


def test_each_kind_of_value_names_its_type_and_keeps_its_native_format(
    values: Run, store: DirectoryStore
) -> None:
    heads = {"array": b"\x93NUMPY", "blob": bytes(range(8)), "large": b"{"}
    rows = {key: values.row("produce", key).value for key in heads}
    for key, head in heads.items():
        assert store.path(rows[key]["uri"]).read_bytes().startswith(head), rows[key]
    parquet = store.path(values.row("produce").value["uri"]).read_bytes()
    assert parquet[:4] == parquet[-4:] == b"PAR1"
    types = {key: row["_xcom_type"] for key, row in rows.items()}
    assert types["large"] == "json"
    assert len(set(types.values())) == 3, types


def test_a_small_dict_has_the_row_that_the_default_backend_writes(values: Run) -> None:
    assert values.row("produce", "small").raw == values.row("produce", "small_by_default").raw


def test_a_small_dict_leaves_nothing_in_the_store(values: Run, store: DirectoryStore) -> None:
    values.wait()
    names = [name.split("/")[-1] for name in store.objects("values", RUN_ID, "produce")]
    keys = sorted(name.rsplit(".", 1)[0] for name in names)
    assert keys == ["array", "blob", "large", "return_value"]


def test_multiple_outputs_have_one_object_for_each_large_key(
    values: Run, store: DirectoryStore
) -> None:
    assert is_reference(values.row("outputs", "big"))
    assert not is_reference(values.row("outputs", "little"))
    assert store.objects("values", RUN_ID, "outputs") == [
        "map_-1/big.json",
        "map_-1/return_value.zip",
        "map_-1/table.parquet",
    ]


def test_each_mapped_instance_has_an_object_of_its_own(values: Run, store: DirectoryStore) -> None:
    uris = [values.row("measure", map_index=n).value["uri"] for n in range(3)]
    folders = [uri.split("/")[-2] for uri in uris]
    assert folders == ["map_0", "map_1", "map_2"]
    names = [f"map_{n}/return_value.npy" for n in range(3)]
    assert store.objects("values", RUN_ID, "measure") == names


def test_another_dag_reads_the_values(runs: Runs, values: Run) -> None:
    values.wait()
    neighbour = runs.trigger("neighbour")
    assert neighbour.holds("frame_of_another_dag")
    assert neighbour.holds("mapped_of_another_dag")


# By hand.


@pytest.mark.parametrize(
    "fact",
    ["a_reference_arrives_as_a_reference", "get_gives_the_frame", "references_inside_a_value"],
)
def test_an_explicit_reference_travels_like_any_value(runs: Runs, fact: str) -> None:
    assert runs.trigger("by_hand").holds(fact)


def test_explicit_references_have_objects_of_their_own(runs: Runs, store: DirectoryStore) -> None:
    run = runs.trigger("by_hand")
    assert run.wait() == "success", run.story()
    assert store.objects("by_hand", RUN_ID) == [
        "put/map_-1/_put/features.parquet",
        "put_several/map_-1/_put/0.npy",
        "put_several/map_-1/_put/1.npy",
    ]


# Attempts.


def test_a_retry_leaves_one_object_for_each_key(runs: Runs, store: DirectoryStore) -> None:
    run = runs.trigger("retried")
    assert run.wait() == "success", run.story()
    assert "the first attempt fails, after its push" in run.log("flaky", attempt=1)
    assert store.objects("retried", RUN_ID, "flaky") == [
        "map_-1/part.parquet",
        "map_-1/return_value.npy",
        "map_-1/rowless.parquet",
    ]
    assert run.row("flaky", "part").value["rows"] == 2


def test_after_a_retry_the_second_attempt_is_what_is_read(runs: Runs) -> None:
    assert runs.trigger("retried").holds("second_attempt_is_what_is_read")


def test_what_a_dead_worker_left_without_a_row_is_replaced_by_the_next_attempt(runs: Runs) -> None:
    assert runs.trigger("retried").holds("an_object_without_a_row_is_replaced")


def test_clear_and_rerun_with_a_small_dict_leaves_no_object(
    runs: Runs, airflow: Airflow, store: DirectoryStore
) -> None:
    run = runs.trigger("changed")
    assert run.wait() == "success", run.story()
    assert store.objects("changed", RUN_ID) == ["change/map_-1/return_value.parquet"]
    assert is_reference(run.row("change"))
    airflow.clear("changed", RUN_ID, ["change"])
    assert run.wait() == "success", run.story()
    assert run.row("change").value == {"attempt": 2}
    assert store.objects("changed", RUN_ID) == []


# What Airflow's scheduler reads for itself.


def test_a_skipped_branch_stays_skipped_when_it_is_cleared_at_threshold_0(
    runs: Runs, airflow: Airflow
) -> None:
    run = runs.trigger("branches")
    assert run.holds("small_dict_at_threshold_0")
    assert is_reference(run.row("produce")), "the threshold was not 0"
    assert run.row("choose", "skipmixin_key").value == {"followed": ["taken"]}
    assert run.outcome("taken") == "ran"
    before = airflow.task_states("branches", RUN_ID)
    assert before[("left_out", -1)] == "skipped"
    airflow.clear("branches", RUN_ID, ["left_out"])
    assert run.wait() == "success", run.story()
    assert airflow.task_states("branches", RUN_ID) == before


# Rolling out and back.


def test_a_worker_that_only_reads_gets_what_others_wrote(runs: Runs) -> None:
    assert runs.trigger("thresholds").holds("reader_reads_references")


def test_a_worker_that_only_reads_writes_the_rows_of_the_default_backend(
    runs: Runs, store: DirectoryStore
) -> None:
    run = runs.trigger("thresholds")
    for key in ("json", "frame"):
        assert run.row("only_read", key).raw == run.row("only_read", f"{key}_by_default").raw
    assert store.objects("thresholds", RUN_ID, "only_read") == []


def test_a_worker_that_only_reads_refuses_what_the_default_backend_refuses(runs: Runs) -> None:
    run = runs.trigger("thresholds")
    assert run.outcome("refusal_by_default") != "pushed"
    assert run.outcome("refusal") == run.outcome("refusal_by_default")


def test_a_worker_that_writes_reads_the_rows_of_one_that_does_not(runs: Runs) -> None:
    assert runs.trigger("thresholds").holds("writer_reads_plain_rows")


# When the store is not what it should be.


def test_a_push_to_an_unreachable_store_fails_the_task_and_writes_no_row(outages: Run) -> None:
    assert outages.wait() == "failed"
    states = outages.airflow.task_states("outages", RUN_ID)
    assert states[("push_to_nowhere", -1)] == "failed"
    assert [row.key for row in outages.rows() if row.task_id == "push_to_nowhere"] == []
    log = outages.log("push_to_nowhere")
    assert "unreachable-bucket" in log, readable(log)
    assert re.search(r"127\.0\.0\.1(:| port )9\b", log), readable(log)


def check_names_the_value(message: str, key: str) -> None:
    """An error about an object names dag, task, run, key and the object's address."""
    for part in ("outages", "produce", RUN_ID, key, "file://", f"map_-1/{key}.parquet"):
        assert part in message, message


def test_the_pull_of_a_whole_object_works_before_it_is_harmed(outages: Run) -> None:
    assert outages.outcome("whole") == "gave a DataFrame"


def test_the_pull_of_a_lost_object_is_an_error_that_names_it(outages: Run) -> None:
    check_names_the_value(outages.outcome("lost"), "lost")


def test_the_pull_of_a_damaged_object_is_an_error_that_says_damaged(outages: Run) -> None:
    message = outages.outcome("damaged")
    check_names_the_value(message, "damaged")
    assert "is damaged" in message, message  # The key is "damaged" too.


def test_the_pull_from_a_store_that_is_gone_is_an_error_that_names_the_object(
    outages: Run,
) -> None:
    check_names_the_value(outages.outcome("cut_off"), "whole")


# Settings and values that are wrong.


def test_a_wrong_setting_fails_the_push_and_names_setting_value_and_example(outages: Run) -> None:
    log = outages.log("push_by_a_wrong_setting")
    assert (
        outages.airflow.task_states("outages", RUN_ID)[("push_by_a_wrong_setting", -1)] == "failed"
    )
    assert "AIRFLOW__AIRFREIGHT__THRESHOLD" in log, readable(log)
    assert "'much'" in log, readable(log)
    assert "AIRFLOW__AIRFREIGHT__THRESHOLD=32768" in log, readable(log)


def test_a_wrong_setting_is_an_error_line_of_every_airflow_process(airflow: Airflow) -> None:
    done = airflow.run("version", extra={"AIRFLOW__AIRFREIGHT__STORE": "bucket/xcom"})
    assert done.returncode == 0, done.stderr
    said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line.upper()]
    assert len(said) == 1, done.stdout + done.stderr
    assert "AIRFLOW__AIRFREIGHT__STORE" in said[0]
    assert "'bucket/xcom'" in said[0]


def test_a_value_that_nobody_can_keep_is_a_type_error_at_push_that_names_its_place(
    outages: Run,
) -> None:
    log = outages.log("push_what_nobody_can_keep")
    state = outages.airflow.task_states("outages", RUN_ID)[("push_what_nobody_can_keep", -1)]
    assert state == "failed"
    assert "TypeError" in log, readable(log)
    assert "['model']['layers'][2]" in log, readable(log)
    assert "_thread.lock" in log, readable(log)


def test_airflow_documents_the_settings(airflow: Airflow) -> None:
    said = airflow.airflow("config", "list", "--section", "airfreight", "--include-descriptions")
    for text in ("[airfreight]", "store", "threshold", "s3://bucket/prefix"):
        assert text in said, said

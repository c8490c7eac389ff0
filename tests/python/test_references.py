"""References by hand, and what a lost, damaged, replaced or forged object is answered with."""

from __future__ import annotations

import copy
import json
import os
import pickle
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.python.conftest import RUN, Box, stored

import airfreight
from airfreight import Reference, exchange, task, values


def instance(**changes: Any) -> Any:
    fields = {
        "dag_id": "sales",
        "run_id": RUN,
        "task_id": "extract",
        "map_index": -1,
        "try_number": 2,
        "start_date": None,
        "id": "01994a3e-7d0f-7c3e-a5f1-6b1d2c3e4f50",
    }
    return SimpleNamespace(**{**fields, **changes})


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A task instance in whose context the test runs, as Airflow keeps it."""
    import importlib

    ti = instance()
    name = (
        "airflow.models.taskinstance"
        if exchange.ROWS_ARE_BYTES
        else "airflow.sdk.definitions._internal.contextmanager"
    )
    monkeypatch.setattr(importlib.import_module(name), "_CURRENT_CONTEXT", [{"ti": ti}])
    monkeypatch.setattr(airfreight.api, "_ordinals", {})
    monkeypatch.setattr(airfreight.api, "_marks", {})
    return ti


import airfreight.api  # noqa: E402


def test_put_and_get(box: Box, running: Any) -> None:
    for value in (b"x", {"a": [1]}, [(1, 2)], "text", None):
        reference = airfreight.put(value)
        assert type(reference) is Reference
        assert airfreight.get(reference) == value
        assert airfreight.get(reference.to_dict()) == value
        assert airfreight.get(stored(reference.to_dict())) == value


def test_objects_without_a_name_are_numbered_per_task_instance(box: Box, running: Any) -> None:
    first, second = airfreight.put(b"1"), airfreight.put(b"2")
    running.map_index = 3
    other = airfreight.put(b"3")
    named = airfreight.put(b"4", "features")
    assert [ref.uri.rsplit("extract/")[1] for ref in (first, second, other, named)] == [
        "map_-1/_put/0.bin",
        "map_-1/_put/1.bin",
        "map_3/_put/0.bin",
        "map_3/_put/features.bin",
    ]
    assert [airfreight.get(ref) for ref in (first, second, other, named)] == [
        b"1",
        b"2",
        b"3",
        b"4",
    ]


def forked(box: Box, put: Any) -> str:
    """The URI of what a forked child puts."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, put().uri.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        uri = pipe.read()
    os.waitpid(child, 0)
    assert uri
    return uri


@pytest.mark.parametrize("before", [0, 1])
def test_a_forked_child_shares_no_object_with_its_parent(
    box: Box, running: Any, before: int
) -> None:
    uris = [airfreight.put(b"parent").uri for _ in range(before)]
    uris += [forked(box, lambda: airfreight.put(b"child")) for _ in range(2)]
    kept = airfreight.put(b"parent")
    uris.append(kept.uri)
    assert len(set(uris)) == len(uris)
    assert uris[-1].endswith(f"/_put/{before}.bin")
    assert airfreight.get(kept) == b"parent"


def test_importing_the_backend_is_enough_to_notice_a_fork() -> None:
    import subprocess
    import sys

    code = (
        "import airfreight, sys; airfreight.XComBackend; "
        "assert 'airfreight.task' in sys.modules and 'airfreight.api' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("where", ["instance", "server"])
def test_a_task_that_resumes_shares_no_object_with_its_first_half(
    box: Box, running: Any, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    first = airfreight.put(b"first")
    monkeypatch.setattr(airfreight.api, "_ordinals", {})
    if where == "instance":
        running.next_method = "execute_complete"
    else:
        running._ti_context_from_server = SimpleNamespace(next_method="execute_complete")
    second = airfreight.put(b"second")
    third = airfreight.put(b"third")
    assert [airfreight.get(ref) for ref in (first, second, third)] == [
        b"first",
        b"second",
        b"third",
    ]
    assert airfreight.put(b"x", "features").uri.endswith("/_put/features.bin")


def test_a_task_that_resumes_may_push_again_what_its_first_half_has_pushed(
    box: Box, running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Airflow 3 gives the first process the time at which its server had answered, and the one that
    # goes on the time at which it was asked: ten seconds earlier, where the server took so long.
    asked = datetime.now(timezone.utc)
    running.start_date = asked + timedelta(seconds=10)
    box.push(b"first")
    box.set()  # As another process, which does not know what this one has written.
    running.start_date = asked
    running._ti_context_from_server = SimpleNamespace(next_method="resume")
    resumed = int((asked + timedelta(seconds=20)).timestamp() * 1_000_000)
    monkeypatch.setattr(task, "process_start_micros", lambda: resumed)
    assert box.through(b"second") == b"second"


def test_a_callback_shares_no_object_with_its_task(
    box: Box, running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = airfreight.put(b"task")
    monkeypatch.setattr(airfreight.api, "_ordinals", {})
    second = airfreight.put(b"callback", context={"ti": instance()})
    assert airfreight.get(first) == b"task"
    assert airfreight.get(second) == b"callback"


def test_threads_take_different_numbers(box: Box, running: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        uris = list(pool.map(lambda _: airfreight.put(b"x").uri, range(40)))
    assert len(set(uris)) == 40


@pytest.mark.parametrize("error", [airfreight.CorruptError, airfreight.NotFoundError])
def test_advice_names_the_task_only_when_it_is_known(error: type[airfreight.Error]) -> None:
    assert "rerun task 'extract'" in str(error("It failed.", task="extract"))
    assert "''" not in str(error("It failed."))
    assert "rerun the task that pushed it" in str(error("It failed."))


def test_each_kind_of_error_is_its_own_exception_and_says_what_to_do() -> None:
    kinds = (
        *("NotFound", "NotFoundOrDenied", "Corrupt", "Replaced", "Superseded", "Expired"),
        *("Forged", "OutOfScope", "NewerFormat", "Denied", "Throttled", "Unavailable"),
    )
    classes = [getattr(airfreight, f"{kind}Error") for kind in kinds]
    for kind, cls in zip(kinds, classes, strict=True):
        assert issubclass(cls, airfreight.Error)
        error = cls("It failed.", task="extract", retryable=True)
        assert error.code == kind
        assert len(str(error)) > len("It failed. [task 'extract'] ")
    assert len({cls.advice for cls in classes}) == len(kinds)
    # What no waiting mends is not waited for.
    assert str(airfreight.UnavailableError("A wrong certificate.")) == "A wrong certificate."
    # Both causes of what S3 answers to those who may not list.
    both = airfreight.NotFoundOrDeniedError.advice
    assert "missing object" in both
    assert "missing permission" in both


def test_a_second_put_of_a_name_replaces_the_first(box: Box, running: Any) -> None:
    old = airfreight.put(b"old", "x")
    new = airfreight.put(b"new", "x")
    assert airfreight.get(new) == b"new"
    with pytest.raises(airfreight.ReplacedError):
        airfreight.get(old)


@pytest.mark.parametrize("name", ["", "0", "12", 5])
def test_a_name_that_could_be_a_number_is_refused(box: Box, running: Any, name: Any) -> None:
    with pytest.raises(airfreight.InvalidError, match="name"):
        airfreight.put(b"x", name)


def test_put_outside_of_a_task_says_so(box: Box) -> None:
    with pytest.raises(airfreight.InvalidError, match="where no task is running"):
        airfreight.put(b"x")
    reference = airfreight.put(b"x", context={"ti": instance()})
    assert airfreight.get(reference) == b"x"


@pytest.mark.parametrize(
    "value", ["s3://bucket/x", '{"_airfreight": 1}', None, 1, [1], b"x"], ids=repr
)
def test_get_follows_references_and_nothing_else(box: Box, value: Any) -> None:
    with pytest.raises(TypeError, match="takes a Reference"):
        airfreight.get(value)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"uri": "x"},
        {
            "_xcom_backend": "inline",
            "_xcom_type": "document",
            "_airfreight": 1,
            "uri": "",
            "size_bytes": 0,
        },
    ],
    ids=repr,
)
def test_a_dict_that_is_no_reference_is_refused(box: Box, fields: Any) -> None:
    with pytest.raises(airfreight.InvalidError, match="not a reference"):
        airfreight.get(fields)


@pytest.mark.parametrize("threshold", [-1, 0, 32768])
def test_a_reference_comes_back_as_a_reference(box: Box, running: Any, threshold: int) -> None:
    box.set(threshold=threshold)
    reference = airfreight.put(b"x" * 1000)
    values = (
        [reference]
        if threshold < 0
        else [
            reference,
            [reference],
            {"model": reference, 1: (reference,)},
            [reference] * 100,
        ]
    )
    for value in values:
        back = box.through(value)
        assert back == value
        assert type(back) is type(value)
    assert airfreight.get(box.through(reference)) == b"x" * 1000


def test_a_reference_is_an_immutable_value(box: Box, running: Any) -> None:
    reference = airfreight.put(b"x", "a")
    same = Reference.from_dict(stored(reference.to_dict()))
    assert same == reference
    assert hash(same) == hash(reference)
    assert reference != airfreight.put(b"x", "b")
    assert reference != reference.to_dict()
    assert {reference: 1}[same] == 1
    for clone in (
        pickle.loads(pickle.dumps(reference)),
        copy.copy(reference),
        copy.deepcopy(reference),
    ):
        assert clone == reference
    with pytest.raises(AttributeError, match="immutable"):
        reference.uri = "s3://other"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        reference._text = "{}"
    with pytest.raises(TypeError, match=r"airfreight\.put"):
        Reference()
    changed = reference.to_dict()
    changed["uri"] = "elsewhere"
    assert reference.uri != "elsewhere"


def test_a_reference_tells_what_it_leads_to(box: Box, running: Any) -> None:
    import pandas as pd

    reference = airfreight.put(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), "frame")
    assert reference.type == "pandas.DataFrame"
    assert reference.rows == 2
    assert [label for label, _ in reference.columns] == ["a", "b"]
    assert reference.backend == "file"
    assert reference.size_bytes > 0
    assert (reference.dag_id, reference.run_id, reference.task_id) == ("sales", RUN, "extract")
    assert reference.digest.startswith("crc32c:")
    assert reference.written.endswith("Z")
    assert reference.summary in repr(reference)
    assert len(repr(reference)) < 400
    assert not hasattr(reference, "serialize")  # Airflow would call it.


# --- Attempts -------------------------------------------------------------------------------------


def test_an_older_attempt_does_not_replace_a_newer_one(box: Box, running: Any) -> None:
    import datetime

    from airfreight import runtime

    running.start_date = datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.timezone.utc)
    running.try_number = 2
    newer = box.push(b"newer")
    runtime.forget()  # As another process.
    running.start_date = datetime.datetime(2026, 1, 1, 0, tzinfo=datetime.timezone.utc)
    running.try_number = 1
    with pytest.raises(airfreight.SupersededError) as caught:
        box.push(b"zombie")
    assert "'extract'" in str(caught.value)
    assert box.pull(stored(newer)) == b"newer"


def test_the_attempt_is_that_of_the_running_task(running: Any) -> None:
    import datetime

    running.start_date = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    assert task.attempt("sales", RUN, "extract", -1) == (2, 1_767_225_600_000_000)
    # A push for another task instance is not this task's attempt.
    assert task.attempt("sales", RUN, "other", -1) == (0, 0)
    assert task.attempt("sales", RUN, "extract", 4) == (0, 0)
    assert task.attempt("sales", RUN, "extract", None)[0] == 2


def test_the_attempt_of_a_returned_value_is_known_without_a_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Airflow 3 pushes it after the context is gone; the variables for operators are still there.
    for name, value in (
        ("DAG_ID", "sales"),
        ("DAG_RUN_ID", RUN),
        ("TASK_ID", "extract"),
        ("TRY_NUMBER", "3"),
    ):
        monkeypatch.setenv(f"AIRFLOW_CTX_{name}", value)
    number, started = task.attempt("sales", RUN, "extract", -1)
    assert number == 3
    assert started == task.process_start_micros() > 1_600_000_000_000_000
    assert task.attempt("sales", RUN, "other", -1) == (0, 0)


@pytest.mark.parametrize("ti", [None, object(), SimpleNamespace(dag_id=1)], ids=repr)
def test_an_odd_context_never_fails_a_push(
    box: Box, ti: Any, running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "context", lambda: {"ti": ti})
    assert box.through(b"x") == b"x"


# --- Lost and damaged -----------------------------------------------------------------------------


def names_everything(message: str) -> bool:
    parts = ("'sales'", f"'{RUN}'", "'extract'", "-1", "'return_value'", "return_value.")
    return all(part in message for part in parts)


@pytest.mark.parametrize(
    "value", [b"x", ["y" * 50_000], {1: "z" * 50_000}], ids=lambda v: type(v).__name__
)
def test_a_lost_object_is_an_error_that_names_everything(box: Box, value: Any) -> None:
    row = stored(box.push(value))
    box.file(row).unlink()
    with pytest.raises(airfreight.NotFoundError) as caught:
        box.pull(row)
    assert names_everything(str(caught.value))
    assert "rerun task 'extract'" in str(caught.value)
    error = caught.value
    assert (error.dag, error.run, error.task, error.map_index, error.xcom_key) == (
        "sales",
        RUN,
        "extract",
        -1,
        "return_value",
    )
    assert error.uri == box.fields(row)["uri"]


@pytest.mark.parametrize("damage", ["truncate", "flip", "grow", "empty"])
def test_a_damaged_object_is_an_error_that_says_damaged(box: Box, damage: str) -> None:
    row = stored(box.push(b"0123456789"))
    path = box.file(row)
    data = path.read_bytes()
    changed = {"truncate": data[:5], "flip": b"X" + data[1:], "grow": data + b"x", "empty": b""}[
        damage
    ]
    path.write_bytes(changed)
    with pytest.raises(airfreight.CorruptError) as caught:
        box.pull(row)
    assert names_everything(str(caught.value))
    assert "damaged" in str(caught.value)


def test_an_object_that_was_written_again_is_an_error_that_says_replaced(box: Box) -> None:
    old = stored(box.push(b"old"))
    box.push(b"new")
    with pytest.raises(airfreight.ReplacedError) as caught:
        box.pull(old)
    assert names_everything(str(caught.value))


@pytest.mark.parametrize(
    "change",
    [
        {"uri": "file:///etc/passwd"},
        {"uri": "s3://other-bucket/xcom/x"},
        {"task": "other"},
        {"dag": "other"},
        {"map": 7},
        {"key": "../../secret"},
    ],
    ids=str,
)
def test_a_reference_that_was_edited_is_not_followed(box: Box, change: Any) -> None:
    row = {**stored(box.fields(box.push(b"x"))), **change}
    with pytest.raises(
        (airfreight.OutOfScopeError, airfreight.ForgedError, airfreight.InvalidError)
    ):
        box.pull(json.dumps(row).encode() if exchange.ROWS_ARE_BYTES else row)


def test_an_object_of_another_type_than_the_row_says_is_an_error(box: Box) -> None:
    row = {**stored(box.fields(box.push(b"no json"))), "_xcom_type": "json"}
    with pytest.raises(airfreight.Error):
        box.pull(json.dumps(row).encode() if exchange.ROWS_ARE_BYTES else row)
    row["_xcom_type"] = "polars.DataFrame"
    with pytest.raises(airfreight.Error):
        box.pull(json.dumps(row).encode() if exchange.ROWS_ARE_BYTES else row)


@pytest.mark.parametrize(
    "change", [{"_xcom_type": "bytes"}, {"_xcom_type": "pandas.DataFrame"}, {"_xcom_backend": "s3"}]
)
def test_a_row_that_contradicts_itself_is_forged_and_nothing_is_read(
    box: Box, change: dict[str, str]
) -> None:
    row = {**stored(box.fields(box.push({"x": ["y" * 40000]}))), **change}
    with pytest.raises(airfreight.ForgedError):
        box.pull(json.dumps(row).encode() if exchange.ROWS_ARE_BYTES else row)


def test_a_store_that_was_moved_is_read_where_read_also_names_it(box: Box) -> None:
    row = stored(box.push(b"x"))
    old = f"file://{box.root}"
    box.set(store=f"file://{box.root}-new")
    with pytest.raises(airfreight.OutOfScopeError, match="AIRFLOW__AIRFREIGHT__READ_ALSO"):
        box.pull(row)
    box.set(read_also=f"file:///nowhere, {old}")
    assert box.pull(row) == b"x"


def test_a_value_above_the_limit_is_refused(box: Box) -> None:
    box.set(max_object_bytes=10)
    assert box.through(b"x" * 10) == b"x" * 10
    with pytest.raises(airfreight.TooLargeError):
        box.push(b"x" * 11)


def test_every_error_of_the_core_has_its_class() -> None:
    from airfreight.errors import from_core

    codes = [
        "NotFound",
        "NotFoundOrDenied",
        "Corrupt",
        "Replaced",
        "Expired",
        "Superseded",
        "Forged",
        "OutOfScope",
        "NewerFormat",
        "Denied",
        "Throttled",
        "Unavailable",
        "Timeout",
        "Cancelled",
        "TooLarge",
        "Unsupported",
        "Invalid",
        "Internal",
    ]
    for code in codes:
        error = from_core(code, "it broke", "s3://b/x", "k", 503, "SlowDown", "REQ1", True)
        assert error.code == code
        assert type(error).__name__ != "Error"
        text = str(error)
        assert all(
            part in text for part in ("it broke", "s3://b/x/k", "HTTP 503", "SlowDown", "REQ1")
        )
        assert error.retryable
        clone = pickle.loads(pickle.dumps(error))
        assert type(clone) is type(error)
        assert str(clone) == text
    assert (
        type(from_core("SomethingNew", "m", "", "", 0, "", "", False)) is airfreight.InternalError
    )
    assert issubclass(airfreight.DeadlineError, TimeoutError)
    assert issubclass(airfreight.ConfigError, ValueError)


# --- Processes ------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_pushes_and_pulls(box: Box) -> None:
    # apache/airflow#71707: tasks are forked from a process that used the backend.
    row = stored(box.push(b"parent"))
    for round_ in range(5):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                mine = stored(box.push(b"child", key=f"k{round_}"))
                code = 0 if box.pull(row) == b"parent" and box.pull(mine) == b"child" else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
    assert box.pull(row) == b"parent"


def test_threads_share_one_core(box: Box) -> None:
    import threading

    from airfreight import runtime

    seen = []
    threads = [threading.Thread(target=lambda: seen.append(runtime.freight())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, seen))) == 1


def test_it_works_inside_a_running_event_loop(box: Box) -> None:  # apache/airflow#53711
    import asyncio

    async def both() -> Any:
        return box.through(b"x")

    assert asyncio.run(both()) == b"x"


def test_the_table_of_extensions_is_what_the_codecs_have() -> None:
    assert values._EXTENSIONS.keys() == {*values._BY_TYPE, exchange.SERDE_TYPE}
    for kind in values._BY_TYPE:
        codec = values.for_type(kind)
        assert codec is not None
        assert values.extensions(kind)[0] == codec.EXTENSION
    assert values.extensions(exchange.SERDE_TYPE) == ("json",)
    assert values.extensions("of another release") == ()


@pytest.mark.parametrize("kind", ["pandas.DataFrame", "numpy.ndarray", "document"])
def test_an_object_goes_to_a_file_where_the_library_of_its_value_is_not(
    box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    made: dict[str, Any] = {
        "pandas.DataFrame": pd.DataFrame({"a": [1]}),
        "numpy.ndarray": np.arange(3),
        "document": ("x" * 50_000, {1}),
    }
    row = box.fields(stored(box.push(made[kind])))
    assert row["_xcom_type"] == kind

    def load(_: str) -> Any:
        raise AssertionError("loads a codec")

    monkeypatch.setattr(values, "_load", load)
    assert airfreight.get(row, to=tmp_path / "out") == tmp_path / "out"
    assert (tmp_path / "out").read_bytes() == box.file(row).read_bytes()

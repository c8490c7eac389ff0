"""What stays in the row, what goes to the store, and what comes back."""

from __future__ import annotations

import json
import logging
import sys
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from tests.python.conftest import Box, airflow_2, airflow_3, default, stored

import airfreight
from airfreight import exchange, runtime
from airfreight.values import document

PLAIN: list[Any] = [
    None,
    True,
    0,
    -(2**63),
    2**64 - 1,
    1.5,
    "",
    "value_1",
    "é日",
    [],
    {},
    [1, [2.5, None], {"a": "b"}],
    {"rows": 3, "path": "x", "ok": True},
    {"a": {"b": [{"c": []}]}},
    "a" * 32766,
]


def wire(row: Any) -> bytes:
    return row if isinstance(row, bytes) else json.dumps(row).encode()


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: repr(value)[:30])
def test_a_small_json_value_gives_the_row_of_the_default_backend_byte_for_byte(
    box: Box, value: Any
) -> None:
    row = box.push(value)
    assert wire(row) == wire(default(value))
    assert type(row) is type(default(value))
    assert box.pull(stored(row)) == value
    assert runtime.loaded() is None  # Not even the core was made.


def test_a_text_does_not_come_back_in_quotes(box: Box) -> None:  # apache/airflow#49159
    assert box.through("value_1") == "value_1"


def test_the_threshold_counts_encoded_bytes_and_includes_its_own_value(box: Box) -> None:
    box.set(threshold=10)
    assert not is_ours(box.push("a" * 8))
    assert is_ours(box.push("a" * 9))
    assert not is_ours(box.push("é" * 4))  # 2 bytes each, and the quotes.
    assert is_ours(box.push("é" * 5))


def is_ours(row: Any) -> bool:
    return exchange.ours(stored(row)) is not None


def test_the_default_threshold_is_below_what_a_mysql_column_takes(box: Box) -> None:
    # apache/airflow#9299: 65,535 bytes.
    row = box.push({"text": "x" * 80_000})
    assert box.fields(row)["_xcom_type"] == "json"
    assert len(wire(row)) < 4096


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", [1], {"a": 1}, (1, 2)], ids=repr)
def test_threshold_0_sends_everything_to_the_store(box: Box, value: Any) -> None:
    box.set(threshold=0)
    row = box.push(value)
    assert box.fields(row)["_xcom_backend"] == "file"
    assert box.pull(stored(row)) == value


def test_threshold_minus_1_writes_as_the_default_backend_and_reads_references(box: Box) -> None:
    offloaded = [stored(box.push(b"\x00\xff")), stored(box.push(list(range(50_000)), key="list"))]
    offloaded.append(stored(box.push({1: 2}, key="dict")))
    box.set(threshold=-1)
    for value in [*PLAIN, ["x" * 100_000]]:
        assert wire(box.push(value)) == wire(default(value))
    with pytest.raises(TypeError):
        default(b"\x00")
    with pytest.raises(TypeError):
        box.push(b"\x00")
    assert box.pull(offloaded[0]) == b"\x00\xff"
    assert box.pull(offloaded[1]) == list(range(50_000))
    assert box.pull(offloaded[2]) == {1: 2}


@pytest.mark.parametrize(
    "key",
    [
        "skipmixin_key",
        "past_depends_met",
        "trigger_run_id",
        "pod_name",
        "pod_namespace",
        "_link_TriggerDagRunLink",
    ],
)
@pytest.mark.parametrize("threshold", [0, 10, 32768])
def test_what_airflows_servers_read_stays_in_the_row(box: Box, key: str, threshold: int) -> None:
    box.set(threshold=threshold)
    value = {"followed": ["branch_a"] * 20}
    assert wire(box.push(value, key=key)) == wire(default(value))


def test_the_signature_has_the_six_names_that_airflow_passes() -> None:
    import inspect

    parameters = inspect.signature(airfreight.XComBackend.serialize_value).parameters
    assert list(parameters) == ["value", "key", "task_id", "dag_id", "run_id", "map_index"]


# --- Rows that are not ours -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {"_xcom_backend": "s3", "uri": "s3://bucket/x"},  # The tutorial's backend.
        {"_airfreight": 1, "value": 2},
        "s3://conn@bucket/dag/run/task/uuid",  # The official backend.
        '{"_airfreight": 1, "_xcom_backend": "s3"}',  # Text is a value, whatever it says.
        [{"_airfreight": 1, "_xcom_backend": "s3"}],
        {"nested": {"_airfreight": 1, "_xcom_backend": "inline", "value": 1}},
    ],
    ids=repr,
)
def test_a_foreign_row_is_read_as_the_default_backend_reads_it(box: Box, value: Any) -> None:
    row = json.dumps(value).encode() if exchange.ROWS_ARE_BYTES else value
    assert box.pull(row) == value
    assert runtime.loaded() is None


@pytest.mark.parametrize(
    "value",
    [
        {"_xcom_backend": "s3", "_airfreight": 1, "uri": "s3://other/secret"},
        {"_xcom_backend": "inline", "_airfreight": 1, "_xcom_type": "document", "value": 1},
        {"_airfreight": 1},
        {"_xcom_backend": "s3"},
        {"a": {"_xcom_backend": "s3", "_airfreight": 1}},
        {"__classname__": "builtins.tuple", "__version__": 1, "__data__": [1]},
        {"__type": "set", "__var": [1]},
        {"a": [{"__id__": 1}]},
        {"~tuple": [1]},
    ],
    ids=repr,
)
@pytest.mark.parametrize("threshold", [0, 32768])
def test_a_users_dict_with_markers_stays_a_dict(box: Box, value: Any, threshold: int) -> None:
    box.set(threshold=threshold)
    assert box.through(value) == value


@pytest.mark.parametrize("threshold", [-1, 0, 32768])
@pytest.mark.parametrize("key", ["return_value", "skipmixin_key", "_link_x"])
def test_a_users_dict_that_names_an_object_is_neither_followed_nor_purged(
    box: Box, threshold: int, key: str
) -> None:
    reference = box.fields(box.push(b"precious", task_id="other"))
    objects = box.objects()
    box.set(threshold=threshold)
    row = stored(box.push(reference, key=key))
    assert box.pull(row) == reference
    airfreight.XComBackend.purge(SimpleNamespace(value=row))
    assert box.objects() == objects if threshold else set(objects) <= set(box.objects())


@pytest.mark.parametrize(
    "row",
    [
        {"_xcom_backend": "inline", "_airfreight": 1},
        {"_xcom_backend": "inline", "_airfreight": 1, "_xcom_type": "json", "value": 1},
        {"_xcom_backend": "inline", "_airfreight": "1", "_xcom_type": "document", "value": 1},
        {"_xcom_backend": "inline", "_airfreight": 2, "_xcom_type": "document", "value": 1},
        {
            "_xcom_backend": "inline",
            "_airfreight": 1,
            "_xcom_type": "document",
            "value": {"~no": 1},
        },
        {
            "_xcom_backend": "inline",
            "_airfreight": 1,
            "_xcom_type": "document",
            "value": {"~int": 1},
        },
        {"_xcom_backend": "file", "_airfreight": 1},
        {"_xcom_backend": "file", "_airfreight": 1, "_xcom_type": "json", "uri": 3},
        {"_xcom_backend": None, "_airfreight": None},
    ],
    ids=repr,
)
def test_a_malformed_row_of_ours_is_an_error_and_never_a_value(box: Box, row: Any) -> None:
    with pytest.raises(airfreight.Error):
        box.pull(json.dumps(row).encode() if exchange.ROWS_ARE_BYTES else row)


@airflow_2
@pytest.mark.parametrize("row", [b"", b"not json", b'"_airfreight"', b"\xff_airfreight"], ids=repr)
def test_foreign_bytes_fail_as_they_do_in_the_default_backend(box: Box, row: bytes) -> None:
    def outcome(call: Any) -> Any:
        try:
            return call(SimpleNamespace(value=row))
        except Exception as error:
            return type(error)

    assert outcome(airfreight.XComBackend.deserialize_value) == outcome(
        exchange.BaseXCom.deserialize_value
    )


def test_nothing_but_the_value_of_a_result_is_used(box: Box) -> None:  # apache/airflow#50636
    class Bare:
        __slots__ = ("value",)
        value: Any

    result = Bare()
    result.value = stored(box.push(b"x"))
    assert airfreight.XComBackend.deserialize_value(result) == b"x"


# --- Coordinates ----------------------------------------------------------------------------------


def test_without_coordinates_json_stays_in_the_row_whatever_its_size(box: Box) -> None:
    # apache/airflow#41921
    big = ["x" * 100_000]
    row = airfreight.XComBackend.serialize_value(big, key="k")
    assert wire(row) == wire(default(big))
    assert box.pull(stored(airfreight.XComBackend.serialize_value({1: "x" * 50_000}))) == {
        1: "x" * 50_000
    }
    with pytest.raises(airfreight.InvalidError, match=r"dag_id and run_id and task_id"):
        airfreight.XComBackend.serialize_value(b"x", key="k")


@pytest.mark.parametrize(
    "part", ["..", "../../evil", "a/b", "a%2Fb", "", " ", "é日", "x" * 250, "a:b+c", "~", "-", "."]
)
@pytest.mark.parametrize("name", ["dag_id", "run_id", "task_id", "key"])
def test_hostile_coordinates_stay_below_the_root_and_come_back(
    box: Box, part: str, name: str
) -> None:
    row = box.push(b"x", **{name: part})
    assert box.pull(stored(row)) == b"x"
    assert box.file(row).resolve().is_relative_to(box.root.resolve())
    assert list(box.root.parent.iterdir()) == [box.root]


def test_every_mapped_instance_and_every_key_has_its_own_object(box: Box) -> None:
    rows = [box.push(bytes([i]), map_index=i) for i in range(5)]
    rows.append(box.push(b"other", key="other"))
    assert len(box.objects()) == 6
    assert [box.pull(stored(row)) for row in rows] == [*(bytes([i]) for i in range(5)), b"other"]


def test_a_second_push_of_a_key_replaces_its_object(box: Box) -> None:
    box.push(b"one")
    row = box.push(b"two")
    assert box.objects() == [f"sales/{quoted_run()}/extract/map_-1/return_value.bin"]
    assert box.pull(stored(row)) == b"two"


def quoted_run() -> str:
    return "manual__2026-01-01T00%3A00%3A00%2B00%3A00"


@pytest.mark.parametrize("later", [{"small": 1}, {1: 2}, ["x" * 50_000]], ids=lambda v: str(v)[:12])
def test_a_later_push_of_another_kind_removes_the_earlier_object(box: Box, later: Any) -> None:
    box.push(b"one")
    row = box.push(later)
    offloaded = "uri" in str(row)
    assert len(box.objects()) == (1 if offloaded else 0)
    assert box.pull(stored(row)) == later


# --- Purge ----------------------------------------------------------------------------------------


def purge(row: Any) -> None:
    # As Airflow 2 does: by position, with a session, and a value that is decoded already.
    airfreight.XComBackend.purge(SimpleNamespace(value=row), object())


def test_purge_removes_the_object_of_a_row(box: Box) -> None:
    row = box.push(b"x")
    purge(box.fields(row))
    assert box.objects() == []
    purge(box.fields(row))  # Gone already: no error.


def test_purge_leaves_an_object_that_another_write_put_there(box: Box) -> None:
    old = box.push(b"old")
    new = box.push(b"new")
    purge(stored(old))
    assert box.pull(stored(new)) == b"new"


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        "s3://bucket/key",
        b"",
        b"\xff",
        b'{"_airfreight": 1, "_xcom_backend": "s3"}',
        {},
        {"_airfreight": 1, "_xcom_backend": "s3", "uri": "s3://elsewhere/x"},
        {"_airfreight": 1, "_xcom_backend": "inline"},
        {"_airfreight": [], "_xcom_backend": {}},
        object(),
    ],
    ids=repr,
)
def test_purge_never_raises(box: Box, value: Any, caplog: pytest.LogCaptureFixture) -> None:
    purge(value)
    airfreight.XComBackend.purge(SimpleNamespace())
    airfreight.XComBackend.purge(None)


def test_purge_does_not_raise_where_the_package_is_broken(
    box: Box, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    row = stored(box.push(b"x"))
    monkeypatch.delattr(airfreight, "exchange")
    monkeypatch.setitem(sys.modules, "airfreight.exchange", None)
    logging.getLogger("airfreight").propagate = True
    purge(row)
    assert "airfreight.exchange" in caplog.text


def test_purge_logs_what_it_could_not_do(
    box: Box, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    row = stored(box.push(b"x"))
    box.set(store="nonsense://")
    with caplog.at_level(logging.WARNING, logger="airfreight"):
        logging.getLogger("airfreight").propagate = True
        purge(row)
    assert "AIRFLOW__AIRFREIGHT__STORE" in caplog.text


# --- Airflow 3.4 ----------------------------------------------------------------------------------


def coordinate(ti_id: str | None) -> Any:
    return SimpleNamespace(dag_id="d", run_id="r", task_id="t", ti_id=ti_id)


@airflow_3
def test_the_hooks_of_airflow_3_4_keep_attempts_apart(box: Box) -> None:
    backend = airfreight.XComBackend
    first = "01994a3e-7d0f-7c3e-a5f1-6b1d2c3e4f50"
    second = "01994a3e-7d0f-7c3e-a5f1-6b1d2c3e4f51"
    rows = [backend.store_value(coordinate(ti), "k", ti.encode()) for ti in (first, second)]
    assert [backend.load_value(stored(row)) for row in rows] == [first.encode(), second.encode()]
    assert backend.store_value(coordinate(first), "k", {"a": 1}) == {"a": 1}


@airflow_3
def test_a_write_for_another_task_instance_shares_its_place_with_no_other_write(box: Box) -> None:
    backend = airfreight.XComBackend
    rows = [backend.store_value(coordinate(None), "k", bytes([i])) for i in range(3)]
    assert len(box.objects()) == 3
    assert [backend.load_value(stored(row)) for row in rows] == [b"\x00", b"\x01", b"\x02"]


# --- Through Airflow's own code -------------------------------------------------------------------


@airflow_3
def test_every_row_passes_the_validation_of_airflow_3(box: Box) -> None:
    from airflow.sdk.execution_time.comms import SetXCom

    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    nested: Any = (1,)
    for _ in range(100):
        nested = (nested,)
    for value in [
        *PLAIN,
        b"x",
        {1: float("inf")},
        ["\ud800"],
        2**70,
        deep,
        nested,
        list(range(50_000)),
    ]:
        row = box.push(value)
        message = SetXCom(
            key="k",
            value=row,
            dag_id="d",
            task_id="t",
            run_id="r",
            map_index=-1,
            mapped_length=None,
        )
        assert box.pull(stored(message.value)) == value


@pytest.mark.parametrize("threshold", [None, 0], ids=["row", "object"])
@pytest.mark.parametrize("error", [IndexError, KeyError, AttributeError, RecursionError])
def test_what_a_class_says_of_its_own_state_is_no_end_of_a_list(
    box: Box, monkeypatch: pytest.MonkeyPatch, threshold: int | None, error: type[Exception]
) -> None:
    """Airflow goes through the values of a mapped task until there is an IndexError."""

    def broken(_content: Any) -> None:
        raise error(3)

    box.set(threshold=threshold)
    row = box.push([Fraction(1, 3), "x"])
    monkeypatch.setitem(document._DECODERS, "~fraction", broken)
    with pytest.raises(airfreight.CorruptError, match=r"\b3\b"):
        box.pull(stored(row))


@airflow_2
def test_airflow_2_shows_a_reference_without_the_store(box: Box) -> None:
    import sqlalchemy.orm
    from airflow.models.xcom import BaseXCom

    row = box.push(b"x")
    box.set(store="file:///not/there")
    shown = SimpleNamespace(value=row)
    # What the ORM does when it loads a row for the web server and for clearing.
    assert BaseXCom._deserialize_value(shown, True)["_xcom_type"] == "bytes"
    assert runtime.loaded() is None
    assert sqlalchemy.orm is not None

"""`airfreight repatriate`: values that an outage left in rows go to the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from tests.python.conftest import RUN, Box, stored
from tests.python.test_outage import FRAME, SEAL_KEY, Server, as_row, pickled_fields
from tests.python.test_pickle import ARCHIVES

import airfreight
from airfreight import exchange, runtime, sealing
from airfreight.admin.repatriate import Report, repatriate
from airfreight.exchange import outage


class Rows:
    """The rows of a database, as `airfreight.admin.database` gives them."""

    rows_are_bytes = exchange.ROWS_ARE_BYTES

    def __init__(self) -> None:
        self.held: list[Any] = []
        self.before_rewrite: Callable[[Any], None] = lambda _: None
        self.writing: Any = None
        self.at_work: set[str] = set()

    def add(self, value: Any, task: str = "extract", **more: Any) -> Any:
        row = SimpleNamespace(
            dag="sales", run=RUN, task=task, map_index=-1, key="return_value", ti=None,
            archived=False, value=stored(value), id=len(self.held),
        )  # fmt: skip
        vars(row).update(more)
        self.held.append(row)
        return row

    def identity(self) -> dict[str, str]:
        return {"kind": "test"}

    def rows(self, **_: Any) -> Iterator[Any]:
        for row in list(self.held):
            yield SimpleNamespace(**vars(row))

    def reread(self, row: Any) -> Any:
        here = self.held[row.id]
        value = here.value if self.rows_are_bytes else json.dumps(here.value)
        return SimpleNamespace(**vars(here) | {"raw": value})

    def is_at_work(self, row: Any) -> bool:
        return row.task in self.at_work

    def rewrite(self, row: Any, value: Any) -> bool:
        self.writing = value
        self.before_rewrite(row)
        here = self.held[row.id]
        if here.value != row.value:
            return False
        assert isinstance(value, bytes) == self.rows_are_bytes
        here.value = value
        return True


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
def away() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def lost(box: Box, away: Server, monkeypatch: pytest.MonkeyPatch) -> Box:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    box.set(
        store="s3://bucket/xcom",
        s3_endpoint_url=away.url,
        s3_region="us-east-1",
        timeout=0.05,
        outage="inline",
    )
    return box


def back(box: Box) -> None:
    """The store is back (another one, for the purposes of these tests)."""
    box.set(store=f"file://{box.root}", s3_endpoint_url=None)


def move(rows: Rows, *, write: bool = True) -> Report:
    return repatriate(rows, write=write)  # type: ignore[arg-type]


def test_a_dry_run_counts_and_changes_nothing(lost: Box, rows: Rows) -> None:
    row = rows.add(lost.push(FRAME))
    before = row.value
    rows.add(lost.push({"small": 1}), task="other")
    back(lost)
    report = move(rows, write=False)
    assert (report.found, report.moved, report.problems) == (1, 1, [])
    assert report.found_bytes == lost.fields(before)["size_bytes"]
    assert row.value is before
    assert lost.objects() == []


def test_values_move_and_are_pulled_from_the_store(lost: Box, rows: Rows) -> None:
    values = {"a": FRAME, "b": b"\x00" * 300, "c": {1: "z" * 50_000}, "d": ["y" * 50_000]}
    for task, value in values.items():
        rows.add(lost.push(value, task_id=task), task=task)
    back(lost)
    report = move(rows)
    assert (report.found, report.moved, report.failed) == (4, 4, {})
    assert len(lost.objects()) == 4
    for row, value in zip(rows.held, values.values(), strict=True):
        fields = lost.fields(row.value)
        assert fields["_xcom_backend"] == "file"
        assert "outage" not in fields
        got = lost.pull(row.value)
        if isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(got, value)
            assert fields["summary"].startswith("DataFrame 3 × 2: id int64")
            assert fields["columns"] == [["id", "int64"], ["name", fields["columns"][1][1]]]
            assert fields["rows"] == 3
        else:
            assert got == value
    assert move(rows).found == 0  # Once more, there is nothing to do.


def test_what_is_sealed_goes_sealed_whatever_the_policy_says_by_then(lost: Box, rows: Rows) -> None:
    lost.set(seal="True", seal_keys=SEAL_KEY, pickle="allow")
    rows.add(lost.push(FRAME))
    back(lost)
    lost.set(seal=None)
    assert move(rows).moved == 1
    row = rows.held[0].value
    fields = lost.fields(row)
    assert (fields["_xcom_backend"], fields["sealed"]) == ("file", 1)
    assert lost.file(row).read_bytes()[-1024:].startswith(b"AFSEALED")
    pd.testing.assert_frame_equal(lost.pull(row), FRAME)


def test_what_had_to_be_sealed_and_is_not_does_not_come_out_sealed(lost: Box, rows: Rows) -> None:
    """Somebody may have written it there, where only values of who has the keys are to be."""
    row = rows.add(lost.push(FRAME))
    back(lost)
    lost.set(seal="True", seal_keys=SEAL_KEY, refuse_unsealed="True")
    report = move(rows)
    assert (report.moved, report.failed) == (0, {"Forged": 1})
    assert "refuse_unsealed" in report.problems[0][1]
    assert lost.objects() == []
    lost.set(refuse_unsealed=None)
    assert move(rows).moved == 1
    assert lost.fields(row.value)["sealed"] == 1


def test_a_sealed_value_that_does_not_open_stays(lost: Box, rows: Rows) -> None:
    lost.set(seal="True", seal_keys=SEAL_KEY)
    row = rows.add(lost.push(FRAME))
    fields = lost.fields(row.value)
    row.value = as_row(fields | {"write": "0" * 32})
    back(lost)
    assert move(rows).failed == {"Forged": 1}
    row.value = as_row(fields)
    lost.set(seal_keys=None)
    report = move(rows)
    assert report.failed == {"Denied": 1}
    assert "seal_keys" in report.problems[0][1]
    assert lost.objects() == []


def test_a_key_that_is_away_ends_it_and_is_not_said_to_be_the_store(
    lost: Box, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost.set(seal="True", seal_keys="a:aws-kms:alias/xcom")
    monkeypatch.setattr(sealing, "_ask_amazon", lambda *asked, **_: asked[2][::-1])
    for _ in range(2):
        rows.add(lost.push(FRAME))
    back(lost)

    def nobody(*_: Any, **__: Any) -> Any:
        raise airfreight.UnavailableError("nobody answers", retryable=True)

    monkeypatch.setattr(sealing, "_ask_amazon", nobody)
    report = move(rows)
    assert (report.failed, len(report.problems)) == ({"Unavailable": 1}, 1)
    assert (
        report.ended == "what keeps the keys of sealed values is away: run it again when it is back"
    )


def test_a_row_that_changes_meanwhile_stays_and_its_object_goes(lost: Box, rows: Rows) -> None:
    row = rows.add(lost.push(FRAME))
    back(lost)

    def change(_: Any) -> None:
        row.value = stored(lost.push({"newer": 1}))

    rows.before_rewrite = change
    report = move(rows)
    assert (report.moved, report.changed) == (0, 1)
    assert lost.pull(row.value) == {"newer": 1}
    assert lost.objects() == []


@pytest.mark.parametrize("over", [True, False])
def test_two_at_once_lose_nothing(lost: Box, rows: Rows, *, over: bool) -> None:
    """Both write the object, and the row names the one that is there."""
    row = rows.add(lost.push(FRAME))
    back(lost)

    def another(_: Any) -> None:
        """Goes all its way between our object and our row."""
        ours = rows.writing
        rows.before_rewrite = (lambda _: setattr(row, "value", ours)) if over else (lambda _: None)
        assert move(rows).moved == 1

    rows.before_rewrite = another
    report = move(rows)
    assert (report.moved, report.changed, report.failed) == (1, 0, {})
    pd.testing.assert_frame_equal(lost.pull(stored(row.value)), FRAME)


def test_a_value_of_a_task_that_is_at_work_stays(lost: Box, rows: Rows) -> None:
    row = rows.add(lost.push(FRAME))
    rows.at_work.add(row.task)
    back(lost)
    for write in (False, True):
        report = move(rows, write=write)
        assert (report.found, report.moved, report.at_work) == (1, 0, 1)
    assert lost.objects() == []


def test_a_newer_attempt_is_not_replaced(lost: Box, rows: Rows) -> None:
    old = lost.fields(lost.push(FRAME)) | {"started": 1_000_000, "attempt": 1}
    row = rows.add(as_row(old))
    back(lost)
    newer = lost.push(FRAME.iloc[:1])  # By a process that started long after 1970,
    runtime.forget()  # and is another one.
    report = move(rows)
    assert report.failed == {"Superseded": 1}
    assert outage.is_one(lost.fields(row.value))
    pd.testing.assert_frame_equal(lost.pull(stored(newer)), FRAME.iloc[:1])


def test_the_attempt_of_the_push_is_that_of_the_object(lost: Box, rows: Rows) -> None:
    row = rows.add(as_row(lost.fields(lost.push(FRAME)) | {"attempt": 3}))
    back(lost)
    move(rows)
    assert lost.fields(row.value)["attempt"] == 3


def test_a_value_in_the_row_of_another_xcom_is_not_moved(lost: Box, rows: Rows) -> None:
    rows.add(lost.push(FRAME), task="load")
    back(lost)
    report = move(rows)
    assert report.failed == {"Forged": 1}
    assert "copied there" in report.problems[0][1]
    assert lost.objects() == []


@pytest.mark.parametrize("kind", ["pickle", *ARCHIVES])
def test_no_pickle_becomes_an_object(lost: Box, rows: Rows, kind: str) -> None:
    """Rows are written by more people than objects: what is one is read, where that is allowed."""
    fields = lost.fields(lost.push(FRAME))
    fields |= (
        {"_xcom_type": "pickle", "extension": "pkl"} if kind == "pickle" else pickled_fields(kind)
    )
    rows.add(as_row(fields))
    back(lost)
    lost.set(store=f"file://{lost.root}", pickle="allow")
    for write in (False, True):
        report = move(rows, write=write)
        assert report.failed == {"Unsupported": 1}
        assert "pickle" in report.problems[0][1]
    assert lost.objects() == []


@pytest.mark.parametrize(
    "change",
    [
        {"body": "x"},
        {"started": None},
        {"columns": 5},
        {"expires": "soon"},
        {"extension": "../x"},
        {"attempt": 1 << 70},
        {"rows": "three"},
        {"columns": [[1, 2]]},
        {"content_type": 5},
        {"summary": "\ud800"},
        {"map": None, "writer": 5},
    ],
    ids=str,
)
def test_a_damaged_row_is_told_and_the_others_move(
    lost: Box, rows: Rows, change: dict[str, Any]
) -> None:
    rows.add(as_row(lost.fields(lost.push(FRAME)) | change))
    rows.add(lost.push(FRAME, task_id="other"), task="other")
    back(lost)
    report = move(rows)
    assert report.moved == 1
    assert sum(report.failed.values()) == 1
    assert len(lost.objects()) == 1


def test_a_row_of_the_future_does_not_stand_in_the_way_of_later_pushes(
    lost: Box, rows: Rows
) -> None:
    """As somebody may write one who would have the XCom never written again."""
    year_3000 = 32_503_680_000_000_000
    rows.add(as_row(lost.fields(lost.push(FRAME)) | {"started": year_3000, "attempt": 0}))
    back(lost)
    assert move(rows).moved == 1
    runtime.forget()  # Another process pushes.
    newer = lost.push(FRAME.iloc[:1])
    pd.testing.assert_frame_equal(lost.pull(stored(newer)), FRAME.iloc[:1])


def test_a_row_that_is_too_deep_is_told_and_the_others_move(lost: Box, rows: Rows) -> None:
    deep = rows.add(lost.push(FRAME))
    rows.add(lost.push(FRAME, task_id="other"), task="other")
    deep.value = b'{"_airfreight":1,"outage":"","a":' + b"[" * 200_000
    back(lost)
    report = move(rows)
    assert (report.moved, sum(report.failed.values())) == (1, 1)
    assert report.ended == ""


def test_while_the_store_is_still_away_it_ends_at_the_first(lost: Box, rows: Rows) -> None:
    for task in ("a", "b"):
        rows.add(lost.push(FRAME, task_id=task), task=task)
    lost.set()
    report = move(rows)
    assert report.moved == 0
    assert report.found == 1
    assert "run it again" in report.ended


def test_what_has_expired_or_was_put_away_stays(lost: Box, rows: Rows) -> None:
    rows.add(as_row(lost.fields(lost.push(FRAME)) | {"expires": "2020-01-01T00:00:00Z"}))
    rows.add(lost.push(FRAME), archived=True)
    back(lost)
    report = move(rows)
    assert (report.found, report.expired, report.moved) == (1, 1, 0)


def test_the_time_that_is_left_goes_along(lost: Box, rows: Rows) -> None:
    row = rows.add(as_row(lost.fields(lost.push(FRAME)) | {"expires": "2999-01-01T00:00:00Z"}))
    back(lost)
    move(rows)
    assert lost.fields(row.value)["expires"][:4] in ("2998", "2999")


def test_the_value_of_another_deployment_stays(lost: Box, rows: Rows) -> None:
    lost.set(deployment_id="prod")
    row = rows.add(lost.push(FRAME))
    lost.set(seal="True", seal_keys=SEAL_KEY)
    sealed = Rows()
    sealed.add(lost.push(FRAME))
    back(lost)
    # (Whose keys are not here.)
    lost.set(seal=None, seal_keys=None, deployment_id="staging")
    assert (move(sealed).foreign, move(sealed).failed) == (1, {})
    for own, outcome in (("staging", (0, 1)), (None, (0, 1)), ("prod", (1, 0))):
        lost.set(deployment_id=own)
        report = move(rows)
        assert (report.moved, report.foreign, report.failed) == (*outcome, {})
        assert bool(lost.objects()) == (own == "prod")
    assert lost.fields(row.value)["owner"] == "prod"


def test_the_command_moves_only_where_this_database_has_claimed_the_store(
    lost: Box, rows: Rows, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from airfreight.admin import database, ownership
    from airfreight.cli import main

    rows.add(lost.push(FRAME))
    back(lost)
    monkeypatch.setattr(database, "connect", lambda _: rows)
    for claimed in (None, {"kind": "another"}):
        if claimed is not None:
            ownership.make(runtime.administration(), "default", "", claimed)
        assert main(["repatriate", "--yes"]) == 1
        assert "airfreight claim" in capsys.readouterr().err
        assert not [key for key in lost.objects() if not key.startswith("~")]
    assert main(["repatriate"]) == 0  # A dry run needs none.
    ownership.make(runtime.administration(), "default", "", rows.identity(), take_over=True)
    assert main(["repatriate", "--yes"]) == 0
    assert "1 moved" in capsys.readouterr().out


def test_the_command_that_is_stopped_tells_what_it_has_done(
    lost: Box, rows: Rows, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from airfreight.admin import database, ownership
    from airfreight.cli import main

    for task in ("first", "second"):
        rows.add(lost.push(FRAME, task_id=task), task=task)
    back(lost)
    ownership.make(runtime.administration(), "default", "", rows.identity())

    def stop(row: Any) -> None:
        if row.task == "second":
            raise KeyboardInterrupt

    rows.before_rewrite = stop
    monkeypatch.setattr(database, "connect", lambda _: rows)
    assert main(["repatriate", "--yes"]) == 1
    told = capsys.readouterr()
    assert "1 moved" in told.out
    assert "ended early: stopped" in told.err


def test_the_command_says_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    from airfreight.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["repatriate", "--help"])
    assert ended.value.code == 0
    assert "while the store is away" in " ".join(capsys.readouterr().out.split())


def test_errors_name_the_xcom(lost: Box, rows: Rows) -> None:
    rows.add(lost.push(FRAME), task="load")
    back(lost)
    where, _ = move(rows).problems[0]
    assert where == f"sales / {RUN} / load / return_value"
    assert json.loads(json.dumps(move(rows).as_json()))["failed"] == {"Forged": 1}

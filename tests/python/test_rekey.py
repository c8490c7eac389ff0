"""`airfreight rekey`: sealed objects under the newest key."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests import leaks
from tests.python.conftest import RUN, Box, stored

import airfreight
from airfreight import exchange, reference, runtime
from airfreight.admin import database, ownership, rekey
from airfreight.admin.rows import Row
from airfreight.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator


def key(letter: bytes) -> str:
    return leaks.key(letter.decode()).partition(":")[2]


FIRST, SECOND = f"s1:{key(b'1')}", f"s2:{key(b'2')}"


class Rows:
    """The rows of a database, as `airfreight.admin.database` gives them."""

    def __init__(self) -> None:
        self.held: list[Row] = []

    def identity(self) -> dict[str, str]:
        return {"kind": "test"}

    def add(self, value: Any, task: str = "extract") -> None:
        raw = value if isinstance(value, bytes) else json.dumps(value)
        written: Any = None
        self.held.append(
            Row("xcom", str(len(self.held)), "sales", RUN, task, -1, "return_value", raw, written)
        )

    rows_are_bytes = exchange.ROWS_ARE_BYTES

    def rewrite(self, row: Row, value: Any) -> bool:
        at = int(row.id)
        if self.held[at] != row:
            return False
        assert isinstance(value, bytes) == self.rows_are_bytes
        raw = value if isinstance(value, bytes) else json.dumps(value)
        self.held[at] = replace(row, raw=raw)
        return True

    def rows(self, *, after: str | None = None, **_: Any) -> Iterator[Row]:
        yield from self.held[int(after) + 1 if after else 0 :]


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    made = Rows()
    monkeypatch.setattr(database, "connect", lambda _: made)
    return made


def run(rows: Rows, **given: Any) -> rekey.Report:
    return rekey.rekey(rows, **given)  # type: ignore[arg-type]


def test_all_is_opened_by_the_new_key_and_all_rows_go_on_to_hold(box: Box, rows: Rows) -> None:
    box.set(seal="True", seal_keys=FIRST, deployment_id="prod")
    values = {f"t{n}": f"value {n}" * n for n in range(4)}
    pushed = {task: stored(box.push(value, task_id=task)) for task, value in values.items()}
    for task, row in pushed.items():
        rows.add(row, task)
    nested = box.fields(pushed["t1"])
    rows.add({"deep": [{"in": nested}, 1]}, "nested")
    rows.add({"other": 1}, "plain")
    before = {task: box.file(row).read_bytes() for task, row in pushed.items()}

    box.set(seal_keys=f"{SECOND} {FIRST}")
    report = run(rows, write=False)
    assert (report.sealed, report.became) == (5, {"old": 5})
    assert {task: box.file(row).read_bytes() for task, row in pushed.items()} == before
    report = run(rows, write=True)
    assert (report.became, report.failed) == ({"rewrapped": 4, "current": 1}, {})
    assert run(rows, write=True).became == {"current": 5}
    assert run(rows, write=True, after="2").sealed == 2

    box.set(seal_keys=SECOND)
    for task, row in pushed.items():
        assert box.pull(row) == values[task]
        assert box.file(row).read_bytes()[:-1024] == before[task][:-1024]
    box.set(seal_keys=FIRST)
    with pytest.raises(airfreight.DeniedError, match="s2"):
        box.pull(pushed["t1"])


def test_what_values_in_the_store_refer_to_is_found(box: Box, rows: Rows) -> None:
    box.set(seal="True", seal_keys=FIRST, threshold=0)
    put: list[reference.Reference] = []
    for name in ("end", "middle"):
        coordinate = runtime.coordinate("sales", RUN, "extract", "", put_name=name)
        address = exchange.Address("sales", RUN, "extract", None)
        text = exchange.store({"inner": tuple(put[-1:])}, coordinate, address)
        put.append(reference.Reference.from_json(text))
    row = stored(box.push({"see": put[1]}))
    rows.add(row)
    rows.add({"text": json.dumps(box.fields(row))}, "as text")
    box.set(seal_keys=f"{SECOND} {FIRST}")
    assert run(rows, write=True).became == {"rewrapped": 3, "current": 1}
    box.set(seal_keys=SECOND)
    middle = airfreight.get(box.pull(row)["see"])
    assert airfreight.get(middle["inner"][0]) == {"inner": ()}


def test_what_an_outage_left_in_its_row_is_rewrapped_there(
    box: Box, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    box.set(
        store="s3://bucket/xcom", s3_endpoint_url="http://127.0.0.1:1", s3_region="us-east-1",
        timeout=0.05, outage="inline", seal="True", seal_keys=FIRST,
    )  # fmt: skip
    pushed = stored(box.push(b"value"))
    rows.add(pushed)
    box.set(seal_keys=f"{SECOND} {FIRST}")
    report = run(rows, write=False)
    assert (report.kept, report.sealed, report.became) == (1, 0, {"old": 1})
    raw = rows.held[0].raw
    # One that is pushed anew meanwhile stays as it is.
    with monkeypatch.context() as patch:
        patch.setattr(Rows, "rewrite", lambda *_: False)
        assert run(rows, write=True).became == {"replaced": 1}
    assert rows.held[0].raw == raw
    assert run(rows, write=True).became == {"rewrapped": 1}
    assert run(rows, write=True).became == {"current": 1}
    box.set(seal_keys=SECOND)
    assert box.pull(rows.held[0].value) == b"value"
    box.set(seal_keys=FIRST)
    with pytest.raises(airfreight.DeniedError, match="s2"):
        box.pull(rows.held[0].value)
    box.set(seal_keys=SECOND)
    # A row of another deployment, whose keys need not be here.
    theirs = {**box.fields(pushed), "owner": "prod"}
    rows.held[0] = replace(rows.held[0], raw=json.dumps(theirs))
    assert run(rows, write=True).became == {"foreign": 1}
    rows.held[0] = replace(rows.held[0], raw=json.dumps({**theirs, "owner": ""}))
    assert run(rows, write=True).failed == {"Denied": 1}
    # One that may hold references is told once.
    several = json.dumps({**theirs, "owner": "", "_xcom_type": "bundle", "extension": "zip"})
    rows.held[0] = replace(rows.held[0], raw=several)
    assert run(rows, write=True).failed == {"Denied": 1}


def test_a_row_that_can_not_be_read_ends_nothing(box: Box, rows: Rows) -> None:
    texts = ('{"_airfreight":' + "[" * 200_000, '{"_airfreight":' + "9" * 5000 + "}")
    for text in texts:
        rows.add(text.encode())
        if not exchange.ROWS_ARE_BYTES:
            rows.held[-1] = replace(rows.held[-1], raw=text)
    box.set(seal="True", seal_keys=FIRST)
    rows.add(stored(box.push("x")))
    report = run(rows, write=False)
    assert (report.became, report.failed) == ({"current": 1}, {"Invalid": 1})


def test_another_deployment_leaves_it_alone(box: Box, rows: Rows) -> None:
    box.set(seal="True", seal_keys=FIRST, deployment_id="prod")
    row = stored(box.push("x"))
    rows.add(row)
    before = box.file(row).read_bytes()
    box.set(seal_keys=f"{SECOND} {FIRST}", deployment_id="staging")
    assert run(rows, write=True).became == {"foreign": 1}
    assert box.file(row).read_bytes() == before


def test_the_command_tells_what_failed_and_where_to_go_on(
    box: Box, rows: Rows, capsys: pytest.CaptureFixture[str]
) -> None:
    box.set(seal="True", seal_keys=FIRST)
    for task in ("a", "b"):
        rows.add(stored(box.push("x" * 9, task_id=task)), task)
    box.set(seal_keys=SECOND)
    for claimed in (None, {"kind": "another"}):
        if claimed is not None:
            ownership.make(runtime.administration(), "default", "", claimed)
        assert main(["rekey", "--yes"]) == 1
        assert "airfreight claim" in capsys.readouterr().err
    ownership.make(runtime.administration(), "default", "", rows.identity(), take_over=True)
    assert main(["rekey", "--yes"]) == 1
    told = capsys.readouterr().out
    assert f"failed: sales / {RUN} / a / return_value" in told
    assert 'sealed with the key "s1"' in told
    box.set(seal_keys=f"{SECOND} {FIRST}")
    assert main(["rekey"]) == 0
    assert "2 would be rewrapped (a dry run: --yes writes them)" in capsys.readouterr().out
    assert main(["rekey", "--yes"]) == 0
    assert "2 were rewrapped" in capsys.readouterr().out
    assert main(["rekey", "--yes", "--json", "--after", "0"]) == 0
    told_json = json.loads(capsys.readouterr().out)
    assert (told_json["became"], told_json["after"]) == ({"current": 1}, "1")

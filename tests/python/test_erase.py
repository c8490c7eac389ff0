"""`airfreight claim` and `erase`: a database that Airflow made, and a bucket with versions."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from tests.python import databases
from tests.python.conftest import MANY
from tests.servers.versitygw import VersityGW

from airfreight import _core, cli, runtime
from airfreight.admin import erase
from airfreight.admin.database import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.python.conftest import Box

KINDS = ("sqlite", "postgresql")
#: Large enough that a value leaves the row.
BIG = b"x" * 200_000
LONG = "d" * 230


class _Versioned(VersityGW):
    versioned = True


@pytest.fixture(scope="module")
def server() -> Iterator[VersityGW]:
    with _Versioned(bucket="bucket") as running:
        yield running


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield databases.make(KINDS, folder, stack)


class World:
    """A deployment: its settings, its database, and its store with versions."""

    def __init__(self, box: Box, rows: databases.Rows, url: str, folder: Path) -> None:
        self.box = box
        self.rows = rows
        self.url = url
        self.folder = folder

    def push(self, dag: str, run: str, task: str, value: Any = BIG, *, times: int = 1) -> None:
        """A row and its object, written so many times over."""
        with contextlib.suppress(Exception):
            self.rows.run(dag, run)
        row: Any = None
        for _ in range(times):
            row = self.box.push(value, dag_id=dag, run_id=run, task_id=task)
        self.rows.xcom(dag, run, task, row)

    def run(self, *arguments: str) -> int:
        return cli.main([*arguments, "--database", self.url])

    def erase(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Its status, and the receipt."""
        where = self.folder / f"{len(list(self.folder.iterdir()))}.json"
        status = self.run("erase", *arguments, "--receipt", str(where))
        return status, json.loads(where.read_text()) if where.exists() else {}

    def versions(self, prefix: str = "") -> list[Any]:
        stores = runtime.administration()
        return [
            version
            for version in stores.list_versions("default", prefix)[0]
            if not version[0].startswith("~")
        ]

    def count(self, dag: str) -> int:
        return sum(1 for _ in connect(self.url).rows(dag))


# (The tests of the database itself take each kind; `./dev soak` does so here, too.)
@pytest.fixture(params=KINDS if MANY > 1 else KINDS[1:])
def world(
    request: pytest.FixtureRequest,
    s3: Box,
    urls: dict[str, str],
    tmp_path: Path,
) -> Iterator[World]:
    s3.set(store=f"s3://bucket/{tmp_path.name}", deployment_id="prod")
    rows = databases.Rows(urls[request.param])
    folder = tmp_path / "receipts"
    folder.mkdir()
    yield World(s3, rows, urls[request.param], folder)
    for run in list(connect(urls[request.param]).runs()):
        rows.delete(run.dag, run.run)
    rows.engine.dispose()


def test_everything_of_a_dag_goes_and_nothing_else(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.push("sales", "r1", "extract", times=3)
    world.push("sales", "r2", "load")
    world.push("sales", "r2", "small", {"a": 1})  # Lies in the row alone.
    world.push("sales2", "r1", "extract", times=2)
    stores = runtime.administration()
    # A removed object, of which a version and a mark stay; and one that was put by hand.
    hand = _core.Coordinate("sales", "r1", "extract", "", put_name="model").object_key("bin")
    stores.put("default", hand, BIG, metadata={"af-write": "1" * 32, "af-owner": "prod"})
    stores.remove("default", hand)
    before = world.versions("sales/")
    assert len(before) == 6
    others = world.versions("sales2/")

    # A dry run changes nothing, and needs no claim.
    status, receipt = world.erase("--dag", "sales")
    assert status == 0
    assert "nothing was changed" in capsys.readouterr().out
    assert receipt["dry_run"] is True
    assert sum(receipt["rows"]["removed"].values()) == 3
    told = receipt["stores"][0]
    assert (told["versions"], told["removal_marks"], told["keys"]) == (5, 1, 3)
    assert world.versions("sales/") == before

    # Without a claim nothing goes.
    status, receipt = world.erase("--dag", "sales", "--yes")
    assert status == 1
    assert "airfreight claim --yes" in capsys.readouterr().err
    assert world.versions("sales/") == before
    assert world.count("sales") == 3

    assert world.run("claim", "--yes") == 0
    status, receipt = world.erase("--dag", "sales", "--yes")
    assert status == 0, capsys.readouterr()
    assert "verified" in capsys.readouterr().out
    assert receipt["complete"] is True
    told = receipt["stores"][0]
    assert (told["versions"], told["removal_marks"], told["keys"]) == (5, 1, 3)
    removed = {(one["key"], one["version"]) for one in told["removed"]}
    assert removed == {(version[0], version[4]) for version in before}
    assert world.versions("sales/") == []
    assert world.count("sales") == 0
    assert world.versions("sales2/") == others
    assert world.count("sales2") == 1
    # Once more there is nothing to do, which certifies nothing; and a name that Airflow does not
    # know is wrong.
    status, receipt = world.erase("--dag", "sales", "--yes")
    assert (status, receipt["runs"] > 0) == (0, True)
    assert "nothing of it was there" in capsys.readouterr().out
    status, receipt = world.erase("--dag", "sale", "--yes")
    assert (status, receipt["runs"]) == (1, 0)
    assert "Is it spelt as Airflow has it?" in capsys.readouterr().err


def test_a_run_and_a_task_are_told_from_others(world: World) -> None:
    world.run("claim", "--yes")
    for run in ("r1", "r2"):
        for task in ("extract", "extract2"):
            world.push("sales", run, task)
    assert world.erase("--dag", "sales", "--run", "r1", "--task", "extract", "--yes")[0] == 0
    assert {version[0].rsplit("/", 2)[0] for version in world.versions()} == {
        "sales/r1/extract2", "sales/r2/extract", "sales/r2/extract2",
    }  # fmt: skip
    assert world.erase("--dag", "sales", "--task", "extract2", "--yes")[0] == 0
    assert [version[0].rsplit("/", 2)[0] for version in world.versions()] == ["sales/r2/extract"]
    assert world.count("sales") == 1


def test_names_that_were_hashed_are_found(world: World) -> None:
    world.run("claim", "--yes")
    world.push(LONG, "r/1", "ä" * 100)
    world.push(LONG + "2", "r/1", "t")
    assert "~" in world.versions()[0][0]
    assert world.erase("--dag", LONG, "--run", "r/1", "--task", "ä" * 100, "--yes")[0] == 0
    assert len(world.versions()) == 1


def test_what_is_anothers_is_left_and_named(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.push("sales", "r1", "ours")
    world.box.set(deployment_id="staging")
    world.push("sales", "r1", "theirs")
    world.box.set(deployment_id=None)
    world.push("sales", "r1", "nobodys")
    world.box.set(deployment_id="prod")
    stores = runtime.administration()
    stores.put("default", "sales/readme.txt", b"by hand")
    world.run("claim", "--yes")
    status, receipt = world.erase("--dag", "sales", "--yes")
    assert status == 1
    assert receipt["complete"] is False
    left = {one["key"].split("/")[-3]: one["belongs_to"] for one in receipt["stores"][0]["left"]
            if one["key"].count("/") > 2}  # fmt: skip
    assert left == {
        "theirs": "deployment staging",
        "nobodys": "a deployment without deployment_id",
    }
    assert "deployment staging" in capsys.readouterr().out
    assert [version[0] for version in world.versions("sales/readme")] == ["sales/readme.txt"]
    # What bears no id is claimed by whoever says that it is his.
    assert world.run("claim", "--yes", "--unnamed") == 0
    world.erase("--dag", "sales", "--yes")
    assert {version[0].split("/")[2] for version in world.versions("sales/r1/")} == {"theirs"}


def test_a_copy_of_the_database_removes_nothing(
    world: World, urls: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    world.run("claim", "--yes")
    world.push("sales", "r1", "extract")
    before = world.versions()
    # The same settings, and a database elsewhere.
    other = next(url for url in urls.values() if url != world.url)
    copy = World(world.box, databases.Rows(other), other, world.folder)
    copy.rows.run("sales", "r1")
    for arguments in (("--yes",), ()):
        status, _ = copy.erase("--dag", "sales", *arguments)
        assert status == 1
        assert "belongs to kind=" in capsys.readouterr().err
    assert copy.run("claim", "--yes") == 1
    assert "belongs to kind=" in capsys.readouterr().out
    assert world.versions() == before
    copy.rows.delete("sales", "r1")
    copy.rows.engine.dispose()


def test_unfinished_uploads_go_too(world: World, server: VersityGW) -> None:
    world.run("claim", "--yes")
    world.push("sales", "r1", "extract")
    prefix = world.box.fields(world.box.push(BIG))["uri"].split("/")[3]
    for key in ("sales/r9/t/map_-1/k.bin", "sales2/r9/t/map_-1/k.bin"):
        path = f"/bucket/{prefix}/{key}"
        assert server.client.request("POST", path, query={"uploads": ""}).status == 200
    status, receipt = world.erase("--dag", "sales", "--yes")
    assert status == 0
    assert receipt["stores"][0]["unfinished_uploads"] == 1
    stores = runtime.administration()
    assert [key for key, _, _ in stores.list_uploads("default")[0]] == ["sales2/r9/t/map_-1/k.bin"]


def test_archives_of_db_clean_are_rows_too(world: World) -> None:
    world.run("claim", "--yes")
    world.push("sales", "r1", "extract")
    world.rows.archive("sales", "r1")
    try:
        status, receipt = world.erase("--dag", "sales", "--yes")
        assert receipt["rows"]["removed"] == {"_airflow_deleted__xcom__20260101000000": 1}
        assert status == 0
        assert world.versions("sales/") == []
    finally:
        with world.rows.engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE _airflow_deleted__xcom__20260101000000")


def test_a_run_that_is_not_over_stops_it(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.run("claim", "--yes")
    world.rows.run("sales", "r1", state="running")
    world.push("sales", "r1", "extract")
    assert world.erase("--dag", "sales", "--yes")[0] == 1
    assert "run 'r1' of DAG 'sales' is running" in capsys.readouterr().err
    assert len(world.versions("sales/")) == 1
    assert world.erase("--dag", "sales", "--yes", "--even-running")[0] == 0
    assert world.versions("sales/") == []


def test_what_was_stopped_has_a_receipt(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(erase, "_erase_rows", stopped)
    database: Any = Mock(identity=dict, runs=lambda _: [])
    stores: Any = Mock(names=[])
    receipt = erase.erase(erase.Scope("d"), database, stores, deployment_id="", change=True)
    assert (receipt.problem, receipt.complete, bool(receipt.ended)) == ("stopped", False, True)


def test_rows_of_places_that_are_gone_are_named(world: World) -> None:
    world.run("claim", "--yes")
    world.push("sales", "r1", "extract")
    here = json.loads(json.dumps(world.box.fields(world.box.push(BIG))))
    here["uri"] = here["uri"].replace("s3://bucket", "s3://former")
    world.rows.xcom("sales", "r1", "moved", world.rows.row(here))
    status, receipt = world.erase("--dag", "sales", "--yes")
    assert status == 1
    assert receipt["no_store_for"] == [here["uri"]]
    assert world.count("sales") == 0


def test_no_receipt_is_written_over_and_the_role_is_printed(
    world: World, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    there = tmp_path / "there.json"
    there.write_text("kept")
    assert world.run("erase", "--dag", "sales", "--receipt", str(there)) == 1
    assert there.read_text() == "kept"
    assert "can't be written" in capsys.readouterr().err
    assert world.run("erase") == 2
    assert cli.main(["erase", "--role"]) == 0
    printed = capsys.readouterr().out
    for action in ("s3:DeleteObjectVersion", "s3:ListBucketVersions", "s3:AbortMultipartUpload"):
        assert action in printed


def test_what_is_still_there_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be removed is told, and the status says so."""
    world.run("claim", "--yes")
    world.push("sales", "r1", "extract")

    class Stubborn:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Callable[..., Any]:
            if name == "remove_version":
                return lambda *_: None
            found: Callable[..., Any] = getattr(self.inner, name)
            return found

    inner = runtime.administration()
    monkeypatch.setattr(runtime, "administration", lambda: Stubborn(inner))
    status, receipt = world.erase("--dag", "sales", "--yes")
    assert status == 1
    assert receipt["complete"] is False
    assert receipt["stores"][0]["remaining_count"] == 1

"""`airfreight sweep` over a database that the installed Airflow made, and stores."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import re
import sqlite3
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.python import databases
from tests.python.conftest import harm

import airfreight
from airfreight import exchange, reference, runtime
from airfreight.admin import sorting, sweep, sweep_state
from airfreight.admin.database import Database, connect
from airfreight.admin.mentions import Mentions
from airfreight.admin.ownership import Ownership
from airfreight.cli import main
from airfreight.errors import (
    InvalidError,
    UnavailableError,
    UnsupportedError,
    from_core,
)
from airfreight.exchange import outage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.python.conftest import Box
    from tests.servers.versitygw import VersityGW

DAY = 86_400.0
RULES = sweep_state.Rules(grace=7 * DAY, by_hand=30 * DAY)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield databases.make(["sqlite"], folder, stack)["sqlite"]


class Aged:
    """Stores whose objects are as old as a test says: a directory's are new if one touches them."""

    def __init__(self, inner: Any, ages: dict[str, float]) -> None:
        self._inner = inner
        self._ages = ages

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _when(self, key: str, modified: int) -> int:
        return int(self._ages.get(key, modified))

    def list(self, *asked: Any) -> Any:
        page, token = self._inner.list(*asked)
        return [(key, *more, self._when(key, modified)) for key, *more, modified in page], token

    def head(self, store: str, key: str) -> Any:
        *more, modified = self._inner.head(store, key)
        return *more, self._when(key, modified)


class World:
    """A deployment: rows, objects of any age, and sweeps."""

    def __init__(self, box: Box, url: str, folder: Path) -> None:
        self.box = box
        self.url = url
        self.rows = databases.Rows(url)
        self.ages: dict[str, float] = {}
        self._folder = folder

    def run(self, dag: str, run: str, state: str = "success", ended: float = 100) -> None:
        """A run that ended some days ago."""
        when = datetime.fromtimestamp(time.time() - ended * DAY, timezone.utc)
        self.rows.run(dag, run, state, when)

    def push(self, value: Any, age: float, *, row: bool = True, **where: Any) -> str:
        """A value with its object, which is some days old, and its row; the key."""
        place = {"dag_id": "d", "run_id": "r", "task_id": "t", "key": "return_value", **where}
        made = self.box.push(value, **place)
        if row:
            self.write(made, **place)
        return self.aged(self.box.fields(made)["uri"], age)

    def write(self, made: Any, **place: Any) -> None:
        """The row of what was pushed."""
        index = place.get("map_index", -1)
        value = self.rows.row(made)
        dag, run, task = (place[name] for name in ("dag_id", "run_id", "task_id"))
        old = datetime.fromtimestamp(time.time() - 50 * DAY, timezone.utc)
        self.rows.xcom(dag, run, task, value, key=place["key"], index=index, written=old)

    def put(self, value: Any, age: float, name: str = "x", run: str = "r") -> Any:
        """What `airfreight.put` would give."""
        coordinate = runtime.coordinate("d", run, "t", "", put_name=name)
        address = exchange.Address("d", run, "t", None)
        made = reference.Reference.from_json(exchange.store(value, coordinate, address))
        self.aged(made.uri, age)
        return made

    def key(self, uri: str) -> str:
        return uri.removeprefix(f"file://{self.box.root}/")

    def aged(self, uri: str, age: float) -> str:
        """Has an object be that old; its key."""
        key = self.key(uri)
        self.ages[key] = time.time() - age * DAY
        return key

    def swept(
        self, rules: sweep_state.Rules = RULES, *, remove: bool = True, **more: Any
    ) -> sweep_state.Found:
        """One sweep; what it found."""
        made = self.sweeper(rules, remove=remove, **more)
        self.state = made.run()
        return self.state.found["default"]

    def sweeper(self, rules: sweep_state.Rules = RULES, **more: Any) -> sweep.Sweep:
        stores: Any = Aged(runtime.administration(), self.ages)
        folder = more.pop("folder", None) or self._folder / str(random.random())
        owners = more.pop(
            "owners", {"default": Ownership("", named=False, unnamed=True, shared=False)}
        )
        more = {"remove": True, **more}
        return sweep.Sweep(self.airflow(), stores, owners, rules, folder, **more)

    def airflow(self) -> Any:
        """Where sweeps have the rows from."""
        return connect(self.url)

    def keys(self) -> set[str]:
        return set(self.box.objects())

    def close(self) -> None:
        """Leaves no rows behind."""
        for run in list(connect(self.url).runs()):
            self.rows.delete(run.dag, run.run)
        with self.rows.engine.begin() as connection:
            for table in connect(self.url).tables[1:]:
                connection.exec_driver_sql(f"DROP TABLE {table}")
        self.rows.engine.dispose()


@pytest.fixture
def world(box: Box, url: str, tmp_path: Path) -> Iterator[World]:
    box.set(threshold=0)
    made = World(box, url, tmp_path / "state")
    yield made
    made.close()


def test_lines_come_in_order_and_once_whatever_memory_holds(tmp_path: Path) -> None:
    source = random.Random(7)
    lines = [f"{source.randrange(5000):x}".encode() for _ in range(9000)]
    made = sorting.Sorter(tmp_path / "a", lines=50)
    for line in lines[:6000]:
        made.add(line)
    made.flush()
    (tmp_path / "a" / "000000000.part").write_bytes(b"half a li")
    again = sorting.Sorter(tmp_path / "a", lines=70)
    for line in lines[6000:]:
        again.add(line)
    assert list(again) == sorted(set(lines)) == list(again)
    assert len(list((tmp_path / "a").iterdir())) < 150
    again.clear()
    assert not list(again)


REFERENCE = {"_xcom_backend": "s3", "_airfreight": 1, "uri": "s3://b/é/x/d/r/t/map_-1/k.bin"}


@pytest.mark.parametrize(
    "value",
    [
        REFERENCE,
        {"value": {"a": [{"~ref": REFERENCE}]}},
        [json.dumps({"deep": json.dumps(REFERENCE)})],
        {"~dict": [[name, value] for name, value in REFERENCE.items()]},
        f"see {REFERENCE['uri']}, please",
        {"uri": "s3://old/place/d/r/t/map_-1/k.bin"},
    ],
)
def test_an_address_is_seen_wherever_it_stands_in_a_row(value: Any, tmp_path: Path) -> None:
    seen = Mentions(
        {"a": "s3://b/é/x", "b": "s3://c"}, [("s3://old/place", "s3://b/é/x")], tmp_path
    )
    key = ("a", "d/r/t/map_-1/k.bin")
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False).encode()):
        assert set(seen.of(text)) == {key}
    assert not set(seen.of(json.dumps(value).replace("k.bin", "").replace("s3:", "s4:")))


def test_an_alias_below_a_root(tmp_path: Path) -> None:
    seen = Mentions({"a": "s3://b"}, [("s3://old", "s3://b/sub")], tmp_path)
    assert set(seen.of('"s3://old/d/r"')) == {("a", "sub/d/r")}


def test_what_no_row_needs_goes_and_nothing_else(world: World) -> None:
    world.run("d", "r")
    world.run("d", "now", "running")
    stays = {
        world.push(b"needed", 60, task_id="needed"),
        world.push(b"young", 6.9, task_id="young", row=False),
        world.push(b"at work", 60, run_id="now", row=False),
        world.push(b"long", 60, task_id="é/" * 200, key="k" * 300),
        world.push([1, 2], 60, task_id="mapped", map_index=3),
    }
    goes = {
        world.push(b"orphan", 60, task_id="orphan", row=False),
        world.push(b"no run", 60, run_id="gone", row=False),
        world.push(b"fewer", 7.1, task_id="mapped", map_index=4, row=False),
        world.push(b"long", 60, task_id="é/" * 200, key="k" * 301, row=False),
    }
    foreign = world.box.root / "somebody" / "else.txt"
    foreign.parent.mkdir()
    foreign.write_text("x")
    world.ages["somebody/else.txt"] = 1
    dry = world.swept(remove=False)
    assert (dry.objects, dry.foreign, dry.needed, dry.young, dry.orphans) == (10, 1, 4, 1, 4)
    assert {key for what, key in dry.shown if what == "orphan"} == goes
    assert dry.removed == 0
    assert world.keys() >= goes | stays
    done = world.swept()
    assert (done.removed, done.kept) == (4, 0)
    assert world.keys() - {"somebody/else.txt"} == stays
    assert foreign.exists()
    assert world.swept().orphans == 0


def test_rows_without_objects_are_told(world: World) -> None:
    world.run("d", "r")
    world.push(b"1", 60, task_id="here")
    for task in ("a", "z"):
        gone = world.push(b"2", 60, task_id=task)
        (world.box.root / gone).unlink()
    found = world.swept()
    assert (found.objects, found.dangling, found.removed) == (1, 2, 0)
    assert [key.split("/")[2] for what, key in found.shown if what == "dangling"] == ["a", "z"]


def test_rows_in_an_archive_keep_their_objects(world: World) -> None:
    world.run("d", "r")
    key = world.push(b"1", 60)
    world.rows.archive("d", "r")
    world.rows.delete("d", "r")
    assert world.swept().removed == 0
    assert world.keys() == {key}


def test_what_was_put_stays_as_long_as_its_run_and_longer(world: World) -> None:
    world.run("d", "r")
    world.put(b"1", 400)
    assert world.swept().needed == 1
    world.rows.delete("d", "r")
    assert world.swept().removed == 1
    world.put(b"2", 29)
    assert world.swept().young == 1
    assert len(world.keys()) == 1


@pytest.mark.parametrize("threshold", [0, 10_000])
def test_references_inside_of_values_keep_what_they_lead_to(world: World, threshold: int) -> None:
    end = world.put(b"end", 400, "end", run="gone")
    middle = world.put({"on": [end], "frame": b"x" * 10_000}, 400, "middle", run="gone")
    world.put(b"nobody's", 400, "lost", run="gone")
    world.box.set(threshold=threshold)
    world.run("d", "r")
    value = world.box.push({"see": (middle, 1)}, key="return_value", dag_id="d", run_id="r")
    world.write(value, dag_id="d", run_id="r", task_id="t", key="return_value")
    if threshold == 0:
        world.aged(world.box.fields(value)["uri"], 400)
    assert world.swept().removed == 1
    assert not [key for key in sorted(world.keys()) if "/lost" in key]
    found = world.box.pull(world.rows.row(value))["see"][0]
    assert airfreight.get(airfreight.get(found)["on"][0]) == b"end"
    world.rows.delete("d", "r")
    assert world.swept().removed == (3 if threshold == 0 else 2)
    assert not world.keys()


@pytest.mark.parametrize("sealed", [False, True])
def test_references_in_what_an_outage_left_in_its_row_are_seen(world: World, sealed: bool) -> None:
    end = world.put(b"end", 400, "end", run="gone")
    middle = world.put({"on": [end]}, 400, "middle", run="gone")
    world.put(b"nobody's", 400, "lost", run="gone")
    made = world.box.push({"see": [middle]}, key="return_value", dag_id="d", run_id="r")
    fields = world.box.fields(made)
    object_ = world.box.root / fields["uri"].removeprefix(f"file://{world.box.root}/")
    body = object_.read_bytes()
    object_.unlink()
    kept = {
        name: fields[name]
        for name in ("_xcom_type", "_airfreight", "dag", "run", "task", "map", "key")
    } | {
        "_xcom_backend": "inline", "outage": "it was away", "store": "default", "attempt": 1,
        "started": 1, "extension": "json", "content_type": "application/json",
        "size_bytes": len(body), "written": fields["written"],
        "body": base64.b64encode(body).decode(),
    }  # fmt: skip
    if sealed:
        world.box.set(seal_keys=f"s1:{base64.b64encode(b'1' * 32).decode()}")
        where = outage.address_of(kept).coordinate()
        write, body = runtime.freight().seal_value(where, [body])
        kept |= {
            "_airfreight": 2, "write": write, "sealed": 1, "size_bytes": len(body),
            "body": base64.b64encode(body).decode(),
        }  # fmt: skip
    world.run("d", "r")
    row: Any = json.dumps(kept).encode() if world.rows.binary else kept
    world.rows.xcom("d", "r", "t", row)
    assert world.box.pull(row)["see"][0].uri == middle.uri
    assert world.swept().removed == 1
    left = sorted(world.keys())
    assert [key.split("/")[-1].split(".")[0] for key in left] == ["end", "middle"]


def test_no_object_is_read_while_the_transaction_is_open(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = world.put(b"end", 400, "end", run="gone")
    world.run("d", "r")
    world.push([end] * 2, 60)
    snapshot, save = Database.snapshot, exchange.save
    seen: list[str] = []

    @contextlib.contextmanager
    def open_(self: Database) -> Iterator[Database]:
        with snapshot(self) as still:
            yield still
        seen.append("closed")

    def saved(*given: Any, **named: Any) -> None:
        seen.append("read")
        save(*given, **named)

    monkeypatch.setattr(Database, "snapshot", open_)
    monkeypatch.setattr(exchange, "save", saved)
    assert world.swept().removed == 0
    assert seen == ["closed", "read"]


def test_pickled_references_are_seen(world: World) -> None:
    world.box.set(pickle="allow")
    end = world.put(b"end", 400, "end", run="gone")
    world.run("d", "r")
    key = world.push(Odd([end, end]), 400)
    assert key.endswith(".pkl")
    assert world.swept().removed == 0
    assert len(world.keys()) == 2


class Odd:
    """Nothing but pickle keeps it."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __reduce__(self) -> Any:
        return Odd, (self.inner,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Odd) and other.inner == self.inner

    def __hash__(self) -> int:
        return 1


def test_retention_takes_rows_and_objects_and_leaves_the_last_runs(world: World) -> None:
    for number, ended in enumerate((100, 90, 80, 5)):
        world.run("d", f"r{number}", ended=ended)
        world.push(b"x", 60, run_id=f"r{number}")
        world.put(b"y", 60, run=f"r{number}")
    world.run("e", "r0", ended=100)
    other = world.push(b"x", 60, dag_id="e", run_id="r0")
    rules = sweep_state.Rules(7 * DAY, 30 * DAY, (("d*", 30 * DAY),), keep_last=2)
    dry = world.swept(rules, remove=False)
    assert (dry.orphans, world.state.expired_rows) == (4, 2)
    assert len(list(connect(world.url).rows())) == 5
    done = world.swept(rules)
    assert (done.removed, world.state.expired_rows) == (4, 2)
    assert {key.split("/")[1] for key in world.keys() - {other}} == {"r2", "r3"}
    assert len(list(connect(world.url).rows())) == 3
    assert world.swept(sweep_state.Rules(7 * DAY, 30 * DAY, (("d", 30 * DAY),))).removed == 2


def test_retention_leaves_rows_of_stores_that_are_not_swept(world: World) -> None:
    world.run("d", "r", ended=40)
    fields = world.box.fields(world.box.push(b"1", dag_id="d", run_id="r", task_id="t"))
    row: Any = fields | {"uri": "s3://elsewhere/d/r/t/map_-1/return_value.bin"}
    row = json.dumps(row).encode() if world.rows.binary else row
    world.rows.xcom("d", "r", "t", row)
    rules = sweep_state.Rules(grace=7 * DAY, by_hand=30 * DAY, retention=(("*", 30 * DAY),))
    for remove in (False, True):
        world.swept(rules, remove=remove)
        assert world.state.expired_rows == 0
    assert len(list(connect(world.url).rows())) == 1


def test_most_of_what_is_there_goes_only_where_that_is_said(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # As in a database that was reset: it is the claimed one, and knows of nothing.
    monkeypatch.setattr(sweep, "_MANY", 2)
    keys = {world.push(b"x", 60, task_id=f"t{n}", row=False) for n in range(3)}
    assert world.swept(remove=False).orphans == 3
    folder = tmp_path / "most"
    with pytest.raises(InvalidError, match=r"3 objects of the store default would go, and 0 stay"):
        world.swept(folder=folder)
    assert world.keys() == keys
    assert world.swept(folder=folder, even_most=True).removed == 3  # It goes on from there.
    # So many as stay may go.
    world.run("d", "r")
    for n in range(3):
        world.push(b"x", 60, task_id=f"t{n}", row=n == 0)
        world.push(b"x", 60, task_id=f"u{n}", row=True)
    assert world.swept().removed == 2


def test_only_what_is_ours_goes(world: World) -> None:
    world.run("d", "r")
    world.box.set(deployment_id="one")
    one = world.push(b"1", 60, task_id="one", row=False)
    world.box.set(deployment_id="two")
    world.push(b"1", 60, task_id="two", row=False)
    world.box.set(deployment_id=None)
    none = world.push(b"1", 60, task_id="none", row=False)
    found = world.swept(
        owners={"default": Ownership("two", named=True, unnamed=False, shared=True)}
    )
    assert (found.orphans, found.removed, found.kept) == (3, 1, 2)
    assert world.keys() == {one, none}


def test_what_happens_after_the_rows_were_read_is_seen_before_a_removal(world: World) -> None:
    world.run("d", "r")
    names = ("row", "nested", "replaced", "running", "orphan")
    keys = {
        name: world.push(b"1", 60, task_id=name, row=False, run_id=f"r-{name}") for name in names
    }
    rows = {}
    for name in names:
        rows[name] = world.box.push(b"1", task_id=name, dag_id="d", run_id=f"r-{name}")
        world.aged(world.box.fields(rows[name])["uri"], 60)
    made = world.sweeper()
    for _ in made.steps():
        if made.state.step == "remove":
            break
    assert made.state.found["default"].orphans == len(names)
    for name in ("row", "running"):
        world.rows.run("d", f"r-{name}", "running" if name == "running" else "success")
    world.rows.xcom(
        "d", "r-row", "row", world.rows.row(rows["row"]),
        written=datetime.fromtimestamp(0, timezone.utc),
    )  # fmt: skip
    world.rows.xcom("d", "r", "t", world.rows.row({"inner": [world.box.fields(rows["nested"])]}))
    world.box.push(b"1", task_id="replaced", dag_id="d", run_id="r-replaced")
    found = made.run().found["default"]
    assert (found.removed, found.kept) == (1, 4)
    assert world.keys() == {key for name, key in keys.items() if name != "orphan"}


def test_new_values_are_looked_into_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_AT_A_TIME", 1)
    end = world.put(b"end", 400, "z", run="gone")
    world.run("d", "r")
    for number in range(4):
        world.push(b"1", 60, task_id=f"t{number}", row=False)
    made = world.sweeper()
    for _ in made.steps():
        if made.state.step == "remove":
            break
    row = world.box.push([end] * 2, dag_id="d", run_id="r", task_id="new", key="return_value")
    world.rows.xcom("d", "r", "new", world.rows.row(row))
    save = exchange.save
    read: list[int] = []

    def saved(*given: Any, **named: Any) -> None:
        read.append(1)
        save(*given, **named)

    monkeypatch.setattr(exchange, "save", saved)
    found = made.run().found["default"]
    assert (found.removed, found.kept, len(read)) == (4, 1, 1)
    assert airfreight.get(end) == b"end"


def test_what_is_written_beside_a_removal_stays(world: World) -> None:
    class Late(Aged):
        def remove(self, store: str, key: str, condition: str | None = None) -> None:
            world.box.push(b"of a later attempt", dag_id="d", run_id="r", task_id="t")
            self._inner.remove(store, key, condition=condition)

    world.run("d", "r")
    key = world.push(b"1", 60, row=False, task_id="t")
    made = world.sweeper()
    made._stores = Late(runtime.administration(), world.ages)  # type: ignore[assignment]
    found = made.run().found["default"]
    assert (found.removed, found.kept, world.keys()) == (0, 1, {key})


def test_a_store_without_conditions_is_swept_too(world: World) -> None:
    class Plain(Aged):
        def remove(self, store: str, key: str, condition: str | None = None) -> None:
            if condition is not None:
                raise UnsupportedError("no conditions here")
            self._inner.remove(store, key)

    world.run("d", "r")
    world.push(b"1", 60, row=False)
    made = world.sweeper()
    made._stores = Plain(runtime.administration(), world.ages)  # type: ignore[assignment]
    assert made.run().found["default"].removed == 1
    assert not world.keys()


def test_a_sweep_goes_on_where_it_was(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_PAGE", 7)
    monkeypatch.setattr(sweep, "_AT_A_TIME", 3)
    monkeypatch.setattr(sorting.Sorter.__init__, "__defaults__", (5,))
    world.run("d", "r")
    stays = {world.push(b"1", 60, task_id=f"a{number}") for number in range(20)}
    for number in range(20):
        world.push(b"1", 60, task_id=f"b{number}", row=False)
    folder = world.box.root.parent / "again"
    seen: list[str] = []
    made = world.sweeper(folder=folder)
    while made.state.step != "done":
        assert len(seen) < 600
        made = world.sweeper(folder=folder)
        for part, step in enumerate(made.steps()):
            seen.append(step)
            if part == 2:
                break
    found = made.state.found["default"]
    assert (found.objects, found.needed, found.orphans, found.removed) == (40, 20, 20, 20)
    assert world.keys() == stays
    assert seen.count("list") > 4
    assert seen.count("remove") > 6
    # Begun in one way, it does not go on in another.
    other = folder.parent / "other"
    next(world.sweeper(folder=other, remove=False).steps())
    with pytest.raises(InvalidError, match="other rules"):
        world.sweeper(folder=other)
    wrong: dict[str, Any] = {
        "database": "another", "identity": {"server": "another"}, "owners": {},
        "aliases": [["s3://a", "s3://b"]],
    }  # fmt: skip
    for name, value in wrong.items():
        told = json.loads((other / "state.json").read_text())
        told["rules"] |= {"remove": True, name: value}
        (other / "state.json").write_text(json.dumps(told))
        with pytest.raises(InvalidError, match="another database"):
            world.sweeper(folder=other)
    (other / "state.json").write_text("{}")
    with pytest.raises(InvalidError, match="--state another folder"):
        world.sweeper(folder=other)


def test_rows_are_read_again_by_a_sweep_that_was_ended_long_ago(world: World) -> None:
    end = world.put(b"end", 400, "end", run="gone")
    world.run("d", "r")
    world.push(b"1", 60)
    folder = world.box.root.parent / "again"
    made = world.sweeper(folder=folder)
    for _ in made.steps():
        if made.state.step == "remove":
            break
    # A restored database, say: the row bears a time of long ago, and another place than the object.
    inner = {"inner": [json.loads(end.to_json())]}
    old = datetime.fromtimestamp(0, timezone.utc)
    world.rows.xcom("d", "r", "other", world.rows.row(inner), written=old)
    later = world.sweeper(folder=folder, clock=lambda: time.time() + 2 * DAY)
    assert later.run().found["default"].removed == 0
    assert airfreight.get(end) == b"end"


@pytest.mark.parametrize("again", [False, True])
def test_a_task_that_outlives_its_run_is_looked_at_by_a_sweep_that_goes_on_too(
    world: World, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """What it writes may refer to any candidate, between two looks at all rows."""
    monkeypatch.setattr(sweep, "_AT_A_TIME", 1)
    world.run("d", "late", ended=0.01)
    keys = sorted(world.push(b"1", 60, task_id=f"t{n}", run_id="gone", row=False) for n in range(3))
    folder = world.box.root.parent / "again"
    made = world.sweeper(folder=folder)
    steps = made.steps()
    while made.state.step != "remove":
        next(steps)
    if again:
        made = world.sweeper(folder=folder)
        steps = made.steps()
    while made.state.found["default"].removed < 1:
        next(steps)
    reference = {"_airfreight": 1, "uri": f"file://{world.box.root}/{keys[2]}"}
    world.rows.xcom("d", "late", "t", world.rows.row({"see": reference}))
    for _ in steps:
        pass
    assert world.keys() == {keys[2]}


def test_a_sweep_does_not_go_on_where_what_it_read_is_gone(world: World, tmp_path: Path) -> None:
    world.run("d", "r")
    keys = {world.push(b"1", 60, task_id=f"t{n}") for n in range(3)}
    for name in ("needed-*", "runs"):
        folder = tmp_path / name[:4]
        made = world.sweeper(folder=folder)
        for _ in made.steps():
            if made.state.step == "join":
                break
        for path in folder.glob(f"{name}/*"):
            path.unlink()
        with pytest.raises(InvalidError, match="is not what this sweep has left there"):
            world.sweeper(folder=folder).run()
    assert world.keys() == keys


def test_a_store_that_is_not_there_keeps_all_others_from_being_swept(world: World) -> None:
    """Such as a directory that is not mounted: its values may refer to what lies elsewhere."""
    for even_most in (False, True):
        made = world.sweeper(even_most=even_most)
        made.state.stores["gone"] = "file:///mnt/gone"
        made.state.found["gone"] = sweep_state.Found(dangling=1)
        made._hesitate()  # Nothing would go.
        made.state.found["default"] = sweep_state.Found(objects=9, needed=8, orphans=1)
        with (
            contextlib.nullcontext()
            if even_most
            else pytest.raises(
                InvalidError, match=r"refer to 1 objects .* file:///mnt/gone: .* is it mounted"
            )
        ):
            made._hesitate()


def test_a_deployment_below_our_prefix_keeps_what_it_has(world: World) -> None:
    world.run("d", "r")
    root = world.box.root
    world.box.set(store=f"file://{root}/d")
    world.push(b"1", 60, dag_id="r", run_id="t", task_id="map_-1", row=False)
    world.put(b"1", 400, run="gone")
    world.box.set(store=f"file://{root}")
    found = world.swept()
    assert (found.objects, found.foreign, found.orphans) == (2, 2, 0)


def test_a_run_of_a_long_name_that_is_at_work_again_keeps_its_objects(world: World) -> None:
    long = "r" * 230
    keys = {world.push(b"1", 60, run_id=run, row=False) for run in (long, long + "2")}
    made = world.sweeper()
    for _ in made.steps():
        if made.state.step == "remove":
            break
    world.run("d", long, "running")
    found = made.run().found["default"]
    assert (found.removed, found.kept) == (1, 1)
    assert len(keys & world.keys()) == 1


def test_the_last_look_asks_by_indexes_and_seldom_for_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many candidates there are: each look is a few queries that an index answers."""
    monkeypatch.setattr(sweep, "_AT_A_TIME", 1)
    world.run("d", "r")
    world.run("d", "now", "running")
    for number in range(10):
        world.push(b"1", 60, task_id=f"t{number}", row=False)
    now = [time.time()]
    made = world.sweeper(clock=lambda: now[0])
    steps = made.steps()
    while made.state.step != "remove":
        next(steps)
    asked: list[tuple[str, Any]] = []

    def ask(_: Any, __: Any, text: str, parameters: Any, *___: Any) -> None:
        if "FROM xcom" in text or "FROM dag_run" in text:
            asked.append((text, parameters))

    engine = made._source._engine  # type: ignore[attr-defined]
    sa.event.listen(engine, "before_cursor_execute", ask)
    for minute in (0, 0, 0, 0, 0, 61, 61, 61, 61):
        next(steps)
        now[0] += minute / 4
    for _ in steps:
        pass
    sa.event.remove(engine, "before_cursor_execute", ask)
    assert made.state.found["default"].removed == 10
    # At each look: runs at work (two states) and newer ones, their rows (or all), the rows and runs
    # of the candidates.
    assert len(asked) == 10 * 6
    with contextlib.closing(sqlite3.connect(world.url.removeprefix("sqlite:///"))) as connection:
        plans = [
            [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {one}", given)]
            for one, given in asked
        ]
    scans = [plan for plan in plans if re.match(r"SCAN (TABLE )?(xcom|dag_run)", plan[0])]
    assert len(scans) == 2, scans  # At the first look, and when a minute had passed.
    assert all("xcom" in plan[0] for plan in scans)


def test_what_the_store_does_not_date_stays(world: World) -> None:
    world.run("d", "r")
    key = world.push(b"1", 60, row=False)
    world.ages[key] = 0
    assert (world.swept().young, world.keys()) == (1, {key})


def test_unfinished_uploads_of_runs_that_are_over_are_ended(
    world: World, s3: Box, server: VersityGW
) -> None:
    world.run("d", "r")
    world.run("d", "now", "running")
    begun = {
        name: f"/bucket/xcom/d/{run}/{name}/map_-1/return_value.bin"
        for name, run in (("over", "r"), ("gone", "g"), ("at-work", "now"))
    } | {"foreign": "/bucket/xcom/some-file", "elsewhere": "/bucket/other/d/r/t/map_-1/k.bin"}
    for path in begun.values():
        assert server.client.request("POST", path, query={"uploads": ""}).status == 200
    assert world.swept().uploads == 0  # They are of today.
    later: dict[str, Any] = {"clock": lambda: time.time() + 8 * DAY}
    alone = Ownership("", named=False, unnamed=True, shared=False)
    shared = Ownership("", named=False, unnamed=True, shared=True)
    assert world.swept(remove=False, **later).uploads == 3
    assert len(_uploads(server)) == 5
    found = world.swept(owners={"default": shared}, **later)
    assert (found.uploads, found.aborted) == (3, 1)
    assert not any("/over/" in key for key in _uploads(server))
    assert world.swept(owners={"default": alone}, **later).aborted == 1
    left = {
        path.removeprefix("/bucket/")
        for name, path in begun.items()
        if name not in ("over", "gone")
    }
    assert _uploads(server) == left


def _uploads(server: VersityGW) -> set[str]:
    """The keys of all unfinished uploads."""
    answer = server.client.request("GET", "/bucket", query={"uploads": ""})
    assert answer.status == 200
    return set(re.findall(r"<Key>([^<]*)</Key>", answer.body.decode()))


@pytest.mark.parametrize("error", ["Denied", "Corrupt", "Forged", "NotFoundOrDenied"])
def test_what_can_not_be_looked_into_keeps_what_it_may_lead_to(
    world: World, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    """Nothing is lost by it, and it does not keep all else from going."""
    end = world.put(b"end", 400, "end", run="gone")
    world.run("d", "r")
    world.run("e", "r")
    world.push([end] * 2, 60)
    lost = world.push([end, 2], 60, task_id="lost")
    (world.box.root / lost).unlink()
    world.push(b"orphan", 60, dag_id="d", row=False, task_id="orphan")
    gone = world.push(b"orphan", 60, dag_id="e", row=False)
    before = world.keys()

    def save(*_: Any, **__: Any) -> None:
        raise from_core(error, "not for you", "", "", 0, "", "", False)

    with monkeypatch.context() as patch:
        patch.setattr(exchange, "save", save)
        found = world.swept()
    # (Of a lost one nobody knows that it is lost, either.)
    assert world.state.unread == 2
    where, why = world.state.unread_shown[0]
    assert (where, "not for you" in why) == ("d / r / lost / return_value (xcom)", True)
    assert (found.unsure, found.orphans, found.removed) == (2, 1, 1)
    assert world.keys() == before - {gone}
    # A lost one leads nowhere.
    assert world.swept().removed == 1
    assert world.state.unread == 0
    assert airfreight.get(end) == b"end"


def test_what_is_missing_leads_nowhere_only_where_the_store_was_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory that is not mounted, and not swept, has none of its objects."""
    told: list[str] = []
    roots = {"default": "file:///srv/xcom"}
    seen = Mentions(
        roots, [("file:///old", "file:///srv/xcom")], tmp_path, lambda _, why: told.append(str(why))
    )
    raised: Exception = from_core("NotFound", "is not there", "", "", 0, "", "", False)

    def save(*_: Any, **__: Any) -> None:
        raise raised

    monkeypatch.setattr(exchange, "save", save)
    known = {"_airfreight": 1, "_xcom_type": "document"}
    for place in ("file:///srv/xcom", "file:///old"):
        assert list(seen.inside(known | {"uri": f"{place}/d/r/t/map_-1/k.json"})) == []
    assert told == []
    assert list(seen.inside(known | {"uri": "file:///mnt/gone/d/r/t/map_-1/k.json"})) == []
    assert len(told) == 1
    # Of what nobody here foresaw no more than its kind: it may hold bytes of the value.
    raised = UnicodeDecodeError("utf-8", b"secret", 0, 1, "invalid start byte")
    assert list(seen.inside(known | {"uri": "file:///srv/xcom/d/r/t/map_-1/l.json"})) == []
    assert "nothing that Airfreight writes (UnicodeDecodeError)" in told[1]


@pytest.mark.parametrize("below", [0, 1])
def test_each_row_that_leads_to_what_can_not_be_read_keeps_its_dag(
    world: World, below: int
) -> None:
    """Also where several have the same reference, or one whose object leads on to it."""
    made = world.box.push(["x", {1: 2}], dag_id="c", run_id="r", task_id="t", key="return_value")
    damaged = world.box.fields(made)
    if below:
        value = {"on": [reference.Reference.from_json(json.dumps(damaged))]}
        made = world.box.push(value, dag_id="c", run_id="r", task_id="u", key="return_value")
    harm(world.box.file(damaged), b"?" * damaged["size_bytes"])
    inner = {"see": world.box.fields(made)}
    rows = {"d": inner, "e": inner, "f": {"see": damaged}}
    for dag, row in rows.items():
        world.run(dag, "r")
        world.write(row, dag_id=dag, run_id="r", task_id="t", key="return_value")
    stays = {world.push(b"1", 60, dag_id=dag, row=False, task_id="o") for dag in rows}
    gone = {world.push(b"1", 60, dag_id="g", row=False)}
    assert world.swept().removed == 1
    assert world.state.unread == len(rows)
    assert stays <= world.keys()
    assert not gone & world.keys()


def test_a_fault_of_this_process_ends_the_sweep_and_is_no_damaged_value(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run("d", "r")
    world.push([world.put(b"end", 400, "end", run="gone")] * 2, 60)
    orphan = world.push(b"1", 60, dag_id="e", row=False)

    def save(*_: Any, **__: Any) -> None:
        raise raised

    monkeypatch.setattr(exchange, "save", save)
    for raised in (TypeError("ours"), MemoryError(), sa.exc.OperationalError("", {}, OSError())):
        with pytest.raises(type(raised)):
            world.swept()
    assert orphan in world.box.objects()


def test_a_store_that_is_away_ends_the_sweep(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run("d", "r")
    world.push([world.put(b"end", 400, "end", run="gone")] * 2, 60)

    def save(*_: Any, **__: Any) -> None:
        raise from_core("Unavailable", "away", "", "", 0, "", "", True)

    monkeypatch.setattr(exchange, "save", save)
    with pytest.raises(UnavailableError):
        world.swept()
    assert len(world.keys()) == 2


def test_a_damaged_value_that_comes_late_keeps_what_it_may_lead_to(world: World) -> None:
    world.run("d", "r")
    world.run("e", "r")
    hand = world.put(b"hand", 400, "end", run="gone")
    gone = {world.push(b"1", 60, dag_id="e", row=False)}
    stays = {world.push(b"1", 60, dag_id="d", row=False, task_id="t2")}
    made = world.sweeper()
    for _ in made.steps():
        if made.state.step == "remove":
            break
    row = world.box.push(["x", {1: 2}], task_id="new", dag_id="d", run_id="r")
    world.rows.xcom("d", "r", "new", world.rows.row(row))
    document = world.key(world.box.fields(row)["uri"])
    body = world.box.root / document
    harm(body, b"?" * body.stat().st_size)
    assert made.run().found["default"].removed == 1
    assert made.state.unread == 1
    assert world.keys() == (stays | {document, world.key(hand.uri)}) - gone


@pytest.fixture
def commands(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands are run in a folder of their own, and find objects as old as the world has them."""
    monkeypatch.chdir(tmp_path)
    real = runtime.administration
    monkeypatch.setattr(runtime, "administration", lambda: Aged(real(), world.ages))


@pytest.mark.usefixtures("commands")
def test_the_command(
    world: World,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    world.run("d", "r")
    world.push(b"1", 60)
    world.push(b"22", 60, task_id="orphan", row=False)
    words = ["sweep", "--database", world.url]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "1 orphans" in said
    assert "nothing needs: d/r/orphan/map_-1/return_value.bin" in said
    assert "nothing was changed; --yes removes" in said
    assert len(world.keys()) == 2
    assert main([*words, "--yes"]) == 1
    assert "airfreight claim --yes" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(Database, "offset", lambda _: 90_000.0)
        assert main([*words, "--yes"]) == 1
        assert "is +90,000 s from that of the database" in capsys.readouterr().err
        patch.setattr(Database, "offset", lambda _: 1.0)
        patch.setattr(Database, "is_replica", lambda _: True)
        assert main([*words, "--yes"]) == 1
        assert "is a replica" in capsys.readouterr().err
    assert main(["claim", "--database", world.url, "--yes"]) == 0
    capsys.readouterr()
    assert main([*words, "--yes", "--json", "--retention", "x=30d", "--keep-last", "3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["removed"] is True
    assert told["stores"]["default"]["removed"] == 1
    assert told["stores"]["default"]["removed_bytes"] == 2
    assert not (tmp_path / "airfreight-sweep").exists()
    # What else lies in its folder stays; two sweeps in one folder would mix what they read.
    folder = tmp_path / "mine"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "keep").write_text("x")
    with sweep_state.held(folder):
        assert main([*words, "--state", str(folder)]) == 1
    assert "another sweep is at work" in capsys.readouterr().err
    assert main([*words, "--state", str(folder)]) == 0
    assert [path.name for path in folder.rglob("*")] == ["data", "keep"]
    # A row that leads to what can't be read is named, and the status says so.
    world.push(["x", {1: 2}], 60, task_id="forged")
    path = next((world.box.root / "d" / "r" / "forged").rglob("*.json"))
    harm(path, b"?" * path.stat().st_size)
    assert main(words) == 1
    told = capsys.readouterr()
    assert "can't be read: d / r / forged / return_value (xcom): " in told.out
    assert "warning: 1 rows lead to what can't be read" in told.err
    assert main([*words, "--grace", "1h"]) == 2
    assert "at least 1d" in capsys.readouterr().err
    assert main([*words, "--store", "elsewhere"]) == 1
    assert "the settings have default" in capsys.readouterr().err
    for wrong in (["--grace", "7"], ["--retention", "30d"]):
        with pytest.raises(SystemExit):
            main([*words, *wrong])
        assert "right is e.g." in capsys.readouterr().err


@pytest.mark.usefixtures("commands")
def test_how_far_it_is_is_shown_at_a_terminal_only(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["sweep", "--database", world.url]
    world.run("d", "r")
    world.push(b"1", 60, row=False)
    assert main(["claim", "--database", world.url, "--yes"]) == main(words) == 0
    assert "objects" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main([*words, "--yes"]) == 0
    said = capsys.readouterr()
    lines = said.err.replace("\033[K", "").split("\r")
    assert any(line.endswith(" objects listed") for line in lines)
    assert f"1 objects looked at [{'#' * 30}] 100 %" in lines
    # That line is gone before anything else is said, and is no part of the answer.
    assert lines[-1] == ""
    assert "looked at" not in said.out

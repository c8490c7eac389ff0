"""No sweep removes an object that a row refers to, whatever happens meanwhile.

The shipped code on PostgreSQL and a real S3 server. Pushes (whose rows come some time after their
objects; of mapped tasks, too), values that an outage leaves in their rows and `repatriate` moves
later, clears, deletions of rows and runs, archives, nested references and the single steps of
sweeps, some of which another process goes on with, come in random order; time passes between them.
What may be removed is decided by a model that knows which row needs which object. And the same with
a grace period of 0 has to fail, or nothing here would be proven.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import random
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.python import databases
from tests.python.conftest import MANY

import airfreight
from airfreight import exchange, reference, runtime
from airfreight.admin import repatriate, sweep, sweep_state
from airfreight.admin.database import connect
from airfreight.admin.ownership import Ownership

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.python.conftest import Box
    from tests.servers.versitygw import VersityGW

DAY = 86_400.0
HOUR = 3_600.0
GRACE = 7 * DAY
#: The longest between an object and its row.
LATE = 2 * DAY
STEPS = 120
#: Before this process began, so that no clock of the server's is ahead.
BEGIN = 1_700_000_000.0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield databases.make(["postgresql"], folder, stack)["postgresql"]


#: Dag, run, task, map index.
Place = tuple[str, str, str, int]


class ReferencedError(AssertionError):
    """A sweep was about to remove what a row refers to."""


@dataclass(frozen=True)
class Kept:
    """An object, as the model knows it: its key, and the objects that its value refers to."""

    key: str
    inner: tuple[Kept, ...] = ()

    def reach(self) -> set[str]:
        """Its key, and those of all that it leads to."""
        return {self.key}.union(*(one.reach() for one in self.inner))


@dataclass
class Push:
    """A row that is to be written: the value's object is there already, if it has one.

    Attributes:
        place: dag, run, task, map index.
        row: what the backend gave.
        needs: what the row refers to.
        due: when it is written at the latest.
        own: the keys of the objects that were written for it.
        before: how many objects sweeps had removed when it began.
    """

    place: Place
    row: Any
    needs: tuple[Kept, ...]
    due: float
    own: set[str]
    before: int


class Watched:
    """Stores as the sweep has them; asks the model before each removal."""

    def __init__(self, inner: Any, allowed: Callable[[str], None]) -> None:
        self._inner = inner
        self._allowed = allowed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def remove(self, store: str, key: str, condition: str | None = None) -> None:
        """Removes it, if no row refers to it."""
        self._allowed(key)
        self._inner.remove(store, key, condition=condition)


@dataclass
class World:
    """A deployment whose time is made up, and the model of it.

    Attributes:
        rows: what each row refers to.
        pending: pushes whose rows are not there yet.
        puts: what was put by hand and is still known to a task.
        removed: keys that sweeps have removed.
    """

    box: Box
    url: str
    objects: Path
    folder: Path
    source: random.Random
    grace: float
    now: float = BEGIN
    rows: dict[Place, tuple[Kept, ...]] = field(default_factory=dict)
    raw: dict[Place, Any] = field(default_factory=dict)
    pending: list[Push] = field(default_factory=list)
    runs: dict[tuple[str, str], str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    archived: set[tuple[str, ...]] = field(default_factory=set)
    sweeping: Iterator[str] | None = None
    sweeps: int = 0
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.tables = databases.Rows(self.url)
        self.stores = Watched(runtime.administration(), self.allowed)

    # The model.

    def allowed(self, key: str) -> None:
        """Raises where a row refers to the object."""
        for place, needs in self.rows.items():
            if any(key in one.reach() for one in needs):
                raise ReferencedError(f"{key} is needed by the row of {place}")
        self.removed.append(key)

    # What happens.

    def step(self) -> None:
        """One thing, at random."""
        happen = self.source.choice(
            [
                *[self.push] * 6, *[self.write_some] * 3, self.begin_run, self.end_run, self.clear,
                self.delete_row, self.delete_run, self.archive, self.repatriate,
                *[self.wait] * 3, *[self.sweep_on] * 6,
            ]
        )  # fmt: skip
        happen()

    def wait(self) -> None:
        """Time passes, and rows come when they have to."""
        end = self.now + self.source.choice((HOUR, DAY, 5 * DAY, 10 * DAY))
        while due := [push for push in self.pending if push.due <= end]:
            push = min(due, key=lambda one: one.due)
            self.now = max(self.now, push.due)
            self.write(push)
        self.now = end

    def begin_run(self) -> None:
        dag, run = self.source.choice("ab"), f"r{next(self.numbers)}"
        self.tables.run(dag, run, "running")
        self.runs[dag, run] = "running"

    def end_run(self) -> None:
        """Also of a run whose tasks are at work: by hand, say."""
        if self.runs:
            place = self.source.choice(list(self.runs))
            self.set_state(place, "success")

    def set_state(self, place: tuple[str, str], state: str) -> None:
        self.tables.set_state(*place, state, None if state == "running" else self.date())
        self.runs[place] = state

    def date(self) -> datetime:
        return datetime.fromtimestamp(self.now, timezone.utc)

    def push(self) -> None:
        """A task of some run returns something."""
        if not self.runs:
            return
        dag, run = self.source.choice(list(self.runs))
        task, index = self.source.choice([("x", -1), ("y", -1), ("m", 0), ("m", 1), ("m", 12)])
        place = (dag, run, task, index)
        if any(push.place == place for push in self.pending) or place in self.rows:
            return
        before = len(self.removed)
        inner = [self.put(place) for _ in range(self.source.choice((0, 0, 1, 2)))]
        own = {kept.key for _, kept in inner}
        inner += self.borrowed()
        value: Any = {"filler": os.urandom(3).hex(), "see": [made for made, _ in inner]}
        if self.source.random() < 0.5:
            value["filler"] *= 1000
        made = self.box.push(value, dag_id=dag, run_id=run, task_id=task, map_index=index)
        needs = tuple(kept for _, kept in inner)
        fields = self.box.fields(made)
        if "uri" in fields and self.source.random() < 0.3:
            made = self.inline(fields)
        elif "uri" in fields:
            needs = (Kept(self.aged(fields["uri"]), needs),)
            own.add(needs[0].key)
        due = self.now + self.source.choice((0, HOUR, LATE))
        self.pending.append(Push(place, made, needs, due, own, before))

    def inline(self, fields: dict[str, Any]) -> Any:
        """The row of a value whose store was away (formats/outage.md)."""
        path = self.objects / self.key(fields["uri"])
        body = path.read_bytes()
        path.unlink()
        same = ("_xcom_type", "_airfreight", "store", "dag", "run", "task", "map", "key", "written")
        kept = {name: fields[name] for name in same} | {
            "_xcom_backend": "inline", "outage": "it was away", "attempt": 1,
            "started": int(self.now * 1e6), "extension": "json",
            "content_type": "application/json", "size_bytes": len(body),
            "body": base64.b64encode(body).decode(),
        }  # fmt: skip
        return json.dumps(kept).encode() if self.tables.binary else kept

    def repatriate(self) -> None:
        """Values of a run whose store was away go there."""
        places = [place for place in self.rows if place[:2] in self.runs]
        if not places:
            return
        dag, run, *_ = self.source.choice(places)
        database = connect(self.url)
        repatriate.repatriate(database, write=True, dag=dag, run=run)
        for row in database.rows(dag, run):
            place = (row.dag, row.run, row.task, row.map_index)
            fields = self.box.fields(row.value)
            if (
                place in self.rows
                and "uri" in fields
                and "uri" not in self.box.fields(self.raw[place])
            ):
                self.rows[place] = (Kept(self.aged(fields["uri"]), self.rows[place]),)
                self.raw[place] = row.value

    def put(self, place: Place) -> tuple[Any, Kept]:
        """As `airfreight.put` in a task; what it puts may refer to what was put before."""
        dag, run, task, index = place
        inner = self.borrowed()
        coordinate = runtime.coordinate(
            dag, run, task, "", map_index=index, put_name=f"n{next(self.numbers)}"
        )
        value = {"inner": tuple(made for made, _ in inner)}
        text = exchange.store(value, coordinate, exchange.Address(dag, run, task, None))
        made = reference.Reference.from_json(text)
        return made, Kept(self.aged(made.uri), tuple(kept for _, kept in inner))

    def borrowed(self) -> list[tuple[Any, Kept]]:
        """References that a task finds in what it pulls from some row."""
        found = [place for place in self.rows if self.source.random() < 0.3]
        if not found:
            return []
        place = self.source.choice(found)
        try:
            value = self.box.pull(self.raw[place])
        except airfreight.Error:
            # A run that was deleted took its rows with it, and a new one of its name the object.
            return []
        kept = {one.key: one for need in self.rows[place] for one in (need, *need.inner)}
        return [
            (made, kept[self.key(made.uri)]) for made in value["see"] if self.key(made.uri) in kept
        ]

    def write_some(self) -> None:
        """The row of a push comes."""
        if self.pending:
            self.write(self.source.choice(self.pending))

    def write(self, push: Push) -> None:
        self.pending.remove(push)
        if push.place[:2] not in self.runs:
            return  # Airflow takes no row without a run.
        if lost := push.own & set(self.removed[push.before :]):
            raise ReferencedError(f"{lost} were removed before the row of {push.place} came")
        if self.runs[push.place[:2]] != "running":
            # (What is written into a run that is over is seen after a minute.)
            self.now += 61
        dag, run, task, index = push.place
        row = self.tables.row(push.row)
        self.tables.xcom(dag, run, task, row, index=index, written=self.date())
        self.rows[push.place] = push.needs
        self.raw[push.place] = push.row

    def clear(self) -> None:
        """A task is cleared and runs again: it takes what it wrote with it."""
        if not self.rows:
            return
        place = self.source.choice(list(self.rows))
        if place[:2] not in self.runs:
            return
        own = (
            {self.key(fields["uri"])}
            if "uri" in (fields := self.box.fields(self.raw[place]))
            else set()
        )
        others = [need for at, need in self.rows.items() if at != place]
        if any(own & one.reach() for needs in others for one in needs):
            return  # What Airflow itself takes from others is no matter of sweeps.
        self.set_state(place[:2], "running")
        exchange.purge(self.raw[place])
        self.tables.delete(*place)
        self.forget(place)

    def delete_row(self) -> None:
        """In the UI."""
        places = [place for place in self.rows if place[:2] in self.runs]
        if places:
            place = self.source.choice(places)
            self.tables.delete(*place)
            self.forget(place)

    def delete_run(self) -> None:
        if self.runs and self.source.random() < 0.5:
            self.remove_run(*self.source.choice(list(self.runs)))

    def remove_run(self, dag: str, run: str) -> None:
        self.tables.delete(dag, run)
        del self.runs[dag, run]
        for place in [place for place in self.rows if place[:2] == (dag, run)]:
            if not self.is_archived(place):
                self.forget(place)

    def archive(self) -> None:
        """`airflow db clean`."""
        over = [place for place, state in self.runs.items() if state == "success"]
        if over and self.source.random() < 0.3:
            dag, run = self.source.choice(over)
            if not any(push.place[:2] == (dag, run) for push in self.pending):
                self.tables.archive(dag, run, f"{next(self.numbers):014}")
                self.archived.add((dag, run))
                self.tables.delete(dag, run)
                del self.runs[dag, run]

    def is_archived(self, place: Place) -> bool:
        return place[:2] in self.archived

    def forget(self, place: Place) -> None:
        del self.rows[place], self.raw[place]

    def sweep_on(self) -> None:
        """A step of a sweep, or all of one; another process may go on with what one has begun."""
        if self.sweeping is None or self.source.random() < 0.2:
            if self.sweeping is None:
                self.sweeps = next(self.numbers)
            rules = sweep_state.Rules(grace=self.grace, by_hand=2 * self.grace)
            made = sweep.Sweep(
                self.airflow(),
                self.stores,  # type: ignore[arg-type]
                {"default": Ownership("", named=False, unnamed=True, shared=False)},
                rules,
                self.folder / str(self.sweeps),
                remove=True,
                clock=lambda: self.now,
            )
            self.sweeping = self.steps(made)
        for _ in range(self.source.choice((1, 2, 100))):
            if next(self.sweeping, None) is None:
                self.sweeping = None
                break

    def steps(self, made: sweep.Sweep) -> Iterator[str]:
        yield from made.steps()
        # (What can't be read keeps all else, and would hide that we have a fault there.)
        assert made.state.unread == 0, made.state.unread_shown

    def airflow(self) -> Any:
        """Where a sweep has the rows from. There may be more archives than for the one before."""
        return connect(self.url)

    # Objects.

    def key(self, uri: str) -> str:
        return uri.removeprefix("s3://bucket/xcom/")

    def aged(self, uri: str) -> str:
        """Has an object be written now, by the time that is made up; its key."""
        key = self.key(uri)
        os.utime(self.objects / key, (self.now, self.now))
        return key

    def close(self) -> None:
        """Leaves nothing behind."""
        self.sweeping = None
        database = connect(self.url)
        with self.tables.engine.begin() as connection:
            for table in database.tables[1:]:
                connection.exec_driver_sql(f"DROP TABLE {table}")
        for run in list(database.runs()):
            self.tables.delete(run.dag, run.run)
        for key in self.box.objects():
            (self.objects / key).unlink()
        self.tables.engine.dispose()


def live(world: World) -> World:
    """So many steps; ReferencedError where a sweep takes what it must not."""
    try:
        for _ in range(3):
            world.begin_run()
        for _ in range(STEPS):
            world.step()
        return world
    finally:
        world.close()


@pytest.fixture
def make(s3: Box, server: VersityGW, url: str, tmp_path: Path) -> Callable[[int, float], World]:
    """Makes a world of a seed and a grace period."""
    s3.set(threshold=1000)
    objects = server.directory / "bucket" / "xcom"

    def made(seed: int, grace: float) -> World:
        folder = tmp_path / f"{seed}-{grace}"
        return World(s3, url, objects, folder, random.Random(seed), grace)

    return made


def test_nothing_that_a_row_refers_to_is_removed(make: Callable[[int, float], World]) -> None:
    removed = [len(live(make(seed, GRACE)).removed) for seed in range(2 * MANY)]
    assert sum(removed) > len(removed)  # Or else nothing was at stake.


def test_without_a_grace_period_something_is(make: Callable[[int, float], World]) -> None:
    # (Worlds in which nothing is at stake come first else, and take their time.)
    for seed in range(4, 54):
        try:
            live(make(seed, 0.0))
        except ReferencedError:
            return
    pytest.fail("a sweep without a grace period lost nothing: these tests prove nothing")

"""`airfreight sweep --via api`: by the API server of the Airflow that is installed, a real one.

What holds of sweeps over the database holds here as well: the same tests, imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.python import databases, test_sweep_property
from tests.python.conftest import MANY, airflow_3
from tests.python.test_sweep import (  # noqa: F401 (they run here with another world)
    DAY,
    RULES,
    Aged,
    World,
    test_new_values_are_looked_into_once,
    test_only_what_is_ours_goes,
    test_references_in_what_an_outage_left_in_its_row_are_seen,
    test_references_inside_of_values_keep_what_they_lead_to,
    test_retention_leaves_rows_of_stores_that_are_not_swept,
    test_retention_takes_rows_and_objects_and_leaves_the_last_runs,
    test_rows_are_read_again_by_a_sweep_that_was_ended_long_ago,
    test_rows_without_objects_are_told,
    test_what_can_not_be_looked_into_keeps_what_it_may_lead_to,
    test_what_happens_after_the_rows_were_read_is_seen_before_a_removal,
    test_what_was_put_stays_as_long_as_its_run_and_longer,
)
from tests.python.test_sweep_property import GRACE, live
from tests.servers.airflow_api import ApiServer

from airfreight import runtime
from airfreight.admin import api, ownership, sweep_state
from airfreight.admin.api_client import Client, Token
from airfreight.admin.database import connect
from airfreight.cli import main
from airfreight.errors import ConfigError, Error, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.python.conftest import Box
    from tests.servers.versitygw import VersityGW

pytestmark = airflow_3

#: Rows in an answer: few, so that all is read by many.
PAGE = 5


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, ApiServer]]:
    """A database, and an API server over it."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = databases.make(["postgresql"], folder, stack)["postgresql"]
        server = stack.enter_context(ApiServer(url))
        rows = databases.Rows(url)
        for dag in ("a", "b", "d", "e", "x"):
            rows.dag(dag)
        rows.engine.dispose()
        yield url, server


@pytest.fixture(scope="module")
def token(served: tuple[str, ApiServer]) -> str:
    return served[1].token("user")


def opened(server: ApiServer, token: str, network: httpx.BaseTransport | None = None) -> api.Api:
    given = Token(environment={"AIRFREIGHT_API_TOKEN": token})
    client = Client(server.url, given, transport=network, sleep=lambda _: None)
    return api.Api(client, PAGE)


class ApiWorld(World):
    """A deployment whose database no sweep reaches.

    Attributes:
        network: between the sweeps and the API server.
    """

    def __init__(self, box: Box, url: str, folder: Path, server: ApiServer, token: str) -> None:
        super().__init__(box, url, folder)
        self.server = server
        self.token = token
        self.network: httpx.BaseTransport | None = None

    def airflow(self) -> Any:
        return opened(self.server, self.token, self.network)


@pytest.fixture
def world(
    box: Box, served: tuple[str, ApiServer], token: str, tmp_path: Path
) -> Iterator[ApiWorld]:
    box.set(threshold=0)
    url, server = served
    made = ApiWorld(box, url, tmp_path / "state", server, token)
    yield made
    made.close()


def test_a_user_who_may_only_read_sees_all(served: tuple[str, ApiServer]) -> None:
    opened(served[1], served[1].token("viewer")).check()
    with pytest.raises(ConfigError, match="not take the token"):
        opened(served[1], "of.a.task").find_runs([("d", "r")])


def test_what_no_row_needs_goes_and_nothing_else(world: ApiWorld) -> None:
    world.run("d", "r")
    world.run("d", "manual__2026-01-01T00:00:00+00:00")
    world.run("d", "now", "running")
    stays = {
        world.push(b"needed", 60, task_id="needed", run_id="manual__2026-01-01T00:00:00+00:00"),
        world.push(b"young", 6.9, task_id="young", row=False),
        world.push(b"at work", 60, run_id="now", row=False),
        world.push([1, 2], 60, task_id="mapped", map_index=3),
        world.push(b"odd", 60, key="é a%2Fb?#:../..", task_id="group.of-tasks"),
    }
    goes = {
        world.push(b"orphan", 60, task_id="orphan", row=False),
        world.push(b"no run", 60, run_id="gone", row=False),
        world.push(b"fewer", 7.1, task_id="mapped", map_index=4, row=False),
    }
    assert world.swept(remove=False).orphans == len(goes)
    assert world.keys() == goes | stays
    assert world.swept().removed == len(goes)
    assert world.keys() == stays


def test_the_rows_are_those_of_the_database(world: ApiWorld) -> None:
    written = datetime.now(timezone.utc) - timedelta(days=3)
    for run in ("r", "~", "s"):
        world.run("d", run)
        for number in range(5):
            world.rows.xcom(
                "d", run, "t", {"_airfreight": [number, "é", None, 1.5]}, key=f"k{number}",
                index=number % 2 - 1, written=written,
            )  # fmt: skip
    world.rows.xcom("d", "r", "t", "another's", key="other")
    world.rows.xcom("d", "r", "t", None, key="none")
    database, source = connect(world.url), world.airflow()

    def told(rows: Any) -> list[tuple[Any, ...]]:
        return sorted(
            (row.dag, row.run, row.task, row.map_index, row.key, row.value, row.written)
            for row in rows
        )  # fmt: skip

    for asked in (
        {},
        {"dag": "d", "run": "~"},
        {"dag": "e"},
        {"since": written + timedelta(hours=1)},
    ):
        for marked in (True, False):
            if marked or asked.get("run"):
                expected = told(database.rows(**asked, marked=marked))
                assert told(source.rows(**asked, marked=marked)) == expected, asked
    assert len(told(source.rows(marked=True))) == 15
    assert [(run.dag, run.run, run.state, run.ended) for run in source.runs()] == [
        (run.dag, run.run, run.state, run.ended) for run in database.runs()
    ]
    places = [("d", "r", "t", -1, "k0"), ("d", "~", "t", -1, "k1"), ("d", "no", "t", -1, "k1")]
    assert told(source.find(places)) == told(database.find(places))


@pytest.mark.parametrize("which", ["a row", "a run"])
def test_what_goes_between_two_pages_hides_nothing(world: ApiWorld, which: str) -> None:
    for number in range(9):
        world.run("d", f"r{number}")
        world.rows.xcom("d", f"r{number}", "t", ["_airfreight"])

    class Removing(httpx.HTTPTransport):  # type: ignore[misc]
        lists = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            answer = super().handle_request(request)
            answer.read()
            if request.url.path.endswith("/xcomEntries" if which == "a row" else "/dagRuns"):
                if self.lists < 2:
                    world.rows.delete("d", f"r{self.lists}", "t" if which == "a row" else None)
                self.lists += 1
            return answer

    world.network = Removing()
    source = world.airflow()
    found = [one.run for one in (source.rows() if which == "a row" else source.runs())]
    assert set(found) >= {f"r{number}" for number in range(2, 9)}
    assert len(set(found)) == len(found)


def test_a_row_of_a_run_that_begins_again_is_not_removed(world: ApiWorld) -> None:
    world.run("d", "r")
    world.run("d", "s")
    for run in ("r", "s"):
        world.rows.xcom("d", run, "t", {"_airfreight": 1})
    source = world.airflow()
    rows = {row.run: row for row in source.rows()}
    world.rows.set_state("d", "r", "running")
    assert source.remove([rows["r"]]) == 0
    world.rows.set_state("d", "r", "success")
    world.rows.xcom("d", "r", "t", {"_airfreight": 2})
    assert source.remove(rows.values()) == 1
    assert [row.run for row in source.rows()] == ["r"]


# Answers that are none.


def _timeout(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("the read operation timed out", request=request)


FAULTS: dict[str, Callable[[httpx.Request], httpx.Response]] = {
    "401": lambda _: httpx.Response(401, json={"detail": "Token Expired"}),
    "403": lambda _: httpx.Response(403, json={"detail": "Forbidden"}),
    "500": lambda _: httpx.Response(500, text="Internal Server Error"),
    "timeout": _timeout,
    "garbage": lambda _: httpx.Response(200, text="<html>Please log in</html>"),
    "no rows": lambda _: httpx.Response(
        200, json={"xcom_entries": [], "dag_runs": [], "total_entries": 2}
    ),
}
#: What is asked for, and in which step of a sweep.
PLACES = {
    "list of runs": ("read", r"/dagRuns$"),
    "list of rows": ("read", r"/xcomEntries$"),
    "value": ("read", r"/xcomEntries/return_value$"),
    "new rows": ("remove", r"/xcomEntries$"),
    "row of the object": ("remove", r"/orphan/xcomEntries/return_value$"),
    "run of the object": ("remove", r"/dagRuns/r$"),
}


class Faulty(httpx.HTTPTransport):  # type: ignore[misc]
    """A network that answers itself to what a test says."""

    def __init__(self, fault: Callable[[httpx.Request], httpx.Response]) -> None:
        super().__init__()
        self.fault = fault
        self.path = ""
        self.met = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.path and re.search(self.path, request.url.path):
            self.met += 1
            return self.fault(request)
        return super().handle_request(request)


@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_that_is_none_ends_the_sweep_and_nothing_is_removed(
    world: ApiWorld, fault: str
) -> None:
    world.run("d", "r")
    world.push(b"1", 60, task_id="needed")
    orphan = world.push(b"1", 60, task_id="orphan", row=False)
    before = world.keys()
    world.network = network = Faulty(FAULTS[fault])
    folder = world.box.root.parent / "ended"
    made = world.sweeper(folder=folder)
    for name, (step, path) in PLACES.items():
        made = world.sweeper(folder=folder)
        network.path, network.met = path if step == "read" else "", 0
        with pytest.raises(Error) as caught:  # noqa: PT012 (the step is what is looked for)
            for at in made.steps():
                if at == made.state.step == step:
                    network.path = path
        assert network.met, name
        assert world.token not in str(caught.value)
        assert world.keys() == before, name
    network.path = ""
    assert made.state.step == "remove"
    assert world.sweeper(folder=folder).run().found["default"].removed == 1
    assert world.keys() == before - {orphan}


def test_a_value_that_is_hidden_or_another_ends_the_sweep(world: ApiWorld) -> None:
    world.run("d", "r")
    world.push(b"1", 60, task_id="needed")
    world.push(b"1", 60, task_id="orphan", row=False)
    before = world.keys()

    class Changing(httpx.HTTPTransport):  # type: ignore[misc]
        def __init__(self, change: Callable[[dict[str, Any]], object]) -> None:
            super().__init__()
            self.change = change

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            answer = super().handle_request(request)
            if request.url.path.endswith("/return_value") and answer.status_code == 200:
                told = json.loads(answer.read())
                self.change(told)
                return httpx.Response(200, json=told)
            return answer

    for change in (
        lambda told: told.pop("value"),
        lambda told: told.update(run_id="another"),
        lambda told: told.update(map_index=0),
    ):
        world.network = Changing(change)
        with pytest.raises(Error, match="another XCom, or without its value"):
            world.swept()
    assert world.keys() == before


def test_a_run_whose_dag_airflow_has_forgotten_ends_the_sweep(world: ApiWorld) -> None:
    # `airflow db clean` of the table `dag`: no list shows its rows.
    world.run("x", "r")
    keys = {
        world.push(b"1", 60, dag_id="x", task_id="needed"),
        world.push(b"1", 60, dag_id="x", task_id="orphan", row=False),
    }
    with world.rows.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM dag WHERE dag_id = 'x'")
    try:
        with pytest.raises(UnavailableError, match="has a fault"):
            world.swept()
    finally:
        world.rows.dag("x")
    assert world.keys() == keys


def test_rows_go_only_where_the_user_may_delete(world: ApiWorld) -> None:
    world.run("d", "r", ended=40)
    world.push(b"1", 60)
    rules = sweep_state.Rules(grace=7 * DAY, by_hand=30 * DAY, retention=(("*", 30 * DAY),))
    world.token = world.server.token("viewer")
    with pytest.raises(ConfigError, match="with --retention to delete"):
        world.swept(rules)
    assert len(list(connect(world.url).rows())) == len(world.keys()) == 1


# The property of test_sweep_property.


class PropertyWorld(test_sweep_property.World):
    """As there, with sweeps by the API, and an `airflow db clean` that archives nothing."""

    server: ApiServer
    token: str

    def airflow(self) -> Any:
        return opened(self.server, self.token)

    def archive(self) -> None:
        over = [place for place, state in self.runs.items() if state == "success"]
        if over and self.source.random() < 0.3:
            self.remove_run(*self.source.choice(over))


@pytest.fixture
def make(
    s3: Box, server: VersityGW, served: tuple[str, ApiServer], token: str, tmp_path: Path
) -> Callable[[int, float], PropertyWorld]:
    """Makes a world of a seed and a grace period."""
    s3.set(threshold=1000)
    objects = server.directory / "bucket" / "xcom"

    def made(seed: int, grace: float) -> PropertyWorld:
        folder = tmp_path / f"{seed}-{grace}"
        world = PropertyWorld(s3, served[0], objects, folder, random.Random(seed), grace)
        world.server, world.token = served[1], token
        return world

    return made


def test_nothing_that_a_row_refers_to_is_removed(
    make: Callable[[int, float], PropertyWorld],
) -> None:
    removed = [len(live(make(seed, GRACE)).removed) for seed in range(1, 1 + MANY)]
    assert sum(removed) > len(removed)  # Or else nothing was at stake.


# The command.


def test_the_command(
    world: ApiWorld,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    world.run("d", "r")
    needed = world.push(b"1", 60)
    world.push(b"22", 60, task_id="orphan", row=False)
    real = runtime.administration
    monkeypatch.setattr(runtime, "administration", lambda: Aged(real(), world.ages))
    file = tmp_path / "token"
    file.write_text(world.token)
    where = ["--via", "api", "--api-url", world.server.url, "--api-token-file", str(file)]
    said = []

    def run(*words: str) -> int:
        status = main([*words])
        captured = capsys.readouterr()
        said.extend([captured.out, captured.err])
        return status

    assert run("sweep", *where) == 0
    assert "1 orphans" in said[-2]
    assert run("sweep", *where, "--yes") == 1
    assert "shows no archive tables" in said[-1]
    removing = ("sweep", *where, "--yes", "--without-archives")
    assert run(*removing) == 1
    assert "airfreight claim --via api --yes" in said[-1]
    # The claim of the database is none of its API, and has room for it.
    assert run("claim", "--database", world.url, "--yes") == 0
    assert run(*removing) == 1
    assert "airfreight claim --via api --also --yes" in said[-1]
    assert run("claim", *where, "--also", "--yes") == 0
    assert f"url={world.server.url}" in said[-2]
    assert run(*removing) == 0
    assert {key for key in world.box.objects() if ownership.is_ours(key)} == {needed}
    for wrong in (["--via", "api", "--database", world.url], ["--api-url", "http://x.example"]):
        assert run("sweep", *wrong) == 1
        assert "--via" in said[-1]
    assert world.token not in "".join(said)


def test_where_airflow_keeps_the_database_away_the_command_works(
    world: ApiWorld, tmp_path: Path
) -> None:
    world.run("d", "r")
    world.push(b"1", 60)
    done = subprocess.run(
        [sys.executable, "-c", "from airfreight.cli import main; raise SystemExit(main())",
         "sweep", "--via", "api", "--json"],
        env=os.environ | {
            # As in a task (airflow/sdk/execution_time/supervisor.py).
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "airflow-db-not-allowed:///",
            "AIRFLOW__API__BASE_URL": world.server.url,
            "AIRFREIGHT_API_TOKEN": world.token,
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout)
    assert (told["rows"], told["runs"], told["stores"]["default"]["needed"]) == (1, 1, 1)
    assert world.token not in done.stdout + done.stderr

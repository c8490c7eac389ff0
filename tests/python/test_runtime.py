"""The core of a process: made once, renewed once, with the credentials that can be had."""

from __future__ import annotations

import asyncio
import datetime
import io
import logging
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.conftest import RUN, Box, stored

import airfreight
from airfreight import connections, exchange, runtime, task
from airfreight.connections import aws

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STORE = "s3://my_s3@bucket/xcom"


class Airflow:
    """Who knows the connection, and counts how often it is asked; at most `gate` lets it answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, expires: float = float("inf")) -> None:
        self.asked = 0
        self.answer: Any = connections.Resolved({"region": "eu-west-3"}, expires)
        self.gate = threading.Event()
        self.gate.set()
        self.waiting = threading.Event()
        monkeypatch.setattr(connections, "resolve", self._resolve)
        monkeypatch.setattr(connections, "aresolve", self._aresolve)

    def _resolve(self, *_: str) -> connections.Resolved:
        self.asked += 1
        self.waiting.set()
        assert self.gate.wait(60)
        return self._answer()

    async def _aresolve(self, *_: str) -> connections.Resolved:
        self.asked += 1
        for _turn in range(10):  # Long enough for all others to ask as well, if they do.
            await asyncio.sleep(0)
        return self._answer()

    def _answer(self) -> connections.Resolved:
        if isinstance(self.answer, Exception):
            raise self.answer
        found: connections.Resolved = self.answer
        return found


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The cores that are made."""
    cores: list[Any] = []
    make = runtime._make

    def counted(resolved: Any) -> Any:
        entry = make(resolved)
        cores.append(entry[0])
        return entry

    monkeypatch.setattr(runtime, "_make", counted)
    return cores


# One at a time.


@pytest.mark.parametrize("renewal", [False, True])
def test_coroutines_that_need_the_core_at_once_have_one_of_them_make_it(
    box: Box, monkeypatch: pytest.MonkeyPatch, made: list[Any], *, renewal: bool
) -> None:
    box.set(store=STORE)
    airflow = Airflow(monkeypatch, expires=1.0 if renewal else float("inf"))

    async def main() -> None:
        await asyncio.gather(*(runtime.prepare() for _ in range(200)))

    if renewal:
        runtime.freight()  # Its credentials ran out in 1970.
        airflow.answer = connections.Resolved({"region": "eu-west-3"}, float("inf"))
        airflow.asked = 0
        made.clear()
    asyncio.run(main())
    assert airflow.asked == len(made) == 1
    assert runtime.freight() is made[0]


def test_threads_that_need_the_core_at_once_have_one_of_them_make_it(
    box: Box, monkeypatch: pytest.MonkeyPatch, made: list[Any]
) -> None:
    box.set(store=STORE)
    airflow = Airflow(monkeypatch)
    airflow.gate.clear()
    begun = threading.Barrier(9)

    def work(_: int) -> Any:
        begun.wait(60)
        return runtime.freight()

    with ThreadPoolExecutor(8) as threads:
        found = threads.map(work, range(8))
        begun.wait(60)
        assert airflow.waiting.wait(60)
        airflow.gate.set()
        assert {id(core) for core in found} == {id(made[0])}
    assert airflow.asked == len(made) == 1


def test_a_core_that_came_late_does_not_replace_one_that_serves(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.set(store=STORE)
    Airflow(monkeypatch)
    first = runtime.freight()
    late = runtime._make(
        {("my_s3", "s3"): connections.Resolved({"region": "eu-west-3"}, float("inf"))}
    )
    assert runtime._keep(late) is first
    assert runtime.freight() is first


def test_a_synchronous_call_on_a_loop_does_not_wait_for_a_thread(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The thread may have asked Airflow, through the very loop that would stand still.
    box.set(store=STORE)
    airflow = Airflow(monkeypatch)
    airflow.gate.clear()

    async def main() -> Any:
        thread = asyncio.get_running_loop().run_in_executor(None, runtime.freight)
        await asyncio.to_thread(airflow.waiting.wait, 60)
        monkeypatch.setattr(connections, "resolve", lambda *_: airflow.answer)
        found = runtime.freight()
        airflow.gate.set()
        assert await thread is found

    asyncio.run(asyncio.wait_for(main(), 60))


def test_who_is_cancelled_does_not_cancel_the_others_nor_what_they_wait_for(
    box: Box, monkeypatch: pytest.MonkeyPatch, made: list[Any]
) -> None:
    box.set(store=STORE)
    airflow = Airflow(monkeypatch)

    async def main() -> None:
        first, second = (asyncio.create_task(runtime.prepare()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await second
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(main())
    assert airflow.asked == len(made) == 1
    assert not runtime._preparing


def test_all_who_wait_get_the_error_and_the_next_try_asks_again(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.set(store=STORE)
    airflow = Airflow(monkeypatch)
    answer, airflow.answer = airflow.answer, airfreight.ConfigError("no such connection")

    async def main() -> None:
        found = await asyncio.gather(*(runtime.prepare() for _ in range(3)), return_exceptions=True)
        assert [type(one) for one in found] == [airfreight.ConfigError] * 3
        airflow.answer = answer
        await runtime.prepare()

    asyncio.run(main())
    assert airflow.asked == 2
    assert runtime.loaded() is not None


def test_a_child_that_was_forked_while_the_core_was_made_makes_its_own(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.set(store=STORE)
    airflow = Airflow(monkeypatch)
    runtime._load()
    airflow.gate.clear()
    with ThreadPoolExecutor(1) as threads:
        parents = threads.submit(runtime.freight)
        assert airflow.waiting.wait(60)
        if (pid := os.fork()) == 0:
            signal.alarm(60)  # Ends the child, should it wait for the parent's thread.
            airflow.gate.set()
            runtime.freight()
            os._exit(7)
        airflow.gate.set()
        parents.result(60)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


# Credentials that end.


def renewing(monkeypatch: pytest.MonkeyPatch, box: Box, ends: float) -> tuple[Airflow, Any]:
    """A core whose credentials are to be renewed now, and can't be."""
    box.set(store=STORE)
    airflow = Airflow(monkeypatch)
    airflow.answer = connections.Resolved({"region": "eu-west-3"}, 1.0, ends)
    first = runtime.freight()
    airflow.answer = airfreight.ConfigError("Airflow is away")
    airflow.asked = 0
    return airflow, first


@pytest.mark.parametrize("on_a_loop", [False, True])
def test_credentials_that_are_good_serve_on_when_they_can_not_be_renewed(
    box: Box, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, on_a_loop: bool
) -> None:
    logging.getLogger("airfreight").propagate = True
    airflow, first = renewing(monkeypatch, box, time.time() + 10_000)
    for _ in range(3):
        if on_a_loop:
            asyncio.run(runtime.prepare())
        assert runtime.freight() is first
    assert airflow.asked == 1  # Not again with each push.
    assert "Airflow is away" in caplog.text


def test_credentials_that_ended_and_can_not_be_renewed_are_an_error(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewing(monkeypatch, box, time.time() - 1)
    with pytest.raises(airfreight.ConfigError, match="Airflow is away"):
        runtime.freight()
    with pytest.raises(airfreight.ConfigError, match="Airflow is away"):
        asyncio.run(runtime.prepare())


@pytest.mark.parametrize(("left", "asked_again"), [(3600, 2700), (900, 450), (43200, 42300)])
def test_credentials_are_renewed_before_the_end_that_they_have(
    monkeypatch: pytest.MonkeyPatch, left: int, asked_again: int
) -> None:
    now = 1_800_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    end = datetime.datetime.fromtimestamp(now + left, datetime.timezone.utc)
    frozen = SimpleNamespace(access_key="A", secret_key="S", token="T")
    found = aws._frozen({}, SimpleNamespace(_expiry_time=end), frozen)
    assert found.expires == pytest.approx(now + asked_again)
    assert found.ends == pytest.approx(now + left)


# Credentials that only botocore can get.


def foreign(store: str) -> airfreight.Error:
    return airfreight.UnsupportedError("SSO", store=store, service_code=connections.FOREIGN)


def lend(monkeypatch: pytest.MonkeyPatch, borrowed: Callable[[Any], Any]) -> None:
    """Has every kind of store borrow from this function."""
    library = SimpleNamespace(CREDENTIALS=("access_key_id",), borrowed=borrowed)
    monkeypatch.setattr(connections, "provider", lambda _: library)


class Helpless:
    """A core that can't get its credentials."""

    def __init__(self, store: str) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        def fail(*arguments: Any, **_: Any) -> Any:
            if name.endswith("_many"):
                return [foreign(self._store) for _ in arguments[0]]
            if name in ("open", "open_reader"):
                return Helpless(self._store)
            if name in ("abandon", "tell"):
                return 0
            raise foreign(self._store)

        if name in ("size", "tail_offset"):
            return 0
        return fail


def put_stream(_: Any) -> Any:
    file = io.BytesIO(b"..streamed")
    file.seek(2)
    assert airfreight.get(airfreight.put_stream(file)) == b"streamed"


def purge(row: Any) -> None:
    exchange.purge(row)
    with pytest.raises(airfreight.NotFoundError):
        airfreight.get(row)


def save(row: Any, path: Path) -> None:
    airfreight.get(row, to=path)
    assert path.read_bytes() == b"there"


CALLS: dict[str, Callable[[Any, Path], Any]] = {
    "put": lambda row, path: airfreight.put(b"x"),
    "put_json": lambda row, path: airfreight.put("x"),
    "put_many": lambda row, path: airfreight.put_many([b"x", 1]),
    "put_stream": lambda row, path: put_stream(row),
    "get": lambda row, path: airfreight.get(row),
    "get_many": lambda row, path: airfreight.get_many([row, row]),
    "save": save,
    "purge": lambda row, path: purge(row),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_is_made_again_with_what_botocore_has(
    box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    instance = SimpleNamespace(
        dag_id="sales", run_id=RUN, task_id="extract", map_index=-1, id=None, try_number=1,
        start_date=None, next_method=None,
    )  # fmt: skip
    monkeypatch.setattr(task, "context", lambda: {"ti": instance})
    row = box.fields(stored(box.push(b"there")))
    lend(monkeypatch, lambda _: connections.Resolved({}, float("inf")))
    core: Any = Helpless(f"file://{box.root}")
    runtime._freights[os.getpid()] = runtime._Entry(core, float("inf"), float("inf"))
    CALLS[name](row, tmp_path / "out")
    assert runtime.loaded() is not core


def test_of_many_only_those_that_lacked_credentials_are_written_again(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = runtime.freight()
    written: list[int] = []

    class OneOfThree(Helpless):
        def put_many(self, items: Any) -> Any:
            written.append(len(items))
            first, third = real.put_many([items[0], items[2]])
            return [first, foreign(self._store), third]

    lend(monkeypatch, lambda _: connections.Resolved({}, float("inf")))
    core: Any = OneOfThree(f"file://{box.root}")
    runtime._freights[os.getpid()] = runtime._Entry(core, float("inf"), float("inf"))
    instance = SimpleNamespace(
        dag_id="sales", run_id=RUN, task_id="extract", map_index=-1, id=None, try_number=1,
        start_date=None, next_method=None,
    )  # fmt: skip
    put = airfreight.put_many([b"a", b"b", b"c"], context={"ti": instance})
    assert written == [3]
    assert [bytes(airfreight.get(one)) for one in put] == [b"a", b"b", b"c"]
    objects = [path for path in box.root.rglob("*") if path.is_file() and path.suffix == ".bin"]
    assert len(objects) == 3


def test_a_stream_that_can_not_be_read_again_is_not_stored_in_part(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "airfreight.api._place",
        lambda *_: (None, exchange.Address("sales", RUN, "extract", None)),
    )
    lend(monkeypatch, lambda _: connections.Resolved({}, float("inf")))
    core: Any = Helpless(f"file://{box.root}")
    runtime._freights[os.getpid()] = runtime._Entry(core, float("inf"), float("inf"))
    with pytest.raises(airfreight.UnsupportedError) as caught:
        airfreight.put_stream(SimpleNamespace(read=io.BytesIO(b"x").read))
    assert caught.value.task == "extract"


def test_of_two_threads_that_need_botocore_neither_fails(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent = connections.Resolved({"access_key_id": "A", "secret_access_key": "S"}, float("inf"))
    asked: list[Any] = []

    def borrowed(settings: Any) -> connections.Resolved:
        asked.append(settings)
        return lent

    box.set(store="s3://bucket/xcom", s3_profile="analytics", read_also="s3://other/xcom")
    monkeypatch.setattr(aws, "borrowed", borrowed)
    used = runtime.freight()
    assert not runtime.borrow(foreign("s3://nowhere/xcom"), used)
    assert runtime.borrow(foreign("s3://bucket/xcom"), used)
    assert runtime.borrow(foreign("s3://bucket/xcom"), used)  # Of the second thread.
    again = runtime.freight()
    assert again is not used
    assert runtime.borrow(foreign("s3://bucket/xcom"), used)
    assert not runtime.borrow(foreign("s3://bucket/xcom"), again)
    assert asked == [{"profile": "analytics"}]


def test_a_connection_without_keys_takes_those_of_botocore(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    core = SimpleNamespace(Freight=lambda stores, **_: given.extend(stores))
    monkeypatch.setattr(runtime, "_load", lambda: core)
    box.set(store=STORE, read_also="s3://keys@other/x")
    keys = {"access_key_id": "A", "secret_access_key": "S", "session_token": "T"}
    for store in ("default", "s3://other/x"):
        runtime._borrowed[os.getpid(), store] = connections.Resolved(keys, 5e9, 6e9)
    own = {"access_key_id": "OWN", "secret_access_key": "OWN"}
    entry = runtime._make(
        {
            ("my_s3", "s3"): connections.Resolved({"region": "r"}, float("inf")),
            ("keys", "s3"): connections.Resolved(own, float("inf")),
        }
    )
    (_, _, first), (_, _, second) = given
    assert first.items() >= keys.items()
    assert second.items() >= own.items()
    assert "session_token" not in second
    assert (entry.renew, entry.ends) == (5e9, 6e9)


def test_what_botocore_raises_is_none_of_a_tasks_business(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("airfreight").propagate = True

    class Session:
        def __init__(self, **_: Any) -> None:
            raise LookupError("ProfileNotFound")

    module: Any = ModuleType("botocore.session")
    module.Session = Session
    monkeypatch.setitem(sys.modules, "botocore.session", module)
    assert aws.borrowed({"profile": "nope"}) is None
    assert "LookupError" in caplog.text


@pytest.mark.parametrize(
    ("raised", "hurry"), [(RuntimeError, False), (KeyboardInterrupt, True), (SystemExit, True)]
)
def test_an_upload_is_given_up_in_a_hurry_when_the_task_is_told_to_end(
    box: Box, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException], *, hurry: bool
) -> None:
    hurries = []

    def fail(*_: Any, **__: Any) -> Any:
        raise raised

    sink = SimpleNamespace(
        write=fail, finish=fail, abandon=lambda *, hurry: hurries.append(hurry), tell=lambda: 0
    )
    monkeypatch.setattr(exchange, "open_writer", lambda *_: sink)
    monkeypatch.setattr(
        "airfreight.api._place",
        lambda *_: (None, exchange.Address("sales", RUN, "extract", None)),
    )
    with pytest.raises(raised):
        airfreight.put_stream(io.BytesIO(b"x"))
    assert hurries == [hurry]

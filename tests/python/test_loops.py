"""Pulls and pushes as Airflow 3 asks for them: one row, all rows, and from an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.python.conftest import RUN, Box, stored

import airfreight
from airfreight import _imports, connections, exchange, runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.servers.counting_proxy import CountingProxy
    from tests.servers.versitygw import VersityGW

pytestmark = [
    pytest.mark.s3,
    pytest.mark.skipif(exchange.ROWS_ARE_BYTES, reason="is about Airflow 3"),
]
ON_A_LOOP = pytest.mark.skipif(
    not hasattr(exchange.BaseXCom, "aget_one"), reason="is about Airflow 3.3"
)
ASKED = {"dag_id": "sales", "run_id": RUN, "task_id": "extract", "key": "return_value"}


class Supervisor:
    """Airflow's side of the socket: rows by map index."""

    def __init__(self) -> None:
        self.rows: dict[int, Any] = {}
        self.sent: list[Any] = []

    def send(self, msg: Any) -> Any:
        from airflow.sdk.execution_time import comms

        self.sent.append(msg)
        if isinstance(msg, comms.GetXCom):
            index = -1 if msg.map_index is None else msg.map_index
            return comms.XComResult(key=msg.key, value=self.rows.get(index))
        if isinstance(msg, comms.GetXComSequenceSlice):
            found = [self.rows[index] for index in sorted(self.rows)]
            return comms.XComSequenceSliceResult(root=found)
        if isinstance(msg, comms.SetXCom):
            self.rows[-1 if msg.map_index is None else msg.map_index] = msg.value
        return None

    async def asend(self, msg: Any) -> Any:
        await asyncio.sleep(0)
        return self.send(msg)


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    from airflow.sdk.execution_time import task_runner

    made = Supervisor()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", made, raising=False)
    return made


@pytest.fixture
def s3(
    box: Box, server: VersityGW, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch, request: Any
) -> Box:
    """A backend whose credentials are in the Airflow connection `my_s3`."""
    extra = {
        "endpoint_url": proxy.url,
        "region_name": "us-east-1",
        "config_kwargs": {"s3": {"addressing_style": "path"}},
    }
    row = {"conn_type": "aws", "login": server.access_key, "password": server.secret_key}
    monkeypatch.setenv("AIRFLOW_CONN_MY_S3", json.dumps(row | {"extra": extra}))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    box.set(store=f"s3://my_s3@bucket/{request.node.name[:60].strip('[]')}")
    return box


def pull(**asked: Any) -> Any:
    return airfreight.XComBackend.get_one(**{**ASKED, **asked})


def pull_all(**asked: Any) -> Any:
    return airfreight.XComBackend.get_all(**{**ASKED, **asked})


# What is asked for, and what comes.


def test_get_one_is_as_in_the_base_class(box: Box, supervisor: Supervisor) -> None:
    assert pull() is None
    supervisor.rows = {-1: stored(box.push(b"x")), 3: stored(box.push({"a": 1}, map_index=3))}
    assert pull() == b"x"
    assert pull(map_index=3) == {"a": 1}
    assert pull(map_index=4) is None
    supervisor.rows[-1] = exchange.BaseXCom.serialize_value((1, 2))
    assert pull() == (1, 2)
    with pytest.raises(TypeError):
        airfreight.XComBackend.get_one(key="k")


def test_get_all_mixes_rows_of_every_kind_in_their_order(box: Box, supervisor: Supervisor) -> None:
    assert pull_all() is None
    values = [b"0", {"one": 1}, None, (3, 4), b"4" * 100_000, {5: "five"}, ["6" * 50_000]]
    supervisor.rows = {
        index: stored(box.push(value, map_index=index)) for index, value in enumerate(values)
    }
    assert pull_all() == values


def test_get_all_raises_the_error_of_the_first_row_that_has_one(
    box: Box, supervisor: Supervisor
) -> None:
    rows = [stored(box.push(b"x" * 10, map_index=index)) for index in range(4)]
    supervisor.rows = dict(enumerate(rows))
    box.file(rows[2]).unlink()
    with pytest.raises(airfreight.NotFoundError) as caught:
        pull_all()
    assert caught.value.map_index == 2
    assert caught.value.uri == rows[2]["uri"]


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"dag_id": "other"}, "dag 'other'"),
        ({"run_id": "other"}, "run 'other'"),
        ({"task_id": "other"}, "task 'other'"),
        ({"key": "other"}, "key 'other'"),
        ({"map_index": 7}, "map index 7"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_reference_that_was_copied_from_another_row_is_forged(
    box: Box, supervisor: Supervisor, asked: dict[str, Any], what: str
) -> None:
    row = stored(box.push(b"precious"))
    supervisor.rows = {-1: row, 7: row}
    with pytest.raises(airfreight.ForgedError, match=what):
        pull(**asked)
    if "map_index" not in asked:
        with pytest.raises(airfreight.ForgedError, match=what):
            pull_all(**asked)
    if not hasattr(exchange.BaseXCom, "aget_one"):
        return
    backend = airfreight.XComBackend
    with pytest.raises(airfreight.ForgedError, match=what):
        asyncio.run(backend.aget_one(**{**ASKED, **asked}))
    if "map_index" not in asked:
        with pytest.raises(airfreight.ForgedError, match=what):
            asyncio.run(backend.aget_all(**{**ASKED, **asked}))


def test_a_value_of_an_earlier_run_is_read_when_earlier_runs_are_asked_for(
    box: Box, supervisor: Supervisor
) -> None:
    supervisor.rows = {-1: stored(box.push(b"x", run_id="yesterday"))}
    assert pull(include_prior_dates=True) == b"x"
    assert pull_all(include_prior_dates=True) == [b"x"]
    with pytest.raises(airfreight.ForgedError):
        pull()


class Doubling(airfreight.XComBackend):
    @staticmethod
    def deserialize_value(result: Any) -> Any:
        return airfreight.XComBackend.deserialize_value(result) * 2

    @staticmethod
    def serialize_value(value: Any, **where: Any) -> Any:
        return airfreight.XComBackend.serialize_value(value * 3, **where)


def test_what_a_subclass_makes_of_a_row_is_what_a_pull_gives(
    box: Box, supervisor: Supervisor
) -> None:
    supervisor.rows = {-1: stored(box.push(b"x"))}
    assert Doubling.get_one(**ASKED) == b"xx"
    assert Doubling.get_all(**ASKED) == [b"xx"]


@ON_A_LOOP
def test_what_a_subclass_makes_of_a_row_is_what_an_awaited_pull_gives(
    box: Box, supervisor: Supervisor
) -> None:
    async def main() -> None:
        await Doubling.aset(value=b"x", **ASKED)
        assert await Doubling.aget_one(**ASKED) == b"xxxxxx"
        assert await Doubling.aget_all(**ASKED) == [b"xxxxxx"]

    asyncio.run(main())


def test_the_objects_of_a_mapped_task_take_one_get_each(
    s3: Box, supervisor: Supervisor, proxy: CountingProxy
) -> None:
    values = [f"{index}".encode() * 50 for index in range(100)]
    supervisor.rows = {
        index: stored(s3.push(value, map_index=index)) for index, value in enumerate(values)
    }
    runtime.forget()  # Connections that are open already do not count.
    proxy.clear()
    before = proxy.connections
    assert pull_all() == values
    assert [request.method for request in proxy.requests] == ["GET"] * 100
    assert proxy.connections - before <= 16


# On an event loop.


@contextlib.contextmanager
def held_up_until_the_loop_has_ticked(proxy: CountingProxy) -> Iterator[Callable[[], Any]]:
    """A store that answers when a loop has gone round 50 times since it was asked."""
    asked, ticked = threading.Event(), threading.Event()

    def script(_: Any) -> None:
        asked.set()
        assert ticked.wait(60), "the loop stood still while the store was slow"

    async def tick() -> None:
        await asyncio.to_thread(asked.wait, 60)
        for _ in range(50):
            await asyncio.sleep(0.001)
        ticked.set()

    proxy.script = script
    yield tick
    proxy.script = None
    assert asked.is_set()
    assert ticked.is_set()


def refuse(*_: Any) -> None:
    from airflow.sdk.execution_time.comms import DeadlockImminentError

    raise DeadlockImminentError("asked on the loop")


@ON_A_LOOP
def test_the_loop_goes_on_while_the_store_is_slow_and_connections_are_awaited(
    s3: Box, supervisor: Supervisor, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.bases.hook import BaseHook

    monkeypatch.setattr(BaseHook, "get_connection", refuse)
    frame = pd.DataFrame({"a": range(1000)})

    async def main(tick: Callable[[], Any], work: Any) -> Any:
        return (await asyncio.gather(work(), tick()))[0]

    backend = airfreight.XComBackend
    for work, expected in (
        (lambda: backend.aset(value=frame, **ASKED), None),
        (lambda: backend.aget_one(**ASKED), frame),
        (lambda: backend.aget_all(**ASKED), [frame]),
    ):
        runtime.forget()
        with held_up_until_the_loop_has_ticked(proxy) as tick:
            found = asyncio.run(main(tick, work))
        assert str(found) == str(expected)
    assert [request.method for request in proxy.requests] == ["PUT", "GET", "GET"]


@ON_A_LOOP
def test_a_small_value_on_a_loop_is_what_the_base_class_has(
    box: Box, supervisor: Supervisor
) -> None:
    async def main() -> None:
        assert await airfreight.XComBackend.aget_one(**ASKED) is None
        assert await airfreight.XComBackend.aget_all(**ASKED) is None
        await airfreight.XComBackend.aset(value={"a": (1, 2)}, **ASKED)
        await airfreight.XComBackend.aset(value=None, map_index=2, **ASKED)
        assert await airfreight.XComBackend.aget_one(**ASKED) == {"a": (1, 2)}
        assert await airfreight.XComBackend.aget_all(**ASKED) == [{"a": (1, 2)}, None]

    asyncio.run(main())
    assert runtime.loaded() is None


@ON_A_LOOP
@pytest.mark.parametrize(
    ("key", "value", "threshold"),
    [
        ("k", {"a": 1}, None),
        ("k", (1, {2}), None),
        ("k", ["x" * 50_000], -1),
        ("skipmixin_key", {"skipped": ["a"]}, 0),
    ],
    ids=["json", "document", "threshold", "server"],
)
def test_a_push_on_a_loop_that_stays_in_the_row_asks_for_no_connection(
    box: Box,
    supervisor: Supervisor,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    value: Any,
    threshold: int | None,
) -> None:
    async def ask(*_: str) -> Any:
        raise AssertionError("asked Airflow")

    monkeypatch.setattr(connections, "aresolve", ask)
    monkeypatch.setattr(connections, "resolve", refuse)
    box.set(store="s3://my_s3@bucket/xcom", threshold=threshold)
    asyncio.run(airfreight.XComBackend.aset(value=value, **{**ASKED, "key": key}))
    assert len(supervisor.sent) == 1
    assert runtime.loaded() is None


@ON_A_LOOP
@pytest.mark.parametrize("value", [b"x", pd.DataFrame({"a": [1]}), ["x" * 50_000]], ids=type)
def test_a_push_on_a_loop_that_needs_the_store_awaits_the_connection_once(
    s3: Box, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, value: Any
) -> None:
    asked = []
    resolve = connections.aresolve

    async def ask(name: str, scheme: str) -> Any:
        asked.append((name, scheme))
        return await resolve(name, scheme)

    monkeypatch.setattr(connections, "aresolve", ask)
    monkeypatch.setattr(connections, "resolve", refuse)
    asyncio.run(airfreight.XComBackend.aset(value=value, **ASKED))
    assert asked == [("my_s3", "s3")]
    assert str(s3.pull(stored(supervisor.rows[-1]))) == str(value)


@ON_A_LOOP
def test_a_pull_that_nobody_awaits_any_more_ends(
    s3: Box, supervisor: Supervisor, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor.rows = {-1: stored(s3.push(b"x"))}
    asked, release, ended = threading.Event(), threading.Event(), threading.Event()
    unpack = exchange.unpack

    def watched(*arguments: Any) -> Any:
        try:
            return unpack(*arguments)
        finally:
            ended.set()

    def script(_: Any) -> None:
        asked.set()
        release.wait(60)

    async def main() -> None:
        task = asyncio.create_task(airfreight.XComBackend.aget_one(**ASKED))
        await asyncio.to_thread(asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The store is silent still, and would be for a minute.
        assert await asyncio.to_thread(ended.wait, 30)

    monkeypatch.setattr(exchange, "unpack", watched)
    proxy.script = script
    try:
        asyncio.run(main())
    finally:
        release.set()


def test_a_synchronous_pull_on_a_loop_that_can_not_ask_airflow_says_what_to_do(
    s3: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(exchange.BaseXCom, "aget_one"):
        pytest.skip("is about Airflow 3.3")
    from airflow.sdk.bases.hook import BaseHook

    row = stored(s3.push(b"x"))
    monkeypatch.setattr(BaseHook, "get_connection", refuse)

    async def main() -> Any:
        return s3.pull(row)

    assert asyncio.run(main()) == b"x"  # The connection is known already.
    runtime.forget()
    with pytest.raises(airfreight.InvalidError, match=r"my_s3.*axcom_pull"):
        asyncio.run(main())
    assert s3.push({"small": 1}) == {"small": 1}


def test_credentials_that_can_not_be_renewed_on_a_loop_serve_on(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.set(store="s3://my_s3@bucket/xcom")
    expires = 1.0  # In 1970.
    monkeypatch.setattr(
        connections, "resolve", lambda *_: connections.Resolved({"region": "eu-west-3"}, expires)
    )
    first = runtime.freight()

    def busy(*_: str) -> Any:
        raise connections.BusyError("busy")

    monkeypatch.setattr(connections, "resolve", busy)
    assert runtime.freight() is first


def test_what_asyncio_has_of_a_role_is_asked_for_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys
    from types import ModuleType

    main = threading.get_ident()

    class Hook:
        region_name = "eu-west-3"

        def __init__(self, **_: Any) -> None:
            assert threading.get_ident() != main

        def get_connection(self, _: str) -> Any:
            raise AssertionError("asked Airflow a second time")

        def get_session(self) -> Any:
            assert self.get_connection("my_s3").conn_id == "my_s3"
            frozen = SimpleNamespace(access_key="A", secret_key="S", token="T")
            return SimpleNamespace(
                get_credentials=lambda: SimpleNamespace(get_frozen_credentials=lambda: frozen)
            )

    module: Any = ModuleType("base_aws")
    module.AwsBaseHook = Hook
    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", module)
    monkeypatch.setenv(
        "AIRFLOW_CONN_MY_S3", json.dumps({"conn_type": "aws", "extra": {"role_arn": "arn:x"}})
    )
    resolved = asyncio.run(connections.aresolve("my_s3", "s3"))
    assert resolved.settings["access_key_id"] == "A"


def test_a_coroutine_waits_for_the_imports_of_other_threads_without_its_loop() -> None:
    loop_went_on = threading.Event()
    held = threading.Event()
    outcome: list[bool] = []

    def import_something() -> None:
        with _imports.loading:
            held.set()
            outcome.append(loop_went_on.wait(20))

    async def both() -> Any:
        thread = threading.Thread(target=import_something)
        thread.start()
        held.wait(20)
        module = asyncio.ensure_future(_imports.imported("airfreight.rows"))
        await asyncio.sleep(0)
        assert not module.done()
        loop_went_on.set()
        found = await module
        thread.join()
        return found

    assert asyncio.run(both()).__name__ == "airfreight.rows"
    assert outcome == [True]

"""S3 with a server that checks signatures, and a proxy that counts what was asked of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests import leaks
from tests.python.conftest import Box, s3_server, stored
from tests.servers.versitygw import VersityGW

import airfreight
from airfreight import exchange, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.counting_proxy import CountingProxy

pytestmark = pytest.mark.s3


@pytest.fixture(scope="module")
def server() -> Iterator[VersityGW]:
    try:
        VersityGW.find_binary()
    except FileNotFoundError as error:
        pytest.fail(f"{error}: the server that these tests need is made by ./dev setup")
    with s3_server() as running:
        yield running


@pytest.fixture
def s3(
    box: Box, server: VersityGW, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch, request: Any
) -> Box:
    """A backend on the server through the proxy; each test has a prefix of its own."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret_key)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    prefix = request.node.name.replace("[", "/").replace("]", "")[:60]
    box.set(
        store=f"s3://bucket/{prefix}",
        s3_endpoint_url=proxy.url,
        s3_region="us-east-1",
        s3_addressing_style="path",
    )
    return box


def methods(proxy: CountingProxy) -> list[str]:
    return [recorded.method for recorded in proxy.requests]


def test_a_three_row_frame_takes_one_put_and_one_get(s3: Box, proxy: CountingProxy) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3]})
    row = s3.push(frame)
    fields = s3.fields(row)
    assert fields["_xcom_backend"] == "s3"
    assert fields["_xcom_type"] == "pandas.DataFrame"
    assert fields["rows"] == 3
    assert methods(proxy) == ["PUT"]
    pd.testing.assert_frame_equal(s3.pull(stored(row)), frame)
    assert methods(proxy) == ["PUT", "GET"]


@pytest.mark.parametrize(
    "value", [b"x", ["y" * 50_000], {1: "z" * 50_000}], ids=lambda v: type(v).__name__
)
def test_every_kind_of_value_takes_one_request_each_way(
    s3: Box, proxy: CountingProxy, value: Any
) -> None:
    assert s3.through(value) == value
    assert methods(proxy) == ["PUT", "GET"]


def test_small_values_take_no_request(s3: Box, proxy: CountingProxy) -> None:
    for value in ({"rows": 3, "path": "x", "ok": True}, [(1, 2)], {1: float("inf")}, None):
        assert s3.through(value) == value
    assert methods(proxy) == []


def test_a_second_push_in_the_same_process_takes_one_put(s3: Box, proxy: CountingProxy) -> None:
    s3.push(b"one")
    s3.push(b"two")
    assert methods(proxy) == ["PUT", "PUT"]


def test_who_wrote_it_a_signature_and_a_seal_add_no_request(s3: Box, proxy: CountingProxy) -> None:
    def asked(task: str) -> list[str]:
        seen = len(proxy.requests)
        s3.push(b"one", task_id=task)
        runtime.forget()  # Another process replaces it.
        row = stored(s3.push(b"two", task_id=task))
        assert s3.pull(row) == b"two"
        airfreight.XComBackend.purge(type("X", (), {"value": row}))
        return methods(proxy)[seen:]

    plain = asked("plain")
    assert plain == ["PUT", "PUT", "HEAD", "PUT", "GET", "HEAD", "DELETE"]
    s3.set(
        deployment_id="prod",
        signing_keys=leaks.key("k1"),
        seal="True",
        seal_keys=leaks.key("s1"),
    )
    seen = len(proxy.requests)
    assert asked("all") == plain
    assert proxy.requests[seen].headers.get("x-amz-meta-af-owner") == "prod"


def test_purge_and_a_small_value_after_a_large_one_leave_nothing(s3: Box) -> None:
    s3.push(b"one")
    s3.push({"small": 1})
    assert s3.objects() == []
    airfreight.XComBackend.purge(type("X", (), {"value": s3.push(b"two")}))
    assert s3.objects() == []


def test_a_lost_object_names_the_uri_and_what_to_do(s3: Box) -> None:
    row = stored(s3.push(b"x"))
    s3.push({"small": 1})
    with pytest.raises(airfreight.NotFoundError) as caught:
        s3.pull(row)
    assert s3.fields(row)["uri"] in str(caught.value)
    assert "'extract'" in str(caught.value)


def test_a_wrong_secret_fails_at_once_and_is_not_told(
    s3: Box, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret-value")
    s3.set()
    with pytest.raises(airfreight.DeniedError) as caught:
        s3.push(b"x")
    assert "wrong-secret-value" not in str(caught.value)
    assert "'extract'" in str(caught.value)
    assert len(methods(proxy)) == 1


def test_credentials_of_a_connection_reach_the_server(
    s3: Box, server: VersityGW, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # apache/airflow#39602 and its kind: written by one process, read by another.
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    extra = {
        "endpoint_url": proxy.url,
        "region_name": "us-east-1",
        "config_kwargs": {"s3": {"addressing_style": "path"}},
    }
    monkeypatch.setenv(
        "AIRFLOW_CONN_MY_S3",
        json.dumps(
            {
                "conn_type": "aws",
                "login": server.access_key,
                "password": server.secret_key,
                "extra": extra,
            }
        ),
    )
    s3.set(
        store="s3://my_s3@bucket/conn",
        s3_endpoint_url=None,
        s3_region=None,
        s3_addressing_style=None,
    )
    row = s3.push(b"x")
    assert "my_s3" not in json.dumps(s3.fields(row))
    # The connection may be called otherwise when the value is read.
    monkeypatch.setenv("AIRFLOW_CONN_RENAMED", os.environ["AIRFLOW_CONN_MY_S3"])
    monkeypatch.delenv("AIRFLOW_CONN_MY_S3")
    s3.set(store="s3://renamed@bucket/conn")
    assert s3.pull(stored(row)) == b"x"


def test_an_unreachable_store_is_an_error_that_names_it(s3: Box) -> None:
    s3.set(s3_endpoint_url="http://127.0.0.1:1", timeout=1, s3_connect_timeout=1)
    with pytest.raises(airfreight.UnavailableError) as caught:
        s3.push(b"x")
    assert "s3://bucket/" in str(caught.value)
    assert "'extract'" in str(caught.value)


@contextlib.contextmanager
def silent_server(signum: int) -> Iterator[str]:
    """A server that takes connections and never answers; a first request raises the signal."""

    def serve(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            connections.append(connection)
            connection.recv(1)
            os.kill(os.getpid(), signum)
            while True:
                connections.append(listener.accept()[0])

    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        for connection in connections:
            connection.close()
    thread.join()


class ExecutionTimeoutError(Exception):
    pass


def raises(*_: Any) -> None:
    """A handler such as Airflow sets for execution_timeout and for SIGTERM."""
    raise ExecutionTimeoutError("the task's time is over")


@pytest.mark.parametrize("way", ["push", "pull"])
@pytest.mark.parametrize(
    ("signum", "handler", "expected"),
    [
        (signal.SIGALRM, raises, ExecutionTimeoutError),
        (signal.SIGTERM, raises, ExecutionTimeoutError),
        (signal.SIGINT, signal.default_int_handler, KeyboardInterrupt),
    ],
    ids=["SIGALRM", "SIGTERM", "SIGINT"],
)
def test_what_a_signal_handler_raises_ends_a_transfer_that_hangs(
    s3: Box, way: str, signum: int, handler: Any, expected: type[BaseException]
) -> None:
    row = stored(s3.push(b"x"))
    before = signal.signal(signum, handler)
    try:
        with silent_server(signum) as url:
            s3.set(s3_endpoint_url=url, s3_idle_timeout=1000)
            start = time.monotonic()
            transfer = partial(s3.pull, row) if way == "pull" else partial(s3.push, b"y" * 100_000)
            with pytest.raises(expected) as caught:
                transfer()
            assert type(caught.value) is expected
            # Long before what would end it otherwise.
            assert time.monotonic() - start < 500
    finally:
        signal.signal(signum, before)


@pytest.mark.parametrize("value", [b"x", pd.DataFrame({"a": range(10)})], ids=["bytes", "frame"])
def test_credentials_that_the_core_does_not_speak_come_from_botocore(
    s3: Box, server: VersityGW, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: Any
) -> None:
    (tmp_path / "config").write_text(
        "[profile single]\nsso_start_url = https://example.com\nsso_account_id = 1\n"
        "sso_role_name = r\nsso_region = us-east-1\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    asked = []

    class Session:
        def __init__(self, profile: str | None) -> None:
            asked.append(profile)

        def get_credentials(self) -> Any:
            frozen = SimpleNamespace(
                access_key=server.access_key, secret_key=server.secret_key, token=None
            )
            return SimpleNamespace(get_frozen_credentials=lambda: frozen)

    module: Any = ModuleType("botocore.session")
    module.Session = Session
    monkeypatch.setitem(sys.modules, "botocore.session", module)
    s3.set(s3_profile="single")
    row = stored(s3.push(value))
    assert str(s3.pull(row)) == str(value)
    assert asked == ["single"]
    runtime.forget()
    assert str(s3.pull(row)) == str(value)
    runtime.forget()
    assert str(exchange.unpack_many([row, row])) == str([value, value])

    monkeypatch.setitem(sys.modules, "botocore.session", None)
    runtime.forget()
    with pytest.raises(airfreight.UnsupportedError, match="botocore"):
        s3.push(value)

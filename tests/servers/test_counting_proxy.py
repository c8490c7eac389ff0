"""The proxy sees everything that passes, and changes nothing unless told to."""

from __future__ import annotations

import http.client
import http.server
import threading
from typing import TYPE_CHECKING

import pytest

from tests.servers.counting_proxy import CountingProxy, Recorded
from tests.servers.faults import Answer, CutRequest, Flip, Gate, Hold, Reset, Slow, Truncate

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Store(http.server.BaseHTTPRequestHandler):
    """Keeps what is PUT, by path, and gives it back."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes] = {}  # noqa: RUF012

    def do_PUT(self) -> None:
        self.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, b"")

    def do_GET(self) -> None:
        body = self.objects.get(self.path)
        self._answer(404 if body is None else 200, body or b"gone")

    def do_HEAD(self) -> None:
        self._answer(200 if self.path in self.objects else 404, self.objects.get(self.path, b""))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def proxy() -> Iterator[CountingProxy]:
    _Store.objects = {}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Store)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with CountingProxy(f"http://127.0.0.1:{server.server_address[1]}") as running:
            yield running
    finally:
        server.shutdown()
        server.server_close()


def _client(proxy: CountingProxy) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(proxy.url.removeprefix("http://"), timeout=30)


def _ask(
    client: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None
) -> tuple[int, bytes]:
    client.request(method, path, body=body, headers={"Authorization": "secret", "x-amz-a": "1"})
    answer = client.getresponse()
    return answer.status, answer.read()


def test_each_request_is_recorded_and_a_stray_head_is_seen(proxy: CountingProxy) -> None:
    client = _client(proxy)
    assert _ask(client, "PUT", "/b/a%20b", b"12345") == (200, b"")
    assert [request.method for request in proxy.requests] == ["PUT"]
    assert _ask(client, "HEAD", "/b/a%20b") == (200, b"")
    assert [request.method for request in proxy.requests] != ["PUT"], "a stray HEAD went unseen"
    assert _ask(client, "GET", "/b/a%20b") == (200, b"12345")
    put, head, get = proxy.requests
    assert (put.path, put.target, put.request_bytes, put.status) == ("/b/a b", "/b/a%20b", 5, 200)
    assert (head.method, head.status, head.response_bytes) == ("HEAD", 200, 0)
    assert (get.status, get.response_bytes) == (200, 5)
    assert proxy.connections == 1
    client.close()


def test_secrets_are_not_recorded(proxy: CountingProxy) -> None:
    client = _client(proxy)
    _ask(client, "GET", "/x")
    assert proxy.requests[0].headers["x-amz-a"] == "1"
    assert "secret" not in repr(proxy.requests)
    client.close()


def test_large_bodies_pass_unchanged(proxy: CountingProxy) -> None:
    body = bytes(range(256)) * (100 * 4096)
    client = _client(proxy)
    assert _ask(client, "PUT", "/large", body)[0] == 200
    assert _ask(client, "GET", "/large") == (200, body)
    assert [request.request_bytes + request.response_bytes for request in proxy.requests] == [
        len(body),
        len(body),
    ]
    client.close()


def test_a_store_that_is_down_refuses_and_comes_back(proxy: CountingProxy) -> None:
    assert _ask(_client(proxy), "PUT", "/k", b"v")[0] == 200
    url = proxy.url
    proxy.refuse_connections()
    with pytest.raises(ConnectionRefusedError):
        _ask(_client(proxy), "GET", "/k")
    proxy.accept_connections()
    assert proxy.url == url
    assert _ask(_client(proxy), "GET", "/k") == (200, b"v")


def test_a_scripted_answer_does_not_reach_the_store(proxy: CountingProxy) -> None:
    def once(request: Recorded) -> Answer | None:
        return Answer(503, b"slow down", {"Retry-After": "1"}) if request.method == "PUT" else None

    proxy.script = once
    client = _client(proxy)
    assert _ask(client, "PUT", "/k", b"v" * 1000) == (503, b"slow down")
    assert _ask(client, "GET", "/k")[0] == 404
    assert [(request.status, request.fault) for request in proxy.requests] == [
        (503, True),
        (404, False),
    ]
    client.close()


@pytest.mark.parametrize("after_server", [False, True])
def test_a_reset_loses_the_answer(proxy: CountingProxy, after_server: bool) -> None:
    proxy.script = lambda _: Reset(after_server=after_server)
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected, BrokenPipeError)):
        _ask(_client(proxy), "PUT", "/k", b"v")
    assert ("/k" in _Store.objects) == after_server


def test_a_truncated_body_ends_early(proxy: CountingProxy) -> None:
    client = _client(proxy)
    _ask(client, "PUT", "/k", b"0123456789")
    proxy.script = lambda _: Truncate(4)
    with pytest.raises(http.client.IncompleteRead) as caught:
        _ask(client, "GET", "/k")
    assert caught.value.partial == b"0123"


def test_one_bit_changes_in_the_direction_asked_for(proxy: CountingProxy) -> None:
    client = _client(proxy)
    proxy.script = lambda _: Flip(upload=True, at=3)
    _ask(client, "PUT", "/k", b"0123456789")
    assert _Store.objects["/k"] == b"012#456789"
    proxy.script = lambda _: Flip(upload=False, at=0)
    assert _ask(client, "GET", "/k")[1] == b" 12#456789"
    client.close()


def test_a_request_is_cut_before_the_server_has_all_of_it(proxy: CountingProxy) -> None:
    proxy.script = lambda _: CutRequest(4)
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected, BrokenPipeError)):
        _ask(_client(proxy), "PUT", "/cut", b"0123456789")
    assert _Store.objects.get("/cut") != b"0123456789"


def test_a_slow_body_arrives_whole(proxy: CountingProxy) -> None:
    client = _client(proxy)
    proxy.script = lambda _: Slow(bytes_per_second=1e6, at_most_seconds=0.01)
    _ask(client, "PUT", "/k", bytes(200_000))
    assert _ask(client, "GET", "/k")[1] == bytes(200_000)
    client.close()


@pytest.mark.parametrize(("method", "body"), [("PUT", b"0123456789"), ("GET", b"")])
def test_a_held_request_goes_on_when_the_gate_opens(
    proxy: CountingProxy, method: str, body: bytes
) -> None:
    _ask(_client(proxy), "PUT", "/held", b"0123456789")
    gate = Gate()
    proxy.script = lambda _: Hold(gate)
    done = threading.Event()

    def ask() -> None:
        _ask(_client(proxy), method, "/held", body)
        done.set()

    thread = threading.Thread(target=ask)
    thread.start()
    assert gate.await_waiting(["/held"], 30) == []
    assert not done.is_set()
    gate.open()
    assert done.wait(30)
    thread.join()

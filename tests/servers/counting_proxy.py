"""A reverse proxy that records every request, and fails those that a test tells it to.

    with CountingProxy(server.endpoint) as proxy:
        ...  # use proxy.url in place of server.endpoint
        assert [request.method for request in proxy.requests] == ["PUT"]

The head of a request goes on as it came, Host included, so that its signature stays right.
"""

from __future__ import annotations

import contextlib
import dataclasses
import select
import socket
import ssl
import struct
import threading
import time
import urllib.parse
from typing import TYPE_CHECKING

from tests.servers.faults import (
    Answer,
    CloseAfter,
    CutError,
    Hold,
    Reset,
    Slow,
    Truncate,
    shaped,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tests.servers.faults import Fault

# Large enough that 100 MB cost a few hundred calls.
_CHUNK = 512 * 1024
_MAX_HEAD = 256 * 1024
# What a recording must not hold: it ends up in assertion messages.
_SECRET_HEADERS = {"authorization", "x-amz-security-token", "cookie"}


@dataclasses.dataclass
class Recorded:
    """One request as it passed: what was asked and what came back.

    Attributes:
        target: path and query as sent.
        headers: the request's, names in lower case, without those that hold secrets.
        request_bytes: length of its body.
        status: of the answer; 0 while there is none, or when there never was one.
        response_bytes: length of the answer's body that was passed on.
        connection: which connection of a client it came on, from 0.
        fault: whether the script dealt with it.
    """

    method: str
    target: str
    headers: dict[str, str]
    request_bytes: int = 0
    status: int = 0
    response_bytes: int = 0
    connection: int = 0
    fault: bool = False

    @property
    def path(self) -> str:
        """The path without its query, decoded."""
        return urllib.parse.unquote(self.target.partition("?")[0])


class _Closed(Exception):  # noqa: N818
    """The peer is gone; nothing more can be said on this connection."""


class _Stream:
    """A socket with what was read from it and not yet used."""

    def __init__(self, peer: socket.socket) -> None:
        self.socket = peer
        self._pending = b""

    def read_head(self) -> bytes:
        """Up to and with the empty line; empty when the peer closed before the first byte."""
        head = self._pending
        while (end := head.find(b"\r\n\r\n")) < 0:
            data = self.socket.recv(_CHUNK)
            if not data:
                if head:
                    raise _Closed
                return b""
            head += data
            if len(head) > _MAX_HEAD + _CHUNK:
                raise _Closed
        self._pending = head[end + 4 :]
        return head[: end + 4]

    def read_line(self) -> bytes:
        while (end := self._pending.find(b"\r\n")) < 0:
            data = self.socket.recv(_CHUNK)
            if not data:
                raise _Closed
            self._pending += data
        line, self._pending = self._pending[: end + 2], self._pending[end + 2 :]
        return line

    def relay(self, length: int | None, send: Callable[[memoryview], object]) -> int:
        """Hands on `length` bytes (None: all until the peer closes); returns how many came."""
        done = 0
        buffer = memoryview(bytearray(_CHUNK))
        while length is None or done < length:
            left = _CHUNK if length is None else min(_CHUNK, length - done)
            if self._pending:
                part = memoryview(self._pending[:left])
                self._pending = self._pending[left:]
            else:
                part = buffer[: self.socket.recv_into(buffer[:left])]
            if not part:
                if length is None:
                    return done
                raise _Closed
            send(part)
            done += len(part)
        return done

    def relay_chunked(self, send: Callable[[memoryview], object]) -> int:
        """Hands on a chunked body as it is; returns the bytes inside it."""
        done = 0
        while True:
            line = self.read_line()
            send(memoryview(line))
            size = int(line.split(b";")[0], 16)
            if size == 0:
                break
            done += size
            self.relay(size + 2, send)
        while True:
            line = self.read_line()
            send(memoryview(line))
            if line == b"\r\n":
                return done


def _parse_head(head: bytes) -> tuple[list[str], dict[str, str]]:
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return first.split(" ", 2), headers


def _reset(peer: socket.socket) -> None:
    with contextlib.suppress(OSError):
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


class CountingProxy:
    """HTTP/1.1 on a free port of 127.0.0.1, in front of `upstream`.

    Bodies are streamed, connections kept alive on both sides. A thread for each connection.

    Attributes:
        url: base URL of the proxy.
        script: called with each request when its head is read; a fault that it returns happens in
            place of the normal course. None: no faults. It may be called from several threads.
    """

    def __init__(self, upstream: str, *, ca_file: str | None = None) -> None:
        parts = urllib.parse.urlsplit(upstream)
        self._upstream = (
            parts.hostname or "",
            parts.port or (443 if parts.scheme == "https" else 80),
        )
        self._tls = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None
        self.script: Callable[[Recorded], Fault | None] | None = None
        self._lock = threading.Lock()
        self._requests: list[Recorded] = []
        self._open: set[socket.socket] = set()
        self._accepted = 0
        self._listener: socket.socket | None = None
        self._port = 0
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> CountingProxy:
        """Begins to listen."""
        self.accept_connections()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes every connection and waits for the threads."""
        self.refuse_connections()
        for thread in self._threads:
            thread.join()

    @property
    def url(self) -> str:
        """Where clients connect to."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> list[Recorded]:
        """What has passed so far, in the order of arrival; a copy."""
        with self._lock:
            return [dataclasses.replace(request) for request in self._requests]

    @property
    def connections(self) -> int:
        """How many connections clients have opened."""
        with self._lock:
            return self._accepted

    def clear(self) -> None:
        """Forgets what has passed."""
        with self._lock:
            self._requests.clear()

    def refuse_connections(self) -> None:
        """As if the store were down: closes what is open, and connecting is refused."""
        with self._lock:
            listener, self._listener = self._listener, None
            peers = list(self._open)
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for peer in peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)

    def accept_connections(self) -> None:
        """The store is up again, at the same address."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        listener.listen(128)
        self._port = listener.getsockname()[1]
        with self._lock:
            self._listener = listener
        self._spawn(self._accept, listener)

    def _spawn(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads = [other for other in self._threads if other.is_alive()]
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                if self._listener is not listener:
                    peer.close()
                    return
                number = self._accepted
                self._accepted += 1
                self._open.add(peer)
            self._spawn(self._serve, peer, number)

    def _connect(self) -> _Stream:
        peer = socket.create_connection(self._upstream)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is not None:
            peer = self._tls.wrap_socket(peer, server_hostname=self._upstream[0])
        return _Stream(peer)

    def _serve(self, peer: socket.socket, number: int) -> None:
        client = _Stream(peer)
        server: _Stream | None = None
        try:
            while True:
                head = client.read_head()
                if not head:
                    break
                # An upstream that has closed in the meantime is readable: nothing is owed to us.
                if server is not None and select.select([server.socket], [], [], 0)[0]:
                    server.socket.close()
                    server = None
                server = self._pass(client, server, head, number)
                if server is None:
                    break
        except (OSError, _Closed):
            pass
        finally:
            with self._lock:
                self._open.discard(peer)
            peer.close()
            if server is not None:
                server.socket.close()

    def _pass(
        self, client: _Stream, server: _Stream | None, head: bytes, number: int
    ) -> _Stream | None:
        """Deals with one request; the server's connection when both sides can go on."""
        (method, target, _), headers = _parse_head(head)
        kept = {name: value for name, value in headers.items() if name not in _SECRET_HEADERS}
        record = Recorded(method, target, kept, connection=number)
        with self._lock:
            self._requests.append(record)
        fault = self.script(record) if self.script is not None else None
        record.fault = fault is not None and not isinstance(fault, (Hold, CloseAfter))
        if isinstance(fault, Reset) and not fault.after_server:
            _reset(client.socket)
            raise _Closed
        if isinstance(fault, Slow):
            time.sleep(fault.wait_seconds)
        if headers.get("expect", "").lower() == "100-continue":
            client.socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if isinstance(fault, Answer):
            self._receive_body(client, headers, record, lambda _: None)
            record.status = fault.status
            record.response_bytes = len(fault.body)
            lines = [f"HTTP/1.1 {fault.status} Scripted", f"Content-Length: {len(fault.body)}"]
            lines += [f"{name}: {value}" for name, value in fault.headers.items()]
            answer = "\r\n".join(lines).encode() + b"\r\n\r\n"
            client.socket.sendall(answer + (b"" if method == "HEAD" else fault.body))
            return server or self._connect()

        server = server or self._connect()
        whole = True
        if isinstance(fault, Hold) and int(headers.get("content-length", "0")) > 0:
            fault.gate.pass_through(record.path)
            fault = None
        try:
            server.socket.sendall(head)
            send = shaped(server.socket.sendall, fault, upload=True)
            self._receive_body(client, headers, record, send)
        except (BrokenPipeError, ConnectionResetError):
            whole = False  # The server has answered early; its answer is still to be had.
        except CutError:
            server.socket.close()
            _reset(client.socket)
            raise _Closed from None
        status, answer_headers, answer_head = self._read_answer(server)
        if isinstance(fault, Reset):
            record.status = status
            server.socket.close()
            _reset(client.socket)
            raise _Closed
        reusable = self._return_answer(
            client, server, record, fault, (status, answer_headers, answer_head)
        )
        if whole and reusable and headers.get("connection", "").lower() != "close":
            return server
        server.socket.close()
        return None

    @staticmethod
    def _receive_body(
        client: _Stream,
        headers: dict[str, str],
        record: Recorded,
        send: Callable[[memoryview], object],
    ) -> None:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            record.request_bytes = client.relay_chunked(send)
        else:
            record.request_bytes = int(headers.get("content-length", "0"))
            client.relay(record.request_bytes, send)

    @staticmethod
    def _read_answer(server: _Stream) -> tuple[int, dict[str, str], bytes]:
        while True:
            head = server.read_head()
            if not head:
                raise _Closed
            first, headers = _parse_head(head)
            status = int(first[1])
            if status >= 200:
                return status, headers, head

    @staticmethod
    def _return_answer(
        client: _Stream,
        server: _Stream,
        record: Recorded,
        fault: Fault | None,
        answer: tuple[int, dict[str, str], bytes],
    ) -> bool:
        """Passes the answer on; whether the server's connection can be used again."""
        status, headers, head = answer
        length: int | None = None
        if record.method == "HEAD" or status in {204, 304}:
            length = 0
        elif "content-length" in headers:
            length = int(headers["content-length"])
        if isinstance(fault, Truncate):
            length = min(fault.body_bytes, fault.body_bytes if length is None else length)
        # Before the first byte leaves: a client that has its answer finds the record complete.
        record.status = status
        record.response_bytes = length or 0
        client.socket.sendall(head)
        send = shaped(client.socket.sendall, fault, upload=False)
        if isinstance(fault, Hold):
            first = (length or 0) // 2
            server.relay(first, send)
            fault.gate.pass_through(record.path)
            length = None if length is None else length - first
        if length is None and "chunked" in headers.get("transfer-encoding", ""):
            record.response_bytes = server.relay_chunked(send)
        else:
            record.response_bytes = server.relay(length, send)
            if length is None:
                return False
        ended = isinstance(fault, (Truncate, CloseAfter))
        return not ended and headers.get("connection", "").lower() != "close"

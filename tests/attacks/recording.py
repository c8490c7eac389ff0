"""An S3 server in this process that writes down every request, and keeps objects in a dict.

It knows what a store asks for to push, pull and remove small objects
(docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html), and
checks nobody's signature: what matters here is what it is asked for.
"""

from __future__ import annotations

import hashlib
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing_extensions import Self


class Stored(NamedTuple):
    """An object."""

    body: bytes
    metadata: dict[str, str]

    @property
    def etag(self) -> str:
        """Of an object in one part."""
        return f'"{hashlib.md5(self.body, usedforsecurity=False).hexdigest()}"'


class Request(NamedTuple):
    """What was asked: `path` is "bucket/key", decoded."""

    method: str
    path: str


class RecordingS3:
    """One server.

    Attributes:
        objects: by "bucket/key".
        requests: in the order in which they came; a list that a test may clear.
        url: the endpoint.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Stored] = {}
        self.requests: list[Request] = []
        outer = self

        class Handler(_Handler):
            server_of = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        # It looks for its end twice a second by default, which each test would wait for.
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes; else the second waits for 40 ms until the first is acknowledged.
    disable_nagle_algorithm = True
    server_of: RecordingS3

    def do_PUT(self) -> None:
        body = self._body()
        path = self._note()
        there = self.server_of.objects.get(path)
        if self.headers.get("if-none-match") == "*" and there is not None:
            self._error(412, "PreconditionFailed")
            return
        wanted = self.headers.get("if-match")
        if wanted is not None and (there is None or there.etag != wanted):
            self._error(412, "PreconditionFailed")
            return
        prefix = "x-amz-meta-"
        metadata = {
            name.lower(): value
            for name, value in self.headers.items()
            if name.lower().startswith(prefix)
        }
        self.server_of.objects[path] = stored = Stored(body, metadata)
        self._answer(200, {"ETag": stored.etag})

    def do_GET(self) -> None:
        path = self._note()
        stored = self.server_of.objects.get(path)
        if stored is None:
            self._error(404, "NoSuchKey")
            return
        status, body, more = 200, stored.body, {}
        asked = self.headers.get("range")
        if asked is not None:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            begin = int(first)
            if begin >= len(body):
                self._error(416, "InvalidRange")
                return
            end = min(int(last) if last else len(body) - 1, len(body) - 1)
            more = {"Content-Range": f"bytes {begin}-{end}/{len(body)}"}
            status, body = 206, body[begin : end + 1]
        self._answer(status, {"ETag": stored.etag, **stored.metadata, **more}, body)

    do_HEAD = do_GET  # noqa: N815 (as http.server has it)

    def do_DELETE(self) -> None:
        path = self._note()
        self.server_of.objects.pop(path, None)
        self._answer(204, {})

    def do_POST(self) -> None:
        self._body()
        self._note()
        self._error(501, "NotImplemented")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name there)
        """Nothing."""

    def _note(self) -> str:
        path = urllib.parse.unquote(self.path.partition("?")[0]).lstrip("/")
        self.server_of.requests.append(Request(self.command, path))
        return path

    def _body(self) -> bytes:
        if self.headers.get("expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        return self.rfile.read(int(self.headers.get("content-length", "0")))

    def _error(self, status: int, code: str) -> None:
        body = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        self._answer(status, {"Content-Type": "application/xml"}, body)

    def _answer(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

"""The child process of the suite `transfer`: `python -m bench.clients.session <client> <fd>`.

It holds one client, warm, and does what the parent asks, one call at a time. What was got is
compared with what was put after the clock has stopped, every time.
"""

from __future__ import annotations

import gc
import hashlib
import http.client
import importlib.metadata
import os
import random
import resource
import sys
import time
import traceback
import urllib.parse
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.backends import BUCKET, Server
from bench.clients import BY_NAME, Client, Kind, MissingError
from bench.worker import peak_increase

PIECE = 1 << 20


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Run `call`; its result, and the seconds by the clock and by the CPU of all threads.

    The CPU time is getrusage's: the sum of user and system is exact, how it is split is sampled.
    """
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF)
    wall = time.perf_counter()
    result = call()
    wall = time.perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_SELF)
    user = after.ru_utime - before.ru_utime
    system = after.ru_stime - before.ru_stime
    return result, {"wall": wall, "cpu": user + system, "user": user, "system": system}


def one_by_one(call: Callable[[Any], Any], items: list[Any]) -> tuple[list[Any], dict[str, float]]:
    """Call with each item in turn; the results, and what one call costs.

    By the clock that is the first decile: a call that others on the machine held up says nothing of
    the client. By the CPU it is the mean.
    """
    walls: list[float] = []

    def measured(item: Any) -> Any:
        begin = time.perf_counter()
        result = call(item)
        walls.append(time.perf_counter() - begin)
        return result

    results, cost = timed(lambda: [measured(item) for item in items])
    return results, per_call(cost, len(items)) | {"wall": sorted(walls)[len(walls) // 10]}


def per_call(cost: dict[str, float], calls: int) -> dict[str, float]:
    """The cost of one of several equal calls."""
    return {name: value / calls for name, value in cost.items()}


class Session:
    """The verbs that the parent may call, and what lies between two of them."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._clients: dict[str, Client] = {}
        self._data = b""
        self._handle: Any = None
        self._small: list[tuple[str, bytes]] = []
        self._handles: list[Any] = []
        self._count = 0

    def _name(self) -> str:
        """A new object's, as deep as an XCom's: the server makes a folder of each part."""
        self._count += 1
        return f"xcom/{self._kind.module}-{os.getpid()}/run/extract/map_-1/{self._count}.bin"

    def _check(self, got: Any, expected: bytes) -> None:
        import numpy as np

        same = len(got) == len(expected) and np.array_equal(
            np.frombuffer(got, np.uint8), np.frombuffer(expected, np.uint8)
        )
        assert same, f"{self._kind.name}: the bytes came back changed"

    def version(self) -> str:
        """Of the library."""
        if self._kind.library == "airfreight":
            from airfreight import _core

            return _core.version()
        return importlib.metadata.version(self._kind.library)

    def open(self, label: str, server: Server) -> None:
        """A client for this way to the server."""
        self._clients[label] = self._kind.make(server)

    def prepare(self, size: int, seed: int) -> None:
        """Make the bytes of the large object: the same in each process."""
        self._data = random.Random(seed).randbytes(size)

    # -- One large object -------------------------------------------------------------------

    def put(self, label: str = "direct") -> dict[str, float]:
        """Write the large object under a new name."""
        name, client = self._name(), self._clients[label]
        self._handle, cost = timed(lambda: client.put(name, self._data))
        return cost

    def put_and_get(self, label: str, size: int) -> None:
        """Once each, not timed: for a proxy that looks at the requests."""
        client, data = self._clients[label], self._data[:size]
        self._check(client.get(client.put(self._name(), data), size), data)

    def get(self, label: str = "direct") -> dict[str, float]:
        """Read what was written last."""
        client = self._clients[label]
        got, cost = timed(lambda: client.get(self._handle, len(self._data)))
        self._check(got, self._data)
        return cost

    # -- Small objects ----------------------------------------------------------------------

    def _pieces(self, count: int, size: int) -> list[tuple[str, bytes]]:
        return [
            (self._name(), self._data[number * size : (number + 1) * size])
            for number in range(count)
        ]

    def put_each(self, count: int, size: int) -> dict[str, float]:
        """Write small objects one after another; the cost of one."""
        self._small = self._pieces(count, size)
        put = self._clients["direct"].put
        self._handles, cost = one_by_one(lambda item: put(*item), self._small)
        return cost

    def get_each(self, size: int) -> dict[str, float]:
        """Read them one after another; the cost of one."""
        get = self._clients["direct"].get
        # Dropped as they come: a task that reads one small value after another does the same.
        _, cost = one_by_one(lambda handle: len(get(handle, size)), self._handles)
        for handle, (_, data) in zip(self._handles, self._small, strict=True):
            self._check(get(handle, size), data)
        return cost

    def put_many(self, count: int, size: int) -> dict[str, float]:
        """Write small objects at once; the cost of one."""
        self._small = self._pieces(count, size)
        client = self._clients["direct"]
        self._handles, cost = timed(lambda: client.put_many(self._small))
        return per_call(cost, count)

    def get_many(self, size: int) -> dict[str, float]:
        """Read them at once; the cost of one."""
        client = self._clients["direct"]
        if not self._handles:  # Written one after another where writing many is not there yet.
            self.put_each(1000, size)
        got, cost = timed(lambda: client.get_many(self._handles, size))
        for body, (_, data) in zip(got, self._small, strict=True):
            self._check(body, data)
        return per_call(cost, len(self._handles))

    # -- A stream that does not fit memory ---------------------------------------------------

    def stream(self, size: int, path: str) -> dict[str, Any]:
        """Push a stream and pull it to a file: seconds, and resident memory added."""
        client = self._clients["direct"]
        pattern = random.Random(size).randbytes(PIECE)
        digest = hashlib.blake2b()

        def pieces() -> Iterator[bytes]:
            # Every piece differs, so that a part in the wrong place does not go unseen.
            for number in range(size // PIECE):
                piece = number.to_bytes(8, "big") + pattern[8:]
                digest.update(piece)
                yield piece

        name = self._name()
        (self._handle, pushing), pushed = peak_increase(
            lambda: timed(lambda: client.push_stream(name, pieces()))
        )
        target = Path(path)
        (_, pulling), pulled = peak_increase(
            lambda: timed(lambda: client.pull_to_file(self._handle, target))
        )
        found = hashlib.blake2b()
        with target.open("rb") as file:
            while piece := file.read(PIECE):
                found.update(piece)
        target.unlink()
        assert found.digest() == digest.digest(), f"{self._kind.name}: the file has other bytes"
        return {
            "push": pushing | {"memory": float(pushed["increase"])},
            "pull": pulling | {"memory": float(pulled["increase"])},
        }

    # -- A fresh process --------------------------------------------------------------------

    def first_get(self, server: Server, handle: Any, size: int) -> dict[str, float]:
        """The library is loaded; then the client is made and gets its first object."""
        importlib.import_module(f"bench.clients.{self._kind.module}")
        client: list[Client] = []

        def first() -> Any:
            client.append(self._kind.make(server))
            return client[0].get(handle, size)

        got, cost = timed(first)
        assert len(got) == size
        again = min(timed(lambda: client[0].get(handle, size))[1]["wall"] for _ in range(20))
        return cost | {"again": again}

    def handle(self) -> Any:
        """Of what was written last: for another process of the same client."""
        return self._handles[-1] if self._handles else self._handle

    # -- What the machine can do -------------------------------------------------------------

    def digests(self) -> dict[str, float]:
        """Seconds for the digests that a reference may have, over the large object."""
        from airfreight import _core

        ways: dict[str, Callable[[], Any]] = {
            "crc32c": lambda: _core.crc32c(self._data),
            # The core's SHA-256 is OpenSSL's too.
            "sha256": lambda: hashlib.sha256(self._data).digest(),
        }
        return {
            name: min(timed(call)[1]["wall"] for _ in range(3)) / len(self._data)
            for name, call in ways.items()
        }

    def answer_time(self, server: Server, size: int) -> float:
        """Seconds that the server itself takes for one GET: a request signed beforehand, over and
        over on one kept connection, by nothing but the standard library."""
        import obstore
        from obstore.store import S3Store

        data = self._data[:size]
        store = S3Store(
            BUCKET,
            endpoint=server.endpoint,
            access_key_id=server.access,
            secret_access_key=server.secret,
            region="us-east-1",
            client_options={"allow_http": True},
        )
        obstore.put(store, "answer", data)
        from datetime import timedelta

        url = urllib.parse.urlsplit(obstore.sign(store, "GET", "answer", timedelta(minutes=5)))
        connection = http.client.HTTPConnection(url.hostname or "", url.port)
        best = float("inf")
        for _ in range(200):
            begin = time.perf_counter()
            connection.request("GET", f"{url.path}?{url.query}")
            body = connection.getresponse().read()
            best = min(best, time.perf_counter() - begin)
            assert body == data
        connection.close()
        return best

    def close(self) -> None:
        """Ends the clients' threads."""
        for client in self._clients.values():
            client.close()


def main() -> None:
    """Answer the parent until it closes the pipe."""
    pipe = Connection(int(sys.argv[2]))
    session = Session(BY_NAME[sys.argv[1]])
    while True:
        try:
            verb, arguments = pipe.recv()
        except EOFError:
            break
        try:
            answer = ("ok", getattr(session, verb)(**arguments))
        except MissingError as error:
            answer = ("refused", str(error))
        except BaseException:
            answer = ("failed", traceback.format_exc())
        pipe.send(answer)
    session.close()


if __name__ == "__main__":
    main()

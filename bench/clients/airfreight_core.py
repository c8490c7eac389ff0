"""Airfreight at the level of its core: the bytes of a value to a reference, and back, verified."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airfreight import _core
from bench import clients
from bench.backends import BUCKET

if TYPE_CHECKING:
    from bench.backends import Server

_INFO = {"type": "bytes", "extension": "bin"}


def _s3(server: Server) -> tuple[str, dict[str, str]]:
    return f"s3://{BUCKET}/xcom", {
        "endpoint_url": server.endpoint,
        "region": "us-east-1",
        "access_key_id": server.access,
        "secret_access_key": server.secret,
    }


def _gs(server: Server) -> tuple[str, dict[str, str]]:
    return f"gs://{BUCKET}/xcom", {"endpoint_url": server.endpoint, "anonymous": "true"}


def _az(server: Server) -> tuple[str, dict[str, str]]:
    return f"az://{BUCKET}/xcom", {
        "account": server.access,
        "account_key": server.secret,
        "endpoint_url": server.endpoint,
    }


def _redis(server: Server) -> tuple[str, dict[str, str]]:
    return f"{server.endpoint}/0/xcom", {"username": server.access, "password": server.secret}


#: By scheme: the URI and the settings of the store on a server.
_PLACES = {"s3": _s3, "gs": _gs, "az": _az, "redis": _redis}


def _unless_failed(results: Sequence[Any]) -> list[Any]:
    """A list's results; raises the first that is an exception."""
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return list(results)


class Client(clients.Client):
    """`Freight`, with all that an XCom has: key, condition, write stamp, reference, digest."""

    def __init__(self, server: Server, *, scheme: str = "s3", **settings: str) -> None:
        place, found = _PLACES[scheme](server)
        self._freight = _core.Freight([("default", place, found | settings)])

    @staticmethod
    def _coordinate(name: str) -> Any:
        # Objects of one task, as those of the peers lie in one folder.
        return _core.Coordinate(
            f"airfreight-{os.getpid()}", "run", "extract", name.rpartition("/")[2]
        )

    def put(self, name: str, data: bytes) -> str:
        """The reference's text."""
        return self._freight.put(self._coordinate(name), [data], **_INFO)

    def get(self, handle: str, size: int) -> Any:
        """Verified bytes; the reference tells the size."""
        del size
        return self._freight.get(handle)

    def put_many(self, objects: Sequence[tuple[str, bytes]]) -> list[Any]:
        """One call."""
        told = (None, "", [], [], False, [])
        info = ("bytes", "bin", "application/octet-stream", told)
        return _unless_failed(
            self._freight.put_many(
                [(self._coordinate(name), [data], info, (0, 0)) for name, data in objects]
            )
        )

    def get_many(self, handles: Sequence[Any], size: int) -> list[Any]:
        """One call."""
        del size
        return _unless_failed(self._freight.get_many(list(handles)))

    def push_stream(self, name: str, pieces: Iterator[bytes]) -> Any:
        """Through the writer that codecs are given."""
        writer = self._freight.open(self._coordinate(name), **_INFO)
        for piece in pieces:
            writer.write(piece)
        return writer.finish()

    def pull_to_file(self, handle: Any, path: Path) -> None:
        """Straight to the file."""
        self._freight.get_to_file(handle, str(path))

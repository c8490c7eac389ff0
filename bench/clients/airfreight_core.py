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


class Client(clients.Client):
    """`Freight`, with all that an XCom has: key, condition, write stamp, reference, digest."""

    def __init__(self, server: Server, *, payload_signing: str) -> None:
        settings = {
            "endpoint_url": server.endpoint,
            "region": "us-east-1",
            "access_key_id": server.access,
            "secret_access_key": server.secret,
            "payload_signing": payload_signing,
        }
        self._freight = _core.Freight([("default", f"s3://{BUCKET}/xcom", settings)])

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
        if not hasattr(self._freight, "put_many"):
            raise clients.MissingError
        raise clients.MissingError

    def get_many(self, handles: Sequence[Any], size: int) -> list[Any]:
        """One call."""
        del size
        if not hasattr(self._freight, "get_many"):
            raise clients.MissingError
        found = self._freight.get_many(list(handles))
        for body in found:
            if isinstance(body, BaseException):
                raise body
        return list(found)

    def push_stream(self, name: str, pieces: Iterator[bytes]) -> Any:
        """Through the sink that codecs write to."""
        raise clients.MissingError

    def pull_to_file(self, handle: Any, path: Path) -> None:
        """Straight to the file."""
        raise clients.MissingError

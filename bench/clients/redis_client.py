"""redis-py with hiredis, which its documentation recommends for large replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import hiredis
import redis

from bench import clients

if TYPE_CHECKING:
    from bench.backends import Server

assert hiredis.__version__  # Which redis-py then parses with.


class Client(clients.Client):
    """`SET` and `GET`."""

    def __init__(self, server: Server) -> None:
        url = urlsplit(server.endpoint)
        self._redis = redis.Redis(
            host=url.hostname or "",
            port=url.port or 0,
            username=server.access,
            password=server.secret,
        )

    def put(self, name: str, data: bytes) -> str:
        """A value under a key."""
        assert self._redis.set(name, data)
        return name

    def get(self, handle: str, size: int) -> Any:
        """It."""
        del size
        return self._redis.get(handle)

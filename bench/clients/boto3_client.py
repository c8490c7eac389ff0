"""boto3's `get_object` and `put_object`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from bench import clients
from bench.backends import BUCKET

if TYPE_CHECKING:
    from bench.backends import Server

# More do not help: Python's lock is what they wait for.
THREADS = 8


def make_client(server: Server) -> Any:
    """A client without the checksums that are optional, as botocore's guide on them has it."""
    return boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=server.access,
        aws_secret_access_key=server.secret,
        region_name="us-east-1",
        config=Config(
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            max_pool_connections=64,
            s3={"addressing_style": "path", "payload_signing_enabled": False},
        ),
    )


class Client(clients.Client):
    """One request for one object; a thread pool for many, as a client may be shared by threads."""

    def __init__(self, server: Server) -> None:
        self._s3 = make_client(server)
        self._pool = ThreadPoolExecutor(THREADS)

    def put(self, name: str, data: bytes) -> str:
        """`put_object`."""
        self._s3.put_object(Bucket=BUCKET, Key=name, Body=data)
        return name

    def get(self, handle: str, size: int) -> bytes:
        """`get_object` and its body, read at once."""
        del size
        body: bytes = self._s3.get_object(Bucket=BUCKET, Key=handle)["Body"].read()
        return body

    def put_many(self, objects: Sequence[tuple[str, bytes]]) -> list[Any]:
        """A thread pool."""
        return list(self._pool.map(lambda item: self.put(*item), objects))

    def get_many(self, handles: Sequence[Any], size: int) -> list[Any]:
        """A thread pool."""
        return list(self._pool.map(lambda handle: self.get(handle, size), handles))

    def close(self) -> None:
        """Ends the threads."""
        self._pool.shutdown()

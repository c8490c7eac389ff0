"""s3fs: fsspec over aiobotocore, what pandas and Airflow's own object storage use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import s3fs

from bench import clients
from bench.backends import BUCKET

if TYPE_CHECKING:
    from bench.backends import Server


class Client(clients.Client):
    """`cat_file`, `pipe_file`, and their forms for many, which run in its own event loop."""

    def __init__(self, server: Server) -> None:
        self._fs = s3fs.S3FileSystem(
            key=server.access,
            secret=server.secret,
            endpoint_url=server.endpoint,
            client_kwargs={"region_name": "us-east-1"},
            config_kwargs={
                "request_checksum_calculation": "when_required",
                "response_checksum_validation": "when_required",
                "max_pool_connections": 64,
            },
            use_listings_cache=False,
            skip_instance_cache=True,
        )

    def put(self, name: str, data: bytes) -> str:
        """`pipe_file`: parts of 50 MiB, 10 at once (its defaults), for large ones."""
        self._fs.pipe_file(f"{BUCKET}/{name}", data)
        return name

    def get(self, handle: str, size: int) -> bytes:
        """`cat_file`."""
        del size
        body: bytes = self._fs.cat_file(f"{BUCKET}/{handle}")
        return body

    def put_many(self, objects: Sequence[tuple[str, bytes]]) -> list[Any]:
        """`pipe` of a dict."""
        self._fs.pipe({f"{BUCKET}/{name}": data for name, data in objects}, batch_size=64)
        return [name for name, _ in objects]

    def get_many(self, handles: Sequence[Any], size: int) -> list[Any]:
        """`cat` of a list."""
        del size
        found = self._fs.cat([f"{BUCKET}/{handle}" for handle in handles], batch_size=64)
        return [found[f"{BUCKET}/{handle}"] for handle in handles]

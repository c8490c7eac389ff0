"""adlfs, which Airflow's ObjectStoragePath and pandas use for abfs://."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adlfs import AzureBlobFileSystem

from bench import clients
from bench.backends import BUCKET

if TYPE_CHECKING:
    from bench.backends import Server


class Client(clients.Client):
    """`pipe_file` and `cat_file`, whole objects."""

    def __init__(self, server: Server, *, max_concurrency: int) -> None:
        self._files = AzureBlobFileSystem(
            connection_string=(
                f"DefaultEndpointsProtocol=http;AccountName={server.access};"
                f"AccountKey={server.secret};BlobEndpoint={server.endpoint};"
            ),
            max_concurrency=max_concurrency,
            use_listings_cache=False,
            skip_instance_cache=True,
        )

    def put(self, name: str, data: bytes) -> str:
        """One request up to 64 MiB, as Azure's client under it has it."""
        path = f"{BUCKET}/{name}"
        self._files.pipe_file(path, data)
        return path

    def get(self, handle: str, size: int) -> Any:
        """`cat_file`: 32 MiB, and the rest in pieces, several at once."""
        del size
        return self._files.cat_file(handle)

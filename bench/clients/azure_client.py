"""azure-storage-blob, Microsoft's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azure.storage.blob import BlobServiceClient

from bench import clients
from bench.backends import BUCKET

if TYPE_CHECKING:
    from bench.backends import Server

# More than any object here: one request for each, which is the fastest on a loopback.
_WHOLE = 256 << 20


class Client(clients.Client):
    """`upload_blob` and `download_blob`, each one request."""

    def __init__(self, server: Server) -> None:
        service = BlobServiceClient(
            server.endpoint,
            credential={"account_name": server.access, "account_key": server.secret},
            max_single_put_size=_WHOLE,
            max_single_get_size=_WHOLE,
        )
        self._container = service.get_container_client(BUCKET)

    def put(self, name: str, data: bytes) -> str:
        """A new blob."""
        self._container.upload_blob(name, data)
        return name

    def get(self, handle: str, size: int) -> Any:
        """All of it."""
        del size
        return self._container.download_blob(handle).readall()

"""google-cloud-storage, Google's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

from bench import clients
from bench.backends import BUCKET

if TYPE_CHECKING:
    from bench.backends import Server


class Client(clients.Client):
    """`upload_from_string` and `download_as_bytes`, without the checksums that can be left out."""

    def __init__(self, server: Server) -> None:
        client = storage.Client(
            project="bench",
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": server.endpoint},
        )
        self._bucket = client.bucket(BUCKET)

    def put(self, name: str, data: bytes) -> str:
        """One request up to 8 MB, a resumable upload in a piece beyond: its own choice."""
        self._bucket.blob(name).upload_from_string(data, checksum=None)
        return name

    def get(self, handle: str, size: int) -> Any:
        """One GET, as it is sent."""
        del size
        return self._bucket.blob(handle).download_as_bytes(raw_download=True, checksum=None)

"""obstore: the Rust crate `object_store` behind Python, the fastest of the peers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import obstore
from obstore.store import S3Store

from bench import clients
from bench.backends import BUCKET

if TYPE_CHECKING:
    from bench.backends import Server

# Of the powers of two to 1,024 the best here, for 1,000 objects of 40 KiB.
AT_ONCE = 32


class Client(clients.Client):
    """Synchronous calls for one object, asyncio for many, as its guide on performance has it."""

    def __init__(self, server: Server, *, multipart: bool) -> None:
        self._multipart = multipart
        self._store = S3Store(
            BUCKET,
            endpoint=server.endpoint,
            access_key_id=server.access,
            secret_access_key=server.secret,
            region="us-east-1",
            client_options={"allow_http": True},
            # No SHA-256 over the payload, as the others of the fast ones.
            unsigned_payload=True,
        )

    def put(self, name: str, data: bytes) -> str:
        """A single PUT, or parts of 5 MiB, 12 at once (its defaults)."""
        obstore.put(self._store, name, data, use_multipart=self._multipart)
        return name

    def get(self, handle: str, size: int) -> Any:
        """Its `Bytes`, which is the memory that was received into."""
        del size
        return obstore.get(self._store, handle).bytes()

    def put_many(self, objects: Sequence[tuple[str, bytes]]) -> list[Any]:
        """Asyncio tasks."""
        return asyncio.run(self._put_many(objects))

    def get_many(self, handles: Sequence[Any], size: int) -> list[Any]:
        """Asyncio tasks."""
        del size
        return asyncio.run(self._get_many(handles))

    async def _put_many(self, objects: Sequence[tuple[str, bytes]]) -> list[Any]:
        names: list[str] = []
        turns = iter(objects)

        async def work() -> None:
            for name, data in turns:
                await obstore.put_async(self._store, name, data, use_multipart=False)

        names = [name for name, _ in objects]
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return names

    async def _get_many(self, handles: Sequence[Any]) -> list[Any]:
        found: list[Any] = [None] * len(handles)
        turns = iter(enumerate(handles))

        async def work() -> None:
            for index, handle in turns:
                answer = await obstore.get_async(self._store, handle)
                found[index] = await answer.bytes_async()

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return found

    def push_stream(self, name: str, pieces: Iterator[bytes]) -> str:
        """Parts of 8 MiB out of an iterator."""
        obstore.put(self._store, name, pieces, chunk_size=8 << 20)
        return name

    def pull_to_file(self, handle: str, path: Path) -> None:
        """Its stream, in pieces of at least 8 MiB."""
        with path.open("wb") as file:
            for piece in obstore.get(self._store, handle).stream(min_chunk_size=8 << 20):
                file.write(piece)

"""pyarrow's S3FileSystem: the AWS SDK for C++ behind Arrow."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

from bench import clients
from bench.backends import BUCKET

if TYPE_CHECKING:
    from bench.backends import Server

# Without it a small object goes as a chunked body with a trailer, which not every server takes.
os.environ["AWS_REQUEST_CHECKSUM_CALCULATION"] = "when_required"
os.environ["AWS_RESPONSE_CHECKSUM_VALIDATION"] = "when_required"
# Python's lock is released in its calls; beyond this many nothing is gained on few cores.
THREADS = 16


class Client(clients.Client):
    """One input file, read at once; one output stream, its parts written in the background."""

    def __init__(self, server: Server) -> None:
        url = urllib.parse.urlsplit(server.endpoint)
        pa.set_io_thread_count(THREADS)
        self._fs = fs.S3FileSystem(
            access_key=server.access,
            secret_key=server.secret,
            endpoint_override=url.netloc,
            scheme=url.scheme,
            region="us-east-1",
            background_writes=True,
            # One PUT where an object fits one part, instead of three requests.
            allow_delayed_open=True,
        )
        self._pool = ThreadPoolExecutor(THREADS)

    def put(self, name: str, data: bytes) -> str:
        """Through an unbuffered output stream."""
        with self._fs.open_output_stream(f"{BUCKET}/{name}", buffer_size=0) as stream:
            stream.write(data)
        return name

    def get(self, handle: str, size: int) -> Any:
        """Its `Buffer`; a HEAD for the size comes first."""
        with self._fs.open_input_file(f"{BUCKET}/{handle}") as file:
            return file.read_buffer(size)

    def put_many(self, objects: Sequence[tuple[str, bytes]]) -> list[Any]:
        """A thread pool."""
        return list(self._pool.map(lambda item: self.put(*item), objects))

    def get_many(self, handles: Sequence[Any], size: int) -> list[Any]:
        """A thread pool."""
        return list(self._pool.map(lambda handle: self.get(handle, size), handles))

    def close(self) -> None:
        """Ends the threads."""
        self._pool.shutdown()

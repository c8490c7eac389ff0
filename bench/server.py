"""The one S3 server that all backends push to: versitygw, with its data in memory if there is room.

A disk would add its own noise to every figure, the same to each backend.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.servers.versitygw import VersityGW

from bench.backends import BUCKET, Server

SHARED_MEMORY = Path("/dev/shm")
# What the largest suite keeps at once, with room to spare.
NEEDED_BYTES = 2 << 30


class Store:
    """The running server, seen from behind: the files that it keeps.

    Attributes:
        server: How a backend reaches it.
        place: "memory" or "disk".
    """

    def __init__(self, gateway: VersityGW, place: str) -> None:
        self.server = Server(gateway.endpoint, gateway.access_key, gateway.secret_key)
        self.place = place
        self._bucket = gateway.directory / BUCKET

    def objects(self) -> list[Path]:
        """The files of all objects."""
        return [path for path in self._bucket.rglob("*") if path.is_file()]

    def clear(self) -> None:
        """Remove every object, behind the server's back."""
        for path in self._bucket.iterdir():
            if path.is_dir() and not path.name.startswith("."):
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def running(*, memory: bool = True) -> Iterator[Store]:
    """Start the server for the time of a `with` block, with its data in memory if that has room."""
    in_memory = memory and (
        os.access(SHARED_MEMORY, os.W_OK) and shutil.disk_usage(SHARED_MEMORY).free > NEEDED_BYTES
    )
    # The server makes its directory where temporary files go.
    before, tempfile.tempdir = tempfile.tempdir, str(SHARED_MEMORY) if in_memory else None
    try:
        with VersityGW(bucket=BUCKET) as gateway:
            yield Store(gateway, "memory" if in_memory else "disk")
    finally:
        tempfile.tempdir = before

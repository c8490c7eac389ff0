"""gcsfs, which Airflow's ObjectStoragePath and pandas use for gs://."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# Else it asks by gRPC over TLS for the kind of each bucket, which no emulator answers.
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"

import gcsfs

from bench import clients
from bench.backends import BUCKET

if TYPE_CHECKING:
    from bench.backends import Server


class Client(clients.Client):
    """`pipe_file` and `cat_file`, whole objects."""

    def __init__(self, server: Server) -> None:
        self._files = gcsfs.GCSFileSystem(
            token="anon",
            endpoint_url=server.endpoint,
            # No cache of listings, no second look at what was written (its default).
            use_listings_cache=False,
            consistency="none",
            skip_instance_cache=True,
        )

    def put(self, name: str, data: bytes) -> str:
        """One request up to 5 MB; beyond, one upload in a piece of its whole length."""
        path = f"{BUCKET}/{name}"
        self._files.pipe_file(path, data, chunksize=max(len(data), 1 << 20))
        return path

    def get(self, handle: str, size: int) -> Any:
        """`cat_file`."""
        del size
        return self._files.cat_file(handle)

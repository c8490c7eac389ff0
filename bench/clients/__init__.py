"""Clients that move bytes between memory and a store, Airfreight's core among them.

Each is set up as its documentation says is fastest; what is not a default has its reason beside it.
One module per library, imported only in the worker that measures it (`bench/clients/session.py`).
"""

from __future__ import annotations

import abc
import dataclasses
import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from bench.backends import Server


class MissingError(Exception):
    """The client has no such operation."""


class Client(abc.ABC):
    """One client of a store, ready to be used.

    Threads: used from one at a time; what it does within a call is its own business.

    What `put` returns is a handle: whatever this client needs to find the object again. Buffers are
    bytes-like and valid until dropped.
    """

    @abc.abstractmethod
    def __init__(self, server: Server, **settings: Any) -> None:
        """Makes the client; may connect, or not."""

    @abc.abstractmethod
    def put(self, name: str, data: bytes) -> Any:
        """Writes one object."""

    @abc.abstractmethod
    def get(self, handle: Any, size: int) -> Any:
        """The bytes of one object, whose size the caller knows, in memory that is new."""

    def put_many(self, objects: Sequence[tuple[str, bytes]]) -> list[Any]:
        """Writes many small objects, as concurrently as is best here."""
        raise MissingError

    def get_many(self, handles: Sequence[Any], size: int) -> list[Any]:
        """The bytes of many small objects of one size."""
        raise MissingError

    def push_stream(self, name: str, pieces: Iterator[bytes]) -> Any:
        """Writes one object whose pieces are still being made."""
        raise MissingError

    def pull_to_file(self, handle: Any, path: Path) -> None:
        """Writes the bytes of one object to a file."""
        raise MissingError

    def close(self) -> None:  # noqa: B027 (most have nothing to give up)
        """Gives up connections and threads."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A client with its settings.

    Attributes:
        name: As the tables have it.
        module: Under `bench.clients`; has a class `Client`.
        settings: For its class.
        library: The distribution whose version is reported.
        get, put, small, many: Which cases it takes part in. A second set of settings for the same
            library is there for the case that it is best at.
    """

    name: str
    module: str
    library: str
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    get: bool = True
    put: bool = True
    small: bool = True
    many: bool = True
    slow: bool = True

    def make(self, server: Server) -> Client:
        """Import the library and make the client."""
        made = importlib.import_module(f"bench.clients.{self.module}").Client(
            server, **self.settings
        )
        assert isinstance(made, Client)
        return made


# The payload goes unsigned where a client can be told so; the suite shows what each really sent.
OURS = Kind(
    "airfreight", "airfreight_core", "airfreight",
    {"payload_signing": "never"},
)  # fmt: skip
OURS_SIGNED = Kind(
    "airfreight signed", "airfreight_core", "airfreight",
    {"payload_signing": "always"}, get=False, many=False, slow=False,
)  # fmt: skip
OBSTORE = Kind("obstore", "obstore_client", "obstore", {"multipart": False})
OBSTORE_MULTIPART = Kind(
    "obstore multipart", "obstore_client", "obstore", {"multipart": True},
    get=False, small=False, many=False, slow=False,
)  # fmt: skip
BOTO3 = Kind("boto3", "boto3_client", "boto3", slow=False)
S3TRANSFER = Kind("s3transfer", "s3transfer_client", "s3transfer", small=False, many=False)
PYARROW = Kind("pyarrow", "pyarrow_client", "pyarrow", slow=False)
AWSCRT = Kind("awscrt", "awscrt_client", "awscrt")
S3FS = Kind("s3fs", "s3fs_client", "s3fs", slow=False)
KINDS = (OURS, OURS_SIGNED, OBSTORE, OBSTORE_MULTIPART, BOTO3, S3TRANSFER, PYARROW, AWSCRT, S3FS)

# Of the suite `stores`: ours, then the user's other choices. Those of Azure send no checksum, and
# so is ours measured beside them; the others are ours as it comes, a CRC-64 on each write, which
# this server computes in JavaScript, and with the checksum that it is quick at.
STORES = {
    "gs": (
        Kind("airfreight gs", "airfreight_core", "airfreight", {"scheme": "gs"}),
        Kind("gcsfs", "gcsfs_client", "gcsfs"),
        Kind("google-cloud-storage", "google_client", "google-cloud-storage"),
    ),
    "az": (
        Kind(
            "airfreight az",
            "airfreight_core",
            "airfreight",
            {"scheme": "az", "checksums": "never"},
        ),
        Kind("airfreight az crc64", "airfreight_core", "airfreight", {"scheme": "az"}),
        Kind(
            "airfreight az md5",
            "airfreight_core",
            "airfreight",
            {"scheme": "az", "checksums": "md5"},
        ),
        Kind("adlfs", "adlfs_client", "adlfs", {"max_concurrency": 4}),
        Kind("azure-storage-blob", "azure_client", "azure-storage-blob"),
    ),
    "redis": (
        Kind("airfreight redis", "airfreight_core", "airfreight", {"scheme": "redis"}),
        Kind("redis-py", "redis_client", "redis"),
    ),
}
BY_NAME = {kind.name: kind for kinds in (KINDS, *STORES.values()) for kind in kinds}

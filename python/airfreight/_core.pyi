"""The native core of Airfreight."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

from typing_extensions import Buffer


class Coordinate:
    """Where an XCom belongs (immutable)."""

    def __init__(self, dag: str, run: str, task: str, key: str, *, map_index: int = -1, ti_id: str | None = None, write_id: str | None = None, put_name: str | None = None) -> None: ...

    def object_key(self, extension: str) -> str:
        """The object key, without the store's prefix."""

    @property
    def hash(self) -> str:
        """128 bits over all fields, as 32 hex digits."""

class Sink:
    """
    A growing native file object that a codec writes into: give it to pyarrow.PythonFile. One thread at a time.
    """

    def __init__(self) -> None: ...

    def write(self, data: Buffer) -> int:
        """Append bytes-like data; returns its length."""

    def tell(self) -> int: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def readable(self) -> bool: ...

    def writable(self) -> bool: ...

    def seekable(self) -> bool: ...

    @property
    def closed(self) -> bool: ...

    def getvalue(self) -> bytes:
        """A copy of all that was written."""

class Freight:
    """
    Stores by name, the first of which is written to. Threads may share it; a forked child may use it.
    """

    def __init__(self, stores: Sequence[tuple[str, str, Mapping[str, str]]], *, digest: str = 'crc32c', max_bytes: int = 0, owner: str = '', timeout: float = 60.0) -> None:
        """
        Checks (name, uri, settings) of each store; nothing is opened yet. `timeout`: seconds that a request may be tried again.
        """

    @overload
    def put(self, coordinate: Coordinate, body: Sequence[Buffer], *, type: str, extension: str, content_type: str = 'application/octet-stream', rows: int | None = None, summary: str = '', columns: Sequence[tuple[str, str]] = [], attempt: int = 0, started_micros: int = 0) -> str:
        """
        Stores the bytes of a list of segments; returns the reference as JSON text.
        """

    @overload
    def put(self, coordinate: Coordinate, body: Sink, *, type: str, extension: str, content_type: str = 'application/octet-stream', rows: int | None = None, summary: str = '', columns: Sequence[tuple[str, str]] = [], attempt: int = 0, started_micros: int = 0) -> str:
        """Stores what a Sink gathered; returns the reference as JSON text."""

    def get(self, reference: str) -> memoryview:
        """
        Follows a reference (JSON text): verified bytes, as a writable memoryview of memory that lives as long as the view.
        """

    def get_many(self, references: Sequence[str]) -> list[memoryview | BaseException]:
        """
        Follows references, many at a time; in their order, an exception where there is one.
        """

    def purge(self, reference: str) -> bool:
        """
        Removes the object if it still bears the reference's write id; True when it removed one.
        """

    def settle(self, coordinate: Coordinate) -> None:
        """
        Removes what this process wrote for the coordinate, now that its value is in the row.
        """

    def list(self, prefix: str = '') -> list[tuple[str, int]]:
        """(key, bytes) of everything in the first store under a key prefix."""

def parse_reference(text: str) -> dict[str, Any]:
    """The fields of a reference, as the core understood them."""

def crc32c(data: Buffer) -> int:
    """CRC-32C (RFC 3720) of bytes-like data."""

def version() -> str: ...

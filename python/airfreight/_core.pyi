"""The native core. Contract between bindings and Python; regenerated from the extension and compared in CI."""

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import Buffer

class Coordinate:
    """Where an XCom belongs (immutable)."""

    def __init__(
        self,
        dag: str,
        run: str,
        task: str,
        key: str,
        *,
        map_index: int = -1,
        ti_id: str | None = None,
        write_id: str | None = None,
        put_name: str | None = None,
    ) -> None: ...
    def object_key(self, extension: str) -> str: ...
    @property
    def hash(self) -> str: ...

class Sink:
    """A growing native file object that a codec writes into: give it to pyarrow.PythonFile."""

    def __init__(self) -> None: ...
    def write(self, data: Buffer, /) -> int: ...
    def tell(self) -> int: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def readable(self) -> bool: ...
    def writable(self) -> bool: ...
    def seekable(self) -> bool: ...
    @property
    def closed(self) -> bool: ...
    def getvalue(self) -> bytes: ...

class Freight:
    """Stores by name (first one is written to) as (name, uri, settings). Nothing is opened here but texts are checked."""

    def __init__(
        self,
        stores: Sequence[tuple[str, str, Mapping[str, str]]],
        *,
        digest: str = "crc32c",
        max_bytes: int = 0,
        owner: str = "",
        timeout: float = 60.0,
    ) -> None: ...
    def put(
        self,
        coordinate: Coordinate,
        body: Sink | Sequence[Buffer],
        *,
        type: str,
        extension: str,
        content_type: str = "application/octet-stream",
        rows: int | None = None,
        summary: str = "",
        columns: Sequence[tuple[str, str]] = (),
        attempt: int = 0,
        started_micros: int = 0,
    ) -> str:
        """Stores the bytes; returns the reference as JSON text."""
    def get(self, reference: str) -> memoryview:
        """Follows a reference (JSON text): verified bytes, in memory that lives as long as the view."""
    def purge(self, reference: str) -> bool: ...
    def settle(self, coordinate: Coordinate) -> None: ...
    def list(self, prefix: str = "") -> list[tuple[str, int]]:
        """(key, bytes) of what lies in the first store under a key prefix, all pages."""

def parse_reference(text: str) -> dict[str, Any]:
    """The reference's fields, as the core understood them; raises InvalidError or NewerFormatError."""

def crc32c(data: Buffer, /) -> int: ...
def version() -> str: ...

"""The native core of Airfreight."""

from collections.abc import Mapping, Sequence
from typing import Any

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

    def abandon(self, *, hurry: bool = False) -> None:
        """What is still written is dropped."""

    def getvalue(self) -> bytes:
        """A copy of all that was written."""

class Writer:
    """
    A file object whose bytes are sent while more are written: give it to pyarrow.PythonFile. One thread at a time.
    """

    def write(self, data: Buffer) -> int:
        """
        Append bytes-like data; returns its length. Blocks while too much is unsent.
        """

    def tell(self) -> int: ...

    def flush(self) -> None: ...

    def close(self) -> None:
        """As a file has it; nothing is finished by it."""

    def readable(self) -> bool: ...

    def writable(self) -> bool: ...

    def seekable(self) -> bool: ...

    @property
    def closed(self) -> bool: ...

    def seal_blocks(self) -> bytes:
        """
        Checksums of the blocks so far, 32 bits each, little-endian; what follows is the tail.
        """

    def finish(self, told: tuple[int | None, str, Sequence[tuple[str, str]], Sequence[int], bool, Sequence[Sequence[str]]] = (None, '', [], [], False, [])) -> str:
        """
        Returns the reference as JSON text once the store has confirmed the object. `told` as for `Freight.put`.
        """

    def unsent(self) -> bytes | None:
        """
        All bytes of an object that `finish` has failed to send, where no part of it was sent.
        """

    @property
    def write_id(self) -> str:
        """What the reference is to have, and sealed frames are bound to."""

    def abandon(self, *, hurry: bool = False) -> None:
        """
        Gives the value up and removes what was sent; in a hurry within half a second.
        """

class Reader:
    """Ranges of the object of a reference."""

    @property
    def size(self) -> int: ...

    @property
    def tail_offset(self) -> int: ...

    def read_tail(self) -> memoryview:
        """The tail, checked. One request."""

    def set_blocks(self, table: Buffer) -> None:
        """Sets what `Writer.seal_blocks` gave."""

    def set_checks(self, checks: Sequence[tuple[int, int, int]]) -> None:
        """
        Sets (offset, length, CRC-32C) of runs of any length, in order, in place of blocks.
        """

    def read(self, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        """
        Reads (offset, length) ranges before the tail at once, checked by their blocks or runs.
        """

class Freight:
    """
    Stores by name, the first of which is written to by default. Threads may share it; a forked child may use it.
    """

    def __init__(self, stores: Sequence[tuple[str, str, Mapping[str, str]]], *, aliases: Sequence[tuple[str, str]] = [], digest: str = 'crc32c', max_bytes: int = 0, owner: str = '', timeout: float = 60.0, memory: int = 0, slots: int = 1, connections: int = 16, signing_keys: str = '', unsigned_until: int = 0, seal_keys: str = '', key_service: object | None = None) -> None:
        """
        Checks (name, uri, settings) of each store; nothing is opened yet. One without a name is only read from. `aliases`: URIs, and those that are read in their place. `timeout`: seconds that a request may be tried again. `memory`: bytes that transfers may hold; 0: by what the machine has, shared among `slots`. `signing_keys`: as in formats/reference.md; where there are some, references without a signature are followed until `unsigned_until`, in seconds since 1970, and others without a good one never. `seal_keys`: as in formats/sealed.md; `key_service`: called as airfreight.sealing.ask.
        """

    def put(self, coordinate: Coordinate, body: Sink | Sequence[Buffer], *, type: str, extension: str, content_type: str = 'application/octet-stream', told: tuple[int | None, str, Sequence[tuple[str, str]], Sequence[int], bool, Sequence[Sequence[str]]] = (None, '', [], [], False, []), attempt: int = 0, started_micros: int = 0, decision: tuple[str, str, int, str, str, str, int, bool] | None = None) -> str:
        """
        Stores what a Sink gathered, or the bytes of a list of segments; returns the reference as JSON text. `told`: rows, summary, columns, nulls, columns_cut and preview of formats/reference.md. `decision`: store, digest, most bytes and who says so, encryption key and who says so, retention in seconds, and whether it is sealed.
        """

    def put_many(self, items: Sequence[tuple[Coordinate, Sink | Sequence[Buffer], tuple[str, str, str, tuple[int | None, str, Sequence[tuple[str, str]], Sequence[int], bool, Sequence[Sequence[str]]]], tuple[int, int], tuple[str, str, int, str, str, str, int, bool] | None]]) -> list[str | BaseException]:
        """
        Stores (coordinate, body, (type, extension, content_type, told), (attempt, started_micros), decision), many at a time; in their order, an exception where there is one.
        """

    def open(self, coordinate: Coordinate, *, type: str, extension: str, content_type: str = 'application/octet-stream', attempt: int = 0, started_micros: int = 0, decision: tuple[str, str, int, str, str, str, int, bool] | None = None) -> Writer:
        """
        Opens the value of a coordinate for writing. No request. `decision`: as for `put`.
        """

    def open_reader(self, reference: str) -> Reader:
        """
        Opens the object of a reference (JSON text) for reading parts of it. No request.
        """

    def get_to_file(self, reference: str, path: str) -> None:
        """
        Writes the verified bytes of an object to a file, which appears when it is whole.
        """

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

    def rewrap_key(self, reference: str, decision: tuple[str, str, int, str, str, str, int, bool] | None = None, *, dry: bool) -> str:
        """
        Has the data key of a sealed object wrapped by the first of the sealing keys; what became of it: not sealed, current, old (`dry`: nothing is written), rewrapped, gone, replaced or foreign.
        """

    def seal_value(self, coordinate: Coordinate, body: Sink | Sequence[Buffer]) -> tuple[str, bytes]:
        """
        The sealed object that a push would write, of what a Sink gathered or the bytes of a list of segments, for a row; before it the write id that it is bound to.
        """

    def open_value(self, coordinate: Coordinate, write_id: str, data: Buffer) -> memoryview:
        """
        The value in a sealed object that `seal_value` has made for a coordinate.
        """

    def rewrap_value(self, data: Buffer) -> bytes | None:
        """
        The end that a sealed object of `seal_value` is to have, with its data key wrapped by the first of the sealing keys; None where it is.
        """

    def adopt(self, reference: str, coordinate: Coordinate, *, external: bool = False) -> str:
        """
        Returns a reference that somebody else made (JSON text) as the row of the coordinate may hold it. Raises unless it is signed and of that coordinate; `external`: where there are no keys, an unsigned one will do.
        """

    def sign(self, reference: str) -> str:
        """
        Returns a reference (JSON text) signed, after its object was read and found to be what the reference says; with the first key, and without a look at the object, where it has a good signature already.
        """

    def settle(self, coordinate: Coordinate, *, keep: str = '') -> None:
        """
        Removes what this process wrote for the coordinate, now that the row holds something else; what has the write id `keep` stays.
        """

    def probe(self) -> bool:
        """
        Asks the first store for an object that is not there. True: it says so; False: it does not tell those who may not list. Raises where it can't be used.
        """

    def list(self, prefix: str = '') -> list[tuple[str, int]]:
        """(key, bytes) of everything in the first store under a key prefix."""

class Administration:
    """
    Stores by name, as `Freight` has them, for administrators' commands: it asks of no object whose it is. Threads may share it; a forked child may use it. Raises as `Freight` does.
    """

    def __init__(self, stores: Sequence[tuple[str, str, Mapping[str, str]]], *, aliases: Sequence[tuple[str, str]] = [], timeout: float = 60.0) -> None:
        """Checks (name, uri, settings) of each store; nothing is opened yet."""

    @property
    def names(self) -> list[str]:
        """Of the stores, in their order."""

    def root(self, store: str) -> str:
        """The store's URI without its connection."""

    def abilities(self, store: str) -> dict[str, bool]:
        """
        What the store can do: conditional_put, conditional_remove, parts, versions, uploads.
        """

    def list_versions(self, store: str, prefix: str = '', token: str = '', limit: int = 1000) -> tuple[list[tuple[str, int, str, int, str, bool, bool]], str]:
        """
        A page as `list` has it, of every version: with its id, whether it is the latest, and whether it is the mark of a removal.
        """

    def list_uploads(self, store: str, prefix: str = '', token: str = '', limit: int = 1000) -> tuple[list[tuple[str, str, int]], str]:
        """
        A page of (key, id, seconds since 1970) of what was begun and not ended. The key is a folder, or empty, where the store does not tell it; the time 0.
        """

    def head(self, store: str, key: str) -> tuple[int, str, dict[str, str], int]:
        """Size, version, metadata, seconds since 1970."""

    def head_version(self, store: str, key: str, id: str) -> tuple[int, str, dict[str, str], int]:
        """
        The same of one version, by the id of `list_versions`. NotFoundError for the mark of a removal.
        """

    def get(self, store: str, key: str) -> tuple[tuple[int, str, dict[str, str], int], memoryview]:
        """What `head` gives, and the bytes."""

    def put(self, store: str, key: str, body: Buffer, *, metadata: Mapping[str, str] = {}, condition: str | None = None, content_type: str = 'application/octet-stream') -> str:
        """
        Writes an object; its version. `condition`: '' for where nothing is, or a version.
        """

    def remove(self, store: str, key: str, *, condition: str | None = None) -> None:
        """
        Removes an object, which in some stores stays as a version. `condition`: a version, for stores with the ability conditional_remove.
        """

    def remove_version(self, store: str, key: str, id: str) -> None:
        """Removes one version, by the id of `list_versions`, for good."""

    def abort_upload(self, store: str, key: str, id: str) -> None:
        """
        Removes what was sent of an upload, by the key and id of `list_uploads`.
        """

    def list(self, store: str, prefix: str = '', token: str = '', limit: int = 1000) -> tuple[list[tuple[str, int, str, int]], str]:
        """
        A page of (key, size, version, seconds since 1970), and the token of the next, '' on the last.
        """

def encode_part(part: str) -> str:
    """A part of an object's key, as formats/key.md spells it."""

def parse_key(key: str) -> dict[str, Any] | None:
    """
    The coordinate that an object's key spells, and its extension; None where a part of it is a hash. Raises where it is no key of ours.
    """

def parse_reference(text: str) -> dict[str, Any]:
    """The fields of a reference, as the core understood them."""

def signing_key(keys: str, dag: str) -> str:
    """
    The key of one DAG, as the setting signing_keys has it: made of the first secret of `keys`.
    """

def crc32c(data: Buffer, before: int = 0) -> int:
    """
    CRC-32C (RFC 3720) of bytes-like data, after what has the checksum `before`.
    """

def merge_parquet_footers(parts: Sequence[tuple[Buffer, int]], entries: Sequence[tuple[bytes, bytes]]) -> bytes:
    """
    The end of a Parquet file that is made of the pages of others, whose (footer, shift of offsets) these are; `entries` of metadata come first.
    """

def available_cpus() -> int:
    """
    Processors that this process may use: by its affinity and the quotas of its cgroups.
    """

def ask_store(uri: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """
    What a bucket of S3 or a Redis server says of itself; empty for other stores. Of S3 each answer is (what it says or None, why it is not known).
    """

def libraries() -> dict[str, str]:
    """The versions of the libraries that the core runs with."""

def version() -> str: ...

"""Objects that are read in parts: what is asked of them, and nothing else."""

from __future__ import annotations

import mmap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from airfreight import runtime, values
from airfreight._imports import loading
from airfreight._target import Target
from airfreight.errors import (
    CorruptError,
    Error,
    InvalidError,
    UnavailableError,
    is_of_machine,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airfreight._core import Freight, Reader

_T = TypeVar("_T")

#: From this size on one more request is worth it not to have a File in memory, if there is one.
_WORTH_LOOKING = 64 << 20
#: `_xcom_type` of values that are made of lists and dicts, and so have parts: those of `values`,
#: and what Airflow's own serializer made.
_WITH_PARTS = frozenset(("airflow.serde", "bundle", "document", "json", "mappable"))


def read(core: Freight, fields: dict[str, Any], text: str, make: Callable[[_Reader], _T]) -> _T:
    """What `make` makes of an object of which it fetches only what it needs."""
    reader = _Reader(core.open_reader(text))
    found: _T = made(fields, partial(make, reader), reader)
    return found


class _Reader:
    """A reader of the core that keeps what it raised: that says nothing about the bytes."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.error: BaseException | None = None
        self.size = reader.size
        self.tail_offset = reader.tail_offset

    def read_tail(self) -> memoryview:
        return self._noting(self._reader.read_tail)

    def set_blocks(self, table: bytes) -> None:
        self._noting(partial(self._reader.set_blocks, table))

    def set_checks(self, checks: Sequence[tuple[int, int, int]]) -> None:
        self._noting(partial(self._reader.set_checks, checks))

    def read(self, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        return self._noting(partial(self._reader.read, ranges))

    def _noting(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except BaseException as error:
            self.error = error
            raise


def made(fields: dict[str, Any], make: Callable[[], Any], reader: _Reader | None = None) -> Any:
    """What `make` returns, or the error that says what is wrong with the object.

    What `reader` raised stays what it is (a signal handler's, for one), as does want of memory.
    """
    try:
        return make()
    except (Error, ImportError, MemoryError) as error:
        if isinstance(error, Error):
            error.name_xcom(fields)
        raise
    except Exception as error:  # whatever a library says of bytes that it can't read
        if reader is not None and reader.error is error:
            raise
        if is_of_machine(error):
            failed = UnavailableError(
                f"the value can't be made of its object here ({type(error).__name__}: {error})."
            )
            failed.name_xcom(fields)
            raise failed from error
        wrong = _unreadable(fields.get("_xcom_type"), error)
        wrong.name_xcom(fields)
        raise wrong from error


def _unreadable(kind: Any, error: Exception) -> Error:
    """The error for an object whose bytes are verified and which its library can't read."""
    what = "the object is what was written, but"
    return values.unreadable(what, kind, error) or CorruptError(
        f"{what} can't be read as {kind} ({type(error).__name__}: {error})."
    )


def is_lazy(fields: dict[str, Any]) -> bool:
    """Whether a value is one that fetches its elements when they are asked for."""
    return fields.get("_xcom_type") == "mappable" and "tail" in fields


def lands(fields: dict[str, Any]) -> bool:
    """Whether a value has Files in it, which go to the disk as they arrive, as far as is told."""
    if fields.get("_xcom_type") != "bundle" or "tail" not in fields:
        return False
    columns = fields.get("columns")
    if isinstance(columns, list) and any(
        isinstance(column, list) and values.FILE_TYPE in column[1:] for column in columns
    ):
        return True
    # Where not all leaves are told, a large object is worth a look at its index.
    told = isinstance(columns, list) and "columns_cut" not in fields
    size = fields.get("size_bytes")
    return not told and isinstance(size, int) and size >= _WORTH_LOOKING


def read_whole(core: Freight, fields: dict[str, Any], text: str, unleaf: Any) -> Any:
    """The value of an object of which `lands` says that it has Files in it."""
    with loading:
        bundle: Any = values.for_type("bundle")

    if "sig" in fields:
        return _from_disk(core, fields, text, lambda data: bundle.decode(data, unleaf))
    return read(core, fields, text, lambda reader: bundle.read(reader, unleaf))


def _from_disk(
    core: Freight, fields: dict[str, Any], text: str, make: Callable[[memoryview], _T]
) -> _T:
    """What `make` makes of an object that is checked as a whole and does not go through memory.

    Parts have CRCs, which can be made to fit, and only the SHA-256 of the whole is signed. That an
    object has Files in it is told by `columns`, which is not: it must not say what is checked.
    """
    with loading:
        from airfreight.files import Folder

    folder = Folder()
    try:
        path = Path(folder.path, ".archive")
        core.get_to_file(text, str(path))
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    finally:
        folder.remove()
    found: _T = made(fields, partial(make, memoryview(data)))
    return found


class StoredElements:
    """The elements of an `airfreight.mappable` that lies in a store. Threads may share it."""

    def __init__(self, fields: dict[str, Any], text: str, unleaf: Callable[[str], Any]) -> None:
        with loading:
            from airfreight.values import mappable

        self._fields = fields
        self._text = text
        self._unleaf = unleaf
        self._index = self._reading(mappable.open_index)

    def _reading(self, make: Callable[[Any], _T]) -> _T:
        try:
            return runtime.with_core(lambda core: read(core, self._fields, self._text, make))
        except Error as error:
            error.name_xcom(self._fields)
            raise

    def value(self) -> Any:
        """The list or dict that fetches them."""
        return self._index.value(self)

    def __len__(self) -> int:
        return len(self._index.entries)

    def size(self, position: int) -> int:
        """Bytes of an element's object."""
        return self._index.entries[position].size

    def fetch(self, positions: Sequence[int]) -> list[Any]:
        """Elements by position."""
        return self._reading(lambda reader: self._index.read(reader, positions, self._unleaf))


def follow(
    fields: dict[str, Any],
    text: str,
    part: Sequence[Any],
    columns: Sequence[Any] | None,
    *,
    whole: Callable[[], Any],
    unleaf: Callable[[str], Any],
) -> Any:
    """A part of a value; of an archive only that part is fetched, of others `whole`."""
    codec = _parted(fields)
    if hasattr(codec, "read_part"):
        if "tail" in fields:
            return runtime.with_core(
                lambda core: read(
                    core,
                    fields,
                    text,
                    lambda reader: codec.read_part(reader, part, columns, unleaf),
                )
            )
        data = runtime.with_core(lambda core: core.get(text))
        return made(fields, lambda: codec.decode_part(data, part, columns, unleaf))
    return taken(whole(), part, columns)


def taken(found: Any, part: Sequence[Any], columns: Sequence[Any] | None) -> Any:
    """A part of a value that is here, or columns of a frame in it."""
    with loading:
        from airfreight.values import _leaves

    return _leaves.taken(found, ((), part), columns)


def _parted(fields: dict[str, Any]) -> Any:
    kind = str(fields.get("_xcom_type"))
    if kind not in _WITH_PARTS:
        raise InvalidError(
            f"a part was asked for, and the value is a {kind}, which has none: only lists and "
            "dicts have parts; of a frame, ask for columns=…"
        )
    return values.for_type(kind)


def save(
    fields: dict[str, Any],
    text: str,
    path: str,
    part: Sequence[Any],
    unleaf: Callable[[str], Any],
) -> None:
    """Writes the bytes of a leaf of a bundle to a file, which appears when it is whole."""
    codec = _parted(fields)
    if not hasattr(codec, "read_bytes"):
        raise InvalidError(
            f"to=… with a part takes a leaf of a bundle, and the value is a "
            f"{fields.get('_xcom_type')}: leave the part or to=… out"
        )
    target = Target(path)
    try:
        if "tail" in fields:
            runtime.with_core(
                lambda core: read(
                    core,
                    fields,
                    text,
                    lambda reader: target.write(codec.read_bytes(reader, part, unleaf)),
                )
            )
        else:
            whole = runtime.with_core(lambda core: core.get(text))
            made(fields, lambda: target.write(codec.decode_bytes(whole, part, unleaf)))
        target.keep()
    finally:
        target.drop()

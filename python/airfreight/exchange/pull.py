"""What the rows mean: the value of a row, or a part of it, and the end of its object."""

from __future__ import annotations

import json
import logging
from contextvars import ContextVar
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from airfreight import parts, runtime, values
from airfreight._imports import loading
from airfreight.errors import CorruptError, Error, ForgedError, InvalidError, NewerFormatError
from airfreight.exchange import outage, serde, unsealed
from airfreight.exchange.address import Address
from airfreight.exchange.serde import ROWS_ARE_BYTES, SERDE_TYPE, BaseXCom
from airfreight.reference import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

_log = logging.getLogger("airfreight")


class Wanted(NamedTuple):
    """What is wanted of a value.

    Attributes:
        columns: of a frame; None: all.
        part: the keys and positions that lead to it.
    """

    columns: Sequence[Any] | None = None
    part: Sequence[Any] = ()


#: Set while `airfreight.pull` has Airflow pull, if it wants less than whole values.
wanted: ContextVar[Wanted | None] = ContextVar("airfreight_wanted", default=None)


def unpack(stored: Any, result: Any = None, asked: Address | None = None) -> Any:
    """Returns the value of a row.

    Args:
        stored: the row's value.
        result: what Airflow gave `deserialize_value`, for the base class. On Airflow 2 it tells
            which row it is, except where a list of rows is pulled.
        asked: what the row has to be about, as far as the caller says.

    Raises:
        Error: the object is lost, damaged or not allowed to be read; never a reference instead.
    """
    fields = ours(stored)
    if asked is None and fields is not None and ROWS_ARE_BYTES:
        asked = row_of(result)
    want = wanted.get()
    if fields is not None and fields["_xcom_backend"] != "inline":
        return follow(fields, asked, *(want or ()))
    if unsealed.is_refused():
        unsealed.refuse(fields, asked or (row_of(result) if ROWS_ARE_BYTES else None))
    value = (
        _unpack_inline(fields, asked)
        if fields is not None
        else BaseXCom.deserialize_value(SimpleNamespace(value=stored) if result is None else result)
    )
    # (Where there is no value, there is no row, or None was returned.)
    return value if want is None or value is None else parts.taken(value, want.part, want.columns)


def unpack_many(rows: Sequence[Any], asked: Address | None = None) -> list[Any]:
    """Returns the values of rows in their order; the objects among them are fetched together.

    Raises as `unpack` does, for the first row for which it would.
    """
    if wanted.get() is not None:
        return [unpack(stored, asked=asked) for stored in rows]
    references = {
        position: fields
        for position, stored in enumerate(rows)
        if (fields := ours(stored)) is not None
        and fields["_xcom_backend"] != "inline"
        and not parts.is_lazy(fields)
    }
    fetched = dict(zip(references, fetch(list(references.values()), asked), strict=True))
    values_: list[Any] = []
    for position, stored in enumerate(rows):
        if position not in references:
            values_.append(unpack(stored, asked=asked))
            continue
        # The bytes go as soon as their value is there.
        values_.append(decode(references[position], fetched.pop(position)))
    return values_


def row_of(row: Any) -> Address:
    """Which row it is, as far as it tells: one of Airflow 2, where all of it was read."""

    def text(name: str) -> str | None:
        part = getattr(row, name, None)
        return part if isinstance(part, str) else None

    index = getattr(row, "map_index", None)
    return Address(
        text("dag_id"),
        text("run_id"),
        text("task_id"),
        text("key"),
        map_index=index if type(index) is int else None,
    )


def needs_core(stored: Any) -> bool:
    """Whether the value of a row lies elsewhere, or is sealed."""
    fields = ours(stored)
    return fields is not None and (fields["_xcom_backend"] != "inline" or outage.is_sealed(fields))


def ours(stored: Any) -> dict[str, Any] | None:
    """The fields of a row that Airfreight wrote (JSON or its bytes); None for all other rows."""
    if isinstance(stored, (bytes, bytearray, memoryview)):
        raw = bytes(stored)
        # Parsing a foreign row twice would cost what the base class costs.
        if b'"_airfreight"' not in raw:
            return None
        try:
            stored = json.loads(raw)
        except ValueError:
            return None
        except RecursionError:
            raise InvalidError("the row holds JSON that is nested too deeply to be ours") from None
    if type(stored) is dict and "_airfreight" in stored and "_xcom_backend" in stored:
        fields: dict[str, Any] = stored
        return fields
    return None


def _unpack_inline(fields: dict[str, Any], asked: Address | None) -> Any:
    if outage.is_one(fields):
        if asked is not None:
            check_row(fields, asked)
        return outage.value(fields, _decode)
    with loading:
        from airfreight.values import document

    version = fields["_airfreight"]
    if type(version) is int and version > VERSION:
        raise NewerFormatError(
            f"the row was written in version {version} of Airfreight's format; this release reads "
            f"up to {VERSION}."
        )
    if version != VERSION or fields.get("_xcom_type") != document.TYPE or "value" not in fields:
        raise CorruptError("the row has Airfreight's markers, but is no value that it writes")
    try:
        return document.from_json(fields["value"], serde.unleaf)
    except (Error, ImportError, MemoryError):
        raise
    except Exception as error:
        # Whatever a class says of what it is made of: where Airflow goes through the values of a
        # mapped task, an IndexError would be the end of them.
        said = error if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise CorruptError(f"the row holds a damaged document: {said}") from error


def follow(
    fields: dict[str, Any],
    asked: Address | None = None,
    columns: Sequence[Any] | None = None,
    part: Sequence[Any] = (),
) -> Any:
    """Returns the value that a reference leads to, or a part of it, or these columns of it."""
    text = _checked(fields, asked)
    unsealed.refuse(fields, asked)
    if columns is None and not part and fields.get("_xcom_type") == values.FILE_TYPE:
        return _land(fields, text)
    try:
        if fields.get("_xcom_type") == values.PICKLE_TYPE:
            _require_pickle()  # Before anything is fetched.
        if part:
            return parts.follow(
                fields,
                text,
                part,
                columns,
                whole=partial(follow, fields, asked),
                unleaf=serde.unleaf,
            )
        if columns is None and parts.lands(fields):
            return runtime.with_core(
                lambda core: parts.read_whole(core, fields, text, serde.unleaf)
            )
        if columns is None and parts.is_lazy(fields):
            return parts.StoredElements(fields, text, serde.unleaf).value()
        codec = None if columns is None else _columnar(fields)
        if codec is not None and "tail" in fields and hasattr(codec, "read_columns"):
            return runtime.with_core(
                lambda core: parts.read(
                    core, fields, text, lambda reader: codec.read_columns(reader, columns)
                )
            )
        data = runtime.with_core(lambda core: core.get(text))
    except Error as error:
        error.name_xcom(fields)
        raise
    if codec is None:
        return decode(fields, data)
    return parts.made(fields, partial(codec.decode_columns, data, columns=columns))


def _require_pickle() -> None:
    with loading:
        from airfreight.values import pickle_

    pickle_.require()


def _land(fields: dict[str, Any], text: str) -> Any:
    """A value that goes to a file as it arrives, not through memory."""
    with loading:
        from airfreight.files import Folder
        from airfreight.values import files

    folder = Folder()
    try:
        runtime.with_core(lambda core: core.get_to_file(text, files.land(folder)))
    except BaseException as error:
        folder.remove()
        if isinstance(error, Error):
            error.name_xcom(fields)
        raise
    return parts.made(fields, partial(files.decode_file, folder))


def _columnar(fields: dict[str, Any]) -> Any:
    kind = fields.get("_xcom_type")
    codec = values.for_type(kind) if isinstance(kind, str) else None
    if codec is None or not hasattr(codec, "decode_columns"):
        raise InvalidError(
            f"columns were asked for, and the value is a {kind}: only frames have columns. Leave "
            "columns=… out"
        )
    return codec


def save(
    fields: dict[str, Any], path: str, part: Sequence[Any] = (), *, unasked: bool = False
) -> None:
    """Writes the bytes of an object, or of a leaf of a bundle, to a file.

    `unasked`: though it had to be sealed, and is not: nobody takes it for the value.
    """
    text = _checked(fields, None)
    if not unasked:
        unsealed.refuse(fields, None)
    try:
        if part:
            parts.save(fields, text, path, part, serde.unleaf)
        else:
            runtime.with_core(lambda core: core.get_to_file(text, path))
    except Error as error:
        error.name_xcom(fields)
        raise


def fetch(references: Sequence[dict[str, Any]], asked: Address | None = None) -> list[Any]:
    """Returns the bytes, or the error, of each reference, many at a time.

    None in place of what has a file in it, which `decode` fetches: it does not go through memory.
    """
    texts = [_checked(fields, asked) for fields in references]
    for fields in references:
        unsealed.refuse(fields, asked)
    wanted = {
        at: text
        for at, (fields, text) in enumerate(zip(references, texts, strict=True))
        if fields.get("_xcom_type") != values.FILE_TYPE and not parts.lands(fields)
    }
    if not wanted:
        return [None] * len(texts)
    core = runtime.freight()
    fetched = core.get_many(list(wanted.values()))
    if any(isinstance(one, Error) and runtime.borrow(one, core) for one in fetched):
        fetched = runtime.freight().get_many(list(wanted.values()))
    found = dict(zip(wanted, fetched, strict=True))
    return [found.pop(at, None) for at in range(len(texts))]


def decode(fields: dict[str, Any], data: Any) -> Any:
    """Makes the value of what `fetch` gave for an object, or raises what came in its place."""
    if data is None:
        return follow(fields)
    if isinstance(data, BaseException):
        if isinstance(data, Error):
            data.name_xcom(fields)
        raise data
    return parts.made(fields, partial(_decode, fields.get("_xcom_type"), data))


def _checked(fields: dict[str, Any], asked: Address | None) -> str:
    """The JSON text of a reference that does not contradict itself, nor the question."""
    try:
        _check_consistency(fields, fields.get("_xcom_type"))
        if asked is not None:
            check_row(fields, asked)
        # (Of ASCII: the core has to say what is wrong with a lone surrogate.)
        return json.dumps(fields, separators=(",", ":"))
    except Error as error:
        error.name_xcom(fields)
        raise
    except RecursionError:
        raise InvalidError("the row holds JSON that is nested too deeply to be ours") from None


def check_row(fields: dict[str, Any], asked: Address) -> None:
    """Raises ForgedError when the reference in a row belongs to another row.

    Whoever may write rows (through Airflow's REST API, for one) could otherwise have a task read
    any object of the store.
    """
    for name, wanted, member in (
        ("dag", asked.dag, "dag"),
        ("run", asked.run, "run"),
        ("task", asked.task, "task"),
        ("key", asked.key, "key"),
        ("map index", asked.map_index, "map"),
        ("task instance", asked.ti_id, "ti"),
    ):
        found = fields.get(member)
        if wanted is not None and found is not None and found != wanted:
            raise ForgedError(
                f"the row of {name} {wanted!r} holds the reference of {name} {found!r}: it was "
                "copied there from another row"
            )
    if asked.key is not None and "put" in fields:
        raise ForgedError(
            f"the row of key {asked.key!r} holds the reference of an object of airfreight.put, "
            "which has no row of its own: it was copied there from inside a value"
        )


def _check_consistency(fields: dict[str, Any], kind: Any) -> None:
    """Raises ForgedError when type, URI and store of a reference contradict each other.

    An edited `_xcom_type` would otherwise give the bytes of a frame as the value.
    """
    uri = fields.get("uri")
    if not isinstance(kind, str) or not isinstance(uri, str):
        return  # The core says which field is wrong.
    extensions = values.extensions(kind)
    if extensions and not uri.endswith(tuple(f".{extension}" for extension in extensions)):
        wrong = ForgedError(
            f"the row says that the object is a {kind}, and its name does not end in "
            f".{' or .'.join(extensions)}"
        )
    elif not uri.startswith(f"{fields.get('_xcom_backend')}://"):
        wrong = ForgedError(
            f"the row says {fields.get('_xcom_backend')!r}, and its URI names another kind of store"
        )
    else:
        return
    raise wrong


def _decode(kind: Any, data: memoryview) -> Any:
    with loading:
        from airfreight.values import document

    if kind == SERDE_TYPE:
        return serde.unleaf(str(data, "utf-8"))
    codec: Any = values.for_type(kind) if isinstance(kind, str) else None
    if codec is None:
        raise NewerFormatError(f"the object is a {kind!r}, which this release does not know.")
    # Documents, and what holds some, may hold objects that were left to Airflow's serializer.
    nesting = kind == document.TYPE or getattr(codec, "NESTING", False)
    return codec.decode(data, serde.unleaf) if nesting else codec.decode(data)


def purge(stored: Any, asked: Address | None = None) -> None:
    """Removes the object of a row, if it is ours; logs what goes wrong and raises nothing.

    Args:
        stored: the row's value.
        asked: which row it is, as far as the caller knows: the object of another one stays.
    """
    try:
        fields = ours(stored)
        if fields is None or fields["_xcom_backend"] == "inline":
            return
        if asked is not None:
            check_row(fields, asked)
        text = json.dumps(fields, separators=(",", ":"))
        removed = runtime.with_core(lambda core: core.purge(text))
        _log.debug("Object %s was %s", fields.get("uri"), "removed" if removed else "gone already")
    except Exception as error:  # noqa: BLE001 (one that raises keeps the task from running)
        _log.warning("The object of an XCom that is being deleted stays behind: %s", error)

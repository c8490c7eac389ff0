"""What Airflow's rows hold and what they mean: `pack` on a push, `unpack` on a pull, `purge`."""

from __future__ import annotations

import json
import logging
import uuid
from contextvars import ContextVar
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from airfreight import _airflow, parts, runtime, task, values
from airfreight._imports import loading
from airfreight.config import settings
from airfreight.errors import (
    CorruptError,
    Error,
    ForgedError,
    InvalidError,
    NewerFormatError,
)
from airfreight.reference import Reference
from airfreight.values import Payload, human_bytes, json_
from airfreight.values._content import is_plain_text
from airfreight.values.json_ import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airfreight._core import Coordinate, Freight, Writer
    from airfreight.values import Codec, Form, NewSink, bundle

_T = TypeVar("_T")

_log = logging.getLogger("airfreight")

BaseXCom, ROWS_ARE_BYTES = _airflow.base_class()

#: Version of the rows that we write, as in `include/airfreight/reference.h`.
VERSION = 1
#: `_xcom_type` of what Airflow's own serializer made and we only carry.
SERDE_TYPE = "airflow.serde"

#: What Airflow's server side reads for itself, without the backend: the scheduler's skip logic
#: (airflow/ti_deps/deps/not_previously_skipped_dep.py, prev_dagrun_dep.py) and operator links
#: (airflow/providers/standard/operators/trigger_dagrun.py, cncf/kubernetes/operators/pod.py).
_SERVER_KEYS = frozenset(
    ("skipmixin_key", "past_depends_met", "trigger_run_id", "pod_name", "pod_namespace")
)
_SERVER_PREFIX = "_link_"
#: A threshold that every text is below.
_ANY_SIZE = 1 << 62
#: Types that no codec has registered: the look-up is saved for most values.
_JSON_TYPES = frozenset((dict, list, str, int, float, bool, type(None)))


#: Set while `airfreight.pull` has Airflow pull: what it wants of frames.
wanted_columns: ContextVar[Sequence[Any] | None] = ContextVar("airfreight_columns", default=None)


class Address(NamedTuple):
    """The coordinate of a push as Airflow gives it: any part may be missing."""

    dag: str | None
    run: str | None
    task: str | None
    key: str | None
    map_index: int | None = None
    ti_id: str | None = None
    write_id: str | None = None

    def missing(self) -> list[str]:
        """The names of the parts that an object's key needs and that are not there."""
        names = ("dag_id", "run_id", "task_id", "key")
        return [name for name, part in zip(names, self[:4], strict=True) if part is None]

    def coordinate(self) -> Coordinate:
        """The coordinate in the native core."""
        assert self.dag is not None
        assert self.run is not None
        assert self.task is not None
        assert self.key is not None
        return runtime.coordinate(
            self.dag,
            self.run,
            self.task,
            self.key,
            map_index=-1 if self.map_index is None else self.map_index,
            ti_id=self.ti_id,
            write_id=self.write_id,
        )


def new_write_id() -> str:
    """A name that no other write has."""
    return uuid.uuid4().hex


# --- Push -----------------------------------------------------------------------------------------


def pack(value: Any, address: Address) -> Any:
    """Returns what the row is to hold for a value: the value itself, or a reference to it.

    Raises:
        TypeError: the value can't be kept exactly; names the place inside it and the type.
        Error: the store failed, a setting is wrong, or a newer attempt has written already.
    """
    key = address.key
    if key is not None and (key in _SERVER_KEYS or key.startswith(_SERVER_PREFIX)):
        return _default(value) if not _looks_like_ours(value) else _pack_anyway(value, address)
    current = settings()
    if current.threshold < 0:
        return _pack_by_default(value, address)

    codec = None if type(value) in _JSON_TYPES else values.for_value(value)
    if codec is not None:
        _require(address, value)
        return _row(json.loads(_write(codec, value, address.coordinate(), address)))

    text = json_.text_of(value)
    if text is not None:
        # The rows of Airflow 2 are bytes, which keep any number and have no validator of depth.
        stays = text.kind is Kind.PLAIN or ROWS_ARE_BYTES
        small = text.size <= current.threshold or bool(address.missing())
        if small and stays:
            # Airflow 3's serializer rebuilds values of exactly these types as they are, which would
            # cost as much as our look at them did.
            return _keep(_default(value) if ROWS_ARE_BYTES else value, address)
        if not small or text.kind is Kind.DEEP:
            _require(address, value)
            return _offload(json_, json_.payload(value, text), address)
    return _pack_document(value, address, current.threshold)


def _pack_by_default(value: Any, address: Address) -> Any:
    """Threshold -1: as the default backend, which has no notion of our references."""
    if type(value) is Reference:
        return _pack_document(value, address, _ANY_SIZE)
    if _looks_like_ours(value):
        return _pack_anyway(value, address)
    return _keep(_default(_as_plain(value)), address)


def _as_plain(value: Any) -> Any:
    """A value that the default backend knows, of `airfreight.mappable`."""
    if type(value).__module__ != "airfreight.mapped":
        return value
    with loading:
        from airfreight import mapped

    return mapped.plain(value)


def _looks_like_ours(value: Any) -> bool:
    """Whether a pull would take what the default backend writes of a value for a row of ours."""
    return isinstance(value, dict) and value.keys() >= json_.OUR_MARKERS


def _pack_anyway(value: dict[Any, Any], address: Address) -> Any:
    # A plain dict is what the default backend would give back.
    return _pack_document(dict(value), address, _ANY_SIZE)


def _pack_document(value: Any, address: Address, threshold: int) -> Any:
    """Values that plain JSON would change: our tagged document, or Airflow's form of objects."""
    with loading:
        from airfreight.values import _same, bundle, document

    packed = _taken_apart(value)
    # The rows of Airflow 2 are bytes, which have no validator of depth.
    deep = packed.levels > json_.ROW_DEPTH and not ROWS_ARE_BYTES
    if packed.airflow and not packed.tagged:
        row = _default(value)
        # What a database would change is kept as text, in a document.
        if ROWS_ARE_BYTES or _same.stays_in_row(row):
            return _pack_by_airflow(value, row, address, threshold, deep=deep)
    encoded = packed.encoded
    if packed.leaves:
        if deep or (packed.weight > threshold and not address.missing()):
            _require(address, value)
            return _row(json.loads(_write(bundle, packed, address.coordinate(), address)))
        # Perhaps so small that all of it stays in the row.
        try:
            encoded = document.Encoder(_leaf, options=_options()).encode(value)
        except document.Unsupported as error:
            raise error.as_type_error() from None
    text = document.dump(encoded)
    if not deep and (len(text) <= threshold or address.missing()):
        row = {
            "_xcom_backend": "inline",
            "_xcom_type": document.TYPE,
            "_airfreight": VERSION,
            "value": encoded,
        }
        return _keep(_row(row), address)
    _require(address, value)
    if packed.leaves:
        return _row(json.loads(_write(bundle, packed, address.coordinate(), address)))
    return _offload(document, document.payload(value, encoded), address)


def _taken_apart(value: Any) -> bundle.Packed:
    """A value as a document, with the leaves that are too heavy for one beside it."""
    with loading:
        from airfreight.values import bundle, document

    try:
        return bundle.Packed(value, _leaf, _options())
    except document.Unsupported as error:
        raise error.as_type_error() from None


def _pack_by_airflow(value: Any, row: Any, address: Address, threshold: int, *, deep: bool) -> Any:
    """Objects in lists and dicts, which Airflow's own serializer keeps: its form, here or there."""
    text = _serde_text(row, type(value)).encode()
    if not deep and (len(text) <= threshold or address.missing()):
        return _keep(row, address)
    _require(address, value)
    summary = f"{json_.describe(value)} · {human_bytes(len(text))} json of Airflow's serializer"
    payload = Payload(body=(text,), summary=summary)
    reference = put(payload, address.coordinate(), address, SERDE_TYPE, "json", "application/json")
    return _row(json.loads(reference))


def _leaf(value: Any) -> str:
    """Serializes one object by Airflow's serializer, after making sure that it comes back."""
    with loading:
        from airfreight.values.document import Unsupported

    cls = type(value)
    if base := values.base_of(cls):
        raise Unsupported(
            cls,
            f"it is a subclass of {base}, and may hold what that does not: convert it with "
            f"{base}(…)",
        )
    if isinstance(value, (str, int, float, bytes, bytearray, list, tuple, dict, set, frozenset)):
        plain = next(base for base in cls.__mro__ if base.__module__ == "builtins").__name__
        raise Unsupported(cls, f"it would come back as a plain {plain}: convert it with {plain}(…)")
    try:
        return _by_airflow(value, cls)
    except Unsupported:
        raise
    except ImportError as error:
        if "allow" not in str(error):
            raise Unsupported(cls) from error
        raise Unsupported(
            cls,
            "Airflow would refuse to read it: add its class to [core] "
            "allowed_deserialization_classes "
            "(AIRFLOW__CORE__ALLOWED_DESERIALIZATION_CLASSES), or push a dict",
        ) from error
    except Exception as error:
        raise Unsupported(cls) from error


def _by_airflow(value: Any, cls: type) -> str:
    with loading:
        from airfreight.values import _same

    text = _serde_text(_default(value), cls)
    # What is read is the text, not what a serializer has left as it was.
    _same.check(value, _unleaf(text))
    return text


def _serde_text(row: Any, cls: type) -> str:
    """The JSON text of what Airflow's serializer returned; Unsupported when it is not JSON."""
    if ROWS_ARE_BYTES:
        return str(row, "utf-8")
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if not text.isascii() and not is_plain_text(text):  # Lone surrogates: they are escaped.
            text = json.dumps(row, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        with loading:
            from airfreight.values.document import Unsupported

        raise Unsupported(cls) from error
    return text


def _offload(codec: Codec, payload: Payload, address: Address) -> Any:
    return _row(
        json.loads(put(payload, address.coordinate(), address, *_names(codec, payload.form)))
    )


def store(value: Any, coordinate: Coordinate, address: Address) -> str:
    """Writes a value to the store, whatever its size, and returns the reference as JSON text.

    Raises:
        TypeError: the value can't be kept exactly.
        Error: the store failed.
    """
    codec, made, payload = _choose(value)
    if payload is None:
        return _write(codec, made, coordinate, address)
    return put(payload, coordinate, address, *_names(codec, payload.form))


def store_many(items: Sequence[tuple[Any, Coordinate, Address]]) -> list[str | BaseException]:
    """Writes values at the same time; references as JSON text, or errors, in their order."""
    prepared = []
    for value, coordinate, address in items:
        codec, made, payload = _choose(value)
        if payload is None:
            payload = _encode(codec, made, values.new_sink)
        attempt = _attempt(address)
        fields = (
            *_names(codec, payload.form),
            payload.rows,
            payload.summary,
            list(payload.columns),
        )
        body: Any = payload.body
        prepared.append((coordinate, body, fields, (attempt.number, attempt.started_micros)))
    core = runtime.freight()
    results = core.put_many(prepared)
    if any(isinstance(one, Error) and runtime.borrow(one, core) for one in results):
        results = runtime.freight().put_many(prepared)
    for result, (_, _, address) in zip(results, items, strict=True):
        if isinstance(result, Error):
            result.name_xcom(_place(address))
    return results


def _choose(value: Any) -> tuple[Codec, Any, Payload | None]:
    """The codec of a value, what it is to encode, and that encoded where it is already."""
    codec = values.for_value(value)
    if codec is not None:
        return codec, value, None
    text = json_.text_of(value)
    if text is not None:
        return json_, value, json_.payload(value, text)
    with loading:
        from airfreight.values import bundle, document

    packed = _taken_apart(value)
    if packed.leaves:
        return cast("Codec", bundle), packed, None
    return cast("Codec", document), value, document.payload(value, packed.encoded)


def _encode(codec: Codec, value: Any, new_sink: NewSink) -> Payload:
    if not getattr(codec, "NESTING", False):
        return codec.encode(value, _options(), new_sink)
    nesting: Any = codec
    payload: Payload = nesting.encode(value, _options(), new_sink, _leaf)
    return payload


def _write(codec: Codec, value: Any, coordinate: Coordinate, address: Address) -> str:
    """Encodes a value, which may be on its way to the store while it is encoded."""
    sinks: list[Writer] = []
    cores: list[Freight] = []

    def new_sink(form: Form | None = None, /) -> Writer:
        # Not before: a value that is refused needs no core.
        cores.append(runtime.freight())
        sinks.append(open_writer(cores[0], codec, coordinate, address, form))
        return sinks[-1]

    try:
        payload = _encode(codec, value, new_sink)
        if not sinks:
            return put(payload, coordinate, address, *_names(codec, payload.form))
        return sinks[-1].finish(
            rows=payload.rows, summary=payload.summary, columns=list(payload.columns)
        )
    except BaseException as error:
        for sink in sinks:
            sink.abandon(hurry=not isinstance(error, Exception))
        # What can be read once can't be sent a second time, with other credentials.
        if cores and not values.reads_once(codec, value) and runtime.borrow(error, cores[0]):
            return _write(codec, value, coordinate, address)
        if isinstance(error, Error):
            name_place(error, address)
        raise


def with_core(call: Callable[[Freight], _T], address: Address) -> _T:
    """As `runtime.with_core`; errors name the XCom."""
    try:
        return runtime.with_core(call)
    except Error as error:
        error.name_xcom(_place(address))
        raise


def open_writer(
    core: Freight,
    codec: Codec,
    coordinate: Coordinate,
    address: Address,
    form: Form | None = None,
) -> Writer:
    """Opens an object for writing. Whoever does not finish it has to abandon it."""
    kind, extension, content_type = _names(codec, form)
    attempt = _attempt(address)
    return core.open(
        coordinate,
        type=kind,
        extension=extension,
        content_type=content_type,
        attempt=attempt.number,
        started_micros=attempt.started_micros,
    )


def _names(codec: Codec, form: Form | None = None) -> tuple[str, str, str]:
    if form is not None:
        return codec.TYPE, form.extension, form.content_type
    return codec.TYPE, codec.EXTENSION, codec.CONTENT_TYPE


def _options() -> values.Options:
    current = settings()
    return values.Options(compression=current.compression, format=current.format)


def _attempt(address: Address) -> task.Attempt:
    return task.attempt(
        address.dag or "",
        address.run or "",
        address.task or "",
        # Airflow 3.4 tells instances apart by id, which is part of the coordinate already.
        None
        if address.ti_id is not None
        else (-1 if address.map_index is None else address.map_index),
    )


def name_place(error: Error, address: Address) -> None:
    """Says in an error which XCom it is about."""
    error.name_xcom(_place(address))


def _place(address: Address) -> dict[str, Any]:
    """An address by the names that references use."""
    return {
        "dag": address.dag,
        "run": address.run,
        "task": address.task,
        "map": address.map_index,
        "key": address.key,
    }


def put(
    payload: Payload,
    coordinate: Coordinate,
    address: Address,
    kind: str,
    extension: str,
    content_type: str,
) -> str:
    """Writes a payload and returns the reference as JSON text."""
    return with_core(
        lambda core: _put(core, payload, coordinate, address, kind, extension, content_type),
        address,
    )


def _put(
    core: Freight,
    payload: Payload,
    coordinate: Coordinate,
    address: Address,
    kind: str,
    extension: str,
    content_type: str,
) -> str:
    attempt = _attempt(address)
    body: Any = payload.body
    return core.put(
        coordinate,
        body,
        type=kind,
        extension=extension,
        content_type=content_type,
        rows=payload.rows,
        summary=payload.summary,
        columns=payload.columns,
        attempt=attempt.number,
        started_micros=attempt.started_micros,
    )


def _keep(row: Any, address: Address) -> Any:
    """The value stays in the row: what this process sent to the store for it before has to go."""
    core = runtime.loaded()
    if core is not None and not address.missing():
        try:
            core.settle(address.coordinate())
        except Error as error:
            _log.warning(
                "An object that an earlier push of the same XCom wrote could not be removed: %s",
                error,
            )
    return row


def _require(address: Address, value: Any) -> None:
    if names := address.missing():
        raise InvalidError(
            f"a value of type {type(value).__name__} goes to the store, and its object's key "
            "can't be "
            f"made without {' and '.join(names)}: pass them to serialize_value"
        )


def _default(value: Any) -> Any:
    """What the default backend would write."""
    return BaseXCom.serialize_value(value)


def _row(row: dict[str, Any]) -> Any:
    if not ROWS_ARE_BYTES:
        return row
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


# --- Pull -----------------------------------------------------------------------------------------


def unpack(stored: Any, result: Any = None, asked: Address | None = None) -> Any:
    """Returns the value of a row.

    Args:
        stored: the row's value.
        result: what Airflow gave `deserialize_value`, for the base class.
        asked: what the row has to be about, as far as the caller says.

    Raises:
        Error: the object is lost, damaged or not allowed to be read; never a reference instead.
    """
    fields = ours(stored)
    if fields is not None and fields["_xcom_backend"] != "inline":
        return follow(fields, asked)
    if wanted_columns.get() is not None and stored is not None:
        raise InvalidError(
            "columns were asked for, and the value is a small one in its row, not a frame. Leave "
            "columns=… out"
        )
    if fields is not None:
        return _unpack_inline(fields)
    return BaseXCom.deserialize_value(SimpleNamespace(value=stored) if result is None else result)


def unpack_many(rows: Sequence[Any], asked: Address | None = None) -> list[Any]:
    """Returns the values of rows in their order; the objects among them are fetched together.

    Raises as `unpack` does, for the first row for which it would.
    """
    if wanted_columns.get() is not None:
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


def needs_store(stored: Any) -> bool:
    """Whether the value of a row lies elsewhere."""
    fields = ours(stored)
    return fields is not None and fields["_xcom_backend"] != "inline"


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
    if type(stored) is dict and "_airfreight" in stored and "_xcom_backend" in stored:
        fields: dict[str, Any] = stored
        return fields
    return None


def _unpack_inline(fields: dict[str, Any]) -> Any:
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
        return document.from_json(fields["value"], _unleaf)
    except ValueError as error:
        raise CorruptError(f"the row holds a damaged document: {error}") from error


def follow(
    fields: dict[str, Any],
    asked: Address | None = None,
    columns: Sequence[Any] | None = None,
    part: Sequence[Any] = (),
) -> Any:
    """Returns the value that a reference leads to, or a part of it, or these columns of it."""
    if columns is None:
        columns = wanted_columns.get()
    text = _checked(fields, asked)
    if columns is None and not part and fields.get("_xcom_type") == values.FILE_TYPE:
        return _land(fields, text)
    try:
        if part:
            return parts.follow(
                fields,
                text,
                part,
                columns,
                whole=partial(follow, fields, asked),
                unleaf=_unleaf,
            )
        if columns is None and parts.is_lazy(fields):
            return parts.StoredElements(fields, text, _unleaf).value()
        codec = None if columns is None else _columnar(fields)
        if codec is not None and "tail" in fields:
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
    if codec is None or not hasattr(codec, "read_columns"):
        raise InvalidError(
            f"columns were asked for, and the value is a {kind}: only frames have columns. Leave "
            "columns=… out"
        )
    return codec


def save(fields: dict[str, Any], path: str, part: Sequence[Any] = ()) -> None:
    """Writes the bytes of an object, or of a leaf of a bundle, to a file."""
    text = _checked(fields, None)
    try:
        if part:
            parts.save(fields, text, path, part, _unleaf)
        else:
            runtime.with_core(lambda core: core.get_to_file(text, path))
    except Error as error:
        error.name_xcom(fields)
        raise


def fetch(references: Sequence[dict[str, Any]], asked: Address | None = None) -> list[Any]:
    """Returns the bytes, or the error, of each reference, many at a time.

    None in place of a file's, which `decode` lands: it does not go through memory.
    """
    texts = [_checked(fields, asked) for fields in references]
    wanted = {
        at: text
        for at, (fields, text) in enumerate(zip(references, texts, strict=True))
        if fields.get("_xcom_type") != values.FILE_TYPE
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
        return _land(fields, _checked(fields, None))
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
            _check_answer(fields, asked)
    except Error as error:
        error.name_xcom(fields)
        raise
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _check_answer(fields: dict[str, Any], asked: Address) -> None:
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
    ):
        found = fields.get(member)
        if wanted is not None and found is not None and found != wanted:
            raise ForgedError(
                f"the row of {name} {wanted!r} holds the reference of {name} {found!r}: it was "
                "copied there from another row"
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
    elif not uri.startswith(f"{fields['_xcom_backend']}://"):
        wrong = ForgedError(
            f"the row says {fields['_xcom_backend']!r}, and its URI names another kind of store"
        )
    else:
        return
    raise wrong


def _decode(kind: Any, data: memoryview) -> Any:
    with loading:
        from airfreight.values import document

    if kind == SERDE_TYPE:
        return _unleaf(str(data, "utf-8"))
    codec: Any = values.for_type(kind) if isinstance(kind, str) else None
    if codec is None:
        raise NewerFormatError(f"the object is a {kind!r}, which this release does not know.")
    # Documents, and what holds some, may hold objects that were left to Airflow's serializer.
    nesting = kind == document.TYPE or getattr(codec, "NESTING", False)
    return codec.decode(data, _unleaf) if nesting else codec.decode(data)


def _unleaf(text: str) -> Any:
    """The inverse of `_leaf`."""
    row: Any = text.encode() if ROWS_ARE_BYTES else json.loads(text)
    return BaseXCom.deserialize_value(SimpleNamespace(value=row))


# --- Purge ----------------------------------------------------------------------------------------


def purge(stored: Any) -> None:
    """Removes the object of a row, if it is ours; logs what goes wrong and raises nothing."""
    try:
        fields = ours(stored)
        if fields is None or fields["_xcom_backend"] == "inline":
            return
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        removed = runtime.with_core(lambda core: core.purge(text))
        _log.debug("Object %s was %s", fields.get("uri"), "removed" if removed else "gone already")
    except Exception as error:  # noqa: BLE001 (one that raises keeps the task from running)
        _log.warning("The object of an XCom that is being deleted stays behind: %s", error)

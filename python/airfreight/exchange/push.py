"""What a row is to hold for a value, and the objects that are written for it."""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

from airfreight import runtime, signing, task, values
from airfreight._imports import loading
from airfreight.config import settings
from airfreight.decision import decide
from airfreight.errors import ConfigError, Error, InvalidError, TooLargeError
from airfreight.exchange import outage, serde
from airfreight.exchange.address import name_place, place
from airfreight.exchange.serde import ROWS_ARE_BYTES, SERDE_TYPE
from airfreight.reference import VERSION, Reference
from airfreight.values import Payload, human_bytes, json_
from airfreight.values.json_ import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from airfreight._core import Coordinate, Freight, Writer
    from airfreight.decision import Decision
    from airfreight.exchange.address import Address
    from airfreight.rules import Found
    from airfreight.values import Codec, Form, NewSink, bundle
    from airfreight.values._describe import Told
    from airfreight.values.json_ import Text

    #: What `json_.text_of` gave; None: it was not asked.
    Looked = tuple[Text | None] | None

_T = TypeVar("_T")

#: What was decided for the value that is being pushed.
_decided: ContextVar[Decision | None] = ContextVar("airfreight_decided", default=None)

_log = logging.getLogger("airfreight")
# As the loggers of Airflow's operators, so that it writes to the task's own log in all releases.
_task_log = logging.getLogger("airflow.task.airfreight")

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


def pack(value: Any, address: Address) -> Any:
    """As `_pack`, under what is decided for the value."""
    value, said = _unwrapped(value)
    if said is None and settings().policy is None:
        return _pack(value, address)
    decision, text = _decide(value, address, said)
    with _under(decision):
        return _pack(value, address, text)


def is_read_by_the_server(key: str | None) -> bool:
    """Whether Airflow's server reads the values of a key from their rows by itself."""
    return key is not None and (key in _SERVER_KEYS or key.startswith(_SERVER_PREFIX))


def _now() -> Decision:
    """What holds for the value at hand."""
    return _decided.get() or decide(settings(), None)


@contextmanager
def _under(decision: Decision) -> Iterator[None]:
    """What is pushed meanwhile is pushed so."""
    token = _decided.set(decision)
    try:
        yield
    except Error as error:
        error.rule = decision.by_rule
        raise
    finally:
        _decided.reset(token)


def under_rule(kind: str, size: int | None, address: Address) -> AbstractContextManager[None]:
    """What is pushed meanwhile is pushed under the rule for a value of this type and size."""
    return _under(decide(settings(), _rule(kind, size, address)))


def _unwrapped(value: Any) -> tuple[Any, Mapping[str, str] | None]:
    """A value without its options, and these: None where it has none."""
    if type(value).__module__ != "airfreight.wrapped":
        return value, None
    return value.value, value.said


def _rule(kind: str, size: int | None, address: Address) -> Found | None:
    """The first rule that matches."""
    policy = settings().policy
    if policy is None:
        return None
    return policy.find(address.dag or "", address.task or "", address.key or "", kind, size)


def _decide(
    value: Any, address: Address, said: Mapping[str, str] | None
) -> tuple[Decision, Looked]:
    """What the rules say over the settings, and the task over both; the text if it took that."""
    policy = settings().policy
    found: Found | None = None
    text: Looked = None
    if policy is not None:
        codec = None if type(value) in _JSON_TYPES else values.for_value(value)
        size: int | None = None
        if policy.sized:
            if codec is None:
                made = json_.text_of(value)
                text = (made,)
                size = None if made is None else made.size
            else:
                size = _size_of(value)
        found = _rule("json" if codec is None else codec.TYPE, size, address)
    decided = decide(settings(), found)
    if not said:
        return decided, text
    with loading:
        from airfreight import wrapped

    try:
        return wrapped.apply(decided, said), text
    except Error as error:
        error.name_xcom(place(address))
        raise


def _size_of(value: Any) -> int | None:
    """Bytes of a value as its library tells at once; None where it does not."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return memoryview(value).nbytes
    size = getattr(value, "nbytes", None)  # numpy, pyarrow, pandas' Series
    if type(size) is int:
        return size
    if (estimated := getattr(value, "estimated_size", None)) is not None:  # polars
        return int(estimated())
    if (usage := getattr(value, "memory_usage", None)) is not None:  # pandas' frames
        return int(usage(deep=False).sum())
    return None


def _pack(value: Any, address: Address, looked: Looked = None) -> Any:
    """Returns what the row is to hold for a value: the value itself, or a reference to it.

    Args:
        value: of any kind.
        address: whose it is.
        looked: its text, if that was made already.

    Raises:
        TypeError: the value can't be kept exactly; names the place inside it and the type.
        Error: the store failed, a setting is wrong, or a newer attempt has written already.
    """
    if is_read_by_the_server(address.key):
        return (
            serde.by_default(value) if not _looks_like_ours(value) else _pack_anyway(value, address)
        )
    current = _now()
    if _looks_like_ours(value) and (row := _adopted(value, address)) is not None:
        return row
    if current.threshold < 0:
        return _pack_by_default(value, address)
    if current.encrypted:
        _require(address, value)  # Without a key for an object it would stay in the row.

    codec = None if type(value) in _JSON_TYPES else values.for_value(value)
    if codec is not None:
        _require(address, value)
        return _refer(_sent(codec, value, address), value, address)

    text = json_.text_of(value) if looked is None else looked[0]
    if text is not None:
        # The rows of Airflow 2 are bytes, which keep any number and have no validator of depth.
        stays = text.kind is Kind.PLAIN or ROWS_ARE_BYTES
        small = text.size <= current.threshold or bool(address.missing())
        if small and stays:
            # Airflow 3's serializer rebuilds values of exactly these types as they are, which would
            # cost as much as our look at them did.
            row = serde.by_default(value) if ROWS_ARE_BYTES else value
            return _keep(row, value, text.size, address)
        if not small or text.kind is Kind.DEEP:
            _require(address, value)
            return _offload(json_, json_.payload(value, text), value, address)
    return _pack_document(value, address, current.threshold)


def _pack_by_default(value: Any, address: Address) -> Any:
    """Threshold -1: as the default backend, which has no notion of our references."""
    if type(value) is Reference:
        return _pack_document(value, address, _ANY_SIZE)
    if _looks_like_ours(value):
        return _pack_anyway(value, address)
    try:
        row = serde.by_default(_as_plain(value))
    except Exception:
        # The default backend has no word for options inside a value. Ours have, and the place.
        if "airfreight.wrapped" in sys.modules:
            _taken_apart(_as_plain(value))
        raise
    return _keep(row, value, None, address)


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


_NOT_ADOPTED = "XCom %r: a dict that looks like a reference is pushed as the value that it is: %s"


def _unencrypted(decision: Decision, asks: str) -> str:
    """Why an object that another has written is none that a rule allows."""
    right = (
        "have the container push it sealed, with the keys of the workers"
        if asks == "seal"
        else "have the container sign it, which says that it was written with that key"
    )
    return (
        f"{decision.label(asks).rstrip(',')} asks for encryption, and its object was written "
        f"without it, or nothing says that it was not; right is to {right} (docs/signing.md)"
    )


def _adopted(value: dict[Any, Any], address: Address) -> Any:
    """The row of a reference that a container has made for this XCom; None where it is none.

    A user's own dict, whatever it holds, is a value: only a signature of ours makes it more, or a
    rule of the policy where there are no keys.
    """
    decision = _now()
    external = decision.accept_external
    if type(value) is not dict or value["_xcom_backend"] == "inline" or address.missing():
        return None
    if not external and "sig" not in value:
        return None  # (Without a look at the store's settings.)
    # What is to be encrypted is, whoever has made it. By which key a store has encrypted an object
    # no reference says: who signs one answers for that.
    asks = "seal" if decision.seal and not value.get("sealed") else ""
    if not asks and decision.encryption_key:
        # (Where there are no keys nobody looks at a signature.)
        vouched = value.get("sig") and signing.signs(settings())
        asks = "" if vouched else "encryption_key"
    if asks:
        _task_log.warning(_NOT_ADOPTED, address.key, _unencrypted(decision, asks))
        return None
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None
    coordinate = address.coordinate()
    try:
        reference = runtime.freight().adopt(text, coordinate, external=external)
    except ConfigError:
        raise
    except Error as error:
        _task_log.warning(_NOT_ADOPTED, address.key, error.message)
        return None
    row = json.loads(reference)
    _settle(address, keep=row["write"])
    _tell(value, row["size_bytes"], f"was handed over at {row['uri']}", address)
    return _row(row)


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
        row = serde.by_default(value)
        # What a database would change is kept as text, in a document.
        if ROWS_ARE_BYTES or _same.stays_in_row(row):
            return _pack_by_airflow(value, row, address, threshold, deep=deep)
    segments = packed.segments
    if packed.leaves:
        if deep or packed.pickled or (packed.weight > threshold and not address.missing()):
            _require(address, value)
            return _refer(_sent(*packed.choice(), address), value, address)
        # Perhaps so small that all of it stays in the row.
        try:
            segments = document.Encoder(serde.leaf, options=_options()).segments(value)
        except document.Unsupported as error:
            raise error.as_type_error() from None
    size = sum(map(len, segments))
    if not deep and (size <= threshold or address.missing()):
        row = {
            "_xcom_backend": "inline",
            "_xcom_type": document.TYPE,
            "_airfreight": VERSION,
            "value": document.parsed(segments),
        }
        return _keep(_row(row), value, size, address)
    _require(address, value)
    if packed.leaves:
        return _refer(_sent(bundle, packed, address), value, address)
    return _offload(document, document.payload(value, segments), value, address)


def _taken_apart(value: Any) -> bundle.Packed:
    """A value as a document, with the leaves that are too heavy for one beside it."""
    with loading:
        from airfreight.values import bundle, document

    try:
        return bundle.Packed(value, serde.leaf, _options())
    except document.Unsupported as error:
        raise error.as_type_error() from None


def _pack_by_airflow(value: Any, row: Any, address: Address, threshold: int, *, deep: bool) -> Any:
    """Objects in lists and dicts, which Airflow's own serializer keeps: its form, here or there."""
    text = serde.text_of(row, type(value)).encode()
    if not deep and (len(text) <= threshold or address.missing()):
        return _keep(row, value, len(text), address)
    _require(address, value)
    summary = f"{json_.describe(value)} · {human_bytes(len(text))} json of Airflow's serializer"
    payload = Payload(body=(text,), summary=summary)
    names = (SERDE_TYPE, "json", "application/json")
    return _refer(_put_or_keep(payload, value, address, names), value, address)


def _offload(codec: Codec, payload: Payload, value: Any, address: Address) -> Any:
    names = _names(codec, payload.form)
    return _refer(_put_or_keep(payload, value, address, names), value, address)


def _sent(codec: Codec, value: Any, address: Address) -> str:
    """As `_write`; where the store is away and the policy says so, the row holds the value."""
    return _write(codec, value, address.coordinate(), address, may_stay=True)


def _put_or_keep(
    payload: Payload, value: Any, address: Address, names: tuple[str, str, str]
) -> str:
    """As `put`; where the store is away and the policy says so, the row holds the value."""
    try:
        return put(payload, value, address.coordinate(), address, names)
    except Error as error:
        if not outage.applies(error, _now()):
            raise
        return outage.row(
            error,
            lambda: outage.body_of(payload.body, address, _now()),
            outage.size_of(payload.body),
            names,
            _told(payload, value),
            _attempt(address),
            address,
            _now(),
            pickled=payload.pickled,
        )


def _refer(reference: str, value: Any, address: Address) -> Any:
    """The row of a value that lies in the store, or would if that were not away."""
    row = json.loads(reference)
    if outage.is_one(row):
        _task_log.warning(
            "XCom %r stays in its row (%s): the store %s",
            address.key,
            human_bytes(row["size_bytes"]),
            row[outage.MARK],
        )
    else:
        _tell(value, row["size_bytes"], f"is at {row['uri']}", address)
    return _row(row)


def _tell(value: Any, size: int | None, where: str, address: Address) -> None:
    """One line of the task's log for each push, which holds nothing of the value."""
    # Airflow exports it where a task runs; elsewhere the logger of tasks may write to a terminal.
    if "AIRFLOW_CTX_TASK_ID" in os.environ and _task_log.isEnabledFor(logging.INFO):
        cls = type(value)
        module = "" if cls.__module__ == "builtins" else f"{cls.__module__}."
        amount = "" if size is None else f"{human_bytes(size)}, "
        _task_log.info("XCom %r: %s%s, %s%s", address.key, module, cls.__qualname__, amount, where)


def store(value: Any, coordinate: Coordinate, address: Address) -> str:
    """Writes a value to the store, whatever its size, and returns the reference as JSON text.

    Raises:
        TypeError: the value can't be kept exactly.
        Error: the store failed.
    """
    value, said = _unwrapped(value)
    decision, text = _decide(value, address, said)
    with _under(decision):
        codec, made, payload = _choose(value, text)
        if payload is None:
            return _write(codec, made, coordinate, address)
        return put(payload, value, coordinate, address, _names(codec, payload.form))


def store_many(items: Sequence[tuple[Any, Coordinate, Address]]) -> list[str | BaseException]:
    """Writes values at the same time; references as JSON text, or errors, in their order."""
    prepared, decisions = [], []
    for item, coordinate, address in items:
        value, said = _unwrapped(item)
        decision, text = _decide(value, address, said)
        with _under(decision):
            codec, made, payload = _choose(value, text)
            if payload is None:
                payload, form = _encoded(codec, made)
            else:
                form = payload.form
            fields = (*_names(codec, form), _told(payload, made))
        attempt = _attempt(address)
        body: Any = payload.body
        started = (attempt.number, attempt.started_micros)
        prepared.append((coordinate, body, fields, started, decision.fields()))
        decisions.append(decision)
    core = runtime.freight()
    results = core.put_many(prepared)
    # Those alone that lacked credentials: what is there already is not written a second time.
    lacked = [
        number
        for number, one in enumerate(results)
        if isinstance(one, Error) and runtime.borrow(one, core)
    ]
    if lacked:
        again = runtime.freight().put_many([prepared[number] for number in lacked])
        for number, result in zip(lacked, again, strict=True):
            results[number] = result
    for result, (_, _, address), decision in zip(results, items, decisions, strict=True):
        if isinstance(result, Error):
            result.name_xcom(place(address))
            result.rule = decision.by_rule
    return results


def _choose(value: Any, looked: Looked = None) -> tuple[Codec, Any, Payload | None]:
    """The codec of a value, what it is to encode, and that encoded where it is already."""
    codec = values.for_value(value)
    if codec is not None:
        return codec, value, None
    text = json_.text_of(value) if looked is None else looked[0]
    if text is not None:
        return json_, value, json_.payload(value, text)
    with loading:
        from airfreight.values import document

    packed = _taken_apart(value)
    if packed.leaves:
        return *packed.choice(), None
    return cast("Codec", document), value, document.payload(value, packed.segments)


def _encode(codec: Codec, value: Any, new_sink: NewSink) -> Payload:
    if not getattr(codec, "NESTING", False):
        return codec.encode(value, _options(), new_sink)
    nesting: Any = codec
    payload: Payload = nesting.encode(value, _options(), new_sink, serde.leaf)
    return payload


def _encoded(codec: Codec, value: Any) -> tuple[Payload, Form | None]:
    """What a codec makes of a value in memory, and the form that it asked a sink for."""
    forms: list[Form | None] = [None]

    def new_sink(form: Form | None = None, /) -> Any:
        forms.append(form)
        return values.new_sink(form)

    payload = _encode(codec, value, new_sink)
    return payload, payload.form or forms[-1]


def _write(
    codec: Codec, value: Any, coordinate: Coordinate, address: Address, *, may_stay: bool = False
) -> str:
    """Encodes a value, which may be on its way to the store while it is encoded.

    `may_stay`: where the store is away and the policy says so, the text is of a row with the value.
    """
    sinks: list[Writer] = []
    cores: list[Freight] = []
    forms: list[Form | None] = []
    payload: Payload | None = None

    def new_sink(form: Form | None = None, /) -> Writer:
        # Not before: a value that is refused needs no core.
        cores.append(runtime.freight())
        forms.append(form)
        sinks.append(open_writer(cores[0], codec, coordinate, address, form))
        return sinks[-1]

    try:
        payload = _encode(codec, value, new_sink)
        if not sinks:
            names = _names(codec, payload.form)
            if may_stay:
                return _put_or_keep(payload, value, address, names)
            return put(payload, value, coordinate, address, names)
        return sinks[-1].finish(_told(payload, value))
    except BaseException as error:
        stays = may_stay and bool(sinks) and outage.applies(error, _now())
        unsent = _unsent(sinks[-1]) if stays else None
        for sink in sinks:
            sink.abandon(hurry=not isinstance(error, Exception))
        # What can be read once can't be sent a second time, with other credentials.
        if cores and not values.reads_once(codec, value) and runtime.borrow(error, cores[0]):
            return _write(codec, value, coordinate, address, may_stay=may_stay)
        if isinstance(error, Error):
            name_place(error, address)
            if stays:
                # (What has no payload yet was sent in parts, and is larger than any row.)
                made = payload or Payload(body=(), summary="")
                return outage.row(
                    error,
                    lambda: unsent,
                    sinks[-1].tell(),
                    _names(codec, forms[-1]),
                    _told(made, value),
                    _attempt(address),
                    address,
                    _now(),
                    pickled=made.pickled,
                )
        raise


def _unsent(sink: Writer) -> outage.Body | None:
    """The bytes of an object that could not be finished, if none of them is there."""
    data = sink.unsent()
    if data is None:
        return None
    return outage.Body(data, sink.write_id if _now().seal else "")


def with_core(call: Callable[[Freight], _T], address: Address) -> _T:
    """As `runtime.with_core`; errors name the XCom."""
    try:
        return runtime.with_core(call)
    except Error as error:
        error.name_xcom(place(address))
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
        decision=_now().fields(),
    )


def _names(codec: Codec, form: Form | None = None) -> tuple[str, str, str]:
    if form is not None:
        return codec.TYPE, form.extension, form.content_type
    return codec.TYPE, codec.EXTENSION, codec.CONTENT_TYPE


def _options() -> values.Options:
    current = _now()
    return values.Options(
        compression=current.compression,
        format=current.format,
        pickle=current.pickle == "allow",
        describe=current.describe,
        preview_rows=current.preview_rows,
        redact=settings().redact,
    )


def _told(payload: Payload, value: Any) -> Told:
    """What the row tells of a value."""
    with loading:
        from airfreight.values import _describe

    return _describe.told(payload, value, _options())


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


def put(
    payload: Payload,
    value: Any,
    coordinate: Coordinate,
    address: Address,
    names: tuple[str, str, str],
) -> str:
    """Writes a payload and returns the reference as JSON text. `names`: as `_names` has them."""
    told = _told(payload, value)
    return with_core(lambda core: _put(core, payload, told, coordinate, address, names), address)


def _put(
    core: Freight,
    payload: Payload,
    told: Told,
    coordinate: Coordinate,
    address: Address,
    names: tuple[str, str, str],
) -> str:
    kind, extension, content_type = names
    attempt = _attempt(address)
    body: Any = payload.body
    return core.put(
        coordinate,
        body,
        type=kind,
        extension=extension,
        content_type=content_type,
        told=told,
        attempt=attempt.number,
        started_micros=attempt.started_micros,
        decision=_now().fields(),
    )


def _keep(row: Any, value: Any, size: int | None, address: Address) -> Any:
    """The value stays in the row: what this process sent to the store for it before has to go."""
    most = _now().max_size
    if size is not None and 0 < most < size:
        error = TooLargeError(
            f"the value takes {size} bytes; {_now().label('max_size')} allows {most}"
        )
        name_place(error, address)
        raise error
    _tell(value, size, "stays in its row", address)
    _settle(address)
    return row


def _settle(address: Address, keep: str = "") -> None:
    """Removes what this process wrote for the row before, unless it is of the write `keep`."""
    core = runtime.loaded()
    if core is not None and not address.missing():
        try:
            core.settle(address.coordinate(), keep=keep)
        except Error as error:
            _log.warning(
                "An object that an earlier push of the same XCom wrote could not be removed: %s",
                error,
            )


def _require(address: Address, value: Any) -> None:
    if names := address.missing():
        raise InvalidError(
            f"a value of type {type(value).__name__} goes to the store, and its object's key "
            "can't be "
            f"made without {' and '.join(names)}: pass them to serialize_value"
        )


def _row(row: dict[str, Any]) -> Any:
    if not ROWS_ARE_BYTES:
        return row
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()

"""Values that stay in their row because the store was away. Specification: `formats/outage.md`.

The row holds the very bytes that the object would have had, sealed where it would have been sealed,
and all that is needed to write that object later (`airfreight repatriate`). Reading it needs no
store.
"""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from airfreight import parts, runtime, values
from airfreight._imports import loading
from airfreight.config import settings
from airfreight.errors import CorruptError, Error, ExpiredError, NewerFormatError
from airfreight.exchange.address import Address
from airfreight.reference import VERSION
from airfreight.values._content import from_base64, to_base64
from airfreight.values._describe import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from airfreight._core import Freight, Sink, Writer
    from airfreight.decision import Decision
    from airfreight.task import Attempt
    from airfreight.values._describe import Told

#: The member that tells such a row from a document, which is in its row because it is small.
MARK = "outage"
#: The `_airfreight` of a row whose body is sealed: who does not know `sealed` would take ciphertext
#: for the value.
_SEALED_VERSION = 2
#: As formats/sealed.md has it.
_SEALED = 1
#: As references have times.
TIME = "%Y-%m-%dT%H:%M:%SZ"


class Body(NamedTuple):
    """The bytes of an object that was not written.

    Attributes:
        data: as the store would have had them.
        write: where they are sealed, the write id that their frames are bound to; else "".
    """

    data: bytes
    write: str = ""


def applies(error: BaseException, decision: Decision) -> bool:
    """Whether a value whose push ended so may stay in its row."""
    return bool(getattr(error, "outage", False)) and decision.outage == "inline"


def size_of(body: Sink | Writer | Sequence[Buffer]) -> int:
    """Bytes of what a codec made."""
    if hasattr(body, "tell"):
        return int(body.tell())
    return sum(memoryview(segment).nbytes for segment in body)


def body_of(body: Any, address: Address, decision: Decision) -> Body:
    """The bytes of the object that was to be made of what a codec made."""
    if decision.seal:

        def seal(core: Freight) -> tuple[str, bytes]:
            return core.seal_value(address.coordinate(), body)

        write, data = runtime.with_core(seal)
        return Body(data, write)
    return Body(body.getvalue() if hasattr(body, "getvalue") else b"".join(body))


def row(
    error: Error,
    body: Callable[[], Body | None],
    size: int,
    names: tuple[str, str, str],
    told: Told,
    attempt: Attempt,
    address: Address,
    decision: Decision,
    *,
    pickled: bool,
) -> str:
    """The JSON text of the row of a value whose store is away.

    Args:
        error: what the store's last sign was; it is raised, saying why, where the value can't stay.
        body: gives all of the object's bytes; None where they are not there any more.
        size: how many the value's are.
        names: type, extension and content type of the object.
        told: what its reference would tell.
        attempt: who pushes.
        address: whose value it is.
        decision: what holds for it.
        pickled: whether it is a pickle, or holds one.
    """
    if why := _refusal(size, decision, pickled=pickled):
        error.message = f"{error.message}; {why}"
        raise error
    try:
        made = body()
    except Error as wrong:  # (Of the keys.)
        error.message = f"{error.message}; nor can it be sealed for its row: {wrong.message}"
        raise error from wrong
    if made is None:
        error.message = (
            f"{error.message}; a part of the value was sent already, so that it can't stay in its "
            f"row ({_policy(decision)})"
        )
        raise error
    if why := _refusal(len(made.data), decision, pickled=pickled):  # (Sealed it is longer.)
        error.message = f"{error.message}; {why}"
        raise error
    kind, extension, content_type = names
    now = time.time()
    fields: dict[str, Any] = {
        "_xcom_backend": "inline",
        "_xcom_type": kind,
        "_airfreight": _SEALED_VERSION if made.write else VERSION,
        MARK: f"{error.store} was away ({error.code}): `airfreight repatriate` moves this there",
        "store": decision.store,
        "dag": address.dag,
        "run": address.run,
        "task": address.task,
    }
    if address.ti_id is not None:
        fields["ti"] = address.ti_id
    elif address.write_id is not None:
        fields["writer"] = address.write_id
    else:
        fields["map"] = -1 if address.map_index is None else address.map_index
    fields |= {
        "key": address.key,
        "attempt": attempt.number,
        "started": attempt.started_micros or int(now * 1_000_000),
        "extension": extension,
        "content_type": content_type,
        "size_bytes": len(made.data),
    }
    if told.rows is not None:
        fields["rows"] = told.rows
    if told.summary:
        fields["summary"] = told.summary
    if told.columns:
        fields["columns"] = [list(pair) for pair in told.columns]
    if told.nulls:
        fields["nulls"] = list(told.nulls)
    if told.columns_cut:
        fields["columns_cut"] = True
    if told.preview:
        fields["preview"] = [[visible(cell) for cell in line] for line in told.preview]
    fields["written"] = time.strftime(TIME, time.gmtime(now))
    if decision.retention:
        fields["expires"] = time.strftime(TIME, time.gmtime(int(now) + decision.retention))
    if owner := settings().deployment_id:
        fields["owner"] = owner
    if made.write:
        fields["write"] = made.write
        fields["sealed"] = _SEALED
    fields["body"] = to_base64(made.data)
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _policy(decision: Decision) -> str:
    return f"outage = inline of {decision.origin('outage')}"


def _refusal(size: int, decision: Decision, *, pickled: bool) -> str:
    """Why a value may not stay in its row; empty where it may."""
    most = settings().inline_max_bytes
    if size > most:
        return (
            f"{_policy(decision)} keeps values of up to {most} bytes ([airfreight] "
            f"inline_max_bytes) in their rows meanwhile, and this one takes {size}"
        )
    if decision.encrypted and not decision.seal:
        asks = decision.label("encryption_key").rstrip(",")
        return (
            f"{_policy(decision)} does not keep this value in its row, where nothing would encrypt "
            f"it: {asks} asks for that. With `seal = true` beside it, it would stay there sealed"
        )
    if pickled:
        return (
            f"{_policy(decision)} keeps no pickles in rows: whoever can write a row could run code "
            "in the task that reads it"
        )
    return ""


def is_one(fields: dict[str, Any]) -> bool:
    """Whether a row of ours holds a value whose store was away."""
    return fields["_xcom_backend"] == "inline" and MARK in fields


def is_sealed(fields: dict[str, Any]) -> bool:
    """Whether such a row says that its body is sealed: `data` then gives nothing that is not."""
    return is_one(fields) and "sealed" in fields


def is_anothers(fields: dict[str, Any]) -> bool:
    """Whether another deployment has written such a row."""
    owner = fields.get("owner", "")
    return bool(owner) and owner != settings().deployment_id


def address_of(fields: dict[str, Any]) -> Address:
    """Whose value it is, as such a row has it.

    Raises:
        CorruptError: that is not as this release writes it.
    """
    dag, run, task, key = (fields.get(name) for name in ("dag", "run", "task", "key"))
    index, ti, writer = (fields.get(name) for name in ("map", "ti", "writer"))
    if not all(type(text) is str for text in (dag, run, task, key)) or (
        [type(one) for one in (index, ti, writer) if one is not None]
        != [int if index is not None else str]
    ):
        raise _no_value_of_ours()
    return Address(dag, run, task, key, map_index=index, ti_id=ti, write_id=writer)


def stored(fields: dict[str, Any]) -> bytearray:
    """The bytes of the object that such a row stands for, as the store would have them.

    Raises:
        CorruptError: it is not as this release writes one.
        NewerFormatError: a later release wrote it.
    """
    version, sealed = fields["_airfreight"], "sealed" in fields
    known = _SEALED_VERSION if sealed else VERSION
    newest = max(known, VERSION)
    if (type(version) is int and version > newest) or (
        type(fields.get("sealed")) is int and fields["sealed"] > _SEALED
    ):
        raise NewerFormatError(
            f"the row was written in version {version} of Airfreight's format; this release reads "
            f"up to {newest}."
        )
    kind, extension = fields.get("_xcom_type"), fields.get("extension")
    try:
        body = bytearray(from_base64(fields.get("body")))
    except ValueError as error:
        raise CorruptError(f"the row's body is damaged: {error}") from error
    if (
        version != known
        or type(kind) is not str
        or (sealed and (type(fields["sealed"]) is not int or fields["sealed"] != _SEALED))
        or len(body) != fields.get("size_bytes")
        or (values.extensions(kind) and extension not in values.extensions(kind))
    ):
        raise _no_value_of_ours()
    return body


def data(fields: dict[str, Any]) -> bytearray | memoryview:
    """The bytes of the object that such a row stands for, opened where they are sealed.

    Raises:
        CorruptError, NewerFormatError: as `stored`.
        ForgedError, DeniedError: it is sealed, and does not open here or with the keys here.
        UnsupportedError: it is a pickle, or holds one, which no push leaves in a row. Neither a
            pull nor a move to the store may make anything of it.
    """
    body: bytearray | memoryview = stored(fields)
    if "sealed" in fields:
        body = _opened(fields, body)
    kind: Any = fields.get("_xcom_type")
    with loading:
        from airfreight.values import _pickles, pickle_

    try:
        pickled = _pickles.holds_pickle(kind, memoryview(body))
    except ValueError as error:
        raise CorruptError(f"the row's body is damaged: {error}") from error
    if pickled:
        with pickle_.refused():
            pickle_.require()
    return body


def rewrapped(fields: dict[str, Any]) -> dict[str, Any] | None:
    """A row whose body is sealed, its data key wrapped by the first of the keys; None where it is.

    Raises:
        CorruptError, NewerFormatError: as `stored`.
        DeniedError: the key that wraps it is not among those here.
    """
    body = stored(fields)

    def rewrap(core: Freight) -> bytes | None:
        return core.rewrap_value(body)

    end = runtime.with_core(rewrap)
    if end is None:
        return None
    body[-len(end) :] = end
    return {**fields, "body": to_base64(body)}


def _opened(fields: dict[str, Any], body: bytearray | memoryview) -> memoryview:
    """The value in a sealed body: no store is asked, but the keys are the core's."""
    address, write = address_of(fields), fields.get("write")
    if type(write) is not str:
        raise _no_value_of_ours()

    def open_value(core: Freight) -> memoryview:
        return core.open_value(address.coordinate(), write, body)

    try:
        return runtime.with_core(open_value)
    except TypeError as error:  # (No text, or a number that no index has.)
        raise _no_value_of_ours() from error
    except Error as error:
        error.message = f"the row's body is a sealed value: {error.message}"
        raise


def _no_value_of_ours() -> CorruptError:
    return CorruptError("the row has Airfreight's markers, but is no value that it writes")


def value(fields: dict[str, Any], decode: Callable[[Any, memoryview], Any]) -> Any:
    """The value of such a row. `decode`: of a type and the bytes of its object.

    Raises:
        Error: as `data`; it has expired; its library does not read it.
    """
    expires = fields.get("expires")
    if expires is not None and str(expires) <= time.strftime(TIME, time.gmtime()):
        expired = ExpiredError(f"the value expired at {expires}.")
        expired.name_xcom(fields)
        raise expired
    with loading:
        from airfreight.values import pickle_

    try:
        body = memoryview(data(fields))
    except Error as error:
        error.name_xcom(fields)
        raise
    with pickle_.refused():
        return parts.made(fields, partial(decode, fields.get("_xcom_type"), body))

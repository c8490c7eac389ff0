"""Plain JSON: what any JSON reader gives back as it was.

Exactly these types: `str` without NUL and lone surrogates, `int` of 64 bits, finite `float`,
`bool`, `None`, `list` of them, `dict` of them with `str` keys that are no marker of Airflow's or
ours. Everything else is a document.
"""

from __future__ import annotations

import json
import math
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from airfreight.values import Payload, human_bytes

if TYPE_CHECKING:
    from collections.abc import Collection

TYPE = "json"
EXTENSION = "json"
CONTENT_TYPE = "application/json"

#: Keys by which Airflow's serializers (airflow.sdk.serde, airflow.serialization.serde and their
#: predecessor) tell their own envelopes from a user's dict.
AIRFLOW_MARKERS = frozenset(
    (
        "__classname__",
        "__version__",
        "__data__",
        "__id__",
        "__type",
        "__var",
        "__source",
        "__cache__",
    )
)
#: Keys that make a row ours.
OUR_MARKERS = frozenset(("_airfreight", "_xcom_backend"))
MARKERS = AIRFLOW_MARKERS | OUR_MARKERS

#: Levels that may stay in the row. Airflow 3 validates rows with pydantic, which gives up at 255
#: (pydantic-core, recursion_guard.rs), with some levels of its own message around ours.
ROW_DEPTH = 100
#: Levels that we follow at all; Python's json has a limit near 1,000 frames, some of them taken.
MAX_DEPTH = 250

#: Integers of 64 bits, signed or unsigned: what msgpack, between task and supervisor, can carry.
MIN_INT = -(2**63)
MAX_INT = 2**64 - 1
#: From here on `float` has an exponent in JSON text, and PostgreSQL's jsonb, which keeps numbers as
#: decimals, gives the digits back without one: an `int` for Python.
MAX_ROW_FLOAT = 1e16

_ALWAYS = frozenset((str, bool, type(None)))
_SCALARS = _ALWAYS | {int, float}
_ALL = _SCALARS | {list, dict}


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
)


class Kind(IntEnum):
    """What kind of JSON a value is, from worst to best."""

    #: Not JSON.
    NOT = 0
    #: JSON, but too deep for a row.
    DEEP = 1
    #: JSON, but with floats that a database may change.
    FLOATS = 2
    #: JSON that any row keeps.
    PLAIN = 3


def classify(value: Any) -> Kind:
    """Tells the kind of JSON from types and numbers; texts are looked at by `encode`."""
    return _classify((value,), 0)


def _classify(items: Collection[Any], depth: int) -> Kind:
    # Sets of types are made at the speed of C; most lists and dicts need no more than that.
    kinds = set(map(type, items))
    if kinds <= _ALWAYS:
        return Kind.PLAIN
    if not kinds <= _ALL:
        return Kind.NOT
    worst = Kind.PLAIN
    if int in kinds:
        numbers = items if len(kinds) == 1 else [item for item in items if type(item) is int]
        if min(numbers) < MIN_INT or max(numbers) > MAX_INT:
            return Kind.NOT
    if float in kinds:
        worst = _classify_floats(
            items if len(kinds) == 1 else [item for item in items if type(item) is float]
        )
        if worst is Kind.NOT:
            return worst
    if kinds <= _SCALARS:
        return worst
    depth += 1
    if depth > ROW_DEPTH:
        if depth > MAX_DEPTH:
            return Kind.NOT
        worst = Kind.DEEP
    for item in items:
        kind = type(item)
        if kind is dict:
            if not item:
                continue
            if set(map(type, item)) != {str} or not MARKERS.isdisjoint(item):
                return Kind.NOT
            found = _classify(item.values(), depth)
        elif kind is list:
            found = _classify(item, depth)
        else:
            continue
        if found < worst:
            if found is Kind.NOT:
                return found
            worst = found
    return worst


def _classify_floats(floats: Collection[float]) -> Kind:
    # A sum is not finite when an item is not (or when it overflows: then each is looked at).
    if not math.isfinite(sum(floats)) and not all(map(math.isfinite, floats)):
        return Kind.NOT
    if min(floats) <= -MAX_ROW_FLOAT or max(floats) >= MAX_ROW_FLOAT:
        return Kind.FLOATS
    if 0.0 in floats and any(item == 0 and math.copysign(1, item) < 0 for item in floats):
        return Kind.FLOATS  # jsonb has no negative zero.
    return Kind.PLAIN


def dump(value: Any) -> bytes | None:
    """The compact text of what `classify` found to be JSON; None when a text in it is not."""
    text = _ENCODER.encode(value)
    # An escaped NUL, or a backslash and the letters: only then is a closer look worth its time.
    if "\\u0000" in text and _has_nul(value):
        return None
    try:
        return text.encode()
    except UnicodeEncodeError:  # A lone surrogate.
        return None


def _has_nul(value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return "\x00" in value
    if kind is list:
        return any(map(_has_nul, value))
    if kind is dict:
        return any(map(_has_nul, value)) or any(map(_has_nul, value.values()))
    return False


def payload(value: Any, text: bytes) -> Payload:
    """The payload of a value whose text is made already."""
    return Payload(body=(text,), summary=f"{describe(value)} · {human_bytes(len(text))} json")


def encode(value: Any, _options: Any = None, _new_sink: Any = None, /) -> Payload:
    """Encodes a value that is plain JSON.

    Raises:
        TypeError: it is not.
    """
    text = dump(value) if classify(value) else None
    if text is None:
        raise TypeError(f"value of type {type(value).__name__} is not plain JSON")
    return payload(value, text)


def decode(data: memoryview) -> Any:
    """Decodes JSON text."""
    return json.loads(str(data, "utf-8"))


def describe(value: Any) -> str:
    """Kind and size of a value, for people."""
    name = type(value).__name__
    if isinstance(value, str):
        return f"str of {len(value):,} characters"
    if isinstance(value, (list, tuple, set, frozenset)):
        return f"{name} of {len(value):,} items"
    if isinstance(value, dict):
        return f"{name} of {len(value):,} keys"
    return "None" if value is None else name

"""Plain JSON: what any JSON reader gives back as it was.

Exactly these types: `str` without NUL and lone surrogates, `int` of 64 bits, finite `float`,
`bool`, `None`, `list` of them, `dict` of them with `str` keys that are no marker of Airflow's or
ours. Everything else is a document.

`airfreight._json` (python/bindings/json) does the work; it has the same limits and markers.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from airfreight import _json
from airfreight.values import Payload, human_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class Text(NamedTuple):
    """The JSON text of a value.

    Attributes:
        kind: of JSON.
        segments: the text, compact, in UTF-8.
    """

    kind: Kind
    segments: Sequence[bytes]

    @property
    def size(self) -> int:
        """Bytes of the text."""
        return sum(map(len, self.segments))


_KINDS = tuple(Kind)


def text_of(value: Any) -> Text | None:
    """The text of a value that is plain JSON; None for all others. One pass, in C++."""
    found = _json.encode(value)
    return None if found is None else Text(_KINDS[found[0]], found[1])


def payload(value: Any, text: Text) -> Payload:
    """The payload of a value whose text is made already."""
    return Payload(text.segments, summary=f"{describe(value)} · {human_bytes(text.size)} json")


def encode(value: Any, _options: Any = None, _new_sink: Any = None, /) -> Payload:
    """Encodes a value that is plain JSON.

    Raises:
        TypeError: it is not.
    """
    text = text_of(value)
    if text is None:
        raise TypeError(f"value of type {type(value).__name__} is not plain JSON")
    return payload(value, text)


def decode(data: memoryview) -> Any:
    """Decodes JSON text. ValueError, with the place in bytes, when it is none."""
    return _json.decode(data)


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

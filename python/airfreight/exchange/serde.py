"""The seam with Airflow's own serializer, which keeps the objects that a document can't hold."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from airfreight import _airflow, values
from airfreight._imports import loading
from airfreight.values._content import is_plain_text

BaseXCom, ROWS_ARE_BYTES = _airflow.base_class()

#: `_xcom_type` of what Airflow's own serializer made and we only carry.
SERDE_TYPE = "airflow.serde"


def by_default(value: Any) -> Any:
    """What the default backend would write."""
    return BaseXCom.serialize_value(value)


def leaf(value: Any) -> str:
    """Serializes one object by Airflow's serializer, after making sure that it comes back."""
    with loading:
        from airfreight.values.document import Unsupported

    cls = type(value)
    if values.only_looks(cls):  # type: ignore[arg-type]
        raise Unsupported(cls, "its class only calls itself so, and is another")
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


def unleaf(text: str) -> Any:
    """The inverse of `leaf`."""
    row: Any = text.encode() if ROWS_ARE_BYTES else json.loads(text)
    return BaseXCom.deserialize_value(SimpleNamespace(value=row))


def _by_airflow(value: Any, cls: type) -> str:
    with loading:
        from airfreight.values import _same

    text = text_of(by_default(value), cls)
    # What is read is the text, not what a serializer has left as it was.
    _same.check(value, unleaf(text))
    return text


def text_of(row: Any, cls: type) -> str:
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

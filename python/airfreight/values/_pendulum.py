"""Tags of pendulum's times, where Airflow's serializer would change them: `formats/document.md`.

It keeps a point in time and a zone: not `fold`, which `pendulum.datetime` sets on each, nor that
there is no zone.
"""

from __future__ import annotations

import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airfreight._imports import loading
from airfreight.values import class_name
from airfreight.values._content import typed
from airfreight.values._unsupported import RAW
from airfreight.values._zones import pack_zone, unpack_zone

if TYPE_CHECKING:
    from collections.abc import Callable

    from airfreight.values._tags import Tag


def tag(value: Any) -> Tag | None:
    """The tag of a `pendulum.DateTime`; None for other values.

    Raises:
        Unsupported: its time zone can't be kept exactly.
    """
    if class_name(type(value)) != "pendulum.datetime.DateTime":
        return None
    text = datetime.datetime.combine(value.date(), _naive_time(value)).isoformat()
    content = [text, pack_zone(value.tzinfo, type(value)), value.fold]
    return "~pendulum.DateTime", content, RAW


def _naive_time(value: Any) -> datetime.time:
    return datetime.time(value.hour, value.minute, value.second, value.microsecond)


def _untag(content: Any) -> Any:
    text, zone, fold = typed(content, list)
    with loading:
        pendulum = import_module("pendulum")
    at = datetime.datetime.fromisoformat(typed(text, str))
    return pendulum.DateTime(
        *(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond),
        tzinfo=unpack_zone(zone),
        fold=typed(fold, int),
    )


DECODERS: dict[str, Callable[[Any], Any]] = {"~pendulum.DateTime": _untag}

"""Time zones as JSON: `formats/document.md`, "A zone"."""

from __future__ import annotations

import datetime
import pickle
import zoneinfo
from importlib import import_module
from typing import Any

from airfreight._imports import loading
from airfreight.values import class_name
from airfreight.values._content import (
    is_plain_text,
    text_from_base64,
    text_to_base64,
    typed,
)
from airfreight.values._unsupported import Unsupported

_MICROSECOND = datetime.timedelta(microseconds=1)


def pack_zone(zone: datetime.tzinfo | None, owner: type) -> Any:
    """A time zone as JSON; Unsupported, for `owner`, when it is none that is kept exactly."""
    if zone is None:
        return None
    if zone is datetime.timezone.utc:
        return "utc"
    name = class_name(type(zone))
    if name == "datetime.timezone":
        return _pack_fixed(zone)
    if name == "zoneinfo.ZoneInfo" and isinstance(zone, zoneinfo.ZoneInfo) and zone.key:
        try:
            zone.__reduce__()
        except pickle.PicklingError:
            raise Unsupported(
                owner, "its time zone was read from a file, and its name does not tell it"
            ) from None
        return ["iana", zone.key]
    if name.startswith("pytz.") and (packed := _pack_pytz(zone)) is not None:
        return packed
    if name == "pendulum.tz.timezone.Timezone":
        packed = ["pendulum", getattr(zone, "key", None) or getattr(zone, "name", None)]
        if type(packed[1]) is str and is_plain_text(packed[1]) and unpack_zone(packed) == zone:
            return packed
    if name == "pendulum.tz.timezone.FixedTimezone":
        offset, label = getattr(zone, "_offset", None), getattr(zone, "_name", None)
        if type(offset) is int and type(label) is str and is_plain_text(label):
            return ["pendulum-fixed", offset, label]
    raise Unsupported(owner, f"its time zone is of type {name}, which is not kept exactly")


def _pack_fixed(zone: datetime.tzinfo) -> list[Any]:
    offset = zone.utcoffset(None)
    label = zone.tzname(None)
    assert offset is not None
    assert label is not None
    shown: Any = label
    if label == datetime.timezone(offset).tzname(None):
        shown = None
    elif not is_plain_text(label):  # The name is any text.
        shown = {"~str": text_to_base64(label)}
    return ["fixed", offset // _MICROSECOND, shown]


def _pack_pytz(zone: Any) -> list[Any] | None:
    """What pytz pickles: the name and, of a zone that a time is bound to, which of its offsets."""
    with loading:
        pytz = import_module("pytz")
    function, arguments = zone.__reduce__()
    packed = {pytz._p: "pytz", pytz._UTC: "pytz-utc", pytz.FixedOffset: "pytz-fixed"}.get(function)
    if packed is None or not all(type(one) in (str, int) for one in arguments):
        return None
    return [packed, *arguments] if function(*arguments) is zone else None


def unpack_zone(content: Any) -> datetime.tzinfo | None:
    """The inverse of `pack_zone`. ValueError: it is none; ImportError: its library is missing."""
    if content is None:
        return None
    if content == "utc":
        return datetime.timezone.utc
    kind, *rest = typed(content, list)
    if kind == "fixed":
        micros, label = rest
        offset = datetime.timedelta(microseconds=typed(micros, int))
        if label is None:
            return datetime.timezone(offset)
        if type(label) is dict:
            label = text_from_base64(label["~str"])
        return datetime.timezone(offset, typed(label, str))
    if kind == "iana":
        (key,) = rest
        try:
            return zoneinfo.ZoneInfo(typed(key, str))
        except OSError as error:  # The name of a folder of zones.
            raise ValueError(f"{key!r} is no time zone") from error
    zone: datetime.tzinfo
    if kind in ("pytz", "pytz-utc", "pytz-fixed"):
        with loading:
            pytz = import_module("pytz")
        function = {"pytz": pytz._p, "pytz-utc": pytz._UTC, "pytz-fixed": pytz.FixedOffset}[kind]
        zone = function(*rest)
        return zone
    if kind == "pendulum":
        with loading:
            pendulum = import_module("pendulum")
        (key,) = rest
        zone = pendulum.timezone(typed(key, str))
        return zone
    if kind == "pendulum-fixed":
        with loading:
            timezones = import_module("pendulum.tz.timezone")
        seconds, label = rest
        zone = timezones.FixedTimezone(typed(seconds, int), typed(label, str))
        return zone
    raise ValueError(f"unknown kind of time zone {kind!r}")

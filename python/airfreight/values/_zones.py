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
    # (Its releases have them in different modules.)
    if name.startswith("dateutil.") and (packed := _pack_dateutil(zone)) is not None:
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


def _pack_fixed(zone: Any) -> list[Any]:
    # (By `tzname` one that was given the name that it has anyway looks like one without.)
    offset, *given = zone.__getinitargs__()
    name: Any = given[0] if given else None
    if name is not None and not is_plain_text(name):  # The name is any text.
        name = {"~str": text_to_base64(name)}
    return ["fixed", offset // _MICROSECOND, name]


def _pack_pytz(zone: Any) -> list[Any] | None:
    """What pytz pickles: the name and, of a zone that a time is bound to, which of its offsets."""
    with loading:
        pytz = import_module("pytz")
    function, arguments = zone.__reduce__()
    packed = {pytz._p: "pytz", pytz._UTC: "pytz-utc", pytz.FixedOffset: "pytz-fixed"}.get(function)
    if packed is None or not all(type(one) in (str, int) for one in arguments):
        return None
    return [packed, *arguments] if function(*arguments) is zone else None


def _pack_dateutil(zone: Any) -> list[Any] | None:
    """The name by which dateutil finds a zone; its tables have the path that it was found at.

    None of those of a machine, or of a rule of their own.
    """
    with loading:
        tz = import_module("dateutil.tz")
    kind = type(zone)
    if kind is tz.tzutc:
        return ["dateutil-utc"]
    if kind is tz.tzoffset:
        packed = ["dateutil-fixed", zone._offset // _MICROSECOND, zone._name]
        name_is_text = zone._name is None or (type(zone._name) is str and is_plain_text(zone._name))
        return packed if name_is_text else None
    path = getattr(zone, "_filename", None)
    if type(path) is not str:
        return None
    for folder in (*getattr(tz, "TZPATHS", ()), *zoneinfo.TZPATH):
        path = path.removeprefix(f"{folder}/")
    try:
        found = _find_dateutil(path)
    except ValueError:
        return None
    return ["dateutil", path] if type(found) is kind and found == zone else None


def _find_dateutil(name: str) -> Any:
    with loading:
        tz = import_module("dateutil.tz")
    # What is no name of a zone dateutil takes for a path, or for a rule of POSIX.
    found = None if name.startswith((":", "/", ".")) or "/." in name else name and tz.gettz(name)
    if not isinstance(found, tz.tzfile):
        raise ValueError(f"{name!r} is no time zone")  # noqa: TRY004 (of a content)
    return found


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
    if kind == "dateutil":
        (key,) = rest
        zone = _find_dateutil(typed(key, str))
        return zone
    if kind in ("dateutil-utc", "dateutil-fixed"):
        with loading:
            tz = import_module("dateutil.tz")
        if kind == "dateutil-utc":
            zone = tz.tzutc(*rest)
            return zone
        micros, label = rest
        label = label if label is None else typed(label, str)
        zone = tz.tzoffset(label, datetime.timedelta(microseconds=typed(micros, int)))
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

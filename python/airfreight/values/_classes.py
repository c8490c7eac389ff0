"""Tags of objects of a user's classes: `formats/document.md`.

Which classes may be loaded is for the administrator to say, where Airflow has it said: `[core]
allowed_deserialization_classes`. It is looked at on a push as well as on a pull.
"""

from __future__ import annotations

import enum
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airfreight import _airflow
from airfreight._imports import loading
from airfreight.values import class_name
from airfreight.values._content import items, typed
from airfreight.values._unsupported import ITEMS, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from airfreight.values._tags import Tag

HOW_TO_ALLOW = (
    "add its class to [core] allowed_deserialization_classes "
    "(AIRFLOW__CORE__ALLOWED_DESERIALIZATION_CLASSES)"
)


def tag(value: Any) -> Tag | None:
    """The tag of an object whose class tells what it holds; None for all others.

    Raises:
        Unsupported: its class would not be found, or not be loaded.
    """
    cls = type(value)
    if isinstance(value, enum.Enum):
        name = value._name_ if cls.__members__.get(value._name_ or "") is value else None
        return "~enum", [name, None if name is not None else value._value_], ITEMS, name_of(cls)
    if is_namedtuple(value):
        return "~named", list(tuple.__iter__(value)), ITEMS, name_of(cls)
    return None


def is_namedtuple(value: Any) -> bool:
    """Whether a value is what `collections.namedtuple` or `typing.NamedTuple` makes."""
    if not isinstance(value, tuple):
        return False
    fields = getattr(value, "_fields", None)
    return (
        type(fields) is tuple
        and len(fields) == tuple.__len__(value)
        and all(type(name) is str for name in fields)
        and not hasattr(value, "__dict__")  # A subclass may hold more.
    )


def name_of(cls: type) -> str:
    """`module:name` of a class that a reader finds and may load; Unsupported for another."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    if cls.__module__ == "__main__" or _find(name) is not cls:
        raise Unsupported(
            cls,
            "another process would not find its class by its name: define it at the top level of "
            "a module that can be imported",
        )
    if not _airflow.may_load(class_name(cls)):
        raise Unsupported(cls, f"Airflow would refuse to read it: {HOW_TO_ALLOW}, or push a dict")
    return name


def load(name: Any) -> Any:
    """The class of a name, where that may be loaded.

    Raises:
        ImportError: it may not, or is not there.
    """
    full = typed(name, str).replace(":", ".")
    if not _airflow.may_load(full):
        raise ImportError(
            f"an XCom holds an object of class {full}, which may not be loaded here: {HOW_TO_ALLOW}"
        )
    cls = _find(name)
    if not isinstance(cls, type):
        raise ImportError(  # noqa: TRY004 (as for a module that is not there)
            f"an XCom holds an object of class {full}, which is not to be found here"
        )
    return cls


def _find(name: str) -> Any:
    module, _, qualified = name.partition(":")
    try:
        # (A DAG's file has a name of its own, under which Airflow has loaded it.)
        found: Any = sys.modules.get(module)
        if found is None:
            with loading:
                found = import_module(module)
        for part in qualified.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError):
        return None
    return found


def _unenum(content: Any) -> Any:
    name, named = typed(content, list)
    cls = load(name)
    if not issubclass(cls, enum.Enum):
        raise ValueError(f"{name} is no Enum")  # noqa: TRY004 (of a content)
    member, value = typed(named, list)
    return cls(value) if member is None else cls[typed(member, str)]


def _unnamed(content: Any) -> Any:
    name, members = items(content, str, list)
    cls = load(name)
    if not (issubclass(cls, tuple) and len(getattr(cls, "_fields", ())) == len(members)):
        raise ValueError(f"{name} is no tuple of {len(members)} named fields")
    return tuple.__new__(cls, members)


DECODERS: dict[str, Callable[[Any], Any]] = {"~enum": _unenum, "~named": _unnamed}

"""Tags of objects of a user's classes: `formats/document.md`.

Which classes may be loaded is for the administrator to say, where Airflow has it said: `[core]
allowed_deserialization_classes`. It is looked at on a push as well as on a pull.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from airfreight import _airflow
from airfreight._imports import loading
from airfreight.values import class_name
from airfreight.values._content import items, typed
from airfreight.values._unsupported import FIELDS, ITEMS, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from airfreight.values._tags import Tag

#: Airflow's own list of classes that may be loaded.
SETTING = _airflow.ALLOWED_CLASSES
#: What is in reasons that say more than Airflow's serializer does.
TELLING = (SETTING, "__orig_class__")
HOW_TO_ALLOW = f"add its class to {SETTING} (AIRFLOW__CORE__ALLOWED_DESERIALIZATION_CLASSES)"


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


def tag_fields(value: Any) -> Tag | None:
    """The tag of a dataclass, attrs or pydantic object that is nothing but its fields.

    Raises:
        Unsupported: its class would not be found, or not be loaded.
    """
    state = _state_of(value)
    if state is None:
        return None
    name = name_of(type(value))
    model = state.model
    if model is not None and (model.extra or model.private):
        return "~pydantic", state.fields, FIELDS, [name, *model]
    # (Names of none of them are none.)
    more = model and [model.given, model.extra is not None, model.private is not None]
    return "~object", state.fields, FIELDS, [name, more]


#: Who has one of his own says otherwise what an object is made of.
_REDUCE = ("__reduce__", "__reduce_ex__")


class _Model(NamedTuple):
    """Names of a pydantic model's members.

    Attributes:
        given: those that were given.
        extra: those that are no fields; None: there may be none.
        private: its private ones; None: there are none declared.
    """

    given: list[str]
    extra: list[str] | None
    private: list[str] | None


class _State(NamedTuple):
    """What an object is made of.

    Attributes:
        fields: by their names; of a pydantic model all members.
        model: of a pydantic model.
    """

    fields: dict[str, Any]
    model: _Model | None = None


def _state_of(value: Any) -> _State | None:
    """The state of an object of declared fields; None when it is another, or holds more."""
    cls: Any = type(value)
    if any(getattr(cls, name) is not getattr(object, name) for name in _REDUCE):
        return None
    if any(base.__module__ == "builtins" and base is not object for base in cls.__mro__):
        return None
    own: Any = getattr(value, "__dict__", {})
    # (One of pydantic's is a dataclass like any other, and no model.)
    if dataclasses.is_dataclass(cls):
        names = [field.name for field in dataclasses.fields(cls)]
    elif isinstance(getattr(cls, "__pydantic_fields__", None), dict):
        return _state_of_model(value, own)
    elif hasattr(cls, "__attrs_attrs__"):
        names = [attribute.name for attribute in cls.__attrs_attrs__]
    else:
        return None
    if "__orig_class__" in own and "__orig_class__" not in names:
        # (`typing` sets it. What stands in the brackets is any object: no class that has a name.)
        made = getattr(cls, "__qualname__", "").rpartition(".")[2]
        raise Unsupported(
            cls,
            f"it was made as {made}[…](…), which Python notes in its __orig_class__, and what "
            f"comes back would not have that: make it as {made}(…), without the brackets",
        )
    slots = {name for base in cls.__mro__ for name in vars(base).get("__slots__", ())}
    if not set(own) <= set(names) or not slots - {"__weakref__", "__dict__"} <= set(names):
        return None
    return _State({name: getattr(value, name) for name in names if hasattr(value, name)})


def _state_of_model(value: Any, own: dict[str, Any]) -> _State | None:
    extra, private = value.__pydantic_extra__, value.__pydantic_private__
    members = dict(own)
    for more in (extra or {}, private or {}):
        if not all(name.isidentifier() and name not in members for name in more):
            return None
        members.update(more)
    names = [None if more is None else list(more) for more in (extra, private)]
    return _State(members, _Model(sorted(value.__pydantic_fields_set__), *names))


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


def _unobject(content: Any) -> Any:
    head, fields = items(content, list, dict)
    name, more = head
    cls = load(name)
    if more is not None:
        given, extra, private = items(more, list, bool, bool)
        return _model(cls, fields, given, {} if extra else None, {} if private else None)
    made = object.__new__(cls)
    if not (dataclasses.is_dataclass(cls) or hasattr(cls, "__attrs_attrs__")):
        raise ValueError(f"{name} is no class of declared fields")
    for field, value in fields.items():
        # As copies are made: what a frozen class, or its __init__, forbids is not asked.
        object.__setattr__(made, field, value)
    return made


def _unpydantic(content: Any) -> Any:
    head, members = items(content, list, dict)
    name, given, *more = head
    extra, private = (
        None if names is None else {one: members.pop(one) for one in typed(names, list)}
        for names in more
    )
    return _model(load(name), members, typed(given, list), extra, private)


def _model(
    cls: Any,
    fields: dict[str, Any],
    given: list[str],
    extra: dict[str, Any] | None,
    private: dict[str, Any] | None,
) -> Any:
    declared = getattr(cls, "__pydantic_fields__", None)
    if not isinstance(declared, dict):
        raise ValueError(f"{class_name(cls)} is no class of pydantic's")  # noqa: TRY004 (of a content)
    made = cls.__new__(cls)
    # Databases reorder members.
    fields = {one: fields[one] for one in declared if one in fields} | fields
    made.__setstate__(
        {
            "__dict__": fields,
            "__pydantic_fields_set__": set(given),
            "__pydantic_extra__": extra,
            "__pydantic_private__": private,
        }
    )
    return made


DECODERS: dict[str, Callable[[Any], Any]] = {
    "~enum": _unenum,
    "~named": _unnamed,
    "~object": _unobject,
    "~pydantic": _unpydantic,
}

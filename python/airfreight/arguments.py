"""Arguments of Python tasks, of which Airflow renders an excerpt while the task gets all.

Airflow puts the values of XComs in the place of a task's arguments, turns all of them to text for
the page "Rendered templates", cuts that to `[core] max_templated_field_length` characters, and runs
the task (`_prepare` and `_execute_task` in airflow/sdk/execution_time/task_runner.py;
`_execute_task_with_callbacks` in airflow/models/taskinstance.py). The text of a list of 20 MB takes
ten seconds, of which 4,096 characters stay.

Here a reference to an XCom among the arguments (`XComArg`) becomes one of a subclass. It is pulled
as before; but a value with a longer text than is kept goes into the arguments inside a `_Held`,
which stands for an excerpt of it when Airflow makes text, and the operator is told to take all of
them out again before it executes, by what it has for that: `pre_execute`. Nothing of Airflow is
replaced. A value with a short text, and any that something unknown is about, goes its usual way.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import logging
from typing import Any

from airfreight import _airflow

_log = logging.getLogger("airfreight")

#: The fields of an operator that hold arguments.
_FIELDS = ("op_args", "op_kwargs")
#: How many times the characters that Airflow keeps an excerpt has: Airflow's text of it is longer
#: than what is kept, so that it is cut and marked as it would be without us.
_TIMES = 2
#: References deeper than that inside an argument are left alone.
_DEEPEST_REFERENCE = 10
#: Lists and dicts deeper than that inside a value are left to Airflow.
_DEEPEST_VALUE = 50
#: Libraries whose objects have a text of some lines that is slow to make, and how many characters
#: that is at the least.
_LIBRARIES = ("pandas", "polars", "pyarrow")
_LEAST_TEXT = 20
#: Characters between two elements.
_SEPARATOR = 2
#: What has to be Airflow's own of an operator, and where Airflow has it: an operator that renders
#: or prepares in a way of its own may look at its arguments meanwhile.
_METHODS = ("pre_execute", "render_template_fields", "_do_render_template_fields")
_MODULES = (
    "airflow.sdk.bases.",
    "airflow.sdk.definitions.",
    "airflow.models.",
    "airflow.template.",
)

# The subclasses made so far, by what they derive from.
_bounded: dict[type, type] = {}


def bound(task: Any, operator: Any, mapped: dict[str, Any] | None) -> None:
    """Has large values among a task's arguments rendered in part.

    Args:
        task: an operator, or a mapped one.
        operator: the class of the operator that runs.
        mapped: of a mapped one, what all of its instances share.
    """
    if not _is_ordinary(operator):
        return
    for name in _FIELDS:
        before = getattr(task, name, None) if mapped is None else mapped.get(name)
        after = _replaced(before, (name,))
        if after is before:
            continue
        if mapped is not None:
            mapped[name] = after
        else:
            # Past the operator's own `__setattr__`, which would look for dependencies again.
            object.__setattr__(task, name, after)


def _is_ordinary(operator: Any) -> bool:
    """Whether an operator renders its arguments, and prepares to execute, as Airflow's own do."""
    return all(
        next(base for base in operator.__mro__ if name in vars(base)).__module__.startswith(
            _MODULES
        )
        for name in _METHODS
    )


def _replaced(value: Any, place: tuple[Any, ...]) -> Any:
    """The same with other references, or itself where there are none.

    `place` is the field, and the keys and indexes in it that lead to the value.
    """
    kind = type(value)
    if len(place) < _DEEPEST_REFERENCE:
        if kind is dict:
            members = {key: _replaced(one, (*place, key)) for key, one in value.items()}
            return members if any(members[key] is not value[key] for key in value) else value
        if kind in (list, tuple):
            items = [_replaced(one, (*place, at)) for at, one in enumerate(value)]
            same = all(new is old for new, old in zip(items, value, strict=True))
            return value if same else kind(items)
    return _bind(value, place) if _is_reference(value) else value


def _is_reference(value: Any) -> bool:
    # Where it lies depends on the release. `.map`, `.zip` and arguments of mapped groups are some.
    return any(
        base.__name__ == "ResolveMixin" and base.__module__.startswith("airflow.")
        for base in type(value).__mro__
    )


def _bind(reference: Any, place: tuple[Any, ...]) -> Any:
    cls = type(reference)
    if cls in _bounded.values():
        return reference
    if cls not in _bounded:
        _bounded[cls] = _subclass(cls)
    made = copy.copy(reference)
    made.__class__ = _bounded[cls]
    object.__setattr__(made, "_airfreight_place", place)
    return made


def _subclass(cls: Any) -> type:
    class Bounded(cls):  # type: ignore[misc]
        __slots__ = ()

        def resolve(self, context: Any, *args: Any, **kwargs: Any) -> Any:
            value = super().resolve(context, *args, **kwargs)
            return _hold(value, context, self._airfreight_place)

        def __reduce_ex__(self, protocol: Any) -> Any:
            # What is copied with all of its DAG, or pickled, is the reference that it was.
            made, of, *rest = super().__reduce_ex__(protocol)
            return made, tuple(cls if one is Bounded else one for one in of), *rest

    for name in ("__module__", "__name__", "__qualname__"):
        setattr(Bounded, name, getattr(cls, name))
    return Bounded


class _Held:
    """A value, in the place of an argument from its pull to the start of the task.

    Airflow 3.1 and later asks `serialize` for its text, earlier releases `repr`.
    """

    __slots__ = ("_shown", "value")

    def __init__(self, value: Any, shown: Any) -> None:
        self.value = value
        self._shown = shown

    def serialize(self) -> Any:
        return self._shown

    def __repr__(self) -> str:
        is_text = isinstance(self._shown, str) and not isinstance(self.value, str)
        return str(self._shown) if is_text else repr(self._shown)


def _hold(value: Any, context: Any, place: tuple[Any, ...]) -> Any:
    """The value of an argument, held where it is large and the operator will take it out again."""
    try:
        excerpt = _Excerpt(_TIMES * _kept())
        shown = excerpt.of(value)
        if not excerpt.cut:
            return value
        operator = context["task"]
        # (Under a mapped task it is the operator of this instance by now.)
        if not _is_ordinary(type(operator)):
            return value
        hook = operator._pre_execute_hook
        places = getattr(hook, "airfreight_places", None)
        if places is None:
            places = []
            operator._pre_execute_hook = _before(operator, hook, places)
        places.append(place)
        return _Held(value, shown)
    except Exception:  # noqa: BLE001 (the task runs all the same, with the value as it is)
        _log.debug("Airfreight could not bound how an argument is rendered", exc_info=True)
        return value


def _before(operator: Any, hook: Any, places: list[tuple[Any, ...]]) -> Any:
    """What the operator is to do before it executes: take the values out, then what it has to."""

    def release(context: Any) -> Any:
        _release(operator, context, places)
        return None if hook is None else hook(context)

    def release_generating(context: Any) -> Any:
        _release(operator, context, places)
        return (yield from hook(context))

    # Airflow runs generator functions in another way than functions.
    made: Any = release_generating if inspect.isgeneratorfunction(hook) else release
    made.airfreight_places = places
    return made


def _release(operator: Any, context: Any, places: list[tuple[Any, ...]]) -> None:
    tasks = [operator]
    if context.get("task") is not operator:  # A copy of an operator has its hook, too.
        tasks.append(context.get("task"))
    for task in tasks:
        for name, *path in places:
            # (A hook of a DAG's own may have changed what there is.)
            with contextlib.suppress(AttributeError, LookupError):
                before = getattr(task, name)
                after = _released(before, path)
                if after is not before:
                    setattr(task, name, after)


def _released(value: Any, path: list[Any]) -> Any:
    """A value with what is held at a place in it taken out; itself when nothing is."""
    if type(value) is _Held:
        return value.value
    if not path or type(value) not in (dict, list, tuple):
        return value
    before = value[path[0]]
    after = _released(before, path[1:])
    if after is before:
        return value
    # (A tuple can't be changed, and another may have the list.)
    changed: Any = dict(value) if type(value) is dict else list(value)
    changed[path[0]] = after
    return tuple(changed) if type(value) is tuple else changed


def _kept() -> int:
    """How many characters of a field's text Airflow keeps."""
    return max(int(_airflow.configuration().getint("core", "max_templated_field_length")), 1)


class _Excerpt:
    """The first part of a value: as much of it as makes a text of so many characters."""

    def __init__(self, characters: int) -> None:
        self._left = characters
        #: Whether something was left out.
        self.cut = False

    def of(self, value: Any, depth: int = 0) -> Any:
        """The excerpt of a value, which takes a time by its own size, not the value's."""
        if isinstance(value, (str, bytes, bytearray)):
            return self._of_text(value)
        if depth < _DEEPEST_VALUE:
            if isinstance(value, dict):
                return self._of_dict(value, depth)
            if isinstance(value, (list, tuple, set, frozenset)):
                return self._of_items(value, depth)
        is_large = type(value).__module__.partition(".")[0] in _LIBRARIES
        self._left -= _LEAST_TEXT if is_large else 1
        if is_large and callable(inspect.getattr_static(value, "serialize", None)):
            # All of its bytes, which Airflow 3.1 and later would take for its text
            # (`serialize_object` in `_serialize_template_field`).
            self.cut = True
            return str(value)
        return value

    def _of_text(self, value: Any) -> Any:
        self._left -= len(value)
        if self._left >= 0:
            return value
        self.cut = True
        return value[: self._left]

    def _of_dict(self, value: dict[Any, Any], depth: int) -> dict[Any, Any]:
        shown = {}
        for key, one in value.items():
            if self._left <= 0:
                self.cut = True
                break
            self._left -= _SEPARATOR + (len(key) if isinstance(key, str) else 1)
            shown[key] = self.of(one, depth + 1)
        return shown

    def _of_items(self, value: Any, depth: int) -> Any:
        shown = []
        for one in value:
            if self._left <= 0:
                self.cut = True
                break
            self._left -= _SEPARATOR
            shown.append(self.of(one, depth + 1))
        if isinstance(value, tuple):
            return tuple(shown)
        return set(shown) if isinstance(value, (set, frozenset)) else shown

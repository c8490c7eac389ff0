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
replaced.

Nothing but Airflow's own code may meet a `_Held`. So a value goes its usual way where Airflow does
not render the task in order to run it, and where something that is not Airflow's might look at the
arguments between their rendering and `pre_execute`: a template, a listener, a method of the
operator's own. Callbacks for what goes wrong meanwhile take the values out first.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import decimal
import inspect
import logging
import sys
from types import FunctionType
from typing import Any

from airfreight import _airflow

_log = logging.getLogger("airfreight")

#: The fields of an operator that hold arguments.
_FIELDS = ("op_args", "op_kwargs")
#: References deeper than that inside an argument are left alone.
_DEEPEST_REFERENCE = 10
#: What has to be Airflow's own of an operator, and where Airflow has it: an operator that renders
#: or prepares in a way of its own may look at its arguments meanwhile.
_METHODS = (
    "pre_execute",
    "render_template_fields",
    "_do_render_template_fields",
    "render_template",
    "_render",
    "get_template_env",
    "on_kill",
    "__setattr__",
    "__getattribute__",
)
_MODULES = (
    "airflow.sdk.bases.",
    "airflow.sdk.definitions.",
    "airflow.models.",
    "airflow.template.",
)
#: What renders a task that is run then, and where that runs through on its way here: all of it is
#: Airflow's, but for the spans of its traces.
_RUNNERS = (
    ("airflow.sdk.execution_time.task_runner", "_prepare"),
    ("airflow.models.taskinstance", "_execute_task_with_callbacks"),
)
_RUN_THROUGH = (
    "airfreight.",
    "airflow.sdk.",
    "airflow.models.",
    "airflow.template.",
    "airflow.utils.",
    "airflow._shared.",
    "contextlib",
    "opentelemetry.",
)
_MOST_FRAMES = 100
#: What is called of an operator that fails before it executes.
_CALLBACKS = ("on_failure_callback", "on_retry_callback", "on_skipped_callback")
#: How many parts of fields that are rendered later are looked at.
_MOST_PARTS = 1_000
_NO_TEMPLATES = (
    type(None), bool, int, float, complex, bytes, datetime.date, datetime.time,
    datetime.timedelta, datetime.tzinfo, decimal.Decimal, type, FunctionType,
)  # fmt: skip
#: What begins something in a template of Jinja.
_TEMPLATE_MARKS = ("{{", "{%", "{#")

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
        # Airflow 3.0 would take what `serialize` returns for all of a field as it is, unmasked.
        if _airflow.is_reference(before):
            continue
        after = _replaced(before, (name,))
        if after is before or (mapped is not None and not _is_serialized(after)):
            continue
        if mapped is not None:
            mapped[name] = after
        else:
            # Past the operator's own `__setattr__`, which would look for dependencies again.
            object.__setattr__(task, name, after)


def _is_ordinary(operator: Any) -> bool:
    """Whether an operator renders its arguments, and prepares to execute, as Airflow's own do."""
    if any(inspect.getattr_static(operator, name, None) is not None for name in _FIELDS):
        return False  # Properties.
    for name in _METHODS:
        base = next(base for base in operator.__mro__ if name in vars(base))
        method = vars(base)[name]
        # (One that was put in its place, and copied its name, has other globals.)
        if base is not object and not (
            base.__module__.startswith(_MODULES)
            and type(method) is FunctionType
            and method.__module__.startswith(_MODULES)
            and method.__globals__["__name__"].startswith("airflow.")
        ):
            return False
    return True


def _is_serialized(value: Any) -> bool:
    """Whether Airflow can write down what all instances of a mapped task share.

    In 2.9 it goes by the very class of a reference.
    """
    serialize = getattr(sys.modules.get("airflow.models.xcom_arg"), "serialize_xcom_arg", None)
    kind = type(value)
    if serialize is None:
        return True
    if kind in (dict, list, tuple):
        return all(map(_is_serialized, value.values() if kind is dict else value))
    if kind in _bounded.values():
        try:
            serialize(value)
        except Exception:  # noqa: BLE001 (whatever it is, the DAG could not be read)
            return False
    return True


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
    return _bind(value, place) if _airflow.is_reference(value) else value


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
            try:
                value = super().resolve(context, *args, **kwargs)
            except BaseException:
                _give_up(context)
                raise
            return _hold(value, context, self)

        def __reduce_ex__(self, protocol: Any) -> Any:
            # What is copied with all of its DAG, or pickled, is the reference that it was.
            made, of, *rest = super().__reduce_ex__(protocol)
            return made, tuple(cls if one is Bounded else one for one in of), *rest

        def __eq__(self, other: object) -> bool:
            other = copy.copy(other) if type(other) is Bounded else other
            return bool(copy.copy(self) == other)

        __hash__ = cls.__hash__

    for name in ("__module__", "__name__", "__qualname__"):
        setattr(Bounded, name, getattr(cls, name))
    return Bounded


class _Held:
    """A value, in the place of an argument from its pull to the start of the task.

    Airflow 3.1 and later asks `serialize` for its text, earlier releases `str` and `repr`.
    """

    __slots__ = ("_shown", "value")

    def __init__(self, value: Any, shown: Any) -> None:
        self.value = value
        self._shown = shown

    def serialize(self) -> Any:
        return self._shown

    def __str__(self) -> str:
        return str(self._shown)

    def __repr__(self) -> str:
        return repr(self._shown)


def _hold(value: Any, context: Any, reference: Any) -> Any:
    """The value of an argument, held where it is large and the operator will take it out again."""
    try:
        from airfreight._excerpt import excerpt

        # First what is quick. (Under a mapped task it is the operator of this instance by now. In
        # Airflow 3.0 the context's own `task` is another one, that is never rendered.)
        operator = context["ti"].task
        place = reference._airfreight_place
        if not _is_there(reference, operator, place) or not _is_unseen(operator, context, place):
            return value
        is_cut, shown = excerpt(value, _kept())
        if not is_cut:
            return value
        hold = _hold_of(operator)
        if hold is None:
            hold = _Hold(operator)
            hold.begin()
        hold.places.append(place)
        return _Held(value, shown)
    except Exception:  # noqa: BLE001 (the task runs all the same, with the value as it is)
        _log.debug("Airfreight could not bound how an argument is rendered", exc_info=True)
        return value


def _is_there(reference: Any, operator: Any, place: tuple[Any, ...]) -> bool:
    """Whether it is this argument of the operator that is resolved: it has not been before."""
    name, *path = place
    found = vars(operator).get(name)
    for key in path:
        if type(found) not in (dict, list, tuple):
            return False
        found = found[key]
    return found is reference


def _is_unseen(operator: Any, context: Any, place: tuple[Any, ...]) -> bool:
    """Whether nothing but Airflow will look at an argument until the operator executes."""
    if not _is_ordinary(type(operator)) or any(name in vars(operator) for name in _METHODS):
        return False
    # Airflow runs generators in another way than functions, and in 2.9 not at all.
    if inspect.isgeneratorfunction(operator._pre_execute_hook):
        return False
    # Airflow 3.3 and later renders it before the task executes, too.
    if context.get("map_index_template") is not None:
        return False
    # Airflow 3.2 and later looks for `op_kwargs.x.y` with another way of rendering.
    if any("." in path for path in getattr(operator, "template_fields_renderers", None) or ()):
        return False
    masker = _airflow.Masker()
    # All of what has such a name is masked, and by that is shorter than it looks.
    if any(isinstance(key, str) and masker.redact("x", key) != "x" for key in place):
        return False
    runner = _runner(operator)
    if runner is None:
        return False
    # Airflow 3 calls its listeners before the task's own `pre_execute`, Airflow 2 after.
    if runner["__name__"].startswith("airflow.sdk.") and (
        runner["get_listener_manager"]().hook.on_task_instance_running.get_hookimpls()
    ):
        return False
    fields = list(operator.template_fields)
    # Templates there would see it.
    later = [vars(operator).get(name) for name in fields[fields.index(place[0]) + 1 :]]
    return not any(callable(one) for one in later) and _has_no_templates(later, operator)


def _runner(operator: Any) -> dict[str, Any] | None:
    """The globals of Airflow's function that renders this operator to run it, if one does."""
    frame = inspect.currentframe()
    renders = False
    for _ in range(_MOST_FRAMES):
        frame = None if frame is None else frame.f_back
        if frame is None:
            break
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if (module, name) in _RUNNERS:
            return frame.f_globals if renders else None
        if not module.startswith(_RUN_THROUGH):
            break
        if name == "_do_render_template_fields":
            if renders or frame.f_locals.get("parent") is not operator:
                break
            renders = True
    return None


def _has_no_templates(values: list[Any], operator: Any) -> bool:
    """Whether to render these fields takes nothing but references of ours out of them."""
    if getattr(operator.get_dag(), "jinja_environment_kwargs", None):
        return False  # It may have other marks.
    files = tuple(operator.template_ext or ())
    rest, seen = list(values), 0
    while rest:
        one = rest.pop()
        kind = type(one)
        seen += 1
        if seen > _MOST_PARTS:
            return False
        if kind is str:
            if any(mark in one for mark in _TEMPLATE_MARKS) or (files and one.endswith(files)):
                return False
        elif kind in (dict, list, tuple, set):
            if seen + len(one) > _MOST_PARTS:
                return False
            rest.extend(one.values() if kind is dict else one)
        # (`ArgNotSet` is what Airflow has in the place of a command that comes later.)
        elif not (
            kind in _bounded.values() or kind in _NO_TEMPLATES or kind.__name__ == "ArgNotSet"
        ):
            return False
    return True


class _Hold:
    """What an operator has of its own while it holds arguments, to be put back at their release."""

    def __init__(self, operator: Any) -> None:
        self.places: list[tuple[Any, ...]] = []
        self._operator = operator
        self._hook = hook = operator._pre_execute_hook
        self._callbacks = {name: getattr(operator, name, None) for name in _CALLBACKS}

        def release(context: Any) -> Any:
            self.end(context)
            return None if hook is None else hook(context)

        made: Any = release
        made.airfreight = self
        self._made = made

    def begin(self) -> None:
        self._operator._pre_execute_hook = self._made
        for name, before in self._callbacks.items():
            if before:
                after = list(before) if isinstance(before, (list, tuple)) else [before]
                setattr(self._operator, name, [self._called, *after])

    def _called(self, context: Any) -> None:
        """Airflow's callback for an operator that failed before it executed."""
        self.end(context)

    def end(self, context: Any) -> None:
        """Takes the values out."""
        tasks = [self._operator]
        if context.get("task") is not self._operator:  # A copy of an operator has its hook, too.
            tasks.append(context.get("task"))
        for task in tasks:
            for name, *path in self.places:
                # (A hook of a DAG's own may have changed what there is.)
                with contextlib.suppress(AttributeError, LookupError):
                    before = getattr(task, name)
                    after = _released(before, path)
                    if after is not before:
                        setattr(task, name, after)
            if getattr(task, "_pre_execute_hook", None) is self._made:
                task._pre_execute_hook = self._hook
                for name, before in self._callbacks.items():
                    if before:
                        setattr(task, name, before)


def _hold_of(operator: Any) -> _Hold | None:
    found = getattr(operator._pre_execute_hook, "airfreight", None)
    return found if isinstance(found, _Hold) else None


def _give_up(context: Any) -> None:
    """Takes out what an operator holds whose arguments can't be rendered."""
    with contextlib.suppress(Exception):
        hold = _hold_of(context["ti"].task)
        if hold is not None:
            hold.end(context)


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

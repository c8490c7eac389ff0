"""What Airflow calls for every task of every DAG that it reads: the entry point `airflow.policy`.

Airflow walks around the value of an XCom twice, wherever the value goes: it logs what a Python task
returns (64 MB of text hold the log's reader up for 40 seconds; apache/airflow#28199), and turns the
arguments of a Python task to text for the page "Rendered templates". The policy leaves out the one
and bounds the other, for tasks of Airflow's Python operators, where the XCom backend is ours and
writes. What the DAG says itself holds: it is never changed.

Airflow imports this module in every process; it imports the rest of the package at the first task.
It raises nothing, since a policy that raises keeps the DAG from being read.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pluggy import HookimplMarker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airfreight.config import Settings

# As airflow.policies has it. That is not imported: Airflow is only half there when this is.
_hookimpl = HookimplMarker("airflow.policy")

_log = logging.getLogger("airfreight")

#: The parameter of Airflow's Python operators that has them log what they return.
_LOGS = "show_return_value_in_logs"

#: Where Airflow has its Python operators.
_OWN = (
    "airflow.sdk.",
    "airflow.models.",
    "airflow.decorators.",
    "airflow.operators.",
    "airflow.providers.standard.",
)

_failed = False


# Before all others: what an administrator's own policy sets has the last word.
@_hookimpl(tryfirst=True)
def task_policy(task: Any) -> None:
    """Adapts a task, mapped or not, as the settings say."""
    global _failed  # noqa: PLW0603 (one line of a log for a process, not one for each task)
    try:
        _apply(task)
    except Exception:  # noqa: BLE001 (see above)
        if not _failed:
            _failed = True
            _log.warning(
                "Airfreight's policy could not adapt task %s, which stays as it is",
                getattr(task, "task_id", "?"),
                exc_info=True,
            )


def _apply(task: Any) -> None:
    mapped = getattr(task, "partial_kwargs", None)
    operator = type(task) if mapped is None else task.operator_class
    if not _is_python(operator):
        return
    settings = _settings()
    if settings is None:
        return
    if not settings.log_return_values:
        if mapped is None:
            _quiet(task)
        else:
            _quiet_mapped(task, mapped)
    if not settings.render_whole_arguments:
        from airfreight._imports import loading

        with loading:
            from airfreight import arguments

        arguments.bound(task, operator, mapped)


def _is_python(operator: Any) -> bool:
    """Whether a class is one of Airflow's operators that call Python, or derives from one."""
    return any(
        base.__name__ in ("PythonOperator", "DecoratedOperator")
        and base.__module__.startswith("airflow.")
        for base in getattr(operator, "__mro__", ())
    )


def _settings() -> Settings | None:
    """The settings, where they are right and Airflow's XCom backend is ours and writes."""
    from airfreight import _airflow, config

    if not any(
        base.__module__ == "airfreight.backend" for base in _airflow.backend_in_use().__mro__
    ):
        return None
    # (Where they are wrong the log has it already, and the first push will say so.)
    found = config.peek()
    return found if found is not None and found.threshold >= 0 else None


def _quiet(task: Any) -> None:
    # Operators keep what was passed to them, `default_args` included: apply_defaults in
    # airflow/sdk/bases/operator.py, airflow/models/baseoperator.py.
    if getattr(task, _LOGS, None) is True and _LOGS not in task._BaseOperator__init_kwargs:
        setattr(task, _LOGS, False)


def _quiet_mapped(task: Any, partial: dict[str, Any]) -> None:
    """As `_quiet`, for a task whose operator is made when it runs, of `partial` and defaults."""
    if _LOGS in partial or not _logs_by_default(task.operator_class):
        return
    groups: list[Mapping[str, Any]] = [
        getattr(source, "default_args", None) or {}
        for source in (task.dag, getattr(task, "task_group", None))
    ]
    if any(_LOGS in group for group in groups):
        return
    # What `expand` passes and `partial` does too is an error. (That of a decorated function are
    # arguments of the function.)
    if not hasattr(task, "op_kwargs_expand_input"):
        value = task.expand_input.value
        if isinstance(value, dict):
            value = [value]
        elif not isinstance(value, (list, tuple)):
            return  # Known when it runs.
        if any(not isinstance(one, dict) or _LOGS in one for one in value):
            return
    partial[_LOGS] = False


def _logs_by_default(operator: Any) -> bool:
    """Whether an operator takes the parameter, and logs without it."""
    from inspect import signature

    for base in operator.__mro__:
        if "__init__" in vars(base):
            found = signature(base.__init__).parameters.get(_LOGS)
            if found is not None:
                return found.default is True
            # One that hands on what it gets may pass the parameter itself, or take no other. Those
            # of Airflow's own do neither.
            if not base.__module__.startswith(_OWN):
                return False
    return False

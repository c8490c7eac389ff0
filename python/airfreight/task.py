"""The task instance that this process runs: its coordinate, and which attempt it is.

Never raises where it serves a push: an attempt that can't be told is 0.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from airfreight._imports import loading

# Where Airflow keeps the stack of contexts: 3.x, 2.x. Looked up in sys.modules only, because in a
# process that runs a task they are there.
_CONTEXT_STACKS = (
    "airflow.sdk.definitions._internal.contextmanager",
    "airflow.models.taskinstance",
)


# The processes among these (itself and its parents) that were forked while a task was running.
_children: set[int] = set()


class TaskInstance(NamedTuple):
    """A task instance, as far as references name it."""

    dag: str
    run: str
    task: str
    map_index: int
    ti_id: str | None


class Attempt(NamedTuple):
    """Which attempt of a task instance pushes, to order the writers of one object.

    `number` is Airflow's try number, 0 when unknown; `started_micros` its start in microseconds
    since 1970, 0 when unknown.
    """

    number: int
    started_micros: int


_UNKNOWN = Attempt(0, 0)


def context() -> dict[str, Any] | None:
    """The context of the running task; None outside of one."""
    for name in _CONTEXT_STACKS:
        stack = getattr(sys.modules.get(name), "_CURRENT_CONTEXT", None)
        if stack:
            found: dict[str, Any] = stack[-1]
            return found
    return None


def _forked() -> None:
    if context() is not None:
        _children.add(os.getpid())


# Imported with the backend, so that no task forks before this is in place.
os.register_at_fork(after_in_child=_forked)


def running(found: Any) -> TaskInstance | None:
    """The task instance of a context; None when the context has none."""
    instance = found.get("ti") or found.get("task_instance")
    if instance is None:
        return None
    map_index = getattr(instance, "map_index", None)
    ti_id = getattr(instance, "id", None)
    return TaskInstance(
        str(instance.dag_id),
        str(instance.run_id),
        str(instance.task_id),
        -1 if map_index is None else int(map_index),
        None if ti_id is None else str(ti_id),
    )


def is_first_process(found: Any) -> bool:
    """Whether the attempt of a context began in this process, and runs here.

    It did not when the task itself forked this process, or resumes after a deferral; and a context
    that is not the running one is that of a callback, which may be anywhere.
    """
    if os.getpid() in _children:
        return False
    instance = found.get("ti") or found.get("task_instance")
    current = context()
    if current is None or (current.get("ti") or current.get("task_instance")) is not instance:
        return False
    return not _resumes(instance)


def _resumes(instance: Any) -> bool:
    """Whether a task instance goes on after a deferral."""
    # Airflow 3 keeps what the server said of the instance beside it, Airflow 2 in its row.
    said = getattr(instance, "_ti_context_from_server", None)
    return bool(getattr(instance, "next_method", None) or getattr(said, "next_method", None))


def attempt(dag: str, run: str, task: str, map_index: int | None) -> Attempt:
    """The attempt that this process makes at a coordinate; unknown when it runs another's.

    `map_index` None: not to be compared (Airflow 3.4 tells instances apart by id).
    """
    try:
        return _from_context(dag, run, task, map_index) or _from_process(dag, run, task)
    except Exception:  # noqa: BLE001 (a push must not fail for want of an ordinal)
        return _UNKNOWN


def _from_context(dag: str, run: str, task: str, map_index: int | None) -> Attempt | None:
    found = context()
    mine = running(found) if found is not None else None
    if found is None or mine is None:
        return None
    if mine[:3] != (dag, run, task) or map_index not in (None, mine.map_index):
        return _UNKNOWN
    instance = found.get("ti") or found.get("task_instance")
    number = int(getattr(instance, "try_number", 0) or 0)
    started = getattr(instance, "start_date", None)
    if started is None:
        return Attempt(number, process_start_micros())
    micros = int(started.timestamp() * 1_000_000)
    if _resumes(instance):
        # It keeps the start that was asked for, and the process before it took the time at which
        # Airflow 3's server had answered, which is later (task-sdk, supervisor.py): what it wrote
        # would be a newer attempt's.
        micros = max(micros, process_start_micros())
    return Attempt(number, micros)


def _from_process(dag: str, run: str, task: str) -> Attempt:
    """What the environment tells of the task of this process.

    Airflow 3 pushes the returned value when the context is gone already; the variables that it
    exports for operators stay, and its task processes live for one task instance only.
    """
    env = os.environ
    if (
        env.get("AIRFLOW_CTX_DAG_ID") != dag
        or env.get("AIRFLOW_CTX_DAG_RUN_ID") != run
        or env.get("AIRFLOW_CTX_TASK_ID") != task
    ):
        return _UNKNOWN
    return Attempt(int(env.get("AIRFLOW_CTX_TRY_NUMBER", "0")), process_start_micros())


def process_start_micros() -> int:
    """When this process began, microseconds since 1970; 0 where it can't be told."""
    try:
        with loading:
            import psutil  # A dependency of Airflow.

        return int(psutil.Process().create_time() * 1_000_000)
    except Exception:  # noqa: BLE001 (not there, or not allowed to look)
        return 0

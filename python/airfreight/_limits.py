"""How long the work at hand may take, and whether it is still wanted: asked by the native core."""

from __future__ import annotations

import contextvars
import signal
import threading
from typing import TYPE_CHECKING, Any

from airfreight import task

if TYPE_CHECKING:
    from collections.abc import Callable

#: Set around work that is done for somebody who may lose interest in it; true: nobody waits.
abandoned: contextvars.ContextVar[Callable[[], bool] | None] = contextvars.ContextVar(
    "airfreight_abandoned", default=None
)
#: By how much we are later than Airflow with its own time-out, so that its exception is what is
#: seen. Seconds.
_COURTESY = 1.0


# How often this task was told to end, and how often when the main thread began what it does now.
_endings = 0
_endings_before = 0


def watch() -> int:
    """Notices from now on when the running task is told to end (SIGTERM); returns how often it was.

    On Airflow 2 the handler raises, which ends a transfer. On Airflow 3 it only calls the
    operator's `on_kill` (airflow/sdk/execution_time/task_runner.py): a transfer that stands still
    would go on until the process is killed, and the parts that it has sent would stay.
    """
    if threading.current_thread() is threading.main_thread() and task.context() is not None:
        handler = signal.getsignal(signal.SIGTERM)
        if callable(handler) and not isinstance(handler, _Noticing):
            signal.signal(signal.SIGTERM, _Noticing(handler))
    return _endings


class _Noticing:
    """A signal handler that counts, and then does what the one before it does."""

    def __init__(self, handler: Callable[[int, Any], Any]) -> None:
        self._handler = handler

    def __call__(self, number: int, frame: Any) -> Any:
        global _endings  # noqa: PLW0603 (a process has one handler)
        _endings += 1
        return self._handler(number, frame)


def ended_since(endings: int) -> bool:
    """Whether the task was told to end since `watch` returned this number."""
    return _endings != endings


def cancelled() -> bool:
    """Whether nobody waits for what this thread does. The core asks every 200 ms at most."""
    asked = abandoned.get()
    if asked is not None:
        return asked()
    return threading.current_thread() is threading.main_thread() and ended_since(_endings_before)


def remaining() -> float | None:
    """Seconds until the running task's `execution_timeout` has surely struck; None: no limit.

    Airflow enforces it by a timer signal while the task's own code runs
    (airflow/sdk/execution_time/timeout.py, airflow/utils/timeout.py), so that the timer tells.
    """
    global _endings_before  # noqa: PLW0603 (only the main thread changes it)
    endings = watch()
    if threading.current_thread() is threading.main_thread():
        _endings_before = endings
    found = task.context()
    operator = found.get("task") if found is not None else None
    if getattr(operator, "execution_timeout", None) is None:
        return None
    left = signal.getitimer(signal.ITIMER_REAL)[0]
    return left + _COURTESY if left > 0 else None

"""How long the work at hand may take, and whether it is still wanted: asked by the native core."""

from __future__ import annotations

import contextvars
import signal
from typing import TYPE_CHECKING

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


def cancelled() -> bool:
    """Whether nobody waits for what this thread does. The core asks every 200 ms at most."""
    asked = abandoned.get()
    return asked is not None and asked()


def remaining() -> float | None:
    """Seconds until the running task's `execution_timeout` has surely struck; None: no limit.

    Airflow enforces it by a timer signal while the task's own code runs
    (airflow/sdk/execution_time/timeout.py, airflow/utils/timeout.py), so that the timer tells.
    """
    found = task.context()
    operator = found.get("task") if found is not None else None
    if getattr(operator, "execution_timeout", None) is None:
        return None
    left = signal.getitimer(signal.ITIMER_REAL)[0]
    return left + _COURTESY if left > 0 else None

"""Blocking work for an event loop, in threads of our own.

Not in asyncio's default threads: Airflow reads the answers of its supervisor in those, and some
long transfers would keep it from them.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from airfreight import _limits

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

#: Pieces of work at once for one process, such as a triggerer that serves a thousand triggers. Each
#: has a value in memory, and threads of the core behind it.
_MOST = 16

# By process id, for the threads of a parent are not there in a forked child.
_executors: dict[int, ThreadPoolExecutor] = {}


async def run(work: Callable[..., _T], /, *arguments: Any) -> _T:
    """Awaits `work(*arguments)`, which runs in a thread with the caller's context variables.

    When the caller is cancelled, its loop is closed under it (Airflow does so when a signal ends an
    asynchronous task), or the task is told to end, the transfer in the thread ends within a
    fraction of a second too.
    """
    loop = asyncio.get_running_loop()
    given_up = False
    endings = _limits.watch()

    def abandoned() -> bool:
        return given_up or loop.is_closed() or _limits.ended_since(endings)

    context = contextvars.copy_context()
    context.run(_limits.abandoned.set, abandoned)
    pid = os.getpid()
    executor = _executors.get(pid)
    if executor is None:
        made = ThreadPoolExecutor(_MOST, thread_name_prefix="airfreight")
        executor = _executors.setdefault(pid, made)
    try:
        return await loop.run_in_executor(executor, partial(context.run, work, *arguments))
    finally:
        given_up = True

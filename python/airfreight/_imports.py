"""First imports that no fork falls into.

A fork copies Python's import locks as they are: the lock of a module that another thread is just
importing stays locked in the child for ever, and the child hangs when it imports that module
(`importlib._bootstrap._ModuleLock`, CPython 3.10 to 3.13; what `_PyImport_ReInitLock` makes anew is
the global lock only). Airfreight imports most of itself, and the libraries behind its codecs, at
first use. So it imports them inside `with loading:`, and a fork waits until nobody is there.
"""

from __future__ import annotations

import _thread
import logging  # noqa: F401 (see the end)
import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

#: How often a coroutine looks whether another thread's imports are done, in seconds.
_LOOK = 0.005

#: How long a fork waits for imports, in seconds, before it goes on regardless. pandas and a cloud's
#: provider take some seconds on a cold disk; an import that hangs for longer (a network file
#: system) must not hang the forks of others too.
_PATIENCE = 30.0

#: Held by whoever imports for the first time, or forks. Recursive: imports nest, and may fork.
#: Nothing that is imported while Airflow itself is (`backend` and what it imports) may take it: the
#: holder may be waiting for that very import, in another thread.
loading = _thread.RLock()
# The threads that hold it because they are about to fork.
_forking: set[int] = set()


async def imported(name: str) -> ModuleType:
    """Imports a module for a coroutine: what another thread is importing holds up no event loop."""
    import asyncio  # Which a coroutine has; `import airfreight` does not need it.

    while not loading.acquire(blocking=False):  # noqa: ASYNC110 (a thread tells no loop)
        await asyncio.sleep(_LOOK)
    try:
        return import_module(name)
    finally:
        loading.release()


def _before() -> None:
    if loading.acquire(timeout=_PATIENCE):
        _forking.add(_thread.get_ident())


def _after_in_parent() -> None:
    me = _thread.get_ident()
    if me in _forking:
        _forking.remove(me)
        loading.release()


def _after_in_child() -> None:
    me = _thread.get_ident()  # The thread that forked keeps its number.
    if me in _forking:
        loading.release()
    else:
        # Its holder is not here. (As threading does with its own, since Python 3.9.)
        loading._at_fork_reinit()  # type: ignore[attr-defined]
    _forking.clear()


# Before a fork the handlers run in the reverse order of their registration. Those of logging take
# its lock, which an import may want while the fork waits for it: they have to come after this one.
os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)

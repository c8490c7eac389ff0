"""The native core of this process, made at first use."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from airfreight import _threads, connections
from airfreight._imports import loading
from airfreight.config import settings
from airfreight.errors import ConfigError, InvalidError
from airfreight.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeGuard

    from airfreight._core import Coordinate, Freight

#: Name of the store that is written to, as references carry it.
DEFAULT_STORE = "default"

# By process id: a forked child makes its own and leaves its parent's alone (its locks and sockets
# belong to threads that are not there), so entries are never removed. A dict, because setting a
# default is atomic and a lock could be held by another thread at the moment of a fork.
_freights: dict[int, tuple[Freight, float]] = {}
# By process id: what botocore has said, where the core could not help itself.
_borrowed: dict[int, connections.Resolved] = {}


def freight() -> Freight:
    """Returns the core of this process; makes it, and loads its library, at the first call.

    Raises:
        ConfigError: a setting is wrong.
        ImportError: the native library can't be loaded here.
    """
    entry = _freights.get(os.getpid())
    if _fresh(entry):
        return entry[0]
    named = _connections()
    try:
        resolved = {name: connections.resolve(name) for name in named}
    except connections.BusyError:
        if entry is None:
            raise
        # Its credentials are about to run out, not yet out: the next call may have better luck.
        return entry[0]
    return _keep(_make(resolved))


async def prepare() -> None:
    """Makes the core, should `freight()` have to, from an event loop: connections are awaited."""
    if not _fresh(_freights.get(os.getpid())) and (named := _connections()):
        resolved = {name: await connections.aresolve(name) for name in named}
        _keep(await _threads.run(_make, resolved))


def _fresh(entry: tuple[Freight, float] | None) -> TypeGuard[tuple[Freight, float]]:
    return entry is not None and time.time() < entry[1]


def _keep(made: tuple[Freight, float]) -> Freight:
    pid = os.getpid()
    if pid in _freights:
        # Credentials of the refreshing kind run out; the next ones need new stores.
        _freights[pid] = made
        return made[0]
    return _freights.setdefault(pid, made)[0]


def _connections() -> list[str]:
    """The ids of the connections that the stores name."""
    current = settings()
    ids = (connections.split(uri)[0] for uri in (current.store, *current.read_also))
    return [name for name in ids if name]


def borrow(error: BaseException) -> bool:
    """After an error of the core: whether botocore has the credentials that the core can't get.

    True: the same call has a prospect now, with another `freight()`.
    """
    if getattr(error, "service_code", "") != connections.FOREIGN or os.getpid() in _borrowed:
        return False
    found = connections.borrowed(settings().store_settings.get("s3", {}).get("profile"))
    if found is None:
        return False
    _borrowed[os.getpid()] = found
    _freights.pop(os.getpid(), None)
    return True


def loaded() -> Freight | None:
    """The core of this process if it was made already."""
    entry = _freights.get(os.getpid())
    return entry[0] if entry is not None else None


def forget() -> None:
    """Drops the core, so that the next call makes it of the settings anew (for tests)."""
    _freights.clear()
    _borrowed.clear()


def coordinate(
    dag: str,
    run: str,
    task: str,
    key: str,
    *,
    map_index: int = -1,
    ti_id: str | None = None,
    write_id: str | None = None,
    put_name: str | None = None,
) -> Coordinate:
    """Makes the core's coordinate."""
    made: Coordinate = _load().Coordinate(
        dag,
        run,
        task,
        key,
        map_index=map_index,
        ti_id=ti_id,
        write_id=write_id,
        put_name=put_name,
    )
    return made


def _make(resolved: Mapping[str, connections.Resolved]) -> tuple[Freight, float]:
    current = settings()
    _core = _load()
    expires = float("inf")
    lent = _borrowed.get(os.getpid())
    if lent is not None and lent.expires <= time.time():
        profile = current.store_settings.get("s3", {}).get("profile")
        lent = _borrowed[os.getpid()] = connections.borrowed(profile) or lent
    stores: list[tuple[str, str, Mapping[str, str]]] = []
    for position, uri in enumerate((current.store, *current.read_also)):
        name = DEFAULT_STORE if position == 0 else f"also-{position}"
        scheme = uri.partition("://")[0]
        # The documented defaults are passed, so that they are what holds; over them what the
        # connection says; over that the section, which was set for us.
        store_settings = {
            option.setting: option.default
            for option in OPTIONS
            if option.store == scheme and option.default is not None
        }
        connection_id, bare = connections.split(uri)
        if connection_id:
            found = resolved[connection_id]
            store_settings |= found.settings
            expires = min(expires, found.expires)
        elif scheme == "s3" and lent is not None:
            store_settings |= lent.settings
            expires = min(expires, lent.expires)
        store_settings |= current.store_settings.get(scheme, {})
        stores.append((name, bare, store_settings))
    try:
        made = _core.Freight(
            stores,
            digest=current.digest,
            max_bytes=current.max_object_bytes,
            owner=current.deployment_id,
            timeout=current.timeout,
            memory=current.transfer_memory,
            slots=current.slots,
            connections=current.max_connections,
        )
    except InvalidError as error:
        raise ConfigError(f"[airfreight] A setting of the store is wrong: {error}") from error
    return made, expires


def _load() -> _Core:
    try:
        with loading:
            from airfreight import _core
    except ImportError as error:
        raise ImportError(
            f"Airfreight's native core can't be loaded in this environment: {error}. Install "
            "the wheel "
            "for this platform and Python with `pip install --force-reinstall airfreight`."
        ) from error
    return _core


if TYPE_CHECKING:
    from types import ModuleType

    _Core = ModuleType

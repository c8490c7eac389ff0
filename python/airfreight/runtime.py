"""The native core of this process, made at first use."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from airfreight import _checks, _threads, connections, sealing, signing
from airfreight._imports import loading
from airfreight._settings_table import OPTIONS
from airfreight.config import settings
from airfreight.errors import ConfigError, Error, InvalidError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from typing import TypeGuard

    from airfreight._core import Administration, Coordinate, Freight

_T = TypeVar("_T")

_log = logging.getLogger("airfreight")

#: Name of the store that is written to, as references carry it.
DEFAULT_STORE = "default"
#: When credentials can't be renewed and serve on, the next attempt is this many seconds later: a
#: look-up may itself take seconds to fail, and each push or pull would wait for it.
_AGAIN_SECONDS = 30.0


class NotPreparedError(Exception):
    """The core was asked for where connections can't be: see `when_prepared`."""


class _Entry(NamedTuple):
    """A core, when its credentials are to be renewed, and when they really end."""

    core: Freight
    renew: float
    ends: float


# All by process id: a forked child makes its own and leaves its parent's alone (its locks and
# sockets belong to threads that are not there), so entries are never removed. Dicts, because
# setting a default is atomic and a lock could be held by another thread at the moment of a fork.
_freights: dict[int, _Entry] = {}
# What the services' own libraries have found where the core could not help itself, by the name of
# the store too.
_borrowed: dict[tuple[int, str], connections.Resolved] = {}
# Held by the thread that makes the core. Recursive: a signal handler may push or pull.
_making: dict[int, threading.RLock] = {}
# The same for coroutines, by loop: the task that prepares the core for all of them.
_preparing: dict[tuple[int, asyncio.AbstractEventLoop], asyncio.Task[None]] = {}

_for_a_loop: ContextVar[bool] = ContextVar("airfreight_for_a_loop", default=False)


def freight() -> Freight:
    """Returns the core of this process; makes it, and loads its library, at the first call.

    Threads that need a new one at the same time wait for one of them to make it.

    Raises:
        ConfigError: a setting is wrong.
        ImportError: the native library can't be loaded here.
    """
    pid = os.getpid()
    entry = _freights.get(pid)
    if _fresh(entry):
        return entry.core
    if _for_a_loop.get() and _connections():
        raise NotPreparedError
    lock = _making.setdefault(pid, threading.RLock())
    # The thread of a loop waits for nobody: whoever has the lock may need that loop to get an
    # answer of Airflow's.
    held = lock.acquire(blocking=asyncio._get_running_loop() is None)
    try:
        entry = _freights.get(pid)
        if _fresh(entry):
            return entry.core
        try:
            resolved = {key: _resolved(key) for key in _connections()}
        except Exception as error:  # noqa: BLE001 (raised again unless the old ones serve on)
            return _serve_on(error, entry)
        return _keep(_make(resolved))
    finally:
        if held:
            lock.release()


async def prepare() -> None:
    """Makes the core, should `freight()` have to, from an event loop: connections are awaited.

    All who need it at the same time await one task, which goes on when one of them is cancelled.
    """
    pid = os.getpid()
    if _fresh(_freights.get(pid)) or not _connections():
        return
    loop = asyncio.get_running_loop()
    task = _preparing.get((pid, loop))
    if task is None:
        for key in [key for key in _preparing if key[0] != pid or key[1].is_closed()]:
            _preparing.pop(key, None)
        task = _preparing[pid, loop] = loop.create_task(_prepare())
        task.add_done_callback(_prepared)
    await asyncio.shield(task)


async def _prepare() -> None:
    entry = _freights.get(os.getpid())
    try:
        resolved = {}
        for key in _connections():
            with _naming(key):
                resolved[key] = await connections.aresolve(*key)
    except Exception as error:  # noqa: BLE001 (raised again unless the old ones serve on)
        _serve_on(error, entry)
        return
    _keep(await _threads.run(_make, resolved))


def _prepared(task: asyncio.Task[None]) -> None:
    _preparing.pop((os.getpid(), task.get_loop()), None)
    if not task.cancelled():
        task.exception()  # All who asked may be gone: asyncio complains of errors nobody took.


async def when_prepared(call: Callable[[], Awaitable[_T]]) -> _T:
    """Returns what `call` does; only when it needs a core that is not there, it is made before.

    Most values are small, stay in the row, and have no need of the connections. `call` may thus be
    awaited twice; it may call `freight()` in a thread that has its context.
    """
    token = _for_a_loop.set(True)
    try:
        return await call()
    except NotPreparedError:
        pass
    finally:
        _for_a_loop.reset(token)
    await prepare()
    return await call()


def _fresh(entry: _Entry | None) -> TypeGuard[_Entry]:
    return entry is not None and time.time() < entry.renew


def _serve_on(error: Exception, entry: _Entry | None) -> Freight:
    """The core that is there, after credentials could not be renewed; `error` if they ended."""
    now = time.time()
    if entry is None or entry.ends <= now:
        raise error
    if not isinstance(error, connections.BusyError):  # Then the next call may have better luck.
        _log.warning(
            "Credentials could not be renewed, and those from before serve on until they end: %s",
            error,
        )
        _freights[os.getpid()] = entry._replace(renew=min(now + _AGAIN_SECONDS, entry.ends))
    return entry.core


def _keep(made: _Entry) -> Freight:
    """Makes a core that of this process, unless another one became it meanwhile."""
    pid = os.getpid()
    # Credentials of the refreshing kind run out; the next ones need new stores.
    entry = _freights.get(pid)
    if _fresh(entry):
        return entry.core
    if entry is None:
        return _freights.setdefault(pid, made).core
    _freights[pid] = made
    return made.core


def _resolved(key: tuple[str, str]) -> connections.Resolved:
    with _naming(key):
        return connections.resolve(*key)


@contextmanager
def _naming(connection: tuple[str, str]) -> Iterator[None]:
    """Has an error about a connection name the setting that asks for it."""
    try:
        yield
    except ConfigError as error:
        store = next(store for store in listed() if store.connection == connection)
        raise ConfigError(f"{store.setting}: {error.message}") from error


def _connections() -> list[tuple[str, str]]:
    """The connections that the stores name: id, and the scheme of the store."""
    return list({store.connection: None for store in listed() if store.connection[0]})


class Store(NamedTuple):
    """A store as the settings have it.

    Attributes:
        name: as references carry it; "" for one that is only read from.
        uri: without the connection.
        connection: its id ("" for none) and the kind of store.
        settings: those that were set for it.
    """

    name: str
    uri: str
    connection: tuple[str, str]
    settings: Mapping[str, str]

    @property
    def key(self) -> str:
        """Tells it from all others."""
        return self.name or self.uri

    @property
    def setting(self) -> str:
        """Where it is set, for messages."""
        if self.name in ("", DEFAULT_STORE):
            return f"[airfreight] {'store' if self.name else 'read_also'}"
        place, policy = f"stores.{self.name}", settings().policy
        if policy is None:
            return f"[{place}] uri"
        return f"{policy.where(f'{place}.uri')}: [{place}] uri"


def listed() -> list[Store]:
    """The configured stores, the one that is written to by default first."""
    current = settings()
    named: list[tuple[str, str, Mapping[str, str]]] = [(DEFAULT_STORE, current.store, {})]
    named += [(name, uri, own) for name, (uri, own) in current.stores.items()]
    named += [("", uri, {}) for uri in current.read_also]
    made = []
    for name, uri, own in named:
        kind = _checks.kind(uri)
        connection_id, bare = connections.split(uri)
        its_settings = {**current.store_settings.get(kind, {}), **own}
        made.append(Store(name, bare, (connection_id, kind), its_settings))
    return made


def with_core(call: Callable[[Freight], _T]) -> _T:
    """Returns `call(freight())`; a second time with borrowed credentials, where there are some.

    Raises what `freight()` and `call` do.
    """
    core = freight()
    try:
        return call(core)
    except Error as error:
        if not borrow(error, core):
            raise
    return call(freight())


def borrow(error: BaseException, used: Freight) -> bool:
    """After an error of a core: whether there are other credentials in place of those it lacks.

    Asks the service's own library (botocore, say), if it is installed. True: the same call has a
    prospect now, with another `freight()`.
    """
    if getattr(error, "service_code", "") != connections.FOREIGN:
        return False
    root: str = getattr(error, "store", "")
    pid = os.getpid()
    with _making.setdefault(pid, threading.RLock()):
        lacking = [store for store in listed() if store.uri.rstrip("/") == root]
        if any((pid, store.key) in _borrowed for store in lacking):
            return loaded() is not used  # Another thread was faster.
        found = {(pid, store.key): _ask_library(store) for store in lacking}
        new = {key: lent for key, lent in found.items() if lent is not None}
        _borrowed.update(new)
        if new:
            _freights.pop(pid, None)
    return bool(new)


def _ask_library(store: Store) -> connections.Resolved | None:
    provider = connections.provider(store.connection[1])
    return provider.borrowed(store.settings) if provider is not None else None


def _lent(store: Store, its_settings: Mapping[str, str]) -> connections.Resolved | None:
    """What was borrowed for a store, if it has no credentials of its own; renewed when due.

    A connection without keys leaves them to the environment, too.
    """
    key = os.getpid(), store.key
    lent = _borrowed.get(key)
    provider = connections.provider(store.connection[1]) if lent is not None else None
    if lent is None or provider is None or any(n in its_settings for n in provider.CREDENTIALS):
        return None
    if lent.expires <= time.time():
        lent = _borrowed[key] = provider.borrowed(store.settings) or lent
    return lent


def loaded() -> Freight | None:
    """The core of this process if it was made already."""
    entry = _freights.get(os.getpid())
    return entry.core if entry is not None else None


def forget() -> None:
    """Drops the core, so that the next call makes it of the settings anew (for tests)."""
    _freights.clear()
    _preparing.clear()
    _borrowed.clear()
    sealing.forget()


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


def _settings_of(
    store: Store, said: connections.Resolved | None
) -> tuple[dict[str, str], list[connections.Resolved]]:
    """The settings that a store is opened with, and the credentials among them."""
    # The documented defaults are passed, so that they are what holds; over them what the
    # connection says; over that the section, which was set for us.
    its_settings = {
        option.setting: option.default
        for option in OPTIONS
        if option.store == store.connection[1] and option.default is not None
    }
    its_settings |= (said.settings if said is not None else {}) | dict(store.settings)
    lent = _lent(store, its_settings)
    return (
        its_settings | (lent.settings if lent is not None else {}),
        [found for found in (said, lent) if found is not None],
    )


def _specs(
    resolved: Mapping[tuple[str, str], connections.Resolved],
) -> tuple[list[tuple[str, str, Mapping[str, str]]], float, float]:
    """Name, URI and settings of each store; when credentials are to be renewed, and their end."""
    renew = ends = float("inf")
    stores: list[tuple[str, str, Mapping[str, str]]] = []
    for store in listed():
        its_settings, credentials = _settings_of(store, resolved.get(store.connection))
        for found in credentials:
            renew, ends = min(renew, found.expires), min(ends, found.ends)
        stores.append((store.name, store.uri, its_settings))
    return stores, renew, ends


def administration() -> Administration:
    """Returns the stores that are written to, as administrators' commands see them.

    Each call opens them anew, with the credentials of that moment.

    Raises:
        ConfigError: a setting is wrong.
        ImportError: the native library can't be loaded here.
    """
    stores, _, _ = _specs({key: _resolved(key) for key in _connections()})
    try:
        made: Administration = _load().Administration(
            [spec for spec in stores if spec[0]], timeout=settings().timeout
        )
    except InvalidError as error:
        raise ConfigError(f"[airfreight] A setting of the store is wrong: {error}") from error
    return made


def _make(resolved: Mapping[tuple[str, str], connections.Resolved]) -> _Entry:
    current = settings()
    _core = _load()
    stores, renew, ends = _specs(resolved)
    sealed = signing.seal(current)
    try:
        made = _core.Freight(
            stores,
            aliases=current.aliases,
            digest=current.digest,
            max_bytes=current.max_object_bytes,
            owner=current.deployment_id,
            timeout=current.timeout,
            memory=current.transfer_memory,
            slots=current.slots,
            connections=current.max_connections,
            signing_keys=sealed.keys,
            unsigned_until=sealed.unsigned_until,
            seal_keys=sealing.keys(),
            key_service=sealing.ask,
        )
    except InvalidError as error:
        raise ConfigError(f"[airfreight] A setting of the store is wrong: {error}") from error
    return _Entry(made, renew, ends)


def probe(store: Store, *, patience: float) -> bool:
    """Whether a store answers: one request, for an object that is not there.

    Args:
        store: one of `listed()`.
        patience: seconds for which a request that fails is tried again.

    Returns:
        False where the store answers and does not tell which objects there are.

    Raises:
        Error: it does not answer, refuses the credentials, or its bucket is not there.
        ConfigError: its connection is not there, or a setting is wrong.
    """
    key = store.connection
    said = _resolved(key) if key[0] else None

    def ask() -> bool:
        stores = [(store.name or DEFAULT_STORE, store.uri, _settings_of(store, said)[0])]
        core: Freight = _load().Freight(stores, timeout=min(patience, settings().timeout))
        return core.probe()

    try:
        return ask()
    except Error as error:
        lent = _ask_library(store) if error.service_code == connections.FOREIGN else None
        if lent is None:
            raise
        _borrowed[os.getpid(), store.key] = lent
    return ask()


def open_settings(store: Store) -> dict[str, str]:
    """The settings that a store of `listed()` is opened with; credentials are among them.

    Raises:
        ConfigError: its connection is not there.
    """
    key = store.connection
    return _settings_of(store, _resolved(key) if key[0] else None)[0]


def _load() -> _Core:
    try:
        with loading:
            # The core asks the second one which stores are written in Python.
            from airfreight import _core, stores  # noqa: F401
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

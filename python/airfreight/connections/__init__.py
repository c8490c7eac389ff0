"""Airflow connections as credentials: `scheme://conn_id@place/prefix`.

One module for each provider, loaded for the stores that need it. What is here asks Airflow; a
module reads what Airflow answers, and imports the provider's hook for those kinds of connections
only that nothing else understands: such imports alone take longer than most transfers.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any, cast
from urllib.parse import unquote

from airfreight import _threads
from airfreight._imports import loading
from airfreight.connections.base import FOREIGN, BusyError, Provider, Resolved, wrong

__all__ = [
    "FOREIGN",
    "BusyError",
    "Provider",
    "Resolved",
    "aresolve",
    "provider",
    "resolve",
    "split",
]

#: Stores that need nobody's credentials: an `@` in their URIs is a letter as any other.
_WITHOUT = ("file", "memory")
#: The module of this package that reads the connections of a kind of store; of all others `python`.
_MODULES = {"s3": "aws", "gs": "google", "az": "azure", "redis": "redis"}


def split(uri: str) -> tuple[str, str]:
    """Splits `scheme://conn_id@place/prefix` into the connection id ("" for none) and the rest."""
    scheme, separator, rest = uri.partition("://")
    authority, slash, path = rest.partition("/")
    connection_id, at, place = authority.rpartition("@")
    if scheme in _WITHOUT or not at:
        return "", uri
    return unquote(connection_id), f"{scheme}{separator}{place}{slash}{path}"


def provider(scheme: str) -> Provider | None:
    """What reads the connections of a kind of store; None where it has none."""
    if scheme in _WITHOUT:
        return None
    name = _MODULES.get(scheme)
    with loading:
        if name is not None:
            return cast("Provider", import_module(f"{__name__}.{name}"))
        from airfreight.connections.python import Reader

        return Reader(scheme)


def resolve(connection_id: str, scheme: str) -> Resolved:
    """Asks Airflow for the connection that a store of this kind names.

    Raises:
        ConfigError: there is none of that id, or it can't be used. Never other credentials instead.
        BusyError: called on the thread of an event loop that is itself talking to Airflow.
    """
    reader = _reader(scheme)
    connection = _connection(connection_id, reader)
    return reader.settings_of(connection_id, connection, connection.extra_dejson or {})


async def aresolve(connection_id: str, scheme: str) -> Resolved:
    """As `resolve`, from an event loop, where a synchronous question may not be asked."""
    # In a thread: the loop must not wait for what another thread is importing.
    hook = await _threads.run(_base_hook)
    if not hasattr(hook, "aget_connection"):
        return await _threads.run(resolve, connection_id, scheme)
    reader = await _threads.run(_reader, scheme)
    try:
        connection = await hook.aget_connection(connection_id)
    except Exception as error:
        raise _not_found(connection_id, reader, error) from error
    extra = getattr(connection, "aextra_dejson", None)
    parsed = connection.extra_dejson if extra is None else await extra()
    return await _threads.run(reader.settings_of, connection_id, connection, parsed or {})


def _reader(scheme: str) -> Provider:
    found = provider(scheme)
    if found is None:  # (The check of the settings refuses such URIs.)
        raise ValueError(f"a {scheme}:// store has no Airflow connection")
    return found


def _base_hook() -> Any:
    with loading:
        try:
            from airflow.sdk.bases.hook import BaseHook
        except ModuleNotFoundError:
            try:
                from airflow.sdk import BaseHook
            except ImportError:
                from airflow.hooks.base import BaseHook
    return BaseHook


def _connection(connection_id: str, reader: Provider) -> Any:
    try:
        return _base_hook().get_connection(connection_id)
    except BaseException as error:
        # Not an Exception: airflow/sdk/execution_time/comms.py, DeadlockImminentError. The
        # triggerer's own kind of supervisor raises RuntimeError (jobs/triggerer_job_runner.py).
        if type(error).__name__ == "DeadlockImminentError" or (
            isinstance(error, RuntimeError) and asyncio._get_running_loop() is not None
        ):
            raise BusyError(
                f"the Airflow connection {connection_id!r} can't be asked for here: this is the "
                "thread of an event loop that is itself waiting for Airflow. Push and pull with "
                "`await ti.axcom_push(…)` and `await ti.axcom_pull(…)`, or in a thread with "
                "`await asyncio.to_thread(…)`"
            ) from error
        if not isinstance(error, Exception):
            raise
        raise _not_found(connection_id, reader, error) from error


def _not_found(connection_id: str, reader: Provider, error: Exception) -> Exception:
    problem = f"was not found ({type(error).__name__})"
    return wrong(connection_id, problem, reader.EXAMPLE, reader.BARE)

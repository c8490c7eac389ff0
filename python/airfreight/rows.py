"""The rows of Airflow 3, as a task asks for them: one, all of a mapped task, or from an event loop.

The base class fetches a row and decodes it in one method. `_Rows` is the same class without the
decoding, so that what is asked for is known when the value is read, and several values can be read
at once, or in a thread.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from airfreight import _threads, exchange, runtime

if TYPE_CHECKING:
    from collections.abc import Mapping

    BaseXCom: Any = object
else:
    from airfreight.exchange.serde import BaseXCom


class _Rows(BaseXCom):  # type: ignore[misc]
    """Rows as they are."""

    @staticmethod
    def deserialize_value(result: Any) -> Any:
        return result

    @staticmethod
    def serialize_value(value: Any, **_: Any) -> Any:
        return value


def get_one(asked: Mapping[str, Any]) -> Any:
    """As `BaseXCom.get_one` of Airflow 3."""
    row = _Rows.get_one(**asked)
    return None if row is None else exchange.unpack(row.value, row, _question(asked))


def get_all(asked: Mapping[str, Any]) -> Any:
    """As `BaseXCom.get_all` of Airflow 3; the objects of the rows are fetched at the same time."""
    rows = _Rows.get_all(**asked)
    return None if rows is None else exchange.unpack_many(_values(rows), _question(asked))


async def aget_one(asked: Mapping[str, Any]) -> Any:
    """As `get_one`, with the loop free meanwhile."""
    row = await _Rows.aget_one(**asked)
    if row is None:
        return None
    if exchange.needs_core(row.value):
        await runtime.prepare()
    return await _threads.run(exchange.unpack, row.value, row, _question(asked))


async def aget_all(asked: Mapping[str, Any]) -> Any:
    """As `get_all`, with the loop free meanwhile."""
    rows = await _Rows.aget_all(**asked)
    if rows is None:
        return None
    stored = _values(rows)
    if any(map(exchange.needs_core, stored)):
        await runtime.prepare()
    return await _threads.run(exchange.unpack_many, stored, _question(asked))


async def aset(key: str, value: Any, address: exchange.Address, others: Mapping[str, Any]) -> None:
    """As `BaseXCom.aset`, with the loop free meanwhile."""
    row = await runtime.when_prepared(partial(_threads.run, exchange.pack, value, address))
    await _Rows.aset(key, row, **others)


def deleted(args: tuple[Any, ...], where: Mapping[str, Any]) -> exchange.Address:
    """The row of a call of `BaseXCom.delete`, whose arguments may be given by position, too."""
    names = ("key", "task_id", "dag_id", "run_id", "map_index")
    return _question({**dict(zip(names, args)), **where})  # noqa: B905 (fewer are given)


def _values(rows: Any) -> list[Any]:
    return [row.value for row in rows]


def _question(asked: Mapping[str, Any]) -> exchange.Address:
    """What a row has to be about."""
    return exchange.Address(
        asked.get("dag_id"),
        # Any earlier run will do.
        None if asked.get("include_prior_dates") else asked.get("run_id"),
        asked.get("task_id"),
        asked.get("key"),
        map_index=asked.get("map_index"),
    )

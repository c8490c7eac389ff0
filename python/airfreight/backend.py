"""The class that Airflow knows: `[core] xcom_backend = airfreight.XComBackend`.

Airflow imports this module in every process and long before it is initialised itself, so it imports
the base class and looks at the settings' texts, nothing more. The work is done in `exchange`.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from airfreight import config, task  # noqa: F401 (task: watches for forks)
from airfreight._airflow import base_class
from airfreight._imports import imported, loading

if TYPE_CHECKING:
    from airfreight.exchange import Address

    BaseXCom: Any = object
    _AIRFLOW_2 = False
else:
    BaseXCom, _AIRFLOW_2 = base_class()


#: The row that is being deleted (Airflow 3, whose `purge` is not told).
_deleted: ContextVar[Address | None] = ContextVar("airfreight_deleted", default=None)


class XComBackend(BaseXCom):  # type: ignore[misc]
    """Keeps small JSON in the row and sends everything else to the store.

    Threads: any. Blocking: pushes and pulls of offloaded values block until the store has answered;
    requests that fail are tried again for `[airfreight] timeout` seconds, a transfer that moves has
    no deadline; signal handlers run meanwhile, and what they raise ends it. Errors:
    TypeError for values that can't be kept exactly, airfreight.Error for everything else.
    """

    @staticmethod
    def serialize_value(
        value: Any,
        *,
        key: str | None = None,
        task_id: str | None = None,
        dag_id: str | None = None,
        run_id: str | None = None,
        map_index: int | None = None,
    ) -> Any:
        """Returns what the row is to hold (Airflow 2.9 to 3.3). Called by keyword."""
        with loading:
            from airfreight import exchange

        return exchange.pack(
            value,
            exchange.Address(dag_id, run_id, task_id, key, map_index=map_index),
        )

    @staticmethod
    def deserialize_value(result: Any) -> Any:
        """Returns the value of a row. Nothing but `result.value` is there in every release."""
        with loading:
            from airfreight import exchange

        return exchange.unpack(result.value, result)

    @classmethod
    def store_value(cls, coordinate: Any, key: str, value: Any) -> Any:
        """As `serialize_value`, from Airflow 3.4 on."""
        with loading:
            from airfreight import exchange

        ti_id = None if coordinate.ti_id is None else str(coordinate.ti_id)
        return exchange.pack(
            value,
            exchange.Address(
                coordinate.dag_id,
                coordinate.run_id,
                coordinate.task_id,
                key,
                ti_id=ti_id,
                # One task writes for another: only the server knows for which instance, so that
                # the object must not share its place with any other write.
                write_id=exchange.new_write_id() if ti_id is None else None,
            ),
        )

    @classmethod
    def load_value(cls, stored: Any) -> Any:
        """As `deserialize_value`, from Airflow 3.4 on."""
        with loading:
            from airfreight import exchange

        return exchange.unpack(stored)

    @classmethod
    def purge(cls, xcom: Any, *_args: Any) -> None:
        """Removes the object of a row that is going to be deleted.

        Never raises: Airflow calls it before a task runs again, and the task would not run.
        """
        try:
            with loading:
                from airfreight import exchange
        except Exception as error:  # noqa: BLE001 (see above)
            logging.getLogger("airfreight").warning(
                "The object of an XCom that is being deleted stays behind: %s", error
            )
        else:
            asked = exchange.row_of(xcom) if _AIRFLOW_2 else _deleted.get()
            exchange.purge(getattr(xcom, "value", None), asked)

    if not _AIRFLOW_2:
        # Airflow 2 does not call methods of these names.

        @classmethod
        def delete(cls, *args: Any, **where: Any) -> None:
            """As the base class, with `purge` told which row it is about."""
            with loading:
                from airfreight import rows

            token = _deleted.set(rows.deleted(args, where))
            try:
                super().delete(*args, **where)
            finally:
                _deleted.reset(token)

        @classmethod
        def get_one(cls, **asked: Any) -> Any:
            """Returns the value of one row; arguments as in the base class."""
            if cls._decodes_itself():
                return super().get_one(**asked)
            with loading:
                from airfreight import rows

            return rows.get_one(asked)

        @classmethod
        def get_all(cls, **asked: Any) -> Any:
            """Returns the values of all instances of a task, whose objects are fetched together."""
            if cls._decodes_itself():
                return super().get_all(**asked)
            with loading:
                from airfreight import rows

            return rows.get_all(asked)

    if hasattr(BaseXCom, "aget_one") or TYPE_CHECKING:
        # Airflow 3.3. What the base class does here, it does on the event loop.

        @classmethod
        async def aget_one(cls, **asked: Any) -> Any:
            """As `get_one`; transfers and decoding go on in a thread."""
            if cls._decodes_itself():
                return await super().aget_one(**asked)
            rows = await imported("airfreight.rows")
            return await rows.aget_one(asked)

        @classmethod
        async def aget_all(cls, **asked: Any) -> Any:
            """As `get_all`; transfers and decoding go on in threads."""
            if cls._decodes_itself():
                return await super().aget_all(**asked)
            rows = await imported("airfreight.rows")
            return await rows.aget_all(asked)

    if hasattr(BaseXCom, "_abuild_set_message"):
        # From Airflow 3.4 on pushes are in a thread already; the connections are still to be had.

        @classmethod
        async def _abuild_set_message(cls, *args: Any, **kwargs: Any) -> Any:
            runtime = await imported("airfreight.runtime")
            build = partial(super()._abuild_set_message, *args, **kwargs)
            return await runtime.when_prepared(build)

    elif hasattr(BaseXCom, "aset") or TYPE_CHECKING:

        @classmethod
        async def aset(cls, key: str, value: Any, **where: Any) -> None:
            """Writes a row; encoding and transfer go on in a thread. Arguments as in the base."""
            if cls._encodes_itself():
                await super().aset(key, value, **where)
                return
            exchange = await imported("airfreight.exchange")
            rows = await imported("airfreight.rows")
            address = exchange.Address(
                where.get("dag_id"),
                where.get("run_id"),
                where.get("task_id"),
                key,
                map_index=where.get("map_index", -1),
            )
            await rows.aset(key, value, address, where)

    @classmethod
    def _decodes_itself(cls) -> bool:
        """Whether a subclass has its own idea of what a row means."""
        ours = XComBackend
        return (
            cls.deserialize_value is not ours.deserialize_value
            or cls.load_value.__func__ is not ours.load_value.__func__  # type: ignore[attr-defined]
        )

    @classmethod
    def _encodes_itself(cls) -> bool:
        return cls.serialize_value is not XComBackend.serialize_value


config.check()

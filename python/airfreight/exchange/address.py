"""Whose value it is: the coordinate of a push, as Airflow gives it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from airfreight import runtime

if TYPE_CHECKING:
    from airfreight._core import Coordinate
    from airfreight.errors import Error


class Address(NamedTuple):
    """The coordinate of a push as Airflow gives it: any part may be missing."""

    dag: str | None
    run: str | None
    task: str | None
    key: str | None
    map_index: int | None = None
    ti_id: str | None = None
    write_id: str | None = None

    def missing(self) -> list[str]:
        """The names of the parts that an object's key needs and that are not there."""
        names = ("dag_id", "run_id", "task_id", "key")
        return [name for name, part in zip(names, self[:4], strict=True) if part is None]

    def coordinate(self) -> Coordinate:
        """The coordinate in the native core."""
        assert self.dag is not None
        assert self.run is not None
        assert self.task is not None
        assert self.key is not None
        return runtime.coordinate(
            self.dag,
            self.run,
            self.task,
            self.key,
            map_index=-1 if self.map_index is None else self.map_index,
            ti_id=self.ti_id,
            write_id=self.write_id,
        )


def new_write_id() -> str:
    """A name that no other write has."""
    return uuid.uuid4().hex


def name_place(error: Error, address: Address) -> None:
    """Says in an error which XCom it is about."""
    error.name_xcom(place(address))


def place(address: Address) -> dict[str, Any]:
    """An address by the names that references use."""
    return {
        "dag": address.dag,
        "run": address.run,
        "task": address.task,
        "map": address.map_index,
        "key": address.key,
    }

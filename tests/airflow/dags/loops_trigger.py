# mypy: disable-error-code="import-not-found,misc"
"""The trigger of DAG `loops`; a module of its own, for the triggerer imports it by name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

from airflow.sdk.execution_time.xcom import XCom
from airflow.triggers.base import BaseTrigger, TriggerEvent


async def ticks_during(work: Awaitable[Any]) -> tuple[Any, int]:
    """The result of `work`, and how often the loop went round until it was there."""
    task = asyncio.ensure_future(work)
    ticks = 0
    while not task.done():
        await asyncio.sleep(0.01)
        ticks += 1
    return task.result(), ticks


class Trigger(BaseTrigger):
    """Pulls an object that comes slowly, and pushes one."""

    def __init__(self, dag_id: str, run_id: str) -> None:
        super().__init__()
        self.where = {"dag_id": dag_id, "run_id": run_id}

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "loops_trigger.Trigger", self.where

    async def run(self) -> AsyncIterator[TriggerEvent]:
        slow = XCom.aget_one(key="slow", task_id="produce", **self.where)
        value, ticks = await ticks_during(slow)
        await XCom.aset(
            key="pushed", value=b"of the trigger" * 10, task_id="deferring", **self.where
        )
        yield TriggerEvent({"bytes": len(value), "ticks": ticks})

# mypy: disable-error-code="import-not-found,misc,no-any-return,untyped-decorator"
"""DAG `loops`: pulls and pushes from event loops, and all values of a mapped task at once.

For Airflow 3.3: `@task` of a coroutine, `axcom_pull`, and triggers that push.
"""

import asyncio
import datetime
from typing import Any

from common import XCom, dag, fact, frame, task

if hasattr(XCom, "aget_one"):
    from airflow.sdk import BaseOperator
    from loops_trigger import Trigger, ticks_during
else:  # An older Airflow only reads this file.
    BaseOperator = object

INSTANCES = 100


@task
def produce(ti: Any = None) -> Any:
    ti.xcom_push(key="slow", value=b"slow" * 1000)
    # What the instances of `mapped` would push, were each of them to take a process.
    for index in range(INSTANCES):
        XCom.set(
            key="return_value",
            value=f"{index}".encode() if index % 10 else index,
            dag_id=ti.dag_id,
            run_id=ti.run_id,
            task_id="mapped",
            map_index=index,
        )
    return frame()


@task.short_circuit
def stop() -> bool:
    return False


@task
def mapped(_: int) -> Any:
    raise AssertionError("it is skipped")


@task
def gather(ti: Any = None) -> None:
    with fact("all_values_of_a_mapped_task"):
        pulled = list(ti.xcom_pull(task_ids="mapped"))
        assert pulled == [
            f"{index}".encode() if index % 10 else index for index in range(INSTANCES)
        ]


@task
async def asynchronous(ti: Any = None) -> None:
    import pandas as pd

    with fact("awaited_pull_goes_on_with_the_loop"):
        pulled, ticks = await ticks_during(ti.axcom_pull(task_ids="produce", key="slow"))
        assert pulled == b"slow" * 1000
        assert ticks > 20, ticks
    with fact("awaited_push"):
        await ti.axcom_push("pushed", frame(5))
        pulled = await ti.axcom_pull(task_ids="asynchronous", key="pushed", map_indexes=-1)
        pd.testing.assert_frame_equal(pulled, frame(5), check_freq=False)
    with fact("several_at_a_time"):
        pulls = [ti.axcom_pull(task_ids="produce", map_indexes=-1) for _ in range(20)]
        pushes = [ti.axcom_push(f"many_{n}", b"x" * n) for n in range(20)]
        found = (await asyncio.gather(*pulls, *pushes))[:20]
        for pulled in found:
            pd.testing.assert_frame_equal(pulled, frame(), check_freq=False)
        assert await ti.axcom_pull(task_ids="asynchronous", key="many_7") == b"x" * 7
    with fact("synchronous_pull_on_the_loop"):
        pulled = ti.xcom_pull(task_ids="produce")
        pd.testing.assert_frame_equal(pulled, frame(), check_freq=False)


class Deferring(BaseOperator):
    def execute(self, context: Any) -> None:
        ti = context["ti"]
        self.defer(trigger=Trigger(ti.dag_id, ti.run_id), method_name="resume")

    def resume(self, context: Any, event: Any) -> None:
        with fact("pull_of_a_trigger"):
            assert event["bytes"] == 4000
            assert event["ticks"] > 20, event
        with fact("push_of_a_trigger"):
            pulled = context["ti"].xcom_pull(task_ids="deferring", key="pushed")
            assert pulled == b"of the trigger" * 10


@dag(dag_id="loops", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def loops() -> None:
    made = produce()
    made >> stop() >> mapped.expand(_=list(range(INSTANCES)))
    made >> [gather(), asynchronous(), Deferring(task_id="deferring")]


if BaseOperator is not object:
    loops()

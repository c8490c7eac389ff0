# mypy: disable-error-code="import-not-found,misc,no-any-return,untyped-decorator"
"""DAG `resumed`: tasks that go on in another process: after a deferral, and after a reschedule."""

import datetime
import os
import pathlib
from typing import Any

from common import array, dag, fact, frame, task

try:
    from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
    from airflow.sdk import BaseOperator, BaseSensorOperator
except ImportError:
    from airflow.models.baseoperator import BaseOperator
    from airflow.sensors.base import BaseSensorOperator
    from airflow.triggers.temporal import TimeDeltaTrigger


class Resuming(BaseOperator):
    """Pushes, defers, and pushes again when it goes on."""

    def execute(self, context: Any) -> None:
        ti = context["ti"]
        ti.xcom_push(key="before", value=frame(4))
        ti.xcom_push(key="both", value=frame(4))
        trigger = TimeDeltaTrigger(datetime.timedelta(seconds=1))
        self.defer(trigger=trigger, method_name="resume")

    def resume(self, context: Any, event: Any = None) -> Any:
        import pandas as pd

        ti = context["ti"]
        with fact("pushed_before_a_deferral"):
            pulled = ti.xcom_pull(task_ids="resuming", key="before")
            pd.testing.assert_frame_equal(pulled, frame(4), check_freq=False)
        ti.xcom_push(key="both", value=frame(6))
        return array(2)


class Poking(BaseSensorOperator):
    """Pushes at each poke; is there at the second."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(mode="reschedule", poke_interval=1, **arguments)

    def poke(self, context: Any) -> bool:
        import pandas as pd

        pokes = pathlib.Path(os.environ["AIRFLOW_TEST_FACTS"]) / "pokes"
        count = int(pokes.read_text()) if pokes.exists() else 0
        pokes.parent.mkdir(parents=True, exist_ok=True)
        pokes.write_text(str(count + 1))
        ti = context["ti"]
        if count:
            with fact("pushed_before_a_reschedule"):
                # Airflow may have cleared the row; if not, its object is there.
                pulled = ti.xcom_pull(task_ids="poking", key="seen")
                if pulled is not None and count == 1:
                    pd.testing.assert_frame_equal(pulled, frame(3), check_freq=False)
        ti.xcom_push(key="seen", value=frame(3 + min(count, 1)))
        return count > 0


@task
def read_all(ti: Any = None) -> None:
    import numpy as np
    import pandas as pd

    def pulled(task_id: str, key: str = "return_value") -> Any:
        return ti.xcom_pull(task_ids=task_id, key=key)

    with fact("all_of_a_deferral"):
        pd.testing.assert_frame_equal(pulled("resuming", "before"), frame(4), check_freq=False)
        pd.testing.assert_frame_equal(pulled("resuming", "both"), frame(6), check_freq=False)
        np.testing.assert_array_equal(pulled("resuming"), array(2))
    with fact("all_of_a_reschedule"):
        pd.testing.assert_frame_equal(pulled("poking", "seen"), frame(4), check_freq=False)


@dag(dag_id="resumed", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def resumed() -> None:
    # (No retries: another attempt would push anew what the one that goes on has lost.)
    once = {"retries": 0}
    [Resuming(task_id="resuming", **once), Poking(task_id="poking", **once)] >> read_all()


resumed()

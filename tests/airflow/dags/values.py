# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `values`: every kind of value on every way that leads from one task to another."""

import datetime
from typing import Any

from common import BaseXCom, array, blob, dag, fact, frame, large, small, task


@task
def produce(ti: Any = None) -> Any:
    ti.xcom_push(key="array", value=array())
    ti.xcom_push(key="blob", value=blob())
    ti.xcom_push(key="large", value=large())
    ti.xcom_push(key="small", value=small())
    # The same value once more, by Airflow's own backend: how its row looks when we are not there.
    BaseXCom.set(
        key="small_by_default",
        value=small(),
        task_id=ti.task_id,
        dag_id=ti.dag_id,
        run_id=ti.run_id,
        map_index=ti.map_index,
    )
    return frame()


@task(multiple_outputs=True)
def outputs() -> dict[str, Any]:
    return {"big": large(), "little": small(), "table": frame()}


@task
def measure(index: int) -> Any:
    return array(index)


@task
def cut() -> Any:
    return [{"part": n, **large()} for n in range(2)]


@task
def take(part: Any) -> Any:
    return {"taken": part["part"], "numbers": len(part["numbers"])}


@task
def read(whole: Any, several: Any, measured: Any, taken: Any, ti: Any = None) -> None:
    import numpy as np
    import pandas as pd

    with fact("argument_frame"):
        assert type(whole) is pd.DataFrame
        pd.testing.assert_frame_equal(whole, frame(), check_freq=False)
    with fact("pulled_frame"):
        pulled = ti.xcom_pull(task_ids="produce")
        pd.testing.assert_frame_equal(pulled, frame(), check_freq=False)
    with fact("pulled_array"):
        pulled = ti.xcom_pull(task_ids="produce", key="array")
        assert type(pulled) is np.ndarray
        assert pulled.dtype == array().dtype
        assert np.array_equal(pulled, array())
    with fact("pulled_bytes"):
        pulled = ti.xcom_pull(task_ids="produce", key="blob")
        assert type(pulled) is bytes
        assert pulled == blob()
    with fact("pulled_json"):
        assert ti.xcom_pull(task_ids="produce", key="large") == large()
        assert ti.xcom_pull(task_ids="produce", key="small") == small()
    with fact("multiple_outputs"):
        assert several["big"] == large()
        assert several["little"] == small()
        pd.testing.assert_frame_equal(several["table"], frame(), check_freq=False)
    with fact("whole_of_multiple_outputs"):
        pulled = ti.xcom_pull(task_ids="outputs")
        pd.testing.assert_frame_equal(pulled.pop("table"), frame(), check_freq=False)
        assert pulled == {"big": large(), "little": small()}
    with fact("pull_of_several_tasks"):
        pulled = list(ti.xcom_pull(task_ids=["produce", "cut"]))
        pd.testing.assert_frame_equal(pulled[0], frame(), check_freq=False)
        assert pulled[1][1]["numbers"] == large()["numbers"]
    with fact("expansion_over_a_large_list"):
        count = len(large()["numbers"])
        assert list(taken) == [{"taken": n, "numbers": count} for n in range(2)]
    with fact("mapped_length"):
        assert len(measured) == 3
    with fact("mapped_first"):
        assert np.array_equal(measured[0], array(0))
    with fact("mapped_last"):
        assert np.array_equal(measured[-1], array(2))
    with fact("mapped_slice"):
        part = measured[1:3]
        assert len(part) == 2
        assert np.array_equal(part[0], array(1))
        assert np.array_equal(part[1], array(2))
    with fact("mapped_iteration"):
        seen = list(measured)
        assert len(seen) == 3
        assert all(np.array_equal(one, array(n)) for n, one in enumerate(seen))
    with fact("mapped_pull"):
        pulled = list(ti.xcom_pull(task_ids="measure"))
        assert len(pulled) == 3
        assert all(np.array_equal(one, array(n)) for n, one in enumerate(pulled))
    with fact("mapped_pull_of_one"):
        pulled = ti.xcom_pull(task_ids="measure", map_indexes=1)
        assert np.array_equal(pulled, array(1))


@dag(dag_id="values", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def values() -> None:
    made = produce()
    several = outputs()
    measured = measure.expand(index=[0, 1, 2])
    keys = {key: several[key] for key in ("big", "little", "table")}
    read(made, keys, measured, take.expand(part=cut()))


values()

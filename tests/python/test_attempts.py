"""Administration over the tables of Airflow 3.4, whose rows are those of attempts.

No environment of these tests has that release, so that the tables are made by hand.
"""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.python import databases

from airfreight import exchange, runtime
from airfreight.admin import erase, sweep, sweep_state
from airfreight.admin.database import connect
from airfreight.admin.ownership import Ownership
from airfreight.admin.rows import Run
from airfreight.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.python.conftest import Box

OLD = datetime(2020, 1, 1, tzinfo=timezone.utc)


class World:
    """Tables of 3.4, and a store."""

    def __init__(self, box: Box, folder: Path) -> None:
        self.box = box
        self.folder = folder
        self.url = f"sqlite:///{folder}/airflow.db"
        self.engine = databases.of_attempts(self.url)

    def add(self, table: str, **values: Any) -> None:
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        with self.engine.begin() as connection:
            connection.execute(sa.text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)

    def run(self, dag: str, run: str, state: str = "success") -> None:
        self.add("dag_run", dag_id=dag, run_id=run, state=state, end_date="2020-01-01 00:00:00")

    def instance(self, dag: str, run: str, task: str, index: int = -1) -> str:
        """A task instance; its id, as references have it."""
        made = uuid.uuid4()
        self.add(
            "task_instance", id=made.hex, dag_id=dag, run_id=run, task_id=task,
            region_index=index, state="success",
        )  # fmt: skip
        return str(made)

    def row(self, ti: str, value: Any, *, key: str = "return_value") -> None:
        self.add(
            "xcom_v2", id=uuid.uuid4().hex, task_instance_id=uuid.UUID(ti).hex, key=key,
            value=json.dumps(value), timestamp="2020-01-01 00:00:00.000000",
        )  # fmt: skip

    def push(self, dag: str, run: str, task: str, ti: str) -> dict[str, Any]:
        """An object of an attempt; its reference."""
        coordinate = runtime.coordinate(dag, run, task, "return_value", ti_id=ti)
        address = exchange.Address(dag, run, task, "return_value", ti_id=ti)
        made: dict[str, Any] = json.loads(exchange.store(b"x" * 100, coordinate, address))
        return made

    def clean(self, table: str, name: str) -> None:
        """As `airflow db clean`."""
        with self.engine.begin() as connection:
            connection.exec_driver_sql(
                f"CREATE TABLE _airflow_deleted__{table}__{name} AS SELECT * FROM {table}"
            )
            connection.exec_driver_sql(f"DELETE FROM {table}")


@pytest.fixture
def world(box: Box, tmp_path: Path) -> Iterator[World]:
    box.set(threshold=0)
    made = World(box, tmp_path)
    yield made
    made.engine.dispose()


def test_rows_are_found_by_their_attempts_and_by_their_coordinates(world: World) -> None:
    world.run("d", "r", "running")
    ids = [world.instance("d", "r", "t", index) for index in (0, 1, 1)]
    for ti in ids:
        world.row(ti, {"_airfreight": 1})
    database = connect(world.url)
    found = list(database.find_of_attempts([(ids[1], "return_value"), (ids[2], "other")]))
    assert [(row.ti, row.map_index) for row in found] == [(ids[1], 1)]
    assert {row.ti for row in database.find([("d", "r", "t", 1, "return_value")])} == {*ids[1:]}
    assert {row.ti for row in database.find([("d", "r", "t", None, "return_value")])} == {*ids}
    (run,) = database.at_work(1000)
    assert (run.dag, run.run) == ("d", "r")
    assert {row.ti for row in database.rows_of([run], OLD)} == {*ids}
    other = Run("d", "other", 9, "running", None, None)
    assert not list(database.rows_of([other], OLD))
    assert not list(database.rows_of([run], OLD + timedelta(seconds=1)))


def test_the_last_look_sees_the_row_of_a_mapped_attempt(world: World) -> None:
    """Whatever its time: it was restored from a backup, say."""
    world.run("d", "r")
    ids = [world.instance("d", "r", "t", index) for index in (3, 4)]
    references = [world.push("d", "r", "t", ti) for ti in ids]
    made = sweep.Sweep(
        connect(world.url), runtime.administration(),
        {"default": Ownership("", named=False, unnamed=True, shared=False)},
        sweep_state.Rules(grace=0.0, by_hand=0.0), world.folder / "state", remove=True,
        clock=lambda: datetime.now(timezone.utc).timestamp() + 60,
    )  # fmt: skip
    for _ in made.steps():
        if made.state.step == "remove":
            break
    assert made.state.found["default"].orphans == 2
    made._looked_at_all = made._looked_at = made._clock()
    world.row(ids[1], references[1])
    found = made.run().found["default"]
    assert (found.removed, found.kept) == (1, 1)
    assert [key.split("/")[3] for key in world.box.objects()] == [f"ti-{ids[1]}"]


def test_archived_rows_are_those_of_their_dag_where_anything_says_so(world: World) -> None:
    for dag in ("sales", "other"):
        world.run(dag, "r")
        world.row(world.instance(dag, "r", "t"), {"secret": dag})
    world.clean("xcom_v2", "20260101000000")
    world.clean("task_instance", "20260101000001")
    # Of these no task instance is left.
    for dag in ("sales", "other"):
        gone = world.instance(dag, "r", "t2")
        world.row(gone, world.push(dag, "r", "t2", gone))
        world.row(gone, {"nobody": "knows"}, key="k")
    world.clean("xcom_v2", "20260102000000")
    with world.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM task_instance")
    receipt = erase.erase(
        erase.Scope("sales"), connect(world.url), runtime.administration(),
        deployment_id="", change=False,
    )  # fmt: skip
    assert receipt.rows == {
        "_airflow_deleted__xcom_v2__20260101000000": 1,
        "_airflow_deleted__xcom_v2__20260102000000": 1,
    }
    assert receipt.rows_unowned == 2
    assert not receipt.complete
    assert receipt.as_json()["rows"]["of_unknown_dags"] == 2
    assert receipt.elsewhere == []
    for row in list(erase._rows(erase.Scope("sales"), connect(world.url), receipt)):
        assert connect(world.url).remove([row]) == 1
    left = [row.raw for row in connect(world.url).rows()]
    assert len(left) == 4
    assert not any('"sales"' in str(raw) for raw in left)


def test_a_table_of_a_later_airflow_is_not_passed_over(world: World) -> None:
    with world.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE xcom_v3 (id INTEGER PRIMARY KEY)")
    with pytest.raises(ConfigError, match="has a table xcom_v3"):
        connect(world.url)

"""`airfreight.admin.database` over databases that the installed Airflow made."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock, Mock

import pytest
import sqlalchemy as sa
from tests.python import databases

from airfreight.admin import database as module
from airfreight.admin import ownership
from airfreight.admin.database import Database, connect
from airfreight.errors import ConfigError, InvalidError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = {"_xcom_backend": "file", "_airfreight": 1, "uri": "file:///x/é", "n": 1.5}


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield databases.make(databases.KINDS, folder, stack)


@pytest.fixture(params=databases.KINDS)
def rows(request: pytest.FixtureRequest, urls: dict[str, str]) -> Iterator[databases.Rows]:
    made = databases.Rows(urls[request.param])
    yield made
    # (The runs take their rows with them.)
    database = connect(urls[request.param])
    for run in list(database.runs()):
        made.delete(run.dag, run.run)
    with made.engine.begin() as connection:
        for table in database.tables:
            if table.startswith("_"):
                connection.exec_driver_sql(f"DROP TABLE {table}")
    made.engine.dispose()


def _database(rows: databases.Rows) -> Database:
    return connect(rows.engine.url.render_as_string(hide_password=False))


def _fill(rows: databases.Rows) -> None:
    for dag in ("sales", "Sales", "ümlaut"):
        for run in range(2):
            rows.run(dag, f"r{run}")
            for task in ("b", "a", "A_1"):
                for index in (-1, 0, 10):
                    value = REFERENCE | {"who": [dag, run, task, index]}
                    rows.xcom(dag, f"r{run}", task, rows.row(value), index=index)


def _whose(one: Any) -> tuple[Any, ...]:
    return one.dag, one.run, one.task, one.map_index


def test_each_row_is_there_once_whatever_the_batch(rows: databases.Rows) -> None:
    _fill(rows)
    database = _database(rows)
    assert database.rows_are_bytes == rows.binary
    everything = list(database.rows())
    assert len({_whose(one) for one in everything}) == len(everything) == 3 * 2 * 3 * 3
    for batch in (1, 4, 54, 55):
        assert list(database.rows(batch=batch)) == everything
    for one in everything:
        value = json.loads(one.value) if rows.binary else one.value
        assert type(one.value) is (bytes if rows.binary else dict)
        run = int(one.run[1:])
        assert value == REFERENCE | {"who": [one.dag, run, one.task, one.map_index]}
        assert one.key == "return_value"
        assert one.table == "xcom"
        assert not one.archived
        assert abs(datetime.now(timezone.utc) - one.written) < timedelta(hours=1)


def test_reading_goes_on_behind_any_row(rows: databases.Rows) -> None:
    _fill(rows)
    database = _database(rows)
    everything = list(database.rows())
    for at in (0, 1, 17, len(everything) - 1):
        assert list(database.rows(after=everything[at].id, batch=7)) == everything[at + 1 :]
    # Whether or not that row is still there.
    rows.delete(everything[5].dag, everything[5].run)
    left = list(database.rows())
    behind = [one for one in everything[6:] if one in left]
    assert list(database.rows(after=everything[5].id)) == behind
    with pytest.raises(InvalidError, match="not the id of a row"):
        list(database.rows(after="7"))


def test_of_a_dag_a_run_a_task(rows: databases.Rows) -> None:
    _fill(rows)
    database = _database(rows)
    assert {one.dag for one in database.rows(dag="ümlaut")} == {"ümlaut"}
    few = list(database.rows(dag="ümlaut", run="r1", task="A_1", batch=2))
    assert [_whose(one) for one in few] == [("ümlaut", "r1", "A_1", at) for at in (-1, 0, 10)]
    wanted = [("ümlaut", "r1", "a", 0, "return_value"), ("ümlaut", "r9", "a", 0, "return_value")]
    assert [_whose(one) for one in database.find(wanted)] == [("ümlaut", "r1", "a", 0)]
    many = [(*_whose(one), one.key) for one in database.rows()]
    assert sorted(map(_whose, database.find(many, batch=7))) == sorted(one[:4] for one in many)


def test_the_database_looks_for_our_mark(rows: databases.Rows) -> None:
    rows.run("d", "r")
    values = {
        "ours": REFERENCE,
        "nested": {"a": [{"~ref": REFERENCE}]},
        "text": json.dumps(REFERENCE),
        "theirs": {"_airfreigh": 1, "long": "x" * 5000},
        "none": None,
    }
    for task, value in values.items():
        rows.xcom("d", "r", task, rows.row(value))
    database = _database(rows)
    marked = {one.task for one in database.rows(marked=True, batch=1)}
    assert marked == {"ours", "nested", "text"}
    assert len(list(database.rows())) == len(values)


def test_since(rows: databases.Rows) -> None:
    rows.run("d", "r")
    old = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    rows.xcom("d", "r", "old", rows.row(1), written=old)
    rows.xcom("d", "r", "new", rows.row(1), written=old + timedelta(seconds=1))
    database = _database(rows)
    zone = timezone(timedelta(hours=5))
    late = (old + timedelta(seconds=1)).astimezone(zone)
    assert [one.task for one in database.rows(since=late)] == ["new"]
    assert {one.written for one in database.rows()} == {old, old + timedelta(seconds=1)}


def test_mysql_is_spoken_to_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    driver = SimpleNamespace(paramstyle="format")
    engine = sa.create_engine
    monkeypatch.setattr(module, "Database", made.append)
    monkeypatch.setattr(sa, "create_engine", partial(engine, module=driver))
    connect("mysql+pymysql://airflow@db.example/airflow")
    connection = Mock()
    for listener in made[0].pool.dispatch.connect:
        with contextlib.suppress(AttributeError, TypeError):  # The dialect's own.
            listener(connection, Mock())
    said = [str(call.args[0]) for call in connection.cursor().execute.call_args_list]
    assert "SET time_zone = '+00:00'" in said


@pytest.mark.parametrize(("mariadb", "question"), [(True, "server_uid"), (False, "server_uuid")])
def test_mariadb_is_told_from_its_copies_though_it_is_spoken_to_as_mysql(
    mariadb: bool, question: str
) -> None:
    connection = MagicMock()
    connection.engine.url = sa.engine.make_url("mysql+pymysql://airflow@db.example/airflow")
    connection.dialect.name, connection.dialect.is_mariadb = "mysql", mariadb
    connection.execute.return_value.scalar.return_value = "an id"
    assert ownership.identity(connection)["server"] == "an id"
    assert str(connection.execute.call_args.args[0]) == f"SELECT @@{question}"


def test_a_row_is_rewritten_only_as_it_was_read(rows: databases.Rows) -> None:
    rows.run("d", "r")
    rows.xcom("d", "r", "a", rows.row(REFERENCE | {"case": "x"}))
    rows.xcom("d", "r", "b", rows.row(REFERENCE))
    database = _database(rows)
    first, other = sorted(database.rows(), key=lambda one: one.task)
    signed = REFERENCE | {"sig": "k:00", "text": "a'\"\\ü😀%s :x"}
    assert database.rewrite(first, rows.row(signed))
    (now,) = database.rows(task="a")
    assert (json.loads(now.value) if rows.binary else now.value) == signed
    assert now.written == first.written
    assert not database.rewrite(first, rows.row(1))  # It was read before.
    # Nor where only the case of a letter has changed.
    rows.xcom("d", "r", "a", rows.row(signed | {"sig": "K:00"}))
    assert not database.rewrite(now, rows.row(1))
    assert database.remove([now]) == 0
    rows.delete("d", "r", "b")
    assert not database.rewrite(other, rows.row(1))
    with pytest.raises(InvalidError, match="holds"):
        database.rewrite(first, {} if rows.binary else b"{}")


def test_rows_are_removed(rows: databases.Rows) -> None:
    _fill(rows)
    database = _database(rows)
    gone = list(database.rows(dag="Sales"))
    assert database.remove(gone) == len(gone) == 18
    assert database.remove(gone) == 0
    assert {one.dag for one in database.rows()} == {"sales", "ümlaut"}


def test_archives_come_last(rows: databases.Rows) -> None:
    _fill(rows)
    before = {_whose(one) for one in _database(rows).rows()}
    rows.archive("sales", "r0", "20260101000000")
    rows.archive("ümlaut", "r1", "20260102000000")
    database = _database(rows)
    assert [name[-14:] for name in database.tables[1:]] == ["20260101000000", "20260102000000"]
    everything = list(database.rows(batch=4))
    assert {_whose(one) for one in everything} == before
    assert [one.archived for one in everything] == [False] * 36 + [True] * 18
    assert list(database.rows(after=everything[40].id, batch=5)) == everything[41:]
    assert len(list(database.rows(dag="sales", marked=True))) == 18
    away = next(one for one in everything if one.archived)
    assert not list(database.find([(*_whose(away), away.key)]))
    assert database.rewrite(away, rows.row(REFERENCE))
    assert database.remove(everything[36:]) == 17


def test_rows_that_airflow_3_has_put_away_are_archived(rows: databases.Rows) -> None:
    """Those that were pickled, from Airflow 2."""
    _fill(rows)
    rows.archive("sales", "r0")
    with rows.engine.begin() as connection:
        connection.exec_driver_sql(
            "ALTER TABLE _airflow_deleted__xcom__20260101000000 RENAME TO _xcom_archive"
        )
    archived = [one for one in _database(rows).rows(dag="sales") if one.archived]
    assert {one.table for one in archived} == {"_xcom_archive"}
    assert len(archived) == 9
    assert _database(rows).remove(archived) == 9


def test_rows_of_runs_that_are_at_work(rows: databases.Rows) -> None:
    _fill(rows)
    rows.set_state("Sales", "r1", "running")
    database = _database(rows)
    (run,) = database.at_work(1000)
    assert (run.dag, run.run) == ("Sales", "r1")
    now = datetime.now(timezone.utc)
    found = list(database.rows_of([run], now - timedelta(hours=1)))
    assert {(one.dag, one.run) for one in found} == {("Sales", "r1")}
    assert len(found) == 9
    assert not list(database.rows_of([run], now + timedelta(hours=1)))
    assert not list(database.rows_of([], now))
    assert database.reread(found[0]) == found[0]
    assert not database.is_at_work(found[0])
    instances = rows._tables["task_instance"]
    with rows.engine.begin() as connection:
        connection.execute(sa.update(instances).values(state="deferred"))
    assert database.is_at_work(found[0])
    rows.delete("Sales", "r1")
    assert database.reread(found[0]) is None
    assert not database.is_at_work(found[0])
    assert abs(database.offset()) < 60


def test_runs(rows: databases.Rows) -> None:
    ended = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    rows.run("d", "a", ended=ended)
    rows.run("d", "b", state="running")
    rows.run("e", "a", state="failed")
    database = _database(rows)
    runs = list(database.runs(batch=1))
    assert [(one.dag, one.run, one.over) for one in runs] == [
        ("d", "a", True),
        ("d", "b", False),
        ("e", "a", True),
    ]
    assert runs[0].ended == ended
    assert runs[1].ended is None
    assert runs[0].made is not None
    assert [one.run for one in database.runs("d", after=runs[0].id)] == ["b"]
    found = database.find_runs([("d", "a"), ("e", "a"), ("e", "b"), ("d", "a")], batch=2)
    assert found == {("d", "a"): runs[0], ("e", "a"): runs[2]}


def test_a_snapshot_does_not_see_what_changes(rows: databases.Rows) -> None:
    _fill(rows)
    database = _database(rows)
    before = list(database.rows())
    with database.snapshot() as still:
        reading = still.rows(batch=5)
        seen = [next(reading)]
        if rows.engine.dialect.name != "sqlite":  # There nobody writes meanwhile.
            rows.delete("Sales", "r1")
            rows.run("Sales", "r2")
            rows.xcom("Sales", "r2", "a", rows.row(REFERENCE))
        assert [*seen, *reading] == before
        assert len(list(still.runs())) == 6
        with pytest.raises(InvalidError, match="for reading only"):
            still.remove(before)
    assert (before == list(database.rows())) == (rows.engine.dialect.name == "sqlite")


def test_no_replica(rows: databases.Rows) -> None:
    assert not _database(rows).is_replica()


@pytest.mark.parametrize("missing", ["xcom", "task_instance", "dag_run"])
def test_a_database_without_a_table_of_airflow_is_named_without_its_password(
    missing: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/airflow.db"
    with contextlib.closing(sqlite3.connect(tmp_path / "airflow.db")) as connection:
        for name in {"xcom", "task_instance", "dag_run"} - {missing}:
            connection.execute(f"CREATE TABLE {name} (id INT)")
    with pytest.raises(ConfigError, match=f"has no table {missing}: .*airflow db migrate"):
        connect(url)


def test_what_is_no_database_of_airflow(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"airflow db migrate"):
        connect(f"sqlite:///{tmp_path}/empty@home.db")
    with pytest.raises(ConfigError, match=r"keeps its tasks away.*--via api"):
        connect("airflow-db-not-allowed:///")
    with pytest.raises(ConfigError, match="sql_alchemy_conn is no URL") as wrong:
        connect("nonsense hunter2")
    assert "hunter2" not in str(wrong.value)
    with pytest.raises(UnavailableError) as dead:
        connect("postgresql+psycopg2://u:hunter2@127.0.0.1:1/airflow")
    assert "127.0.0.1:1" in str(dead.value)
    assert "hunter2" not in str(dead.value)

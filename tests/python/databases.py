"""Metadata databases that the installed Airflow has made, on the servers that it supports.

Each is what `airflow db migrate` makes of an empty database. Rows are written by SQL, with all
constraints on, so that they go the ways in which Airflow's own go.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Postgres

from airfreight.exchange import ROWS_ARE_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack
    from pathlib import Path

#: What `airflow db migrate` does, for several databases in one process.
_MIGRATE = """
import sys
if sys.argv[1].startswith("mysql"):
    # Airflow asks for another driver, which would have to be compiled, and for a function of it.
    import pymysql.converters
    pymysql.install_as_MySQLdb()
    sys.modules["MySQLdb.converters"] = pymysql.converters
    pymysql.converters.DateTime2literal = pymysql.converters.escape_datetime
from airflow import settings
from airflow.utils import db
for url in sys.argv[1:]:
    settings.dispose_orm()
    settings.SQL_ALCHEMY_CONN = url
    if hasattr(settings, "SQL_ALCHEMY_CONN_ASYNC"):
        settings.SQL_ALCHEMY_CONN_ASYNC = "sqlite+aiosqlite://"
    settings.configure_orm()
    db.upgradedb()
"""
#: MariaDB takes its time: with Airflow 3, and in `./dev soak` with 2 as well.
_MARIADB = bool(os.environ.get("AIRFREIGHT_SOAK")) or not ROWS_ARE_BYTES
KINDS = ("sqlite", "postgresql", *(["mariadb"] if _MARIADB else []))


def migrate(urls: Sequence[str], home: Path) -> None:
    """Makes Airflow's tables in empty databases, all of MySQL's kind or none."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _MIGRATE, *urls],
        env=os.environ | {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            # (Airflow has other collations for MySQL, and looks when it is imported.)
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": urls[0],
            # (Nor has the one that it would make of that a driver here.)
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": "sqlite+aiosqlite://",
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def make(kinds: Sequence[str], folder: Path, stack: ExitStack) -> dict[str, str]:
    """A migrated database of each kind: URLs."""
    urls = {}
    for kind in kinds:
        if kind == "sqlite":
            urls[kind] = f"sqlite:///{folder}/airflow.db"
        elif kind == "postgresql":
            urls[kind] = stack.enter_context(Postgres()).make("airflow")
        else:
            urls[kind] = stack.enter_context(MariaDB()).make("airflow")
    for some in (("sqlite", "postgresql"), ("mariadb",)):
        if wanted := [urls[kind] for kind in some if kind in urls]:
            migrate(wanted, folder)
    return urls


class Rows:
    """Writes what Airflow would write.

    Attributes:
        engine: of the database.
        binary: whether it is an Airflow 2.
    """

    def __init__(self, url: str) -> None:
        self.engine = sa.create_engine(url, future=True)
        if self.engine.dialect.name == "sqlite":
            sa.event.listen(self.engine, "connect", _enforce)
        made = sa.MetaData()
        self._tables = {
            name: sa.Table(name, made, autoload_with=self.engine, resolve_fks=False)
            for name in ("xcom", "dag_run", "task_instance", "dag")
        }
        self.binary = "execution_date" in self._tables["dag_run"].c

    def dag(self, dag: str) -> None:
        """A DAG, of Airflow 3, if it is not there: its API shows nothing of others."""
        made = sa.MetaData()
        self._tables["dag_bundle"] = sa.Table("dag_bundle", made, autoload_with=self.engine)
        with self.engine.begin() as connection:
            for name, where in (("dag_bundle", {"name": "dags"}), ("dag", {"dag_id": dag})):
                same = [self._tables[name].c[column] == value for column, value in where.items()]
                if not connection.execute(sa.select(sa.func.count()).where(*same)).scalar():
                    self._insert(connection, name, **where, bundle_name="dags")

    def run(self, dag: str, run: str, state: str = "success", ended: datetime | None = None) -> int:
        """A run; its number."""
        now = datetime.now(timezone.utc)
        # (Of those that a DAG has at one moment Airflow allows one.)
        number = self._count() + 1
        moment = datetime(2020, 1, 1, tzinfo=timezone.utc).replace(microsecond=number)
        with self.engine.begin() as connection:
            self._insert(
                connection, "dag_run", id=number, dag_id=dag, run_id=run, state=state,
                queued_at=now, start_date=now, run_type="manual", execution_date=moment,
                logical_date=moment,
                end_date=(ended or now) if state in ("success", "failed") else None,
            )  # fmt: skip
        return number

    def _count(self) -> int:
        with self.engine.connect() as connection:
            runs = self._tables["dag_run"]
            return connection.execute(sa.select(sa.func.max(runs.c.id))).scalar() or 0

    def xcom(
        self, dag: str, run: str, task: str, value: Any, *, key: str = "return_value",
        index: int = -1, written: datetime | None = None, state: str = "success",
    ) -> None:  # fmt: skip
        """A row, in place of the one that is there; its run has to be there."""
        xcom, runs, instances = (self._tables[n] for n in ("xcom", "dag_run", "task_instance"))
        where = {"dag_id": dag, "run_id": run, "task_id": task, "map_index": index}
        with self.engine.begin() as connection:
            number = connection.execute(
                sa.select(runs.c.id).where(runs.c.dag_id == dag, runs.c.run_id == run)
            ).scalar()
            assert number is not None, f"{dag}/{run} is not there"
            same = [instances.c[name] == part for name, part in where.items()]
            if not connection.execute(sa.select(sa.func.count()).where(*same)).scalar():
                self._insert(connection, "task_instance", **where, state=state)
            same = [xcom.c[name] == part for name, part in where.items()]
            connection.execute(sa.delete(xcom).where(*same, xcom.c.key == key))
            self._insert(
                connection, "xcom", **where, dag_run_id=number, key=key,
                timestamp=written or datetime.now(timezone.utc),
                value=value if self.binary else sa.type_coerce(value, sa.JSON),
            )  # fmt: skip

    def set_state(self, dag: str, run: str, state: str, ended: datetime | None = None) -> None:
        """The state of a run, and when it ended."""
        runs = self._tables["dag_run"]
        where = runs.c.dag_id == dag, runs.c.run_id == run
        values = {"state": state, "end_date": ended}
        with self.engine.begin() as connection:
            connection.execute(sa.update(runs).where(*where).values(values))

    def delete(self, dag: str, run: str, task: str | None = None, index: int | None = None) -> None:
        """Deletes a run as Airflow does, or the rows of one task: nobody tells the backend."""
        name = "dag_run" if task is None else "xcom"
        columns = self._tables[name].c
        where = [columns.dag_id == dag, columns.run_id == run]
        if task is not None:
            where.append(columns.task_id == task)
        if index is not None:
            where.append(columns.map_index == index)
        with self.engine.begin() as connection:
            connection.execute(sa.delete(self._tables[name]).where(*where))

    def archive(self, dag: str, run: str, name: str = "20260101000000") -> None:
        """As `airflow db clean`: into a table of its own, and out of `xcom`."""
        columns = self._tables["xcom"].c
        table = sa.table(f"_airflow_deleted__xcom__{name}")
        rows = sa.select(*columns).where(columns.dag_id == dag, columns.run_id == run)
        quote = self.engine.dialect.identifier_preparer.quote
        with self.engine.begin() as connection:
            text = rows.compile(self.engine, compile_kwargs={"literal_binds": True})
            connection.exec_driver_sql(
                f"CREATE TABLE {quote(table.name)} AS {str(text).replace('%', '%%')}"
            )
            connection.execute(
                sa.delete(self._tables["xcom"]).where(columns.dag_id == dag, columns.run_id == run)
            )

    def row(self, value: Any) -> Any:
        """What the backend returned, as a row holds it."""
        return json.dumps(value).encode() if self.binary and type(value) is not bytes else value

    def _insert(self, connection: Any, name: str, /, **given: Any) -> None:
        """With something in each column that must have something."""
        table = self._tables[name]
        values = {key: value for key, value in given.items() if key in table.c}
        for column in table.c:
            needed = not column.nullable and column.server_default is None
            if needed and column.name not in values and column.autoincrement is not True:
                values[column.name] = _something(column)
        if self.engine.dialect.name != "postgresql":
            values = {
                key: value.replace(tzinfo=None) if isinstance(value, datetime) else value
                for key, value in values.items()
            }
        connection.execute(sa.insert(table).values(values))


def _something(column: Any) -> Any:
    if column.name == "id":
        made = uuid.uuid4()
        is_uuid = "UUID" in type(column.type).__name__.upper()
        return made if is_uuid else made.hex if column.type.length == 32 else str(made)
    kind = column.type.python_type
    if kind is datetime:
        return datetime(2020, 1, 1, tzinfo=timezone.utc)
    if kind is dict:
        return sa.type_coerce({}, sa.JSON)
    return "" if kind is str else b"" if kind is bytes else kind()


def _enforce(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def of_attempts(url: str) -> sa.engine.Engine:
    """Tables as Airflow 3.4 has them (alembic e7c2a91bd540), as far as rows of XComs need them."""
    engine = sa.create_engine(url, future=True)
    made = sa.MetaData()
    whose = [("dag_id", sa.String(250)), ("run_id", sa.String(250))]
    sa.Table(
        "dag_run", made, sa.Column("id", sa.Integer, primary_key=True),
        *(sa.Column(name, kind) for name, kind in whose), sa.Column("state", sa.String(50)),
        *(sa.Column(name, sa.DateTime) for name in ("queued_at", "start_date", "end_date")),
    )  # fmt: skip
    instances = sa.Table(
        "task_instance", made, sa.Column("id", sa.CHAR(32), primary_key=True),
        *(sa.Column(name, kind) for name, kind in whose), sa.Column("task_id", sa.String(250)),
        sa.Column("region_index", sa.Integer), sa.Column("state", sa.String(20)),
    )  # fmt: skip
    sa.Index("ti_dag_run", instances.c.dag_id, instances.c.run_id)
    sa.Table(
        "xcom_v2", made, sa.Column("id", sa.CHAR(32), primary_key=True),
        sa.Column("task_instance_id", sa.CHAR(32), sa.ForeignKey("task_instance.id")),
        sa.Column("key", sa.String(512)), sa.Column("value", sa.JSON),
        sa.Column("timestamp", sa.DateTime), sa.UniqueConstraint("task_instance_id", "key"),
    )  # fmt: skip
    made.create_all(engine)
    return engine

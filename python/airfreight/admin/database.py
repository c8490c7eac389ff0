"""Airflow's metadata database, as administration sees it: the rows of XComs, and the runs.

    database = connect()
    for row in database.rows(dag="sales"):
        ...

By Airflow's own SQLAlchemy (1.4 and 2), and by the columns that the tables really have, so that
one module serves Airflow 2.9 to 3.4 on PostgreSQL, MySQL, MariaDB and SQLite. None of Airflow's
models is imported, and nothing is deserialized: a value is the bytes of Airflow 2 or the JSON of
Airflow 3.
"""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from datetime import datetime, timezone
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from airfreight._imports import loading
from airfreight.admin import ownership
from airfreight.admin.rows import LIVE, MARK, AirflowUnavailableError, Row, Run
from airfreight.errors import ConfigError, InvalidError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy.engine import Connection, Engine

#: What `airflow db clean` moves rows to (airflow/utils/db_cleanup.py), with a time at the end.
_ARCHIVES = tuple(f"_airflow_deleted__{name}__" for name in LIVE)
#: What the step from Airflow 2 to 3 has put away: rows that were pickled.
_PICKLED = "_xcom_archive"
#: Where `airflow db clean` puts task instances, which tell whose an attempt's rows are.
_INSTANCES = "_airflow_deleted__task_instance__"
#: What a table of XComs that is not known here would be called.
_UNKNOWN = re.compile(r"xcom(_v\d+)?")
#: States of runs whose tasks may run, and of tasks within an attempt.
_AT_WORK = ("queued", "running")
_PUSHING = ("running", "deferred", "up_for_reschedule", "restarting")
#: What tells a row, in the order in which rows are read: the primary keys.
_KEY = ("dag_run_id", "task_id", "map_index", "key")
_KEY_OF_ATTEMPTS = ("id",)
_MYSQL = ("mysql", "mariadb")
_T = TypeVar("_T")
#: Coordinates in one look-up.
_AT_ONCE = 100


#: For those whose URL is none.
_RIGHT_URL = (
    "It looks like postgresql+psycopg2://user:password@host/airflow, and in a password @ is "
    "written %40, / is %2F and : is %3A"
)


def connect(url: str | None = None) -> Database:
    """Opens Airflow's metadata database.

    Args:
        url: as SQLAlchemy has it; None: `[database] sql_alchemy_conn`, in all its forms.

    Raises:
        ConfigError: there is no such database, it is not Airflow's, or tasks are kept away from it.
        AirflowUnavailableError: it does not answer.
    """
    arguments: dict[str, Any] = {}
    if url is None:
        with loading:
            from airflow.configuration import conf

        url = conf.get("database", "sql_alchemy_conn")
        if conf.has_option("database", "sql_alchemy_connect_args"):
            arguments = dict(conf.getimport("database", "sql_alchemy_connect_args") or {})
    if str(url).startswith("airflow-db-not-allowed"):
        raise ConfigError(
            "Airflow 3 keeps its tasks away from the metadata database. Run this where the "
            "scheduler or the API server runs, or give the database yourself: "
            "--database postgresql://user@host/airflow (`airfreight sweep` also takes `--via api`)"
        )
    try:
        engine = sa.create_engine(url, poolclass=NullPool, future=True, connect_args=arguments)
    except (sa.exc.ArgumentError, ImportError, ValueError) as error:
        # (SQLAlchemy's own words would repeat the URL, and with it the password.)
        what = f"needs a driver: {error}" if isinstance(error, ImportError) else "is no URL"
        raise ConfigError(f"[database] sql_alchemy_conn {what}. {_RIGHT_URL}") from None
    if engine.dialect.name != "sqlite" and "@" in f"{engine.url.host}{engine.url.database}":
        # What is behind the first one would be told as the name of a host. (SQLite has paths.)
        raise ConfigError(f"[database] sql_alchemy_conn has more than one @. {_RIGHT_URL}")
    if engine.dialect.name in _MYSQL:
        sa.event.listen(engine, "connect", _speak_utc)
    return Database(engine)


def _speak_utc(connection: Any, _: Any) -> None:
    # Its columns are TIMESTAMPs: they are told, and compared, in the time zone of the session
    # (airflow/utils/orm_event_handlers.py does the same).
    cursor = connection.cursor()
    cursor.execute("SET time_zone = '+00:00'")
    cursor.close()


class Database:
    """The rows and the runs.

    Threads: each call has a connection of its own, but for `snapshot`, which is for one thread.
    Errors: AirflowUnavailableError where the database does not answer.
    """

    def __init__(self, engine: Engine, held: Connection | None = None) -> None:
        """Looks at which tables there are; see `connect`."""
        self._engine = engine
        self._held = held
        with self._connected() as connection:
            names = set(sa.inspect(connection).get_table_names())
            missing = [name for name in ("dag_run", "task_instance") if name not in names]
            if not names & set(LIVE):
                missing.insert(0, LIVE[0])
            if missing:
                raise ConfigError(
                    f"the database {self.name} has no table {' or '.join(missing)}: either it is "
                    "not Airflow's, or `airflow db migrate` has not run. Right is what [database] "
                    "sql_alchemy_conn of the scheduler says"
                )
            unknown = [name for name in names if _UNKNOWN.fullmatch(name) and name not in LIVE]
            if unknown:
                # (What its rows refer to would look as if nothing needed it.)
                raise ConfigError(
                    f"the database {self.name} has a table {unknown[0]}, which this release of "
                    "airfreight does not know: a later one has to be installed for this Airflow"
                )
            made = sa.MetaData()

            def table(name: str) -> sa.Table:
                return sa.Table(name, made, autoload_with=connection, resolve_fks=False)

            archived = _archives(names)
            self._tables = {
                name: _Table(table(name))
                for name in (*(live for live in LIVE if live in names), *archived)
            }
            self._runs = table("dag_run")
            live = table("task_instance")
            self._whose = _instances([live])[1]
            if any(one.of_attempts for one in self._tables.values()):
                past = [table(name) for name in sorted(names) if name.startswith(_INSTANCES)]
                for name, one in self._tables.items():
                    of = [live, *past] if name in archived else [live]
                    one.instances, one.instance_columns = _instances(of)

    @property
    def name(self) -> str:
        """Where it is, without a password."""
        return repr(self._engine.url.set(password=None, query={}).render_as_string())

    def again(self) -> Database:
        """The same database with the tables that it has now: archives come and go."""
        with self._connected() as connection:
            names = set(sa.inspect(connection).get_table_names())
        known = [name for name in self._tables if name not in LIVE]
        return self if _archives(names) == known else Database(self._engine, self._held)

    def identity(self) -> dict[str, str]:
        """What tells the database from a copy of it: see `airfreight.admin.ownership.identity`."""
        with self._connected() as connection:
            return ownership.identity(connection)

    def is_replica(self) -> bool:
        """Whether it follows another server, and what was written there may not be here yet."""
        if self._engine.dialect.name != "postgresql":
            return False
        with self._connected() as connection:
            return bool(connection.execute(sa.text("SELECT pg_is_in_recovery()")).scalar())

    def offset(self) -> float:
        """Seconds by which the clock of this machine is ahead of the server's."""
        with self._connected() as connection:
            told = connection.execute(sa.text("SELECT CURRENT_TIMESTAMP")).scalar()
        there = _utc(datetime.fromisoformat(told) if isinstance(told, str) else told)
        here = datetime.now(timezone.utc)
        return 0.0 if there is None else (here - there).total_seconds()

    @property
    def tables(self) -> list[str]:
        """Which tables have rows of XComs, in the order in which they are read."""
        return list(self._tables)

    @property
    def rows_are_bytes(self) -> bool:
        """Whether it is an Airflow 2."""
        return next(iter(self._tables.values())).binary

    def rows(
        self,
        dag: str | None = None,
        run: str | None = None,
        task: str | None = None,
        after: str | None = None,
        batch: int = 1000,
        *,
        marked: bool = False,
        since: datetime | None = None,
    ) -> Iterator[Row]:
        """The rows of XComs, archives last, in an order that stays.

        Rows may be rewritten and removed meanwhile: each batch is a query of its own.

        Args:
            dag: of this one only. (Rows of an archive that names none are never among them.)
            run: the same.
            task: the same.
            after: the `id` of a row: only those behind it, whether it is still there or not.
            batch: how many are in memory at a time.
            marked: only those with `_airfreight` in their value, which the database looks for: what
                Airfreight wrote, and what holds references; large values of others stay away.
            since: only those that were written then or later.
        """
        begin, last = (None, None) if after is None else _place(after)
        names = list(self._tables)
        if begin is not None:
            # An archive may have been dropped: those behind it are still behind it.
            names = [name for name in names if _rank(name) >= _rank(begin)]
        for name in names:
            table = self._tables[name]
            place = last if name == begin else None
            while True:
                found = self._batch(table, (dag, run, task), place, batch, marked, since)
                yield from found
                if len(found) < batch:
                    break
                place = _place(found[-1].id)[1]

    def find(
        self,
        coordinates: Iterable[tuple[str, str, str, int | None, str]],
        batch: int = _AT_ONCE,
    ) -> Iterator[Row]:
        """The rows of these coordinates (dag, run, task, map index, key), archives apart.

        In no order. From Airflow 3.4 on there may be several for one: those of all attempts; and
        where the map index is None, those of all.
        """
        for some in _parts(coordinates, batch):
            for table in self._live():
                columns = (*table.whose(), table.table.c.key)
                yield from self._read(table, table.select().where(_one_of(columns, some)))

    def find_of_attempts(
        self, attempts: Iterable[tuple[str, str]], batch: int = _AT_ONCE
    ) -> Iterator[Row]:
        """The rows of these (task instance, key), archives apart; none before Airflow 3.4."""
        for some in _parts(attempts, batch):
            for table in self._live():
                if table.of_attempts:
                    columns = table.table.c.task_instance_id, table.table.c.key
                    typed = [(table.instance(name), key) for name, key in some]
                    yield from self._read(table, table.select().where(_one_of(columns, typed)))

    def rows_of(self, runs: Iterable[Run], since: datetime, batch: int = _AT_ONCE) -> Iterator[Row]:
        """The rows of runs with `_airfreight` in their value, written then or later.

        Archives apart; in no order. By the runs' indexes: what others have written is not read.
        """
        for some in _parts(runs, batch):
            for table in self._live():
                if table.of_attempts:
                    of_runs = _one_of(table.whose()[:2], [(run.dag, run.run) for run in some])
                else:
                    of_runs = table.table.c.dag_run_id.in_([run.id for run in some])
                statement = table.select().where(
                    of_runs,
                    table.written >= self._moment(since),
                    table.marked(self._engine.dialect.name),
                )
                yield from self._read(table, statement)

    def unowned(self, batch: int = 1000) -> Iterator[Row]:
        """The rows of archives that say of no DAG that they are its (from Airflow 3.4 on)."""
        for table in self._tables.values():
            place = None
            while table.of_attempts and not table.is_live:
                nobody = table.whose()[0].is_(None)
                found = self._batch(table, (), place, batch, False, None, nobody)
                yield from found
                if len(found) < batch:
                    break
                place = _place(found[-1].id)[1]

    def _live(self) -> list[_Table]:
        return [table for table in self._tables.values() if table.is_live]

    def rewrite(self, row: Row, value: Any) -> bool:
        """Gives a row another value, if it still has the one that was read.

        Args:
            row: as it was read.
            value: bytes on Airflow 2, what JSON has on Airflow 3.

        Returns:
            False where the row is gone or was written meanwhile; it is left as it is then.
        """
        table = self._tables[row.table]
        if table.binary != isinstance(value, bytes):
            wanted = "bytes" if table.binary else "a JSON value"
            raise InvalidError(f"a row of {row.table} holds {wanted}, not {type(value).__name__}")
        new = value if table.binary else table.encoded(value, self._engine.dialect.name)
        statement = sa.update(table.table).where(*self._same(table, row)).values(value=new)
        with self._changing() as connection:
            return bool(connection.execute(statement).rowcount)

    def reread(self, row: Row) -> Row | None:
        """A row as it is now; None where it is gone."""
        table = self._tables[row.table]
        same = self._same(table, row)[:-1]
        return next(iter(self._read(table, table.select().where(*same))), None)

    def is_at_work(self, row: Row) -> bool:
        """Whether the task instance that a row is of may push within the attempt that wrote it."""
        if row.ti is not None:
            where = [self._whose[0] == self._tables[row.table].instance(row.ti)]
        else:
            place = row.dag, row.run, row.task, row.map_index
            where = [column == part for column, part in zip(self._whose[1:], place, strict=True)]
        state = self._whose[1].table.c.state
        statement = sa.select(state).where(*where, state.in_(_PUSHING)).limit(1)
        with self._connected() as connection:
            return connection.execute(statement).first() is not None

    def remove(self, rows: Iterable[Row]) -> int:
        """Removes rows that still have the value that was read; how many that were."""
        count = 0
        with self._changing() as connection:
            for row in rows:
                table = self._tables[row.table]
                done = connection.execute(sa.delete(table.table).where(*self._same(table, row)))
                count += done.rowcount
        return count

    def runs(
        self, dag: str | None = None, after: int | None = None, batch: int = 1000
    ) -> Iterator[Run]:
        """The runs, or those of one DAG, in the order in which they were made."""
        columns = self._runs.c
        while True:
            statement = sa.select(*self._of_run()).order_by(columns.id).limit(batch)
            if dag is not None:
                statement = statement.where(columns.dag_id == dag)
            if after is not None:
                statement = statement.where(columns.id > after)
            with self._connected() as connection:
                found = [_run(one) for one in connection.execute(statement)]
            yield from found
            if len(found) < batch:
                return
            after = found[-1].id

    def at_work(self, after: int) -> list[Run]:
        """The runs whose tasks may run, and those that were made after that of a number."""
        found = list(self.runs(after=after))
        for state in _AT_WORK:
            # (Written out: Airflow's indexes are of the rows with this very word.)
            is_so = self._runs.c.state == sa.literal_column(f"'{state}'")
            with self._connected() as connection:
                found += [
                    _run(one) for one in connection.execute(sa.select(*self._of_run()).where(is_so))
                ]
        return found

    def find_runs(
        self, runs: Iterable[tuple[str, str]], batch: int = _AT_ONCE
    ) -> dict[tuple[str, str], Run]:
        """Runs by dag and run id; those that are not there are left out."""
        columns = self._runs.c
        made = {}
        for some in _parts(sorted(set(runs)), batch):
            one_of = _one_of((columns.dag_id, columns.run_id), some)
            with self._connected() as connection:
                for found in connection.execute(sa.select(*self._of_run()).where(one_of)):
                    one = _run(found)
                    made[one.dag, one.run] = one
        return made

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Database]:
        """The database as it is at one moment: whatever changes meanwhile is not seen.

        A row that moves (into an archive, say) is so seen exactly once. The transaction that is
        open all the while holds up PostgreSQL's vacuum, and on SQLite all who write.
        """
        engine = self._engine
        lite = engine.dialect.name == "sqlite"
        asked = engine if lite else engine.execution_options(isolation_level="REPEATABLE READ")
        with _asking(self.name), asked.connect() as connection:
            if lite:
                # Its driver begins no transaction for what only reads.
                connection.exec_driver_sql("BEGIN")
            elif engine.dialect.name in _MYSQL:
                # Its moment is that of the first look at a row else: which tables there are is
                # told as of now, and `airflow db clean` may move rows in between.
                connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            yield Database(engine, connection)
            connection.rollback()

    def _of_run(self) -> list[Any]:
        columns = self._runs.c
        made = [columns[name] for name in ("queued_at", "start_date") if name in columns]
        return [
            *(columns.dag_id, columns.run_id, columns.id, columns.state),
            sa.func.coalesce(*made) if len(made) > 1 else made[0],
            columns.end_date,
        ]

    def _batch(
        self,
        table: _Table,
        whose: Sequence[str | None],
        place: Sequence[Any] | None,
        batch: int,
        marked: bool,
        since: datetime | None,
        *conditions: Any,
    ) -> list[Row]:
        statement = table.select().where(*conditions).order_by(*table.key).limit(batch)
        for column, wanted in zip(table.whose(), whose, strict=False):
            if wanted is not None:
                statement = statement.where(column == wanted)
        if place is not None:
            statement = statement.where(_behind(table.key, table.typed(place)))
        if marked:
            statement = statement.where(table.marked(self._engine.dialect.name))
        if since is not None:
            statement = statement.where(table.written >= self._moment(since))
        return list(self._read(table, statement))

    def _read(self, table: _Table, statement: Any) -> list[Row]:
        with self._connected() as connection:
            return [table.row(found) for found in connection.execute(statement)]

    def _same(self, table: _Table, row: Row) -> list[Any]:
        """The conditions under which a row is the one that was read."""
        values = table.typed(_place(row.id)[1])
        same = [column == value for column, value in zip(table.key, values, strict=True)]
        return [*same, table.holds(row.raw, self._engine.dialect.name)]

    def _moment(self, when: datetime) -> datetime:
        """As the database keeps times."""
        when = when.astimezone(timezone.utc)
        return when if self._engine.dialect.name == "postgresql" else when.replace(tzinfo=None)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Connection]:
        with _asking(self.name):
            if self._held is not None:
                yield self._held
                return
            with self._engine.connect() as connection:
                yield connection

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Connection]:
        if self._held is not None:
            raise InvalidError("a snapshot of the database is for reading only")
        with _asking(self.name), self._engine.begin() as connection:
            yield connection


class _Table:
    """A table of XComs, by the columns that it has."""

    def __init__(self, table: sa.Table) -> None:
        self.table = table
        self.of_attempts = "task_instance_id" in table.c
        self.is_live = table.name in LIVE
        self.instances: Any = None
        self.instance_columns: list[Any] = []
        names = _KEY_OF_ATTEMPTS if self.of_attempts else _KEY
        self.key = [table.c[name] for name in names]
        kind = table.c.value.type
        # What SQLite makes of `CREATE TABLE … AS` has affinities for types: that of bytes is none.
        # (MySQL's types of bytes have nothing in common but their names.)
        self.binary = isinstance(kind, (sa.LargeBinary, sa.types.BINARY, sa.types.NullType)) or (
            "BLOB" in type(kind).__name__.upper()
        )
        self.written = sa.type_coerce(table.c.timestamp, sa.DateTime(timezone=True))

    def whose(self) -> list[Any]:
        """The columns of dag, run, task and map index."""
        columns = self.table.c
        if not self.of_attempts:
            return [columns.dag_id, columns.run_id, columns.task_id, columns.map_index]
        return self.instance_columns[1:]

    def instance(self, name: str) -> Any:
        """The id of a task instance, as its column has it."""
        column = self.table.c.task_instance_id.type
        with contextlib.suppress(ValueError):
            made = uuid.UUID(name)
            with contextlib.suppress(NotImplementedError):
                if column.python_type is uuid.UUID:
                    return made
            return made.hex if getattr(column, "length", None) == 32 else str(made)
        return name

    def select(self) -> Any:
        columns = self.table.c
        text = columns.value if self.binary else sa.cast(columns.value, sa.Text)
        attempt = [columns.task_instance_id] if self.of_attempts else []
        wanted = [*self.key, *self.whose(), columns.key, text, self.written, *attempt]
        # (A column may be asked for twice: names would clash.)
        named = [column.label(f"c{place}") for place, column in enumerate(wanted)]
        if not self.of_attempts:
            return sa.select(*named)
        joined = self.table.outerjoin(
            self.instances, columns.task_instance_id == self.instance_columns[0]
        )
        return sa.select(*named).select_from(joined)

    def row(self, found: Any) -> Row:
        """A row of what `select` gave."""
        many = len(self.key)
        dag, run, task, index, key, raw, written, *attempt = found[many:]
        place = [value if isinstance(value, (int, str)) else str(value) for value in found[:many]]
        return Row(
            self.table.name,
            json.dumps([self.table.name, *place]),
            dag or "",
            run or "",
            task or "",
            -1 if index is None else index,
            key,
            bytes(raw) if self.binary and raw is not None else raw,
            _utc(written) or datetime.fromtimestamp(0, timezone.utc),
            _instance(attempt[0]) if attempt else None,
        )

    def typed(self, place: Sequence[Any]) -> list[Any]:
        """Values of the key, as its columns have them."""
        made = []
        for column, value in zip(self.key, place, strict=True):
            with contextlib.suppress(NotImplementedError):
                kind = column.type.python_type
                made.append(value if isinstance(value, kind) else kind(value))
                continue
            made.append(value)
        return made

    def marked(self, dialect: str) -> Any:
        """The condition that the mark is in the value, for the database to look."""
        value: Any = self.table.c.value
        if self.binary:
            mark = sa.literal(MARK.encode(), sa.LargeBinary)
            if dialect == "postgresql":
                return sa.func.position(mark.op("IN")(value)) > 0
            return sa.func.instr(value, mark) > 0
        text = sa.cast(value, sa.Text)
        if dialect == "postgresql":
            return sa.func.strpos(text, MARK) > 0
        return sa.func.instr(text, MARK) > 0

    def holds(self, raw: bytes | str | None, dialect: str) -> Any:
        """The condition that the value is this one, byte for byte."""
        value = self.table.c.value
        if raw is None:
            return value.is_(None)
        if isinstance(raw, bytes):
            return value == sa.literal(raw, sa.LargeBinary)
        text: Any = sa.cast(value, sa.Text)
        if dialect in _MYSQL:
            # Its texts are equal in whatever case.
            return sa.cast(text, sa.BINARY) == sa.cast(sa.literal(raw), sa.BINARY)
        return text == raw

    def encoded(self, value: Any, dialect: str) -> Any:
        """A JSON value for the column."""
        text = sa.literal(json.dumps(value), sa.Text)
        if dialect == "postgresql":
            return sa.cast(text, self.table.c.value.type)
        # As a text: SQLAlchemy would make a JSON string of it where the column is one of JSON.
        return sa.type_coerce(text, sa.Text)


def _archives(names: Iterable[str]) -> list[str]:
    """The tables of rows that no task reads any more."""
    return sorted(name for name in names if name.startswith(_ARCHIVES) or name == _PICKLED)


def _instances(tables: Sequence[sa.Table]) -> tuple[Any, list[Any]]:
    """Task instances, of several tables as one: from where, and id, dag, run, task, map index."""
    made = []
    for table in tables:
        columns = table.c
        # (What it is called has changed within the betas of 3.4.)
        index = columns.region_index if "region_index" in columns else columns.map_index
        # (Airflow 2 has no ids, nor rows that need them.)
        name = columns.id if "id" in columns else columns.dag_id
        made.append([name, columns.dag_id, columns.run_id, columns.task_id, index])
    if len(made) == 1:
        return tables[0], made[0]
    names = ("id", "dag_id", "run_id", "task_id", "place")
    together = sa.union(
        *(
            sa.select(*(it.label(name) for it, name in zip(some, names, strict=True)))
            for some in made
        )
    ).subquery()
    return together, [together.c[name] for name in names]


def _instance(name: Any) -> str:
    """The id of a task instance as references have it; some databases keep it without dashes."""
    with contextlib.suppress(ValueError):
        return str(uuid.UUID(str(name)))
    return str(name)


def _parts(items: Iterable[_T], batch: int) -> Iterator[list[_T]]:
    rest = iter(items)
    while some := list(islice(rest, batch)):
        yield some


def _one_of(columns: Sequence[Any], places: Iterable[Sequence[Any]]) -> Any:
    """The condition that the columns have one of these values, each None being any."""
    return sa.or_(
        *(
            sa.and_(
                *(
                    column == part
                    for column, part in zip(columns, place, strict=True)
                    if part is not None
                )
            )
            for place in places
        )
    )


def _behind(columns: Sequence[Any], values: Sequence[Any]) -> Any:
    """`columns > values`, in the form that all databases use an index for."""
    condition: Any = None
    for column, value in reversed(list(zip(columns, values, strict=True))):
        more = column > value
        condition = more if condition is None else sa.or_(more, sa.and_(column == value, condition))
    return sa.and_(columns[0] >= values[0], condition)


def _place(identity: str) -> tuple[str, list[Any]]:
    """The table and the key of a row's id."""
    try:
        table, *place = json.loads(identity)
        if type(table) is str and place:
            return table, place
    except (ValueError, TypeError):
        pass
    raise InvalidError(f"{identity!r} is not the id of a row")


def _rank(table: str) -> tuple[int, str]:
    """Where a table stands among all."""
    return (LIVE.index(table), "") if table in LIVE else (len(LIVE), table)


def _run(found: Any) -> Run:
    dag, run, number, state, made, ended = found
    return Run(dag, run, number, str(state or ""), _utc(made), _utc(ended))


def _utc(when: Any) -> datetime | None:
    if not isinstance(when, datetime):
        return None
    return when.astimezone(timezone.utc) if when.tzinfo else when.replace(tzinfo=timezone.utc)


@contextlib.contextmanager
def _asking(name: str) -> Iterator[None]:
    """Has what a driver says be an error of ours."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        said = str(error.orig).strip().splitlines()
        raise AirflowUnavailableError(
            f"the metadata database {name}: {said[0] if said else type(error.orig).__name__}"
        ) from error

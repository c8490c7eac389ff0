"""Airflow's public REST API in place of its database: the rows of XComs, and the runs.

    api = connect("https://airflow.example.com", Token())
    for row in api.rows(marked=True):
        ...

For Airflow 3.3. Its list of XComs has no values: each is a request of its own. It shows less than
the database has, and says nothing of it: only the DAGs that the user may read, no archive tables,
and nothing of a DAG that is not in the table `dag` any more. `connect` refuses what it can tell;
docs/sweep.md tells the rest.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import json
import platform
import secrets
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from airfreight._imports import loading
from airfreight.admin import api_client, ownership, paging
from airfreight.admin.api_client import Client
from airfreight.admin.rows import MARK, AirflowUnavailableError, Row, Run
from airfreight.errors import ConfigError, InternalError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from airfreight.admin.api_client import Token

#: Items of a page: as many as Airflow gives where nobody has allowed more ([api]
#: maximum_page_limit).
PAGE = 100
#: Requests at once. Each takes a thread and a connection to the database of an API server.
_SIDE_BY_SIDE = 8
_KNOWN_RELEASE = (3, 3)
#: By their time first, so that what is written meanwhile comes last; then by what tells them apart.
_ORDER = ("dag_id", "run_id", "task_id", "map_index", "key")
#: Airflow's words for what is not there.
_NO_ENTRY = "XCom entry with key: "
_NONE_TO_DELETE = "The XCom with key: "
_NO_RUN = "The DagRun with dag_id: "
#: What it answers where it fails over a single thing (HTTP).
_FAULT = 500

#: What names end with that are given anew in each network, cluster or machine.
_OF_A_NETWORK = (
    *(".svc", ".local", ".localhost", ".internal", ".lan", ".home.arpa", ".localdomain"),
    *(".consul", ".docker", ".test"),
)
#: Kubernetes gives each cluster an authority of its own, and puts its certificate into pods
#: (kubernetes.io/docs/tasks/run-application/access-api-from-pod).
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_Asked = TypeVar("_Asked")
_Found = TypeVar("_Found")


def connect(url: str | None, token: Token, warn: Callable[[str], None] = lambda _: None) -> Api:
    """Opens an Airflow, and makes sure that all of its rows can be seen.

    Args:
        url: None: `[api] base_url`.
        token: of a user who may read all DAGs.
        warn: is told what is not as it should be.

    Raises:
        ConfigError: there is no such Airflow, or the user may not.
        UnsupportedError: it is a release whose API does not show what a sweep has to know.
        AirflowUnavailableError: it does not answer.
    """
    if not url:
        with loading:
            from airflow.configuration import conf

        url = conf.get("api", "base_url", fallback="")
    if not url:
        raise ConfigError(
            "where is Airflow's API? Give --api-url https://airflow.example.com, or set "
            "AIRFLOW__API__BASE_URL"
        )
    client = Client(url, token)
    if api_client.exposes(client.url):
        warn(
            f"--api-url ([api] base_url) {client.url} is plain http: whoever is on the way there "
            "can read the token, and use it. Right is https://…, or http on this machine alone"
        )
    made = Api(client)
    made.check()
    return made


class Api:
    """The rows and the runs: a `airfreight.admin.rows.Source`.

    Threads: any; it starts some of its own. Errors: those of `Client`, and AirflowUnavailableError
    where rows come and go faster than they can be read.
    """

    def __init__(self, client: Client, page: int = PAGE) -> None:
        """Asks nothing yet; see `connect`."""
        self._client = client
        self._page = page

    @property
    def name(self) -> str:
        """Where it is."""
        return self._client.url

    def identity(self) -> dict[str, str]:
        """What tells it from others: its address, and from where that is meant.

        (`http://airflow-api-server:8080` is another one in each namespace, a copy's for instance.)
        """
        host = urllib.parse.urlsplit(self._client.url).hostname or ""
        return {
            "kind": ownership.API,
            "url": self._client.url,
            "from": "" if _is_known_everywhere(host) else _here(),
        }

    def is_replica(self) -> bool:
        """Never, as far as it tells."""
        return False

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Api]:
        """Itself: there is none. What is written from now on is asked for by `rows(since=…)`."""
        yield self
        self._sees_all()

    def again(self) -> Api:
        """Itself, if it still shows all."""
        self._sees_all()
        return self

    # What it is.

    def check(self) -> None:
        """Raises where its rows can't be seen, or not all: see `connect`."""
        told = self._client.get("version")
        release = str(told.get("version") if type(told) is dict else "")
        number = tuple(int(part) for part in release.split(".")[:2] if part.isdecimal())
        if len(number) != len(_KNOWN_RELEASE):
            raise InternalError(f"{self.name} does not say which Airflow it is")
        if number > _KNOWN_RELEASE:
            raise UnsupportedError(
                f"{self.name} is Airflow {release}. From 3.4 on the rows of earlier attempts are "
                "kept, and its API does not show them: give --database"
            )
        # Before 3.3 it takes whatever is asked for as an order, and gives its own.
        if not self._client.refuses(*_entries(), query={"order_by": "no-such-column", "limit": 1}):
            raise UnsupportedError(
                f"{self.name} is Airflow {release}, whose API lists XComs in no order by which "
                "none can be missed: --via api needs Airflow 3.3. Give --database"
            )
        self._sees_all()

    def _sees_all(self) -> None:
        # (Again after rows were read: rights may have been taken away meanwhile, or the token that
        # came for one which expired be that of another user.)
        # What a user may not read is left out without a word. A DAG that nobody has heard of can
        # only be asked for by who may read them all.
        dag = f"airfreight-{secrets.token_hex(8)}"
        if self._entry(dag, "none", "none", -1, "none") or self.find_runs([(dag, "none")]):
            raise InternalError(f"{self.name} knows a DAG {dag}, which we have just made up")
        told = self._client.get("config", prefix="/ui")
        if type(told) is not dict or told.get("multi_team") is not False:
            raise UnsupportedError(
                f"{self.name} has teams ([core] multi_team), or does not say that it has none: "
                "what others have is not shown, and nothing says that it is there. Give --database"
            )

    # Rows.

    def rows(
        self,
        dag: str | None = None,
        run: str | None = None,
        *,
        marked: bool = False,
        since: datetime | None = None,
    ) -> Iterator[Row]:
        """The rows: each that is there all the while, once at least.

        By their age; the newest first where `since` is given.

        Args:
            dag: of this one only.
            run: the same.
            marked: only those with `_airfreight` in their value. (It is read all the same.)
            since: only those that were written then or later.
        """
        path = _entries(dag, run)
        order = ["timestamp" if since is None else "-timestamp", *_ORDER]

        def fetch(offset: int, limit: int) -> tuple[list[_Entry], int]:
            query = {"order_by": order, "limit": limit, "offset": offset}
            items, total = _listed(self._client.get(*path, query=query), "xcom_entries", self.name)
            return [_Entry(item, self.name) for item in items], total

        def in_order(one: _Entry, other: _Entry) -> bool:
            return one.written <= other.written if since is None else one.written >= other.written

        for page in paging.walk(fetch, _Entry.identity, in_order, self._page):
            # (A run may have the name that stands for all of them.)
            wanted = [
                one
                for one in page
                if dag in (None, one.where[0])
                and run in (None, one.where[1])
                and (since is None or one.written >= since)
            ]
            for row in self._side_by_side(self._row, wanted):
                if row is not None and (not marked or MARK in str(row.raw)):
                    yield row
            if since is not None and page[-1].written < since:
                return

    def offset(self) -> float:
        """Seconds by which the clock of this machine is ahead of the server's.

        Raises:
            InternalError: it does not tell its time.
        """
        there = self._client.time()
        return (datetime.now(timezone.utc) - there).total_seconds()

    def rows_of(self, _: Iterable[Run], since: datetime) -> Iterator[Row]:
        """All rows with our mark that were written since: its list begins with the newest."""
        return self.rows(marked=True, since=since)

    def find_of_attempts(self, _: Iterable[tuple[str, str]]) -> Iterator[Row]:
        """None: Airflow 3.3 has no rows of attempts."""
        return iter(())

    def find(self, coordinates: Iterable[tuple[str, str, str, int | None, str]]) -> Iterator[Row]:
        """The rows of these coordinates (dag, run, task, map index, key), in no order.

        (Without a map index are only those of Airflow 3.4.)
        """
        wanted = [
            (dag, run, task, index, key)
            for dag, run, task, index, key in coordinates
            if index is not None
        ]
        for found in self._side_by_side(lambda one: self._entry(*one), wanted):
            if found is not None:
                yield found

    def remove(self, rows: Iterable[Row]) -> int:
        """Removes rows that still have the value that was read; how many that were.

        Looked at and removed in two requests: only of runs that are over, whose tasks write none.
        """
        count = 0
        for row in rows:
            run = self.find_runs([(row.dag, row.run)]).get((row.dag, row.run))
            if run is None or not run.over:
                continue
            now = self._entry(row.dag, row.run, row.task, row.map_index, row.key)
            if now is None or now != row:
                continue
            count += self._client.delete(
                *_entries(row.dag, row.run, row.task), row.key,
                absent=_NONE_TO_DELETE, query={"map_index": row.map_index},
            )  # fmt: skip
        return count

    def _row(self, entry: _Entry) -> Row | None:
        """The row of what was listed; None where it is gone by now."""
        return self._entry(*entry.where)

    def _entry(self, dag: str, run: str, task: str, index: int, key: str) -> Row | None:
        try:
            found = self._client.get(
                *_entries(dag, run, task), key, absent=_NO_ENTRY,
                query={"map_index": index, "deserialize": "false", "stringify": "false"},
            )  # fmt: skip
        except AirflowUnavailableError as error:
            # (A row that it can't make JSON of, and a fault of the server, have one answer. What is
            # in a row that nobody could read might be anything, and so this is the end, too.)
            if error.http_status == _FAULT:
                error.message += (
                    ". Where it is this row's (a value that is no JSON, such as NaN), and comes "
                    "again, the database shows it: --via db; or delete that XCom, or run its task "
                    "again"
                )
                error.name_xcom({"dag": dag, "run": run, "task": task, "map": index, "key": key})
            raise
        if found is None:
            return None
        entry = _Entry(found, self.name)
        if entry.where != (dag, run, task, index, key) or "value" not in found:
            raise InternalError(
                f"{self.name} answered with another XCom, or without its value, when asked for",
                dag=dag, run=run, task=task, map_index=index, xcom_key=key,
            )  # fmt: skip
        raw = json.dumps(found["value"])
        identity = json.dumps(["xcom", dag, run, task, index, key])
        return Row("xcom", identity, dag, run, task, index, key, raw, entry.written)

    # Runs.

    def at_work(self, after: int) -> list[Run]:  # noqa: ARG002 (`rows_of` gives newer ones, too)
        """The runs whose tasks may run."""
        return list(self._runs(state=["queued", "running"]))

    def runs(self) -> Iterator[Run]:
        """All runs, in the order in which they were made."""
        return self._runs()

    def _runs(self, **more: Any) -> Iterator[Run]:
        def fetch(offset: int, limit: int) -> tuple[list[dict[str, Any]], int]:
            query = {"order_by": "id", "limit": limit, "offset": offset, **more}
            found = self._client.get("dags", "~", "dagRuns", query=query)
            return _listed(found, "dag_runs", self.name)

        def identity(item: dict[str, Any]) -> tuple[object, object]:
            return item.get("dag_id"), item.get("dag_run_id")

        count = 0
        for page in paging.walk(fetch, identity, lambda *_: True, self._page):
            for item in page:
                count += 1
                yield _run(item, count, self.name)

    def find_runs(self, runs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Run]:
        """Runs by dag and run id; those that are not there are left out."""

        def one(place: tuple[str, str]) -> Run | None:
            dag, run = place
            found = self._client.get("dags", dag, "dagRuns", run, absent=_NO_RUN)
            if found is None:
                return None
            made = _run(found, 0, self.name)
            if (made.dag, made.run) != place:
                raise InternalError(
                    f"{self.name} answered with another run when asked for", dag=dag, run=run
                )
            return made

        found = self._side_by_side(one, sorted(set(runs)))
        return {(run.dag, run.run): run for run in found if run is not None}

    def _side_by_side(
        self, ask: Callable[[_Asked], _Found], wanted: Iterable[_Asked]
    ) -> list[_Found]:
        asked = list(wanted)
        if len(asked) <= 1:
            return [ask(one) for one in asked]
        with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="airfreight-api") as threads:
            return list(threads.map(ask, asked))


class _Entry:
    """What a list tells of an XCom."""

    __slots__ = ("where", "written")

    def __init__(self, told: Any, name: str) -> None:
        try:
            texts = [told[part] for part in ("dag_id", "run_id", "task_id", "key")]
            index = told["map_index"]
            written = _moment(told["timestamp"])
        except (TypeError, KeyError, ValueError, AttributeError):
            raise InternalError(f"{name} told of an XCom what is none") from None
        if type(index) is not int or {type(text) for text in texts} != {str}:
            raise InternalError(f"{name} told of an XCom what is none")
        dag, run, task, key = texts
        self.where: tuple[str, str, str, int, str] = (dag, run, task, index, key)
        self.written = written

    def identity(self) -> tuple[object, ...]:
        """A row that is written again is another one."""
        return (*self.where, self.written)


def _entries(dag: str | None = None, run: str | None = None, task: str | None = None) -> list[str]:
    """The path of the list of XComs; `~` stands for all."""
    parts = [part if part is not None else "~" for part in (dag, run, task)]
    return ["dags", parts[0], "dagRuns", parts[1], "taskInstances", parts[2], "xcomEntries"]


def _listed(answer: Any, what: str, name: str) -> tuple[list[Any], int]:
    """The items of a list, and how many there are in all."""
    items, total = (
        (answer.get(what), answer.get("total_entries")) if type(answer) is dict else (None, None)
    )
    if type(items) is not list or type(total) is not int:
        raise InternalError(f"{name} answered without {what}, or without how many there are")
    return items, total


def _run(told: Any, number: int, name: str) -> Run:
    try:
        texts = [told[part] for part in ("dag_id", "dag_run_id", "state")]
        made, ended = (
            None if told.get(part) is None else _moment(told[part])
            for part in ("queued_at", "end_date")
        )
    except (TypeError, KeyError, ValueError, AttributeError):
        raise InternalError(f"{name} told of a run what is none") from None
    if {type(text) for text in texts} != {str}:
        raise InternalError(f"{name} told of a run what is none")
    return Run(texts[0], texts[1], number, texts[2], made, ended)


def _is_known_everywhere(host: str) -> bool:
    """Whether a host's name, or number, means the same one wherever it is used."""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        pass
    # (`service.namespace` means another one in each cluster, and looks like example.com. A cluster
    # may have another domain than cluster.local.)
    name = host.rstrip(".")
    return name.count(".") > 1 and not name.endswith(_OF_A_NETWORK) and ".svc." not in name


def _here() -> str:
    """The network in which a name is meant: the cluster and namespace of a pod, or this machine."""
    try:
        authority = (_SERVICE_ACCOUNT / "ca.crt").read_bytes()
        namespace = (_SERVICE_ACCOUNT / "namespace").read_text().strip()
    except OSError:
        return platform.node()
    return f"{namespace} of {hashlib.sha256(authority).hexdigest()[:16]}"


def _moment(text: str) -> datetime:
    # (`Z` is not read before Python 3.11.)
    when = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if when.tzinfo is None:
        raise ValueError
    return when.astimezone(timezone.utc)

"""Rows go in every way that Airflow has, and `airfreight sweep` removes what they leave."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.parse
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.airflow.conftest import DirectoryStore
    from tests.airflow.harness import Airflow

pytestmark = [pytest.mark.airflow, pytest.mark.releases("3.3.2", "2.11.2")]

RUNS = ("fewer", "run_deleted", "row_deleted", "cleaned")
DAGS = ("leaving", "left")


class Site:
    """An Airflow, and the store of its values."""

    def __init__(self, airflow: Airflow, store: DirectoryStore) -> None:
        self.airflow = airflow
        self.store = store
        self.api = "/api/v2" if airflow.major >= 3 else "/api/v1"

    def objects(self, dag: str = "leaving") -> set[str]:
        return set(self.store.objects(dag)) if self.store.folder(dag).exists() else set()

    def needed(self, dag: str = "leaving") -> set[str]:
        """The objects of the rows that are there."""
        folder = f"{self.store.url}/{dag}/"
        values = [row.value for row in self.airflow.xcom_rows(dag)]
        return {value["uri"].removeprefix(folder) for value in values if "uri" in value}

    def age(self) -> None:
        """All objects become older than any grace period; what lies beside one names its time."""
        old = int(time.time() - 40 * 86_400) * 10**9
        for dag in DAGS:
            for name in self.objects(dag):
                path = self.store.folder(dag) / name
                now = path.stat().st_mtime_ns
                os.utime(path, ns=(old, old))
                for beside in path.parent.glob(f".@{path.name}@*-{now:x}"):
                    beside.rename(str(beside).replace(f"-{now:x}", f"-{old:x}"))

    def sweep(self) -> dict[str, Any]:
        """What a sweep says of the store."""
        self.age()
        found: dict[str, Any] = self.run("sweep", "--yes")["stores"]["default"]
        return found

    def run(self, *words: str) -> dict[str, Any]:
        done = subprocess.run(
            [self.airflow.python.parent / "airfreight", *words, "--json"],
            env=self.airflow.env, cwd=self.airflow.directory,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        said: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
        # (1: other tests have planted rows that lead to what can't be read, which keeps their own.)
        assert done.returncode == (1 if said.get("unread") else 0), (said, done.stderr[-4000:])
        return said

    def rest(self, method: str, *parts: str, query: str = "") -> None:
        path = "/".join(urllib.parse.quote(part, safe="") for part in parts)
        self.airflow.rest(method, f"{self.api}/dags/{path}{query}")


@pytest.fixture(scope="module")
def site(airflow: Airflow, store: DirectoryStore) -> Site:
    for run in RUNS:
        airflow.trigger("leaving", run)
    airflow.trigger("left", "r")
    made = Site(airflow, store)
    for run in RUNS:
        assert airflow.wait("leaving", run) == "success"
    assert airflow.wait("left", "r") == "success"
    made.run("claim", "--yes")
    return made


def test_whatever_way_rows_go_their_objects_go_and_no_others(site: Site) -> None:
    airflow = site.airflow
    assert len(site.objects()) == 3 * len(RUNS)
    assert site.objects() == site.needed()

    gone = {f"run_deleted/make/map_{index}/return_value.bin" for index in range(3)}
    site.rest("DELETE", "leaving", "dagRuns", "run_deleted")
    airflow.clear("leaving", "fewer", ["count", "make"])
    assert airflow.wait("leaving", "fewer") == "success"
    # (On Airflow 2 the process of `count` schedules what comes next, at times before the scheduler
    # has looked at how many there are: one too many then runs again.)
    ends = {"removed"} if airflow.major >= 3 else {"removed", "success"}
    assert airflow.task_states("leaving", "fewer")["make", 2] in ends
    if airflow.major >= 3:
        # (What the interface calls. Airflow 2 has it in its interface only.)
        for index in range(2):
            where = ("row_deleted", "taskInstances", "make", "xcomEntries", "return_value")
            site.rest("DELETE", "leaving", "dagRuns", *where, query=f"?map_index={index}")
            gone.add(f"row_deleted/make/map_{index}/return_value.bin")
    site.rest("DELETE", "left")  # (As `airflow dags delete`, in less time.)
    assert site.objects("left")
    assert site.needed("left") == set()
    airflow.postgres.text(
        "UPDATE xcom SET timestamp = '2020-01-01' WHERE dag_id = 'leaving' AND run_id = 'cleaned'"
    )
    before = ("--clean-before-timestamp", "2020-06-01", "--tables", "xcom")
    airflow.airflow("db", "clean", *before, "--yes")
    archived = {f"cleaned/make/map_{index}/return_value.bin" for index in range(3)}

    # All that Airflow has no row of is waste, but for what it keeps in its archive. It also keeps
    # the row of a mapped instance that there is no more.
    assert site.objects() - site.needed() == gone | archived
    assert "fewer/make/map_2/return_value.bin" in site.needed()
    site.sweep()
    assert site.objects("left") == set()
    assert site.objects() == site.needed() | archived
    # (As `airflow db drop-archived`.)
    (archive,) = airflow.postgres.rows(
        "SELECT tablename FROM pg_tables WHERE tablename LIKE '\\_airflow\\_deleted\\_\\_xcom%'"
    )
    airflow.postgres.text(f"DROP TABLE {archive['tablename']}")
    assert site.sweep()["removed"] == 3
    assert site.objects() == site.needed()

"""Tests on a real Airflow: which release, how to run them, and what they share.

    python3 tools/airflow_env.py 3.3.2 --wheel dist/airfreight-….whl
    build/venvs/tools/bin/python -m pytest tests/airflow --airflow 3.3.2

pytest runs in the environment of developers' tools, outside of Airflow. One call tests one release
(`--airflow`, else 3.3.2): it starts one Airflow (`harness.py`), sets all DAG runs off, and each
test waits for the runs that it looks at. Tests that are not for the release are deselected. Tasks
check what only they can see, and write it down (`dags/common.py`); the tests read that, the rows in
the database, the objects in the store and the logs.

With `AIRFREIGHT_KEEP_AIRFLOW=1` in the environment the directory with all logs stays.
`--airflow-env NAME=VALUE` (repeatable) adds to the environment of Airflow's processes, so that the
package can be tried from its sources, for instance.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import tempfile
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
from tests import leaks
from tests.airflow.harness import Airflow, HarnessError, XComRow

DAGS = pathlib.Path(__file__).parent / "dags"
BACKEND = {"AIRFLOW__CORE__XCOM_BACKEND": "airfreight.XComBackend"}

# A key that only the file has, by a command: Airflow 2 looks for no command of a provider's section
# in a task, and 3 keeps the line feed.
CONFIGURATION = f"""\
[airfreight]
signing_keys_cmd = echo {leaks.key("cfg")}
"""

# Of a form that Airflow itself makes, with characters that a key must encode.
RUN_ID = "manual__2026-01-01T00:00:00+00:00"

# What the tasks of `dags/values.py` check of what they pull, on any store.
VALUE_FACTS = (
    "argument_frame",
    "pulled_frame",
    "pulled_array",
    "pulled_bytes",
    "pulled_json",
    "multiple_outputs",
    "whole_of_multiple_outputs",
    "pull_of_several_tasks",
    "expansion_over_a_large_list",
    "mapped_length",
    "mapped_first",
    "mapped_last",
    "mapped_slice",
    "mapped_iteration",
    "mapped_pull",
    "mapped_pull_of_one",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("airflow")
    group.addoption("--airflow", default="3.3.2", metavar="VERSION", help="which release")
    group.addoption("--airflow-env", action="append", default=[], metavar="NAME=VALUE")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "releases(version, …): the releases of Airflow it is for")
    config.addinivalue_line("markers", "celery: needs Redis and Celery workers")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    version = config.getoption("--airflow")
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        marker = item.get_closest_marker("releases")
        (others if marker is not None and version not in marker.args else kept).append(item)
    if not kept:
        raise pytest.UsageError(f"there is no test for Airflow {version}")
    items[:] = kept
    config.hook.pytest_deselected(items=others)


def readable(log: str) -> str:
    """The end of a task's log for a person: of Airflow 3's JSON lines, what happened and why."""
    lines = []
    for line in log.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            lines.append(line[:2000])
            continue
        lines.append(f"{record.get('level')}: {record.get('event')}"[:2000])
        for detail in record.get("error_detail") or []:
            lines.append(f"    {detail.get('exc_type')}: {detail.get('exc_value')}"[:2000])
            frames = (detail.get("frames") or [])[-4:]
            lines += [f"        {frame.get('filename')}:{frame.get('lineno')}" for frame in frames]
    return "\n".join(lines[-40:])


class Run:
    """A DAG run that was set off, and what can be known of it."""

    def __init__(self, airflow: Airflow, dag_id: str, run_id: str, facts: pathlib.Path) -> None:
        self.airflow = airflow
        self.dag_id = dag_id
        self.run_id = run_id
        self._facts = facts / dag_id / f"{run_id}.jsonl"

    def wait(self) -> str:
        """Waits for the end; returns the run's state."""
        return self.airflow.wait(self.dag_id, self.run_id)

    def outcome(self, name: str) -> Any:
        """What a task noted under `name`; fails with the logs' ends when it did not."""
        self.wait()
        outcomes = {}
        if self._facts.exists():
            for line in self._facts.read_text().splitlines():
                noted = json.loads(line)
                outcomes[noted["fact"]] = noted["outcome"]
        if name not in outcomes:
            pytest.fail(f"No task noted {name!r}; noted: {sorted(outcomes)}\n{self.story()}")
        return outcomes[name]

    def holds(self, name: str) -> bool:
        """Whether the fact `name` held inside a task; fails with the traceback otherwise."""
        outcome = self.outcome(name)
        if outcome != "holds":
            pytest.fail(f"{name}:\n{outcome}")
        return True

    def story(self) -> str:
        """States of all tasks, and the ends of the logs of those that failed."""
        states = self.airflow.task_states(self.dag_id, self.run_id)
        text = [f"{task}[{index}]: {state}" for (task, index), state in sorted(states.items())]
        for (task, index), state in sorted(states.items()):
            if state not in ("success", "skipped"):
                text.append(f"--- log of {task}[{index}]")
                try:
                    text.append(
                        readable(self.airflow.task_log(self.dag_id, self.run_id, task, index))
                    )
                except HarnessError as error:
                    text.append(str(error))
        return "\n".join(text)

    def log(self, task: str, map_index: int = -1, attempt: int = 1) -> str:
        """The log of a task, once the run has ended."""
        self.wait()
        return self.airflow.task_log(self.dag_id, self.run_id, task, map_index, attempt)

    def rows(self) -> list[XComRow]:
        """All XCom rows, once the run has ended."""
        self.wait()
        return self.airflow.xcom_rows(self.dag_id, self.run_id)

    def row(self, task: str, key: str = "return_value", map_index: int = -1) -> XComRow:
        """One XCom row, once the run has ended; fails when it is not there."""
        wanted = (task, key, map_index)
        rows = {(row.task_id, row.key, row.map_index): row for row in self.rows()}
        if wanted not in rows:
            pytest.fail(f"There is no row {wanted}; there are {sorted(rows)}\n{self.story()}")
        return rows[wanted]


class DirectoryStore:
    """The folder that a store keeps its objects in: `file://`, or a server on this machine."""

    def __init__(self, root: pathlib.Path, url: str = "") -> None:
        self.root = root
        self.url = url or f"file://{root}"

    def folder(self, *parts: str) -> pathlib.Path:
        """Where the objects of a DAG, a run or a task lie."""
        return self.root.joinpath(*(urllib.parse.quote(part, safe="") for part in parts))

    def objects(self, *parts: str) -> list[str]:
        """The objects of a DAG, a run or a task: their paths from its folder on.

        Files with a hidden name are the store's notes on an object, and not objects.
        """
        folder = self.folder(*parts)
        paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
        return sorted(str(path) for path in paths if not path.name.startswith("."))

    def path(self, url: str) -> pathlib.Path:
        """The file that a reference's `uri` names: keys are percent-encoded, and so are files."""
        prefix = f"{self.url}/"
        assert url.startswith(prefix), f"{url} is not in {self.url}"
        return self.root / url.removeprefix(prefix)


class Runs:
    """All DAG runs of one Airflow, set off together."""

    def __init__(self, airflow: Airflow, facts: pathlib.Path) -> None:
        self._airflow = airflow
        self._facts = facts
        self._runs: dict[str, Run] = {}

    def trigger(self, dag_id: str) -> Run:
        """Sets a run of a DAG off, the first time; the same run later on."""
        if dag_id not in self._runs:
            self._airflow.trigger(dag_id, RUN_ID)
            self._runs[dag_id] = Run(self._airflow, dag_id, RUN_ID, self._facts)
        return self._runs[dag_id]


@pytest.fixture(scope="session")
def version(request: pytest.FixtureRequest) -> str:
    """The release under test."""
    return str(request.config.getoption("--airflow"))


@pytest.fixture(scope="session")
def given_env(request: pytest.FixtureRequest) -> dict[str, str]:
    """What the command line adds to the environment of Airflow's processes."""
    return dict(text.split("=", 1) for text in request.config.getoption("--airflow-env"))


@pytest.fixture(scope="session")
def scratch() -> Iterator[pathlib.Path]:
    """A directory for stores and notes."""
    # Not pytest's own: that is closed to other users, and deep.
    directory = pathlib.Path(tempfile.mkdtemp(prefix="airfreight-test-"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def store(scratch: pathlib.Path) -> DirectoryStore:
    """The directory store that the Airflow under test uses."""
    (scratch / "store").mkdir()
    return DirectoryStore(scratch / "store")


@pytest.fixture(scope="session")
def airflow(
    version: str, scratch: pathlib.Path, store: DirectoryStore, given_env: dict[str, str]
) -> Iterator[Airflow]:
    """The Airflow under test: LocalExecutor, PostgreSQL, a directory store."""
    env = {
        **BACKEND,
        "AIRFLOW__AIRFREIGHT__STORE": store.url,
        # But for `dags/signed.py`.
        "AIRFLOW__AIRFREIGHT__SIGNING": "off",
        "AIRFLOW_TEST_FACTS": str(scratch / "facts"),
        "AIRFLOW_TEST_OUTAGES": str(scratch / "outages"),
        **given_env,
    }
    # What runs on all releases clears nothing: Airflow 2 needs its webserver only for that.
    full = version in ("3.3.2", "2.11.2")
    configuration = CONFIGURATION if full else ""
    with Airflow(
        version, DAGS, env, rest=full, triggerer=full, configuration=configuration
    ) as running:
        yield running


@pytest.fixture(scope="session")
def runs(airflow: Airflow, scratch: pathlib.Path, version: str) -> Runs:
    """The runs of the DAGs, set off now."""
    runs = Runs(airflow, scratch / "facts")
    full = (
        *("values", "mappables", "retried", "changed", "branches", "thresholds", "outages"),
        *("by_hand", "policy", "signed", "planted"),
    )
    for dag_id in full if version in ("3.3.2", "2.11.2") else ("short", "retried"):
        runs.trigger(dag_id)
    return runs

"""The Python package beside an installed Airflow, without a scheduler or a database server.

Runs in an environment that has an Airflow (2.11 or 3.3, whichever; each test says where it is for
one of them) and the package with its native core:

    build/venvs/airflow-3.3.2/bin/python -m pytest tests/python
"""

from __future__ import annotations

import atexit
import glob
import json
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

# `./dev soak` sets it: how many times as many generated values the property tests take.
MANY = 20 if os.environ.get("AIRFREIGHT_SOAK") else 1

# Before anything imports Airflow: it reads these when it is imported.
_HOME = tempfile.mkdtemp(prefix="airfreight-tests-")
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
for _name in [
    name for name in os.environ if name.startswith(("AIRFLOW__AIRFREIGHT", "AIRFLOW_CTX"))
]:
    del os.environ[_name]
os.environ.update(
    AIRFLOW_HOME=_HOME,
    AIRFLOW__CORE__XCOM_BACKEND="airfreight.XComBackend",
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__UNIT_TEST_MODE="False",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{_HOME}/airflow.db",
)

from tests.servers.counting_proxy import CountingProxy  # noqa: E402
from tests.servers.versitygw import VersityGW  # noqa: E402

import airfreight  # noqa: E402
from airfreight import config, exchange, runtime  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN = "manual__2026-01-01T00:00:00+00:00"


class Box:
    """A backend with a directory of its own, and rows as a database would give them back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
        self._monkeypatch = monkeypatch
        self.root = root
        self.set(store=f"file://{root}")

    def set(self, **options: object) -> None:
        """Sets options of `[airfreight]`; None unsets."""
        for name, value in options.items():
            variable = f"AIRFLOW__AIRFREIGHT__{name.upper()}"
            if value is None:
                self._monkeypatch.delenv(variable, raising=False)
            else:
                self._monkeypatch.setenv(variable, str(value))
        config.forget()
        runtime.forget()

    def push(self, value: Any, **coordinate: Any) -> Any:
        """What the row would hold."""
        where = {
            "key": "return_value",
            "task_id": "extract",
            "dag_id": "sales",
            "run_id": RUN,
            "map_index": -1,
        }
        return airfreight.XComBackend.serialize_value(value, **{**where, **coordinate})

    def pull(self, row: Any) -> Any:
        """What a task gets of a row."""
        return airfreight.XComBackend.deserialize_value(SimpleNamespace(value=row))

    def through(self, value: Any, **coordinate: Any) -> Any:
        """Push, a database, pull."""
        return self.pull(stored(self.push(value, **coordinate)))

    def fields(self, row: Any) -> dict[str, Any]:
        """The members of a row that is a JSON object."""
        found = json.loads(row) if isinstance(row, bytes) else row
        assert isinstance(found, dict)
        return found

    def file(self, row: Any) -> Path:
        """The file of the object that a row refers to."""
        return Path(self.fields(row)["uri"].removeprefix("file://"))

    def objects(self) -> list[str]:
        """The keys of all objects in the store."""
        return [key for key, _ in runtime.freight().list()]


def harm(path: Path, data: bytes | bytearray) -> None:
    """Puts other bytes in the place of a directory store's object, which keeps its metadata.

    That lies beside it under a name that has the file's length and time (src/store/file/sidecar.h).
    """
    time, length = path.stat().st_mtime_ns, path.stat().st_size
    path.write_bytes(data)
    os.utime(path, ns=(time, time))
    for sidecar in path.parent.glob(f".@{glob.escape(path.name)}@*"):
        head, _, token = sidecar.name.rpartition("@")
        size, _, rest = token.partition("-")
        assert int(size, 16) == length, token
        sidecar.rename(sidecar.with_name(f"{head}@{len(data):x}-{rest}"))


def stored(row: Any) -> Any:
    """A row after a stay in a database: on Airflow 3 through JSON, with its members reordered."""
    if isinstance(row, bytes):
        return row
    return json.loads(json.dumps(row, allow_nan=False, sort_keys=True))


def default(value: Any) -> Any:
    """What the default backend writes."""
    return exchange.BaseXCom.serialize_value(value)


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Box]:
    """A backend on an empty directory."""
    made = Box(monkeypatch, tmp_path / "store")
    made.set(file_fsync=False)
    yield made
    config.forget()
    runtime.forget()


airflow_2 = pytest.mark.skipif(not exchange.ROWS_ARE_BYTES, reason="is about Airflow 2")
airflow_3 = pytest.mark.skipif(exchange.ROWS_ARE_BYTES, reason="is about Airflow 3")


def s3_server() -> VersityGW:
    """A real S3 server with a bucket `bucket`, whose keys may do what a worker needs and no more.

    Where `./dev test access` says so; else everything.
    """
    if os.environ.get("AIRFREIGHT_TEST_AS_WORKER"):
        from tests.access.worker import WorkersVersityGW

        return WorkersVersityGW(bucket="bucket")
    return VersityGW(bucket="bucket")


@pytest.fixture(scope="module")
def server() -> Iterator[VersityGW]:
    """Such a server for the tests of one module."""
    with s3_server() as running:
        yield running


@pytest.fixture
def proxy(server: VersityGW) -> Iterator[CountingProxy]:
    """What counts the requests to it."""
    with CountingProxy(server.endpoint) as running:
        yield running


@pytest.fixture
def s3(box: Box, server: VersityGW, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch) -> Box:
    """A backend that pushes to that server, through what counts."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret_key)
    box.set(
        store="s3://bucket/xcom",
        s3_endpoint_url=proxy.url,
        s3_region="us-east-1",
        s3_addressing_style="path",
    )
    return box

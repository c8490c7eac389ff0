"""Runs a command beside MinIO with the keys of a worker, who may do what `iam-policy` prints:

build/venvs/core/bin/python -m tests.access.worker --mode strict -- build/debug/…_tests
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import urllib.parse
from typing import Any

from tests.servers.counting_proxy import CountingProxy, Recorded
from tests.servers.faults import Answer
from tests.servers.minio import MinIO
from tests.servers.server import run_beside

from airfreight import config
from airfreight.cli import main as airfreight


def printed(*arguments: str, **settings: str) -> dict[str, Any]:
    """What the command prints for some settings."""
    set_before = {
        name: os.environ.pop(name) for name in list(os.environ) if name.startswith("AIRFLOW__AIRF")
    }
    os.environ.update({f"AIRFLOW__AIRFREIGHT__{name.upper()}": settings[name] for name in settings})
    config.forget()
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            status = airfreight(arguments)
    finally:
        for name in settings:
            del os.environ[f"AIRFLOW__AIRFREIGHT__{name.upper()}"]
        os.environ.update(set_before)
        config.forget()
    if status != 0:
        raise ValueError(f"{arguments}: status {status}")
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


class WorkersMinIO(MinIO):
    """MinIO, for a client with a worker's keys.

    What tests look at by listing, which a strict worker may not, is listed for them with the keys
    of root: everything else goes to the server as the worker has sent it.

    Attributes:
        endpoint: through what does that.
        mode: of the policy.
    """

    mode = "strict"

    def __init__(self, *, bucket: str = "airfreight") -> None:
        super().__init__(bucket=bucket)
        self._through: CountingProxy | None = None
        self._direct = self.client

    def stop(self) -> None:
        """Ends both."""
        through, self._through = self._through, None
        if through is not None:
            through.refuse_connections()
        super().stop()

    def environment(self) -> dict[str, str]:
        """With keys that may do nothing but what a worker does below the prefix."""
        return super().environment() | self.credentials()

    def credentials(self) -> dict[str, str]:
        """Those keys, as any S3 client reads them."""
        policy = printed("iam-policy", "--mode", self.mode, store=f"s3://{self.bucket}/xcom")
        return self._assumed(policy, self._direct)

    def _furnish(self) -> None:
        super()._furnish()
        self._direct = self.client
        if self.mode == "strict":
            self._through = CountingProxy(self.endpoint)
            self._through.script = self._list_as_root
            self._through.accept_connections()
            self.endpoint = self._through.url

    def _list_as_root(self, request: Recorded) -> Answer | None:
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.target).query, True))
        if request.method != "GET" or not {"list-type", "versions", "uploads"} & {*query}:
            return None
        listed = self._direct.request("GET", request.path, query=query)
        return Answer(listed.status, listed.body, {"content-type": "application/xml"})


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("strict", "diagnosable"), default="strict")
    parser.add_argument("--bucket", default="conformance")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    server = WorkersMinIO(bucket=asked.bucket)
    server.mode = asked.mode
    return run_beside(asked.command, server)


if __name__ == "__main__":
    sys.exit(main())

"""Google Cloud Storage's JSON API in memory: fake-gcs-server.

As a context manager:

    with FakeGCS(bucket="xcoms") as server:
        ...  # server.endpoint

and as a command that runs another one beside a server, with its place in the environment:

    python3 -m tests.servers.fake_gcs --bucket xcoms -- build/debug/airfreight_conformance_tests
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from tests.servers.process import BIN, find_binary
from tests.servers.server import Server, run_beside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Answer(NamedTuple):
    """What the server answered to a request of the tests themselves."""

    status: int
    headers: http.client.HTTPMessage  # Of which names are found in any case.
    body: bytes


class FakeGCS(Server):
    """A server with one bucket. It asks nobody for a token and sends nothing to anyone.

    Attributes:
        endpoint: base URL.
        bucket: the bucket that is there from the start.
    """

    PROGRAM = "fake-gcs-server"
    VARIABLE = "AIRFREIGHT_FAKE_GCS"
    MODULE = "github.com/fsouza/fake-gcs-server@v1.56.1"
    #: What this server does not do that Airfreight uses; see README.md.
    LACKS: frozenset[str] = frozenset(
        {"conditional-remove", "conditional-compose", "compose-of-what-is-gone"}
    )

    def __init__(self, *, bucket: str = "airfreight") -> None:
        super().__init__()
        self.bucket = bucket
        self.endpoint = ""

    @classmethod
    def find_binary(cls) -> Path:
        """The server's executable; FileNotFoundError, which says how to get it."""
        return find_binary(
            cls.PROGRAM, variable=cls.VARIABLE, how=f"`GOBIN={BIN} go install {cls.MODULE}`"
        )

    def environment(self) -> dict[str, str]:
        """What a process needs to find the server as any client would, and our own tests too."""
        return {
            "AIRFREIGHT_TEST_GS": f"gs://{self.bucket}/xcom",
            "AIRFREIGHT_TEST_GS_ENDPOINT": self.endpoint,
            "AIRFREIGHT_TEST_GS_LACKS": ",".join(sorted(self.LACKS)),
            "STORAGE_EMULATOR_HOST": self.endpoint,
        }

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """A request of the tests themselves."""
        connection = http.client.HTTPConnection(self.endpoint.partition("://")[2], timeout=10)
        try:
            sent = {"Content-Type": content_type, **(headers or {})}
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def make_bucket(self, name: str) -> None:
        """Creates a bucket."""
        body = json.dumps({"name": name}).encode()
        answer = self.request("POST", "/storage/v1/b?project=tests", body)
        if answer.status != 200:
            raise RuntimeError(f"could not create the bucket: {answer.status} {answer.body!r}")

    def _command(self, port: int) -> Sequence[str]:
        self.endpoint = f"http://127.0.0.1:{port}"
        return [
            str(self.find_binary()), "-scheme", "http", "-host", "127.0.0.1", "-port", str(port),
            # By it alone the XML API is known; without a port for proxies before it.
            "-public-host", "127.0.0.1", "-backend", "memory", "-log-level", "error",
        ]  # fmt: skip

    def _variables(self) -> Mapping[str, str]:
        return {name: value for name, value in os.environ.items() if name[:9] != "FAKE_GCS_"}

    def _ready(self) -> bool:
        return self.request("GET", "/_internal/healthcheck").status == 200

    def _furnish(self) -> None:
        self.make_bucket(self.bucket)


def main() -> int:
    """The command: runs another one beside a server, returns its status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.servers.fake_gcs",
        description="Runs a command beside a fake-gcs-server.",
    )
    parser.add_argument("--bucket", default="airfreight")
    parser.add_argument("command", nargs="+", help="after --, the command and its arguments")
    arguments = parser.parse_args()
    return run_beside(arguments.command, FakeGCS(bucket=arguments.bucket))


if __name__ == "__main__":
    sys.exit(main())

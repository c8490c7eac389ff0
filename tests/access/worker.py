"""Runs a command beside MinIO with the keys of a worker, who may do what `iam-policy` prints:

build/venvs/core/bin/python -m tests.access.worker --mode strict -- build/debug/…_tests
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import secrets
import subprocess
import sys
import urllib.parse
from typing import TYPE_CHECKING, Any

from tests.leaks import planted
from tests.servers.counting_proxy import CountingProxy, Recorded
from tests.servers.faults import Answer
from tests.servers.minio import MinIO
from tests.servers.s3_server import S3Server
from tests.servers.server import run_beside
from tests.servers.versitygw import VersityGW

from airfreight import config
from airfreight.cli import main as airfreight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.sigv4 import S3Client


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


class _Watched(S3Server):
    """A server, for a client with a worker's keys.

    What tests look at by listing, which a strict worker may not, is listed for them with the keys
    of root: everything else goes to the server as the worker has sent it.

    Attributes:
        endpoint: through what does that.
        mode: of the policy.
        root: for requests of the tests themselves.
    """

    mode = "strict"
    root: S3Client
    _through: CountingProxy | None = None

    def stop(self) -> None:
        """Ends both."""
        through, self._through = self._through, None
        if through is not None:
            through.refuse_connections()
        super().stop()

    @property
    def client(self) -> S3Client:
        """As root, and not through what lists."""
        return getattr(self, "root", None) or super().client

    def policy(self, store: str) -> dict[str, Any]:
        """What the command prints for a worker on a store."""
        return printed("iam-policy", "--mode", self.mode, store=store)

    def _furnish(self) -> None:
        super()._furnish()
        self.root = super().client
        if self.mode == "strict":
            self._through = CountingProxy(self.endpoint)
            self._through.script = self._list_as_root
            self._through.accept_connections()
            self.endpoint = self._through.url

    def _list_as_root(self, request: Recorded) -> Answer | None:
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.target).query, True))
        if request.method != "GET" or not {"list-type", "versions", "uploads"} & {*query}:
            return None
        listed = self.root.request("GET", request.path, query=query)
        return Answer(listed.status, listed.body, {"content-type": "application/xml"})


class WorkersMinIO(_Watched, MinIO):
    """MinIO, whose environment is a worker's: one who may do what is printed, below `xcom/`."""

    def environment(self) -> dict[str, str]:
        """With keys of a session."""
        keys = self._assumed(self.policy(f"s3://{self.bucket}/xcom"), self.root)
        return super().environment() | keys


class WorkersVersityGW(_Watched, VersityGW):
    """VersityGW, whose user may do what is printed, in the whole bucket: by the bucket's policy."""

    def _variables(self) -> Mapping[str, str]:
        folder = self._scratch / "users"
        folder.mkdir(exist_ok=True)
        return {**super()._variables(), "VGW_IAM_DIR": str(folder)}

    def _furnish(self) -> None:
        direct = self.endpoint
        super()._furnish()
        user, secret = "AFWORKER" + secrets.token_hex(6).upper(), planted(20)
        words = ("--access", user, "--secret", secret, "--role", "user")
        subprocess.run(
            [self.find_binary(), "admin", "create-user", *words],
            env={
                "ADMIN_ACCESS_KEY": self.access_key,
                "ADMIN_SECRET_KEY": self.secret_key,
                "ADMIN_REGION": self.region,
                "ADMIN_ENDPOINT_URL": direct,
            },
            check=True,
            capture_output=True,
        )
        policy = self.policy(f"s3://{self.bucket}")
        for statement in policy["Statement"]:
            statement["Principal"] = {"AWS": [user]}
        body = json.dumps(policy).encode()
        answer = self.root.request("PUT", f"/{self.bucket}", query={"policy": ""}, body=body)
        if answer.status not in (200, 204):
            raise RuntimeError(f"no policy: {answer.status} {answer.body.decode()}")
        self.access_key, self.secret_key = user, secret
        worker = dataclasses.replace(self.root, access_key=user, secret_key=secret)
        asked = worker.request("GET", f"/{self.bucket}", query={"list-type": "2"})
        if asked.status != (403 if self.mode == "strict" else 200):
            raise RuntimeError(f"the policy is not enforced: {asked.status}")


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

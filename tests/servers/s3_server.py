"""What the S3 servers of the tests have in common: `versitygw` and `minio` are its subclasses."""

from __future__ import annotations

import abc
import argparse
import contextlib
import http.client
import os
import secrets
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.certificates import Certificates, make_certificates
from tests.servers.process import BIN, Daemon, exit_on_sigterm, find_binary, free_port
from tests.servers.sigv4 import S3Client

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

_START_SECONDS = 30.0
# A port found free may be taken before the server binds it.
_START_ATTEMPTS = 5


class S3Server(abc.ABC):
    """A server on a free port of 127.0.0.1, with one bucket; gone, with its data, at the end.

    Threads: as a process. The server and whatever it starts are ended as one process group.

    Attributes:
        endpoint: base URL, path style.
        access_key, secret_key: the root user's, made up for this run.
        region: what requests have to be signed for.
        bucket: the bucket that is there from the start.
        ca_file: the private CA with `tls`, else None.
    """

    #: The program, the variable that names its executable, and what it is built from.
    PROGRAM: str
    VARIABLE: str
    MODULE: str
    #: What this server does not do that Airfreight can use; see README.md.
    LACKS: frozenset[str] = frozenset()

    def __init__(
        self, *, bucket: str = "airfreight", tls: bool = False, region: str = "us-east-1"
    ) -> None:
        self.bucket = bucket
        self.region = region
        self.access_key = "AFTEST" + secrets.token_hex(7).upper()
        self.secret_key = secrets.token_urlsafe(30)
        self.endpoint = ""
        self.ca_file: str | None = None
        self._tls = tls
        self._daemon: Daemon | None = None
        self._cleanup = contextlib.ExitStack()
        self._scratch = Path()

    def __enter__(self) -> Self:
        """Starts the server and creates the bucket."""
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the server and removes its data."""
        self.stop()

    @classmethod
    def find_binary(cls) -> Path:
        """The server's executable; FileNotFoundError, which says how to get it."""
        how = f"`GOBIN={BIN} go install {cls.MODULE}`"
        return find_binary(cls.PROGRAM, variable=cls.VARIABLE, how=how)

    @property
    def directory(self) -> Path:
        """Where the server keeps its buckets."""
        return self._scratch / "buckets"

    @property
    def client(self) -> S3Client:
        """For requests of the tests themselves."""
        return S3Client(self.endpoint, self.access_key, self.secret_key, self.region, self.ca_file)

    @property
    def pid(self) -> int:
        """The server's process; 0 while there is none."""
        return self._daemon.pid if self._daemon is not None else 0

    def environment(self) -> dict[str, str]:
        """What a process needs to find the server as any S3 client would, and our own tests too."""
        variables = {
            "AIRFREIGHT_TEST_S3": f"s3://{self.bucket}/xcom",
            "AIRFREIGHT_TEST_S3_ENDPOINT": self.endpoint,
            "AIRFREIGHT_TEST_S3_LACKS": ",".join(sorted(self.LACKS)),
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
        }
        if self.ca_file:
            variables["AIRFREIGHT_TEST_S3_CA"] = self.ca_file
            variables["AWS_CA_BUNDLE"] = self.ca_file
        return variables

    def start(self) -> None:
        """Starts the server and creates the bucket.

        Raises:
            FileNotFoundError: the server is not installed.
            RuntimeError: it did not come up; the message holds what it said.
        """
        binary = self.find_binary()
        self._scratch = Path(
            self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="airfreight-s3-"))
        )
        self.directory.mkdir()
        certificates = make_certificates(self._scratch) if self._tls else None
        self.ca_file = str(certificates.ca) if certificates else None
        said = ""
        for _ in range(_START_ATTEMPTS):
            port = free_port()
            self.endpoint = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
            self._daemon = Daemon(
                [str(binary), *self._arguments(port, certificates)],
                self._scratch / "log",
                self._variables(),
            )
            if self._wait(port):
                break
            said = self._daemon.said()
            self._daemon.kill()
        else:
            raise RuntimeError(f"{binary} did not come up: {said}")
        answer = self.client.request("PUT", f"/{self.bucket}")
        if answer.status != 200:
            raise RuntimeError(
                f"could not create the bucket: {answer.status} {answer.body.decode()}"
            )

    def stop(self) -> None:
        """Ends the server and removes its data; may be called again."""
        daemon, self._daemon = self._daemon, None
        if daemon is not None:
            daemon.kill()
        self._cleanup.close()

    @abc.abstractmethod
    def _arguments(self, port: int, certificates: Certificates | None) -> Sequence[str]:
        """Of the command line. No secrets: every user of the machine can read it."""

    @abc.abstractmethod
    def _variables(self) -> Mapping[str, str]:
        """The server's environment."""

    def _wait(self, port: int) -> bool:
        # Ours, and not another that was first at the port: ours would have ended then.
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._daemon and self._daemon.alive:
            with contextlib.suppress(OSError, http.client.HTTPException):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                if self.client.request("GET", "/").status == 200:
                    return True
            time.sleep(0.05)
        return False


def run_beside(kind: type[S3Server], module: str) -> int:
    """The command of a server's module: runs another one beside a server, returns its status."""
    parser = argparse.ArgumentParser(
        prog=f"python3 -m {module}", description=f"Runs a command beside a {kind.PROGRAM} server."
    )
    parser.add_argument("--bucket", default="airfreight")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--tls", action="store_true", help="HTTPS, with a private CA")
    parser.add_argument("command", nargs="+", help="after --, the command and its arguments")
    arguments = parser.parse_args()
    exit_on_sigterm()
    try:
        with kind(bucket=arguments.bucket, tls=arguments.tls, region=arguments.region) as server:
            return subprocess.run(
                arguments.command, env=os.environ | server.environment(), check=False
            ).returncode
    except FileNotFoundError as missing:
        parser.exit(1, f"{missing}\n")

"""What the S3 servers of the tests have in common: `versitygw` and `minio` are its subclasses."""

from __future__ import annotations

import abc
import argparse
import secrets
from typing import TYPE_CHECKING

from tests.leaks import planted
from tests.servers.certificates import Certificates, make_certificates
from tests.servers.process import BIN, find_binary
from tests.servers.server import Server, run_beside
from tests.servers.sigv4 import S3Client

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class S3Server(Server):
    """An S3 server with one bucket.

    Attributes:
        endpoint: base URL, path style.
        access_key, secret_key: the root user's, made up for this run.
        region: what requests have to be signed for.
        bucket: the bucket that is there from the start.
        ca_file: the private CA with `tls`, else None.
    """

    #: The variable that names its executable, and what it is built from.
    VARIABLE: str
    MODULE: str
    #: What this server does not do that Airfreight can use; see README.md.
    LACKS: frozenset[str] = frozenset()

    def __init__(
        self, *, bucket: str = "airfreight", tls: bool = False, region: str = "us-east-1"
    ) -> None:
        super().__init__()
        self.bucket = bucket
        self.region = region
        self.access_key = "AFTEST" + secrets.token_hex(7).upper()
        # (MinIO takes 40 characters at most.)
        self.secret_key = planted(20)
        self.endpoint = ""
        self.ca_file: str | None = None
        self._tls = tls
        self._certificates: Certificates | None = None

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

    @abc.abstractmethod
    def _arguments(self, port: int, certificates: Certificates | None) -> Sequence[str]:
        """Of the command line. No secrets: every user of the machine can read it."""

    def _prepare(self) -> None:
        self.directory.mkdir()
        self._certificates = make_certificates(self._scratch) if self._tls else None
        self.ca_file = str(self._certificates.ca) if self._certificates else None

    def _command(self, port: int) -> Sequence[str]:
        self.endpoint = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return [str(self.find_binary()), *self._arguments(port, self._certificates)]

    def _ready(self) -> bool:
        # Another would not know the key.
        return self.client.request("GET", "/").status == 200

    def _furnish(self) -> None:
        answer = self.client.request("PUT", f"/{self.bucket}")
        if answer.status != 200:
            raise RuntimeError(
                f"could not create the bucket: {answer.status} {answer.body.decode()}"
            )


def main(kind: type[S3Server], module: str) -> int:
    """The command of a server's module: runs another one beside a server, returns its status."""
    parser = argparse.ArgumentParser(
        prog=f"python3 -m {module}", description=f"Runs a command beside a {kind.PROGRAM} server."
    )
    parser.add_argument("--bucket", default="airfreight")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--tls", action="store_true", help="HTTPS, with a private CA")
    parser.add_argument("command", nargs="+", help="after --, the command and its arguments")
    arguments = parser.parse_args()
    server = kind(bucket=arguments.bucket, tls=arguments.tls, region=arguments.region)
    return run_beside(arguments.command, server)

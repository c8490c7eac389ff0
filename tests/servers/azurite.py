"""A real Azure Blob service: Azurite, Microsoft's own emulator, in memory.

As a context manager:

    with Azurite(container="xcoms") as server:
        ...  # server.endpoint, server.account, server.key, server.request(...)

and as a command that runs another one beside a server, with its place in the environment:

    python3 -m tests.servers.azurite -- build/debug/airfreight_conformance_tests

A program of the tests only: nothing of it is linked, imported or shipped.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import hmac
import http.client
import os
import secrets
import sys
import time
from email.utils import formatdate
from typing import TYPE_CHECKING, NamedTuple

from tests.leaks import planted
from tests.servers.process import find_binary
from tests.servers.server import Server, run_beside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_VERSION = "2021-12-02"


class Answer(NamedTuple):
    """What the server answered to a request of the tests themselves."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Azurite(Server):
    """A server with one account and one container.

    Attributes:
        endpoint: base URL, with the account as its path.
        account, key: made up for this run.
        container: the container that is there from the start.
    """

    PROGRAM = "azurite-blob"
    VARIABLE = "AIRFREIGHT_AZURITE"
    START_SECONDS = 60.0
    PACKAGE = "azurite@3.37.0"
    #: What this server does not do that Airfreight can use; see README.md.
    LACKS: frozenset[str] = frozenset({"backslashes-in-keys", "uploads-side-by-side"})

    def __init__(self, *, container: str = "airfreight") -> None:
        super().__init__()
        self.container = container
        self.account = "aftest" + secrets.token_hex(4)
        self.key = base64.b64encode(planted(38).encode()).decode()
        self.endpoint = ""
        self._port = 0

    @classmethod
    def find_binary(cls) -> Path:
        """The server's executable; FileNotFoundError, which says how to get it."""
        return find_binary(
            cls.PROGRAM,
            variable=cls.VARIABLE,
            how=f"`npm install {cls.PACKAGE}` (Node.js 22 or later)",
        )

    @property
    def connection_string(self) -> str:
        """Of the account, as Azure's own clients take it."""
        return (
            f"DefaultEndpointsProtocol=http;AccountName={self.account};AccountKey={self.key};"
            f"BlobEndpoint={self.endpoint};"
        )

    def environment(self) -> dict[str, str]:
        """What a process needs to find the server as Azure's own tools would, and our tests too."""
        return {
            "AIRFREIGHT_TEST_AZ": f"az://{self.container}/xcom",
            "AIRFREIGHT_TEST_AZ_ENDPOINT": self.endpoint,
            "AIRFREIGHT_TEST_AZ_LACKS": ",".join(sorted(self.LACKS)),
            "AZURE_STORAGE_ACCOUNT": self.account,
            "AZURE_STORAGE_KEY": self.key,
            "AZURE_STORAGE_CONNECTION_STRING": self.connection_string,
        }

    def sas_token(self) -> str:
        """A signature for everything in the account, for a day.

        learn.microsoft.com/rest/api/storageservices/create-account-sas.
        """
        ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
        parts = {"sp": "racwdl", "ss": "b", "srt": "sco", "st": "", "se": ends, "sip": "",
                 "spr": "https,http", "sv": "2020-08-04"}  # fmt: skip
        signature = self._sign("\n".join([self.account, *parts.values(), ""]))
        parts["sig"] = signature.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
        return "&".join(f"{name}={value}" for name, value in parts.items() if value)

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> Answer:
        """A signed request to `/container[/name]`, with name and query encoded where need be."""
        sent = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": _VERSION, **(headers or {})}
        resource = f"/{self.account}{path}"
        canonical = "".join(
            f"{name}:{sent[name]}\n" for name in sorted(sent) if name.startswith("x-ms-")
        )
        parameters = "".join(f"\n{name}:{value}" for name, value in sorted((query or {}).items()))
        length = str(len(body)) if body else ""
        md5 = sent.get("Content-MD5", "")
        to_sign = (
            f"{method}\n\n\n{length}\n{md5}\n\n\n\n\n\n\n\n{canonical}"
            f"/{self.account}{resource}{parameters}"
        )
        sent["Authorization"] = f"SharedKey {self.account}:{self._sign(to_sign)}"
        sent["Content-Length"] = str(len(body))
        target = resource + (
            "?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else ""
        )
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, target, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())

    def _sign(self, text: str) -> str:
        digest = hmac.new(base64.b64decode(self.key), text.encode(), hashlib.sha256).digest()
        return base64.b64encode(digest).decode()

    def _command(self, port: int) -> Sequence[str]:
        self._port = port
        self.endpoint = f"http://127.0.0.1:{port}/{self.account}"
        return [
            str(self.find_binary()), "--blobPort", str(port), "--inMemoryPersistence", "--silent",
            "--disableTelemetry",
        ]  # fmt: skip

    def _variables(self) -> Mapping[str, str]:
        return os.environ | {"AZURITE_ACCOUNTS": f"{self.account}:{self.key}"}

    def _ready(self) -> bool:
        # Another would not know the account.
        return self.request("GET", "/", {"comp": "list"}).status == 200

    def _furnish(self) -> None:
        answer = self.request("PUT", f"/{self.container}", {"restype": "container"})
        if answer.status != 201:
            raise RuntimeError(
                f"could not create the container: {answer.status} {answer.body.decode()}"
            )


def main() -> int:
    """Runs a command beside a server; its status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.servers.azurite",
        description="Runs a command beside an Azurite server.",
    )
    parser.add_argument("--bucket", default="airfreight", help="the container's name")
    parser.add_argument("command", nargs="+", help="after --, the command and its arguments")
    arguments = parser.parse_args()
    return run_beside(arguments.command, Azurite(container=arguments.bucket))


if __name__ == "__main__":
    sys.exit(main())

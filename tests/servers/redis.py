"""A Redis server, as Debian has it, on a free port of 127.0.0.1; its data is gone at the end.

    with Redis() as server: ...
    python3 -m tests.servers.redis -- build/debug/airfreight_conformance_tests

A program of the tests only: nothing of it is linked, imported or shipped.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import ssl
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.leaks import planted
from tests.servers.certificates import Certificates, make_certificates
from tests.servers.server import Server, run_beside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ANSWER_SECONDS = 30.0
# What the user of the tests may do: what docs/redis.md says that Airfreight needs, and the
# commands by which the tests look at what it did.
_USER = "freight"
NEEDED = (
    "+get +getrange +set +unlink +exists +expire +persist +scan +watch +unwatch +multi +exec "
    "+select +info"
)


class Redis(Server):
    """One redis-server process.

    Attributes:
        port: of 127.0.0.1; with `tls`, TLS alone is spoken there.
        user, password: of a user that may do what Airfreight needs, and no more, under `xcom/`.
        admin_password: of the default user, who may do everything.
        ca_file: the private CA with `tls`, else None.
    """

    PROGRAM = "redis-server"

    def __init__(self, *, tls: bool = False, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.port = 0
        self.user = _USER
        self.password = planted(24)
        self.admin_password = planted(24)
        self.ca_file: str | None = None
        self._tls = tls
        self._settings = dict(settings or {})
        self._certificates: Certificates | None = None

    @staticmethod
    def find_binary() -> Path:
        """The server's executable; FileNotFoundError, which says how to get it."""
        named = os.environ.get("AIRFREIGHT_REDIS_SERVER") or shutil.which("redis-server")
        if named and os.access(named, os.X_OK):
            return Path(named)
        raise FileNotFoundError(
            "redis-server, a server of the tests, is not installed: run `./dev setup`, or "
            "`apt-get install redis-server`"
        )

    @property
    def uri(self) -> str:
        """The store's URI for the tests."""
        return f"{'rediss' if self._tls else 'redis'}://127.0.0.1:{self.port}/0/xcom"

    def environment(self) -> dict[str, str]:
        """What the conformance suite reads."""
        prefix = "AIRFREIGHT_TEST_REDISS" if self._tls else "AIRFREIGHT_TEST_REDIS"
        variables = {
            prefix: self.uri,
            f"{prefix}_USER": self.user,
            f"{prefix}_PASSWORD": self.password,
            f"{prefix}_ADMIN": self.admin_password,
        }
        if self.ca_file:
            variables[f"{prefix}_CA"] = self.ca_file
        return variables

    def command(self, *words: str) -> str:
        """What the server answers to one command of the default user: the reply's own bytes."""
        auth = ("AUTH", self.admin_password)
        with self._connect() as peer:
            peer.sendall(_encoded(auth) + _encoded(words))
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_WR) if not self._tls else None
            answer = b""
            deadline = time.monotonic() + _ANSWER_SECONDS
            while time.monotonic() < deadline:
                data = peer.recv(1 << 16)
                if not data:
                    break
                answer += data
                if self._tls and answer.count(b"\r\n") > 1:
                    break
        return answer.partition(b"\r\n")[2].decode(errors="replace")

    def _connect(self) -> socket.socket:
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        if not self._tls:
            return peer
        context = ssl.create_default_context(cafile=self.ca_file)
        return context.wrap_socket(peer, server_hostname="127.0.0.1")

    def _prepare(self) -> None:
        self._certificates = make_certificates(self._scratch) if self._tls else None
        self.ca_file = str(self._certificates.ca) if self._certificates else None

    def _command(self, port: int) -> Sequence[str]:
        self.port = port
        settings = {
            "bind": "127.0.0.1",
            "port": "0" if self._tls else str(port),
            "dir": str(self._scratch),
            "save": '""',
            "appendonly": "no",
            "requirepass": self.admin_password,
        }
        if self._certificates:
            settings |= {
                "tls-port": str(port),
                "tls-cert-file": str(self._certificates.certificate),
                "tls-key-file": str(self._certificates.key),
                "tls-ca-cert-file": str(self._certificates.ca),
                "tls-auth-clients": "optional",
            }
        lines = [f"{name} {value}" for name, value in (settings | self._settings).items()]
        lines.append(f"user {self.user} on >{self.password} ~xcom/* resetchannels {NEEDED}")
        # In a file: every user of the machine can read a command line.
        config = self._scratch / "redis.conf"
        config.touch(mode=0o600)
        config.write_text("\n".join(lines) + "\n")
        return [str(self.find_binary()), str(config)]

    def _ready(self) -> bool:
        # Another would not know the password.
        return self.command("PING").startswith("+PONG")


def _encoded(words: tuple[str, ...]) -> bytes:
    parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
    return f"*{len(words)}\r\n{''.join(parts)}".encode()


def main() -> int:
    """Runs a command beside a plain server and one that speaks TLS; returns its status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.servers.redis",
        description="Runs a command beside two Redis servers, the second one over TLS.",
    )
    parser.add_argument("command", nargs="+", help="after --, the command and its arguments")
    return run_beside(parser.parse_args().command, Redis(), Redis(tls=True))


if __name__ == "__main__":
    sys.exit(main())

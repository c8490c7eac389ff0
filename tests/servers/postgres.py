"""A PostgreSQL server, as Debian has it, on a free port of 127.0.0.1; its data is gone at the end.

    with Postgres() as server: url = server.make("airflow")

A program of the tests only: nothing of it is linked, imported or shipped.
"""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

_END_SECONDS = 10.0


class Postgres(Server):
    """One cluster, whose only user is `airflow` and who needs no password.

    Attributes:
        port: of 127.0.0.1.
    """

    PROGRAM = "postgres"
    START_SECONDS = 60.0

    def __init__(self) -> None:
        super().__init__()
        self.port = 0

    @staticmethod
    def find_binary(name: str = "postgres") -> Path:
        """A program of the server; FileNotFoundError, which says how to get it."""
        found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
        path = found[-1] if found else shutil.which(name)
        if path is None:
            raise FileNotFoundError(
                f"{name}, of a server of the tests, is not installed: run `./dev setup`, or "
                "`apt-get install postgresql`"
            )
        return Path(path)

    def environment(self) -> dict[str, str]:
        """What clients read."""
        return {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "airflow"}

    def url(self, database: str = "postgres") -> str:
        """As SQLAlchemy has it."""
        return f"postgresql+psycopg2://airflow@127.0.0.1:{self.port}/{database}"

    def make(self, database: str) -> str:
        """Makes an empty database; its URL."""
        self.run(f'CREATE DATABASE "{database}"')
        return self.url(database)

    def run(self, sql: str, database: str = "postgres") -> str:
        """Runs a statement; what `psql` prints of it."""
        command = [str(self.find_binary("psql")), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database]
        done = subprocess.run(
            [*command, "-c", sql], env=dict(self._variables()) | self.environment(),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"psql failed: {done.stderr.strip()}\n{sql}")
        return done.stdout.strip()

    def stop(self) -> None:
        """Ends it, so that it gives its shared memory back."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGQUIT)
            end = time.monotonic() + _END_SECONDS
            while self._daemon is not None and self._daemon.alive and time.monotonic() < end:
                time.sleep(0.01)
        super().stop()

    def _prefix(self) -> list[str]:
        """It refuses to run as root."""
        if os.geteuid() != 0:
            return []
        user = pwd.getpwnam(self._user())
        ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        return ["setpriv", *ids, "--"]

    @staticmethod
    def _user() -> str:
        return "postgres" if "postgres" in {one.pw_name for one in pwd.getpwall()} else "nobody"

    def _prepare(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self._scratch, self._user())
        command = [*self._prefix(), str(self.find_binary("initdb")), "-D", str(self._data)]
        options = ["-U", "airflow", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]
        done = subprocess.run(
            [*command, *options], env=self._variables(), cwd="/", capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed: {done.stdout}{done.stderr}")

    @property
    def _data(self) -> Path:
        return self._scratch / "data"

    def _command(self, port: int) -> Sequence[str]:
        self.port = port
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": str(self._scratch),
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "32MB",
        }
        command = [*self._prefix(), str(self.find_binary()), "-D", str(self._data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        return command

    def _ready(self) -> bool:
        try:
            self.run("SELECT 1")
        except RuntimeError:
            return False
        return True

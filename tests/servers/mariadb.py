"""A MariaDB server, as Debian has it, on a free port of 127.0.0.1; its data is gone at the end.

    with MariaDB() as server: url = server.make("airflow")

A program of the tests only: nothing of it is linked, imported or shipped.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

_HOW = "run `./dev setup`, or `apt-get install mariadb-server-core mariadb-client-core`"


class MariaDB(Server):
    """One server that asks nobody who they are.

    Attributes:
        port: of 127.0.0.1.
    """

    PROGRAM = "mariadbd"
    START_SECONDS = 30.0

    def __init__(self) -> None:
        super().__init__()
        self.port = 0

    @staticmethod
    def find_binary(name: str = "mariadbd") -> Path:
        """A program of the server; FileNotFoundError, which says how to get it."""
        path = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/bin")
        if path is None:
            raise FileNotFoundError(f"{name}, of a server of the tests, is not installed: {_HOW}")
        return Path(path)

    def environment(self) -> dict[str, str]:
        """What the client reads."""
        return {"MYSQL_HOST": "127.0.0.1", "MYSQL_TCP_PORT": str(self.port)}

    def url(self, database: str = "") -> str:
        """As SQLAlchemy has it."""
        return f"mysql+pymysql://airflow@127.0.0.1:{self.port}/{database}?charset=utf8mb4"

    def make(self, database: str) -> str:
        """Makes an empty database; its URL."""
        self.run(f"CREATE DATABASE `{database}` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
        return self.url(database)

    def run(self, sql: str, database: str = "") -> str:
        """Runs a statement; what the client prints of it."""
        command = [str(self.find_binary("mariadb")), "--no-defaults", "-N", "-B"]
        command += ["--protocol=tcp", "-h", "127.0.0.1", "-P", str(self.port), "-u", "airflow"]
        done = subprocess.run(
            [*command, "-e", sql, *([database] if database else [])],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"mariadb failed: {done.stderr.strip()}\n{sql}")
        return done.stdout.strip()

    def _prepare(self) -> None:
        user = pwd.getpwuid(os.geteuid()).pw_name
        command = [str(self.find_binary("mariadb-install-db")), "--no-defaults", f"--user={user}"]
        command += [f"--datadir={self._data}", "--auth-root-authentication-method=normal"]
        done = subprocess.run(
            [*command, "--skip-test-db"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"mariadb-install-db failed: {done.stdout}{done.stderr}")

    @property
    def _data(self) -> Path:
        return self._scratch / "data"

    def _command(self, port: int) -> Sequence[str]:
        self.port = port
        user = pwd.getpwuid(os.geteuid()).pw_name
        return [
            *(str(self.find_binary()), "--no-defaults", f"--user={user}"),
            *(f"--datadir={self._data}", f"--socket={self._scratch / 'socket'}"),
            *("--bind-address=127.0.0.1", f"--port={port}", "--skip-log-bin"),
            *("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M"),
            *("--skip-name-resolve", "--skip-grant-tables"),
            # Airflow asks for it (airflow/utils/db.py).
            "--explicit-defaults-for-timestamp=1",
        ]

    def _ready(self) -> bool:
        try:
            self.run("SELECT 1")
        except RuntimeError:
            return False
        return True

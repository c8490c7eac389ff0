"""Airflow's API server over a database that is there, by the Airflow that runs the tests.

with ApiServer(url) as server: token = server.token("viewer")
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import TYPE_CHECKING

from tests.leaks import planted
from tests.servers.server import Server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class ApiServer(Server):
    """Airflow 3's API server with its own login: a user of each role, named like it.

    Attributes:
        url: as users have it.
    """

    PROGRAM = "airflow-api"
    START_SECONDS = 240.0
    ROLES = ("viewer", "user")

    def __init__(self, database: str) -> None:
        super().__init__()
        self._database = database
        self._passwords = {role: planted(12) for role in self.ROLES}
        self.url = ""

    def token(self, role: str) -> str:
        """A token of that user."""
        body = {"username": role, "password": self._passwords[role]}
        request = urllib.request.Request(
            f"{self.url}/auth/token", json.dumps(body).encode(),
            {"Content-Type": "application/json"}, method="POST",
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(json.load(answer)["access_token"])

    def environment(self) -> dict[str, str]:
        """What a command needs."""
        return {"AIRFLOW__API__BASE_URL": self.url}

    def _variables(self) -> Mapping[str, str]:
        settings = {
            "DATABASE__SQL_ALCHEMY_CONN": self._database,
            "CORE__LOAD_EXAMPLES": "False",
            "CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{one}:{one}" for one in self.ROLES),
            "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self._scratch / "passwords.json"),
            "API_AUTH__JWT_SECRET": planted(48),
            "API__SECRET_KEY": planted(48),
            "API__BASE_URL": self.url,
        }
        named = {f"AIRFLOW__{name}": value for name, value in settings.items()}
        return os.environ | named | {"AIRFLOW_HOME": str(self._scratch)}

    def _prepare(self) -> None:
        (self._scratch / "passwords.json").write_text(json.dumps(self._passwords))

    def _command(self, port: int) -> Sequence[str]:
        self.url = f"http://127.0.0.1:{port}"
        words = ("api-server", "--apps", "core", "--workers", "1")
        where = ("--host", "127.0.0.1", "--port", str(port))
        return [sys.executable, "-W", "ignore", "-m", "airflow", *words, *where]

    def _ready(self) -> bool:
        with urllib.request.urlopen(f"{self.url}/api/v2/version", timeout=60) as answer:
            return bool(answer.status == 200)

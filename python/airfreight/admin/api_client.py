"""Airflow's public REST API, as a client that takes nothing for granted: `/api/v2`, Airflow 3.

What is not exactly an answer of Airflow's to the request is an error. That there is no such thing
(404) only counts where Airflow itself says so: in front of it are proxies, which say it too.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import os
import shlex
import signal
import subprocess
import threading
import time
import urllib.parse
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import httpx

from airfreight.admin.rows import AirflowUnavailableError
from airfreight.errors import ConfigError, InternalError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

#: Where a token is looked for if no option names a place; the second is that of `airflowctl`.
VARIABLES = ("AIRFREIGHT_API_TOKEN", "AIRFLOW_CLI_TOKEN")
#: Seconds for one answer: a page of a large table is sorted for it.
_TIMEOUT = 60.0
#: Seconds for a command that prints the token, which may ask another service for it.
COMMAND_TIMEOUT = 60.0
#: Seconds between tries of what may pass: 60 in all.
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 29.5)
_PASSES = (429, 502, 503, 504)
_PREFIX = "/api/v2"
_UNAUTHORIZED, _FORBIDDEN, _MISSING = 401, 403, 404


class Token:
    """Where the token comes from. It is read again when Airflow refuses it: they expire.

    Threads: any. What it holds is in no message and in no representation.
    """

    def __init__(
        self,
        file: Path | None = None,
        command: str = "",
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Takes a file, a command that prints it (as `_CMD` of Airflow's settings), or neither."""
        if file is not None and command:
            raise ConfigError("give one of --api-token-file and --api-token-cmd")
        self._file = file
        self._command = command
        self._environment = environment
        self._lock = threading.Lock()
        self._held = ""

    def get(self, refused: str = "") -> str:
        """The token; another one than `refused`, if there is one by now."""
        with self._lock:
            if not self._held or self._held == refused:
                self._held = self._read()
            return self._held

    def _read(self) -> str:
        if self._file is not None:
            place = f"--api-token-file {self._file}"
            try:
                text = self._file.read_text(errors="replace")
            except OSError as error:
                raise ConfigError(f"{place}: {error.strerror or error}") from None
        elif self._command:
            place = "--api-token-cmd"
            text = self._run(place)
        else:
            place = next((name for name in VARIABLES if self._environment.get(name)), "")
            if not place:
                raise ConfigError(
                    "Airflow's API wants a token: give --api-token-file FILE, "
                    "--api-token-cmd COMMAND, or set AIRFREIGHT_API_TOKEN. A user's is what POST "
                    "/auth/token answers (docs/sweep.md)"
                )
            text = self._environment[place]
        token = text.strip()
        # (What has more in it would be an error of HTTP, which quotes it.)
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ConfigError(
                f"{place} holds no token, or more than one: right is what POST /auth/token answers "
                'as "access_token", and nothing else'
            )
        return token

    def _run(self, place: str) -> str:
        try:
            words = shlex.split(self._command)
            # (A session of its own: what it has started goes with it.)
            running = subprocess.Popen(  # noqa: S603 (the caller's own command, by no shell)
                words,
                stdout=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            raise ConfigError(f"{place} can't be run: {type(error).__name__}") from None
        with running:
            try:
                printed, _ = running.communicate(timeout=COMMAND_TIMEOUT)
            except BaseException as error:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise ConfigError(
                    f"{place} did not end within {COMMAND_TIMEOUT:g} s, and was ended. Right is a "
                    "command that prints the token and asks for nothing; give curl in it a "
                    "--max-time (docs/sweep.md)"
                ) from None
        if running.returncode:
            raise ConfigError(f"{place} ended with status {running.returncode}")
        return printed


def place(url: str) -> str:
    """An address of Airflow in one form: `https://host/prefix`, without what `/api/v2` adds.

    Raises:
        ConfigError: it is none.
    """
    right = "right is e.g. --api-url https://airflow.example.com"
    try:
        parts = urllib.parse.urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise ConfigError(f"--api-url is no address of HTTP; {right}") from None
    if parts.username or parts.password:
        raise ConfigError(
            "--api-url holds a user or a password: they would be seen by all. Have them be "
            "exchanged for a token (docs/sweep.md)"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        # (It is not told: a token may be in what follows the `?`.)
        raise ConfigError(f"--api-url is no address of HTTP; {right}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    path = parts.path.rstrip("/").removesuffix(_PREFIX).rstrip("/")
    made = f"{parts.scheme}://{host}{'' if port in (None, usual) else f':{port}'}{path}"
    try:
        httpx.URL(made)
    except httpx.InvalidURL:
        raise ConfigError(f"--api-url is no address of HTTP; {right}") from None
    return made


def exposes(url: str) -> bool:
    """Whether a token would go to an address (of `place`) in clear, through a network."""
    parts = urllib.parse.urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    with contextlib.suppress(ValueError):
        return parts.scheme == "http" and not ipaddress.ip_address(host).is_loopback
    return parts.scheme == "http" and host != "localhost" and not host.endswith(".localhost")


class Client:
    """GET and DELETE of one Airflow, as JSON.

    Threads: any. Errors: AirflowUnavailableError where it does not answer or has a fault, after a
    minute of tries where that may pass; ConfigError where what answers is no Airflow 3, or refuses
    the token or what its user asks for; InternalError where an answer is not what it has to be.
    """

    def __init__(
        self,
        url: str,
        token: Token,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Asks nothing yet.

        Args:
            url: of the API server, as users have it in their browser.
            token: of a user.
            transport: in place of the network.
            sleep: between tries.
        """
        self.url = place(url)
        self._token = token
        self._sleep = sleep
        self._date = ""
        # It would log each request otherwise, where Airflow's settings have it that way.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        # (No redirect is followed: it may lead a token elsewhere.)
        self._http = httpx.Client(timeout=_TIMEOUT, follow_redirects=False, transport=transport)

    def get(
        self,
        *path: str,
        absent: str | None = None,
        query: Mapping[str, Any] | None = None,
        prefix: str = _PREFIX,
    ) -> Any:
        """What Airflow answers to GET.

        Args:
            path: its parts, as they are in Airflow.
            absent: how Airflow's word begins that there is no such thing: None is returned then.
            query: after the `?`; a list stands for several of one name.
            prefix: before the path.
        """
        status, answer, said = self._ask("GET", path, query, prefix)
        if status == httpx.codes.OK:
            if answer is None:
                raise InternalError(f"{said} is no JSON: is {self.url} an Airflow 3?")
            return answer
        detail = answer.get("detail") if type(answer) is dict else None
        if absent and status == _MISSING and type(detail) is str and detail.startswith(absent):
            return None
        raise self._wrong(status, detail, said)

    def time(self) -> datetime:
        """The server's time, as each of its answers tells it."""
        self.get("version")
        try:
            there = parsedate_to_datetime(self._date)
        except (TypeError, ValueError):
            there = None
        if there is None or there.tzinfo is None:
            raise InternalError(f"what {self.url} answers has no Date: its clock can't be told")
        return there

    def refuses(self, *path: str, query: Mapping[str, Any]) -> str:
        """The word with which Airflow refuses a wrong query (400); "" where it takes it."""
        status, answer, said = self._ask("GET", path, query, _PREFIX)
        detail = answer.get("detail") if type(answer) is dict else None
        if status == httpx.codes.OK:
            return ""
        if status == httpx.codes.BAD_REQUEST and type(detail) is str:
            return detail
        raise self._wrong(status, detail, said)

    def delete(self, *path: str, absent: str, query: Mapping[str, Any]) -> bool:
        """Whether Airflow has removed it; not where it was not there."""
        status, answer, said = self._ask("DELETE", path, query, _PREFIX)
        if status == httpx.codes.NO_CONTENT:
            return True
        detail = answer.get("detail") if type(answer) is dict else None
        if status == _MISSING and type(detail) is str and detail.startswith(absent):
            return False
        raise self._wrong(status, detail, said)

    def _ask(
        self, method: str, path: tuple[str, ...], query: Mapping[str, Any] | None, prefix: str
    ) -> tuple[int, Any, str]:
        """Status, decoded JSON (None where it is none), and how to call it in a message."""
        where = "/".join((f"{self.url}{prefix}", *(_part(one) for one in path)))
        refused = ""
        said = ""
        for pause in (*_PAUSES, None):
            token = self._token.get(refused)
            try:
                answer = self._http.request(
                    method,
                    where,
                    params=query,
                    headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
                )
            except httpx.RequestError as error:
                said = f"{method} {where}: {_plain(error)}"
            else:
                said = f"what {method} {where} answered (HTTP {answer.status_code})"
                self._date = answer.headers.get("Date", "")
                if answer.status_code == _UNAUTHORIZED and not refused:
                    refused = token
                    if self._token.get(refused) != refused:
                        continue
                if answer.status_code not in _PASSES:
                    return answer.status_code, _decoded(answer.content), said
            # (Before a second DELETE there may be another one where the first was removed.)
            if pause is None or method != "GET":
                break
            self._sleep(pause)
        raise AirflowUnavailableError(f"Airflow's API does not answer: {said}")

    def _wrong(self, status: int, detail: object, said: str) -> Exception:
        """The error that an answer is."""
        if status == _UNAUTHORIZED or detail == "Invalid JWT token":
            return ConfigError(
                f"Airflow does not take the token: {said}. It has expired, or is that of a task, "
                "which the public API does not know; what --api-token-file or --api-token-cmd "
                "gives is read again when one expires"
            )
        if status == _FORBIDDEN:
            return ConfigError(
                f"Airflow does not let the token's user do that: {said}. A sweep has to read the "
                "runs and XComs of all DAGs (role Viewer), and with --retention to delete XComs "
                "(role User or Op; docs/sweep.md)"
            )
        if httpx.codes.is_redirect(status):
            return ConfigError(
                f"{said} leads elsewhere: a login in front of Airflow, or http in place of https? "
                "Give --api-url an address that answers itself"
            )
        if status >= httpx.codes.INTERNAL_SERVER_ERROR:
            return AirflowUnavailableError(
                f"Airflow's API has a fault: {said}. Its log tells more", http_status=status
            )
        if status == _MISSING and detail in (None, "Not Found"):
            return UnsupportedError(
                f"{said}: there is no such thing in this API. --api-url has to be that of an "
                "Airflow 3; on Airflow 2 give --database"
            )
        return InternalError(f"{said} is no answer to it")


def _part(text: str) -> str:
    """A part of a path. Dots too, where they would be taken for folders."""
    quoted = urllib.parse.quote(text, safe="~")
    return quoted.replace(".", "%2E") if quoted.strip(".") == "" else quoted


def _decoded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _plain(error: Exception) -> str:
    """What happened, in one line, by no more than the kind of error and what it says."""
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__

"""What all servers of the tests have in common: a free port, the wait until they answer, the end.

A kind of server is a subclass of `Server`:

    class Store(Server):
        PROGRAM = "store-server"

        def _command(self, port: int) -> Sequence[str]:
            self.endpoint = f"http://127.0.0.1:{port}"
            return [str(self.find_binary()), "--port", str(port), "--data", str(self._scratch)]

        def _ready(self) -> bool:
            return self.request("GET", "/buckets").status == 200

        def _furnish(self) -> None:
            self.make_bucket(self.bucket)

        def environment(self) -> dict[str, str]:
            return {"AIRFREIGHT_TEST_STORE": self.endpoint}

It is used as `with Store() as server`, and its module is a command by `run_beside`.
"""

from __future__ import annotations

import abc
import contextlib
import http.client
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.process import Daemon, exit_on_sigterm, free_port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

# A port found free may be taken before the server binds it.
_START_ATTEMPTS = 5
_ASK_AGAIN_SECONDS = 0.03


class Server(abc.ABC):
    """A program on a free port of 127.0.0.1; gone, with its data, at the end.

    Threads: as a process. The server and whatever it starts are ended as one process group.
    """

    #: What messages call it.
    PROGRAM: str
    #: How long it may take until it answers.
    START_SECONDS = 30.0

    def __init__(self) -> None:
        self._daemon: Daemon | None = None
        self._started: Sequence[str] = ()
        self._cleanup = contextlib.ExitStack()
        #: A folder of its own while it runs, for what it keeps and for its settings.
        self._scratch = Path()

    def __enter__(self) -> Self:
        """Starts it."""
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
        """Ends it and removes its data."""
        self.stop()

    @property
    def pid(self) -> int:
        """The server's process; 0 while there is none."""
        return self._daemon.pid if self._daemon is not None else 0

    def start(self) -> None:
        """Starts it, and returns when it answers and has what tests find there from the start.

        Raises:
            FileNotFoundError: it is not installed; the message says how to get it.
            RuntimeError: it did not come up; the message holds what it said.
        """
        folder = tempfile.TemporaryDirectory(prefix=f"airfreight-{self.PROGRAM}-")
        self._scratch = Path(self._cleanup.enter_context(folder))
        self._prepare()
        said = ""
        for _ in range(_START_ATTEMPTS):
            command = self._command(free_port())
            self._started = command
            self._daemon = Daemon(command, self._scratch / "log", self._variables())
            if self._wait():
                break
            said = self._daemon.said()
            self._daemon.kill()
        else:
            raise RuntimeError(f"{self.PROGRAM} did not come up: {said}")
        self._furnish()

    def kill(self) -> None:
        """Ends it without a word, as a failing machine does; its data stay for `revive`."""
        assert self._daemon is not None
        self._daemon.kill()

    def revive(self) -> None:
        """Starts it again where it was, with the data that it had; after `kill`."""
        self._daemon = Daemon(self._started, self._scratch / "log", self._variables())
        if not self._wait():
            raise RuntimeError(f"{self.PROGRAM} did not come up again: {self._daemon.said()}")

    def stop(self) -> None:
        """Ends it and removes its data; may be called again."""
        daemon, self._daemon = self._daemon, None
        if daemon is not None:
            daemon.kill()
        self._cleanup.close()

    @abc.abstractmethod
    def environment(self) -> dict[str, str]:
        """What a process needs to find the server: what any client reads, and what our tests do."""

    @abc.abstractmethod
    def _command(self, port: int) -> Sequence[str]:
        """Its command line. No secrets: every user of the machine can read it."""

    @abc.abstractmethod
    def _ready(self) -> bool:
        """Whether it answers, and is ours: another may have been first at the port.

        OSError and HTTPException mean that it does not yet.
        """

    def _variables(self) -> Mapping[str, str]:
        """Its environment."""
        return os.environ

    def _prepare(self) -> None:  # noqa: B027 - most need nothing
        """What it needs in `_scratch` whatever its port is."""

    def _furnish(self) -> None:  # noqa: B027 - as above
        """What tests find there from the start; RuntimeError if that can't be had."""

    def _wait(self) -> bool:
        # If another had the port, ours has ended.
        deadline = time.monotonic() + self.START_SECONDS
        while time.monotonic() < deadline and self._daemon and self._daemon.alive:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self._ready():
                    return True
            time.sleep(_ASK_AGAIN_SECONDS)
        return False


def run_beside(command: Sequence[str], *servers: Server) -> int:
    """Runs a command beside servers, with their places in its environment; its status.

    What a server's module does as a command. 1, with a message, if a server is not installed.
    """
    exit_on_sigterm()
    try:
        with contextlib.ExitStack() as running:
            environment = dict(os.environ)
            for server in servers:
                environment |= running.enter_context(server).environment()
            return subprocess.run(command, env=environment, check=False).returncode
    except FileNotFoundError as missing:
        print(missing, file=sys.stderr)
        return 1

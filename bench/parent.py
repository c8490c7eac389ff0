"""The parent's side of bench/worker.py: start it, call it, stop it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, final

from tests.servers.process import end

if TYPE_CHECKING:
    from bench.backends import Backend, Server

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build" / "bench"
# Longer than any call takes on a slow machine; shorter than a CI job waits.
PATIENCE_SECONDS = 300


class BenchError(Exception):
    """The benchmark itself is broken: a worker failed, or results differ."""


class RefusedError(Exception):
    """The backend refuses this type of value."""


@final
class Worker:
    """One worker process; a context manager that ends it.

    Attributes:
        backend: What it holds.
    """

    def __init__(self, backend: Backend, server: Server, *, connection: bool = False) -> None:
        self.backend = backend
        ours, theirs = socket.socketpair()
        home = RESULTS / "airflow"
        home.mkdir(parents=True, exist_ok=True)
        self._log = RESULTS / f"{backend.name}.log"
        environment = backend.environment(server, connection=connection)
        environment |= {"AIRFLOW_HOME": str(home), "HOME": str(home)}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.worker", backend.name, str(theirs.fileno())],
                cwd=ROOT,
                env=environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        theirs.close()
        self._pipe = Connection(os.dup(ours.fileno()))
        ours.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pipe.close()
        end(self._process)

    def call(self, verb: str, **arguments: Any) -> Any:
        """Let it do one thing; RefusedError when the backend does not take the type."""
        try:
            self._pipe.send((verb, arguments))
            if not self._pipe.poll(PATIENCE_SECONDS):
                self._process.kill()
                raise BenchError(f"{self.backend.name}: {verb} took over {PATIENCE_SECONDS} s")
            outcome, answer = self._pipe.recv()
        except (EOFError, ConnectionError) as error:
            tail = self._log.read_text(errors="replace")[-2000:]
            raise BenchError(f"{self.backend.name}: died in {verb}\n{tail}") from error
        if outcome == "refused":
            raise RefusedError(answer)
        if outcome != "ok":
            raise BenchError(f"{self.backend.name}: {verb}\n{answer}")
        return answer

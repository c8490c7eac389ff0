"""The parent's side of the workers: start one, call it, stop it.

They are `bench/worker.py` and `bench/clients/session.py`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, final

from tests.servers.process import end

if TYPE_CHECKING:
    from typing_extensions import Self

    from bench.backends import Backend, Server
    from bench.clients import Kind

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build" / "bench"
# The peers of the suite `transfer` want other releases of botocore than Airflow's providers do.
CLIENTS_PYTHON = ROOT / "build" / "venvs" / "bench-clients" / "bin" / "python"
# Longer than any call takes on a slow machine; shorter than a CI job waits.
PATIENCE_SECONDS = 300


class BenchError(Exception):
    """The benchmark itself is broken: a worker failed, or results differ."""


class RefusedError(Exception):
    """The backend refuses this type of value; the client has no such operation."""


class Process:
    """A process that answers calls over a pipe; a context manager that ends it."""

    def __init__(self, name: str, command: Sequence[str], environment: dict[str, str]) -> None:
        self._name = name
        ours, theirs = socket.socketpair()
        home = RESULTS / "airflow"
        home.mkdir(parents=True, exist_ok=True)
        self._log = RESULTS / f"{name.replace(' ', '-')}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                cwd=ROOT,
                env=environment | {"AIRFLOW_HOME": str(home), "HOME": str(home)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        theirs.close()
        self._pipe = Connection(os.dup(ours.fileno()))
        ours.close()

    def __enter__(self) -> Self:
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
        """Let it do one thing; RefusedError when it cannot by its nature."""
        try:
            self._pipe.send((verb, arguments))
            if not self._pipe.poll(PATIENCE_SECONDS):
                self._process.kill()
                raise BenchError(f"{self._name}: {verb} took over {PATIENCE_SECONDS} s")
            outcome, answer = self._pipe.recv()
        except (EOFError, ConnectionError) as error:
            tail = self._log.read_text(errors="replace")[-2000:]
            raise BenchError(f"{self._name}: died in {verb}\n{tail}") from error
        if outcome == "refused":
            raise RefusedError(answer)
        if outcome != "ok":
            raise BenchError(f"{self._name}: {verb}\n{answer}")
        return answer


@final
class Worker(Process):
    """A process that holds one XCom backend.

    Attributes:
        backend: What it holds.
    """

    def __init__(self, backend: Backend, server: Server, *, connection: bool = False) -> None:
        self.backend = backend
        super().__init__(
            backend.name,
            [sys.executable, "-m", "bench.worker", backend.name],
            backend.environment(server, connection=connection),
        )


@final
class ClientWorker(Process):
    """A process that holds one bytes client, in the environment that has them all.

    Attributes:
        kind: What it holds.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        # Nothing of the caller's own: a client must not find other keys, or another endpoint.
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AWS_", "AIRFLOW", "AIRFREIGHT", "PYTHON"))
        }
        super().__init__(
            kind.name,
            [str(CLIENTS_PYTHON), "-m", "bench.clients.session", kind.name],
            kept | {"AWS_EC2_METADATA_DISABLED": "true"},
        )

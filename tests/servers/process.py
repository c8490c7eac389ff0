"""Processes that tests start: found, given a port, watched while they come up, ended as a group."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REPOSITORY = Path(__file__).resolve().parents[2]
#: Where `./dev setup` puts the servers.
BIN = REPOSITORY / "build" / "bin"
_END_SECONDS = 10.0
# Registered for few things, and below what Linux (32768) and macOS (49152) take for connections.
_PORTS = range(20_000, 32_000)
_PORT_ATTEMPTS = 200
_held: list[socket.socket] = []


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nothing uses, and that stays this process's own.

    The system gives a connection any port of a range (`ip_local_port_range`), so that one of those
    may be gone before a server that takes seconds to come up binds it: ours lie below. And it stays
    bound, though not listened on: a server that sets SO_REUSEADDR, as all do, binds it as well,
    while this function in another process passes it over.
    """
    for _ in range(_PORT_ATTEMPTS):
        port = secrets.choice(_PORTS)
        holder = socket.socket()
        try:
            holder.bind(("127.0.0.1", port))
        except OSError:
            holder.close()
            continue
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _held.append(holder)
        return port
    raise RuntimeError(f"no port of 127.0.0.1 is free between {_PORTS[0]} and {_PORTS[-1]}")


def find_binary(name: str, *, variable: str, how: str) -> Path:
    """A server's executable: where `variable` says, in `build/bin`, or on the `PATH`.

    Args:
        name: of the program.
        variable: of the environment; what it names has to be there.
        how: to get it without `./dev setup`, for the message.

    Raises:
        FileNotFoundError: it is in none of these; the message says how to get it.
    """
    named = os.environ.get(variable)
    if named:
        if os.access(named, os.X_OK):
            return Path(named)
        raise FileNotFoundError(f"{variable} names {named!r}, which is no executable")
    built = BIN / name
    if os.access(built, os.X_OK):
        return built
    found = shutil.which(name)
    if found:
        return Path(found)
    raise FileNotFoundError(
        f"{name}, a server of the tests, is not installed: run `./dev setup`, or {how}"
    )


def end(process: subprocess.Popen[bytes], seconds: float = _END_SECONDS) -> None:
    """Waits for a process that was asked to end; kills it when the time is over."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def exit_on_sigterm() -> None:
    """For commands: SIGTERM ends them as an exception does, so that their servers are ended too."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


class Daemon:
    """A process in a group of its own, with its output in a file.

    Attributes:
        log: what it has said.
    """

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                list(command), env=dict(environment), stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
            )  # fmt: skip

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id, which is its group's too."""
        return self._process.pid

    def said(self, last: int = 2000) -> str:
        """The end of its output."""
        return self.log.read_bytes().decode(errors="replace")[-last:]

    def kill(self) -> None:
        """Ends it with whatever it started; may be called again."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

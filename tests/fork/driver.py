"""Forks while threads are in mid-transfer, again and again.

    python3 -m tests.fork --rounds 8 -- build/tsan/airfreight_fork_harness
    python3 -m tests.fork --rounds 8 -- build/venvs/core/bin/python -m tests.fork.program

The program after `--` starts transfers in threads, forks when told, and lets each child transfer
and exit (fork_harness.cc has the lines that are spoken). Here it is proven that every one of its
threads is in mid-transfer at the moment of the forks: their requests wait at a gate of the proxy
before the S3 server, uploads before their body is taken, downloads after the first half of theirs.

When a line does not come in time both processes' stacks are printed, and the run fails.
"""

from __future__ import annotations

import argparse
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.counting_proxy import CountingProxy
from tests.servers.faults import Gate, Hold
from tests.servers.process import exit_on_sigterm
from tests.servers.versitygw import VersityGW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.servers.counting_proxy import Recorded
    from tests.servers.faults import Fault

# A round takes a second or two; under a sanitizer on a machine that is busy, ten times that.
PATIENCE_SECONDS = 120.0
# In a round. The last child does everything, the others little: large transfers are most of what a
# round costs, and where a fork falls in the other threads' work is most of what it can find.
_FORKS = 4
_BUCKET = "fork"
_PUTS = ("put-small", "put-large")
_GETS = ("get-small", "get-large")


class ForkError(Exception):
    """A hang, a wrong value, or a process that ended badly."""


def stacks(pid: int) -> str:
    """What every thread of a process and of its children is doing, as far as that can be had."""
    parts = []
    pids = [pid]
    for process in pids:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            pids += [int(child) for child in children.read_text().split()]
    for process in pids:
        parts.append(f"--- process {process}")
        if shutil.which("gdb"):
            done = subprocess.run(
                ["gdb", "-p", str(process), "-batch", "-ex", "thread apply all bt 20"],
                capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            parts.append(done.stdout[-8000:])
            continue
        # Without a debugger: where each thread is in the kernel.
        for task in Path(f"/proc/{process}/task").iterdir():
            state = [(task / name).read_text().strip() for name in ("comm", "wchan", "syscall")]
            parts.append(f"{task.name}: {' '.join(state)} (install gdb to see more)")
    return "\n".join(parts)


class Program:
    """The program that forks, and the lines that are exchanged with it."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | environment, bufsize=0, start_new_session=True,
        )  # fmt: skip

    def tell(self, line: str) -> None:
        """Sends a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")

    def hear(self) -> str:
        """The next line; ForkError with stacks when none comes."""
        assert self._process.stdout is not None
        line = b""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise ForkError(f"hang: nothing heard\n{stacks(self._process.pid)}")
            byte = os.read(self._process.stdout.fileno(), 1)
            if not byte:
                raise ForkError(f"the program ended with {self._process.wait()}, after {line!r}")
            line += byte
        return line.decode().strip()

    def quit(self) -> int:
        """Its exit status, once it is told that there are no more rounds."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            return self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise ForkError(f"hang at the end\n{stacks(self._process.pid)}") from None

    def kill(self) -> None:
        """Ends it with its children, whatever it is doing."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, 9)
            self._process.wait()

    def stacks(self) -> str:
        """What it is doing."""
        return stacks(self._process.pid)


def _path(run: str, task: str) -> str:
    return f"/{_BUCKET}/xcom/held/{run}/{task}/map_-1/k.bin"


def _round(program: Program, proxy: CountingProxy, number: int) -> None:
    gate = Gate()

    def hold(request: Recorded) -> Fault | None:
        return Hold(gate) if "/held/" in request.path else None

    proxy.script = hold
    program.tell(f"round {number}")
    wanted = [_path(f"round-{number}", task) for task in _PUTS]
    wanted += [_path("prepared", task) for task in _GETS]
    if missing := gate.await_waiting(wanted, PATIENCE_SECONDS):
        raise ForkError(f"not in mid-transfer: {missing}\n{program.stacks()}")
    program.tell(f"fork {_FORKS}")
    child = program.hear()
    gate.open()
    proxy.script = None
    program.tell("join")
    parent = program.hear()
    if child != "child 0" or parent != "ok":
        raise ForkError(f"round {number}: {child}; {parent}")
    proxy.clear()


def _rounds(command: Sequence[str], numbers: range) -> set[str]:
    """One program's life; the methods of the requests that it prepared with."""
    with VersityGW(bucket=_BUCKET) as server, CountingProxy(server.endpoint) as proxy:
        environment = server.environment()
        environment |= {"AIRFREIGHT_TEST_S3_ENDPOINT": proxy.url, "AWS_ENDPOINT_URL_S3": proxy.url}
        program = Program(command, environment)
        try:
            if program.hear() != "ready":
                raise ForkError("not ready")
            kinds = {request.method for request in proxy.requests}
            for number in numbers:
                _round(program, proxy, number)
            if status := program.quit():
                raise ForkError(f"the parent ended with {status}")
        finally:
            program.kill()
    return kinds


def run(command: Sequence[str], rounds: int, fresh: int) -> None:
    """Raises ForkError unless every round comes out right.

    Args:
        command: the program.
        rounds: how often it forks.
        fresh: after how many rounds another is started in its place.
    """
    begin = time.monotonic()
    kinds: set[str] = set()
    for first in range(0, rounds, fresh):
        kinds |= _rounds(command, range(first, min(first + fresh, rounds)))
    took = time.monotonic() - begin
    print(
        f"fork: {rounds} rounds of {_FORKS} forks, {len(_PUTS + _GETS)} transfers in flight at "
        f"each, transfers in each child (requests: {', '.join(sorted(kinds))}): no hang, no wrong "
        f"value, {took:.0f} s"
    )


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.fork", description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument(
        "--fresh",
        type=int,
        default=1 << 30,
        help="rounds of one program, before the next is started",
    )
    parser.add_argument("command", nargs="+", help="after --, the program that forks")
    arguments = parser.parse_args()
    exit_on_sigterm()
    try:
        run(arguments.command, arguments.rounds, arguments.fresh)
    except ForkError as error:
        print(f"fork: {error}", file=sys.stderr)
        return 1
    return 0

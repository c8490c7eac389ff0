"""Large values in little memory.

    python3 -m tests.limits --program build/debug/airfreight_transfer_program

A stream is pushed and pulled to a file, each in a process of its own, and may add no more than
256 MiB to its resident memory. Then many processes pull a large object at once within a control
group whose limit is far less than what they pull: all of them have to live. Where no such group can
be made the sum of their peaks is looked at in its place, and said so.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.limits.cgroup import MemoryGroup, memory_group
from tests.servers.process import exit_on_sigterm
from tests.servers.versitygw import VersityGW

_STREAM_MAY_ADD = 256 << 20
_MIB = 1 << 20


class LimitError(Exception):
    """A process has died, or taken too much."""


def _size(text: str) -> int:
    units = {"M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


class Limits:
    """The program, and the server that it works with."""

    def __init__(self, program: str, server: VersityGW, scratch: Path) -> None:
        self._program = program
        self._scratch = scratch
        self._environment = os.environ | server.environment()

    def push(self, size: int) -> str:
        """Streams a value; its reference. LimitError when it took too much."""
        reference, figures = self._run("push", str(size)).splitlines()
        self._check_growth(f"push of {size >> 20} MiB", figures)
        return reference

    def pull(self, reference: str, size: int) -> None:
        """Pulls it to a file. LimitError when it took too much."""
        path = self._scratch / "pulled"
        figures = self._run("pull", reference, str(path))
        self._check_growth(f"pull of {size >> 20} MiB to a file", figures)
        if path.stat().st_size != size:
            raise LimitError(f"{path.stat().st_size} bytes in the file in place of {size}")
        path.unlink()

    def pull_at_once(self, reference: str, count: int, group: MemoryGroup | None) -> int:
        """Pulls it by many processes at once; the sum of their peaks."""
        processes = []
        environment = self._environment | {"AIRFREIGHT_TEST_SLOTS": str(count)}
        for number in range(count):
            command = [self._program, "pull", reference, str(self._scratch / f"pulled-{number}")]
            processes.append(
                subprocess.Popen(
                    group.command(command) if group else command, env=environment,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )
            )  # fmt: skip
        total = 0
        died = []
        for number, process in enumerate(processes):
            out, err = process.communicate()
            (self._scratch / f"pulled-{number}").unlink(missing_ok=True)
            if process.returncode != 0:
                died.append(f"process {number} ended with {process.returncode}: {err}")
            else:
                total += int(out.split()[1])
        if died:
            raise LimitError("\n".join(died))
        return total

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [self._program, *words], env=self._environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise LimitError(f"{words[0]} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    @staticmethod
    def _check_growth(what: str, figures: str) -> None:
        growth = int(figures.split()[0])
        print(f"{what}: {growth >> 20} MiB of resident memory added", flush=True)
        if growth > _STREAM_MAY_ADD:
            raise LimitError(f"{what} has added {growth >> 20} MiB")


class _Server(VersityGW):
    sidecar = True


def _check(arguments: argparse.Namespace) -> None:
    with (
        _Server(bucket="limits") as server,
        tempfile.TemporaryDirectory(prefix="airfreight-limits-") as scratch,
        memory_group(arguments.limit) as group,
    ):
        limits = Limits(arguments.program, server, Path(scratch))
        limits.pull(limits.push(arguments.stream), arguments.stream)
        reference = limits.push(arguments.pull)
        begin = time.monotonic()
        total = limits.pull_at_once(reference, arguments.pulls, group)
        print(
            f"{arguments.pulls} pulls of {arguments.pull >> 20} MiB at once: all lived, "
            f"{time.monotonic() - begin:.0f} s, sum of their peaks {total >> 20} MiB"
        )
        if group is not None:
            limit = f"limit {arguments.limit // _MIB} MiB"
            print(f"control group: {limit}, most used {group.peak() // _MIB} MiB, file cache too")
            return
        print("no control group can be made here (that needs root): the sum is compared instead")
        if total > arguments.limit:
            raise LimitError(f"{total >> 20} MiB in all, limit {arguments.limit // _MIB} MiB")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.limits", description=__doc__)
    parser.add_argument("--program", required=True, help="airfreight_transfer_program of a build")
    parser.add_argument("--stream", type=_size, default=_size("2G"))
    parser.add_argument("--pulls", type=int, default=16)
    parser.add_argument("--pull", type=_size, default=_size("256M"))
    parser.add_argument("--limit", type=_size, default=_size("1G"), help="of the group of pulls")
    exit_on_sigterm()
    try:
        _check(parser.parse_args())
    except LimitError as error:
        print(f"limits: {error}", file=sys.stderr)
        return 1
    return 0

"""What every verb stands on: places, running commands, timed stages."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
VENVS = BUILD / "venvs"
BIN = BUILD / "bin"
TOOLS_VENV = VENVS / "tools"


class DevError(Exception):
    """A failure whose text tells the developer what to do."""


def say(text: str) -> None:
    """Print one line of our own, apart from what the tools print."""
    print(f"\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"== {text}", flush=True)


def run(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    quiet: bool = False,
    tail: int = 0,
) -> None:
    """Run a command and raise DevError when it fails.

    Args:
        command: The program and its arguments.
        env: Variables on top of this process's own.
        cwd: Where to run it.
        quiet: Show its output only when it fails.
        tail: Show the last lines of its output, all of it when it fails.
    """
    words = [str(word) for word in command]
    captured = quiet or tail > 0
    if not quiet:
        print("$ " + shlex.join(words), flush=True)
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE if captured else None,
        stderr=subprocess.STDOUT if captured else None,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        if captured:
            print(done.stdout, flush=True)
        raise DevError(f"failed with status {done.returncode}: {shlex.join(words)}")
    if tail:
        print("\n".join(done.stdout.splitlines()[-tail:]), flush=True)


def output(command: Sequence[str | Path]) -> str:
    """The standard output of a command that must succeed."""
    return subprocess.run(
        [str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


@dataclass
class Stages:
    """Runs named stages, goes on after a failure, and prints what each took.

    Attributes:
        only: Names to run; all when empty.
    """

    only: Sequence[str] = ()
    rows: list[tuple[str, float, str]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def stage(self, name: str, work: Callable[[], None]) -> None:
        """Run one stage unless it was not asked for."""
        self.seen.append(name)
        if self.only and name not in self.only:
            return
        say(name)
        begin = time.monotonic()
        outcome = "ok"
        try:
            work()
        except DevError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            outcome = "FAILED"
        self.rows.append((name, time.monotonic() - begin, outcome))

    def finish(self) -> int:
        """Print the table; the exit status."""
        unknown = [name for name in self.only if name not in self.seen]
        if unknown:
            raise DevError(f"no such stage: {', '.join(unknown)}; there are {', '.join(self.seen)}")
        say("stages")
        for name, seconds, outcome in self.rows:
            print(f"{name:<24}{seconds:8.1f} s  {outcome}")
        total = sum(seconds for _, seconds, _ in self.rows)
        failed = sum(outcome != "ok" for _, _, outcome in self.rows)
        print(f"{'total':<24}{total:8.1f} s")
        print(f"stages: {len(self.rows) - failed} passed, {failed} failed", flush=True)
        return 1 if failed else 0

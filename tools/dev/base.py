"""What every verb stands on: places, running commands, locks."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
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


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock `name` among all processes of this checkout: stages run at the same time."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / f".lock-{name}").open("w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

"""What the verbs have in common when they print."""

from __future__ import annotations

import contextlib
import sys
from typing import Any


def quiet() -> contextlib.AbstractContextManager[Any]:
    """Airflow 2 logs to where our answer goes, which a program may read."""
    return contextlib.redirect_stdout(sys.stderr)


def progress(text: str) -> None:
    """Says on a terminal how far a command is, in one line that stays one."""
    if sys.stderr.isatty():
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)


def end_progress() -> None:
    """Clears that line, before anything else is said."""
    progress("")

"""What the verbs have in common when they print."""

from __future__ import annotations

import contextlib
import sys
from typing import Any


def quiet() -> contextlib.AbstractContextManager[Any]:
    """Airflow 2 logs to where our answer goes, which a program may read."""
    return contextlib.redirect_stdout(sys.stderr)

"""The conformance suite of all stores on those that are written in Python.

In a process of its own for each: GoogleTest runs its tests once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stores.program import STORES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", STORES)
def test_a_store_in_python_does_what_all_stores_do(kind: str) -> None:
    assert "AIRFREIGHT_CONFORMANCE" in os.environ, (
        "AIRFREIGHT_CONFORMANCE must be the folder of the extension _conformance, which "
        "`./dev test bindings` builds"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.stores.program", kind],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert " PASSED " in done.stdout

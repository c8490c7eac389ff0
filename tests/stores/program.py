"""Runs the conformance suite on a store that is written in Python.

    python -m tests.stores.program toy [ARGUMENT…]

The arguments are those of GoogleTest. The folder of the extension `_conformance`
(`ninja -C build/debug _conformance`, of a build with -DAIRFREIGHT_BUILD_PYTHON=ON) is that of the
variable AIRFREIGHT_CONFORMANCE.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from airfreight.stores import ObjectStore, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGES = Path(__file__).resolve().parent.parent / "packages"
#: By name: the URI that a unique name is put into, and whether it is a directory.
STORES = {
    "fsspec_memory": ("fsspec+memory://{name}/a/prefix", True),
    "fsspec_file": ("fsspec+file://{folder}/{name}/a/prefix", True),
    "toy": ("toy://{name}/a/prefix", False),
}


def main(kind: str, *arguments: str) -> int:
    """Runs the tests; their exit status."""
    sys.path.insert(0, os.environ["AIRFREIGHT_CONFORMANCE"])
    sys.path.insert(0, str(PACKAGES / "toystore"))
    import _conformance

    pattern, directory = STORES[kind]
    with tempfile.TemporaryDirectory(prefix="airfreight-stores-") as folder:
        guest = (kind, pattern.partition("://")[0], directory, _opener(pattern, folder))
        which = "--gtest_filter=Stores/*"  # (Other tests are about servers.)
        status: int = _conformance.run(["conformance", which, *arguments], [guest])
    return status


def _opener(pattern: str, folder: str) -> Callable[[str], ObjectStore]:
    settings = {"folder": folder} if pattern.startswith("toy") else {}
    return lambda name: open_store(pattern.format(name=name, folder=folder), settings)


if __name__ == "__main__":
    # Without the end of the interpreter: the suite's parameters hold what it would take away.
    result = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(result)

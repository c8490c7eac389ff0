"""Compares the committed stub of the extension with what nanobind generates from a built wheel.

    python packaging/check_stubs.py WHEEL            exit status 1 and a diff when they differ
    python packaging/check_stubs.py WHEEL --update   writes python/airfreight/_core.pyi instead

The interpreter needs nanobind (the version decides how a stub looks) and nanobind-backend, which
`build/wheel-tools/bin/python` has after packaging/build_wheel.sh.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# What nanobind prints, and what it means: the binding takes any contiguous buffer, and nanobind
# knows memory views and dictionaries by the plainest of their types. (Buffer has been in
# collections.abc since 3.12; type checkers take typing_extensions' from their own stubs.)
MEANINGS = {
    "Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]"
    "": "Buffer",
    "from typing import Annotated\n\nimport numpy\nfrom numpy.typing import NDArray\n"
    "": "from typing import Any\n\nfrom typing_extensions import Buffer\n",
    "def get(self, reference: str) -> object:": "def get(self, reference: str) -> memoryview:",
    "def parse_reference(text: str) -> dict:": "def parse_reference(text: str) -> dict[str, Any]:",
}

STUB = Path(__file__).resolve().parent.parent / "python" / "airfreight" / "_core.pyi"


def generate(wheel: Path) -> str:
    """The stub of the wheel's extension. The wheel is unpacked, not installed."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        output = Path(folder) / "generated.pyi"
        subprocess.run(
            [
                sys.executable,
                "-m",
                "nanobind.stubgen",
                "-q",
                "-m",
                "airfreight._core",
                "-o",
                output,
            ],
            check=True,
            env=os.environ | {"PYTHONPATH": folder},
        )
        stub = output.read_text()
    for printed, meant in MEANINGS.items():
        if printed not in stub:
            raise SystemExit(
                f"nanobind no longer prints {printed!r}: look at MEANINGS in {__file__}"
            )
        stub = stub.replace(printed, meant)
    return stub


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Compare or write the extension's stub.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--update", action="store_true", help="write the stub")
    arguments = parser.parse_args()

    generated = generate(arguments.wheel)
    if arguments.update:
        STUB.write_text(generated)
        return 0
    difference = list(
        difflib.unified_diff(
            STUB.read_text().splitlines(keepends=True),
            generated.splitlines(keepends=True),
            "committed _core.pyi",
            "generated from the extension",
        )
    )
    sys.stderr.writelines(difference)
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())

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
        return output.read_text()


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

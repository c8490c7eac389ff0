"""Compares the committed stubs of the extensions with a built wheel: exit status 1 and a diff.

    python packaging/check_stubs.py WHEEL            both: of _core what nanobind generates, of
                                                     _json the names and parameters
    python packaging/check_stubs.py WHEEL --update   writes python/airfreight/_core.pyi instead

The interpreter needs nanobind (the version decides how a stub looks) and nanobind-backend, which
`build/wheel-tools/bin/python` has after packaging/build_wheel.sh.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
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

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "airfreight"
STUB = PACKAGE / "_core.pyi"
#: Of an extension without nanobind, which knows no types: they are written by hand.
PLAIN_STUB = PACKAGE / "_json.pyi"
SIGNATURES = """
import inspect, json, airfreight._json as module
found = {name: str(inspect.signature(function)) for name, function in vars(module).items()
         if not name.startswith("_")}
print(json.dumps(found))
"""


def run(folder: str, *arguments: str | Path) -> str:
    """What Python prints, where the package lies in a folder."""
    done = subprocess.run(
        [sys.executable, *arguments],
        check=True,
        env=os.environ | {"PYTHONPATH": folder},
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def signatures(folder: str) -> list[str]:
    """Names and parameters of the functions that airfreight._json has."""
    found: dict[str, str] = json.loads(run(folder, "-c", SIGNATURES))
    return sorted(f"def {name}{parameters}\n" for name, parameters in found.items())


def stubbed_signatures() -> list[str]:
    """The same of its stub."""
    lines = []
    for node in ast.parse(PLAIN_STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                parameter.annotation = None
            lines.append(f"def {node.name}({ast.unparse(node.args)})\n")
    return sorted(lines)


def generate(folder: str) -> str:
    """The stub of airfreight._core."""
    output = Path(folder) / "generated.pyi"
    run(folder, "-m", "nanobind.stubgen", "-q", "-m", "airfreight._core", "-o", output)
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
    parser = argparse.ArgumentParser(description="Compare the extensions' stubs, or write one.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--update", action="store_true", help="write the stub")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        # Unpacked, not installed.
        with zipfile.ZipFile(arguments.wheel) as archive:
            archive.extractall(folder)
        generated = generate(folder)
        plain = signatures(folder)
    if arguments.update:
        STUB.write_text(generated)
        return 0
    difference = [
        *difflib.unified_diff(
            STUB.read_text().splitlines(keepends=True),
            generated.splitlines(keepends=True),
            f"committed {STUB.name}",
            "generated from the extension",
        ),
        *difflib.unified_diff(
            stubbed_signatures(), plain, f"committed {PLAIN_STUB.name}", "told by the extension"
        ),
    ]
    sys.stderr.writelines(difference)
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())

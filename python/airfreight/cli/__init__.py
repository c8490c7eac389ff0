"""The command `airfreight`: one module for each verb."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The modules of the verbs, each with `add(verbs)`; they import what they need when they run.
_VERBS = (
    "policy",
    "repatriate",
    "iam_policy",
    "lifecycle",
    "doctor",
    "sign",
    "signing_key",
    "claim",
    "erase",
    "sweep",
    "rekey",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; its exit status."""
    parser = argparse.ArgumentParser(prog="airfreight")
    verbs = parser.add_subparsers(required=True, metavar="verb")
    for name in _VERBS:
        import_module(f"airfreight.cli.{name}").add(verbs)
    parsed = parser.parse_args(arguments)
    status: int = parsed.run(parsed)
    return status

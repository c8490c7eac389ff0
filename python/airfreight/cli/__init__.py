"""The command `airfreight`: one module for each verb."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; its exit status."""
    from airfreight.cli import policy

    parser = argparse.ArgumentParser(prog="airfreight")
    policy.add(parser.add_subparsers(required=True, metavar="verb"))
    parsed = parser.parse_args(arguments)
    status: int = parsed.run(parsed)
    return status

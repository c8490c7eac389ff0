"""The command `airfreight`: one module for each verb."""

from __future__ import annotations

import argparse
import os
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
    _without_database()
    status: int = parsed.run(parsed)
    return status


def _without_database() -> None:
    """Has Airflow come up where a task has begun this process.

    Airflow 3 gives its tasks an address in place of the database's that nothing can read, and their
    children inherit it (airflow/sdk/execution_time/supervisor.py, block_orm_access): `import
    airflow` fails by it, unless it is told to be a library (airflow/__init__.py).
    """
    if os.environ.get("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "").startswith("airflow-db-not"):
        os.environ.setdefault("_AIRFLOW__AS_LIBRARY", "1")

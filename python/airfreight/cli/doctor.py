"""`airfreight doctor`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from airfreight.cli.output import quiet

if TYPE_CHECKING:
    import argparse


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    verb = verbs.add_parser(
        "doctor",
        help="what is really in force here, and what is wrong with it",
        description="Run it in the container that it is about (a worker, a scheduler). Says which "
        "backend, stores, policy and keys are in force and where each setting comes from; asks "
        "each store whether it answers; asks buckets and servers about themselves, as far as the "
        "role may; and counts rows without a signature where Airflow's database can be reached. "
        "What it may not ask is `unknown`, and no failure. Ends with status 1 where something has "
        "to be put right, and says how in each line. No secret and no value is printed.",
    )
    probe = verb.add_mutually_exclusive_group()
    probe.add_argument(
        "--yes",
        action="store_true",
        help="write a small probe to each store, read it and delete it, without being asked",
    )
    probe.add_argument("--no-write", action="store_true", help="write nothing, and do not ask")
    verb.add_argument(
        "--no-database", action="store_true", help="do not look at the rows of Airflow's database"
    )
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    write = asked.yes or (not asked.no_write and not asked.json and _agreed())
    with quiet():
        from airfreight.admin import doctor

        wanted = doctor.Asked(write=write, database=not asked.no_database)
        found = list(doctor.findings(wanted))
    status = 1 if doctor.failed(found) else 0
    if asked.json:
        told = {"failed": bool(status), "findings": [one.as_json() for one in found]}
        print(json.dumps(told, indent=2))
        return status
    for one in found:
        print(f"{one.state:<8} {one.area}: {one.text}" + (f". Fix: {one.fix}" if one.fix else ""))
    return status


def _agreed() -> bool:
    """Whether whoever sits there wants the probe written; nobody there: no."""
    if not sys.stdin.isatty():
        return False
    print("Write a small probe to each store, read it and delete it? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")

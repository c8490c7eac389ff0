"""`airfreight signing-key`."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    verb = verbs.add_parser(
        "signing-key",
        help="print the signing key of one DAG, for a pod that serves only this DAG",
        description="Prints a key that is made of the first one of signing_keys and is good for "
        "one DAG only: as the setting signing_keys of a pod, it signs and reads what is of this "
        "DAG, and nothing else. What is printed is a secret.",
    )
    verb.add_argument("--dag", required=True)
    verb.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    from airfreight import _core, signing
    from airfreight.config import settings
    from airfreight.errors import Error

    try:
        keys = signing.seal(settings()).keys
        if not keys:
            print(signing.NO_KEY, file=sys.stderr)
            return 1
        print(_core.signing_key(keys, asked.dag))
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    return 0

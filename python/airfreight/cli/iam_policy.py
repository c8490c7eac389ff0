"""`airfreight iam-policy`."""

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
        "iam-policy",
        help="the permissions that the settings need, as the cloud takes them",
        description="Prints, from the settings and the policy of this environment, the least that "
        "a role has to be allowed: for S3 an IAM policy, which MinIO takes too; for Google Cloud "
        "Storage a custom role with its bindings; for Azure a role definition with the conditions "
        "of its assignments. Notes go to standard error. Asks no connection and no store.",
    )
    verb.add_argument(
        "--role",
        choices=("worker", "sweep", "erase", "doctor"),
        default="worker",
        help="whom it is for: what runs tasks (the default), `airfreight sweep`, `airfreight "
        "erase`, or the further questions of `airfreight doctor`",
    )
    verb.add_argument(
        "--mode",
        choices=("strict", "diagnosable"),
        default="strict",
        help="strict (the default): only what is needed; the store then answers a missing object "
        "as it does a forbidden one. diagnosable: the role may list below the prefix, too",
    )
    verb.add_argument(
        "--cloud", choices=("s3", "gs", "az"), help="where the stores are of several kinds"
    )
    verb.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    with quiet():
        from airfreight.admin import permissions
        from airfreight.admin.places import of_one_cloud, places
        from airfreight.errors import ConfigError

        try:
            found, problem = of_one_cloud(places(), asked.cloud)
            made = None if problem else permissions.document(found, asked.role, asked.mode)
        except ConfigError as error:
            made, problem = None, str(error)
    if made is None:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(made.document, indent=2))
    for note in made.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0

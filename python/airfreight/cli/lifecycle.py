"""`airfreight lifecycle`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from airfreight.cli.output import quiet


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    verb = verbs.add_parser(
        "lifecycle",
        help="the rules by which the bucket removes what is over, as the cloud takes them",
        description="Prints, from the settings and the policy of this environment, lifecycle "
        "rules for the bucket: expiry of what has a retention (by prefix, or by tag with "
        "s3_retention_tags), abort of unfinished uploads, expiry of old versions. Notes go to "
        "standard error. Asks no connection and no store, and changes nothing: what it prints is "
        "for `aws s3api put-bucket-lifecycle-configuration`, `gcloud storage buckets update "
        "--lifecycle-file` or `az storage account management-policy create`, each of which "
        "replaces all rules that are there: see --merge.",
    )
    verb.add_argument(
        "--store",
        help="name of one store, where they lie in several buckets (Azure: accounts): what is "
        "printed is for its bucket, and for all stores that lie there",
    )
    verb.add_argument(
        "--cloud", choices=("s3", "gs", "az"), help="where the stores are of several kinds"
    )
    verb.add_argument(
        "--merge",
        metavar="FILE",
        help="JSON of the rules that are there now: those that are not Airfreight's are kept",
    )
    verb.add_argument(
        "--everything-after",
        type=_days,
        default=0,
        metavar="DAYS",
        help="have all below the prefix expire, whatever the policy says: for a bucket that "
        "nobody sweeps. Must be longer than rows are kept (default: no such rule)",
    )
    verb.add_argument(
        "--abort-after",
        type=_days,
        default=7,
        metavar="DAYS",
        help="for unfinished uploads; 0 for no such rule (default: 7)",
    )
    verb.add_argument(
        "--old-versions",
        type=_days,
        default=7,
        metavar="DAYS",
        help="for versions that were replaced or deleted; 0 for no such rule (default: 7)",
    )
    verb.set_defaults(run=_run)


#: S3's and Google's days are `int`s.
_MOST_DAYS = 2**31 - 1


def _days(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > _MOST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days; right is e.g. 30")
    return int(text)


def _run(asked: argparse.Namespace) -> int:
    with quiet():
        from airfreight.admin import lifecycle
        from airfreight.admin.places import of_one_cloud, places
        from airfreight.errors import ConfigError

        wanted = lifecycle.Asked(asked.everything_after, asked.abort_after, asked.old_versions)
        try:
            found = places()
            if asked.store is not None:
                named = [place for place in found if place.name == asked.store]
                if not named:
                    names = ", ".join(place.name for place in found if place.name)
                    return _failed(f"no store is named {asked.store!r}; there are {names}")
                found = lifecycle.beside(named[0], found)
            # (Old places are cleared by whoever moved away from them.)
            found, problem = of_one_cloud([one for one in found if one.name], asked.cloud)
            if problem:
                return _failed(problem)
            existing = json.loads(Path(asked.merge).read_text()) if asked.merge else None
            made = lifecycle.document(found, wanted, existing)
        except (ConfigError, lifecycle.Refused) as error:
            return _failed(str(error))
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            return _failed(f"--merge {asked.merge}: {type(error).__name__}: {error}")
    print(json.dumps(made.document, indent=2))
    for note in made.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _failed(problem: str) -> int:
    print(f"error: {problem}", file=sys.stderr)
    return 1

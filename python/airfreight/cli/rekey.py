"""`airfreight rekey`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from airfreight.cli.output import end_progress, progress, quiet

if TYPE_CHECKING:
    import argparse

    from airfreight.admin.rekey import Report


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    verb = verbs.add_parser(
        "rekey",
        help="have sealed objects opened by the newest key",
        description="Has the data key of each sealed object that a row refers to wrapped by the "
        "first of seal_keys, so that older keys can be taken out. An object is read and written "
        "once, on the condition that it is still the same; what is in it, and all references to "
        "it, stay as they are. So it does with sealed values that an outage left in their rows. "
        "Without --yes nothing is changed: it tells what there is. It may be "
        "stopped and begun again at any time. Run it where Airflow's database and the store can be "
        "reached, with all keys. Ends with status 1 where an object could not be looked at or "
        "written, or its key is not there.",
    )
    verb.add_argument("--yes", action="store_true", help="write them")
    verb.add_argument("--dag", help="rows of this DAG only")
    verb.add_argument("--after", metavar="ROW", help="go on behind this row, as was printed")
    verb.add_argument("--database", metavar="URL", help="default: [database] sql_alchemy_conn")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    with quiet():
        from airfreight import runtime
        from airfreight.admin import database, ownership
        from airfreight.admin import rekey as rekeys
        from airfreight.config import settings
        from airfreight.errors import Error

        report = rekeys.Report()

        def told(so_far: Report) -> None:
            nonlocal report
            report = so_far
            progress(f"{so_far.sealed} sealed objects")

        try:
            found = database.connect(asked.database)
            if asked.yes:
                # (From a copy of the database, whose keys may be others, nothing is written.)
                stores, own = runtime.administration(), settings().deployment_id
                ownership.of_all(stores, own, found.identity(), changing=True)
            report = rekeys.rekey(
                found,
                write=asked.yes,
                dag=asked.dag,
                after=asked.after,
                told=told,
            )
        except Error as error:
            report.ended = str(error)
        except KeyboardInterrupt:
            report.ended = "stopped"
        end_progress()
    if asked.json:
        print(json.dumps({**report.as_json(), "dry_run": not asked.yes}, indent=2))
    else:
        _print(report)
    return 1 if report.ended or report.failed else 0


_WORDS = {
    "current": "are opened by the newest key",
    "old": "would be rewrapped (a dry run: --yes writes them)",
    "rewrapped": "were rewrapped",
    "gone": "are gone",
    "replaced": "were replaced by a later push",
    "foreign": "are another deployment's, or read by an alias, and were left alone",
}


def _print(report: Report) -> None:
    for where, problem in report.problems:
        print(f"failed: {where}: {problem}")
    print(f"{report.sealed} references to sealed objects")
    if report.kept:
        print(f"{report.kept} sealed values that an outage left in their rows")
    for what, words in _WORDS.items():
        if report.became[what]:
            print(f"{report.became[what]} {words}")
    if report.ended:
        go_on = f"; go on with --after {report.after}" if report.after else ""
        print(f"ended early: {report.ended}{go_on}", file=sys.stderr)

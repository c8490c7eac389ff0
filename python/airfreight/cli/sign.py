"""`airfreight sign`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from airfreight.cli.output import end_progress, progress

if TYPE_CHECKING:
    from airfreight.admin.sign import Report


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    verb = verbs.add_parser(
        "sign",
        help="sign the references of rows that were written before there were signing keys",
        description="Goes through the XCom rows of Airflow's database and signs the references "
        "that are not signed, each after its object was read and found to be what the row says. "
        "Without --yes nothing is changed: it reads, checks and tells. It may be stopped and begun "
        "again at any time; what is signed already is passed over. Run it where the keys "
        "(AIRFLOW__AIRFREIGHT__SIGNING_KEYS) and the store can be reached. Ends with status 1 "
        "where a reference could not be signed.",
    )
    verb.add_argument("--yes", action="store_true", help="change the rows")
    verb.add_argument(
        "--count", action="store_true", help="only count what is signed and what is not; no store"
    )
    verb.add_argument(
        "--renew",
        action="store_true",
        help="sign anew what a key behind the first has signed, only",
    )
    verb.add_argument(
        "--distrust",
        metavar="KEY",
        action="append",
        default=[],
        help="the id of a key that was stolen: what is signed with it is told, and not signed anew "
        "(with --renew; may be given more than once)",
    )
    verb.add_argument(
        "--other-dags",
        action="store_true",
        help="sign references inside of values that are of another DAG than their row, too",
    )
    verb.add_argument("--dag", help="rows of this DAG only")
    verb.add_argument("--after", metavar="ROW", help="go on after a row that an earlier call named")
    verb.add_argument("--database", metavar="URL", help="default: [database] sql_alchemy_conn")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    from airfreight.admin import database
    from airfreight.admin import sign as signs
    from airfreight.errors import Error

    report = signs.Report()
    ended = ""
    try:
        signs.sign(
            database.connect(asked.database),
            write=asked.yes and not asked.count,
            look=not asked.count,
            renew=asked.renew,
            distrust=asked.distrust,
            other_dags=asked.other_dags,
            dag=asked.dag,
            after=asked.after,
            report=report,
            told=_progress,
        )
    except Error as error:
        ended = str(error)
    except KeyboardInterrupt:
        ended = "stopped"
    end_progress()
    if asked.json:
        print(json.dumps({**report.as_json(), "dry_run": not asked.yes, "ended": ended}, indent=2))
    else:
        _print(report, asked)
        if ended:
            print(f"ended early: {ended}", file=sys.stderr)
            if report.after is not None:
                print(f"go on with --after {shlex.quote(report.after)}", file=sys.stderr)
    return 1 if ended or report.failed or report.changed else 0


def _progress(report: Report) -> None:
    progress(f"{report.rows} rows, {report.made} signatures")


def _print(report: Report, asked: argparse.Namespace) -> None:
    for problem in report.problems:
        print(f"not signed: {problem.where}: {problem.code}: {problem.message}")
    print(f"{report.rows} rows looked at")
    print(f"{report.signed} references signed already with the first key")
    print(f"{report.older} signed with another key")
    for key, count in sorted(report.keys.items()):
        print(f"  {count} with {key}")
    if report.distrusted:
        print(f"{report.distrusted} of them with a key that is not trusted here: they stay")
    print(f"{report.unsigned} without a signature")
    if not asked.count:
        verb = "made" if asked.yes else "would be made (a dry run: --yes makes them)"
        print(f"{report.made} signatures {verb}")
    if report.changed:
        print(f"{report.changed} rows were written by others meanwhile: run it once more")
    for code, count in sorted(report.failed.items()):
        print(f"{count} can't be signed: {code}")

"""`airfreight repatriate`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from airfreight.cli.output import end_progress, progress, quiet

if TYPE_CHECKING:
    import argparse

    from airfreight.admin.repatriate import Report


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    verb = verbs.add_parser(
        "repatriate",
        help="move values that an outage left in the database to the store",
        description="Under outage = inline a value stays in its XCom row while the store is away. "
        "This writes each of them to the store and puts the reference in the place of the row, if "
        "that was not written meanwhile. Without --yes nothing is changed: it tells what there is. "
        "It may be stopped and begun again at any time: what was moved is not found any more. Run "
        "it where Airflow's database and the store can be reached. Ends with status 1 where a "
        "value could not be moved.",
    )
    verb.add_argument("--yes", action="store_true", help="move them")
    verb.add_argument("--dag", help="rows of this DAG only")
    verb.add_argument("--run", dest="dag_run", metavar="RUN", help="rows of this run only")
    verb.add_argument("--database", metavar="URL", help="default: [database] sql_alchemy_conn")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    with quiet():
        from airfreight import runtime
        from airfreight.admin import database, ownership
        from airfreight.admin import repatriate as repatriates
        from airfreight.config import settings
        from airfreight.errors import Error

        report = repatriates.Report()

        def told(so_far: Report) -> None:
            nonlocal report
            report = so_far
            progress(f"{report.found} values in rows, {report.moved} moved")

        try:
            found = database.connect(asked.database)
            if asked.yes:
                # (A copy of the database would write its values over those of the first.)
                stores, own = runtime.administration(), settings().deployment_id
                ownership.of_all(stores, own, found.identity(), changing=True)
            report = repatriates.repatriate(
                found,
                write=asked.yes,
                dag=asked.dag,
                run=asked.dag_run,
                told=told,
            )
        except Error as error:
            report.ended = str(error)
        except KeyboardInterrupt:
            report.ended = "stopped: run it again to go on"
        end_progress()
    if asked.json:
        print(json.dumps({**report.as_json(), "dry_run": not asked.yes}, indent=2))
    else:
        _print(report, write=asked.yes)
    return 1 if report.ended or report.failed else 0


def _print(report: Report, *, write: bool) -> None:
    for where, problem in report.problems:
        print(f"not moved: {where}: {problem}")
    print(f"{report.found} values of {report.found_bytes} bytes lie in rows since an outage")
    print(f"{report.moved} {'moved' if write else 'would be moved (a dry run: --yes moves them)'}")
    if report.foreign:
        print(f"{report.foreign} are another deployment's and were left alone")
    if report.expired:
        print(f"{report.expired} have expired and stay where they are")
    if report.at_work:
        print(f"{report.at_work} are of tasks at work and stay: run it again when these have ended")
    if report.changed:
        print(f"{report.changed} rows were written by others meanwhile and left alone")
    if report.ended:
        print(f"ended early: {report.ended}", file=sys.stderr)

"""`airfreight erase`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airfreight.cli.output import end_progress, progress, quiet

if TYPE_CHECKING:
    import argparse

    from airfreight.admin.erase import Receipt

_SHOWN = 10


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    verb = verbs.add_parser(
        "erase",
        help="remove everything that is kept of a DAG's, a run's or a task's XComs",
        description="Removes the rows of XComs from Airflow's database and, from every store of "
        "the settings, their objects: every version, every mark of a removal and every unfinished "
        "upload. Then it looks for all of them again, and writes a receipt. Without --yes it only "
        "finds and counts. Objects of another deployment are left and named (docs/ownership.md). "
        "It needs permissions that no task has: `airfreight erase --role` prints them. Ends with "
        "status 1 where anything is left.",
    )
    verb.add_argument("--dag", metavar="DAG_ID", help="of this DAG")
    verb.add_argument("--run", dest="run_id", metavar="RUN_ID", help="of this run only")
    verb.add_argument("--task", metavar="TASK_ID", help="of this task only, in all its runs or one")
    verb.add_argument("--yes", action="store_true", help="remove; else only find")
    verb.add_argument(
        "--receipt",
        type=Path,
        metavar="FILE",
        help="where the receipt goes (JSON: names, versions and counts, no values); it must not "
        "exist yet. With --yes airfreight-erase-<time>.json by default",
    )
    verb.add_argument(
        "--even-running", action="store_true", help="also while a run of it is not over"
    )
    verb.add_argument("--database", metavar="URL", help="in place of [database] sql_alchemy_conn")
    verb.add_argument("--json", action="store_true", help="print the receipt")
    verb.add_argument(
        "--role",
        action="store_true",
        help="print the permissions that this needs in the cloud, and nothing else: the same as "
        "`airfreight iam-policy --role erase`",
    )
    verb.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    if asked.role:
        from airfreight import cli

        return cli.main(["iam-policy", "--role", "erase"])
    if asked.dag is None:
        print("error: give --dag, and --run or --task with it for less", file=sys.stderr)
        return 2
    with quiet():
        from airfreight import runtime
        from airfreight.admin import database, erase
        from airfreight.config import settings
        from airfreight.errors import Error

        where = None
        try:
            where = _place(asked)
            receipt = erase.erase(
                erase.Scope(asked.dag, asked.run_id, asked.task),
                database.connect(asked.database),
                runtime.administration(),
                deployment_id=settings().deployment_id,
                change=asked.yes,
                even_running=asked.even_running,
                progress=progress,
            )
        except Error as error:
            if where is not None:
                where.unlink()  # Nothing was removed.
            print(f"error: {error}", file=sys.stderr)
            return 1
        text = json.dumps(receipt.as_json(), indent=2)
        if where is not None:
            where.write_text(text + "\n")
    print(text) if asked.json else _tell(receipt, where)
    if receipt.nothing and not receipt.runs:
        print(
            "error: there is nothing of that name: no run, no row, no object, no unfinished "
            "upload. Is it spelt as Airflow has it?",
            file=sys.stderr,
        )
        return 1
    return 0 if receipt.complete or not (receipt.changed or receipt.problem) else 1


def _place(asked: argparse.Namespace) -> Path | None:
    """Where the receipt goes, known to be writable before anything is removed."""
    from datetime import datetime, timezone

    from airfreight.errors import InvalidError

    where: Path | None = asked.receipt
    if where is None and asked.yes:
        now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        where = Path(f"airfreight-erase-{now}.json")
    if where is not None:
        try:
            where.touch(exist_ok=False)
        except OSError as error:
            raise InvalidError(f"the receipt can't be written to {where}: {error}") from error
    return where


def _tell(receipt: Receipt, where: Path | None) -> None:
    end_progress()
    done = "removed" if receipt.changed else "would remove"
    rows = ", ".join(f"{count} of {table}" for table, count in receipt.rows.items())
    print(f"{done} {sum(receipt.rows.values())} rows" + (f" ({rows})" if rows else ""))
    for found in receipt.stores:
        print(
            f"{done} from store {found.store} ({found.root}): {found.versions} versions under "
            f"{found.keys} keys ({found.size} bytes), {found.marks} removal marks, "
            f"{found.uploads} unfinished uploads"
        )
        _list(
            "left, since it is not this deployment's",
            [f"{key} {version}: {whose}" for key, version, whose in found.left],
        )
        _list("STILL THERE", [f"{key} {version}" for key, version in found.remaining])
    _list("rows refer to what no configured store has; nobody looked there", receipt.elsewhere)
    if receipt.rows_remaining:
        print(f"STILL THERE: {receipt.rows_remaining} rows")
    if receipt.rows_unowned:
        print(
            f"{receipt.rows_unowned} archived rows do not say of which DAG they are (their task "
            "instances are gone): `airflow db drop-archived` removes them"
        )
    if receipt.problem:
        print(f"it ended early: {receipt.problem}. Run it again")
    if receipt.nothing:
        print("nothing of it was there")
    elif receipt.changed and receipt.complete:
        print("verified: nothing of it is left")
    if where is not None:
        print(f"receipt: {where}")
    if not receipt.changed:
        print("nothing was changed; --yes removes")


def _list(what: str, lines: list[str]) -> None:
    if not lines:
        return
    print(f"{what}: {len(lines)}")
    for line in lines[:_SHOWN]:
        print(f"  {line}")
    if len(lines) > _SHOWN:
        print(f"  and {len(lines) - _SHOWN} more, in the receipt")

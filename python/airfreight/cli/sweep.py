"""`airfreight sweep`."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airfreight.cli import source
from airfreight.cli.output import end_progress, progress, quiet

if TYPE_CHECKING:
    from airfreight.admin.sweep_state import State

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
#: S3 dates an object of several parts by the beginning of its upload, which may take long.
_LEAST_GRACE = 86_400
#: Seconds; a sweep allows for an hour between the clocks of those who write rows.
_MOST_OFFSET = 3600
_STATE = Path("airfreight-sweep")
_ARCHIVES = (
    "Airflow's API shows no archive tables: what `airflow db clean` has put there would lose its "
    "objects, and so would what refers to it from a DAG that it has removed from the table dag. If "
    "there is no such thing, or it may go (`airflow db drop-archived`), give --without-archives "
    "(docs/sweep.md); else run this where the database can be reached"
)
_WORDS = {
    "orphan": "nothing needs",
    "dangling": "a row refers to, and is not there",
    "upload": "was begun and not ended",
}


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    verb = verbs.add_parser(
        "sweep",
        help="find and remove objects that no row needs any more",
        description="Looks for objects whose rows are gone (deleted in the UI or by REST, `airflow "
        "db clean`, `dags delete`, or with their run), for rows whose objects are "
        "gone, and for uploads that were begun and not ended. Without --yes it only finds and "
        "counts. It removes only what bears this deployment's id, was not written within the "
        "grace period, is in no row, archive tables and references inside of values included, "
        "and is of no run that is still at work. A sweep that was ended goes on where it was when "
        "it is called again with the same --state. docs/sweep.md tells it all.",
    )
    verb.add_argument("--yes", action="store_true", help="remove; else only find")
    verb.add_argument(
        "--grace",
        type=_age,
        default=_age("7d"),
        metavar="AGE",
        help="leave what was written within this time, e.g. 36h, 7d, 2w; default 7d, at least 1d",
    )
    verb.add_argument(
        "--by-hand",
        type=_age,
        default=_age("30d"),
        metavar="AGE",
        help="what airfreight.put wrote stays as long as its run is in the database, and then "
        "until it is this old, since its reference may lie anywhere; default 30d",
    )
    verb.add_argument(
        "--retention",
        type=_retention,
        action="append",
        default=[],
        metavar="DAG=AGE",
        help="also remove rows and objects of runs that ended longer ago; a pattern of DAG ids, "
        "e.g. 'sales_*=30d'; the first that fits holds; may be given several times. Without it "
        "objects stay as long as their rows",
    )
    verb.add_argument(
        "--keep-last",
        type=int,
        default=0,
        metavar="N",
        help="whatever the retention, leave the last N runs of each DAG",
    )
    verb.add_argument(
        "--store",
        action="append",
        metavar="NAME",
        help="of the settings, e.g. default; may be given several times; default all",
    )
    verb.add_argument(
        "--even-most",
        action="store_true",
        help="with --yes: also where most objects of a store would go, more than 1,000",
    )
    source.add(verb)
    verb.add_argument(
        "--without-archives",
        action="store_true",
        help="with --via api and --yes: says that `airflow db clean` has left nothing behind that "
        "is to be kept, since the API shows neither its archive tables nor the XComs of DAGs that "
        "it has removed from the table dag",
    )
    verb.add_argument(
        "--state",
        type=Path,
        default=_STATE,
        metavar="FOLDER",
        help="for what is found, some 200 bytes for each object; a sweep that was ended goes on "
        f"from there; default {_STATE}",
    )
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=_run)


def _age(text: str) -> float:
    found = re.fullmatch(r"(\d+)([smhdw])", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; right is e.g. 36h, 7d or 2w")
    return float(int(found[1]) * _UNITS[found[2]])


def _retention(text: str) -> tuple[str, float]:
    dag, equals, age = text.rpartition("=")
    if not equals or not dag:
        raise argparse.ArgumentTypeError(f"{text!r} is no retention; right is e.g. 'sales_*=30d'")
    return dag, _age(age)


def _run(asked: argparse.Namespace) -> int:
    if asked.grace < _LEAST_GRACE:
        print(
            "error: --grace is at least 1d: a row may be written long after its object, and S3 "
            "dates an object by the beginning of its upload",
            file=sys.stderr,
        )
        return 2
    with quiet():
        from airfreight import runtime
        from airfreight.admin import ownership, sweep, sweep_state
        from airfreight.config import settings
        from airfreight.errors import Error, InvalidError

        try:
            if asked.via == "api" and asked.yes and not asked.without_archives:
                raise InvalidError(_ARCHIVES)
            found = source.find(asked)
            stores = runtime.administration()
            names = asked.store or stores.names
            if unknown := [name for name in names if name not in stores.names]:
                raise InvalidError(
                    f"--store {unknown[0]}: the settings have {', '.join(stores.names)}"
                )
            if asked.yes and abs(offset := found.offset()) > _MOST_OFFSET:
                whose = "the API" if asked.via == "api" else "the database"
                raise InvalidError(
                    f"the clock of this machine is {offset:+,.0f} s from that of {whose} "
                    f"{found.name}: what is old enough to go can't be told. Set it (chrony, ntpd, "
                    "or that of the host of this container)"
                )
            if asked.yes and found.is_replica():
                raise InvalidError(
                    f"the database {found.name} is a replica: a row of the moment may not be there "
                    "yet. Give the primary with --database"
                )
            place = found.identity()
            owners = {
                name: ownership.of(
                    stores, name, settings().deployment_id, place, changing=asked.yes
                )
                for name in dict.fromkeys(names)
            }
            rules = sweep_state.Rules(
                asked.grace, asked.by_hand, tuple(asked.retention), asked.keep_last
            )
            with sweep_state.held(asked.state):
                state = sweep.Sweep(
                    found,
                    stores,
                    owners,
                    rules,
                    asked.state,
                    aliases=settings().aliases,
                    remove=asked.yes,
                    even_most=asked.even_most,
                    progress=_progress,
                ).run()
                sweep_state.forget(asked.state)
            end_progress()
        except Error as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print(f"\nended; the same command goes on from {asked.state}", file=sys.stderr)
            return 130
    if asked.json:
        print(json.dumps(_report(state, asked.yes), indent=2))
    else:
        _tell(state, asked.yes)
    if state.unread:
        print(
            f"warning: {state.unread:,} rows lead to what can't be read here, and what that may "
            "speak of was left. Where a row is forged or damaged, clear its task or delete it; "
            "where keys, permissions or a store are missing here, give those that the workers have",
            file=sys.stderr,
        )
        return 1
    return 0


def _progress(step: str, done: int, whole: int) -> None:
    what = {
        "list": "objects listed",
        "read": "rows read",
        "join": "objects compared",
        "remove": "objects looked at",
    }[step]
    bar = ""
    if whole:
        width = 30 * min(done, whole) // whole
        bar = f" [{'#' * width}{'.' * (30 - width)}] {100 * min(done, whole) // whole} %"
    progress(f"{done:,} {what}{bar}")


def _report(state: State, removed: bool) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "removed": removed,
        "rows": state.rows,
        "runs": state.runs,
        "expired_rows": state.expired_rows,
        "unread": state.unread,
        "unread_rows": state.unread_shown,
        "stores": {
            name: {"root": state.stores[name], **asdict(found)}
            for name, found in state.found.items()
        },
    }


def _tell(state: State, removed: bool) -> None:
    print(f"{state.rows:,} rows of Airfreight's, of {state.runs:,} runs")
    if state.expired_rows:
        done = "removed" if removed else "to remove"
        print(f"{state.expired_rows:,} rows {done}: their runs have outlived the retention")
    for row, why in state.unread_shown:
        print(f"can't be read: {row}: {why}")
    for name, found in state.found.items():
        print(f"store {name}: {state.stores[name]}")
        print(f"  {found.objects:,} objects, {_size(found.bytes)}")
        if found.foreign:
            print(f"  {found.foreign:,} are no XComs of ours by their names, and are left")
        print(f"  {found.needed:,} are needed, {found.young:,} are not, and too young to go")
        if found.unsure:
            print(f"  {found.unsure:,} are left for the rows that lead to what can't be read")
        print(f"  {found.orphans:,} orphans, {_size(found.orphan_bytes)}")
        print(f"  {found.dangling:,} rows refer to what is not there")
        print(f"  {found.uploads:,} uploads were begun and not ended")
        if removed:
            print(
                f"  removed {found.removed:,} objects, {_size(found.removed_bytes)}; left "
                f"{found.kept:,} (needed by now, replaced, or not ours); ended {found.aborted:,} "
                "uploads"
            )
        for what, words in _WORDS.items():
            for kind, key in found.shown:
                if kind == what:
                    print(f"    {words}: {key}")
    if not removed:
        print("nothing was changed; --yes removes")


def _size(count: int) -> str:
    from airfreight.values import human_bytes

    return human_bytes(count)

"""`airfreight claim`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from airfreight.cli import source
from airfreight.cli.output import quiet

if TYPE_CHECKING:
    import argparse


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    verb = verbs.add_parser(
        "claim",
        help="say once that a store's objects are this deployment's, so that they may be removed",
        description="Commands that remove or rewrite objects (sweep, erase, rekey, repatriate) do "
        "so only where a claim in the store names this deployment's database: a copy of the "
        "database, or a second Airflow under the same prefix, changes nothing. Run this once, in "
        "the deployment "
        "whose objects these are. Prints the claims of each store; with --yes writes this one's "
        "(docs/ownership.md). Ends with status 1 where another has it.",
    )
    verb.add_argument("--yes", action="store_true", help="write the claim; else only look")
    verb.add_argument(
        "--unnamed",
        action="store_true",
        help="claim also what was written without a deployment_id: before this deployment got its",
    )
    verb.add_argument(
        "--take-over",
        action="store_true",
        help="in place of who has it: this deployment's database has moved",
    )
    verb.add_argument(
        "--also",
        action="store_true",
        help="beside who has it: another name of the same database, or its API (--via api)",
    )
    source.add(verb)
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    with quiet():
        from airfreight import runtime
        from airfreight.admin import ownership
        from airfreight.config import settings
        from airfreight.errors import Error

        told: list[dict[str, Any]] = []
        status = 0
        try:
            place = source.find(asked).identity()
            own = settings().deployment_id
            stores = runtime.administration()
            ids = list(dict.fromkeys([own, ""] if asked.unnamed else [own]))
            for store in stores.names:
                problem = ""
                try:
                    if asked.yes:
                        for name in ids:
                            ownership.make(
                                stores,
                                store,
                                name,
                                place,
                                take_over=asked.take_over,
                                also=asked.also,
                            )
                    else:
                        ownership.of(stores, store, own, place, changing=False)
                except Error as error:
                    problem, status = str(error), 1
                told.append(
                    {
                        "store": store,
                        "root": stores.root(store),
                        "claims": [
                            json.loads(claim.encode()) | {"ours": claim.names(place)}
                            for claim in ownership.claims(stores, store)
                        ],
                        "problem": problem or None,
                    }
                )
        except Error as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    if asked.json:
        print(json.dumps({"deployment_id": own or None, "here": place, "stores": told}, indent=2))
        return status
    print(f"deployment_id: {own or 'none'}")
    here = "API" if asked.via == "api" else "database"
    print(f"this {here}: " + " ".join(f"{part}={value}" for part, value in place.items() if value))
    for one in told:
        print(f"store {one['store']} ({one['root']}):")
        for claim in one["claims"]:
            whose = (
                f"this {here}'s" if claim["ours"] else "another's: " + json.dumps(claim["places"])
            )
            print(f"  {claim['deployment_id'] or 'without an id'}: {whose}, {claim['made']}")
        if not one["claims"]:
            print("  nobody has claimed it")
        if one["problem"]:
            print(f"  error: {one['problem']}")
    if not asked.yes:
        print("nothing was changed; --yes claims")
    return status

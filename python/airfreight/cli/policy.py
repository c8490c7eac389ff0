"""`airfreight policy check` and `airfreight policy explain`."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from airfreight.cli.output import quiet

if TYPE_CHECKING:
    from airfreight.config import Settings


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    actions = verbs.add_parser("policy", help="what holds for which values").add_subparsers(
        required=True, metavar="action"
    )
    check = actions.add_parser(
        "check",
        help="check policy and settings, that their connections are there and their stores answer",
        description="Checks the texts of policy and settings, that each Airflow connection that "
        "they name is there, and that each store answers: one request asks it for an object that "
        "is not there. Ends with status 1 where something is wrong.",
    )
    check.add_argument(
        "--texts", action="store_true", help="the texts alone: ask no connection and no store"
    )
    check.add_argument("--json", action="store_true", help="print JSON")
    check.set_defaults(run=_check)
    explain = actions.add_parser(
        "explain",
        help="what is decided for a value, and by which rule",
        description="Prints the first rule that matches, and each setting with where it comes "
        "from. Asks no connection and no store.",
    )
    explain.add_argument("--dag", required=True)
    explain.add_argument("--task", required=True)
    explain.add_argument("--key", default="return_value")
    explain.add_argument("--type", default="json", help="as _xcom_type, e.g. pandas.DataFrame")
    explain.add_argument("--size", type=_size, help="bytes, or e.g. 3GiB; absent: not known")
    explain.add_argument("--json", action="store_true", help="print JSON")
    explain.set_defaults(run=_explain)


def _size(text: str) -> int:
    from airfreight import rules

    size, _ = rules.setting("max_size", text)
    if size is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; right is e.g. 3GiB")
    return int(size)


def _check(asked: argparse.Namespace) -> int:
    with quiet():
        from airfreight.cli import checks

        found = checks.check(texts_only=asked.texts)
    if asked.json:
        print(json.dumps(found.as_json(), indent=2))
        return found.status
    print(found.head)
    for store in found.stores:
        through = f" through connection {store.connection!r}" if store.connection else ""
        name = store.name or "of read_also"
        print(f"store {name} = {store.uri}{through}: {store.state}")
    for kind, texts in (("warning", found.warnings), ("error", found.errors)):
        for text in texts:
            print(f"{kind}: {text}")
    return found.status


def _settings() -> Settings | str:
    from airfreight.config import settings
    from airfreight.errors import ConfigError

    try:
        return settings()
    except ConfigError as error:
        return str(error)


def _explain(asked: argparse.Namespace) -> int:
    with quiet():
        from airfreight import decision

        current = _settings()
    if isinstance(current, str):
        print(json.dumps({"error": current}) if asked.json else f"error: {current}")
        return 1
    policy = current.policy
    found = (
        None
        if policy is None
        else policy.find(asked.dag, asked.task, asked.key, asked.type, asked.size)
    )
    decided = decision.decide(current, found)
    told = {name: getattr(decided, name) for name in decision.NAMES}
    if asked.json:
        rule = found and {"name": found.name, "line": found.line, "source": decided.source}
        value = {name: getattr(asked, name) for name in ("dag", "task", "key", "type", "size")}
        settings = {
            name: {"value": known, "from": decided.origin(name)} for name, known in told.items()
        }
        print(json.dumps({"value": value, "rule": rule, "settings": settings}, indent=2))
        return 0
    if found is not None:
        print(decided.by_rule)
    else:
        print("no rule matches" if policy is not None else "no policy is set")
    for name, value in told.items():
        print(f"{name} = {decision.shown(name, value)}  ({decided.origin(name)})")
    return 0

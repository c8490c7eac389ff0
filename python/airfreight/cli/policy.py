"""`airfreight policy check` and `airfreight policy explain`."""

from __future__ import annotations

import argparse
import re
from typing import Any

_UNITS = {"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}


def add(verbs: Any) -> None:
    """Adds the verb to the parser."""
    actions = verbs.add_parser("policy", help="what holds for which values").add_subparsers(
        required=True, metavar="action"
    )
    check = actions.add_parser("check", help="check the texts of policy and settings")
    check.set_defaults(run=_check)
    explain = actions.add_parser("explain", help="what is decided for a value, and by which rule")
    explain.add_argument("--dag", required=True)
    explain.add_argument("--task", required=True)
    explain.add_argument("--key", default="return_value")
    explain.add_argument("--type", default="json", help="as _xcom_type, e.g. pandas.DataFrame")
    explain.add_argument("--size", type=_size, help="bytes, or e.g. 3GiB; absent: not known")
    explain.set_defaults(run=_explain)


def _size(text: str) -> int:
    match = re.fullmatch(r"([0-9]+) ?([KMGT]iB|B|)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; right is e.g. 3GiB")
    return int(match[1]) << _UNITS[match[2]]


def _read() -> Any:
    from airfreight.config import settings
    from airfreight.errors import ConfigError

    try:
        return settings()
    except ConfigError as error:
        print(error)
        return None


def _check(_: argparse.Namespace) -> int:
    current = _read()
    if current is None:
        return 1
    print("no policy is set" if current.policy is None else f"{current.policy.source}: right")
    return 0


def _explain(asked: argparse.Namespace) -> int:
    from airfreight import decision

    current = _read()
    if current is None:
        return 1
    policy = current.policy
    found = (
        None
        if policy is None
        else policy.find(asked.dag, asked.task, asked.key, asked.type, asked.size)
    )
    print("no rule matches" if found is None else f"rule {found.name!r}, line {found.line}")
    decided = decision.decide(current, found)
    for name in decision.NAMES:
        value = decision.shown(name, getattr(decided, name))
        print(f"{name} = {value}  ({decided.origin(name)})")
    return 0

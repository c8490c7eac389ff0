"""Rules by which a bucket removes what is over: `airfreight lifecycle`.

What is to go is worked out once, from settings and policy (`Plan`); the modules beside this one say
it as each cloud has it.

A rule of a bucket knows prefixes (and S3 tags), days, and nothing of Airfreight's. So a prefix gets
an expiry only where a rule of the policy has *all* that lies below it, and no earlier one keeps
some of it for longer.
"""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING, Any, NamedTuple

from airfreight import config, runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airfreight.admin.places import Place
    from airfreight.rules import Rule

_DAY = 86400
#: The classes that objects are tagged with: kClassDays in `src/freight/retention.cc`.
CLASSES = (1, 2, 3, 7, 14, 30, 60, 90, 180, 365, 730, 1825, 3650)
#: Objects' name of their class, as `src/store/s3` tags them.
TAG = "airfreight-retention"
#: In place of a class: of objects that carry the end of their time, `src/store/gcs`.
ENDED = "ended"
#: Longest readable head of a DAG's id in a key: kFieldLimit in `src/freight/coordinate.cc`. What
#: is longer goes on with a hash.
_MAX_HEAD = 160


class Refused(Exception):  # noqa: N818 (it is no fault)
    """The rules can't be printed; says why and what to do."""


class Expiry(NamedTuple):
    """What goes after so many days.

    Attributes:
        prefix: of keys in the bucket.
        days: whole ones, not fewer than the retention has.
        tag: the class that objects have to be tagged with; `ENDED`: those whose own time is over;
            "": all below the prefix.
    """

    prefix: str
    days: int
    tag: str = ""


class Plan(NamedTuple):
    """What goes from a bucket or container.

    Attributes:
        place: one of the stores there.
        folders: the prefixes of all stores there, each ending in a slash, or "".
        expiries: in a fixed order.
        abort_after: days after which an unfinished upload goes; 0: never by rule.
        old_versions: days after which a version that was replaced goes; 0: never by rule.
    """

    place: Place
    folders: tuple[str, ...]
    expiries: tuple[Expiry, ...]
    abort_after: int
    old_versions: int


class Asked(NamedTuple):
    """What the command was asked for: days each; 0 leaves it out.

    Attributes:
        everything_after: for all that lies below the prefixes.
        abort_after, old_versions: as in Plan.
    """

    everything_after: int = 0
    abort_after: int = 7
    old_versions: int = 7


class Made(NamedTuple):
    """A document, and notes for whoever reads it."""

    document: dict[str, Any]
    notes: list[str]


def plans(places: Sequence[Place], asked: Asked) -> tuple[list[Plan], list[str]]:
    """What goes from each bucket, and what can't go by rule and why.

    Raises:
        Refused: `everything_after` is shorter than a rule keeps a value.
    """
    policy = config.settings().policy
    rules = policy.rules() if policy is not None else []
    source = policy.source if policy is not None else ""
    notes: list[str] = []
    buckets: dict[tuple[str, str], list[Place]] = {}
    for place in places:
        account = place.settings.get("account", "") if place.kind == "az" else ""
        buckets.setdefault((account, place.bucket), []).append(place)
    made = []
    for of_these in buckets.values():
        found: dict[Expiry, None] = {}
        for place in of_these:
            found |= dict.fromkeys(_expiries(place, rules, source, asked, notes))
        folders = tuple(dict.fromkeys(place.folder for place in of_these))
        notes += [
            f"{of_these[0].bucket}: the prefix {inner!r} lies below {outer!r}, whose rules hold "
            "for it, too"
            for inner in folders
            for outer in folders
            if inner != outer and inner.startswith(outer)
        ]
        made.append(Plan(of_these[0], folders, tuple(found), asked.abort_after, asked.old_versions))
    return made, notes


def _expiries(
    place: Place, rules: Sequence[Rule], source: str, asked: Asked, notes: list[str]
) -> list[Expiry]:
    tagged = place.kind == "s3" and place.settings.get("retention_tags", "").lower() == "true"
    mine = [rule for rule in rules if _store(rule) == place.name]
    if asked.everything_after:
        for rule in mine:
            kept = rule.values.get("retention")
            if kept is not None and not 0 < int(kept) <= asked.everything_after * _DAY:
                words = "for ever" if int(kept) == 0 else f"for {_days(int(kept))} days"
                raise Refused(
                    f"--everything-after {asked.everything_after} is shorter than rule "
                    f"{rule.name!r}, line {rule.lines['retention']} of {source}, keeps its values: "
                    f"{words}. Give more days, or shorten the rule"
                )
    found = []
    ended = place.kind == "gs"
    if ended:
        found.append(Expiry(place.folder, 0, ENDED))
    if tagged:
        # All of them: a DAG may shorten a retention to any.
        found += [Expiry(place.folder, days, f"{days}d") for days in CLASSES]
    for rule in mine:
        seconds = int(rule.values.get("retention", "0"))
        if not seconds or tagged or ended:
            continue
        where = f"rule {rule.name!r}, line {rule.lines['retention']} of {source}"
        problem = _not_by_prefix(rule, rules)
        prefixes: list[str] = []
        if not problem:
            for pattern in rule.matchers.get("dag", ["*"]):
                prefix = _prefix(pattern)
                if prefix is None:
                    problem = f"the pattern {pattern!r} is no beginning of names"
                else:
                    prefixes.append(prefix)
        if problem:
            way = "set s3_retention_tags = True" if place.kind == "s3" else "write it otherwise"
            notes.append(
                f"{where}: no rule of the bucket is printed for it, since {problem}; {way}, or "
                "have `airfreight sweep` remove what is over"
            )
            continue
        found += [Expiry(place.folder + prefix, _days(seconds)) for prefix in prefixes]
    if asked.everything_after:
        found.append(Expiry(place.folder, asked.everything_after))
    return found


def _store(rule: Rule) -> str:
    return rule.values.get("store", runtime.DEFAULT_STORE)


def _days(seconds: int) -> int:
    return -(-seconds // _DAY)


def _not_by_prefix(rule: Rule, rules: Sequence[Rule]) -> str:
    """Why what a rule matches is not all that lies below some prefixes; "" where it is."""
    others = [name for name in rule.matchers if name != "dag"]
    if others:
        return f"it matches by {', '.join(others)} too, which keys do not begin with"
    for earlier in rules[: rules.index(rule)]:
        if _store(earlier) != _store(rule) or not _overlap(earlier, rule):
            continue
        kept = int(earlier.values.get("retention", "0"))
        if not kept or kept > int(rule.values["retention"]):
            return f"rule {earlier.name!r} comes before it and keeps some of the same for longer"
    return ""


def _overlap(one: Rule, other: Rule) -> bool:
    """Whether there may be a DAG that both rules match; True where that can't be told."""
    return any(
        _may_meet(first, second)
        for first in one.matchers.get("dag", ["*"])
        for second in other.matchers.get("dag", ["*"])
    )


def _may_meet(first: str, second: str) -> bool:
    heads = [_head(pattern) for pattern in (first, second)]
    if first == heads[0] and second == heads[1]:
        return first == second
    if first == heads[0] or second == heads[1]:
        exact, pattern = (first, second) if first == heads[0] else (second, first)
        parts = {"*": ".*", "?": "."}
        regex = "".join(parts.get(char) or re.escape(char) for char in pattern)
        return re.fullmatch(regex, exact, re.S) is not None
    return heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])


def _head(pattern: str) -> str:
    return re.split(r"[*?]", pattern, maxsplit=1)[0]


def _prefix(pattern: str) -> str | None:
    """What the keys of all DAGs that a pattern matches begin with, and no others; None: nothing."""
    head = _head(pattern)
    # As PercentEncode in `src/freight/coordinate.cc`. (`quote` leaves `~` alone, which marks what
    # is shortened there.)
    encoded = urllib.parse.quote(head, safe="").replace("~", "%7E")
    if len(encoded) > _MAX_HEAD or head in (".", ".."):
        return None
    if head == pattern:
        return f"{encoded}/"
    return encoded if pattern == f"{head}*" else None


def beside(place: Place, places: Sequence[Place]) -> list[Place]:
    """The places whose rules are in one list with those of `place`, itself among them."""
    return [other for other in places if _list_of(other) == _list_of(place)]


def _list_of(place: Place) -> tuple[str, str]:
    # Azure has one for an account.
    account = place.settings.get("account", "")
    return place.kind, account if place.kind == "az" else place.bucket


def document(places: Sequence[Place], asked: Asked, existing: Any = None) -> Made:
    """The rules of the one bucket that `places` lie in (Azure: of the one account).

    Args:
        places: of one cloud.
        asked: what for.
        existing: what the bucket has now, of which everything that is not ours is kept.

    Raises:
        Refused: there are several buckets; there would be more rules than the store takes; a
            retention would be cut.
    """
    from airfreight.admin.lifecycle import azure, google, s3

    kind = places[0].kind
    found, notes = plans(places, asked)
    module: Any = {"s3": s3, "gs": google, "az": azure}[kind]
    groups = dict.fromkeys(module.group(plan) for plan in found)
    if len(groups) > 1:
        raise Refused(
            f"the stores lie in several places, each with rules of its own: {', '.join(groups)}. "
            "Choose with --store " + "|".join(place.name or "read_also" for place in places)
        )
    made: Made = module.made(found, existing)
    rules = module.rules(made.document)
    if len(rules) > module.MOST:
        ours = len(rules) - len(module.rules(existing) if existing else [])
        raise Refused(
            f"that would be {len(rules)} rules ({ours} of Airfreight's), and {module.WHERE} takes "
            f"{module.MOST} at most. {module.ADVICE}"
        )
    return Made(made.document, notes + made.notes)

"""What `airfreight policy check` finds: texts, connections, stores."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airfreight.config import Settings
    from airfreight.rules import Policy

#: Seconds for which a store that does not answer is asked again.
_PATIENCE = 10.0
#: What stands in rows, and what no rule is asked about: a list with frames in it is "json".
_NO_TYPES = ("bundle", "document", "pickle")


#: What tells a missing object from a forbidden one.
_LISTING = "s3:ListBucket (Google: storage.objects.list)"


@dataclass
class StoreFound:
    """A store, as the settings name it.

    Attributes:
        name: as references carry it; "" for one that is only read from.
        uri: without its connection.
        connection: its id; "" for none.
        state: in words.
    """

    name: str
    uri: str
    connection: str
    state: str = "not asked"


@dataclass
class Findings:
    """What was found.

    Attributes:
        head: a line on the policy.
        errors: what is wrong, a text for each.
        warnings: what is probably not meant.
        stores: in the order in which the settings name them.
    """

    head: str = "no policy is set"
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stores: list[StoreFound] = field(default_factory=list)

    @property
    def status(self) -> int:
        """The exit status of the command."""
        return 1 if self.errors else 0

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "policy": self.head,
            "errors": self.errors,
            "warnings": self.warnings,
            "stores": [vars(store) for store in self.stores],
        }


def check(*, texts_only: bool) -> Findings:
    """Checks the settings and the policy.

    Args:
        texts_only: no connection is looked up, and no store asked.
    """
    from airfreight import _stores, config

    found = Findings()
    current, found.warnings, found.errors = config.review()
    if current is None:
        found.head = "settings and policy can't be used"
        return found
    if current.policy is not None:
        count = len(current.policy.rules())
        found.head = f"{current.policy.source}: {count} {'rule' if count == 1 else 'rules'}"
        found.warnings += _types_of_nothing(current.policy)
        found.warnings += _stores.doubtful_keys(current.policy, current.store)
    _look_at_stores(found, texts_only=texts_only)
    if not texts_only:
        _look_for_keys(found, current)
    return found


def _look_for_keys(found: Findings, current: Settings) -> None:
    """Whether there are keys where objects are to be sealed; a command may have to be run."""
    from airfreight import sealing
    from airfreight.errors import ConfigError

    try:
        missing = sealing.asks(current)
    except ConfigError as error:
        missing = str(error)
    found.errors += [missing] if missing else []


def _types_of_nothing(policy: Policy) -> list[str]:
    """Patterns of types that match none that a value of this installation has."""
    from airfreight import _policy, values

    known = sorted({"json", *values.types()} - {*_NO_TYPES})
    found = []
    for rule in policy.rules():
        for pattern in rule.matchers.get("type", ()):
            # The types of other packages' codecs are known to them alone.
            if ":" in pattern or any(_matches(pattern, one) for one in known):
                continue
            near = _policy.nearest(pattern, known)
            hint = f"did you mean {near}?" if near else f"types are {', '.join(known)}"
            found.append(
                f"{policy.source}, line {rule.lines['type']}: rule {rule.name!r}: type "
                f"{pattern!r} matches no type that a value has here; {hint}"
            )
    return found


def _matches(pattern: str, text: str) -> bool:
    """As rules do (src/rules/rules.cc)."""
    parts = {"*": ".*", "?": "."}
    return bool(re.fullmatch("".join(parts.get(c) or re.escape(c) for c in pattern), text))


def _look_at_stores(found: Findings, *, texts_only: bool) -> None:
    from airfreight import runtime

    for store in runtime.listed():
        about = StoreFound(store.name, store.uri, store.connection[0])
        found.stores.append(about)
        if texts_only:
            continue
        try:
            told = runtime.probe(store, patience=_PATIENCE)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is what is wrong)
            about.state = "can't be used"
            # (What is wrong with a connection says already where it is named.)
            text = str(error)
            known = text.startswith(store.setting)
            found.errors.append(text if known else f"{store.setting}: {text}")
        else:
            about.state = (
                "answers" if told else "answers, and does not let us see which objects there are"
            )
            if not told:
                found.warnings.append(
                    f"{store.setting}: the store answers 403 to a look at an object that is not "
                    f"there: the account may lack the permission to list alone, or every one. "
                    f"{_LISTING} tells one from the other, here and at each pull"
                )

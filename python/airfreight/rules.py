"""The policy file: further stores, aliases, and rules that say how values are kept.

Reads text only; loads a small extension of its own, and only where a policy is set.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Found:
    """The rule that holds for a value.

    Attributes:
        name: its own, or its number as in "#3".
        line: where it begins in its file.
        values: what it says, by the names of the settings; sizes in bytes, durations in seconds,
            lists with commas between their items.
        lines: where it says each of `values`.
    """

    name: str
    line: int
    values: Mapping[str, str]
    lines: Mapping[str, int]


@dataclass(frozen=True)
class Rule:
    """A rule, as `Found`, with the patterns that it matches by what they match."""

    name: str
    line: int
    matchers: Mapping[str, list[str]]
    values: Mapping[str, str]
    lines: Mapping[str, int]


@dataclass(frozen=True)
class Policy:
    """A policy that was read.

    Attributes:
        source: what it is called in messages.
        stores: further stores by name: URI and settings.
        aliases: places, and those that are read in their stead.
        lines: of "stores.eu", "stores.eu.uri" and the like, and of "aliases.s3://old/xcom".
        sized: whether a rule looks at sizes.
    """

    source: str
    stores: Mapping[str, tuple[str, Mapping[str, str]]]
    aliases: tuple[tuple[str, str], ...]
    lines: Mapping[str, int]
    sized: bool
    _rules: Any

    def find(self, dag: str, task: str, key: str, kind: str, size: int | None) -> Found | None:
        """The first rule that matches; a size that is not known matches no rule with a size."""
        from airfreight import _policy

        found = _policy.find(self._rules, dag, task, key, kind, -1 if size is None else size)
        return None if found is None else Found(*found)

    def rules(self) -> list[Rule]:
        """All rules, in their order."""
        from airfreight import _policy

        return [Rule(*told) for told in _policy.rules(self._rules)]

    def where(self, name: str) -> str:
        """The place of a store, an alias or a setting of theirs in the policy, for messages."""
        return f"{self.source}, line {self.lines[name]}"


def read(texts: Mapping[str, str]) -> tuple[Policy | None, list[str]]:
    """The policy that the settings name, None where they name none; and what is wrong with it."""
    inline, path = (texts.get(name, "").strip() for name in ("policy", "policy_file"))
    if inline and path:
        return None, ["[airfreight] policy and policy_file are both set: set one of them."]
    if not inline and not path:
        return None, []
    source = "[airfreight] policy"
    if path:
        source = path
        try:
            inline = Path(path).read_text("utf-8")
        except (OSError, ValueError) as error:
            return None, [f"[airfreight] policy_file {path!r} can't be read: {error}"]
    from airfreight import _policy

    problems, stores, aliases, lines, rules, sized = _policy.parse(inline, source)
    if problems:
        return None, problems
    return Policy(source, stores, tuple(aliases), lines, sized, rules), []


def setting(name: str, text: str) -> tuple[str | None, str]:
    """A value that a rule could have for a setting, in its one spelling; or what is wrong with it.

    A list is a text with commas between its items. What is wrong begins with the setting's name.
    """
    from airfreight import _policy

    return _policy.setting(name, text)

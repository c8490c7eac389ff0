"""The policy file: further stores, aliases, and rules that say how values are kept.

Reads text only; loads a small extension of its own, and only where a policy is set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airfreight.config import Settings

_NUMBERS = ("threshold", "preview_rows")


@dataclass(frozen=True)
class Found:
    """The rule that holds for a value: its name, its line, and what it says."""

    name: str
    line: int
    values: Mapping[str, str]


@dataclass(frozen=True)
class Policy:
    """A policy that was read.

    Attributes:
        source: what it is called in messages.
        stores: further stores by name: URI and settings.
        aliases: places, and those that are read in their stead.
        sized: whether a rule looks at sizes.
    """

    source: str
    stores: Mapping[str, tuple[str, Mapping[str, str]]]
    aliases: tuple[tuple[str, str], ...]
    sized: bool
    _rules: Any

    def find(self, dag: str, task: str, key: str, kind: str, size: int | None) -> Found | None:
        """The first rule that matches; a size that is not known matches no rule with a size."""
        from airfreight import _policy

        found = _policy.find(self._rules, dag, task, key, kind, -1 if size is None else size)
        return None if found is None else Found(*found)


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
    if "\0" in path:
        return None, ["[airfreight] policy_file holds a NUL"]
    from airfreight import _policy

    problems, stores, aliases, rules, sized = _policy.parse(inline, source)
    if problems:
        return None, problems
    return Policy(source, stores, tuple(aliases), sized, rules), []


def under(settings: Settings, found: Found | None) -> Settings:
    """The settings with what a rule says over them."""
    if found is None:
        return settings
    said: dict[str, Any] = {
        name: int(text) if name in _NUMBERS else text for name, text in found.values.items()
    }
    return replace(settings, **said)

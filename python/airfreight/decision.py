"""What is decided for a value: the settings, with what a rule of the policy says over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airfreight.config import Settings
    from airfreight.rules import Found

#: The option of `[airfreight]` for what a rule calls otherwise.
_OPTIONS = {"max_size": "max_object_bytes"}
#: What the section has no option for.
_RULES_ONLY = {
    "accept_external": "where no rule says otherwise",
    "encryption_key": "as the store's settings say",
    "may_change": "where no rule says otherwise",
    "retention": "where no rule says otherwise",
}
_NUMBERS = ("threshold", "preview_rows", "max_size", "retention")

#: What a DAG may change where no rule says; `retention` only to a shorter one.
MAY_CHANGE = ("compression", "format", "retention")


@dataclass(frozen=True)
class Decision:
    """What holds for one value. Immutable.

    Attributes:
        store: name of the store that it goes to, as references carry it.
        threshold: bytes of JSON that stay in the row; -1: written as the default backend does.
        format: of tables: "parquet" or "arrow".
        compression: of tables: "snappy", "zstd", "lz4" or "none".
        describe: what its reference tells: "full", "schema" or "size".
        preview_rows: rows of tables that its reference shows.
        pickle: "never" or "allow".
        digest: "crc32c" or "sha256".
        max_size: the most bytes that are pushed; 0: no limit of ours.
        encryption_key: what the store encrypts it under, in its own terms; "": as its settings say.
            With one the threshold is 0.
        seal: whether the object is encrypted before it leaves the process; with it the same.
        retention: seconds after which it may be gone; 0: it stays.
        outage: "fail" or "inline".
        accept_external: whether an unsigned reference that a container has made is one.
        may_change: the settings that `airfreight.options` may change.
        source: what the policy is called in messages; "" without one.
        rule: the rule that holds; None where none does.
        changed: the settings that the task itself has changed.
    """

    threshold: int
    format: str
    compression: str
    describe: str
    preview_rows: int
    pickle: str
    digest: str
    max_size: int
    store: str = "default"
    encryption_key: str = ""
    seal: bool = False
    retention: int = 0
    outage: str = "fail"
    accept_external: bool = False
    may_change: tuple[str, ...] = MAY_CHANGE
    source: str = ""
    rule: Found | None = None
    changed: frozenset[str] = frozenset()

    def fields(self) -> tuple[str, str, int, str, str, str, int, bool]:
        """What the core is told of a push, as `Freight.put` has it."""
        return (
            self.store,
            self.digest,
            self.max_size,
            self.label("max_size"),
            self.encryption_key,
            self.label("encryption_key"),
            self.retention,
            self.seal,
        )

    @property
    def encrypted(self) -> bool:
        """Whether it was asked that the value be encrypted: no row may hold it as it is."""
        return bool(self.encryption_key) or self.seal

    def label(self, name: str) -> str:
        """A setting with who says it, for messages."""
        if name in self.changed:
            return f"{name} of {self.origin(name)}"
        if self.rule is not None and name in self.rule.values:
            return f"{name} of {self.origin(name)},"
        return self.origin(name) if name not in _RULES_ONLY else name

    @property
    def by_rule(self) -> str:
        """The rule that holds, for messages; "" where none does."""
        if self.rule is None:
            return ""
        return f"rule {self.rule.name!r}, line {self.rule.line} of {self.source}"

    def origin(self, name: str) -> str:
        """Who says what a setting is, for messages: a rule with its line, or an option."""
        if name in self.changed:
            return "airfreight.options"
        if name == "threshold" and self.encrypted and not (self.rule and name in self.rule.values):
            return self.origin("encryption_key" if self.encryption_key else "seal")
        if self.rule is not None and name in self.rule.values:
            return f"rule {self.rule.name!r}, line {self.rule.lines[name]} of {self.source}"
        return _RULES_ONLY.get(name) or f"[airfreight] {_OPTIONS.get(name, name)}"


#: The settings that a rule may have, in the order in which they are told.
NAMES = (
    "store",
    "threshold",
    "format",
    "compression",
    "encryption_key",
    "seal",
    "retention",
    "max_size",
    "preview_rows",
    "describe",
    "digest",
    "pickle",
    "outage",
    "accept_external",
    "may_change",
)

_by_settings: tuple[Settings, Decision] | None = None


def decide(settings: Settings, found: Found | None) -> Decision:
    """What holds under the rule that was found, or without one."""
    plain = _without_rule(settings)
    if found is None:
        return plain
    said: dict[str, Any] = {name: read(name, text) for name, text in found.values.items()}
    # A rule can forbid what the section allows, not the other way round.
    assert said.get("pickle") in (None, "never")
    if said.get("encryption_key") or said.get("seal", plain.seal):
        # What stays in the row is not encrypted. (A rule with another threshold beside one that
        # asks for it is refused when the policy is read.)
        said["threshold"] = 0
    elif plain.seal:
        said.setdefault("threshold", settings.threshold)
    return replace(plain, rule=found, **said)


def _without_rule(settings: Settings) -> Decision:
    """Made once: the settings of a process are made once, too."""
    global _by_settings  # noqa: PLW0603
    known = _by_settings
    if known is not None and known[0] is settings:
        return known[1]
    made = Decision(
        threshold=0 if settings.seal else settings.threshold,
        format=settings.format,
        compression=settings.compression,
        describe=settings.describe,
        preview_rows=settings.preview_rows,
        pickle=settings.pickle,
        digest=settings.digest,
        max_size=settings.max_object_bytes,
        outage=settings.outage,
        seal=settings.seal,
        source="" if settings.policy is None else settings.policy.source,
    )
    _by_settings = settings, made
    return made


def read(name: str, text: str) -> Any:
    """The value of a setting, of the text that a rule has for it."""
    if name in _NUMBERS:
        return int(text)
    if name in ("accept_external", "seal"):
        return text == "true"
    return tuple(filter(None, text.split(","))) if name == "may_change" else text


def shown(name: str, value: Any) -> str:
    """The value of a setting as it would be written, for people."""
    if name == "may_change":
        return ", ".join(value) or "nothing"
    if name == "retention":
        return duration(value)
    if name == "encryption_key":
        return value or "none"
    if name in ("accept_external", "seal"):
        return "true" if value else "false"
    return str(value)


def duration(seconds: int) -> str:
    """Seconds as a rule has them: in the largest unit that divides them."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s" if seconds else "forever"

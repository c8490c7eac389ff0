"""Values that are pushed in another way than the policy says: what `airfreight.options` makes.

    return airfreight.options(frame, format="arrow", retention="7d")

Airflow looks at what a task returns before its backend gets it: for a list or a dict, and how long
it is, where another task maps over it; for a mapping, and its items, under `multiple_outputs`
(`_push_xcom_if_needed` in airflow/sdk/execution_time/task_runner.py; `_execute_task` and
`_record_task_map_for_downstreams` in airflow/models/taskinstance.py). So the wrapper of a sequence
is one, and that of a mapping is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airfreight import _airflow
from airfreight._imports import loading
from airfreight.errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import ItemsView

    from airfreight.decision import Decision

#: Sequences that Airflow maps no task over.
_TEXTS = (str, bytes, bytearray)
_NAME = "airfreight.options"
#: What a DAG may only make less of, with the words for more and less.
_ONLY_LESS = {"retention": ("longer", "shorten"), "max_size": ("more", "lower")}


class WithOptions:
    """A value, and what is to hold when it is pushed. Immutable.

    Attributes:
        value: the value itself.
        said: what was said, by the names of a rule's settings, in a rule's own spelling.
    """

    __slots__ = ("said", "value")

    def __init__(self, value: Any, said: Mapping[str, str]) -> None:
        self.value = value
        self.said = said

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __contains__(self, one: object) -> bool:
        return one in self.value

    def __eq__(self, other: object) -> Any:
        return self.value == (other.value if isinstance(other, WithOptions) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        said = "".join(f", {name}={text!r}" for name, text in self.said.items())
        return f"{_NAME}({self.value!r}{said})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _wrap, (self.value, dict(self.said))

    def over(self, value: Any) -> Any:
        """The same options for another value."""
        return _wrap(value, self.said)


class _Sequence(WithOptions, Sequence[Any]):
    """That of a list or a tuple, say."""

    __slots__ = ()


class _Mapping(WithOptions, Mapping[Any, Any]):
    """That of a mapping that Airflow maps no task over."""

    __slots__ = ()

    def get(self, key: Any, default: Any = None) -> Any:
        """As the value's own: that of Mapping would have a defaultdict make what is not there."""
        return self.value.get(key, default)

    def items(self) -> ItemsView[Any, Any]:
        """The items; each value with the options, for what `multiple_outputs` pushes of it."""
        return {key: _wrap(value, self.said) for key, value in self.value.items()}.items()


class _Dict(_Mapping):
    """That of a dict."""

    __slots__ = ()


# Airflow takes the length of a sequence or of a dict, and no more is asked of it there.
Sequence.register(_Dict)


def options(
    value: Any,
    *,
    format: str | None = None,  # noqa: A002 (the setting's name)
    compression: str | None = None,
    retention: str | timedelta | None = None,
    threshold: int | str | None = None,
    max_size: int | str | None = None,
    describe: str | None = None,
    digest: str | None = None,
    outage: str | None = None,
    **others: Any,
) -> Any:
    """Has a value that a task returns, or pushes, kept in another way than the settings say.

        return airfreight.options(frame, format="arrow", retention="7d")

    What is kept is the value itself: whoever pulls it gets that. For `.expand(…)`, `len` and
    `multiple_outputs` the wrapper is as its value; the options hold for each output, too. `.value`
    is the value, for tests.

    Args:
        value: what is pushed. It must be the whole of it, and lie in no list or dict. None stays
            None, which Airflow does not push.
        format: of tables: "parquet" or "arrow".
        compression: of tables: "snappy", "zstd", "lz4" or "none".
        retention: how long it is kept: "36h", "7d" or a timedelta of whole seconds. Only a shorter
            time than the policy says.
        threshold: bytes that stay in the row: 65536 or "64KiB".
        max_size: the most bytes that are pushed, as `threshold`. Only fewer than the policy says.
        describe: what the row tells: "full", "schema" or "size".
        digest: "crc32c" or "sha256".
        outage: "fail" or "inline".
        others: none, so far.

    The first three are what a DAG may change unless the rule of the policy that holds for the value
    says otherwise (`may_change`). That is looked at when the value is pushed, and InvalidError then
    names the option and the rule.

    Raises:
        TypeError: an option is not known, or of a wrong type; or the value is another task's.
        InvalidError: an option has a wrong value.
    """
    if _airflow.is_reference(value):
        # Inside the wrapper Airflow would not see it: no value, and no order of the two tasks.
        raise TypeError(
            f"{_NAME} was given what stands for the result of a task, {value!r:.80}: give the "
            f"options inside of that task, return {_NAME}(value, …)"
        )
    asked = {
        "format": format,
        "compression": compression,
        "retention": retention,
        "threshold": threshold,
        "max_size": max_size,
        "describe": describe,
        "digest": digest,
        "outage": outage,
    }
    said = {
        name: _canonical(name, text)
        for name, text in (asked | others).items()
        if text is not None or name in others
    }
    return _wrap(value, said)


def _wrap(value: Any, said: Mapping[str, str]) -> Any:
    if value is None:
        return None
    if isinstance(value, WithOptions):  # What is said last holds.
        value, said = value.value, {**value.said, **said}
    if isinstance(value, Mapping):
        return (_Dict if isinstance(value, (dict, Sequence)) else _Mapping)(value, said)
    is_sequence = isinstance(value, Sequence) and not isinstance(value, _TEXTS)
    return (_Sequence if is_sequence else WithOptions)(value, said)


def _canonical(name: str, value: Any) -> str:
    """A value as a rule of the policy has it."""
    with loading:
        from airfreight import _policy, decision, rules

    if name not in decision.NAMES:
        near = _policy.nearest(name, list(decision.NAMES))
        hint = f"did you mean {near}?" if near else f"there are {', '.join(decision.NAMES)}"
        raise TypeError(f"{_NAME}: {name} is no option; {hint}")
    if type(value) is timedelta and name == "retention":
        seconds = value / timedelta(seconds=1)
        value = f"{int(seconds)}s" if seconds == int(seconds) else str(value)
    if type(value) not in (str, int):
        raise TypeError(
            f"{_NAME}: {name} must be a text or a whole number, not {type(value).__name__}"
        )
    text, problem = rules.setting(name, str(value))
    if text is None:
        raise InvalidError(f"{_NAME}: {problem}")
    return text


def apply(decided: Decision, said: Mapping[str, str]) -> Decision:
    """What holds for a value, with what its task says over what was decided.

    Raises:
        InvalidError: the task may not change it; names the option and the rule.
    """
    with loading:
        from airfreight import decision

    changed = {}
    for name, text in said.items():
        value, before = decision.read(name, text), getattr(decided, name)
        if value == before:
            continue
        if name not in decided.may_change:
            raise InvalidError(_refusal(name, value, decided))
        if name == "threshold" and decided.encrypted:
            raise InvalidError(
                f"{_NAME}: threshold = {value} is refused: {decided.origin('threshold')} asks for "
                "encryption, and what stays in the row is not encrypted"
            )
        # (0 is no limit, of both.)
        if name in _ONLY_LESS and before and (value == 0 or value > before):
            more, less = _ONLY_LESS[name]
            asked = decision.shown(name, value)
            if name == "max_size" and value == 0:
                asked += " (no limit)"
            raise InvalidError(
                f"{_NAME}: {name} = {asked} is {more} than the "
                f"{decision.shown(name, before)} of {decided.origin(name)}; a DAG may only "
                f"{less} it"
            )
        changed[name] = value
    return replace(decided, changed=frozenset(changed), **changed)


def _refusal(name: str, value: Any, decided: Decision) -> str:
    with loading:
        from airfreight import decision, rules

    rule = decided.rule
    if rule is not None:
        line = rule.lines.get("may_change", rule.line)
        who = f"rule {rule.name!r}, line {line} of {decided.source}, lets"
    elif decided.source:
        who = f"no rule of {decided.source} matches this value, which lets"
    else:
        who = "no policy is set, which lets"
    can_be = rules.setting("may_change", name)[0] is not None
    what = decision.shown("may_change", decided.may_change)
    return (
        f"{_NAME}: {name} = {decision.shown(name, value)} is refused: {who} a DAG change {what}"
        f"{' and nothing else' if decided.may_change else ''}. "
        f"Here {name} is {decision.shown(name, getattr(decided, name))}; "
        + (f"a rule with {name} in its may_change allows it" if can_be else "no rule can allow it")
    )

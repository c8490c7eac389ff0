"""Values that are not sealed and had to be: the setting `refuse_unsealed`.

Whoever can write to the row and to the bucket, or to the row alone, can put a value of his own in
the place of a sealed one: sealing keeps him from reading, not from that. A signature does, where
there is one; a value in the row has none.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from airfreight import config, signing
from airfreight._settings_table import BY_NAME
from airfreight.config import settings
from airfreight.decision import decide
from airfreight.errors import ForgedError
from airfreight.exchange import outage, push

if TYPE_CHECKING:
    from airfreight.config import Settings
    from airfreight.decision import Decision
    from airfreight.exchange.address import Address

#: What is made of a value that no codec has registered, which for rules is "json".
_AS_JSON = ("document", "bundle", "airflow.serde")

_VARIABLE = BY_NAME["refuse_unsealed"].environment_name
_on: tuple[str | None, bool] | None = None


def is_refused() -> bool:
    """Whether the setting is on. Most rows are small values: they make no settings final."""
    global _on  # noqa: PLW0603
    text = os.environ.get(_VARIABLE)
    known = _on
    if known is None or known[0] != text:
        said = config.read().get("refuse_unsealed", "False")
        known = _on = text, said.strip().lower() not in ("", *config.FALSE)
    return known[1]


def refuse(fields: dict[str, Any] | None, asked: Address | None) -> None:
    """Raises ForgedError for a row, or a reference, that is not sealed and had to be.

    Where it is not known which row it is, a value in it is let through, as no rule is known then.

    Args:
        fields: of what Airfreight wrote; None for a plain value of Airflow's.
        asked: which row it is, as far as the caller knows.
    """
    if not is_refused():
        return
    current = settings()
    refers = fields is not None and fields["_xcom_backend"] != "inline"
    # (Whether what is said is so, the core finds out: what is not sealed does not open.)
    if refers and fields is not None and ("sealed" in fields or _is_vouched_for(fields, current)):
        return
    if fields is not None and outage.is_sealed(fields):
        return
    decided = _decided(fields if refers else None, fields, asked, current)
    if decided is None or not decided.seal:
        return
    wrong = ForgedError(
        f"the value is not sealed, and {decided.label('seal').rstrip(',')} asks for that: "
        "[airfreight] refuse_unsealed lets no other be read. Either somebody has put it there, or "
        "it was pushed before that was asked for"
    )
    wrong.name_xcom(
        {"dag": asked.dag, "run": asked.run, "task": asked.task, "key": asked.key}
        if asked is not None
        else fields or {}
    )
    raise wrong


def _is_vouched_for(fields: dict[str, Any], current: Settings) -> bool:
    """Whether the core looks at a signature: then a key's owner has written it, unsealed."""
    # (An empty one is none, and may be followed for a while.)
    return bool(fields.get("sig")) and signing.signs(current)


def _decided(
    reference: dict[str, Any] | None,
    fields: dict[str, Any] | None,
    asked: Address | None,
    current: Settings,
) -> Decision | None:
    """What holds for such a value; None where it is not known whose it is."""
    if asked is not None and asked.dag is not None and asked.task is not None:
        dag, task, key = asked.dag, asked.task, asked.key
    elif reference is not None:
        # (What is no text the core refuses.)
        dag, task = str(reference.get("dag", "")), str(reference.get("task", ""))
        key = str(reference["key"]) if "key" in reference else None
    elif current.policy is not None:
        return None
    else:
        dag, task, key = "", "", None
    if push.is_read_by_the_server(key):
        return None
    if current.policy is None:
        return decide(current, None)
    kind = "json" if fields is None else str(fields.get("_xcom_type"))
    kind = "json" if kind in _AS_JSON else kind
    return decide(current, current.policy.find(dag, task, key or "", kind, None))

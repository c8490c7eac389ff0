"""Lifecycle rules of an Azure storage account.

learn.microsoft.com/en-us/azure/storage/blobs/lifecycle-management-policy-structure
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airfreight.admin.lifecycle import Made, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

#: learn.microsoft.com/en-us/azure/storage/blobs/lifecycle-management-overview
MOST = 100
WHERE = "an account of Azure"
ADVICE = "Let more DAGs share a rule: name them so that a pattern as sales_* has them"
#: Prefixes of one rule, of the same page.
_MOST_PREFIXES = 10
_OURS = "airfreight-"


def group(plan: Plan) -> str:
    """What has one list of rules: the account, for all its containers."""
    return f"the account {plan.place.settings.get('account', 'of the connection')}"


def rules(document: Any) -> list[Any]:
    """The rules of a document."""
    # (`az storage account management-policy show` has them within a policy.)
    found: list[Any] = document.get("policy", document).get("rules", [])
    return found


def made(plans: Sequence[Plan], existing: Any) -> Made:
    """For `az storage account management-policy create --policy`."""
    kept = [
        rule
        for rule in (rules(existing) if existing else [])
        if not str(rule.get("name", "")).startswith(_OURS)
    ]
    days: dict[int, list[str]] = {}
    folders: list[str] = []
    old_versions = 0
    for plan in plans:
        container = plan.place.bucket
        for one in plan.expiries:
            days.setdefault(one.days, []).append(f"{container}/{one.prefix}")
        folders += [f"{container}/{folder}" for folder in plan.folders]
        old_versions = plan.old_versions
    found = []
    for number, prefixes in days.items():
        delete = {"delete": {"daysAfterModificationGreaterThan": number}}
        found += _rules(f"expire-{number}d", prefixes, {"baseBlob": delete})
    if old_versions:
        delete = {"delete": {"daysAfterCreationGreaterThan": old_versions}}
        found += _rules("versions", folders, {"version": delete})
    return Made(
        {"rules": kept + found},
        [
            "made by the published schemas, and not tried against Azure itself",
            "Azure drops the blocks of unfinished uploads by itself, a week after the last one",
        ],
    )


def _rules(name: str, prefixes: Sequence[str], actions: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "enabled": True,
            "name": f"{_OURS}{name}-{start // _MOST_PREFIXES + 1}",
            "type": "Lifecycle",
            "definition": {
                "actions": actions,
                "filters": {
                    "blobTypes": ["blockBlob"],
                    "prefixMatch": list(prefixes[start : start + _MOST_PREFIXES]),
                },
            },
        }
        for start in range(0, len(prefixes), _MOST_PREFIXES)
    ]

"""Lifecycle rules of Google Cloud Storage: cloud.google.com/storage/docs/lifecycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airfreight.admin.lifecycle import ENDED, Made, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

#: cloud.google.com/storage/quotas#buckets
MOST = 100
WHERE = "a bucket of Google Cloud Storage"
ADVICE = "Let more DAGs share a rule: name them so that a pattern as sales_* has them"
#: Where the parts of large pushes lie, below the prefix (docs/gcs.md).
_PARTS = "~parts/"


def group(plan: Plan) -> str:
    """What has one list of rules."""
    return f"gs://{plan.place.bucket}"


def rules(document: Any) -> list[Any]:
    """The rules of a document."""
    # (`gcloud storage buckets describe` has them without what is around them here.)
    found: list[Any] = document.get("lifecycle", document).get("rule", [])
    return found


def made(plans: Sequence[Plan], existing: Any) -> Made:
    """For `gcloud storage buckets update --lifecycle-file`."""
    (plan,) = plans
    found = [
        # Each object's customTime is the end of its time, whatever rule or DAG says so.
        _delete(one.prefix, **{"daysSinceCustomTime" if one.tag == ENDED else "age": one.days})
        for one in plan.expiries
    ]
    for folder in plan.folders:
        if plan.abort_after:
            found.append(_delete(folder + _PARTS, age=plan.abort_after))
        if plan.old_versions:
            found.append(_delete(folder, daysSinceNoncurrentTime=plan.old_versions))
    # They have no names by which ours could be told.
    kept = [rule for rule in (rules(existing) if existing else []) if rule not in found]
    return Made(
        {"lifecycle": {"rule": kept + found}},
        [
            "made by the published schemas, and not tried against Google Cloud itself",
            *(["rules of Airfreight's with other days or prefixes stay"] if existing else []),
        ],
    )


def _delete(prefix: str, **condition: Any) -> dict[str, Any]:
    if prefix:
        condition["matchesPrefix"] = [prefix]
    return {"action": {"type": "Delete"}, "condition": condition}

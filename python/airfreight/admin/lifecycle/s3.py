"""Lifecycle rules of S3: docs.aws.amazon.com/AmazonS3/latest/API/API_LifecycleRule.html."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airfreight.admin.lifecycle import TAG, Expiry, Made, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

#: docs.aws.amazon.com/AmazonS3/latest/userguide/object-lifecycle-mgmt.html
MOST = 1000
WHERE = "a bucket of S3"
ADVICE = (
    "Set s3_retention_tags = True: then there is one rule for each of 13 classes of retention, "
    "whatever the policy has"
)
_OURS = "airfreight-"


def group(plan: Plan) -> str:
    """What has one list of rules."""
    return f"s3://{plan.place.bucket}"


def rules(document: Any) -> list[Any]:
    """The rules of a document."""
    found: list[Any] = document["Rules"]
    return found


def made(plans: Sequence[Plan], existing: Any) -> Made:
    """For `aws s3api put-bucket-lifecycle-configuration --lifecycle-configuration`."""
    (plan,) = plans
    kept = [
        rule
        for rule in (rules(existing) if existing else [])
        if not str(rule.get("ID", "")).startswith(_OURS)
    ]
    found = [_expiry(number, expiry) for number, expiry in enumerate(plan.expiries, 1)]
    for number, folder in enumerate(plan.folders, 1):
        found += _clean_up(number, folder, plan)
    return Made({"Rules": kept + found}, [])


def _filter(prefix: str, tag: str = "") -> dict[str, Any]:
    if not tag:
        return {"Prefix": prefix}
    one = {"Key": TAG, "Value": tag}
    return {"And": {"Prefix": prefix, "Tags": [one]}} if prefix else {"Tag": one}


def _expiry(number: int, expiry: Expiry) -> dict[str, Any]:
    name = f"class-{expiry.tag}" if expiry.tag else f"expire-{number}"
    return {
        "ID": f"{_OURS}{name}-{number}" if expiry.tag else f"{_OURS}{name}",
        "Status": "Enabled",
        "Filter": _filter(expiry.prefix, expiry.tag),
        "Expiration": {"Days": expiry.days},
    }


def _clean_up(number: int, folder: str, plan: Plan) -> list[dict[str, Any]]:
    """What nobody refers to any more; neither action takes a filter by tag."""
    rule: dict[str, Any] = {
        "ID": f"{_OURS}clean-{number}",
        "Status": "Enabled",
        "Filter": _filter(folder),
    }
    actions: dict[str, Any] = {}
    if plan.old_versions:
        actions["NoncurrentVersionExpiration"] = {"NoncurrentDays": plan.old_versions}
        # The marker that is left of an object whose versions are all gone.
        actions["Expiration"] = {"ExpiredObjectDeleteMarker": True}
    if plan.abort_after:
        actions["AbortIncompleteMultipartUpload"] = {"DaysAfterInitiation": plan.abort_after}
    return [rule | actions] if actions else []

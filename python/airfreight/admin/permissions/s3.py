"""Permissions of Amazon S3, as an IAM policy, which MinIO and others take too.

Actions and resources: docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html
and …/list_awskeymanagementservice.html.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from airfreight.admin import permissions as p
from airfreight.admin.places import endpoint_is_own, wrapping_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from airfreight.admin.places import Place

#: On objects. Parts are uploaded, and uploads completed, with s3:PutObject
#: (docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html#mpuAndPermissions).
_ON_OBJECTS = {
    p.READ: ("s3:GetObject",),
    p.WRITE: ("s3:PutObject",),
    p.REMOVE: ("s3:DeleteObject",),
    p.ABORT: ("s3:AbortMultipartUpload",),
    p.REMOVE_VERSIONS: ("s3:GetObjectVersion", "s3:DeleteObjectVersion"),
}
#: On buckets, for what lies below the prefix: these know the condition key s3:prefix. (A listing
#: of uploads does not, and shows the names of all that are under way in the bucket.)
_BELOW_PREFIX = {p.LIST: ("s3:ListBucket",), p.VERSIONS: ("s3:ListBucketVersions",)}
_ON_BUCKETS = {
    p.UPLOADS: ("s3:ListBucketMultipartUploads",),
    p.ASK: ("s3:GetBucketVersioning", "s3:GetLifecycleConfiguration"),
}
#: What AWS can be asked beside; MinIO refuses a policy that names them.
_ON_AWS = {p.ASK: ("s3:GetBucketLogging", "s3:GetBucketPublicAccessBlock")}
#: A managed policy has so many characters at most, blanks not counted
#: (docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html).
_MAX_CHARACTERS = 6144
_KMS_READ = ("kms:Decrypt",)
#: A push in parts decrypts too.
_KMS_WRITE = ("kms:Decrypt", "kms:GenerateDataKey")
_KMS = ("aws:kms", "aws:kms:dsse")


def made(places: Sequence[Place], role: str, mode: str) -> p.Permissions:
    """The policy of a role, of statements that are in the same order each time."""
    notes: list[str] = []
    statements: list[dict[str, Any]] = []
    partition = _partition(places)
    groups: dict[tuple[str, ...], list[Place]] = {}
    for place in places:
        does = p.needs(place, role, mode)
        actions = _of(_ON_OBJECTS, does)
        if p.WRITE in does and place.settings.get("retention_tags", "").lower() == "true":
            actions = sorted((*actions, "s3:PutObjectTagging"))
        groups.setdefault(tuple(actions), []).append(place)
        statements += _on_bucket(place, does, partition)
    objects = [
        {
            "Sid": "Objects" if len(groups) == 1 else f"Objects{number}",
            "Effect": "Allow",
            "Action": list(actions),
            "Resource": _unique(
                f"arn:{partition}:s3:::{place.bucket}/{_literal(place.folder)}*"
                for place in of_these
            ),
        }
        for number, (actions, of_these) in enumerate(groups.items(), 1)
    ]
    statements = _merged(objects + statements)
    statements += _keys(places, role, mode, partition, notes)
    statements += _wrapping(places[0], role, partition)
    text = {"Version": "2012-10-17", "Statement": statements}
    size = len(json.dumps(text, separators=(",", ":")))
    if size > _MAX_CHARACTERS:
        notes.append(
            f"the policy has {size} characters, and a managed policy of IAM at most "
            f"{_MAX_CHARACTERS}: attach its statements as several policies"
        )
    return p.Permissions(text, notes)


def _of(table: Mapping[str, tuple[str, ...]], does: Iterable[str]) -> list[str]:
    return sorted({action for need in does for action in table.get(need, ())})


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _literal(text: str) -> str:
    """A text in which nothing is a pattern or a variable of IAM.

    docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html
    """
    return "".join(f"${{{char}}}" if char in "*?$" else char for char in text)


def _partition(places: Sequence[Place]) -> str:
    """Of AWS, by the region: docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html."""
    region = next((r for place in places if (r := place.settings.get("region"))), "")
    region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    return {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}.get(
        next((start for start in ("cn-", "us-gov-") if region.startswith(start)), ""), "aws"
    )


def _on_bucket(place: Place, does: Sequence[str], partition: str) -> list[dict[str, Any]]:
    arn = f"arn:{partition}:s3:::{place.bucket}"
    found: list[dict[str, Any]] = []
    if below := _of(_BELOW_PREFIX, does):
        statement: dict[str, Any] = {"Sid": "List", "Effect": "Allow"}
        statement |= {"Action": below, "Resource": [arn]}
        if place.folder:
            statement["Condition"] = {"StringLike": {"s3:prefix": [_literal(place.folder) + "*"]}}
        found.append(statement)
    whole = _of(_ON_BUCKETS, does)
    if not endpoint_is_own(place):
        whole = sorted((*whole, *_of(_ON_AWS, does)))
    if whole:
        found.append({"Sid": "Bucket", "Effect": "Allow", "Action": whole, "Resource": [arn]})
    return found


def _merged(statements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the resources of equal statements in one; each with a name of its own."""
    found: list[dict[str, Any]] = []
    for statement in statements:
        for other in found:
            if all(
                other.get(name) == statement.get(name) for name in ("Sid", "Action", "Condition")
            ):
                other["Resource"] = _unique((*other["Resource"], *statement["Resource"]))
                break
        else:
            found.append(statement)
    counts: dict[str, int] = {}
    for statement in found:
        sid = statement["Sid"]
        counts[sid] = counts.get(sid, 0) + 1
        if counts[sid] > 1:
            statement["Sid"] = f"{sid}{counts[sid]}"
    return found


def _keys(
    places: Sequence[Place], role: str, mode: str, partition: str, notes: list[str]
) -> list[dict[str, Any]]:
    """The key that each place and rule encrypts under, and what the role does with it."""
    found: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for place in places:
        does = p.needs(place, role, mode)
        actions: tuple[str, ...] = _KMS_WRITE if p.WRITE in does else _KMS_READ
        keys = list(place.keys)
        if place.settings.get("sse") in _KMS:
            if key := place.settings.get("sse_kms_key_id"):
                keys.append(key)
            elif not endpoint_is_own(place):
                notes.append(
                    f"store {place.name or 'of read_also'}: s3_sse = {place.settings['sse']} "
                    "without a key is the account's own key for S3 (aws/s3), which everybody may "
                    "use who may use the bucket: it needs no permission"
                )
        if keys and endpoint_is_own(place):
            notes.append(
                f"store {place.name or 'of read_also'}: the server at "
                f"{place.settings['endpoint_url']} has its keys from a key service of its own, "
                "whose permissions are not IAM's: none is printed"
            )
            continue
        for key in dict.fromkeys(keys):
            resource, alias = _key(key, place, partition)
            of_key = found.setdefault((actions, alias, _service(place)), [])
            if resource not in of_key:
                of_key.append(resource)
    statements = []
    for number, ((does_with, alias, service), resources) in enumerate(found.items(), 1):
        condition: dict[str, Any] = {"StringLike": {"kms:ViaService": service}}
        if alias:
            condition["ForAnyValue:StringEquals"] = {"kms:ResourceAliases": alias}
        statements.append(
            {
                "Sid": "Keys" if number == 1 else f"Keys{number}",
                "Effect": "Allow",
                "Action": list(does_with),
                "Resource": resources,
                "Condition": condition,
            }
        )
    if found:
        notes.append(
            "objects that were written under another key need kms:Decrypt on that one, too; the "
            "keys' own policies have to let the account use IAM policies"
        )
    return statements


def _wrapping(place: Place, role: str, partition: str) -> list[dict[str, Any]]:
    """The keys of AWS KMS that objects are sealed under: the process itself asks for them."""
    statements = []
    actions = ["kms:Decrypt", "kms:Encrypt"] if role == "worker" else ["kms:Decrypt"]
    for number, key in enumerate(wrapping_keys("aws-kms"), 1):
        resource, alias = _key(key, place, partition)
        statement: dict[str, Any] = {
            "Sid": "Seal" if number == 1 else f"Seal{number}",
            "Effect": "Allow",
            "Action": actions,
            "Resource": [resource],
        }
        if alias:
            statement["Condition"] = {"ForAnyValue:StringEquals": {"kms:ResourceAliases": alias}}
        statements.append(statement)
    return statements


def _service(place: Place) -> str:
    region = place.settings.get("region", "*")
    return f"s3.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")


def _key(key: str, place: Place, partition: str) -> tuple[str, str]:
    """The resource of a key, and its alias where it is named by that.

    An alias is no resource of these actions, and a condition in its place
    (docs.aws.amazon.com/kms/latest/developerguide/alias-authorization.html).
    """
    region = place.settings.get("region", "*")
    if key.startswith("arn:"):
        head, _, name = key.rpartition(":")
        if name.startswith("alias/"):
            return f"{head}:key/*", name
        return key, ""
    if key.startswith("alias/"):
        return f"arn:{partition}:kms:{region}:*:key/*", key
    return f"arn:{partition}:kms:{region}:*:key/{key.removeprefix('key/')}", ""

"""Permissions of Google Cloud Storage: a custom role, and its binding for what lies below a prefix.

The members are those of iam.googleapis.com's `Role` and `Binding`
(cloud.google.com/iam/docs/reference/rest/v1/projects.roles, …/rest/v1/Policy).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airfreight.admin import permissions as p
from airfreight.admin.places import wrapping_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airfreight.admin.places import Place

#: cloud.google.com/storage/docs/access-control/iam-permissions. An object that exists is replaced
#: only by who may delete it; the parts of a large push are composed and deleted.
_PERMISSIONS = {
    p.READ: ("storage.objects.get",),
    p.WRITE: ("storage.objects.create", "storage.objects.delete", "storage.objects.get"),
    p.REMOVE: ("storage.objects.delete",),
    p.LIST: ("storage.objects.list",),
    p.VERSIONS: ("storage.objects.list",),
    p.ASK: ("storage.buckets.get",),
}
_LISTS = (p.LIST, p.VERSIONS)
#: Names that whoever uses it replaces.
_PROJECT = "PROJECT_ID"


def made(places: Sequence[Place], role: str, mode: str) -> p.Permissions:
    """A role, and a binding of it for each bucket."""
    notes = [
        "made by the published schemas, and not tried against Google Cloud itself",
        f"{_PROJECT} and ACCOUNT stand for those of the account that the tasks have",
    ]
    permissions: set[str] = set()
    parts: dict[str, list[str]] = {}
    for place in places:
        does = p.needs(place, role, mode)
        permissions.update(name for need in does for name in _PERMISSIONS.get(need, ()))
        parts.setdefault(place.bucket, []).append(_condition(place, does))
        if place.settings.get("kms_key_name") or place.keys:
            notes.append(
                "keys: the Cloud Storage service agent of the bucket's project needs "
                "roles/cloudkms.cryptoKeyEncrypterDecrypter on them, and the tasks' account nothing"
            )
        if project := place.settings.get("user_project"):
            notes.append(
                "requester pays: the account needs roles/serviceusage.serviceUsageConsumer "
                f"(serviceusage.services.use) in the project {project}"
            )
    notes += [
        f"sealing: the account needs roles/cloudkms.cryptoKeyEncrypterDecrypter on {key} itself"
        for key in wrapping_keys("gcp-kms")
    ]
    name = f"airfreight{role.capitalize()}"
    document: dict[str, Any] = {
        "role": {
            "title": f"Airfreight {role}",
            "description": f"XComs in object storage: what {role} needs ({mode})",
            "stage": "GA",
            "includedPermissions": sorted(permissions),
        },
        "buckets": {
            bucket: {
                "bindings": [
                    {
                        "role": f"projects/{_PROJECT}/roles/{name}",
                        "members": [f"serviceAccount:ACCOUNT@{_PROJECT}.iam.gserviceaccount.com"],
                        "condition": {
                            "title": "Airfreight",
                            "expression": " || ".join(dict.fromkeys(conditions)),
                        },
                    }
                ]
            }
            for bucket, conditions in parts.items()
        },
    }
    return p.Permissions(document, list(dict.fromkeys(notes)))


def _condition(place: Place, does: Sequence[str]) -> str:
    """What the binding holds for, in the Common Expression Language.

    cloud.google.com/iam/docs/conditions-attribute-reference: the name of an object, and the prefix
    of a listing, which is about its bucket.
    """
    names = _text(f"projects/_/buckets/{place.bucket}/objects/{place.folder}")
    found = [f"resource.name.startsWith({names})"]
    if any(need in does for need in _LISTS):
        listed = 'api.getAttribute("storage.googleapis.com/objectListPrefix", "")'
        found.append(f"{listed}.startsWith({_text(place.folder)})")
    if p.ASK in does:
        bucket = _text(f"projects/_/buckets/{place.bucket}")
        found.append(f"resource.name == {bucket}")
    return " || ".join(found)


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

"""Permissions of Azure Blob Storage: a custom role, and conditions of its assignments.

learn.microsoft.com/en-us/azure/role-based-access-control/role-definitions,
learn.microsoft.com/en-us/azure/storage/blobs/storage-auth-abac-attributes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airfreight.admin import permissions as p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airfreight.admin.places import Place

_BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
_READ = f"{_BLOBS}/read"
#: A listing is a read, too; conditions tell them apart.
_ACTIONS = {
    p.READ: (_READ,),
    p.LIST: (_READ,),
    p.VERSIONS: (_READ,),
    p.WRITE: (f"{_BLOBS}/write",),
    p.REMOVE: (f"{_BLOBS}/delete",),
    # What was sent of an upload goes with an empty list of blocks, which is a write.
    p.ABORT: (f"{_BLOBS}/write",),
    p.REMOVE_VERSIONS: (f"{_BLOBS}/deleteBlobVersion/action",),
}
_LISTING = f"ActionMatches{{'{_READ}'}} AND SubOperationMatches{{'Blob.List'}}"
_READING = f"ActionMatches{{'{_READ}'}} AND NOT SubOperationMatches{{'Blob.List'}}"
#: Names that whoever uses it replaces.
_GROUP = "/subscriptions/SUBSCRIPTION_ID/resourceGroups/RESOURCE_GROUP"


def made(places: Sequence[Place], role: str, mode: str) -> p.Permissions:
    """A role definition, and an assignment of it for each container."""
    notes = [
        "made by the published schemas, and not tried against Azure itself",
        "SUBSCRIPTION_ID, RESOURCE_GROUP and ACCOUNT stand for those of the storage account",
    ]
    actions: set[str] = set()
    containers: dict[tuple[str, str], list[tuple[Place, bool]]] = {}
    for place in places:
        does = p.needs(place, role, mode)
        actions.update(action for need in does for action in _ACTIONS.get(need, ()))
        account = place.settings.get("account", "ACCOUNT")
        lists = p.LIST in does
        containers.setdefault((account, place.bucket), []).append((place, lists))
    document: dict[str, Any] = {
        "role": {
            "Name": f"Airfreight {role}",
            "IsCustom": True,
            "Description": f"XComs in object storage: what {role} needs ({mode})",
            "Actions": [],
            "NotActions": [],
            "DataActions": sorted(actions),
            "NotDataActions": [],
            "AssignableScopes": [_GROUP],
        },
        "assignments": [
            {
                "role": f"Airfreight {role}",
                "scope": f"{_GROUP}/providers/Microsoft.Storage/storageAccounts/{account}"
                f"/blobServices/default/containers/{container}",
                "condition": _condition(of_these, sorted(actions)),
                "conditionVersion": "2.0",
            }
            for (account, container), of_these in containers.items()
        ],
    }
    return p.Permissions(document, notes)


def _condition(places: Sequence[tuple[Place, bool]], actions: Sequence[str]) -> str:
    """The prefixes that blobs have to lie below, and whether they may be listed.

    The language: learn.microsoft.com/en-us/azure/role-based-access-control/conditions-format.
    """
    others = [f"!(ActionMatches{{'{name}'}})" for name in actions if name != _READ]
    parts = [" AND ".join([f"!({_READING})", *others])]
    folders = [place.folder for place, _ in places]
    parts += [f"@Resource[{_BLOBS}:path] StringStartsWith {_text(one)}" for one in folders if one]
    listing = [f"!({_LISTING})"]
    listing += [
        f"@Request[{_BLOBS}:prefix] StringStartsWith {_text(place.folder)}"
        for place, lists in places
        if lists and place.folder
    ]
    found = []
    if all(folders):
        found.append(parts)
    if not any(lists and not place.folder for place, lists in places):
        found.append(listing)
    return " AND ".join("(" + " OR ".join(f"({one})" for one in group) + ")" for group in found)


def _text(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"

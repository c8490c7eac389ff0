"""What clouds publish of the documents that `airfreight iam-policy` and `lifecycle` print.

As JSON schemas, with the members that may be there and no other. Google: the discovery documents
of iam.googleapis.com v1 (Role, Binding, Expr) and storage.googleapis.com v1 (Bucket.lifecycle).
Azure: learn.microsoft.com/en-us/azure/role-based-access-control/role-definitions, and
Microsoft.Storage's ManagementPolicySchema
(learn.microsoft.com/en-us/azure/storage/blobs/lifecycle-management-policy-structure).
"""

from __future__ import annotations

from typing import Any

TEXT = {"type": "string", "minLength": 1}
DAYS = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}


def _object(*required: str, **members: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": members,
    }


def _list(of: Any, most: int | None = None) -> dict[str, Any]:
    return {"type": "array", "items": of} | ({} if most is None else {"maxItems": most})


_EXPR = _object("title", "expression", title=TEXT, expression=TEXT, description=TEXT)
_BINDING = _object("role", "members", role=TEXT, members=_list(TEXT), condition=_EXPR)
_STAGES = ["ALPHA", "BETA", "GA", "DEPRECATED", "DISABLED", "EAP"]
_ROLE = _object(
    "title",
    "includedPermissions",
    # "When `Role` is used in `CreateRole`, the role name must not be set."
    title=TEXT | {"maxLength": 100},
    description=TEXT | {"maxLength": 300},
    stage={"enum": _STAGES},
    includedPermissions=_list(TEXT | {"pattern": r"^[a-z]+\.[a-zA-Z]+\.[a-zA-Z]+$"}),
)
GOOGLE_ROLE = _object(
    "role",
    "buckets",
    role=_ROLE,
    buckets={
        "type": "object",
        "additionalProperties": _object("bindings", bindings=_list(_BINDING)),
    },
)

_DATA_ACTION = TEXT | {"pattern": r"^Microsoft\.Storage/storageAccounts/blobServices/"}
AZURE_ROLE = _object(
    "role",
    "assignments",
    role=_object(
        *("Name", "IsCustom", "Description", "Actions", "NotActions", "DataActions"),
        *("NotDataActions", "AssignableScopes"),
        Name=TEXT | {"maxLength": 512},
        IsCustom={"const": True},
        Description=TEXT | {"maxLength": 2048},
        Actions=_list(TEXT),
        NotActions=_list(TEXT),
        DataActions=_list(_DATA_ACTION),
        NotDataActions=_list(TEXT),
        AssignableScopes=_list(TEXT | {"pattern": "^/subscriptions/"}),
    ),
    assignments=_list(
        _object(
            *("role", "scope", "condition", "conditionVersion"),
            role=TEXT,
            scope=TEXT,
            condition={"type": "string"},
            conditionVersion={"const": "2.0"},
        )
    ),
)

_PREFIXES = _list(TEXT)
_CONDITION = _object(
    age=DAYS,
    daysSinceCustomTime=DAYS,
    daysSinceNoncurrentTime=DAYS,
    isLive={"type": "boolean"},
    matchesPrefix=_PREFIXES,
    matchesSuffix=_PREFIXES,
    numNewerVersions=DAYS,
) | {"minProperties": 1}
GOOGLE_LIFECYCLE = _object(
    "lifecycle",
    lifecycle=_object(
        "rule",
        rule=_list(
            _object(
                "action",
                "condition",
                action=_object(
                    "type",
                    type={"enum": ["Delete", "SetStorageClass", "AbortIncompleteMultipartUpload"]},
                ),
                condition=_CONDITION,
            ),
            most=100,
        ),
    ),
)

_AFTER_MODIFICATION = _object(delete=_object(daysAfterModificationGreaterThan=DAYS))
_AFTER_CREATION = _object(delete=_object(daysAfterCreationGreaterThan=DAYS))
AZURE_LIFECYCLE = _object(
    "rules",
    rules=_list(
        _object(
            *("name", "type", "definition"),
            name=TEXT | {"pattern": "^[a-zA-Z0-9-]{1,256}$"},
            enabled={"type": "boolean"},
            type={"const": "Lifecycle"},
            definition=_object(
                *("actions", "filters"),
                actions=_object(
                    baseBlob=_AFTER_MODIFICATION,
                    version=_AFTER_CREATION,
                    snapshot=_AFTER_CREATION,
                )
                | {"minProperties": 1},
                filters=_object(
                    "blobTypes",
                    blobTypes=_list({"enum": ["blockBlob", "appendBlob"]}),
                    prefixMatch=_list(TEXT, most=10),
                ),
            ),
        ),
        most=100,
    ),
)

"""What clouds publish of the documents that `iam-policy` and `lifecycle` print, and of a CronJob.

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

# Kubernetes: the members of io.k8s.api.batch.v1.CronJob and what lies in it, as far as an example
# needs them (kubernetes.io/docs/reference/kubernetes-api/workload-resources/cron-job-v1/).
_NAME = TEXT | {"pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
_RESOURCES = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "cpu": {"type": "string", "pattern": r"^\d+m?$"},
        "memory": {"type": "string", "pattern": r"^\d+(Ki|Mi|Gi)$"},
    },
}
_KEY_OF = _object("secretKeyRef", secretKeyRef=_object("name", "key", name=_NAME, key=TEXT))
_CONTAINER = _object(
    *("name", "image", "command"),
    name=_NAME,
    image=TEXT,
    command=_list(TEXT),
    args=_list(TEXT),
    env=_list(
        _object("name", name=TEXT, value={"type": "string"}, valueFrom=_KEY_OF)
        | {"oneOf": [{"required": ["value"]}, {"required": ["valueFrom"]}]}
    ),
    resources=_object(requests=_RESOURCES, limits=_RESOURCES),
    volumeMounts=_list(
        _object("name", "mountPath", name=_NAME, mountPath=TEXT | {"pattern": "^/"})
    ),
)
_POD = _object(
    *("containers", "restartPolicy"),
    serviceAccountName=_NAME,
    # (Of a Job: "Only a RestartPolicy equal to Never or OnFailure is allowed".)
    restartPolicy={"enum": ["Never", "OnFailure"]},
    containers=_list(_CONTAINER) | {"minItems": 1},
    volumes=_list(
        _object(
            *("name", "emptyDir"),
            name=_NAME,
            emptyDir=_object(sizeLimit={"type": "string", "pattern": r"^\d+(Ki|Mi|Gi)$"}),
        )
    ),
)
_JOB = _object(
    "template",
    backoffLimit={"type": "integer", "minimum": 0},
    template=_object("spec", spec=_POD),
)
CRONJOB = _object(
    *("apiVersion", "kind", "metadata", "spec"),
    apiVersion={"const": "batch/v1"},
    kind={"const": "CronJob"},
    metadata=_object("name", name=_NAME | {"maxLength": 52}),
    spec=_object(
        *("schedule", "jobTemplate"),
        schedule=TEXT | {"pattern": r"^\S+( \S+){4}$"},
        concurrencyPolicy={"enum": ["Allow", "Forbid", "Replace"]},
        jobTemplate=_object("spec", spec=_JOB),
    ),
)

"""Least privilege, from the actual settings: `airfreight iam-policy`.

What each role may do is said once, in terms of Airfreight (`NEEDS`); the modules beside this one
say it in those of each cloud.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airfreight.admin.places import Place

#: What is done with objects and buckets.
READ, WRITE, REMOVE, ABORT = "read", "write", "remove", "abort"
LIST, UPLOADS, VERSIONS, REMOVE_VERSIONS = "list", "uploads", "versions", "remove versions"
#: Questions about the bucket itself, for `airfreight doctor`.
ASK = "ask"

#: What each role does. "worker" is whatever runs tasks, and reads XComs for others (scheduler,
#: triggerer).
NEEDS = {
    "worker": (READ, WRITE, REMOVE, ABORT),
    # It reads what values refer to, and knows whose an object is by its metadata.
    "sweep": (READ, REMOVE, LIST, UPLOADS, ABORT),
    "erase": (READ, REMOVE, LIST, UPLOADS, ABORT, VERSIONS, REMOVE_VERSIONS),
    "doctor": (READ, WRITE, REMOVE, LIST, ASK),
}
ROLES = tuple(NEEDS)
#: strict: only what is needed. diagnosable: a worker may list below the prefix too, so that the
#: store tells it a missing object from a forbidden one.
MODES = ("strict", "diagnosable")


class Permissions(NamedTuple):
    """What is printed.

    Attributes:
        document: JSON.
        notes: for whoever reads it.
    """

    document: dict[str, Any]
    notes: list[str]


def needs(place: Place, role: str, mode: str) -> tuple[str, ...]:
    """What a role does with a place."""
    does = NEEDS[role]
    if role in ("worker", "doctor") and not place.written:
        # (What lies there still is for the sweep to remove.)
        does = tuple(need for need in does if need not in (WRITE, REMOVE, ABORT))
    if mode == "diagnosable" and LIST not in does:
        does = (*does, LIST)
    return does


def document(places: Sequence[Place], role: str, mode: str) -> Permissions:
    """What `role` may do with `places`, which are of one cloud."""
    from airfreight.admin.permissions import azure, google, s3

    made = {"s3": s3.made, "gs": google.made, "az": azure.made}[places[0].kind]
    return made(places, role, mode)

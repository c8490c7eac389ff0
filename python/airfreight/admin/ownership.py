"""Whose objects are whose, for the commands that remove some.

An object says whose it is: `af-owner` of its metadata holds the `deployment_id` of the deployment
that wrote it, and nothing where there was none. That is enough for a task, which only ever removes
what its own rows refer to. A command that looks for objects without a row has only the store to
go by, and a database that may be a copy of another one; so a store holds claims:

    <prefix>/~claims/<deployment_id>.json     who may remove what bears this id
    <prefix>/~claims/~.json                   who may remove what bears none

A claim names the database (or, without access to one, the API server) from which commands may
remove. `airfreight claim` writes it, once; nothing that removes does so by itself, since a copy of
a deployment may be the first to run it. No coordinate gives a key that begins with `~`.
"""

from __future__ import annotations

import getpass
import json
import platform
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airfreight.errors import DeniedError, InvalidError, NewerFormatError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airfreight._core import Administration

#: The folder of claims, under a store's prefix.
CLAIMS = "~claims/"
#: The kind of place that is an API server.
API = "airflow-api"
_VERSION = 1
_OWNER = "af-owner"
#: What every object that Airfreight wrote has in its metadata.
_WRITE = "af-write"


@dataclass(frozen=True)
class Claim:
    """Who may remove what bears an id.

    Attributes:
        id: the deployment's; "" for what bears none.
        places: the identities of databases and API servers, each with its `kind`.
        made: when, in UTC, as ISO 8601.
        by: user and host.
    """

    id: str
    places: tuple[Mapping[str, str], ...]
    made: str
    by: str

    def names(self, place: Mapping[str, str]) -> bool:
        """Whether commands may remove from there."""
        return dict(place) in [dict(one) for one in self.places]

    def encode(self) -> bytes:
        """As it lies in the store."""
        told = {
            "airfreight_claim": _VERSION,
            "deployment_id": self.id,
            "places": [dict(place) for place in self.places],
            "made": self.made,
            "by": self.by,
        }
        return json.dumps(told, indent=2).encode() + b"\n"

    @classmethod
    def decode(cls, text: bytes, key: str) -> Claim:
        """The claim that lies in a store.

        Raises:
            InvalidError: it is none.
            NewerFormatError: a later release wrote it.
        """
        try:
            told = json.loads(text)
            told["deployment_id"].encode()
            version, name, places = (
                told["airfreight_claim"],
                told["deployment_id"],
                [
                    {str(part): str(value) for part, value in place.items()}
                    for place in told["places"]
                ],
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InvalidError(
                f"what lies at {key} is no claim of Airfreight's: find out who wrote it"
            ) from None
        if type(version) is not int or version > _VERSION:
            raise NewerFormatError(f"a later release of Airfreight wrote the claim at {key}")
        # (Of two that name the same id the later in a listing would hold.)
        if claim_key(name) != key:
            raise InvalidError(
                f"the claim at {key} names another deployment_id, {name!r}: it was copied there, "
                "or changed by hand. Remove it, and run `airfreight claim` where its objects belong"
            )
        return cls(name, tuple(places), str(told.get("made", "")), str(told.get("by", "")))


def claim_key(deployment_id: str) -> str:
    """The key of a claim."""
    from airfreight import _core

    return f"{CLAIMS}{_core.encode_part(deployment_id)}.json"


def is_ours(key: str) -> bool:
    """Whether a key may be that of an XCom, and not of a claim or of what a store keeps."""
    return not key.startswith("~")


def read(stores: Administration, store: str, deployment_id: str) -> tuple[Claim, str] | None:
    """A claim and its version; None where there is none."""
    key = claim_key(deployment_id)
    try:
        (_, version, _, _), text = stores.get(store, key)
    except NotFoundError as error:
        if error.code == "NotFound":
            return None
        raise
    return Claim.decode(bytes(text), key), version


def claims(stores: Administration, store: str) -> list[Claim]:
    """All claims of a store."""
    found, token = [], ""
    while True:
        page, token = stores.list(store, CLAIMS, token)
        for key, *_ in page:
            _, text = stores.get(store, key)
            found.append(Claim.decode(bytes(text), key))
        if not token:
            return found


def make(
    stores: Administration,
    store: str,
    deployment_id: str,
    place: Mapping[str, str],
    *,
    take_over: bool = False,
    also: bool = False,
) -> Claim:
    """Writes a claim, or finds that it is there.

    Args:
        stores: as `runtime.administration` gives them.
        store: which of them.
        deployment_id: what is claimed; "" for what bears none.
        place: the identity of the database, or of the API server, with its `kind`.
        take_over: in place of whoever has it: the deployment's database has moved.
        also: beside whoever has it: a second way to the same deployment.

    Raises:
        DeniedError: another has it.
    """
    there = read(stores, store, deployment_id)
    if there is not None and there[0].names(place):
        return there[0]
    if there is not None and not (take_over or also):
        raise DeniedError(_not_ours(stores.root(store), there[0], place))
    others = there[0].places if there is not None and also else ()
    made = Claim(
        deployment_id,
        (*others, dict(place)),
        datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        f"{_user()}@{platform.node()}",
    )
    condition: str | None = "" if there is None else there[1]
    if not stores.abilities(store)["conditional_put"]:
        condition = None
    stores.put(
        store,
        claim_key(deployment_id),
        made.encode(),
        condition=condition,
        content_type="application/json",
    )
    return made


@dataclass(frozen=True)
class Ownership:
    """What a deployment may remove in one store.

    Attributes:
        id: its `deployment_id`; "" where it has none.
        named: it may remove what bears its id.
        unnamed: it may remove what bears none.
        shared: another one has a claim there too, so that what does not say whose it is (an
            unfinished upload, a mark of a removal) may be that one's.
    """

    id: str
    named: bool
    unnamed: bool
    shared: bool

    def mine(self, metadata: Mapping[str, str]) -> bool:
        """Whether an object with this metadata may be removed."""
        if _WRITE not in metadata:
            return False
        owner = metadata.get(_OWNER, "")
        if not owner:
            return self.unnamed
        return self.named and owner == _encoded(self.id)


def whose(metadata: Mapping[str, str]) -> str:
    """Whose an object is, for people."""
    if _WRITE not in metadata:
        return "no write of Airfreight's (it has no af-write)"
    owner = metadata.get(_OWNER, "")
    return f"deployment {owner}" if owner else "a deployment without deployment_id"


def of(
    stores: Administration,
    store: str,
    deployment_id: str,
    place: Mapping[str, str],
    *,
    changing: bool,
) -> Ownership:
    """What the deployment at `place` may remove in a store.

    A deployment with an id may remove what bears none too, where it has that claim.

    Args:
        stores: as `runtime.administration` gives them.
        store: which of them.
        deployment_id: the deployment's; "" where it has none.
        place: the identity of its database, or API server, with its `kind`.
        changing: whether anything is to be removed; a dry run takes what nobody has claimed for
            its own, and says what would be.

    Raises:
        DeniedError: it has no claim, or another has it; the message says what to do.
    """
    held = {claim.id: claim for claim in claims(stores, store)}
    own, rest = held.get(deployment_id), held.get("")
    root = stores.root(store)
    if own is None and changing:
        via = " --via api" if place.get("kind") == API else ""
        raise DeniedError(
            f"nobody has claimed what lies under {root} yet, and the database may be a copy of "
            f"another deployment's: run `airfreight claim{via} --yes` once, in the deployment "
            "whose objects these are (docs/ownership.md)"
        )
    if own is not None and not own.names(place):
        raise DeniedError(_not_ours(root, own, place))
    return Ownership(
        deployment_id,
        named=bool(deployment_id),
        unnamed=not changing if rest is None else rest.names(place),
        shared=not all(claim.names(place) for claim in held.values()),
    )


def of_all(
    stores: Administration, deployment_id: str, place: Mapping[str, str], *, changing: bool
) -> dict[str, Ownership]:
    """As `of`, in each of the stores, by their names. Raises for the first for which it would."""
    return {
        name: of(stores, name, deployment_id, place, changing=changing) for name in stores.names
    }


def _not_ours(root: str, claim: Claim, place: Mapping[str, str]) -> str:
    what = f"deployment_id {claim.id!r}" if claim.id else "no deployment_id"
    other = (
        "and this is its API, run `airfreight claim --via api --also --yes`"
        if place.get("kind") == API
        else "and its database has moved, run `airfreight claim --take-over --yes`"
    )
    return (
        f"what has {what} under {root} belongs to {_shown(claim.places)}, by a claim of "
        f"{claim.made} by {claim.by}; this is {_shown([place])}. If this is a copy of that "
        "deployment, or another one, give it a prefix and a deployment_id of its own. If it is the "
        f"same one {other}"
    )


def _shown(places: Sequence[Mapping[str, str]]) -> str:
    return " or ".join(
        " ".join(f"{part}={value}" for part, value in place.items() if value) for place in places
    )


def _encoded(deployment_id: str) -> str:
    from airfreight import _core

    made: str = _core.encode_part(deployment_id)
    return made


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # A container whose user has no name.
        return "unknown"


def identity(connection: Any) -> dict[str, str]:
    """What tells a database from a copy of it.

    Args:
        connection: SQLAlchemy's, open.

    Returns:
        Where it is, and, as far as the server tells, which server it is: a restored dump is on
        another one, under the same name or not.
    """
    url = connection.engine.url
    told = {
        "kind": connection.dialect.name,
        "host": url.host or "",
        "port": str(url.port or ""),
        "database": url.database or "",
        "server": "",
    }
    if told["kind"] == "sqlite":
        told["host"] = platform.node()
        return told
    # (MariaDB is mostly spoken to as MySQL, and does not know its variable.)
    maria = getattr(connection.dialect, "is_mariadb", False)
    question = _SERVER.get("mariadb" if maria else told["kind"])
    if question is not None:
        told["server"] = _ask(connection, question)
    return told


#: Which server it is: a number that is made when its data directory is
#: (www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-CONTROLDATA;
#: dev.mysql.com/doc/refman/8.0/en/replication-options.html#sysvar_server_uuid;
#: mariadb.com/docs/server/server-management/variables-and-modes/server-system-variables).
_SERVER = {
    "postgresql": "SELECT system_identifier FROM pg_control_system()",
    "mysql": "SELECT @@server_uuid",
    "mariadb": "SELECT @@server_uid",
}


def _ask(connection: Any, question: str) -> str:
    import sqlalchemy as sa

    try:
        with connection.begin_nested():
            return str(connection.execute(sa.text(question)).scalar() or "")
    except sa.exc.SQLAlchemyError:  # An older server, or one that does not tell everybody.
        return ""

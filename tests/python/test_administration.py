"""`_core.Administration` on an S3 server that keeps versions, and what says whose objects are."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.servers.versitygw import VersityGW

from airfreight import _core, errors
from airfreight.admin import ownership

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airfreight._core import Administration

HERE = {"kind": "postgresql", "host": "db.prod", "port": "5432", "database": "airflow"}
COPY = HERE | {"host": "db.staging"}


class _Versioned(VersityGW):
    versioned = True


@pytest.fixture(scope="module")
def server() -> Iterator[VersityGW]:
    with _Versioned() as running:
        yield running


@pytest.fixture
def stores(server: VersityGW, request: pytest.FixtureRequest) -> Administration:
    """A place of the test's own, twice: under S3's versions, and as memory."""
    name = re.sub(r"\W", "-", request.node.name)
    settings = {
        "endpoint_url": server.endpoint,
        "access_key_id": server.access_key,
        "secret_access_key": server.secret_key,
        "region": server.region,
    }
    return _core.Administration(
        [
            ("s3", f"s3://{server.bucket}/{name}", settings),
            ("memory", f"memory://{name}/xcom", {}),
        ],
        timeout=10,
    )


def stamped(owner: str = "") -> dict[str, str]:
    stamp = {"af-write": "0" * 32}
    return stamp | ({"af-owner": _core.encode_part(owner)} if owner else {})


def test_every_version_and_mark_is_listed_and_removed_one_by_one(stores: Administration) -> None:
    assert stores.abilities("s3")["versions"]
    for body in (b"first", b"second, longer"):
        stores.put("s3", "dag/run/k", body, metadata=stamped())
    stores.remove("s3", "dag/run/k")
    stores.put("s3", "other/k", b"x")
    versions, token = stores.list_versions("s3", "dag/")
    assert token == ""
    told = [(key, size, latest, removal) for key, size, _, _, _, latest, removal in versions]
    assert sorted(told, key=lambda one: one[1]) == [
        ("dag/run/k", 0, True, True),
        ("dag/run/k", 5, False, False),
        ("dag/run/k", 14, False, False),
    ]
    by_size = {version[1]: version[4] for version in versions}
    assert stores.head_version("s3", "dag/run/k", by_size[5])[2] == stamped()
    with pytest.raises(errors.NotFoundError):
        stores.head_version("s3", "dag/run/k", by_size[0])
    # Page by page the same.
    paged, token = [], ""
    while True:
        page, token = stores.list_versions("s3", "dag/", token, 1)
        paged += page
        if not token:
            break
    assert sorted(one[4] for one in paged) == sorted(by_size.values())
    # Without its mark the last version is there again; each goes alone.
    stores.remove_version("s3", "dag/run/k", by_size[0])
    assert bytes(stores.get("s3", "dag/run/k")[1]) == b"second, longer"
    stores.remove_version("s3", "dag/run/k", by_size[14])
    stores.remove_version("s3", "dag/run/k", by_size[5])
    assert stores.list_versions("s3", "dag/") == ([], "")
    assert [row[0] for row in stores.list("s3", "")[0]] == ["other/k"]


def test_stores_are_found_by_name_and_errors_are_airfreights(stores: Administration) -> None:
    assert stores.names == ["s3", "memory"]
    assert stores.root("memory").startswith("memory://")
    with pytest.raises(errors.InvalidError, match="no store is named 'other'"):
        stores.head("other", "k")
    with pytest.raises(errors.NotFoundError):
        stores.head("memory", "k")
    stores.put("memory", "k", b"x", condition="")
    with pytest.raises(errors.Error):
        stores.put("memory", "k", b"x", condition="")
    with pytest.raises(errors.InvalidError):
        _core.Administration([("a", "nonsense://", {})])


def test_keys_say_which_xcom_they_are_of() -> None:
    fields: dict[str, Any] = {
        "dag": "d/1", "run": "r", "task": "t", "key": "k", "map_index": 3, "ti_id": None,
        "write_id": None, "put_name": None,
    }  # fmt: skip
    key = _core.Coordinate(**fields).object_key("json")
    assert key.startswith(_core.encode_part("d/1") + "/")
    assert _core.parse_key(key) == fields | {"extension": "json"}
    long = _core.Coordinate("d" * 300, "r", "t", "k").object_key("json")
    assert long.startswith(_core.encode_part("d" * 300) + "/")
    assert _core.parse_key(long) is None
    with pytest.raises(errors.InvalidError):
        _core.parse_key("~claims/~.json")


@pytest.mark.parametrize("store", ["s3", "memory"])
def test_only_the_claimed_database_may_remove(stores: Administration, store: str) -> None:
    with pytest.raises(errors.DeniedError, match="airfreight claim --yes"):
        ownership.of(stores, store, "prod", HERE, changing=True)
    # A dry run shows what would be.
    assert ownership.of(stores, store, "prod", COPY, changing=False).mine(stamped("prod"))
    ownership.make(stores, store, "prod", HERE)
    ownership.make(stores, store, "prod", HERE)
    right = ownership.of(stores, store, "prod", HERE, changing=True)
    assert right.mine(stamped("prod"))
    assert not right.mine(stamped("staging"))
    assert not right.mine(stamped())  # Nobody has claimed what bears no id.
    assert not right.mine({"af-owner": "prod"})  # Not ours at all.
    assert not right.shared
    for changing in (True, False):
        with pytest.raises(errors.DeniedError, match=r"host=db\.prod.*host=db\.staging"):
            ownership.of(stores, store, "prod", COPY, changing=changing)
    with pytest.raises(errors.DeniedError):
        ownership.make(stores, store, "prod", COPY)
    # A copy with an id of its own has its own claim, and nothing of the first.
    ownership.make(stores, store, "staging", COPY)
    other = ownership.of(stores, store, "staging", COPY, changing=True)
    assert other.shared
    assert other.mine(stamped("staging"))
    assert not other.mine(stamped("prod"))
    assert not other.mine(stamped())
    assert {claim.id for claim in ownership.claims(stores, store)} == {"prod", "staging"}


def test_a_claim_moves_and_grows_when_it_is_told_to(stores: Administration) -> None:
    ownership.make(stores, "memory", "", HERE)
    assert ownership.of(stores, "memory", "", HERE, changing=True).mine(stamped())
    ownership.make(stores, "memory", "", COPY, also=True)
    for place in (HERE, COPY):
        assert ownership.of(stores, "memory", "", place, changing=True).unnamed
    ownership.make(stores, "memory", "", COPY | {"port": "1"}, take_over=True)
    with pytest.raises(errors.DeniedError):
        ownership.of(stores, "memory", "", HERE, changing=True)


def test_a_claim_that_is_none_stops_everything(stores: Administration) -> None:
    key = ownership.claim_key("prod")
    for text, kind in (
        (b"", errors.InvalidError),
        (b"[]", errors.InvalidError),
        (ownership.Claim("", (HERE,), "", "").encode(), errors.InvalidError),
        (b'{"airfreight_claim": 1, "deployment_id": "prod", "places": [1]}', errors.InvalidError),
        (
            b'{"airfreight_claim": 2, "deployment_id": "prod", "places": []}',
            errors.NewerFormatError,
        ),
    ):
        stores.put("memory", key, text)
        with pytest.raises(kind):
            ownership.of(stores, "memory", "prod", HERE, changing=True)
    claim = ownership.Claim("prod", (HERE,), "2026-01-01T00:00:00Z", "me@here")
    stores.put("memory", key, claim.encode())
    found = ownership.read(stores, "memory", "prod")
    assert found is not None
    assert dataclasses.asdict(found[0]) == dataclasses.asdict(claim)

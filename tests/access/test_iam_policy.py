"""What `airfreight iam-policy` prints, taken and enforced by servers that know who may do what.

MinIO and moto. Needs the wheel, and no Airflow: `./dev test access`. The conformance suite with a
worker's keys: `tests.access.worker`.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.access.worker import printed
from tests.servers.minio import MinIO
from tests.servers.moto_server import MotoServer

from airfreight import DeniedError, Error
from airfreight._core import Administration, Coordinate, Freight
from airfreight.admin import ownership

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STORE = "s3://bucket/xcom"
KEY = "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
# Goes in parts: more than one part has, and a rest.
LARGE = os.urandom(1 << 20) * 21


@pytest.fixture(scope="module")
def minio() -> Iterator[MinIO]:
    with MinIO(bucket="bucket") as running:
        yield running


@pytest.fixture(scope="module")
def moto() -> Iterator[MotoServer]:
    with MotoServer(bucket="bucket") as running:
        yield running


class Actors:
    """Freights of whoever may do what the command prints, on one of the servers."""

    def __init__(self, server: MinIO | MotoServer) -> None:
        self.server = server
        self._names = 0

    def keys(self, policy: dict[str, Any]) -> Mapping[str, str]:
        if isinstance(self.server, MinIO):
            return self.server.assume(policy)
        # (Of all tests: the server knows them for as long as it runs.)
        name = f"user-{os.urandom(6).hex()}"
        user = self.server.user_with(policy, name)
        return {"AWS_ACCESS_KEY_ID": user.access_key, "AWS_SECRET_ACCESS_KEY": user.secret_key}

    def settings(
        self, *arguments: str, settings: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """What a store is opened with by whoever may do what is printed."""
        policy = printed(
            "iam-policy",
            *arguments,
            store=STORE,
            s3_endpoint_url=self.server.endpoint,
            **{f"s3_{name}": text for name, text in (settings or {}).items()},
        )
        keys = self.keys(policy)
        token = keys.get("AWS_SESSION_TOKEN")
        return {
            "endpoint_url": self.server.endpoint,
            "region": "us-east-1",
            "access_key_id": keys["AWS_ACCESS_KEY_ID"],
            "secret_access_key": keys["AWS_SECRET_ACCESS_KEY"],
            **({"session_token": token} if token else {}),
            **(settings or {}),
        }

    def freight(
        self, *arguments: str, place: str = STORE, settings: Mapping[str, str] | None = None
    ) -> Freight:
        return Freight([("default", place, self.settings(*arguments, settings=settings))])


@pytest.fixture(params=["minio", "moto"])
def actors(request: pytest.FixtureRequest) -> Actors:
    return Actors(request.getfixturevalue(request.param))


@pytest.fixture
def here(request: pytest.FixtureRequest) -> Coordinate:
    return Coordinate("dag", "run", request.node.name[:60], "return_value")


def put(freight: Freight, here: Coordinate, body: bytes = b"value", retention: int = 0) -> str:
    decision = ("default", "crc32c", 0, "", "", "", retention, False) if retention else None
    return freight.put(here, [body], type="builtins.bytes", extension="bin", decision=decision)


@pytest.mark.parametrize("role", ["worker", "sweep", "erase", "doctor"])
@pytest.mark.parametrize("mode", ["strict", "diagnosable"])
def test_every_policy_is_taken_by_servers(
    minio: MinIO, moto: MotoServer, role: str, mode: str
) -> None:
    asked = ("iam-policy", "--role", role, "--mode", mode)
    own = printed(*asked, store=STORE, s3_endpoint_url=minio.endpoint, s3_retention_tags="True")
    minio.assume(own)
    # With what MinIO has no words for: the key service, and questions that only AWS answers.
    aws = printed(*asked, store=STORE, s3_sse="aws:kms", s3_sse_kms_key_id=KEY)
    assert "kms:Decrypt" in json.dumps(aws)
    moto.user_with(aws, f"{role}-{mode}")


def test_a_worker_pushes_pulls_reruns_and_purges(actors: Actors, here: Coordinate) -> None:
    assert bytes(actors.freight().get(put(actors.freight(), here))) == b"value"
    # Another process: it looks at what lies there, and replaces it.
    again = actors.freight()
    reference = put(again, here, b"another")
    assert bytes(again.get(reference)) == b"another"
    assert again.purge(reference)


def test_a_worker_pushes_in_parts_and_takes_them_back(actors: Actors, here: Coordinate) -> None:
    freight = actors.freight()
    writer = freight.open(here, type="builtins.bytes", extension="bin")
    writer.write(LARGE)
    reference = writer.finish()
    assert bytes(freight.get(reference)) == LARGE
    assert freight.purge(reference)
    writer = freight.open(here, type="builtins.bytes", extension="bin")
    writer.write(LARGE)
    writer.abandon()
    answer = actors.server.client.request("GET", "/bucket", query={"uploads": ""})
    assert answer.status == 200
    assert b"<Upload>" not in answer.body


def test_nobody_gets_out_of_the_prefix(actors: Actors, here: Coordinate) -> None:
    for role in ("worker", "sweep", "erase", "doctor"):
        for place in ("s3://bucket/xcom2", "s3://bucket/other"):
            with pytest.raises(DeniedError):
                put(actors.freight("--role", role, "--mode", "diagnosable", place=place), here)


def test_only_a_diagnosable_worker_lists_and_only_below_the_prefix(
    minio: MinIO, here: Coordinate
) -> None:
    # (moto does not look at conditions.)
    actors = Actors(minio)
    put(actors.freight(), here)
    with pytest.raises(DeniedError) as denied:
        actors.freight().list()
    assert "s3:ListBucket" in str(denied.value)
    assert [key for key, _ in actors.freight("--mode", "diagnosable").list()]
    with pytest.raises(DeniedError):
        actors.freight("--mode", "diagnosable", place="s3://bucket/other").list()


def test_a_sweep_lists_reads_and_removes_but_never_writes(actors: Actors, here: Coordinate) -> None:
    reference = put(actors.freight(), here)
    sweep = actors.freight("--role", "sweep")
    assert [key for key, _ in sweep.list()]
    assert bytes(sweep.get(reference)) == b"value"
    with pytest.raises(DeniedError):
        put(sweep, Coordinate("dag", "run", "other", "return_value"))
    assert sweep.purge(reference)


def test_the_role_of_erase_sees_and_ends_versions_and_a_worker_does_not(
    minio: MinIO, here: Coordinate
) -> None:
    actors = Actors(minio)
    put(actors.freight(), here)

    def stores(*arguments: str) -> Administration:
        return Administration([("default", STORE, actors.settings(*arguments))])

    key = here.object_key("bin")
    with pytest.raises(DeniedError, match="s3:ListBucketVersions"):
        stores().list_versions("default", key)
    erase = stores("--role", "erase")
    rows, _ = erase.list_versions("default", key)
    assert len(rows) == 1
    assert erase.head_version("default", key, rows[0][4])[2]["af-write"]
    # Whose it is: an administrator has claimed it, and whoever erases reads that.
    place = {"kind": "sqlite", "path": str(here)}
    with pytest.raises(DeniedError, match="airfreight claim"):
        ownership.of(erase, "default", "", place, changing=True)
    ownership.make(stores("--mode", "diagnosable"), "default", "", place)
    assert ownership.of(erase, "default", "", place, changing=True).unnamed
    erase.remove_version("default", key, rows[0][4])
    assert erase.list_versions("default", key) == ([], "")
    # (MinIO lists the uploads of one exact key only.)
    path = f"/bucket/xcom/{key}"
    asked = actors.server.client.request("POST", path, query={"uploads": ""})
    assert asked.status == 200
    ((_, upload, _),), _ = erase.list_uploads("default", key)
    erase.abort_upload("default", key, upload)
    assert erase.list_uploads("default", key) == ([], "")
    with pytest.raises(DeniedError):
        put(actors.freight("--role", "erase"), Coordinate("dag", "run", "new", "return_value"))


def test_tags_of_retention_need_what_is_printed_for_them(minio: MinIO, here: Coordinate) -> None:
    actors = Actors(minio)
    tags = {"retention_tags": "true"}
    put(actors.freight(settings=tags), here, retention=86400)
    policy = printed("iam-policy", store=STORE)
    assert "s3:PutObjectTagging" not in json.dumps(policy)


@pytest.mark.parametrize(
    ("action", "missing"),
    [("s3:PutObject", "put"), ("s3:DeleteObject", "purge"), ("s3:GetObject", "get")],
)
def test_without_a_permission_the_error_names_the_action_and_the_object(
    actors: Actors, here: Coordinate, action: str, missing: str
) -> None:
    reference = put(actors.freight(), here)
    policy = printed("iam-policy", store=STORE)
    (statement,) = policy["Statement"]
    statement["Action"] = [one for one in statement["Action"] if one != action]
    keys = actors.keys(policy)
    settings = {
        "endpoint_url": actors.server.endpoint,
        "region": "us-east-1",
        "access_key_id": keys["AWS_ACCESS_KEY_ID"],
        "secret_access_key": keys["AWS_SECRET_ACCESS_KEY"],
    }
    if token := keys.get("AWS_SESSION_TOKEN"):
        settings["session_token"] = token
    freight = Freight([("default", STORE, settings)])
    new = Coordinate("dag", "run", "new", "return_value")
    does = {
        "put": lambda: put(freight, new),
        "purge": lambda: freight.purge(reference),
        "get": lambda: freight.get(reference),
    }
    with pytest.raises(Error, match="403") as raised:
        does[missing]()
    said = str(raised.value)
    assert action in said
    assert f"{STORE}/dag/run/" in said
    for secret in list(settings.values())[3:]:
        assert secret not in said

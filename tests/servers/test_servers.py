"""What the other tests rely on: the servers check signatures and honour conditions."""

from __future__ import annotations

import dataclasses
import ssl
from typing import TYPE_CHECKING

import pytest

from tests.servers.minio import MinIO
from tests.servers.versitygw import VersityGW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.s3_server import S3Server

pytestmark = pytest.mark.s3


@pytest.fixture(scope="module", params=[VersityGW, MinIO], ids=lambda kind: kind.PROGRAM)
def server(request: pytest.FixtureRequest) -> Iterator[S3Server]:
    with request.param(bucket="facts", tls=request.param is MinIO) as running:
        yield running


def test_a_wrong_secret_is_refused(server: S3Server) -> None:
    wrong = dataclasses.replace(server.client, secret_key="wrong")
    answer = wrong.request("GET", "/facts/k")
    assert answer.status == 403
    assert b"SignatureDoesNotMatch" in answer.body


def test_conditions_of_writes_are_honoured(server: S3Server) -> None:
    put = server.client.request
    first = put("PUT", "/facts/c", body=b"1", headers={"If-None-Match": "*"})
    assert first.status == 200
    assert put("PUT", "/facts/c", body=b"2", headers={"If-None-Match": "*"}).status == 412
    assert put("PUT", "/facts/c", body=b"2", headers={"If-Match": '"0"'}).status == 412
    etag = first.headers["etag"]
    assert put("PUT", "/facts/c", body=b"2", headers={"If-Match": etag}).status == 200


def test_metadata_comes_back(server: S3Server) -> None:
    server.client.request("PUT", "/facts/m", body=b"1", headers={"x-amz-meta-write": "7f"})
    assert server.client.request("HEAD", "/facts/m").headers["x-amz-meta-write"] == "7f"


@pytest.mark.parametrize("kind", [VersityGW, MinIO], ids=lambda kind: kind.PROGRAM)
def test_a_missing_binary_says_how_to_get_it(
    kind: type[S3Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kind.VARIABLE, "/nowhere/server")
    with pytest.raises(FileNotFoundError, match=kind.VARIABLE):
        kind.find_binary()
    monkeypatch.delenv(kind.VARIABLE)
    monkeypatch.setattr(kind, "PROGRAM", "no-such-server")
    with pytest.raises(FileNotFoundError, match=r"\./dev setup.*go install github\.com/"):
        kind.find_binary()


def test_a_client_without_the_ca_does_not_trust_the_server() -> None:
    with MinIO(bucket="facts", tls=True) as running:
        stranger = dataclasses.replace(running.client, ca_file=None)
        with pytest.raises(ssl.SSLCertVerificationError):
            stranger.request("GET", "/")

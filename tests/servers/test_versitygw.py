"""What the other tests rely on: the server checks signatures and honours conditions."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from tests.servers.versitygw import VersityGW, find_binary

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.s3


@pytest.fixture(scope="module")
def server() -> Iterator[VersityGW]:
    with VersityGW(bucket="facts") as running:
        yield running


def test_a_wrong_secret_is_refused(server: VersityGW) -> None:
    wrong = dataclasses.replace(server.client, secret_key="wrong")
    answer = wrong.request("GET", "/facts/k")
    assert answer.status == 403
    assert b"SignatureDoesNotMatch" in answer.body


def test_conditions_of_writes_are_honoured(server: VersityGW) -> None:
    put = server.client.request
    first = put("PUT", "/facts/c", body=b"1", headers={"If-None-Match": "*"})
    assert first.status == 200
    assert put("PUT", "/facts/c", body=b"2", headers={"If-None-Match": "*"}).status == 412
    assert put("PUT", "/facts/c", body=b"2", headers={"If-Match": '"0"'}).status == 412
    etag = first.headers["etag"]
    assert put("PUT", "/facts/c", body=b"2", headers={"If-Match": etag}).status == 200


def test_metadata_comes_back(server: VersityGW) -> None:
    server.client.request("PUT", "/facts/m", body=b"1", headers={"x-amz-meta-write": "7f"})
    assert server.client.request("HEAD", "/facts/m").headers["x-amz-meta-write"] == "7f"


def test_a_missing_binary_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFREIGHT_VERSITYGW", "/nowhere/versitygw")
    with pytest.raises(FileNotFoundError, match="AIRFREIGHT_VERSITYGW"):
        find_binary()

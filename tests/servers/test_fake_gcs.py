"""What the other tests rely on of fake-gcs-server, and what it does not do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.servers.fake_gcs import Answer, FakeGCS

if TYPE_CHECKING:
    from collections.abc import Iterator

#: CRC-32C of "123456789".
_RIGHT = "4waSgw=="


@pytest.fixture(scope="module")
def server() -> Iterator[FakeGCS]:
    with FakeGCS(bucket="facts") as running:
        yield running


def put(server: FakeGCS, name: str, body: bytes, query: str = "", crc32c: str = "") -> Answer:
    description = {"metadata": {"w": "7f"}, **({"crc32c": crc32c} if crc32c else {})}
    parts = (b"application/json", json.dumps(description).encode()), (b"text/plain", body)
    text = b"".join(b"--B\r\nContent-Type: %s\r\n\r\n%s\r\n" % part for part in parts)
    path = f"/upload/storage/v1/b/facts/o?uploadType=multipart&name={name}{query}"
    return server.request(
        "POST", path, text + b"--B--\r\n", content_type="multipart/related; boundary=B"
    )


def generation(answer: Answer) -> str:
    assert answer.status == 200
    return str(json.loads(answer.body)["generation"])


def compose(server: FakeGCS, name: str, *sources: str, query: str = "") -> Answer:
    body = {"sourceObjects": [{"name": s} for s in sources], "deleteSourceObjects": True}
    path = f"/storage/v1/b/facts/o/{name}/compose?x=1{query}"
    return server.request("POST", path, json.dumps(body).encode())


def test_a_checksum_is_checked(server: FakeGCS) -> None:
    assert put(server, "s", b"123456789", crc32c=_RIGHT).status == 200
    assert put(server, "s", b"123456788", crc32c=_RIGHT).status == 400


def test_the_condition_of_an_upload_is_honoured(server: FakeGCS) -> None:
    first = generation(put(server, "c", b"1", "&ifGenerationMatch=0"))
    assert put(server, "c", b"2", "&ifGenerationMatch=0").status == 412
    assert put(server, "c", b"2", f"&ifGenerationMatch={first}").status == 200
    assert put(server, "c", b"3", f"&ifGenerationMatch={first}").status == 412


def test_bytes_come_with_generation_checksum_and_metadata(server: FakeGCS) -> None:
    written = generation(put(server, "m", b"123456789"))
    answer = server.request("GET", "/facts/m")
    assert answer.body == b"123456789"
    assert answer.headers["x-goog-generation"] == written
    assert f"crc32c={_RIGHT}" in answer.headers["x-goog-hash"]
    assert answer.headers["x-goog-meta-w"] == "7f"


def test_what_it_ignores_is_sent_to_the_scripted_server(server: FakeGCS) -> None:
    # Reads on a condition: the store looks at the generation that comes.
    put(server, "i", b"1")
    condition = {"x-goog-if-generation-match": "1"}
    assert server.request("GET", "/facts/i", headers=condition).status == 200
    # A key that is none, and a project that pays.
    assert put(server, "k", b"1", "&kmsKeyName=none&userProject=none").status == 200


def test_conditional_compose_and_removal(server: FakeGCS) -> None:
    for name in ("p1", "p2", "there"):
        put(server, name, b"1")
    assert compose(server, "there", "p1", "p2", query="&ifGenerationMatch=0").status == 200
    assert server.request("GET", "/facts/there").body == b"11"
    # The sources are still there: the store looks, and takes them away.
    assert server.request("GET", "/facts/p1").status == 200
    path = "/storage/v1/b/facts/o/there?ifGenerationMatch=1"
    assert server.request("DELETE", path).status == 200
    assert server.request("GET", "/facts/there").status == 404


def test_compose_of_what_is_gone(server: FakeGCS) -> None:
    assert compose(server, "whole", "not-there").status == 500


def test_a_missing_program_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FakeGCS.VARIABLE, "/nowhere/server")
    with pytest.raises(FileNotFoundError, match=FakeGCS.VARIABLE):
        FakeGCS.find_binary()

"""What the other tests rely on of Azurite, and what it does not do."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

import pytest

from tests.servers.azurite import Azurite

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOB = {"x-ms-blob-type": "BlockBlob"}


@pytest.fixture(scope="module")
def server() -> Iterator[Azurite]:
    with Azurite(container="facts") as running:
        yield running


def test_a_wrong_key_is_refused(server: Azurite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "key", base64.b64encode(b"wrong").decode())
    answer = server.request("GET", "/facts/k")
    assert answer.status == 403
    assert answer.headers["x-ms-error-code"] == "AuthorizationFailure"


def test_a_checksum_is_checked(server: Azurite) -> None:
    # CRC-64/NVME of "123456789", the lowest byte first.
    right = {**_BLOB, "x-ms-content-crc64": "iJh5CoYUi64="}
    assert server.request("PUT", "/facts/s", headers=right, body=b"123456789").status == 201
    answer = server.request("PUT", "/facts/s", headers=right, body=b"123456788")
    assert answer.status == 400
    assert answer.headers["x-ms-error-code"] == "Crc64Mismatch"


def test_the_older_checksum_is_checked_too(server: Azurite) -> None:
    right = {**_BLOB, "Content-MD5": base64.b64encode(hashlib.md5(b"1").digest()).decode()}
    assert server.request("PUT", "/facts/m", headers=right, body=b"1").status == 201
    answer = server.request("PUT", "/facts/m", headers=right, body=b"2")
    assert answer.status == 400
    assert answer.headers["x-ms-error-code"] == "Md5Mismatch"


def test_an_encryption_scope_that_is_not_there_is_ignored(server: Azurite) -> None:
    # Therefore it is proven on the scripted server (tests/faults) that it is sent.
    headers = {**_BLOB, "x-ms-encryption-scope": "no-such-scope"}
    assert server.request("PUT", "/facts/e", headers=headers, body=b"1").status == 201


def test_blocks_go_with_any_other_commit_of_their_blob(server: Azurite) -> None:
    for block in ("AAAA", "BBBB"):
        answer = server.request("PUT", "/facts/b", {"comp": "block", "blockid": block}, body=b"1")
        assert answer.status == 201
    for block, status in (("AAAA", 201), ("BBBB", 400)):
        document = f"<BlockList><Latest>{block}</Latest></BlockList>".encode()
        answer = server.request("PUT", "/facts/b", {"comp": "blocklist"}, body=document)
        assert answer.status == status


def test_a_missing_program_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(Azurite.VARIABLE, "/nowhere/server")
    with pytest.raises(FileNotFoundError, match=Azurite.VARIABLE):
        Azurite.find_binary()
    monkeypatch.delenv(Azurite.VARIABLE)
    monkeypatch.setattr(Azurite, "PROGRAM", "no-such-server")
    with pytest.raises(FileNotFoundError, match=r"\./dev setup.*npm install azurite@"):
        Azurite.find_binary()

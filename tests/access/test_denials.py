"""What users who may not do everything are told, by a store that knows who may do what.

Needs the wheel, and no Airflow: `./dev test access`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.servers.counting_proxy import CountingProxy
from tests.servers.moto_server import MotoServer, User, find_python

from airfreight import DeniedError, NotFoundOrDeniedError
from airfreight._core import Coordinate, Freight

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Coordinate("dag", "run", "task", "return_value")
# More than one request of each kind would be a retry of what cannot come right.
PUT = ["PUT"]


@pytest.fixture(scope="module")
def server() -> Iterator[MotoServer]:
    with MotoServer(bucket="bucket") as running:
        yield running


@pytest.fixture
def proxy(server: MotoServer) -> Iterator[CountingProxy]:
    with CountingProxy(server.endpoint) as running:
        yield running


class Shop:
    """Freights of several users in one place of the bucket."""

    def __init__(self, server: MotoServer, proxy: CountingProxy, place: str) -> None:
        self.server = server
        self.proxy = proxy
        self._place = place

    def freight(self, user: User) -> Freight:
        settings = {
            "endpoint_url": self.proxy.url,
            "region": "us-east-1",
            "access_key_id": user.access_key,
            "secret_access_key": user.secret_key,
        }
        return Freight([("default", f"s3://bucket/{self._place}", settings)])

    def limited(self, *actions: str) -> Freight:
        name = f"{self._place}-{len(actions)}"
        return self.freight(self.server.user(name, allow=actions))

    def methods(self) -> list[str]:
        return [request.method for request in self.proxy.requests]


@pytest.fixture
def shop(server: MotoServer, proxy: CountingProxy, request: pytest.FixtureRequest) -> Shop:
    return Shop(server, proxy, request.node.name.removeprefix("test_")[:50])


def put(freight: Freight, body: bytes = b"value") -> str:
    return freight.put(HERE, [body], type="builtins.bytes", extension="bin")


def test_who_may_put_and_get_needs_no_other_permission(shop: Shop) -> None:
    freight = shop.limited("s3:PutObject", "s3:GetObject")
    assert bytes(freight.get(put(freight))) == b"value"
    assert shop.methods() == ["PUT", "GET"]


def test_who_may_not_delete_can_push_again(shop: Shop) -> None:
    # (A second process, and to that end a second user.)
    first = shop.limited("s3:PutObject", "s3:GetObject")
    second = shop.limited("s3:PutObject", "s3:GetObject", "s3:AbortMultipartUpload")
    earlier = put(first)
    with pytest.raises(DeniedError):
        second.purge(earlier)  # (Which Airflow is never told: see XComBackend.purge.)
    again = put(second, b"again")
    assert bytes(second.get(again)) == b"again"
    # Nor is another type of the same XCom, whose earlier object then stays behind.
    other = second.put(HERE, [b"[1]"], type="json", extension="json")
    assert bytes(second.get(other)) == b"[1]"


def test_403_to_a_reader_is_missing_or_denied_and_not_tried_again(shop: Shop) -> None:
    reference = put(shop.freight(shop.server.root))
    shop.proxy.clear()
    with pytest.raises(NotFoundOrDeniedError) as caught:
        shop.limited("s3:PutObject").get(reference)
    assert "s3:GetObject" in str(caught.value)
    assert "s3:ListBucket" in str(caught.value)
    assert shop.methods() == ["GET"]


def test_403_to_a_writer_is_denied_and_not_tried_again(shop: Shop) -> None:
    with pytest.raises(DeniedError) as caught:
        put(shop.limited("s3:GetObject"))
    assert "dag 'dag'" in str(caught.value)
    assert shop.methods() == PUT


def test_a_writer_who_may_not_read_is_not_told_that_nothing_is_there(shop: Shop) -> None:
    put(shop.freight(shop.server.root))
    with pytest.raises(DeniedError, match="may not be read"):
        put(shop.limited("s3:PutObject"), b"another")


def test_a_listing_that_is_not_allowed_is_denied(shop: Shop) -> None:
    with pytest.raises(DeniedError):
        shop.limited("s3:GetObject", "s3:PutObject").list()


@pytest.mark.parametrize("part", ["access_key", "secret_key"])
def test_wrong_credentials_fail_at_once_and_are_not_told(shop: Shop, part: str) -> None:
    root = shop.server.root
    keys = {"access_key": root.access_key, "secret_key": root.secret_key}
    user = User(**(keys | {part: "AKIAWRONGWRONGWRONG0"}))
    with pytest.raises(DeniedError) as caught:
        put(shop.freight(user))
    assert user.secret_key not in str(caught.value)
    assert shop.methods() == PUT


def test_a_missing_moto_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFREIGHT_MOTO_PYTHON", "/nowhere/bin/python")
    with pytest.raises(FileNotFoundError, match=r"\./dev setup"):
        find_python()

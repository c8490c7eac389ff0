"""Azure Blob with a server that checks signatures, and a proxy that counts what was asked of it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.python.conftest import Box, stored
from tests.servers.azurite import Azurite
from tests.servers.counting_proxy import CountingProxy

import airfreight
from airfreight import config, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def server() -> Iterator[Azurite]:
    with Azurite(container="box") as running:
        yield running


@pytest.fixture
def proxy(server: Azurite) -> Iterator[CountingProxy]:
    """What counts the requests to it."""
    with CountingProxy(server.endpoint.removesuffix(f"/{server.account}")) as running:
        yield running


@pytest.fixture
def azure(
    box: Box,
    server: Azurite,
    proxy: CountingProxy,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Box:
    """A backend on the server through the proxy; each test has a prefix of its own."""
    for name in ("AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_SAS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_STORAGE_KEY", server.key)
    prefix = request.node.name.replace("[", "/").replace("]", "")[:60]
    box.set(store=f"az://box/{prefix}", az_endpoint_url=f"{proxy.url}/{server.account}")
    return box


def methods(proxy: CountingProxy) -> list[str]:
    return [recorded.method for recorded in proxy.requests]


def test_a_three_row_frame_takes_one_put_and_one_get(azure: Box, proxy: CountingProxy) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3]})
    row = azure.push(frame)
    fields = azure.fields(row)
    assert fields["_xcom_backend"] == "az"
    assert fields["uri"].startswith("az://box/")
    assert methods(proxy) == ["PUT"]
    (put,) = proxy.requests
    assert put.headers["if-none-match"] == "*"
    assert put.headers["x-ms-content-crc64"]
    pd.testing.assert_frame_equal(azure.pull(stored(row)), frame)
    assert methods(proxy) == ["PUT", "GET"]


@pytest.mark.parametrize(
    "value", [b"x", ["y" * 50_000], {1: "z" * 50_000}], ids=lambda v: type(v).__name__
)
def test_every_kind_of_value_takes_one_request_each_way(
    azure: Box, proxy: CountingProxy, value: Any
) -> None:
    assert azure.through(value) == value
    assert methods(proxy) == ["PUT", "GET"]


def test_small_values_take_no_request(azure: Box, proxy: CountingProxy) -> None:
    for value in ({"rows": 3, "path": "x", "ok": True}, [(1, 2)], {1: float("inf")}, None):
        assert azure.through(value) == value
    assert methods(proxy) == []


def test_a_purge_takes_one_delete_that_names_what_it_removes(
    azure: Box, proxy: CountingProxy
) -> None:
    row = azure.push(b"one")
    airfreight.XComBackend.purge(SimpleNamespace(value=row))
    assert azure.objects() == []
    delete = next(one for one in proxy.requests if one.method == "DELETE")
    assert delete.headers["if-match"] == azure.fields(row)["etag"]


def test_a_small_value_after_a_large_one_leaves_nothing(azure: Box) -> None:
    azure.push(b"one")
    azure.push({"small": 1})
    assert azure.objects() == []


def test_a_lost_object_names_the_uri(azure: Box) -> None:
    row = stored(azure.push(b"x"))
    azure.push({"small": 1})
    with pytest.raises(airfreight.NotFoundError) as caught:
        azure.pull(row)
    assert azure.fields(row)["uri"] in str(caught.value)
    assert "'extract'" in str(caught.value)


def test_a_wrong_key_fails_at_once_and_is_not_told(
    azure: Box, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = "d3Jvbmcta2V5LW9mLXRoZS10ZXN0cw=="
    monkeypatch.setenv("AZURE_STORAGE_KEY", wrong)
    azure.set()
    with pytest.raises(airfreight.DeniedError) as caught:
        azure.push(b"x")
    assert wrong not in str(caught.value)
    assert "'extract'" in str(caught.value)
    assert len(methods(proxy)) == 1


@pytest.mark.parametrize("scheme", ["az", "abfs", "abfss", "wasb", "wasbs"])
def test_a_connection_in_each_spelling_reaches_the_server(
    azure: Box,
    server: Azurite,
    proxy: CountingProxy,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_KEY")
    monkeypatch.setenv(
        "AIRFLOW_CONN_MY_AZ",
        json.dumps(
            {
                "conn_type": "wasb",
                "login": server.account,
                "password": server.key,
                "host": f"{proxy.url}/{server.account}",
            }
        ),
    )
    azure.set(store=f"{scheme}://my_az@box/conn/{scheme}", az_endpoint_url=None)
    row = azure.push(b"x")
    assert azure.fields(row)["uri"].startswith(f"az://box/conn/{scheme}/")
    assert "my_az" not in json.dumps(azure.fields(row))
    # Under another name of the same place, and by what an environment says, it is read as well.
    monkeypatch.setenv("AZURE_STORAGE_KEY", server.key)
    azure.set(store=f"az://box/conn/{scheme}", az_endpoint_url=f"{proxy.url}/{server.account}")
    assert azure.pull(stored(row)) == b"x"


@pytest.mark.parametrize("kind", ["connection_string", "sas_token"])
def test_a_connections_string_or_signature_will_do(
    azure: Box, server: Azurite, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_KEY")
    place = f"{proxy.url}/{server.account}"
    secret = {
        "connection_string": server.connection_string.replace(server.endpoint, place),
        "sas_token": server.sas_token(),
    }[kind]
    monkeypatch.setenv(
        "AIRFLOW_CONN_MY_AZ",
        json.dumps({"conn_type": "wasb", "host": place, "extra": {kind: secret}}),
    )
    azure.set(store=f"az://my_az@box/{kind}", az_endpoint_url=None)
    assert azure.through(b"x") == b"x"
    assert methods(proxy) == ["PUT", "GET"]


@pytest.mark.parametrize(
    ("choice", "sent"), [("auto", "x-ms-content-crc64"), ("md5", "content-md5"), ("never", "")]
)
def test_the_checksum_is_the_one_of_the_setting(
    azure: Box, proxy: CountingProxy, choice: str, sent: str
) -> None:
    # The server checks them: tests/servers/test_azurite.py.
    azure.set(az_checksums=choice)
    assert azure.through(b"x" * 50_000) == b"x" * 50_000
    assert methods(proxy) == ["PUT", "GET"]
    names = {"x-ms-content-crc64", "content-md5"} & proxy.requests[0].headers.keys()
    assert names == ({sent} if sent else set())


def test_a_scope_of_the_settings_is_sent(azure: Box, proxy: CountingProxy) -> None:
    azure.set(az_encryption_scope="sales-2026")
    azure.push(b"x")
    assert proxy.requests[0].headers["x-ms-encryption-scope"] == "sales-2026"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"store": "az://Box/x"}, ["store", "container", "small letters"]),
        ({"store": "az://b/x"}, ["store", "3 to 63"]),
        ({"store": "az://-box/x"}, ["store", "container", "single"]),
        ({"store": "az://box-/x"}, ["store", "container", "single"]),
        ({"store": "az://my--box/x"}, ["store", "container", "single"]),
        (
            {"store": "abfss://box@acct.dfs.core.windows.net/x"},
            ["store", "az://box/prefix", "az_account = acct"],
        ),
        ({"az_account": "No.Name"}, ["az_account"]),
        ({"az_encryption_scope": "a scope"}, ["az_encryption_scope"]),
        ({"az_checksums": "md4"}, ["az_checksums", "auto", "never"]),
        ({"az_endpoint_url": "127.0.0.1:10000"}, ["az_endpoint_url", "http"]),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_setting_is_named_before_anything_is_sent(
    azure: Box, proxy: CountingProxy, options: dict[str, str], words: list[str]
) -> None:
    azure.set(**options)
    with pytest.raises(airfreight.ConfigError) as caught:
        azure.push(b"x")
    for word in words:
        assert word in str(caught.value)
    assert methods(proxy) == []
    config.forget()
    runtime.forget()


def test_an_unreachable_store_is_an_error_that_names_it(azure: Box) -> None:
    azure.set(az_endpoint_url="http://127.0.0.1:1/acct", timeout=1, az_connect_timeout=1)
    with pytest.raises(airfreight.UnavailableError) as caught:
        azure.push(b"x")
    assert "az://box/" in str(caught.value)
    assert "'extract'" in str(caught.value)

"""Airflow's `wasb` connections as settings of the core's Azure store."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airfreight.connections import azure, split
from airfreight.errors import ConfigError


def settings(extra: dict[str, Any] | None = None, **fields: Any) -> dict[str, str]:
    connection = SimpleNamespace(login=None, password=None, host=None, port=None)
    connection.__dict__.update(fields)
    return azure.settings_of("my_conn", connection, extra or {}).settings


def test_the_connection_is_split_off_each_spelling() -> None:
    for scheme in ("az", "abfs", "abfss", "wasb", "wasbs"):
        assert split(f"{scheme}://my_conn@box/p") == ("my_conn", f"{scheme}://box/p")


def test_login_and_password_are_account_and_key() -> None:
    assert settings(login="myaccount", password="Zm9v") == {
        "account": "myaccount",
        "account_key": "Zm9v",
    }


@pytest.mark.parametrize(
    "host",
    ["https://myaccount.blob.core.windows.net/", "myaccount.blob.core.windows.net"],
)
def test_the_host_is_the_accounts_url_with_or_without_its_scheme(host: str) -> None:
    assert settings(host=host, password="Zm9v") == {
        "endpoint_url": "https://myaccount.blob.core.windows.net",
        "account_key": "Zm9v",
    }


def test_a_host_without_a_dot_is_no_host() -> None:
    assert settings(host="72f988bf", login="myaccount", password="Zm9v")["account"] == "myaccount"


def test_an_emulators_host_names_its_account() -> None:
    assert settings(
        host="http://127.0.0.1:10000/devstoreaccount1", login="devstoreaccount1", password="Zm9v"
    ) == {
        "endpoint_url": "http://127.0.0.1:10000/devstoreaccount1",
        "account": "devstoreaccount1",
        "account_key": "Zm9v",
    }


def test_a_url_without_a_dot_is_the_place_that_it_names() -> None:
    for host in (
        "http://azurite:10000/devstoreaccount1",
        "http://localhost:10000/devstoreaccount1",
    ):
        assert settings(host=host, login="devstoreaccount1", password="Zm9v") == {
            "endpoint_url": host,
            "account": "devstoreaccount1",
            "account_key": "Zm9v",
        }


@pytest.mark.parametrize(
    "host", ["myaccount.z50.blob.storage.azure.net", "myaccount.privatelink.blob.core.windows.net"]
)
def test_a_host_that_does_not_tell_the_account_has_it_of_the_login(host: str) -> None:
    assert settings(host=host, login="myaccount", password="Zm9v")["account"] == "myaccount"


@pytest.mark.parametrize("host", ["https://[::1", "https://a.example.com:port"])
def test_a_host_that_is_none_is_an_error_of_the_connection(host: str) -> None:
    with pytest.raises(ConfigError, match="my_conn"):
        settings(host=host, login="myaccount")


def test_a_signature_in_the_url_of_a_container_is_refused_and_not_shown() -> None:
    url = "https://myaccount.blob.core.windows.net/box?sv=1&sig=hunter2"
    with pytest.raises(ConfigError, match=r"my_conn.*container") as raised:
        settings({"sas_token": url})
    assert "hunter2" not in str(raised.value)


def test_a_connection_string_goes_before_everything() -> None:
    extra = {"connection_string": "AccountName=a;AccountKey=Zm9v", "tenant_id": "t"}
    assert settings(extra, login="x") == {"connection_string": "AccountName=a;AccountKey=Zm9v"}


def test_a_tenant_makes_an_application_of_login_and_password() -> None:
    extra = {"tenant_id": "t", "client_secret_auth_config": {"authority": "login.example.com"}}
    assert settings(
        extra, login="client", password="secret", host="https://a.blob.core.windows.net"
    ) == {
        "endpoint_url": "https://a.blob.core.windows.net",
        "tenant_id": "t",
        "client_id": "client",
        "client_secret": "secret",
        "authority_host": "login.example.com",
    }
    # A client id is no account's name.
    assert "account" not in settings(extra, login="client", password="secret")
    with pytest.raises(ConfigError, match=r"my_conn.*client id") as raised:
        settings({"tenant_id": "t"}, password="hunter2")
    assert "hunter2" not in str(raised.value)


def test_a_signature_alone_or_in_a_url() -> None:
    assert settings({"sas_token": "?sv=1&sig=x"}, login="myaccount") == {
        "account": "myaccount",
        "sas_token": "?sv=1&sig=x",
    }
    url = "https://myaccount.blob.core.windows.net/?sv=1&sig=x"
    assert settings({"extra__wasb__sas_token": url}, login="other") == {
        "endpoint_url": "https://myaccount.blob.core.windows.net/",
        "sas_token": url,
    }


def test_keys_in_the_extras() -> None:
    assert settings({"shared_access_key": "Zm9v"}, login="myaccount", password="other") == {
        "account": "myaccount",
        "account_key": "Zm9v",
    }
    assert settings({"account_key": "Zm9v"}, login="myaccount")["account_key"] == "Zm9v"


def test_without_keys_the_identity_is_told_and_the_rest_left_to_the_environment() -> None:
    extra = {"managed_identity_client_id": "m", "workload_identity_tenant_id": "t"}
    assert settings(extra, login="myaccount") == {
        "account": "myaccount",
        "client_id": "m",
        "tenant_id": "t",
    }
    assert settings(login="myaccount") == {"account": "myaccount"}


@pytest.mark.parametrize(
    "host", ["https://u:hunter2@a.blob.core.windows.net", "https://a.blob.example.com/?sig=hunter2"]
)
def test_a_host_with_a_secret_in_it_is_refused_and_not_shown(host: str) -> None:
    with pytest.raises(ConfigError, match="my_conn") as raised:
        settings(host=host, login="myaccount")
    assert "hunter2" not in str(raised.value)

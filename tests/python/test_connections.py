"""`s3://conn_id@bucket`: credentials of an Airflow connection, and no others in their place."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import airfreight
from airfreight import connections, runtime
from airfreight._settings_table import OPTIONS

if TYPE_CHECKING:
    from tests.python.conftest import Box


def connect(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> connections.Resolved:
    monkeypatch.setenv("AIRFLOW_CONN_MY_S3", json.dumps({"conn_type": "aws", **fields}))
    return connections.resolve("my_s3", "s3")


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://bucket/xcom", ("", "s3://bucket/xcom")),
        ("s3://my_conn@bucket/xcom", ("my_conn", "s3://bucket/xcom")),
        ("s3://my_conn@bucket", ("my_conn", "s3://bucket")),
        ("s3://a%40b@bucket/x@y", ("a@b", "s3://bucket/x@y")),
        ("s3://bucket/x@y", ("", "s3://bucket/x@y")),
        ("file:///a@b/c", ("", "file:///a@b/c")),
        ("memory://a@b/c", ("", "memory://a@b/c")),
        ("gs://conn@bucket/xcom", ("conn", "gs://bucket/xcom")),
        ("az://conn@container/xcom", ("conn", "az://container/xcom")),
        ("abfs://conn@container/xcom", ("conn", "abfs://container/xcom")),
        ("redis://conn@host:6379/0/xcom", ("conn", "redis://host:6379/0/xcom")),
        ("rediss://host:6379/0", ("", "rediss://host:6379/0")),
        ("fsspec+sftp://conn@host/srv/x@y", ("conn", "fsspec+sftp://host/srv/x@y")),
    ],
)
def test_the_connection_id_is_split_from_the_store(uri: str, expected: tuple[str, str]) -> None:
    assert connections.split(uri) == expected


def test_static_keys_are_read_without_the_amazon_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", None)
    resolved = connect(
        monkeypatch,
        login="AKID",
        password="SECRET",
        extra={
            "region_name": "eu-central-1",
            "endpoint_url": "https://minio.example.com",
            "config_kwargs": {"s3": {"addressing_style": "path"}},
            "verify": False,
            "aws_session_token": "TOKEN",
        },
    )
    assert resolved.settings == {
        "access_key_id": "AKID",
        "secret_access_key": "SECRET",
        "session_token": "TOKEN",
        "region": "eu-central-1",
        "endpoint_url": "https://minio.example.com",
        "addressing_style": "path",
        "verify": "false",
    }
    assert resolved.expires == float("inf")


def test_keys_and_endpoint_may_stand_in_the_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = connect(
        monkeypatch,
        extra={
            "aws_access_key_id": "AKID",
            "aws_secret_access_key": "SECRET",
            "endpoint_url": "https://ignored",
            "service_config": {"s3": {"endpoint_url": "https://s3.example.com"}},
            "verify": "/etc/ca.pem",
        },
    )
    assert resolved.settings == {
        "access_key_id": "AKID",
        "secret_access_key": "SECRET",
        "endpoint_url": "https://s3.example.com",
        "ca_bundle": "/etc/ca.pem",
    }


def test_a_connection_in_uri_form_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_MY_S3", "aws://AKID:SE%2FCRET@/?region_name=eu-west-1")
    assert connections.resolve("my_s3", "s3").settings == {
        "access_key_id": "AKID",
        "secret_access_key": "SE/CRET",
        "region": "eu-west-1",
    }


def test_a_connection_without_keys_leaves_them_to_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert connect(monkeypatch, extra={"region_name": "r"}).settings == {"region": "r"}


def test_half_a_key_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(airfreight.ConfigError, match="without its secret"):
        connect(monkeypatch, login="AKID")


def test_an_unknown_connection_is_an_error_that_names_it(box: Box) -> None:
    # The Amazon hook would go on with the default chain's credentials instead.
    box.set(store="s3://not_there@bucket/xcom")
    for _ in range(2):
        with pytest.raises(airfreight.ConfigError, match=r"'not_there'.*AIRFLOW_CONN_NOT_THERE"):
            box.push(b"x")


def test_the_connection_is_asked_for_once_per_process(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def ask(connection_id: str, _: Any) -> Any:
        asked.append(connection_id)
        return SimpleNamespace(login="A", password="S", extra_dejson={"region_name": "eu-west-1"})

    monkeypatch.setattr(connections, "_connection", ask)
    box.set(store="s3://my_conn@bucket/xcom")
    assert runtime.freight() is runtime.freight()
    assert asked == ["my_conn"]


DEFAULTS = {
    option.setting: option.default
    for option in OPTIONS
    if option.store == "s3" and option.default is not None
}


def test_settings_of_the_section_win_over_the_connection(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    class Core:
        Coordinate = None

        @staticmethod
        def Freight(stores: Any, **_: Any) -> Any:  # noqa: N802
            made.extend(stores)
            return object()

    monkeypatch.setattr(runtime, "_load", lambda: Core)
    monkeypatch.setattr(
        connections,
        "_connection",
        lambda *_: SimpleNamespace(
            login="A",
            password="S",
            extra_dejson={"region_name": "old", "verify": "False"},
        ),
    )
    box.set(store="s3://my_conn@bucket/xcom", s3_region="new", read_also="s3://other/x")
    runtime.freight()
    assert made == [
        (
            "default",
            "s3://bucket/xcom",
            # The connection wins over a default, the section over both.
            DEFAULTS
            | {
                "access_key_id": "A",
                "secret_access_key": "S",
                "region": "new",
                "verify": "false",
            },
        ),
        ("", "s3://other/x", DEFAULTS | {"region": "new"}),
    ]


def test_roles_go_through_the_hook_and_are_asked_for_again(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys
    from types import ModuleType

    count = iter(range(100))

    class Hook:
        region_name = "eu-west-3"

        def __init__(self, aws_conn_id: str, client_type: str) -> None:
            assert (aws_conn_id, client_type) == ("my_s3", "s3")

        def get_session(self) -> Any:
            number = next(count)
            frozen = SimpleNamespace(access_key=f"A{number}", secret_key="S", token="T")
            return SimpleNamespace(
                get_credentials=lambda: SimpleNamespace(get_frozen_credentials=lambda: frozen)
            )

    module: Any = ModuleType("base_aws")
    module.AwsBaseHook = Hook
    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", module)
    resolved = connect(monkeypatch, extra={"role_arn": "arn:aws:iam::1:role/x"})
    assert resolved.settings == {
        "access_key_id": "A0",
        "secret_access_key": "S",
        "session_token": "T",
        "region": "eu-west-3",
    }
    assert 0 < resolved.expires - time.time() < 900
    box.set(store="s3://my_s3@bucket/xcom")
    first = runtime.freight()
    assert runtime.freight() is first
    monkeypatch.setattr(time, "time", lambda: resolved.expires + 1000)
    assert runtime.freight() is not first


def test_a_role_without_the_amazon_provider_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", None)
    with pytest.raises(airfreight.ConfigError, match="apache-airflow-providers-amazon"):
        connect(monkeypatch, extra={"role_arn": "arn:aws:iam::1:role/x"})


def test_no_secret_is_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(airfreight.ConfigError) as caught:
        connect(monkeypatch, password="TOPSECRET")
    assert "TOPSECRET" not in str(caught.value)

"""Several stores at once: each is told by the name that references carry."""

from __future__ import annotations

import dataclasses
import json
import socket
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.conftest import Box, stored
from tests.servers.versitygw import VersityGW

import airfreight
from airfreight import _stores, config, exchange, rules, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.servers.s3_server import S3Server


def configure(
    monkeypatch: pytest.MonkeyPatch,
    stores: Mapping[str, tuple[str, Mapping[str, str]]],
    aliases: Sequence[tuple[str, str]] = (),
) -> None:
    """Sets what a policy says of stores, beside the settings as they are."""
    config.forget()
    runtime.forget()
    current = dataclasses.replace(config.settings(), stores=stores, aliases=tuple(aliases))
    monkeypatch.setattr(config, "_settings", current)


def connect(monkeypatch: pytest.MonkeyPatch, connection_id: str, server: S3Server) -> None:
    """Makes an Airflow connection to a server."""
    connection = {
        "conn_type": "aws",
        "login": server.access_key,
        "password": server.secret_key,
        "extra": {
            "endpoint_url": server.endpoint,
            "region_name": server.region,
            "config_kwargs": {"s3": {"addressing_style": "path"}},
        },
    }
    monkeypatch.setenv(f"AIRFLOW_CONN_{connection_id.upper()}", json.dumps(connection))


@pytest.fixture(scope="module")
def second() -> Iterator[VersityGW]:
    """Another server, with a bucket of the same name."""
    with VersityGW(bucket="bucket") as running:
        yield running


@pytest.fixture
def two(
    box: Box, server: VersityGW, second: VersityGW, monkeypatch: pytest.MonkeyPatch
) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Stores of equal roots on two servers."""
    connect(monkeypatch, "eu_conn", server)
    connect(monkeypatch, "us_conn", second)
    return {
        "eu": ("s3://eu_conn@bucket/xcom", {}),
        "us": ("s3://us_conn@bucket/xcom", {}),
    }


def pushed_to(box: Box, uri: str, value: bytes, name: str) -> dict[str, Any]:
    """The row of a value that the store `uri` has got, written under a name."""
    box.set(store=uri)
    row = box.fields(box.push(value))
    return {**row, "store": name}


def pull(box: Box, row: dict[str, Any]) -> Any:
    """What a task gets of a row with these members."""
    return box.pull(json.dumps(row).encode() if exchange.ROWS_ARE_BYTES else row)


def test_equal_bucket_names_on_two_servers_are_never_confused(
    box: Box, two: dict[str, tuple[str, Mapping[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {name: pushed_to(box, two[name][0], name.encode(), name) for name in two}
    assert rows["eu"]["uri"] == rows["us"]["uri"]
    for stores in (two, dict(reversed(two.items()))):
        box.set(store=f"file://{box.root}")
        configure(monkeypatch, stores)
        for name, row in rows.items():
            assert pull(box, row) == name.encode()


def test_a_store_that_was_renamed_is_found_unless_two_have_its_place(
    box: Box, two: dict[str, tuple[str, Mapping[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = pushed_to(box, two["eu"][0], b"value", "eu")
    box.set(store=f"file://{box.root}")
    configure(monkeypatch, {"europe": two["eu"]})
    assert pull(box, row) == b"value"
    configure(monkeypatch, {"europe": two["eu"], "us": two["us"]})
    with pytest.raises(airfreight.OutOfScopeError, match=r"'europe' and 'us'.*'eu' again"):
        pull(box, row)


def test_rows_of_the_default_store_stay_readable_when_it_becomes_a_store_with_a_name(
    box: Box, two: dict[str, tuple[str, Mapping[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = pushed_to(box, two["us"][0], b"value", "default")
    box.set(store=f"file://{box.root}")
    configure(monkeypatch, {"us": two["us"]})
    assert pull(box, row) == b"value"
    # Which of two it was, read_also says.
    configure(monkeypatch, two)
    with pytest.raises(airfreight.OutOfScopeError, match="'eu' and 'us'"):
        pull(box, row)
    box.set(read_also=two["us"][0])
    configure(monkeypatch, two)
    assert pull(box, row) == b"value"


def test_the_settings_of_a_store_win_over_those_of_its_kind(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    class Core:
        @staticmethod
        def Freight(stores: Any, **_: Any) -> Any:  # noqa: N802
            given.extend(stores)
            return object()

    monkeypatch.setattr(runtime, "_load", lambda: Core)
    box.set(store="s3://bucket/xcom", s3_region="eu-west-1", s3_sse="AES256")
    configure(monkeypatch, {"us": ("s3://bucket/xcom", {"region": "us-east-1"})})
    runtime.freight()
    (default, _, first), (us, _, second) = given
    assert (default, us) == ("default", "us")
    assert (first["region"], second["region"]) == ("eu-west-1", "us-east-1")
    assert first["sse"] == second["sse"] == "AES256"


def test_an_object_that_another_host_wrote_is_missed_by_both_names(box: Box) -> None:
    row = box.fields(stored(box.push(b"x")))
    assert row["host"] == socket.gethostname()[:64]
    box.file(row).unlink()
    with pytest.raises(airfreight.NotFoundError) as caught:
        pull(box, {**row, "host": "worker-7"})
    for said in ("'worker-7'", repr(socket.gethostname()), "file_store_shared"):
        assert said in str(caught.value)


def test_only_directories_tell_of_a_host(s3: Box) -> None:
    assert "host" not in s3.fields(s3.push(b"x"))


# What can be known from the text alone.


def wrong(
    stores: Mapping[str, tuple[str, Mapping[str, str]]],
    aliases: Sequence[tuple[str, str]] = (),
    **given: Any,
) -> list[str]:
    known: dict[str, Any] = {
        "others": ["s3://bucket/xcom"],
        "executor": "CeleryExecutor",
        "shared": False,
    }
    lines: defaultdict[str, int] = defaultdict(lambda: 7)
    policy = rules.Policy("p.toml", stores, tuple(aliases), lines, False, None)
    return _stores.problems(policy, **{**known, **given})


@pytest.mark.parametrize(
    ("stores", "said"),
    [
        ({"eu west": ("s3://bucket", {})}, "a store's name must be"),
        ({"default": ("s3://bucket", {})}, "give this one another name"),
        ({"eu": ("s4://bucket", {})}, "[stores.eu] uri must begin with"),
        ({"eu": ("s3://bucket", {"regoin": "x"})}, "did you mean region?"),
        ({"eu": ("s3://bucket", {"s3_region": "x"})}, "did you mean region?"),
        ({"eu": ("s3://bucket", {"zzz": "x"})}, "it knows endpoint_url, region"),
        ({"eu": ("s3://bucket", {"addressing_style": "x"})}, "must be auto, virtual or path"),
        ({"eu": ("s3://bucket", {"region": "EU"})}, "Example: eu-central-1"),
        ({"eu": ("file:///srv/xcom", {})}, "under CeleryExecutor"),
        ({"eu": ("file:///srv/xcom", {"shared": "no"})}, "add shared = true"),
    ],
)
def test_a_wrong_store_is_an_error_that_names_it(stores: Any, said: str) -> None:
    (problem,) = wrong(stores)
    assert said in problem


def test_a_secret_of_a_store_is_not_shown() -> None:
    (problem,) = wrong({"eu": ("s3://AKID:TOPSECRET@bucket/xcom", {})})
    assert "TOPSECRET" not in problem
    assert "[stores.eu]" in problem


def test_right_stores_are_right() -> None:
    assert not wrong(
        {
            "eu": ("s3://conn@bucket/xcom", {"region": "eu-central-1", "verify": "True"}),
            "nfs": ("file:///srv/xcom", {"shared": "True"}),
        },
        [("s3://old/xcom/", "s3://bucket"), ("file:///old", "file:///srv/xcom")],
    )
    azure: dict[str, Any] = {"az": ("abfs://conn@box/xcom", {})}
    for new in ("az://box/xcom", "abfss://box/xcom/", "wasbs://box"):
        assert not wrong(azure, [("wasb://old/xcom", new)])
    assert not wrong({"disk": ("file:///srv/xcom", {})}, executor="LocalExecutor")
    assert not wrong({"disk": ("file:///srv/xcom", {})}, shared=True)


@pytest.mark.parametrize(
    ("alias", "said"),
    [
        (("old", "s3://bucket/xcom"), "must begin with"),
        (("s3://conn@old/xcom", "s3://bucket/xcom"), "Right is 's3://old/xcom'"),
        (("s3://old/xcom", "s3://nowhere/xcom"), "the stores are s3://bucket/xcom"),
        (("s3://old/xcom", "s3://bucket/xcom/more"), "leads to where no store lies"),
        (("s3://bucket/xcom/", "s3://bucket/xcom"), "leads to itself"),
        (("abfs://box/xcom", "az://box/xcom"), "leads to itself"),
        (("abfs://conn@box/xcom", "s3://bucket"), "Right is 'az://box/xcom'"),
    ],
)
def test_a_wrong_alias_is_an_error_that_names_it(alias: tuple[str, str], said: str) -> None:
    (problem,) = wrong({}, [alias])
    assert said in problem


def test_the_core_refuses_the_same_aliases(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, {}, [("s3://old/xcom", "s3://nowhere/xcom")])
    with pytest.raises(airfreight.ConfigError, match="no store lies there"):
        runtime.freight()

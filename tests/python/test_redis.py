"""Redis: a server of our own for these tests, through the backend as tasks use it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.servers.redis import Redis

import airfreight
from airfreight import connections, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.python.conftest import Box

CA = "/etc/ssl/ca.pem"


@pytest.fixture(scope="module")
def server() -> Iterator[Redis]:
    with Redis() as running:
        yield running


@pytest.fixture
def redis(box: Box, server: Redis, monkeypatch: pytest.MonkeyPatch) -> Box:
    """A backend on the server, by a connection with the user who may do what is documented."""
    connect(monkeypatch, login=server.user, password=server.password)
    box.set(store=server.uri.replace("://", "://my_redis@"))
    return box


def connect(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> connections.Resolved:
    monkeypatch.setenv("AIRFLOW_CONN_MY_REDIS", json.dumps({"conn_type": "redis", **fields}))
    return connections.resolve("my_redis", "redis")


def commands(server: Redis) -> dict[str, int]:
    """How often each command was called (redis.io/docs/latest/commands/info, commandstats)."""
    counted = {}
    for line in server.command("INFO", "commandstats").splitlines():
        name, _, numbers = line.partition(":calls=")
        if numbers:
            counted[name.removeprefix("cmdstat_")] = int(numbers.partition(",")[0])
    return counted


def test_a_value_comes_back_and_its_row_names_no_login(redis: Box, server: Redis) -> None:
    value = b"x" * 100_000
    row = redis.push(value)
    fields = redis.fields(row)
    assert fields["uri"].startswith(f"{server.uri}/")
    assert server.password not in json.dumps(fields)
    assert "my_redis" not in json.dumps(fields)
    assert redis.pull(row) == value


def test_a_small_push_is_one_command_and_a_pull_another(redis: Box, server: Redis) -> None:
    redis.push(b"first", task_id="warm")  # It logs in, and asks whether this is a cluster.
    server.command("CONFIG", "RESETSTAT")
    row = redis.push(b"x" * 40_000, task_id="counted")
    wrote = commands(server)
    assert {n: c for n, c in wrote.items() if n in ("set", "get", "multi", "getrange")} == {
        "set": 1
    }
    redis.pull(row)
    read = commands(server)
    assert read.get("get") == 1
    assert read.get("set") == 1


def test_a_value_of_many_chunks_comes_back(redis: Box) -> None:
    value = bytes(range(256)) * 80_000  # 20 MB
    assert redis.pull(redis.push(value, task_id="large")) == value


def test_time_to_live_is_the_settings(redis: Box, server: Redis) -> None:
    redis.set(store=server.uri.replace("://", "://my_redis@"), redis_ttl=600)
    uri = redis.fields(redis.push(b"x" * 40_000, task_id="ttl"))["uri"]
    answer = server.command("TTL", uri.partition("/0/")[2])
    assert 0 < int(answer.strip().removeprefix(":")) <= 600


def test_time_to_live_is_the_retention_of_the_rule_over_the_settings(
    redis: Box, server: Redis
) -> None:
    redis.set(
        store=server.uri.replace("://", "://my_redis@"),
        redis_ttl=600,
        policy='[[rules]]\nretention = "1h"',
    )
    fields = redis.fields(redis.push(b"x" * 40_000, task_id="kept"))
    assert "expires" in fields
    answer = server.command("TTL", fields["uri"].partition("/0/")[2])
    assert 600 < int(answer.strip().removeprefix(":")) <= 3600


def test_a_full_server_says_so_before_a_large_value_is_sent(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Redis(settings={"maxmemory": "12mb", "maxmemory-policy": "noeviction"}) as small:
        connect(monkeypatch, login=small.user, password=small.password)
        box.set(store=small.uri.replace("://", "://my_redis@"))
        with pytest.raises(airfreight.TooLargeError, match="maxmemory"):
            box.push(b"x" * 16_000_000)
        assert commands(small).get("set") is None

        # Small ones are not asked for: the server refuses them when it is full.
        def fill() -> None:
            for number in range(20):
                box.push(b"x" * 1_000_000, task_id=f"t{number}")

        with pytest.raises(airfreight.TooLargeError, match="maxmemory"):
            fill()


def test_a_cluster_is_refused_with_what_to_use(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    with Redis(settings={"cluster-enabled": "yes"}) as cluster:
        connect(monkeypatch, login=cluster.user, password=cluster.password)
        box.set(store=cluster.uri.replace("://", "://my_redis@"))
        with pytest.raises(airfreight.Error, match=r"Redis Cluster.*Sentinel"):
            box.push(b"x" * 40_000)


def test_a_wrong_password_is_denied_and_not_shown(
    redis: Box, server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, login=server.user, password="wrong-secret")
    runtime.forget()
    with pytest.raises(airfreight.DeniedError) as caught:
        redis.push(b"x" * 40_000)
    assert "wrong-secret" not in str(caught.value)


def test_tls_by_the_connection_with_a_private_authority(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Redis(tls=True) as server:
        extra = {"ssl_ca_certs": server.ca_file}
        connect(monkeypatch, login=server.user, password=server.password, extra=extra)
        box.set(store=server.uri.replace("://", "://my_redis@"))
        assert box.pull(box.push(b"x" * 40_000)) == b"x" * 40_000
        # TLS by the connection's word alone, and one whose authority is not trusted.
        plain = server.uri.replace("rediss://", "redis://my_redis@")
        connect(
            monkeypatch,
            login=server.user,
            password=server.password,
            extra={"ssl": True, "ssl_ca_certs": server.ca_file},
        )
        box.set(store=plain)
        assert box.pull(box.push(b"y" * 40_000)) == b"y" * 40_000
        connect(monkeypatch, login=server.user, password=server.password, extra={"ssl": True})
        box.set(store=plain)
        with pytest.raises(airfreight.UnavailableError, match="redis_ca_bundle"):
            box.push(b"z" * 40_000)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"password": "p"}, {"password": "p"}),
        ({"login": "u", "password": "p"}, {"username": "u", "password": "p"}),
        ({"password": "None"}, {}),
        ({"extra": {"ssl": True}}, {"tls": "true"}),
        ({"extra": {"ssl": False, "ssl_cert_reqs": "none"}}, {"verify": "false"}),
        (
            {"extra": {"ssl_ca_certs": CA, "ssl_certfile": "/c", "ssl_keyfile": "/k"}},
            {"ca_bundle": CA, "certfile": "/c", "keyfile": "/k"},
        ),
        ({"extra": {"ssl_check_hostname": False}}, {"check_hostname": "false"}),
        ({"extra": {"db": 3}, "host": "elsewhere", "port": 1}, {}),
        ({"extra": {"sentinel_password": "s"}}, {"sentinel_password": "s"}),
    ],
)
def test_the_connection_says_who_and_how_and_not_where(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], expected: dict[str, str]
) -> None:
    assert connect(monkeypatch, **fields).settings == expected


@pytest.mark.parametrize("fields", [{"login": "u"}, {"extra": {"ssl_cert_reqs": "require"}}])
def test_a_connection_that_can_not_be_meant_is_refused(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    with pytest.raises(airfreight.ConfigError, match="my_redis"):
        connect(monkeypatch, **fields)

"""Connections of the Redis provider, for `redis://` and `rediss://`.

What the store's URI says is where; the connection says who, and how TLS is spoken. Its fields and
extras are those that the provider's hook gives to redis-py
(airflow/providers/redis/hooks/redis.py), which is not needed for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airfreight.connections.base import Resolved, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLE = "redis://LOGIN:PASSWORD@"
BARE = "redis://host:6379/0/xcom"
CREDENTIALS = ("password",)

#: Extras that are files, or texts as they are, and what the core calls them. The last two are
#: Airfreight's own: redis-py is told those of Sentinels apart from the server's.
_TEXTS = {
    "ssl_ca_certs": "ca_bundle",
    "ssl_certfile": "certfile",
    "ssl_keyfile": "keyfile",
    "sentinel_username": "sentinel_username",
    "sentinel_password": "sentinel_password",
}
#: What the hook takes for no password (get_conn).
_NO_PASSWORD = ("none", "false", "")


def settings_of(connection_id: str, connection: Any, extra: dict[str, Any]) -> Resolved:
    """Who and how, as the fields and extras of the connection say."""
    settings: dict[str, str] = {}
    if str(connection.password).lower() not in _NO_PASSWORD:
        settings["password"] = str(connection.password)
        if connection.login:
            settings["username"] = str(connection.login)
    elif connection.login:
        raise wrong(connection_id, "has a login and no password", EXAMPLE, BARE)
    if _is_true(extra.get("ssl")):
        settings["tls"] = "true"
    for name, setting in _TEXTS.items():
        if text := extra.get(name):
            settings[setting] = str(text)
    required = str(extra.get("ssl_cert_reqs") or "required").lower()
    # redis-py checks a certificate under `optional` just as under `required` (ssl.CERT_OPTIONAL:
    # a client's side is always given one).
    if required == "none":
        settings["verify"] = "false"
    elif required not in ("required", "optional"):
        raise wrong(
            connection_id,
            "has an ssl_cert_reqs that is none of required, optional and none",
            EXAMPLE,
            BARE,
        )
    check = extra.get("ssl_check_hostname")
    if check is not None:
        settings["check_hostname"] = "true" if _is_true(check) else "false"
    return Resolved(settings, float("inf"))


def borrowed(settings: Mapping[str, str]) -> Resolved | None:
    """Nothing: what a server asks for is in the connection or in REDISCLI_AUTH."""
    del settings
    return None


def _is_true(value: Any) -> bool:
    return str(value).lower() in ("true", "t", "1", "yes", "on")

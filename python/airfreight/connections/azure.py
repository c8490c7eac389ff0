"""Connections of the Azure provider (type `wasb`), for `az://`.

Every kind that the provider's WasbHook knows is one that the core speaks itself, so that neither
the provider nor Azure's libraries are imported
(airflow.apache.org/docs/apache-airflow-providers-microsoft-azure/stable/connections/wasb.html).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airfreight.connections.base import Resolved, mapping, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLE = "wasb://myaccount:KEY@"
BARE = "az://container/xcom"
CREDENTIALS = ("account_key", "sas_token", "connection_string", "client_secret")

#: What the provider puts before the names of extras that its form has.
_PREFIX = "extra__wasb__"
#: Longer ones the provider cuts off (utils.py, parse_blob_account_url).
_MAX_ACCOUNT = 24


def settings_of(connection_id: str, connection: Any, extra: dict[str, Any]) -> Resolved:
    """Where and who, in the order in which WasbHook looks at fields and extras."""

    def field(name: str) -> str:
        return str(extra.get(name) or extra.get(_PREFIX + name) or "")

    if text := field("connection_string"):
        return _for_ever({"connection_string": text})
    login, password = connection.login or "", connection.password or ""
    tenant = field("tenant_id")
    # (That of an application is its client id.)
    settings = _place(connection_id, connection, field("account_url"), "" if tenant else login)
    if tenant:
        if not login or not password:
            raise _error(connection_id, "has a tenant_id but no client id (login) or no secret")
        settings |= {"tenant_id": tenant, "client_id": login, "client_secret": password}
        authority = mapping(extra.get("client_secret_auth_config")).get("authority")
        if authority:
            settings["authority_host"] = str(authority)
    elif key := field("shared_access_key"):
        settings["account_key"] = key
    elif sas := field("sas_token"):
        settings["sas_token"] = sas
        if sas.startswith("https://"):  # The URL of the account, with the signature in it.
            url = sas.partition("?")[0]
            if ".blob." in url and url.partition("://")[2].rstrip("/").count("/"):
                # As the portal gives for one container: requests would get two of them.
                raise _error(
                    connection_id,
                    "has a sas_token that is the URL of a container or a blob, and must be the "
                    "account's: the part from the question mark on is enough",
                )
            settings.pop("account", None)
            settings["endpoint_url"] = url
    elif key := password or field("account_key"):
        settings["account_key"] = key
    else:
        # Whose identity, as DefaultAzureCredential takes it; all else is the environment's.
        for name, setting in (
            ("managed_identity_client_id", "client_id"),
            ("workload_identity_tenant_id", "tenant_id"),
        ):
            if value := field(name):
                settings[setting] = value
    return _for_ever(settings)


def borrowed(settings: Mapping[str, str]) -> Resolved | None:
    """Nothing: what the core does not know (Arc, Service Fabric) it refuses in its own words."""
    del settings
    return None


def _place(connection_id: str, connection: Any, account_url: str, login: str) -> dict[str, str]:
    """The account, from the host or the login, as parse_blob_account_url has it.

    But for a URL whose host has no dot, which that takes for an id too: `http://azurite:10000/…`.
    """
    host = account_url or connection.host or ""
    if not host:
        return {"account": login} if login else {}
    # Airflow takes the scheme off a connection's URL; a DNS name is meant with TLS.
    is_url = "://" in host
    try:
        parts = urlsplit(host if is_url else f"https://{host}")
        has_port = parts.port is not None
    except ValueError:
        raise _error(connection_id, "has a host that is no URL and no name") from None
    if parts.username or parts.password or parts.query:
        raise _error(connection_id, "has a host with a user, a password or a query in it")
    if "." not in parts.netloc and not is_url:
        # An id of Active Directory, and no host: the account is the login.
        return {"account": login[:_MAX_ACCOUNT]} if login else {}
    port = f":{connection.port}" if getattr(connection, "port", None) and not has_port else ""
    settings = {"endpoint_url": f"{parts.scheme}://{parts.netloc}{port}{parts.path}".rstrip("/")}
    # Behind any name but <account>.blob.… only the login tells the account, which a key signs for.
    named = re.match(r"[a-z0-9]{3,24}\.(?:blob|dfs)\.", parts.netloc)
    if not named and re.fullmatch(r"[a-z0-9]{3,24}", login):
        settings["account"] = login
    return settings


def _for_ever(settings: dict[str, str]) -> Resolved:
    return Resolved(settings, float("inf"))


def _error(connection_id: str, problem: str) -> Exception:
    return wrong(connection_id, problem, EXAMPLE, BARE)

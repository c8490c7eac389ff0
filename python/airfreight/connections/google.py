"""Connections of the Google provider (type `google_cloud_platform`), for `gs://`.

A key is read as it is, and the core makes its tokens. Kinds that need more (impersonation, keys in
a secret manager, tokens of an identity provider) go through the provider's hook, and what only
Google's own library knows (workload identity federation) through google-auth: the core is then
given a token and its end
(airflow.apache.org/docs/apache-airflow-providers-google/stable/connections/gcp.html).
"""

from __future__ import annotations

import json
import logging
import time
from datetime import timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airfreight._imports import loading
from airfreight.connections.base import Resolved, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

_log = logging.getLogger("airfreight")

EXAMPLE = "google-cloud-platform://?key_path=%2Frun%2Fsecrets%2Fairflow.json"
BARE = "gs://bucket/xcom"
#: (Not `anonymous`, whose default every store is given, and not `key_path`: it is a setting only,
#: and what it names may be of a kind that has to be borrowed. The file of a connection is read here
#: and passed on as `key_json`.)
CREDENTIALS = ("access_token", "key_json")

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
#: What the provider puts before the names of extras that its form has.
_PREFIX = "extra__google_cloud_platform__"
#: Extras that only the provider's hook understands.
_HOOK_EXTRAS = (
    "impersonation_chain",
    "credential_config_file",
    "key_secret_name",
    "idp_issuer_url",
)
#: Kinds of key documents that the core speaks (src/store/gcs/credentials/documents.h).
_NATIVE = ("service_account", "authorized_user")
#: Tokens whose end is known are asked for again this long before it: google-auth's own are good
#: for 225 s more when it renews them (google/auth/_helpers.py, REFRESH_THRESHOLD), and what they
#: begin has to end. Of short ones the second half.
_MARGIN_SECONDS = 300.0
#: Where nobody tells (cloud.google.com/docs/authentication/token-types#access).
_LIFETIME = 3600.0


def settings_of(connection_id: str, connection: Any, extra: dict[str, Any]) -> Resolved:
    """Who, as the extras of the connection say, in the order in which GoogleBaseHook looks."""
    values = {name.removeprefix(_PREFIX): value for name, value in extra.items()} | extra
    if values.get("is_anonymous"):
        return _for_ever({"anonymous": "true"})
    if any(values.get(name) for name in _HOOK_EXTRAS):
        return _through_hook(connection_id, connection)
    path, text = values.get("key_path"), values.get("keyfile_dict")
    if path and text:
        raise _error(connection_id, "has both key_path and keyfile_dict: leave one of them out")
    if path:
        text = _read(connection_id, str(path))
    if not text:
        # Without a key the connection leaves it to the environment, as the provider's hook does.
        return _for_ever({})
    document = _document(connection_id, text)
    if document.get("type", _NATIVE[0]) in _NATIVE:
        # As a string, where it is one: what is wrong with it says the core.
        return _for_ever({"key_json": text if isinstance(text, str) else json.dumps(document)})
    return _through_library(connection_id, document)


def _read(connection_id: str, path: str) -> str:
    if path.endswith(".p12"):
        raise _error(connection_id, "names a P12 key, which Google has given up for JSON keys")
    try:
        return Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise _error(
            connection_id,
            f"names the key file {path!r}, which can't be read ({type(error).__name__})",
        ) from error


def _document(connection_id: str, text: Any) -> dict[str, Any]:
    """A key's document; an error does not show it."""
    parsed = text
    if isinstance(text, str):
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = None
    if not isinstance(parsed, dict):
        raise _error(connection_id, "has a key that is no JSON object")
    return parsed


def _through_hook(connection_id: str, connection: Any) -> Resolved:
    try:
        with loading:
            from airflow.providers.google.common.hooks.base_google import GoogleBaseHook
    except ImportError as error:
        raise _error(
            connection_id,
            "uses impersonation or a kind of key for which the package "
            "apache-airflow-providers-google is needed in this environment",
        ) from error

    class Hook(GoogleBaseHook):  # type: ignore[misc]
        """It would ask Airflow once more, in its constructor, and not from every thread it may."""

        @classmethod
        def get_connection(cls, *_: Any, **__: Any) -> Any:
            return connection

    try:
        return _token(Hook(gcp_conn_id=connection_id).get_credentials())
    except Exception as error:
        raise _error(connection_id, f"gave no credentials ({type(error).__name__})") from error


def _through_library(connection_id: str, document: dict[str, Any]) -> Resolved:
    try:
        with loading:
            import google.auth
    except ImportError as error:
        raise _error(
            connection_id,
            "has credentials of a kind for which the package google-auth is needed in this "
            "environment",
        ) from error
    try:
        return _token(google.auth.load_credentials_from_dict(document, scopes=[_SCOPE])[0])
    except Exception as error:
        raise _error(connection_id, f"gave no credentials ({type(error).__name__})") from error


def borrowed(settings: Mapping[str, str]) -> Resolved | None:
    """The token that google-auth finds, where it is installed: for federation and its like."""
    try:
        with loading:
            import google.auth
    except ImportError:
        return None
    path = settings.get("key_path")
    try:
        if path:
            found = google.auth.load_credentials_from_file(path, scopes=[_SCOPE])
        else:
            found = google.auth.default(scopes=[_SCOPE])
        # In place of the setting: the core takes one of both.
        return _token(found[0], {"key_path": ""} if path else {})
    except Exception as error:  # noqa: BLE001 (whatever a kind of credentials raises)
        _log.warning("google-auth gave no credentials either (%s)", type(error).__name__)
        return None


def _token(credentials: Any, settings: Mapping[str, str] | None = None) -> Resolved:
    """The token that credentials of google-auth's have now, and until when."""
    with loading:
        from google.auth.transport.requests import Request
    if not credentials.valid:
        credentials.refresh(Request())
    now = time.time()
    # Of google-auth: UTC, without saying so.
    end = credentials.expiry and credentials.expiry.replace(tzinfo=timezone.utc)
    left = end.timestamp() - now if end else _LIFETIME
    renew = now + max(left - _MARGIN_SECONDS, left / 2)
    return Resolved({**(settings or {}), "access_token": credentials.token}, renew, now + left)


def _for_ever(settings: dict[str, str]) -> Resolved:
    return Resolved(settings, float("inf"))


def _error(connection_id: str, problem: str) -> Exception:
    return wrong(connection_id, problem, EXAMPLE, BARE)

"""Connections of the Amazon provider, for `s3://`.

A connection with static keys is read as it is. Kinds that need more (roles, profiles, federation)
go through the provider's hook.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from airfreight._imports import loading
from airfreight.connections.base import Resolved, mapping, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

_log = logging.getLogger("airfreight")

EXAMPLE = "aws://KEY:SECRET@/?region_name=eu-central-1"
BARE = "s3://bucket/xcom"
CREDENTIALS = ("access_key_id",)

#: Extras of an AWS connection that only the provider's hook understands.
_HOOK_EXTRAS = (
    "role_arn",
    "assume_role_method",
    "assume_role_kwargs",
    "profile_name",
    "session_kwargs",
    "external_id",
)
#: Frozen credentials whose end nobody tells are asked for again after this long: well within the
#: shortest session that AWS STS gives (15 minutes, docs.aws.amazon.com/STS/latest/APIReference).
_REFRESH_SECONDS = 300.0
_SHORTEST_SESSION = 900.0
#: Those whose end is known are asked for again this long before it, as botocore does
#: (botocore/credentials.py, RefreshableCredentials._advisory_refresh_timeout): what they begin
#: then has that long to end. Of short sessions the second half.
_MARGIN_SECONDS = 900.0


def settings_of(connection_id: str, connection: Any, extra: dict[str, Any]) -> Resolved:
    """Where, how and who, as the extras and fields of the connection say."""
    settings = _plain_settings(extra)
    if any(extra.get(name) for name in _HOOK_EXTRAS):
        return _through_hook(connection_id, connection, settings)
    key = connection.login or extra.get("aws_access_key_id")
    secret = connection.password or extra.get("aws_secret_access_key")
    if bool(key) != bool(secret):
        raise _error(connection_id, "has an access key without its secret, or the reverse")
    if key and secret:
        settings["access_key_id"] = str(key)
        settings["secret_access_key"] = str(secret)
        if token := extra.get("aws_session_token"):
            settings["session_token"] = str(token)
    # Without keys the connection leaves them to the environment, as the provider's hook does.
    return Resolved(settings, float("inf"))


def _plain_settings(extra: dict[str, Any]) -> dict[str, str]:
    """The part of the extras that says where and how, not who."""
    settings: dict[str, str] = {}
    service = mapping(mapping(extra.get("service_config")).get("s3"))
    endpoint = service.get("endpoint_url") or extra.get("endpoint_url") or extra.get("host")
    if endpoint:
        settings["endpoint_url"] = str(endpoint)
    if region := extra.get("region_name"):
        settings["region"] = str(region)
    style = mapping(mapping(extra.get("config_kwargs")).get("s3")).get("addressing_style")
    if style:
        settings["addressing_style"] = str(style)
    verify = extra.get("verify")
    if verify is None:
        verify = service.get("verify")
    if verify is not None:
        text = str(verify)
        if text.lower() in ("true", "false"):
            settings["verify"] = text.lower()
        else:
            settings["ca_bundle"] = text
    return settings


def _through_hook(connection_id: str, connection: Any, settings: dict[str, str]) -> Resolved:
    try:
        with loading:
            from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
    except ImportError as error:
        raise _error(
            connection_id,
            "uses a role or a profile, for which the package apache-airflow-providers-amazon is "
            "needed in this environment",
        ) from error
    hook = AwsBaseHook(aws_conn_id=connection_id, client_type="s3")
    # It would ask Airflow once more, and that may not be asked from everywhere.
    hook.get_connection = lambda _: connection
    try:
        credentials = hook.get_session().get_credentials()
        frozen = credentials.get_frozen_credentials() if credentials is not None else None
    except Exception as error:
        raise _error(connection_id, f"gave no credentials ({type(error).__name__})") from error
    if frozen is None or not frozen.access_key or not frozen.secret_key:
        raise _error(connection_id, "gave no credentials")
    if "region" not in settings and hook.region_name:
        settings["region"] = hook.region_name
    return _frozen(settings, credentials, frozen)


def borrowed(settings: Mapping[str, str]) -> Resolved | None:
    """The credentials that botocore finds, where it is installed: for SSO and its like."""
    try:
        with loading:
            from botocore.session import Session
    except ImportError:
        return None
    try:
        credentials = Session(profile=settings.get("profile")).get_credentials()
        frozen = credentials.get_frozen_credentials() if credentials is not None else None
    except Exception as error:  # noqa: BLE001 (a profile that is not there, a login that ran out)
        _log.warning("botocore gave no credentials either (%s)", type(error).__name__)
        return None
    if frozen is None or not frozen.access_key or not frozen.secret_key:
        return None
    return _frozen({}, credentials, frozen)


def _frozen(settings: dict[str, str], credentials: Any, frozen: Any) -> Resolved:
    """Credentials of botocore's as they are now, and until when they are."""
    settings["access_key_id"] = frozen.access_key
    settings["secret_access_key"] = frozen.secret_key
    if frozen.token:
        settings["session_token"] = frozen.token
    now = time.time()
    # What botocore's refreshing kinds have; there is no public name for it.
    end = getattr(credentials, "_expiry_time", None)
    if end is not None:
        left = end.timestamp() - now
        return Resolved(settings, now + max(left - _MARGIN_SECONDS, left / 2), now + left)
    ends = now + _SHORTEST_SESSION if frozen.token else float("inf")
    return Resolved(settings, now + _REFRESH_SECONDS, ends)


def _error(connection_id: str, problem: str) -> Exception:
    return wrong(connection_id, problem, EXAMPLE, BARE)

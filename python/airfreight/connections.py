"""Airflow connections as credentials: `s3://conn_id@bucket/prefix`.

A connection with static keys is read as it is. Kinds that need more (roles, profiles, federation)
go through the hook of the Amazon provider, which is imported for those only: that import alone
takes longer than most transfers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, NamedTuple
from urllib.parse import unquote

from airfreight import _threads
from airfreight._imports import loading
from airfreight.errors import ConfigError, InvalidError
from airfreight.options import BY_NAME

_log = logging.getLogger("airfreight")

#: What the core says of credentials that it does not know how to get
#: (src/store/s3/credentials/source.h).
FOREIGN = "ForeignCredentials"
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


class BusyError(InvalidError):
    """Airflow can't be asked from this thread now."""


class Resolved(NamedTuple):
    """What a connection says, as settings of the core's S3 store.

    Attributes:
        settings: of the store.
        expires: when to ask again.
        ends: when the credentials really end; until then they serve, should asking fail.
    """

    settings: dict[str, str]
    expires: float
    ends: float = float("inf")


def split(uri: str) -> tuple[str, str]:
    """Splits `s3://conn_id@bucket/prefix` into the connection id ("" for none) and the bare URI."""
    scheme, separator, rest = uri.partition("://")
    authority, slash, path = rest.partition("/")
    connection_id, at, bucket = authority.rpartition("@")
    if scheme != "s3" or not at:
        return "", uri
    return unquote(connection_id), f"{scheme}{separator}{bucket}{slash}{path}"


def resolve(connection_id: str) -> Resolved:
    """Asks Airflow for a connection.

    Raises:
        ConfigError: there is none of that id, or it can't be used. Never other credentials instead.
        BusyError: called on the thread of an event loop that is itself talking to Airflow.
    """
    connection = _connection(connection_id)
    return _resolved(connection_id, connection, connection.extra_dejson or {})


async def aresolve(connection_id: str) -> Resolved:
    """As `resolve`, from an event loop, where a synchronous question may not be asked."""
    # In a thread: the loop must not wait for what another thread is importing.
    hook = await _threads.run(_base_hook)
    if not hasattr(hook, "aget_connection"):
        return await _threads.run(resolve, connection_id)
    try:
        connection = await hook.aget_connection(connection_id)
    except Exception as error:
        raise _error(connection_id, f"was not found ({type(error).__name__})") from error
    extra = getattr(connection, "aextra_dejson", None)
    parsed = connection.extra_dejson if extra is None else await extra()
    return await _threads.run(_resolved, connection_id, connection, parsed or {})


def _resolved(connection_id: str, connection: Any, extra: dict[str, Any]) -> Resolved:
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


def _base_hook() -> Any:
    with loading:
        try:
            from airflow.sdk.bases.hook import BaseHook
        except ModuleNotFoundError:
            try:
                from airflow.sdk import BaseHook
            except ImportError:
                from airflow.hooks.base import BaseHook
    return BaseHook


def _connection(connection_id: str) -> Any:
    try:
        return _base_hook().get_connection(connection_id)
    except BaseException as error:
        # Not an Exception: airflow/sdk/execution_time/comms.py, DeadlockImminentError. The
        # triggerer's own kind of supervisor raises RuntimeError (jobs/triggerer_job_runner.py).
        if type(error).__name__ == "DeadlockImminentError" or (
            isinstance(error, RuntimeError) and asyncio._get_running_loop() is not None
        ):
            raise BusyError(
                f"the Airflow connection {connection_id!r} can't be asked for here: this is the "
                "thread of an event loop that is itself waiting for Airflow. Push and pull with "
                "`await ti.axcom_push(…)` and `await ti.axcom_pull(…)`, or in a thread with "
                "`await asyncio.to_thread(…)`"
            ) from error
        if not isinstance(error, Exception):
            raise
        raise _error(connection_id, f"was not found ({type(error).__name__})") from error


def _plain_settings(extra: dict[str, Any]) -> dict[str, str]:
    """The part of the extras that says where and how, not who."""
    settings: dict[str, str] = {}
    service = _mapping(_mapping(extra.get("service_config")).get("s3"))
    endpoint = service.get("endpoint_url") or extra.get("endpoint_url") or extra.get("host")
    if endpoint:
        settings["endpoint_url"] = str(endpoint)
    if region := extra.get("region_name"):
        settings["region"] = str(region)
    style = _mapping(_mapping(extra.get("config_kwargs")).get("s3")).get("addressing_style")
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


def borrowed(profile: str | None) -> Resolved | None:
    """The credentials that botocore finds, where it is installed: for SSO and its like."""
    try:
        with loading:
            from botocore.session import Session
    except ImportError:
        return None
    try:
        credentials = Session(profile=profile).get_credentials()
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


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _error(connection_id: str, problem: str) -> Exception:
    name = BY_NAME["store"].environment_name
    return ConfigError(
        f"The Airflow connection {connection_id!r}, which {name} names, {problem}. Create it in "
        f"Airflow or as AIRFLOW_CONN_{connection_id.upper()}, e.g. "
        f"AIRFLOW_CONN_{connection_id.upper()}='aws://KEY:SECRET@/?region_name=eu-central-1'; "
        "or use "
        f"the environment's own credentials with {name}=s3://bucket/xcom."
    )

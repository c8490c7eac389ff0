"""What sealed objects are encrypted under: the setting `seal_keys`, and the services that it names.

The core encrypts (formats/sealed.md). A key of AWS KMS or of Google's Cloud KMS wraps the core's
data keys where the service keeps it; it is asked through its own library, once for each process
that pushes and once for each data key of objects that are read.
"""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from airfreight import _airflow, _secrets
from airfreight._imports import loading
from airfreight._settings_table import OPTIONS
from airfreight.errors import DeniedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airfreight.config import Settings

_OPTION = next(option for option in OPTIONS if option.name == "seal_keys")

#: What a wrapped data key is bound to (formats/sealed.md).
_PURPOSE = "data key 1"
#: Seconds for one request to a service, and to connect to it.
_PATIENCE, _TO_CONNECT = 10, 5
#: What passes (docs.aws.amazon.com/kms/latest/APIReference/CommonErrors.html).
_PASSES = (
    "DependencyTimeoutException",
    "InternalFailure",
    "KMSInternalException",
    "ServiceUnavailable",
    "ThrottlingException",
)
#: Loggers of the libraries that tell, of level DEBUG, requests and answers as they are: data keys.
_TELLING = (
    "botocore.endpoint",
    "botocore.parsers",
    "google.cloud.kms_v1.services.key_management_service.client",
    "google.cloud.kms_v1.services.key_management_service.transports.rest",
)
_asking: ContextVar[bool] = ContextVar("airfreight_asking_for_a_key", default=False)


class _Hidden(logging.Filter):
    """Lets through what is not said of a data key."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG or not _asking.get()


_hidden = _Hidden()


@contextmanager
def _unheard() -> Iterator[None]:
    """What this thread asks meanwhile stands in no log, whatever its level."""
    for name in _TELLING:
        logging.getLogger(name).addFilter(_hidden)  # (Once: it is the same each time.)
    token = _asking.set(True)
    try:
        yield
    finally:
        _asking.reset(token)


def keys() -> str:
    """The text of the setting; "" for none. A secret.

    Raises:
        ConfigError: where it comes from gives none.
    """
    text = _secrets.read(_OPTION)
    # (What names a key of a service is no secret, and would be missed in messages.)
    entries = (entry.partition(":")[2] for entry in text.replace(",", " ").split())
    _airflow.mask(secret for secret in entries if ":" not in secret)
    return text


def asks(settings: Settings) -> str:
    """Who asks for sealed objects where there are no keys, in a sentence; "" where nobody does.

    Raises:
        ConfigError: where the keys come from gives none.
    """
    who = ["[airfreight] seal"] if settings.seal else []
    if settings.policy is not None:
        policy = settings.policy
        who += [
            f"{policy.source}, line {rule.lines['seal']}: rule {rule.name!r}"
            for rule in policy.rules()
            if rule.values.get("seal") == "true"
        ]
    if not who or keys():
        return ""
    return (
        f"{', '.join(who)}: objects are to be sealed, and there are no keys to seal them under; "
        f"every such push fails. Set {_OPTION.environment_name} to k1: and what "
        "`openssl rand -base64 32` prints, the same everywhere"
    )


def ask(service: str, key: str, key_id: str, wraps: bool, data: bytes) -> bytes:
    """Has a service wrap a data key, or unwrap it. Called by the core, from any thread.

    Args:
        service: "aws-kms" or "gcp-kms".
        key: what the service calls its key.
        key_id: what the setting calls it.
        wraps: whether `data` is to be wrapped.
        data: the data key, or what wrapping it gave.

    Raises:
        DeniedError: the service refuses, or its library is not installed.
        UnavailableError: it does not answer.
    """
    asks: Callable[..., bytes] = _ask_amazon if service == "aws-kms" else _ask_google
    with _unheard():
        return asks(key, key_id, data, wraps=wraps)


def _ask_amazon(key: str, _key_id: str, data: bytes, *, wraps: bool) -> bytes:
    try:
        with loading:
            import boto3
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as error:
        raise DeniedError(
            "a key of AWS KMS needs boto3, which is not installed: pip install boto3"
        ) from error
    region = re.match(r"arn:[^:]*:kms:([^:]*):", key)
    patience = Config(
        connect_timeout=_TO_CONNECT,
        read_timeout=_PATIENCE,
        retries={"mode": "standard", "max_attempts": 4},
    )
    context = {"airfreight": _PURPOSE}
    try:
        # (A session of its own: that of the module is shared by threads, which may not make clients
        # of it at once.)
        session = boto3.session.Session()
        client: Any = session.client(
            "kms", region_name=region[1] if region else None, config=patience
        )
        if wraps:
            made: bytes = client.encrypt(KeyId=key, Plaintext=data, EncryptionContext=context)[
                "CiphertextBlob"
            ]
            return made
        opened: bytes = client.decrypt(KeyId=key, CiphertextBlob=data, EncryptionContext=context)[
            "Plaintext"
        ]
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        text = f"AWS KMS answers {code}: {error.response.get('Error', {}).get('Message', '')}"
        if code in _PASSES:
            raise UnavailableError(text) from error
        action = "kms:Encrypt" if wraps else "kms:Decrypt"
        raise DeniedError(f"{text}. The role needs {action} on this key") from error
    except BotoCoreError as error:
        # Credentials that are not there, a region that is not known, a server that is silent.
        text = f"AWS KMS can't be asked: {error}"
        silent = "Connect" in type(error).__name__ or "Timeout" in type(error).__name__
        raise (UnavailableError if silent else DeniedError)(text) from error
    return opened


def _ask_google(key: str, key_id: str, data: bytes, *, wraps: bool) -> bytes:
    try:
        with loading:
            from google.api_core import exceptions
            from google.auth.exceptions import GoogleAuthError
            from google.cloud import kms
    except ImportError as error:
        raise DeniedError(
            "a key of Google's Cloud KMS needs its library, which is not installed: pip install "
            "google-cloud-kms"
        ) from error
    bound = f"airfreight {_PURPOSE}\n{key_id}".encode()
    try:
        # (Over REST: gRPC's threads do not outlive the forks of Airflow's executors.)
        client: Any = kms.KeyManagementServiceClient(transport="rest")
        request = {"name": key, "additional_authenticated_data": bound}
        if wraps:
            wrapped = client.encrypt(request={**request, "plaintext": data}, timeout=_PATIENCE)
            return bytes(wrapped.ciphertext)
        opened = client.decrypt(request={**request, "ciphertext": data}, timeout=_PATIENCE)
        return bytes(opened.plaintext)
    except (exceptions.ServerError, exceptions.TooManyRequests, exceptions.RetryError) as error:
        raise UnavailableError(f"Cloud KMS does not answer: {error}") from error
    except (exceptions.GoogleAPIError, GoogleAuthError) as error:
        role = "Encrypter" if wraps else "Decrypter"
        raise DeniedError(
            f"Cloud KMS answers: {error}. The account needs roles/cloudkms.cryptoKey{role} on this "
            "key"
        ) from error

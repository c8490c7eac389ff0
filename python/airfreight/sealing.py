"""What sealed objects are encrypted under: the setting `seal_keys`, and the services that it names.

The core encrypts (formats/sealed.md). A key of AWS KMS or of Google's Cloud KMS wraps the core's
data keys where the service keeps it; it is asked through its own library, once for each process
that pushes and once for each data key of objects that are read.
"""

from __future__ import annotations

import logging
import os
import re
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from airfreight import _airflow, _checks, _secrets
from airfreight._imports import loading
from airfreight._settings_table import OPTIONS
from airfreight.errors import (
    ConfigError,
    CorruptError,
    DeniedError,
    Error,
    UnavailableError,
    is_of_machine,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airfreight.config import Settings

_OPTION = next(option for option in OPTIONS if option.name == "seal_keys")

#: What a wrapped data key is bound to (formats/sealed.md).
_PURPOSE = "data key 1"
#: Seconds for one request to a service, and to connect to it.
_PATIENCE, _TO_CONNECT = 10, 5
#: Seconds for which a request to Cloud KMS is tried again; botocore counts: four times in all.
_TRIES_FOR = 20.0
#: How often Cloud KMS is asked anew where checksums do not agree ("a limited number of retries":
#: cloud.google.com/kms/docs/data-integrity-guidelines).
_MOST_ALTERED = 3
#: What passes (docs.aws.amazon.com/kms/latest/APIReference/CommonErrors.html).
_PASSES = (
    "DependencyTimeoutException",
    "InternalFailure",
    "KMSInternalException",
    "ServiceUnavailable",
    "ThrottlingException",
)
#: What the other answers of AWS KMS are about
#: (docs.aws.amazon.com/kms/latest/APIReference/API_Decrypt.html#API_Decrypt_Errors).
_NOT_OPENED = ("IncorrectKeyException", "InvalidCiphertextException")
_WHAT_TO_DO = {
    "DisabledException": "The key is disabled: enable it",
    "KMSInvalidStateException": "The key is to be deleted, or lies in another store that is "
    "away: `aws kms describe-key` tells its state",
    "NotFoundException": "There is no such key in this account and region: compare seal_keys with "
    "`aws kms list-keys`, and name a key of elsewhere by its ARN",
    "ExpiredTokenException": "The credentials have run out",
    "InvalidClientTokenId": "Nobody has such credentials",
    "UnrecognizedClientException": "Nobody has such credentials",
    "SignatureDoesNotMatch": "The secret of the credentials is another one",
    "InvalidSignatureException": "The secret of the credentials is another one",
}
#: Those that are about the credentials alone.
_OF_CREDENTIALS = (
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
)
#: Characters of a message that are told.
_MOST_SAID = 400
#: Where boto3 looks for them: docs/encryption.md.
_CREDENTIALS = (
    "boto3 looks for credentials in the environment, in ~/.aws and at the machine's role, and not "
    "in an Airflow connection"
)
#: Loggers of the libraries that tell, of level DEBUG, requests and answers as they are: data keys.
_TELLING = (
    "botocore.endpoint",
    "botocore.parsers",
    "google.auth.transport.requests",
    "google.cloud.kms_v1.services.key_management_service.client",
    "google.cloud.kms_v1.services.key_management_service.transports.rest",
)
_SERVICES = {"aws-kms": "AWS KMS", "gcp-kms": "Cloud KMS"}
#: Answers that are kept meanwhile: as many as the core keeps data keys.
_MOST_KNOWN = 4096
_known: dict[tuple[str, str, str, bool, bytes], bytes] | None = None
# By process id: a forked child makes its own, as sockets are not for two.
_clients: dict[tuple[int, str], Any] = {}
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
        ConfigError: where it comes from gives none, or what names a key of a service does not.
    """
    text = _secrets.read(_OPTION)
    for number, entry in enumerate(text.replace(",", " ").split(), 1):
        service, _, name = entry.partition(":")[2].partition(":")
        if name and (wrong := _checks.service_key(service, name)):
            raise ConfigError(f"[airfreight] seal_keys: of key {number} {wrong}")
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


@contextmanager
def asking_once() -> Iterator[None]:
    """Asks the same of a service once only: what one process has pushed has one data key.

    (The core keeps the data keys of pulls. `airfreight rekey` looks at object after object.)
    """
    global _known  # noqa: PLW0603
    _known = {}
    try:
        yield
    finally:
        _known = None


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
        CorruptError: it is not what this key has wrapped.
        UnavailableError: it does not answer, or not so that its library could read it.
    """
    asks: Callable[..., bytes] = _ask_amazon if service == "aws-kms" else _ask_google
    question = (service, key, key_id, wraps, data)
    known = _known
    if known is not None and question in known:
        return known[question]
    with _unheard():
        try:
            answer = asks(key, key_id, data, wraps=wraps)
        except UnavailableError as error:
            error.service_code = service  # (By which it is known that it is not the store.)
            raise
        except (Error, MemoryError):
            raise
        except Exception as error:
            if type(error).__module__.startswith("airflow."):  # The task is told to stop.
                raise
            # (Its text may hold what came: a data key.)
            raise UnavailableError(
                f"{_SERVICES[service]} was asked under the key that seal_keys names, and its "
                f"library can't read what came: {type(error).__name__}. A proxy may have answered "
                "in its place, or something else goes by the address that is set for it",
                service_code=service,
                retryable=True,
            ) from None
    if known is not None:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[question] = answer
    return answer


def forget() -> None:
    """Drops what asks the services, so that it is made of the environment anew (for tests)."""
    _clients.clear()


def _client(name: str, make: Callable[[], Any]) -> Any:
    """What asks a service: made once for each process, for its threads, which all of them allow.

    Making one takes longer than asking it: it reads models, or asks the machine who it is.
    """
    key = os.getpid(), name
    made = _clients.get(key)
    if made is not None:
        return made
    try:
        return _clients.setdefault(key, make())
    except (OSError, TypeError, ValueError) as error:
        if is_of_machine(error):
            raise
        # (Its text may hold what was set: an address with a password in it.)
        raise DeniedError(
            "the service of the key that seal_keys names can't be asked: its library makes no "
            f"client of what is set here ({type(error).__name__}). Look at the addresses that "
            "AWS_ENDPOINT_URL_KMS, AWS_ENDPOINT_URL and ~/.aws/config give, as "
            "https://kms.eu-central-1.amazonaws.com, and at the credentials"
        ) from None


def _drop(name: str) -> None:
    """Has the next one who asks make a client: credentials are read when one is made.

    (Where they come with a date, both libraries read them again before that. Those in a file, which
    somebody else replaces, come without, as do those that were not there yet.)
    """
    _clients.pop((os.getpid(), name), None)


def _ask_amazon(key: str, key_id: str, data: bytes, *, wraps: bool, anew: bool = False) -> bytes:
    try:
        with loading:
            import boto3
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as error:
        raise DeniedError(
            "a key of AWS KMS needs boto3, which is not installed: pip install boto3"
        ) from error
    # (Of a key that is no ARN boto3 takes AWS_DEFAULT_REGION and no AWS_REGION, which the store
    # and all other programs of AWS's take.)
    named = re.match(r"arn:[^:]*:kms:([^:]*):", key)
    region = named[1] if named else os.environ.get("AWS_REGION")
    patience = Config(
        connect_timeout=_TO_CONNECT,
        read_timeout=_PATIENCE,
        retries={"mode": "standard", "total_max_attempts": 4},
    )
    context = {"airfreight": _PURPOSE}
    name = region or ""
    kept = (os.getpid(), name) in _clients
    try:
        # (A session of its own: that of the module is shared by threads, which may not make clients
        # of it at once.)
        client = _client(
            name,
            lambda: boto3.session.Session().client(
                "kms", region_name=region or None, config=patience
            ),
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
        wrong = _amazons(error, wraps=wraps)
        if wrong.service_code in _OF_CREDENTIALS:
            _drop(name)
            if kept and not anew:
                return _ask_amazon(key, key_id, data, wraps=wraps, anew=True)
        raise wrong from error
    except BotoCoreError as error:
        # Credentials that are not there, a region that is not known, a server that is silent.
        text, kind = f"AWS KMS can't be asked: {error}", type(error).__name__
        if "Connect" in kind or "Timeout" in kind:
            raise UnavailableError(text, retryable=True) from error
        _drop(name)
        if "Region" in kind:
            text = f"{text.rstrip('.')}: set AWS_REGION, or name the key by its ARN"
        elif "Credential" in kind:
            text = f"{text}. {_CREDENTIALS}"
        raise DeniedError(text) from error
    return opened


def _short(said: Any) -> str:
    """What a service says, for a message."""
    return " ".join(str(said or "").split())[:_MOST_SAID]


def _amazons(error: Any, *, wraps: bool) -> Error:
    """What an answer of AWS KMS means."""
    told = error.response.get("Error", {})
    # (Where it is no answer of the service's, but that of a proxy's, it is a whole page.)
    code, said = told.get("Code", ""), _short(told.get("Message"))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    text = f"AWS KMS answers {code}: {said}".rstrip(" :.")
    if code in _PASSES or status == 429 or status >= 500:
        return UnavailableError(text, http_status=status, service_code=code, retryable=True)
    if code in _NOT_OPENED:
        return CorruptError(
            f"{text}. The wrapped data key was damaged or changed, or another key of AWS KMS went "
            "under this id when it was wrapped: seal_keys has to name that one",
            http_status=status,
            service_code=code,
        )
    action = "kms:Encrypt" if wraps else "kms:Decrypt"
    advice = _WHAT_TO_DO.get(code, f"The role needs {action} on this key")
    return DeniedError(f"{text}. {advice}", http_status=status, service_code=code)


def _google_client() -> Any:
    from google.cloud import kms

    # (Over REST: gRPC's threads do not outlive the forks of Airflow's executors.)
    return kms.KeyManagementServiceClient(transport="rest")


def _ask_google(key: str, key_id: str, data: bytes, *, wraps: bool, anew: bool = False) -> bytes:
    try:
        with loading:
            import google.cloud.kms  # noqa: F401
            from google.api_core import exceptions
            from google.api_core.retry import Retry, if_exception_type
            from google.auth.exceptions import GoogleAuthError, TransportError
            from requests.exceptions import ConnectionError as Unconnected
            from requests.exceptions import Timeout

            from airfreight._core import crc32c
    except ImportError as error:
        raise DeniedError(
            "a key of Google's Cloud KMS needs its library, which is not installed: pip install "
            "google-cloud-kms"
        ) from error
    passes = (
        *(exceptions.ServerError, exceptions.TooManyRequests, exceptions.RetryError),
        *(TransportError, Unconnected, Timeout),
    )
    # (The library's own tries again for a minute, and of 503 only.)
    again = Retry(if_exception_type(*passes), initial=0.1, maximum=2.0, timeout=_TRIES_FOR)
    bound = f"airfreight {_PURPOSE}\n{key_id}".encode()
    request = {
        "name": key,
        "additional_authenticated_data": bound,
        "additional_authenticated_data_crc32c": crc32c(bound),
        "plaintext" if wraps else "ciphertext": data,
        "plaintext_crc32c" if wraps else "ciphertext_crc32c": crc32c(data),
    }
    kept = (os.getpid(), "google") in _clients
    try:
        client = _client("google", _google_client)
        ask = client.encrypt if wraps else client.decrypt
        for _ in range(_MOST_ALTERED):
            try:
                answer = ask(request=request, retry=again, timeout=_PATIENCE)
            except exceptions.BadRequest as error:
                if "checksum" in error.message:  # What came there is not what was sent.
                    continue
                raise
            made = bytes(answer.ciphertext if wraps else answer.plaintext)
            sum_of_it = answer.ciphertext_crc32c if wraps else answer.plaintext_crc32c
            if sum_of_it == crc32c(made) and (not wraps or _is_of(answer, key)):
                return made
    except passes as error:
        raise UnavailableError(f"Cloud KMS does not answer: {error}", retryable=True) from error
    except (exceptions.GoogleAPIError, GoogleAuthError) as error:
        if isinstance(error, (exceptions.Unauthorized, GoogleAuthError)):
            _drop("google")
            if kept and not anew:
                return _ask_google(key, key_id, data, wraps=wraps, anew=True)
        raise _googles(error, wraps=wraps) from error
    raise UnavailableError(
        f"Cloud KMS was asked {_MOST_ALTERED} times, and each time something on the way changed "
        "what was sent or what came back: their checksums do not agree",
        retryable=True,
    )


def _is_of(answer: Any, key: str) -> bool:
    """Whether what was wrapped is what was sent, and the key that did it the one that was meant.

    (Projects have an id and a number, so that they are not compared.)
    """
    verified = answer.verified_plaintext_crc32c and (
        answer.verified_additional_authenticated_data_crc32c
    )
    return bool(verified) and f"/{key.partition('/locations/')[2]}/" in answer.name


def _googles(error: Any, *, wraps: bool) -> Error:
    """What an answer of Cloud KMS means."""
    said = _short(getattr(error, "message", "") or error)
    status = int(getattr(error, "code", None) or 0)
    role = "roles/cloudkms.cryptoKey" + ("Encrypter" if wraps else "Decrypter")
    if getattr(error, "retryable", False):  # Nobody gives a token at the moment.
        return UnavailableError(f"Cloud KMS can't be asked: {said}", retryable=True)
    if not status:  # Nobody was asked.
        return DeniedError(
            f"Cloud KMS can't be asked: {said}. Google's library looks for credentials in "
            "GOOGLE_APPLICATION_CREDENTIALS, in those of gcloud and at the machine's account, and "
            "not in an Airflow connection"
        )
    # cloud.google.com/apis/design/errors#error_payloads: over REST two of them are a 400.
    kind = ""
    with suppress(AttributeError, KeyError, TypeError, ValueError):
        kind = error.response.json()["error"]["status"]
    text = f"Cloud KMS answers {kind or status}: {said}".rstrip(" .")
    if kind == "FAILED_PRECONDITION":
        advice = (
            "Where its version is disabled or to be destroyed, enable or restore that: `gcloud kms "
            "keys versions list` tells"
        )
    elif kind == "INVALID_ARGUMENT" and not wraps:
        return CorruptError(
            f"{text}. The wrapped data key was damaged or changed, or another key of Cloud KMS "
            "went under this id when it was wrapped: seal_keys has to name that one",
            http_status=status,
            service_code=kind,
        )
    elif status == 404:
        advice = "There is no such key: compare seal_keys with `gcloud kms keys list`"
    else:
        advice = f"The account needs {role} on this key"
    return DeniedError(f"{text}. {advice}", http_status=status, service_code=kind)

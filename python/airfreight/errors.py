"""What can go wrong, one class for each kind (the codes of `include/airfreight/result.h`).

Every message says what happened, to which XCom, where, and what to do about it. No message holds a
value or a secret.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Attributes beside the message, in the order in which `str()` shows them.
_ATTRIBUTES = (
    "dag",
    "run",
    "task",
    "map_index",
    "xcom_key",
    "uri",
    "store",
    "key",
    "http_status",
    "service_code",
    "request_id",
    "retryable",
    "rule",
)


#: Services that keep the keys of sealed values: the `service_code` of an error says that one of
#: them is away, and not the store.
KEY_SERVICES = frozenset(("aws-kms", "gcp-kms"))


class Error(Exception):
    """The base of all of Airfreight's errors.

    Attributes:
        message: what happened.
        code: the kind, e.g. "NotFound".
        dag, run, task, map_index, xcom_key: the XCom, as far as it is known; None otherwise.
        uri: the object, when it is known.
        store, key: the store's root and the key within it.
        http_status, service_code, request_id: what the store answered; 0 or "" when it did not.
            Where what keeps the keys is away, `service_code` is one of KEY_SERVICES.
        retryable: whether the same operation may succeed later.
        rule: the rule of the policy that the value was pushed under, with its line; or "".
    """

    code = "Internal"
    #: What to do about it, when there is something to do.
    advice = ""

    def __init__(
        self,
        message: str,
        *,
        dag: str | None = None,
        run: str | None = None,
        task: str | None = None,
        map_index: int | None = None,
        xcom_key: str | None = None,
        uri: str = "",
        store: str = "",
        key: str = "",
        http_status: int = 0,
        service_code: str = "",
        request_id: str = "",
        retryable: bool = False,
        rule: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.dag = dag
        self.run = run
        self.task = task
        self.map_index = map_index
        self.xcom_key = xcom_key
        self.uri = uri
        self.store = store
        self.key = key
        self.http_status = http_status
        self.service_code = service_code
        self.request_id = request_id
        self.retryable = retryable
        self.rule = rule

    @property
    def outage(self) -> bool:
        """Whether the store is away, as all retries have found: it is not this value's fault."""
        return is_away(self) and self.service_code not in KEY_SERVICES

    def __reduce__(self) -> tuple[Any, ...]:
        attributes = {name: getattr(self, name) for name in _ATTRIBUTES}
        return _rebuild, (type(self), self.message, attributes)

    def __str__(self) -> str:
        parts = [self.message]
        if place := self._place():
            parts.append(f"[{place}]")
        if self.advice and self._is_advised():
            task = f"task '{self.task}'" if self.task else "the task that pushed it"
            advice = self.advice.format(task=task)
            if self.service_code in KEY_SERVICES:
                advice = advice.replace("the store answers", "what keeps the key answers")
            parts.append(advice)
        return " ".join(parts)

    def _is_advised(self) -> bool:
        """Whether the advice of the kind is one for this error."""
        return True

    def _place(self) -> str:
        """Names the XCom, the object and the answer, without what the message already says."""
        said = self.message
        parts = []
        for label, value in (
            ("dag", self.dag),
            ("run", self.run),
            ("task", self.task),
            ("key", self.xcom_key),
        ):
            if value is not None and f"{label} '{value}'" not in said:
                parts.append(f"{label} '{value}'")
            if label == "task" and self.map_index is not None:
                text = f"map index {self.map_index}"
                if text not in said:
                    parts.append(text)
        if self.rule and self.rule.partition(", line ")[0] not in said:
            parts.append(self.rule)
        uri = self.uri or (f"{self.store}/{self.key}" if self.store and self.key else self.store)
        if uri and uri not in said:
            parts.append(uri)
        if self.http_status and f"HTTP {self.http_status}" not in said:
            parts.append(f"HTTP {self.http_status}")
        if self.service_code and self.service_code not in said:
            parts.append(self.service_code)
        if self.request_id and self.request_id not in said:
            parts.append(f"request {self.request_id}")
        # What a row names may hold line feeds, which would make lines of a log, or no text at all.
        place = ", ".join(parts)
        return "".join(it if it.isprintable() else ascii(it)[1:-1] for it in place)

    def name_xcom(self, fields: Mapping[str, Any]) -> None:
        """Adds what a reference (or a coordinate of the same names) tells, where not yet known."""
        for attribute, field, kind in (
            ("dag", "dag", str),
            ("run", "run", str),
            ("task", "task", str),
            ("map_index", "map", int),
            ("xcom_key", "key", str),
        ):
            value = fields.get(field)
            if getattr(self, attribute) is None and isinstance(value, kind):
                setattr(self, attribute, value)
        uri = fields.get("uri")
        if not self.uri and isinstance(uri, str):
            self.uri = uri


class NotFoundError(Error):
    """The row is there, its object is not."""

    code = "NotFound"
    advice = (
        "It was deleted after the row was written (a lifecycle rule, a clean-up?). Clear and rerun "
        "{task} to write it again."
    )


class NotFoundOrDeniedError(NotFoundError):
    """S3 answers 403 for a missing object to those who may not list the bucket: either cause."""

    code = "NotFoundOrDenied"
    advice = (
        "S3 answers 403 both for a missing object and for a missing permission when "
        "s3:ListBucket is "
        "not granted. Check s3:GetObject on this key; if it is granted, the object is gone: "
        "clear and "
        "rerun {task}."
    )


class CorruptError(Error):
    """The object is there and is not what was written: it is damaged."""

    code = "Corrupt"
    advice = "The object is damaged. Clear and rerun {task} to write it again."


class ReplacedError(Error):
    """A whole object is there, but a later write put it there."""

    code = "Replaced"
    advice = (
        "The object was written again after this row was read. Pull again; if that fails too, "
        "clear "
        "and rerun {task}."
    )


class ExpiredError(Error):
    """The retention of the value has passed: whether it is there or not, it is not read."""

    code = "Expired"
    advice = (
        "Nothing is lost that was to be kept. Clear and rerun {task} to write it again; to keep "
        "values longer, change retention in the policy (docs/policy.md)."
    )


class SupersededError(Error):
    """A push came too late: a newer attempt of the same task instance has already written."""

    code = "Superseded"
    advice = (
        "Nothing is to be done: what the newer attempt has pushed stays, and this one was given up."
    )


class ForgedError(Error):
    """A reference that contradicts itself, is another row's, or whose signature does not hold."""

    code = "Forged"
    advice = (
        "Nothing was read. If somebody copied or changed the row by hand, clear and rerun {task} "
        "to write it again; if nobody should have, find out who writes to Airflow's database "
        "(docs/signing.md)."
    )


class OutOfScopeError(Error):
    """A reference that points outside the stores and prefixes that are allowed."""

    code = "OutOfScope"
    advice = (
        "If the store was moved or renamed, name the old one in [airfreight] read_also, e.g. "
        "AIRFLOW__AIRFREIGHT__READ_ALSO=s3://old-bucket/xcom. If nobody has moved it, find out who "
        "writes to Airflow's database (docs/signing.md)."
    )


class NewerFormatError(Error):
    """Written by a release whose format this one does not know."""

    code = "NewerFormat"
    advice = "Install the newer release of airfreight in this environment too."


class DeniedError(Error):
    """The store refused the credentials or the action."""

    code = "Denied"
    advice = "`airfreight iam-policy` prints what the workers' role has to be allowed."

    def _is_advised(self) -> bool:
        """Not where a key is lacking to open what is sealed: no role helps."""
        return "not among the keys here" not in self.message


class UnavailableError(Error):
    """The store could not be reached or is failing."""

    code = "Unavailable"
    advice = "Nothing is lost by it: run the task again when the store answers."

    def _is_advised(self) -> bool:
        """Not of what does not go by itself: a certificate, say."""
        return self.retryable


class ThrottledError(UnavailableError):
    """The store asked us to slow down."""

    code = "Throttled"
    advice = (
        "Run the task again later, with fewer tasks beside it, or with a smaller [airfreight] "
        "max_connections."
    )


class DeadlineError(Error, TimeoutError):
    """The time that an operation may take has passed."""

    code = "Timeout"


class CancelledError(Error):
    """The caller asked to stop."""

    code = "Cancelled"


class TooLargeError(Error):
    """Above a limit of the store or of the settings."""

    code = "TooLarge"


class UnsupportedError(Error):
    """The store, or this environment, does not have what is asked for."""

    code = "Unsupported"


class InvalidError(Error, ValueError):
    """A wrong argument."""

    code = "Invalid"


class ConfigError(InvalidError):
    """A wrong setting. The message names it, says what it was and shows a right one."""

    code = "Invalid"


class InternalError(Error):
    """A fault of Airfreight itself, or an answer that no specification allows."""

    code = "Internal"


_BY_CODE: dict[str, type[Error]] = {
    "NotFound": NotFoundError,
    "NotFoundOrDenied": NotFoundOrDeniedError,
    "Corrupt": CorruptError,
    "Replaced": ReplacedError,
    "Expired": ExpiredError,
    "Superseded": SupersededError,
    "Forged": ForgedError,
    "OutOfScope": OutOfScopeError,
    "NewerFormat": NewerFormatError,
    "Denied": DeniedError,
    "Throttled": ThrottledError,
    "Unavailable": UnavailableError,
    "Timeout": DeadlineError,
    "Cancelled": CancelledError,
    "TooLarge": TooLargeError,
    "Unsupported": UnsupportedError,
    "Invalid": InvalidError,
    # (Of pushes and pulls it never leaves the core; administration names versions itself.)
    "ConditionFailed": ReplacedError,
    "Internal": InternalError,
}


def from_core(
    code: str,
    message: str,
    store: str,
    key: str,
    http_status: int,
    service_code: str,
    request_id: str,
    retryable: bool,
) -> Error:
    """Makes the exception for an error of the native core; called by the bindings."""
    return _BY_CODE.get(code, InternalError)(
        message,
        store=store,
        key=key,
        http_status=http_status,
        service_code=service_code,
        request_id=request_id,
        retryable=retryable,
    )


def is_away(error: Error) -> bool:
    """Whether the store is away, or what keeps the keys: others will fare no better."""
    return error.retryable and isinstance(error, (UnavailableError, DeadlineError))


def is_of_machine(error: BaseException) -> bool:
    """Whether an error of a decoder tells of this machine (no room, no descriptors), not of bytes.

    Libraries raise an OSError of bytes that they can't read too: without a number.
    """
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


def _rebuild(cls: type[Error], message: str, attributes: dict[str, Any]) -> Error:
    return cls(message, **attributes)

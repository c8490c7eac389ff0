"""The settings of section `[airfreight]`, parsed once and lazily.

Two readers: the check when Airflow imports the backend, which reads texts only and logs what is
wrong; and `settings()` at first use, which raises ConfigError with the same words.
"""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airfreight import _airflow, _checks
from airfreight._imports import loading
from airfreight._settings_table import (
    BY_NAME,
    ENDINGS,
    ENVIRONMENT_PREFIX,
    OPTIONS,
    SECTION,
    Option,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from airfreight.rules import Policy

_log = logging.getLogger("airfreight")

_TRUE = ("true", "t", "1", "yes", "on")
#: How a boolean may say no.
FALSE = ("false", "f", "0", "no", "off")
#: Executors whose tasks run on the scheduler's own machine.
_LOCAL_EXECUTORS = ("LocalExecutor", "SequentialExecutor", "DebugExecutor")
#: Options beside those of the table: where a secret comes from.
_SECRETS = {option.name + ending for option in OPTIONS if option.secret for ending in ENDINGS}
#: Where an `@` stands for a connection, and not for a password.
_STORES = ("store", "read_also")
#: What else than kind and range is asked of a text.
_TEXTS = {
    "s3_endpoint_url": _checks.endpoint_url,
    "s3_region": _checks.region,
    "gs_endpoint_url": _checks.endpoint_url,
    "gs_kms_key_name": _checks.gs_kms_key_name,
    "gs_user_project": _checks.gs_user_project,
    "redis_sentinels": _checks.redis_sentinels,
    "seal_keys": _checks.seal_keys,
    "signing_keys": _checks.signing_keys,
    "accept_unsigned_until": _checks.moment,
    "az_endpoint_url": _checks.endpoint_url,
    "az_account": _checks.az_account,
    "az_tenant_id": _checks.az_id,
    "az_client_id": _checks.az_id,
    "az_encryption_scope": _checks.az_encryption_scope,
}


@dataclass(frozen=True)
class Settings:
    """The settings of this process. Immutable.

    Attributes:
        store: URI of the store that is written to.
        threshold: bytes of JSON that stay in the row; 0: none; -1: write as the default backend.
        read_also: URIs of further stores that may be read.
        digest: "crc32c" or "sha256".
        compression: of tables: "snappy", "zstd", "lz4" or "none".
        format: of tables: "parquet" or "arrow".
        pickle: "never" or "allow": what else can't be kept is pickled, and pickles are read.
        timeout: seconds for which a request that fails is tried again.
        max_object_bytes: 0: no limit of ours.
        transfer_memory: bytes that transfers may hold; 0: by what the machine has.
        slots: tasks that share the machine's memory.
        max_connections: requests at once for one value or list.
        outage: "fail" or "inline": what becomes of a push whose store is away.
        inline_max_bytes: the most bytes that stay in a row then.
        deployment_id: goes into references as their owner.
        seal: whether objects are encrypted on their way out; the keys are not here, see `sealing`.
        refuse_unsealed: whether a pull refuses what is not, where `seal` asks for it.
        signing: "off", "auto" or "required"; the keys are not here, see `signing.seal`.
        accept_unsigned_until: seconds since 1970; 0: unsigned references are not followed.
        log_return_values: whether Python tasks log what they return.
        render_whole_arguments: whether Airflow makes text of all of a Python task's arguments.
        describe: what references tell of values: "full", "schema" or "size".
        preview_rows: rows of tables that references show.
        redact: patterns of columns whose cells are not shown there.
        store_settings: per kind of store, the settings that were set, by the core's names.
        stores: further stores, which the policy names: URI, and settings over those of its kind.
        policy: the rules, where there are some.
        aliases: pairs of places, of which the second is read in place of the first.
    """

    store: str
    threshold: int = 32768
    read_also: tuple[str, ...] = ()
    digest: str = "crc32c"
    compression: str = "snappy"
    format: str = "parquet"
    pickle: str = "never"
    timeout: float = 60.0
    max_object_bytes: int = 0
    transfer_memory: int = 0
    slots: int = 1
    max_connections: int = 16
    outage: str = "fail"
    inline_max_bytes: int = 262144
    deployment_id: str = ""
    seal: bool = False
    refuse_unsealed: bool = False
    signing: str = "auto"
    accept_unsigned_until: int = 0
    log_return_values: bool = False
    render_whole_arguments: bool = True
    describe: str = "schema"
    preview_rows: int = 0
    redact: tuple[str, ...] = ()
    store_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stores: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    aliases: tuple[tuple[str, str], ...] = ()
    policy: Policy | None = None


_settings: Settings | None = None


def settings() -> Settings:
    """Returns the settings; reads them at the first call.

    Raises:
        ConfigError: one or several settings are wrong; the message names each.
    """
    global _settings  # noqa: PLW0603 (read once per process)
    if _settings is None:
        _settings = parse(read(), executor=_airflow.executor(), home=_airflow.home())
    return _settings


_peeked: tuple[dict[str, str], Settings | None] | None = None


def peek() -> Settings | None:
    """Returns the settings as they are by now, for whom they don't become final; None if wrong.

    What reads a DAG comes before the task itself, which may still set variables for itself.
    """
    global _peeked  # noqa: PLW0603 (parsed once while nothing changes)
    texts = read()
    if _peeked is None or _peeked[0] != texts:
        parsed, problems = _parse(texts, executor=_airflow.executor(), home=_airflow.home())
        _peeked = texts, None if problems else parsed
    return _peeked[1]


def forget() -> None:
    """Drops what was read, so that the next call reads again (for tests)."""
    global _settings  # noqa: PLW0603
    _settings = None


def read() -> dict[str, str]:
    """The texts of the section: environment variables over `airflow.cfg`."""
    texts = _airflow.file_options(SECTION)
    for name, value in os.environ.items():
        if name.startswith(ENVIRONMENT_PREFIX):
            texts[name[len(ENVIRONMENT_PREFIX) :].lower()] = value
    return texts


def check() -> None:
    """Logs what is wrong with the settings; raises nothing and opens nothing."""
    try:
        _, doubts, problems = review()
        for doubt in doubts:
            _log.warning("%s", doubt)
        for problem in problems:
            _log.error("%s", problem)
    except Exception:  # noqa: BLE001 (a check must not keep Airflow from starting)
        _log.exception("Airfreight could not check its settings")


def review() -> tuple[Settings | None, list[str], list[str]]:
    """The settings, where they are right; names that are probably others; and what is wrong."""
    texts = read()
    doubts = [_unknown(name) for name in texts if name not in BY_NAME and name not in _SECRETS]
    doubts += [
        f"{name} is not a setting of Airflow; did you mean {right}?"
        for name in os.environ
        if "AIRFREIGHT" in name.upper() and (right := _near_miss(name))
    ]
    parsed, problems = _parse(texts, executor=_airflow.executor(), home=_airflow.home())
    return parsed, doubts, problems


def parse(texts: Mapping[str, str], *, executor: str, home: str) -> Settings:
    """Makes settings of texts.

    Raises:
        ConfigError: naming every wrong setting, what it was, and a right one.
    """
    parsed, problems = _parse(texts, executor=executor, home=home)
    if problems or parsed is None:
        with loading:
            from airfreight.errors import ConfigError

        raise ConfigError(" ".join(problems))
    return parsed


def _parse(
    texts: Mapping[str, str], *, executor: str, home: str
) -> tuple[Settings | None, list[str]]:
    problems: list[str] = []
    values: dict[str, str] = {}
    for option in OPTIONS:
        text = texts.get(option.name, "").strip()
        if not text:
            continue
        problem = wrong(option, text)
        if problem:
            problems.append(_complaint(option, text, problem))
        else:
            values[option.name] = text

    store = values.get("store") or f"file://{home.rstrip('/')}/airfreight"
    problems += _store_problems(
        BY_NAME["store"],
        store,
        explicit="store" in texts and bool(texts["store"].strip()),
        executor=executor,
        shared=boolean(values.get("file_store_shared", "False")),
    )
    read_also = tuple(part for part in re.split(r"[\s,]+", values.get("read_also", "")) if part)
    for uri in read_also:
        if problem := _checks.store_uri(uri):
            # A secret may hold a comma, by which the list was taken apart.
            secret = _checks.may_tell_secret(values["read_also"])
            problems.append(_complaint(BY_NAME["read_also"], uri, problem, secret=secret))
    problems += _encryption_problems(values)
    if boolean(values.get("seal", "False")) and values.get("threshold") == "-1":
        problems.append(
            f"[{SECTION}] seal = True asks that all values are encrypted, and threshold = -1 "
            "leaves them in their rows as they are. Leave out one of them; for some DAGs alone, "
            "let a rule of the policy say seal = true"
        )
    policy = None
    if "policy" in values or "policy_file" in values:
        # Without `loading`: the first time is while Airflow is imported, see there.
        from airfreight import _stores, rules

        try:
            policy, wrong_rules = rules.read(values)
        except ImportError as error:  # Of the extension, which reads the policy.
            wrong_rules = [
                f"[{SECTION}] policy can't be read: airfreight's extension does not load ({error})"
            ]
        problems += wrong_rules
        if policy is not None:
            of_stores = _stores.problems(
                policy,
                others=(store, *read_also),
                executor=executor,
                shared=boolean(values.get("file_store_shared", "False")),
            )
            problems += of_stores or _stores.of_rules(policy, store)
    if problems:
        return None, problems

    store_settings: dict[str, dict[str, str]] = {}
    for option in OPTIONS:
        if option.store and option.name in values:
            text = values[option.name]
            if option.kind == "boolean":
                text = "true" if boolean(text) else "false"
            store_settings.setdefault(option.store, {})[option.setting] = text
    return (
        Settings(
            store=store,
            threshold=int(values.get("threshold", "32768")),
            read_also=read_also,
            digest=values.get("digest", "crc32c"),
            compression=values.get("compression", "snappy"),
            format=values.get("format", "parquet"),
            pickle=values.get("pickle", "never"),
            timeout=float(values.get("timeout", "60")),
            max_object_bytes=int(values.get("max_object_bytes", "0")),
            transfer_memory=int(values.get("transfer_memory", "0")),
            slots=_airflow.slots(executor),
            max_connections=int(values.get("max_connections", "16")),
            outage=values.get("outage", "fail"),
            inline_max_bytes=int(values.get("inline_max_bytes", "262144")),
            deployment_id=values.get("deployment_id", ""),
            seal=boolean(values.get("seal", "False")),
            refuse_unsealed=boolean(values.get("refuse_unsealed", "False")),
            signing=values.get("signing", "auto"),
            accept_unsigned_until=_checks.seconds(values.get("accept_unsigned_until", "")) or 0,
            log_return_values=boolean(values.get("log_return_values", "False")),
            render_whole_arguments=boolean(values.get("render_whole_arguments", "True")),
            describe=values.get("describe", "schema"),
            preview_rows=int(values.get("preview_rows", "0")),
            redact=tuple(filter(None, map(str.strip, values.get("redact", "").split(",")))),
            store_settings=store_settings,
            policy=policy,
            stores=policy.stores if policy is not None else {},
            aliases=policy.aliases if policy is not None else (),
        ),
        [],
    )


def wrong(option: Option, text: str) -> str:
    """Why a text is not right for an option; empty when it is."""
    if option.choices and text not in option.choices:
        return "must be " + _one_of(option.choices)
    if option.kind == "boolean" and text.lower() not in (*_TRUE, *FALSE):
        return "must be True or False"
    if option.kind in ("integer", "number"):
        integer = option.kind == "integer"
        noun = "a whole number" if integer else "a number of seconds"
        # Narrower than int() and float(), as the core is: no `1_0`, no `+10`, no `nan`.
        pattern = r"-?[0-9]+" if integer else r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
        if not re.fullmatch(pattern, text):
            return f"must be {noun}"
        number = int(text) if integer else float(text)
        if option.minimum is not None and number < option.minimum:
            return f"must be {noun}, {option.minimum:g} or above"
        if option.maximum is not None and number > option.maximum:
            return f"must be {noun}, {option.maximum} or below"
    check = _TEXTS.get(option.name)
    return check(text) if check is not None else ""


def _store_problems(
    option: Option, uri: str, *, explicit: bool, executor: str, shared: bool
) -> list[str]:
    if problem := _checks.store_uri(uri):
        return [_complaint(option, uri, problem)]
    if _checks.is_directory(uri) and not shared and (remote := distributed(executor)):
        was = f"it was {uri!r}" if explicit else f"it is not set, so that it would be {uri!r}"
        complaint = (
            f"[{SECTION}] {option.name} ({option.environment_name}) must not be a directory under "
            f"{remote}, whose tasks run on other machines; {was}. Set it to an object store, e.g. "
            f"{option.environment_name}=s3://bucket/xcom; if every worker sees this directory, set "
            f"{BY_NAME['file_store_shared'].environment_name}=True."
        )
        return [complaint]
    return []


def distributed(executor: str) -> str:
    """The first configured executor that runs tasks on other machines; empty when none does.

    `[core] executor` may list several, each as a class name, a module path, `alias:path` or
    `team=list` (airflow.executors.executor_loader).
    """
    for entry in re.split(r"[,;]", executor):
        name = entry.rpartition("=")[2].rpartition(":")[2].strip().rpartition(".")[2]
        if name and name not in _LOCAL_EXECUTORS:
            return name
    return ""


def _complaint(option: Option, was: str, problem: str, *, secret: bool = False) -> str:
    # A key and a secret before an `@` are a common mistake, and no text for a log.
    secret = (
        secret
        or option.secret
        or _checks.may_tell_secret(was)
        or (option.name not in _STORES and "@" in was)
    )
    shown = "it may hold a secret and is not shown" if secret else f"it was {was!r}"
    return (
        f"[{SECTION}] {option.name} ({option.environment_name}) {problem}; {shown}. "
        f"Example: {option.environment_name}={option.example}"
    )


# What each setting of the encryption needs s3_sse to be; the core has the same rules.
_NEEDS_SSE = {
    "s3_sse_kms_key_id": ("aws:kms", "aws:kms:dsse"),
    "s3_sse_kms_context": ("aws:kms", "aws:kms:dsse"),
    "s3_sse_bucket_key": ("aws:kms",),
}


def _encryption_problems(values: Mapping[str, str]) -> list[str]:
    return [
        _complaint(
            BY_NAME[name], values[name], f"needs {BY_NAME['s3_sse'].environment_name}={right[0]}"
        )
        for name, right in _NEEDS_SSE.items()
        if name in values
        and not (BY_NAME[name].kind == "boolean" and not boolean(values[name]))
        and values.get("s3_sse") not in right
    ]


def _unknown(name: str) -> str:
    right = _nearest(name)
    hint = f"; did you mean {right}?" if right else "."
    return f"[{SECTION}] {name} ({ENVIRONMENT_PREFIX}{name.upper()}) is not an option{hint}"


def _nearest(name: str) -> str:
    try:
        from airfreight import _policy
    except ImportError:  # A broken installation is told by whoever needs more of it than a hint.
        return ""

    # (Of a variable of the environment, whose name may be no text.)
    found = _policy.nearest(name.encode(errors="replace").decode(), list(BY_NAME))
    return BY_NAME[found].environment_name if found else ""


def _near_miss(name: str) -> str:
    """The variable that was meant by one with the wrong number of underscores or no prefix."""
    if name.startswith(ENVIRONMENT_PREFIX):
        return ""  # Unknown options of the section are reported as such.
    squeezed = re.sub(r"_+", "_", name.upper()).strip("_")
    match = re.fullmatch(r"(?:AIRFLOW_)?AIRFREIGHT_(.+)", squeezed)
    return _nearest(match[1]) if match else ""


def boolean(text: str) -> bool:
    """What the text of a boolean says."""
    return text.lower() in _TRUE


def _one_of(choices: Iterable[str]) -> str:
    *head, last = choices
    return f"{', '.join(head)} or {last}" if head else last

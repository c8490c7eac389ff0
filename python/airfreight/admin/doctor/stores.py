"""The stores: whether they answer, as what, over what, and what their buckets are set to."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from airfreight import runtime
from airfreight.admin.doctor import ERROR, NOTE, OK, UNKNOWN, WARNING, Finding
from airfreight.cli import checks
from airfreight.config import settings
from airfreight.errors import Error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from airfreight.admin.doctor import Asked
    from airfreight.runtime import Store

#: S3 refuses requests whose clock is off by more (RequestTimeTooSkewed:
#: docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html); retentions allow for five minutes
#: (kClockDifference in `src/freight/retention.h`).
_SKEW_ERROR, _SKEW_WARNING = 900, 300
_LOOPBACK = ("127.", "localhost", "[::1]")
#: DAG of the probe that is written.
PROBE_DAG = "airfreight-doctor"
_PROBE_SECONDS = 3600
_PROBE = b"written by `airfreight doctor`; may be removed\n"
#: Of an object's metadata, percent-encoded: src/freight/attempt.cc.
_OWNER = "af-owner"
#: Objects whose owner is looked at.
_LOOKED_AT = 20
#: In warnings of `policy check` that a doctor tells where they belong.
_ELSEWHERE = ("is not an option", "is not a setting", "answers 403 to a look")
_LIFECYCLE = "put the rules that `airfreight lifecycle` prints to the bucket"
_MAY_ASK = "for an answer, allow the role what `airfreight iam-policy --role doctor` prints"


def look(asked: Asked) -> Iterator[Finding]:
    """Each store of the settings."""
    # (Its connections, whether it answers, and what is wrong with the policy: as `policy check`.)
    found = checks.check(texts_only=False)
    for text in found.errors:
        yield Finding("stores", ERROR, text, "correct what is named")
    for text in found.warnings:
        # (Names are told with the settings, and what a store does not show with the store.)
        if not any(words in text for words in _ELSEWHERE):
            yield Finding("policy", WARNING, text, "correct the rule")
    for store, about in zip(runtime.listed(), found.stores, strict=True):
        area = f"store {store.name or store.uri}"
        if about.state == "can't be used":
            continue
        yield _diagnosable(area, store, about.state, asked)
        yield from _of_one(area, store, asked)


def _diagnosable(area: str, store: Store, state: str, asked: Asked) -> Finding:
    text = f"{store.uri} {state}"
    if store.connection[1] not in ("s3", "gs", "az"):
        return Finding(area, OK, text)
    if state == "answers":
        return Finding(area, OK, f"{text}; tells a missing object from a forbidden one")
    text += " (strict): a missing object is a NotFoundOrDeniedError"
    fix = "to be told which, allow what `airfreight iam-policy --mode diagnosable` prints"
    if asked.write:
        return Finding(area, OK, text, fix)
    # Whoever may do nothing at all is answered in the same way.
    return Finding(
        area,
        UNKNOWN,
        f"{text}. Whether the role may do more than that is told by a probe",
        f"--yes writes one; {fix}",
    )


def _of_one(area: str, store: Store, asked: Asked) -> Iterator[Finding]:
    opened = runtime.open_settings(store)
    yield from _transport(area, store, opened)
    if store.name:
        yield from _write(area, store, opened, asked)
    try:
        from airfreight import _core

        facts = _core.ask_store(store.uri, opened)
    except Error as error:
        yield Finding(area, UNKNOWN, f"what the store says of itself: {error}")
        return
    kind = store.connection[1]
    if kind == "s3":
        yield from _bucket(area, facts)
    elif kind == "redis":
        yield from _redis(area, facts)
    elif kind in ("gs", "az"):
        yield Finding(
            area,
            UNKNOWN,
            "versions, public access, access logs and lifecycle rules are asked of S3 only",
        )
    if store.name:
        yield from _owners(area, store, opened)


def _transport(area: str, store: Store, opened: Mapping[str, str]) -> Iterator[Finding]:
    url = opened.get("endpoint_url", "")
    prefix = f"AIRFLOW__AIRFREIGHT__{store.connection[1].upper()}_"
    host = url.partition("://")[2]
    plain = url.lower().startswith("http://") or store.uri.startswith("redis://")
    if plain and not host:
        host = store.uri.partition("://")[2].rpartition("@")[2]
    if plain and not host.startswith(_LOOPBACK):
        yield Finding(
            area,
            WARNING,
            f"{host.partition('/')[0]} is spoken to without TLS: values can be read and changed "
            "on their way",
            "use rediss://" if store.uri.startswith("redis://") else "use https://",
        )
    if opened.get("verify", "true").lower() == "false":
        yield Finding(
            area,
            WARNING,
            "the server's certificate is not checked",
            f"take {prefix}VERIFY out; a private authority goes into {prefix}CA_BUNDLE",
        )
    bundle = opened.get("ca_bundle", "")
    if not bundle and store.connection[1] == "s3":
        bundle = os.environ.get("AWS_CA_BUNDLE", "")
    if bundle and not plain:
        if Path(bundle).is_file():
            yield Finding(area, NOTE, f"certificates are checked against {bundle}")
        else:
            yield Finding(
                area,
                ERROR,
                f"the file of certificate authorities {bundle} is not there",
                f"mount it, or correct {prefix}CA_BUNDLE",
            )


def _write(area: str, store: Store, opened: Mapping[str, str], asked: Asked) -> Iterator[Finding]:
    if not asked.write:
        yield Finding(area, UNKNOWN, "nothing was written: with --yes, a probe is, and removed")
        return
    from airfreight import _core, decision

    here = f"{platform.node()}-{os.getpid()}-{time.time_ns()}"
    coordinate = runtime.coordinate(PROBE_DAG, here, "probe", "return_value")
    core = _core.Freight(
        [(store.name, store.uri, opened)],
        owner=settings().deployment_id,
        timeout=min(asked.patience, settings().timeout),
    )
    # (Not sealed: it is the store that is looked at.)
    decided = replace(
        decision.decide(settings(), None),
        store=store.name,
        digest="sha256",
        retention=_PROBE_SECONDS,
        seal=False,
    )
    offset = None
    step = "writing"
    try:
        began = time.time()
        reference = core.put(
            coordinate, [_PROBE], type="bytes", extension="txt", decision=decided.fields()
        )
        ended = time.time()
        if store.connection[1] in ("gs", "az"):
            # (S3 tells its clock with any answer: `_bucket`.)
            step = "looking at what was written"
            there = _core.Administration([(store.name, store.uri, opened)], timeout=asked.patience)
            written = there.head(store.name, coordinate.object_key("txt"))[3]
            # (In whole seconds; 0 where the server does not say.)
            offset = round(written - min(max(written, began), ended)) if written else None
        step = "reading what was written"
        same = bytes(core.get(reference)) == _PROBE
        step = "deleting what was written"
        removed = core.purge(reference)
    except Error as error:
        yield Finding(
            area,
            ERROR,
            f"{step} failed: {error}",
            "allow the role what `airfreight iam-policy` prints; what is left lies below "
            f"{PROBE_DAG}/ and may be removed",
        )
        return
    if not same or not removed:
        yield Finding(
            area,
            ERROR,
            "a probe was written and not found again as it was",
            "look for another program that changes what lies below the prefix",
        )
        return
    yield Finding(area, OK, "a probe was written, read and deleted")
    if offset is not None:
        yield _clock(area, offset)


def _clock(area: str, offset: int) -> Finding:
    """What the server's clock, less ours, means."""
    if abs(offset) < _SKEW_WARNING:
        return Finding(area, OK, f"the clocks differ by {abs(offset)} s")
    ahead = "behind" if offset > 0 else "ahead of"
    return Finding(
        area,
        ERROR if abs(offset) >= _SKEW_ERROR else WARNING,
        f"this machine's clock is {abs(offset)} s {ahead} the server's",
        "set the clock (chrony, ntpd, or that of the host of this container)",
    )


def _bucket(area: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    offset = facts["clock_offset"]
    if offset is None:
        yield Finding(area, UNKNOWN, "the server's clock: no answer told a time")
    else:
        yield _clock(area, offset)
    yield from _lifecycle(area, facts)
    off, why = facts["open_to_public"]
    if off is None:
        yield _not_known(area, "whether public access is blocked", why)
    elif off:
        yield Finding(
            area,
            WARNING,
            f"public access is not blocked: {off} is off",
            "aws s3api put-public-access-block, all four settings true",
        )
    else:
        yield Finding(area, OK, "public access is blocked")
    log, why = facts["access_log"]
    if log is None:
        yield _not_known(area, "whether access is logged", why)
    elif log:
        yield Finding(area, OK, f"access is logged to the bucket {log}")
    else:
        yield Finding(
            area,
            WARNING,
            "no server access logs: who read what can't be told later. (Data events of CloudTrail "
            "can't be seen from here.)",
            "turn on server access logging, or data events of CloudTrail, for the bucket",
        )


def _lifecycle(area: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    rules, why = facts["lifecycle"]
    if rules is None:
        yield _not_known(area, "lifecycle rules", why)
    elif not rules["abort_uploads"]:
        yield Finding(
            area,
            WARNING,
            "no rule removes unfinished uploads: what a killed task leaves stays and is paid for",
            _LIFECYCLE,
        )
    else:
        yield Finding(area, OK, f"unfinished uploads go after {rules['abort_uploads']} days")
    if rules is not None and rules["everything"]:
        yield Finding(
            area,
            NOTE,
            f"a rule of the bucket removes everything after {rules['everything']} days, whatever "
            "the policy says",
        )
    versioning, why = facts["versioning"]
    if versioning is None:
        yield _not_known(area, "whether the bucket keeps versions", why)
    elif not versioning:
        yield Finding(area, OK, "the bucket keeps no versions")
    elif rules is not None and rules["old_versions"]:
        yield Finding(
            area,
            OK,
            f"versions are {versioning.lower()}; old ones go after {rules['old_versions']} days",
        )
    else:
        yield Finding(
            area,
            WARNING,
            f"versions are {versioning.lower()}, and as far as is known no rule removes old ones: "
            "what is deleted or replaced stays",
            _LIFECYCLE,
        )


def _redis(area: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    if version := facts.get("version"):
        yield Finding(area, NOTE, f"Redis {version}")
    for warning in facts.get("warnings", ()):
        yield Finding(area, WARNING, warning, "see docs/redis.md")
    if not facts.get("warnings"):
        yield Finding(area, OK, "keeps what it has: nothing of its settings drops or loses values")


def _owners(area: str, store: Store, opened: Mapping[str, str]) -> Iterator[Finding]:
    """Whether another deployment writes to the same place, by a look at some objects."""
    ours = settings().deployment_id
    try:
        found = _found_owners(store, opened)
    except Error as error:
        yield Finding(
            area,
            UNKNOWN,
            f"whether another deployment writes here, too: {error}",
            "the role of a sweep may look: `airfreight iam-policy --role sweep`",
        )
        return
    others = sorted(owner for owner in found if owner and owner != ours)
    if others:
        yield Finding(
            area,
            ERROR,
            f"objects of other deployments lie here: {', '.join(others)}"
            + (f" (ours is {ours})" if ours else ""),
            "give each deployment a prefix of its own",
        )
    elif found:
        yield Finding(area, OK, f"of {_LOOKED_AT} objects at most, none is another deployment's")


def _found_owners(store: Store, opened: Mapping[str, str]) -> set[str]:
    """The owners of some objects of the first page of a listing."""
    from airfreight import _core

    stores = _core.Administration([(store.name, store.uri, opened)], timeout=settings().timeout)
    rows, _ = stores.list(store.name, "", "", 1000)
    # (What begins with a tilde is no XCom: claims, parts.)
    keys = [key for key, *_ in rows if not key.startswith("~")]
    some = keys[:: max(1, -(-len(keys) // _LOOKED_AT))]
    return {unquote(stores.head(store.name, key)[2].get(_OWNER, "")) for key in some}


def _not_known(area: str, what: str, why: str) -> Finding:
    return Finding(area, UNKNOWN, f"{what}: {why}", _MAY_ASK)

"""Which keys references are signed with here, and whether those of the rows are among them."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from airfreight import sealing, signing
from airfreight.admin.doctor import ERROR, NOTE, OK, UNKNOWN, WARNING, Finding
from airfreight.errors import Error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airfreight.admin.doctor import Asked
    from airfreight.config import Settings

#: Rows that are looked at, of which the newest come last: a bound, which is told where it is met.
_MOST_ROWS = 100_000
#: The signature of a reference, wherever in the text of a row: formats/reference.md.
_SIGNATURE = re.compile(r'"sig"\s*:\s*"([A-Za-z0-9_.-]{1,64}):')
_URI = re.compile(r'"uri"\s*:\s*"')


def look(current: Settings, asked: Asked) -> Iterator[Finding]:
    """The keys by their ids, and the rows of the database where it can be asked."""
    try:
        keys = signing.seal(current).keys
    except Error as error:
        yield Finding("signatures", ERROR, str(error), "see docs/settings.md, signing_keys")
        return
    ids = [entry.rpartition(":")[0] for entry in keys.replace(",", " ").split()]
    if not ids:
        yield Finding(
            "signatures",
            WARNING,
            "references are not signed: whoever can write to the database can have a worker read "
            "any XCom below the prefix",
            "set AIRFLOW__AIRFREIGHT__SIGNING_KEYS, its _CMD or its _SECRET, the same everywhere",
        )
    else:
        yield Finding(
            "signatures",
            OK,
            f"references are signed with key {ids[0]}"
            + (f"; also valid: {', '.join(ids[1:])}" if ids[1:] else "")
            + ". It has to be the same on all machines",
        )
    until = current.accept_unsigned_until
    if ids and until:
        left = until - time.time()
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
        over = "were followed until" if left < 0 else "are followed until"
        yield Finding(
            "signatures",
            NOTE if left < 0 else WARNING,
            f"references without a signature {over} {when}",
            "" if left < 0 else "have `airfreight sign` sign them, and take it out",
        )
    yield from _seals(current)
    if asked.database:
        yield from _rows({entry.partition("@")[0] for entry in ids})


def _seals(current: Settings) -> Iterator[Finding]:
    """What objects are sealed under, by the ids of the keys."""
    try:
        ids = [entry.partition(":")[0] for entry in sealing.keys().replace(",", " ").split()]
    except Error as error:
        yield Finding("sealing", ERROR, str(error), "see docs/encryption.md")
        return
    if not ids:
        asks = sealing.asks(current)
        if asks:
            yield Finding("sealing", ERROR, asks, "see docs/encryption.md")
    else:
        yield Finding(
            "sealing",
            OK,
            f"objects are {'' if current.seal else 'not '}sealed before they leave; seal_keys are "
            f"{', '.join(ids)}, of which the first encrypts. They have to be the same everywhere",
        )


def _rows(ids: set[str]) -> Iterator[Finding]:
    try:
        from airfreight.admin import database

        counts, whole = _count(database.connect())
    except Exception as error:  # noqa: BLE001 (no database, no driver, tasks are kept away from it)
        yield Finding(
            "signatures",
            UNKNOWN,
            f"unsigned rows: Airflow's database can't be asked from here ({type(error).__name__})",
            "run it where there is access to the database, as the scheduler has it",
        )
        return
    unsigned = counts.pop("", 0)
    total = sum(counts.values()) + unsigned
    where = "the database" if whole else f"the first {_MOST_ROWS:,} rows of the database"
    if not whole:
        yield Finding(
            "signatures",
            UNKNOWN,
            f"only the first {_MOST_ROWS:,} rows of the database were looked at",
            "`airfreight sign --count` counts all",
        )
    if unsigned and ids:
        yield Finding(
            "signatures",
            WARNING,
            f"{unsigned} of {total} references in {where} are not signed",
            "have `airfreight sign` sign them",
        )
    elif ids:
        yield Finding("signatures", OK, f"all of {total} references in {where} are signed")
    else:
        yield Finding("signatures", NOTE, f"{total} references are in {where}")
    foreign = sorted(set(counts) - ids)
    if foreign:
        number = sum(counts[name] for name in foreign)
        yield Finding(
            "signatures",
            ERROR,
            f"{number} references are signed with keys that are not valid here: "
            f"{', '.join(foreign)}",
            "add the keys behind the first one of AIRFLOW__AIRFREIGHT__SIGNING_KEYS",
        )


def _count(database: Any) -> tuple[Counter[str], bool]:
    """References in live rows by the id of their key; "" is for those without a signature.

    And whether these are all.
    """
    counts: Counter[str] = Counter()
    for number, row in enumerate(database.rows()):
        if number >= _MOST_ROWS:
            return counts, False
        if row.archived:
            continue
        text = row.raw.decode(errors="replace") if isinstance(row.raw, bytes) else row.raw or ""
        if isinstance(row.raw, str):
            # As the database has it: PostgreSQL puts blanks where others put none.
            text = json.dumps(row.value)
        signed = _SIGNATURE.findall(text)
        counts.update(signed)
        counts[""] += max(0, len(_URI.findall(text)) - len(signed))
    return counts, True

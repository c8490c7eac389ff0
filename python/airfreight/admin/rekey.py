"""Sealed objects under the newest key: what `airfreight rekey` does."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airfreight import exchange, runtime, sealing
from airfreight.admin.mentions import Mentions
from airfreight.admin.rows import encoded
from airfreight.config import settings
from airfreight.decision import decide
from airfreight.errors import Error, is_away
from airfreight.exchange import outage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airfreight._core import Freight
    from airfreight.admin.database import Database
    from airfreight.admin.rows import Row

#: Problems that are told one by one; all are counted.
_MOST_TOLD = 1000


@dataclass
class Report:
    """What was found and done.

    Attributes:
        sealed: references to sealed objects that were looked at.
        kept: sealed values that an outage left in their rows: they are in what follows, too.
        became: how many of them are what: "current", "old" (a dry run would rewrap it),
            "rewrapped", "gone", "replaced" (by a later push), "foreign" (of another deployment).
        failed: how many could not be looked at or written, by the kind of error.
        problems: the first of them: where, and what is wrong.
        after: where to go on: the id of the last row that was looked at.
        ended: why it ended early; "" where it did not.
    """

    sealed: int = 0
    kept: int = 0
    became: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str]] = field(default_factory=list)
    after: str = ""
    ended: str = ""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**vars(self), "became": dict(self.became), "failed": dict(self.failed)}


def rekey(
    database: Database,
    *,
    write: bool,
    dag: str | None = None,
    after: str | None = None,
    told: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Has the data keys of sealed objects wrapped by the first of `seal_keys`.

    Only the envelope of an object changes, and its rows and all other references go on to hold. May
    be stopped and begun again at any time. Objects are found by the references in rows, those
    inside of other values, in the row or in the store, too.

    Args:
        database: Airflow's.
        write: whether anything is changed.
        dag: rows of this DAG only.
        after: goes on behind this row.
        told: is given the report after each row.
    """
    report = Report()
    with sealing.asking_once(), tempfile.TemporaryDirectory() as folder:
        mentions = Mentions({}, (), Path(folder))
        # (Those of archives too: `airfreight sweep` reads what they refer to.)
        for row in database.rows(dag=dag, after=after, marked=True):
            read = _rewrap_kept(database, row, report, write=write)
            # (What is in a value that does not open is not looked for: it would fail once more.)
            for fields in _sealed(mentions, row, report) if read else ():
                report.sealed += 1
                try:
                    report.became[_rewrap(fields, write=write)] += 1
                except Error as error:
                    _note(report, row, fields, error)
                if report.ended:
                    return report
            if report.ended:
                return report
            report.after = row.id
            told(report)
    return report


def _rewrap_kept(database: Database, row: Row, report: Report, *, write: bool) -> bool:
    """The same of a value that an outage left in its row (formats/outage.md): in the row.

    Returns:
        False where there is one that could not be read, or that is another deployment's.
    """
    fields: dict[str, Any] | None = None
    try:
        stored = row.value
    except (ValueError, RecursionError):  # (No JSON that is ours; `_sealed` tells of it.)
        return True
    try:
        fields = exchange.ours(stored)
        if fields is None or not outage.is_sealed(fields):
            return True
        report.kept += 1
        if outage.is_anothers(fields):
            report.became["foreign"] += 1
            return False
        made = outage.rewrapped(fields)
        if made is None or not write:
            report.became["current" if made is None else "old"] += 1
            return True
        # (As its table has it: an archive from before an upgrade to Airflow 3 has bytes.)
        value = encoded(made, binary=isinstance(row.raw, bytes))
        report.became["rewrapped" if database.rewrite(row, value) else "replaced"] += 1
    except Error as error:
        _note(report, row, fields or {}, error)
        return False
    return True


def _sealed(mentions: Mentions, row: Row, report: Report) -> Iterator[dict[str, Any]]:
    """The references to sealed objects in a row and in what it leads to."""
    found = mentions.references(row.raw or b"")
    while True:
        try:
            fields = next(found, None)
        except Error as error:
            # What that object refers to is not known.
            _note(report, row, {}, error)
            return
        if fields is None:
            return
        if {"_xcom_backend", "_airfreight", "sealed", "uri"} <= fields.keys():
            yield fields


def _note(report: Report, row: Row, fields: dict[str, Any], error: Error) -> None:
    if fields:
        error.name_xcom(fields)
    report.failed[error.code] += 1
    if len(report.problems) < _MOST_TOLD:
        where = f"{row.dag} / {row.run} / {row.task} / {row.key}"
        report.problems.append((where, str(error)))
    if is_away(error):
        report.ended = "the store, or what keeps a key, is away: run it again when it is back"


def _rewrap(fields: dict[str, Any], *, write: bool) -> str:
    current = settings()
    found = None
    if current.policy is not None:
        names = (str(fields.get(name, "")) for name in ("dag", "task", "key", "_xcom_type"))
        dag, task, key, kind = names
        found = current.policy.find(dag, task, key, kind, None)
    decision = decide(current, found).fields()
    text = json.dumps(fields)

    def rewrap(core: Freight) -> str:
        return core.rewrap_key(text, decision, dry=not write)

    return runtime.with_core(rewrap)

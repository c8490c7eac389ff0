"""Values that an outage left in their rows go to the store: what `airfreight repatriate` does."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airfreight import exchange, runtime
from airfreight.admin.mentions import own
from airfreight.config import settings
from airfreight.decision import decide
from airfreight.errors import CorruptError, Error, ForgedError, InvalidError, is_away, is_of_machine
from airfreight.exchange import outage, unsealed
from airfreight.exchange.address import Address
from airfreight.values._describe import Told

if TYPE_CHECKING:
    from collections.abc import Callable

    from airfreight._core import Freight
    from airfreight.admin.database import Database
    from airfreight.admin.rows import Row

#: Rows that are in memory at a time: each may hold `inline_max_bytes`, and a third more.
_BATCH = 20
#: Problems that are told one by one; all are counted.
_MOST_TOLD = 1000


@dataclass
class Report:
    """What was found and done.

    Attributes:
        found: values in rows that belong in a store.
        found_bytes: what their objects take together.
        moved: those that lie in the store now (in a dry run: that would).
        changed: rows that somebody wrote meanwhile: what was written to the store for them is gone
            again.
        at_work: those of tasks that are at work yet, and may write the same again: they stay.
        expired: values whose time is over: they stay where they are.
        foreign: values of another deployment, which are left alone.
        failed: how many could not be moved, by the kind of error.
        problems: the first of them: where, and what is wrong.
        ended: why it ended early; "" where it did not.
    """

    found: int = 0
    found_bytes: int = 0
    moved: int = 0
    changed: int = 0
    at_work: int = 0
    expired: int = 0
    foreign: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str]] = field(default_factory=list)
    ended: str = ""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**vars(self), "failed": dict(self.failed)}


def repatriate(
    database: Database,
    *,
    write: bool,
    dag: str | None = None,
    run: str | None = None,
    told: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Moves what an outage left in rows to the store, and gives the rows their references.

    May be stopped and begun again at any time: what was moved is not found any more. A value is in
    the store before its row names it, and the row is only changed if it is still the one that was
    read.

    Args:
        database: Airflow's.
        write: whether anything is changed.
        dag: rows of this DAG only.
        run: rows of this run only.
        told: is given the report after each value.
    """
    report = Report()
    for row in database.rows(dag=dag, run=run, batch=_BATCH, marked=True):
        # (What `airflow db clean` has put away no task reads.)
        if row.archived:
            continue
        fields: dict[str, Any] | None = None
        try:
            fields = _ours(row)
            if fields is None or not outage.is_one(fields):
                continue
            report.found += 1
            _move(database, row, fields, report, write=write)
        except Exception as raised:
            if is_of_machine(raised) or isinstance(raised, MemoryError):
                raise
            # (Rows are written by more people than this package.)
            error = raised if isinstance(raised, Error) else _no_value_of_ours(raised)
            if fields is not None:
                error.name_xcom(fields)
            report.failed[error.code] += 1
            if len(report.problems) < _MOST_TOLD:
                report.problems.append((_where(row), str(error)))
            if is_away(error):
                what = "the store" if error.outage else "what keeps the keys of sealed values"
                report.ended = f"{what} is away: run it again when it is back"
                return report
        told(report)
    return report


def _move(
    database: Database, row: Row, fields: dict[str, Any], report: Report, *, write: bool
) -> None:
    _check_place(row, fields)
    if outage.is_anothers(fields):  # (Whose keys need not be here.)
        report.foreign += 1
        return
    # (A value that somebody has put there in the clear must not come out of this sealed.)
    unsealed.refuse(fields, Address(row.dag, row.run, row.task, row.key))
    data = outage.data(fields)
    report.found_bytes += len(data)
    address = outage.address_of(fields)
    retention = _retention(fields)
    if retention is not None and retention <= 0:
        report.expired += 1
        return
    if database.is_at_work(row):
        # What it pushes again is of the same attempt, and nothing would keep this from replacing
        # its object before its row is there.
        report.at_work += 1
        return
    if not write:
        report.moved += 1
        return
    item = _item(row, fields, data, retention)
    try:
        reference = runtime.with_core(lambda core: core.put(address.coordinate(), [data], **item))
    except TypeError as error:  # (A field is of another type than the core takes.)
        raise _no_value_of_ours(error) from error
    value: Any = reference.encode() if database.rows_are_bytes else json.loads(reference)
    if database.rewrite(row, value):
        report.moved += 1
        return
    if _is_moved(database, row, reference, value):
        report.moved += 1
        return
    report.changed += 1

    def purge(core: Freight) -> bool:
        return core.purge(reference)

    runtime.with_core(purge)


def _is_moved(database: Database, row: Row, reference: str, value: Any) -> bool:
    """Whether another one like this has moved the value meanwhile; the row names what is there.

    Both have written the object, and each wrote over what was there: the row has to name the last.
    """
    there = database.reread(row)
    other = None if there is None else own(there.raw)
    mine = json.loads(reference)
    if there is None or other is None:
        return False
    if any(other.get(name) != mine[name] for name in ("uri", "size_bytes", "digest")):
        return False
    stores = runtime.administration()
    key = mine["uri"].removeprefix(f"{stores.root(mine['store'])}/")
    metadata = stores.head(mine["store"], key)[2]
    return metadata.get("af-write") != mine["write"] or database.rewrite(there, value)


def _ours(row: Row) -> dict[str, Any] | None:
    try:
        return exchange.ours(row.value)
    except RecursionError:
        raise InvalidError("the row holds JSON that is nested too deeply to be ours") from None


def _where(row: Row) -> str:
    index = f"[{row.map_index}]" if row.map_index >= 0 else ""
    return f"{row.dag} / {row.run} / {row.task}{index} / {row.key}"


def _check_place(row: Row, fields: dict[str, Any]) -> None:
    """Raises ForgedError where the row holds the value of another one."""
    its = tuple(fields.get(name) for name in ("dag", "run", "task", "key"))
    index, ti = fields.get("map"), fields.get("ti")
    if its != (row.dag, row.run, row.task, row.key) or (
        (index is not None and index != row.map_index) or (ti is not None and ti != row.ti)
    ):
        raise ForgedError(
            f"the row of {_where(row)} holds the value of another XCom: it was copied there"
        )


def _retention(fields: dict[str, Any]) -> int | None:
    """Seconds that are left of its time; None where it has no end."""
    expires = fields.get("expires")
    if expires is None:
        return None
    try:
        ends = datetime.strptime(expires, outage.TIME).replace(tzinfo=timezone.utc)
    except (TypeError, ValueError) as error:
        raise CorruptError(f"the row's expires is damaged: {expires!r}") from error
    return int(ends.timestamp() - time.time())


def _item(
    row: Row, fields: dict[str, Any], data: bytearray | memoryview, retention: int | None
) -> dict[str, Any]:
    """What is pushed, under what is decided for such a value now."""
    policy = settings().policy
    kind = str(fields["_xcom_type"])
    found = None if policy is None else policy.find(row.dag, row.task, row.key, kind, len(data))
    decided = decide(settings(), found)
    if retention is not None:
        decided = replace(decided, retention=retention)
    if outage.is_sealed(fields):  # Whatever the policy says by now.
        decided = replace(decided, seal=True)
    try:
        told = Told(
            rows=fields.get("rows"),
            summary=fields.get("summary", ""),
            columns=[(label, dtype) for label, dtype in fields.get("columns", ())],
            nulls=list(fields.get("nulls", ())),
            columns_cut=bool(fields.get("columns_cut", False)),
            preview=[list(line) for line in fields.get("preview", ())],
        )
        return {
            "type": kind,
            "extension": fields["extension"],
            "content_type": fields["content_type"],
            "told": told,
            "attempt": int(fields["attempt"]),
            # (One of the future would be newer than every push to come.)
            "started_micros": min(int(fields["started"]), int(time.time() * 1_000_000)),
            "decision": decided.fields(),
        }
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _no_value_of_ours(error) from error


def _no_value_of_ours(error: Exception) -> CorruptError:
    return CorruptError(
        f"the row has Airfreight's markers, but is no value that it writes ({type(error).__name__})"
    )

"""Signing of rows that were written before there were keys: what `airfreight sign` does."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from airfreight import exchange, runtime, signing
from airfreight.admin.mentions import standing
from airfreight.admin.rows import encoded
from airfreight.config import settings
from airfreight.errors import ConfigError, Error, ForgedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from concurrent.futures import Executor

    from airfreight.admin.database import Database
    from airfreight.admin.rows import Row

#: Objects that are read at the same time; rows that are in memory.
_AT_ONCE, _BATCH = 8, 200
#: Problems that are told one by one; all are counted.
_MOST_TOLD = 1000
#: The tag of a reference in a document (formats/document.md).
_TAG = "~ref"


@dataclass(frozen=True)
class Problem:
    """A reference that was not signed, and why.

    Attributes:
        row: the `id` of the row.
        where: dag, run, task, map index and key of the row.
        code: the kind of error, as `airfreight.Error.code`.
        message: what is wrong.
    """

    row: str
    where: str
    code: str
    message: str


@dataclass
class Report:
    """What was found and done.

    Attributes:
        rows: that were looked at: those that hold something of Airfreight's.
        signed: references that were signed already, with the first key.
        older: those that are signed with another key than the first.
        distrusted: those of them whose key is distrusted, or not valid here: they are left as they
            are.
        keys: references by the id of the key that they are signed with.
        unsigned: those that had no signature.
        made: signatures that were made (in a dry run: that would be).
        changed: rows that somebody wrote meanwhile, which were left alone.
        failed: how many references can't be signed, by the kind of error.
        problems: the first of them.
        after: the row after which to go on; None before the first.
    """

    rows: int = 0
    signed: int = 0
    older: int = 0
    distrusted: int = 0
    unsigned: int = 0
    made: int = 0
    changed: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    after: str | None = None

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **{name: value for name, value in vars(self).items() if name != "problems"},
            "keys": dict(self.keys),
            "failed": dict(self.failed),
            "problems": [vars(problem) for problem in self.problems],
        }


@dataclass
class _Found:
    """A reference in a row, where it stands, and what came of it."""

    fields: dict[str, Any]
    own: bool
    put: Callable[[dict[str, Any]], None]
    made: dict[str, Any] | None = None
    error: Error | None = None


def sign(
    database: Database,
    *,
    write: bool = False,
    look: bool = True,
    renew: bool = False,
    distrust: Collection[str] = (),
    other_dags: bool = False,
    dag: str | None = None,
    after: str | None = None,
    report: Report | None = None,
    told: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Signs what is not signed in the rows of XComs.

    Each object is read once, whole, and has to be the one that its reference tells; what a row
    says that is not so is not signed. Archives of `airflow db clean` are left out: no task reads
    them. So are references inside of values that lie in the store.

    Args:
        database: Airflow's.
        write: whether rows are changed; False: a dry run, which reads the objects too.
        look: False: only count.
        renew: sign anew with the first key what is signed with another one, and nothing else.
        distrust: ids of keys whose signatures are worth nothing: what they have signed is told, and
            not signed anew. (A thief of one has made good what he likes.)
        other_dags: sign references inside of values although they are of another DAG than the row.
        dag: of this one only.
        after: go on behind this row.
        report: is added to, so that the caller has it when this ends early.
        told: is called after each batch.

    Raises:
        ConfigError: there are no keys; or one that is distrusted is not among them, or signs.
        UnavailableError: store or database does not answer; what was done stays, and
            `report.after` says where to go on.
    """
    made = Report() if report is None else report
    made.after = after
    ids = _key_ids()
    first = ids[0]
    _check_distrusted(distrust, ids)
    trusted = set(ids) - set(distrust)
    rows = database.rows(dag=dag, after=after, batch=_BATCH, marked=True)
    with ThreadPoolExecutor(_AT_ONCE) as executor:
        while batch := list(islice(rows, _BATCH)):
            work = [(row, *_references(row)) for row in batch if not row.archived]
            wanted = [
                (row, one)
                for row, _, found in work
                for one in found
                if _note(row, one, first, trusted, made, renew=renew) and look
            ]
            _make(wanted, executor, other_dags=other_dags)
            for row, value, found in work:
                _finish(database, row, value, found, made, write=write)
                made.rows += 1
            made.after = batch[-1].id
            told(made)
    return made


def _key_ids() -> list[str]:
    """The ids of the keys, the one that signs first."""
    keys = signing.seal(settings()).keys
    if not keys:
        raise ConfigError(signing.NO_KEY)
    ids = (entry.partition(":")[0].partition("@")[0] for entry in keys.replace(",", " ").split())
    return list(dict.fromkeys(ids))


def _check_distrusted(distrust: Collection[str], ids: list[str]) -> None:
    """Raises ConfigError for a slip of the pen, which would have a thief's work signed."""
    for name in distrust:
        if name not in ids:
            raise ConfigError(
                f"--distrust {name}: there is no such key among signing_keys, which are "
                f"{', '.join(ids)}. What is signed with a key that is not among them is not signed "
                "anew anyway"
            )
        if name == ids[0]:
            raise ConfigError(
                f"--distrust {name}: that is the key that signs. Put a new one in front of it "
                "first, as in k2:<base64>,k1:<base64>"
            )


def _references(row: Row) -> tuple[Any, list[_Found]]:
    """The value of a row, and the references in it."""
    try:
        value = json.loads(row.raw) if row.raw is not None else None
    except (ValueError, RecursionError):
        return None, []
    if not isinstance(value, dict) or exchange.ours(value) is None:
        return value, []
    if value["_xcom_backend"] != "inline":
        holder = [value]

        def put(fields: dict[str, Any]) -> None:
            holder[0].clear()
            holder[0].update(fields)

        return value, [_Found(dict(value), True, put)]
    return value, [
        _Found(content, False, partial(at.__setitem__, _TAG))
        for at, name, content in standing(value.get("value"), strict=True)
        if name == _TAG and len(at) == 1 and exchange.ours(content) is not None
    ]


def _note(
    row: Row, one: _Found, first: str, trusted: Collection[str], report: Report, *, renew: bool
) -> bool:
    """Counts a reference; whether it is to be signed."""
    signature = one.fields.get("sig")
    if signature is None:
        report.unsigned += 1
        return not renew  # After a theft nobody knows who has put an unsigned one there.
    key = str(signature).partition(":")[0]
    report.keys[key] += 1
    if key == first:
        report.signed += 1
        return False
    report.older += 1
    if key in trusted:
        return renew
    report.distrusted += 1
    if renew:
        _tell(
            report,
            row,
            ForgedError(
                f"it is signed with the key {key!r}, which is not trusted here: clear and rerun "
                "its task, which writes it anew"
            ),
        )
    return False


def _make(wanted: list[tuple[Row, _Found]], executor: Executor, *, other_dags: bool) -> None:
    def one(item: tuple[Row, _Found]) -> None:
        row, found = item
        try:
            _check_place(row, found, other_dags=other_dags)
            text = json.dumps(found.fields, separators=(",", ":"))
            found.made = json.loads(runtime.with_core(lambda core: core.sign(text)))
        except Error as error:
            found.error = error

    for _ in executor.map(one, wanted):
        pass
    for _, found in wanted:
        if isinstance(found.error, UnavailableError):
            raise found.error  # All that follow would have to wait for it, too.


def _check_place(row: Row, found: _Found, *, other_dags: bool) -> None:
    """Raises ForgedError for a reference that should not stand where it does.

    A signature would make good for ever what somebody has planted before there were keys.
    """
    if found.own:
        exchange.check_row(
            found.fields,
            exchange.Address(
                *(row.dag, row.run, row.task, row.key), map_index=row.map_index, ti_id=row.ti
            ),
        )
    elif not other_dags and found.fields.get("dag") != row.dag:
        raise ForgedError(
            f"the value in a row of dag {row.dag!r} holds a reference of dag "
            f"{found.fields.get('dag')!r}. If its task really was given that one, sign it with "
            "--other-dags"
        )


def _finish(
    database: Database, row: Row, value: Any, found: list[_Found], report: Report, *, write: bool
) -> None:
    made = [one for one in found if one.made is not None]
    for one in found:
        if one.error is not None:
            _tell(report, row, one.error)
    if not made:
        return
    if write:
        for one in made:
            assert one.made is not None
            one.put(one.made)
        if not database.rewrite(row, encoded(value, binary=database.rows_are_bytes)):
            report.changed += 1
            return
    report.made += len(made)


def _tell(report: Report, row: Row, error: Error) -> None:
    """Notes why a reference was not signed."""
    report.failed[error.code] += 1
    if len(report.problems) < _MOST_TOLD:
        where = f"{row.dag}/{row.run}/{row.task}[{row.map_index}] {row.key}"
        report.problems.append(Problem(row.id, where, error.code, error.message))

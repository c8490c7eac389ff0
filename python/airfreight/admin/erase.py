"""`airfreight erase`: everything that is kept of the XComs of a DAG, a run or a task.

Rows first, then what lies in each store: unfinished uploads, every version, every mark of a
removal. Then all of it is looked for again. What was interrupted is run again: nothing that is
left depends on what is gone.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import groupby
from typing import TYPE_CHECKING, Any

from airfreight import __version__
from airfreight.admin import ownership
from airfreight.admin.mentions import standing
from airfreight.errors import Error, InvalidError, NotFoundError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from airfreight._core import Administration
    from airfreight.admin.database import Database
    from airfreight.admin.rows import Row

#: Passes over a store: the removal of a version may make another one of what was current (Azure).
_PASSES = 3
#: Rows that are removed in one transaction.
_ROWS = 500
#: What is told of what is left; the rest is counted.
_MOST_TOLD = 1000


@dataclass(frozen=True)
class Scope:
    """Which XComs.

    Attributes:
        dag: of this DAG,
        run: of this run; None: of all,
        task: of this task; None: of all.
    """

    dag: str
    run: str | None = None
    task: str | None = None

    def prefix(self) -> str:
        """What all keys begin with."""
        from airfreight import _core

        parts = [self.dag] if self.run is None else [self.dag, self.run]
        if self.run is not None and self.task is not None:
            parts.append(self.task)
        return "".join(f"{_core.encode_part(part)}/" for part in parts)

    def holds(self, key: str) -> bool:
        """Whether a key that begins so is one of these; folders end with a slash."""
        from airfreight import _core

        if self.task is None:
            return True
        parts = key.split("/")
        return len(parts) > 3 and parts[2] == _core.encode_part(self.task)


@dataclass
class Found:
    """What was found in one store, and removed unless it was a dry run.

    Attributes:
        store: its name.
        root: its URI.
        versions: how many, of how many bytes, under how many keys; marks apart.
        marks: of removals.
        uploads: that were begun and not ended.
        removed: (key, id) of each version and mark.
        left: what is not this deployment's: (key, id, whose).
        remaining: what was still there afterwards: (key, id).
    """

    store: str
    root: str
    keys: int = 0
    versions: int = 0
    size: int = 0
    marks: int = 0
    uploads: int = 0
    removed: list[tuple[str, str]] = field(default_factory=list)
    left: list[tuple[str, str, str]] = field(default_factory=list)
    remaining: list[tuple[str, str]] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        """For the receipt."""
        return {
            "store": self.store,
            "root": self.root,
            "keys": self.keys,
            "versions": self.versions,
            "bytes": self.size,
            "removal_marks": self.marks,
            "unfinished_uploads": self.uploads,
            "removed": [{"key": key, "version": name} for key, name in self.removed],
            "left": [
                {"key": key, "version": name, "belongs_to": whose}
                for key, name, whose in self.left[:_MOST_TOLD]
            ],
            "left_count": len(self.left),
            "remaining": [
                {"key": key, "version": name} for key, name in self.remaining[:_MOST_TOLD]
            ],
            "remaining_count": len(self.remaining),
        }


@dataclass
class Receipt:
    """What was done.

    Attributes:
        scope: of what.
        changed: whether anything was removed; False: a dry run.
        runs: how many of the scope Airflow has.
        rows: how many, by table.
        rows_remaining: how many were there afterwards.
        rows_unowned: how many of archives there are that do not say of which DAG they are.
        elsewhere: URIs of rows that no configured store serves: nobody looked there.
        stores: each.
        problem: why it ended early; "" where it did not.
    """

    scope: Scope
    deployment_id: str
    database: Mapping[str, str]
    changed: bool
    began: str
    ended: str = ""
    runs: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    rows_remaining: int = 0
    rows_unowned: int = 0
    elsewhere: list[str] = field(default_factory=list)
    stores: list[Found] = field(default_factory=list)
    problem: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is left that could have been removed."""
        return not (
            self.problem
            or self.rows_remaining
            or self.rows_unowned
            or self.elsewhere
            or any(found.remaining or found.left for found in self.stores)
        )

    @property
    def nothing(self) -> bool:
        """Whether there was nothing to remove."""
        return not (
            sum(self.rows.values())
            or self.elsewhere
            or any(
                found.versions or found.marks or found.uploads or found.left
                for found in self.stores
            )
        )

    def as_json(self) -> dict[str, Any]:
        """The receipt. It holds names and places, and no values."""
        return {
            "airfreight_receipt": 1,
            "verb": "erase",
            "airfreight": __version__,
            "scope": {"dag": self.scope.dag, "run": self.scope.run, "task": self.scope.task},
            "dry_run": not self.changed,
            "complete": self.complete if self.changed else None,
            "problem": self.problem or None,
            "began": self.began,
            "ended": self.ended,
            "host": platform.node(),
            "deployment_id": self.deployment_id or None,
            "database": dict(self.database),
            "runs": self.runs,
            "rows": {
                "removed": self.rows,
                "remaining": self.rows_remaining,
                "of_unknown_dags": self.rows_unowned,
            },
            "no_store_for": self.elsewhere[:_MOST_TOLD],
            "stores": [found.told() for found in self.stores],
        }


def erase(
    scope: Scope,
    database: Database,
    stores: Administration,
    *,
    deployment_id: str,
    change: bool,
    even_running: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Receipt:
    """Finds, and with `change` removes, everything of a scope.

    Args:
        scope: of what.
        database: Airflow's.
        stores: all that values may lie in.
        deployment_id: whose objects are ours; "" where the deployment has none.
        change: remove; else only find.
        even_running: also where a run of the scope is not over.
        progress: is told what is done.

    Raises:
        DeniedError: a store was claimed by another deployment, or by none.
        InvalidError: a run of the scope is not over, and would write again.
    """
    place = database.identity()
    rights = {
        store: ownership.of(stores, store, deployment_id, place, changing=change)
        for store in stores.names
    }
    if change and not even_running:
        _check_over(scope, database)
    receipt = Receipt(scope, deployment_id, place, change, _now())
    receipt.runs = sum(scope.run in (None, run.run) for run in database.runs(scope.dag))
    try:
        _erase_rows(scope, database, stores, receipt, progress)
        for store, right in rights.items():
            found = Found(store, stores.root(store))
            receipt.stores.append(found)
            _erase_store(scope, stores, right, found, change, progress)
        if change:
            receipt.rows_remaining = sum(1 for _ in _rows(scope, database, receipt))
    except Error as error:
        receipt.problem = f"{type(error).__name__}: {error}"
    except KeyboardInterrupt:  # What was removed by then belongs into the receipt.
        receipt.problem = "stopped"
    receipt.ended = _now()
    return receipt


def _check_over(scope: Scope, database: Database) -> None:
    running = [
        run for run in database.runs(scope.dag) if not run.over and scope.run in (None, run.run)
    ]
    if running:
        raise InvalidError(
            f"run {running[0].run!r} of DAG {scope.dag!r} is {running[0].state}"
            + (f", and {len(running) - 1} more are not over" if len(running) > 1 else "")
            + ": its tasks would write again. Pause the DAG and wait, or mark its runs failed; "
            "--even-running erases what is there by now"
        )


def _erase_rows(
    scope: Scope,
    database: Database,
    stores: Administration,
    receipt: Receipt,
    progress: Callable[[str], None],
) -> None:
    roots = [stores.root(store) + "/" for store in stores.names]
    elsewhere: dict[str, None] = {}
    batch: list[Row] = []

    def flush() -> None:
        if receipt.changed and batch:
            database.remove(batch)
        batch.clear()

    for row in _rows(scope, database, receipt):
        receipt.rows[row.table] = receipt.rows.get(row.table, 0) + 1
        for uri in _uris(scope, row):
            if not uri.startswith(tuple(roots)):
                elsewhere[uri] = None
        batch.append(row)
        if len(batch) >= _ROWS:
            flush()
            progress(f"{sum(receipt.rows.values())} rows")
    flush()
    receipt.elsewhere = list(elsewhere)


def _uris(scope: Scope, row: Row) -> Iterator[str]:
    """Of the object that a row of the scope names, and of others of the scope in it."""
    value = _parsed(row)
    for _, _, reference in standing(value):
        uri = reference["uri"]
        if isinstance(uri, str) and (reference is value or _is_of(scope, reference)):
            yield uri


def _parsed(row: Row) -> Any:
    try:
        return json.loads(row.raw) if row.raw is not None else None
    except (ValueError, RecursionError):
        return None


def _is_of(scope: Scope, fields: Mapping[str, Any]) -> bool:
    """Whether what a row of ours says of itself is of the scope."""
    names = ("dag", scope.dag), ("run", scope.run), ("task", scope.task)
    return all(wanted is None or fields.get(name) == wanted for name, wanted in names)


def _rows(scope: Scope, database: Database, receipt: Receipt) -> Iterator[Row]:
    """The rows of a scope; those of archives that do not say whose they are only count."""
    yield from database.rows(scope.dag, scope.run, scope.task)
    receipt.rows_unowned = 0
    for row in database.unowned():
        fields = _parsed(row)
        if isinstance(fields, dict) and "_airfreight" in fields and "dag" in fields:
            if _is_of(scope, fields):
                yield row
        else:
            receipt.rows_unowned += 1


def _erase_store(
    scope: Scope,
    stores: Administration,
    right: ownership.Ownership,
    found: Found,
    change: bool,
    progress: Callable[[str], None],
) -> None:
    abilities = stores.abilities(found.store)
    seen: set[tuple[str, str]] = set()
    for number in range(_PASSES if change else 1):
        # Uploads first: to end one may leave an empty object (Azure).
        found.left = []
        ended = _end_uploads(scope, stores, right, found, change) if abilities["uploads"] else 0
        removed = 0
        for key, versions in groupby(_versions(scope, stores, found.store), lambda one: one[0]):
            removed += _erase_key(stores, right, found, key, list(versions), seen, change)
            progress(f"{found.store}: {found.versions} versions, {found.marks} marks")
        if number and not removed and not ended:
            break
    if change:
        left = {(key, name) for key, name, _ in found.left}
        found.remaining = [
            (key, name)
            for key, _, _, _, name, _, _ in _versions(scope, stores, found.store)
            if (key, name) not in left
        ]
        if abilities["uploads"]:
            found.remaining += [
                (key, name)
                for key, name, _ in _uploads(scope, stores, found.store)
                if (key, name) not in left
            ]


def _versions(
    scope: Scope, stores: Administration, store: str
) -> Iterator[tuple[str, int, str, int, str, bool, bool]]:
    token = ""
    while True:
        try:
            page, token = stores.list_versions(store, scope.prefix(), token)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"{error} (versions can't be listed, and so it is not known whether anything is "
                "kept of what is removed)"
            ) from error
        yield from (version for version in page if scope.holds(version[0]))
        if not token:
            return


def _uploads(scope: Scope, stores: Administration, store: str) -> Iterator[tuple[str, str, int]]:
    token = ""
    while True:
        page, token = stores.list_uploads(store, scope.prefix(), token)
        yield from (upload for upload in page if scope.holds(upload[0]))
        if not token:
            return


def _end_uploads(
    scope: Scope,
    stores: Administration,
    right: ownership.Ownership,
    found: Found,
    change: bool,
) -> int:
    # All at once: a store may page by what is there.
    uploads = list(_uploads(scope, stores, found.store))
    if right.shared:
        found.left += [(key, name, "an upload that does not say whose") for key, name, _ in uploads]
        return 0
    for key, name, _ in uploads:
        if change:
            stores.abort_upload(found.store, key, name)
    found.uploads += len(uploads)
    return len(uploads)


def _erase_key(
    stores: Administration,
    right: ownership.Ownership,
    found: Found,
    key: str,
    versions: list[tuple[str, int, str, int, str, bool, bool]],
    seen: set[tuple[str, str]],
    change: bool,
) -> int:
    """Removes what is ours of a key; how much that was."""
    ours, others = [], []
    for version in versions:
        _, _, _, _, name, _, removal = version
        if removal:
            continue
        try:
            metadata = stores.head_version(found.store, key, name)[2]
        except NotFoundError as error:
            if error.code != "NotFound":
                raise
            continue  # Gone meanwhile.
        if right.mine(metadata):
            ours.append(version)
        else:
            others.append(version)
            found.left.append((key, name, ownership.whose(metadata)))
    # A mark does not say whose it is: it goes with the last version that it hides.
    alone = not others and (ours or not right.shared)
    marks = [version for version in versions if version[6]] if alone else []
    if not any((key, version[4]) in seen for version in versions) and (ours or marks):
        found.keys += 1
    # The current one last: while it is there, readers see no earlier one in its place.
    for version in sorted([*ours, *marks], key=lambda one: one[5]):
        _, size, _, _, name, _, removal = version
        if change:
            stores.remove_version(found.store, key, name)
        if (key, name) in seen:
            continue
        seen.add((key, name))
        found.removed.append((key, name))
        if removal:
            found.marks += 1
        else:
            found.versions += 1
            found.size += size
    return len(ours) + len(marks)


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

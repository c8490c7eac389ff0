"""A store that keeps objects in a file of SQLite: `toy://name/prefix`."""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airfreight.stores import ConditionFailed, Info, ObjectStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_TABLE = (
    "CREATE TABLE IF NOT EXISTS objects (key TEXT PRIMARY KEY, body BLOB NOT NULL, "
    "version TEXT NOT NULL, metadata TEXT NOT NULL, modified INTEGER NOT NULL) WITHOUT ROWID"
)
_TOLD = "length(body), version, metadata, modified"


class ToyStore(ObjectStore):
    """One table in `<folder>/<name>.sqlite`, where `folder` is a setting."""

    # The look and the write are one transaction.
    conditional_put = True
    conditional_remove = True
    # SQLite's own limit is 10^9 bytes (sqlite.org/limits.html).
    max_put_bytes = 500_000_000

    def __init__(self, uri: str, settings: Mapping[str, str]) -> None:
        super().__init__(uri, settings)
        if "folder" not in settings:
            raise ValueError("it has no setting 'folder', e.g. folder = \"/srv/toys\"")
        name = self.root.partition("://")[2].partition("/")[0]
        self._file = Path(settings["folder"]) / f"{name}.sqlite"
        self._before = f"{self.prefix}/" if self.prefix else ""

    @classmethod
    def settings_of(cls, connection: Any, extra: Mapping[str, Any]) -> dict[str, str]:
        """The folder, which stands in the connection's extras."""
        del connection
        return {"folder": str(extra["folder"])} if "folder" in extra else {}

    def put(
        self,
        key: str,
        body: Sequence[memoryview],
        *,
        metadata: Mapping[str, str],
        content_type: str,
        condition: str | None,
    ) -> str:
        """Writes a row."""
        del content_type
        version = secrets.token_hex(16)
        row = (b"".join(body), version, json.dumps(dict(metadata)), int(time.time()))
        with self._transaction() as database:
            self._check(database, key, condition)
            database.execute(
                "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)", (self._before + key, *row)
            )
        return version

    def get(self, key: str, offset: int, length: int) -> tuple[Info, bytes]:
        """Reads a part of a row."""
        found = self._one(f"substr(body, {offset + 1}, {length}), {_TOLD}", key)
        return _info(found[1:]), found[0] or b""  # (SQL has no empty part.)

    def head(self, key: str) -> Info:
        """Reads a row without its bytes."""
        return _info(self._one(_TOLD, key))

    def remove(self, key: str, *, condition: str | None) -> None:
        """Deletes a row."""
        with self._transaction() as database:
            self._check(database, key, condition)
            database.execute("DELETE FROM objects WHERE key = ?", (self._before + key,))

    def list(self, prefix: str, after: str, limit: int) -> tuple[list[tuple[str, Info]], str]:
        """Reads rows in order."""
        full = self._before + prefix
        with self._transaction() as database:
            found = database.execute(
                f"SELECT key, {_TOLD} FROM objects "
                "WHERE substr(key, 1, ?) = ? AND key > ? ORDER BY key LIMIT ?",
                (len(full), full, self._before + after, limit + 1),
            ).fetchall()
        page = [(row[0][len(self._before) :], _info(row[1:])) for row in found[:limit]]
        return page, page[-1][0] if len(found) > limit else ""

    def _one(self, columns: str, key: str) -> tuple[Any, ...]:
        with self._transaction() as database:
            found = database.execute(
                f"SELECT {columns} FROM objects WHERE key = ?", (self._before + key,)
            ).fetchone()
        if found is None:
            raise FileNotFoundError(f"no row in {self._file}")
        return tuple(found)

    def _check(self, database: sqlite3.Connection, key: str, condition: str | None) -> None:
        if condition is None:
            return
        found = database.execute(
            "SELECT version FROM objects WHERE key = ?", (self._before + key,)
        ).fetchone()
        if (found[0] if found else "") != condition:
            raise ConditionFailed(f"the version is {found[0] if found else 'none'}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        # A connection for each call: one belongs to a thread, and to a process.
        self._file.parent.mkdir(parents=True, exist_ok=True)
        try:
            database = sqlite3.connect(self._file, timeout=30, isolation_level=None)
            try:
                database.execute("PRAGMA synchronous = OFF")
                database.execute("BEGIN IMMEDIATE")
                database.execute(_TABLE)
                yield database
                database.execute("COMMIT")
            finally:
                database.close()  # What was not committed is not there.
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise TimeoutError(str(error)) from error
            raise


def _info(row: Sequence[Any]) -> Info:
    size, version, metadata, modified = row
    return Info(size, version, json.loads(metadata), modified)

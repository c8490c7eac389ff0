"""What a sweep goes by, what it has found, and where it is: `state.json` in its folder."""

from __future__ import annotations

import contextlib
import fcntl
import fnmatch
import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from airfreight.admin.mentions import LOOKED_INTO
from airfreight.admin.sorting import sync, sync_folder
from airfreight.errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_VERSION = 2
#: Keys of each kind in a report.
SHOWN = 20
#: DAGs that are kept for what can't be read; of more, all are.
_MOST_DAGS = 10_000
_LOCK = "lock"
#: What a sweep keeps in its folder, by how the names begin.
_OURS = ("objects-", "uploads-", "needed-", "candidates-", LOOKED_INTO)
_OURS_WHOLE = ("runs", "leading", "state.part", "state.json", _LOCK)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Makes the folder of a sweep, and keeps others out of it: two would mix what they read.

    Raises:
        InvalidError: another is at work in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _LOCK
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _occupied(folder)
        # (That of a sweep which has just ended is gone.)
        if not path.exists() or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
            _occupied(folder)
        yield


def _occupied(folder: Path) -> NoReturn:
    raise InvalidError(
        f"another sweep is at work in {folder}: wait for it, or give --state another folder"
    )


def forget(folder: Path) -> None:
    """Removes what a sweep has kept in its folder, and the folder if nothing else is in it."""
    for path in list(folder.iterdir()):
        if not (path.name in _OURS_WHOLE or path.name.startswith(_OURS)):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


@dataclass(frozen=True)
class Rules:
    """What may go.

    Attributes:
        grace: seconds for which nothing goes that was written since: its row may not be there yet.
        by_hand: seconds for which what `airfreight.put` wrote stays after the last write, once its
            run is gone.
        retention: (pattern of DAGs, seconds): the first that fits a DAG says how long after its end
            a run keeps its objects; no pattern: as long as its rows are there.
        keep_last: runs of each DAG that keep them in any case.
    """

    grace: float
    by_hand: float
    retention: tuple[tuple[str, float], ...] = ()
    keep_last: int = 0

    def age(self, dag: str) -> float | None:
        """The retention of a DAG; None for no end."""
        return next((age for name, age in self.retention if fnmatch.fnmatchcase(dag, name)), None)


@dataclass
class Found:
    """What a sweep has found and done in one store.

    Attributes:
        objects, bytes: that are there.
        foreign: objects under the prefix whose keys are not those of XComs.
        needed: objects that a row or a run needs.
        young: objects that nothing needs, and that are within the grace period.
        unsure: objects that nothing else needs, and that what can't be read may lead to.
        orphans: candidates, and their bytes.
        orphan_bytes: as it says.
        dangling: references in rows whose objects are not there.
        uploads: unfinished ones that are old enough.
        removed: objects.
        removed_bytes: as it says.
        aborted: uploads.
        kept: candidates that were needed, replaced or not ours at the last look.
        shown: the first orphans, dangling references and uploads: [what, key].
    """

    objects: int = 0
    bytes: int = 0
    foreign: int = 0
    needed: int = 0
    young: int = 0
    unsure: int = 0
    orphans: int = 0
    orphan_bytes: int = 0
    dangling: int = 0
    uploads: int = 0
    removed: int = 0
    removed_bytes: int = 0
    aborted: int = 0
    kept: int = 0
    shown: list[list[str]] = field(default_factory=list)

    def show(self, what: str, key: str) -> None:
        """Keeps a key for the report, if there is room."""
        if sum(one[0] == what for one in self.shown) < SHOWN:
            self.shown.append([what, key])


@dataclass
class State:
    """Where a sweep is; what `state.json` in its folder holds.

    Attributes:
        rules: what it was asked for, where, and by whom.
        stores: their roots.
        began, step, lists, done: how far it is.
        files: what it has read lies in these, of so many bytes.
        read_at: when rows were read.
        last_run: the newest run by then.
        expired_rows, rows, runs, found: counts.
        unread: rows that lead to what can't be read; unread_last is the last one.
        unread_shown: the first of them: [row, why].
        unread_dags: whose objects they may lead to; None for all.
    """

    rules: dict[str, Any]
    stores: dict[str, str]
    began: float
    step: str = "list"
    lists: dict[str, str | None] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    read_at: float = 0.0
    last_run: int = 0
    expired_rows: int = 0
    rows: int = 0
    runs: int = 0
    done: dict[str, int] = field(default_factory=dict)
    found: dict[str, Found] = field(default_factory=dict)
    unread: int = 0
    unread_last: str = ""
    unread_shown: list[list[str]] = field(default_factory=list)
    unread_dags: dict[str, int] | None = field(default_factory=dict)

    def miss(self, where: str, why: str, dags: Iterable[str]) -> None:
        """Notes a row that leads to what can't be read, and whose objects that may speak of."""
        if where != self.unread_last:
            self.unread += 1
            self.unread_last = where
            if self.unread <= SHOWN:
                self.unread_shown.append([where, why])
        if self.unread_dags is None:
            return
        some = dict.fromkeys(dags, 1)
        self.unread_dags |= some
        if not some or len(self.unread_dags) > _MOST_DAGS:
            self.unread_dags = None

    def forget_unread(self) -> None:
        """Before all rows are read."""
        self.unread, self.unread_last, self.unread_shown, self.unread_dags = 0, "", [], {}

    def save(self, folder: Path) -> None:
        """Writes it in place of what was there."""
        part = folder / "state.part"
        with part.open("w") as file:
            json.dump({"version": _VERSION, **asdict(self)}, file)
            sync(file)
        part.rename(folder / "state.json")
        sync_folder(folder)

    @classmethod
    def load(cls, folder: Path) -> State | None:
        """What is there; None where no sweep was begun."""
        try:
            told = json.loads((folder / "state.json").read_text())
        except FileNotFoundError:
            return None
        except ValueError:
            told = {}
        if told.pop("version", None) != _VERSION:
            raise InvalidError(
                f"{folder}/state.json is no state of a sweep that this release can go on with: "
                "give --state another folder, or remove this one"
            )
        told["found"] = {name: Found(**one) for name, one in told["found"].items()}
        return cls(**told)

"""`airfreight sweep`: objects that no row needs any more, as docs/sweep.md tells it.

Four steps, whose results lie in a folder, so that a sweep that was ended goes on where it was:

1. list    all objects of each store, and its unfinished uploads;
2. read    Airflow's rows and runs, as they are after that: in its database (`database`), or by
           its API where there is no way to that (`api`);
3. join    both in the order of keys: what is old enough and in no row is a candidate;
4. remove  each candidate, after one more look at row, run and object.

In memory is one batch of anything at a time.

What a row leads to may be past reading: it is forged, or this process has not the keys or the
rights. A value refers to what was put by hand, or to what its own DAG has pushed: both stay then.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any

from airfreight.admin.joining import SEPARATOR, Needed, Runs
from airfreight.admin.mentions import Mentions, own
from airfreight.admin.sorting import Sorter, sync
from airfreight.admin.sweep_state import Found, Rules, State
from airfreight.errors import InvalidError, NotFoundError, ReplacedError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from airfreight._core import Administration
    from airfreight.admin.ownership import Ownership
    from airfreight.admin.rows import Row, Run, Source
    from airfreight.errors import Error

_STEPS = ("list", "read", "join", "remove", "done")
#: Objects and uploads in one answer of a store.
_PAGE = 1000
#: Candidates that are removed after one more look at rows and runs: few, so that no time passes
#: between the two.
_AT_A_TIME = 256
#: Seconds between two looks at all rows that were written meanwhile, which no index tells: so long
#: at least, and so many times as long as one takes. Rows of runs at work, which have an index, are
#: looked at each time.
_ALL_EVERY, _ALL_SHARE = 60.0, 10
#: Runs that ended so shortly before rows were read may have tasks still that write.
_LATE_TASKS = timedelta(hours=1)
_SIDE_BY_SIDE = 16
#: So many objects may go, whatever stays.
_MANY = 1000
#: How far the clocks of those who write rows may be behind.
_CLOCKS = timedelta(hours=1)
#: Seconds for which a sweep that was ended goes by the rows that it has read.
_READ_LASTS = 86_400
#: Rows that are written during a sweep, in memory as 16 bytes each.
_NEW_ROWS = 1_000_000
_BY_HAND = "/_put/"


class Sweep:
    """One sweep.

    Threads: one at a time; it starts some of its own. Errors: what database and stores raise; the
    same folder goes on then.
    """

    def __init__(
        self,
        source: Source,
        stores: Administration,
        owners: Mapping[str, Ownership],
        rules: Rules,
        folder: Path,
        *,
        aliases: Iterable[tuple[str, str]] = (),
        remove: bool = False,
        even_most: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Begins, or goes on with what lies in `folder`.

        Args:
            source: of the deployment's rows and runs.
            stores: to be swept, all of `owners`.
            owners: by store: what is ours there.
            rules: what may go.
            folder: of the state; it is made.
            aliases: old places and the new ones (docs/policy.md).
            remove: else nothing is changed.
            even_most: also where most objects of a store would go.
            progress: is told the step, how many are done, and of how many (0: not known).
            clock: seconds since 1970.
        """
        self._source = source
        self._stores = stores
        self._owners = owners
        self._rules = rules
        self._folder = folder
        self._aliases = tuple(aliases)
        self._remove = remove
        self._even_most = even_most
        self._tell = progress or (lambda *_: None)
        self._clock = clock
        folder.mkdir(parents=True, exist_ok=True)
        roots = {name: stores.root(name) for name in owners}
        asked = {
            **asdict(rules),
            "remove": remove,
            "database": source.name,
            # (A name may be that of several: localhost is another one in each pod.)
            "identity": source.identity(),
            "owners": {name: asdict(owner) for name, owner in owners.items()},
            "aliases": self._aliases,
        }
        asked = json.loads(json.dumps(asked))
        now = State(asked, roots, clock())
        there = State.load(folder)
        if there is not None and there.step != "done":
            if (there.rules, there.stores) != (now.rules, now.stores):
                raise InvalidError(
                    f"the sweep in {folder} was begun with other rules or stores, or another "
                    "database. Give the same again, or remove that folder to begin anew"
                )
            now = there
            if now.step in ("join", "remove") and clock() - now.read_at > _READ_LASTS:
                # A row may have changed and have the time that it had: restored, say, or by REST.
                now.step = "read"
        self.state = now
        for name in owners:
            self.state.found.setdefault(name, Found())
        self._new: set[bytes] = set()
        self._newly: Mentions | None = None
        self._last: dict[str, frozenset[str]] | None = None
        self._known_runs: dict[tuple[str, str], Run | None] = {}
        #: Runs that were at work since rows were read, by how the keys of their objects begin. In
        #: memory alone: who goes on asks for them again, and for all rows since then.
        self._working: dict[str, Run] = {}
        #: Whether it has those that ended shortly before rows were read, too.
        self._knows_late = False
        #: When rows were looked at last, those of all runs too, and how long that takes.
        self._looked_at: float | None = None
        self._looked_at_all: float | None = None
        self._all_take = 0.0
        #: How the keys of DAGs begin that are kept for what can't be read, and of how many.
        self._unsure: tuple[int, set[str]] = 0, set()
        #: How often something could not be read.
        self._misses = 0
        #: The row that is looked at; or its DAG, and how it is told of.
        self._row: Row | tuple[str, str] = "", ""

    def run(self) -> State:
        """Does all steps that are left."""
        for _ in self.steps():
            pass
        return self.state

    def steps(self) -> Iterator[str]:
        """As `run`; gives the step after each part of it."""
        work = {
            "list": self._list,
            "read": self._read,
            "join": self._join,
            "remove": self._finish,
        }
        while self.state.step != "done":
            step = self.state.step
            for _ in work[step]():
                yield step
            following = _STEPS[_STEPS.index(step) + 1]
            if following == "remove":
                if self._remove:
                    self._hesitate()
                else:
                    following = "done"
            self.state.step = following
            self.state.save(self._folder)
            yield step

    def _hesitate(self) -> None:
        """Ends a sweep that would take most of what is there.

        A database that was reset, or restored from a backup, is the claimed one all the same.
        """
        some_go = any(found.orphans for found in self.state.found.values())
        for store, found in self.state.found.items():
            if some_go and found.dangling and not found.objects and not self._even_most:
                raise InvalidError(
                    f"rows refer to {found.dangling:,} objects of the store {store}, and there is "
                    f"none at all in {self.state.stores[store]}: is it there, is it mounted? What "
                    "lies in other stores may be needed by its values. No object was removed; "
                    "where the values are lost, give --even-most"
                )
            left = found.needed + found.young
            if self._even_most or found.orphans <= max(_MANY, left):
                continue
            raise InvalidError(
                f"{found.orphans:,} objects of the store {store} would go, and {left:,} stay; the "
                f"database has {self.state.rows:,} rows of Airfreight's. Where it was reset, or "
                "restored from a backup, these objects may be all there is of their values. "
                "No object was removed; where they are to go, give --even-most"
            )

    # 1. What is there.

    def _list(self) -> Iterator[None]:
        for store in self._owners:
            token = self.state.lists.get(store, "")
            if token is None:
                continue
            found = self.state.found[store]
            lines = Sorter(self._folder / _name("objects", store))
            if not token:
                lines.clear()
                self.state.found[store] = found = Found()
            while True:
                page, token = self._stores.list(store, "", token, _PAGE)
                kept = False
                for key, size, version, modified in page:
                    found.objects += 1
                    found.bytes += size
                    if not key.isprintable():
                        continue  # None of ours; a line feed would make two lines of it.
                    line = f"{key}\t{modified}\t{size}\t{version}"
                    kept = lines.add(line.encode("utf-8", "surrogateescape")) or kept
                self._tell("list", found.objects, 0)
                if not token:
                    break
                if kept:
                    # (Only now all that was listed lies in files.)
                    lines.flush()
                    self.state.lists[store] = token
                    self.state.save(self._folder)
                yield
            lines.flush()
            self._list_uploads(store)
            self.state.lists[store] = None
            self.state.save(self._folder)
            yield

    def _list_uploads(self, store: str) -> None:
        found = self.state.found[store]
        if not self._stores.abilities(store).get("uploads"):
            return
        lines = Sorter(self._folder / _name("uploads", store))
        lines.clear()
        token = ""
        while True:
            page, token = self._stores.list_uploads(store, "", token, _PAGE)
            for key, upload, started in page:
                if started and started < self.state.began - self._rules.grace and _is_key(key):
                    lines.add(f"{key}\t{upload}".encode())
                    found.uploads += 1
                    found.show("upload", key)
            if not token:
                break
        lines.flush()

    # 2. What is needed.

    def _read(self) -> Iterator[None]:
        if self._remove and self._rules.retention:
            yield from self._expire()
        self.state.read_at = self._clock()
        self.state.forget_unread()
        mentions = self._mentions()
        needed = {store: Sorter(self._folder / _name("needed", store)) for store in self._owners}
        runs = Sorter(self._folder / "runs")
        leading = Sorter(self._folder / "leading")
        for lines in (*needed.values(), runs, leading):
            lines.clear()
        self.state.rows = self.state.runs = 0
        self.state.files = {}
        self.state.expired_rows *= self._remove
        with self._source.snapshot() as still:
            last = self._last = self._last_runs(still)
            for run in still.runs():
                self.state.runs += 1
                self.state.last_run = run.id
                self._note_late(run)
                runs.add(f"{_run_prefix(run.dag, run.run)}\t{self._held(run, last)}".encode())
            self._tell("read", 0, 0)
            for row in still.rows(marked=True):
                self.state.rows += 1
                self._row = row
                if not self._remove and self._expires(row, still, last, mentions):
                    self.state.expired_rows += 1
                    continue
                reference = own(row.raw) if row.written.timestamp() < self.state.began else None
                uri = "" if reference is None else str(reference["uri"])
                for reference in mentions.leading(row.raw or b""):
                    named = json.dumps([row.dag, _told(row)])
                    leading.add(f"{json.dumps(reference)}\t{named}".encode())
                for store, key in mentions.direct(row.raw or b""):
                    line = key.encode()
                    if uri.endswith("/" + key):
                        line += b"\town"
                    needed[store].add(line)
                if self.state.rows % _PAGE == 0:
                    self._tell("read", self.state.rows, 0)
                    # (Whoever goes on here begins this step anew: its snapshot is gone.)
                    yield
        # Only now: to read many objects takes long, and the transaction is not open any more.
        before = b""
        misses = self._misses
        for count, line in enumerate(leading, 1):
            text, _, about = line.partition(SEPARATOR)
            # (One that many rows have is looked into for the first; where it leads to what can't be
            # read, each of them is to be told, and its DAG kept.)
            if text != before:
                before, misses = text, self._misses
            elif self._misses == misses:
                text = b""
            if text:
                dag, where = json.loads(about)
                self._row = dag, where
                for store, key in mentions.inside(json.loads(text)):
                    needed[store].add(key.encode())
            if count % _PAGE == 0:
                self._tell("read", self.state.rows, 0)
                yield
        self._knows_late = True
        leading.clear()
        for lines in (*needed.values(), runs):
            lines.flush()
            self.state.files |= lines.sizes()

    def _mentions(self) -> Mentions:
        return Mentions(self.state.stores, self._aliases, self._folder, self._miss)

    def _miss(self, reference: Mapping[str, Any], error: Error) -> None:
        """Keeps what the row that is looked at may lead to."""
        self._misses += 1
        row = self._row
        dag, where = row if isinstance(row, tuple) else (row.dag, _told(row))
        dags = {name for name in (dag, reference.get("dag")) if isinstance(name, str) and name}
        self.state.miss(where, str(error), sorted(dags))

    def _is_unsure(self, key: str) -> bool:
        """Whether what can't be read may lead to an object."""
        if not self.state.unread:
            return False
        dags = self.state.unread_dags
        if self._unsure[0] != (count := -1 if dags is None else len(dags)):
            self._unsure = count, {_folder_of(dag) for dag in dags or ()}
        return dags is None or _BY_HAND in key or key.partition("/")[0] in self._unsure[1]

    def _last_runs(self, source: Source) -> dict[str, frozenset[str]]:
        """By DAG, the runs that are kept for being the last.

        (A later one is not over for so long yet that its retention could have passed.)
        """
        keep = self._rules.keep_last
        if not keep or not self._rules.retention:
            return {}
        names: dict[str, list[str]] = {}
        for run in source.runs():
            if self._rules.age(run.dag) is not None:
                names[run.dag] = [*names.get(run.dag, ()), run.run][-keep:]
        return {dag: frozenset(some) for dag, some in names.items()}

    def _is_over(self, run: Run, last: Mapping[str, frozenset[str]]) -> bool:
        """Whether a run has outlived its DAG's retention."""
        age = self._rules.age(run.dag)
        if age is None or not run.over or run.ended is None or run.run in last.get(run.dag, ()):
            return False
        return run.ended.timestamp() < self.state.began - age

    def _held(self, run: Run, last: Mapping[str, frozenset[str]]) -> str:
        """What a run keeps alive without a row: `all`, what was put by `hand`, or `nothing`."""
        if not run.over:
            return "all"
        return "nothing" if self._is_over(run, last) else "hand"

    def _is_swept(self, row: Row, mentions: Mentions) -> bool:
        """Whether a row is a reference, and its object lies in one of the stores that are swept."""
        if row.archived or own(row.raw) is None:
            return False
        return any(True for _ in mentions.direct(row.raw or b""))

    def _expires(
        self, row: Row, source: Source, last: Mapping[str, frozenset[str]], mentions: Mentions
    ) -> bool:
        if self._rules.age(row.dag) is None or not self._is_swept(row, mentions):
            return False
        run = self._run_of(row.dag, row.run, source)
        return run is not None and self._is_over(run, last)

    def _run_of(self, dag: str, run: str, source: Source) -> Run | None:
        # Rows come by their runs, or by their age, which is nearly the same.
        if (dag, run) not in self._known_runs:
            if len(self._known_runs) >= _PAGE:
                self._known_runs.clear()
            self._known_runs[dag, run] = source.find_runs([(dag, run)]).get((dag, run))
        return self._known_runs[dag, run]

    def _expire(self) -> Iterator[None]:
        """Removes the rows of runs that have outlived their retention."""
        last = self._last_runs(self._source)
        mentions = self._mentions()
        for run in self._source.runs():
            if not self._is_over(run, last):
                continue
            rows = self._source.rows(run.dag, run.run, marked=True)
            gone = [row for row in rows if self._is_swept(row, mentions)]
            self.state.expired_rows += self._source.remove(gone)
            yield

    # 3. What is not.

    def _join(self) -> Iterator[None]:
        self._check_files()
        for store in self._owners:
            found = self.state.found[store]
            found.foreign = found.needed = found.young = found.orphans = found.orphan_bytes = 0
            found.dangling = found.unsure = 0
            found.shown = [one for one in found.shown if one[0] == "upload"]
            objects = iter(Sorter(self._folder / _name("objects", store)))
            needed = Needed(iter(Sorter(self._folder / _name("needed", store))))
            runs = Runs(iter(Sorter(self._folder / "runs")))
            path = self._folder / _name("candidates", store)
            count = 0
            with path.open("wb") as out:
                for count, line in enumerate(objects, 1):
                    if count % (100 * _PAGE) == 0:
                        self._tell("join", count, found.objects)
                        yield
                    key = line[: line.index(SEPARATOR)]
                    is_needed, dangling = needed.look(key)
                    self._dangle(found, dangling)
                    if self._goes(found, line, key.decode(errors="replace"), is_needed, runs):
                        out.write(line + b"\n")
                sync(out)
                found.foreign += found.objects - count  # Those whose names no line holds.
            self._dangle(found, needed.rest())
            self.state.done[store] = 0
            yield

    def _check_files(self) -> None:
        """That what was read is still there: with less of it, more would look needless."""
        for name, size in self.state.files.items():
            path = self._folder / name
            if not path.is_file() or path.stat().st_size != size:
                raise InvalidError(
                    f"{path} is not what this sweep has left there: something removes or changes "
                    f"files in its folder. Remove {self._folder}, or give --state another folder, "
                    "and begin anew"
                )

    def _dangle(self, found: Found, keys: Iterable[bytes]) -> None:
        for key in keys:
            found.dangling += 1
            found.show("dangling", key.decode())

    def _goes(self, found: Found, line: bytes, key: str, is_needed: bool, runs: Runs) -> bool:
        """Whether an object is a candidate."""
        if is_needed:
            found.needed += 1
            return False
        if not _is_key(key):
            found.foreign += 1
            return False
        _, modified, size, *_ = line.split(SEPARATOR)
        by_hand = _BY_HAND in key
        held = runs.held(line)
        if held == "all" or (held == "hand" and by_hand):
            found.needed += 1
            return False
        age = self._rules.grace
        if by_hand and held is None:
            age = max(age, self._rules.by_hand)
        # (0: the store did not tell.)
        if not int(modified) or float(modified) > self.state.began - age:
            found.young += 1
            return False
        if self._is_unsure(key):
            found.unsure += 1
            return False
        found.orphans += 1
        found.orphan_bytes += int(size)
        found.show("orphan", key)
        return True

    # 4. What goes.

    def _finish(self) -> Iterator[None]:
        with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="airfreight-sweep") as threads:
            for store in self._owners:
                yield from self._remove_objects(store, threads)
                yield from self._abort_uploads(store)

    def _remove_objects(self, store: str, threads: ThreadPoolExecutor) -> Iterator[None]:
        found = self.state.found[store]
        path = self._folder / _name("candidates", store)
        done = self.state.done.get(store, 0)
        with path.open("rb") as lines:
            lines.seek(done)
            while some := [line[:-1] for line in islice(lines, _AT_A_TIME)]:
                yield
                self._look_at_new_rows()
                going = self._still_unneeded(store, some)
                found.kept += len(some) - len(going)
                for size in threads.map(lambda line: self._remove_one(store, line), going):
                    found.kept += size is None
                    found.removed += size is not None
                    found.removed_bytes += size or 0
                done += sum(len(line) + 1 for line in some)
                self.state.done[store] = done
                self.state.save(self._folder)
                self._tell("remove", found.removed + found.kept, found.orphans)

    def _look_at_new_rows(self) -> None:
        """Notes what rows speak of that were written since all were read."""
        now = self._clock()
        # (One for all looks: what it has looked into once is in `_new` already.)
        if self._newly is None:
            self._newly = self._mentions()
        self._source = self._source.again()
        if not self._knows_late:  # Another process has read the rows.
            for run in self._source.runs():
                self._note_late(run)
            self._knows_late = True
        for run in self._source.at_work(self.state.last_run):
            self._note_work(run)
        before = self._looked_at_all
        if before is None or now - before >= max(_ALL_EVERY, _ALL_SHARE * self._all_take):
            rows = self._source.rows(marked=True, since=self._since(before))
            self._note_new(rows)
            self._looked_at_all, self._all_take = now, self._clock() - now
        else:
            runs = list(self._working.values())
            self._note_new(self._source.rows_of(runs, self._since(self._looked_at)))
        self._looked_at = now

    def _since(self, look: float | None) -> datetime:
        """From when on rows were not seen, if that was the last look at them."""
        seen = self.state.read_at if look is None else look
        return datetime.fromtimestamp(seen, timezone.utc) - _CLOCKS

    def _note_late(self, run: Run) -> None:
        """Notes a run if its tasks may have written since rows were read."""
        late = datetime.fromtimestamp(self.state.read_at, timezone.utc) - _LATE_TASKS
        if not run.over or (run.ended is not None and run.ended >= late):
            self._note_work(run)

    def _note_work(self, run: Run) -> None:
        self._working[_run_prefix(run.dag, run.run)] = run

    def _note_new(self, rows: Iterator[Row]) -> None:
        assert self._newly is not None
        for row in rows:
            self._row = row
            for store, key in self._newly.of(row.raw or b""):
                self._new.add(_digest(store, key))
            if len(self._new) > _NEW_ROWS:
                raise InvalidError(
                    "so many rows were written since this sweep read them that it can't keep them "
                    f"in mind: remove {self._folder} and begin anew"
                )

    def _still_unneeded(self, store: str, lines: list[bytes]) -> list[bytes]:
        """Those of some candidates that no row or run needs now."""
        from airfreight import _core

        if self._last is None:  # The sweep was begun by another process.
            self._last = self._last_runs(self._source)
        going: dict[str, bytes] = {}
        wanted: list[tuple[str, str, str, int | None, str]] = []
        attempts, runs = [], set()
        for line in lines:
            key = line[: line.index(SEPARATOR)].decode()
            if _digest(store, key) in self._new:
                continue
            going[key] = line
            told = _core.parse_key(key)
            if told is None:
                continue  # Shortened: what is new of it was seen above.
            runs.add((told["dag"], told["run"]))
            if told["put_name"] is not None:
                continue  # It has no row of its own; which one speaks of it was seen above.
            if told["ti_id"] is not None:
                attempts.append((told["ti_id"], told["key"]))
            else:
                # (One that another task wrote does not say of which map index it is.)
                index = told["map_index"] if told["write_id"] is None else None
                wanted.append((told["dag"], told["run"], told["task"], index, told["key"]))
        mentions = self._mentions()
        for row in (*self._source.find(wanted), *self._source.find_of_attempts(attempts)):
            self._row = row
            for _, key in mentions.of(row.raw or b""):
                going.pop(key, None)
        there = {
            _run_prefix(run.dag, run.run): self._held(run, self._last)
            for run in self._source.find_runs(runs).values()
        }
        held = (self._is_held(key, there.get(_prefix_of(key))) for key in going)
        return [line for line, stays in zip(going.values(), held, strict=True) if not stays]

    def _is_held(self, key: str, by_run: str | None) -> bool:
        """Whether an object that no row needs stays."""
        if by_run == "all" or (by_run == "hand" and _BY_HAND in key) or self._is_unsure(key):
            return True
        # (Of a shortened name no run can be asked for; those at work are known.)
        run = self._working.get(_prefix_of(key)) if "~" in key else None
        return run is not None and not run.over

    def _remove_one(self, store: str, line: bytes) -> int | None:
        """Removes an object, if it is the one that was listed, and ours; its bytes."""
        key, modified, _, version = line.decode().split("\t", 3)
        try:
            size, now, metadata, changed = self._stores.head(store, key)
        except NotFoundError as error:
            if error.code != "NotFound":
                raise
            return None
        # (Some stores tell a time in full here and in seconds there.)
        same = abs(changed - int(modified)) <= 1 and version in ("", now)
        if not same or not self._owners[store].mine(metadata):
            return None
        # The version is named also where the store does not promise to heed it: servers that do
        # not know the condition remove all the same, others keep what was written since the look.
        try:
            try:
                self._stores.remove(store, key, condition=now or None)
            except UnsupportedError:
                self._stores.remove(store, key, condition=None)
        except ReplacedError:
            return None
        except NotFoundError as error:
            if error.code != "NotFound":
                raise
            return None
        return int(size)

    def _abort_uploads(self, store: str) -> Iterator[None]:
        found = self.state.found[store]
        for line in Sorter(self._folder / _name("uploads", store)):
            key, upload = line.decode().split("\t", 1)
            if self._is_over_and_ours(store, key):
                self._stores.abort_upload(store, key, upload)
                found.aborted += 1
                self.state.save(self._folder)
            yield

    def _is_over_and_ours(self, store: str, key: str) -> bool:
        """Whether an upload, which bears no owner, is that of a run of ours which is over.

        Or of one that is not there any more, in a store that we share with nobody.
        """
        from airfreight import _core

        told = _core.parse_key(key)
        if told is None:
            return False
        found = self._source.find_runs([(told["dag"], told["run"])])
        if not found:
            return not self._owners[store].shared
        return all(run.over for run in found.values())


def _told(row: Row) -> str:
    """A row, for people."""
    index = f"[{row.map_index}]" if row.map_index >= 0 else ""
    where = f"{row.dag} / {row.run} / {row.task}{index} / {row.key} ({row.table})"
    return where if where.isprintable() else ascii(where)[1:-1]


def _folder_of(dag: str) -> str:
    """How the keys of a DAG's objects begin; empty for what is the name of none."""
    from airfreight import _core

    try:
        return _core.encode_part(dag)
    except (ValueError, TypeError):  # (No text that a database keeps.)
        return ""


def _run_prefix(dag: str, run: str) -> str:
    """How the keys of a run's objects begin."""
    from airfreight import _core

    return f"{_core.encode_part(dag)}/{_core.encode_part(run)}/"


def _prefix_of(key: str) -> str:
    return "/".join(key.split("/", 2)[:2]) + "/"


def _is_key(key: str) -> bool:
    """Whether a key has the form of formats/key.md."""
    from airfreight import _core

    try:
        _core.parse_key(key)
    except InvalidError:
        return False
    return True


def _name(what: str, store: str) -> str:
    return f"{what}-{blake2b(store.encode(), digest_size=8).hexdigest()}"


def _digest(store: str, key: str) -> bytes:
    return blake2b(f"{store}\t{key}".encode(), digest_size=16).digest()

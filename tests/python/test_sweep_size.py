"""How much memory a sweep takes: that of its batches, however many objects there are.

Ten million objects in `./dev soak`, fewer elsewhere. Stores and database are made up, since what is
measured is what the sweep keeps of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airfreight.admin import sweep, sweep_state
from airfreight.admin.ownership import Ownership
from airfreight.admin.rows import Row, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MANY = 10_000_000 if os.environ.get("AIRFREIGHT_SOAK") else 150_000
#: Objects of a run, of which all but the last have a row: enough to go for several last looks.
_OF_A_RUN = 500
_NOW = 2_000_000_000
_MOST_MEGABYTES = 200


def _key(number: int) -> str:
    run, task = divmod(number, _OF_A_RUN)
    return f"sales/run_{run:07}/extract/map_{task:03}/return_value.parquet"


class Stores:
    """As `_core.Administration`, with objects in an order that is none of their keys."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.removed = 0

    def root(self, _: str) -> str:
        return "s3://bucket/xcom"

    def abilities(self, _: str) -> dict[str, bool]:
        return {}

    def list(self, _: str, __: str, token: str, limit: int) -> tuple[list[Any], str]:
        first = int(token or 0)
        last = min(first + limit, self._count)
        # (7 is prime to any power of ten: every number comes once.)
        page = [
            (_key(number * 7 % self._count), 1000, "etag", _NOW - 10**7)
            for number in range(first, last)
        ]
        return page, str(last) if last < self._count else ""

    def head(self, _: str, __: str) -> tuple[int, str, dict[str, str], int]:
        return 1000, "etag", {"af-write": "0"}, _NOW - 10**7

    def remove(self, _: str, key: str, condition: str | None = None) -> None:
        assert condition == "etag"
        assert key.split("/")[3].lstrip("map_0") == str(_OF_A_RUN - 1)
        self.removed += 1


class Database:
    """As `airfreight.admin.database.Database`."""

    name = "made up"

    def __init__(self, count: int) -> None:
        self._count = count

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Database]:
        yield self

    def identity(self) -> dict[str, str]:
        return {}

    def at_work(self, _: int) -> list[Run]:
        return []

    def runs(self) -> Iterator[Run]:
        for number in range(self._count // _OF_A_RUN):
            yield Run("sales", f"run_{number:07}", number, "success", None, None)

    def rows(self, *, marked: bool, since: datetime | None = None) -> Iterator[Row]:
        assert marked
        when = datetime.fromtimestamp(_NOW - 10**7, timezone.utc)
        for number in range(0 if since is None else self._count, self._count):
            if number % _OF_A_RUN < _OF_A_RUN - 1:
                fields = {"_xcom_backend": "s3", "_airfreight": 1, "_xcom_type": "bytes"}
                raw = json.dumps({**fields, "uri": f"s3://bucket/xcom/{_key(number)}"})
                yield Row("xcom", "", "sales", "", "", -1, "", raw, when)

    def again(self) -> Database:
        return self

    def rows_of(self, _: Iterable[Run], __: datetime) -> Iterator[Row]:
        return iter(())

    def find(self, _: Iterable[Any]) -> Iterator[Row]:
        return iter(())

    def find_of_attempts(self, _: Iterable[Any]) -> Iterator[Row]:
        return iter(())

    def find_runs(self, _: Iterable[Any]) -> dict[Any, Run]:
        return {}


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(count: int) -> None:
    """Sweeps that many objects; prints what it found, and the memory that it took."""
    before = _peak()
    stores, made = Stores(count), Database(count)
    with tempfile.TemporaryDirectory() as folder:
        state = sweep.Sweep(
            made,  # type: ignore[arg-type]
            stores,  # type: ignore[arg-type]
            {"default": Ownership("", named=False, unnamed=True, shared=False)},
            sweep_state.Rules(grace=7 * 86_400, by_hand=30 * 86_400),
            Path(folder),
            remove=True,
            clock=lambda: _NOW,
        ).run()
    found = state.found["default"]
    told = {"objects": found.objects, "needed": found.needed, "orphans": found.orphans}
    memory = {"before": before, "more": _peak() - before}
    print(json.dumps({**told, "removed": stores.removed, "rows": state.rows, **memory}))


def test_memory_is_that_of_a_batch() -> None:
    # In a process of its own, whose memory nothing else has taken and given back.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, str(MANY)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout.splitlines()[-1])
    print(told)
    assert told["objects"] == MANY
    assert told["orphans"] == told["removed"] == MANY // _OF_A_RUN
    assert told["needed"] == told["rows"] == MANY - MANY // _OF_A_RUN
    assert told["more"] < _MOST_MEGABYTES * 1_000_000


if __name__ == "__main__":
    main(int(sys.argv[1]))

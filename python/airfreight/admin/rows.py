"""What administration reads of Airflow, wherever it reads it: the rows of XComs, and the runs.

`database` reads them by SQL, `api` by Airflow's public REST API.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from airfreight.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from datetime import datetime

#: Airflow's own tables: `xcom` up to 3.3; from 3.4 on the rows from before, and those of attempts.
LIVE = ("xcom", "xcom_v1", "xcom_v2")
#: What each row that Airfreight wrote has in it, and each that holds one of its references.
MARK = "_airfreight"


class AirflowUnavailableError(UnavailableError):
    """Airflow's database, or its API, could not be reached or is failing."""

    advice = "Nothing is lost by it: run the same command again when it answers."

    def _is_advised(self) -> bool:
        # (`retryable` it never is: that is said of what keeps values.)
        return True


@dataclass(frozen=True)
class Row:
    """A row of an XCom.

    Attributes:
        table: where it lies: `xcom`, or an archive of `airflow db clean`.
        id: tells it from all others and where to go on after it; opaque.
        dag, run, task, key: of the XCom. Empty for the archived row of an attempt (Airflow 3.4),
            whose task instance is gone.
        map_index: -1 where the task is not mapped.
        raw: the column as it is: bytes on Airflow 2, the text of the JSON on Airflow 3; None where
            it is NULL.
        written: in UTC.
        ti: the task instance, from Airflow 3.4 on; else None.
    """

    table: str
    id: str
    dag: str
    run: str
    task: str
    map_index: int
    key: str
    raw: bytes | str | None
    written: datetime
    ti: str | None = None

    @property
    def value(self) -> Any:
        """The bytes of Airflow 2; the decoded JSON of Airflow 3. None where there is neither."""
        return json.loads(self.raw) if isinstance(self.raw, str) else self.raw

    @property
    def archived(self) -> bool:
        """Whether `airflow db clean` has put it away: no task reads it any more."""
        return self.table not in LIVE


@dataclass(frozen=True)
class Run:
    """A run of a DAG.

    Attributes:
        dag, run: its ids.
        id: a number that grows with each run that is made; to go on after. Of the API: its place
            among those that were read with it.
        state: `queued`, `running`, `success` or `failed`.
        made: when it was queued, or else began; None where Airflow does not say.
        ended: None while it has not.
    """

    dag: str
    run: str
    id: int
    state: str
    made: datetime | None
    ended: datetime | None

    @property
    def over(self) -> bool:
        """Whether none of its tasks runs any more."""
        return self.state in ("success", "failed")


class Source(Protocol):
    """Where a sweep has rows and runs from.

    Whatever can't be read is an error, never a row or a run that is not there.
    """

    @property
    def name(self) -> str:
        """Where it is, without a secret."""

    def identity(self) -> dict[str, str]:
        """What tells it from a copy, for claims (`airfreight.admin.ownership`)."""

    def is_replica(self) -> bool:
        """Whether it may be behind another one."""

    def snapshot(self) -> AbstractContextManager[Source]:
        """To read all rows from: each that is there all the while is among them once at least."""

    def again(self) -> Source:
        """The same with what it has now: archives come and go."""

    def rows(
        self,
        dag: str | None = None,
        run: str | None = None,
        *,
        marked: bool = False,
        since: datetime | None = None,
    ) -> Iterator[Row]:
        """The rows; of one DAG or run, with our mark in them, or written since, where asked."""

    def offset(self) -> float:
        """Seconds by which the clock of this machine is ahead of its own, as far as it tells."""

    def find(self, coordinates: Iterable[tuple[str, str, str, int | None, str]]) -> Iterator[Row]:
        """The rows of these coordinates (dag, run, task, map index, key) that are there.

        Those of every map index where that is None.
        """

    def find_of_attempts(self, attempts: Iterable[tuple[str, str]]) -> Iterator[Row]:
        """The rows of these (task instance, key) that are there; none before Airflow 3.4."""

    def at_work(self, after: int) -> list[Run]:
        """The runs whose tasks may run, and those that were made after that of a number."""

    def rows_of(self, runs: Iterable[Run], since: datetime) -> Iterator[Row]:
        """The rows of runs with our mark in them that were written since; others may be there."""

    def remove(self, rows: Iterable[Row]) -> int:
        """Removes rows that still have the value that was read; how many that were."""

    def runs(self) -> Iterator[Run]:
        """All runs, in the order in which they were made."""

    def find_runs(self, runs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Run]:
        """Runs by dag and run id; those that are not there are left out."""


def encoded(value: Any, *, binary: bool) -> Any:
    """What a row holds of a JSON value: itself, or its bytes on Airflow 2.

    A lone surrogate stays the escape that it was.
    """
    if not binary:
        return value
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()

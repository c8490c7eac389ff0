"""The suites, in the order in which they run. Each has `run(options) -> bars`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from bench.backends import BOTO3, OFFICIAL, OURS, Backend

if TYPE_CHECKING:
    from bench.server import Store


@dataclasses.dataclass(frozen=True)
class Options:
    """What a suite gets.

    Attributes:
        store: The running server.
        backends: Those to measure, ours first.
        rounds: How many samples are taken of each thing that costs seconds.
        rows: Rows of the large frame.
        cases: Of the suites `transfer`, `stores` and `values`, these only; all when empty.
        stream_bytes: Length of its stream.
    """

    store: Store
    backends: tuple[Backend, ...] = (OURS, BOTO3, OFFICIAL)
    rounds: int = 9
    rows: int = 1_000_000
    cases: tuple[str, ...] = ()
    stream_bytes: int = 1 << 30

    @property
    def peers(self) -> tuple[Backend, ...]:
        """Those that we are measured against."""
        return tuple(backend for backend in self.backends if backend is not OURS)


# Module names under bench/suites/; `import` is a word of the language.
NAMES = ("importing", "first", "small", "values", "transfer", "stores", "memory", "tasks")

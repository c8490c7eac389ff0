"""The Python program that tests/fork/driver.py lets fork; the lines are those of fork_harness.cc.

What Airflow's supervisor does: it has the package loaded and used in threads, forks a task, and the
task uses the same objects of the package.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import traceback
from typing import TYPE_CHECKING

from airfreight._core import Coordinate, Freight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LARGE = 18 << 20  # Parts and ranges, at the sizes that are the package's own.
_SMALL = 3000
_IDLE_CONNECTIONS = 8
_PAUSE_SECONDS = 0.005


def _content(name: str) -> bytes:
    # The fastest there is that repeats nowhere: it is made anew for every transfer.
    return hashlib.shake_128(name.encode()).digest(_LARGE if name.endswith("large") else _SMALL)


class Transfers:
    """Puts and gets by name; `side` is "held" for the parent's and "free" for the child's."""

    def __init__(self) -> None:
        endpoint = os.environ["AIRFREIGHT_TEST_S3_ENDPOINT"]
        place = os.environ["AIRFREIGHT_TEST_S3"]
        self._freight = Freight([("default", place, {"endpoint_url": endpoint})])
        self._references: dict[str, str] = {}

    def put(self, side: str, run: str, task: str) -> str:
        """Stores the content of this place; its reference."""
        return self._freight.put(
            Coordinate(side, run, task, "k"),
            [_content(side + run + task)],
            type="builtins.bytes",
            extension="bin",
        )

    def prepare(self, side: str) -> None:
        """Writes what `get` reads."""
        for task in ("get-small", "get-large"):
            self._references[side + task] = self.put(side, "prepared", task)

    def get(self, side: str, task: str) -> None:
        """AssertionError unless what is there is what was put."""
        self.check(self._references[side + task], f"{side}prepared{task}")

    def check(self, reference: str, name: str) -> None:
        """AssertionError unless the object of a reference has the content of that name."""
        assert self._freight.get(reference) == _content(name), name


class _Restless:
    """Threads that transfer without a pause around the fork, as those of fork_harness.cc."""

    def __init__(self, transfers: Transfers, run: str, watched: Callable[..., None]) -> None:
        self._transfers = transfers
        self._run = run
        self._watched = watched
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, count: int) -> None:
        """Starts threads; each transfers once at least."""
        self._stop.clear()
        for _ in range(count):
            run = f"{self._run}-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._work, args=(run,)))
            self._threads[-1].start()

    def stop(self) -> None:
        """Waits for all of them."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _work(self, run: str) -> None:
        while True:
            self._watched(self._transfers.put, "busy", run, "put-small")
            self._watched(self._transfers.get, "busy", "get-small")
            # A moment for the others: this is about where the fork falls, not about load.
            if self._stop.wait(_PAUSE_SECONDS):
                return


def _child(transfers: Transfers, run: str, sizes: Sequence[str]) -> int:
    try:
        for size in sizes:
            transfers.check(transfers.put("free", run, f"put-{size}"), f"free{run}put-{size}")
        for size in sizes:
            transfers.get("free", f"get-{size}")
    except BaseException:  # The child must not go on as the parent, whatever happens.
        traceback.print_exc()
        return 1
    return 0


def _round(transfers: Transfers, run: str) -> None:
    wrong: list[str] = []

    def watched(work, *arguments) -> None:
        try:
            work(*arguments)
        except Exception as error:
            wrong.append(f"{arguments}: {error!r}")

    restless = _Restless(transfers, run, watched)
    # Connections that lie idle at the fork, for both sides to take up.
    restless.start(_IDLE_CONNECTIONS)
    restless.stop()
    threads = [
        threading.Thread(target=watched, args=(transfers.put, "held", run, task))
        for task in ("put-small", "put-large")
    ] + [
        threading.Thread(target=watched, args=(transfers.get, "held", task))
        for task in ("get-small", "get-large")
    ]
    for thread in threads:
        thread.start()
    restless.start(1)
    forks = int(_expect("fork ").removeprefix("fork "))
    failed = 0
    for number in range(1, forks + 1):
        child = os.fork()
        if child == 0:
            # The last one does all, as in fork_harness.cc.
            sizes = ("small", "large") if number == forks else ("small",)
            # In good order: atexit, destructors and all.
            sys.exit(_child(transfers, f"{run}-{number}", sizes))
        if number == 1:
            restless.start(_IDLE_CONNECTIONS // 2)
        _, status = os.waitpid(child, 0)
        if failed := os.waitstatus_to_exitcode(status):
            break
    restless.stop()
    print(f"child {failed}", flush=True)
    _expect("join")
    for thread in threads:
        thread.join()
    print("wrong " + "; ".join(wrong).replace("\n", " ") if wrong else "ok", flush=True)


def _expect(word: str) -> str:
    line = sys.stdin.readline().strip()
    if not line:
        sys.exit(0)
    assert line.startswith(word), f"expected {word}, got {line}"
    return line


def main() -> None:
    """Rounds until standard input ends."""
    transfers = Transfers()
    transfers.prepare("held")
    transfers.prepare("free")
    transfers.prepare("busy")
    print("ready", flush=True)
    while True:
        _round(transfers, _expect("round").replace(" ", "-"))


if __name__ == "__main__":
    main()

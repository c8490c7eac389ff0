"""A program of test_fork.py: forks while another thread is in the process's very first push.

    python first_push.py ROUNDS [--regardless]

Each round is a process that has imported the backend and used nothing of it yet. A thread of it
makes its first push, and the moment that this imports the n-th module, the main thread forks. The
child pushes too. With `--regardless` the fork does not wait for the import, as if nothing were done
about it. Prints the number of children that ended well, and of those that hung.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

import airfreight
from airfreight import _imports

# What a child may take: far more than it does, or, where a hang is expected, enough to see one.
PATIENCE = 120
SHORT = 5


class Watcher:
    """Holds a thread at the beginning of the n-th module body that it runs, until the fork is due.

    (While a module is looked for, Python itself keeps a fork waiting; while its body runs, not.)
    """

    def __init__(self, number: int, *, regardless: bool) -> None:
        self.reached = threading.Event()
        self.forked = threading.Event()
        self.count = 0
        self._number = number
        self._regardless = regardless

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        if event != "call" or frame.f_code.co_name != "<module>":
            return
        self.count += 1
        if self.count - 1 == self._number:
            self.reached.set()
            if self._regardless:
                self.forked.wait()
            else:
                time.sleep(0.02)  # The fork begins now; it can't end before this import has.

    def thread(self, task: str) -> threading.Thread:
        """A thread that pushes and is watched; runs already."""
        threading.setprofile(self)
        thread = threading.Thread(target=push, args=(task,), daemon=True)
        thread.start()
        threading.setprofile(None)
        return thread


def push(task: str) -> None:
    row = airfreight.XComBackend.serialize_value(
        {"t": (1, 2), "b": b"x" * 40_000},
        key="return_value",
        task_id=task,
        dag_id="dag",
        run_id="run",
        map_index=-1,
    )
    assert b"xcom_backend" in (row if isinstance(row, bytes) else repr(row).encode())


def modules() -> int:
    """How many modules the first push imports: counted in a process of its own."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        watcher = Watcher(-1, regardless=False)
        watcher.thread("count").join()
        os.write(writer, str(watcher.count).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return int(os.read(reader, 100))


def one_round(number: int, *, regardless: bool) -> int:
    """The exit status of the child that was forked at the import of a module."""
    if regardless:
        _imports._PATIENCE = 0
    watcher = Watcher(number, regardless=regardless)
    thread = watcher.thread("parent")
    watcher.reached.wait(PATIENCE)
    if (child := os.fork()) == 0:
        signal.alarm(SHORT if regardless else PATIENCE)
        push("child")
        os._exit(0)
    watcher.forked.set()
    _, status = os.waitpid(child, 0)
    thread.join(PATIENCE)
    return 0 if status == 0 and not thread.is_alive() else 1 if status == signal.SIGALRM else 2


def main() -> None:
    rounds, regardless = int(sys.argv[1]), "--regardless" in sys.argv
    airfreight.XComBackend  # noqa: B018 (as Airflow does)
    count = modules()
    ended = [0, 0, 0]
    for number in range(rounds):
        if (child := os.fork()) == 0:
            try:
                status = one_round(number % count, regardless=regardless)
            except BaseException:
                status = 2
            os._exit(status)
        ended[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])] += 1
    print(f"modules {count} well {ended[0]} hung {ended[1]} failed {ended[2]}")


main()

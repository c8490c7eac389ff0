"""Named stages of a verb: run one after another, or in lanes beside each other; what each took."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from tools.dev.base import BUILD, DevError, say

LOGS = BUILD / "logs"
# What the runners say of themselves: ctest, GoogleTest, pytest with -q or without.
_SUMMARY = re.compile(
    r"^(\d+% tests passed, .*|\[  (?:PASSED|FAILED|SKIPPED) +\] \d+ tests?.*"
    r"|(?:=+ )?\d+ (?:passed|failed|error|skipped).* in [\d.]+s.*)$"
)


# More of them beside each other take no less time, and more memory.
_MOST_COMPILING = 2


@dataclass(frozen=True)
class Stage:
    """One stage of a verb.

    Attributes:
        name: What `./dev test <name>` calls it.
        work: Raises DevError when it fails.
        after: Stages that leave what this one uses; it would make that itself, at the same time.
        compiles: Keeps all processors busy. Beside such a one goes one that does not, if there is.
        group: Of the stages of one group, one runs at a time.
        alone: Nothing else may run beside it; comes last.
    """

    name: str
    work: Callable[[], None]
    after: tuple[str, ...] = ()
    compiles: bool = False
    group: str = ""
    alone: bool = False


@dataclass(frozen=True)
class _Row:
    name: str
    seconds: float
    cpu_seconds: float
    outcome: str


@dataclass
class Stages:
    """Runs stages, goes on after a failure, and prints what each took.

    With one lane a stage runs in this process and its output is seen as it comes. With more, each
    has a process of its own; its output goes to `build/logs/` and is printed when it has ended.

    Attributes:
        only: Names to run; all when empty.
        lanes: How many may run at a time.
    """

    only: Sequence[str] = ()
    lanes: int = 1
    known: list[Stage] = field(default_factory=list)
    rows: list[_Row] = field(default_factory=list)

    def stage(
        self,
        name: str,
        work: Callable[[], None],
        *,
        after: Sequence[str] = (),
        compiles: bool = False,
        group: str = "",
        alone: bool = False,
    ) -> None:
        """Add a stage; see Stage."""
        self.known.append(Stage(name, work, tuple(after), compiles, group, alone))

    def run(self) -> int:
        """Run what was added and print the table; the exit status."""
        names = [stage.name for stage in self.known]
        unknown = [name for name in self.only if name not in names]
        if unknown:
            raise DevError(f"no such stage: {', '.join(unknown)}; there are {', '.join(names)}")
        wanted = [stage for stage in self.known if not self.only or stage.name in self.only]
        begin = time.monotonic()
        if self.lanes == 1 or len(wanted) == 1:
            for stage in wanted:
                self._run_here(stage)
        else:
            self._run_in_lanes(wanted)
        return self._finish(time.monotonic() - begin)

    def _run_here(self, stage: Stage) -> None:
        say(stage.name)
        begin, before = time.monotonic(), os.times()
        failed = _failed(stage)
        after = os.times()
        cpu = sum(after[:4]) - sum(before[:4])
        self._note(_Row(stage.name, time.monotonic() - begin, cpu, _outcome(failed)))

    def _run_in_lanes(self, wanted: Sequence[Stage]) -> None:
        shutil.rmtree(LOGS, ignore_errors=True)
        LOGS.mkdir(parents=True)
        waiting = list(wanted)
        running: dict[int, tuple[Stage, float]] = {}
        with _interrupts_reach(running):
            while waiting or running:
                while len(running) < self.lanes:
                    stage = _next(waiting, [stage for stage, _ in running.values()])
                    if stage is None:
                        break
                    waiting.remove(stage)
                    say(f"{stage.name} begins")
                    running[_start(stage)] = (stage, time.monotonic())
                pid, status, usage = os.wait4(-1, 0)
                if pid not in running:
                    continue
                stage, begin = running.pop(pid)
                say(stage.name)
                sys.stdout.flush()
                sys.stdout.buffer.write(_log(stage).read_bytes())
                sys.stdout.flush()
                seconds = time.monotonic() - begin
                cpu = usage.ru_utime + usage.ru_stime
                self._note(_Row(stage.name, seconds, cpu, _outcome(status != 0)))

    def _note(self, row: _Row) -> None:
        self.rows.append(row)
        say(f"{row.name}: {row.outcome}, {row.seconds:.0f} s")

    def _finish(self, elapsed: float) -> int:
        if len(self.rows) > 1 and self.lanes > 1:
            say("results")
            for row in self.rows:
                lines = (LOGS / f"{row.name}.log").read_text(errors="replace").splitlines()
                found = [line for line in lines if _SUMMARY.match(line)]
                if found:
                    print(f"-- {row.name}", *found, sep="\n")
        say("stages")
        for row in self.rows:
            times = f"{row.seconds:8.1f} s  {row.cpu_seconds:8.1f} s of CPU"
            print(f"{row.name:<24}{times}  {row.outcome}")
        failed = sum(row.outcome != "ok" for row in self.rows)
        used = sum(row.cpu_seconds for row in self.rows)
        print(f"{'total':<24}{elapsed:8.1f} s  {used:8.1f} s of CPU")
        print(f"stages: {len(self.rows) - failed} passed, {failed} failed", flush=True)
        return 1 if failed else 0


def _outcome(failed: bool) -> str:
    return "FAILED" if failed else "ok"


def _failed(stage: Stage) -> bool:
    """Run a stage in this process."""
    try:
        stage.work()
    except DevError as error:
        print(f"{stage.name}: {error}", file=sys.stderr, flush=True)
        return True
    return False


def _next(waiting: Sequence[Stage], running: Sequence[Stage]) -> Stage | None:
    """Which stage to begin now, beside those that run."""
    if any(stage.alone for stage in running):
        return None
    unfinished = {stage.name for stage in (*waiting, *running)}
    groups = {stage.group for stage in running} - {""}
    ready = [
        stage
        for stage in waiting
        if not stage.alone and stage.group not in groups and unfinished.isdisjoint(stage.after)
    ]
    if not ready:
        # Those that want to be alone come when all others are through.
        return waiting[0] if waiting and not running else None
    compiling = sum(stage.compiles for stage in running)
    fitting = [stage for stage in ready if stage.compiles != bool(compiling)]
    if not fitting and compiling >= _MOST_COMPILING:
        return None
    return (fitting or ready)[0]


def _log(stage: Stage) -> Path:
    return LOGS / f"{stage.name}.log"


def _start(stage: Stage) -> int:
    """Begin a stage in a process (and process group) of its own; its id."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _child(stage)
    return pid


def _child(stage: Stage) -> NoReturn:
    status = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with _log(stage).open("wb") as log, Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        status = int(_failed(stage))
    except BaseException:  # noqa: BLE001 - whatever it is, it must not go on as the parent would
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


@contextlib.contextmanager
def _interrupts_reach(running: dict[int, tuple[Stage, float]]) -> Iterator[None]:
    """Whoever ends us ends the stages too, as a terminal would: tests then stop their servers."""

    def interrupt(number: int, _frame: object) -> None:
        raise KeyboardInterrupt(number)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGINT)
        for pid in running:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)

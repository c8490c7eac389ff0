"""Transfers through a proxy that resets, cuts, delays, throttles and corrupts, with seeded chance.

    build/venvs/core/bin/python -m tests.chaos --transfers 1000 --seed 1

Values of random sizes are pushed and pulled by several threads, while writer processes are killed
in mid-push. What has to hold (`Tally.broken`): no pull returns wrong bytes; what a reference names
is there, whole; an object that is there is whole; every failure is one of Airfreight's named
errors; enough transfers meet a fault and nearly all of those succeed; memory and descriptors do not
grow; no upload in parts is left behind by a writer that lives.

`--without-verification` pulls by plain HTTP through the same proxy instead, with nothing but the
length checked. Such a run has to fail, which shows that the corruption is there to be found.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import dataclasses
import gc
import http.client
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from typing import TYPE_CHECKING

import airfreight
from airfreight._core import Coordinate, Freight
from tests.chaos.content import content, draw_size
from tests.chaos.faults import SHAPES
from tests.servers.process import end, exit_on_sigterm
from tests.servers.sigv4 import S3Client
from tests.servers.versitygw import VersityGW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_BUCKET = "chaos"
_WORKERS = 8
_MET_AT_LEAST = 0.60
_SUCCEED_AT_LEAST = 0.95
# What a transfer may take before it gives up, its requests' retries included.
_BUDGET_SECONDS = 60.0
# After a tenth of the transfers everything that is kept is there: connections, buffers, arenas.
_WARM_UP = 0.1
# Eight threads' values of 40 MB come and go; a leak of a hundredth of what is moved is more.
_GROWTH_BYTES = 64 << 20
# Idle connections are kept, up to the transport's own number; a leak would be one a transfer.
_GROWTH_DESCRIPTORS = 80
_M_MMAP_THRESHOLD = -3  # malloc.h
_PLAIN_ATTEMPTS = 20
# Not the transfer's own request but the one before it on the connection.
_NOT_MET = "stale close"


class ProxyProcess:
    """tests/chaos/proxy.py and its lines.

    Threads: may be shared.
    """

    def __init__(self, upstream: str, seed: int) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.proxy", upstream, str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.url: str = json.loads(self._process.stdout.readline())

    def ask(self, line: str) -> list[str]:
        """Sends a line; the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
            answer: list[str] = json.loads(self._process.stdout.readline()) or []
        return answer

    def close(self) -> None:
        """Ends it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        end(self._process)


@dataclasses.dataclass
class Tally:
    """What has happened. Threads: `add` and `note` under its lock."""

    transfers: int = 0
    met: int = 0
    met_and_succeeded: int = 0
    unharmed_failures: int = 0
    killed: int = 0
    faults: Counter[str] = dataclasses.field(default_factory=Counter)
    errors: Counter[str] = dataclasses.field(default_factory=Counter)
    shapes: list[str] = dataclasses.field(default_factory=list)
    broken: list[str] = dataclasses.field(default_factory=list)
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def add(self, faults: list[str], error: Exception | None) -> None:
        """One transfer."""
        own = [fault for fault in faults if fault != _NOT_MET]
        with self.lock:
            self.transfers += 1
            self.faults.update(faults)
            if own:
                self.met += 1
                self.met_and_succeeded += error is None
            elif error is not None:
                self.unharmed_failures += 1
            if error is not None:
                name = type(error).__name__
                self.errors[f"{name} after {', '.join(own) or 'nothing'}"] += 1

    def note(self, what: str) -> None:
        """Something that must not be."""
        with self.lock:
            self.broken.append(what)


@dataclasses.dataclass(frozen=True)
class Usage:
    """Of this process, while nothing is under way."""

    resident: int
    descriptors: int

    @classmethod
    def now(cls) -> Usage:
        """Measures, when what was freed has gone back to the system."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/statm") as statm:
            pages = int(statm.read().split()[1])
        return cls(pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd")))


class Run:
    """One run against one server."""

    def __init__(self, server: VersityGW, proxy: ProxyProcess, seed: int, *, verify: bool) -> None:
        self.tally = Tally()
        self._server = server
        self._proxy = proxy
        self._seed = seed
        self._place = f"s3://{_BUCKET}/xcom"
        settings = {"endpoint_url": proxy.url}
        self._freight = Freight([("default", self._place, settings)], timeout=_BUDGET_SECONDS)
        self._pull: Callable[[str, str], bytes] = self._checked if verify else self._plain
        self._kept: dict[str, tuple[str, int]] = {}

    def transfers(self, count: int, killed_writers: int) -> None:
        """All of them, and what has to hold afterwards."""
        pairs = count // 2
        warm = max(int(pairs * _WARM_UP), _WORKERS)
        self._pairs(range(warm))
        before = Usage.now()
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            killing = beside.submit(self._kill_writers, killed_writers)
            self._pairs(range(warm, pairs))
            killing.result()
        self._check_growth(before, Usage.now())
        self._proxy.ask("off")
        for path, (name, size) in self._kept.items():
            self._check_object(path, content(self._seed, name, size), must_be_there=True)
        self._check_uploads()
        self.tally.shapes = self._proxy.ask("shapes")

    def _pairs(self, numbers: Iterable[int]) -> None:
        with concurrent.futures.ThreadPoolExecutor(_WORKERS) as pool:
            for outcome in pool.map(self._pair, numbers):
                if outcome:
                    self.tally.note(outcome)

    def _pair(self, number: int) -> str:
        """A push and the pull of what it pushed; what went wrong in the run itself."""
        try:
            name = f"value-{number}"
            size = draw_size(self._seed, name)
            body = content(self._seed, name, size)
            where = Coordinate("chaos", f"run-{number % 7}", name, "k")
            path = f"/{_BUCKET}/xcom/{where.object_key('bin')}"
            self._proxy.ask(f"expect {size} {path}")
            reference = self._push(where, body, path)
            if reference:
                self._pull_and_compare(reference, body, path)
            self._check_object(path, body, must_be_there=bool(reference))
            if number % 10 == 0 and reference:
                self._kept[path] = (name, size)
            else:
                self._server.client.request("DELETE", path)
        except Exception:  # Of the run itself: it must not be lost with its thread.
            return traceback.format_exc()
        return ""

    def _push(self, where: Coordinate, body: bytes, path: str) -> str:
        reference, error = "", None
        try:
            # In pieces, as a codec gives them.
            parts = [memoryview(body)[at : at + (1 << 20)] for at in range(0, len(body), 1 << 20)]
            reference = self._freight.put(where, parts, type="builtins.bytes", extension="bin")
        except Exception as raised:
            error = self._named(raised, path)
        self.tally.add(self._proxy.ask(f"take {path}"), error)
        return reference

    def _pull_and_compare(self, reference: str, body: bytes, path: str) -> None:
        error = None
        try:
            got = self._pull(reference, path)
            if got != body:
                self.tally.note(f"wrong value: {path}: {_difference(got, body)}")
        except Exception as raised:
            error = self._named(raised, path)
        self.tally.add(self._proxy.ask(f"take {path}"), error)

    def _checked(self, reference: str, path: str) -> bytes:
        return bytes(self._freight.get(reference))

    def _plain(self, reference: str, path: str) -> bytes:
        client = S3Client(self._proxy.url, self._server.access_key, self._server.secret_key)
        for _ in range(_PLAIN_ATTEMPTS):
            try:
                answer = client.request("GET", path)
            except (OSError, http.client.HTTPException):
                continue
            if answer.status == 200:
                return answer.body
        raise airfreight.UnavailableError(f"{_PLAIN_ATTEMPTS} attempts have failed")

    def _named(self, error: Exception, path: str) -> Exception:
        if not isinstance(error, airfreight.Error) or isinstance(error, airfreight.InternalError):
            self.tally.note(f"no named error: {path}: {error!r}")
        return error

    def _check_object(self, path: str, body: bytes, *, must_be_there: bool) -> None:
        """Past the proxy: what is there is whole."""
        answer = self._server.client.request("GET", path)
        if answer.status == 404 and not must_be_there:
            return
        if answer.status != 200:
            self.tally.note(f"missing object: {path}: {answer.status}")
        elif answer.body != body:
            self.tally.note(f"partial or wrong object: {path}: {_difference(answer.body, body)}")

    def _kill_writers(self, count: int) -> None:
        dice = random.Random(f"{self._seed} writers")
        for number in range(count):
            self._kill_writer(f"writer-{number}", dice.uniform(0.0, 0.8))

    def _kill_writer(self, writer: str, seconds: float) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.writer", self._place, self._proxy.url, writer,
             str(self._seed)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        time.sleep(seconds)
        alive = process.poll() is None
        process.kill()
        references = process.stdout.read().splitlines()
        said = process.stderr.read()
        process.wait()
        if not alive and "airfreight.errors" not in said:
            self.tally.note(f"a writer has ended by itself: {said}")
        with self.tally.lock:
            self.tally.killed += 1
        finished = [json.loads(line)["task"] for line in references if line.endswith("}")]
        # The one that it was at, and perhaps one more whose reference was not yet said.
        for number in [*finished, str(len(finished)), str(len(finished) + 1)]:
            key = Coordinate("killed", writer, number, "k").object_key("bin")
            body = content(self._seed, f"{writer}/{number}", 12 << 20)
            path = f"/{_BUCKET}/xcom/{key}"
            self._check_object(path, body, must_be_there=number in finished)
            self._server.client.request("DELETE", path)

    def _check_growth(self, before: Usage, after: Usage) -> None:
        resident = after.resident - before.resident
        descriptors = after.descriptors - before.descriptors
        print(
            f"resident memory {before.resident >> 20} MiB, then {after.resident >> 20} MiB; "
            f"descriptors {before.descriptors}, then {after.descriptors}"
        )
        if resident > _GROWTH_BYTES:
            self.tally.note(f"memory has grown by {resident >> 20} MiB")
        if descriptors > _GROWTH_DESCRIPTORS:
            self.tally.note(f"descriptors have grown by {descriptors}")

    def _check_uploads(self) -> None:
        answer = self._server.client.request("GET", f"/{_BUCKET}", query={"uploads": ""})
        unknown = set(self._proxy.ask("unknown"))
        for key in re.findall(r"<Key>(.+?)</Key>", answer.body.decode()):
            path = f"/{_BUCKET}/{key}"
            # Nobody can abort an upload whose id was lost on its way, nor one after kill -9.
            if not key.startswith("xcom/killed/") and path not in unknown:
                self.tally.note(f"an upload in parts is left: {path}")


def _difference(got: bytes, expected: bytes) -> str:
    if len(got) != len(expected):
        return f"{len(got)} bytes in place of {len(expected)}"
    at = next(
        at for at, (one, other) in enumerate(zip(got, expected, strict=False)) if one != other
    )
    return f"byte {at} of {len(expected)} is another one"


def _judge(tally: Tally) -> list[str]:
    """What is wrong with a run."""
    wrong = list(tally.broken)
    met = tally.met / max(tally.transfers, 1)
    if met < _MET_AT_LEAST:
        wrong.append(f"only {met:.1%} of the transfers have met a fault")
    succeeded = tally.met_and_succeeded / max(tally.met, 1)
    if succeeded < _SUCCEED_AT_LEAST:
        wrong.append(f"only {succeeded:.1%} of those that met a fault have succeeded")
    seen = [shape.partition(":")[0] for shape in tally.shapes]
    wrong += [f"there was no {shape}" for shape in SHAPES if shape not in seen]
    if tally.unharmed_failures:
        wrong.append(f"{tally.unharmed_failures} failed without having met a fault")
    return wrong


def _print(tally: Tally, seed: int, seconds: float) -> None:
    print(f"seed {seed}: {tally.transfers} transfers in {seconds:.0f} s, {tally.killed} killed")
    print(f"  requests: {', '.join(tally.shapes)}")
    for kind, count in tally.faults.most_common():
        print(f"  {kind:<28}{count:6}")
    met, succeeded = tally.met, tally.met_and_succeeded
    print(
        f"met a fault: {met} ({met / max(tally.transfers, 1):.1%}); of those succeeded: "
        f"{succeeded} ({succeeded / max(met, 1):.1%})"
    )
    for name, count in tally.errors.most_common():
        print(f"  failed: {name}: {count}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--transfers", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="default: another in each run")
    parser.add_argument("--without-verification", action="store_true")
    arguments = parser.parse_args()
    exit_on_sigterm()
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    # A fixed threshold: glibc's own grows with what is freed, and then keeps tens of MB an arena.
    ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 20)
    begin = time.monotonic()
    with VersityGW(bucket=_BUCKET) as server:
        os.environ.update(server.environment())
        proxy = ProxyProcess(server.endpoint, seed)
        try:
            proxy.ask("on")
            run = Run(server, proxy, seed, verify=not arguments.without_verification)
            run.transfers(arguments.transfers, killed_writers=max(arguments.transfers // 50, 4))
        finally:
            proxy.close()
    _print(run.tally, seed, time.monotonic() - begin)
    wrong = _judge(run.tally)
    for what in wrong[:20]:
        print(f"BROKEN: {what}")
    if len(wrong) > 20:
        print(f"… and {len(wrong) - 20} more")
    values = sum(what.startswith("wrong value") for what in wrong)
    print(f"chaos: {'FAILED' if wrong else 'ok'}, {values} wrong values")
    return 1 if wrong else 0

"""Bytes between memory and S3: Airfreight's core against other clients, each a warm process."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tests.servers.counting_proxy import CountingProxy

from bench import clients, server, slow
from bench.clients import KINDS, OBSTORE, OBSTORE_MULTIPART, OURS, Kind
from bench.parent import RESULTS, BenchError, ClientWorker, RefusedError
from bench.report import Bar, Series, save, series, speed_bar, table
from bench.requests import summary

if TYPE_CHECKING:
    from bench.backends import Server
    from bench.suites import Options

LARGE = 128 << 20
SMALL = 40 << 10
EACH = 100
MANY = 1000
SEEN = 32 << 20
SEED = 20260101
MIB = 1 << 20
CASES = ("large", "small", "many", "slow", "stream", "first")

Samples = dict[str, dict[str, list[dict[str, float]]]]  # By client, by verb.
Workers = dict[str, ClientWorker]


def _turns(items: Iterable[Any], rounds: int) -> Iterator[tuple[int, list[Any]]]:
    """Rounds from -1, which warms up, each beginning with another one: nobody always goes first."""
    listed = list(items)
    for number in range(-1, rounds):
        first = number % max(1, len(listed))
        yield number, listed[first:] + listed[:first]


def _interleave(
    options: Options,
    workers: Workers,
    rounds: int,
    calls: Callable[[Kind], list[tuple[str, dict[str, Any]]]],
) -> Samples:
    """All clients in turns; every round's objects are removed behind the server's back after it."""
    samples: Samples = {}
    for number, turn in _turns(workers.values(), rounds):
        for worker in turn:
            for verb, arguments in calls(worker.kind):
                try:
                    cost = worker.call(verb, **arguments)
                except RefusedError:
                    continue
                if number >= 0:
                    samples.setdefault(worker.kind.name, {}).setdefault(verb, []).append(cost)
        options.store.clear()
    return samples


def _cells(samples: list[dict[str, float]] | None, scale: float, digits: int) -> list[str]:
    """Wall time and CPU: best, median; best."""
    if not samples:
        return ["-", "-"]
    wall, cpu = series(samples, "wall"), min(samples, key=lambda sample: sample["cpu"])
    parts = [f"{cpu[name] * scale:.{digits}f}" for name in ("cpu", "user", "system")]
    return [
        f"{wall.best * scale:.{digits}f} {wall.median * scale:.{digits}f}",
        f"{parts[0]} ({parts[1]}+{parts[2]})",
    ]


def _rate(samples: list[dict[str, float]] | None, size: int) -> str:
    return f"{size / series(samples, 'wall').best / 1e9:.2f}" if samples else "-"


class _Bars:
    """Bars of one set of samples; those whose samples are not there are left out, and said so."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self.found: list[Bar] = []

    def best(self, name: str, verb: str, field: str = "wall") -> Series | None:
        """One client's samples, if there are any."""
        mine = self._samples.get(name, {}).get(verb)
        return series(mine, field) if mine else None

    def faster(self, title: str, verb: str, peer: str, least: float) -> None:
        """Ours at least so many times as fast as a peer."""
        ours, theirs = self.best(OURS.name, verb), self.best(peer, verb)
        if ours and theirs:
            self.found.append(speed_bar(f"{title}: speed / {peer}", ours, theirs, least))
        else:
            print(f"  {title}: no bar, as {OURS.name if not ours else peer} has no figure")

    def cpu(self, title: str, verb: str, peer: str, most: float) -> None:
        """Ours with at most so much of a peer's CPU time."""
        ours, theirs = self.best(OURS.name, verb, "cpu"), self.best(peer, verb, "cpu")
        if ours and theirs:
            note = f"{ours.best * 1e3:.0f} ms against {theirs.best * 1e3:.0f}"
            self.found.append(
                Bar(f"{title}: CPU / {peer}", ours.best / theirs.best, most, note=note)
            )


def _large(options: Options, workers: Workers) -> tuple[Any, list[Bar]]:
    samples = _interleave(
        options,
        workers,
        options.rounds,
        lambda kind: [("put", {})] + ([("get", {})] if kind.get else []),
    )
    rows = [
        [
            kind.name,
            *_cells(mine.get("put"), 1e3, 0),
            _rate(mine.get("put"), LARGE),
            *_cells(mine.get("get"), 1e3, 0),
            _rate(mine.get("get"), LARGE),
        ]
        for kind in KINDS
        if (mine := samples.get(kind.name))
    ]
    heads = ["client", "PUT: best median", "cpu (user+sys)", "GB/s"]
    heads += ["GET: best median", "cpu (user+sys)", "GB/s"]
    table(f"{LARGE // MIB} MiB: ms", heads, rows)
    bars = _Bars(samples)
    bars.faster("GET 128 MiB", "get", OBSTORE.name, 1.5)
    bars.cpu("GET 128 MiB", "get", OBSTORE.name, 0.55)
    peers = [kind.name for kind in KINDS if kind.library != OURS.library and kind.name in samples]
    if peers:
        best = min(peers, key=lambda name: series(samples[name]["put"], "wall").best)
        bars.faster("PUT 128 MiB", "put", best, 1.0)
        bars.cpu("PUT 128 MiB", "put", OBSTORE_MULTIPART.name, 1.6)
    return samples, bars.found


def _small(options: Options, workers: Workers) -> tuple[Any, list[Bar]]:
    samples = _interleave(
        options,
        workers,
        options.rounds,
        lambda kind: (
            [("put_each", {"count": EACH, "size": SMALL}), ("get_each", {"size": SMALL})]
            if kind.small
            else []
        ),
    )
    rows = [
        [kind.name, *_cells(mine.get("put_each"), 1e6, 0), *_cells(mine.get("get_each"), 1e6, 0)]
        for kind in KINDS
        if (mine := samples.get(kind.name))
    ]
    heads = ["client", "put: best median", "cpu (user+sys)", "get: best median", "cpu (user+sys)"]
    table(f"{SMALL // 1024} KiB objects one after another: µs each, of {EACH}", heads, rows)
    bars = _Bars(samples)
    for verb in ("get", "put"):
        for peer, least in ((OBSTORE, 1.0), (clients.BOTO3, 4.0)):
            bars.faster(f"{verb} 40 KiB, one after another", f"{verb}_each", peer.name, least)
    return samples, bars.found


def _many(options: Options, workers: Workers) -> tuple[Any, list[Bar]]:
    samples = _interleave(
        options,
        workers,
        max(3, options.rounds // 2),
        lambda kind: (
            [("put_many", {"count": MANY, "size": SMALL}), ("get_many", {"size": SMALL})]
            if kind.many
            else []
        ),
    )
    rows = []
    for kind in KINDS:
        mine = samples.get(kind.name)
        if not mine:
            continue
        cells = [kind.name]
        for verb in ("put_many", "get_many"):
            rate = f"{1 / series(mine[verb], 'wall').best:,.0f}" if verb in mine else "-"
            cells += [rate, *_cells(mine.get(verb), 1e6, 0)]
        rows.append(cells)
    heads = ["client", "puts/s", "best median", "cpu (user+sys)"]
    heads += ["gets/s", "best median", "cpu (user+sys)"]
    table(f"{MANY:,} objects of {SMALL // 1024} KiB at once: µs each", heads, rows)
    bars = _Bars(samples)
    for verb in ("get_many", "put_many"):
        bars.faster(f"{verb} of {MANY:,}", verb, OBSTORE.name, 1.5)
    return samples, bars.found


def _slow(options: Options, workers: Workers) -> tuple[Any, list[Bar]]:
    direct = options.store.server
    saved: dict[str, Samples] = {}
    bars: list[Bar] = []
    with contextlib.ExitStack() as stack:
        ways: dict[str, tuple[str, Server]] = {}
        if executable := slow.find_nginx():
            way = stack.enter_context(slow.nginx(direct, executable))
            ways["nginx"] = ("nginx, limit_rate 50 MB/s", way)
        else:
            print("  nginx is not installed: its case is left out")
        way = stack.enter_context(slow.held(direct, "--rate", str(slow.RATE)))
        ways["held"] = ("each connection held to 50 MB/s", way)
        far = ("--delay", str(slow.LATENCY_MS / 2), "--window", str(slow.WINDOW))
        way = stack.enter_context(slow.held(direct, *far))
        ways["far"] = ("20 ms of added latency", way)
        chosen = [worker for worker in workers.values() if worker.kind.slow]
        for worker in chosen:
            worker.call("put")
            for label, (_, way) in ways.items():
                worker.call("open", label=label, server=way)
        for label, (title, _) in ways.items():
            samples: Samples = {}
            for number, turn in _turns(chosen, 3):
                for worker in turn:
                    cost = worker.call("get", label=label)
                    if number >= 0:
                        samples.setdefault(worker.kind.name, {}).setdefault("get", []).append(cost)
            saved[title] = samples
            found = _Bars(samples)
            found.faster(f"GET 128 MiB, {title}", "get", OBSTORE.name, 6.0)
            found.faster(f"GET 128 MiB, {title}", "get", clients.S3TRANSFER.name, 1.2)
            bars += found.found
    options.store.clear()
    rows = [
        [
            f"{title}: {name}",
            *_cells(verbs["get"], 1e3, 0),
            f"{LARGE / series(verbs['get'], 'wall').best / 1e6:.0f}",
        ]
        for title, samples in saved.items()
        for name, verbs in samples.items()
    ]
    heads = ["way: client", "GET: best median", "cpu (user+sys)", "MB/s"]
    table(f"{LARGE // MIB} MiB where one connection is slow: ms", heads, rows)
    return saved, bars


def _stream(options: Options, workers: Workers) -> tuple[Any, list[Bar]]:
    """In fresh processes, as an earlier case leaves memory behind."""
    del workers
    size = options.stream_bytes
    path = RESULTS / "stream.bin"
    saved: dict[str, Any] = {}
    with server.running(memory=size < server.NEEDED_BYTES) as store:
        for kind in (OURS, OBSTORE):
            with ClientWorker(kind) as worker:
                worker.call("open", label="direct", server=store.server)
                with contextlib.suppress(RefusedError):
                    saved[kind.name] = worker.call("stream", size=size, path=str(path))
            path.unlink(missing_ok=True)
            store.clear()
        place = store.place
    rows = [
        [
            name,
            *(
                cell
                for verb in ("push", "pull")
                for cell in (
                    f"{result[verb]['wall']:.1f}",
                    f"{result[verb]['cpu']:.1f}",
                    f"{result[verb]['memory'] / MIB:.0f}",
                )
            ),
        ]
        for name, result in saved.items()
    ]
    heads = ["client", "push: s", "cpu", "MiB added", "pull to file: s", "cpu", "MiB added"]
    table(f"a stream of {size / 2**30:g} GiB, the server's data in {place}", heads, rows)
    if OURS.name not in saved:
        print("  stream: no bar, as airfreight has no figure")
        return saved, []
    return saved, [
        Bar(
            f"memory added by a stream's {verb}, {size / 2**30:g} GiB",
            saved[OURS.name][verb]["memory"] / MIB,
            256,
            "MiB",
        )
        for verb in ("push", "pull")
    ]


def _first(options: Options, workers: Workers) -> tuple[Any, list[Bar]]:
    """Fresh processes in turns; the library is loaded before the clock starts."""
    direct = options.store.server
    chosen = [worker for worker in workers.values() if worker.kind.small]
    handles = {}
    for worker in chosen:
        worker.call("put_each", count=1, size=SMALL)
        handles[worker.kind.name] = worker.call("handle")
    answer = workers[OURS.name].call("answer_time", server=direct, size=SMALL)
    samples: Samples = {}
    for number, turn in _turns([worker.kind for worker in chosen], max(3, options.rounds // 2)):
        for kind in turn:
            with ClientWorker(kind) as worker:
                cost = worker.call(
                    "first_get", server=direct, handle=handles[kind.name], size=SMALL
                )
            if number >= 0:
                samples.setdefault(kind.name, {}).setdefault("first", []).append(cost)
    options.store.clear()
    rows = []
    for kind in KINDS:
        if mine := samples.get(kind.name):
            again = series(mine["first"], "again").best * 1e3
            rows.append([kind.name, *_cells(mine["first"], 1e3, 2), f"{again:.2f}"])
    heads = ["client", "best median", "cpu (user+sys)", "best of 20 more"]
    table("first GET of a fresh process, library loaded: ms", heads, rows)
    print(f"  the server's own answer: {answer * 1e3:.2f} ms")
    ours = series(samples[OURS.name]["first"], "wall")
    return {"samples": samples, "answer": answer}, [
        Bar(
            "first GET of a fresh process, over the server's answer",
            (ours.best - answer) * 1e3,
            15,
            "ms",
            f"median {(ours.median - answer) * 1e3:.2f} ms",
        )
    ]


def _requests(options: Options, workers: Workers) -> dict[str, list[str]]:
    """What each client sends to put and get one small object, and a larger one, seen by a proxy."""
    seen: dict[str, list[str]] = {}
    for name, worker in workers.items():
        with CountingProxy(options.store.server.endpoint) as proxy:
            way = dataclasses.replace(options.store.server, endpoint=proxy.url)
            worker.call("open", label="counted", server=way)
            for size in (SMALL, SEEN):
                proxy.clear()
                worker.call("put_and_get", label="counted", size=size)
                seen.setdefault(name, []).append(summary(proxy.requests))
    options.store.clear()
    heads = ["client", f"{SMALL // 1024} KiB", f"{SEEN // MIB} MiB"]
    table(
        "requests of a put and a get, and what goes with a payload",
        heads,
        [[name, *lines] for name, lines in seen.items()],
    )
    return seen


def run(options: Options) -> list[Bar]:
    """The cases one after another, the same warm workers in all of them."""
    unknown = set(options.cases) - set(CASES)
    if unknown:
        raise BenchError(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    works = dict(zip(CASES, (_large, _small, _many, _slow, _stream, _first), strict=True))
    bars: list[Bar] = []
    saved: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        workers = {kind.name: stack.enter_context(ClientWorker(kind)) for kind in KINDS}
        for worker in workers.values():
            worker.call("prepare", size=LARGE, seed=SEED)
            worker.call("open", label="direct", server=options.store.server)
        versions = {kind.library: workers[kind.name].call("version") for kind in KINDS}
        digests = workers[OURS.name].call("digests")
        saved["versions"], saved["digests"] = versions, digests
        print("\ntransfer: " + ", ".join(f"{name} {text}" for name, text in versions.items()))
        speeds = ", ".join(f"{name} {1e-9 / cost:.1f} GB/s" for name, cost in digests.items())
        print(f"  digests, one thread: {speeds}", flush=True)
        saved["requests"] = _requests(options, workers)
        for name in CASES:
            if options.cases and name not in options.cases:
                continue
            saved[name], found = works[name](options, workers)
            bars += found
    save("transfer", saved)
    return bars

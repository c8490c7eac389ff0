"""Push and pull of values that go to the store, each backend in its own warm process."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

from tests.servers.counting_proxy import CountingProxy

from bench.backends import BOTO3, FLOOR, OFFICIAL, OURS, Backend
from bench.parent import BenchError, RefusedError, Worker
from bench.report import Bar, ratio_bar, save, series, table
from bench.requests import payload_of

if TYPE_CHECKING:
    from bench.suites import Options

# (push, pull) of the large frame: our time over the peer's.
LIMITS = {BOTO3.name: (0.6, 0.6), OFFICIAL.name: (0.3, 0.4)}
WARM_CALLS = 2
FLOOR_VERBS = ("floor_encode", "floor_put", "floor_get", "floor_decode")


def _measure(options: Options, kind: str, size: int) -> dict[str, Any]:
    """All backends on one value: samples by backend and verb, stored bytes, who refused."""
    samples: dict[str, dict[str, list[dict[str, float]]]] = {}
    stored: dict[str, int] = {}
    refused: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        workers: dict[Backend, Worker] = {}
        body = b""
        for backend in options.backends:
            worker = stack.enter_context(Worker(backend, options.store.server))
            worker.call("prepare", kind=kind, size=size)
            options.store.clear()
            try:
                for _ in range(WARM_CALLS):
                    worker.call("push")
                    worker.call("pull")
            except RefusedError as error:
                refused[backend.name] = str(error)
                continue
            workers[backend] = worker
            objects = options.store.objects()
            stored[backend.name] = sum(path.stat().st_size for path in objects) // WARM_CALLS
            if objects and not body:
                body = objects[0].read_bytes()
        if body:
            floor = stack.enter_context(Worker(FLOOR, options.store.server))
            floor.call("floor", kind=kind, size=size, body=body)
            workers[FLOOR] = floor
        turns = list(workers.items())
        for number in range(options.rounds):
            options.store.clear()
            first = number % max(1, len(turns))  # Nobody always goes first.
            for backend, worker in turns[first:] + turns[:first]:
                for verb in FLOOR_VERBS if backend is FLOOR else ("push", "pull"):
                    cost = worker.call(verb)
                    samples.setdefault(backend.name, {}).setdefault(verb, []).append(cost)
        digests = {b.name: w.call("check") for b, w in workers.items() if b is not FLOOR}
    if len(set(digests.values())) > 1:
        raise BenchError(f"{kind}: the backends gave different values: {digests}")
    return {"samples": samples, "stored": stored, "refused": refused}


def _show(options: Options, title: str, result: dict[str, Any]) -> None:
    rows = []
    for backend in options.backends:
        if backend.name in result["refused"]:
            rows.append([backend.name, "TypeError", "", "", "", ""])
            continue
        verbs = result["samples"][backend.name]
        cells = [backend.name]
        for verb in ("push", "pull"):
            cells += [
                series(verbs[verb], "wall").milliseconds(),
                f"{series(verbs[verb], 'cpu').best * 1e3:.1f}",
            ]
        rows.append([*cells, f"{result['stored'][backend.name]:,}"])
    heads = ["backend", "push: best median high", "cpu", "pull: best median high", "cpu", "stored"]
    table(f"{title}: ms", heads, rows)
    floor = result["samples"].get(FLOOR.name)
    if floor:
        parts = [
            f"{verb.removeprefix('floor_')} {series(floor[verb], 'wall').best * 1e3:.1f}"
            f" (cpu {series(floor[verb], 'cpu').best * 1e3:.1f})"
            for verb in FLOOR_VERBS
        ]
        print(f"  floor, each alone, of our object: {', '.join(parts)}")


def _requests(options: Options) -> dict[str, list[str]]:
    """What each backend sends for one warm push and one pull of the frame, seen by a proxy."""
    seen: dict[str, list[str]] = {}
    for backend in options.backends:
        with CountingProxy(options.store.server.endpoint) as proxy:
            server = dataclasses.replace(options.store.server, endpoint=proxy.url)
            with Worker(backend, server) as worker:
                worker.call("prepare", kind="frame", size=options.rows)
                worker.call("push")
                for verb in ("push", "pull"):
                    proxy.clear()
                    worker.call(verb)
                    counted = collections.Counter(
                        (request.method, payload_of(request)) for request in proxy.requests
                    )
                    seen[f"{backend.name} {verb}"] = [
                        f"{method} x{count}, payload {how}"
                        for (method, how), count in counted.items()
                    ]
        options.store.clear()
    table(
        "requests of one warm push and pull of the frame, and how their payload is signed",
        ["call", "requests"],
        [[name, "; ".join(lines)] for name, lines in seen.items()],
    )
    return seen


def run(options: Options) -> list[Bar]:
    """The large frame, whose figures have bars, then the other values."""
    bars: list[Bar] = []
    saved: dict[str, Any] = {}
    works = (
        ("frame", options.rows, f"frame, {options.rows:,} rows"),
        ("records", 50_000, "records, 50,000"),
        ("array", 64, "array, 64 MiB"),
        ("small", 0, "small dict"),
    )
    for kind, size, title in works:
        result = _measure(options, kind, size)
        saved[title] = result
        _show(options, title, result)
        if kind != "frame" or OURS not in options.backends:
            continue
        for peer in options.peers:
            for verb, limit in zip(("push", "pull"), LIMITS[peer.name], strict=True):
                ours, theirs = result["samples"][OURS.name], result["samples"][peer.name]
                wall = [series(side[verb], "wall") for side in (ours, theirs)]
                cpu = [series(side[verb], "cpu").best for side in (ours, theirs)]
                bar = ratio_bar(f"{title}: {verb} / {peer.name}", wall[0], wall[1], limit)
                note = f"{bar.note}, of cpu {cpu[0] / cpu[1]:.3g}x"
                bars.append(Bar(bar.name, bar.figure, bar.limit, note=note))
    saved["requests"] = _requests(options)
    save("values", saved)
    return bars

"""Push and pull of values that go to the store, each backend in its own warm process."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tests.servers.counting_proxy import CountingProxy

from bench.backends import ARROW, BOTO3, FLOOR, OFFICIAL, OURS, PICKLE, Backend
from bench.parent import BenchError, RefusedError, Worker
from bench.report import Bar, ratio_bar, save, series, table
from bench.requests import payload_of

if TYPE_CHECKING:
    from bench.suites import Options

VERBS = ("push", "pull")
# (push, pull): our time over the peer's.
FRAME_LIMITS = {
    OURS.name: {BOTO3.name: (0.4, 0.4), OFFICIAL.name: (0.2, 0.3)},
    ARROW.name: {BOTO3.name: (0.27, 0.25), OFFICIAL.name: (0.13, 0.2)},
}
RECORDS_LIMITS = {OURS.name: {BOTO3.name: (0.08, 0.1), OFFICIAL.name: (0.25, 0.2)}}
ARRAY_PUT_LIMIT = 1.1
ARRAY_PULL_LIMIT = 0.4
BYTES_LIMIT = 0.5
NATIVE_EXTRA = 4096
CHECKS_LIMIT = 0.1
# Frames of other natures than the large mixed one, and their rows: some 50 MiB each.
OTHERS = {"wide": 40_000, "articles": 40_000, "ids": 400_000, "sparse": 600_000, "nested": 200_000}
CASES = ("frame", *OTHERS, "records", "array", "bundle", "small", "requests", "formats")
WARM_CALLS = 2
FLOOR_VERBS = ("floor_encode", "floor_put", "floor_get", "floor_decode")
# Bytes in a second of a link of 1 Gbit/s, and of none that would matter.
LINKS = {"1 Gbit/s": 125e6, "loopback, 1 GB/s": 1e9}

Result = dict[str, Any]


def _measure(
    options: Options, kind: str, size: int, backends: Sequence[Backend], *, floor: bool
) -> Result:
    """All backends on one value: samples, stored bytes, who refused and who changed the value."""
    samples: dict[str, dict[str, list[dict[str, float]]]] = {}
    stored: dict[str, int] = {}
    refused: dict[str, str] = {}
    native: dict[str, int] = {}
    with contextlib.ExitStack() as stack:
        workers: dict[Backend, Worker] = {}
        body = b""
        for backend in backends:
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
            except BenchError as error:
                if backend.module == OURS.module:
                    raise
                refused[backend.name] = f"fails: {str(error).strip().splitlines()[-1]}"
                continue
            workers[backend] = worker
            objects = options.store.objects()
            stored[backend.name] = sum(path.stat().st_size for path in objects) // WARM_CALLS
            if objects and not body:
                body = objects[0].read_bytes()
        if body:
            worker = stack.enter_context(Worker(FLOOR, options.store.server))
            worker.call("floor", kind=kind, size=size, body=body)
            if kind != "bundle":  # No library has a file for one.
                native = {form: worker.call("native", form=form) for form in _forms(kind)}
            if floor:
                workers[FLOOR] = worker
        turns = list(workers.items())
        for number in range(options.rounds):
            options.store.clear()
            first = number % max(1, len(turns))  # Nobody always goes first.
            for backend, worker in turns[first:] + turns[:first]:
                for verb in FLOOR_VERBS if backend is FLOOR else VERBS:
                    cost = worker.call(verb)
                    samples.setdefault(backend.name, {}).setdefault(verb, []).append(cost)
        digests = {}
        for backend, worker in workers.items():
            if backend is FLOOR:
                continue
            if backend.module == OURS.module or worker.call("same"):
                digests[backend.name] = worker.call("check")
        changed = [b.name for b in workers if b is not FLOOR and b.name not in digests]
        checks = [
            worker.call("lossless")
            for backend, worker in workers.items()
            if backend is OURS and kind == "frame"
            for _ in range(options.rounds)
        ]
    if len(set(digests.values())) > 1:
        raise BenchError(f"{kind}: the backends gave different values: {digests}")
    return {
        "samples": samples,
        "stored": stored,
        "native": native,
        "refused": refused,
        "changed": changed,
        "checks": checks,
    }


def _forms(kind: str) -> tuple[str, ...]:
    return ("parquet", "arrow") if kind == "frame" or kind in OTHERS else ("",)


def _show(title: str, result: Result, backends: Sequence[Backend]) -> None:
    rows = []
    for backend in backends:
        if backend.name in result["refused"]:
            rows.append([backend.name, "refused or failed", "", "", "", ""])
            continue
        verbs = result["samples"][backend.name]
        cells = [backend.name + (" (changed)" if backend.name in result["changed"] else "")]
        for verb in VERBS:
            cells += [
                series(verbs[verb], "wall").milliseconds(),
                f"{series(verbs[verb], 'cpu').best * 1e3:.1f}",
            ]
        rows.append([*cells, f"{result['stored'][backend.name]:,}"])
    heads = ["backend", "push: best median high", "cpu", "pull: best median high", "cpu", "stored"]
    table(f"{title}: ms", heads, rows)
    for name, reason in result["refused"].items():
        print(f"  {name}: {reason[:150]}")
    native = ", ".join(f"{form or 'file'} {size:,}" for form, size in result["native"].items())
    print(f"  native file, as the libraries write it when asked plainly: {native or 'none'}")
    floor = result["samples"].get(FLOOR.name)
    if floor:
        parts = [
            f"{verb.removeprefix('floor_')} {series(floor[verb], 'wall').best * 1e3:.1f}"
            f" (cpu {series(floor[verb], 'cpu').best * 1e3:.1f})"
            for verb in FLOOR_VERBS
        ]
        print(f"  floor, each alone, of our object: {', '.join(parts)}")


def _time_bars(
    title: str, result: Result, limits: dict[str, dict[str, tuple[float, float]]]
) -> list[Bar]:
    """Our times over the peers'; none of a peer that has no time."""
    bars = []
    for name, of_peers in limits.items():
        for peer, of_verbs in of_peers.items():
            for verb, limit in zip(VERBS, of_verbs, strict=True):
                if name not in result["samples"] or peer not in result["samples"]:
                    continue
                ours, theirs = (result["samples"][side][verb] for side in (name, peer))
                wall = [series(side, "wall") for side in (ours, theirs)]
                cpu = [series(side, "cpu").best for side in (ours, theirs)]
                bar = ratio_bar(f"{title}, {name}: {verb} / {peer}", *wall, limit)
                note = f"{bar.note}, of cpu {cpu[0] / cpu[1]:.3g}x"
                bars.append(dataclasses.replace(bar, note=note))
    return bars


def _size_bars(results: dict[str, Result]) -> list[Bar]:
    """Bytes in the store: over the official backend's, and beyond the native file's."""
    bars = []
    frame = results.get("frame")
    if frame and {OURS.name, OFFICIAL.name} <= frame["stored"].keys():
        ratio = frame["stored"][OURS.name] / frame["stored"][OFFICIAL.name]
        bars.append(Bar("bytes in the store, frame / official", ratio, BYTES_LIMIT))
    beyond = [
        (result["stored"][backend.name] - result["native"][form], f"{kind}, {backend.name}")
        for kind, result in results.items()
        for backend, form in ((OURS, _forms(kind)[0]), (ARROW, "arrow"))
        if backend.name in result["stored"] and form in result["native"]
    ]
    if beyond:
        most, which = max(beyond)
        bars.append(
            Bar("bytes beyond the native file", most, NATIVE_EXTRA, "bytes", f"worst: {which}")
        )
    return bars


def _worst(bars: Sequence[Bar]) -> list[Bar]:
    """Of the bars of the other frames the worst one of each kind, with the frame's name."""
    by_kind: dict[str, list[Bar]] = {}
    for bar in bars:
        by_kind.setdefault(bar.name.partition(" rows, ")[2], []).append(bar)
    return [
        dataclasses.replace(
            worst := max(same, key=lambda bar: bar.figure),
            name=f"other frames, {kind}",
            note=f"worst: {worst.name.partition(',')[0]}; {worst.note}",
        )
        for kind, same in by_kind.items()
    ]


def _array_bars(result: Result) -> list[Bar]:
    samples = result["samples"]
    if OURS.name not in samples or not {FLOOR.name, PICKLE.name} <= samples.keys():
        return []
    ours = samples[OURS.name]
    put, pickle = samples[FLOOR.name]["floor_put"], samples[PICKLE.name]["pull"]
    walls = [series(ours["push"], "wall"), series(put, "wall")]
    pulls = [series(ours["pull"], "wall"), series(pickle, "wall")]
    return [
        ratio_bar("array, 64 MiB: push / raw PUT of its bytes", *walls, ARRAY_PUT_LIMIT),
        ratio_bar("array, 64 MiB: pull / pickle", *pulls, ARRAY_PULL_LIMIT),
    ]


def _formats(options: Options) -> dict[str, Any]:
    """What each format and compression costs each frame, and what that makes on a link."""
    saved: dict[str, Any] = {}
    for kind, size in (("frame", options.rows), *OTHERS.items()):
        with Worker(OURS, options.store.server) as worker:
            worker.call("prepare", kind=kind, size=size)
            saved[kind] = found = worker.call("formats", rounds=3)
        rows = []
        for name, cost in found.items():
            cells = [
                name,
                f"{cost['encode'] * 1e3:.0f}",
                f"{cost['decode'] * 1e3:.0f}",
                f"{cost['bytes'] / 1e6:.1f}",
            ]
            for rate in LINKS.values():
                moving = cost["bytes"] / rate
                # A push sends while it encodes; a pull decodes what has arrived.
                total = max(cost["encode"], moving) + moving + cost["decode"]
                cells.append(f"{total * 1e3:.0f}")
            rows.append(cells)
        heads = ["format", "encode ms", "decode ms", "MB", *(f"{link}: ms" for link in LINKS)]
        table(f"{kind}: push and pull by format, in memory, and on links", heads, rows)
    return saved


def _requests(options: Options) -> dict[str, list[str]]:
    """What each backend sends for one warm push and one pull of the frame, seen by a proxy."""
    seen: dict[str, list[str]] = {}
    for backend in options.backends:
        with CountingProxy(options.store.server.endpoint) as proxy:
            server = dataclasses.replace(options.store.server, endpoint=proxy.url)
            with Worker(backend, server) as worker:
                worker.call("prepare", kind="frame", size=options.rows)
                worker.call("push")
                for verb in VERBS:
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
    """The frames, then the other values; then requests, and formats against each other."""
    unknown = set(options.cases) - set(CASES)
    if unknown:
        raise BenchError(f"no such case: {', '.join(sorted(unknown))}; there are {CASES}")
    wanted = options.cases or CASES
    works = {
        "frame": (options.rows, f"frame, {options.rows:,} rows"),
        **{kind: (rows, f"{kind}, {rows:,} rows") for kind, rows in OTHERS.items()},
        "records": (50_000, "records, 50,000"),
        "array": (64, "array, 64 MiB"),
        "bundle": (options.rows // 2, f"bundle, {options.rows // 2:,} rows and an array"),
        "small": (0, "small dict"),
    }
    bars: list[Bar] = []
    others: list[Bar] = []
    results: dict[str, Result] = {}
    saved: dict[str, Any] = {}
    for kind, (size, title) in works.items():
        if kind not in wanted:
            continue
        tables = len(_forms(kind)) > 1
        backends = list(options.backends)
        if OURS in backends:
            backends += [ARROW] if tables else []
            backends += [PICKLE] if kind in ("frame", "records", "array", "bundle") else []
        result = _measure(options, kind, size, backends, floor=kind in ("frame", "array"))
        results[kind] = saved[title] = result
        _show(title, result, backends)
        if tables:
            (bars if kind == "frame" else others).extend(_time_bars(title, result, FRAME_LIMITS))
        elif kind == "records":
            bars += _time_bars(title, result, RECORDS_LIMITS)
        elif kind == "array":
            bars += _array_bars(result)
        if result["checks"]:
            whole, part = (series(result["checks"], field).best for field in ("wall", "checks"))
            bars.append(Bar("lossless checks / encoding", part / (whole - part), CHECKS_LIMIT))
    bars += _worst(others) + _size_bars(results)
    if "requests" in wanted:
        saved["requests"] = _requests(options)
    if "formats" in wanted and OURS in options.backends:
        saved["formats"] = _formats(options)
    save("values", saved)
    return bars

"""The first push of a fresh process that has imported Airflow: what each small task pays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.backends import OURS
from bench.parent import Worker
from bench.report import Bar, ratio_bar, save, series, table

if TYPE_CHECKING:
    from bench.suites import Options

LIMIT = 1 / 20
BYTES = 1 << 20
ROWS = 10_000


def _one(options: Options, backend: Any, kind: str, size: int, *, connection: bool) -> Any:
    with Worker(backend, options.store.server, connection=connection) as worker:
        return worker.call("first_push", kind=kind, size=size)


def run(options: Options) -> list[Bar]:
    """Backends take turns; the first round warms the page cache and does not count."""
    bars: list[Bar] = []
    rows: list[list[str]] = []
    saved: dict[str, Any] = {}
    rounds = max(3, options.rounds // 2)
    for connection in (False, True):
        how = "static-key connection" if connection else "no connection"
        for kind, size, title in (("bytes", BYTES, "bytes 1 MiB"), ("frame", ROWS, "frame")):
            samples: dict[str, list[dict[str, float]]] = {}
            for number in range(rounds + 1):
                for backend in options.backends:
                    asked = kind if backend is OURS or kind != "bytes" else "text"
                    got = _one(options, backend, asked, size, connection=connection)
                    if number > 0:
                        samples.setdefault(backend.name, []).append(got)
                options.store.clear()
            saved[f"{title}, {how}"] = samples
            for backend in options.backends:
                mine = samples[backend.name]
                rows.append(
                    [
                        f"{title}, {how}: {backend.name}",
                        series(mine, "wall").milliseconds(),
                        f"{series(mine, 'cpu').best * 1e3:.1f}",
                        f"{series(mine, 'loading').best * 1e3:.1f}",
                        f"{series(mine, 'second').best * 1e3:.1f}",
                    ]
                )
            bars += [
                ratio_bar(
                    f"first push, {title}, {how} / {peer.name}",
                    series(samples[OURS.name], "wall"),
                    series(samples[peer.name], "wall"),
                    LIMIT,
                )
                for peer in options.peers
                if OURS.name in samples
            ]
    table(
        "first push of a fresh process: ms",
        ["value, way, backend", "wall: best median high", "cpu", "of it import", "2nd push"],
        rows,
    )
    print("  peers refuse bytes and get text of the same length; boto3's never uses a connection")
    save("first", saved)
    return bars

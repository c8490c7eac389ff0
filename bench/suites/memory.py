"""Peak memory of a push and a pull of the large frame: the rise above what was there before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.backends import BOTO3, OFFICIAL, OURS, Backend
from bench.parent import BenchError, Worker
from bench.report import Bar, Series, save, table

if TYPE_CHECKING:
    from bench.suites import Options

# (push, pull): our increase over the peer's.
LIMITS = {BOTO3.name: (1.0, 1.0), OFFICIAL.name: (0.5, 0.5)}
MIB = 1 << 20
ROUNDS = 3


def run(options: Options) -> list[Bar]:
    """A fresh process for each sample; the least of three, as garbage only adds."""
    samples: dict[str, list[dict[str, Any]]] = {}
    for _ in range(ROUNDS):
        for backend in options.backends:
            with Worker(backend, options.store.server) as worker:
                got = worker.call("memory", kind="frame", size=options.rows)
            samples.setdefault(backend.name, []).append(got)
            options.store.clear()
    save("memory", samples)
    if len({sample["digest"] for mine in samples.values() for sample in mine}) > 1:
        raise BenchError("memory: the backends gave different values")

    def increase(name: str, when: str) -> Series:
        return Series(tuple(sample[when]["increase"] / MIB for sample in samples[name]))

    def first(backend: Backend) -> float:
        return increase(backend.name, "first").best

    rows = [
        [
            backend.name,
            f"{samples[backend.name][0]['first']['before'] / MIB:.0f}",
            *(
                f"{increase(backend.name, when).best:.0f} {increase(backend.name, when).high:.0f}"
                for when in ("first", "warm", "pull")
            ),
        ]
        for backend in options.backends
    ]
    table(
        f"peak memory, frame of {options.rows:,} rows: MiB above before (least, most)",
        ["backend", "before", "1st push", "3rd push", "pull"],
        rows,
    )
    return [
        Bar(
            f"peak memory of a {verb} / {peer.name}",
            increase(OURS.name, when).best / increase(peer.name, when).best,
            limit,
            note=f"first push {first(OURS) / first(peer):.3g}x" if verb == "push" else "",
        )
        for peer in options.peers
        if OURS in options.backends
        for verb, when, limit in zip(
            ("push", "pull"), ("warm", "pull"), LIMITS[peer.name], strict=True
        )
    ]

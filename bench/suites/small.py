"""A small dict: no request, and no time over the default backend that could be measured."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from bench.backends import OURS, Server
from bench.parent import BenchError, Worker
from bench.report import Bar, Series, save, table

if TYPE_CHECKING:
    from bench.suites import Options

ROUNDS = 60
CALLS = 500


def run(options: Options) -> list[Bar]:
    """The store is a port where nobody listens: one request, and the suite breaks."""
    nobody = dataclasses.replace(options.store.server, endpoint="http://127.0.0.1:9")
    assert isinstance(nobody, Server)
    with Worker(OURS, nobody) as worker:
        answer = worker.call("small", rounds=ROUNDS, calls=CALLS)
    if "airfreight._core" in answer["heavy"]:
        raise BenchError("a small dict loads the native core")
    save("small", answer)
    bars: list[Bar] = []
    rows: list[list[str]] = []
    for verb in ("XCom.set", "serialize_value", "deserialize_value"):
        ours, default, again = (
            answer["seconds"][f"{verb}: {name}"] for name in ("ours", "default", "default again")
        )
        ratios = Series(tuple(a / b for a, b in zip(ours, default, strict=True)))
        noise = Series(tuple(a / b for a, b in zip(again, default, strict=True)))
        difference = (min(ours) - min(default)) * 1e6
        rows.append(
            [
                verb,
                f"{min(ours) * 1e6:.2f}",
                f"{min(default) * 1e6:.2f}",
                f"{difference:+.2f}",
                f"{ratios.median:.3f} ({min(ratios.samples):.2f} to {ratios.high:.2f})",
                f"{noise.median:.3f} ({min(noise.samples):.2f} to {noise.high:.2f})",
            ]
        )
        if verb == "XCom.set":
            # "No measurable time": not further from the default than the default is from itself.
            # Of bests, since the spread of a busy machine would hide any difference.
            itself = min(again) / min(default)
            bars.append(
                Bar(
                    "small dict, XCom.set / default",
                    min(ours) / min(default),
                    max(itself, 1 / itself),
                    note=f"limit: default / itself; {difference:+.1f} µs",
                )
            )
    table(
        f"small dict: µs a call, {ROUNDS} rounds of {CALLS} calls",
        ["call", "ours best", "default best", "difference", "ours/default", "default/default"],
        rows,
    )
    print("  XCom.set talks to a supervisor that only answers: no API server, no database")
    return bars

"""`python -m bench [suite…]`, in an environment with Airflow, the peers and Airfreight.

`./dev bench` makes that environment. The exit status says whether the benchmark worked and the
results were equal; a figure that misses its bar is a figure.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import sys
import time

from bench import machine, report, server
from bench.backends import ALL, BOTO3, OFFICIAL, OURS
from bench.parent import BenchError
from bench.suites import NAMES, Options


def main() -> int:
    """Run the suites that were asked for, all by default."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="suite", help=", ".join(NAMES))
    parser.add_argument("--rounds", type=int, default=Options.rounds, help="samples of each thing")
    parser.add_argument("--rows", type=int, default=Options.rows, help="rows of the large frame")
    parser.add_argument(
        "--only", action="append", metavar="BACKEND", help="airfreight, boto3 or official"
    )
    parser.add_argument(
        "--case", action="append", help="of the suites transfer, stores and values, only this one"
    )
    parser.add_argument("--stream-gib", type=float, default=1, help="length of transfer's stream")
    arguments = parser.parse_args()
    unknown = set(arguments.suites) - set(NAMES)
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    names = [name for name in NAMES if not arguments.suites or name in arguments.suites]
    chosen = arguments.only or [backend.name for backend in (OURS, BOTO3, OFFICIAL)]
    backends = tuple(ALL[name] for name in chosen)

    facts = machine.facts()
    bars: list[report.Bar] = []
    broken = False
    with server.running() as store:
        facts |= {"server": f"versitygw, plain HTTP, data in {store.place}"}
        for name, value in facts.items():
            print(f"{name:<36}{value}")
        loads = [f"load at the start: {machine.load()}"]
        options = Options(
            store,
            backends,
            arguments.rounds,
            arguments.rows,
            tuple(arguments.case or ()),
            int(arguments.stream_gib * 2**30),
        )
        for name in names:
            begin = time.monotonic()
            suite = importlib.import_module(f"bench.suites.{name}")
            try:
                bars += suite.run(options)
            except BenchError as error:
                print(f"\n{name} is BROKEN: {error}", file=sys.stderr, flush=True)
                broken = True
            loads.append(
                f"{name}: {time.monotonic() - begin:.0f} s, load after it {machine.load()}"
            )
        print("\n" + "\n".join(loads))
    if bars:
        report.print_bars(bars)
    found = [{**dataclasses.asdict(bar), "met": bar.met} for bar in bars]
    report.save("run", {"machine": facts, "loads": loads, "bars": found})
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

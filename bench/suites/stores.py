"""Bytes to the stores beside S3 and back, against the user's other choices on the same server."""

from __future__ import annotations

import contextlib
import importlib.util
from typing import TYPE_CHECKING, Any

from bench.backends import BUCKET, Server
from bench.clients import STORES, Kind
from bench.parent import BenchError, ClientWorker, RefusedError
from bench.report import Bar, save, series, speed_bar, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.suites import Options

MIB = 1 << 20
LARGE = 64 * MIB
SMALL = 40 << 10
EACH = 100
SEED = 20260102
# A server with its data in memory keeps all that was put.
MOST_ROUNDS = 7

#: Verb of `bench.clients.session`, how the tables call it, factor from seconds, its unit.
VERBS = {
    "put": ("put 64 MiB", 1e3, "ms"),
    "get": ("get 64 MiB", 1e3, "ms"),
    "put_each": ("put 40 KiB", 1e6, "µs"),
    "get_each": ("get 40 KiB", 1e6, "µs"),
}
#: How many times as fast as the better of the others, at least.
SPEEDS = {"put": 1.0, "get": 2.0, "put_each": 2.0, "get_each": 2.0}
CPU_LIMIT = 0.5
#: redis-py with hiredis does little but what has to be done.
REDIS_SPEED = 1.0
REDIS_CPU = 1.0

Samples = dict[str, dict[str, list[dict[str, float]]]]  # By client, by verb.


def _of_gcs(server: Any) -> Server:
    return Server(server.endpoint, "", "")


def _of_azurite(server: Any) -> Server:
    return Server(server.endpoint, server.account, server.key)


def _of_redis(server: Any) -> Server:
    return Server(f"redis://127.0.0.1:{server.port}", server.user, server.password)


#: Module under tests/servers, its class, what it is made with, and how a client reaches it.
SERVERS: dict[str, tuple[str, str, dict[str, str], Callable[[Any], Server]]] = {
    "gs": ("fake_gcs", "FakeGCS", {"bucket": BUCKET}, _of_gcs),
    "az": ("azurite", "Azurite", {"container": BUCKET}, _of_azurite),
    "redis": ("redis", "Redis", {}, _of_redis),
}


@contextlib.contextmanager
def running(scheme: str) -> Iterator[Server]:
    """A store's server; BenchError, which says how to get it, when it is not installed."""
    module, name, arguments, reach = SERVERS[scheme]
    try:
        server = getattr(importlib.import_module(f"tests.servers.{module}"), name)(**arguments)
        with server:
            yield reach(server)
    except FileNotFoundError as error:
        raise BenchError(str(error)) from None


def _measure(kinds: tuple[Kind, ...], server: Server, rounds: int) -> tuple[Samples, Any]:
    """All clients in turns, each in its own warm process; and their versions.

    What was got is compared with what was put, every time.
    """
    samples: Samples = {}
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("put", {}),
        ("get", {}),
        ("put_each", {"count": EACH, "size": SMALL}),
        ("get_each", {"size": SMALL}),
    )
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(ClientWorker(kind)) for kind in kinds]
        for worker in workers:
            worker.call("prepare", size=LARGE, seed=SEED)
            worker.call("open", label="direct", server=server)
        versions = {worker.kind.name: worker.call("version") for worker in workers}
        for number in range(-1, rounds):  # The first one warms up.
            first = number % len(workers)  # Nobody always goes first.
            for worker in workers[first:] + workers[:first]:
                for verb, arguments in calls:
                    try:
                        cost = worker.call(verb, **arguments)
                    except RefusedError:
                        continue
                    if number >= 0:
                        samples.setdefault(worker.kind.name, {}).setdefault(verb, []).append(cost)
    return samples, versions


def _show(scheme: str, samples: Samples, versions: dict[str, str]) -> None:
    rows = []
    for name, verbs in samples.items():
        cells = [f"{name} {versions[name]}"]
        for verb, (_, scale, _unit) in VERBS.items():
            wall, cpu = series(verbs[verb], "wall"), series(verbs[verb], "cpu")
            cells += [
                f"{wall.best * scale:.0f} {wall.median * scale:.0f}",
                f"{cpu.best * scale:.0f}",
            ]
        rows.append(cells)
    heads = [scheme]
    for title, _, unit in VERBS.values():
        heads += [f"{title}, {unit}", "cpu"]
    table(f"{scheme}: best and median by the clock, best CPU time of the client", heads, rows)


def _bars(scheme: str, kinds: tuple[Kind, ...], samples: Samples) -> list[Bar]:
    """Each of ours against the better of the others in each thing, by its best sample."""
    others = [samples[kind.name] for kind in kinds if kind.library != "airfreight"]
    bars = []
    for kind in kinds:
        if kind.library != "airfreight":
            continue
        name, ours = kind.name.removeprefix("airfreight "), samples[kind.name]
        for verb, (title, _, _) in VERBS.items():
            mine = series(ours[verb], "wall")
            best = min((series(other[verb], "wall") for other in others), key=lambda one: one.best)
            least = REDIS_SPEED if scheme == "redis" else SPEEDS[verb]
            bars.append(speed_bar(f"{name}, {title}: speed / the better", mine, best, least))
            cpu = series(ours[verb], "cpu").best
            lowest = min(series(other[verb], "cpu").best for other in others)
            most = REDIS_CPU if scheme == "redis" else CPU_LIMIT
            note = f"{cpu * 1e6:,.0f} µs against {lowest * 1e6:,.0f}"
            bars.append(Bar(f"{name}, {title}: CPU / the lower", cpu / lowest, most, note=note))
    return bars


def run(options: Options) -> list[Bar]:
    """One store after another, each on a server of its own."""
    unknown = set(options.cases) - set(STORES)
    if unknown:
        raise BenchError(f"no such case: {', '.join(unknown)}; there are {', '.join(STORES)}")
    bars: list[Bar] = []
    saved: dict[str, Any] = {}
    for scheme, kinds in STORES.items():
        if options.cases and scheme not in options.cases:
            continue
        module = f"tests.servers.{SERVERS[scheme][0]}"
        if importlib.util.find_spec(module) is None:
            print(f"\n{scheme}: left out, as {module} is not there")
            continue
        with running(scheme) as server:
            samples, versions = _measure(kinds, server, min(options.rounds, MOST_ROUNDS))
        saved[scheme] = {"versions": versions, "samples": samples}
        _show(scheme, samples, versions)
        bars += _bars(scheme, kinds, samples)
    save("stores", saved)
    return bars

"""What `import airfreight` adds to a process that has Airflow's base class, and the native core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.backends import OURS
from bench.parent import BenchError, Worker
from bench.report import Bar, save, series, table

if TYPE_CHECKING:
    from bench.suites import Options

ADDED_LIMIT_MS = 5
CORE_LIMIT_MS = 20


def run(options: Options) -> list[Bar]:
    """Fresh processes, the first of which warms the page cache and does not count."""
    samples = []
    for _ in range(options.rounds + 1):
        with Worker(OURS, options.store.server) as worker:
            samples.append(worker.call("import_cost"))
    samples = samples[1:]
    save("importing", {"samples": samples})
    heavy = sorted({name for sample in samples for name in sample["heavy"]})
    if heavy:
        raise BenchError(f"import airfreight brings in {', '.join(heavy)}")
    rows = [
        [title, series(samples, field).milliseconds()]
        for title, field in (
            ("import airflow.sdk.bases.xcom", "base"),
            ("then airfreight.XComBackend", "added"),
            ("then airfreight._core", "core"),
        )
    ]
    table("import: ms (best, median, 9th decile)", ["fresh process", "ms"], rows)
    print(f"  brought in: {', '.join(samples[0]['modules'])}; none of the heavy ones")
    added, core = series(samples, "added"), series(samples, "core")
    return [
        Bar("import airfreight", added.median * 1e3, ADDED_LIMIT_MS, "ms", "median"),
        Bar("load the native core", core.median * 1e3, CORE_LIMIT_MS, "ms", "median"),
    ]

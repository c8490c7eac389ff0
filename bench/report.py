"""Numbers to text: tables, bars (a figure with its limit), and JSON files."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Sequence
from typing import Any

from bench.parent import RESULTS


@dataclasses.dataclass(frozen=True)
class Bar:
    """One figure that was promised.

    Attributes:
        name: What is measured.
        figure: The number found.
        limit: The most that it may be, or the least.
        unit: What both are in: `x` for a ratio, else a unit.
        note: What else a reader needs, such as the ratio of medians.
        least: The limit is the least that it must be.
    """

    name: str
    figure: float
    limit: float
    unit: str = "x"
    note: str = ""
    least: bool = False

    @property
    def met(self) -> bool:
        """Whether the figure is within its limit."""
        return self.figure >= self.limit if self.least else self.figure <= self.limit

    def text(self, value: float) -> str:
        """A value with its unit."""
        return f"{value:.3g}x" if self.unit == "x" else f"{value:.3g} {self.unit}"


@dataclasses.dataclass(frozen=True)
class Series:
    """The samples of one thing, in seconds or bytes.

    The best one is what the ratios are made of: other processes on the machine only ever add to a
    time. The median and the ninth decile tell how much they did.
    """

    samples: tuple[float, ...]

    @property
    def best(self) -> float:
        """The smallest sample."""
        return min(self.samples)

    @property
    def median(self) -> float:
        """The middle sample."""
        return statistics.median(self.samples)

    @property
    def high(self) -> float:
        """The ninth decile, or the largest of few samples."""
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]

    def milliseconds(self) -> str:
        """`best median high`, in ms."""
        return " ".join(f"{part * 1e3:.1f}" for part in (self.best, self.median, self.high))


def series(samples: Sequence[dict[str, Any]], field: str) -> Series:
    """One field of many samples."""
    return Series(tuple(float(sample[field]) for sample in samples))


def ratio_bar(name: str, ours: Series, theirs: Series, limit: float) -> Bar:
    """Our best over their best; the ratio of medians beside it."""
    return Bar(
        name,
        ours.best / theirs.best,
        limit,
        note=f"of medians {ours.median / theirs.median:.3g}x",
    )


def speed_bar(name: str, ours: Series, theirs: Series, least: float) -> Bar:
    """How many times faster ours is: their best time over our best."""
    return Bar(
        name,
        theirs.best / ours.best,
        least,
        note=f"of medians {theirs.median / ours.median:.3g}x",
        least=True,
    )


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, its first column to the left and the others to the right."""
    widths = [max(len(line[i]) for line in [heads, *rows]) for i in range(len(heads))]
    print(f"\n{title}")
    for line in [heads, ["-" * width for width in widths], *rows]:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        cells[0] = line[0].ljust(widths[0])
        print("  " + "  ".join(cells), flush=True)


def save(suite: str, data: dict[str, Any]) -> None:
    """Write `build/bench/<suite>.json`."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, indent=1)
    (RESULTS / f"{suite}.json").write_text(text + "\n", encoding="utf-8")


def print_bars(bars: Sequence[Bar]) -> None:
    """The last table: what was promised, what was found."""
    rows = [
        [
            bar.name,
            bar.text(bar.figure),
            f"{'at least' if bar.least else 'at most'} {bar.text(bar.limit)}",
            "yes" if bar.met else "NO",
            bar.note,
        ]
        for bar in bars
    ]
    table("bars", ["bar", "figure", "limit", "met?", ""], rows)
    missed = sum(not bar.met for bar in bars)
    print(f"\n{len(bars) - missed} of {len(bars)} bars met", flush=True)

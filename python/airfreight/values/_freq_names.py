"""Names of frequencies, which pandas 2.2 changed: what one release calls them, another reads.

Source: the release notes of pandas 2.2.0, "Deprecate aliases"; pandas 3 knows the new ones only.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: What pandas before 2.2 calls offsets, and what it does since.
_OFFSETS = {
    "A": "YE",
    "AS": "YS",
    "BA": "BYE",
    "BAS": "BYS",
    "BH": "bh",
    "BM": "BME",
    "BQ": "BQE",
    "BY": "BYE",
    "CBH": "cbh",
    "CBM": "CBME",
    "H": "h",
    "L": "ms",
    "M": "ME",
    "N": "ns",
    "Q": "QE",
    "S": "s",
    "SM": "SME",
    "T": "min",
    "U": "us",
    "Y": "YE",
}
#: As of periods, whose names ends do not show.
_PERIODS = {"A": "Y", "H": "h", "L": "ms", "N": "ns", "S": "s", "T": "min", "U": "us"}
_NAME = re.compile(r"(-?[0-9]*)([A-Za-z]+)(.*)", re.DOTALL)


def of_offset(make: Callable[[str], Any], text: str) -> Any:
    """What `make` makes of the name of an offset, whichever pandas gave it. Raises as it does."""
    return _first(make, text, _OFFSETS)


def of_period(make: Callable[[str], Any], text: str) -> Any:
    """As `of_offset`, of the name of a period's frequency."""
    return _first(make, text, _PERIODS)


def _first(make: Callable[[str], Any], text: str, renamed: dict[str, str]) -> Any:
    for name in _others(text, renamed):
        with contextlib.suppress(ValueError):
            return make(name)
    return make(text)


def _others(text: str, renamed: dict[str, str]) -> Iterator[str]:
    """The name by later releases, which would warn of it; itself; by earlier ones."""
    found = _NAME.fullmatch(text)
    if found is None:
        return
    number, name, rest = found.groups()
    if name in renamed:
        yield f"{number}{renamed[name]}{rest}"
    yield text
    for old, new in renamed.items():
        if new == name:
            yield f"{number}{old}{rest}"

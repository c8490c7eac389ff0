"""What is needed beside what is there: both come in the order of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Between the parts of a line: below all that keys are made of, so that lines are in their order.
SEPARATOR = b"\t"


class Needed:
    """The keys that rows speak of, beside objects that come in the same order."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._next = next(lines, None)

    def look(self, key: bytes) -> tuple[bool, list[bytes]]:
        """Whether a key is among them, and which own ones before it have no object."""
        dangling, found = [], False
        while self._next is not None:
            mentioned, _, own = self._next.partition(SEPARATOR)
            if mentioned > key:
                break
            if mentioned == key:
                found = True
            elif own:
                dangling.append(mentioned)
            self._next = next(self._lines, None)
        return found, dangling

    def rest(self) -> Iterator[bytes]:
        """The own ones behind all objects."""
        while self._next is not None:
            mentioned, _, own = self._next.partition(SEPARATOR)
            if own:
                yield mentioned
            self._next = next(self._lines, None)


class Runs:
    """The runs, beside objects that come in the order of keys, which begin with their runs."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._next = next(lines, None)

    def held(self, line: bytes) -> str | None:
        """What the object's run keeps alive; None where there is no such run."""
        while self._next is not None:
            prefix, _, held = self._next.partition(SEPARATOR)
            if line.startswith(prefix):
                return held.decode()
            if prefix > line:
                break
            self._next = next(self._lines, None)
        return None

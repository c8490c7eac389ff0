"""Lines in order, of which there may be more than memory holds."""

from __future__ import annotations

import heapq
import os
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Lines that are in memory at a time; some 20 MB of keys.
LINES = 100_000
#: Files that are merged at a time: each is open all the while.
_FILES = 64


def sync(file: IO[Any]) -> None:
    """Has what was written to a file outlast a crash of the machine."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """The same for the names in a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Sorter:
    """Takes lines (bytes without a line feed) in any order; gives them in order, each once.

    What it has taken lies in files of a folder, sorted, `LINES` in each. One thread at a time.
    """

    def __init__(self, folder: Path, lines: int = LINES) -> None:
        """Goes on with what was kept in the folder by `flush`."""
        self._folder = folder
        self._lines = lines
        self._held: list[bytes] = []
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob("*.part"):
            left.unlink()
        self._files = sorted(folder.iterdir())
        self._next = 1 + max((int(file.name) for file in self._files), default=0)

    def add(self, line: bytes) -> bool:
        """Takes a line; whether all that it has taken is in files now."""
        self._held.append(line)
        if len(self._held) < self._lines:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """Writes what is in memory to a file."""
        if not self._held:
            return
        self._held.sort()
        self._write(iter(self._held))
        self._held = []
        if len(self._files) >= _FILES:
            merged, self._files = self._files, []
            self._write(_merged(merged))
            for file in merged:
                file.unlink()

    def clear(self) -> None:
        """Forgets all lines."""
        self._held = []
        for file in self._files:
            file.unlink()
        self._files = []

    def sizes(self) -> dict[str, int]:
        """The bytes of each of its files, by their names, when all lines lie in files."""
        return {f"{self._folder.name}/{file.name}": file.stat().st_size for file in self._files}

    def __iter__(self) -> Iterator[bytes]:
        """All lines."""
        self.flush()
        return _merged(self._files)

    def _write(self, lines: Iterator[bytes]) -> None:
        # (Numbers of one width, so that names are in their order.)
        path = self._folder / f"{self._next:09}"
        part = path.with_suffix(".part")
        last = None
        with part.open("wb") as out:
            for line in lines:
                if line != last:
                    out.write(line + b"\n")
                last = line
            sync(out)
        part.rename(path)
        sync_folder(self._folder)
        self._next += 1
        self._files.append(path)


def _merged(files: list[Path]) -> Iterator[bytes]:
    last = None
    for line in heapq.merge(*(_read(file) for file in files)):
        if line != last:
            yield line
        last = line


def _read(file: Path) -> Iterator[bytes]:
    with file.open("rb") as lines:
        for line in lines:
            yield line[:-1]

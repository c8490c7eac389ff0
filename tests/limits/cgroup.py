"""A control group with a limit of memory, of version 2 or 1, whichever the machine has."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOUNT = Path("/sys/fs/cgroup")


class MemoryGroup:
    """The group's folder; see `memory_group`."""

    def __init__(self, folder: Path, peak_file: str) -> None:
        self._folder = folder
        self._peak_file = folder / peak_file

    def command(self, words: Sequence[str]) -> list[str]:
        """A command that runs within the group from its first moment."""
        script = 'echo $$ >"$1" && shift && exec "$@"'
        return ["sh", "-c", script, "sh", str(self._folder / "cgroup.procs"), *words]

    def peak(self) -> int:
        """Most that its processes have used, what the kernel caches of their files included."""
        return int(self._peak_file.read_text()) if self._peak_file.exists() else 0


def _places() -> Iterator[tuple[Path, str, str]]:
    # docs.kernel.org/admin-guide/cgroup-v2.html and …/cgroup-v1/memory.html
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder = _MOUNT / path.lstrip("/")
            enabled = folder / "cgroup.subtree_control"
            if enabled.exists() and "memory" in enabled.read_text():
                yield folder, "memory.max", "memory.peak"
        elif "memory" in controllers.split(","):
            folder = _MOUNT / "memory" / path.lstrip("/")
            yield folder, "memory.limit_in_bytes", "memory.max_usage_in_bytes"


@contextlib.contextmanager
def memory_group(limit: int) -> Iterator[MemoryGroup | None]:
    """Makes a group below this process's own, and removes it; None where that is not allowed."""
    for parent, limit_file, peak_file in _places():
        folder = parent / f"airfreight-limits-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            try:
                (folder / limit_file).write_text(str(limit))
            except OSError:
                continue
            yield MemoryGroup(folder, peak_file)
            return
        finally:
            # The kernel lets go of a group some moments after its last process.
            for _ in range(100):
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.1)
    yield None

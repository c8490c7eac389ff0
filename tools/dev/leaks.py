"""The search for secrets in all that the stages have printed."""

from __future__ import annotations

from tests import leaks

from tools.dev.base import DevError
from tools.dev.stages import LOGS


def check() -> None:
    """Fails where a log of a stage holds a marker of a secret, or what looks like one."""
    logs = sorted(LOGS.glob("*.log"))
    if not logs:
        print("no stage has left a log: they are searched after a run of several lanes")
        return
    found = leaks.search_files(logs)
    size = sum(log.stat().st_size for log in logs)
    print(f"{len(logs)} logs, {size:,} bytes: {len(found)} leaks")
    if found:
        raise DevError("secrets were printed:\n" + "\n".join(found[:50]))

"""A process that pushes and purges as it is told, and can be stopped before it writes.

    python -m tests.python.zombie '{"uri": "s3://…", "settings": {…}}'

reads a command from each line of its input, and answers each with a line: JSON both.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from airfreight import _core, stores  # noqa: F401 (the core asks the second)
from airfreight.errors import Error

#: More than one part of an upload in parts (8 MiB).
LARGE = (8 << 20) + 1


def main() -> None:
    """Serves until its input ends."""
    told = json.loads(sys.argv[1])
    core = _core.Freight([("default", told["uri"], told["settings"])], timeout=30)
    coordinate = _core.Coordinate("sales", "r", "extract", "return_value")
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"done": serve(core, coordinate, command)}
        except Error as error:
            answer = {"error": error.code, "message": str(error)}
        print(json.dumps(answer), flush=True)


def serve(core: Any, coordinate: Any, command: dict[str, Any]) -> Any:
    """Does what one command says."""
    verb = command["verb"]
    whose = {"attempt": command.get("attempt", 1), "started_micros": command.get("started", 1)}
    if verb == "stream":
        writer = core.open(coordinate, type="bytes", extension="bin", **whose)
        writer.write(command["text"].encode() * LARGE)
        stop(command)
        return writer.finish()
    stop(command)
    if verb == "push":
        return core.put(
            coordinate, [command["text"].encode()], type="bytes", extension="bin", **whose
        )
    if verb == "purge":
        return core.purge(command["reference"])
    return bytes(core.get(command["reference"]))[:1].decode()


def stop(command: dict[str, Any]) -> None:
    """Stops this process where it is told to, until somebody sends SIGCONT."""
    if command.get("stop"):
        os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    main()

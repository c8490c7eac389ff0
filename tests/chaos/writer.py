"""A process that pushes large values until it is killed; it says which it has finished."""

from __future__ import annotations

import itertools
import os
import sys

from airfreight._core import Coordinate, Freight
from tests.chaos.content import content


def main() -> None:
    """Pushes `killed/<writer>/<number>`; a line with the reference after each."""
    place, endpoint, writer, seed = sys.argv[1:]
    freight = Freight([("default", place, {"endpoint_url": endpoint})])
    print(os.getpid(), flush=True)
    for number in itertools.count():
        name = f"{writer}/{number}"
        body = content(seed, name, 12 << 20)
        reference = freight.put(
            Coordinate("killed", writer, str(number), "k"),
            [body],
            type="builtins.bytes",
            extension="bin",
        )
        print(reference, flush=True)


if __name__ == "__main__":
    main()

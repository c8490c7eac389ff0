"""`python -m tests.matrix …`: what `./dev support` and `./dev test matrix` run in environments.

python -m tests.matrix airfreight CELLS.json        # needs an Airflow
python -m tests.matrix official CELLS.json          # needs an Airflow and its provider common.io
python -m tests.matrix write CORPUS CELLS.json      # needs the package and the libraries
python -m tests.matrix read CORPUS CELLS.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """The command line."""
    what, *words = sys.argv[1:]
    from tests.matrix import backends

    if what == "airfreight":
        cells = backends.measure()
    elif what == "official":
        cells = backends.measure_official()
    else:
        from tests.matrix import versions

        cells = {"write": versions.write, "read": versions.read}[what](Path(words.pop(0)))
    result = {"versions": backends.versions(), "cells": cells}
    Path(words[0]).write_text(json.dumps(result, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The environment of these tests is that of `tests/python`."""

from __future__ import annotations

import sys

if "airflow" not in sys.modules:
    # Before anything imports Airflow, which reads its settings when it is imported.
    from tests.python import conftest  # noqa: F401

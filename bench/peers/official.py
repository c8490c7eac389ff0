"""The official backend (`apache-airflow-providers-common-io`), set up as its documentation says.

Not a line of its own code is here: only how it is told where to put values, and the check that it
really does. A misspelt setting leaves its threshold at -1, and it keeps everything in the database
without a word, which would look very fast.
"""

from __future__ import annotations

from typing import Any

MODULE = "airflow.providers.common.io.xcom.backend"
CLASS = "XComObjectStorageBackend"
THRESHOLD = 32_768


def environment(bucket: str, connection: str | None) -> dict[str, str]:
    """Settings of its section `common.io`, whose dot becomes an underscore in the environment."""
    authority = f"{connection}@{bucket}" if connection else bucket
    return {
        "AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_PATH": f"s3://{authority}/common",
        "AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_THRESHOLD": str(THRESHOLD),
    }


def offloaded(row: Any) -> bool:
    """Whether a row is one of its references: the bare URL."""
    return isinstance(row, str) and row.startswith("s3://") and "/common/" in row

"""What becomes of each case under an XCom backend of an installed Airflow."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.matrix import world
from tests.matrix.cases import CASES, Case, Refusal, outcome, worst

if TYPE_CHECKING:
    from tests.python.conftest import Box

#: Of Airfreight, each case goes these ways: in the row where it is small; all to the store.
SETTINGS: tuple[dict[str, Any], ...] = (
    {"threshold": None, "format": None},
    {"threshold": 0, "format": "arrow"},
)
#: Classes of these may be loaded, as an administrator would allow it.
ALLOWED = "airflow.* tests.*"
_LIBRARIES = ("apache-airflow", "pandas", "numpy", "pyarrow", "polars")


def versions() -> dict[str, str]:
    """Of Python and of the libraries."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def environment() -> str:
    """The column of the table for this environment."""
    return f"airflow-{importlib.metadata.version('apache-airflow')}"


def with_airfreight(case: Case, box: Box) -> str:
    """The cell of a case, the worst over all settings."""
    from tests.python.conftest import stored

    def through(value: Any) -> Any:
        try:
            row = stored(box.push(value))
        except TypeError as error:
            raise Refusal from error
        return box.pull(row)

    world.natural_labels()
    cells = []
    for settings in SETTINGS:
        box.set(**settings)
        cells.append(outcome(case, through))
    return worst(cells)


def measure() -> dict[str, str]:
    """The cells of Airfreight in this environment."""
    import pytest

    os.environ["AIRFLOW__CORE__ALLOWED_DESERIALIZATION_CLASSES"] = ALLOWED
    from tests.python.conftest import Box

    patch = pytest.MonkeyPatch()
    with tempfile.TemporaryDirectory() as folder:
        box = Box(patch, Path(folder) / "store")
        box.set(file_fsync=False)
        cells = {str(case): with_airfreight(case, box) for case in CASES}
        patch.undo()
    return cells


def measure_official() -> dict[str, str]:
    """The cells of the official backend (apache-airflow-providers-common-io) in this environment.

    What it refuses to read, or reads as something else, is `lost` or `changed`; what it refuses to
    write is `refused`.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        store.mkdir()
        os.environ.update(
            AIRFLOW_HOME=folder,
            AIRFLOW__CORE__LOAD_EXAMPLES="False",
            AIRFLOW__CORE__ALLOWED_DESERIALIZATION_CLASSES=ALLOWED,
            AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{folder}/airflow.db",
            AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_PATH=f"file://{store}",
            AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_THRESHOLD="0",
        )
        from airflow.providers.common.io.xcom.backend import XComObjectStorageBackend as Theirs

        where = {"key": "k", "task_id": "t", "dag_id": "d", "run_id": "r", "map_index": -1}

        def through(value: Any) -> Any:
            try:
                row = json.loads(json.dumps(Theirs.serialize_value(value, **where)))
            except Exception as error:
                raise Refusal from error
            return Theirs.deserialize_value(SimpleNamespace(value=row))

        world.natural_labels()
        # (Some come back as the place of their object.)
        place = re.compile(rf"file://{re.escape(str(store))}/[\w/.-]*")
        return {str(case): place.sub("file:///store/…", outcome(case, through)) for case in CASES}

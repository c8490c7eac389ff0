"""The names that the expressions of cases use.

What a library makes of an expression must not depend on its version, because a reader of another
version makes the value anew to compare: texts are objects unless a dtype is given (pandas 3 has
`str`), and times have a unit (pandas 3 takes microseconds where pandas 2 took nanoseconds).
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import importlib
import pathlib
import tempfile
import uuid
import zoneinfo
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
_FOLDER = tempfile.TemporaryDirectory(prefix="airfreight-matrix-")


def objects(*items: Any) -> Any:
    """A column of Python objects."""
    array = np.empty(len(items), dtype=object)
    for position, item in enumerate(items):
        array[position] = item
    return pd.Series(array, dtype=object)


def texts(*items: Any, name: Any = None) -> Any:
    """Labels of Python objects."""
    return pd.Index(objects(*items).to_numpy(), dtype=object, name=name, tupleize_cols=False)


def natural_labels() -> None:
    """From now on frames have the labels that pandas itself would give them, of texts `str`.

    For whoever writes and reads by one version: it is what people return.
    """
    global _labels  # noqa: PLW0603
    _labels = lambda *labels: pd.DataFrame(columns=list(labels)).columns  # noqa: E731


_labels: Any = texts


def frame(cells: Any, index: Any = None, labels: Any = None, attrs: Any = None) -> Any:
    """A frame; its labels are Python objects unless it is given others."""
    made = pd.DataFrame(dict(enumerate(cells.values())), index=index)
    made.columns = _labels(*cells) if labels is None else labels
    made.attrs = attrs or {}
    return made


def column(*cells: Any, **more: Any) -> Any:
    """A frame of one column."""
    return frame({"a": cells[0] if len(cells) == 1 else objects(*cells)}, **more)


def indexed(index: Any) -> Any:
    """A frame with this row index."""
    return frame({"a": np.arange(len(index))}, index=index)


def labelled(labels: Any) -> Any:
    """A frame with these labels."""
    return frame({at: np.array([at]) for at in range(len(labels))}, labels=labels)


def days(count: int, unit: str = "ns", zone: Any = None, freq: Any = None) -> Any:
    """Days from the first of 2026 on."""
    dates = np.datetime64("2026-01-01", "D") + np.arange(count)
    made = pd.DatetimeIndex(dates.astype(f"M8[{unit}]"))
    if zone is not None:
        made = made.tz_localize(zone)
    made.freq = freq
    return made


def periods(count: int, freq: str = "M", name: Any = None) -> Any:
    """Periods from the begin of 2026 on."""
    return pd.period_range("2026-01-01", periods=count, freq=freq, name=name)


def stamp(text: str, unit: str = "ns", zone: Any = None) -> Any:
    """A Timestamp of this unit."""
    made = pd.Timestamp(np.datetime64(text, unit))
    return made if zone is None else made.tz_localize("UTC").tz_convert(zone)


def arrow(cells: Any, kind: Any) -> Any:
    """A column of an ArrowDtype."""
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(cells, kind)]))


def file(*names: str) -> Any:
    """A file, or a folder of several."""
    import airfreight

    folder = pathlib.Path(tempfile.mkdtemp(dir=_FOLDER.name))
    for name in names:
        path = folder / "folder" / name if len(names) > 1 else folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode() * 1000)
    return airfreight.File(folder / "folder" if len(names) > 1 else folder / names[0])


class _Names(dict[str, Any]):
    """With what not every environment has, imported when an expression wants it."""

    def __missing__(self, name: str) -> Any:
        try:
            self[name] = importlib.import_module(_LATE[name])
        except ImportError as error:
            raise NameError(name) from error
        return self[name]


_LATE = {
    "af": "airfreight",
    "dateutil_tz": "dateutil.tz",
    "duckdb": "duckdb",
    "pendulum": "pendulum",
    "pl": "polars",
    "shapes": "tests.matrix.shapes",
}
_NAMES = {
    **{f.__name__: f for f in (objects, texts, frame, column, indexed, labelled, days, periods)},
    **{f.__name__: f for f in (stamp, arrow, file)},
    **{m.__name__: m for m in (collections, datetime, decimal, fractions, pathlib, uuid, zoneinfo)},
    "np": np,
    "pd": pd,
    "pa": pa,
    "D": decimal.Decimal,
    "BERLIN": BERLIN,
    "IST": IST,
}


def made(expression: str) -> Any:
    """The value of an expression. Raises whatever it does where a library lacks something."""
    return eval(expression, _Names(_NAMES))

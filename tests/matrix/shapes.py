"""Classes of users, for the cases."""

# mypy: disable-error-code="misc, call-arg, import-not-found"

from __future__ import annotations

import dataclasses
import enum
from typing import Any, NamedTuple

import pandas as pd

try:
    import attr
except ModuleNotFoundError:  # Comes with Airflow.
    pass
else:

    @attr.define
    class Slotted:
        """Has slots, which attrs makes."""

        first: Any


try:
    import pydantic
except ModuleNotFoundError:
    pass
else:

    class Inner(pydantic.BaseModel):
        """A model inside another."""

        number: int = 1
        held: Any = None

    class Outer(pydantic.BaseModel):
        """A model that holds another."""

        inner: Inner


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Shade(enum.Flag):
    LIGHT = 1
    DARK = 2


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Model:
    layers: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    parts: Any


class Plain:
    """Nothing says what it holds."""


class Names(list[Any]):
    pass


class Bunch(dict[str, Any]):
    pass


class Text(str):
    __slots__ = ()


class GeoFrame(pd.DataFrame):
    pass


class Tabular:
    """Gives Arrow tables, and is nothing that Airfreight knows."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def circle() -> Any:
    """A list that contains itself."""
    made: list[Any] = [1]
    made.append(made)
    return made


def reference() -> Any:
    """What `airfreight.put` returns, of an object that is not read here."""
    import json
    from pathlib import Path

    from airfreight.reference import Reference

    golden = Path(__file__).parents[2] / "formats/golden/reference/v1/frame.json"
    return Reference.from_dict(json.loads(golden.read_text(encoding="utf-8")))

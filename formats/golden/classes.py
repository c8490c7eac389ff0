"""Classes of a user's, which golden files name: like these, they are never changed."""  # noqa: INP001

# mypy: disable-error-code="misc, import-not-found"

from __future__ import annotations

import dataclasses
import enum
from typing import Any, NamedTuple


class Color(enum.Enum):
    """Plain members."""

    RED = "red"
    BLUE = ("blue", 2)


class Level(enum.IntEnum):
    """Members that are numbers too."""

    LOW = 1


class Shade(enum.Flag):
    """Combinations of members need not have a name."""

    LIGHT = 1
    DARK = 2


class Point(NamedTuple):
    """A named tuple."""

    x: Any
    y: Any


@dataclasses.dataclass
class Model:
    """A dataclass."""

    layers: Any
    more: Any = None


try:
    import attr
except ModuleNotFoundError:  # Comes with Airflow.
    pass
else:

    @attr.define
    class Slotted:
        """A class of attrs, with slots."""

        first: Any


try:
    import pydantic
except ModuleNotFoundError:  # Airflow 2 has none.
    pass
else:

    class Inner(pydantic.BaseModel):
        """A class of pydantic."""

        number: int = 1
        held: Any = None

    class Open(pydantic.BaseModel):
        """Takes other members."""

        model_config = pydantic.ConfigDict(extra="allow")

        number: int = 1

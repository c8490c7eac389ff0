"""Classes of declared fields, by the libraries that an environment has."""

# mypy: disable-error-code="misc, call-arg, import-not-found"

from __future__ import annotations

from typing import Any

import attr

try:
    import pydantic
    import pydantic.dataclasses
except ModuleNotFoundError:  # Airflow 2 has none.
    MODELS: dict[str, Any] = {}
else:

    class Inner(pydantic.BaseModel):
        """A model inside another."""

        number: int = 1
        held: Any = None

    class Outer(pydantic.BaseModel):
        """Some fields may not be given, which a model remembers."""

        inner: Inner
        others: tuple[Inner, ...] = ()

    class Open(pydantic.BaseModel):
        """Takes any members."""

        model_config = pydantic.ConfigDict(extra="allow")

        number: int = 1

    class Private(Open):
        """Has what is not shown, and not given."""

        _hidden: Any = None

    @pydantic.dataclasses.dataclass
    class Checked:
        """A dataclass that pydantic checks."""

        number: int
        held: Any = None

    hiding = Private(number=3, other={1: (2,)})
    hiding._hidden = (hiding.number, {b"x"})

    MODELS = {
        "other members": Open(zero=0, number=2, more=(1, 2), m=None),
        "private members": hiding,
        "no private members yet": Private(),
        "nested": Outer(inner=Inner(held={1: {2}}), others=(Inner(number=5),)),
        "not all given": Inner(held=(1, 2)),
        "with no other members": Open(number=2),
        "dataclass": Checked(1, (1, {2})),
        "dataclass inside a model": Inner(held=Checked(3, [Checked(4)])),
    }


@attr.define
class Slotted:
    """Has slots, which attrs makes."""

    first: Any
    second: Any = attr.field(default=None, init=False)


@attr.frozen
class Frozen:
    """Neither slots nor a way to set its fields."""

    first: Any
    made: Any = attr.field(init=False, default=7)


MODELS |= {
    "attrs": Slotted((1, Slotted(2))),
    "frozen attrs": Frozen({1: Slotted(b"x")}),
}

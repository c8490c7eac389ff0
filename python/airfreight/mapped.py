"""Lists and dicts of which each instance of a mapped task moves only its element.

    @task
    def produce():
        return airfreight.mappable([load(day) for day in days])

    consume.expand(item=produce())

Airflow takes one element of the list for each instance, and needs no more than a sequence for that
(airflow.sdk.definitions._internal.expandinput, airflow.models.expandinput: `_expand_mapped_field`).
A list of Python would be fetched whole by every instance.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, Protocol, overload

from airfreight import _airflow

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Bytes of elements that an iteration fetches at a time, unless one is larger.
_BATCH_BYTES = 32 << 20


class Elements(Protocol):
    """Where elements are: here, or in a store."""

    def __len__(self) -> int: ...

    def size(self, position: int) -> int:
        """Bytes that it takes to fetch an element."""

    def fetch(self, positions: Sequence[int]) -> list[Any]:
        """Elements by position, from 0 on."""


class Local:
    """Elements that are here."""

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def size(self, _position: int) -> int:
        """Nothing has to be fetched."""
        return 0

    def fetch(self, positions: Sequence[int]) -> list[Any]:
        """The elements themselves."""
        return [self._items[position] for position in positions]


def _all(elements: Elements, positions: Iterable[int] | None = None) -> Iterator[Any]:
    """Elements in the order of their positions, or all; some are fetched at a time."""
    batch: list[int] = []
    size = 0
    for position in range(len(elements)) if positions is None else positions:
        more = elements.size(position)
        if batch and size + more > _BATCH_BYTES:
            yield from elements.fetch(batch)
            batch, size = [], 0
        batch.append(position)
        size += more
    if batch:
        yield from elements.fetch(batch)


def _position(index: Any, count: int) -> int:
    """An index as a position from 0 on. Raises as a list does."""
    if not hasattr(index, "__index__"):
        raise TypeError(
            f"the index of an element is a number or a slice, not {type(index).__name__}"
        )
    position = operator.index(index)
    if not -count <= position < count:
        raise IndexError(f"there is no element {position}; there are {count:,}, from 0 on")
    return position % count


class MappableList(Sequence[Any]):
    """A list that is read element by element: what `airfreight.mappable` makes of a list.

    Pulled, it fetches an element when it is asked for, each time anew; a slice (a list) fetches its
    elements at once, an iteration some at a time. It equals a list of equal elements, and
    `list(…)` makes one. Immutable. Threads may share it.

    Raises, when elements are fetched: Error, as a pull does.
    """

    __slots__ = ("_elements",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, elements: Elements) -> None:
        self._elements = elements

    def __len__(self) -> int:
        return len(self._elements)

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._elements.fetch(range(len(self._elements))[index])
        (found,) = self._elements.fetch((_position(index, len(self._elements)),))
        return found

    def __iter__(self) -> Iterator[Any]:
        return _all(self._elements)

    def __reversed__(self) -> Iterator[Any]:
        return _all(self._elements, reversed(range(len(self))))

    def index(self, value: Any, start: int = 0, stop: int = sys.maxsize) -> int:
        """As of a list; fetches some elements at a time."""
        positions = range(len(self))[start:stop]
        for position, element in zip(positions, _all(self._elements, positions), strict=True):
            if element is value or element == value:
                return position
        raise ValueError("the value that was looked for is not in it")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, MappableList)):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"<airfreight.mappable list of {len(self):,} elements>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Plain, so that processes without Airfreight (of @task.virtualenv, for one) can read it.
        return list, (list(self),)


class MappableDict(Mapping[str, Any]):
    """A dict that is read value by value: what `airfreight.mappable` makes of a dict.

    As `MappableList`. For Airflow, which looks no further than for a sequence, it is one of its
    (key, value) pairs too: `found[0]` is the first one. Its keys are texts, so that no number is
    one of them.
    """

    __slots__ = ("_elements", "_positions")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, keys: Iterable[str], elements: Elements) -> None:
        self._elements = elements
        self._positions = {key: position for position, key in enumerate(keys)}

    def __len__(self) -> int:
        return len(self._positions)

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __contains__(self, key: object) -> bool:
        return key in self._positions

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not str and hasattr(key, "__index__"):
            position = _position(key, len(self))
            (value,) = self._elements.fetch((position,))
            return list(self._positions)[position], value
        return self._of_key(key)

    def _of_key(self, key: Any) -> Any:
        (value,) = self._elements.fetch((self._positions[key],))
        return value

    def get(self, key: object, default: Any = None, /) -> Any:
        """As of a dict: a number is no key."""
        return self._of_key(key) if key in self else default

    def items(self) -> ItemsView[str, Any]:
        """As of a dict; an iteration fetches some values at a time."""
        return _Items(self)

    def values(self) -> ValuesView[Any]:
        """As of a dict; an iteration fetches some at a time."""
        return _Values(self)

    def __repr__(self) -> str:
        return f"<airfreight.mappable dict of {len(self):,} elements>"

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self.items()),)


# For `_expand_mapped_field`: of what is no sequence it takes a dict only, and goes through all
# values of it that come before the one that it wants.
Sequence.register(MappableDict)


class _Items(ItemsView[str, Any]):
    _mapping: Any  # As the base class has it.

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        found = self._mapping
        return zip(found, _all(found._elements), strict=True)

    def __contains__(self, item: object) -> bool:
        # (A number is no key.)
        return (
            isinstance(item, tuple)
            and item[:1] != ()
            and item[0] in self._mapping
            and (super().__contains__(item))
        )


class _Values(ValuesView[Any]):
    _mapping: Any

    def __iter__(self) -> Iterator[Any]:
        found = self._mapping
        return _all(found._elements)

    def __contains__(self, value: object) -> bool:
        return any(one is value or one == value for one in self)


def mappable(items: Any) -> Any:
    """Makes a list or a dict one of which each instance of a mapped task moves only its element.

        return airfreight.mappable(items)

    For `.expand(…)`, `.map`, `.zip`, `multiple_outputs`, `len`, indexing, slicing and iteration it
    is as the list or dict itself. A task that takes it whole gets a sequence, or a mapping, that
    fetches an element when it is asked for; `list(…)` and `dict(…)` fetch all.

    Args:
        items: a list, a tuple (it comes back as a list does), or a dict whose keys are texts.
            Elements may be anything that can be pushed.

    Raises:
        TypeError: it is something else.
    """
    kind = type(items)
    if kind in (MappableList, MappableDict):
        return items
    if kind.__module__ == "airfreight.wrapped":
        return items.over(mappable(items.value))
    if kind in (list, tuple):
        return MappableList(Local(list(items)))
    if _airflow.is_reference(items):
        raise TypeError(
            f"airfreight.mappable was given what stands for the result of a task, {items!r:.80}: "
            "call it inside of that task, return airfreight.mappable(items)"
        )
    if kind is not dict:
        raise TypeError(
            f"airfreight.mappable takes a list, a tuple or a dict, not {kind.__name__}: pass "
            "list(…) of it"
        )
    other = next((key for key in items if type(key) is not str), None)
    if other is not None or None in items:
        raise TypeError(
            f"airfreight.mappable takes a dict whose keys are texts, and {other!r} is a key: pass "
            "list(….items()), of which each instance gets a (key, value) pair too"
        )
    return MappableDict(items, Local(list(items.values())))


def local(value: MappableList | MappableDict) -> Sequence[Any] | None:
    """The elements, where they are not made anew each time that they are asked for."""
    elements = value._elements
    return elements.fetch(range(len(elements))) if isinstance(elements, Local) else None


def plain(value: Any) -> Any:
    """The list or dict of a mappable one; any other value itself."""
    if type(value) is MappableList:
        return list(value)
    if type(value) is MappableDict:
        return dict(value.items())
    return value

"""Whether there is a pickle in bytes that lie where none may: in a row, or inside of a document.

Rows can be written by those who may not write objects. It is asked before a value is made, and not
while: elements of an `airfreight.mappable` are made when they are asked for, and what
`airfreight repatriate` moves to the store is an object from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airfreight.values import PICKLE_TYPE
from airfreight.values._leaves import Whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airfreight.values._zip import Entry

_BUNDLE, _MAPPABLE = "bundle", "mappable"
#: Archives in archives: more than any push makes.
_DEEPEST = 32


def holds_pickle(kind: str, data: memoryview, depth: int = 0) -> bool:
    """Whether the bytes of an object of an `_xcom_type` are a pickle, or an archive that has one.

    Makes no value and needs no library: of archives only the indexes are read.

    Raises:
        ValueError: it is an archive that no push makes.
    """
    if kind == PICKLE_TYPE:
        return True
    if kind not in (_BUNDLE, _MAPPABLE):
        return False
    if depth >= _DEEPEST:
        raise ValueError(f"there are more than {_DEEPEST} archives in each other")
    source = Whole(data)
    for its, entry in (_elements if kind == _MAPPABLE else _leaves)(source):
        if its == PICKLE_TYPE:
            return True
        if its in (_BUNDLE, _MAPPABLE):
            (view,) = source.fetch([entry])
            if holds_pickle(its, view, depth + 1):
                return True
    return False


def _elements(source: Whole) -> Iterator[tuple[str, Entry]]:
    """Type and member of each element of a mappable (formats/mappable.md)."""
    position = 0
    try:
        for kind, count in source.document["~mappable"][1]:
            for entry in source.entries[position : position + count]:
                yield kind, entry
            position += count
    except (LookupError, TypeError) as error:
        raise ValueError("the archive has no index of elements") from error


def _leaves(source: Whole) -> Iterator[tuple[str, Entry]]:
    """Type and member of each leaf of a bundle (formats/bundle.md), and of what looks like one."""
    entries = {entry.name: entry for entry in source.entries}
    waiting: list[Any] = [source.document]
    while waiting:
        node = waiting.pop()
        if type(node) is dict:
            content = node.get("~leaf")
            if type(content) is list and list(map(type, content)) == [str, str]:
                name, kind = content
                if name in entries:
                    yield kind, entries[name]
            waiting += node.values()
        elif type(node) is list:
            waiting += node

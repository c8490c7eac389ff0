"""Explicit references: `put` in one task, `get` in another."""

from __future__ import annotations

import itertools
import os
from typing import Any

from airfreight import exchange, runtime, task
from airfreight.errors import InvalidError
from airfreight.reference import Reference

# Numbers for objects without a name, one sequence for each task instance in this process. Taking
# one is atomic.
_ordinals: dict[tuple[Any, ...], itertools.count[int]] = {}
# What tells the objects of this process from those of others of the same attempt, by process id.
_marks: dict[int, str] = {}


def put(value: Any, name: str | None = None, *, context: Any = None) -> Reference:
    """Writes a value to the store and returns a reference to it, to be passed on like any value.

    Args:
        value: a DataFrame, an array, bytes, or anything that Airfreight keeps as JSON.
        name: of the object within the task instance; a second `put` of the same name replaces the
            first. Without one, objects are numbered in the order in which they are put, so that an
            attempt replaces what an earlier one has put in the same place. A second process of one
            attempt (a forked child, a task that resumes after a deferral, a callback) has names of
            its own for them, which are never used again.
        context: of the task, where it is not the running one's (in a callback).

    Raises:
        InvalidError: no task is running here, or the name is a number.
        TypeError: the value can't be kept exactly.
        Error: the store failed.
    """
    found = context if context is not None else task.context()
    mine = task.running(found) if found is not None else None
    if mine is None:
        raise InvalidError(
            "airfreight.put was called where no task is running, so that its object has no "
            "place: call "
            "it inside a task, or pass the task's context=…"
        )
    if name is None:
        ordinal = next(_ordinals.setdefault((os.getpid(), mine), itertools.count()))
        name = str(ordinal)
        if not task.is_first_process(found):
            name = f"{name}-{_marks.setdefault(os.getpid(), exchange.new_write_id()[:12])}"
    elif type(name) is not str or not name or name.isdecimal():
        raise InvalidError(
            f"airfreight.put: name must be a text that is not a number (numbers are for objects "
            f"without a name); it was {name!r}. Example: name='features'"
        )
    ti_id = mine.ti_id if hasattr(exchange.BaseXCom, "store_value") else None
    payload, kind, extension, content_type = exchange.encode(value)
    return Reference.from_json(
        exchange.put(
            payload,
            runtime.coordinate(
                mine.dag,
                mine.run,
                mine.task,
                "",
                map_index=mine.map_index,
                ti_id=ti_id,
                put_name=name,
            ),
            exchange.Address(
                mine.dag, mine.run, mine.task, None, map_index=mine.map_index, ti_id=ti_id
            ),
            kind=kind,
            extension=extension,
            content_type=content_type,
        )
    )


def get(reference: Reference | dict[str, Any]) -> Any:
    """Returns the value that a reference leads to.

    Args:
        reference: what `put` returned, or its dict form (as a REST client sees it).

    Raises:
        TypeError: it is something else; a text is never followed.
        InvalidError: the dict is not a reference.
        Error: the object is lost, damaged or not allowed to be read.
    """
    if type(reference) is dict:
        reference = Reference.from_dict(reference)
    if type(reference) is not Reference:
        raise TypeError(
            f"airfreight.get takes a Reference or its dict form, not {type(reference).__name__}"
        )
    return exchange.follow(reference.to_dict())

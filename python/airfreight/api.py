"""Explicit references: `put` in one task, `get` in another; and `pull` of what tasks return."""

from __future__ import annotations

import inspect
import itertools
import os
from typing import TYPE_CHECKING, Any

from airfreight import exchange, runtime, task
from airfreight.errors import Error, InvalidError
from airfreight.reference import Reference
from airfreight.values import binary, human_bytes
from airfreight.values._describe import Told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airfreight._core import Coordinate, Freight

#: Bytes that are read from a file object at a time.
_CHUNK = 1 << 20

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
    coordinate, address = _place("put", name, context)
    return Reference.from_json(exchange.store(value, coordinate, address))


def put_many(values: Iterable[Any], *, context: Any = None) -> list[Reference]:
    """As `put` of each value without a name, with their objects written at the same time.

    All values are in memory in their encoded form meanwhile.

    Raises:
        Error: as `put`, the first one; the other objects may have been written.
    """
    items = [(value, *_place("put_many", None, context)) for value in values]
    references = []
    for result in exchange.store_many(items):
        if isinstance(result, BaseException):
            raise result
        references.append(Reference.from_json(result))
    return references


def put_stream(file: Any, name: str | None = None, *, context: Any = None) -> Reference:
    """Writes what a binary file object gives to the store, as a value of type `bytes`.

    Parts are on their way while more is read: the whole is never in memory.

    Args:
        file: has `read(size)`, or `readinto(buffer)`, and gives bytes; it is read to its end.
        name: as in `put`.
        context: as in `put`.

    Raises:
        TypeError: the file gives something else than bytes.
        Error: as `put`. What `file` raises; nothing is left in the store then.
    """
    coordinate, address = _place("put_stream", name, context)
    start = file.tell() if hasattr(file, "seekable") and file.seekable() else None

    def write(core: Freight) -> str:
        writer = exchange.open_writer(core, binary, coordinate, address)
        try:
            _copy(file, writer)
            return writer.finish(Told(summary=f"bytes · {human_bytes(writer.tell())} bin"))
        except BaseException as error:
            writer.abandon(hurry=not isinstance(error, Exception))
            raise

    with exchange.under_rule(binary.TYPE, None, address):
        core = runtime.freight()
        try:
            return Reference.from_json(write(core))
        except Error as error:
            # With other credentials a second time, if the file can be read a second time.
            if not runtime.borrow(error, core) or start is None:
                exchange.name_place(error, address)
                raise
        file.seek(start)
        return Reference.from_json(exchange.with_core(write, address))


def get(
    reference: Reference | dict[str, Any],
    *part: Any,
    columns: Sequence[Any] | None = None,
    to: str | os.PathLike[str] | None = None,
) -> Any:
    """Returns the value that a reference leads to, or a part of it.

        train = airfreight.get(ref, "train")              # of {"train": frame, "test": frame, …}
        price = airfreight.get(ref, "train", columns=["price"])
        first = airfreight.get(ref, "models", 0)          # of {"models": [array, array, …], …}

    Args:
        reference: what `put` returned, or its dict form (as a REST client sees it).
        part: the keys and positions that lead to a part of a value of dicts, lists and tuples. Of
            one with frames, arrays or long bytes in it only that part is fetched.
        columns: of a frame: the labels of the columns that are wanted, in this order. Only these
            and the index are fetched.
        to: path of a file that the object's bytes go to, in the format in which they lie in the
            store, without the value being made; the path is returned. With a part: those of that
            frame or array.

    Raises:
        TypeError: it is something else; a text is never followed.
        InvalidError: the dict is not a reference, or the value has no such part or columns.
        Error: the object is lost, damaged or not allowed to be read.
    """
    fields = _fields("get", reference)
    if to is not None:
        if columns is not None:
            raise InvalidError("airfreight.get: columns=… and to=… don't go together")
        exchange.save(fields, os.fspath(to), part)
        return to
    return exchange.follow(fields, columns=_columns("get", columns), part=part)


def get_many(references: Iterable[Reference | dict[str, Any]]) -> list[Any]:
    """As `get` of each reference, with their objects fetched at the same time.

    Raises:
        Error: as `get`, of the first reference that has one.
    """
    fields = [_fields("get_many", reference) for reference in references]
    fetched = exchange.fetch(fields)
    fetched.reverse()
    # The bytes go as soon as their value is there.
    return [exchange.decode(one, fetched.pop()) for one in fields]


def pull(
    task_ids: str | Iterable[str] | None = None,
    *,
    key: str = "return_value",
    map_indexes: int | Iterable[int] | None = None,
    dag_id: str | None = None,
    run_id: str | None = None,
    columns: Sequence[Any] | None = None,
    part: Any = None,
) -> Any:
    """Returns what tasks have returned or pushed, as `ti.xcom_pull` does, or a part of it.

        price = airfreight.pull("extract", columns=["price"])       # of a frame
        train = airfreight.pull("prepare", part="train")            # of {"train": frame, …}
        second = airfreight.pull("prepare", part=["models", 1])     # of {"models": [array, …], …}

    Args:
        task_ids: one or several tasks; None: the running one.
        key: of the XComs.
        map_indexes: one or several instances of mapped tasks; None: all.
        dag_id: None: the running task's.
        run_id: None: the running task's.
        columns: the labels of the columns that are wanted, in this order. Only these and the index
            are fetched. None: the whole value.
        part: the key or position of a part of a value of dicts, lists and tuples, or a list of the
            keys and positions that lead to one. As with `get`, of a value with frames, arrays or
            long bytes in it only that part is fetched. None: the whole value.

    Raises:
        InvalidError: no task is running here, or the value has no such columns or part.
        Error: the object is lost, damaged or not allowed to be read.
    """
    found = task.context()
    instance = (found.get("ti") or found.get("task_instance")) if found is not None else None
    if instance is None:
        raise InvalidError(
            "airfreight.pull was called where no task is running, so that there is no run to pull "
            "from: call it inside a task"
        )
    arguments: dict[str, Any] = {"task_ids": task_ids, "key": key, "dag_id": dag_id}
    if map_indexes is not None:
        arguments["map_indexes"] = map_indexes
    if run_id is not None:
        if "run_id" not in inspect.signature(instance.xcom_pull).parameters:
            raise InvalidError("airfreight.pull: this release of Airflow pulls from no other run")
        arguments["run_id"] = run_id
    if columns is None and part is None:
        return instance.xcom_pull(**arguments)
    # (No list is a key.)
    steps = part if type(part) is list else () if part is None else (part,)
    token = exchange.wanted.set(exchange.Wanted(_columns("pull", columns), steps))
    try:
        pulled = instance.xcom_pull(**arguments)
        # Airflow 2 has its rows of several tasks decoded when they are looked at.
        return list(pulled) if type(pulled).__name__.startswith("Lazy") else pulled
    finally:
        exchange.wanted.reset(token)


def _place(what: str, name: str | None, context: Any) -> tuple[Coordinate, exchange.Address]:
    """Where an object without a row of its own goes."""
    found = context if context is not None else task.context()
    mine = task.running(found) if found is not None else None
    if mine is None:
        raise InvalidError(
            f"airfreight.{what} was called where no task is running, so that its object has no "
            "place: call it inside a task, or pass the task's context=…"
        )
    if name is None:
        ordinal = next(_ordinals.setdefault((os.getpid(), mine), itertools.count()))
        name = str(ordinal)
        if not task.is_first_process(found):
            name = f"{name}-{_marks.setdefault(os.getpid(), exchange.new_write_id()[:12])}"
    elif type(name) is not str or not name or name.isdecimal():
        raise InvalidError(
            f"airfreight.{what}: name must be a text that is not a number (numbers are for objects "
            f"without a name); it was {name!r}. Example: name='features'"
        )
    ti_id = mine.ti_id if hasattr(exchange.BaseXCom, "store_value") else None
    coordinate = runtime.coordinate(
        mine.dag, mine.run, mine.task, "", map_index=mine.map_index, ti_id=ti_id, put_name=name
    )
    return coordinate, exchange.Address(
        mine.dag, mine.run, mine.task, None, map_index=mine.map_index, ti_id=ti_id
    )


def _fields(what: str, reference: Reference | dict[str, Any]) -> dict[str, Any]:
    if type(reference) is dict:
        reference = Reference.from_dict(reference)
    if type(reference) is not Reference:
        raise TypeError(
            f"airfreight.{what} takes a Reference or its dict form, not {type(reference).__name__}"
        )
    return reference.to_dict()


def _columns(what: str, columns: Sequence[Any] | None) -> list[Any] | None:
    if columns is None:
        return None
    if isinstance(columns, (str, bytes)):
        raise InvalidError(
            f"airfreight.{what}: columns must be a list of labels; it was {columns!r}. Example: "
            "columns=['price']"
        )
    return list(columns)


def _copy(file: Any, writer: Any) -> None:
    if hasattr(file, "readinto"):
        buffer = memoryview(bytearray(_CHUNK))
        while count := file.readinto(buffer):
            writer.write(buffer[:count])
        return
    while data := file.read(_CHUNK):
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"airfreight.put_stream: the file gives {type(data).__name__}, not bytes; open it "
                "in binary mode"
            )
        writer.write(data)

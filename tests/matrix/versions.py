"""Values written under one set of versions and read under another, by the codecs alone.

A corpus is a folder: the objects of all values that one environment could make, and an index. No
Airflow is needed: what becomes an object does not depend on it.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from airfreight import parts, values
from airfreight.errors import UnsupportedError
from airfreight.values import Options, bundle, document, json_
from tests.matrix.cases import CASES, Absent, comparable, compared, value, worst
from tests.matrix.world import made
from tests.oracle import difference

if TYPE_CHECKING:
    from pathlib import Path

    from tests.matrix.cases import Case

#: Families that have nothing to do with a library's version, or need an Airflow.
LEFT_OUT = frozenset(("objects of classes", "files", "mappable lists", "not supported"))
OPTIONS = {
    "parquet": Options(),
    "arrow": Options(format="arrow", compression="lz4"),
}
#: What comes back under a library that lacks the dtype, as documented: case to what, and how to
#: make it.
LACKING = {
    "str of pandas 3": "an object dtype with NaN",
    "str of pandas 3, python": "an object dtype with NaN",
}
_OBJECTS = {
    "pandas.DataFrame: dtypes of columns": "column('é', np.nan)",
    "pandas.DataFrame: row indexes": "indexed(texts('a', ''))",
    "pandas.DataFrame: column labels": "labelled(texts('a', ''))",
}


def encode(it: Any, options: Options) -> tuple[str, bytes]:
    """`_xcom_type` and object of a value."""
    codec: Any = values.for_value(it)
    if codec is not None:
        payload = codec.encode(it, options, values.new_sink)
    elif (text := json_.text_of(it)) is not None:
        codec, payload = json_, json_.payload(it, text)
    else:
        packed = bundle.Packed(it, None, options)
        if packed.leaves:
            codec, payload = bundle, bundle.encode(packed, options, values.new_sink)
        else:
            codec, payload = document, document.payload(it, packed.segments)
    body: Any = payload.body
    return codec.TYPE, body.getvalue() if hasattr(body, "getvalue") else b"".join(body)


def decode(name: str, data: bytes) -> Any:
    """The value of an object."""
    codec = values.for_type(name)
    assert codec is not None, name
    return codec.decode(memoryview(bytearray(data)))


def cases() -> list[Case]:
    """Those that are written and read."""
    return [case for case in CASES if case.family not in LEFT_OUT]


def write(folder: Path) -> dict[str, str]:
    """Writes the corpus of this environment; what could not be written, by its case."""
    folder.mkdir(parents=True, exist_ok=True)
    index: dict[str, list[str]] = {}
    failed = {}
    for number, case in enumerate(cases()):
        for form, options in OPTIONS.items():
            try:
                name, data = encode(value(case), options)
            except Absent as error:
                failed[str(case)] = f"absent: {error}"
                continue
            except Exception as error:
                failed[str(case)] = f"refused: {error}"
                continue
            file = f"{number:03}.{form}"
            (folder / file).write_bytes(data)
            index.setdefault(str(case), []).append(name)
            index[str(case)].append(file)
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")
    return failed


def read(folder: Path) -> dict[str, str]:
    """The cells of a corpus, as this environment reads it."""
    index: dict[str, list[str]] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    cells = {}
    for case in cases():
        words = index.get(str(case), [])
        found = [
            _read(case, name, folder / file)
            for name, file in zip(words[::2], words[1::2], strict=True)
        ]
        if found:
            cells[str(case)] = worst(found)
    return cells


def _read(case: Case, name: str, path: Path) -> str:
    try:
        # With the errors that a pull has.
        back = parts.made({"_xcom_type": name}, partial(decode, name, path.read_bytes()))
    except (UnsupportedError, ImportError) as error:
        return f"refused: {error}"
    except Exception as error:
        return f"lost: {type(error).__name__}: {error}"
    try:
        return compared(case, back)
    except Absent:
        return _nearest(case, back)


def _nearest(case: Case, back: Any) -> str:
    """Of a value that was read, though the libraries here can't make it."""
    what, expression = LACKING.get(case.name), _OBJECTS.get(case.family)
    if what is None or expression is None:
        return f"changed: came back as {type(back).__name__}, which no document tells"
    found = difference(comparable(back), comparable(made(expression)))
    return f"nearest: {what}" if found is None else f"changed: {found}"

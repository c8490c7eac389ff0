"""What a row tells of a value: `summary`, `columns`, `nulls`, `preview` of formats/reference.md.

Codecs say what they know, without labels in it; here stands what of that is shown, by the settings
`describe`, `preview_rows` and `redact`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

from airfreight._imports import loading
from airfreight.values import human_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airfreight.values import Options, Payload

#: Columns whose labels `describe = schema` shows: what people name themselves is rarely more, and a
#: pivot, which makes labels of data, is.
SCHEMA_COLUMNS = 64
#: More pairs of a label and a dtype never fit a reference (4,096 bytes).
_MOST_COLUMNS = 420
#: Columns that the summary names.
_NAMED = 6
#: Characters of a label or a dtype.
_LABEL = 60
#: Unicode's Default_Ignorable_Code_Point, as a class of `re`: what is drawn as nothing where a font
#: does not know it, though some of it are letters (fillers of Hangul) or marks (which choose a
#: variant of a letter). All of it, also what is not assigned yet; unicodedata does not know it.
#: https://www.unicode.org/Public/17.0.0/ucd/DerivedCoreProperties.txt
IGNORABLE = (
    "[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e"
    "\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3"
    "\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]"
)
#: Selectors of variants that Han characters have, in the order of Unicode's two blocks.
_HAN = re.compile("[\\ufe00-\\ufe0d\\U000e0100-\\U000e01ef]")
#: Dicts at the beginning of a list that tell whether it is one of records.
_RECORDS = 8


class Told(NamedTuple):
    """What a row tells, in the order in which the core takes it.

    Attributes:
        rows: for tabular values.
        summary: one line.
        columns: label and dtype.
        nulls: of each of these, -1 where it is not known; empty: of none it is.
        columns_cut: whether there are more columns.
        preview: the cells of the first rows as texts.
    """

    rows: int | None = None
    summary: str = ""
    columns: Sequence[tuple[str, str]] = ()
    nulls: Sequence[int] = ()
    columns_cut: bool = False
    preview: Sequence[Sequence[str]] = ()


def told(payload: Payload, value: Any, options: Options) -> Told:
    """What the row tells of a value.

    Args:
        payload: what its codec said.
        value: that was encoded. It is looked at for its first rows only.
        options: `describe`, `preview_rows` and `redact` decide what is shown.
    """
    source = value if payload.sample is None else payload.sample
    columns: Sequence[tuple[Any, str]] = payload.columns
    nulls: Sequence[int] = payload.nulls if len(payload.nulls) == len(columns) else ()
    count = payload.rows
    if not columns and (found := _records(source, options.describe)):
        columns, count = found, len(source)
    most = {"full": _MOST_COLUMNS, "schema": SCHEMA_COLUMNS}.get(options.describe, 0)
    cells: Sequence[Sequence[str]] = ()
    if options.preview_rows and most and columns:
        with loading:
            from airfreight.values import _preview

        labels = [label for label, _ in columns[:most]]
        cells = _preview.cells(source, labels, options.preview_rows, options.redact)
    known = [*nulls[:most]]
    return Told(
        rows=count,
        summary=visible(payload.summary),
        columns=[(label(name), label(dtype)) for name, dtype in columns[:most]],
        nulls=known if any(number >= 0 for number in known) else (),
        columns_cut=len(columns) > most,
        preview=cells,
    )


def line(
    head: str,
    columns: Sequence[tuple[Any, str]],
    size: int,
    form: str,
    options: Options,
) -> str:
    """A summary: `DataFrame 3 × 9: id int64, name str, … 7 more · 1.2 kB parquet`.

    Args:
        head: type and size of the value.
        columns: label and dtype of each column, of which the first are named.
        size: of the object, in bytes.
        form: its format.
        options: of which `describe` decides whether columns are named.
    """
    named = [] if options.describe == "size" else columns[:_NAMED]
    shown = ", ".join(f"{label(name)} {cut(dtype)}" for name, dtype in named)
    if shown and len(columns) > _NAMED:
        shown += f", … {len(columns) - _NAMED:,} more"
    return f"{head}{': ' if shown else ''}{shown} · {human_bytes(size)} {form}"


def dtype(text: str, options: Options) -> str:
    """The dtype of a value that is all of one; under "size" without what it is made of."""
    if options.describe != "size":
        return cut(text)
    found = re.match(r"[<>=|]?\w+", text)
    return found[0] if found else "structured"


def label(name: Any) -> str:
    """A label or a key as text of one line and bounded length. Never raises."""
    try:
        return cut(name if type(name) is str else str(name))
    except Exception:  # noqa: BLE001 (of an object of somebody's)
        return f"<{type(name).__name__}>"


def cut(text: str) -> str:
    """The beginning of a text, and whether there is more of it."""
    return visible(text if len(text) <= _LABEL else f"{text[: _LABEL - 1]}…")


def visible(text: str) -> str:
    """A text in which control characters, lone surrogates and what nobody sees are escapes."""
    if text.isprintable() and (text.isascii() or not re.search(IGNORABLE, text)):
        return text
    return "".join(
        one if _is_seen(text, at) else one.encode("unicode_escape").decode()
        for at, one in enumerate(text)
    )


def _is_seen(text: str, at: int) -> bool:
    one, before = text[at], text[at - 1 : at]
    if one in "\ufe0e\ufe0f":
        # What has a symbol be a picture, or none, is seen by that: a heart, a key with a number.
        if text.startswith("\u20e3", at + 1) or (
            not before.isascii() and unicodedata.category(before) in ("Sm", "So")
        ):
            return True
    # What chooses the form of a Han character, as in the names of Japanese places.
    elif _HAN.match(one) and unicodedata.name(before or " ", "").startswith("CJK "):
        return True
    return one.isprintable() and not re.match(IGNORABLE, one)


def _records(value: Any, describe: str) -> list[tuple[Any, str]]:
    """Keys and types of what the items of a list have, where it is one of like dicts."""
    if type(value) is not list:
        return []
    first = value[:_RECORDS]
    if not first or not all(type(item) is dict for item in first):
        return []
    keys = {key: None for item in first for key in item}
    if not all(type(key) is str for key in keys):
        return []
    # The keys of a dict alone are as likely to be data.
    alike = len(first) > 1 and all(item.keys() == keys.keys() for item in first)
    if describe != "full" and not alike:
        return []
    return [(key, _type_of(first, key)) for key in keys]


def _type_of(records: Sequence[dict[Any, Any]], key: str) -> str:
    cells = [record.get(key) for record in records]
    return type(next((cell for cell in cells if cell is not None), None)).__name__

"""A reference to an object in a store, as a value of Python."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from airfreight.errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Fields of a reference (formats/reference.md) without which there is none.
_NEEDED = ("_xcom_backend", "_xcom_type", "_airfreight", "uri", "size_bytes")

#: Version of the rows that we write, as in `include/airfreight/reference.h`.
VERSION = 1


class Reference:
    """What `airfreight.put` returns and `airfreight.get` follows.

    Immutable, hashable, picklable, and itself a small XCom value: returned from a task, alone or
    inside a list or dict, it comes back as a `Reference` and is never followed by itself.
    """

    __slots__ = ("_fields", "_text")
    _fields: dict[str, Any]
    _text: str

    def __init__(self) -> None:
        raise TypeError("a Reference comes from airfreight.put or Reference.from_dict")

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Reference:
        """Makes a reference of its JSON form. It is verified when it is followed.

        Raises:
            InvalidError: the dict is not a reference.
        """
        missing = [name for name in _NEEDED if name not in fields]
        if missing:
            raise InvalidError(f"not a reference: it has no {missing[0]!r}")
        if fields["_xcom_backend"] == "inline":
            raise InvalidError("not a reference: the value lies in the row")
        try:
            text = json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise InvalidError(f"not a reference: it is not JSON ({error})") from None
        return cls.from_json(text)

    @classmethod
    def from_json(cls, text: str) -> Reference:
        """As `from_dict`, from JSON text that is known to hold a reference."""
        reference = object.__new__(cls)
        object.__setattr__(reference, "_fields", json.loads(text))
        # Sorted, because databases reorder the members of what they store.
        canonical = json.dumps(reference._fields, separators=(",", ":"), sort_keys=True)
        object.__setattr__(reference, "_text", canonical)
        return reference

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, a copy."""
        fields: dict[str, Any] = json.loads(self._text)
        return fields

    def to_json(self) -> str:
        """The JSON form as compact text."""
        return self._text

    @property
    def uri(self) -> str:
        """The object's address."""
        return str(self._fields["uri"])

    @property
    def type(self) -> str:
        """What the object holds, e.g. "pandas.DataFrame"."""
        return str(self._fields["_xcom_type"])

    @property
    def backend(self) -> str:
        """The kind of store, e.g. "s3" or "file"."""
        return str(self._fields["_xcom_backend"])

    @property
    def size_bytes(self) -> int:
        """Length of the object in bytes."""
        return int(self._fields["size_bytes"])

    @property
    def rows(self) -> int | None:
        """Rows of a tabular value; None for others."""
        rows = self._fields.get("rows")
        return None if rows is None else int(rows)

    @property
    def summary(self) -> str:
        """One line for people."""
        return str(self._fields.get("summary", ""))

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Label and dtype of the columns, as far as the reference has room for them."""
        return tuple((str(label), str(dtype)) for label, dtype in self._fields.get("columns", ()))

    @property
    def nulls(self) -> tuple[int | None, ...]:
        """How many cells of each of `columns` are null; None where that is not known."""
        counts = self._fields.get("nulls", (-1,) * len(self.columns))
        return tuple(None if int(count) < 0 else int(count) for count in counts)

    @property
    def preview(self) -> tuple[tuple[str, ...], ...]:
        """The first rows, where the setting `preview_rows` asks for them: texts of their cells."""
        return tuple(tuple(map(str, row)) for row in self._fields.get("preview", ()))

    @property
    def digest(self) -> str:
        """Digest of the object's bytes, "crc32c:…" or "sha256:…"."""
        return str(self._fields.get("digest", ""))

    @property
    def dag_id(self) -> str:
        """The dag whose task wrote it."""
        return str(self._fields.get("dag", ""))

    @property
    def run_id(self) -> str:
        """The dag run that wrote it."""
        return str(self._fields.get("run", ""))

    @property
    def task_id(self) -> str:
        """The task that wrote it."""
        return str(self._fields.get("task", ""))

    @property
    def written(self) -> str:
        """When it was written: UTC, "2026-01-01T00:03:11Z"."""
        return str(self._fields.get("written", ""))

    @property
    def expires(self) -> str | None:
        """From when on it is not read any more, as `written`; None: it stays."""
        expires = self._fields.get("expires")
        return None if expires is None else str(expires)

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if type(other) is Reference else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"<airfreight.Reference {self.uri} ({self.summary or self.type})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Reference.from_json, (self._text,)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Reference is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Reference is immutable")

    def __copy__(self) -> Reference:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Reference:
        return self

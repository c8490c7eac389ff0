"""Excerpts of values, for texts of which a part is shown.

Airflow masks secrets in a whole text, and cuts it then. An excerpt is cut before. What is shown of
it has to be what Airflow would show, so nothing is cut where a secret may be:

- of what is a leaf (a number, an object, a short text) there is all or nothing;
- of a long text there is the first part, masked by Airflow's own masker together with what follows
  it, so far that the longest secret ends in it; that margin is dropped after;
- an excerpt is large enough when its text, masked, is longer by the longest secret than what is
  kept of it. (Where a text of all of the value is masked, a secret may reach over several leaves.)
"""

from __future__ import annotations

import inspect
from typing import Any

from airfreight._airflow import Masker

#: Lists and dicts deeper than that inside a value are left to Airflow.
_DEEPEST = 50
#: Libraries whose objects have a text of some lines that is slow to make, and how many characters
#: that is at the least.
_LIBRARIES = ("pandas", "polars", "pyarrow")
_LEAST_TEXT = 20
#: Characters between two elements.
_SEPARATOR = 2
#: The most characters that close an excerpt after the point at which it was cut, brackets of all
#: levels and a quote.
_CLOSING = 2 * _DEEPEST + 2
#: How often an excerpt that turns out as too short, since so much of it is masked, is doubled.
_DOUBLED = 5

#: Containers that are walked through, where their text is that of the built-in type.
_TEXTS: dict[type, Any] = {kind: kind.__repr__ for kind in (dict, list, tuple, set, frozenset)}


class Shown:
    """A part of a value that is shown as a text which is no literal of Python."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def excerpt(value: Any, kept: int) -> tuple[bool, Any]:
    """The first part of a value, from which Airflow makes the text that it keeps.

    Args:
        value: anything; it takes a time by the size of the excerpt.
        kept: how many characters Airflow keeps.

    Returns:
        Whether there is one, and it. There is none of a value whose text is short, nor where too
        much of it is masked.

    Raises:
        LookupError: what is masked can't be told.
    """
    masker = Masker()
    least = kept + masker.longest + _CLOSING
    characters = kept + least
    for _ in range(_DOUBLED + 1):
        made = _Excerpt(characters, masker)
        shown = made.of(value)
        if not made.cut:
            return made.changed, shown
        # The text that is masked, and the masked text: which of both depends on the release.
        text = str([shown])
        if min(len(masker.redact(text)), len(str(masker.redact([shown])))) >= least:
            return True, shown
        characters *= 2
    return False, None


class _Excerpt:
    def __init__(self, characters: int, masker: Masker) -> None:
        self._left = characters
        self._masker = masker
        #: Whether something was left out, and whether something is shown in another way.
        self.cut = self.changed = False

    def of(self, value: Any, depth: int = 0) -> Any:
        kind = type(value)
        if kind in (str, bytes, bytearray):
            return self._of_text(value)
        if depth < _DEEPEST:
            # (What has a text of its own may hide something in it.)
            if isinstance(value, dict):
                if kind.__repr__ is _TEXTS[dict]:
                    return self._of_dict(value, depth)
            else:
                for base in (list, tuple, set, frozenset):
                    if isinstance(value, base) and kind.__repr__ is _TEXTS[base]:
                        return self._of_items(value, depth)
        is_large = kind.__module__.partition(".")[0] in _LIBRARIES
        self._left -= _LEAST_TEXT if is_large else 1
        if is_large and callable(inspect.getattr_static(value, "serialize", None)):
            # All of its bytes, which Airflow 3.1 and later would take for its text
            # (`serialize_object` in `_serialize_template_field`).
            self.changed = True
            return Shown(str(value))
        return value

    def _of_text(self, value: Any) -> Any:
        longest = self._masker.longest
        left = max(self._left, 0)
        self._left -= len(value)
        if len(value) <= left + longest:
            return value
        self.cut = True
        piece = value[: left + longest]
        is_text = type(piece) is str
        masked = self._masker.redact(piece if is_text else repr(piece))
        # (Repr closes what is no text with a quote, and may it be a bracket.)
        masked = masked[: max(len(masked) - longest - (0 if is_text else _SEPARATOR), 0)]
        return masked if is_text else Shown(masked)

    def _of_dict(self, value: dict[Any, Any], depth: int) -> dict[Any, Any]:
        shown = {}
        for key, one in value.items():
            if self._left <= 0:
                self.cut = True
                break
            self._left -= _SEPARATOR + (len(key) if isinstance(key, str) else 1)
            shown[key] = self.of(one, depth + 1)
        return shown

    def _of_items(self, value: Any, depth: int) -> Any:
        shown = []
        for one in value:
            if self._left <= 0:
                self.cut = True
                break
            self._left -= _SEPARATOR
            shown.append(self.of(one, depth + 1))
        if isinstance(value, tuple):
            return tuple(shown)
        if isinstance(value, (set, frozenset)):
            return frozenset(shown) if isinstance(value, frozenset) else set(shown)
        return shown

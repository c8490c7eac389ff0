"""Names of an archive's members, readable from where a leaf stands in its value."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Bytes of one part of a name, and of all: file systems take 255 for a part, and Windows 260
#: characters for a path with the folder that it lies in.
_MAX_PART = 80
_MAX_NAME = 200
#: What some file system or shell takes for something else.
_RESERVED = frozenset('/\\:*?"<>|%~')


class Names:
    """Gives out names that no file system takes for one another: not by case, form or folder."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._files = set(map(_folded, taken))
        self._folders: set[str] = set()
        self._numbers: dict[str, int] = {}  # Folded name -> the last number that it was given.

    def new(self, steps: Sequence[str], extension: str) -> str:
        """A name for the leaf that these steps lead to."""
        stem = "/".join(map(_part, steps)) or "value"
        if len(stem.encode()) > _MAX_NAME:
            stem = "leaf"
        if not self._files.isdisjoint(_parents(stem)):
            stem = stem.replace("/", "%2F")  # A folder would have a file's name.
        name = f"{stem}.{extension}"
        first = _folded(name)
        number = self._numbers.get(first, 1)
        if number > 1:
            name = f"{stem}~{number}.{extension}"
        while not self._is_free(name):
            number += 1
            name = f"{stem}~{number}.{extension}"
        self._numbers[first] = number
        self._files.add(_folded(name))
        self._folders.update(_parents(name))
        return name

    def _is_free(self, name: str) -> bool:
        folded = _folded(name)
        return (
            folded not in self._files
            and folded not in self._folders
            and self._files.isdisjoint(_parents(name))
        )


def _parents(name: str) -> list[str]:
    parts = _folded(name).split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _part(step: str) -> str:
    """A step as a part of a name: what is not harmless in it is percent-encoded."""
    text = "".join(_character(character) for character in step[:_MAX_PART])
    # No hidden file, no "..", and no end that Windows drops.
    if text.startswith("."):
        text = f"%2E{text[1:]}"
    if text.endswith((".", " ")):
        text = f"{text[:-1]}%{ord(text[-1]):02X}"
    while len(text.encode()) > _MAX_PART:
        text = text[:-1]
    return text or "%00"


def _character(character: str) -> str:
    if character not in _RESERVED and (character.isalnum() or character in " ._-()+,=@#&[]{}"):
        return character
    if character.isprintable() and character not in _RESERVED and character.isascii():
        return character
    raw = character.encode("utf-8", "surrogatepass")
    return "".join(f"%{byte:02X}" for byte in raw)

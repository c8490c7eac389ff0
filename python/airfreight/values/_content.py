"""Contents of tags, as they are read: each of these raises ValueError for another one."""

from __future__ import annotations

import base64
from typing import Any


def typed(content: Any, kind: type) -> Any:
    """A content of exactly this type."""
    if type(content) is not kind:
        raise ValueError(f"expected {kind.__name__}, found {type(content).__name__}")
    return content


def items(content: Any, *kinds: type) -> list[Any]:
    """An array of items of these types."""
    found = typed(content, list)
    if len(found) != len(kinds):
        raise ValueError(f"expected {len(kinds)} items, found {len(found)}")
    return [typed(item, kind) for item, kind in zip(found, kinds, strict=True)]


def pairs(content: Any) -> list[list[Any]]:
    """An array of arrays of two."""
    found: list[list[Any]] = typed(content, list)
    for pair in found:
        if len(typed(pair, list)) != 2:
            raise ValueError(f"expected a key and a value, found {len(pair)} items")
    return found


def to_base64(data: bytes | bytearray) -> str:
    """As RFC 4648 has it, with padding."""
    return base64.b64encode(data).decode()


def from_base64(content: Any) -> bytes:
    """The inverse."""
    return base64.b64decode(typed(content, str), validate=True)


def text_to_base64(text: str) -> str:
    """A text of any code points, surrogates encoded like the others."""
    return to_base64(text.encode("utf-8", "surrogatepass"))


def text_from_base64(content: Any) -> str:
    """The inverse."""
    return from_base64(content).decode("utf-8", "surrogatepass")


def is_plain_text(text: str) -> bool:
    """Whether every database keeps a text: no NUL, no lone surrogate."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

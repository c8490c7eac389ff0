"""What a codec says of an object that it can't keep exactly."""

from __future__ import annotations

import sys
from typing import Any

from airfreight.values import class_name

#: Characters of a place inside a value that a message shows: a log line stays readable.
_MAX_PLACE = 200
#: What is held around a step: the numbers are those of python/bindings/json/document.cc.
RAW, ITEMS, PAIRS, FIELDS, KEY = range(5)


class Unsupported(Exception):  # noqa: N818 (never leaves this package: it becomes a TypeError)
    """An object that can't be kept exactly; its place is put together on the way out."""

    def __init__(self, cls: type, reason: str = "", *, message: str = "") -> None:
        super().__init__(reason or message)
        self.cls = cls
        self.reason = reason
        #: A codec's own words, which follow the place as they are.
        self.message = message
        #: Another way, which is named last.
        self.hint = ""
        self.steps: list[str] = []

    def within(self, step: str) -> Unsupported:
        """Notes a step of the path; the innermost comes first."""
        self.steps.append(step)
        return self

    def at(self, kind: int, key: Any) -> None:
        """Notes a step of the path, as the walk in C++ has it."""
        if kind == FIELDS:
            self.within(f".{key}")
        elif kind == KEY:
            self.within(f" key {_shown(key)}")
        else:
            self.within(f"[{_shown(key)}]")

    def as_type_error(self) -> TypeError:
        """The error that the pusher sees."""
        place = "value" + "".join(reversed(self.steps))
        if len(place) > _MAX_PLACE:
            place = f"{place[: _MAX_PLACE // 2]} … {place[-_MAX_PLACE // 2 :]}"
        if self.message:
            return TypeError(f"{place}{self.message}")
        name = class_name(self.cls).removeprefix("builtins.")
        reason = self.reason or "convert it to one of the supported types before it is returned"
        return TypeError(
            f"{place}: an object of type {name} can't be pushed as an XCom; {reason}{self.hint}"
        )


def _shown(key: Any) -> str:
    cls = type(key)
    if cls is tuple:
        text = f"({', '.join(map(_shown, key))})"
    elif cls.__module__.partition(".")[0] in sys.stdlib_module_names:
        text = repr(key)
    else:
        # What others print of their objects may be anything that is in them.
        text = f"<{class_name(cls)}>"
    return text if len(text) <= 60 else f"{text[:59]}…"

"""Which objects a text speaks of: a row, whatever it holds, or an object with references in it.

formats/reference.md, "References in values".
"""

from __future__ import annotations

import json
import mmap
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airfreight import exchange
from airfreight.errors import (
    ConfigError,
    CorruptError,
    ExpiredError,
    InvalidError,
    NotFoundError,
    NotFoundOrDeniedError,
    ReplacedError,
)
from airfreight.exchange import outage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: What a key is made of (formats/key.md).
_KEY = rb"[A-Za-z0-9._~%/-]+"
#: Where a reference begins in an object: in a document, and in a pickle.
_BEGIN = re.compile(rb'"~ref"\s*:\s*(?=\{)|(?=\{"_airfreight":)')
#: The most that a reference takes, as a reader takes it, in characters of more than a byte.
_MOST = 4 * 65_536
#: Types of objects that have references in them in a form that can be searched for.
_HOLDING = frozenset(("bundle", "document", "mappable", "pickle"))
#: How often a text may have been made a JSON text again.
_LEVELS = 4
#: How files of objects that are looked into begin.
LOOKED_INTO = "value-"
#: Objects that are known to have been looked into.
_REMEMBERED = 100_000
#: Nobody can pull a value whose reference gives one of these.
_LOST = (CorruptError, ExpiredError, InvalidError, NotFoundError, ReplacedError)
#: These are among them, and say more of this process than of the value.
_UNKNOWN = (ConfigError, NotFoundOrDeniedError)


class Mentions:
    """Finds the keys of objects, by store.

    Threads: one at a time. Errors: what the store raises, where an object has to be looked into and
    can't be; what it holds is not known then.
    """

    def __init__(
        self, roots: Mapping[str, str], aliases: Sequence[tuple[str, str]], folder: Path
    ) -> None:
        """Takes the stores' names and roots, and the aliases of the settings.

        Args:
            roots: URIs without the connection, by the names of their stores.
            aliases: (old, new) places.
            folder: for objects that are looked into; each is gone afterwards.
        """
        self._folder = folder
        self._patterns = [
            (store, key, re.compile(_either(place) + rb"/(" + _KEY + rb")"))
            for store, root in roots.items()
            for place, key in _places(root.rstrip("/"), aliases)
        ]
        self._seen: dict[tuple[str, str], None] = {}

    def of(self, raw: bytes | str) -> Iterator[tuple[str, str]]:
        """Store and key of each object that a row's value speaks of, or that leads on from there.

        The same one may come several times.
        """
        yield from self.direct(raw)
        for reference in self.leading(raw):
            yield from self.inside(reference)

    def direct(self, raw: bytes | str) -> Iterator[tuple[str, str]]:
        """As `of`, without a look into any object."""
        data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
        yield from self._addresses(data)
        # What an outage left in its row: no address of it can be read there.
        for reference in _kept(_parsed(raw)):
            yield from self._addresses(json.dumps(reference).encode())

    def leading(self, raw: bytes | str) -> Iterator[dict[str, Any]]:
        """The references in a row's value whose objects may hold references, for `inside`."""
        for reference in _all(raw):
            if reference.get("_xcom_type") in _HOLDING:
                yield reference

    def references(self, raw: bytes | str) -> Iterator[dict[str, Any]]:
        """The references in a row's value, and those in the objects that they lead to.

        Raises as `of` does.
        """
        for reference in _all(raw):
            yield reference
            yield from self._below(reference)

    def _addresses(self, data: bytes) -> Iterator[tuple[str, str]]:
        data = data.replace(b"\\/", b"/")  # As some writers of JSON have it.
        for store, folder, pattern in self._patterns:
            for found in pattern.finditer(data):
                yield store, folder + found.group(1).decode()

    def inside(self, reference: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """What the objects that a reference leads to speak of, if they may hold references."""
        for inner in self._below(reference):
            yield from self._addresses(json.dumps(inner).encode())

    def _below(self, reference: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The references in the object that one leads to, in those that they lead to, and so on."""
        waiting = [reference]
        while waiting:
            one = waiting.pop()
            name = _name(one)
            if name in self._seen or one.get("_xcom_type") not in _HOLDING:
                continue
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            # (One in a document is found by its tag and by its first member.)
            found = list({_name(inner): inner for inner in self._look_into(one)}.values())
            yield from found
            waiting += found
            # Not before its last one was handed over.
            self._seen[name] = None

    def _look_into(self, reference: dict[str, Any]) -> list[dict[str, Any]]:
        handle, path = tempfile.mkstemp(dir=self._folder, prefix=LOOKED_INTO)
        os.close(handle)
        try:
            exchange.save(reference, path, unasked=True)
            if not Path(path).stat().st_size:
                return []
            with (
                Path(path).open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            ):
                return list(_within(data))
        except _UNKNOWN:
            raise
        except _LOST as error:
            # (With another secret under the id of its key here, all that is sealed is damaged.)
            if isinstance(error, CorruptError) and "sealed" in reference:
                raise
            return []
        finally:
            Path(path).unlink()


def _parsed(raw: bytes | str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _all(raw: bytes | str) -> Iterator[dict[str, Any]]:
    """The references in a row's value."""
    value = _parsed(raw)
    yield from _references(value, 0)
    yield from _kept(value)


def _name(reference: dict[str, Any]) -> tuple[str, str]:
    return str(reference.get("uri")), str(reference.get("write"))


def _kept(value: Any) -> Iterator[dict[str, Any]]:
    """The references in a value whose store was away (formats/outage.md): its bytes, as base64."""
    fields = exchange.ours(value)
    if fields is None or not outage.is_one(fields):
        return
    try:
        data = outage.data(fields)
    except CorruptError:  # Nobody can pull it.
        return
    yield from _within(bytes(data))


def _within(data: mmap.mmap | bytes) -> Iterator[dict[str, Any]]:
    """The references in an object."""
    decoder = json.JSONDecoder()
    for found in _BEGIN.finditer(data):
        text = data[found.end() : found.end() + _MOST].decode("utf-8", "replace")
        try:
            value, _ = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            continue
        if type(value) is dict and "_airfreight" in value and "uri" in value:
            yield value


def _references(value: Any, level: int) -> Iterator[dict[str, Any]]:
    """The references in a value of JSON (a user's own dict is never one: formats/document.md)."""
    if type(value) is str:
        if level < _LEVELS and "_airfreight" in value:
            try:
                inner = json.loads(value)
            except (ValueError, RecursionError):
                return
            yield from _references(inner, level + 1)
        return
    if type(value) is list:
        for one in value:
            yield from _references(one, level)
    elif type(value) is dict:
        if "_airfreight" in value and "uri" in value:  # (Not a value that lies in the row.)
            yield value
        for one in value.values():
            yield from _references(one, level)


def _places(root: str, aliases: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Beginnings of addresses, each with the beginning of the keys that they stand for."""
    yield root, ""
    for old, new in aliases:
        before, after = old.rstrip("/"), new.rstrip("/")
        if (root + "/").startswith(after + "/"):
            yield before + root[len(after) :], ""
        elif after.startswith(root + "/"):
            yield before, after[len(root) + 1 :] + "/"


def _either(place: str) -> bytes:
    """A pattern for a text, and for it inside of a JSON text, once or several times."""
    forms = [place]
    for _ in range(_LEVELS):
        forms.append(json.dumps(forms[-1])[1:-1])
    return b"(?:" + b"|".join(re.escape(one.encode()) for one in dict.fromkeys(forms)) + b")"

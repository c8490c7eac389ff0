"""Which objects a text speaks of: a row, whatever it holds, or an object with references in it.

formats/reference.md, "References in values".
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airfreight import exchange
from airfreight.errors import (
    Error,
    ExpiredError,
    InvalidError,
    NotFoundError,
    NotFoundOrDeniedError,
    ReplacedError,
    is_away,
)
from airfreight.exchange import outage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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
#: Nobody can pull a value whose reference gives one of these, or that is not there: it leads
#: nowhere. Whatever else goes wrong may be this process's (another key, another role, a store that
#: only workers know).
_LOST = (ExpiredError, ReplacedError)


class Mentions:
    """Finds the keys of objects, by store.

    Threads: one at a time. Errors: what the store raises, where an object has to be looked into and
    can't be; what it holds is not known then.
    """

    def __init__(
        self,
        roots: Mapping[str, str],
        aliases: Sequence[tuple[str, str]],
        folder: Path,
        unread: Callable[[Mapping[str, Any], Error], None] | None = None,
    ) -> None:
        """Takes the stores' names and roots, and the aliases of the settings.

        Args:
            roots: URIs without the connection, by the names of their stores.
            aliases: (old, new) places.
            folder: for objects that are looked into; each is gone afterwards.
            unread: is told of each reference (and of each row, without one) that may lead on and
                can't be read, and why; None: that is raised. That the store is away is raised in
                any case.
        """
        self._folder = folder
        self._unread = unread
        self._patterns = [
            (store, key, re.compile(_either(place) + rb"/(" + _KEY + rb")"))
            for store, root in roots.items()
            for place, key in _places(root.rstrip("/"), aliases)
        ]
        # With one of those below that can't be read, if there is any, and why. (By all members: a
        # copy with one that is changed would else stand for the genuine one.)
        self._seen: dict[bytes, tuple[dict[str, Any], Error] | None] = {}

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
        if outage.MARK.encode() not in data:
            return
        for reference in self._kept(_parsed(raw)):
            yield from self._addresses(_text(reference))

    def leading(self, raw: bytes | str) -> Iterator[dict[str, Any]]:
        """The references in a row's value whose objects may hold references, for `inside`."""
        for reference in self._all(raw):
            if _may_hold(reference) and self._is_text(reference):
                yield reference

    def references(self, raw: bytes | str) -> Iterator[dict[str, Any]]:
        """The references in a row's value, and those in the objects that they lead to.

        Raises as `of` does.
        """
        for reference in self._all(raw):
            yield reference
            yield from self._below(reference)

    def _all(self, raw: bytes | str) -> Iterator[dict[str, Any]]:
        """The references in a row's value."""
        try:
            value = json.loads(raw)
        except ValueError:
            return
        except RecursionError:
            self._miss({}, _too_deep())
            return
        for _, _, reference in standing(value):
            yield reference
        yield from self._kept(value)

    def _kept(self, value: Any) -> Iterator[dict[str, Any]]:
        """The references in a value whose store was away (formats/outage.md): its bytes."""
        fields = exchange.ours(value)
        if fields is None or not outage.is_one(fields):
            return
        if outage.is_sealed(fields) and not _may_hold(fields):
            return  # (Who looks need not have the keys.)
        try:
            with _reading():
                data = outage.data(fields)
        except Error as error:
            self._miss(fields, error)
            return
        yield from _within(bytes(data))

    def _is_text(self, reference: Mapping[str, Any]) -> bool:
        if _text(reference):
            return True
        self._miss({}, _too_deep())
        return False

    def _miss(self, reference: Mapping[str, Any], error: Error) -> None:
        if self._unread is None or is_away(error):
            raise error
        self._unread(reference, error)

    def _addresses(self, data: bytes) -> Iterator[tuple[str, str]]:
        data = data.replace(b"\\/", b"/")  # As some writers of JSON have it.
        for store, folder, pattern in self._patterns:
            for found in pattern.finditer(data):
                # (In a sentence a full stop may follow: no key ends so.)
                yield store, folder + found.group(1).rstrip(b"._~%/-").decode()

    def inside(self, reference: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """What the objects that a reference leads to speak of, if they may hold references."""
        for inner in self._below(reference):
            yield from self._addresses(_text(inner))

    def _below(self, reference: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The references in the object that one leads to, in those that they lead to, and so on."""
        waiting = [reference]
        leads: dict[bytes, list[bytes]] = {}  # From where to each.
        while waiting:
            one = waiting.pop()
            if not _may_hold(one):
                continue
            name = blake2b(_text(one), digest_size=16).digest()
            if name in self._seen:
                # (Of each row that leads to what can't be read it is told.)
                if (known := self._seen[name]) is not None:
                    self._miss(*known)
                    self._mark(name, known, leads)
                continue
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            try:
                inside = self._look_into(one)
            except Error as error:
                self._miss(one, error)
                self._mark(name, (one, error.with_traceback(None)), leads)
                continue
            # (One in a document is found by its tag and by its first member.)
            found = {_text(inner): inner for inner in inside}
            deep = found.pop(b"", None)
            yield from found.values()
            waiting += found.values()
            for text, inner in found.items():
                if _may_hold(inner):
                    leads.setdefault(blake2b(text, digest_size=16).digest(), []).append(name)
            # Not before its last one was handed over.
            self._seen[name] = None
            if deep is not None:
                unread: tuple[dict[str, Any], Error] = {}, _too_deep()
                self._miss(*unread)
                self._mark(name, unread, leads)

    def _mark(
        self,
        name: bytes,
        unread: tuple[dict[str, Any], Error],
        leads: Mapping[bytes, Sequence[bytes]],
    ) -> None:
        """Notes what can't be read with it, and with all that were found to lead there."""
        self._seen[name] = unread
        waiting = [*leads.get(name, ())]
        while waiting:
            one = waiting.pop()
            # (One of them is enough: by then it was told of each. And one may lead to itself.)
            if self._seen.get(one) is None:
                self._seen[one] = unread
                waiting += leads.get(one, ())

    def _is_listed(self, reference: Mapping[str, Any]) -> bool:
        """Whether it tells something that an object is not there.

        Not where its store is none of those that were listed: a directory that is not mounted, of
        whose objects the sweep knows nothing else, looks so for each of them.
        """
        uri = reference.get("uri")
        if self._unread is None or not isinstance(uri, str):
            return True
        return any(True for _ in self._addresses(uri.encode("utf-8", "surrogatepass")))

    def _look_into(self, reference: dict[str, Any]) -> list[dict[str, Any]]:
        handle, path = tempfile.mkstemp(dir=self._folder, prefix=LOOKED_INTO)
        os.close(handle)
        try:
            with _reading():
                exchange.save(reference, path, unasked=True)
            if not Path(path).stat().st_size:
                return []
            with (
                Path(path).open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            ):
                return list(_within(data))
        except NotFoundError as error:
            if isinstance(error, NotFoundOrDeniedError) or not self._is_listed(reference):
                raise
            return []
        except _LOST:
            return []
        finally:
            Path(path).unlink()


def _parsed(raw: bytes | str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def own(raw: bytes | str | None) -> dict[str, Any] | None:
    """The reference that a row is, and nothing else."""
    if raw is None:
        return None
    try:
        fields = exchange.ours(raw if isinstance(raw, bytes) else json.loads(raw))
    except (ValueError, RecursionError):  # (Too deep to be ours.)
        return None
    if fields is None or fields["_xcom_backend"] == "inline":
        return None
    return fields if isinstance(fields.get("uri"), str) else None


def standing(value: Any, *, strict: bool = False) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """The references in a value of JSON: what each stands in, where there, and its members.

    (A user's own dict is never one: formats/document.md.)

    Args:
        value: of JSON.
        strict: only those that a document of ours has: none in texts that are JSON again, and none
            in the members of another one.
    """
    waiting: list[tuple[Any, Any, int]] = [([value], 0, 0)]
    while waiting:
        holder, at, level = waiting.pop()
        here = holder[at]
        if type(here) is str:
            if strict or level >= _LEVELS or "_airfreight" not in here:
                continue
            with contextlib.suppress(ValueError, RecursionError):
                waiting.append(([json.loads(here)], 0, level + 1))
        elif type(here) is list:
            waiting.extend((here, place, level) for place in range(len(here)))
        elif type(here) is dict:
            if "_airfreight" in here and "uri" in here:  # (Not a value that lies in the row.)
                yield holder, at, here
                if strict:
                    continue
            waiting.extend((here, name, level) for name in here)


def _may_hold(reference: Mapping[str, Any]) -> bool:
    kind = reference.get("_xcom_type")
    return isinstance(kind, str) and kind in _HOLDING


def _text(reference: Mapping[str, Any]) -> bytes:
    """A reference as one text, whatever the order of its members; empty where it is too deep."""
    try:
        return json.dumps(reference, sort_keys=True).encode()
    except RecursionError:
        return b""


def _too_deep() -> InvalidError:
    # (Another release of Python may read it.)
    return InvalidError("the row leads to JSON that is nested too deeply to be read here")


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Has whatever is wrong with what somebody wrote into a row be an error of ours.

    No more than what decoders raise of bytes: all else is a fault of ours, or of this process, of
    which nothing follows for the row. It ends the sweep.
    """
    try:
        yield
    except Error:
        raise
    except (ValueError, RecursionError) as error:
        # (By its kind only: some say of what bytes they are.)
        kind = type(error).__name__
        raise InvalidError(f"it is nothing that Airfreight writes ({kind})") from error


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

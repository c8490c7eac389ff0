"""Codecs of other people's types: the entry point group `airfreight.codecs`.

How one is written and registered: `docs/adding-a-type.md`. The name of an entry point is the full
name of a class. Installed packages are looked through at the first value of a class that has no
codec here, or that was written by such a one; a codec is imported when it is needed.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from airfreight import values
from airfreight._imports import loading
from airfreight.errors import ConfigError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airfreight._core import Sink, Writer
    from airfreight.values import Codec, Form, NewSink, Options, Payload

GROUP = "airfreight.codecs"

#: formats/key.md.
_EXTENSION = re.compile(r"[a-z0-9]{1,16}")

_log = logging.getLogger("airfreight")


def has(class_name: str) -> bool:
    """Whether an installed package has a codec for a class of this full name."""
    return class_name in _entries()


def codec(class_name: str) -> Codec:
    """The codec that writes values of a class of this full name, of which a package has one.

    Raises:
        ConfigError: two packages have one.
        UnsupportedError: the codec can't be imported, or is no codec.
    """
    found = _entries()[class_name]
    if len(found) > 1:
        names = " and ".join(sorted(repr(_package(entry)) for entry in found))
        raise ConfigError(
            f"the packages {names} both register a codec for {class_name} (entry point group "
            f"{GROUP}): uninstall one of them."
        )
    return _loaded(found[0])


def reading_codec(class_name: str, package: str) -> Codec:
    """The codec that reads what the codec of a package has written.

    Args:
        class_name: as in the entry point.
        package: that has written the object. The codec of another one knows nothing of its bytes.

    Raises:
        UnsupportedError: the package is not here, or has no codec for the class any more, or the
            codec can't be imported, or is no codec.
    """
    wanted = _normal(package)
    for entry in _entries().get(class_name, []):
        if _normal(_package(entry)) == wanted:
            return _loaded(entry)
    raise UnsupportedError(
        f"the value is a {class_name}, for which the package {package!r} has the codec, and "
        "that is not installed in this environment: install it wherever the value is pulled."
    )


def version_of(package: str) -> str:
    """The version of a package that is installed here."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "of this environment"


def _normal(package: str) -> str:
    """A package's name as all its spellings have it (packaging.python.org, name normalization)."""
    return re.sub(r"[-_.]+", "-", package).lower()


@lru_cache(maxsize=1)
def _entries() -> dict[str, list[metadata.EntryPoint]]:
    found: dict[str, list[metadata.EntryPoint]] = {}
    with loading:
        for entry in metadata.entry_points(group=GROUP):
            if values.is_own(entry.name):
                _log.error(
                    "The package %r registers a codec for %s, which airfreight itself keeps: "
                    "airfreight's is used. Uninstall the package, or take its entry point out",
                    _package(entry),
                    entry.name,
                )
                continue
            found.setdefault(entry.name, []).append(entry)
    return found


@lru_cache(maxsize=256)
def _loaded(entry: metadata.EntryPoint) -> Codec:
    package = _package(entry)
    try:
        with loading:
            made = entry.load()
    except Exception as error:
        raise UnsupportedError(
            f"the codec for {entry.name}, {entry.value} of the package {package!r}, can't be "
            f"imported ({type(error).__name__}: {error})."
        ) from error
    wrong = [name for name in ("encode", "decode") if not callable(getattr(made, name, None))]
    if not isinstance(getattr(made, "CONTENT_TYPE", None), str):
        wrong.append("CONTENT_TYPE")
    extension = getattr(made, "EXTENSION", None)
    if not isinstance(extension, str) or not _EXTENSION.fullmatch(extension):
        wrong.append("EXTENSION (1 to 16 small letters and digits)")
    others = getattr(made, "EXTENSIONS", ())
    if type(others) is not tuple or not all(
        isinstance(other, str) and _EXTENSION.fullmatch(other) for other in others
    ):
        wrong.append("EXTENSIONS (a tuple of such)")
    if "pkl" in (extension, *(others if type(others) is tuple else ())):
        # What a forged row could have read as one of ours.
        wrong.append("EXTENSION (pkl is that of airfreight's own pickles)")
    if wrong:
        raise UnsupportedError(
            f"the codec for {entry.name}, {entry.value} of the package {package!r}, has no right "
            f"{', '.join(wrong)}."
        )
    return _Checked(made, entry.name, f"{package}:{entry.name}")


def _is_buffer(it: Any) -> bool:
    try:
        memoryview(it).cast("B")
    except (BufferError, TypeError, ValueError):
        return False
    return True


def _is_count(it: Any) -> bool:
    return type(it) is int and 0 <= it < 1 << 63


#: What is told of a value: member of a payload, what it has to be, and whether it is.
_MEMBERS: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("summary", "a text", lambda it: type(it) is str),
    ("rows", "a count, or None", lambda it: it is None or _is_count(it)),
    (
        "columns",
        "pairs of a label and a dtype",
        lambda it: (
            isinstance(it, (list, tuple))
            and all(isinstance(one, (list, tuple)) and len(one) == 2 for one in it)
        ),
    ),
    (
        "nulls",
        "counts, with -1 or None for those that are not known",
        lambda it: (
            isinstance(it, (list, tuple))
            and all(one is None or (type(one) is int and -1 <= one < 1 << 63) for one in it)
        ),
    ),
)


class _Checked:
    """A codec that is held to its word."""

    def __init__(self, codec: Any, class_name: str, kind: str) -> None:
        self._codec = codec
        self._class_name = class_name
        self._package = kind.partition(":")[0]
        self.TYPE = kind
        self.EXTENSION = codec.EXTENSION
        self.EXTENSIONS = (codec.EXTENSION, *getattr(codec, "EXTENSIONS", ()))
        self.CONTENT_TYPE = codec.CONTENT_TYPE
        self.READS_ONCE = bool(getattr(codec, "READS_ONCE", False))

    def encode(self, value: Any, options: Options, new_sink: NewSink, /) -> Payload:
        opened: list[Any] = []

        def new_sink_of(form: Form | None = None, /) -> Sink | Writer:
            self._check_form(form)
            opened.append(new_sink(form))
            return opened[-1]  # type: ignore[no-any-return]

        try:
            payload = self._codec.encode(value, options, new_sink_of)
        except TypeError as error:
            if str(error).startswith("value"):
                raise
            # Not a refusal, which tells the place, but a fault.
            raise TypeError(
                f"value: the codec for {self._class_name}, of the package {self._package!r}, "
                f"fails ({error})"
            ) from error
        if type(payload) is not values.Payload:
            name = type(payload).__name__
            raise self._wrong(f"returned a {name}, not an airfreight.values.Payload")
        self._check_form(payload.form)
        self._check_payload(payload, opened[-1] if opened else None)
        # None is what a count is that one does not have.
        nulls: Sequence[Any] = payload.nulls
        payload = payload._replace(nulls=[-1 if count is None else count for count in nulls])
        if options.describe != "size":
            return payload
        # Its own words may tell more.
        rows = "" if payload.rows is None else f" of {payload.rows:,} rows"
        return payload._replace(
            summary=f"{self._class_name.rpartition('.')[2]}{rows} · {self.EXTENSION}"
        )

    def _check_payload(self, payload: Any, opened: Any) -> None:
        """Refuses what could not be sent, or told: now, where it says whose fault that is."""
        body = payload.body
        if opened is not None:
            if body is not opened:
                raise self._wrong("opened a sink, and returned another body")
        elif not isinstance(body, type(values.new_sink())) and not (
            isinstance(body, (list, tuple)) and all(map(_is_buffer, body))
        ):
            raise self._wrong("returned a body that is no list of buffers of bytes")
        for name, right, is_right in _MEMBERS:
            if not is_right(getattr(payload, name)):
                raise self._wrong(f"returned a Payload whose {name} should be {right}")

    def _wrong(self, what: str) -> TypeError:
        return TypeError(
            f"value: the codec for {self._class_name}, of the package {self._package!r}, {what}"
        )

    def _check_form(self, form: Form | None) -> None:
        """Refuses what no reader would take for an object of this codec."""
        if form is not None and form.extension not in self.EXTENSIONS:
            raise TypeError(
                f"value: the codec for {self._class_name} writes a .{form.extension}, which is "
                "none of its EXTENSIONS"
            )

    def decode(self, data: memoryview) -> Any:
        value = self._codec.decode(data)
        if values.class_name(type(value)) != self._class_name:
            raise ValueError(
                f"the codec for {self._class_name} made a {values.class_name(type(value))} of it"
            )
        return value


def _package(entry: metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "unknown"


def forget() -> None:
    """Has the installed packages looked through again (for tests)."""
    _entries.cache_clear()
    _loaded.cache_clear()
    values.forget()

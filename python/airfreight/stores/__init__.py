"""Stores that are written in Python: the base class, and how they are found.

A package registers its class under the entry point group `airfreight.stores`; the name is the
scheme of its URIs. `fsspec+<protocol>://` is one that ships with Airfreight.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from airfreight._imports import loading
from airfreight.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.metadata import EntryPoint

    from typing_extensions import Buffer

GROUP = "airfreight.stores"
#: What the core serves itself (`src/store/uri.cc`); no package can take these.
NATIVE = (
    "s3", "file", "memory", "gs", "az", "abfs", "abfss", "wasb", "wasbs", "redis", "rediss",
)  # fmt: skip
#: Before the protocol in `fsspec+sftp://`.
FSSPEC = "fsspec+"


class ConditionFailed(Exception):  # noqa: N818 (as the core calls it)
    """What lies at a key is not what a condition asks for."""


class Info(NamedTuple):
    """What a store tells of an object.

    Attributes:
        size: bytes of the whole object.
        version: opaque and not empty; equal versions mean equal bytes.
        metadata: what it was put with.
        modified: seconds since 1970; 0 when the store does not say.
    """

    size: int
    version: str
    metadata: Mapping[str, str] = {}
    modified: int = 0


class Version(NamedTuple):
    """One version of an object, or the mark of its removal.

    Attributes:
        key: the object's.
        id: what `remove_version` is given; not empty.
        info: of the version; of a mark its time only.
        latest: it is what `get` reads, or the mark by which it finds nothing.
        removal: it is such a mark.
    """

    key: str
    id: str
    info: Info
    latest: bool
    removal: bool = False


class Upload(NamedTuple):
    """What was begun and neither completed nor given up.

    Attributes:
        key: the object's; where the store does not know it, a folder's, or "".
        id: what `abort_upload` is given; not empty.
        started: seconds since 1970; 0 when the store does not say.
    """

    key: str
    id: str
    started: int = 0


class ObjectStore(abc.ABC):
    """A place for objects.

    Keys are relative to the store's own place: parts between slashes, none of them empty, `.` or
    `..`, at most 1,024 bytes with `prefix`. They have been checked, and so has the metadata: names
    of `a-z`, `0-9` and `-`, values of printable ASCII, at most 2,000 bytes together.

    Threads: every method may be called from several at once. Fork: each process opens its own.
    Blocking: a call returns when the store has answered; one that takes for ever is not cut off.
    Errors: FileNotFoundError, PermissionError, ConditionFailed; TimeoutError and ConnectionError
    for what may pass, which is tried again for `[airfreight] timeout` seconds; any of
    `airfreight.errors`. Everything else is taken for a fault of the store.

    Attributes:
        root: the URI without connection and credentials, and no slash at its end.
        prefix: what of `root` counts towards the length of keys.
        conditional_put, conditional_remove: conditions are checked atomically with the change.
            Without the first, a push looks first at what lies there, and a late attempt of a task
            is kept out unless a newer one writes between the look and the push.
        parallel: several requests at once move more than one does.
        max_put_bytes: the largest body of one `put`; None: any.
        versions: the place may keep what was replaced or removed; `list_versions`, `head_version`
            and `remove_version` are there. Without it an object is its only version.
        uploads: `list_uploads` and `abort_upload` are there.
    """

    conditional_put: ClassVar[bool] = False
    conditional_remove: ClassVar[bool] = False
    parallel: ClassVar[bool] = False
    max_put_bytes: ClassVar[int | None] = None
    versions: ClassVar[bool] = False
    uploads: ClassVar[bool] = False

    def __init__(self, uri: str, settings: Mapping[str, str]) -> None:
        """Opens the store; makes no request.

        Args:
            uri: without the connection.
            settings: texts by name: `[stores.<name>]` of the policy over what the connection says
                ("host", "port", "login", "password", "schema" and "extra", its JSON).

        Raises:
            ConfigError, ValueError: the URI or a setting is wrong.
        """
        self.settings = dict(settings)
        self.root = uri.rstrip("/")

    @property
    def prefix(self) -> str:
        """The path of the URI behind its first part."""
        return self.root.partition("://")[2].partition("/")[2]

    @abc.abstractmethod
    def put(
        self,
        key: str,
        body: Sequence[memoryview],
        *,
        metadata: Mapping[str, str],
        content_type: str,
        condition: str | None,
    ) -> str:
        """Writes the whole object and returns its version.

        A reader sees the old object or the new one, never a part.

        Args:
            key: where.
            body: the bytes, in segments that are valid until this returns.
            metadata: kept with the object, and replaced with it.
            content_type: a media type, for stores that tell.
            condition: None; or "": only where nothing lies; or a version: only in its place. Where
                it does not hold: ConditionFailed. Always None without `conditional_put`.
        """

    @abc.abstractmethod
    def get(self, key: str, offset: int, length: int) -> tuple[Info, Buffer]:
        """Returns an object's info and `length` bytes from `offset` on, or as many as there are.

        None at or beyond the end. Bytes and info are of one write.
        """

    @abc.abstractmethod
    def head(self, key: str) -> Info:
        """Returns the info of an object."""

    @abc.abstractmethod
    def remove(self, key: str, *, condition: str | None) -> None:
        """Removes an object, if there is one; `condition` as for `put`, without ""."""

    def list_versions(self, prefix: str, after: str, limit: int) -> tuple[list[Version], str]:
        """Returns a page of all versions by key, as `list` does; for administrators' commands."""
        raise NotImplementedError

    def head_version(self, key: str, version: str) -> Info:
        """Returns the info of one version; FileNotFoundError for the mark of a removal."""
        raise NotImplementedError

    def remove_version(self, key: str, version: str) -> None:
        """Removes one version for good, if there is one, and leaves the others."""
        raise NotImplementedError

    def list_uploads(self, prefix: str, after: str, limit: int) -> tuple[list[Upload], str]:
        """Returns a page of what writers have begun and not ended."""
        raise NotImplementedError

    def abort_upload(self, key: str, upload: str) -> None:
        """Removes what was sent of an upload, if there is one."""
        raise NotImplementedError

    @abc.abstractmethod
    def list(self, prefix: str, after: str, limit: int) -> tuple[list[tuple[str, Info]], str]:
        """Returns a page of objects by key, in the order of the keys' characters.

        Args:
            prefix: with which the keys begin; it need not end with a part.
            after: what the page before gave, or "".
            limit: the most that are returned, 1 to 1,000.

        Returns:
            The objects, and what to ask for the page behind with; "" on the last.
        """

    @classmethod
    def settings_of(cls, connection: Any, extra: Mapping[str, Any]) -> dict[str, str]:
        """What an Airflow connection says, as settings.

        Args:
            connection: with the attributes of Airflow's class Connection.
            extra: its extras.
        """
        del extra
        named = {
            "host": connection.host,
            "port": connection.port,
            "login": connection.login,
            "password": connection.password,
            "schema": connection.schema,
            "extra": getattr(connection, "extra", None),
        }
        return {name: str(value) for name, value in named.items() if value not in (None, "")}


def is_python(scheme: str) -> bool:
    """Whether a scheme is left to Python: registered by a package, or fsspec's."""
    return scheme not in NATIVE and (scheme.startswith(FSSPEC) or bool(_registered(scheme)))


def open_store(uri: str, settings: Mapping[str, str]) -> ObjectStore:
    """Opens a store.

    Raises:
        ConfigError: its class is not there, or refuses the URI or a setting.
    """
    kind = store_class(uri.partition("://")[0])
    try:
        return kind(uri, settings)
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"[airfreight] The store {uri!r} can't be opened: {error}") from error


def store_class(scheme: str) -> type[ObjectStore]:
    """Returns the class that serves a scheme.

    Raises:
        ConfigError: two packages have registered the scheme, or the class can't be loaded.
    """
    if scheme.startswith(FSSPEC):
        with loading:
            from airfreight.stores._fsspec import FsspecStore

        return FsspecStore
    found = _registered(scheme)
    packages = ", ".join(sorted(entry.dist.name if entry.dist else "?" for entry in found))
    if len(found) != 1:
        raise ConfigError(
            f"[airfreight] Stores of {scheme}:// are registered by {packages or 'no package'}, and "
            "one is needed: install the package that has them, and no other one"
        )
    try:
        with loading:
            kind = found[0].load()
    except Exception as error:
        raise ConfigError(
            f"[airfreight] Stores of {scheme}:// can't be loaded from the package {packages}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, ObjectStore)):
        raise ConfigError(
            f"[airfreight] What the package {packages} registers for {scheme}:// is no subclass of "
            "airfreight.stores.ObjectStore"
        )
    return kind


def _registered(scheme: str) -> list[EntryPoint]:
    from importlib import metadata  # Takes longer than all else here.

    # Packages may be listed twice where their folders are (an editable install on top of another).
    found = metadata.entry_points(group=GROUP, name=scheme)
    return list({entry.value: entry for entry in found}.values())

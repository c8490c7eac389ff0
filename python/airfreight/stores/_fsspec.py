"""`fsspec+<protocol>://`: whatever fsspec reaches, as a store.

File systems have neither metadata nor conditions. The metadata of an object `k` lies beside it, in
`k.airfreight-meta`:

    {"version": "…", "size": 3, "crc32": 907060870, "metadata": {…}, "before": {the same, or null}}

A write puts this file in its place first, with what it replaces as `before`, and then the object.
In between, and for ever when the writer is killed there, the object is still the one before, and
its CRC-32 tells so. (A removal takes the object first.) Where the file system can rename, both are
written under another name, so that nobody sees a part of them.
"""

from __future__ import annotations

import json
import secrets
import zlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airfreight._imports import loading
from airfreight.errors import ConfigError
from airfreight.stores import FSSPEC, Info, ObjectStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BESIDE = ".airfreight-meta"
_PARTIAL = ".airfreight-tmp"
#: Begins the version of what was written by somebody else, or by two at once.
_UNKNOWN = "unknown-"
#: How often an object that is replaced meanwhile is read.
_READS = 5
#: How the constructors of these file systems call user and password (their documentation).
_LOGIN = {
    "sftp": ("username", "password"),
    "ssh": ("username", "password"),
    "ftp": ("username", "password"),
    "smb": ("username", "password"),
    "hdfs": ("user", None),
    "arrow_hdfs": ("user", None),
    "webhdfs": ("user", "password"),
}
#: Settings that a connection gives or a policy sets.
_SETTINGS = ("options", "host", "port", "login", "password", "schema", "extra")


class FsspecStore(ObjectStore):
    """A directory of a file system of fsspec's.

    Settings: `options`, a JSON object of arguments for the file system's constructor. Of a
    connection: host, port, login and password where the protocol is known to take them, and the
    object `fsspec_options` in its extras.
    """

    def __init__(self, uri: str, settings: Mapping[str, str]) -> None:
        super().__init__(uri, settings)
        scheme, _, place = self.root.partition("://")
        self._protocol = scheme.removeprefix(FSSPEC)
        unknown = sorted(set(settings) - set(_SETTINGS))
        if unknown:
            raise ConfigError(
                f"[airfreight] Setting {unknown[0]!r} is not known to a store of {scheme}://; it "
                'knows options, a JSON object as in fsspec_options = {"timeout": 30}'
            )
        try:
            with loading:
                import fsspec
        except ImportError as error:
            raise ConfigError(
                f"[airfreight] A store of {scheme}:// needs the package fsspec in this environment"
            ) from error
        try:
            # No listings and no file systems of a parent process or another store.
            self._fs, self._path = fsspec.core.url_to_fs(
                f"{self._protocol}://{place}",
                **{"skip_instance_cache": True, "use_listings_cache": False, **self._options()},
            )
        except (ImportError, ValueError) as error:
            raise ConfigError(
                f"[airfreight] The store {self.root} can't be opened: {error}"
            ) from error
        self._path = self._path.rstrip("/")
        # Those that can't rename copy and remove instead: no better than writing in place, which
        # the ones that are object stores do at once.
        self._renames = type(self._fs).mv is not fsspec.AbstractFileSystem.mv

    @property
    def prefix(self) -> str:
        """Nothing: a path of a file system has room for the keys beside the directory."""
        return ""

    @classmethod
    def settings_of(cls, connection: Any, extra: Mapping[str, Any]) -> dict[str, str]:
        """Host, port, login and password, and the extras' `fsspec_options`."""
        found = super().settings_of(connection, extra)
        options = extra.get("fsspec_options")
        found = {
            name: found[name] for name in ("host", "port", "login", "password") if name in found
        }
        return found | ({"extra": json.dumps(options)} if options else {})

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        login = self.settings.get("login")
        names = _LOGIN.get(self._protocol)
        if names is None and (login or "password" in self.settings):
            raise ConfigError(
                f"[airfreight] How {self._protocol} takes a login is not known to Airfreight: put "
                "it into the extras of the Airflow connection, e.g. "
                '{"fsspec_options": {"user": "…", "secret": "…"}}'
            )
        if names is not None:
            given = zip(names, (login, self.settings.get("password")), strict=True)
            options |= {name: value for name, value in given if name and value}
            if "port" in self.settings:
                options["port"] = int(self.settings["port"])
            # The URI's own host comes first: fsspec takes it from there.
            if "host" in self.settings and self.root.partition("://")[2].startswith("/"):
                options["host"] = self.settings["host"]
        for name in ("extra", "options"):
            if name in self.settings:
                options |= _object(self.settings[name])
        return options

    def put(
        self,
        key: str,
        body: Sequence[memoryview],
        *,
        metadata: Mapping[str, str],
        content_type: str,
        condition: str | None,
    ) -> str:
        """See the base class."""
        del content_type, condition
        path = self._of(key)
        crc = 0
        for segment in body:
            crc = zlib.crc32(segment, crc)
        told = {
            "version": secrets.token_hex(16),
            "size": sum(segment.nbytes for segment in body),
            "crc32": crc,
            "metadata": dict(metadata),
        }
        before = self._beside(path)
        text = json.dumps({**told, "before": before and {**before, "before": None}})
        self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._write(path + _BESIDE, [memoryview(text.encode())])
        self._write(path, body)
        return str(told["version"])

    def get(self, key: str, offset: int, length: int) -> tuple[Info, bytes]:
        """See the base class."""
        path = self._of(key)
        info, data = Info(0, ""), b""
        for _ in range(_READS):
            size, modified = self._file(path)
            end = min(offset + length, size)
            data = self._fs.cat_file(path, start=offset, end=end) if offset < end else b""
            # After the bytes: it is of them, or of a write that names them as what was before. If
            # two have come since, all is read again.
            told = self._beside(path)
            whole = offset == 0 and end == size
            info = self._info(told, size, modified, zlib.crc32(data) if whole else None)
            if told is None or not info.version.startswith(_UNKNOWN):
                break
        return info, data

    def head(self, key: str) -> Info:
        """See the base class."""
        path = self._of(key)
        size, modified = self._file(path)
        return self._info(self._beside(path), size, modified, None)

    def remove(self, key: str, *, condition: str | None) -> None:
        """See the base class."""
        del condition
        path = self._of(key)
        for name in (path, path + _BESIDE):
            try:
                if self._fs.info(name)["type"] == "file":
                    self._fs.rm_file(name)
            except (FileNotFoundError, NotADirectoryError):
                pass

    def list(self, prefix: str, after: str, limit: int) -> tuple[list[tuple[str, Info]], str]:
        """See the base class."""
        folder = self._path + ("/" + prefix.rpartition("/")[0]).rstrip("/")
        try:
            found = self._fs.find(folder, detail=True)
        except FileNotFoundError:
            return [], ""
        start = len(self._path) + 1
        details = {
            key: detail
            for path, detail in found.items()
            if (key := path[start:]).startswith(prefix)
            and key > after
            and not key.endswith((_BESIDE, _PARTIAL))
        }
        keys = sorted(details, key=str.encode)
        page = []
        for key in keys[:limit]:
            told = self._beside(self._of(key))
            info = self._info(told, details[key]["size"], _modified(details[key]), None)
            page.append((key, info))
        return page, keys[limit - 1] if len(keys) > limit else ""

    def _of(self, key: str) -> str:
        if key.endswith((_BESIDE, _PARTIAL)):
            raise ValueError(f"a key must not end in {_BESIDE} or {_PARTIAL}: {key!r}")
        return f"{self._path}/{key}"

    def _file(self, path: str) -> tuple[int, int]:
        """Size and time of a file; FileNotFoundError for a directory too."""
        try:
            info = self._fs.info(path)
        except NotADirectoryError as error:
            raise FileNotFoundError(f"a file lies on the way to {path}") from error
        if info["type"] != "file":
            raise FileNotFoundError(f"{path} is a directory")
        return int(info["size"]), _modified(info)

    def _beside(self, path: str) -> dict[str, Any] | None:
        """What lies beside an object; None where nothing does, or nothing of ours."""
        try:
            told = json.loads(self._fs.cat_file(path + _BESIDE))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return told if isinstance(told, dict) and "version" in told else None

    def _info(self, told: dict[str, Any] | None, size: int, modified: int, crc: int | None) -> Info:
        """The object's own entry of what lies beside it, as far as it can be told."""
        while told is not None:
            if told["size"] == size and crc in (None, told["crc32"]):
                return Info(size, told["version"], told["metadata"], modified)
            told = told["before"]
        return Info(size, f"{_UNKNOWN}{size}-{modified}-{crc}", {}, modified)

    def _write(self, path: str, body: Sequence[memoryview]) -> None:
        target = f"{path.rpartition('/')[0]}/.{secrets.token_hex(16)}{_PARTIAL}"
        target = target if self._renames else path
        try:
            with self._fs.open(target, "wb") as file:
                for segment in body:
                    file.write(segment)
            if self._renames:
                self._fs.mv(target, path)
        except BaseException:
            if self._renames and self._fs.exists(target):
                self._fs.rm_file(target)
            raise


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(
            "[airfreight] The options of a file system of fsspec must be a JSON object (not shown: "
            'they may hold a secret). Example: AIRFLOW__AIRFREIGHT__FSSPEC_OPTIONS={"timeout": 30}'
        )
    return found


def _modified(info: Mapping[str, Any]) -> int:
    """Seconds since 1970 of what file systems call by several names and give in several forms."""
    for name in ("mtime", "created", "LastModified", "last_modified", "modified", "time"):
        value = info.get(name)
        if isinstance(value, datetime):
            return int(value.timestamp())
        if isinstance(value, (int, float)):
            return int(value)
    return 0

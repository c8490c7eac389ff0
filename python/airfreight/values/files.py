"""`airfreight.File`: a file or a folder as a tar archive. Specification: `formats/file.md`.

Nothing is compressed, and nothing is read into memory as a whole: the archive is on its way while
the files are read. A pull unpacks only what a push can have packed.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import tarfile
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from airfreight import values
from airfreight.errors import InvalidError, UnavailableError
from airfreight.files import File, Folder
from airfreight.values import DEFAULTS, Payload, _container, _sinks, human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airfreight.values import NewSink, Options

TYPE = "airfreight.File"
EXTENSION = "tar"
CONTENT_TYPE = "application/x-tar"

#: The permissions that travel: nine bits. Set-user-id and the like have no business elsewhere.
_MODE = 0o777
_CHUNK = 1 << 20
#: The pax header of the time of the last change, and what a file system may have for one.
_TIME = "mtime"
_SECONDS = re.compile(r"(-?)([0-9]{1,20})(?:\.([0-9]{1,20}))?")
#: What `open` says where there is no file any more, but something else or nothing.
_REPLACED = frozenset((errno.EISDIR, errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.ENXIO))


class _Entry(NamedTuple):
    name: str
    path: str
    status: os.stat_result
    #: Of a link.
    target: str = ""


def encode(
    value: File, _options: Options = DEFAULTS, new_sink: NewSink = values.new_sink, /
) -> Payload:
    """Encodes into a native sink, which may send it while this goes on.

    Raises:
        TypeError: there is no such file, or something below it can't travel; names it.
        InvalidError: a file has changed meanwhile.
    """
    try:
        path = os.path.realpath(value.path)
        # That of a link is its own.
        name = os.path.basename(path) if value.path.name in ("", "..") else value.path.name
        if not name:
            raise TypeError("value: the root of the file system can't be pushed as a File")
        entries = list(_entries(name, path, os.stat(path)))
    except (OSError, ValueError) as error:  # (A ValueError of what is no path.)
        raise TypeError(f"value: {value!r} can't be read ({error})") from error
    sink = new_sink()
    file: Any = _sinks.File(sink)
    try:
        # The names' bytes are kept whatever their encoding.
        with tarfile.TarFile(
            fileobj=file,
            mode="w",
            format=tarfile.PAX_FORMAT,
            encoding="utf-8",
            errors="surrogateescape",
            copybufsize=_CHUNK,
        ) as archive:
            for entry in entries:
                _add(archive, entry)
    except BaseException as error:
        raised = file.error or error
        sink.abandon(hurry=not isinstance(raised, Exception))
        raise
    count = sum(stat.S_ISREG(entry.status.st_mode) for entry in entries)
    folder = stat.S_ISDIR(entries[0].status.st_mode)
    what = f"folder of {count:,} file{'s' if count != 1 else ''}" if folder else "file"
    return Payload(body=sink, summary=f"{what} · {human_bytes(sink.tell())} tar")


def _entries(name: str, path: str, status: os.stat_result) -> Iterator[_Entry]:
    """What lies at a path and below it, in the order of names, folders first."""
    ahead = [_Entry(name, path, status)]
    while ahead:
        entry = ahead.pop()
        kind = entry.status.st_mode
        if stat.S_ISLNK(kind):
            target = os.readlink(entry.path)
            if not _leads_inside(entry.name, target):
                raise TypeError(
                    f"value: the link {entry.path!r} leads to {target!r}, outside of the folder "
                    "that is pushed: replace it with what it leads to"
                )
            entry = entry._replace(target=target)
        elif not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise TypeError(f"value: {entry.path!r} is neither a file nor a folder nor a link")
        yield entry
        if stat.S_ISDIR(kind):
            with os.scandir(entry.path) as found:
                below = [
                    _Entry(f"{entry.name}/{it.name}", it.path, it.stat(follow_symlinks=False))
                    for it in found
                ]
            # The next one is the last.
            ahead += sorted(below, key=lambda it: it.name, reverse=True)


def _leads_inside(name: str, target: str) -> bool:
    """Whether a link of this name stays in the archive's folder, whatever links are beside it.

    Upwards it may only begin: after the name of another link `..` would be anywhere.
    """
    parts = target.split("/")
    ups = 0
    while ups < len(parts) and parts[ups] == "..":
        ups += 1
    return (
        bool(target)
        and not target.startswith("/")
        and ".." not in parts[ups:]
        and "\0" not in target
        and ups <= name.count("/") - 1
    )


def _add(archive: tarfile.TarFile, entry: _Entry) -> None:
    info = tarfile.TarInfo(entry.name)
    info.mode = stat.S_IMODE(entry.status.st_mode) & _MODE
    _set_time(info, entry.status)
    if stat.S_ISDIR(entry.status.st_mode):
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
        return
    if stat.S_ISLNK(entry.status.st_mode):
        info.type = tarfile.SYMTYPE
        info.linkname = entry.target
        archive.addfile(info)
        return
    with _opened(entry) as source:
        before = os.fstat(source.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise InvalidError(_changed(entry))
        info.mode = stat.S_IMODE(before.st_mode) & _MODE
        _set_time(info, before)
        info.size = before.st_size
        content: Any = _Whole(source, entry)
        archive.addfile(info, content)
        if _version(os.fstat(source.fileno())) != _version(before):
            raise InvalidError(_changed(entry))


def _set_time(info: tarfile.TarInfo, status: os.stat_result) -> None:
    """Sets the time of the last change, as exactly as it is known.

    As a decimal number of seconds, in a header of its own: a float has no room for nanoseconds.
    """
    info.mtime = status.st_mtime
    whole, part = divmod(abs(status.st_mtime_ns), 10**9)
    text = f"{whole}.{part:09}".rstrip("0").rstrip(".")
    info.pax_headers = {_TIME: f"-{text}" if status.st_mtime_ns < 0 else text}


def _time_of(info: tarfile.TarInfo) -> int:
    """The time of the last change of an entry, in nanoseconds."""
    found = _SECONDS.fullmatch(info.pax_headers.get(_TIME, ""))
    if found is None:
        return round(info.mtime * 10**9)
    sign, whole, part = found.groups("")
    count = int(whole) * 10**9 + int(f"{part:0<9}"[:9])
    return -count if sign else count


def _opened(entry: _Entry) -> IO[bytes]:
    # What was a file may be a link or a pipe by now: neither is followed, nor waited for.
    more = os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return open(entry.path, "rb", opener=lambda path, flags: os.open(path, flags | more))
    except OSError as error:
        if error.errno in _REPLACED:
            raise InvalidError(_changed(entry)) from error
        raise TypeError(f"value: {entry.path!r} can't be read ({error})") from error


def _version(status: os.stat_result) -> tuple[int, int, int]:
    """What changes with a file's content, as exactly as its file system keeps it."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


class _Whole:
    """A file that is as long as it was when it was opened."""

    def __init__(self, file: IO[bytes], entry: _Entry) -> None:
        self._file = file
        self._entry = entry

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise InvalidError(_changed(self._entry))
        return data


def _changed(entry: _Entry) -> str:
    return (
        f"the file {entry.path!r} has changed while it was pushed; push a copy that stays as it is"
    )


def decode(data: memoryview) -> File:
    """Decodes from memory to a File in a temporary folder."""
    return _unpacked(io.BufferedReader(_container.View(data)), Folder())


def land(folder: Folder) -> str:
    """Where the bytes of an object go, for `decode_file`."""
    return os.path.join(folder.path, ".archive")


def decode_pieces(pieces: Iterator[memoryview]) -> File:
    """As `decode`, of what comes piece by piece; none is kept in memory."""
    folder = Folder()
    try:
        with open(land(folder), "wb") as file:
            for piece in pieces:
                file.write(piece)
    except BaseException:
        folder.remove()
        raise
    return decode_file(folder)


def decode_file(folder: Folder) -> File:
    """As `decode`, of a file at `land(folder)`, which is removed."""
    path = land(folder)
    try:
        file = open(path, "rb")  # noqa: SIM115 (closed below)
        os.unlink(path)
    except OSError as error:
        folder.remove()
        raise _no_room(folder, error) from error
    with file:
        return _unpacked(file, folder)


def _unpacked(source: IO[bytes], folder: Folder) -> File:
    try:
        with tarfile.TarFile(
            fileobj=source, mode="r", encoding="utf-8", errors="surrogateescape"
        ) as archive:
            root = _unpack(archive, folder.path)
    except FileExistsError as error:
        folder.remove()
        raise ValueError(f"the archive has an entry twice ({error})") from error
    except OSError as error:
        folder.remove()
        raise _no_room(folder, error) from error
    except BaseException:
        folder.remove()
        raise
    file = File(root)
    folder.give_to(file)
    return file


def _no_room(folder: Folder, error: OSError) -> UnavailableError:
    return UnavailableError(
        f"the file can't be unpacked under {folder.path} ({error}): let TMPDIR name a folder with "
        "room that this user may write to"
    )


def _unpack(archive: tarfile.TarFile, base: str) -> str:
    """Unpacks what `encode` can have packed, and nothing else; the path of the outermost entry."""
    root = ""
    folders: list[tuple[str, tarfile.TarInfo]] = []
    made: set[str] = set()
    links: list[tuple[str, str]] = []
    for info in archive:
        parent, slash, last = info.name.rpartition("/")
        path = os.path.join(base, info.name)
        # Only into folders that this loop has made: no link is ever followed.
        if last in ("", ".", "..") or "\0" in last or (slash and parent not in made):
            raise ValueError(f"the archive has an entry {info.name!r} in no folder of its own")
        if root and not parent:
            raise ValueError(f"the archive has a second outermost entry {info.name!r}")
        root = root or path
        if info.isdir():
            os.mkdir(path, 0o700)
            made.add(info.name)
            folders.append((path, info))
        elif info.issym():
            if not _leads_inside(info.name, info.linkname):
                raise ValueError(f"the archive has a link {info.name!r} that leads out of it")
            links.append((info.linkname, path))
        elif info.isreg() and not info.issparse():
            content = archive.extractfile(info)
            assert content is not None
            _write(content, path, info)
        else:
            raise ValueError(f"the archive has an entry {info.name!r} of another kind")
    if not root:
        raise ValueError("the archive is empty")
    for target, path in links:
        os.symlink(target, path)
    # Last, and the innermost first: what may not be written to could not be filled.
    for path, info in reversed(folders):
        os.chmod(path, info.mode & _MODE)
        os.utime(path, ns=(_time_of(info),) * 2)
    return root


def _write(content: IO[bytes], path: str, info: tarfile.TarInfo) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as target:
        left = info.size
        while left:
            chunk = content.read(min(_CHUNK, left))
            if not chunk:
                raise ValueError(f"the archive ends within {info.name!r}")
            target.write(chunk)
            left -= len(chunk)
        os.fchmod(target.fileno(), info.mode & _MODE)
    os.utime(path, ns=(_time_of(info),) * 2)

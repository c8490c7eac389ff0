"""`airfreight.File`: a file or a folder that travels as such."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import weakref
from pathlib import Path

from airfreight.errors import UnavailableError

_PREFIX = "airfreight-files-"


class File:
    """A file or a folder on this machine, as a value: `return airfreight.File("model.bin")`.

    What a pull gives is a File too: the same content under a temporary folder, with the same name,
    permissions and times. It is removed with the object, at the latest at the end of the process:
    move away what is to stay (`shutil.move(file, …)`). A process that is killed leaves it behind;
    the next process of the same user on the machine that pulls a File removes it.

    A folder travels with everything below it. Links stay links, if they lead to something inside of
    the folder; nothing else than files, folders and links can be pushed.

    Attributes:
        path: where it is.

    Threads: any. It works wherever a path does: `open(file)`, `pandas.read_csv(file)`.
    """

    __slots__ = ("__weakref__", "path")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        if not isinstance(text, str):
            raise TypeError(f"airfreight.File takes a path as text, not {type(text).__name__}")
        self.path = Path(text)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"airfreight.File({str(self.path)!r})"


class _Home:
    """The temporary folder of a process, with a folder for each of its Files.

    It is locked while the process lives, so that others can tell it from one that was left behind:
    Airflow ends the processes of tasks without Python's own end, where finalizers would run. It
    goes with the last folder in it.
    """

    def __init__(self) -> None:
        base = tempfile.gettempdir()
        _sweep(base)
        self._process = os.getpid()
        # It has the name that others look at once it is locked.
        made = tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=base)
        self._lock = -1
        try:
            self._lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
            with contextlib.suppress(OSError):  # A file system without locks.
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.path = os.path.join(base, os.path.basename(made)[1:])
            os.rename(made, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.rmdir(made)
            self._unlock()
            raise

    def is_for(self, process: int, base: str) -> bool:
        """Whether it is of a process, and where that would make one."""
        return self._process == process and os.path.dirname(self.path) == base

    def remove(self, path: str) -> None:
        """Removes a folder in it, and itself if that was the last one. Any thread."""
        if os.getpid() != self._process:
            return  # A forked child is not the owner.
        _remove(path)
        self.leave()

    def leave(self) -> None:
        """Removes it if nothing is in it: once, because only one can."""
        with contextlib.suppress(OSError):
            os.rmdir(self.path)
            self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)


#: The newest of this process. (Finalizers may run anywhere: nothing here takes a lock.)
_home: _Home | None = None


def _new_folder() -> tuple[_Home, str]:
    """Makes a folder in the home of this process."""
    global _home  # noqa: PLW0603 (one for each process)
    home = _home
    if home is not None and home.is_for(os.getpid(), tempfile.gettempdir()):
        try:
            return home, tempfile.mkdtemp(dir=home.path)
        except FileNotFoundError:
            pass  # It has gone with the last folder.
    home = _Home()
    try:
        made = tempfile.mkdtemp(dir=home.path)
    except BaseException:
        home.leave()
        raise
    _home = home
    return home, made


class Folder:
    """A temporary folder that lives as long as its owner.

    Raises:
        UnavailableError: none can be made; says what to set.
    """

    def __init__(self) -> None:
        try:
            self._home, self.path = _new_folder()
        except OSError as error:
            raise UnavailableError(
                f"a file can't be pulled, because no temporary folder can be made ({error}): let "
                "TMPDIR name a folder with room that this user may write to"
            ) from error

    def give_to(self, owner: File) -> None:
        """Binds the folder's life to an object's."""
        weakref.finalize(owner, self._home.remove, self.path)

    def remove(self) -> None:
        """Removes it at once."""
        self._home.remove(self.path)


def _remove(path: str) -> None:
    """Removes a folder with all that is in it, as far as that is possible."""
    folders = [path]
    for folder in folders:  # It grows meanwhile: a folder may be deeper than functions may call.
        with contextlib.suppress(OSError):
            # What may not be read or written to can't be emptied either.
            os.chmod(folder, 0o700)
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        with contextlib.suppress(OSError):
                            os.unlink(entry.path)
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _sweep(base: str) -> None:
    """Removes the folders of this user whose processes are gone."""
    with contextlib.suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
                continue
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid != os.geteuid():
                    continue
                lock = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(entry.path)
                finally:
                    os.close(lock)

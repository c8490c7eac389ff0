"""`airfreight.File`: a file or a folder that travels as such."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
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
    the next pull of a File on the machine, by the same user, removes it.

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


class Folder:
    """A temporary folder that lives as long as its owner.

    It is locked while its process lives, so that others can tell it from one that was left behind:
    Airflow ends the processes of tasks without Python's own end, where finalizers would run.

    Raises:
        UnavailableError: none can be made; says what to set.
    """

    def __init__(self) -> None:
        try:
            self._make()
        except OSError as error:
            raise UnavailableError(
                f"a file can't be pulled, because no temporary folder can be made ({error}): let "
                "TMPDIR name a folder with room that this user may write to"
            ) from error

    def _make(self) -> None:
        base = tempfile.gettempdir()
        _sweep(base)
        # It has the name that others look at once it is locked.
        made = tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=base)
        self._lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
        with contextlib.suppress(OSError):  # A file system without locks.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = os.path.join(base, os.path.basename(made)[1:])
        os.rename(made, self.path)

    def give_to(self, owner: File) -> None:
        """Binds the folder's life to an object's."""
        weakref.finalize(owner, _close, self.path, self._lock, os.getpid())

    def remove(self) -> None:
        """Removes it at once."""
        _close(self.path, self._lock, os.getpid())


def _close(path: str, lock: int, process: int) -> None:
    if os.getpid() != process:
        return  # A forked child is not the owner.
    _remove(path)
    with contextlib.suppress(OSError):
        os.close(lock)


def _remove(path: str) -> None:
    # What may not be written to can't be emptied either.
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)
    shutil.rmtree(path, ignore_errors=True)


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

"""A file that appears when it is whole: what `get_to_file` of the core makes, of pieces."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from airfreight.errors import InvalidError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Target:
    """Takes the content of a file. One thread at a time.

    Rules as of `FileTarget` in src/transfer/download_targets.cc: what is no file is not replaced,
    and the mode of a file that is replaced stays.
    """

    def __init__(self, path: str) -> None:
        """Makes a file beside the path, whose `keep` or `drop` has to be called.

        Raises:
            InvalidError: there can be no such file.
            UnavailableError: the machine has no room, or does not allow it.
        """
        if not path or path.endswith("/") or "\0" in path:
            raise InvalidError(f"{path!r} is not the path of a file; e.g. /data/model.bin")
        self._path = Path(path)
        self._beside = self._path.with_name(f".airfreight-{uuid4().hex}.tmp")
        with self._at_path():
            try:
                before = self._path.lstat().st_mode
            except FileNotFoundError:
                before = 0
            except NotADirectoryError as error:
                raise self._no_folder() from error
            if before and not (stat.S_ISREG(before) or stat.S_ISLNK(before)):
                raise InvalidError(
                    f"{path!r} is a folder or a device; name a file, e.g. "
                    f"{self._path.parent}/model.bin"
                )
            try:
                self._file = self._beside.open("xb")
            except FileNotFoundError as error:
                raise self._no_folder() from error
            if stat.S_ISREG(before):
                os.fchmod(self._file.fileno(), stat.S_IMODE(before) & 0o777)

    def write(self, pieces: Iterable[memoryview]) -> None:
        """Writes all of the content; a second time, in the place of the first.

        Raises:
            UnavailableError: it can't be written. What `pieces` raises.
        """
        self._file.seek(0)
        self._file.truncate()
        for piece in pieces:
            with self._at_path():
                self._file.write(piece)

    def keep(self) -> None:
        """Gives the file its name.

        Raises:
            UnavailableError: its last bytes can't be written, or it can't have that name.
        """
        with self._at_path():
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._beside.replace(self._path)

    def drop(self) -> None:
        """Removes the file, unless it was kept. Never raises."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._beside.unlink()

    @contextlib.contextmanager
    def _at_path(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UnavailableError(
                f"the file {str(self._path)!r} can't be written ({error.strerror})."
            ) from error

    def _no_folder(self) -> InvalidError:
        return InvalidError(
            f"the folder of the file {str(self._path)!r} is not there; make it before"
        )

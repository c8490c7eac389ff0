"""A ZIP archive of uncompressed members, which ordinary tools open: for values of several parts.

Specification: `formats/array.md`.
"""

from __future__ import annotations

import encodings.cp437  # noqa: F401 (zipfile reads names by it: see `_imports`)
import io
import json
import struct
import zipfile
from typing import TYPE_CHECKING, Any

from airfreight.errors import NewerFormatError
from airfreight.values._sinks import File

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from airfreight._core import Sink, Writer

CONTENT_TYPE = "application/zip"

#: Version of the description.
VERSION = 1
_DESCRIPTION = "airfreight.json"
#: Where the bytes of a member begin, from the begin of the archive: as the arrays in it want it.
_ALIGNMENT = 64
#: Of a local header before the name, and of the sizes of 64 bits that follow the extra field
#: (PKWARE's APPNOTE, 4.3.7 and 4.5.3: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT).
_HEADER, _SIZES = 30, 20
#: An extra field of zeros; the number is the one that Android's zipalign uses for it.
_PADDING_ID = 0xD935


def write(
    sink: Sink | Writer,
    description: dict[str, Any],
    members: Sequence[tuple[str, Sequence[Buffer]]],
) -> None:
    """Writes a description and members, each of them buffers in their order.

    Raises what the sink raises, which is abandoned then.
    """
    file: Any = File(sink)
    text = json.dumps({"version": VERSION, **description}, separators=(",", ":")).encode()
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, buffers in ((_DESCRIPTION, (text,)), *members):
                # No time: the same value has the same bytes.
                info = zipfile.ZipInfo(name)
                gap = -(sink.tell() + _HEADER + len(name.encode()) + _SIZES + 4) % _ALIGNMENT
                info.extra = struct.pack("<HH", _PADDING_ID, gap) + bytes(gap)
                with archive.open(info, "w", force_zip64=True) as member:
                    for buffer in buffers:
                        member.write(buffer)
    except BaseException as error:
        raised = file.error or error
        sink.abandon(hurry=not isinstance(raised, Exception))
        raise


def read(data: memoryview) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """The description and the members, which are views of the archive's memory.

    Raises:
        ValueError: it is no such archive.
        NewerFormatError: a later release wrote it.
    """
    members = {}
    try:
        with zipfile.ZipFile(io.BufferedReader(View(data))) as archive:
            for info in archive.infolist():
                if info.compress_type != zipfile.ZIP_STORED:
                    raise ValueError(f"member {info.filename!r} is compressed")
                start = info.header_offset
                lengths = struct.unpack_from("<HH", data, start + _HEADER - 4)
                start += _HEADER + sum(lengths)
                members[info.filename] = data[start : start + info.file_size]
    except (zipfile.BadZipFile, struct.error) as error:
        raise ValueError(f"not a ZIP archive that Airfreight writes ({error})") from error
    description = json.loads(bytes(members.pop(_DESCRIPTION, b"{}")))
    version = description.get("version")
    if type(version) is not int:
        raise ValueError(f"the archive has no {_DESCRIPTION} of Airfreight's")
    if version > VERSION:
        raise NewerFormatError(
            f"the value was written in version {version}; this release reads up to {VERSION}."
        )
    return description, members


class View(io.RawIOBase):
    """Reads memory as a file, without a copy of all of it."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._position = max(0, offset + (0, self._position, len(self._data))[whence])
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        part = self._data[self._position : self._position + len(buffer)]
        buffer[: len(part)] = part
        self._position += len(part)
        return len(part)

"""Whether polars has read the dtypes of a file as they were written.

Releases tell the categories of an Enum differently, and earlier ones take a Float16 for a Float32,
and a Categorical of Categories with a name for one without.

polars tells an Enum in the metadata of a field of the Arrow schema, and has changed how: 1.9 by
`POLARS.CATEGORICAL_TYPE`, 1.20 by `_PL_ENUM_VALUES`, 1.33 by `_PL_ENUM_VALUES2`, as their files
show. To a release that does not know the name it is a Categorical, and it does not say so.
"""

from __future__ import annotations

import base64
import re
import struct
from typing import TYPE_CHECKING, Any

import polars as pl

from airfreight.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Before each name of what a reader's polars has to have, in a Parquet file's own metadata.
NEEDS = "airfreight.polars."
_NEW = ("Categories", "Float16")

_MARKERS = (b"_PL_ENUM_VALUES", b"POLARS.CATEGORICAL_TYPE")
_PARQUET_MAGIC = b"PAR1"
#: At the end of a file: the length of its footer, and a magic of four or of six bytes.
_PARQUET_END = struct.Struct("<I4s")
_IPC_END = struct.Struct("<I6s")
#: In the footer of Parquet the Arrow schema is base64.
_SCHEMA = re.compile(rb"[A-Za-z0-9+/]{64,}")


def require(data: memoryview) -> None:
    """Nothing, if this polars has the dtypes that a file of Parquet says it has to have.

    Before such a file is read: an earlier release may also take it for a damaged one.

    Args:
        data: the file, or its end with all of the footer.

    Raises:
        UnsupportedError: it lacks one.
    """
    lacking = [name for name in _NEW if name not in vars(pl)]
    raw = _footer(data, _PARQUET_END) if lacking else b""
    for name in lacking:
        if f"{NEEDS}{name}".encode() in raw:
            raise UnsupportedError(
                f"the value has a column of polars' {name}, which polars {pl.__version__} here "
                "does not have: another release of polars wrote it. Install that one here as "
                "well, or cast the column before it is pushed."
            )


def check(
    frame: pl.DataFrame, data: memoryview, dtypes: Iterable[pl.DataType] | None = None
) -> pl.DataFrame:
    """The frame, if all Enums of its file are there.

    Args:
        frame: what was read.
        data: the file, of which the footer is looked at.
        dtypes: of all columns, where some of them were read.

    Raises:
        UnsupportedError: one was read as another dtype.
    """
    if not _has_categories(frame):
        return frame
    wanted = max(sum(map(footer.count, _MARKERS)) for footer in _footers(data))
    found = sum(str(dtype).count("Enum(") for dtype in dtypes or frame.dtypes)
    if wanted <= found:
        return frame
    raise UnsupportedError(
        f"the value has a column of dtype Enum, which polars {pl.__version__} here reads as a "
        "Categorical: another release of polars wrote it. Install that one here as well, or cast "
        "the column to Categorical or String before it is pushed."
    )


def _has_categories(frame: pl.DataFrame) -> bool:
    return any("Categorical" in str(dtype) for dtype in frame.dtypes)


def _footers(data: memoryview) -> list[bytes]:
    """What the Arrow schema of a file may be, with some bytes around it."""
    end: Any = _PARQUET_END if bytes(data[:4]) == _PARQUET_MAGIC else _IPC_END
    footer = _footer(data, end)
    if end is _IPC_END:
        return [footer]
    # The bytes before it, its length among them, may look as if they were a part of it.
    texts = _SCHEMA.findall(footer)
    return [b"".join(_decoded(text[skipped:]) for text in texts) for skipped in range(4)]


def _footer(data: memoryview, end: struct.Struct) -> bytes:
    (size, _) = end.unpack_from(data, len(data) - end.size)
    return bytes(data[-end.size - size : -end.size])


def _decoded(text: bytes) -> bytes:
    return base64.b64decode(text[: len(text) // 4 * 4])

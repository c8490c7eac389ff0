"""numpy arrays. Specification: `formats/array.md`.

As `.npy` (numpy.org/doc/stable/reference/generated/numpy.lib.format.html) wherever that holds all
of an array: its own memory is sent behind a header. Else as `.npz`, see `_npz`. No pickle in either
direction.
"""

from __future__ import annotations

import ast
import inspect
import io
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from airfreight import values
from airfreight._imports import loading
from airfreight.values import DEFAULTS, Form, Payload, _container, _describe, _dtypes

if TYPE_CHECKING:
    from airfreight.values import NewSink, Options

TYPE = "numpy.ndarray"
EXTENSION = "npy"
CONTENT_TYPE = "application/x-npy"

NPZ = Form("npz", _container.CONTENT_TYPE)
_ZIP_MAGIC = b"PK\x03\x04"
_NPY_MAGIC = b"\x93NUMPY"

#: The longest header that is written and read: some ten thousand fields. numpy's own limit for
#: reading, 10,000 characters, is for files of unknown origin (numpy.lib.format, max_header_size).
_MAX_HEADER = 1 << 20
#: What the data begins at a multiple of (numpy.lib.format.ARRAY_ALIGN).
_ALIGNMENT = 64


def _limited(read: Any) -> Any:
    """A reader of headers with our limit, where it has one (numpy 1.24 and later)."""
    has_limit = "max_header_size" in inspect.signature(read).parameters
    return partial(read, max_header_size=_MAX_HEADER) if has_limit else read


#: By the version of the header.
_READERS: dict[tuple[int, int], Any] = {
    (1, 0): _limited(npy.read_array_header_1_0),
    (2, 0): _limited(npy.read_array_header_2_0),
}


def encode(
    value: np.ndarray[Any, Any],
    options: Options = DEFAULTS,
    new_sink: NewSink = values.new_sink,
    /,
) -> Payload:
    """Encodes; without a copy when the array is contiguous in C or Fortran order.

    Raises:
        TypeError: a cell of it, or its dtype, can't be kept exactly; names the place.
    """
    body = to_npy(value)
    if body is None:
        with loading:
            from airfreight.values import _npz

        return _npz.encode_array(value, options, new_sink)
    return Payload(
        body=body,
        summary=summary("ndarray", value, sum(map(len, body)), EXTENSION, options),
        rows=rows(value),
        columns=columns(value),
    )


def decode(data: memoryview) -> Any:
    """Decodes to an array that lives in the memory of the view, writable when that is."""
    if data[:4] == _ZIP_MAGIC:
        with loading:
            from airfreight.values import _npz

        return _npz.decode(data, TYPE)
    return from_npy(data)


def rows(value: np.ndarray[Any, Any]) -> int | None:
    """The number of rows that a reference tells."""
    return value.shape[0] if value.ndim else None


def summary(
    name: str, value: np.ndarray[Any, Any], size: int, form: str, options: Options, more: str = ""
) -> str:
    """One line for people; `more` is said behind the dtype."""
    shape = " × ".join(f"{side:,}" for side in value.shape) or "0-d"
    if value.dtype.names is None:
        of = _describe.dtype(_dtypes.short(str(value.dtype)), options)
        return _describe.line(f"{name} {shape} {of}{more}", (), size, form, options)
    head = f"{name} {shape} of {len(value.dtype.names):,} fields{more}"
    return _describe.line(head, columns(value), size, form, options)


def columns(value: np.ndarray[Any, Any]) -> list[tuple[str, str]]:
    """Names and dtypes of the fields; of other arrays the dtype alone."""
    names = value.dtype.names
    if names is None:
        return [("", str(value.dtype))]
    fields: Any = value.dtype.fields
    return [(name, str(fields[name][0])) for name in names]


def to_npy(value: np.ndarray[Any, Any]) -> list[Any] | None:
    """The buffers of an `.npy`, header and body; None when that does not hold all of the array."""
    if not keeps(value.dtype):
        return None
    # A transposed array is sent as it lies; anything else that is not contiguous is copied once.
    if value.flags.c_contiguous:
        flat, fortran = value, False
    elif value.flags.f_contiguous:
        flat, fortran = value.T, True
    elif not value.nbytes:  # numpy's copies make one character of none.
        flat, fortran = value, False
    else:
        flat, fortran = np.ascontiguousarray(value), False
    header = _header(
        {
            "descr": npy.dtype_to_descr(value.dtype),
            "fortran_order": fortran,
            "shape": value.shape,
        }
    )
    if len(header) > _MAX_HEADER:
        return None
    return [header, flat.reshape(-1).view(np.uint8)] if flat.nbytes else [header]


def keeps(dtype: np.dtype[Any]) -> bool:
    """Whether the header of an `.npy` tells all of a dtype."""
    if dtype.hasobject or dtype.metadata is not None:
        return False
    try:
        return _dtypes.same(npy.descr_to_dtype(npy.dtype_to_descr(dtype)), dtype)
    except (ValueError, TypeError):  # Fields that overlap, or in another order than they lie.
        return False


def _header(description: dict[str, Any]) -> bytes:
    header = io.BytesIO()
    try:
        npy.write_array_header_1_0(header, description)
    except ValueError:  # Above 64 KiB, or names outside of Latin-1.
        header = io.BytesIO()
        try:
            npy.write_array_header_2_0(header, description)
        except UnicodeEncodeError:
            # Version 3.0 is 2.0 in UTF-8; numpy has no public function for it.
            text = f"{description!r}".encode("utf-8", "surrogatepass")
            gap = -(len(_NPY_MAGIC) + 2 + 4 + len(text) + 1) % _ALIGNMENT
            length = len(text) + gap + 1
            return (
                _NPY_MAGIC + b"\x03\x00" + length.to_bytes(4, "little") + text + b" " * gap + b"\n"
            )
    return header.getvalue()


def from_npy(data: memoryview) -> Any:
    """An array that lives in the memory of an `.npy`."""
    # The header is small; the body is not to be copied.
    head = io.BytesIO(data[: min(len(data), _MAX_HEADER)])
    shape, fortran, dtype = _read_header(head)
    if dtype.hasobject:
        raise ValueError("an .npy with Python objects is never read: they would be a pickle")
    start = head.tell()
    count = 1
    for side in shape:
        count *= side
    if len(data) - start != count * dtype.itemsize:
        raise ValueError(
            f"an .npy of {count} items of {dtype.itemsize} bytes has {len(data) - start} bytes"
        )
    order: Any = "F" if fortran else "C"
    if count * dtype.itemsize == 0:
        # (`numpy.empty` makes items of one character where they have none.)
        array: Any = np.ndarray(shape, dtype=dtype, order=order)
    else:
        array = np.ndarray(shape, dtype=dtype, buffer=data, offset=start, order=order)
    return array


def _read_header(head: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(head)
    read = _READERS.get(version)
    if read is not None:
        shape, fortran, dtype = read(head)
        return shape, fortran, dtype
    if version != (3, 0):
        raise ValueError(f"unknown .npy version {version}")
    length = int.from_bytes(head.read(4), "little")
    description = ast.literal_eval(head.read(length).decode("utf-8", "surrogatepass"))
    dtype = npy.descr_to_dtype(description["descr"])
    return tuple(description["shape"]), bool(description["fortran_order"]), dtype

"""numpy arrays as `.npy` (numpy.org/doc/stable/reference/generated/numpy.lib.format.html).

The array's own memory is sent behind a header; no pickle in either direction.
"""

from __future__ import annotations

import inspect
import io
from typing import Any

import numpy as np
from numpy.lib import format as npy

from airfreight.values import Payload, human_bytes

TYPE = "numpy.ndarray"
EXTENSION = "npy"
CONTENT_TYPE = "application/x-npy"

#: The longest header that is written and read: some ten thousand fields. numpy's own limit for
#: reading, 10,000 characters, is for files of unknown origin (numpy.lib.format, max_header_size).
_MAX_HEADER = 1 << 20


def encode(value: np.ndarray[Any, Any], _options: Any = None, _new_sink: Any = None, /) -> Payload:
    """Encodes; without a copy when the array is contiguous in C or Fortran order.

    Raises:
        TypeError: the array holds Python objects.
    """
    dtype = value.dtype
    if dtype.hasobject:
        where = "" if dtype.names is None else " in a field"
        raise TypeError(
            f"value: a numpy array of Python objects{where} (dtype {dtype}) can't be pushed; "
            "convert it "
            "to a numeric or text dtype, e.g. value.astype(str), or push value.tolist()"
        )
    if dtype.metadata is not None or not _same(
        npy.descr_to_dtype(npy.dtype_to_descr(dtype)), dtype
    ):
        hint = ""
        if dtype.isalignedstruct or dtype.type is np.record:
            hint = ", e.g. numpy.dtype(value.dtype.descr)"
        raise TypeError(
            f"value: dtype {_short(str(dtype))} of this numpy array is not one that .npy keeps; "
            f"convert it with value.astype(...) to a dtype that it keeps{hint}"
        )
    # A transposed array is sent as it lies; anything else that is not contiguous is copied once.
    if value.flags.c_contiguous:
        flat, fortran = value, False
    elif value.flags.f_contiguous:
        flat, fortran = value.T, True
    else:
        flat, fortran = np.ascontiguousarray(value), False
    header = io.BytesIO()
    description = {
        "descr": npy.dtype_to_descr(dtype),
        "fortran_order": fortran,
        "shape": value.shape,
    }
    try:
        npy.write_array_header_1_0(header, description)
    except ValueError:  # Above 64 KiB: a structured dtype of many fields.
        header = io.BytesIO()
        try:
            npy.write_array_header_2_0(header, description)
        except UnicodeEncodeError:
            raise TypeError(
                "value: a field of this numpy array has a name outside of Latin-1, which .npy 2.0 "
                "can't hold; rename the fields"
            ) from None
    if header.tell() > _MAX_HEADER:
        raise TypeError("value: this numpy array has so many fields that .npy can't describe them")
    shape = " × ".join(f"{side:,}" for side in value.shape) or "0-d"
    parts: list[Any] = [header.getvalue()]
    if flat.nbytes:
        parts.append(flat.reshape(-1).view(np.uint8))
    return Payload(
        body=parts,
        summary=f"ndarray {shape} {_short(str(dtype))} · {human_bytes(value.nbytes)}",
        rows=value.shape[0] if value.ndim else None,
    )


def decode(data: memoryview) -> Any:
    """Decodes to an array that lives in the memory of the view, writable when that is."""
    # The header is small; the body is not to be copied.
    head = io.BytesIO(data[: min(len(data), _MAX_HEADER)])
    version = npy.read_magic(head)
    readers: dict[tuple[int, int], Any] = {
        (1, 0): npy.read_array_header_1_0,
        (2, 0): npy.read_array_header_2_0,
    }
    read = readers.get(version)
    if read is None:
        raise ValueError(f"unknown .npy version {version}")
    # numpy before 1.24 has no such limit.
    limited = "max_header_size" in inspect.signature(read).parameters
    shape, fortran, dtype = read(head, max_header_size=_MAX_HEADER) if limited else read(head)
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
        array: Any = np.empty(shape, dtype=dtype, order=order)
    else:
        array = np.ndarray(shape, dtype=dtype, buffer=data, offset=start, order=order)
    return array


def _same(back: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Whether two dtypes are the same in what `==` does not look at, too."""
    if (
        back != dtype
        or back.type is not dtype.type
        or back.isalignedstruct != dtype.isalignedstruct
        or dtype.metadata is not None
    ):
        return False
    if dtype.subdtype is not None and back.subdtype is not None:
        return _same(back.subdtype[0], dtype.subdtype[0])
    if dtype.fields is None or back.fields is None:
        return True
    return all(_same(back.fields[name][0], field[0]) for name, field in dtype.fields.items())


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"

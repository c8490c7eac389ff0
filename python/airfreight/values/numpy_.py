"""numpy arrays as `.npy` (numpy.org/doc/stable/reference/generated/numpy.lib.format.html).

The array's own memory is sent behind a header; no pickle in either direction.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from airfreight.values import Payload, human_bytes

if TYPE_CHECKING:
    import numpy as np

TYPE = "numpy.ndarray"
EXTENSION = "npy"
CONTENT_TYPE = "application/x-npy"


def encode(value: np.ndarray[Any, Any], _compression: str = "", /) -> Payload:
    """Encodes; without a copy when the array is contiguous in C or Fortran order.

    Raises:
        TypeError: the array holds Python objects.
    """
    import numpy as np
    from numpy.lib import format as npy

    dtype = value.dtype
    if dtype.hasobject:
        where = "" if dtype.names is None else " in a field"
        raise TypeError(
            f"value: a numpy array of Python objects{where} (dtype {dtype}) can't be pushed; "
            "convert it "
            "to a numeric or text dtype, e.g. value.astype(str), or push value.tolist()"
        )
    if npy.descr_to_dtype(npy.dtype_to_descr(dtype)) != dtype or dtype.metadata is not None:
        raise TypeError(
            f"value: dtype {dtype} of this numpy array is not one that .npy keeps; convert it with "
            "value.astype(...) to a dtype that it keeps"
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
        npy.write_array_header_2_0(header, description)
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
    import numpy as np
    from numpy.lib import format as npy

    # The header is small; the body is not to be copied.
    head = io.BytesIO(data[: min(len(data), 1 << 20)])
    version = npy.read_magic(head)
    if version == (1, 0):
        shape, fortran, dtype = npy.read_array_header_1_0(head)
    elif version == (2, 0):
        shape, fortran, dtype = npy.read_array_header_2_0(head)
    else:
        raise ValueError(f"unknown .npy version {version}")
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


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"

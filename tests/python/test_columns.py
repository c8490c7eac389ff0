"""Numbers with nulls out of Arrow's memory: as pyarrow itself converts them, cell by cell."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airfreight.values import _columns

ROWS = 3 * _columns._FILLED_AT_ONCE + 5

TYPES = [
    *("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"),
    *("M8[ns]", "M8[us]", "M8[ms]", "m8[ns]", "m8[us]"),
]


def bits(array: Any) -> bytes:
    raw: bytes = np.ascontiguousarray(array).tobytes()
    return raw


def numbers(name: str, share: float) -> tuple[np.dtype[Any], Any, Any]:
    """A dtype, numbers of it of any bits, and which of them are to be null."""
    dtype = np.dtype(name)
    random = np.random.default_rng(7)
    raw = random.bytes(ROWS * dtype.itemsize)
    return dtype, np.frombuffer(raw, dtype), random.random(ROWS) < share


@pytest.mark.parametrize("share", [0.0, 0.03, 0.97, 1.0])
@pytest.mark.parametrize("name", TYPES)
def test_nulls_become_what_is_said_and_all_other_bits_stay(name: str, share: float) -> None:
    dtype, values, nulls = numbers(name, share)
    missing: Any = 0 if dtype.kind in "iu" else None
    told = (
        np.array("NaT", dtype)
        if dtype.kind in "mM"
        else np.array(np.nan if missing is None else 0, dtype)
    )
    expected = np.where(nulls, told, values).astype(dtype)
    # Below the nulls lies what was there: nobody may see it.
    array = pa.Array.from_buffers(
        pa.from_numpy_dtype(dtype),
        ROWS,
        [
            pa.py_buffer(np.packbits(~nulls, bitorder="little").tobytes()),
            pa.py_buffer(bits(values)),
        ],
    )
    assert bits(_columns._numpy_from(pa.chunked_array([array]), dtype, missing)) == bits(expected)
    # In chunks that begin within a byte of the bitmap.
    cuts = [0, 3, 3, 1001, ROWS - 2, ROWS]
    chunks = [array.slice(start, stop - start) for start, stop in itertools.pairwise(cuts)]
    pieces = pa.chunked_array(chunks)
    assert bits(_columns._numpy_from(pieces, dtype, missing)) == bits(expected)


def test_a_code_of_no_category_is_minus_one() -> None:
    chunks = pa.chunked_array([pa.array([0, None, 127], pa.int8()), pa.array([None], pa.int8())])
    assert _columns._numpy_from(chunks, np.dtype("i1"), -1).tolist() == [0, -1, 127, -1]


def test_numbers_lent_by_arrow_are_filled_where_they_lie() -> None:
    values = np.arange(ROWS, dtype="f8")
    nulls = values % 3 == 1
    buffer = pa.allocate_buffer(ROWS * 8)
    np.frombuffer(buffer, "f8")[:] = values
    bitmap = pa.py_buffer(np.packbits(~nulls, bitorder="little").tobytes())
    array = pa.Array.from_buffers(pa.float64(), ROWS, [bitmap, buffer])
    found = _columns._numpy_from(pa.chunked_array([array]), np.dtype("f8"))
    assert np.shares_memory(found, np.frombuffer(buffer, "f8"))
    assert bits(found) == bits(np.where(nulls, np.nan, values))


def test_a_mask_is_of_the_cells_that_are_there() -> None:
    whole = pa.array([None, 1, None, 2, 3, None, 4, 5, None, 6], pa.int64())
    chunks = pa.chunked_array([whole.slice(1, 4), whole.slice(7, 3), pa.array([9], pa.int64())])
    spec = {"kind": "masked", "dtype": "Int64"}
    found = _columns.from_arrow(chunks, spec)
    assert found._mask.tolist() == [False, True, False, False, False, True, False, False]
    assert found._data.tolist() == [1, 0, 2, 3, 5, 0, 6, 9]
    empty = _columns.from_arrow(pa.chunked_array([], pa.int64()), spec)
    assert len(empty) == 0
    assert empty._mask.dtype == bool

"""Numbers with nulls into Arrow's memory and out of it: as pyarrow itself converts them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from airfreight.values import DEFAULTS, _columns

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


@pytest.mark.parametrize("share", [0.0, 0.03, 0.97, 1.0])
@pytest.mark.parametrize("name", ["f2", "f4", "f8", *(name for name in TYPES if name[0] in "mM")])
def test_the_array_of_numbers_is_the_one_that_pyarrow_makes(name: str, share: float) -> None:
    dtype, values, nulls = numbers(name, share)
    missing = np.array("NaT" if dtype.kind in "mM" else "NaN", dtype)
    values = np.where(nulls, missing, values).astype(dtype)
    grid = np.empty((len(values), 3), dtype)  # Of which a column is not contiguous.
    grid[:, 1] = values
    locked = values.copy()
    locked.flags.writeable = False
    for same in (values, grid[:, 1], locked):
        column = _columns.make_column(pd.Series(same, copy=False), DEFAULTS)
        for start, stop in ((0, ROWS), (3, ROWS - 1), (5, 5)):
            array = _columns.to_arrow(column, start, stop)
            array.validate(full=True)
            expected = pa.array(values[start:stop], type=column.type, from_pandas=True)
            assert array.null_count == expected.null_count
            assert array.is_null().equals(expected.is_null())
            assert bits(array.drop_null().to_numpy()) == bits(expected.drop_null().to_numpy())


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, None, 3, None, 2**62], dtype="Int64"),
        pd.Series([1, 2, 255], dtype="UInt8"),
        pd.Series(pd.Categorical(["b", None, "a", "b"])),
        pd.Series(pd.to_datetime(["2026-01-01", None]).tz_localize("Europe/Berlin")),
        pd.Series(pd.PeriodIndex(["2026-01", None], freq="M")),
    ],
    ids=["Int64", "UInt8", "category", "zoned", "period"],
)
def test_nulls_of_other_dtypes_are_nulls_of_the_array(series: pd.Series) -> None:
    column = _columns.make_column(series, DEFAULTS)
    array = _columns.to_arrow(column, 0, len(series))
    array.validate(full=True)
    assert array.type == column.type
    assert array.is_null().to_pylist() == series.isna().tolist()
    chunks = pa.chunked_array([array.slice(1), array])
    back = pd.Series(_columns.from_arrow(chunks, column.spec))
    pd.testing.assert_series_equal(back, pd.concat([series[1:], series], ignore_index=True))

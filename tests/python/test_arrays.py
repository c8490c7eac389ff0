"""numpy arrays and bytes: as they are, without a copy more than needed, and never by pickle."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from tests.python.conftest import Box, stored

ARRAYS = [
    "np.arange(3)",
    "np.array(5)",
    "np.array([])",
    "np.zeros((0, 3))",
    "np.zeros((2, 0), dtype='i4', order='F')",
    "np.arange(6.).reshape(2, 3)",
    "np.asfortranarray(np.arange(6).reshape(2, 3))",
    "np.arange(24).reshape(2, 3, 4).T",
    "np.arange(10)[::3]",
    "np.arange(12).reshape(3, 4)[:, 1:3]",
    "np.arange(5)[::-1]",
    "np.array([True, False])",
    "np.array([1 + 2j])",
    "np.array(['é', 'abc'])",
    "np.array([b'x', b'\\x00y'])",
    "np.array([1, 2], dtype='>i4')",
    "np.array([1, 2], dtype='f2')",
    "np.array(['2026-01-01', 'NaT'], dtype='M8[ns]')",
    "np.array([1, 2], dtype='m8[s]')",
    "np.array([(1, 2.5, 'a')], dtype=[('x', 'i4'), ('y', '>f8'), ('z', 'U3')])",
    "np.array([np.nan, -0.0, np.inf])",
    "np.zeros(3, dtype=[('a', 'i4', (2, 2))])",
    "np.zeros(2, dtype=[('a', 'i1'), ('b', 'i8')])",
    "np.zeros(2, dtype={'names': ['a'], 'formats': ['i4'], 'itemsize': 8})",
    "np.zeros(2, dtype=[(('title', 'n'), 'i4')])",
    "np.zeros(2, dtype=[(f'{i:060}', 'i4') for i in range(200)])",
    "np.zeros(2, dtype=[(f'{i:060}', 'i4') for i in range(2000)])",
    "np.zeros(2, dtype=[('é', 'i4')])",
    "np.array(['', ''])",
    "np.arange(4, dtype='longdouble')",
    "np.array([b'ab'], dtype='V2')",
    "np.broadcast_to(np.arange(3), (2, 3))",
    "np.zeros((1, 5))[:, ::2]",
]


def bits(array: Any) -> Any:
    """The bytes of an array; of structures, whose padding is anything, their items."""
    return array.tobytes() if array.dtype.names is None else repr(array.tolist())


@pytest.mark.parametrize("expression", ARRAYS)
def test_an_array_comes_back_with_dtype_shape_order_and_bits(box: Box, expression: str) -> None:
    array = eval(expression, {"np": np})
    row = box.push(array)
    fields = box.fields(row)
    assert fields["_xcom_type"] == "numpy.ndarray"
    assert fields.get("rows") == (array.shape[0] if array.ndim else None)
    back = box.pull(stored(row))
    assert type(back) is np.ndarray
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert bits(back) == bits(array)
    if array.flags.f_contiguous:
        assert back.flags.f_contiguous
    assert back.flags.writeable
    if back.size:
        back[...] = back
    # numpy itself reads the object.
    loaded = np.load(
        io.BytesIO(box.file(row).read_bytes()), allow_pickle=False, max_header_size=1 << 20
    )
    assert bits(loaded) == bits(array)


@pytest.mark.parametrize(
    "expression",
    [
        "np.array([1, None, 'x'], dtype=object)",
        "np.array([(1, None)], dtype=[('a', 'i4'), ('b', 'O')])",
    ],
)
def test_objects_are_refused_and_never_pickled(box: Box, expression: str) -> None:
    with pytest.raises(TypeError, match="Python objects"):
        box.push(eval(expression, {"np": np}))
    assert box.objects() == []


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (
            "np.zeros(1, dtype=np.dtype([('a', 'i1'), ('b', 'i8')], align=True))",
            "value.dtype.descr",
        ),
        ("np.zeros(1, dtype=[('x', np.dtype([('a', 'i1'), ('b', 'i8')], align=True))])", "keeps"),
        ("np.zeros(1, dtype=(np.record, [('a', 'i4')]))", "value.dtype.descr"),
        ("np.zeros(1, dtype=np.dtype('i4', metadata={'a': 1}))", "keeps"),
        ("np.zeros(1, dtype=[('漢', 'i4')])", "Latin-1"),
        ("np.zeros(1, dtype=[(f'{i:060}', 'i4') for i in range(20000)])", "so many fields"),
    ],
)
def test_a_dtype_that_npy_does_not_keep_is_refused(box: Box, expression: str, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        box.push(eval(expression, {"np": np}))
    assert box.objects() == []


def test_a_pickle_in_an_object_is_never_read(box: Box) -> None:
    from airfreight.values import numpy_

    file = io.BytesIO()
    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="pickle"):
        numpy_.decode(memoryview(file.getvalue()))


@pytest.mark.parametrize("cut", [0, 3, 8, 20, 100, -1])
def test_a_truncated_array_is_an_error(cut: int) -> None:
    from airfreight.values import numpy_

    file = io.BytesIO()
    np.save(file, np.arange(10))
    with pytest.raises(ValueError, match=r".+"):
        numpy_.decode(memoryview(file.getvalue()[:cut]))
    with pytest.raises(ValueError, match="has 81 bytes"):
        numpy_.decode(memoryview(file.getvalue() + b"x"))


@pytest.mark.parametrize(
    ("expression", "conversion"),
    [
        ("np.ma.masked_array([1, 2], [0, 1])", "numpy.ndarray"),
        ("np.matrix([[1]])", "numpy.ndarray"),
    ],
)
def test_a_subclass_of_ndarray_is_refused(box: Box, expression: str, conversion: str) -> None:
    with pytest.raises(TypeError, match=f"subclass of {conversion}"):
        box.push(eval(expression, {"np": np}))


def parts(payload: Any) -> Any:
    return payload.body


def test_a_push_sends_the_arrays_own_memory() -> None:
    from airfreight.values import numpy_

    array = np.arange(1000.0)
    for value in (array, array.reshape(10, 100), array.reshape(10, 100).T):
        _, body = parts(numpy_.encode(value))
        assert np.shares_memory(body, array)


def test_a_pull_lives_in_the_memory_that_was_received() -> None:
    from airfreight.values import numpy_

    header, body = parts(numpy_.encode(np.arange(1000.0)))
    data = bytearray(header + body.tobytes())
    back = numpy_.decode(memoryview(data))
    assert np.shares_memory(back, np.frombuffer(data, dtype=np.uint8))
    del data
    assert back.sum() == 499500.0


@pytest.mark.parametrize("value", [b"", b"\x00\xff", b"x" * 100_000], ids=len)
def test_bytes_are_stored_as_they_are_whatever_their_size(box: Box, value: bytes) -> None:
    # apache/airflow#61777
    row = box.push(value)
    fields = box.fields(row)
    assert fields["_xcom_type"] == "bytes"
    assert fields["size_bytes"] == len(value)
    assert box.file(row).read_bytes() == value
    back = box.pull(stored(row))
    assert type(back) is bytes
    assert back == value


def test_a_subclass_of_bytes_is_refused(box: Box) -> None:
    class Secret(bytes):
        pass

    with pytest.raises(TypeError, match=r"bytes"):
        box.push(Secret(b"x"))


def test_a_bytearray_comes_back_as_one(box: Box) -> None:
    for value in (bytearray(b"x"), bytearray(b"x" * 50_000)):
        back: Any = box.through(value)
        assert type(back) is bytearray
        assert back == value

"""numpy arrays and bytes: as they are, without a copy more than needed, and never by pickle."""

from __future__ import annotations

import datetime as dt
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracle import assert_same
from tests.python.conftest import Box, stored

from airfreight import NewerFormatError, values

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


# What `.npy` does not hold, and `.npz` does.
PACKED = [
    "np.array([1, None, 'x'], dtype=object)",
    "np.array([(1, None)], dtype=[('a', 'i4'), ('b', 'O')])",
    "np.array([([1, 2], 3)], dtype=[('a', 'O'), ('b', 'M8[ns]')])",
    "np.array([[{'a': (1, {2})}, [1]], [np.arange(3), np.float32(1)]], dtype=object)",
    "np.array([2**100, float('nan'), -0.0, b'x', 'a\\0', dt.date(2026, 1, 1)], dtype=object)",
    "np.asfortranarray(np.array([[1, 'a'], [None, 2]], dtype=object))",
    "np.array(None, dtype=object)",
    "np.array([], dtype=object)",
    "np.zeros((0, 2), dtype=[('a', 'O')])",
    "np.array([(1, 2), (3, 4)], dtype=np.dtype([('a', 'i1'), ('b', 'i8')], align=True))",
    "np.asfortranarray(np.zeros((2, 3), dtype=np.dtype([('a', 'i1'), ('b', 'i8')], align=True)))",
    "np.zeros((4, 3), dtype=np.dtype([('a', 'i1'), ('b', 'i8')], align=True))[::2, ::2]",
    "np.zeros(1, dtype=[('x', np.dtype([('a', 'i1'), ('b', 'i8')], align=True))])",
    "np.zeros((2, 2), dtype=np.dtype([(('t', 'a'), 'i1'), ('b', 'O', (2,))], align=True))",
    "np.zeros(2, dtype=np.dtype([], align=True))",
    "np.zeros(1, dtype=(np.record, [('a', 'i4')]))",
    "np.arange(3, dtype=np.dtype('i4', metadata={'a': 1}))",
    "np.array(7, dtype=np.dtype('i4', metadata={'a': 1}))",
    "np.zeros(1, dtype=[(f'{i:060}', 'i4') for i in range(20000)])",
    "np.array([(1, 2)], dtype={'names': ['b', 'a'], 'formats': ['i4', 'i4'], 'offsets': [4, 0]})",
    "np.zeros(2, dtype={'names': ['a', 'b'], 'formats': ['i4', 'i4'], 'offsets': [0, 2]})",
    "np.ma.array([1, 2, 3], mask=[0, 1, 0], fill_value=9)",
    "np.ma.array([1, 2, 3])",
    "np.ma.array([1.5, np.nan], hard_mask=True)",
    "np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]], order='F')",
    "np.ma.array([(1, 'a')], dtype=[('x', 'i4'), ('y', 'U2')], mask=[(0, 1)])",
    "np.ma.array(['a', None], mask=[1, 0], dtype=object, fill_value='?')",
    "np.ma.array(['2026-01-01'], mask=[1], dtype='M8[D]')",
    "np.ma.array(5, mask=True)",
    "np.rec.array([(1, 'x')], dtype=[('a', 'i4'), ('b', 'U3')])",
    "np.rec.fromarrays([[1], [None]], names='a,b')",
]
if hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):
    PACKED += [
        "np.array(['x', None, 'é' * 100], dtype=np.dtypes.StringDType(na_object=None))",
        "np.array(['x', np.nan, '\\0'], dtype=np.dtypes.StringDType(na_object=np.nan))",
        "np.array([['x', 'y']], dtype=np.dtypes.StringDType(coerce=False)).T",
        "np.array([], dtype=np.dtypes.StringDType())",
        "np.array('x', dtype=np.dtypes.StringDType())",
    ]


@pytest.mark.parametrize("expression", PACKED)
def test_what_npy_does_not_hold_comes_back_too(box: Box, expression: str) -> None:
    array = eval(expression, {"np": np, "dt": dt})
    row = box.push(array)
    fields = box.fields(row)
    kind = type(array).__name__
    assert fields["_xcom_type"] == {"MaskedArray": "numpy.ma.MaskedArray"}.get(
        kind, f"numpy.{kind}"
    )
    path = box.file(row)
    assert path.suffix == ".npz"
    back = box.pull(stored(row))
    assert_same(back, array)
    assert back.flags.c_contiguous == array.flags.c_contiguous or not array.flags.f_contiguous
    assert back.flags.f_contiguous == array.flags.f_contiguous
    assert back.flags.writeable
    assert back.flags.aligned or not back.nbytes
    # numpy itself opens it, without a pickle; so does any tool for archives.
    with np.load(path, allow_pickle=False, max_header_size=1 << 20) as archive:
        assert all(archive[name] is not None for name in archive.files)
    with zipfile.ZipFile(path) as members:
        assert members.testzip() is None
        assert json.loads(members.read("airfreight.json"))["version"] == 1
    assert_same(box.through({"a": (array,)}), {"a": (array,)})


SCALARS = [
    "np.longdouble(1) / 3",
    "np.clongdouble(1j)",
    "np.longlong(3)",
    "np.zeros(1, [('a', 'i4')])[0]",
    "np.rec.array([(1, 'x')], dtype=[('a', 'i4'), ('b', 'U3')])[0]",
    "np.array([(1, None)], [('a', 'i4'), ('b', 'O')])[0]",
    "np.zeros(1, np.dtype([('a', 'i1'), ('b', 'i8')], align=True))[0]",
    "np.void(b'ab')",
    "np.float64('nan')",
    "np.datetime64('NaT', '25s')",
    "np.str_('a\\0')",
    "np.bytes_(b'a\\0')",
    "np.complex64(1j)",
    "np.bool_(True)",
]


@pytest.mark.parametrize("expression", SCALARS)
def test_a_scalar_comes_back(box: Box, expression: str) -> None:
    scalar = eval(expression, {"np": np})
    assert_same(box.through(scalar), scalar)
    assert_same(box.through({"a": (scalar,)}), {"a": (scalar,)})


@pytest.mark.parametrize("char", ["l", "q", "L", "Q", "g", "G"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_types_of_c_that_have_the_same_bytes_are_told_apart(
    box: Box, char: str, order: Any
) -> None:
    array = np.arange(3).astype(np.dtype(char).newbyteorder(order))
    back = box.through(array)
    assert_same(back, array)
    assert back.dtype.char == array.dtype.char


@pytest.mark.parametrize("dtype", ["U0", "S0", "V0"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_items_of_no_bytes_keep_their_type_and_order(box: Box, dtype: str, order: Any) -> None:
    for value in (
        np.ndarray((3,), dtype),
        np.ndarray((2, 3), dtype, order=order),
        np.zeros(3, [("a", dtype), ("b", "i4")])["a"],
    ):
        back = box.through(value)
        assert_same(value, back)
        assert back.dtype == dtype


def test_an_array_that_contains_itself_and_a_released_view_are_refused(box: Box) -> None:
    array = np.empty(1, object)
    array[0] = [array]
    with pytest.raises(TypeError, match=r"^value\[0\]"):
        box.push(array)
    view = memoryview(b"a")
    view.release()  # As one is whose buffer is given back.
    with pytest.raises(TypeError, match="released"):
        box.push(view)


def test_what_lies_under_a_mask_and_the_fields_of_a_packed_array_are_read_by_numpy(
    box: Box,
) -> None:
    masked = np.ma.array([1.5, 2.5], mask=[0, 1])
    with np.load(box.file(box.push(masked))) as archive:
        found = [archive[name].tolist() for name in archive.files if name != "airfreight.json"]
    assert found == [[1.5, 2.5], [False, True]]
    aligned = np.array([(1, 2)], dtype=np.dtype([("a", "i1"), ("b", "i8")], align=True))
    with np.load(box.file(box.push(aligned))) as archive:
        assert archive["0"].tolist() == [(1, 2)]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("np.array([[1, object()]], dtype=object)", r"^value\[0, 1\]: an object of type object"),
        ("np.array(object(), dtype=object)", r"^value\[\(\)\]: an object of type object"),
        (
            "np.array([((object(),),)], dtype=[('a', [('b', 'O')])])",
            r"^value\['a'\]\['b'\]\[0\]: an object",
        ),
        ("np.zeros(1, dtype=np.dtype('i4', metadata={'a': object()}))", "int32 of this numpy"),
        ("np.ma.masked", r"subclass of numpy\.ma\S*MaskedArray"),
        ("np.ma.array(np.matrix([[1]]))", r"numpy\.ma\.MaskedArray\(value\.data"),
        ("np.matrix([[1]])", r"subclass of numpy\.ndarray.*numpy\.ndarray\("),
    ],
)
def test_what_is_not_kept_is_refused_with_its_place(box: Box, expression: str, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        box.push(eval(expression, {"np": np}))
    assert box.objects() == []


def test_names_outside_of_latin_1_are_in_npy_as_numpy_has_them(box: Box) -> None:
    array = np.array([(5,)], dtype=[("漢", "i4")])
    row = box.push(array)
    assert_same(box.pull(row), array)
    assert_same(np.load(box.file(row)), array)


def test_a_packed_array_of_a_later_release_or_with_damage_is_an_error() -> None:
    from airfreight.values import Options, _npz, new_sink, numpy_

    body: Any = numpy_.encode(np.array([None]), Options(), new_sink).body
    data = bytearray(body.getvalue())
    with pytest.raises(NewerFormatError, match="version 2"):
        numpy_.decode(memoryview(data.replace(b'"version":1', b'"version":2')))
    for cut in (10, 100, len(data) - 1):
        with pytest.raises(ValueError, match=r".+"):
            numpy_.decode(memoryview(data[:cut]))
    assert _npz.MASKED.EXTENSION == "npz"


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


GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "array" / "v1"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_golden_files_are_read(path: Path) -> None:
    kind, expression = path.read_text().splitlines()
    if "StringDType" in expression and not hasattr(np.dtypes, "StringDType"):
        pytest.skip("is about numpy 2")
    codec = values.for_type(kind)
    assert codec is not None
    back = codec.decode(memoryview(bytearray(path.with_suffix("").read_bytes())))
    assert_same(back, eval(expression, {"np": np}))


def test_there_are_golden_files() -> None:
    assert len(list(GOLDEN.glob("*.txt"))) >= 13


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

"""Tables and arrays of pyarrow and polars: what was pushed is what is pulled."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.oracle import assert_same
from tests.python.conftest import Box, stored

import airfreight
from airfreight import values
from airfreight.values import Options, arrow_, polars_

GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "arrow" / "v1"
COMPRESSIONS = ("snappy", "zstd", "lz4", "none")
DICTIONARY = pa.dictionary(pa.int8(), pa.string())

ARROW = {
    "ints": pa.array([1, None, 3]),
    "a slice": pa.array(range(100))[17:40],
    "a slice of bits": pa.array([True, None, False] * 9)[3:],
    "nothing": pa.array([], pa.float32()),
    "nulls": pa.array([None, None]),
    "floats": pa.array([float("nan"), -0.0, None, float("inf")]),
    "half floats": pa.array(np.array([1.5, 2], dtype="f2")),
    "texts": pa.array(["é", None, "", "\x00"]),
    "large texts": pa.array(["é", None], pa.large_string()),
    "bytes": pa.array([b"\xff", None]),
    "large bytes": pa.array([b"\xff", None], pa.large_binary()),
    "bytes of one length": pa.array([b"abc", None], pa.binary(3)),
    "decimals": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
    "long decimals": pa.array([Decimal("1.5")], pa.decimal256(70, 3)),
    "seconds": pa.array([1, None], pa.time32("s")),
    "nanoseconds": pa.array([1, None], pa.time64("ns")),
    "dates": pa.array([1, None], pa.date32()),
    "dates in milliseconds": pa.array([86_400_000, None], pa.date64()),
    "times": pa.array([1, None], pa.timestamp("s")),
    "times in a zone": pa.array([1, None], pa.timestamp("ns", "Europe/Berlin")),
    "durations": pa.array([1, None], pa.duration("ms")),
    "intervals": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "lists": pa.array([[1, None], None, []], pa.list_(pa.int8())),
    "lists with a name": pa.array([[1]], pa.list_(pa.field("x", pa.int8(), nullable=False))),
    "large lists": pa.array([[1]], pa.large_list(pa.int8())),
    "lists of one length": pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
    "structs": pa.array([{"a": 1, "b": None}, None]),
    "structs of nothing": pa.array([{}], pa.struct([])),
    "maps": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
    "a dictionary": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "an ordered dictionary": pa.DictionaryArray.from_arrays(
        pa.array([1, None], pa.uint8()), pa.array(["x", "unused"]), ordered=True
    ),
    "a dictionary with a value twice": pa.DictionaryArray.from_arrays([0, 2], ["x", "y", "x"]),
    "lists of a dictionary": pa.array([["a"], None], pa.list_(DICTIONARY)),
    "a dense union": pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["x"])]
    ),
    "a sparse union": pa.UnionArray.from_sparse(
        pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["x", "y"])]
    ),
    "chunks": pa.chunked_array([[1], [], [2, 3]], pa.int8()),
    "no chunks": pa.chunked_array([], pa.string()),
    "chunks of different dictionaries": pa.chunked_array(
        [pa.array(["a", "b"], DICTIONARY), pa.array(["c", None], DICTIONARY)]
    ),
    "chunks of lists of different dictionaries": pa.chunked_array(
        [pa.array([["a"]], pa.list_(DICTIONARY)), pa.array([["b"]], pa.list_(DICTIONARY))]
    ),
    "a table": pa.table({"a": [1, None], "b": ["x", "y"]}),
    "a table of nothing": pa.table({}),
    "a table without rows": pa.schema([("a", pa.int8())]).empty_table(),
    "a table without columns": pa.table({"a": [1, 2, 3]}).select([]),
    "a table with metadata": pa.Table.from_arrays(
        [[1]],
        schema=pa.schema(
            [pa.field("a", pa.int8(), nullable=False, metadata={"k": "v"})],
            metadata={b"\xff": b"\x00", "pandas": "{}"},
        ),
    ),
    "a table with a name twice": pa.Table.from_arrays([[1], ["x"]], names=["a", "a"]),
    "a table of chunks": pa.concat_tables([pa.table({"a": [1]}), pa.table({"a": [2, 3]})]),
    "a table of different chunks": pa.table(
        {
            "a": pa.chunked_array([[1, 2, 3], [], [4]]),
            "b": pa.chunked_array([["a"], ["b"], ["c", "d"]]),
            "c": pa.chunked_array([["a", "b"], ["c", "d"]], DICTIONARY),
        }
    ),
    "a batch": pa.RecordBatch.from_pydict({"a": [1, None]}),
    "a batch without rows": pa.RecordBatch.from_arrays([pa.array([], pa.int8())], names=[""]),
    "a batch with metadata": pa.RecordBatch.from_pydict({"a": [1]}).replace_schema_metadata(
        {"k": "v"}
    ),
}
# What older releases of pyarrow do not have.
NEWER = {
    "views of texts": lambda: pa.array(
        ["short", "much longer than twelve", None], pa.string_view()
    ),
    "views of bytes": lambda: pa.array([b"short", b"much longer than twelve"], pa.binary_view()),
    "views of lists": lambda: pa.array([[1], None], pa.list_view(pa.int8())),
    "runs": lambda: pa.RunEndEncodedArray.from_arrays([2, 4], ["a", None]),
    "small decimals": lambda: pa.array([Decimal("1.5")], pa.decimal32(5, 2)),
    "uuids": lambda: pa.array([b"0" * 16], pa.uuid()),
    "json": lambda: pa.array(["{}"], pa.json_()),
    "tensors": lambda: pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int8(), [2]), pa.array([[1, 2]], pa.list_(pa.int8(), 2))
    ),
}
for _name, _make in NEWER.items():
    try:
        ARROW[_name] = _make()
    except AttributeError:
        continue


@pytest.mark.parametrize("value", ARROW.values(), ids=ARROW.keys())
def test_a_value_of_pyarrow_comes_back_as_it_was(box: Box, value: Any) -> None:
    # By Parquet: units of time, dates in milliseconds and chunks change, unions are refused.
    kind = "Array" if isinstance(value, pa.Array) else type(value).__name__
    for compression in COMPRESSIONS:
        box.set(compression=compression)
        row = box.push(value)
        fields = box.fields(row)
        assert fields["_xcom_type"] == f"pyarrow.{kind}"
        assert fields["rows"] == (value.num_rows if hasattr(value, "num_rows") else len(value))
        back = box.pull(stored(row))
        assert_same(back, value)
        if kind == "Table":
            assert arrow_.layouts(back) == arrow_.layouts(value)


@pytest.mark.parametrize("value", ARROW.values(), ids=ARROW.keys())
def test_a_value_of_pyarrow_is_kept_inside_a_document(box: Box, value: Any) -> None:
    back = box.through({"n": (1,), "value": [value]})
    assert_same(back, {"n": (1,), "value": [value]})


def test_arrow_is_read_by_others(box: Box) -> None:
    # `.arrows`: a stream of Arrow IPC, with nothing around it.
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    for compression in COMPRESSIONS:
        box.set(compression=compression)
        path = box.file(box.push(table))
        assert path.suffix == ".arrows"
        assert pl.read_ipc_stream(path).to_dict(as_series=False) == table.to_pydict()
        assert pa.ipc.open_stream(path).read_all().equals(table)


def test_a_reader_is_streamed_and_comes_back_as_one(box: Box) -> None:
    schema = pa.schema([("a", pa.int64())], metadata={"k": "v"})
    alive: list[int] = []

    def batches() -> Any:
        for number in range(50):
            alive.append(pa.total_allocated_bytes())
            array = pa.array(np.full(100_000, number))
            yield pa.RecordBatch.from_arrays([array], schema=schema)

    box.set(compression="none")
    row = box.push(pa.RecordBatchReader.from_batches(schema, batches()))
    # One batch after the other, never all 40 MB of them.
    assert max(alive) - min(alive) < 10_000_000
    fields = box.fields(row)
    assert fields["_xcom_type"] == "pyarrow.RecordBatchReader"
    assert fields["rows"] == 5_000_000
    back = box.pull(row)
    assert type(back) is pa.RecordBatchReader
    assert back.schema.equals(schema, check_metadata=True)
    found = list(back)
    assert [len(batch) for batch in found] == [100_000] * 50
    assert [batch.column(0)[0].as_py() for batch in found] == list(range(50))


def test_a_reader_that_was_read_is_not_pushed_as_an_empty_one(box: Box) -> None:
    reader = pa.table({"a": [1]}).to_reader()
    row = box.push(reader)
    for value in (reader, {"a": (reader,)}):
        with pytest.raises(TypeError, match=r"^value.*: this RecordBatchReader was read"):
            box.push(value, key="again")
    assert box.pull(row).read_all().num_rows == 1


def test_what_a_reader_raises_ends_the_push(box: Box) -> None:
    def batches() -> Any:
        yield pa.RecordBatch.from_pydict({"a": [1]})
        raise LookupError("no more")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches())
    with pytest.raises(Exception, match="no more"):
        box.push(reader)
    assert box.objects() == []


def test_a_reader_of_a_stream_comes_back_as_a_reader(box: Box) -> None:
    table = pa.table({"a": [1, 2]})
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write(table)
    back = box.through(pa.ipc.open_stream(file.getvalue()))
    assert type(back) is pa.RecordBatchReader
    assert back.read_all().equals(table)


def test_a_relation_of_duckdb_comes_as_a_table(box: Box) -> None:
    row = box.push(duckdb.sql("select range as n, 'x' as t from range(3000)"))
    assert box.fields(row)["_xcom_type"] == "pyarrow.Table"
    back = box.pull(row)
    assert type(back) is pa.Table
    assert back.to_pydict() == {"n": list(range(3000)), "t": ["x"] * 3000}


class Foreign:
    """A table of another library."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.value.__arrow_c_stream__(requested_schema)


def test_anything_that_gives_arrow_comes_as_a_table(box: Box) -> None:
    table = pa.table({"a": [1, 2]})
    assert_same(box.through(Foreign(table)), table)
    assert_same(box.through({1: Foreign(table)}), {1: table})
    with pytest.raises(TypeError, match=r"Foreign is no table .*pyarrow.chunked_array\(value\)"):
        box.push(Foreign(pa.chunked_array([[1]])))


class Garbage:
    """Has the method, and gives something else."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.given


@pytest.mark.parametrize(
    "given",
    [
        *(None, 5, "text", b"", object(), pa.array([1]).__arrow_c_array__()[1]),
        pa.schema([]).__arrow_c_schema__(),
    ],
    ids=repr,
)
def test_what_is_no_stream_of_arrow_is_refused(box: Box, given: Any) -> None:
    for value, place in ((Garbage(given), "value: "), ([1, Garbage(given)], "value[1]: ")):
        with pytest.raises(TypeError, match=r"Garbage is no table of Arrow's") as caught:
            box.push(value)
        assert str(caught.value).startswith(place)
    assert box.objects() == []


def test_a_subclass_that_gives_arrow_is_not_taken_for_a_table(box: Box) -> None:
    import pandas as pd

    class GeoFrame(pd.DataFrame):  # type: ignore[misc]
        pass

    with pytest.raises(TypeError, match=r"GeoFrame.*pandas\.DataFrame"):
        box.push(GeoFrame({"a": [1]}))


class Point(pa.ExtensionType):  # type: ignore[misc]
    """An extension type that its package has registered, or not."""

    def __init__(self) -> None:
        super().__init__(pa.binary(2), "tests.point")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage: Any, _serialized: bytes) -> Point:
        return cls()


def test_an_extension_type_has_to_be_registered_on_both_sides(box: Box) -> None:
    points = pa.ExtensionArray.from_storage(Point(), pa.array([b"xy", None], pa.binary(2)))
    table = pa.table({"at": points, "in": pa.array([[b"xy"], None], pa.list_(pa.binary(2)))})
    with pytest.raises(TypeError, match=r"column 'at'.*fixed_size_binary\[2\].*register"):
        box.push(table)
    assert box.objects() == []
    pa.register_extension_type(Point())
    try:
        row = box.push(table)
        assert_same(box.pull(row), table)
        assert_same(box.through(points, key="array"), points)
    finally:
        pa.unregister_extension_type("tests.point")
    with pytest.raises(airfreight.UnsupportedError, match=r"'tests.point'.*registered") as caught:
        box.pull(row)
    assert caught.value.task == "extract"


@pytest.mark.skipif(not hasattr(pl, "Float16"), reason="this polars has no Float16")
@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("name", ["Float16", "Categories"])
def test_what_earlier_polars_reads_as_another_dtype_is_an_error_there(
    box: Box, monkeypatch: pytest.MonkeyPatch, form: str, name: str
) -> None:
    box.set(format=form)
    categories: Any = pl.Categories("mine") if name == "Categories" else None
    dtype = pl.Float16 if name == "Float16" else pl.Categorical(categories)
    series = pl.Series("a", [1.5] if name == "Float16" else ["x"]).cast(dtype)
    values_ = [series, series.to_frame(), pl.DataFrame({"a": [series.to_list()]})]
    values_[2] = values_[2].cast(pl.List(dtype))
    rows = [box.push(value, key=str(number)) for number, value in enumerate(values_)]
    for row, value in zip(rows, values_, strict=True):
        assert_same(box.pull(row), value)
    monkeypatch.delattr(pl, name, raising=False)
    for row in rows:
        with pytest.raises(airfreight.UnsupportedError, match=f"polars' {name}, which polars"):
            box.pull(row)


def test_what_earlier_polars_can_not_even_read_is_told_as_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # polars 1.9 and 1.20 take a Float16 of a later release for a damaged file.
    def fail(*_: Any, **_more: Any) -> Any:
        raise pl.exceptions.ComputeError("File out of specification")

    codec: Any = values.for_type("polars.DataFrame")
    monkeypatch.setattr(pl, "read_parquet", fail)
    monkeypatch.setattr(pl, "read_parquet_schema", fail)
    raw = memoryview((GOLDEN / "halves_and_categories_inside.parquet").read_bytes())
    for name in ("Float16", "Categories"):
        with monkeypatch.context() as patch:
            patch.delattr(pl, name, raising=False)
            for read in (codec.decode, lambda data: codec.decode_columns(data, ["l"])):
                with pytest.raises(airfreight.UnsupportedError, match=f"polars' {name}, which pol"):
                    read(raw)


def test_views_are_an_error_where_pyarrow_has_none(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = pa.array([["x"]], pa.list_(pa.string_view()))
    other = pa.table({"a": [{"string_view": 1}]})
    rows = [box.push(pa.table({"a": views})), box.push(other, key="other")]
    monkeypatch.delattr(pa, "string_view")
    with pytest.raises(airfreight.UnsupportedError, match="type string_view, which pyarrow"):
        box.pull(rows[0])
    assert_same(box.pull(rows[1]), other)


class PanicException(BaseException):
    """As polars' own, which is no Exception."""


def test_a_panic_of_polars_is_an_error(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: Any, **__: Any) -> None:
        raise PanicException("no such dtype")

    row = box.push(pl.Series("a", [1]))
    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(airfreight.UnsupportedError, match="polars panics: no such dtype"):
        box.pull(row)
    monkeypatch.setattr(pl, "read_ipc", panic)
    with pytest.raises(TypeError, match="column 'a' of dtype Int64 is not kept"):
        box.push(pl.Series("a", [1]))


def test_an_extension_type_that_only_the_reader_knows_is_an_error_there(box: Box) -> None:
    # As Arrow keeps one that is not registered, and makes it of these where it is.
    metadata = {"ARROW:extension:name": "tests.point", "ARROW:extension:metadata": ""}
    field = pa.field("at", pa.binary(2), metadata=metadata)
    table = pa.table([[b"xy", None]], schema=pa.schema([field]))
    nested = pa.array([{"at": b"xy"}], pa.struct([field]))
    frame = pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(nested)})
    rows: list[Any] = []
    for value in (table, table.to_batches()[0], pa.table({"a": nested}), nested, frame):
        rows.append(box.push(value, key=str(len(rows))))
        assert_same(box.pull(rows[-1]), value)
    pa.register_extension_type(Point())
    try:
        for row in rows:
            with pytest.raises(
                airfreight.UnsupportedError,
                match=r"not registered in the process that pushed.*unregister.*'tests\.point'",
            ):
                box.pull(row)
    finally:
        pa.unregister_extension_type("tests.point")


def test_a_dictionary_of_an_extension_type_is_refused(box: Box) -> None:
    values = pa.array([b"x" * 16], pa.uuid())  # pyarrow can't read the schema that it writes.
    array = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), values)
    for value in (array, pa.table({"a": array})):
        with pytest.raises(TypeError, match=r"^value: .*would .*come back"):
            box.push(value)
    assert box.objects() == []


@pytest.mark.parametrize("metadata", [None, {}, {"a": "b"}])
@pytest.mark.parametrize("alike", [True, False])
def test_a_table_keeps_whether_it_has_metadata(box: Box, metadata: Any, *, alike: bool) -> None:
    chunks = [[1], [2, 3]]
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["x", "x"]))
    other = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["x", "y"]))
    names = pa.chunked_array([other, twice] if alike else [twice, other])
    table = pa.table({"n": pa.chunked_array(chunks), "d": names}).replace_schema_metadata(metadata)
    back = box.through(table)
    assert_same(table, back)
    assert_same([len(chunk) for chunk in names.chunks], [len(each) for each in back["d"].chunks])


def test_metadata_that_would_be_ours_is_refused(box: Box) -> None:
    table = pa.table({"a": [1]}, metadata={"airfreight.chunks": "[]"})
    with pytest.raises(TypeError, match=r"'airfreight\.chunks'.*replace_schema_metadata"):
        box.push(table)


def test_a_value_of_pyarrow_lives_in_the_memory_that_was_received() -> None:
    array = pa.array(range(100_000))
    body: Any = arrow_.ARRAY.encode(array, Options(compression="none")).body
    data = bytearray(body.getvalue())
    before = pa.total_allocated_bytes()
    back = arrow_.ARRAY.decode(memoryview(data))
    assert pa.total_allocated_bytes() - before < 10_000
    del data
    assert back.equals(array)


# polars.


def polars_columns() -> dict[str, pl.Series]:
    moment = dt.datetime(2026, 1, 1, 12)
    columns: dict[str, Any] = {
        "ints": [1, None, -3],
        "texts": ["é", None, "\x00", ""],
        "bools": [True, None],
        "floats": [float("nan"), -0.0, None, float("-inf")],
        "bytes": [b"\x00\xff", None],
        "dates": [dt.date(1, 2, 3), None],
        "times": [dt.time(1, 2, 3, 4), None],
        "nulls": [None, None],
        "lists": pl.Series([[1, None], None, []], dtype=pl.List(pl.Int8)),
        "lists of nulls": [[None], None],
        "arrays": pl.Series([[1, None], None], dtype=pl.Array(pl.Int8, 2)),
        "arrays of arrays": pl.Series([[[1, 2], [3, 4]], None], dtype=pl.Array(pl.Int8, (2, 2))),
        "structs": [{"a": 1, "b": "x"}, None, {"a": None, "b": None}],
        "structs of nothing": pl.Series([{}], dtype=pl.Struct([])),
        "unsigned": pl.Series([2**64 - 1, None], dtype=pl.UInt64),
        "small": pl.Series([1, None], dtype=pl.Int8),
        "singles": pl.Series([1.5, None], dtype=pl.Float32),
        "decimals": pl.Series([Decimal("1.50"), None], dtype=pl.Decimal(10, 2)),
        "long decimals": pl.Series([Decimal("1.5"), None], dtype=pl.Decimal(38, 37)),
        "durations in ms": pl.Series([1, None]).cast(pl.Duration("ms")),
        "durations in ns": pl.Series([1001, None]).cast(pl.Duration("ns")),
        "moments": pl.Series([moment, None], dtype=pl.Datetime("us")),
        "moments in ns": pl.Series([1001, None]).cast(pl.Datetime("ns", "Europe/Berlin")),
        "moments in ms": pl.Series([moment, None], dtype=pl.Datetime("ms", "UTC")),
        "categories": pl.Series(["a", None, "b", "a"], dtype=pl.Categorical),
        "an enum": pl.Series(["a", None], dtype=pl.Enum(["unused", "b", "a"])),
        "an enum of nothing": pl.Series([None], dtype=pl.Enum([])),
        "lists of an enum": pl.Series([["q"], None], dtype=pl.List(pl.Enum(["q", "r"]))),
        "structs of categories": pl.Series(
            [{"a": "q"}, None], dtype=pl.Struct({"a": pl.Categorical})
        ),
    }
    for name, number in (("Int128", -(2**100)), ("UInt128", 2**100), ("Float16", 1.5)):
        if hasattr(pl, name):
            columns[name] = pl.Series([number, None], dtype=getattr(pl, name))
    with contextlib.suppress(pl.exceptions.ComputeError):  # Older releases have none.
        columns["arrays of nothing"] = pl.Series([[], None], dtype=pl.Array(pl.Int8, 0))
    if hasattr(pl, "Categories"):
        small = pl.Categories("colours", namespace="tests", physical=pl.UInt8)
        columns["named categories"] = pl.Series(["a"], dtype=pl.Categorical(small))
    return {
        name: (column if isinstance(column, pl.Series) else pl.Series(column)).alias("x")
        for name, column in columns.items()
    }


POLARS = polars_columns()


def assert_same_series(back: pl.Series, series: pl.Series) -> None:
    assert_same(back, series)
    # Python's own types end at microseconds.
    assert back.equals(series, null_equal=True, check_names=True)
    assert repr(back.dtype) == repr(series.dtype)


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
@pytest.mark.parametrize("series", POLARS.values(), ids=POLARS.keys())
def test_a_value_of_polars_comes_back_as_it_was(box: Box, series: pl.Series, format_: str) -> None:
    # apache/airflow#41161
    box.set(format=format_)
    for value in (series, series.clear(), series.alias("")):
        row = box.push(value)
        assert box.fields(row)["_xcom_type"] == "polars.Series"
        assert box.fields(row)["rows"] == len(value)
        back = box.pull(stored(row))
        assert type(back) is pl.Series
        assert_same_series(back, value)
    frame = series.to_frame().with_columns(pl.lit(1).alias("é \x00."))
    back = box.through(frame)
    assert type(back) is pl.DataFrame
    assert_same(back, frame)
    inside = box.through({"a": (frame, series)})
    assert_same(inside, {"a": (frame, series)})


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
def test_polars_of_every_compression(box: Box, format_: str) -> None:
    frame = pl.DataFrame({"a": range(3000), "b": ["x", "y", "z"] * 1000})
    for compression in COMPRESSIONS:
        box.set(format=format_, compression=compression)
        row = box.push(frame)
        assert box.file(row).suffix == f".{format_}"
        assert_same(box.pull(row), frame)


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
@pytest.mark.parametrize(
    "frame",
    [pl.DataFrame(), pl.DataFrame({"a": []}), pl.DataFrame({"a": [1, 2]}).select(pl.lit(1))],
    ids=repr,
)
def test_frames_of_polars_without_columns_or_rows(
    box: Box, frame: pl.DataFrame, format_: str
) -> None:
    box.set(format=format_)
    assert_same(box.through(frame), frame)


def test_a_lazy_frame_is_collected_and_comes_back_as_one(box: Box) -> None:
    lazy = pl.LazyFrame({"a": [1, 2, 3]}).filter(pl.col("a") > 1)
    row = box.push(lazy)
    assert box.fields(row)["rows"] == 2
    back = box.pull(row)
    assert type(back) is pl.LazyFrame
    assert_same(back.collect(), lazy.collect())


def test_python_objects_in_polars_are_refused_with_their_place(box: Box) -> None:
    objects = pl.Series("o", [object()], dtype=pl.Object)
    with pytest.raises(TypeError, match=r"^value: column 'o' has the dtype Object"):
        box.push(pl.DataFrame([objects]))
    with pytest.raises(TypeError, match=r"^value\['deep'\]\[0\]: column 'o'"):
        box.push({"deep": (objects,)})
    assert box.objects() == []


def test_columns_that_need_different_formats_are_refused(box: Box) -> None:
    if "arrays of nothing" not in POLARS:
        pytest.skip("this polars has none")
    frame = pl.DataFrame([POLARS["structs of nothing"], POLARS["arrays of nothing"][:1].alias("y")])
    with pytest.raises(TypeError, match="Push them apart"):
        box.push(frame)


def test_polars_is_read_by_others(box: Box) -> None:
    frame = pl.DataFrame({"n": [1, None], "t": ["x", "y"], "d": [dt.date(2026, 1, 1), None]})
    path = box.file(box.push(frame))
    assert path.suffix == ".parquet"
    assert duckdb.sql(f"select * from '{path}'").fetchall() == frame.rows()
    assert pl.read_parquet(path).equals(frame)
    box.set(format="arrow")
    path = box.file(box.push(frame))
    assert path.suffix == ".arrow"
    assert pl.read_ipc(path).equals(frame)
    assert pa.ipc.open_file(path).read_all().to_pydict() == frame.to_dict(as_series=False)


def test_a_look_at_a_value_imports_no_library() -> None:
    import subprocess
    import sys

    program = """
import sys
from airfreight import values
class Foreign:
    pass
assert values.for_value(Foreign()) is None
assert values.for_value({}) is None
assert not {"numpy", "pandas", "polars", "pyarrow"} & set(sys.modules), sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_types_of_a_module_are_those_of_its_codecs() -> None:
    for kind in values._BY_TYPE:
        codec = values.for_type(kind)
        assert codec is not None
        assert kind == codec.TYPE
        assert values.extensions(kind)[0] == codec.EXTENSION
    assert polars_.ARROW.extension in values.extensions("polars.Series")


LARGE: dict[str, Any] = {
    "table": lambda: pa.table({"a": range(50_000), "b": ["x"] * 50_000}),
    "chunks": lambda: pa.chunked_array([range(50_000), range(9)]),
    "polars": lambda: pl.DataFrame({"a": range(50_000), "b": ["x"] * 50_000}),
    "series": lambda: pl.Series("s", range(50_000)),
    "masked": lambda: np.ma.array(np.arange(50_000), mask=np.arange(50_000) % 3 == 0),
    "objects": lambda: np.array([(number,) for number in range(50_000)], dtype="O"),
    "bytearray": lambda: bytearray(b"x" * 100_000),
}


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
@pytest.mark.parametrize("make", LARGE.values(), ids=LARGE.keys())
def test_a_large_value_inside_of_another_comes_back(box: Box, make: Any, format_: str) -> None:
    box.set(format=format_)
    value = {"a": [make()], "n": (1,)}
    row = box.push(value)
    assert_same(box.pull(stored(row)), value)
    assert_same(airfreight.get(row, "a", 0) if isinstance(row, dict) else make(), make())


def test_streams_inside_of_another_value_are_read_once(box: Box) -> None:
    table = pa.table({"a": range(50_000)})
    row = box.push({"r": table.to_reader(), "t": Foreign(table)})
    back = box.pull(stored(row))
    assert type(back["r"]) is pa.RecordBatchReader
    assert back["r"].read_all().equals(table)
    assert_same(back["t"], table)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_golden_files_are_read(path: Path) -> None:
    kind, expression = path.read_text().splitlines()
    codec = values.for_type(kind)
    assert codec is not None
    back = codec.decode(memoryview(bytearray(path.with_suffix("").read_bytes())))
    assert_same(back, eval(expression, {"pa": pa, "pl": pl}))


def test_there_are_golden_files() -> None:
    assert len(list(GOLDEN.glob("*.txt"))) >= 13

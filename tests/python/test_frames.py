"""Frames come back exactly, whatever pandas is installed, or are refused when they are pushed."""

from __future__ import annotations

import datetime
import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracle import assert_same
from tests.python.conftest import Box, stored
from tests.python.frame_cases import KEPT, REFUSED, made, objects

import airfreight
from airfreight import parts, runtime, values


@pytest.mark.parametrize("name", KEPT)
def test_a_frame_comes_back_exactly(box: Box, name: str) -> None:
    frame = made(KEPT[name])
    before = frame.copy(deep=True)
    row = box.push(frame)
    assert_same(frame, before)  # A push changes nothing of the value.
    fields = box.fields(row)
    assert fields["_xcom_type"] == "pandas.DataFrame"
    assert fields["rows"] == len(frame)
    back = box.pull(stored(row))
    assert_same(back, frame)


@pytest.mark.parametrize("name", KEPT)
def test_a_frame_without_rows_comes_back_exactly(box: Box, name: str) -> None:
    frame = made(KEPT[name]).iloc[:0]
    assert_same(box.through(frame), frame)


@pytest.mark.parametrize("name", KEPT)
def test_what_comes_back_may_be_written_to(box: Box, name: str) -> None:
    original = made(KEPT[name])
    frame = box.through(original)
    for position in range(frame.shape[1]) if len(frame) else ():
        if str(original.dtypes.iloc[position]).startswith(("Sparse", "dictionary")):
            continue  # pandas writes no such cell.
        cell = frame.iloc[-1, position]
        # (A list would be taken for several cells.)
        frame.iloc[0, position] = None if pd.api.types.is_list_like(cell) else cell


@pytest.mark.parametrize("name", REFUSED)
def test_a_frame_that_would_change_is_refused_by_column_and_reason(box: Box, name: str) -> None:
    expression, place, reason = REFUSED[name]
    with pytest.raises(TypeError) as caught:
        box.push(made(expression))
    message = str(caught.value)
    assert message.startswith("value: ")
    assert place in message
    assert reason in message
    assert box.objects() == []


def test_attrs_and_flags_come_back(box: Box) -> None:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = {"source": ("s3", 1), "when": datetime.datetime(2026, 1, 1), 5: {b"x"}}
    frame.flags.allows_duplicate_labels = False
    assert_same(box.through(frame), frame)
    frame.attrs["bad"] = [object()]
    with pytest.raises(TypeError, match=r"^value\.attrs\['bad'\]\[0\]"):
        box.push(frame)


def test_more_metadata_than_pyarrow_reads_by_itself_is_read(box: Box) -> None:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = {"x": "y" * 105_000_000}  # Above thrift_string_size_limit's default.
    assert box.through(frame).attrs == frame.attrs


def test_a_subclass_is_refused_with_the_conversion(box: Box) -> None:
    GeoDataFrame = type("GeoDataFrame", (pd.DataFrame,), {})  # noqa: N806
    with pytest.raises(TypeError, match=r"subclass of pandas\.DataFrame.*pandas\.DataFrame\(…\)"):
        box.push(GeoDataFrame({"a": [1]}))
    with pytest.raises(TypeError, match=r"value\['x'\]"):
        box.push({"x": GeoDataFrame({"a": [1]})})


@pytest.mark.parametrize("name", sorted(values._BY_CLASS))
def test_a_class_that_only_calls_itself_as_one_of_ours_is_refused(box: Box, name: str) -> None:
    module, _, last = name.rpartition(".")
    fake = type(last, (), {"__module__": module})
    for value, place in ((fake(), "value"), ({"a": [fake()]}, "value['a'][0]")):
        with pytest.raises(TypeError, match="can't be pushed as an XCom") as caught:
            box.push(value)
        assert str(caught.value).startswith(f"{place}: an object of type ")
    assert box.objects() == []


def test_a_file_of_frames_without_our_metadata_is_no_newer_release(box: Box) -> None:
    row = stored(box.push(pd.DataFrame({"a": [1]})))
    fields = box.fields(row)
    raw = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), raw)
    codec: Any = values.for_type("pandas.DataFrame")
    with pytest.raises(airfreight.CorruptError, match="without the metadata"):
        parts.made(fields, lambda: codec.decode(raw.getbuffer()))


def test_a_three_row_frame_gives_a_readable_reference(box: Box) -> None:
    fields = box.fields(box.push(made("pd.DataFrame({'id': [1, 2, 3], 'price': [.5, 1, 2]})")))
    assert fields["_xcom_type"] == "pandas.DataFrame"
    assert fields["rows"] == 3
    assert fields["columns"] == [["id", "int64"], ["price", "float64"]]
    assert fields["summary"].startswith("DataFrame 3 × 2: id int64, price float64 · ")
    assert fields["summary"].endswith(" parquet")
    assert fields["uri"].endswith(
        "/sales/manual__2026-01-01T00%3A00%3A00%2B00%3A00/extract/map_-1/return_value.parquet"
    )
    assert "0.5" not in json.dumps(fields)  # No contents.


def bytes_of(payload: Any) -> bytes:
    raw: bytes = payload.body.getvalue()
    return raw


def large(rows: int) -> Any:
    r = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "price": np.round(r.lognormal(3, 1, rows), 2),
            "country": r.choice(["DE", "FR", "US"], rows),
            "sku": [f"SKU-{i:07d}" for i in r.integers(0, rows, rows)],
            "flag": r.random(rows) > 0.5,
            "ts": pd.Timestamp("2026-01-01")
            + pd.to_timedelta(r.integers(0, 86400, rows), unit="s"),
        },
        index=pd.Index(r.permutation(rows), name="k"),
    )


@pytest.mark.slow
def test_a_large_frame_is_written_in_several_row_groups(box: Box) -> None:
    frame = large(700_000)
    row = box.push(frame)
    file = pq.ParquetFile(box.file(row))
    assert file.metadata.num_row_groups > 1
    pulled = box.pull(stored(row))
    pd.testing.assert_frame_equal(pulled, frame)
    # Cell by cell, with their classes, where groups meet and at the ends: all of it takes half a
    # minute.
    border = file.metadata.row_group(0).num_rows
    for rows in (slice(0, 5000), slice(border - 5000, border + 5000), slice(695_000, None)):
        assert_same(pulled.iloc[rows], frame.iloc[rows])
    # Any reader of Parquet reads it.
    assert file.read(columns=["id"]).column("id").to_pylist()[-3:] == [699_997, 699_998, 699_999]


def test_parquet_is_compressed_as_the_setting_says(box: Box) -> None:
    for name, expected in (
        ("snappy", "SNAPPY"),
        ("zstd", "ZSTD"),
        ("none", "UNCOMPRESSED"),
        ("lz4", "LZ4"),
    ):
        box.set(compression=name)
        row = box.push(pd.DataFrame({"a": ["x"] * 1000}))
        column = pq.ParquetFile(box.file(row)).metadata.row_group(0).column(0)
        assert column.compression.startswith(expected)


@pytest.mark.slow
def test_long_texts_are_written_in_small_row_groups(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pandas-dev/pandas#55606: above 2 GiB of one column in one group offsets overflow.
    frame = pd.DataFrame({"a": ["x" * (1 << 20)] * 150, "b": range(150)})
    row = box.push(frame)
    metadata = pq.ParquetFile(box.file(row)).metadata
    assert metadata.num_row_groups >= 2
    assert_same(box.pull(stored(row)), frame)


def test_a_text_column_of_another_pandas_is_objects_where_that_dtype_is_not_there(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    # apache/airflow#70791: written under pandas 3, read under pandas 2.2.
    frame = pd.DataFrame({"a": objects("x", np.nan)})
    spec = {"kind": "string", "dtype": "str", "storage": "pyarrow", "na": "nan"}
    from airfreight.values import _columns

    original = pd.StringDtype

    def old(storage: str | None = None, **kw: Any) -> Any:
        if kw:
            raise TypeError("unexpected keyword argument 'na_value'")
        return original(storage)

    monkeypatch.setattr(pd, "StringDtype", old)
    back = _columns.from_arrow(pa.chunked_array([pa.array(["x", None])]), spec)
    assert list(map(type, back)) == [str, float]
    assert back.dtype == object
    assert frame is not None


def test_a_frame_of_a_newer_format_says_so(box: Box) -> None:
    from airfreight.values import pandas_

    raw = bytes_of(pandas_.encode(pd.DataFrame({"a": [1]})))
    newer = raw.replace(b'{"version":1', b'{"version":9')
    assert newer != raw
    with pytest.raises(airfreight.NewerFormatError, match="version 9"):
        pandas_.decode(memoryview(newer))


def test_the_result_does_not_live_in_the_memory_that_was_read(box: Box) -> None:
    from airfreight.values import pandas_

    frame = made(KEPT["basic"])
    data = bytearray(bytes_of(pandas_.encode(frame)))
    back = pandas_.decode(memoryview(data))
    data[:] = b"\xff" * len(data)
    assert_same(back, frame)


def test_the_core_is_not_needed_to_look_at_a_frame_that_is_refused(box: Box) -> None:
    with pytest.raises(TypeError):
        box.push(made(REFUSED["functions"][0]))
    assert runtime.loaded() is None

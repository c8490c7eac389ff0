"""Frames as files of Arrow IPC: exact, readable by others, read by columns, and golden files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.oracle import assert_same
from tests.python.conftest import Box, harm, stored
from tests.python.frame_cases import KEPT, made
from tests.python.test_frames import bytes_of, large
from tests.python.test_partial import fields, get, mixed, wide

import airfreight
from airfreight import values
from airfreight.values import _ipc, _parquet, pandas_

GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "frame"
CODECS = ["snappy", "zstd", "lz4", "none"]


@pytest.fixture(autouse=True)
def parts_of_smaller_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ipc, "WORTH_PARTS", 100_000)


def encoded(frame: pd.DataFrame, compression: str = "snappy") -> bytes:
    options = values.Options(compression, "arrow")
    return bytes_of(pandas_.encode(frame, options, values.new_sink))


@pytest.mark.parametrize("name", KEPT)
def test_a_frame_comes_back_exactly(box: Box, name: str) -> None:
    box.set(format="arrow")
    frame = made(KEPT[name])
    row = box.push(frame)
    shown = box.fields(stored(row))
    assert shown["uri"].endswith(".arrow")
    assert shown["summary"].endswith(" arrow")
    assert_same(box.pull(stored(row)), frame)
    empty = frame.iloc[:0]
    assert_same(box.pull(stored(box.push(empty))), empty)


@pytest.mark.parametrize("compression", CODECS)
@pytest.mark.parametrize("name", ["basic", "every int and float"])
def test_what_comes_back_may_be_written_to(compression: str, name: str) -> None:
    frame = made(KEPT[name])
    back = pandas_.decode(memoryview(encoded(frame, compression)))
    assert_same(back, frame)
    for column in back:
        back[column] = back[column].to_numpy()[::-1]
        back.iloc[0, 0] = back.iloc[-1, 0]


def test_a_large_frame_is_written_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ipc, "_LEAST_ROWS", 500)
    monkeypatch.setattr(_parquet, "_GROUP_BYTES", 1 << 15)
    frame = large(3_000)
    raw = encoded(frame)
    with pa.ipc.open_file(raw) as file:
        assert file.num_record_batches > 2
        assert file.get_batch(file.num_record_batches - 1).num_rows == 0
        assert file.read_all().column("id").to_pylist()[-2:] == [2_998, 2_999]
    assert_same(pandas_.decode(memoryview(raw)), frame)


@pytest.mark.parametrize("compression", CODECS)
def test_buffers_are_compressed_as_the_setting_says(compression: str) -> None:
    sizes = {name: len(encoded(wide(3, 5_000).round(1), name)) for name in CODECS}
    assert sizes["none"] > 3 * 5_000 * 8
    assert sizes[compression] < sizes["none"] or compression == "none"
    assert sizes["snappy"] == sizes["lz4"] > sizes["zstd"]


@pytest.mark.parametrize(
    "columns",
    [["number"], ["same", "number"], ["span"], ["span.left", "kind", "at"], ["text", "maybe"], []],
    ids=lambda columns: "-".join(columns) or "none",
)
@pytest.mark.parametrize("compression", CODECS)
@pytest.mark.parametrize("rows", [3, 40_000])
def test_columns_are_as_in_the_whole_frame(
    box: Box, columns: list[str], rows: int, compression: str
) -> None:
    box.set(format="arrow", compression=compression)
    frame = mixed(rows)
    row = fields(box, frame)
    assert ("tail" in row) == (rows > 3)
    found = get(row, columns)
    pd.testing.assert_frame_equal(found, frame[columns], check_freq=False)
    assert found.attrs == {"source": "test"}
    if "number" in columns:
        found["number"] += 1  # It is the caller's.


def test_the_last_batch_is_small() -> None:
    raw = encoded(pd.DataFrame({"a": [f"text {at}" for at in range(50_000)]}), "none")
    *_, (start, head, body) = _ipc._record_batches(raw)
    assert (start + head + body) > len(raw) - 2_000
    assert body < 100


class Recording:
    """A reader of an object in memory that keeps what was asked of it."""

    def __init__(self, data: bytes, tail_offset: int) -> None:
        self._data = memoryview(data)
        self.size = len(data)
        self.tail_offset = tail_offset
        self.ranges: list[list[tuple[int, int]]] = []

    def read_tail(self) -> memoryview:
        return self._data[self.tail_offset :]

    def set_blocks(self, table: bytes) -> None:
        assert table == b"table"

    def read(self, ranges: Any) -> list[memoryview]:
        self.ranges.append(list(ranges))
        return [self._data[start : start + length] for start, length in ranges]


class Sealing:
    """A sink whose tail begins where it was sealed."""

    def __init__(self) -> None:
        self._file = io.BytesIO()
        self.sealed = 0
        self.write = self._file.write
        self.tell = self._file.tell
        self.getvalue = self._file.getvalue

    def seal_blocks(self) -> bytes:
        self.sealed = self.tell()
        return b"table"


@pytest.mark.parametrize("compression", ["lz4", "none"])
def test_only_the_heads_of_batches_and_the_wanted_columns_are_read(compression: str) -> None:
    sink = Sealing()
    frame = wide(50, 100_000)
    options = values.Options(compression, "arrow")
    pandas_.encode(frame, options, lambda *_: sink)  # type: ignore[arg-type]
    reader = Recording(sink.getvalue(), sink.sealed)
    found = pandas_.read_columns(reader, ["c7", "c30"])  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(found, frame[["c7", "c30"]])
    heads, columns = reader.ranges
    assert len(heads) == 2
    moved = sum(length for part in reader.ranges for _, length in part) + reader.size - sink.sealed
    assert moved < 2 * 100_000 * 8 + 100_000
    assert len(columns) == 2 * len(heads)


def test_all_batches_share_the_dictionary_of_a_field() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.dictionary(pa.int8(), pa.string()))])
    columns = [pa.array([1, 2]), pa.array(["x", "y"]).cast(schema.field("b").type)]
    sink = Sealing()
    _ipc.write(
        sink,
        _parquet.Table(
            schema, 2, [8.0, 1.0], lambda start, stop: [column[start:stop] for column in columns]
        ),
        b"{}",
        "none",
    )
    assert _ipc._spans(schema) is None
    whole = _ipc.Source(sink.getvalue())
    assert whole.entry == b"{}"
    rows, batches = whole.batches()
    assert rows == 2
    assert [column.to_pylist() for column in next(batches)] == [[1, 2], ["x", "y"]]


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.int8(), pa.bool_(), pa.float16(), pa.decimal128(5, 1), pa.binary(3), pa.null()),
        *(pa.string(), pa.large_binary(), pa.timestamp("s", "UTC"), pa.time32("s"), pa.date64()),
        *(pa.list_(pa.string()), pa.large_list(pa.int8()), pa.list_(pa.int8(), 2)),
        *(pa.struct([("a", pa.null()), ("b", pa.list_(pa.struct([("c", pa.string())])))]),),
        *(pa.map_(pa.string(), pa.list_(pa.int64())), pa.month_day_nano_interval()),
    ],
    ids=str,
)
def test_the_buffers_of_a_type_are_counted_as_arrow_lays_them_out(kind: pa.DataType) -> None:
    sink = io.BytesIO()
    schema = pa.schema([("a", kind)])
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([pa.nulls(3, kind)], schema=schema))
    data = sink.getvalue()
    ((start, _, _),) = _ipc._record_batches(data)
    assert _ipc._spans(schema) == [(0, len(list(_ipc._buffers(data, start))))]


def test_a_file_that_ends_otherwise_is_no_file_of_arrow() -> None:
    with pytest.raises(ValueError, match="does not end"):
        list(_ipc._record_batches(b"ARROW1" + b"x" * 40))


def test_what_is_damaged_in_a_part_is_an_error(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.set(format="arrow", compression="none")
    row = fields(box, wide())
    file = Path(row["uri"].removeprefix("file://"))
    raw = bytearray(file.read_bytes())
    at = len(raw) // 2
    raw[at : at + 200_000] = b"x" * 200_000
    harm(file, raw)
    with pytest.raises(airfreight.CorruptError):
        get(row, [f"c{number}" for number in range(20)])


def test_a_file_without_our_entry_is_an_error() -> None:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, pa.schema([("a", pa.int64())])) as writer:
        writer.write_table(pa.table({"a": [1]}))
    with pytest.raises(airfreight.CorruptError, match="without the metadata"):
        pandas_.decode(memoryview(sink.getvalue()))


def test_polars_reads_it() -> None:
    import polars

    # polars before 1.44 panics at a compressed buffer of no bytes, as a column without texts has.
    old = tuple(map(int, polars.__version__.split(".")[:2])) < (1, 44)
    for compression in ["none"] if old else CODECS:
        frame = large(2_000)
        found = polars.read_ipc(io.BytesIO(encoded(frame, compression)))
        for name in frame.columns:
            assert found[name].to_list() == pa.array(frame[name]).to_pylist(), name


# --- Golden files ---------------------------------------------------------------------------------


def golden_frame() -> pd.DataFrame:
    """What the golden files hold: each kind of column of version 1."""
    count = np.arange(40)
    frame = pd.DataFrame(
        {
            "number": count / 4,
            "whole": count * 1_000_003,
            "text": [f"text {at * 7919 % 101}" for at in count],
            "span": pd.arrays.IntervalArray.from_breaks(np.arange(41) / 2),
            "kind": pd.Categorical(
                [["a", "b", None][at % 3] for at in count], pd.Index(["a", "b"], dtype=object)
            ),
            "at": pd.date_range("2026-01-01", periods=40, freq="s", tz="UTC", unit="us"),
            "maybe": pd.array([None if at % 2 else int(at) for at in count], dtype="Int64"),
            "flag": count % 3 == 0,
        },
        index=pd.Index(count * 2, name="row"),
    )
    frame["text"] = frame["text"].astype(pd.StringDtype("python"))
    # (The texts of pandas 3 are of a dtype that pandas 2 does not have.)
    frame.columns = pd.Index(list(frame.columns), dtype=object)
    frame.attrs = {"source": "golden"}
    return frame


@pytest.mark.parametrize(
    "name", [f"v1-{codec}.{kind}" for kind in ("parquet", "arrow") for codec in CODECS]
)
def test_a_golden_file_is_read(name: str) -> None:
    frame = golden_frame()
    raw = memoryview((GOLDEN / name).read_bytes())
    assert_same(pandas_.decode(raw), frame)
    part = pandas_.decode_columns(raw, ["maybe", "text"])
    pd.testing.assert_frame_equal(part, frame[["maybe", "text"]])

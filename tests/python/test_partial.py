"""Some columns of a frame: only what they need is read, and all of that is checked."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.python.conftest import Box, harm, stored

import airfreight
from airfreight import runtime
from airfreight.values import _parquet, pandas_

if TYPE_CHECKING:
    from tests.servers.counting_proxy import CountingProxy

TABLES = hasattr(pq.ParquetWriter, "add_key_value_metadata")
with_tables = pytest.mark.skipif(not TABLES, reason="this pyarrow writes no table of blocks")


@pytest.fixture(autouse=True)
def parts_of_smaller_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parquet, "WORTH_PARTS", 100_000)


def wide(columns: int = 20, rows: int = 20_000) -> pd.DataFrame:
    """Numbers that do not compress."""
    numbers = np.random.default_rng(7).random((rows, columns))
    return pd.DataFrame(numbers, columns=[f"c{column}" for column in range(columns)])


def mixed(rows: int = 40_000) -> pd.DataFrame:
    """One column of each kind that lies in the file in a way of its own."""
    count = np.arange(rows)
    frame = pd.DataFrame(
        {
            "number": np.random.default_rng(1).random(rows),
            "text": [f"text {n * 7919 % 100_003}" for n in count],
            "span": pd.arrays.IntervalArray.from_breaks(np.arange(rows + 1) / 2),
            "span.left": count * 3,
            "kind": pd.Categorical([["a", "b", None][n % 3] for n in count]),
            "at": pd.date_range("2026-01-01", periods=rows, freq="s", tz="Europe/Berlin"),
            "maybe": pd.array([None if n % 2 else int(n) for n in count], dtype="Int64"),
            "same": 7,
        },
        index=pd.Index([f"r{n}" for n in count], name="row"),
    )
    frame.attrs = {"source": "test"}
    return frame


def get(row: Any, columns: Any) -> Any:
    return airfreight.get(row, columns=columns)


def fields(box: Box, value: Any) -> dict[str, Any]:
    return box.fields(stored(box.push(value)))


@pytest.mark.parametrize(
    "columns",
    [
        ["number"],
        ["same", "number"],
        ["span"],
        ["span.left", "kind", "at"],
        ["maybe", "text", "maybe"],
        [],
        ["number", "text", "span", "span.left", "kind", "at", "maybe", "same"],
    ],
    ids=lambda columns: "-".join(columns) or "none",
)
@pytest.mark.parametrize("rows", [3, 40_000])
def test_columns_are_as_in_the_whole_frame(box: Box, columns: list[str], rows: int) -> None:
    frame = mixed(rows)
    row = fields(box, frame)
    assert ("tail" in row) == (TABLES and rows > 3)
    found = get(row, columns)
    pd.testing.assert_frame_equal(found, frame[columns], check_freq=False)
    assert found.attrs == {"source": "test"}
    if "number" in columns:
        found["number"] += 1  # It is the caller's.


@pytest.mark.parametrize("rows", [3, 100_000])
def test_labels_may_be_anything(box: Box, rows: int) -> None:
    number = np.arange(rows)
    frame = pd.DataFrame({0: number, 1: number + 1, 2: number + 2})
    frame.columns = pd.Index([5, ("a", 1), 5], tupleize_cols=False)
    row = fields(box, frame)
    found = get(row, [("a", 1), 5])
    assert list(found.columns) == [("a", 1), 5, 5]
    assert found.iloc[0].tolist() == [1, 0, 2]

    frame.columns = pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)], names=["l", "n"])
    row = fields(box, frame)
    pd.testing.assert_frame_equal(get(row, [("y", 1), ("x", 1)]), frame[[("y", 1), ("x", 1)]])
    pd.testing.assert_frame_equal(get(row, ["x"]), frame[["x"]])


def test_a_column_that_is_not_there_is_an_error_that_names_those_that_are(box: Box) -> None:
    for frame in (mixed(3), mixed(40_000)):
        row = fields(box, frame)
        with pytest.raises(airfreight.InvalidError, match=r"no column 'nope'.*'number', 'text'"):
            get(row, ["number", "nope"])
        with pytest.raises(airfreight.InvalidError, match=r"columns=\['price'\]"):
            get(row, "number")
        with pytest.raises(airfreight.InvalidError):
            get(row, [["number"]])
    with pytest.raises(airfreight.InvalidError, match="and 80 more"):
        get(fields(box, wide(100, 3)), ["nope"])


@pytest.mark.parametrize("rows", [3, 40_000])
def test_a_column_twice_where_the_frame_forbids_it_is_an_error_of_the_asker(
    box: Box, rows: int
) -> None:
    frame = wide(3, rows)
    frame.flags.allows_duplicate_labels = False
    row = fields(box, frame)
    with pytest.raises(airfreight.InvalidError, match="twice"):
        get(row, ["c0", "c1", "c0"])
    pd.testing.assert_frame_equal(get(row, ["c1", "c0"]), frame[["c1", "c0"]])


def test_columns_that_are_taken_twice_do_not_share_their_values(box: Box) -> None:
    found = get(fields(box, wide(3, 3)), ["c0", "c1", "c0"])
    before = found.iloc[0, 2]
    found.iloc[0, 0] = before + 1
    assert found.iloc[0, 2] == before


def test_the_cost_of_a_column_does_not_grow_with_their_number(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = fields(box, wide(300, 1))

    class Uncounted(list[int]):
        def count(self, _: Any) -> int:
            raise AssertionError("goes through all columns for each of them")

    monkeypatch.setattr(pandas_, "list", Uncounted, raising=False)
    assert box.pull(row).shape == (1, 300)


@pytest.mark.parametrize("value", [b"x", ["y" * 50_000], {1: "z" * 50_000}, np.arange(3)], ids=repr)
def test_columns_of_what_has_none_is_an_error(box: Box, value: Any) -> None:
    with pytest.raises(airfreight.InvalidError, match="only frames have columns") as caught:
        get(fields(box, value), ["a"])
    assert caught.value.task == "extract"


@with_tables
def test_a_flipped_byte_is_found_wherever_it_is_read(box: Box, tmp_path: Path) -> None:
    frame = mixed(20_000)
    row = fields(box, frame)
    file = box.file(row)
    metadata = pq.ParquetFile(file).metadata
    index, number, kind = 9, 0, 5  # Of Parquet's columns: an interval takes two.
    extents = _parquet.extents(metadata, [number, kind, index])
    tail = row["tail"][0]
    places = {place for start, stop in extents for place in (start, start + 9, stop - 1)}
    places |= {(start + stop) // 2 for start, stop in extents}
    places |= set(range(tail, row["size_bytes"], max(1, (row["size_bytes"] - tail) // 40)))
    places |= {row["size_bytes"] - back for back in (1, 4, 5, 8)}
    whole = file.read_bytes()
    for place in sorted(places):
        harmed = bytearray(whole)
        harmed[place] ^= 0x10
        harm(file, harmed)
        with pytest.raises(airfreight.CorruptError) as caught:
            get(row, ["number", "kind"])
        assert caught.value.task == "extract", place
    harm(file, whole)
    pd.testing.assert_frame_equal(get(row, ["number", "kind"]), frame[["number", "kind"]])


class Told(Exception):  # noqa: N818
    """What a signal handler raises."""


@pytest.mark.parametrize("where", ["read_tail", "set_blocks", "read"])
@pytest.mark.parametrize("raised", [Told, OSError, MemoryError])
@with_tables
def test_what_others_raise_during_a_transfer_is_no_damage(
    box: Box, monkeypatch: pytest.MonkeyPatch, where: str, raised: type[Exception]
) -> None:
    row = fields(box, wide())
    core = runtime.freight()

    class Reader:
        def __init__(self, text: str) -> None:
            self._reader = core.open_reader(text)

        def __getattr__(self, name: str) -> Any:
            return fail if name == where else getattr(self._reader, name)

    def fail(*_: Any) -> Any:
        raise raised("stop")

    monkeypatch.setattr(runtime, "freight", lambda: SimpleNamespace(open_reader=Reader))
    with pytest.raises(raised, match="stop"):
        get(row, ["c3"])


@pytest.mark.parametrize("raised", [MemoryError, pa.ArrowMemoryError])
def test_want_of_memory_is_no_damage(
    box: Box, monkeypatch: pytest.MonkeyPatch, raised: type[Exception]
) -> None:
    row = box.push(wide())

    def fail(_: Any) -> Any:
        raise raised("out of memory")

    monkeypatch.setattr(pandas_, "decode", fail)
    with pytest.raises(raised, match="out of memory"):
        box.pull(row)


@with_tables
def test_what_is_not_read_is_not_looked_at(box: Box) -> None:
    frame = wide(rows=40_000)
    row = fields(box, frame)
    file = box.file(row)
    (start, stop), *_ = _parquet.extents(pq.ParquetFile(file).metadata, [10])
    harmed = bytearray(file.read_bytes())
    harmed[(start + stop) // 2] ^= 1
    harm(file, harmed)
    pd.testing.assert_frame_equal(get(row, ["c0", "c19"]), frame[["c0", "c19"]])
    with pytest.raises(airfreight.CorruptError):
        get(row, ["c10"])
    with pytest.raises(airfreight.CorruptError):
        box.pull(row)


@with_tables
@pytest.mark.parametrize("cut", [1, 1000])
def test_an_object_that_is_shorter_is_damaged(box: Box, cut: int) -> None:
    row = fields(box, wide())
    file = box.file(row)
    harm(file, file.read_bytes()[:-cut])
    with pytest.raises(airfreight.Error) as caught:
        get(row, ["c0"])
    assert isinstance(caught.value, (airfreight.CorruptError, airfreight.ReplacedError))


def test_page_checksums_are_written(box: Box) -> None:
    if int(pa.__version__.partition(".")[0]) < 15:
        pytest.skip("this pyarrow has none")
    file = box.file(fields(box, wide()))
    harmed = bytearray(file.read_bytes())
    (start, stop), *_ = _parquet.extents(pq.ParquetFile(file).metadata, [3])
    harmed[(start + stop) // 2] ^= 1
    harm(file, harmed)
    with pytest.raises(OSError, match=r"(?i)crc"):
        pq.read_table(file, page_checksum_verification=True)


# What is moved.


@with_tables
@pytest.mark.s3
@pytest.mark.parametrize(
    ("columns", "most"),
    # One for the tail, and one for each run of columns in each of the three groups of rows.
    [(["c3", "c4"], 4), (["c3", "c12"], 7)],
    ids=["neighbours", "apart"],
)
def test_two_of_twenty_columns_move_a_tenth_of_the_bytes(
    s3: Box, proxy: CountingProxy, columns: list[str], most: int
) -> None:
    frame = wide(rows=312_500)  # 50 MB
    row = fields(s3, frame)
    assert row["size_bytes"] > 50_000_000
    proxy.clear()
    found = get(row, columns)
    pd.testing.assert_frame_equal(found, frame[columns])
    requests = proxy.requests
    assert {request.method for request in requests} == {"GET"}
    assert sum(request.response_bytes for request in requests) <= 0.15 * row["size_bytes"]
    assert len(requests) <= most, [request.headers.get("range") for request in requests]


@with_tables
@pytest.mark.s3
def test_columns_of_a_small_frame_take_one_request(s3: Box, proxy: CountingProxy) -> None:
    row = fields(s3, mixed(10))
    proxy.clear()
    assert get(row, ["number"]).shape == (10, 1)
    assert [request.method for request in proxy.requests] == ["GET"]

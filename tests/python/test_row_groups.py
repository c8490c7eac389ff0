"""Row groups that are encoded at the same time make the file that one writer makes."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracle import assert_same
from tests.python.frame_cases import KEPT, made

from airfreight import _core
from airfreight.values import Options, _parquet, pandas_

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not _parquet._JOINS, reason="this pyarrow's files can't be joined")

_T = TypeVar("_T")
COMPRESSIONS = ("snappy", "zstd", "lz4", "none")


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parquet, "_MIN_GROUP_ROWS", 500)
    monkeypatch.setattr(_parquet, "_GROUP_BYTES", 1 << 15)
    monkeypatch.setattr(_core, "available_cpus", lambda: 3)


def mixed(rows: int = 5_000) -> pd.DataFrame:
    r = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "price": np.round(r.lognormal(3, 1, rows), 2),
            "score": r.normal(size=rows),
            "country": r.choice(["DE", "FR", "US"], rows),
            "sku": [f"SKU-{i:07d}" for i in r.integers(0, rows, rows)],
            "text": [f"{i} " * 9 for i in r.integers(0, 1 << 60, rows)],
            "flag": r.random(rows) > 0.5,
            "n": pd.array(r.integers(0, 9, rows), dtype="Int8"),
            "kind": pd.Categorical(r.choice(["a", "b"], rows)),
            "span": pd.arrays.IntervalArray.from_breaks(np.arange(rows + 1)),
            "nothing": [None] * rows,
            "when": pd.date_range("2026-01-01", periods=rows, freq="s", tz="Europe/Berlin"),
        },
        index=pd.Index(r.permutation(rows), name="k"),
    )


def encoded(frame: pd.DataFrame, compression: str = "snappy", sink: Any = None) -> bytes:
    made_sinks: list[Any] = []

    def new_sink(*_: Any) -> Any:
        made_sinks.append(sink if sink is not None else _core.Sink())
        return made_sinks[-1]

    pandas_.encode(frame, Options(compression), new_sink)
    raw: bytes = made_sinks[-1].getvalue()
    return raw


def in_turn(monkeypatch: pytest.MonkeyPatch, call: Callable[[], _T]) -> _T:
    """What a machine of one processor makes of it."""
    with monkeypatch.context() as patch:
        patch.setattr(_core, "available_cpus", lambda: 1)
        return call()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_file_is_the_same_on_any_number_of_processors(
    monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    frame = mixed()
    one = in_turn(monkeypatch, lambda: encoded(frame, compression))
    many = encoded(frame, compression)
    assert pq.ParquetFile(io.BytesIO(many)).num_row_groups > 3
    assert many == one
    assert_same(pandas_.decode(memoryview(many)), frame)


@pytest.mark.parametrize("name", KEPT)
def test_so_it_is_for_columns_of_any_kind(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    frame = made(KEPT[name])
    monkeypatch.setattr(_parquet, "_MIN_GROUP_ROWS", 1)
    monkeypatch.setattr(_parquet, "_GROUP_BYTES", 1)
    one = in_turn(monkeypatch, lambda: encoded(frame))
    many = encoded(frame)
    assert many == one
    assert_same(pandas_.decode(memoryview(many)), frame)


def test_other_readers_read_it() -> None:
    import polars as pl

    frame = mixed().drop(columns="span")
    raw = encoded(frame)
    metadata = pq.read_metadata(io.BytesIO(raw))
    assert metadata.num_rows == len(frame)
    assert [
        metadata.row_group(n).to_dict()["num_rows"] for n in range(metadata.num_row_groups)
    ] == [metadata.row_group(0).num_rows] * metadata.num_row_groups
    read = pl.read_parquet(io.BytesIO(raw))
    assert read["sku"].to_list() == frame["sku"].tolist()
    assert read["score"].to_list() == frame["score"].tolist()
    # Row group by row group, from the middle: its offsets are those of this file.
    file = pq.ParquetFile(io.BytesIO(raw), page_checksum_verification=True)
    start = 2 * metadata.row_group(0).num_rows
    part = file.read_row_group(2, columns=["id", "text"])
    assert part["text"].to_pylist() == frame["text"].tolist()[start : start + len(part)]


def of_long_texts(rows: int = 3_000) -> pd.DataFrame:
    r = np.random.default_rng(0)
    body = [f"{i} " * 90 for i in r.integers(0, 1 << 60, rows)]
    body[7] = None  # type: ignore[call-overload]
    kind = pd.Categorical(r.choice(["a", "b"], rows))
    return pd.DataFrame({"id": np.arange(rows), "body": body, "kind": kind})


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_row_groups_of_one_large_column_are_read_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    frame = of_long_texts()
    raw = encoded(frame, compression)
    metadata = pq.read_metadata(io.BytesIO(raw))
    assert metadata.num_row_groups > 3
    assert _parquet._reading_threads(metadata) == 3
    at_work: set[str] = set()
    opened = _parquet.open_file

    def spying(*arguments: Any, **options: Any) -> Any:
        at_work.add(threading.current_thread().name.partition("_")[0])
        return opened(*arguments, **options)

    monkeypatch.setattr(_parquet, "open_file", spying)
    back = pandas_.decode(memoryview(raw))
    assert "airfreight-decode" in at_work
    assert_same(back, frame)
    back.iloc[0, 0], back.iloc[0, 1] = -1, "it may be written to"
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith("airfreight-decode")
    ]


def test_without_threads_they_are_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = of_long_texts()
    raw = encoded(frame)
    assert_same(in_turn(monkeypatch, lambda: pandas_.decode(memoryview(raw))), frame)

    def refuse(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert_same(pandas_.decode(memoryview(raw)), frame)


def test_columns_of_about_one_size_are_left_to_pyarrow() -> None:
    frame = pd.DataFrame({name: np.random.default_rng(0).normal(size=9_000) for name in "abcdef"})
    metadata = pq.read_metadata(io.BytesIO(encoded(frame)))
    assert metadata.num_row_groups > 3
    assert _parquet._reading_threads(metadata) == 1


def test_groups_are_of_one_size_and_many_are_an_even_number() -> None:
    for rows in (1, 499, 500, 501, 1_000, 1_001, 2_501, 9_999):
        frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=rows)})
        metadata = pq.read_metadata(io.BytesIO(encoded(frame)))
        sizes = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
        assert sum(sizes) == rows
        assert len(sizes) <= 3 or len(sizes) % 2 == 0
        assert max(sizes) - min(sizes) < len(sizes) or len(sizes) == 1


def test_row_groups_that_are_longer_than_their_values_are_written_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = encoded(mixed())
    allocate = pa.allocate_buffer
    monkeypatch.setattr(pa, "allocate_buffer", lambda _: allocate(1_000))
    assert encoded(mixed()) == expected


@pytest.mark.parametrize(
    ("cpus", "rows", "row_bytes", "expected"),
    [
        (1, 1_000_000, 64, 1),
        (2, 1_000_000, 64, 2),
        (64, 1_000_000, 64, 4),
        (64, 300_000, 64, 2),
        (64, 10, 64, 1),  # One row group.
        (64, 1_000, 1 << 20, 1),  # Row groups of 64 MiB.
    ],
)
def test_threads_are_few_and_hold_little(
    monkeypatch: pytest.MonkeyPatch, cpus: int, rows: int, row_bytes: float, expected: int
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(_core, "available_cpus", lambda: cpus)
    table = _parquet.Table(
        pa.schema([("a", pa.int64())]), rows, [float(row_bytes)], lambda start, stop: []
    )
    assert _parquet._threads(table, _parquet.group_rows(table)) == expected


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("airfreight-encode")]


class Failing:
    """A sink whose write raises, of the third row group."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.writes = 0
        self.abandoned: list[bool] = []

    def write(self, data: Any) -> int:
        self.writes += 1
        if self.writes == 4:
            raise self.error
        return len(data)

    def tell(self) -> int:
        return 4

    def abandon(self, *, hurry: bool = False) -> None:
        self.abandoned.append(hurry)


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt("time is up")], ids=type)
def test_no_thread_outlives_an_error(error: BaseException) -> None:
    # What a signal handler raises is raised where the main thread waits or writes.
    sink = Failing(error)
    with pytest.raises(type(error), match=str(error)):
        encoded(mixed(), sink=sink)
    assert sink.abandoned == [not isinstance(error, Exception)]
    assert sink.writes == 4
    assert threads() == []


def test_an_error_of_the_encoder_is_that_of_the_push(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _parquet._encode_group

    def fail(part: pa.Table, options: dict[str, Any]) -> memoryview:
        if part["id"][0].as_py() > 0:
            raise pa.ArrowInvalid("no such luck")
        return whole(part, options)

    monkeypatch.setattr(_parquet, "_encode_group", fail)
    with pytest.raises(pa.ArrowInvalid, match="no such luck"):
        encoded(mixed())
    assert threads() == []


def test_no_thread_outlives_a_push() -> None:
    encoded(mixed())
    assert threads() == []


def test_without_threads_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = encoded(mixed())

    def none(*_: Any) -> Any:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor.submit", none)
    assert encoded(mixed()) == expected


def test_a_broken_footer_is_an_error() -> None:
    with pytest.raises(Exception, match="footer of a Parquet file is broken"):
        _core.merge_parquet_footers([(b"nonsense", 0)], [])

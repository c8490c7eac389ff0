"""Which encodings are chosen, and that the files are no larger than a writer's defaults make."""

from __future__ import annotations

import io
import itertools
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airfreight import values
from airfreight.values import _encodings, pandas_

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 40_000
WORDS = ["amber", "birch", "cobalt", "dune", "ember", "fjord", "grove", "harbour", "inlet", "jade"]


def chosen(items: Any, compression: str = "snappy") -> _encodings.Choice:
    array = items if isinstance(items, pa.Array) else pa.array(items)
    sample = [array.slice(a, b - a) for a, b in _encodings.blocks(len(array))]
    ((_, leaf),) = _encodings.leaves("column", sample)
    return _encodings.choose(leaf, len(array), compression)


def random() -> np.random.Generator:
    return np.random.default_rng(7)


def identifiers() -> list[str]:
    raw = random().bytes(16 * ROWS)
    return [str(uuid.UUID(bytes=raw[at : at + 16])) for at in range(0, len(raw), 16)]


def texts(count: int) -> list[str]:
    picks = random().integers(0, len(WORDS), (count, 40))
    return [f"{row} " + " ".join(WORDS[at] for at in line) for row, line in enumerate(picks)]


CASES: dict[str, tuple[Callable[[], Any], str, bool | None]] = {
    "a counter": (lambda: np.arange(ROWS), "DELTA_BINARY_PACKED", True),
    "seconds within a month": (
        lambda: random().integers(0, 86400 * 30, ROWS).astype("M8[s]").astype("M8[us]"),
        "DELTA_BINARY_PACKED",
        None,
    ),
    "dates": (
        lambda: random().integers(0, 20_000, ROWS).astype("M8[D]"),
        "DELTA_BINARY_PACKED",
        None,
    ),
    "hashes": (lambda: random().integers(-(2**63), 2**63 - 1, ROWS), "PLAIN", False),
    "differences that wrap around": (
        lambda: np.tile([-(2**63), 2**63 - 1], ROWS // 2),
        "DICTIONARY",
        True,
    ),
    "few widely spread numbers": (
        lambda: random().choice(random().integers(0, 2**62, 50), ROWS),
        "DICTIONARY",
        True,
    ),
    "noise": (lambda: random().normal(size=ROWS), "PLAIN", False),
    "prices": (lambda: np.round(random().gamma(2, 3, ROWS), 2), "DICTIONARY", True),
    "a random walk": (
        lambda: (1e6 + np.cumsum(random().normal(size=ROWS))).astype("f8"),
        "BYTE_STREAM_SPLIT",
        True,
    ),
    "countries": (lambda: random().choice(["DE", "FR", "NL"], ROWS), "DICTIONARY", True),
    "random identifiers": (identifiers, "DELTA_LENGTH_BYTE_ARRAY", False),
    "keys in order": (
        lambda: [f"ORDER-2026-{at:09d}" for at in range(0, 7 * ROWS, 7)],
        "DELTA_BYTE_ARRAY",
        False,
    ),
    "long texts": (lambda: texts(2_000), "PLAIN", True),
    "truth": (lambda: random().random(ROWS) > 0.5, "PLAIN", True),
}


@pytest.mark.parametrize("name", CASES)
def test_the_encoding_of(name: str) -> None:
    make, encoding, compress = CASES[name]
    choice = chosen(make())
    assert choice.encoding == encoding
    assert compress is None or choice.compress is compress


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("compression", ["snappy", "zstd", "lz4", "none"])
def test_the_choice_is_no_larger_than_the_defaults(name: str, compression: str) -> None:
    table = pa.table({"column": pa.array(CASES[name][0]())})
    choice = chosen(table.column(0).chunk(0), compression)

    def size(codec: str, **options: Any) -> int:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression=codec, write_statistics=False, **options)
        return int(sink.getvalue().size)

    encoding = choice.encoding
    special = (
        {} if encoding in ("PLAIN", "DICTIONARY") else {"column_encoding": {"column": encoding}}
    )
    ours = size(
        compression if choice.compress else "none",
        use_dictionary=encoding == "DICTIONARY",
        **special,
    )
    # One part in fifty for what a sample can't tell.
    assert ours <= 1.02 * size(compression) + 1024


def test_without_a_codec_nothing_is_gained_by_one() -> None:
    assert chosen(texts(2_000), "none").encoding == "DELTA_LENGTH_BYTE_ARRAY"


@pytest.mark.parametrize(
    ("distinct", "expected"), [(5, (5, 5)), (3_000, (2_500, 3_500)), (10_000, (8_000, 12_000))]
)
def test_the_number_of_different_values_is_estimated(
    distinct: int, expected: tuple[int, int]
) -> None:
    rows = 1_000_000
    column = pa.array(random().integers(0, distinct, rows))
    parts = [column.slice(a, b - a) for a, b in _encodings.blocks(rows)]
    found = _encodings._dictionary(parts, 8, rows)
    assert found is not None
    assert expected[0] <= found.distinct <= expected[1]


def test_what_is_in_order_has_ever_more_different_values() -> None:
    rows = 1_000_000
    column = pa.array(np.arange(rows) // 10)
    parts = [column.slice(a, b - a) for a, b in _encodings.blocks(rows)]
    lengths = [len(part) for part in parts]
    codes = pa.concat_arrays(parts).dictionary_encode()
    found = _encodings._distinct(
        codes.indices.to_numpy(), len(codes.dictionary), lengths, float(rows)
    )
    assert 90_000 < found < 110_000


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 1023, 1024, 1025, 40_000, 1_000_000])
def test_a_sample_is_spread_over_the_rows(rows: int) -> None:
    found = _encodings.blocks(rows)
    assert found[0][0] == 0
    assert found[-1][1] in (rows, rows - 1)
    assert all(start < stop for start, stop in found)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(found))
    assert sum(stop - start for start, stop in found) <= max(1024, _encodings.SAMPLE_ROWS)


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_()),
        *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), pa.timestamp("s", "UTC")),
        *(pa.duration("ms"), pa.decimal128(10, 2), pa.string(), pa.large_binary(), pa.binary(4)),
        *(pa.null(), pa.dictionary(pa.int8(), pa.string()), pa.month_day_nano_interval()),
        *(pa.list_(pa.int64()), pa.struct([("a", pa.string()), ("b", pa.list_(pa.int8()))])),
        *(pa.map_(pa.string(), pa.int32()), pa.list_(pa.float32(), 2), pa.large_list(pa.date32())),
    ],
    ids=str,
)
@pytest.mark.parametrize("rows", [0, 1, 2, 9])
def test_any_type_has_a_choice_also_of_nulls_only(kind: pa.DataType, rows: int) -> None:
    array = pa.nulls(rows, kind)
    for path, sample in _encodings.leaves("x", [array, array]):
        assert path.startswith("x")
        assert _encodings.choose(sample, max(1, rows), "snappy")


def test_paths_are_those_of_parquet() -> None:
    kind = pa.struct(
        [("a", pa.list_(pa.int64())), ("b", pa.map_(pa.string(), pa.struct([("c", pa.int8())])))]
    )
    array = pa.nulls(3, kind)
    found = [path for path, _ in _encodings.leaves("x", [array])]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": array}), sink)
    schema = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    assert found == [schema.column(number).path for number in range(len(schema))]


def test_of_a_map_only_its_own_part_is_looked_at() -> None:
    maps = pa.array([[(1, "a")], [(2, "b"), (3, "c")], [(4, "d")]], pa.map_(pa.int8(), pa.string()))
    leaves = dict(_encodings.leaves("m", [maps.slice(1, 1)]))
    assert [part.to_pylist() for part in leaves["m.key_value.key"]] == [[2, 3]]
    assert [part.to_pylist() for part in leaves["m.key_value.value"]] == [["b", "c"]]


def frame() -> pd.DataFrame:
    return pd.DataFrame({name: make()[:2_000] for name, (make, _, _) in CASES.items()})


def file_of(value: pd.DataFrame) -> bytes:
    body: Any = pandas_.encode(value, values.DEFAULTS, values.new_sink).body
    written: bytes = body.getvalue()
    return written


def test_files_have_no_statistics_and_the_chosen_encodings() -> None:
    metadata = pq.ParquetFile(io.BytesIO(file_of(frame()))).metadata
    found = {}
    for number in range(metadata.num_columns):
        column = metadata.row_group(0).column(number)
        assert not column.is_stats_set
        found[column.path_in_schema] = set(column.encodings)
    assert "DELTA_BINARY_PACKED" in found["a counter"]
    assert "DELTA_LENGTH_BYTE_ARRAY" in found["random identifiers"]
    assert "DELTA_BYTE_ARRAY" in found["keys in order"]
    assert "RLE_DICTIONARY" in found["countries"]


def test_the_same_frame_gives_the_same_file() -> None:
    value = frame()
    assert file_of(value) == file_of(value.copy())


def test_polars_reads_every_encoding() -> None:
    import polars

    value = frame()
    found = polars.read_parquet(io.BytesIO(file_of(value)))
    for name in value.columns:
        assert found[name].to_list() == pa.array(value[name]).to_pylist(), name


def test_duckdb_reads_every_encoding(tmp_path: Any) -> None:
    import duckdb

    value = frame()
    (tmp_path / "frame.parquet").write_bytes(file_of(value))
    rows = duckdb.sql(f"select * from read_parquet('{tmp_path / 'frame.parquet'}')").fetchall()
    expected = [pa.array(value[name]).to_pylist() for name in value.columns]
    assert rows == list(zip(*expected, strict=True))

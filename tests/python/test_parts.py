"""Parts of values of every kind: `get` and `pull` with a path, with columns, with both."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.oracle import assert_same
from tests.python.conftest import Box, harm, stored

import airfreight
from airfreight import task
from airfreight.values import DEFAULTS, _parquet, _streams, arrow_, polars_

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.counting_proxy import CountingProxy

NAMES = ["id", "text", "kind"]


@pytest.fixture(autouse=True)
def parts_of_smaller_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_parquet, _streams, polars_):
        monkeypatch.setattr(module, "WORTH_PARTS", 100_000)


def polars(rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": range(rows),
            "text": [f"text {n * 7919 % 1013}" for n in range(rows)],
            "kind": pl.Series([["a", "b", None][n % 3] for n in range(rows)], dtype=pl.Categorical),
        }
    )


def table(rows: int) -> pa.Table:
    half = rows // 2
    return pa.table(
        {
            "id": pa.chunked_array([range(half), range(half, rows)]),
            "text": [f"text {n * 7919 % 1013}" for n in range(rows)],
            "kind": pa.array([["a", "b", None][n % 3] for n in range(rows)]).dictionary_encode(),
        },
        metadata={"of": "the table"},
    )


def frame(rows: int) -> pd.DataFrame:
    return pd.DataFrame({"id": range(rows), "text": ["x"] * rows, "kind": np.arange(rows) / 3})


#: Name -> what makes a value of so many rows, and what takes columns of it.
FRAMES: dict[str, tuple[Callable[[int], Any], Callable[[Any, list[str]], Any]]] = {
    "pandas": (frame, lambda it, names: it[names]),
    "polars": (polars, lambda it, names: it.select(names)),
    "lazy": (lambda rows: polars(rows).lazy(), lambda it, names: it.select(names)),
    # pyarrow has no such integers.
    "wide": (
        lambda rows: polars(rows).with_columns(wide=pl.lit(1).cast(pl.Int128)),
        lambda it, names: it.select(names),
    ),
    "table": (table, lambda it, names: it.select(names)),
    "batch": (
        lambda rows: table(rows).combine_chunks().to_batches()[0],
        lambda it, names: it.select(names),
    ),
    "reader": (
        lambda rows: table(rows).to_reader(),
        lambda it, names: pa.RecordBatchReader.from_batches(
            it.schema.empty_table().select(names).schema, (one.select(names) for one in it)
        ),
    ),
}


def same(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    if isinstance(found, pl.LazyFrame):
        found, wanted = found.collect(), wanted.collect()
    if isinstance(found, pa.RecordBatchReader):
        found, wanted = found.read_all(), wanted.read_all()
    assert_same(found, wanted)


@pytest.mark.parametrize("names", [["text"], ["kind", "id"], [*NAMES], []], ids="-".join)
@pytest.mark.parametrize("rows", [3, 60_000])
@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("name", FRAMES)
def test_columns_of_any_frame_are_as_in_the_whole(
    box: Box, name: str, form: str, rows: int, names: list[str]
) -> None:
    if form == "arrow" and name in ("table", "batch", "reader"):
        pytest.skip("always a stream of Arrow IPC")
    box.set(format=form)
    make, take = FRAMES[name]
    row = box.fields(stored(box.push(make(rows))))
    if rows > 3 and form == "parquet" and name != "pandas":  # (Which compresses well here.)
        assert "tail" in row
    same(box.pull(row), make(rows))
    same(airfreight.get(row, columns=names), take(make(rows), names))
    inside = box.fields(stored(box.push({"here": [make(rows)], "n": np.arange(9000)}, key="b")))
    same(airfreight.get(inside, "here", 0, columns=names), take(make(rows), names))


@pytest.mark.parametrize("name", FRAMES)
def test_a_column_that_is_not_there_is_an_error_that_names_those_that_are(
    box: Box, name: str
) -> None:
    row = box.fields(stored(box.push(FRAMES[name][0](3))))
    for wrong in ("nope", None, 0, ("id",)):
        with pytest.raises(airfreight.InvalidError, match=r"no column .*'id', 'text'") as caught:
            airfreight.get(row, columns=["id", wrong])
        assert caught.value.task == "extract"


def test_a_column_twice(box: Box) -> None:
    row = box.fields(stored(box.push(polars(3))))
    with pytest.raises(airfreight.InvalidError, match="twice"):
        airfreight.get(row, columns=["id", "id"])
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["a", "b", "a"])
    row = box.fields(stored(box.push(twice)))
    assert airfreight.get(row, columns=["a"]).equals(twice.select([0, 2]))
    assert airfreight.get(row, columns=["b", "a"]).equals(twice.select([1, 0, 2]))


@pytest.mark.parametrize(
    "value", [pl.Series("s", [1]), pa.array([1]), pa.chunked_array([[1]])], ids=range(3)
)
def test_what_has_no_columns(box: Box, value: Any) -> None:
    row = box.fields(stored(box.push(value)))
    with pytest.raises(airfreight.InvalidError, match="only frames have columns"):
        airfreight.get(row, columns=["s"])
    row = box.fields(stored(box.push([value, np.arange(9000)], key="b")))
    with pytest.raises(airfreight.InvalidError, match="only frames have columns"):
        airfreight.get(row, 0, columns=["s"])


def sealed(value: Any) -> tuple[bytes, int]:
    """A stream with its tail, and where that begins."""

    class Sink:
        def __init__(self) -> None:
            self.bytes = bytearray()
            self.end = 0

        def write(self, data: Any) -> int:
            self.bytes += memoryview(data).cast("B")
            return len(data)

        def tell(self) -> int:
            return len(self.bytes)

        def seal_blocks(self) -> bytes:
            self.end = len(self.bytes)
            return bytes(4 * -(-self.end // 65536))

    sink: Any = Sink()
    arrow_.TABLE.encode(value, DEFAULTS, lambda _=None, /: sink)
    return bytes(sink.bytes), sink.end


def test_what_lies_behind_a_stream_is_passed_over_by_its_readers() -> None:
    data, end = sealed(table(60_000))
    assert len(data) > end
    assert pa.ipc.open_stream(data).read_all().equals(table(60_000))
    assert pl.read_ipc_stream(data).height == 60_000


def test_streams_of_many_small_batches_get_no_tail(box: Box) -> None:
    one = pa.table({"a": range(10)})
    many = pa.concat_tables([one] * 3000)
    row = box.fields(stored(box.push(many)))
    assert row["size_bytes"] > 100_000
    assert "tail" not in row
    assert airfreight.get(row, columns=["a"]).equals(many)


@pytest.mark.parametrize("make", [table, polars])
def test_a_flipped_byte_is_found_wherever_it_is_read(box: Box, make: Any) -> None:
    row = box.fields(stored(box.push(make(60_000))))
    file = box.file(row)
    data = file.read_bytes()
    tail = row["tail"][0]
    found = 0
    places = [*range(8, tail, tail // 40), *range(tail, len(data), (len(data) - tail) // 40)]
    for place in places:
        harmed = bytearray(data)
        harmed[place] ^= 1
        harm(file, harmed)
        try:
            got = airfreight.get(row, columns=["id"])
        except airfreight.CorruptError:
            found += 1
        else:
            assert place < tail
            same(got, FRAMES["table" if make is table else "polars"][1](make(60_000), ["id"]))
    assert found > len([place for place in places if place >= tail])


# Mappables.


def elements(rows: int) -> list[Any]:
    return [
        frame(rows),
        polars(rows),
        {"train": frame(rows), "models": [np.arange(9000.0), np.arange(5.0)], "n": 3},
        {"n": [1, (2, 3)]},
        airfreight.mappable([frame(rows), 7]),
    ]


@pytest.mark.parametrize("rows", [3, 60_000])
@pytest.mark.parametrize("as_dict", [False, True], ids=["list", "dict"])
def test_parts_of_elements(box: Box, as_dict: bool, rows: int) -> None:
    bare = elements(rows)
    value = dict(zip("abcde", bare, strict=True)) if as_dict else bare
    at = "abcde" if as_dict else range(5)
    row = box.fields(stored(box.push(airfreight.mappable(value))))
    inside = box.fields(stored(box.push({"in": airfreight.mappable(value)}, key="b")))
    for ref, path in ((row, ()), (inside, ("in",))):
        assert_same(airfreight.get(ref, *path, at[0], columns=["kind"]), bare[0][["kind"]])
        assert_same(airfreight.get(ref, *path, at[1], columns=["kind"]), bare[1].select("kind"))
        assert_same(airfreight.get(ref, *path, at[2], "train", columns=["id"]), frame(rows)[["id"]])
        assert_same(airfreight.get(ref, *path, at[2], "models", 1), np.arange(5.0))
        assert_same(airfreight.get(ref, *path, at[2], "n"), 3)
        assert_same(airfreight.get(ref, *path, at[2]), bare[2])
        assert_same(airfreight.get(ref, *path, at[3], "n", 1, 0), 2)
        assert_same(airfreight.get(ref, *path, at[4], 1), 7)
        assert_same(airfreight.get(ref, *path, at[4], 0, columns=["id"]), frame(rows)[["id"]])
        place = "".join(rf"\[{step!r}\]" for step in (*path, at[2]))
        with pytest.raises(airfreight.InvalidError, match=rf"the value{place} has no part 'nope'"):
            airfreight.get(ref, *path, at[2], "nope")
        with pytest.raises(
            airfreight.InvalidError, match=rf"{place}\['models'\] has no part 2; it"
        ):
            airfreight.get(ref, *path, at[2], "models", 2)
        with pytest.raises(airfreight.InvalidError, match="of which nothing can be read by itself"):
            airfreight.get(ref, *path, at[0], "kind")
        with pytest.raises(airfreight.InvalidError, match="no column 'nope'"):
            airfreight.get(ref, *path, at[0], columns=["nope"])
        with pytest.raises(airfreight.InvalidError, match=r"is no frame|only frames"):
            airfreight.get(ref, *path, at[3], columns=["nope"])
    assert_same(airfreight.get(row, slice(2, 4)) if not as_dict else bare[2:4], bare[2:4])
    if as_dict:
        assert_same(airfreight.get(row, 3), ("d", bare[3]))
        assert airfreight.get(row, 3, 1, "n", 0) == 1
        assert_same(airfreight.get(row, 0, 1, columns=["id"]), frame(rows)[["id"]])


# pull


class Instance(SimpleNamespace):
    """A task instance whose rows are given."""

    def xcom_pull(self, task_ids: Any = None, **_: Any) -> Any:
        found = [
            airfreight.XComBackend.deserialize_value(SimpleNamespace(value=row))
            for row in self.rows
        ]
        return found[0] if isinstance(task_ids, str) else found


@pytest.fixture
def pulling(monkeypatch: pytest.MonkeyPatch) -> Instance:
    instance = Instance(rows=[])
    monkeypatch.setattr(task, "context", lambda: {"ti": instance})
    return instance


@pytest.mark.parametrize("rows", [3, 60_000])
def test_pull_takes_a_part(box: Box, pulling: Instance, rows: int) -> None:
    models = [np.arange(9.0), np.arange(float(rows))]
    value = {"train": frame(rows), "models": models, (1, 2): "x", "n": 3}
    pulling.rows = [stored(box.push(value))]
    assert ("tail" in box.fields(pulling.rows[0])) == (rows > 3)
    assert_same(airfreight.pull("a", part="train"), value["train"])
    assert_same(airfreight.pull("a", part=["models", 1]), value["models"][1])
    assert_same(airfreight.pull("a", part=["train"], columns=["id"]), value["train"][["id"]])
    assert airfreight.pull("a", part=(1, 2)) == "x"
    assert airfreight.pull("a", part="n") == 3
    assert_same(airfreight.pull("a", part=[]), value)
    with pytest.raises(airfreight.InvalidError, match=r"has no part 'nope'; it has 'train'"):
        airfreight.pull("a", part="nope")
    with pytest.raises(airfreight.InvalidError, match=r"has no part 'id'|can be read by itself"):
        airfreight.pull("a", part=["train", "id"])
    assert_same(airfreight.pull("a"), value)


@pytest.mark.parametrize("threshold", [-1, 0, 32768])
def test_pull_takes_a_part_of_what_lies_in_a_row(
    box: Box, pulling: Instance, threshold: int
) -> None:
    box.set(threshold=threshold)
    pulling.rows = [stored(box.push({"a": [1, {"b": "text"}]}))]
    assert airfreight.pull("a", part=["a", 1, "b"]) == "text"
    with pytest.raises(airfreight.InvalidError, match=r"\['b'\] has no part 0; it is a str"):
        airfreight.pull("a", part=["a", 1, "b", 0])
    with pytest.raises(airfreight.InvalidError, match="is no frame"):
        airfreight.pull("a", part="a", columns=["x"])


def test_pull_takes_a_part_of_the_value_of_each_task(box: Box, pulling: Instance) -> None:
    values = [{"n": n, "x": np.arange(n * 9000)} for n in range(3)]
    pulling.rows = [stored(box.push(value, key=str(n))) for n, value in enumerate(values)]
    assert airfreight.pull(["a", "b"], part="n") == [0, 1, 2]
    pulling.rows = [None]
    assert airfreight.pull("a", part="n") is None


@pytest.mark.parametrize(
    ("name", "value", "columns"),
    [
        ("pandas", frame(3), lambda it: it[["id"]]),
        ("polars", polars(3), lambda it: it.select("id")),
        ("table", table(3), lambda it: it.select(["id"])),
    ],
)
def test_pull_takes_columns_of_a_small_frame_in_a_row(
    box: Box, pulling: Instance, name: str, value: Any, columns: Any
) -> None:
    pulling.rows = [stored(box.push({"it": value}))]
    if name != "polars":  # Of which a small file has some bytes more.
        assert box.fields(pulling.rows[0])["_xcom_backend"] == "inline"
    assert_same(airfreight.pull("a", part="it", columns=["id"]), columns(value))


def test_a_default_of_a_dict_is_not_made(box: Box, pulling: Instance) -> None:
    from collections import defaultdict

    pulling.rows = [stored(box.push(defaultdict(list, {"a": [1]})))]
    assert airfreight.pull("a", part="a") == [1]
    with pytest.raises(airfreight.InvalidError, match=r"has no part 'b'; it has 'a'"):
        airfreight.pull("a", part="b")


# What is moved.


@pytest.mark.s3
@pytest.mark.parametrize("name", ["polars", "table", "reader"])
def test_columns_move_no_more_than_they_need(s3: Box, proxy: CountingProxy, name: str) -> None:
    rows = 300_000
    numbers = {f"c{n}": np.random.default_rng(n).random(rows) for n in range(20)}  # 48 MB
    value: Any = pl.DataFrame(numbers) if name == "polars" else pa.table(numbers)
    whole = value
    if name == "reader":
        whole = pa.Table.from_batches(value.to_batches(max_chunksize=100_000))
        value = whole.to_reader()
    row = s3.fields(stored(s3.push(value)))
    inside = s3.fields(stored(s3.push([whole, np.arange(9000)], key="b")))
    for ref, path in ((row, ()), (inside, (0,))):
        proxy.clear()
        found = airfreight.get(ref, *path, columns=["c7", "c3"])
        if isinstance(found, pa.RecordBatchReader):
            found = found.read_all()
        assert_same(found, whole.select(["c7", "c3"]))
        assert {request.method for request in proxy.requests} == {"GET"}
        moved = sum(request.response_bytes for request in proxy.requests)
        assert moved <= 0.12 * ref["size_bytes"], (path, moved)


@pytest.mark.s3
def test_a_leaf_beside_huge_ones_moves_alone(s3: Box, proxy: CountingProxy) -> None:
    """At most two requests, and 128 KiB beside the leaf's own bytes, wherever it lies."""
    leaf = np.random.default_rng(1).random(25_000)  # 200 kB
    huge = np.random.default_rng(2).random(4_000_000)  # 32 MB
    for place, value in enumerate(
        (
            {"leaf": leaf, "a": huge, "b": huge[::-1]},
            {"a": huge, "leaf": leaf, "b": huge[::-1]},
            {"a": huge, "b": huge[::-1], "leaf": leaf},
        )
    ):
        row = s3.fields(stored(s3.push(value, key=str(place))))
        assert row["size_bytes"] > 64_000_000
        proxy.clear()
        assert_same(airfreight.get(row, "leaf"), leaf)
        assert [request.method for request in proxy.requests] == ["GET", "GET"]
        moved = sum(request.response_bytes for request in proxy.requests)
        assert moved <= leaf.nbytes + (128 << 10), place


@pytest.mark.s3
def test_a_leaf_of_a_bundle_in_a_mappable_moves_alone(s3: Box, proxy: CountingProxy) -> None:
    leaf = np.random.default_rng(1).random(25_000)
    huge = np.random.default_rng(2).random(1_000_000)
    row = s3.fields(stored(s3.push(airfreight.mappable([{"a": huge, "leaf": leaf}, huge]))))
    proxy.clear()
    assert_same(airfreight.get(row, 0, "leaf"), leaf)
    # The index of the mappable, that of the bundle, the leaf.
    assert [request.method for request in proxy.requests] == ["GET"] * 3
    assert sum(request.response_bytes for request in proxy.requests) <= leaf.nbytes + (128 << 10)

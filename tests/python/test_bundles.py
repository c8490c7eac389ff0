"""Values with frames, arrays and long bytes in them: one archive, read whole or in parts."""

from __future__ import annotations

import datetime
import io
import json
import os
import random
import shutil
import subprocess
import tracemalloc
import zipfile
from collections import OrderedDict, defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracle import assert_same, difference
from tests.python.conftest import MANY, Box, harm, stored

import airfreight
from airfreight import exchange, runtime
from airfreight.values import (
    DEFAULTS,
    _dtypes,
    _leaves,
    _names,
    _parquet,
    _zip,
    bundle,
    new_sink,
)

try:
    from airflow.sdk import Asset
except ImportError:
    from airflow.datasets import Dataset as Asset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.counting_proxy import CountingProxy

GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "bundle" / "v1"
ALL_GOLDEN = sorted(GOLDEN.glob("*.zip"))
# (`bytes_and_documents` was written when a bytearray was no leaf yet.)
TABLES = hasattr(pq.ParquetWriter, "add_key_value_metadata")


def frame(rows: int = 3) -> pd.DataFrame:
    return pd.DataFrame(
        {"id": np.arange(rows), "price": np.random.default_rng(3).random(rows)},
        index=pd.Index([f"r{n}" for n in range(rows)], name="row"),
    )


def array(size: int = 10_000) -> Any:
    return np.arange(size, dtype="float64")


def packed(value: Any) -> bytes:
    """The archive of a value."""

    def no_airflow(value: Any) -> str:
        raise AssertionError(f"{value!r} was left to Airflow")

    made = bundle.Packed(value, no_airflow, DEFAULTS)
    body: Any = bundle.encode(made, DEFAULTS, new_sink).body
    archive: bytes = body.getvalue()
    return archive


def unpacked(archive: bytes) -> Any:
    return bundle.decode(memoryview(bytearray(archive)))


def members(box: Box, row: Any) -> list[str]:
    return zipfile.ZipFile(box.file(row)).namelist()


# What comes back.


@pytest.mark.parametrize(
    "value",
    [
        {"train": frame(1000), "test": frame(2), "scaler": array(), "n": 3},
        (frame(5000), {"rows": 3}),
        [frame(5000), frame(0)],
        [array(), [array(5), {"deep": (array(2), [array(1)])}]],
        {1: array(), (2, "x"): array(7), None: array(3), "1": array(4)},
        OrderedDict([("z", array()), ("a", b"x" * 5000), ("b", bytearray(b"y" * 5000))]),
        {"at": datetime.date(2026, 1, 1), "nan": float("nan"), "big": 2**70, "x": array()},
        {"~leaf": ["value.json", "json"], "x": array()},
        {"~leaf": ["value.json", "json"], "_airfreight": array()},
        [{"~leaf": array()}],
        {"": array(), "a/b": array(5000), "..": array(6000), "\x00": array(7000)},
        {"\ud800": array(), b"k" * 5000: 1},
        {
            "0-d": np.array(7.0),
            "fortran": np.asfortranarray(np.ones((100, 100))),
            "empty": array(0),
        },
        {"frame": frame(300_000), "same": "text"},
        {
            "s": pd.Series(np.arange(9000.0), name="s"),
            "i": pd.Index([f"i{n}" for n in range(9000)]),
        },
        (pa.table({"a": np.arange(9000)}), [pa.array(["x"] * 9000)], pa.chunked_array([[1], [2]])),
    ],
    ids=range(16),
)
@pytest.mark.parametrize("threshold", [0, 32768])
def test_what_was_pushed_comes_back(box: Box, value: Any, threshold: int) -> None:
    box.set(threshold=threshold)
    row = box.push(value)
    assert box.fields(row)["_xcom_type"] == "bundle"
    assert_same(box.pull(stored(row)), value)


def test_an_object_that_occurs_twice_is_stored_once_and_comes_back_as_one(box: Box) -> None:
    twice = array()
    equal = array()
    row = box.push({"a": twice, "b": [twice], "c": equal})
    assert members(box, row) == ["a.npy", "c.npy", "value.json"]
    found = box.pull(row)
    assert found["a"] is found["b"][0]
    assert found["a"] is not found["c"]
    assert_same(found["c"], equal)


def test_arrays_lie_where_processors_want_them_and_are_the_pullers_own(box: Box) -> None:
    found = box.through({f"k{'x' * n}": array(5000) for n in range(20)})
    for one in found.values():
        assert one.flags.aligned
        assert one.flags.writeable
        one[:] = 0


def test_a_small_part_does_not_keep_the_memory_of_all(box: Box) -> None:
    found = box.through({"large": array(1_000_000), "small": array(2000)})
    owner = found["small"].base
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    assert memoryview(owner).nbytes < 100_000


def test_parts_become_values_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    value = [frame(number) for number in range(1, 9)]
    archive = packed(value)
    steps: list[str] = []
    copy, make = _leaves.Whole._view, _leaves.make

    def copying(whole: Any, entry: Any) -> memoryview:
        steps.append(f"copy {entry.name}")
        return copy(whole, entry)

    def making(kind: Any, name: str, data: memoryview, unleaf: Any) -> Any:
        steps.append(f"make {name}")
        return make(kind, name, data, unleaf)

    monkeypatch.setattr(_leaves.Whole, "_view", copying)
    monkeypatch.setattr("airfreight.values.bundle.make", making)
    assert_same(unpacked(archive), value)
    assert steps[1:] == [
        f"{step} {number}.parquet" for number in range(8) for step in ("copy", "make")
    ]


def test_what_is_small_stays_in_the_row(box: Box) -> None:
    value = {"table": frame(3), "weights": np.arange(5)}
    row = box.push(value)
    assert box.fields(row)["_xcom_backend"] == "inline"
    assert box.objects() == []
    assert_same(box.pull(stored(row)), value)


def test_many_tiny_arrays_are_no_members(box: Box) -> None:
    value = [np.arange(n % 7) for n in range(1000)]
    row = box.push(value)
    assert box.fields(row)["_xcom_type"] == "document"
    assert_same(box.pull(stored(row)), value)
    row = box.push([*value, array()])
    assert members(box, row) == ["1000.npy", "value.json"]
    assert_same(box.pull(stored(row)), [*value, array()])


def test_the_row_tells_what_is_inside(box: Box) -> None:
    value = {"train": frame(5000), "models": [array()]}
    fields = box.fields(box.push(value))
    assert fields["columns"] == [["", "pandas.DataFrame"], ["", "numpy.ndarray"]]
    assert "dict of 2 keys with DataFrame 5,000 × 2, ndarray" in fields["summary"]
    box.set(describe="full")
    fields = box.fields(box.push(value))
    assert fields["columns"] == [["train", "pandas.DataFrame"], ["models/0", "numpy.ndarray"]]
    assert "dict of 2 keys with train: DataFrame 5,000 × 2, models/0: ndarray" in fields["summary"]


def test_by_hand_and_many_at_once(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(airfreight.put.__globals__["task"], "context", lambda: {"ti": _Instance()})
    value = {"x": array(100_000), "n": 1}
    one = airfreight.put(value)
    many = airfreight.put_many([value, [frame(3)]])
    assert_same(airfreight.get(one), value)
    assert_same(airfreight.get(many[0]), value)
    for reference in (one, many[0]):
        assert_same(airfreight.get(reference, "x"), value["x"])
    assert_same(airfreight.get(many[1], 0), frame(3))
    # What holds frames is no table, of which the first rows could be shown.
    box.set(preview_rows=2)
    rows = [{"x": frame(3)}, {"x": frame(3)}]
    for reference in (airfreight.put(rows), *airfreight.put_many([rows])):
        assert "preview" not in reference.to_dict()


class _Instance:
    dag_id, run_id, task_id, map_index, try_number = "sales", "r", "extract", -1, 1


def unkept(rows: int = 3) -> pd.DataFrame:
    """A frame of which Arrow finds out late that it can't hold a cell."""
    return pd.DataFrame({"n": np.arange(rows), "a": [*range(rows - 1), 2**70]}).astype(
        {"a": object}
    )


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_frame_whose_encoder_starts_over_spoils_no_archive(
    box: Box, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(airfreight.put.__globals__["task"], "context", lambda: {"ti": _Instance()})
    box.set(format=form, threshold=0)
    texts = pd.DataFrame({"a": ["x"] * 50 + ["\ud800"]}, dtype=object)
    value = {"x": array(), "big": unkept(), "texts": [texts, texts["a"]], "y": array(3000)}
    assert_same(box.through(value), value)
    every = list(value.values())
    assert_same(list(box.through(airfreight.mappable(every))), every)
    for reference in (*airfreight.put_many([value, every]), airfreight.put(value)):
        found = airfreight.get(reference)
        assert_same(found, value if type(found) is dict else every)


def test_a_member_that_starts_over_is_written_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {
        "f": pd.DataFrame({"a": ["text", "x", None]}, dtype=object),
        "x": array(),
        "g": frame(),
    }
    apart = packed(value)
    straight = _zip.Archive.open
    found = []

    def opened(archive: Any, name: str, *, apart: bool) -> Any:
        found.append(apart)
        return straight(archive, name)

    monkeypatch.setattr(_zip.Archive, "open", opened)
    assert packed(value) == apart
    assert found[0]


def test_a_codec_that_starts_over_unannounced_is_refused(box: Box) -> None:
    class Twice:
        TYPE, EXTENSION, CONTENT_TYPE = "twice", "bin", "application/octet-stream"

        def encode(self, _value: Any, _options: Any, open_sink: Any) -> Any:
            open_sink().abandon()
            open_sink()

    writer = _leaves.ArchiveWriter(new_sink)
    with pytest.raises(TypeError, match="opens a second sink"):
        writer.add(1, Twice(), DEFAULTS, "a.{}".format)


class Stream:
    """A cursor: what offers a table once, and has an attribute that is not the table's size."""

    size = nbytes = 10

    def __init__(self, rows: int) -> None:
        self._reader = reader(rows)

    def __arrow_c_stream__(self, schema: Any = None) -> Any:
        return self._reader.__arrow_c_stream__(schema)


def reader(rows: int) -> Any:
    table = pa.table({"n": np.arange(rows)})
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


@pytest.mark.parametrize("rows", [5, 100_000])
def test_a_stream_is_read_once_whatever_size_it_tells(box: Box, rows: int) -> None:
    assert box.through({"s": Stream(rows), "x": (1,)})["s"].num_rows == rows
    assert box.through([airfreight.mappable([Stream(rows)])])[0][0].num_rows == rows


@pytest.fixture
def denied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first attempt to write fails at its end, and others have a prospect; the attempts."""
    attempts: list[int] = []
    opened = exchange.open_writer

    def open_writer(*arguments: Any) -> Any:
        writer = opened(*arguments)
        attempts.append(1)
        if len(attempts) > 1:
            return writer

        def finish(*_: Any) -> Any:
            raise airfreight.Error("denied")

        return SimpleNamespace(
            write=writer.write, tell=writer.tell, seal_blocks=writer.seal_blocks,
            abandon=writer.abandon, finish=finish,
        )  # fmt: skip

    monkeypatch.setattr(exchange.push, "open_writer", open_writer)
    monkeypatch.setattr(runtime, "borrow", lambda *_: len(attempts) == 1)
    return attempts


def test_it_is_written_again_with_other_credentials(box: Box, denied: list[int]) -> None:
    value = {"x": array(), "n": [(1, array(3000)), {2: array(4000)}]}
    assert_same(box.through(value), value)
    assert len(denied) == 2


@pytest.mark.parametrize(
    "wrap",
    [
        lambda value: {"x": array(), "s": value},
        lambda value: airfreight.mappable([array(), value]),
        lambda value: airfreight.mappable({"a": [array(), (value,)]}),
        lambda value: [airfreight.mappable([{"deep": [value]}])],
    ],
)
def test_what_is_used_up_is_not_written_again(box: Box, denied: list[int], wrap: Any) -> None:
    for value in (reader(1000), Stream(1000)):
        denied.clear()
        with pytest.raises(airfreight.Error, match="denied"):
            box.push(wrap(value))
        assert len(denied) == 1
    denied.clear()
    box.push(wrap(array()))
    assert len(denied) == 2  # Of a value that is still there.


# What is refused.


class Strange:
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]


def test_a_refusal_names_the_place_and_leaves_nothing_behind(box: Box) -> None:
    bad = frame(3).assign(bad=[Strange(), 1, 2])
    value = {"first": array(1_000_000), "a": [1, {"deep": bad}]}
    with pytest.raises(TypeError, match=r"value\['a'\]\[1\]\['deep'\]: column 'bad'"):
        box.push(value)
    assert box.objects() == []
    with pytest.raises(TypeError, match=r"value\['b'\]\[0\]: an object of type .*Strange"):
        box.push({"first": array(), "b": [Strange()]})
    assert box.objects() == []


def test_a_value_that_contains_itself_is_refused(box: Box) -> None:
    value: list[Any] = [array()]
    value.append(value)
    with pytest.raises(TypeError, match="contains itself"):
        box.push(value)
    deep: Any = array()
    for _ in range(240):
        deep = [deep]
    assert_same(box.through(deep), deep)
    for _ in range(20):
        deep = [deep]
    with pytest.raises(TypeError, match="deeper than 250"):
        box.push(deep)
    assert len(box.objects()) == 1


# Tools.


@pytest.mark.parametrize("tool", [["unzip", "-tqq"], ["bsdtar", "-tf"]], ids=lambda t: t[0])
def test_ordinary_tools_open_it(box: Box, tool: list[str]) -> None:
    assert shutil.which(tool[0]), f"{tool[0]} is missing: apt install unzip libarchive-tools"
    row = box.push({"train": frame(300_000), "ä/ö": array(), "empty": array(0), 5: array(2000)})
    found = subprocess.run([*tool, str(box.file(row))], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_leaves_are_what_their_own_libraries_read(box: Box, tmp_path: Path) -> None:
    value = {"train": frame(100_000), "nested": [{"ärray": array()}], "blob": b"abc" * 5000}
    archive = zipfile.ZipFile(box.file(box.push(value)))
    assert archive.testzip() is None
    archive.extractall(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*.*") if path.is_file()) == sorted(
        ["train.parquet", "ärray.npy", "blob.bin", "value.json", *_others(tmp_path)]
    )
    assert pq.read_table(tmp_path / "train.parquet").num_rows == 100_000
    assert_same(np.load(tmp_path / "nested" / "0" / "ärray.npy"), array())
    assert (tmp_path / "blob.bin").read_bytes() == value["blob"]
    assert json.loads((tmp_path / "value.json").read_text("utf-8"))["blob"] == {
        "~leaf": ["blob.bin", "bytes"]
    }
    (info,) = [info for info in archive.infolist() if info.filename == "blob.bin"]
    assert info.date_time == (1980, 1, 1, 0, 0, 0)
    assert info.compress_type == zipfile.ZIP_STORED


def _others(tmp_path: Path) -> list[str]:
    """Files of the store, which lies in the same folder."""
    return [path.name for path in (tmp_path / "store").rglob("*.*") if path.is_file()]


def test_two_pushes_are_the_same_bytes() -> None:
    value = {"x": array(), "y": {"z": [frame(5)]}, "n": 1}
    assert packed(value) == packed(value)


@pytest.mark.parametrize("path", ALL_GOLDEN, ids=lambda path: path.stem)
def test_golden_bundles_are_read(path: Path) -> None:
    names = {"np": np, "pd": pd, "datetime": datetime}
    expected = eval(path.with_suffix(".txt").read_text("utf-8"), names)
    assert_same(unpacked(path.read_bytes()), expected)
    # What libraries write differs from release to release.
    if path.stem not in ("tables", "bytes_and_documents"):
        assert packed(expected) == path.read_bytes()


def test_there_are_golden_bundles() -> None:
    assert len(ALL_GOLDEN) >= 3


# Names.


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (["a", "b"], ["a", "b"]),
        (["A", "a", "ａ"], ["A", "a~2", "ａ~3"]),
        (["..", ".", ".hidden", "a.", "a "], ["%2E%2E", "%2E", "%2Ehidden", "a%2E", "a%20"]),
        (["a/b", "a\\b", "c:d", "%2F", "x~2"], ["a%2Fb", "a%5Cb", "c%3Ad", "%252F", "x%7E2"]),
        (["", "\x00", "\n", "\ud800", "a\u0301"], ["%00", "%00~2", "%0A", "%ED%A0%80", "a%CC%81"]),
        (["straße", "STRASSE", "日本"], ["straße", "STRASSE~2", "日本"]),
    ],
)
def test_names_are_readable_and_safe(keys: list[str], names: list[str]) -> None:
    value = {key: array(2000 + n) for n, key in enumerate(keys)}
    archive = packed(value)
    found = zipfile.ZipFile(io.BytesIO(archive)).namelist()
    # (A dict whose keys no database keeps is told by positions.)
    assert found == [*(f"{name}.npy" for name in names), "value.json"] or any(
        "\x00" in key or "\ud800" in key for key in keys
    )
    assert all(map(_zip.is_safe, found))
    assert_same(unpacked(archive), value)


def test_no_name_is_taken_for_another() -> None:
    names = _names.Names(("value.json",))
    given = [
        names.new(steps, extension)
        for steps, extension in [
            (["value"], "json"),
            (["a"], "npy"),
            (["a.npy", "x"], "npy"),
            (["b.npy", "x"], "npy"),
            (["b"], "npy"),
            (["k" * 500], "npy"),
            (["k" * 501], "npy"),
            (["deep"] * 200, "npy"),
            (["深"] * 200, "npy"),
            ([], "npy"),
        ]
    ]
    assert len({name.casefold() for name in given}) == len(given)
    files = {name.casefold() for name in given}
    for name in given:
        assert len(name.encode()) < 240
        assert all(len(part.encode()) < 120 for part in name.split("/"))
        folders = name.casefold().split("/")[:-1]
        assert "/".join(folders) not in files
    assert given[0] == "value~2.json"


def test_names_that_begin_alike_take_one_look_each(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    is_free = _names.Names._is_free

    def counting(names: Any, name: str) -> bool:
        looks.append(name)
        return is_free(names, name)

    monkeypatch.setattr(_names.Names, "_is_free", counting)
    names = _names.Names()
    given = [names.new(("k" * 90 + str(number),), "npy") for number in range(300)]
    assert given[299] == f"{'k' * 80}~300.npy"
    assert len(set(given)) == 300
    assert len(looks) <= 600


def test_what_a_name_may_hold_does_not_depend_on_the_version_of_unicode() -> None:
    for name in ("a\u0378.npy", "\U0001fbff", "\ue000", "日本 (1)"):  # Unassigned, private, …
        assert _zip.is_safe(name)
    unseen = "\0\n\x7f\x85\xa0\xad\u061c\u200b\u2028\u202e\u2066\u3000\ud800\ufeff\U000e0041"
    for character in unseen:
        assert not _zip.is_safe(f"a{character}.npy")
    for number in range(0x20000):
        assert _zip.is_safe(f"a{_names._character(chr(number))}"), hex(number)


def test_any_keys_make_names_that_stay_in_their_folder() -> None:
    choice = random.Random(5)
    alphabet = "aA.~/\\:%\x00\n ä\ud800ﬁ日-_*"
    for _ in range(100 * MANY):
        names = _names.Names(("value.json",))
        seen = set()
        for _ in range(30):
            steps = [
                "".join(choice.choice(alphabet) for _ in range(choice.randint(0, 4)))
                for _ in range(choice.randint(0, 3))
            ]
            name = names.new(steps, "npy")
            assert _zip.is_safe(name), steps
            assert name.casefold() not in seen
            seen.add(name.casefold())


# Archives of others.


def odd() -> dict[str, Any]:
    """A value with a member of every kind: streamed and not, with a tail, empty, in folders."""
    return {"f": frame(3), "x": [array(600), array(0)], "s": "text", "b": b"c" * 5000}


def refused(archive: bytes) -> bool:
    """Whether an archive is refused in an orderly way; if not, its value is the one it was."""
    try:
        found = unpacked(archive)
    except (ValueError, airfreight.Error):
        return True
    assert difference(found, odd()) is None
    return False


def test_an_archive_that_is_cut_is_refused() -> None:
    archive = packed(odd())
    for length in range(0, len(archive), 7):
        assert refused(archive[:length])
    for length in range(1, len(archive), 97):
        assert refused(archive[length:])
    assert refused(archive + b"\0")
    assert refused(b"\0" + archive)


def test_a_changed_byte_outside_of_the_data_is_refused() -> None:
    archive = packed(odd())
    data: set[int] = set()
    for entry in _zip.read_whole(memoryview(archive)):
        data.update(range(entry.start, entry.stop))
    unseen = 0
    for at in sorted(set(range(len(archive))) - data):
        for flip in (1, 0x80):
            harmed = bytearray(archive)
            harmed[at] ^= flip
            unseen += not refused(bytes(harmed))
    # Only the checksums for reading in parts say nothing to whoever reads the whole.
    checks = sum(4 * len(entry.checks) for entry in _zip.read_whole(memoryview(archive)))
    assert unseen == 2 * checks


def entries_of(archive: bytes) -> list[_zip.Entry]:
    return _zip.read_whole(memoryview(archive))


def rebuilt(archive: bytes, change: Any) -> bytes:
    """The archive with a central directory that tells something else."""
    entries = entries_of(archive)
    start = entries[-1].end
    changed = change(list(entries))
    directory = b"".join(map(_zip._central, changed))
    return archive[:start] + directory + _zip._ending(len(changed), start, len(directory))


@pytest.mark.parametrize(
    "change",
    [
        lambda found: [found[0], found[0]._replace(name="again"), *found[1:]],
        lambda found: [found[1], found[0], *found[2:]],
        lambda found: found[1:],
        lambda found: found[:-1],
        lambda found: [found[0]._replace(size=found[0].size - 1), *found[1:]],
        lambda found: [found[0]._replace(size=found[0].size + 2**40), *found[1:]],
        lambda found: [found[0]._replace(name="../f.parquet"), *found[1:]],
        lambda found: [found[0]._replace(name="/f.parquet"), *found[1:]],
        lambda found: [found[0]._replace(name="a\\f.parquet"), *found[1:]],
        lambda found: [found[0]._replace(name="a//f"), *found[1:]],
        lambda found: [found[0]._replace(name="./f"), *found[1:]],
        lambda found: [found[0]._replace(name="c:f"), *found[1:]],
        lambda found: [found[0]._replace(name="other.parquet"), *found[1:]],
        lambda found: [found[0], found[1]._replace(name=found[0].name), *found[2:]],
        lambda found: [found[0]._replace(header=1), *found[1:]],
        lambda found: [found[0]._replace(header=2**50), *found[1:]],
        lambda found: [found[0]._replace(streamed=not found[0].streamed), *found[1:]],
        lambda found: [found[0]._replace(crc32=found[0].crc32 ^ 1), *found[1:]],
        lambda found: [found[0]._replace(checks=(1, 2, 3)), *found[1:]],
        lambda found: [found[0]._replace(tail=2**60), *found[1:]],
        lambda found: [],
    ],
    ids=range(21),
)
def test_an_index_that_lies_is_refused(change: Any) -> None:
    archive = rebuilt(packed(odd()), change)
    assert refused(archive)


def test_checksums_for_parts_may_be_left_out() -> None:
    archive = rebuilt(packed(odd()), lambda found: [one._replace(checks=()) for one in found])
    assert not refused(archive)


def with_document(archive: bytes, text: str) -> bytes:
    """The archive with another document."""
    sink = new_sink()
    made = _zip.Archive(sink)
    for entry in entries_of(archive)[:-1]:
        made.add(entry.name, (archive[entry.start : entry.stop],))
    made.add("value.json", (text.encode(),))
    made.finish()
    return sink.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        '{"~leaf": "f.parquet"}',
        '{"~leaf": ["f.parquet"]}',
        '{"~leaf": ["f.parquet", "pandas.DataFrame", 1]}',
        '{"~leaf": ["f.parquet", 7]}',
        '{"~leaf": [7, "bytes"]}',
        '{"~leaf": ["../f.parquet", "bytes"]}',
        '{"~leaf": ["nothing", "bytes"]}',
        '{"~leaf": ["f.parquet", "numpy.ndarray"]}',
        '{"~leaf": ["f.parquet", "json"]}',
        '{"~leaf": ["value.json", "json"]}',
        '{"~leaf": ["value.json", "bundle"]}',
        '{"~leaf": ["f.parquet", "no.such"]}',
        '{"~set": [{"~leaf": ["f.parquet", "pandas.DataFrame"]}]}',
        '{"~tuple": {"~leaf": ["f.parquet", "pandas.DataFrame"]}}',
        '{"~no": 1}',
    ],
    ids=range(18),
)
def test_a_document_that_lies_is_damage(box: Box, text: str) -> None:
    box.set(threshold=0)
    row = stored(box.push(odd()))
    fields = box.fields(row)
    harmed = with_document(packed(odd()), text)
    harm(box.file(row), harmed)
    crc = airfreight._core.crc32c(harmed)
    fields |= {"size_bytes": len(harmed), "digest": f"crc32c:{crc:08x}"}
    fields.pop("etag", None)
    with pytest.raises((airfreight.CorruptError, airfreight.NewerFormatError)) as caught:
        airfreight.get(fields)
    assert caught.value.task == "extract"


def test_wide_archives_are_written_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of 4 GiB and of 65,535 members, with limits that a test reaches."""
    value = odd()
    plain = packed(value)
    monkeypatch.setattr(_zip, "_MAX_32", 3000)
    monkeypatch.setattr(_zip, "_MAX_16", 3)
    archive = packed(value)
    assert len(archive) > len(plain)
    assert_same(unpacked(archive), value)


def test_an_archive_of_many_members_is_one_that_tools_read(tmp_path: Path) -> None:
    sink = new_sink()
    archive = _zip.Archive(sink)
    for number in range(65_536):
        archive.add(f"{number}", (b"",))
    archive.finish()
    data = sink.getvalue()
    assert len(_zip.read_whole(memoryview(data))) == 65_536
    assert len(zipfile.ZipFile(io.BytesIO(data)).namelist()) == 65_536


# Parts.


def whole() -> dict[Any, Any]:
    return {
        "train": frame(200_000),
        "test": frame(10),
        "models": [array(50_000), array(60_000)],
        "pair": (array(2000), {"in": array(3000)}),
        "other": {7: array(4000), None: "x"},
        "n": 3,
    }


@pytest.mark.parametrize(
    ("part", "of"),
    [
        (("train",), lambda value: value["train"]),
        (("models", 1), lambda value: value["models"][1]),
        (("models", -1), lambda value: value["models"][1]),
        (("models",), lambda value: value["models"]),
        (("pair",), lambda value: value["pair"]),
        (("pair", 1, "in"), lambda value: value["pair"][1]["in"]),
        (("other", 7), lambda value: value["other"][7]),
        (("other", None), lambda value: "x"),
        (("n",), lambda value: 3),
    ],
)
def test_a_part_is_as_in_the_whole(box: Box, part: Any, of: Any) -> None:
    row = box.fields(stored(box.push(whole())))
    assert "tail" in row
    assert_same(airfreight.get(row, *part), of(whole()))


def nested(choice: random.Random, depth: int = 0) -> Any:
    """Dicts, lists and tuples with arrays and frames anywhere."""
    kind = choice.choice("adlt" if depth < 4 else "a") if depth else "d"
    if kind == "a":
        return choice.choice(
            [array(choice.randrange(3000)), frame(choice.randrange(3)), choice.random(), None, "x"]
        )
    count = choice.randrange(4) if depth else 6
    if kind == "d":
        keys = choice.sample(
            ["a", "A", "a/b", "..", "", 1, None, (1, "x"), 2.5, "\x00", "~leaf"], count
        )
        return {key: nested(choice, depth + 1) for key in keys}
    items = [nested(choice, depth + 1) for _ in range(count)]
    return items if kind == "l" else tuple(items)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All parts of a value."""
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*path, key))
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            yield from paths(item, (*path, position))


@pytest.mark.parametrize("seed", range(4 * MANY))
def test_any_nesting_comes_back_whole_and_part_by_part(
    box: Box, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    box.set(threshold=0)
    # Parts are read as such of the smallest, too.
    monkeypatch.setattr(_leaves.ArchiveWriter.__init__, "__kwdefaults__", {"worth_parts": 1})
    value = {**nested(random.Random(seed)), "always": array()}
    row = box.fields(box.push(value))
    assert "tail" in row
    assert_same(airfreight.get(row), value)
    for path, part in paths(value):
        assert_same(airfreight.get(row, *path), part)


def test_parts_of_a_small_bundle_and_of_what_is_none(box: Box) -> None:
    small = {"x": array(2000), "y": [1, {"z": (4, 5)}]}
    box.set(threshold=0)
    for value in (small, {"y": [1, {"z": [4, 5]}]}, {"y": [1, {"z": (4, 5)}], 1: 2}):
        row = box.fields(stored(box.push(value)))
        assert "tail" not in row
        assert airfreight.get(row, "y", 1, "z", 1) == 5
    with pytest.raises(airfreight.InvalidError, match=r"only lists and dicts have parts"):
        airfreight.get(box.fields(box.push(frame())), "id")


@pytest.mark.parametrize("large", [True, False])
def test_a_part_that_is_not_there_is_an_error_that_names_those_that_are(
    box: Box, large: bool
) -> None:
    value = whole() if large else {**whole(), "train": frame(3), "models": [array(2000)] * 2}
    row = box.fields(stored(box.push(value)))
    cases: list[tuple[tuple[Any, ...], str]] = [
        (("nope",), r"the value has no part 'nope'; it has 'train', 'test'"),
        (("models", 2), r"the value\['models'\] has no part 2; it has 2 items"),
        (("models", "x"), r"has no part 'x'; it has 2 items"),
        (("train", "id"), r"the value\['train'\] is a pandas.DataFrame, of which nothing"),
        (("n", 0), r"the value\['n'\] has no part 0; it is a int"),
        (([],), r"has no part \[\]"),
    ]
    for part, message in cases:
        with pytest.raises(airfreight.InvalidError, match=message) as caught:
            airfreight.get(row, *part)
        assert caught.value.task == "extract"
    with pytest.raises(airfreight.InvalidError, match="only frames have columns"):
        airfreight.get(row, "models", 0, columns=["a"])
    with pytest.raises(airfreight.InvalidError, match="is no frame"):
        airfreight.get(row, "models", columns=["a"])
    with pytest.raises(airfreight.InvalidError, match="only frames have columns"):
        airfreight.get(row, columns=["a"])


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("part", ["train", "test"])
def test_columns_of_a_frame_in_a_bundle(box: Box, part: str, form: str) -> None:
    box.set(format=form)
    row = box.fields(stored(box.push(whole())))
    assert_same(airfreight.get(row, part, columns=["price"]), whole()[part][["price"]])
    with pytest.raises(airfreight.InvalidError, match="no column 'nope'"):
        airfreight.get(row, part, columns=["nope"])


@pytest.mark.parametrize("rows", [3, 200_000])
def test_columns_below_what_is_read_as_a_whole_are_taken_of_it(box: Box, rows: int) -> None:
    value = {"dd": defaultdict(list, {"train": frame(rows)}), "x": array()}
    row = box.fields(stored(box.push(value)))
    assert_same(airfreight.get(row, "dd", "train"), frame(rows))
    assert_same(airfreight.get(row, "dd", "train", columns=["id"]), frame(rows)[["id"]])
    with pytest.raises(airfreight.InvalidError, match=r"the value\['dd'\] has no part 'nope'"):
        airfreight.get(row, "dd", "nope", columns=["id"])
    with pytest.raises(airfreight.InvalidError, match=r"is no frame"):
        airfreight.get(row, "dd", columns=["id"])


@pytest.mark.parametrize("rows", [3, 60_000])
def test_slices_are_parts(box: Box, rows: int) -> None:
    value = {"t": (array(), frame(rows), (array(2000), 2)), "l": [array(), frame(rows), 3]}
    row = box.fields(stored(box.push(value)))
    for part in (slice(0, 2), slice(None, None, -1), slice(5, 9)):
        assert_same(airfreight.get(row, "t", part), value["t"][part])
        assert_same(airfreight.get(row, "l", part), value["l"][part])
    assert_same(airfreight.get(row, "t", slice(1, 3), 1, 0), array(2000))
    assert_same(airfreight.get(row, "t", slice(1, 3), 1, slice(1)), (array(2000),))


@pytest.mark.parametrize("size", [2000, 200_000])
def test_parts_beside_keys_that_were_left_to_airflow(box: Box, tmp_path: Path, size: int) -> None:
    asset = Asset("s3://bucket/key")
    row = box.fields(stored(box.push({asset: array(size), "o": array(3000)})))
    assert_same(airfreight.get(row, "o"), array(3000))
    assert_same(airfreight.get(row, asset), array(size))
    assert airfreight.get(row, "o", to=tmp_path / "o.npy").exists()


@pytest.mark.parametrize("rows", [3, 200_000])
def test_the_bytes_of_a_leaf_go_to_a_file(box: Box, tmp_path: Path, rows: int) -> None:
    row = box.fields(stored(box.push({"train": frame(rows), "x": [array()], "n": 1})))
    target = tmp_path / "x.npy"
    assert airfreight.get(row, "x", 0, to=target) == target
    assert_same(np.load(target), array())
    airfreight.get(row, "train", to=tmp_path / "train.parquet")
    assert pq.read_table(tmp_path / "train.parquet").num_rows == rows
    missing: list[tuple[Any, ...]] = [("n",), ("x",), ("x", 0, 0)]
    for part in missing:
        with pytest.raises(airfreight.InvalidError):
            airfreight.get(row, *part, to=tmp_path / "no")
    assert not (tmp_path / "no").exists()
    assert sorted(path.name for path in tmp_path.glob(".*")) == []


@pytest.mark.parametrize("rows", [3, 200_000])
def test_a_file_that_a_leaf_can_not_go_to_is_the_askers_mistake(
    box: Box, tmp_path: Path, rows: int
) -> None:
    row = box.fields(stored(box.push({"train": frame(rows), "x": array()})))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "file").write_bytes(b"before")
    wrong = {
        f"{tmp_path}/no/where.npy": "its? ?folder|the folder",
        f"{tmp_path}/file/x": "the folder",
        str(tmp_path): "is a folder or a device",
        str(pipe): "is a folder or a device",
        f"{tmp_path}/": "not the path of a file",
        "": "not the path of a file",
        f"{tmp_path}/a\0b": "not the path of a file",
    }
    for path, words in wrong.items():
        with pytest.raises(airfreight.InvalidError, match=words) as caught:
            airfreight.get(row, "x", to=path)
        assert repr(path)[1:-1] in str(caught.value)
        assert "tmp-" not in str(caught.value)
    with pytest.raises(airfreight.UnavailableError, match="can't be written") as unavailable:
        airfreight.get(row, "x", to=f"{tmp_path}/{'x' * 300}")
    assert ".airfreight" not in str(unavailable.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe", "store"]


def test_a_leaf_takes_the_place_of_a_file_and_its_mode(box: Box, tmp_path: Path) -> None:
    row = box.fields(stored(box.push({"x": array(), "y": b"y" * 9999})))
    secret, link = tmp_path / "secret.npy", tmp_path / "link.npy"
    secret.write_bytes(b"before")
    secret.chmod(0o600)
    airfreight.get(row, "x", to=secret)
    assert secret.stat().st_mode & 0o777 == 0o600
    assert_same(np.load(secret), array())
    link.symlink_to(secret)
    airfreight.get(row, "y", to=link)  # Of a link it takes the place, as elsewhere.
    assert not link.is_symlink()
    assert link.read_bytes() == b"y" * 9999
    assert_same(np.load(secret), array())


def test_a_flipped_byte_is_found_wherever_it_is_read(box: Box) -> None:
    row = box.fields(stored(box.push(whole())))
    file = box.file(row)
    data = file.read_bytes()
    entries = {entry.name: entry for entry in entries_of(data)}
    tail = row["tail"][0]
    one, other = entries["models/1.npy"], entries["models/0.npy"]
    places = [one.start, one.start + 200, one.stop - 1, *range(tail, len(data), 37)]
    for place in places:
        harmed = bytearray(data)
        harmed[place] ^= 0x10
        harm(file, harmed)
        with pytest.raises(airfreight.CorruptError) as caught:
            airfreight.get(row, "models", 1)
        assert caught.value.task == "extract", place
    harmed = bytearray(data)
    harmed[other.start + 1000] ^= 1
    harm(file, harmed)
    assert_same(airfreight.get(row, "models", 1), array(60_000))
    with pytest.raises(airfreight.CorruptError):
        airfreight.get(row, "models")
    with pytest.raises(airfreight.CorruptError):
        airfreight.get(row)


@pytest.mark.skipif(not TABLES, reason="this pyarrow writes no table of blocks")
def test_a_flipped_byte_of_columns_is_found(box: Box) -> None:
    row = box.fields(stored(box.push(whole())))
    file = box.file(row)
    data = file.read_bytes()
    entry = next(entry for entry in entries_of(data) if entry.name == "train.parquet")
    inner = data[entry.start : entry.stop]
    assert entry.tail is not None
    extents = _parquet.extents(pq.ParquetFile(io.BytesIO(inner)).metadata, [1, 2])
    places = {at for start, stop in extents for at in (start, (start + stop) // 2, stop - 1)}
    places |= set(range(entry.tail, entry.size, (entry.size - entry.tail) // 20))
    for place in sorted(places):
        harmed = bytearray(data)
        harmed[entry.start + place] ^= 0x10
        harm(file, harmed)
        with pytest.raises(airfreight.CorruptError):
            airfreight.get(row, "train", columns=["price"])


def test_a_long_document_is_no_part_of_the_tail(box: Box) -> None:
    value = {"x": array(200_000), "records": [{"n": n, "text": "x" * 50} for n in range(10_000)]}
    row = box.fields(stored(box.push(value)))
    assert row["size_bytes"] - row["tail"][0] < 1000
    assert_same(airfreight.get(row, "x"), value["x"])
    assert_same(airfreight.get(row, "records", 5), value["records"][5])
    assert_same(airfreight.get(row), value)
    file = box.file(row)
    harmed = bytearray(file.read_bytes())
    harmed[row["tail"][0] - 1000] ^= 1
    harm(file, harmed)
    with pytest.raises(airfreight.CorruptError):
        airfreight.get(row, "x")


def test_a_leaf_of_several_chunks_is_checked_by_chunk(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = {"x": array(2_000_000), "y": array(5)}
    row = box.fields(stored(box.push(value)))
    (entry, _) = entries_of(box.file(row).read_bytes())
    assert [length for _, length, _ in entry.runs()] == [1 << 22] * 3 + [16_000_128 - 3 * (1 << 22)]
    assert_same(airfreight.get(row, "x"), value["x"])
    monkeypatch.setattr(_zip, "MAX_CHUNKS", 3)
    row = box.fields(stored(box.push(value)))
    with pytest.raises(airfreight.InvalidError, match="whole value only"):
        airfreight.get(row, "x")
    assert_same(airfreight.get(row), value)


@pytest.mark.parametrize("rows", [1, 2000], ids=["row", "object"])
def test_what_the_library_here_can_not_read_is_unsupported_inside_of_a_value_too(
    box: Box, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    texts = np.array(["a text of numpy 2"] * rows, dtype=np.dtypes.StringDType())
    values: list[Any] = [[texts, "x"], (texts,), airfreight.mappable([texts])]
    values.append(pd.DataFrame({"a": [texts, "x"]}))
    pushed = [box.push(value, key=str(number)) for number, value in enumerate(values)]
    monkeypatch.setattr(_dtypes, "_STRINGS", None)  # As of numpy 1.
    for row in pushed:
        with pytest.raises(airfreight.UnsupportedError, match=r"as numpy\.ndarray .* by numpy "):
            list(box.pull(row))


def test_a_member_that_is_kept_apart_goes_as_it_is_written() -> None:
    held = []

    class Sink:
        def write(self, data: Any) -> None:
            held.append(tracemalloc.get_traced_memory()[0])

    archive = _zip.Archive(Sink())
    member = archive.open("a.bin", apart=True)
    tracemalloc.start()
    for _ in range(8):
        member.write(bytes(1 << 20))
    archive.close(member, "a.bin")
    tracemalloc.stop()
    assert held[-1] < held[0] / 4


# What is moved.


@pytest.mark.s3
def test_a_bundle_is_one_put_and_one_get_and_a_part_two_requests(
    s3: Box, proxy: CountingProxy
) -> None:
    value = {"train": frame(200_000), "models": [array(20_000), array(20_000)], "n": 1}
    row = s3.fields(stored(s3.push(value)))
    assert [request.method for request in proxy.requests] == ["PUT"]
    proxy.clear()
    assert_same(s3.pull(row), value)
    assert [request.method for request in proxy.requests] == ["GET"]
    proxy.clear()
    assert_same(airfreight.get(row, "models", 1), value["models"][1])
    assert [request.method for request in proxy.requests] == ["GET", "GET"]
    moved = sum(request.response_bytes for request in proxy.requests)
    assert moved <= 160_128 + 2000
    proxy.clear()
    assert airfreight.get(row, "n") == 1
    assert [request.method for request in proxy.requests] == ["GET"]
    assert proxy.requests[0].response_bytes < 2000


@pytest.mark.s3
@pytest.mark.skipif(not TABLES, reason="this pyarrow writes no table of blocks")
def test_columns_of_a_leaf_move_no_more_than_they_need(s3: Box, proxy: CountingProxy) -> None:
    numbers = np.random.default_rng(7).random((100_000, 20))
    wide = pd.DataFrame(numbers, columns=[f"c{column}" for column in range(20)])
    row = s3.fields(stored(s3.push({"other": array(100_000), "wide": wide})))
    proxy.clear()
    assert_same(airfreight.get(row, "wide", columns=["c3"]), wide[["c3"]])
    assert {request.method for request in proxy.requests} == {"GET"}
    # The tail of the bundle, that of the frame, and the column in each group of rows.
    assert len(proxy.requests) <= 3
    moved = sum(request.response_bytes for request in proxy.requests)
    assert moved <= 0.12 * row["size_bytes"]

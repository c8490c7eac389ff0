"""What a row tells of a value: summary, columns, nulls, by the setting `describe`."""

from __future__ import annotations

import datetime
import io
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.python.conftest import MANY

import airfreight
from airfreight import config
from airfreight.values import _describe

if TYPE_CHECKING:
    from tests.python.conftest import Box

pl = pytest.importorskip("polars")

LEVELS = ("full", "schema", "size")
#: formats/reference.md.
MOST_BYTES = 4096
#: Labels that must not be in a row under `describe = size`.
LABELS = ("secretlabel", "otherlabel")


def told(box: Box, value: Any, **options: Any) -> dict[str, Any]:
    box.set(**options)
    fields = box.fields(box.push(value))
    assert fields["_xcom_backend"] == "file", fields
    return fields


def frame() -> pd.DataFrame:
    return pd.DataFrame({"a": [1.5, None, 2.0], "b": ["x", None, None], "c": [1, 2, 3]})


# --- Every type -----------------------------------------------------------------------------------

TABLE = pa.table({"a": pa.array([1, None, 3]), "b": ["x", None, None]})
RECORDS = [{"id": number, "name": f"n{number}" * 2000} for number in range(20)]
MASKED = np.ma.MaskedArray(np.arange(6.0).reshape(2, 3), mask=[[1, 0, 0], [0, 1, 1]])
STRUCTURE = np.array([(1, 2.0)], dtype=[("x", "<i4"), ("y", "<f8")])


class Case(NamedTuple):
    name: str
    value: Any
    summary: str
    form: str
    rows: int | None = None
    columns: list[list[str]] | None = None
    nulls: list[int] | None = None


CASES = [
    Case("pandas_frame", frame(), "DataFrame 3 × 3: a float64, b ", "parquet", 3, None, [1, 2, 0]),
    Case(
        "pandas_series", pd.Series([1.0, None], name="p"), "Series 2 float64", "parquet",
        2, [["p", "float64"]], [1],
    ),
    Case(
        "pandas_unnamed", pd.Series([1, 2]), "Series 2 int64", "parquet", 2, [["", "int64"]], [0]
    ),
    Case(
        "pandas_range", pd.RangeIndex(5, name="n"), "RangeIndex 5 int64", "parquet",
        5, [["n", "int64"]], [0],
    ),
    Case(
        "pandas_multiindex",
        pd.MultiIndex.from_tuples([(1, 2.0), (3, np.nan)], names=["one", None]),
        "MultiIndex 2 (int64, float64)", "parquet", 2, [["one", "int64"], ["", "float64"]], [0, 1],
    ),
    Case(
        "pandas_categorical", pd.Categorical(["x", None, "x"]), "Categorical 3 category", "parquet",
        3, [["", "category"]], [1],
    ),
    Case(
        "pandas_array", pd.array([1, None], dtype="Int8"), "IntegerArray 2 Int8", "parquet",
        2, [["", "Int8"]], [1],
    ),
    Case(
        "polars_frame", pl.DataFrame({"a": [1, None], "b": ["x", "y"]}),
        "polars DataFrame 2 × 2: a Int64, b String", "parquet",
        2, [["a", "Int64"], ["b", "String"]], [1, 0],
    ),
    Case(
        "polars_lazy", pl.LazyFrame({"a": [1, None]}), "polars LazyFrame 2 × 1: a Int64", "parquet",
        2, [["a", "Int64"]], [1],
    ),
    Case(
        "polars_series", pl.Series("s", [None, 1.0]), "polars Series of 2 Float64", "parquet",
        2, [["s", "Float64"]], [1],
    ),
    Case(
        "arrow_table", TABLE, "Table 3 × 2: a int64, b string", "arrow",
        3, [["a", "int64"], ["b", "string"]], [1, 2],
    ),
    Case(
        "arrow_batch", TABLE.to_batches()[0], "RecordBatch 3 × 2: a int64, b string", "arrow",
        3, [["a", "int64"], ["b", "string"]], [1, 2],
    ),
    Case(
        "arrow_array", pa.array([1, None]), "Array of 2 int64", "arrow", 2, [["", "int64"]], [1]
    ),
    Case(
        "arrow_chunked", pa.chunked_array([[1], [None, None]], pa.int8()),
        "ChunkedArray of 3 int8", "arrow", 3, [["", "int8"]], [2],
    ),
    Case(
        "numpy_plain", np.zeros((3, 4), np.float32), "ndarray 3 × 4 float32", "npy",
        3, [["", "float32"]],
    ),
    Case("numpy_zero", np.array(1.0), "ndarray 0-d float64", "npy", None, [["", "float64"]]),
    Case(
        "numpy_structure", STRUCTURE, "ndarray 1 of 2 fields: x int32, y float64", "npy",
        1, [["x", "int32"], ["y", "float64"]],
    ),
    Case(
        "numpy_objects", np.array([1, "a", None], object), "ndarray 3 object", "npz",
        3, [["", "object"]],
    ),
    Case(
        "numpy_masked", MASKED, "MaskedArray 2 × 3 float64, 3 masked", "npz",
        2, [["", "float64"]], [3],
    ),
    Case("bytes", b"x" * 5000, "bytes · 5.0 kB bin", "bin"),
    Case("bytearray", bytearray(5000), "bytearray · 5.0 kB bin", "bin"),
    Case("memoryview", memoryview(bytes(5000)), "memoryview of 5,000 B", "zip"),
    Case("text", "x" * 5000, "str of 5,000 characters", "json"),
    Case("json", list(range(5000)), "list of 5,000 items", "json"),
    Case(
        "records", RECORDS, "list of 20 items", "json", 20, [["id", "int"], ["name", "str"]]
    ),
    Case("document", {(1, 2): "x" * 5000}, "dict of 1 keys", "document"),
    Case(
        "mappable", airfreight.mappable([1, b"x"]), "mappable list of 2 elements (json, bytes)",
        "zip",
    ),
    Case(
        "bundle", {"k": frame(), "m": {"n": np.zeros(1000)}},
        "dict of 2 keys with DataFrame 3 × 3, ndarray 1,000 float64", "zip",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_type_tells_its_size_dtypes_nulls_bytes_and_format(box: Box, case: Case) -> None:
    fields = told(box, case.value, threshold=0)
    assert fields["summary"].startswith(case.summary)
    assert fields["summary"].endswith(f" {case.form}")
    assert fields.get("rows") == case.rows
    assert fields.get("nulls") == case.nulls
    if case.columns is not None:
        assert fields["columns"] == case.columns
    size = fields["summary"].rpartition(" · ")[2]
    if case.name != "pandas_frame":
        assert size.startswith(airfreight.values.human_bytes(fields["size_bytes"])), fields
    assert "preview" not in fields
    airfreight.Reference.from_dict(fields)


def test_a_reader_that_is_streamed_tells_what_it_gave(box: Box) -> None:
    box.set(preview_rows=3)
    reader = pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=1))
    fields = box.fields(box.push(reader))
    assert fields["summary"].startswith("RecordBatchReader 3 × 2: a int64, b string · ")
    assert (fields["rows"], fields["nulls"]) == (3, [1, 2])
    assert fields["preview"] == [["1", "x"], ["None", "None"], ["3", "None"]]

    class Streamed:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return TABLE.__arrow_c_stream__(requested_schema)

    fields = box.fields(box.push(Streamed()))
    assert (fields["rows"], fields["nulls"]) == (3, [1, 2])
    assert fields["preview"][0] == ["1", "x"]


def test_files_and_folders_tell_their_number_and_bytes(box: Box, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in LABELS:
        (tmp_path / "folder" / name).write_text("x")
    fields = told(box, airfreight.File(tmp_path / "folder"), preview_rows=5)
    assert fields["summary"].startswith("folder of 2 files · ")
    assert fields["summary"].endswith(" tar")
    assert "preview" not in fields
    assert not any(label in json.dumps(fields) for label in LABELS)


NULLS = {
    "float": (pd.Series([1.0, np.nan]), 1),
    "int": (pd.Series([1, 2]), 0),
    "time": (pd.Series([pd.Timestamp("2026-01-01"), pd.NaT]), 1),
    "zoned": (pd.Series(pd.to_datetime(["2026-01-01", None]).tz_localize("UTC")), 1),
    "masked": (pd.Series([1, None], dtype="Int64"), 1),
    "text": (pd.Series(["x", None, "y"], dtype="string"), 1),
    "object": (pd.Series(["x", None, None], dtype=object), 2),
    "documents": (pd.Series([1, "x", None, {"a": 1}], dtype=object), 1),
    "categorical": (pd.Series(["a", None], dtype="category"), 1),
    "interval": (pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 1), np.nan])), 1),
    "period": (pd.Series(pd.PeriodIndex(["2026-01", None], freq="M")), 1),
    "sparse": (pd.Series(pd.arrays.SparseArray([0.0, np.nan, np.nan])), 2),
    "arrow": (pd.Series([1, None], dtype=pd.ArrowDtype(pa.int16())), 1),
    "complex": (pd.Series([1j, np.nan]), -1),
    "empty": (pd.Series([], dtype=float), 0),
    "many": (pd.Series(np.where(np.arange(300_000) % 3 == 0, np.nan, 1.0)), 100_000),
}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("name", NULLS)
def test_nulls_of_pandas_are_those_of_the_file(box: Box, name: str, form: str) -> None:
    series, count = NULLS[name]
    fields = told(box, series.to_frame("a"), format=form)
    # What is known of none is not said.
    assert fields.get("nulls", [-1]) == [count]
    reference = airfreight.Reference.from_dict(fields)
    assert reference.nulls == ((None,) if count < 0 else (count,))


def test_references_without_nulls_and_preview_say_that_nothing_is_known(box: Box) -> None:
    fields = told(box, frame())
    del fields["nulls"]
    reference = airfreight.Reference.from_dict(fields)
    assert reference.nulls == (None, None, None)
    assert reference.preview == ()


# --- describe -------------------------------------------------------------------------------------


def labelled() -> dict[str, Any]:
    """Values whose labels, keys and names of fields are all LABELS."""
    one, two = LABELS
    pandas = pd.DataFrame({one: [1], two: [pd.NA]})
    structure = np.zeros(3, dtype=[(one, "i4"), (two, "f8")])
    nested = pa.table({"s": pa.array([{one: 1, two: 2}])})
    return {
        "frame": pandas,
        "series": pd.Series([1.0], name=one),
        "index": pd.MultiIndex.from_tuples([(1, 2)], names=LABELS),
        "polars": pl.DataFrame({one: [1], two: [2]}),
        "polars_series": pl.Series(one, [{two: 1}]),
        "table": pa.table({one: [1], two: [2]}),
        "nested": nested,
        "nested_array": nested.column(0),
        "structure": structure,
        "masked_structure": np.ma.MaskedArray(structure),
        "records": [{one: 1, two: "x" * 5000}] * 3,
        "bundle": {one: pandas, two: [np.zeros(1000)]},
        "document": {one: (1, 2), two: "x" * 5000},
        "mappable": airfreight.mappable({one: 1, two: 2}),
    }


@pytest.mark.parametrize("name", list(labelled()))
def test_size_tells_no_label_and_full_gives_back_the_same_value(box: Box, name: str) -> None:
    for describe in LEVELS:
        box.set(threshold=0, describe=describe, preview_rows=3)
        row = box.push(labelled()[name])
        fields = box.fields(row)
        found = [label for label in LABELS if label in json.dumps(fields)]
        if describe == "size":
            assert found == []
            assert "preview" not in fields
            assert "columns" not in fields
            assert "nulls" not in fields
        else:
            hidden = name in ("document", "mappable") or (name == "bundle" and describe != "full")
            assert bool(found) is not hidden
        back = box.pull(row)
        assert type(back).__name__ == type(labelled()[name]).__name__
        assert fields["size_bytes"] > 0
        assert airfreight.values.human_bytes(fields["size_bytes"]) in fields["summary"]


@pytest.mark.parametrize(("describe", "count"), [("full", 70), ("schema", 64), ("size", 0)])
def test_labels_beyond_64_columns_are_told_under_full_only(
    box: Box, describe: str, count: int
) -> None:
    wide = pd.DataFrame([range(70)], columns=[f"l{number}" for number in range(70)])
    for value in (wide, pl.DataFrame(wide), pa.Table.from_pandas(wide)):
        fields = told(box, value, describe=describe)
        assert [label for label, _ in fields.get("columns", ())] == list(wide.columns[:count])
        assert fields.get("columns_cut", False) is (count < 70)
        assert "1 × 70" in fields["summary"]
        assert (", … 64 more · " in fields["summary"]) is (describe != "size")
        assert len(fields.get("nulls", ())) == count


@pytest.mark.parametrize("describe", LEVELS)
def test_categories_are_told_under_full_only(box: Box, describe: str) -> None:
    box.set(describe=describe)
    fill = pd.arrays.SparseArray(np.array(["hidden", "x"], object), fill_value="hidden")
    for value in (
        pd.DataFrame({"a": pd.Categorical(["hidden"])}),
        pd.DataFrame({"a": [1]}, index=pd.CategoricalIndex(["hidden"])),
        pd.Series(["hidden"], dtype="category"),
        pd.CategoricalIndex(["hidden"]),
        pl.DataFrame({"a": pl.Series(["hidden"], dtype=pl.Enum(["hidden"]))}),
        pl.Series([[{"x": "hidden"}]], dtype=pl.List(pl.Struct({"x": pl.Enum(["hidden"])}))),
        pd.DataFrame({"a": fill}),
    ):
        row = box.push(value)
        shown = "hidden" in json.dumps(box.fields(row))
        index = isinstance(value, pd.DataFrame) and (
            isinstance(value.index, pd.CategoricalIndex)
            or isinstance(value.iloc[:, 0].dtype, pd.SparseDtype)
        )
        assert shown is (describe == "full" and not index)
        box.pull(row)


def test_categories_of_what_is_masked_are_told_to_nobody(box: Box) -> None:
    box.set(describe="full", redact="iban", preview_rows=1)
    kind = pd.CategoricalDtype(["hidden"])
    enum = pl.Enum(["hidden"])
    for name in ("iban", "password"):
        struct = pl.Struct({"x": pl.Struct({name: enum}), "y": pl.Enum(["shown"])})
        for value in (
            pd.DataFrame({"a": pd.Categorical(["shown"]), name: pd.Categorical(["hidden"])}),
            pd.DataFrame({"a": [1]}, index=pd.CategoricalIndex(["hidden"], name=name)),
            pd.DataFrame(
                [["hidden", "shown"]], columns=pd.MultiIndex.from_tuples([("k", name), ("k", "a")])
            ).astype({("k", name): "category", ("k", "a"): "category"}),
            pd.Series(["hidden"], name=name, dtype=kind),
            pd.MultiIndex.from_arrays([pd.Categorical(["hidden"]), [1]], names=[name, None]),
            pl.DataFrame({name: pl.Series(["hidden"], dtype=enum)}),
            pl.Series(name, [["hidden"]], dtype=pl.List(enum)),
            pl.Series([{"x": {name: "hidden"}, "y": "shown"}], dtype=struct),
            {"leaf": pd.Series(["hidden"], name=name, dtype=kind), "b": b"x" * 50_000},
        ):
            fields = box.fields(box.push(value))
            assert "hidden" not in json.dumps(fields)
            assert ("shown" in json.dumps(fields)) is ("shown" in str(value))


@pytest.mark.parametrize(
    ("fill", "shown"),
    [(4500, "int64"), (0, "int64, 0"), (4.5, "float64"), (np.nan, "float64, nan")],
)
def test_what_fills_a_sparse_column_is_a_cell(box: Box, fill: Any, shown: str) -> None:
    array = pd.arrays.SparseArray([fill, 1], fill_value=fill)
    columns = told(box, pd.DataFrame({"a": array}), describe="full")["columns"]
    assert columns[0][1].replace("np.int64(0)", "0") == f"Sparse[{shown}]"


@pytest.mark.parametrize("describe", LEVELS)
def test_parts_are_read_whatever_the_row_tells(box: Box, describe: str) -> None:
    box.set(describe=describe, threshold=0)
    row = box.push({"train": frame(), "models": [np.arange(1000), b"x" * 9000]})
    reference = box.fields(row)
    assert ("train" in json.dumps([reference["summary"], reference.get("columns")])) is (
        describe == "full"
    )
    assert list(airfreight.get(reference, "train", columns=["c"]).columns) == ["c"]
    assert airfreight.get(reference, "models", 0).tolist() == list(range(1000))
    reference = box.fields(box.push(frame()))
    assert list(airfreight.get(reference, columns=["b", "a"]).columns) == ["b", "a"]


def test_full_names_the_leaves_of_a_bundle(box: Box) -> None:
    value = {"train": frame(), "n": 3, "m": [np.zeros(1000)]}
    fields = told(box, value, describe="full", threshold=0)
    assert fields["columns"] == [["train", "pandas.DataFrame"], ["m/0", "numpy.ndarray"]]
    assert "with train: DataFrame 3 × 3, m/0: ndarray 1,000 float64 · " in fields["summary"]


def test_records_are_lists_of_like_dicts(box: Box) -> None:
    long = "x" * 5000
    box.set(threshold=0)
    cases: list[tuple[str, list[Any], list[list[str]] | None]] = [
        ("schema", [{"a": None, "b": long}, {"a": 1, "b": 2}], [["a", "int"], ["b", "str"]]),
        ("schema", [{"a": long}, {"b": 2}], None),
        ("full", [{"a": long}, {"b": 2}], [["a", "str"], ["b", "int"]]),
        ("schema", [{"a": long}], None),
        ("full", [{"a": long}], [["a", "str"]]),
        ("full", [{"a": long}, 1], None),
        ("full", [{(1, 2): long}], None),
        ("full", [], None),
    ]
    for describe, value, keys in cases:
        fields = told(box, value, describe=describe)
        assert fields.get("columns") == keys
        assert fields.get("rows") == (None if keys is None else len(value))


# --- Never above 4 KiB ----------------------------------------------------------------------------

ANY_LABEL = st.one_of(
    st.text(max_size=20),
    st.text('\x00\ud800\udfff🚢漢é\n"\\', max_size=300),
    st.sampled_from([7, ("a", "\x00"), 1.5, None, datetime.date(2026, 1, 1), "x" * 5000]),
)


@pytest.mark.parametrize("describe", LEVELS)
@settings(
    max_examples=25 * MANY,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    labels=st.lists(ANY_LABEL, max_size=90),
    cell=st.one_of(ANY_LABEL, st.binary(max_size=30)),
    rows=st.integers(0, 100),
)
def test_no_label_and_no_cell_makes_a_reference_longer_than_4_kib(
    box: Box, describe: str, labels: list[Any], cell: Any, rows: int
) -> None:
    box.set(threshold=0, describe=describe, preview_rows=rows)
    index = pd.Index(labels, dtype=object, tupleize_cols=False)
    value = pd.DataFrame([[cell] * len(labels)] * 3, columns=index, dtype=object)
    names = [label for label in labels if type(label) is str]
    for one in (value, {str(number): value for number in range(3)}, [dict.fromkeys(names, 1)] * 3):
        row = box.push(one)
        fields = box.fields(row)
        text = json.dumps(fields, separators=(",", ":"))
        assert len(text) <= MOST_BYTES
        # What PostgreSQL's JSONB refuses.
        assert "\\u0000" not in text
        text.encode().decode()
        assert fields["summary"]
        assert len(fields.get("nulls", fields.get("columns", ()))) == len(fields.get("columns", ()))
        box.pull(row)


@pytest.mark.parametrize("describe", LEVELS)
def test_ten_thousand_columns_are_cut_and_counted(box: Box, describe: str) -> None:
    names = [f"column_{number}" for number in range(10_000)]
    value = pa.table({name: [1] for name in names})
    fields = told(box, value, describe=describe, preview_rows=2)
    assert len(json.dumps(fields, separators=(",", ":"))) <= MOST_BYTES
    assert fields["columns_cut"] is True
    assert "1 × 10,000" in fields["summary"]
    if describe != "size":
        assert "… 9,994 more" in fields["summary"]
    if describe == "schema":
        assert [label for label, _ in fields["columns"]] == names[:64]
        assert fields["preview"] == [["1"] * 64]
    assert box.pull(box.push(value)).num_columns == 10_000


# --- Settings -------------------------------------------------------------------------------------


def test_the_settings_are_read_and_wrong_ones_named() -> None:
    local = {"executor": "LocalExecutor", "home": "/h"}
    parsed = config.parse(
        {"describe": "size", "preview_rows": "3", "redact": "salary,*_iban , ,x y"}, **local
    )
    assert (parsed.describe, parsed.preview_rows) == ("size", 3)
    assert parsed.redact == ("salary", "*_iban", "x y")
    parsed = config.parse({}, **local)
    assert (parsed.describe, parsed.preview_rows, parsed.redact) == ("schema", 0, ())
    for name, text in [("describe", "all"), ("preview_rows", "-1"), ("preview_rows", "101")]:
        with pytest.raises(airfreight.ConfigError, match=name) as caught:
            config.parse({name: text}, **local)
        assert repr(text) in str(caught.value)


def test_codecs_of_others_are_held_to_it_too() -> None:
    payload = airfreight.values.Payload(
        body=(), summary="x\x00\ud800", columns=[("a", "b")] * 70, nulls=[0]
    )
    found = _describe.told(payload, None, airfreight.values.Options())
    assert found.summary == "x\\x00\\ud800"
    assert len(found.columns) == 64
    assert found.columns_cut
    # Counts of other columns.
    assert found.nulls == ()


def test_a_bundle_stays_an_archive_that_names_its_members(box: Box) -> None:
    fields = told(box, {"train": frame()}, describe="size", threshold=0)
    data = box.file(fields).read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["train.parquet", "value.json"]


def test_nulls_that_arrow_does_not_count_are_not_known(box: Box) -> None:
    table = pa.table(
        {
            "d": pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([None, "a"])),
            "n": [None, 1],
        }
    )
    assert told(box, table)["nulls"] == [-1, 1]

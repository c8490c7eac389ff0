"""What people reported of values that changed, got lost or were refused, and the tests of each.

A report is named by the public issue that tells it. That each test here is there is tested, so that
none gets lost when tests are moved.
"""

from __future__ import annotations

import ast
import struct
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pytest
from tests.matrix.cases import CASES
from tests.matrix.versions import encode
from tests.python.test_frame_reports import REPORTS

from airfreight import CorruptError, UnsupportedError, parts
from airfreight.values import Options, _polars_enums, document, pandas_
from airfreight.values._freqs import same_freq, unpack_freq

TESTS = Path(__file__).parent
REPORT = "test_frame_reports.py::test_the_frame_of_a_report_comes_back_exactly"
#: The table of what comes back, and of pairs of versions (`./dev test matrix`).
CELL = "test_support.py::test_no_cell_of_the_table_gets_worse"
DOCUMENT = "test_documents.py::test_what_airflow_refuses_or_changes_comes_back_as_it_was"

#: Report -> tests. With `[…]`, a case of `REPORTS` or of the table that begins so.
NAMED = {
    # Airflow's own serializer.
    "apache/airflow#70791": [
        f"{REPORT}[apache/airflow#70791]",
        "test_frame_reports.py::test_pandas_before_2_3_gets_a_text_dtype_that_it_lacks_as_objects",
        f"{CELL}[pandas.DataFrame: dtypes of columns · str of pandas 3]",
    ],
    "apache/airflow#71103": [f"{REPORT}[apache/airflow#71103]"],
    "apache/airflow#71169": [f"{REPORT}[apache/airflow#71103]"],
    "apache/airflow#53759": [
        f"{REPORT}[apache/airflow#53759]",
        "test_documents.py::test_a_small_value_that_the_default_changes_stays_in_the_row_without_a_request",
        f"{CELL}[documents · NaN, infinities]",
    ],
    "apache/airflow#53835": [f"{CELL}[documents · NaN, infinities]"],
    "apache/airflow#62686": [
        f"{REPORT}[apache/airflow#62686]",
        "test_documents.py::test_a_backslash_before_u0000_is_no_nul",
        f"{CELL}[documents · keys and texts with NUL]",
    ],
    "apache/airflow#69064": ["test_rows.py::test_every_row_passes_the_validation_of_airflow_3"],
    "apache/airflow#71927": [
        "test_documents.py::test_floats_that_jsonb_would_change_are_tagged_in_the_row_only"
    ],
    "apache/airflow#41161": [
        "test_tables.py::test_a_value_of_polars_comes_back_as_it_was",
        f"{CELL}[polars · DataFrame]",
        f"{CELL}[bundles · tables of three libraries]",
    ],
    "types that Airflow can't serialize": [
        DOCUMENT,
        f"{CELL}[numpy: arrays · ints]",
        f"{CELL}[pandas: Series, indexes, arrays · Series]",
        f"{CELL}[pandas: Series, indexes, arrays · Index]",
        f"{CELL}[pandas: scalars · Timestamp]",
        f"{CELL}[pyarrow · Table]",
        f"{CELL}[bytes and texts · bytes]",
        f"{CELL}[objects of classes · Enum]",
    ],
    "types that Airflow changes without a word": [
        DOCUMENT,
        "test_documents.py::test_enums_and_named_tuples_come_back_as_their_class",
        f"{CELL}[documents · dict with int keys]",
        f"{CELL}[documents · OrderedDict]",
        f"{CELL}[documents · defaultdict]",
        f"{CELL}[objects of classes · namedtuple]",
        f"{CELL}[numpy: scalars · complex128]",
    ],
    # Backends that tutorials teach.
    "astronomer/docs#1666": [f"{REPORT}[astronomer/docs#1666]"],
    "numpy/numpy#28340": [
        "test_arrays.py::test_a_pickle_in_an_object_is_never_read",
        f"{CELL}[numpy: arrays · objects]",
    ],
    "ExPlanetology/atmodeller#117": [f"{CELL}[numpy: arrays · float64]"],
    # pandas, Arrow and their readers.
    "pandas-dev/pandas#21228": [f"{REPORT}[pandas-dev/pandas#21228]"],
    "apache/arrow#43298": [f"{REPORT}[apache/arrow#43298]"],
    "apache/arrow#3479": [f"{REPORT}[apache/arrow#3479]"],
    "apache/arrow#41896": [f"{REPORT}[apache/arrow#41896]"],
    "pandas-dev/pandas#60491": [f"{REPORT}[pandas-dev/pandas#60491]"],
    "pandas-dev/pandas#39480": [f"{REPORT}[pandas-dev/pandas#39480]"],
    "pandas-dev/pandas#39838": [f"{REPORT}[pandas-dev/pandas#39838]"],
    "pandas-dev/pandas#26616": [f"{REPORT}[pandas-dev/pandas#26616]"],
    "apache/arrow#2864": [f"{REPORT}[apache/arrow#2864]"],
    "dask/dask#5000": [f"{REPORT}[dask/dask#5000]"],
    "dask/dask#8010": [f"{REPORT}[dask/dask#8010]"],
    "dask/fastparquet#41": [f"{REPORT}[dask/fastparquet#41]"],
    "dask/fastparquet#118": [f"{REPORT}[dask/fastparquet#118]"],
    "square/bionic#18": [f"{REPORT}[square/bionic#18]"],
    "pandas-dev/pandas#54000": [f"{REPORT}[pandas-dev/pandas#54000]"],
    "pandas-dev/pandas#49641": [f"{REPORT}[pandas-dev/pandas#49641]"],
    "pandas-dev/pandas#35997": [f"{REPORT}[pandas-dev/pandas#35997]"],
    "pandas-dev/pandas#38449": [f"{REPORT}[pandas-dev/pandas#38449]"],
    "cells that Arrow turns into others": [
        f"{REPORT}[dicts of different keys]",
        f"{REPORT}[tuples, sets and lists]",
    ],
    "cells and dtypes that Arrow refuses": [
        f"{REPORT}[huge ints]",
        f"{REPORT}[big-endian]",
        f"{CELL}[pandas.DataFrame: dtypes of columns · numpy longdouble]",
    ],
    **{
        report: [
            "test_frame_reports.py::test_more_than_2_gib_in_one_column_come_back",
            "test_frames.py::test_long_texts_are_written_in_small_row_groups",
        ]
        for report in (
            *("pandas-dev/pandas#55606", "apache/arrow#10776", "apache/arrow#4514"),
            *("apache/arrow#14229", "apache/arrow#44164", "ray-project/ray#64212"),
            "apache/paimon#8243",
        )
    },
    "Arrow types that Parquet changes": [
        f"{REPORT}[seconds of Arrow's]",
        "test_tables.py::test_a_value_of_pyarrow_comes_back_as_it_was",
        f"{CELL}[pyarrow · Array of time32[s]]",
        f"{CELL}[pyarrow · Array of date64]",
        f"{CELL}[pyarrow · Array of a dense union]",
        f"{CELL}[pyarrow · Table of different chunks]",
    ],
    "catalyst-cooperative/pudl#5432": [f"{REPORT}[catalyst-cooperative/pudl#5432]"],
    # A release that can't read what another wrote: `./dev test matrix` runs the pairs.
    "pola-rs/polars#14898": [
        f"{CELL}[polars · Series of an Enum]",
        "test_reports.py::test_an_enum_that_polars_reads_as_a_categorical_is_an_error",
        "test_golden.py::test_each_type_with_a_format_of_ours_has_a_golden_file",
    ],
    "alteryx/woodwork#1766": [
        f"{CELL}[pandas.DataFrame: shapes and the rest · mixed columns]",
        "test_golden_frames.py::test_a_golden_frame_is_read_exactly",
    ],
}


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return frozenset(it.name for it in tree.body if isinstance(it, ast.FunctionDef))


@pytest.mark.parametrize("report", NAMED)
def test_a_report_has_its_tests(report: str) -> None:
    cells = {str(case) for case in CASES}
    for test in NAMED[report]:
        name, _, case = test.partition("[")
        file, _, function = name.partition("::")
        assert function in functions(file), test
        if case:
            case = case.removesuffix("]")
            known = cells if name == CELL else set(REPORTS)
            assert case in known or any(it.startswith(case) for it in known - cells), test


def test_each_report_of_frames_is_named_here() -> None:
    told = {report.partition(":")[0] for report in REPORTS if "#" in report.partition(":")[0]}
    assert told <= NAMED.keys()


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("inner", ["itself", "list", "struct"])
def test_an_enum_that_polars_reads_as_a_categorical_is_an_error(form: str, inner: str) -> None:
    # pola-rs/polars#14898 and its kind: each has files that the other does not read.
    def column(kind: pl.DataType) -> pl.DataFrame:
        wrapped = {"itself": kind, "list": pl.List(kind), "struct": pl.Struct({"a": kind})}[inner]
        cell: object = {"itself": "a", "list": ["a"], "struct": {"a": "a"}}[inner]
        return pl.DataFrame({"x": pl.Series([cell], dtype=wrapped)})

    there, as_older_releases_read_it = column(pl.Enum(["unused", "a"])), column(pl.Categorical())
    _, data = encode(there, Options(format=form))
    view = memoryview(data)
    assert _polars_enums.check(there, view) is there
    with pytest.raises(UnsupportedError, match="dtype Enum, which polars"):
        _polars_enums.check(as_older_releases_read_it, view)
    _, data = encode(as_older_releases_read_it, Options(format=form))
    assert _polars_enums.check(as_older_releases_read_it, memoryview(data)) is not None


@pytest.mark.parametrize("count", [100, 313, 314, 315, 316, 1_200])
def test_an_enum_of_many_categories_is_told_apart_too(count: int) -> None:
    # Their number is in the length of the schema, whose bytes lie before its base64.
    names = [f"c{n}" for n in range(count)]
    _, data = encode(pl.DataFrame({"x": pl.Series(["c1"], dtype=pl.Enum(names))}), Options())
    as_others = pl.DataFrame({"x": pl.Series(["c1"], dtype=pl.Categorical())})
    with pytest.raises(UnsupportedError, match="dtype Enum"):
        _polars_enums.check(as_others, memoryview(data))
    # Of some columns too: it is there, or another is not.
    assert _polars_enums.check(as_others, memoryview(data), [pl.Enum(names)]) is as_others


def test_an_enum_of_polars_1_9_is_told_apart_too() -> None:
    footer = b"ENUM\0\0\0\0\x17\0\0\0POLARS.CATEGORICAL_TYPE\0"
    data = b"ARROW1\0\0" + footer + struct.pack("<I6s", len(footer), b"ARROW1")
    with pytest.raises(UnsupportedError, match="dtype Enum"):
        _polars_enums.check(
            pl.DataFrame({"x": pl.Series(dtype=pl.Categorical())}), memoryview(data)
        )


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("S", pd.offsets.Second()),
        ("2H", pd.offsets.Hour(2)),
        ("-3T", pd.offsets.Minute(-3)),
        ("L", pd.offsets.Milli()),
        ("us", pd.offsets.Micro()),
        ("D", pd.offsets.Day()),
        ("M", pd.offsets.MonthEnd()),
        ("ME", pd.offsets.MonthEnd()),
        ("BM", pd.offsets.BusinessMonthEnd()),
        ("Q-NOV", pd.offsets.QuarterEnd(startingMonth=11)),
        ("A-MAR", pd.offsets.YearEnd(month=3)),
        ("AS-JAN", pd.offsets.YearBegin(month=1)),
        ("W-SUN", pd.offsets.Week(weekday=6)),
    ],
)
def test_names_of_frequencies_before_pandas_2_2_are_read(text: str, offset: object) -> None:
    assert same_freq(unpack_freq(text), offset)


@pytest.mark.parametrize(
    ("text", "now"), [("A-MAR", "Y-MAR"), ("2H", "2h"), ("S", "s"), ("M", "M")]
)
def test_names_of_periods_before_pandas_2_2_are_read(text: str, now: str) -> None:
    made = document.from_json({"~pandas.Period": [5, text]})
    assert (made.ordinal, made.freqstr) == (5, now)


def test_an_object_that_its_library_can_not_read_names_the_library() -> None:
    def fail() -> None:
        raise KeyError(43)

    with pytest.raises(UnsupportedError, match=r"pyarrow.Table \(KeyError: 43\) by pyarrow \d"):
        parts.made({"_xcom_type": "pyarrow.Table"}, fail)
    with pytest.raises(CorruptError, match="document"):
        parts.made({"_xcom_type": "document"}, fail)


def test_a_frame_without_rows_is_read_where_a_file_has_no_row_groups() -> None:
    # apache/arrow: pyarrow 18 raises "The file only has 0 row groups, requested … -1".
    frame = pd.DataFrame({"a": [1], "b": [1.5], "c": [[1]]}).iloc[:0]
    _, data = encode(frame, Options())
    source: Any = pandas_._source(memoryview(data))
    source._file = SimpleNamespace(
        num_row_groups=0,
        schema_arrow=source._file.schema_arrow,
        metadata=SimpleNamespace(num_rows=0),
    )
    rows, batches = source.batches()
    assert (rows, [[len(column) for column in batch] for batch in batches]) == (0, [[0, 0, 0]])
    rows, batches = source.batches([1])
    assert [[str(column.type) for column in batch] for batch in batches] == [["double"]]

# ruff: noqa: E501 (tables, one case a line)
"""What people reported of frames that changed, got lost or were refused on their way: not here."""

from __future__ import annotations

import datetime
import json
import os
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracle import assert_same
from tests.python.conftest import Box, stored
from tests.python.frame_cases import made

#: Reports, and frames as they have them.
REPORTS = {
    "apache/airflow#70791: dtype and missing marker are the writer's, not the reader's": "pd.DataFrame({'s': objects('x', None), 't': pd.array(['x', None], dtype='string')})",
    "apache/airflow#71103: a frame of the newest pandas": "pd.DataFrame({'s': ['x', None]})",
    "apache/airflow#53759: NaN and infinities": "pd.DataFrame({'f': [np.nan, np.inf, -np.inf]}, index=[np.nan, np.inf, 0.0])",
    "apache/airflow#62686: NUL in texts and labels": "pd.DataFrame({'a\\x00b': objects('a\\x00b', '\\x00')}, index=['\\x00', 'k'])",
    "astronomer/docs#1666: texts of digits, zones, nullable ints, bytes and the index": "pd.DataFrame({'zip': ['01234', '1'], 't': DAYS[:2].tz_localize('Europe/Berlin'), 'i': pd.array([1, None], dtype='Int64'), 'b': objects(b'a', b'b')}, index=['k', 'l'])",
    "pandas-dev/pandas#21228: ints and texts": "pd.DataFrame({'m': objects(1, 'x')})",
    "apache/arrow#43298: a text after 100,000 ints": "pd.DataFrame({'m': objects(*range(100_000), 'a')})",
    "apache/arrow#3479: texts and floats": "pd.DataFrame({'m': objects('x', 1.5, None)})",
    "apache/arrow#41896: dates and datetimes": "pd.DataFrame({'m': objects(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 5))})",
    "apache/arrow#41896: bytes and texts": "pd.DataFrame({'m': objects(b'a', 'b')})",
    "pandas-dev/pandas#60491: categories of ints, in their order, unused ones too": "pd.DataFrame({'c': pd.Categorical([1, 2, 1], categories=[3, 2, 1], ordered=True)})",
    "pandas-dev/pandas#39480: categories of bools, floats, times": "pd.DataFrame({'b': pd.Categorical([True, False]), 'f': pd.Categorical([.5, .25]), 't': pd.Categorical(DAYS[:2])})",
    "pandas-dev/pandas#39838: intervals as categories": "pd.DataFrame({'c': pd.cut([1, 2, 3], 2)})",
    "pandas-dev/pandas#26616: an empty categorical": "pd.DataFrame({'c': pd.Categorical([], categories=[])})",
    "pandas-dev/pandas#26616: categories of several types": "pd.DataFrame({'c': pd.Categorical(['a', 1, 'a'])})",
    "apache/arrow#2864: 0 and '0' as labels": "pd.DataFrame([[1, 2]], columns=[0, '0'])",
    "dask/dask#5000: labels of ints and texts": "pd.DataFrame([[1, 2]], columns=[1, 'x'])",
    "dask/dask#8010: tuples as labels": "pd.DataFrame([[1, 2]], columns=pd.Index([('a', 1), ('b', 2)], tupleize_cols=False))",
    "dask/fastparquet#41: an int as the name of the index": "pd.DataFrame({'a': [1]}, index=pd.Index([1], name=5))",
    "dask/fastparquet#118: duplicate labels": "pd.DataFrame([[1, 'x']], columns=['a', 'a'])",
    "square/bionic#18: duplicate labels of several dtypes": "pd.DataFrame([[1, 1.5, 'x']], columns=['a', 'b', 'a'])",
    "pandas-dev/pandas#54000: a nullable index": "pd.DataFrame({'a': [1, 2]}, index=pd.Index([1, None], dtype='Int64'))",
    "pandas-dev/pandas#54000: an index of Arrow's ints": "pd.DataFrame({'a': [1, 2]}, index=pd.Index([1, None], dtype='int32[pyarrow]'))",
    "pandas-dev/pandas#54000: an index of Arrow's strings": "pd.DataFrame({'a': [1, 2]}, index=pd.Index(['x', None], dtype='string[pyarrow]'))",
    "pandas-dev/pandas#49641: periods in a MultiIndex": "pd.DataFrame({'a': range(2)}, index=pd.MultiIndex.from_arrays([pd.period_range('2026', periods=2, freq='M'), ['a', 'b']]))",
    "pandas-dev/pandas#35997: a fixed offset": "pd.DataFrame({'a': range(4)}, index=DAYS.tz_localize(IST))",
    "pandas-dev/pandas#38449: datetime.timezone.utc": "pd.DataFrame({'a': range(4)}, index=DAYS.tz_localize(datetime.timezone.utc))",
    "dicts of different keys are not merged": "pd.DataFrame({'d': objects({'x': 1}, {'y': 2}, {})})",
    "tuples, sets and lists stay what they are": "pd.DataFrame({'t': objects((1, 2), (3,)), 's': objects({1}, {2}), 'l': objects([1], [])})",
    "huge ints, Decimals, matrices, complexes, long doubles": "pd.DataFrame({'i': objects(2**70, 1), 'd': objects(D('1.' + '1' * 90), D('1')), 'm': objects(np.zeros((2, 2)), 1), 'c': [1j, 0], 'l': np.array([1, 2], dtype='longdouble')})",
    "big-endian, sparse, lone surrogates": "pd.DataFrame({'b': np.array([1, 2], dtype='>i4'), 's': pd.arrays.SparseArray([0, 1]), 't': objects('\\ud800', 'x')})",
    "seconds of Arrow's stay seconds": "pd.DataFrame({'a': pd.array([datetime.time(1), None], dtype=pd.ArrowDtype(pa.time32('s'))), 'b': pd.array([datetime.datetime(2026, 1, 1), None], dtype=pd.ArrowDtype(pa.timestamp('s')))})",
    "catalyst-cooperative/pudl#5432: unused categories, and an index that is no column": "pd.DataFrame({'c': pd.Categorical(['a'], ['a', 'unused'])}, index=pd.Index([7]))",
}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("report", REPORTS)
def test_the_frame_of_a_report_comes_back_exactly(box: Box, report: str, form: str) -> None:
    box.set(format=form)
    frame = made(REPORTS[report])
    assert_same(box.through(frame), frame)


def test_any_reader_of_parquet_reads_the_columns_that_arrow_holds(box: Box) -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "name": ["x", None],
            "tags": pd.Series([["a"], []], dtype=object),
            "any": pd.Series([{"a": [1]}, None], dtype=object),
            "when": pd.Series([datetime.datetime(2026, 1, 1), None], dtype=object),
            "z": [1j, 2],
        }
    ).set_index(pd.Index(["p", "q"], name="k"))
    table = pq.read_table(box.file(box.push(frame)))
    assert table.column_names == ["id", "name", "tags", "any", "when", "z", "__index_level_0__"]
    assert table.column("id").to_pylist() == [1, 2]
    assert table.column("name").to_pylist() == ["x", None]
    assert table.column("tags").to_pylist() == [["a"], []]
    assert table.column("when").to_pylist() == [datetime.datetime(2026, 1, 1), None]
    assert table.column("z").to_pylist()[0] == {"real": 0.0, "imag": 1.0}
    # Cells that Arrow has no type for are JSON.
    assert [cell and json.loads(cell) for cell in table.column("any").to_pylist()] == [
        {"a": [1]},
        None,
    ]


def test_columns_of_every_kind_are_read_by_themselves(box: Box) -> None:
    frame = made(
        "pd.DataFrame({'c': [1j, 2], 'l': objects([1], []), 'm': objects(1, 'x'), 's': pd.arrays.SparseArray([0, 1]), 'd': pd.arrays.ArrowExtensionArray(pa.array(['a', 'b']).dictionary_encode()), 'n': pd.arrays.ArrowExtensionArray(pa.array([[{'a': 1, 'b': [2]}], []])), 'i': [1, 2]}, index=pd.Index([1, 'k']))"
    )
    fields = box.fields(box.push(frame))
    import airfreight

    for columns in (["i", "c"], ["n"], ["m", "d"], ["s", "l", "n"]):
        back = airfreight.get(fields, columns=columns)
        assert_same(back, frame[columns])


@pytest.mark.skipif(not os.environ.get("AIRFREIGHT_SOAK"), reason="takes 8 GB; ./dev soak runs it")
def test_more_than_2_gib_in_one_column_come_back(box: Box) -> None:
    # pandas-dev/pandas#55606, ray-project/ray#64212: 32-bit offsets overflow.
    text = "x" * (1 << 20)
    frame = pd.DataFrame({"a": pd.Series([text] * 2200, dtype=object), "b": range(2200)})
    back: Any = box.pull(stored(box.push(frame)))
    assert back.shape == frame.shape
    assert all(cell == text for cell in back["a"])
    assert (back["b"] == frame["b"]).all()
    # As documents, which are one large text column too.
    frame = pd.DataFrame({"a": pd.Series([(text,)] * 2200, dtype=object)})
    back = box.pull(stored(box.push(frame)))
    assert all(cell == (text,) for cell in back["a"])


def test_pandas_before_2_3_gets_a_text_dtype_that_it_lacks_as_objects(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    # apache/airflow#70791: written under pandas 3, read under 2.2.
    series = pd.Series(["x", None], dtype=pd.StringDtype("python", na_value=np.nan))
    row = stored(box.push(series.to_frame("a")))
    original = pd.StringDtype

    def old(storage: str | None = None, **kw: Any) -> Any:
        if kw:
            raise TypeError("unexpected keyword argument 'na_value'")
        return original(storage)

    monkeypatch.setattr(pd, "StringDtype", old)
    back = box.pull(row)
    assert back["a"].dtype == object
    assert list(map(type, back["a"])) == [str, float]


def test_a_long_double_of_another_machine_is_an_error_that_says_so() -> None:
    from airfreight.errors import UnsupportedError
    from airfreight.values import _columns

    column = _columns.make_column(pd.Series(np.array([1], dtype="longdouble")))
    chunks = pa.chunked_array([_columns.to_arrow(column, 0, 1)])
    with pytest.raises(UnsupportedError, match=r"112 bits; here they have"):
        _columns.from_arrow(chunks, column.spec | {"mantissa": 112})

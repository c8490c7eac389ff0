#!/usr/bin/env python3
"""Writes the golden files of values (not in a checkout: they are written once, and never changed).

    python formats/golden/make_values.py

In an environment that has the package, polars and pyarrow. Files that are there stay as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

#: Folder -> file name -> the expression. Names that end in `.arrow` are written in that format.
EXPRESSIONS: dict[str, dict[str, str]] = {
    "array": {
        "plain.npy": "np.arange(6.0).reshape(2, 3).T",
        "structured.npy": "np.array([(1, 2.5, 'a')], "
        "dtype=[('x', 'i4'), ('é', '>f8'), ('z', 'U3')])",
        "times.npy": "np.array(['2026-01-01', 'NaT'], dtype='M8[ns]')",
        "names_in_utf8.npy": "np.array([(5,)], dtype=[('漢', 'i4')])",
        "aligned.npz": "np.array([(1, 2)], dtype=np.dtype([('a', 'i1'), ('b', 'i8')], align=True))",
        "order.npz": "np.array([(1, 2)], dtype={'names': ['b', 'a'], 'formats': ['i4', 'i4'], "
        "'offsets': [4, 0]})",
        "metadata.npz": "np.arange(3, dtype=np.dtype('i4', metadata={'a': 1}))",
        "objects.npz": "np.asfortranarray(np.array([[1, (2, 'a')], [None, {3}]], dtype=object))",
        "fields_of_objects.npz": "np.array([(1, None)], dtype=[('a', 'i4'), ('b', 'O')])",
        "texts.npz": "np.array(['x', None, 'é'], dtype=np.dtypes.StringDType(na_object=None))",
        "masked.npz": "np.ma.array([1, 2, 3], mask=[0, 1, 0], fill_value=9, hard_mask=True)",
        "unmasked.npz": "np.ma.array([1.5, 2.5])",
        "longlong.npz": "np.array([1, 2], dtype='q')",
        "structured_scalar.npz": "np.array([(1, 'x')], dtype=[('a', 'i4'), ('b', 'U3')])[0]",
        "records.npz": "np.rec.array([(1, 'x')], dtype=[('a', 'i4'), ('b', 'U3')])",
    },
    "arrow": {
        "array.arrows": "pa.array([1, None, 3], pa.int16())",
        "dictionary.arrows": "pa.array(['a', None, 'b', 'a']).dictionary_encode()",
        "union.arrows": "pa.UnionArray.from_dense(pa.array([0, 1], pa.int8()), "
        "pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(['x'])])",
        "chunks.arrows": "pa.chunked_array([[1], [], [2, 3]], pa.int8())",
        "batch.arrows": "pa.RecordBatch.from_pydict({'a': [1, None]})"
        ".replace_schema_metadata({'k': 'v'})",
        "table.arrows": "pa.table({'t': pa.array([1, None], pa.time32('s')), "
        "'l': [[1.5], []], 's': ['é', None]}, metadata={'k': 'v'})",
        "table_of_chunks.arrows": "pa.table({'a': pa.chunked_array([[1, 2, 3], [], [4]]), "
        "'b': pa.chunked_array([['a'], ['b'], ['c', 'd']])})",
        "extensions.arrows": "pa.table({'t': pa.ExtensionArray.from_storage(pa.fixed_shape_tensor("
        "pa.int8(), [2]), pa.array([[1, 2], None], pa.list_(pa.int8(), 2)))})",
        "chunks_and_empty_metadata.arrows": "pa.table({'a': pa.chunked_array([[1], [2]]), "
        "'b': [3, 4]}).replace_schema_metadata({})",
        "frame.parquet": "pl.DataFrame({'a': [1, None], 'b': ['é', 'x'], 'c': [[1], []]})",
        "frame.arrow": "pl.DataFrame({'a': [1, None], 'b': ['é', 'x'], 'c': [[1], []]})",
        "lazy_frame.parquet": "pl.LazyFrame({'a': [1, None]})",
        "enum.parquet": "pl.Series('e', ['a', None], dtype=pl.Enum(['unused', 'a']))",
        "enum.arrow": "pl.Series('e', ['a', None], dtype=pl.Enum(['unused', 'a']))",
        "halves.parquet": "pl.DataFrame({'h': pl.Series([1.5, None], dtype=pl.Float16)})",
        "categories.parquet": "pl.Series('c', ['b', None, 'a'], dtype=pl.Categorical("
        "pl.Categories('colours', namespace='golden', physical=pl.UInt8)))",
        "halves_and_categories_inside.parquet": "pl.DataFrame({'l': pl.Series([[1.5], None], "
        "dtype=pl.List(pl.Float16)), 's': pl.Series([{'c': 'x'}, None], dtype=pl.Struct({"
        "'c': pl.Categorical(pl.Categories('golden'))}))})",
        "times.parquet": "pl.Series('t', [1, None]).cast(pl.Datetime('ns', 'Europe/Berlin'))",
    },
    "pandas": {
        "series.parquet": "pd.Series(np.array([1.5, np.nan]), name=('a', 1), "
        "index=pd.Index(['k', None], dtype=object))",
        "series.arrow": "pd.Series(np.array([1.5, np.nan]), name=('a', 1), "
        "index=pd.Index(['k', None], dtype=object))",
        "index.parquet": "pd.Index([1, 'x', None, (2, 'y')], dtype=object, name=5, "
        "tupleize_cols=False)",
        "index_of_times.parquet": "pd.DatetimeIndex(np.array([1, 2, 3], 'M8[D]')"
        ".astype('M8[ns]'), freq='D', name='day')",
        "index_of_levels.arrow": "pd.MultiIndex(levels=[pd.Index(['b', 'unused', 'a'], "
        "dtype=object), np.array([2.5, 1.5])], codes=[[0, 2], [1, -1]], names=['x', None])",
        "range.parquet": "pd.RangeIndex(2, 9, 3)",
        "categorical.parquet": "pd.Categorical([1, 2, None], [2, 1, 0], ordered=True)",
        "array.parquet": "pd.array([1, None], dtype='Int64')",
        "array_of_times.parquet": "pd.DatetimeIndex(np.array([1, 2, 3], 'M8[D]')"
        ".astype('M8[ns]'), freq='D').array",
        "array_of_objects.arrow": "pd.Series([1, 'x'], dtype=object).array",
    },
}


def main() -> int:
    """Writes what is not there."""
    from airfreight import values

    for folder, expressions in EXPRESSIONS.items():
        for name, expression in expressions.items():
            path = HERE / folder / "v1" / name
            if path.exists():
                continue
            value = evaluate(expression)
            codec = values.for_value(value)
            assert codec is not None, name
            options = values.Options(format="arrow" if path.suffix == ".arrow" else "parquet")
            body: Any = codec.encode(value, options, values.new_sink).body
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body.getvalue() if hasattr(body, "getvalue") else b"".join(body))
            path.with_name(f"{name}.txt").write_text(f"{codec.TYPE}\n{expression}\n")
    return 0


def evaluate(expression: str) -> Any:
    """The value of an expression, with the libraries by their usual names."""
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    return eval(expression, {"np": np, "pa": pa, "pd": pd, "pl": pl})  # noqa: S307 (ours)


if __name__ == "__main__":
    sys.exit(main())

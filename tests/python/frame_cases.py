# ruff: noqa: E501 (tables, one case a line)
"""Frames as expressions: those that come back exactly, and those that are refused."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

D = decimal.Decimal
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
DAYS = pd.date_range("2026-01-01", periods=4, freq="D")


def objects(*items: Any) -> Any:
    return pd.Series(list(items), dtype=object)


def made(expression: str) -> Any:
    return eval(
        expression,
        {
            "pd": pd,
            "pa": pa,
            "np": np,
            "D": D,
            "uuid": uuid,
            "datetime": datetime,
            "IST": IST,
            "DAYS": DAYS,
            "objects": objects,
        },
    )


KEPT = {
    "basic": "pd.DataFrame({'a': range(3), 'b': list('xyz'), 'c': [1.5, np.nan, -0.0], 'd': [True, False, True]})",
    "empty": "pd.DataFrame()",
    "no rows": "pd.DataFrame({'a': np.array([], dtype='i1'), 's': objects(), 't': DAYS[:0]})",
    "no columns": "pd.DataFrame(index=range(3))",
    "no columns, text index": "pd.DataFrame(index=list('abc'))",
    "every int and float": "pd.DataFrame({k: np.array([0, 1], dtype=k) for k in 'i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8'.split()})",
    "extremes": "pd.DataFrame({'i': [2**63 - 1, -(2**63)], 'u': np.array([0, 2**64 - 1], dtype='u8'), 'f': [np.inf, 5e-324]})",
    "datetimes of every unit": "pd.DataFrame({u: np.array(['2026-01-01', 'NaT'], dtype=f'M8[{u}]') for u in ('s', 'ms', 'us', 'ns')})",
    "timedeltas of every unit": "pd.DataFrame({u: np.array([1, 'NaT'], dtype=f'm8[{u}]') for u in ('s', 'ms', 'us', 'ns')})",
    "nanosecond": "pd.DataFrame({'t': np.array([1, 2], dtype='M8[ns]')})",
    "before 1970": "pd.DataFrame({'t': np.array(['0001-01-01', '9999-12-31'], dtype='M8[s]')})",
    "utc": "pd.DataFrame({'t': DAYS.tz_localize('UTC')})",
    "zone": "pd.DataFrame({'t': pd.DatetimeIndex([*DAYS, pd.NaT]).tz_localize('Europe/Berlin')})",
    "fixed offset": "pd.DataFrame({'t': DAYS.tz_localize(IST)})",  # pandas-dev/pandas#35997
    "timezone.utc index": "pd.DataFrame({'a': range(4)}, index=DAYS.tz_localize(datetime.timezone.utc))",
    "masked": "pd.DataFrame({'i': pd.array([1, None, 2**62 + 1], dtype='Int64'), 'b': pd.array([True, None, False], dtype='boolean'), 'f': pd.array([0.1, None, 2], dtype='Float64'), 'u': pd.array([1, None, 255], dtype='UInt8')})",
    "string": "pd.DataFrame({'p': pd.array(['x', None], dtype='string[python]'), 'a': pd.array(['x', None], dtype='string[pyarrow]')})",
    "category of texts": "pd.DataFrame({'c': pd.Categorical(['x', None, 'y'], categories=['z', 'y', 'x'], ordered=True)})",
    "category of ints": "pd.DataFrame({'c': pd.Categorical([1, 2, 1])})",  # pandas-dev/pandas#60491
    "category of floats, bools, times": "pd.DataFrame({'f': pd.Categorical([.5, .25] * 2), 'b': pd.Categorical([True, False] * 2), 't': pd.Categorical(DAYS)})",
    "category without values": "pd.DataFrame({'c': pd.Categorical([None, None], categories=[])})",
    "category of mixed": "pd.DataFrame({'c': pd.Categorical(['a', 1, 'a'])})",
    "cut": "pd.DataFrame({'c': pd.cut([1, 2, 3, 4], 2)})",
    "interval beside a column called as its end": "pd.DataFrame({'a': pd.IntervalIndex.from_breaks([.5, 1.5, 2.5, 4.]), 'a.left': [10**9, 5, 7], 'a.right': [1, 2, 3]})",
    "levels with missing ints": "pd.DataFrame({'a': range(3)}, index=pd.MultiIndex(levels=[[1, 2**62 + 1], np.array([2**64 - 1], dtype='u8'), [True]], codes=[[0, -1, 1], [0, 0, -1], [-1, 0, 0]]))",
    "labels with missing ints": "pd.DataFrame([[1, 2, 3]], columns=pd.MultiIndex(levels=[[1, 2**62 + 1], ['x']], codes=[[0, -1, 1], [0, 0, -1]]))",
    "a level without labels": "pd.DataFrame({'a': [1, 2]}, index=pd.MultiIndex(levels=[np.array([], dtype='i8'), ['x']], codes=[[-1, -1], [0, 0]]))",
    "arrow dtypes of missing values": "pd.DataFrame({k: pd.array([None, None], dtype=pd.ArrowDtype(pa.type_for_alias(k))) for k in ('int8', 'uint64', 'float', 'string', 'large_string', 'binary', 'bool', 'date32', 'timestamp[ns]', 'duration[us]')})",
    "objects of texts and None": "pd.DataFrame({'s': objects('x', None)})",
    "objects of texts and NaN": "pd.DataFrame({'s': objects('x', np.nan)})",
    "objects of texts and NA": "pd.DataFrame({'s': objects('x', pd.NA)})",
    "objects of ints": "pd.DataFrame({'s': objects(1, 2**62 + 1)})",
    "objects of ints and None": "pd.DataFrame({'s': objects(1, None)})",
    "objects of bools": "pd.DataFrame({'s': objects(True, None)})",
    "objects of floats": "pd.DataFrame({'s': objects(1.5, np.nan)})",
    "objects of floats and None": "pd.DataFrame({'s': objects(1.5, None)})",
    "objects of bytes": "pd.DataFrame({'s': objects(b'a\\x00', None)})",
    "objects of dates": "pd.DataFrame({'s': objects(datetime.date(2020, 1, 1), None)})",
    "objects of times": "pd.DataFrame({'s': objects(datetime.time(1, 2, 3, 4), None)})",
    "objects of decimals": "pd.DataFrame({'s': objects(D('1.10'), D('-22.00'))})",
    "objects of None": "pd.DataFrame({'s': objects(None, None)})",
    "objects of NaN": "pd.DataFrame({'s': objects(np.nan, np.nan)})",
    "period": "pd.DataFrame({'p': pd.period_range('2026-01', periods=3, freq='M')})",
    "period index": "pd.DataFrame({'a': [1, 2]}, index=pd.period_range('2026', periods=2, freq='W-SUN'))",
    "interval": "pd.DataFrame({'i': pd.interval_range(0, 3, closed='both')})",
    "interval index": "pd.DataFrame({'a': [1, 2]}, index=pd.IntervalIndex.from_tuples([(0.5, 1), (1, 2)]))",
    "filtered index": "pd.DataFrame({'a': range(10)}).query('a % 2 == 0')",
    "range index": "pd.DataFrame({'a': range(3)}, index=pd.RangeIndex(2, 8, 2, name='r'))",
    "index with frequency": "pd.DataFrame({'a': range(4)}, index=DAYS)",
    "index with zone and frequency": "pd.DataFrame({'a': range(5)}, index=pd.date_range('2026-03-28', periods=5, freq='12h', tz='Europe/Berlin'))",
    "timedelta index": "pd.DataFrame({'a': [1, 2]}, index=pd.timedelta_range(0, periods=2, freq='s'))",
    "int index name": "pd.DataFrame({'a': [1]}, index=pd.Index([5], name=5))",
    "Int64 index": "pd.DataFrame({'a': [1, 2]}, index=pd.Index([1, None], dtype='Int64'))",  # pandas-dev/pandas#54000
    "category index": "pd.DataFrame({'a': [1, 2]}, index=pd.CategoricalIndex(['x', 'y'], categories=['y', 'x']))",
    "multi index": "pd.DataFrame({'a': range(4)}, index=pd.MultiIndex.from_product([['x', 'y'], [1, 2]], names=['k', None]))",
    "period level": "pd.DataFrame({'a': range(2)}, index=pd.MultiIndex.from_arrays([pd.period_range('2026', periods=2, freq='M'), ['a', 'b']]))",
    "duplicate index": "pd.DataFrame({'a': [1, 2]}, index=['x', 'x'])",
    "int columns": "pd.DataFrame(np.zeros((2, 3)))",
    "mixed columns": "pd.DataFrame([[1, 2]], columns=[1, 'a'])",
    "0 and '0'": "pd.DataFrame([[1, 2]], columns=[0, '0'])",  # apache/arrow#2864
    "duplicate columns": "pd.DataFrame([[1, 'x']], columns=['a', 'a'])",  # dask/fastparquet#118
    "tuple columns": "pd.DataFrame([[1, 2]], columns=pd.Index([('a', 1), 'b'], tupleize_cols=False))",
    "multi columns": "pd.DataFrame(np.ones((2, 4)), columns=pd.MultiIndex.from_product([['x', 'y'], [1, 2]], names=['k', 7]))",
    "date columns": "pd.DataFrame(np.ones((2, 4)), columns=DAYS)",
    "column index name": "pd.DataFrame([[1]], columns=pd.Index(['a'], name='cols'))",
    "no name": "pd.DataFrame([[1, 2]], columns=['', None])",
    "odd names": "pd.DataFrame([[1, 2, 3, 4]], columns=['a.b', 'a', '__index_level_0__', 'a\\x00'])",
    "index named as a column": "pd.DataFrame({'a': [1]}, index=pd.Index([5], name='a'))",
    "leading zeros": "pd.DataFrame({'zip': ['01234']}, index=['k'])",
    "nul in text": "pd.DataFrame({'a': ['x\\x00y']})",
    "arrow dtypes": "pd.DataFrame({'i': pd.array([1, None], dtype='int32[pyarrow]'), 'b': pd.array([True, None], dtype='bool[pyarrow]')})",
    "strided": "pd.DataFrame(np.arange(12.).reshape(4, 3)).iloc[::2]",
    # Cells that Arrow would change.
    "ints and texts": "pd.DataFrame({'ok': [1, 1], 'm': objects(1, 'x')})",  # pandas-dev/pandas#21228
    "one text after many ints": "pd.DataFrame({'m': objects(*range(100), 'a')})",  # apache/arrow#43298
    "dates and datetimes": "pd.DataFrame({'m': objects(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 5))})",  # apache/arrow#41896
    "bytes and texts": "pd.DataFrame({'m': objects(b'a', 'b')})",  # apache/arrow#41896
    "equal cells of several types": "pd.DataFrame({'m': objects(1, True, 1.0, np.int64(1), np.float64(1), np.bool_(True), D(1), 1 + 0j)})",
    "dicts of different keys": "pd.DataFrame({'m': objects({'x': 1}, {'y': 2}, {})})",
    "dicts of other keys than texts": "pd.DataFrame({'m': objects({1: 2}, {None: (3,)})})",
    "tuples": "pd.DataFrame({'m': objects((1, 2), (), (1, 'x'))})",
    "sets": "pd.DataFrame({'m': objects({1}, frozenset({2}))})",
    "lists of mixed": "pd.DataFrame({'m': objects([1, 'x', None], [])})",
    "lists of ints": "pd.DataFrame({'m': objects([1, 2**62 + 1], [], None, [3])})",
    "lists of floats": "pd.DataFrame({'m': objects([1.5, np.nan, -0.0], None, [np.inf])})",
    "lists of texts": "pd.DataFrame({'m': objects(['x', ''], pd.NA, ['é'])})",
    "lists of bytes and of bools": "pd.DataFrame({'b': objects([b'x', b''], np.nan), 't': objects([True, False], [True])})",
    "lists of texts that UTF-8 can't hold": "pd.DataFrame({'m': objects(['x', '\\udfff'], [])})",
    "lists of huge ints": "pd.DataFrame({'m': objects([2**70], [1])})",
    "empty lists": "pd.DataFrame({'m': objects([], [])})",
    "vectors": "pd.DataFrame({'m': objects(np.arange(3.0), np.array([]), np.array([np.nan, -0.0]))})",
    "vectors and missing ones": "pd.DataFrame({'m': objects(np.arange(3, dtype='i2'), None, np.arange(2, dtype='i2')), 'n': objects(np.nan, np.array([True]), np.nan)})",
    "vectors of several dtypes": "pd.DataFrame({'m': objects(np.arange(3.0), np.arange(3))})",
    "matrices": "pd.DataFrame({'m': objects(np.zeros((2, 2)), np.zeros((0, 3), dtype='f2'))})",
    "huge ints": "pd.DataFrame({'m': objects(2**70, -1)})",
    "decimals of several places": "pd.DataFrame({'m': objects(D('1.1'), D('1.10'), D('NaN'), D('-0'), D('1E+5'))})",
    "missing and floats": "pd.DataFrame({'m': objects(1.5, None, np.nan)})",
    "zoned times": "pd.DataFrame({'m': objects(datetime.time(1, tzinfo=IST), datetime.time(1))})",
    "naive datetimes": "pd.DataFrame({'m': objects(datetime.datetime(1, 1, 1), None, datetime.datetime(9999, 12, 31, 23, 59, 59, 999999))})",
    "zoned datetimes": "pd.DataFrame({'m': objects(datetime.datetime(2026, 1, 1, tzinfo=IST), datetime.datetime(2026, 1, 1))})",
    "folded datetimes": "pd.DataFrame({'m': objects(datetime.datetime(2026, 1, 1, fold=1))})",
    "python timedeltas": "pd.DataFrame({'m': objects(datetime.timedelta(1, 2, 3), None), 'n': objects(datetime.timedelta.max, datetime.timedelta.min)})",
    "uuids, complexes, scalars of numpy": "pd.DataFrame({'m': objects(uuid.UUID(int=5), 1j, np.float32(1.5), np.datetime64('2026'))})",
    "texts that UTF-8 can't hold": "pd.DataFrame({'m': objects('\\ud800', 'x', None), 'n': ['a', 'b', 'c'], 'o': objects(None, 'ü', '\\udfff')})",
    "texts of the string dtype that UTF-8 can't hold": "pd.DataFrame({'m': pd.array(['\\ud800', None, 'x'], dtype='string[python]')})",
    "an index of texts that UTF-8 can't hold": "pd.DataFrame({'m': [1, 2]}, index=pd.Index(['\\ud800', 'x'], dtype=object))",
    "frames and arrays in cells": "pd.DataFrame({'m': objects(pd.DataFrame({'a': [1]}), np.arange(3), 'x')})",
    "cells that look like tags": "pd.DataFrame({'m': objects({'~tuple': [1]}, {'__classname__': 'x', '_airfreight': 1}, 1)})",
    # Dtypes that Parquet has no type for.
    "complex": "pd.DataFrame({'a': [1j, complex(-0.0, np.nan), complex(np.inf, -0.0)], 'b': np.array([1, 2, 3], dtype='c8')})",
    "complex beside a column called as its part": "pd.DataFrame({'a': [1j], 'a.real': [10**9], 'a.imag': [1]})",
    "big endian": "pd.DataFrame({'a': np.array([1, -2], dtype='>i8'), 'b': np.array([1.5, np.nan], dtype='>f4')})",
    "long doubles": "pd.DataFrame({'a': np.array([1, 3], dtype='longdouble') / 3, 'b': np.array([np.nan, -0.0], dtype='longdouble'), 'c': np.array([1j, 2], dtype='clongdouble') / 3})",
    "sparse": "pd.DataFrame({'a': pd.arrays.SparseArray([0, 1, 0]), 'b': pd.arrays.SparseArray([1.5, np.nan, np.nan]), 'c': pd.arrays.SparseArray([True, False, True], kind='block'), 'd': pd.arrays.SparseArray([0.0, 1.0, 0.0], fill_value=0.0)})",
    "sparse with fill values stored": "pd.DataFrame({'a': pd.arrays.SparseArray([0, 1, 2, 0]) * 0, 'b': pd.arrays.SparseArray([5, 1, 2, 5], fill_value=5, kind='block') * 0})",
    "sparse complexes and objects": "pd.DataFrame({'a': pd.arrays.SparseArray([0j, 1j]), 'b': pd.arrays.SparseArray(np.array([1, 'x'], dtype=object))})",
    "seconds beyond milliseconds": "pd.DataFrame({'a': np.array([2**62, 'NaT', -(2**62)], dtype='M8[s]'), 'b': np.array([2**62, 'NaT', 1], dtype='m8[s]'), 'c': pd.Series(np.array([0, 'NaT', 2**58], dtype='M8[s]')).dt.tz_localize('UTC')})",
    "intervals of seconds beyond milliseconds": "pd.DataFrame({'a': pd.IntervalIndex.from_arrays(pd.DatetimeIndex(np.array([0, 1], dtype='M8[s]')), pd.DatetimeIndex(np.array([9, 2**60], dtype='M8[s]')))})",
    "masked floats with NaN and NA": "pd.DataFrame({'a': pd.array([0.0, 1.0], dtype='Float64') / pd.array([0.0, None], dtype='Float64')})",
    # Types of Arrow.
    "nested arrow": "pd.DataFrame({n: pd.array(cells, dtype=pd.ArrowDtype(kind)) for n, (cells, kind) in enumerate((([[1], None, []], pa.list_(pa.int64())), ([['x', None]] * 3, pa.large_list(pa.string())), ([{'a': 1, 'b': [1.5]}, None, {'a': None, 'b': None}], pa.struct([('a', pa.int8()), pa.field('b', pa.list_(pa.float64()))])), ([[('k', 1)], [], None], pa.map_(pa.string(), pa.int64())), ([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)), ([[[1]], [[]], None], pa.list_(pa.list_(pa.field('odd', pa.int8(), nullable=False))))))})",
    "scalar arrow types": "pd.DataFrame({str(kind): pd.array([value, None], dtype=pd.ArrowDtype(kind)) for value, kind in ((D('1.10'), pa.decimal128(5, 2)), (D('1.10'), pa.decimal256(50, 2)), (datetime.time(1), pa.time32('s')), (datetime.time(1), pa.time32('ms')), (datetime.time(1), pa.time64('us')), (datetime.time(1), pa.time64('ns')), (datetime.datetime(2026, 1, 1), pa.timestamp('s')), (datetime.datetime(2026, 1, 1), pa.timestamp('us', 'Europe/Berlin')), (datetime.datetime(2026, 1, 1), pa.timestamp('s', '+05:30')), (datetime.date(2026, 1, 1), pa.date64()), (1, pa.duration('s')), (b'xy', pa.binary(2)), (1.5, pa.float16()), (None, pa.null()))})",
    "arrow seconds beyond milliseconds": "pd.DataFrame({0: pd.arrays.ArrowExtensionArray(pa.array([2**60, None], pa.int64()).cast(pa.timestamp('s')))})",
    "arrow dictionary": "pd.DataFrame({0: pd.arrays.ArrowExtensionArray(pa.DictionaryArray.from_arrays(pa.array([1, None, 1], pa.int8()), ['unused', 'x'])), 1: pd.arrays.ArrowExtensionArray(pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int64()), ['b', 'a'], ordered=True))})",
    # Labels, levels, frequencies.
    "mixed index": "pd.DataFrame({'a': [1, 2, 3, 4]}, index=pd.Index([1, 'x', None, ('t', 1)], tupleize_cols=False))",
    "complex index": "pd.DataFrame({'a': [1, 2]}, index=pd.Index([1j, 2]))",
    "sets as labels": "pd.DataFrame([[1, 2]], columns=pd.Index([frozenset({1}), 2**70], dtype=object))",
    "arrow labels": "pd.DataFrame([[1, 2]], columns=pd.Index([1, None], dtype='int32[pyarrow]'), index=pd.Index(['x'], dtype='string[pyarrow]'))",  # pandas-dev/pandas#54000
    "period columns": "pd.DataFrame([[1, 2]], columns=pd.period_range('2026', periods=2, freq='Q-NOV', name='p'))",
    "interval columns": "pd.DataFrame([[1, 2]], columns=pd.interval_range(0, 2, closed='both'))",
    "category columns": "pd.DataFrame([[1, 2]], columns=pd.CategoricalIndex(['b', 'a'], ['b', 'unused', 'a'], ordered=True))",
    "timezone columns": "pd.DataFrame([[1, 2]], columns=pd.date_range('2026', periods=2, freq='h', tz='Asia/Kolkata'))",
    "levels with unused labels": "pd.DataFrame({'a': range(4)}, index=pd.MultiIndex.from_product([['y', 'x'], [2, 1]], names=['k', 'n'])).iloc[[0, 2]]",
    "levels in an order of their own": "pd.DataFrame({'a': range(2)}, index=pd.MultiIndex(levels=[['b', 'a'], [2.5, 1.5], [True, False]], codes=[[0, 1], [1, -1], [1, 0]]))",
    "levels of every kind": "pd.DataFrame({'a': range(2)}, index=pd.MultiIndex.from_arrays([DAYS[:2], DAYS[:2].tz_localize('UTC'), pd.timedelta_range(0, periods=2, freq='s'), pd.period_range('2026', periods=2, freq='M'), pd.interval_range(0, 2), pd.CategoricalIndex(['b', 'a'], ['b', 'u', 'a']), pd.Index([1, None], dtype='Int64'), pd.array(['x', None], dtype='string'), pd.Index([1, 'x']), pd.Index([1j, 2]), pd.RangeIndex(2)]))",
    "levels from a product": "pd.DataFrame({'a': range(4)}, index=pd.MultiIndex.from_product([DAYS[:2], range(2)]))",
    "overlapping intervals as a level": "pd.DataFrame({'a': range(2)}, index=pd.MultiIndex.from_arrays([pd.IntervalIndex.from_tuples([(0, 3), (1, 2)]), [1, 1]]))",
    "mixed levels on both axes": "pd.DataFrame([[1, 2], [3, 4]], index=pd.MultiIndex.from_tuples([(1, 'x'), ('y', None)]), columns=pd.MultiIndex.from_tuples([('b', D('1.0')), ('a', (1, 2))], names=[('n', 1), None]))",
    "business days with holidays": "pd.DataFrame({'a': [1, 2]}, index=pd.date_range('2026-01-05', periods=2, freq=pd.offsets.CustomBusinessDay(holidays=['2026-01-06'], weekmask='Mon Tue Wed')))",
    "offsets": "pd.DataFrame({'a': [1, 2]}, index=pd.date_range('2026-01-05', periods=2, freq=pd.DateOffset(months=1, days=2)))",
    "business hours": "pd.DataFrame({'a': [1, 2]}, index=pd.date_range('2026-01-05 10:00', periods=2, freq=pd.offsets.BusinessHour(start='10:00', end='16:30')))",
    "negative steps": "pd.DataFrame({'a': [1, 2]}, index=pd.date_range('2026-01-05', periods=2, freq='-2D'))",
    "names of every kind": "pd.DataFrame([[1]], index=pd.MultiIndex.from_arrays([[1], [2], [3]], names=[('a', 1), None, D('1.0')]), columns=pd.Index(['x'], name=(1, 'b')))",
    # Scalars of pandas as cells and labels.
    "missing cells of every kind": "pd.DataFrame({'m': objects('x', None, np.nan, pd.NA, pd.NaT)})",
    "scalars of pandas": "pd.DataFrame({'m': objects(pd.Timestamp(5), pd.Timestamp('2026', tz='Europe/Berlin'), pd.Timedelta(1, 's'), pd.Period('2026', 'M'), pd.Interval(0, 1.5, 'both'), pd.NaT)})",
    "scalars of pandas as labels": "pd.DataFrame([[1, 2, 3]], columns=pd.Index([pd.Timestamp(5), pd.Period('2026', 'M'), pd.NA], dtype=object))",
    "labels of several kinds of index": "pd.concat({k: pd.DataFrame([[1, 2]], columns=c).T for k, c in enumerate((pd.Index([1, None], dtype='Int64'), pd.period_range('2026', periods=2, freq='M'), pd.interval_range(0, 2), pd.CategoricalIndex(['b', 'a'], ['b', 'a'], ordered=True)))}).T",
}

REFUSED = {
    "functions": ("pd.DataFrame({'bad': objects(1, print)})", "'bad'", "row 1"),
    "objects inside": (
        "pd.DataFrame({'bad': objects({'x': [object()]})})",
        "'bad': row 0['x'][0]",
        "object",
    ),
    "position": ("pd.DataFrame([[1, objects]], columns=['a', 'a'])", "'a'", "function"),
    "an index": ("pd.DataFrame({'a': [1, 2]}, index=pd.Index([1, print]))", "the index", "builtin"),
    "label": (
        "pd.DataFrame([[1]], columns=pd.Index([frozenset([print])], dtype=object))",
        "labels",
        "builtin",
    ),
    "a category": (
        "pd.DataFrame({'bad': pd.Categorical([print])})",
        "'bad': its categories",
        "builtin",
    ),
}

"""Frames, series, indexes, arrays, dtypes and scalars of pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tests.oracle import difference, items, zones
from tests.oracle._numpy import arrays as numpy_arrays


def compare(one: Any, other: Any, place: str) -> Any:
    """The difference of two values of one class of pandas'; NotImplemented: not looked at here."""
    if isinstance(one, pd.DataFrame):
        return _frames(one, other, place)
    if isinstance(one, pd.Series):
        return (
            difference(one.name, other.name, f"{place}.name")
            or index(one.index, other.index, f"{place}.index")
            or arrays(one.array, other.array, place)
            or _extras(one, other, place)
        )
    if isinstance(one, pd.Index):
        return index(one, other, place)
    if isinstance(one, pd.api.extensions.ExtensionDtype):
        return dtypes(one, other, place)
    if isinstance(one, pd.api.extensions.ExtensionArray):
        return arrays(one, other, place)
    return _scalars(one, other, place)


def _frames(one: Any, other: Any, place: str) -> str | None:
    found = (
        index(one.columns, other.columns, f"{place}.columns")
        or index(one.index, other.index, f"{place}.index")
        or _extras(one, other, place)
    )
    if found:
        return found
    for position in range(one.shape[1]):
        left, right = one.iloc[:, position], other.iloc[:, position]
        found = arrays(left.array, right.array, f"{place}, column {_label(one, position)}")
        if found:
            return found
    return None


def _label(frame: Any, position: int) -> str:
    try:
        return repr(frame.columns[position])
    except NotImplementedError:  # pandas has no text of a tuple of times that Python has not.
        return str(position)


def _extras(one: Any, other: Any, place: str) -> str | None:
    allowed = [it.flags.allows_duplicate_labels for it in (one, other)]
    if allowed[0] != allowed[1]:
        return f"{place}.flags.allows_duplicate_labels: {allowed[0]} against {allowed[1]}"
    return difference(one.attrs, other.attrs, f"{place}.attrs")


def index(one: Any, other: Any, place: str) -> str | None:
    """Class, names, dtype, labels and frequency; levels with their own labels and order."""
    if type(one) is not type(other):
        return f"{place}: {type(one).__name__} against {type(other).__name__}"
    found = items(list(one.names), list(other.names), f"{place}.names")
    if found:
        return found
    if isinstance(one, pd.RangeIndex):
        # pandas' own `==` of two empty ranges is true whatever they say.
        ranges = [(it.start, it.stop, it.step) for it in (one, other)]
        return None if ranges[0] == ranges[1] else f"{place}: {ranges[0]} against {ranges[1]}"
    if isinstance(one, pd.MultiIndex):
        if one.nlevels != other.nlevels:
            return f"{place}: {one.nlevels} levels against {other.nlevels}"
        for level, (left, right) in enumerate(zip(one.levels, other.levels, strict=True)):
            where = f"{place}, level {level}"
            ours, theirs = (np.asarray(it.codes[level], dtype="i8") for it in (one, other))
            found = index(left, right, where) or numpy_arrays(ours, theirs, f"{where}.codes")
            if found:
                return found
        return None
    found = arrays(one.array, other.array, place)
    if found:
        return found
    return difference(getattr(one, "freq", None), getattr(other, "freq", None), f"{place}.freq")


def dtypes(one: Any, other: Any, place: str) -> str | None:
    """Two dtypes, with what their `==` leaves out (order of categories, missing value, zone)."""
    if type(one) is not type(other):
        return f"{place}: dtype {one} against {other}"
    if isinstance(one, np.dtype):
        return difference(one, other, place)
    if isinstance(one, pd.CategoricalDtype):
        if one.ordered is not other.ordered:
            return f"{place}: ordered {one.ordered} against {other.ordered}"
        if one.categories is None or other.categories is None:
            return difference(one.categories, other.categories, f"{place}.categories")
        return index(one.categories, other.categories, f"{place}.categories")
    if isinstance(one, pd.DatetimeTZDtype):
        if one.unit != other.unit:
            return f"{place}: dtype {one} against {other}"
        return zones(one.tz, other.tz, f"{place}.tz")
    if isinstance(one, pd.IntervalDtype):
        if one.closed != other.closed:
            return f"{place}: closed {one.closed} against {other.closed}"
        return dtypes(one.subtype, other.subtype, f"{place}.subtype")
    if isinstance(one, pd.SparseDtype):
        return dtypes(one.subtype, other.subtype, f"{place}.subtype") or difference(
            one.fill_value, other.fill_value, f"{place}.fill_value"
        )
    if isinstance(one, pd.StringDtype):
        known = [(it.storage, getattr(it, "na_value", pd.NA) is pd.NA) for it in (one, other)]
        return None if known[0] == known[1] else f"{place}: {one!r} against {other!r}"
    if isinstance(one, pd.ArrowDtype):
        return difference(one.pyarrow_dtype, other.pyarrow_dtype, f"{place}.pyarrow_dtype")
    return None if one == other else f"{place}: dtype {one} against {other}"


def arrays(one: Any, other: Any, place: str) -> str | None:
    """Two arrays of pandas: dtype and every element, missing ones by their kind."""
    if type(one) is not type(other):
        return f"{place}: {type(one).__name__} against {type(other).__name__}"
    found = dtypes(one.dtype, other.dtype, place)
    if found:
        return found
    if len(one) != len(other):
        return f"{place}: {len(one)} rows against {len(other)}"
    if isinstance(one, pd.arrays.NumpyExtensionArray):
        return _unordered(one.to_numpy(), other.to_numpy(), place)
    if isinstance(one, (pd.arrays.DatetimeArray, pd.arrays.TimedeltaArray, pd.arrays.PeriodArray)):
        return _unordered(one.asi8, other.asi8, place)
    if isinstance(one, pd.Categorical):
        return _unordered(one.codes, other.codes, f"{place}.codes")
    if isinstance(one, pd.arrays.IntervalArray):
        return index(one.left, other.left, f"{place}.left") or index(
            one.right, other.right, f"{place}.right"
        )
    if isinstance(one, pd.arrays.SparseArray):
        kinds = [type(it.sp_index).__name__ for it in (one, other)]
        if kinds[0] != kinds[1]:
            return f"{place}: kind {kinds[0]} against {kinds[1]}"
        if kinds[0] == "BlockIndex":
            ours, theirs = ((it.sp_index.blocs, it.sp_index.blengths) for it in (one, other))
            if found := difference(ours, theirs, f"{place}.sp_index"):
                return found
        positions = [it.sp_index.to_int_index().indices for it in (one, other)]
        return difference(positions[0], positions[1], f"{place}.sp_index") or _unordered(
            np.asarray(one.sp_values), np.asarray(other.sp_values), f"{place}.sp_values"
        )
    if isinstance(one, pd.arrays.ArrowExtensionArray) and isinstance(one.dtype, pd.ArrowDtype):
        from tests.oracle import _arrow

        # How it is divided into chunks is no part of an array of pandas.
        return _arrow.elements(_arrow.whole(one), _arrow.whole(other), place)
    if hasattr(one, "_mask"):
        missing = np.asarray(one.isna())
        return _unordered(missing, np.asarray(other.isna()), f"{place}.isna()") or _unordered(
            np.asarray(one._data)[~missing], np.asarray(other._data)[~missing], place
        )
    return items(one.tolist(), other.tolist(), place)


def _unordered(one: Any, other: Any, place: str) -> str | None:
    # A column's place in memory is pandas' own.
    return numpy_arrays(np.ascontiguousarray(one), np.ascontiguousarray(other), place)


def _scalars(one: Any, other: Any, place: str) -> Any:
    if one is other:  # NA and NaT are the only ones of their classes.
        return None
    if isinstance(one, pd.Timestamp):
        if (one.unit, one.fold, one._value) != (other.unit, other.fold, other._value):
            return f"{place}: {one!r} ({one.unit}) against {other!r} ({other.unit})"
        return zones(one.tzinfo, other.tzinfo, f"{place}.tzinfo")
    if isinstance(one, pd.Timedelta):
        same = (one.unit, one._value) == (other.unit, other._value)
        return None if same else f"{place}: {one!r} ({one.unit}) against {other!r} ({other.unit})"
    if isinstance(one, pd.Period):
        same = (one.freq, one.ordinal) == (other.freq, other.ordinal)
        return None if same else f"{place}: {one!r} against {other!r}"
    if isinstance(one, pd.Interval):
        if one.closed != other.closed:
            return f"{place}: {one!r} against {other!r}"
        return difference(one.left, other.left, f"{place}.left") or difference(
            one.right, other.right, f"{place}.right"
        )
    if isinstance(one, pd.offsets.BaseOffset):
        same = one == other and (one.n, one.normalize) == (other.n, other.normalize)
        return None if same else f"{place}: {one!r} against {other!r}"
    return NotImplemented

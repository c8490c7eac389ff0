"""Labels of a frame as JSON: its columns, its index, the categories of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from airfreight.values import document
from airfreight.values._columns import (
    Refused,
    from_arrow,
    from_base64,
    make_column,
    to_arrow,
    to_base64,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def pack_index(index: pd.Index[Any], *, inline: bool = True) -> dict[str, Any]:
    """Describes an index; with its labels when `inline`, else they lie in columns of the file.

    Raises:
        Refused: it can't be kept exactly.
    """
    packed: dict[str, Any] = {"names": _names(index)}
    if type(index) is pd.RangeIndex:
        return packed | {"range": [index.start, index.stop, index.step]}
    if isinstance(index, pd.MultiIndex):
        packed["levels"] = index.nlevels
        packed["level_dtypes"] = [
            str(level.dtype) if isinstance(level.dtype, np.dtype) else None
            for level in index.levels
        ]
        if inline:
            packed["arrays"] = [
                _labels(level_values(index, level)) for level in range(index.nlevels)
            ]
    elif inline:
        packed["arrays"] = [_labels(index)]
    freq = getattr(index, "freq", None)
    if freq is not None and isinstance(index, (pd.DatetimeIndex, pd.TimedeltaIndex)):
        packed["freq"] = _freq(freq)
    if inline:
        back = unpack_index(packed, None)
        if not back.equals(index) or _dtypes(back) != _dtypes(index):
            raise Refused("labels of this kind would come back changed")
    return packed


def unpack_index(packed: dict[str, Any], arrays: Sequence[Any] | None) -> pd.Index[Any]:
    """The inverse; `arrays` are the index's columns when it was not packed inline."""
    names = document.from_json(packed["names"])
    if "range" in packed:
        start, stop, step = packed["range"]
        return pd.RangeIndex(start, stop, step, name=names[0])
    if arrays is None:
        arrays = [_unlabels(labels) for labels in packed["arrays"]]
    if "levels" in packed:
        multi = pd.MultiIndex.from_arrays(arrays, names=names)
        for level, dtype in enumerate(packed.get("level_dtypes", ())):
            labels = multi.levels[level]
            if dtype is not None and str(labels.dtype) != dtype:
                multi = multi.set_levels(labels.astype(dtype), level=level, verify_integrity=False)
        return multi
    array = arrays[0]
    # The dtype is said, because pandas guesses one from objects.
    index = pd.Index(array, dtype=array.dtype, name=names[0], tupleize_cols=False)
    if "freq" in packed:
        index.freq = pd.tseries.frequencies.to_offset(packed["freq"])
    return index


def level_values(index: pd.MultiIndex, level: int) -> pd.Index[Any]:
    """The labels of one level, missing ones included, of a dtype that holds all of them."""
    values = index.get_level_values(level)
    labels = index.levels[level]
    if values.dtype == labels.dtype or not isinstance(labels.dtype, np.dtype):
        return values
    if labels.dtype.kind not in "biu":
        return values
    # With missing labels pandas makes floats of integers, which hold only 53 bits.
    codes = np.asarray(index.codes[level])
    there = codes >= 0
    data = np.zeros(len(codes), dtype=labels.dtype)
    data[there] = labels.to_numpy()[codes[there]]
    masked = pd.arrays.BooleanArray if labels.dtype.kind == "b" else pd.arrays.IntegerArray
    return pd.Index(masked(data, ~there))


def _dtypes(index: pd.Index[Any]) -> list[Any]:
    if isinstance(index, pd.MultiIndex):
        return [level.dtype for level in index.levels]
    return [index.dtype]


def _names(index: pd.Index[Any]) -> Any:
    try:
        return document.Encoder().encode(list(index.names))
    except document.Unsupported as error:
        raise Refused(f"its name is of type {error.cls.__name__}") from None


def _labels(index: pd.Index[Any]) -> dict[str, Any]:
    """One level: objects as a document, everything else by way of Arrow."""
    column = None if index.dtype == object else make_column(index)
    if column is None or isinstance(index.dtype, pd.StringDtype):
        try:
            objects = [
                label if column is None or isinstance(label, str) else None
                for label in index.tolist()
            ]
            labels: dict[str, Any] = {"objects": document.Encoder().encode(objects)}
        except document.Unsupported as error:
            raise Refused(f"a label is of type {error.cls.__name__}") from None
        return labels if column is None else labels | {"spec": column.spec}
    return {"spec": column.spec, "arrow": to_base64(to_arrow(column, 0, len(index)))}


def _unlabels(packed: dict[str, Any]) -> Any:
    if "objects" in packed:
        if "spec" in packed:
            texts = [
                text if isinstance(text, str) else None
                for text in document.from_json(packed["objects"])
            ]
            return from_arrow(
                pa.chunked_array([pa.array(texts, pa.large_string())]), packed["spec"]
            )
        labels = document.from_json(packed["objects"])
        array: Any = np.empty(len(labels), dtype=object)
        for position, label in enumerate(labels):  # One by one: tuples are labels, not rows.
            array[position] = label
        return array
    return from_arrow(from_base64(packed["arrow"]), packed["spec"])


def _freq(freq: Any) -> str:
    text: str = freq.freqstr
    try:
        same = pd.tseries.frequencies.to_offset(text) == freq
    except ValueError:
        same = False
    if not same:
        raise Refused(
            f"its frequency {text} is one that its name does not tell in full; drop it with "
            "index.freq = None"
        )
    return text

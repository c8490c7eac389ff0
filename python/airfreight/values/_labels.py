"""Labels of a frame as JSON: its columns, its index, the categories of a column."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from airfreight.values import DEFAULTS, _columns, _objects, document
from airfreight.values._columns import (
    WORTH_COMPRESSING,
    from_arrow,
    from_base64,
    make_column,
    to_arrow,
    to_base64,
)
from airfreight.values._freqs import pack_freq, set_freq, unpack_freq
from airfreight.values._objects import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airfreight.values import Options

#: Bytes that the labels of a level may take most of which no row uses: a small part of a huge frame
#: should not carry all labels of that.
_MAX_SPARE_BYTES = 64 << 20
#: What compresses labels that are documents.
_CODEC = "zstd"


def pack_index(
    index: pd.Index[Any], options: Options | None = None, *, inline: bool = True
) -> dict[str, Any]:
    """Describes an index; with its labels when `inline`, else they lie in columns of the file.

    Raises:
        Refused: it can't be kept exactly.
    """
    packed: dict[str, Any] = {"names": _names(index, options)}
    if type(index) is pd.RangeIndex:
        return packed | {"range": [index.start, index.stop, index.step]}
    if isinstance(index, pd.MultiIndex):
        packed["levels"] = index.nlevels
        packed["level_dtypes"] = [
            str(level.dtype) if isinstance(level.dtype, np.dtype) else None
            for level in index.levels
        ]
        kept = [_level_labels(index, level, options) for level in range(index.nlevels)]
        if any(kept):
            packed["level_labels"] = kept
        if inline:
            packed["arrays"] = [
                _labels(level_values(index, level), options) for level in range(index.nlevels)
            ]
    elif inline:
        packed["arrays"] = [_labels(index, options)]
    freq = getattr(index, "freq", None)
    if freq is not None and isinstance(index, (pd.DatetimeIndex, pd.TimedeltaIndex)):
        packed["freq"] = pack_freq(freq, options)
    if inline:
        back = unpack_index(packed, None)
        if not _is_equal(back, index) or _dtypes(back) != _dtypes(index):
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
        return _unpack_levels(packed, arrays, names)
    array = arrays[0]
    # The dtype is said, because pandas guesses one from objects.
    index = pd.Index(array, dtype=array.dtype, name=names[0], tupleize_cols=False)
    if "freq" in packed:
        set_freq(index, unpack_freq(packed["freq"]))
    return index


def version(packed: dict[str, Any]) -> int:
    """The version of the format that a reader of this index must know."""
    least = 2 if isinstance(packed.get("freq"), dict) else 1
    for labels in packed.get("arrays", ()):
        if "packed" in labels:
            return 3
        if "spec" in labels:
            least = max(least, _columns.version(labels["spec"]))
    return max([least, *(version(one) for one in packed.get("level_labels", ()) if one)])


# --- Levels ---------------------------------------------------------------------------------------


def _level_labels(
    index: pd.MultiIndex, level: int, options: Options | None
) -> dict[str, Any] | None:
    """The labels of a level, if they are others than what pandas makes of those of the rows."""
    labels, codes = index.levels[level], np.asarray(index.codes[level])
    if _is_made(labels, codes):
        return None
    if not labels.is_unique:
        raise Refused(
            f"level {level} has a label twice, by which rows can't tell which of them is theirs; "
            "make it anew with pd.MultiIndex.from_frame(index.to_frame())"
        )
    if labels.dtype == object and len(set(_keys(labels, options))) < len(labels):
        raise Refused(
            f"level {level} has labels that differ, and that a copy of them does not tell apart; "
            "leave one of them in it"
        )
    packed = pack_index(labels.rename(None), options)
    if len(labels) > 4 * len(codes) and (size := _size(packed)) > _MAX_SPARE_BYTES:
        raise Refused(
            f"level {level} has {len(labels):,} labels, most of which no row uses, and which take "
            f"{size:,} bytes; drop them with index.remove_unused_levels()"
        )
    return packed


def _size(packed: Any) -> int:
    """About how many bytes of the file's metadata labels take."""
    arrays = packed.get("arrays", ())
    return sum(len(json.dumps(labels)) for labels in arrays)


def _is_made(labels: pd.Index[Any], codes: Any) -> bool:
    """Whether `MultiIndex.from_arrays` would make the same level: sorted, and all of it in use."""
    if type(labels) is pd.RangeIndex or getattr(labels, "freq", None) is not None:
        return False
    if isinstance(labels, pd.IntervalIndex):
        return False  # Its ends have frequencies, and are floats where a row's label is missing.
    if isinstance(labels, pd.CategoricalIndex):
        return bool(np.array_equal(labels.codes, np.arange(len(labels.categories))))
    if labels.dtype == object and set(map(type, labels)) - {str}:
        return False
    if isinstance(labels.dtype, pd.ArrowDtype) and pa.types.is_dictionary(
        labels.dtype.pyarrow_dtype
    ):
        return False  # pandas would take the dictionary for the level.
    try:
        if not (labels.is_monotonic_increasing and labels.is_unique):
            return False
    except (TypeError, NotImplementedError):
        return False
    used = np.zeros(len(labels) + 1, dtype=bool)  # The last one for -1.
    used[codes] = True
    return bool(used[:-1].all())


def _unpack_levels(packed: dict[str, Any], arrays: Sequence[Any], names: Any) -> pd.MultiIndex:
    kept = packed.get("level_labels") or [None] * len(arrays)
    dtypes = packed.get("level_dtypes") or [None] * len(arrays)
    # Objects stay such: pandas would look for a dtype of their own.
    arrays = [
        pd.Index(array, dtype=object, tupleize_cols=False) if array.dtype == object else array
        for array in arrays
    ]
    if any(kept):
        levels, codes = [], []
        for array, labels, dtype in zip(arrays, kept, dtypes, strict=True):
            if labels is not None:
                level = unpack_index(labels, None)
                positions = _positions(level, array)
            else:
                made = pd.MultiIndex.from_arrays([array])
                level, positions = made.levels[0], made.codes[0]
                if dtype is not None and str(level.dtype) != dtype:
                    level = level.astype(dtype)
            levels.append(level)
            codes.append(positions)
        return pd.MultiIndex(levels, codes, names=names, verify_integrity=False)
    multi = pd.MultiIndex.from_arrays(arrays, names=names)
    for position, dtype in enumerate(dtypes):
        labels = multi.levels[position]
        if dtype is not None and str(labels.dtype) != dtype:
            multi = multi.set_levels(labels.astype(dtype), level=position, verify_integrity=False)
    return multi


def _positions(level: pd.Index[Any], array: Any) -> Any:
    """Where each label is in its level; -1: missing."""
    there = ~np.asarray(pd.isna(array), dtype=bool)
    labels = pd.Index(array[there], dtype=array.dtype, tupleize_cols=False)
    codes = np.full(len(array), -1, dtype=np.int64)
    if isinstance(level.dtype, pd.IntervalDtype) or level.dtype == object:
        # Intervals that overlap pandas does not look up.
        known = {label: position for position, label in enumerate(level)}
        try:
            codes[there] = [known[label] for label in labels]
        except KeyError:  # A NaN inside of one is equal to itself only as long as it is no copy.
            known = {key: position for position, key in enumerate(_keys(level))}
            codes[there] = [known[key] for key in _keys(labels)]
        return codes
    if labels.dtype != level.dtype:  # Integers among which some are missing.
        labels = labels.astype(level.dtype)
    codes[there] = level.get_indexer(labels)
    if (codes[there] < 0).any():
        raise ValueError("a row has a label that its level does not have")
    return codes


def _keys(labels: pd.Index[Any], options: Options | None = None) -> list[Any]:
    """What tells labels apart that are Python objects, for copies of them too."""
    if options is None:
        options = DEFAULTS
    try:
        return document.Encoder(options=options).texts(labels.tolist())
    except document.Unsupported as error:
        raise Refused(f"a label is of type {error.cls.__name__}") from None


def level_values(index: pd.MultiIndex, level: int) -> pd.Index[Any]:
    """The labels of one level, missing ones included, of a dtype that holds all of them."""
    # Without names, one of which could be the number of another level.
    values = index.set_names([None] * index.nlevels).get_level_values(level)
    labels = index.levels[level]
    if isinstance(labels, pd.IntervalIndex) and _would_round(labels, values):
        codes = np.asarray(index.codes[level])
        cells = [None if code < 0 else labels[code] for code in codes.tolist()]
        return pd.Index(cells, dtype=object, tupleize_cols=False)
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


def _would_round(labels: pd.IntervalIndex[Any], values: pd.Index[Any]) -> bool:
    """Whether missing labels make floats of integers that floats do not hold."""
    if labels.dtype == values.dtype:
        return False
    return any(
        end.dtype.kind in "iu" and not np.array_equal(end, end.astype("f8").astype(end.dtype))
        for end in (labels.left, labels.right)
    )


def _is_equal(one: pd.Index[Any], other: pd.Index[Any]) -> bool:
    if isinstance(one, pd.MultiIndex):
        return all(
            _is_equal(one.levels[level], other.levels[level])
            and np.array_equal(one.codes[level], other.codes[level])
            for level in range(one.nlevels)
        )
    if isinstance(one, pd.CategoricalIndex):
        # (pandas 2 compares dtypes by hashes of the labels, which not all texts have.)
        return (
            _is_equal(one.categories, other.categories)
            and _dtypes(one.categories) == _dtypes(other.categories)
            and one.ordered is other.ordered
            and np.array_equal(one.codes, other.codes)
        )
    # Objects and types of Arrow come back as they were; a NaN inside one is not equal to itself,
    # and not all types of Arrow can be compared.
    exact = one.dtype == object or isinstance(one.dtype, pd.ArrowDtype)
    return exact or bool(one.equals(other))


def _dtypes(index: pd.Index[Any]) -> list[Any]:
    if isinstance(index, pd.MultiIndex):
        return [dtype for level in index.levels for dtype in _dtypes(level)]
    return ["category" if isinstance(index, pd.CategoricalIndex) else index.dtype]


def _names(index: pd.Index[Any], options: Options | None) -> Any:
    try:
        return document.Encoder(options=options).encode(list(index.names))
    except document.Unsupported as error:
        raise Refused(f"its name is of type {error.cls.__name__}") from None


def _labels(index: pd.Index[Any], options: Options | None) -> dict[str, Any]:
    """One level: objects as a document, everything else by way of Arrow."""
    column = None if index.dtype == object else make_column(index, options)
    if column is None or (isinstance(index.dtype, pd.StringDtype) and not _many_texts(column)):
        try:
            objects = [
                label if column is None or isinstance(label, str) else None
                for label in index.tolist()
            ]
            labels = _documents(document.Encoder(options=options).encode(objects))
        except document.Unsupported as error:
            raise Refused(f"a label is of type {error.cls.__name__}") from None
        return labels if column is None else labels | {"spec": column.spec}
    return {"spec": column.spec, "arrow": to_base64(to_arrow(column, 0, len(index)))}


def _many_texts(column: _columns.Column) -> bool:
    """Whether texts are many, and in Arrow's memory: no object is made of any of them."""
    texts = column.values
    in_arrow = getattr(texts.dtype, "storage", None) == "pyarrow"
    return in_arrow and column.row_bytes * len(texts) >= WORTH_COMPRESSING


def _documents(encoded: list[Any]) -> dict[str, Any]:
    """Labels that are documents: as they are, or compressed where they are many."""
    text = document.dump(encoded)
    if len(text) < WORTH_COMPRESSING:
        return {"objects": encoded}
    # No codec of Parquet's sees what lies in the metadata, such as 60,000 categories.
    data = pa.compress(text, codec=_CODEC, asbytes=True)
    return {"packed": [len(text), base64.b64encode(data).decode()]}


def _undocuments(labels: dict[str, Any]) -> Any:
    if "objects" in labels:
        return document.from_json(labels["objects"])
    size, text = labels["packed"]
    data = base64.b64decode(text, validate=True)
    return document.decode(memoryview(pa.decompress(data, size, codec=_CODEC, asbytes=True)))


def _unlabels(packed: dict[str, Any]) -> Any:
    if "arrow" not in packed:
        labels = _undocuments(packed)
        if "spec" in packed:
            texts = [text if isinstance(text, str) else None for text in labels]
            return _texts(texts, packed["spec"])
        array: Any = np.empty(len(labels), dtype=object)
        for position, label in enumerate(labels):  # One by one: tuples are labels, not rows.
            array[position] = label
        return array
    return from_arrow(from_base64(packed["arrow"]), packed["spec"])


def _texts(texts: list[str | None], spec: dict[str, Any]) -> Any:
    """Labels of a dtype of strings."""
    try:
        array = pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # One has a lone surrogate.
        return from_arrow(_objects.documents(texts, None).values, spec | {"documents": True})
    return from_arrow(pa.chunked_array([array]), spec)

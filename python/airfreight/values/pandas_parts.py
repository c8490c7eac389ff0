"""Series, indexes, categoricals and arrays of pandas, as frames. Specification: `formats/frame.md`.

A series is a frame of one column, an index a frame of none, an array a series without an index of
its own: what keeps frames exactly keeps these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from airfreight import values
from airfreight.values import DEFAULTS, Payload, _describe, pandas_

if TYPE_CHECKING:
    from collections.abc import Callable

    from airfreight.values import NewSink, Options


class PartCodec:
    """The codec of one kind of value. Its `TYPE` is the `_xcom_type`.

    Threads: any. Blocking: as the sink. Errors: as those of frames.
    """

    EXTENSION = pandas_.EXTENSION
    CONTENT_TYPE = pandas_.CONTENT_TYPE

    def __init__(
        self,
        kind: str,
        check: Callable[[Any], bool],
        to_frame: Callable[[Any], pd.DataFrame],
        from_frame: Callable[[pd.DataFrame], Any],
    ) -> None:
        self.TYPE = kind
        self._is_ours = check
        self._to_frame = to_frame
        self._from_frame = from_frame

    def encode(
        self, value: Any, options: Options = DEFAULTS, new_sink: NewSink = values.new_sink, /
    ) -> Payload:
        """Encodes into a native sink.

        Raises:
            TypeError: it can't be kept exactly; names the place and the reason.
        """
        if not self._is_ours(value):
            raise TypeError(
                f"value: {type(value)!r} is no {self.TYPE} of pandas' own; convert it, e.g. with "
                ".to_numpy()"
            )
        encoded = pandas_.encode_frame(self._to_frame(value), options, new_sink, what="its values")
        columns, nulls = encoded.columns, encoded.nulls
        if not columns:
            columns, nulls = encoded.levels, encoded.level_nulls
        name = type(value).__name__
        dtypes = [_describe.dtype(dtype, options) for _, dtype in columns]
        dtype = dtypes[0] if len(dtypes) == 1 else f"({', '.join(dtypes[:6])})"
        return Payload(
            body=encoded.sink,
            rows=len(value),
            columns=[("" if label is None else label, dtype) for label, dtype in columns],
            nulls=nulls,
            summary=_describe.line(
                f"{name} {len(value):,} {dtype}", (), encoded.sink.tell(), options.format, options
            ),
        )

    def decode(self, data: memoryview) -> Any:
        """Decodes what `encode` wrote. Nothing of the result lives in the memory of the view."""
        return self._from_frame(pandas_.decode(data))


def _series_to_frame(series: pd.Series[Any]) -> pd.DataFrame:
    frame = series.to_frame(name=0)
    # As an object: pandas guesses a dtype for a label alone.
    frame.columns = pd.Index([series.name], dtype=object, tupleize_cols=False)
    frame.attrs = series.attrs
    frame.flags.allows_duplicate_labels = series.flags.allows_duplicate_labels
    return frame


def _series_from_frame(frame: pd.DataFrame) -> pd.Series[Any]:
    series = frame.iloc[:, 0]
    series.attrs = frame.attrs
    series.flags.allows_duplicate_labels = frame.flags.allows_duplicate_labels
    return series


def _array_to_frame(array: Any) -> pd.DataFrame:
    if getattr(array, "freq", None) is not None and not isinstance(array, pd.arrays.PeriodArray):
        return pd.DataFrame(index=pd.Index(array))  # A column has no frequency.
    if type(array).__name__ in ("NumpyExtensionArray", "PandasArray"):
        array = array._ndarray  # (`to_numpy` asks each cell whether it is missing.)
    # The dtype is said, because pandas guesses one from objects.
    return _series_to_frame(pd.Series(array, dtype=array.dtype, copy=False))


def _array_from_frame(frame: pd.DataFrame) -> Any:
    return frame.iloc[:, 0].array if frame.shape[1] else frame.index.array


def _is_of_pandas(value: Any) -> bool:
    return values.package_of(type(value)) == "pandas"


SERIES = PartCodec(
    "pandas.Series", lambda value: type(value) is pd.Series, _series_to_frame, _series_from_frame
)
INDEX = PartCodec(
    "pandas.Index",
    lambda value: isinstance(value, pd.Index) and _is_of_pandas(value),
    lambda index: pd.DataFrame(index=index),
    lambda frame: frame.index,
)
CATEGORICAL = PartCodec(
    "pandas.Categorical",
    lambda value: type(value) is pd.Categorical,
    _array_to_frame,
    _array_from_frame,
)
ARRAY = PartCodec(
    "pandas.array",
    lambda value: isinstance(value, pd.api.extensions.ExtensionArray) and _is_of_pandas(value),
    _array_to_frame,
    _array_from_frame,
)

"""Whatever hypothesis makes of every kind of column and label comes back exactly.

The examples are the same in each run (`derandomize`); `./dev soak` takes more of them.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracle import assert_same
from tests.python.conftest import MANY
from tests.python.strategies import COLUMNS, LABELS, frames, named

from airfreight.values import Options, pandas_, pandas_parts

#: What the format has to keep: each is a kind of `COLUMNS` or begins the name of some.
DTYPES = (
    *("numpy ?", "numpy i1", "numpy u8", "numpy f2", "numpy f8", "numpy g", "numpy c16"),
    *("numpy >i8", "numpy M8[s]", "numpy M8[ns]", "numpy m8[us]", "zoned", "masked Int64"),
    *("masked boolean", "masked Float64", "string python", "string pyarrow", "period"),
    *("interval", "sparse", "arrow list", "arrow struct", "arrow map", "arrow dictionary"),
    *("arrow decimal128", "category of objects", "category of numpy", "category of interval"),
    *("category of period", "category of masked", "objects of any kind", "objects tuples"),
    *("objects sets", "objects dicts", "objects decimal", "objects huge int"),
    *("objects missing of every kind", "objects datetime", "objects date"),
)
INDEXES = (
    *("range", "duplicates", "mixed", "tuples", "texts", "levels", "frequency", "numpy i8"),
    *("zoned", "masked Int64", "string", "period", "interval", "category", "arrow"),
)


FORMATS = ("parquet", "arrow")


def check(number: int, test: Any, *strategies: Any) -> None:
    """Runs a test with so many examples."""
    chosen = settings(
        max_examples=number * MANY,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    chosen(given(*strategies)(test))()


def through(value: Any, form: str, codec: Any = pandas_) -> Any:
    body = codec.encode(value, Options(format=form)).body
    return codec.decode(memoryview(body.getvalue()))


def test_every_kind_of_dtype_and_label_is_covered(capsys: pytest.CaptureFixture[str]) -> None:
    for wanted, kinds in ((DTYPES, COLUMNS), (INDEXES, LABELS)):
        missing = [name for name in wanted if not any(kind.startswith(name) for kind in kinds)]
        assert not missing
    with capsys.disabled():
        print(f"\n{len(COLUMNS)} kinds of columns: {', '.join(COLUMNS)}")
        print(f"{len(LABELS)} kinds of labels: {', '.join(LABELS)}")


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_this_kind_comes_back_exactly(kind: str) -> None:
    seen: set[int] = set()

    def comes_back(data: Any, rows: int) -> None:
        series = data.draw(COLUMNS[kind](rows))
        seen.add(len(series))
        for form in FORMATS:
            assert_same(through(series.to_frame(), form), series.to_frame())
        assert_same(through(series, "parquet", pandas_parts.SERIES), series)

    check(6, comes_back, st.data(), st.integers(0, 5))
    assert max(seen) > 0


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_this_kind_come_back_exactly_on_both_axes(kind: str) -> None:
    seen: set[int] = set()

    def come_back(data: Any, size: int) -> None:
        labels = data.draw(named(LABELS[kind](size)))
        seen.add(len(labels))
        frame = pd.DataFrame({0: range(len(labels))}, index=labels)
        for form in FORMATS:
            assert_same(through(frame, form), frame)
        frame = pd.DataFrame([range(len(labels))], columns=labels)
        assert_same(through(frame, "parquet"), frame)
        assert_same(through(labels, "parquet", pandas_parts.INDEX), labels)

    check(5, come_back, st.data(), st.integers(0, 4))
    assert max(seen) > 0


def test_any_frame_comes_back_exactly() -> None:
    def comes_back(frame: Any, form: str) -> None:
        before = frame.copy(deep=True)
        back = through(frame, form)
        assert_same(back, frame)
        assert_same(frame, before)  # Nothing of the value was changed.

    check(120, comes_back, frames(), st.sampled_from(FORMATS))

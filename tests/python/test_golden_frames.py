"""Frames as earlier releases wrote them are read as they were."""

from __future__ import annotations

import datetime
import decimal
import json
import zoneinfo
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracle import assert_same

from airfreight.values import pandas_

GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "frame"
FILES = sorted(GOLDEN.glob("v*/*.parquet"))


def expected(file: Path) -> Any:
    """What the expression beside a golden file stands for."""
    names = {"pd": pd, "np": np, "pa": pa, "datetime": datetime}
    names |= {"decimal": decimal, "zoneinfo": zoneinfo}
    return eval(file.with_suffix(".txt").read_text(encoding="utf-8"), names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_golden_frame_is_read_exactly(file: Path) -> None:
    assert_same(pandas_.decode(memoryview(file.read_bytes())), expected(file))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_frame_is_written_in_the_oldest_version_that_can_say_it(file: Path) -> None:
    body: Any = pandas_.encode(expected(file)).body
    for raw in (file.read_bytes(), body.getvalue()):
        metadata = pq.ParquetFile(pa.BufferReader(raw)).metadata.metadata[b"airfreight"]
        assert f"v{json.loads(metadata)['version']}" == file.parent.name


def test_there_are_golden_frames_of_each_version() -> None:
    assert {file.parent.name for file in FILES} == {f"v{n}" for n in range(1, pandas_.VERSION + 1)}

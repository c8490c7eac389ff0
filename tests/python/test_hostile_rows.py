"""Rows that somebody made up do not end the commands that go through all of them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

import airfreight
from airfreight import exchange
from airfreight.admin import erase, repatriate, sign, sweep
from airfreight.admin.mentions import Mentions
from airfreight.admin.rows import Row
from airfreight.errors import InvalidError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.python.conftest import Box

#: Deeper than any Python reads.
DEEP = '{"_airfreight":1,"_xcom_backend":"inline","outage":"","value":' + "[" * 200_000


def row(raw: Any) -> Row:
    written = datetime(2026, 1, 1, tzinfo=timezone.utc)
    return Row("xcom", "1", "sales", "r", "t", -1, "return_value", raw, written)


@pytest.mark.parametrize("raw", [DEEP, DEEP.encode()], ids=["text", "bytes"])
def test_one_that_is_too_deep_is_passed_over(raw: Any, tmp_path: Path) -> None:
    assert sign._references(row(raw)) == (None, [])
    assert list(Mentions({}, (), tmp_path).references(raw)) == []
    assert list(erase._uris(row(raw))) == []
    assert sweep._own_uri(raw, True) is None
    with pytest.raises(InvalidError, match="too deeply"):
        repatriate._ours(row(raw))


def test_what_no_text_can_hold_is_signed_all_the_same() -> None:
    assert sign._bytes({"a": "\ud800"}) == b'{"a":"\\ud800"}'
    assert sign._bytes({"a": "\u00e9"}) == b'{"a":"\xc3\xa9"}'


@pytest.mark.parametrize("field", ["uri", "dag", "run", "store", "write", "owner", "summary"])
def test_a_row_that_holds_no_text_is_an_error_of_ours(box: Box, field: str) -> None:
    fields = box.fields(box.push(b"x" * 100))
    fields[field] = "\ud800"
    made: Any = json.dumps(fields).encode() if exchange.ROWS_ARE_BYTES else fields
    with pytest.raises(airfreight.Error) as found:
        exchange.unpack(made)
    str(found.value).encode()


def test_what_a_row_names_makes_no_lines_of_a_log(box: Box) -> None:
    fields = box.fields(box.push(b"x" * 100))
    fields |= {"uri": "s3://x\nforged line", "dag": "a\rb"}
    with pytest.raises(airfreight.Error) as found:
        exchange.follow(fields)
    assert str(found.value).isprintable()

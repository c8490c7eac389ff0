"""Rows that somebody made up do not end the commands that go through all of them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from airfreight.admin import erase, rekey, repatriate, sign, sweep
from airfreight.admin.database import Row
from airfreight.errors import InvalidError

#: Deeper than any Python reads.
DEEP = '{"_airfreight":1,"_xcom_backend":"inline","outage":"","value":' + "[" * 200_000


def row(raw: Any) -> Row:
    written = datetime(2026, 1, 1, tzinfo=timezone.utc)
    return Row("xcom", "1", "sales", "r", "t", -1, "return_value", raw, written)


@pytest.mark.parametrize("raw", [DEEP, DEEP.encode()], ids=["text", "bytes"])
def test_one_that_is_too_deep_is_passed_over(raw: Any) -> None:
    assert sign._references(row(raw)) == (None, [])
    assert list(rekey._references(raw)) == []
    assert list(erase._uris(row(raw))) == []
    assert sweep._own_uri(raw, True) is None
    with pytest.raises(InvalidError, match="too deeply"):
        repatriate._ours(row(raw))


def test_what_no_text_can_hold_is_signed_all_the_same() -> None:
    assert sign._bytes({"a": "\ud800"}) == b'{"a":"\\ud800"}'
    assert sign._bytes({"a": "\u00e9"}) == b'{"a":"\xc3\xa9"}'

"""Rows that somebody made up do not end the commands that go through all of them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.test_outage import GOLDEN, SEAL_KEY

import airfreight
from airfreight import exchange
from airfreight.admin import erase, mentions, repatriate, rows, sign
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
    assert list(erase._uris(erase.Scope("sales"), row(raw))) == []
    assert mentions.own(raw) is None
    # (What it leads to is not known: a sweep keeps what that may be.)
    told: list[str] = []
    seen = Mentions({}, (), tmp_path, lambda _, error: told.append(error.code))
    assert list(seen.of(raw)) == []
    assert told == ["Invalid"]
    with pytest.raises(InvalidError, match="too deeply"):
        repatriate._ours(row(raw))


def test_an_object_that_leads_to_itself_and_to_a_damaged_one_is_looked_into_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    itself, damaged, other = (
        {"_airfreight": 1, "_xcom_type": "document", "uri": f"file:///x/{name}"} for name in "abc"
    )
    looked: list[Any] = []

    def look(_: Mentions, reference: dict[str, Any]) -> list[dict[str, Any]]:
        looked.append(reference)
        if reference == damaged:
            raise InvalidError("damaged")
        return [itself, other, damaged]

    monkeypatch.setattr(Mentions, "_look_into", look)
    told: list[Any] = []
    seen = Mentions({}, (), tmp_path, lambda reference, _: told.append(reference))
    for one in (itself, other):  # (Of each that leads there it is told.)
        told.clear()
        assert list(seen.inside(one)) == []
        assert damaged in told
    assert len(looked) == 3


@pytest.mark.parametrize(
    "change", [{"map": 10**30}, {"dag": "\ud800"}, {"write": "\ud800"}], ids=str
)
def test_a_sealed_value_of_a_place_that_can_not_be_is_told(
    box: Box, change: dict[str, Any], tmp_path: Path
) -> None:
    box.set(seal_keys=SEAL_KEY)
    fields = json.loads((GOLDEN / "v2/bytes.json").read_text())
    raw = json.dumps({**fields, "_xcom_type": "document", "extension": "json", **change})
    told: list[str] = []
    seen = Mentions({}, (), tmp_path, lambda _, error: told.append(error.code))
    assert list(seen.of(raw)) == []
    assert set(told) == {"Corrupt"}


def test_what_no_text_can_hold_is_signed_all_the_same() -> None:
    assert rows.encoded({"a": "\ud800"}, binary=True) == b'{"a":"\\ud800"}'
    assert rows.encoded({"a": "\u00e9"}, binary=True) == b'{"a":"\xc3\xa9"}'


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


@pytest.mark.parametrize(
    "change",
    [
        {"_xcom_backend": 5},
        {"_xcom_backend": None},
        {"uri": "file:///nowhere/d/r/t/map_-1/k.json"},
        {"_airfreight": 99},
        {"size_bytes": "many"},
        {"digest": "crc32c:00000000"},
        {"dag": {"a": []}},
        {"uri": None, "_xcom_backend": "inline", "outage": "x", "body": "!"},
        {"uri": None, "_xcom_backend": "inline", "outage": "x", "body": "AAAA", "extension": []},
        {"uri": None, "_xcom_backend": "inline", "outage": "x", "body": "AAAA", "size_bytes": 3,
         "_xcom_type": "bundle", "extension": "zip"},
    ],
    ids=str,
)  # fmt: skip
def test_what_leads_on_and_can_not_be_read_is_told_and_nothing_ends(
    box: Box, tmp_path: Path, change: dict[str, Any]
) -> None:
    box.set(threshold=0)
    fields = box.fields(box.push(["x" * 100, {1: 2}])) | change
    assert fields["_xcom_type"] in ("document", "bundle")
    fields = {name: value for name, value in fields.items() if value is not None}
    told: list[str] = []
    seen = Mentions({}, (), tmp_path, lambda _, error: told.append(error.code))
    assert list(seen.of(json.dumps(fields))) == []
    assert len(set(told)) == 1
    with pytest.raises(airfreight.Error):
        list(Mentions({}, (), tmp_path).of(json.dumps(fields)))


def test_deep_values_are_walked_and_what_stands_in_them_is_found() -> None:
    reference = {"_airfreight": 1, "uri": "s3://b/k"}
    value: Any = {"~ref": reference}
    for _ in range(20_000):
        value = [value]
    assert [found for *_, found in mentions.standing(value)] == [reference]


def test_a_changed_copy_of_a_reference_does_not_stand_for_it(box: Box, tmp_path: Path) -> None:
    """One that has expired leads nowhere; the genuine one in another row does."""
    box.set(threshold=0)
    inner = {"_xcom_backend": "s3", "_airfreight": 1, "uri": "s3://b/d/r/t/map_-1/k.bin"}
    fields = box.fields(box.push({"~ref": 1, "see": inner}))
    assert fields["_xcom_type"] == "document"
    body = box.file(fields).read_text()
    assert "s3://b/d" in body
    seen = Mentions({"a": "s3://b"}, (), tmp_path)
    assert not list(seen.of(json.dumps(fields | {"expires": "2020-01-01T00:00:00Z"})))
    list(seen.of(json.dumps(fields)))
    assert len(seen._seen) == 2

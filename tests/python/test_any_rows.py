"""Whatever a row or a claim holds, what parses it here ends in a value, or in an error of ours.

What is parsed in C++ has its targets in `fuzz/`. These are the parsers in Python of what others may
have written: real ones that chance has changed, the same each time.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests import leaks
from tests.python.conftest import MANY, Box
from tests.python.test_outage import SEAL_KEY

import airfreight
from airfreight import exchange
from airfreight.admin import erase, mentions, ownership, sign
from airfreight.admin.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parents[2] / "formats" / "golden"
SEED = 20_261_130
COUNT = 1500 * MANY
#: What has a meaning somewhere.
_TOKENS = (
    *(b"{", b"}", b"[", b"]", b'"', b":", b",", b"null", b"true", b"-1", b"1e400", b"NaN", b"0"),
    *(b'"_airfreight":2', b'"_xcom_backend":"inline"', b'"outage":1', b'"~ref":{', b'"sig":1'),
    *(b"\\u0000", b"\\ud800", b"\xff", b"9" * 5000, b"[" * 2000, b'{"a":' * 2000, b"\xf0\x9f"),
    *(b'"_xcom_type":"bundle"', b'"_xcom_type":"pickle"', b'"body":"AAAA"', b'"uri":"file:///"'),
)


def changed(seeds: list[bytes], count: int) -> Iterator[bytes]:
    """Texts that chance makes out of real ones."""
    chance = random.Random(SEED)
    for _ in range(count):
        text = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 3)):
            at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
            how = chance.randrange(6)
            if how == 0:
                text[at:at] = chance.choice(_TOKENS)
            elif how == 1:
                text[at : at + 1] = bytes([chance.randrange(256)])
            elif how == 2:
                del text[at : min(end, at + 40)]
            elif how == 3:
                text[at:at] = text[at : min(end, at + 200)]
            elif how == 4:
                other = chance.choice(seeds)
                begin = chance.randrange(len(other))
                text[at:at] = other[begin : begin + 200]
            else:
                # A member of another kind, with the rest as it was.
                value = json.loads(chance.choice(seeds))
                name = chance.choice([*value])
                value[name] = chance.choice([None, [], {}, 5, -1, 1.5, "x", True, [{}], "\ud800"])
                text = bytearray(json.dumps(value).encode())
        yield bytes(text)


@pytest.fixture
def rows(box: Box) -> list[bytes]:
    """Real ones: references, signed and sealed, values, and what an outage has left."""
    box.set(threshold=0, signing_keys=leaks.key("k1"), seal_keys=f"{leaks.key('s2')} {SEAL_KEY}")
    pushed = [box.push(["x" * 100, {1: 2}]), box.push({"a": "y"}, task_id="b")]
    box.set(threshold=1000, signing_keys=None)
    inner = airfreight.Reference.from_dict(box.fields(pushed[0]))
    pushed += [box.push({1: (2, b"3")}), box.push({"see": [inner]}), box.push({"see": {1: inner}})]
    left = sorted((GOLDEN / "outage").glob("v*/*.json"))
    assert left
    return [json.dumps(box.fields(row)).encode() for row in pushed] + [
        json.dumps(json.loads(path.read_text())).encode() for path in left
    ]


def test_a_row_gives_a_value_or_an_error_of_ours(box: Box, rows: list[bytes]) -> None:
    ended: Counter[str] = Counter()
    for text in changed(rows, COUNT):
        stored: Any = text
        if not exchange.ROWS_ARE_BYTES:
            try:
                stored = json.loads(text)
            except (ValueError, RecursionError):
                continue  # No such row can be.
        try:
            exchange.unpack(stored, SimpleNamespace(value=stored))
            ended["value"] += 1
        except airfreight.Error as error:
            str(error).encode()
            ended[error.code] += 1
        except Exception:
            # A row that is not ours fails as it does in Airflow's own backend.
            if exchange.ours(stored) is not None:
                raise AssertionError(text) from None
            ended["foreign"] += 1
        exchange.purge(stored)
    assert ended["value"] > 20
    assert ended["Invalid"] > 20
    assert ended["Corrupt"] > 20


def test_commands_go_through_all_rows(box: Box, rows: list[bytes], tmp_path: Path) -> None:
    written = datetime(2026, 1, 1, tzinfo=timezone.utc)
    scope = erase.Scope("sales")
    told: Counter[str] = Counter()
    seen = mentions.Mentions(
        {"default": f"file://{box.root}"},
        [("s3://old/xcom", f"file://{box.root}")],
        tmp_path,
        lambda _, error: told.update([error.code]),
    )
    found: Counter[str] = Counter()
    for text in changed(rows, COUNT):
        forms: list[Any] = [text]
        if text.isascii():
            forms.append(text.decode())
        for raw in forms:
            row = Row("xcom", "1", "sales", "r", "t", -1, "return_value", raw, written)
            found["mentioned"] += len(list(seen.of(raw)))
            found["own"] += mentions.own(raw) is not None
            found["to sign"] += len(sign._references(row)[1])
            found["to erase"] += len(list(erase._uris(scope, row)))
            list(mentions.Mentions({}, (), tmp_path, lambda *_: None).references(raw))
    assert all(found[name] > 100 for name in ("mentioned", "own", "to sign", "to erase")), found
    assert told
    assert not list(tmp_path.glob(f"{mentions.LOOKED_INTO}*"))


def test_a_claim_is_read_or_refused() -> None:
    place = {"kind": "postgresql", "host": "db", "port": "5432", "database": "airflow"}
    claim = ownership.Claim("prod", (place, place), "2026-01-01T00:00:00Z", "me@here")
    read, key = 0, ownership.claim_key("prod")
    for text in changed([claim.encode()], COUNT):
        try:
            made = ownership.Claim.decode(text, key)
        except (airfreight.InvalidError, airfreight.NewerFormatError):
            continue
        read += 1
        assert made.id == "prod"
        assert ownership.Claim.decode(made.encode(), key) == made
    assert read > 20

"""A store that is away: what stays in its row then, and what does not."""

from __future__ import annotations

import base64
import json
import pickle
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.python.conftest import RUN, Box, stored
from tests.python.test_pickle import ARCHIVES, ran

import airfreight
from airfreight import exchange, runtime
from airfreight import sealing as sealing_keys
from airfreight.exchange import outage

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parents[2] / "formats/golden/outage"
#: Of the golden files (formats/golden/make_sealed.py), and another.
SEAL_KEY = "s1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OTHER_KEY = f"s2:{base64.b64encode(b'2' * 32).decode()}"
FRAME = pd.DataFrame({"id": [1, 2, 3], "name": ["a", None, "é"]})


class Server:
    """Answers each request with the same text, or closes each connection; counts them."""

    def __init__(self, answer: str = "") -> None:
        self.connections = 0
        self._answer = answer.encode()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                if self._answer:
                    received = b""
                    while b"\r\n\r\n" not in received and (data := connection.recv(65536)):
                        received += data
                    connection.sendall(self._answer)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def away() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def lost(box: Box, away: Server, monkeypatch: pytest.MonkeyPatch) -> Box:
    """A backend whose store is away."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    box.set(
        store="s3://bucket/xcom",
        s3_endpoint_url=away.url,
        s3_region="us-east-1",
        timeout=0.05,
        outage="inline",
    )
    return box


def same(got: Any, value: Any) -> None:
    assert type(got) is type(value)
    if isinstance(value, pd.DataFrame):
        pd.testing.assert_frame_equal(got, value)
    elif isinstance(value, np.ndarray):
        np.testing.assert_array_equal(got, value)
        assert got.dtype == value.dtype
        assert got.flags.writeable == value.flags.writeable
    elif isinstance(value, dict) and "frame" in value:
        assert list(got) == list(value)
        same(got["frame"], value["frame"])
        same(got["array"], value["array"])
    else:
        assert got == value


VALUES: dict[str, Any] = {
    "pandas.DataFrame": FRAME,
    "numpy.ndarray": np.arange(12.0).reshape(3, 4),
    "bytes": b"\x00\xff" * 100,
    "json": ["y" * 50_000],
    "document": {1: "z" * 50_000},
    "bundle": {"frame": FRAME, "array": np.random.default_rng(1).random(6_000)},
    "pyarrow.Table": pa.table({"a": [1, None]}),
}


@pytest.mark.parametrize("kind", list(VALUES))
def test_a_value_stays_in_its_row_and_comes_back_without_a_store(
    lost: Box, away: Server, kind: str
) -> None:
    value = VALUES[kind]
    row = lost.push(value)
    fields = lost.fields(row)
    assert fields["_xcom_backend"] == "inline"
    assert fields["_xcom_type"] == kind
    assert "s3://bucket/xcom was away" in fields["outage"]
    assert (fields["dag"], fields["run"], fields["task"], fields["map"]) == (
        "sales", RUN, "extract", -1,
    )  # fmt: skip
    assert fields["size_bytes"] == len(base64.b64decode(fields["body"]))
    asked = away.connections
    # The store is another one by now, and none is opened.
    lost.set(store="s3://elsewhere/xcom", s3_endpoint_url=None)
    same(lost.pull(stored(row)), value)
    assert runtime.loaded() is None
    assert away.connections == asked


def test_the_row_tells_what_a_reference_would_tell(lost: Box) -> None:
    fields = lost.fields(lost.push(FRAME))
    assert fields["rows"] == 3
    assert fields["summary"].startswith("DataFrame 3 × 2: id int64")
    assert fields["columns"][0] == ["id", "int64"]
    assert fields["extension"] == "parquet"


def test_what_can_be_read_once_stays_whole(lost: Box) -> None:
    table = pa.table({"a": list(range(1000))})
    row = lost.push(table.to_reader())
    reader = lost.pull(stored(row))
    assert reader.read_all().equals(table)


def test_a_file_and_what_is_mapped_stay_too(lost: Box, tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("hello")
    got = lost.pull(stored(lost.push(airfreight.File(path))))
    assert got.path.read_text() == "hello"
    several = lost.pull(stored(lost.push(airfreight.mappable([FRAME, FRAME]))))
    assert len(several) == 2
    same(several[1], FRAME)


def test_a_part_or_columns_of_it_are_to_be_had(lost: Box) -> None:
    row = stored(lost.push(FRAME))
    token = exchange.wanted.set(exchange.Wanted(columns=["name"]))
    try:
        same(lost.pull(row), FRAME[["name"]])
    finally:
        exchange.wanted.reset(token)


def test_the_next_push_of_the_process_does_not_wait(lost: Box, away: Server) -> None:
    lost.push(FRAME)
    assert away.connections > 0
    asked = away.connections
    row = lost.fields(lost.push(FRAME, task_id="other"))
    assert row["_xcom_backend"] == "inline"
    with pytest.raises(airfreight.UnavailableError, match="is not asked again for") as raised:
        exchange.store(FRAME, *where())
    assert raised.value.outage
    assert away.connections == asked


def where() -> tuple[Any, exchange.Address]:
    address = exchange.Address("sales", RUN, "extract", "other", map_index=-1)
    return address.coordinate(), address


def test_by_default_the_push_fails(lost: Box) -> None:
    lost.set(outage=None)
    with pytest.raises(airfreight.UnavailableError) as raised:
        lost.push(FRAME)
    assert raised.value.outage
    assert raised.value.task == "extract"


def test_what_is_larger_fails_and_the_error_names_both_settings(lost: Box) -> None:
    lost.set(inline_max_bytes=1000)
    assert lost.fields(lost.push(b"x" * 1000))["size_bytes"] == 1000
    with pytest.raises(airfreight.UnavailableError) as raised:
        lost.push(b"x" * 1001)
    message = str(raised.value)
    assert "outage = inline of [airfreight] outage" in message
    assert "1000 bytes ([airfreight] inline_max_bytes)" in message
    assert "takes 1001" in message


@pytest.mark.parametrize("most", [None, 4 << 20])
def test_what_is_sent_in_parts_never_stays(lost: Box, most: int | None) -> None:
    lost.set(inline_max_bytes=most)
    table = pa.table({"a": np.random.default_rng(1).integers(0, 1 << 62, 2_000_000)})
    for value in (table, table.to_reader()):
        with pytest.raises(airfreight.UnavailableError, match="inline_max_bytes"):
            lost.push(value)


def test_the_limit_itself_has_a_limit(lost: Box) -> None:
    lost.set(inline_max_bytes=(4 << 20) + 1)
    with pytest.raises(airfreight.ConfigError, match="INLINE_MAX_BYTES"):
        lost.push(FRAME)


def test_a_rule_decides(lost: Box) -> None:
    lost.set(outage=None, policy='rules = [{name = "small", dag = "sales", outage = "inline"}]')
    assert lost.fields(lost.push(FRAME))["_xcom_backend"] == "inline"
    with pytest.raises(airfreight.UnavailableError):
        lost.push(FRAME, dag_id="others")


def test_what_a_rule_has_encrypted_does_not_stay(lost: Box) -> None:
    lost.set(policy='rules = [{name = "secret", encryption_key = "alias/xcom"}]')
    with pytest.raises(airfreight.UnavailableError, match=r"encryption_key of rule 'secret'.*seal"):
        lost.push(FRAME)


def test_no_pickle_stays(lost: Box) -> None:
    lost.set(pickle="allow")
    for value in (complex_object(), {"a": complex_object(), "b": b"x" * 50_000}):
        with pytest.raises(airfreight.UnavailableError, match="keeps no pickles in rows"):
            lost.push(value)


class Odd:
    """Nothing but a pickle keeps it."""

    def __init__(self) -> None:
        self.inner = {1, 2}

    def __reduce__(self) -> Any:
        return (Odd, ())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Odd)

    __hash__ = None  # type: ignore[assignment]


def complex_object() -> Any:
    return Odd()


def test_a_pickle_in_a_row_is_never_read(lost: Box) -> None:
    lost.set(pickle="allow")
    fields = lost.fields(lost.push(b"x" * 100))
    data = pickle.dumps(Odd())
    fields |= {
        "_xcom_type": "pickle",
        "extension": "pkl",
        "size_bytes": len(data),
        "body": base64.b64encode(data).decode(),
    }
    with pytest.raises(airfreight.UnsupportedError, match="none is read from a row"):
        lost.pull(as_row(fields))


@pytest.mark.parametrize("kind", ARCHIVES)
def test_nor_is_one_in_an_archive_in_a_row(lost: Box, kind: str) -> None:
    lost.set(pickle="allow")
    fields = lost.fields(lost.push(b"x" * 100))
    with pytest.raises(airfreight.UnsupportedError, match="none is read from a row"):
        list(lost.pull(as_row(fields | pickled_fields(kind))))
    assert ran == []


def pickled_fields(kind: str) -> dict[str, Any]:
    """What tells a row of an archive with a pickle in it from others."""
    name, data = ARCHIVES[kind]
    return {
        "_xcom_type": name,
        "extension": "zip",
        "size_bytes": len(data),
        "body": base64.b64encode(data).decode(),
    }


def as_row(fields: dict[str, Any]) -> Any:
    return json.dumps(fields).encode() if exchange.ROWS_ARE_BYTES else fields


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        ("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>", airfreight.DeniedError),
        ("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>", airfreight.Error),
        ("400 Bad Request", "<Error><Code>InvalidArgument</Code></Error>", airfreight.Error),
    ],
)
def test_an_answer_is_no_outage(lost: Box, status: str, body: str, error: type[Exception]) -> None:
    answering = Server(
        f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    )
    lost.set(s3_endpoint_url=answering.url)
    try:
        with pytest.raises(error) as raised:
            lost.push(FRAME)
    finally:
        answering.close()
    assert not raised.value.outage  # type: ignore[attr-defined]


def test_a_store_that_throttles_is_away(lost: Box) -> None:
    body = "<Error><Code>SlowDown</Code></Error>"
    answering = Server(
        f"HTTP/1.1 503 Slow Down\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    )
    lost.set(s3_endpoint_url=answering.url)
    try:
        assert "(Throttled)" in lost.fields(lost.push(FRAME))["outage"]
    finally:
        answering.close()


def test_the_value_of_another_row_is_refused(lost: Box) -> None:
    row = stored(lost.push(FRAME))
    with pytest.raises(airfreight.ForgedError, match="copied there from another row"):
        exchange.unpack(row, None, exchange.Address("sales", RUN, "load", "return_value", -1))


@pytest.mark.parametrize(
    "change",
    [
        {"body": "UEFSMQ"},
        {"body": "UEFSMQ=="},
        {"body": None},
        {"body": 5},
        {"size_bytes": 5},
        {"size_bytes": None},
        {"extension": "json"},
        {"_xcom_type": None},
        {"_xcom_type": "json"},
        {"_airfreight": 0},
    ],
    ids=str,
)
def test_a_damaged_row_is_an_error(lost: Box, change: dict[str, Any]) -> None:
    fields = lost.fields(lost.push(FRAME)) | change
    with pytest.raises(airfreight.CorruptError):
        lost.pull(as_row(fields))


def test_a_row_of_a_later_format_says_so(lost: Box) -> None:
    fields = lost.fields(lost.push(FRAME)) | {"_airfreight": 2}
    with pytest.raises(airfreight.NewerFormatError):
        lost.pull(as_row(fields))


def test_retention_holds_in_the_row_too(lost: Box) -> None:
    lost.set(policy='rules = [{name = "short", retention = "1d"}]')
    fields = lost.fields(lost.push(FRAME))
    same(lost.pull(as_row(fields)), FRAME)
    fields["expires"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 1))
    with pytest.raises(airfreight.ExpiredError, match="expired at"):
        lost.pull(as_row(fields))


def test_the_end_of_such_a_row_asks_no_store(lost: Box, away: Server) -> None:
    row = stored(lost.push(FRAME))
    runtime.forget()
    asked = away.connections
    exchange.purge(row)
    assert runtime.loaded() is None
    assert away.connections == asked


def test_a_reference_that_a_task_asks_for_is_never_a_row(lost: Box) -> None:
    with pytest.raises(airfreight.UnavailableError):
        exchange.store(FRAME, *where())


@pytest.fixture
def sealing(lost: Box) -> Box:
    """The same, and all that is pushed is to be sealed."""
    lost.set(seal="True", seal_keys=SEAL_KEY)
    return lost


@pytest.mark.parametrize("kind", list(VALUES))
def test_what_is_to_be_sealed_stays_sealed(sealing: Box, away: Server, kind: str) -> None:
    value = VALUES[kind]
    row = sealing.push(value)
    fields = sealing.fields(row)
    assert (fields["_xcom_backend"], fields["_airfreight"], fields["sealed"]) == ("inline", 2, 1)
    body = base64.b64decode(fields["body"])
    assert len(body) == fields["size_bytes"]
    # The envelope of formats/sealed.md, and nothing of the value before it.
    assert body[-1024:].startswith(b"AFSEALED")
    assert body[:4] not in (b"PAR1", b"\x93NUM", b"PK\x03\x04")
    assert b"yyyy" not in body
    assert b"zzzz" not in body
    asked = away.connections
    sealing.set(store="s3://elsewhere/xcom", s3_endpoint_url="http://127.0.0.1:1")
    same(sealing.pull(stored(row)), value)
    assert away.connections == asked


def test_sealed_by_a_rule_it_needs_no_key_of_the_store(lost: Box) -> None:
    policy = 'rules = [{name = "pii", seal = true, encryption_key = "alias/xcom"}]'
    lost.set(policy=policy, seal_keys=SEAL_KEY)
    assert lost.fields(lost.push(FRAME))["sealed"] == 1
    # A stream, whose bytes are sealed before the store is found to be away.
    table = pa.table({"a": list(range(1000))})
    row = stored(lost.push(table.to_reader()))
    assert lost.fields(row)["sealed"] == 1
    assert lost.pull(row).read_all().equals(table)


def test_a_sealed_value_opens_in_its_row_only_and_with_its_key(sealing: Box) -> None:
    mine = sealing.fields(sealing.push(FRAME))
    other = sealing.fields(sealing.push(FRAME, task_id="payroll"))
    assert mine["write"] != other["write"]
    for change in (
        {"body": other["body"]},
        {"body": other["body"], "write": other["write"]},
        {"task": "load"},
        {"map": 0},
        {"write": ""},
        {"write": "0" * 32},
    ):
        with pytest.raises(airfreight.ForgedError, match="does not open as what was sealed"):
            sealing.pull(as_row(mine | change))
    flipped = bytearray(base64.b64decode(mine["body"]))
    flipped[100] ^= 1
    with pytest.raises(airfreight.ForgedError, match="or it is damaged"):
        sealing.pull(as_row(mine | {"body": base64.b64encode(flipped).decode()}))
    sealing.set(seal_keys=OTHER_KEY)
    with pytest.raises(airfreight.DeniedError, match="sealed with the key"):
        sealing.pull(as_row(mine))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"body": "UEFSMQ==", "size_bytes": 4}, airfreight.CorruptError),
        ({"write": None}, airfreight.CorruptError),
        ({"write": 5}, airfreight.CorruptError),
        ({"dag": None}, airfreight.CorruptError),
        ({"map": "0"}, airfreight.CorruptError),
        ({"ti": "x"}, airfreight.CorruptError),
        ({"map": 10**30}, airfreight.CorruptError),
        ({"dag": "\ud800"}, airfreight.CorruptError),
        ({"write": "\ud800"}, airfreight.CorruptError),
        ({"sealed": 0}, airfreight.CorruptError),
        ({"sealed": None}, airfreight.CorruptError),
        ({"sealed": True}, airfreight.CorruptError),
        ({"sealed": "1"}, airfreight.CorruptError),
        ({"_airfreight": 1}, airfreight.CorruptError),
        ({"sealed": 2}, airfreight.NewerFormatError),
        ({"_airfreight": 3}, airfreight.NewerFormatError),
    ],
    ids=str,
)
def test_a_damaged_sealed_row_is_an_error(
    sealing: Box, change: dict[str, Any], error: type[Exception]
) -> None:
    row = as_row(sealing.fields(sealing.push(b"x" * 100)) | change)
    with pytest.raises(error, match="key 'return_value'"):
        sealing.pull(row)


def test_the_mark_of_sealing_can_not_be_taken_away_where_that_is_set(sealing: Box) -> None:
    sealed = sealing.fields(sealing.push(b"mine"))
    plain = {name: sealed[name] for name in sealed if name not in ("sealed", "write")} | {
        "_airfreight": 1, "body": base64.b64encode(b"theirs").decode(), "size_bytes": 6,
    }  # fmt: skip
    assert sealing.pull(as_row(plain)) == b"theirs"
    sealing.set(refuse_unsealed="True")
    with pytest.raises(airfreight.ForgedError, match="refuse_unsealed"):
        sealing.pull(as_row(plain))
    assert sealing.pull(as_row(sealed)) == b"mine"


def test_a_sealed_value_has_the_limit_and_no_key_is_no_outage(sealing: Box) -> None:
    sealing.set(inline_max_bytes=1200)
    assert sealing.fields(sealing.push(b"x" * 160))["size_bytes"] == 1200
    with pytest.raises(airfreight.UnavailableError, match="and this one takes 1201"):
        sealing.push(b"x" * 161)
    sealing.set(seal_keys=None)
    with pytest.raises(airfreight.InvalidError, match="seal_keys"):
        sealing.push(b"x")


class Keys:
    """What keeps a key: it answers the requests of these numbers only."""

    def __init__(self, *answered: int) -> None:
        self.asked = 0
        self.answered = answered

    def __call__(self, _key: str, _id: str, data: bytes, *, wraps: bool) -> bytes:
        self.asked += 1
        if self.asked not in self.answered:
            raise airfreight.UnavailableError("AWS KMS can't be asked: nobody", retryable=True)
        return data[::-1]


@pytest.mark.parametrize("value", [FRAME, {1: "z" * 50_000}], ids=["written", "put"])
def test_a_key_that_is_away_is_no_outage_of_the_store(
    sealing: Box, away: Server, monkeypatch: pytest.MonkeyPatch, value: Any
) -> None:
    # It would answer a second time, when the store is not away at all.
    monkeypatch.setattr(sealing_keys, "_ask_amazon", keys := Keys(2))
    sealing.set(seal_keys="a:aws-kms:alias/xcom")
    asked = away.connections
    with pytest.raises(airfreight.UnavailableError) as raised:
        sealing.push(value)
    assert (raised.value.outage, raised.value.retryable, keys.asked) == (False, True, 1)
    assert away.connections == asked
    text = str(raised.value)
    assert 'the key "a" (aws-kms alias/xcom): AWS KMS can\'t be asked' in text
    assert "run the task again when what keeps the key answers" in text
    assert "inline" not in text
    assert "store" not in text
    assert sealing.fields(sealing.push(value))["sealed"] == 1


def test_a_key_that_goes_away_after_the_store_is_told_beside_it(
    sealing: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = airfreight.UnavailableError("the key is away", retryable=True)

    def fail(*_: Any) -> Any:
        raise wrong

    monkeypatch.setattr(outage, "body_of", fail)
    with pytest.raises(airfreight.UnavailableError, match="s3://bucket/xcom") as raised:
        sealing.push(["y" * 50_000])
    assert raised.value.outage
    assert "; nor can it be sealed for its row: the key is away" in str(raised.value)


def test_a_value_that_is_too_large_anyway_asks_for_no_key(
    sealing: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sealed(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(outage, "body_of", sealed)
    sealing.set(inline_max_bytes=1200)
    with pytest.raises(airfreight.UnavailableError, match="and this one takes 50"):
        sealing.push(["y" * 50_000])


GOLDEN_ROWS = sorted(GOLDEN.glob("v*/*.json"))


@pytest.mark.parametrize("path", GOLDEN_ROWS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_golden_rows_are_read(box: Box, path: Path) -> None:
    box.set(seal_keys=SEAL_KEY)
    expression = path.with_suffix(".txt").read_text(encoding="utf-8")
    value = eval(expression, {"np": np, "pd": pd, "pa": pa})
    same(box.pull(as_row(json.loads(path.read_text(encoding="utf-8")))), value)

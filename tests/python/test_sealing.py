"""Values that are encrypted before they leave the process."""

from __future__ import annotations

import base64
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import boto3
import numpy as np
import pandas as pd
import pytest
from tests import leaks
from tests.python.conftest import RUN, Box, harm, stored

import airfreight
from airfreight import config, exchange, runtime, sealing
from airfreight.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.counting_proxy import CountingProxy


def key(letter: bytes) -> str:
    return leaks.key(letter.decode()).partition(":")[2]


FIRST, SECOND = f"s1:{key(b'1')}", f"s2:{key(b'2')}"
FRAME = pd.DataFrame({"name": ["confidential"] * 1000, "pay": np.arange(1000.0)})


@pytest.fixture
def sealed(box: Box) -> Box:
    box.set(seal="True", seal_keys=FIRST)
    return box


@pytest.mark.parametrize(
    "value",
    ["confidential", [1, {"a": "confidential"}], {1: (2, b"confidential")}, b"", b"x" * 200_000, 7],
    ids=lambda value: type(value).__name__,
)
def test_every_value_comes_back_and_neither_row_nor_store_has_it(sealed: Box, value: Any) -> None:
    row = stored(sealed.push(value))
    fields = sealed.fields(row)
    assert (fields["_airfreight"], fields["sealed"]) == (2, 1)
    object_bytes = sealed.file(row).read_bytes()
    assert fields["size_bytes"] == len(object_bytes)
    assert b"confidential" not in object_bytes
    assert "confidential" not in json.dumps(fields)
    assert sealed.pull(row) == value


def test_a_frame_is_read_whole_by_columns_and_by_another_deployment_of_the_keys(
    sealed: Box,
) -> None:
    row = stored(sealed.push(FRAME))
    assert b"confidential" not in sealed.file(row).read_bytes()
    assert sealed.fields(row)["rows"] == 1000
    sealed.set(seal=None, seal_keys=f"{SECOND}\n{FIRST}")
    pd.testing.assert_frame_equal(sealed.pull(row), FRAME)


def test_parts_are_read_with_the_requests_of_a_plain_object(s3: Box, proxy: CountingProxy) -> None:
    frame = pd.DataFrame({f"c{n}": np.random.default_rng(n).random(100_000) for n in range(20)})

    def asked() -> list[str]:
        reference = s3.fields(stored(s3.push(frame)))
        seen = len(proxy.requests)
        got = airfreight.get(reference, columns=["c3", "c17"])
        pd.testing.assert_frame_equal(got, frame[["c3", "c17"]])
        return [one.method for one in proxy.requests[seen:]]

    plain = asked()
    s3.set(seal="True", seal_keys=FIRST)
    assert asked() == plain


def test_a_rule_seals_what_it_matches_and_no_more(box: Box) -> None:
    rule = '[[rules]]\nname = "pii"\ndag = "hr_*"\nseal = true\n'
    box.set(policy=rule, seal_keys=FIRST, threshold="-1")
    assert box.fields(box.push("x", dag_id="hr_eu"))["sealed"] == 1
    assert box.pull(stored(box.push("x", dag_id="sales"))) == "x"
    assert not isinstance(box.push("x", dag_id="sales"), dict)


def test_a_rule_takes_out_what_the_section_seals(sealed: Box) -> None:
    sealed.set(policy='[[rules]]\nname = "public"\ndag = "open_*"\nseal = false\n')
    assert sealed.pull(stored(sealed.push("x", dag_id="open_data"))) == "x"
    assert not isinstance(sealed.push("x", dag_id="open_data"), dict)
    assert sealed.fields(sealed.push("x"))["sealed"] == 1


def test_without_keys_nothing_is_pushed_and_no_object_written(box: Box) -> None:
    box.set(seal="True")
    with pytest.raises(airfreight.InvalidError, match="seal_keys"):
        box.push("x")
    assert not list(box.root.rglob("*.*"))


def test_sealing_and_leaving_all_in_the_row_contradict(box: Box) -> None:
    box.set(seal="True", seal_keys=FIRST, threshold="-1")
    with pytest.raises(airfreight.ConfigError, match="seal = True asks"):
        box.push("x")


def test_what_is_wrong_with_the_keys_names_the_setting_and_shows_no_secret(box: Box) -> None:
    box.set(seal="True", seal_keys=f"s1:{key(b'1')[:20]}")
    with pytest.raises(airfreight.ConfigError, match=r"seal_keys .* which key 1 is not") as raised:
        box.push("x")
    assert key(b"1")[:20] not in str(raised.value)
    box.set(seal_keys=None, seal_keys_cmd=f"echo {FIRST} s2:{key(b'1')[:20]}")
    with pytest.raises(airfreight.ConfigError, match=r'seal_keys: key 2, "s2", has 15') as raised:
        box.push("x")
    assert key(b"1")[:20] not in str(raised.value)


def test_keys_come_from_a_file_by_a_command(box: Box, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"{FIRST}\n")
    box.set(seal="True", seal_keys_cmd=f"cat {tmp_path}/keys")
    assert box.through("x") == "x"
    row = stored(box.push("x"))
    box.set(seal_keys_cmd=None, seal_keys=SECOND)
    with pytest.raises(
        airfreight.DeniedError, match=r'sealed with the key "s1", .* keys here'
    ) as told:
        box.pull(row)
    assert "iam-policy" not in str(told.value)  # No role of the store's helps.


def test_the_object_of_another_xcom_does_not_open(sealed: Box) -> None:
    mine, theirs = sealed.push("mine"), sealed.push("they", task_id="payroll")
    harm(sealed.file(mine), sealed.file(theirs).read_bytes())
    with pytest.raises((airfreight.ForgedError, airfreight.CorruptError)):
        sealed.pull(stored(mine))


def row_of(dag: str, key: str | None = None) -> exchange.Address:
    """What a pull tells of the row that it asks for."""
    return exchange.Address(dag, RUN, "extract", key, map_index=-1)


@pytest.fixture
def unsealed(box: Box) -> list[Any]:
    """Rows of the DAG hr_eu from before its values had to be sealed, of each kind that there is."""
    values = FRAME, 7, {1: 2}
    rows = [stored(box.push(one, dag_id="hr_eu", key=f"k{n}")) for n, one in enumerate(values)]
    rule = '[[rules]]\nname = "pii"\ndag = "hr_*"\nseal = true\n'
    box.set(policy=rule, seal_keys=FIRST)
    return rows


def test_what_was_pushed_before_a_rule_is_read_under_it(box: Box, unsealed: list[Any]) -> None:
    frame, *others = (exchange.unpack(row, asked=row_of("hr_eu")) for row in unsealed)
    pd.testing.assert_frame_equal(frame, FRAME)
    assert others == [7, {1: 2}]


def test_what_is_not_sealed_under_a_rule_is_refused_where_that_is_set(
    box: Box, unsealed: list[Any]
) -> None:
    box.set(refuse_unsealed="True")
    where = row_of("hr_eu")
    for row in unsealed:
        with pytest.raises(airfreight.ForgedError, match=r"rule 'pii', line 4.*refuse_unsealed"):
            exchange.unpack(row, asked=where)
        with pytest.raises(airfreight.ForgedError, match="refuse_unsealed"):
            exchange.unpack_many([row], where)
    reference = box.fields(unsealed[0])
    for read in (lambda: airfreight.get(reference), lambda: airfreight.get_many([reference])):
        with pytest.raises(airfreight.ForgedError, match="refuse_unsealed"):
            read()
    with pytest.raises(airfreight.ForgedError, match="refuse_unsealed"):
        airfreight.get(reference, to=box.root / "copy")
    # What is sealed, what no rule asks for, and what Airflow's server reads for itself.
    sealed = stored(box.push("x", dag_id="hr_eu"))
    assert exchange.unpack(sealed, asked=row_of("hr_eu")) == "x"
    assert exchange.unpack(stored(box.push(5, dag_id="sales")), asked=row_of("sales")) == 5
    link = stored(box.push("/", dag_id="hr_eu", key="_link_x"))
    assert exchange.unpack(link, asked=row_of("hr_eu", "_link_x")) == "/"


def test_a_mark_of_sealing_that_somebody_takes_away_is_missed(box: Box) -> None:
    """With the plain object that he puts in its place he could be anybody who may write both."""
    box.set(threshold="0")
    plain = box.fields(box.push("theirs", dag_id="hr_eu"))
    box.set(threshold=None, seal="True", seal_keys=FIRST)
    row: Any = json.dumps(plain).encode() if exchange.ROWS_ARE_BYTES else plain
    assert exchange.unpack(row, asked=row_of("hr_eu")) == "theirs"
    box.set(refuse_unsealed="True")
    for where in (row_of("hr_eu"), None):
        with pytest.raises(airfreight.ForgedError, match=r"\[airfreight\] seal asks"):
            exchange.unpack(row, asked=where)


def test_what_is_signed_need_not_be_sealed(box: Box) -> None:
    keys = f"k1:{key(b'k')}"
    box.set(threshold="0", signing_keys=keys)
    before = stored(box.push("old"))
    box.set(threshold=None, seal="True", seal_keys=FIRST, refuse_unsealed="True")
    assert box.pull(before) == "old"
    box.set(signing_keys=None)  # Who has no keys can't know what a signature is worth.
    with pytest.raises(airfreight.ForgedError, match="refuse_unsealed"):
        box.pull(before)
    box.set(signing_keys=keys)
    forged = box.fields(stored(box.push("new")))
    forged.pop("sealed")
    with pytest.raises(airfreight.ForgedError, match="not what was signed"):
        box.pull(json.dumps(forged).encode() if exchange.ROWS_ARE_BYTES else forged)


def test_an_empty_signature_is_none_while_references_without_one_are_followed(box: Box) -> None:
    box.set(threshold="0")
    plain = {**box.fields(box.push("theirs")), "sig": ""}
    row: Any = json.dumps(plain).encode() if exchange.ROWS_ARE_BYTES else plain
    box.set(signing_keys=f"k1:{key(b'k')}", accept_unsigned_until="2999-01-01")
    assert box.pull(row) == "theirs"
    box.set(threshold=None, seal="True", seal_keys=FIRST, refuse_unsealed="True")
    with pytest.raises(airfreight.ForgedError, match="refuse_unsealed"):
        box.pull(row)


class _Kms:
    """As boto3's client, of a key that turns bytes round."""

    def __init__(self, asked: list[str]) -> None:
        self.asked = asked

    def encrypt(self, **given: Any) -> dict[str, bytes]:
        assert given["EncryptionContext"] == {"airfreight": "data key 1"}
        self.asked.append(f"encrypt {given['KeyId']}")
        return {"CiphertextBlob": b"blob" + given["Plaintext"][::-1]}

    def decrypt(self, **given: Any) -> dict[str, bytes]:
        assert given["EncryptionContext"] == {"airfreight": "data key 1"}
        self.asked.append(f"decrypt {given['KeyId']}")
        return {"Plaintext": given["CiphertextBlob"][4:][::-1]}


def test_a_service_is_asked_once_by_who_pushes_and_once_by_who_pulls(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(boto3.session.Session, "client", lambda *_, **__: _Kms(asked))
    box.set(seal="True", seal_keys="a:aws-kms:alias/xcom")
    rows = [stored(box.push([n], key=f"k{n}")) for n in range(3)]
    assert asked == ["encrypt alias/xcom"]
    runtime.forget()
    assert [box.pull(row) for row in rows] == [[0], [1], [2]]
    assert asked == ["encrypt alias/xcom", "decrypt alias/xcom"]


def test_a_service_that_refuses_names_key_and_action(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.exceptions import ClientError

    def refuse(*_: Any, **__: Any) -> Any:
        answer = {"Error": {"Code": "AccessDeniedException", "Message": "not authorized"}}
        raise ClientError(answer, "Encrypt")

    monkeypatch.setattr(_Kms, "encrypt", refuse)
    monkeypatch.setattr(boto3.session.Session, "client", lambda *_, **__: _Kms([]))
    box.set(seal="True", seal_keys="a:aws-kms:alias/xcom")
    with pytest.raises(airfreight.DeniedError, match=r'"a" \(aws-kms alias/xcom\).*kms:Encrypt'):
        box.push("x")


class _Service(BaseHTTPRequestHandler):
    """As AWS KMS, of a key that wraps nothing."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        given = asked.get("Plaintext") or asked["CiphertextBlob"]
        answer = json.dumps({"CiphertextBlob": given, "Plaintext": given}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.mark.parametrize("wraps", [True, False])
def test_no_log_tells_a_data_key_though_all_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, wraps: bool
) -> None:
    """botocore logs what it sends and gets, where Airflow's logging_level is DEBUG."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    for name, value in (
        ("AWS_ENDPOINT_URL_KMS", f"http://127.0.0.1:{server.server_port}"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    data_key = b"0123456789abcdefghijklmnopqrstuv"
    sealing.forget()
    try:
        with caplog.at_level(logging.DEBUG):
            assert sealing.ask("aws-kms", "alias/xcom", "a", wraps, data_key) == data_key
    finally:
        sealing.forget()
        server.shutdown()
        server.server_close()
        thread.join()
    assert any(record.name.startswith("botocore") for record in caplog.records)
    told = " ".join(record.getMessage() for record in caplog.records)
    assert data_key.decode() not in told
    assert base64.b64encode(data_key).decode() not in told


def test_a_library_that_is_not_installed_is_named(box: Box, monkeypatch: Any) -> None:
    monkeypatch.setitem(__import__("sys").modules, "boto3", None)
    with pytest.raises(airfreight.DeniedError, match="pip install boto3"):
        sealing.ask("aws-kms", "alias/xcom", "a", True, b"x")


def test_explain_tells_that_a_value_is_sealed(
    sealed: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    config.forget()
    assert main(["policy", "explain", "--dag", "hr", "--task", "t"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "seal = true  ([airfreight] seal)" in told
    assert "threshold = 0  ([airfreight] seal)" in told

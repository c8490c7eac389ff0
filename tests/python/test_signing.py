"""Signed references: where keys come from, and that what is forged is not followed."""

from __future__ import annotations

import base64
import hmac
import json
import subprocess
import sys
import traceback
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests import leaks

import airfreight
from airfreight import _secrets, config, exchange, provider, runtime
from airfreight._settings_table import BY_NAME
from airfreight.exchange import push

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY, OTHER = leaks.key("k1"), leaks.key("k2")
SECRET = KEY.partition(":")[2]
PREFIX = "AIRFLOW__AIRFREIGHT__"
ADDRESS = exchange.Address("d", "r", "t", "return_value", map_index=-1)
VALUE = "x" * 100_000


class Box:
    """One store, under settings as a process has them that starts now."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.patch = patch
        self.set(store=f"file://{folder}/store")

    def set(self, **settings: str | None) -> None:
        for name, text in settings.items():
            variable = PREFIX + name.upper()
            if text is None:
                self.patch.delenv(variable, raising=False)
            else:
                self.patch.setenv(variable, text)
        config.forget()
        runtime.forget()

    def push(self) -> Any:
        return _decoded(exchange.pack(VALUE, ADDRESS))

    def pull(self, row: Any) -> Any:
        return exchange.unpack(json.dumps(row).encode() if exchange.ROWS_ARE_BYTES else row)


def _decoded(row: Any) -> Any:
    return json.loads(row) if isinstance(row, bytes) else row


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Box]:
    yield Box(monkeypatch, tmp_path)
    config.forget()
    runtime.forget()


def test_with_a_key_every_row_is_signed_and_only_such_rows_are_followed(box: Box) -> None:
    before = box.push()
    assert "sig" not in before
    box.set(signing_keys=KEY)
    signed = box.push()
    assert signed["sig"].startswith("k1:")
    assert signed["digest"].startswith("sha256:")
    assert box.pull(signed) == VALUE
    forged = [before]
    forged += [signed | {name: text} for name, text in (("task", "u"), ("sig", "k1:" + "0" * 64))]
    for row in forged:
        with pytest.raises(airfreight.ForgedError):
            box.pull(row)


def test_a_database_that_rewrites_the_row_leaves_its_signature_valid(box: Box) -> None:
    box.set(signing_keys=KEY)
    signed = box.push()
    # PostgreSQL's JSONB: shorter names first; numbers in a form of its own.
    moved = {name: signed[name] for name in sorted(signed, key=lambda name: (len(name), name))}
    moved["size_bytes"] = float(moved["size_bytes"])
    assert box.pull(moved) == VALUE


def test_keys_are_rotated_without_a_gap(box: Box) -> None:
    box.set(signing_keys=KEY)
    old = box.push()
    box.set(signing_keys=f"{OTHER}, {KEY}\n")
    young = _decoded(exchange.pack(VALUE, ADDRESS._replace(task="later")))
    assert young["sig"].startswith("k2:")
    assert box.pull(old) == box.pull(young) == VALUE
    box.set(signing_keys=OTHER)
    assert box.pull(young) == VALUE
    with pytest.raises(airfreight.ForgedError, match=r'"k1".*\(k2\)'):
        box.pull(old)


def test_unsigned_rows_are_followed_until_a_date(box: Box) -> None:
    unsigned = box.push()
    box.set(signing_keys=KEY, accept_unsigned_until="2999-01-01")
    assert box.pull(unsigned) == VALUE
    box.set(accept_unsigned_until="2020-01-01T00:00:00Z")
    with pytest.raises(airfreight.ForgedError, match="not signed"):
        box.pull(unsigned)


def test_required_without_a_key_stops_push_and_pull(box: Box) -> None:
    row = box.push()
    box.set(signing="required")
    for call in (box.push, lambda: box.pull(row)):
        with pytest.raises(airfreight.ConfigError, match=rf"{PREFIX}SIGNING_KEYS to <id>:<base64>"):
            call()
    # What stays in the row needs no store, and no key.
    assert _decoded(exchange.pack(1, ADDRESS)) == 1


def test_off_looks_at_no_key(box: Box) -> None:
    box.set(signing="off", signing_keys_cmd="false")
    assert "sig" not in box.push()


def test_a_key_comes_from_a_command_whose_line_feed_is_not_its_own(
    box: Box, tmp_path: Path
) -> None:
    file = tmp_path / "keys with a blank"
    file.write_text(KEY + "\n", encoding="utf-8")
    box.set(signing_keys_cmd=f"cat '{file}'")
    assert box.push()["sig"].startswith("k1:")
    box.set(signing_keys=OTHER)  # The variable itself goes before.
    assert box.push()["sig"].startswith("k2:")


def test_a_key_comes_from_a_file(box: Box, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"{OTHER}\n{KEY}\n", encoding="utf-8")
    box.set(signing_keys_file=str(file), signing_keys_cmd="false")
    assert box.push()["sig"].startswith("k2:")
    box.set(signing_keys=KEY)  # The variable itself goes before.
    assert box.push()["sig"].startswith("k1:")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "can't be read: No such file"),
        (b" \n", "is empty"),
        (b"k1:\xff\xfe" + SECRET.encode(), "can't be read: it is no text"),
        (KEY.encode() * 100_000, "far too large"),
    ],
)
def test_a_file_without_a_key_is_an_error_that_names_its_setting_and_no_secret(
    box: Box, tmp_path: Path, data: bytes | None, said: str
) -> None:
    file = tmp_path / "keys"
    if data is not None:
        file.write_bytes(data)
    box.set(signing_keys_file=str(file))
    with pytest.raises(airfreight.ConfigError, match=said) as caught:
        box.push()
    assert f"{PREFIX}SIGNING_KEYS_FILE" in str(caught.value)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("false", "status 1"),
        ("true", "printed nothing"),
        ("no-such-command-there-is", "can't be run: No such file"),
        ("cat 'unclosed", "can't be run: its quotes do not match"),
        (f"{sys.executable} -c 'import sys; print(\"{KEY}\"); sys.exit(3)'", "status 3"),
    ],
)
def test_a_command_that_fails_is_an_error_that_names_its_setting_and_no_secret(
    box: Box, command: str, said: str
) -> None:
    box.set(signing_keys_cmd=command)
    with pytest.raises(airfreight.ConfigError, match=said) as caught:
        box.push()
    assert f"{PREFIX}SIGNING_KEYS_CMD" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_key_comes_from_the_secrets_backend(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    class Vault:
        def get_config(self, key: str) -> str | None:
            return {"xcom/keys": KEY + "\n"}.get(key)

    box.set(signing_keys_secret="xcom/keys")
    with pytest.raises(airfreight.ConfigError, match="SIGNING_KEYS_SECRET names an entry"):
        box.push()
    monkeypatch.setattr("airflow.configuration.get_custom_secret_backend", Vault)
    assert box.push()["sig"].startswith("k1:")
    box.set(signing_keys_secret="xcom/others")
    with pytest.raises(airfreight.ConfigError, match="has no entry 'xcom/others'"):
        box.push()


def test_the_file_is_looked_at_after_the_environment(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"signing_keys_cmd": f"echo {KEY}"}
    monkeypatch.setattr("airfreight._airflow.file_options", lambda _: dict(texts))
    assert _secrets.read(BY_NAME["signing_keys"]) == KEY
    box.set(signing_keys=OTHER)
    assert _secrets.read(BY_NAME["signing_keys"]) == OTHER
    box.set(signing_keys=" ")
    texts["signing_keys"] = KEY + "x"
    assert _secrets.read(BY_NAME["signing_keys"]) == KEY + "x"


@pytest.mark.parametrize(
    "text", ["s3cr3t", f"{KEY},k2:s3cr3t", f"{KEY} {SECRET}", "k1:" + "a" * 42]
)
def test_a_wrong_key_is_named_by_its_number_and_not_shown(text: str) -> None:
    with pytest.raises(airfreight.ConfigError) as caught:
        config.parse({"signing_keys": text}, executor="LocalExecutor", home="/home")
    message = str(caught.value)
    assert f"key {len(text.replace(',', ' ').split())} is not" in message
    assert "s3cr3t" not in message
    assert SECRET not in message
    assert "a" * 42 not in message


def test_what_only_the_core_sees_of_a_key_is_named_too(box: Box) -> None:
    box.set(signing_keys=f"{KEY},{KEY}")
    with pytest.raises(airfreight.ConfigError, match=r'key 2 has the id "k1" of another') as caught:
        box.push()
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", ["soon", "2026-13-01", "2026-01-01T00:00:00+02:00", "1767225600"])
def test_a_wrong_date_is_named(text: str) -> None:
    with pytest.raises(airfreight.ConfigError, match=r"accept_unsigned_until.*must be a date"):
        config.parse({"accept_unsigned_until": text}, executor="LocalExecutor", home="/home")


def test_a_reference_of_another_row_is_refused_where_the_row_is_known(box: Box) -> None:
    for keys in (None, KEY):
        box.set(signing_keys=keys)
        stored = exchange.pack(VALUE, ADDRESS)
        # A pull from another DAG or run asks for that row, and gets it.
        assert exchange.unpack(stored, asked=ADDRESS) == VALUE
        for name in ("dag", "run", "task", "key"):
            asked = _other(name)
            with pytest.raises(airfreight.ForgedError, match=f"the row of {name} 'other'"):
                exchange.unpack(stored, asked=asked)
            exchange.purge(stored, asked)  # The object of another row stays.
        with pytest.raises(airfreight.ForgedError, match="the row of map index 3"):
            exchange.unpack(stored, asked=ADDRESS._replace(map_index=3))
        assert exchange.unpack(stored, asked=ADDRESS) == VALUE
        exchange.purge(stored, ADDRESS)
        with pytest.raises(airfreight.NotFoundError):
            exchange.unpack(stored, asked=ADDRESS)


def test_an_object_without_a_row_is_not_read_out_of_one(box: Box) -> None:
    coordinate = runtime.coordinate("d", "r", "t", "", put_name="features")
    reference = json.loads(exchange.store(VALUE, coordinate, ADDRESS._replace(key=None)))
    row = json.dumps(reference).encode() if exchange.ROWS_ARE_BYTES else reference
    with pytest.raises(airfreight.ForgedError, match="which has no row of its own"):
        exchange.unpack(row, asked=ADDRESS)
    # Where a task has returned it, alone or in a list, it comes back as what it is.
    mine = airfreight.Reference.from_dict(reference)
    for value in (mine, [mine, {"a": mine}]):
        back = exchange.unpack(exchange.pack(value, ADDRESS), asked=ADDRESS)
        assert back == value
    assert airfreight.get(mine) == VALUE


@pytest.mark.skipif(not exchange.ROWS_ARE_BYTES, reason="Airflow 3 gives no rows")
def test_airflow_2_tells_which_row_it_is(box: Box) -> None:
    stored = exchange.pack(VALUE, ADDRESS)
    whole = SimpleNamespace(
        value=stored, dag_id="d", run_id="r", task_id="t", map_index=-1, key="return_value"
    )
    backend: Any = airfreight.XComBackend
    assert backend.deserialize_value(whole) == VALUE
    assert backend.deserialize_value(SimpleNamespace(value=stored)) == VALUE
    whole.dag_id = "other"
    with pytest.raises(airfreight.ForgedError, match="the row of dag 'other'"):
        backend.deserialize_value(whole)
    backend.purge(whole, None)
    assert backend.deserialize_value(SimpleNamespace(value=stored)) == VALUE
    whole.dag_id = "d"
    backend.purge(whole, None)
    with pytest.raises(airfreight.NotFoundError):
        backend.deserialize_value(whole)


@pytest.mark.skipif(exchange.ROWS_ARE_BYTES, reason="Airflow 2 has no such method")
@pytest.mark.parametrize("by_position", [False, True])
def test_airflow_3_deletes_the_object_of_the_row_that_it_deletes(
    box: Box, monkeypatch: pytest.MonkeyPatch, by_position: bool
) -> None:
    stored = exchange.pack(VALUE, ADDRESS)
    backend: Any = airfreight.XComBackend
    sent: list[Any] = []
    monkeypatch.setattr(
        backend, "_get_xcom_db_ref", classmethod(lambda *_, **__: SimpleNamespace(value=stored))
    )
    supervisor = SimpleNamespace(send=sent.append)
    monkeypatch.setattr(
        "airflow.sdk.execution_time.task_runner.SUPERVISOR_COMMS", supervisor, raising=False
    )
    for task in ("other", "t"):
        assert exchange.unpack(stored) == VALUE
        if by_position:
            backend.delete("return_value", task, "d", "r", -1)
        else:
            backend.delete(key="return_value", task_id=task, dag_id="d", run_id="r", map_index=-1)
    assert len(sent) == 2
    with pytest.raises(airfreight.NotFoundError):
        exchange.unpack(stored)


def test_what_a_container_hands_over_becomes_a_reference_by_its_signature(box: Box) -> None:
    box.set(signing_keys=KEY)
    made = box.push()  # By the container, say, which writes it to return.json.
    for threshold in ("-1", "0", None):
        box.set(threshold=threshold)
        assert _decoded(exchange.pack(made, ADDRESS)) == made
    box.set(signing_keys="k1@d:" + _key_of("d"))  # Its own DAG's key is all that it has.
    assert _decoded(exchange.pack(made, ADDRESS)) == made
    forged = [
        made | {"sig": "k1:" + "0" * 64},
        made | {"size_bytes": 1},
        {name: made[name] for name in made if name != "sig"},
    ]
    for value in forged:
        _stays_a_value(value, ADDRESS)
    for name in ("dag", "run", "task", "key"):
        if name != "dag":
            _stays_a_value(made, _other(name))
    # Deeper it is a value, whatever it holds; so is its text.
    for deeper in ([made], {"a": made}, json.dumps(made)):
        _stays_a_value(deeper, ADDRESS)
    box.set(signing_keys=None)
    _stays_a_value(made, ADDRESS)


def test_without_a_key_a_rule_may_say_that_containers_hand_over_references(box: Box) -> None:
    made = box.push()
    _stays_a_value(made, ADDRESS)
    box.set(policy='[[rules]]\ndag = "d"\naccept_external = true')
    assert _decoded(exchange.pack(made, ADDRESS)) == made
    _stays_a_value(made, ADDRESS._replace(task="other"))
    _stays_a_value(made | {"uri": "s3://other/xcom/d/r/t/map_-1/return_value.json"}, ADDRESS)
    # With keys, only a signature counts.
    box.set(signing_keys=KEY)
    _stays_a_value(made, ADDRESS)


def test_what_is_handed_over_is_none_where_a_rule_asks_for_an_encryption_that_it_does_not_tell(
    box: Box, caplog: pytest.LogCaptureFixture
) -> None:
    made = box.push()
    asks: list[dict[str, Any]] = [
        {"encryption_key": "arn:aws:kms:eu-west-1:1:key/k"},
        {"seal": True},
    ]
    for asked in asks:
        with push._under(replace(push._now(), accept_external=True, **asked)):
            assert push._adopted(made, ADDRESS) is None
        said = caplog.records[-1].getMessage()
        assert "is pushed as the value that it is" in said
        assert f"{next(iter(asked))} " in said
        assert "right is to have the container" in said
    # Who signs one answers for the key by which the store has encrypted it.
    box.set(signing_keys=KEY)
    signed = box.push()
    with push._under(replace(push._now(), **asks[0])):
        assert push._adopted(signed, ADDRESS) is not None
    # Where nobody can look at it, anybody may have written that it is signed.
    box.set(signing_keys=None)
    with push._under(replace(push._now(), accept_external=True, **asks[0])):
        assert push._adopted(signed, ADDRESS) is None


def test_what_is_handed_over_takes_the_place_of_what_the_task_pushed_before(
    box: Box, tmp_path: Path
) -> None:
    box.set(signing_keys=KEY)
    made = box.push()
    runtime.forget()  # Another process.
    other = exchange.pack(b"y" * 100, ADDRESS)
    assert len(list((tmp_path / "store").rglob("return_value.*"))) == 2
    assert _decoded(exchange.pack(made, ADDRESS)) == made
    (left,) = (tmp_path / "store").rglob("return_value.*")
    assert made["uri"].endswith(left.name)
    with pytest.raises(airfreight.NotFoundError):
        exchange.unpack(other)


def _other(name: str) -> exchange.Address:
    """The address with another part."""
    return exchange.Address(**{**ADDRESS._asdict(), name: "other"})


def _key_of(dag: str) -> str:
    """HKDF by the letter of RFC 5869, of what formats/reference.md says."""
    secret = base64.b64decode(SECRET)
    extracted = hmac.digest(b"\0" * 32, secret, "sha256")
    info = b"airfreight reference 1\n" + dag.encode()
    return base64.b64encode(hmac.digest(extracted, info + b"\x01", "sha256")).decode()


def _stays_a_value(value: Any, address: exchange.Address) -> None:
    row = exchange.pack(value, address)
    assert exchange.unpack(row, asked=address) == value
    assert _decoded(row) != value or exchange.ours(row) is None


def test_the_endings_are_settings_and_a_near_miss_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX + "SIGNING_KEYS_CMD", "true")
    monkeypatch.setenv(PREFIX + "SIGNING_KEYS_SECRET", "x")
    monkeypatch.setenv(PREFIX + "SIGNING_KEYS_FILE", "x")
    monkeypatch.setenv(PREFIX + "SIGNING_KEY", KEY)
    _, doubts, _ = config.review()
    (doubt,) = (doubt for doubt in doubts if "SIGNING" in doubt)
    assert doubt.endswith(f"SIGNING_KEY) is not an option; did you mean {PREFIX}SIGNING_KEYS?")


def test_airflow_is_told_that_keys_are_secret() -> None:
    options = provider.get_provider_info()["config"]["airfreight"]["options"]
    assert [name for name, option in options.items() if option.get("sensitive")] == [
        "signing_keys",
        "seal_keys",
    ]


# In a process of its own: what Airflow has loaded before its first task's code runs.
_TASK = """
import logging, sys
import airflow
from airfreight import config, exchange, runtime
import {masker} as masker
row = exchange.pack("x" * 100_000, exchange.Address("d", "r", "t", "return_value", map_index=-1))
assert b"sig" in row if isinstance(row, bytes) else "sig" in row
print(masker.redact("key {secret} end"))
"""


def test_keys_are_masked_in_what_the_process_logs(box: Box) -> None:
    masker = (
        "airflow.utils.log.secrets_masker"
        if exchange.ROWS_ARE_BYTES
        else "airflow.sdk._shared.secrets_masker"
    )
    box.set(signing_keys_cmd=f"echo {KEY}")
    done = subprocess.run(
        [sys.executable, "-c", _TASK.format(masker=masker, secret=SECRET)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "key *** end" in done.stdout
    assert SECRET not in done.stdout + done.stderr

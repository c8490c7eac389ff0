"""Signed references: where keys come from, and that what is forged is not followed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import airfreight
from airfreight import _secrets, config, exchange, provider, runtime
from airfreight._settings_table import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OTHER = "k2:Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="
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
    young = box.push()
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


def test_the_endings_are_settings_and_a_near_miss_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX + "SIGNING_KEYS_CMD", "true")
    monkeypatch.setenv(PREFIX + "SIGNING_KEYS_SECRET", "x")
    monkeypatch.setenv(PREFIX + "SIGNING_KEY", KEY)
    _, doubts, _ = config.review()
    (doubt,) = (doubt for doubt in doubts if "SIGNING" in doubt)
    assert doubt.endswith(f"SIGNING_KEY) is not an option; did you mean {PREFIX}SIGNING_KEYS?")


def test_airflow_is_told_that_keys_are_secret() -> None:
    options = provider.get_provider_info()["config"]["airfreight"]["options"]
    assert [name for name, option in options.items() if option.get("sensitive")] == ["signing_keys"]


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

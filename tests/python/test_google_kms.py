"""Data keys that a key of Google's Cloud KMS wraps: Google's library against a double."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import RefreshError
from google.cloud.kms import KeyManagementServiceClient
from tests.python.conftest import Box, stored
from tests.python.test_rekey import Rows
from tests.python.test_rekey import run as rekey
from tests.servers.cloud_kms import CloudKms

import airfreight
from airfreight import runtime, sealing

if TYPE_CHECKING:
    from collections.abc import Iterator

RING = "projects/shop-1/locations/europe-west1/keyRings/airflow"
KEY, OTHER = f"{RING}/cryptoKeys/xcom", f"{RING}/cryptoKeys/second"
DATA_KEY = b"0123456789abcdefghijklmnopqrstuv"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[CloudKms]:
    with CloudKms(KEY, OTHER) as running:
        monkeypatch.setattr(sealing, "_google_client", lambda: client_of(running.url))
        monkeypatch.setattr(sealing, "_TRIES_FOR", 0.5)
        sealing.forget()
        yield running
    sealing.forget()


class Credentials(AnonymousCredentials):  # type: ignore[misc]
    """Nobody's, until they end."""

    ended = False

    def before_request(self, *_: Any) -> None:
        if self.ended:
            raise RefreshError("invalid_grant")


def client_of(url: str, credentials: Credentials | None = None) -> Any:
    return KeyManagementServiceClient(
        transport="rest",
        client_options={"api_endpoint": url},
        credentials=credentials or Credentials(),
    )


def ask(data: bytes = DATA_KEY, *, wraps: bool = True, key: str = KEY) -> bytes:
    return sealing.ask("gcp-kms", key, "g", wraps, data)


def test_the_service_is_asked_once_by_who_pushes_and_once_by_who_pulls(
    box: Box, service: CloudKms
) -> None:
    box.set(seal="True", seal_keys=f"g:gcp-kms:{KEY}")
    rows = [stored(box.push([n], key=f"k{n}")) for n in range(3)]
    assert service.asked == [("encrypt", KEY)]
    runtime.forget()
    assert [box.pull(row) for row in rows] == [[0], [1], [2]]
    assert service.asked == [("encrypt", KEY), ("decrypt", KEY)]


def test_another_key_takes_over(box: Box, service: CloudKms) -> None:
    box.set(seal="True", seal_keys=f"g:gcp-kms:{KEY}", deployment_id="prod")
    row, rows = stored(box.push("x")), Rows()
    rows.add(row)
    box.set(seal_keys=f"h:gcp-kms:{OTHER} g:gcp-kms:{KEY}")
    assert rekey(rows, write=True).became == {"rewrapped": 1}
    box.set(seal_keys=f"h:gcp-kms:{OTHER}")
    assert box.pull(row) == "x"
    assert service.asked[-2:] == [("encrypt", OTHER), ("decrypt", OTHER)]


@pytest.mark.parametrize("fault", ["sent", "answered", "unverified"])
def test_what_is_changed_on_the_way_to_be_wrapped_is_asked_for_again(
    service: CloudKms, fault: str
) -> None:
    service.faults = [fault, fault]
    wrapped = ask()
    assert len(service.asked) == 3
    assert ask(wrapped, wraps=False) == DATA_KEY
    service.faults = [fault] * 3
    with pytest.raises(airfreight.UnavailableError, match=r"3 times.*checksums do not agree"):
        ask()


@pytest.mark.parametrize("fault", ["sent", "answered"])
def test_what_is_changed_on_the_way_to_be_opened_is_asked_for_again(
    service: CloudKms, fault: str
) -> None:
    wrapped = ask()
    service.faults = [fault, fault]
    assert ask(wrapped, wraps=False) == DATA_KEY
    service.faults = [fault] * 3
    with pytest.raises(airfreight.UnavailableError, match="checksums do not agree"):
        ask(wrapped, wraps=False)


def test_a_key_that_is_not_the_one_that_wrapped_opens_nothing(box: Box, service: CloudKms) -> None:
    wrapped = ask()
    changed = bytes([wrapped[0] ^ 1]) + wrapped[1:]
    for data, key, key_id in ((changed, KEY, "g"), (wrapped, OTHER, "g"), (wrapped, KEY, "h")):
        with pytest.raises(airfreight.CorruptError, match="seal_keys has to name that one"):
            sealing.ask("gcp-kms", key, key_id, False, data)
    box.set(seal="True", seal_keys=f"g:gcp-kms:{KEY}")
    row = stored(box.push("x"))
    box.set(seal_keys=f"g:gcp-kms:{OTHER}")
    with pytest.raises(airfreight.CorruptError, match="INVALID_ARGUMENT"):
        box.pull(row)


@pytest.mark.parametrize("wraps", [True, False])
def test_a_refusal_names_key_and_role(box: Box, service: CloudKms, *, wraps: bool) -> None:
    box.set(seal="True", seal_keys=f"g:gcp-kms:{KEY}")
    row = None if wraps else stored(box.push("x"))
    runtime.forget()
    service.faults = ["PERMISSION_DENIED"]
    role = "Encrypter" if wraps else "Decrypter"
    said = rf'"g" \(gcp-kms {KEY}\): Cloud KMS answers PERMISSION_DENIED.*cryptoKey{role} '
    with pytest.raises(airfreight.DeniedError, match=said):
        box.push("x") if wraps else box.pull(row)


def test_a_key_that_is_disabled_or_not_there_is_told_as_that(service: CloudKms) -> None:
    wrapped = ask()
    service.disabled.add(KEY)
    for data, wraps in ((DATA_KEY, True), (wrapped, False)):
        with pytest.raises(airfreight.DeniedError, match=r"is: DISABLED\. .*enable or restore"):
            ask(data, wraps=wraps)
    with pytest.raises(airfreight.DeniedError, match="no such key: compare seal_keys"):
        ask(key=f"{KEY}-2")


@pytest.mark.parametrize("fault", ["UNAVAILABLE", "INTERNAL", "RESOURCE_EXHAUSTED"])
def test_what_passes_is_tried_again_and_not_for_ever(service: CloudKms, fault: str) -> None:
    service.faults = [fault]
    assert ask(ask(), wraps=False) == DATA_KEY
    assert [verb for verb, _ in service.asked] == ["encrypt", "encrypt", "decrypt"]
    service.faults = [fault] * 100
    with pytest.raises(airfreight.UnavailableError, match="Cloud KMS does not answer") as raised:
        ask()
    assert raised.value.retryable


@pytest.mark.parametrize("wraps", [True, False])
def test_an_answer_that_can_not_be_read_is_an_error_of_ours_without_what_came(
    box: Box, service: CloudKms, *, wraps: bool
) -> None:
    box.set(seal="True", seal_keys=f"g:gcp-kms:{KEY}")
    row = None if wraps else stored(box.push("x"))
    runtime.forget()
    service.faults = ["garbled"]
    said = (
        rf'"g" \(gcp-kms {KEY}\): Cloud KMS was asked .* seal_keys names, .* read what came: \w+\.'
    )
    with pytest.raises(airfreight.UnavailableError, match=said) as raised:
        box.push("x") if wraps else box.pull(row)
    assert raised.value.retryable
    assert "concatenate" not in str(raised.value)  # ParseError's text is about what came.


def test_a_service_that_is_not_there_is_unavailable(
    service: CloudKms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "_google_client", lambda: client_of("http://127.0.0.1:9"))
    sealing.forget()
    with pytest.raises(airfreight.UnavailableError, match="Cloud KMS does not answer"):
        ask()


def test_without_credentials_it_says_where_they_are_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")
    sealing.forget()
    with pytest.raises(airfreight.DeniedError, match="not in an Airflow connection"):
        ask()


def test_credentials_that_are_replaced_are_read_by_a_process_that_goes_on(
    service: CloudKms, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [Credentials() for _ in range(3)]
    left = iter(made)
    monkeypatch.setattr(sealing, "_google_client", lambda: client_of(service.url, next(left)))
    wrapped = ask()
    made[0].ended = True
    assert ask(wrapped, wraps=False) == DATA_KEY
    made[1].ended = made[2].ended = True
    with pytest.raises(airfreight.DeniedError, match="invalid_grant"):
        ask(wrapped, wraps=False)
    assert service.asked == [("encrypt", KEY), ("decrypt", KEY)]


@pytest.mark.parametrize(
    ("name", "right"),
    [
        (f"{KEY}/cryptoKeyVersions/1", f"right is the key, {KEY}"),
        ("projects/p/cryptoKeys/xcom", "projects/<project>/locations/<place>/keyRings/"),
        (f"{KEY}/", "projects/<project>/locations/<place>/keyRings/"),
    ],
)
def test_the_name_of_a_key_is_looked_at_before_anybody_is_asked(
    box: Box, name: str, right: str
) -> None:
    box.set(seal="True", seal_keys=f"g:gcp-kms:{name}")
    with pytest.raises(airfreight.ConfigError, match=f"SEAL_KEYS.* key 1 .*{right}"):
        box.push("x")
    box.set(seal_keys=None, seal_keys_cmd=f"echo g:gcp-kms:{name}")
    with pytest.raises(airfreight.ConfigError, match=f"seal_keys: of key 1 .*{right}"):
        box.push("x")


@pytest.mark.parametrize("wraps", [True, False])
def test_no_log_tells_a_data_key_though_all_is_logged(
    service: CloudKms, caplog: pytest.LogCaptureFixture, *, wraps: bool
) -> None:
    data = DATA_KEY if wraps else ask()
    shown = [DATA_KEY.decode(), "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY"]
    with caplog.at_level(logging.DEBUG):
        ask(data, wraps=wraps)
    assert caplog.records
    # (Google's loggers put what they tell beside the message.)
    told = " ".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
    assert not [text for text in shown if text in told]

"""Airflow's `google_cloud_platform` connections as settings of the core's Google Cloud Storage."""

from __future__ import annotations

import datetime
import json
import sys
import time
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from airfreight import runtime
from airfreight.connections import google
from airfreight.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.python.conftest import Box

    from airfreight import connections

KEY = {"type": "service_account", "client_email": "a@p.iam.gserviceaccount.com", "private_key": "k"}
FEDERATED = {"type": "external_account", "audience": "//iam.googleapis.com/x", "secret": "hunter2"}
HOOK = "airflow.providers.google.common.hooks.base_google"


def resolve(extra: dict[str, Any]) -> connections.Resolved:
    return google.settings_of("my_gcp", SimpleNamespace(extra_dejson=extra), extra)


def settings(extra: dict[str, Any]) -> dict[str, str]:
    return resolve(extra).settings


class Credentials:
    """As google-auth's: no token until they are refreshed, an end in UTC that does not say so."""

    def __init__(self, seconds: float | None = 3600.0) -> None:
        self.valid = False
        self.token: str | None = None
        self.expiry: datetime.datetime | None = None
        self.seconds = seconds
        self.refreshed = 0

    def refresh(self, request: Any) -> None:
        assert request == "a request of google-auth's"
        self.refreshed += 1
        self.valid, self.token = True, f"ya29-{self.refreshed}"
        if self.seconds is not None:
            now = datetime.datetime.now(datetime.timezone.utc)
            self.expiry = (now + datetime.timedelta(seconds=self.seconds)).replace(tzinfo=None)


class Library:
    """google-auth, as far as it is used here: what it was asked, and what it then gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[Any] = []
        self.credentials = Credentials()
        names = ("google", "google.auth", "google.auth.transport", "google.auth.transport.requests")
        modules = {name: ModuleType(name) for name in names}
        modules["google"].auth = modules["google.auth"]  # type: ignore[attr-defined]
        modules[names[-1]].Request = lambda: "a request of google-auth's"  # type: ignore[attr-defined]

        def loader(how: str) -> Any:
            def load(*what: Any, scopes: list[str]) -> tuple[Credentials, str]:
                assert scopes == ["https://www.googleapis.com/auth/devstorage.read_write"]
                self.asked.append((how, *what))
                return self.credentials, "project"

            return load

        for how in ("default", "load_credentials_from_file", "load_credentials_from_dict"):
            setattr(modules["google.auth"], how, loader(how))
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    return Library(monkeypatch)


@pytest.mark.parametrize("prefix", ["", "extra__google_cloud_platform__"])
def test_a_key_is_the_cores_to_use_in_any_form(prefix: str, tmp_path: Path) -> None:
    text = json.dumps(KEY)
    assert json.loads(settings({f"{prefix}keyfile_dict": KEY})["key_json"]) == KEY
    assert settings({f"{prefix}keyfile_dict": text}) == {"key_json": text}
    path = tmp_path / "key.json"
    path.write_text(text)
    assert settings({f"{prefix}key_path": str(path)}) == {"key_json": text}
    assert resolve({f"{prefix}keyfile_dict": text}).expires == float("inf")


def test_the_short_name_goes_before_the_long_one() -> None:
    extra = {"keyfile_dict": "{}", "extra__google_cloud_platform__keyfile_dict": json.dumps(KEY)}
    assert settings(extra) == {"key_json": "{}"}


def test_anonymous_goes_before_everything() -> None:
    extra = {"is_anonymous": True, "keyfile_dict": KEY, "impersonation_chain": "a@p"}
    assert settings(extra) == {"anonymous": "true"}


def test_without_a_key_the_environment_is_asked() -> None:
    assert settings({"project": "p", "key_path": "", "keyfile_dict": None}) == {}


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ({"key_path": "/not/there.json"}, r"'/not/there\.json', which can't be read"),
        ({"key_path": "/key.p12"}, "P12"),
        ({"key_path": "/k.json", "keyfile_dict": "{}"}, "both key_path and keyfile_dict"),
        ({"keyfile_dict": "hunter2"}, "no JSON object"),
        ({"keyfile_dict": '["hunter2"]'}, "no JSON object"),
    ],
)
def test_a_wrong_key_is_an_error_that_names_the_connection(
    extra: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=rf"'my_gcp'.*{problem}") as raised:
        settings(extra)
    assert "hunter2" not in str(raised.value)
    assert "AIRFLOW_CONN_MY_GCP" in str(raised.value)


def test_a_key_of_a_kind_that_is_googles_goes_through_google_auth(library: Library) -> None:
    before = time.time()
    resolved = resolve({"keyfile_dict": FEDERATED})
    assert library.asked == [("load_credentials_from_dict", FEDERATED)]
    assert resolved.settings == {"access_token": "ya29-1"}
    # Asked for again before the end, and good until then.
    assert before + 3200 < resolved.expires < before + 3400 < resolved.ends < before + 3700


def test_a_short_token_is_asked_for_again_in_its_second_half(library: Library) -> None:
    library.credentials = Credentials(60)
    before = time.time()
    resolved = resolve({"keyfile_dict": FEDERATED})
    assert before + 25 < resolved.expires < before + 40 < resolved.ends < before + 80


def test_google_auth_is_asked_for_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with pytest.raises(ConfigError, match=r"my_gcp.*google-auth"):
        settings({"keyfile_dict": FEDERATED})
    assert google.borrowed({}) is None


@pytest.mark.parametrize(
    "extra",
    [
        {"impersonation_chain": "a@p.iam.gserviceaccount.com,b@p.iam.gserviceaccount.com"},
        {"extra__google_cloud_platform__impersonation_chain": ["a@p.iam.gserviceaccount.com"]},
        {"credential_config_file": "/federation.json"},
        {"key_secret_name": "airflow-key"},
        {"idp_issuer_url": "https://idp.example.com"},
    ],
)
def test_kinds_that_only_the_provider_knows_go_through_its_hook(
    extra: dict[str, Any], library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    class Hook:
        def __init__(self, gcp_conn_id: str) -> None:
            # As the provider's does, in its constructor: Airflow is not asked a second time.
            made.append((gcp_conn_id, self.get_connection(gcp_conn_id).extra_dejson))

        @classmethod
        def get_connection(cls, conn_id: str) -> Any:
            raise AssertionError(f"asks Airflow for {conn_id}")

        def get_credentials(self) -> Credentials:
            return library.credentials

    module = ModuleType(HOOK)
    module.GoogleBaseHook = Hook  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, HOOK, module)
    resolved = resolve(extra)
    assert made == [("my_gcp", extra)]
    assert resolved.settings == {"access_token": "ya29-1"}
    assert resolved.ends < time.time() + 3700


def test_the_provider_is_asked_for_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, HOOK, None)
    with pytest.raises(ConfigError, match=r"my_gcp.*apache-airflow-providers-google"):
        settings({"impersonation_chain": "a@p"})


def test_what_goes_wrong_there_shows_its_kind_only(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refresh(request: Any) -> None:
        del request
        raise RuntimeError("hunter2")

    monkeypatch.setattr(library.credentials, "refresh", refresh)
    with pytest.raises(
        ConfigError, match=r"my_gcp.*gave no credentials \(RuntimeError\)"
    ) as raised:
        settings({"keyfile_dict": FEDERATED})
    assert "hunter2" not in str(raised.value)
    assert google.borrowed({}) is None


def test_what_the_core_does_not_know_is_borrowed_of_where_it_was_found(library: Library) -> None:
    lent = google.borrowed({"user_project": "p"})
    assert lent is not None
    assert lent.settings == {"access_token": "ya29-1"}
    # In place of the file, of which the core takes one or the other.
    lent = google.borrowed({"key_path": "/federation.json"})
    assert lent is not None
    assert lent.settings == {"access_token": "ya29-1", "key_path": ""}
    assert library.asked == [("default",), ("load_credentials_from_file", "/federation.json")]


def test_a_federated_key_of_the_settings_is_lent_a_token(
    box: Box, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the core's refusal to a store that has the token, without a request in between."""
    path = tmp_path / "federation.json"
    path.write_text(json.dumps(FEDERATED))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    # Nobody listens there: the second error tells that it was tried with the token.
    box.set(store="gs://bucket/xcom", gs_key_path=path, gs_endpoint_url="http://127.0.0.1:1")
    box.set(timeout=0.1, max_attempts=1)
    with pytest.raises(Exception, match=r"127\.0\.0\.1") as raised:
        box.push(b"x")
    assert "external_account" not in str(raised.value)
    assert library.asked == [("load_credentials_from_file", str(path))]
    runtime.forget()

"""Google Cloud Storage: fake-gcs-server, and a proxy that counts what was asked of it."""

from __future__ import annotations

import http.server
import json
import re
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
import pytest
from tests.python.conftest import Box, stored
from tests.servers.fake_gcs import FakeGCS

import airfreight
from airfreight.admin.doctor import stores
from airfreight.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.counting_proxy import CountingProxy


@pytest.fixture(scope="module")
def server() -> Iterator[FakeGCS]:
    try:
        FakeGCS.find_binary()
    except FileNotFoundError as error:
        pytest.fail(f"{error}: the server that these tests need is made by ./dev setup")
    with FakeGCS(bucket="bucket") as running:
        yield running


@pytest.fixture
def gcs(
    box: Box, server: FakeGCS, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch, request: Any
) -> Box:
    """A backend on the server through the proxy; each test has a prefix of its own."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
    # Nobody is asked for a token: this is an emulator.
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/not/there.json")
    prefix = request.node.name.replace("[", "/").replace("]", "")[:60]
    box.set(store=f"gs://bucket/{prefix}")
    return box


def seen(proxy: CountingProxy) -> list[str]:
    """What was asked, by what it does to an object."""
    asked = []
    for recorded in proxy.requests:
        if recorded.method == "POST":
            asked.append("compose" if recorded.path.endswith("/compose") else "put")
        elif recorded.method == "DELETE":
            asked.append("remove")
        else:
            asked.append("look" if recorded.path.startswith("/storage/v1/") else "get")
    return asked


def names(server: FakeGCS, prefix: str = "") -> list[str]:
    answer = server.request("GET", f"/storage/v1/b/bucket/o?prefix={prefix}")
    return [item["name"] for item in json.loads(answer.body).get("items", [])]


def test_a_three_row_frame_takes_one_request_each_way(gcs: Box, proxy: CountingProxy) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3]})
    row = gcs.push(frame)
    fields = gcs.fields(row)
    assert fields["_xcom_backend"] == "gs"
    assert fields["_xcom_type"] == "pandas.DataFrame"
    assert fields["rows"] == 3
    assert fields["uri"].startswith("gs://bucket/")
    assert seen(proxy) == ["put"]
    pd.testing.assert_frame_equal(gcs.pull(stored(row)), frame)
    assert seen(proxy) == ["put", "get"]


def test_small_values_take_no_request(gcs: Box, proxy: CountingProxy) -> None:
    for value in ({"rows": 3}, [(1, 2)], None):
        assert gcs.through(value) == value
    assert seen(proxy) == []


def test_the_next_attempt_replaces_on_the_generation_that_it_saw(
    gcs: Box, proxy: CountingProxy
) -> None:
    gcs.push(b"one")
    assert gcs.through(b"two") == b"two"
    # This process wrote the first one, and knows its generation.
    assert seen(proxy) == ["put", "put", "get"]
    gcs.set()  # Another process: its condition is refused, and it looks what lies there.
    assert gcs.through(b"three") == b"three"
    assert seen(proxy)[3:] == ["put", "look", "put", "get"]


def test_what_another_push_has_replaced_is_told_of_the_same_request(
    gcs: Box, proxy: CountingProxy
) -> None:
    row = stored(gcs.push(b"one"))
    gcs.push(b"two")
    with pytest.raises(airfreight.ReplacedError):
        gcs.pull(row)
    assert seen(proxy) == ["put", "put", "get"]


def test_what_one_request_carries_well_goes_in_one(gcs: Box, proxy: CountingProxy) -> None:
    value = bytes(range(256)) * (40 << 12)
    assert gcs.through(value) == value
    assert seen(proxy)[0] == "put"
    assert set(seen(proxy)[1:]) == {"get"}


def test_a_large_value_goes_in_parts_that_are_gone_afterwards(
    gcs: Box, proxy: CountingProxy, server: FakeGCS, request: pytest.FixtureRequest
) -> None:
    # The emulator leaves them: they are removed one by one, which Google's Compose does itself.
    value = bytes(range(256)) * (66 << 12)
    row = gcs.push(value)
    assert seen(proxy).count("compose") == 1
    assert names(server, request.node.name) == [gcs.fields(row)["uri"].removeprefix("gs://bucket/")]
    assert gcs.pull(stored(row)) == value


def test_purge_leaves_nothing(gcs: Box, server: FakeGCS, request: pytest.FixtureRequest) -> None:
    airfreight.XComBackend.purge(SimpleNamespace(value=gcs.push(b"one")))
    assert names(server, request.node.name) == []


def test_a_lost_object_names_the_uri(gcs: Box, server: FakeGCS) -> None:
    row = stored(gcs.push(b"x"))
    uri = gcs.fields(row)["uri"]
    name = uri.removeprefix("gs://bucket/").replace("%", "%25").replace("/", "%2F")
    assert server.request("DELETE", f"/storage/v1/b/bucket/o/{name}").status == 200
    with pytest.raises(airfreight.NotFoundError) as caught:
        gcs.pull(row)
    assert uri in str(caught.value)


def test_a_bucket_that_is_not_there_is_named_at_push(gcs: Box) -> None:
    gcs.set(store="gs://not-there/xcom")
    with pytest.raises(airfreight.InvalidError, match="'not-there' does not exist"):
        gcs.push(b"x")


class Tokens(http.server.BaseHTTPRequestHandler):
    """Google's token endpoint."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        """Changes a refresh token for a token."""
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append(form)
        body = b'{"access_token": "ya29", "expires_in": 3600}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


def test_a_connections_key_is_changed_for_one_token(
    gcs: Box, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tokens.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tokens) as tokens:
        threading.Thread(target=tokens.serve_forever, args=(0.01,), daemon=True).start()
        key = {
            "type": "authorized_user",
            "client_id": "c",
            "client_secret": "a-client-secret",
            "refresh_token": "a-refresh-token",
            "token_uri": f"http://127.0.0.1:{tokens.server_port}/token",
        }
        connection = {"conn_type": "google_cloud_platform", "extra": {"keyfile_dict": key}}
        monkeypatch.setenv("AIRFLOW_CONN_MY_GCP", json.dumps(connection))
        monkeypatch.delenv("STORAGE_EMULATOR_HOST")
        gcs.set(store="gs://my_gcp@bucket/connection", gs_endpoint_url=proxy.url)
        try:
            assert gcs.through(b"x") == b"x"
        finally:
            tokens.shutdown()
    assert seen(proxy) == ["put", "get"]
    (form,) = Tokens.asked
    assert form == (
        "grant_type=refresh_token&client_id=c&client_secret=a-client-secret"
        "&refresh_token=a-refresh-token"
    )


def test_no_row_holds_the_connection(gcs: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = {"conn_type": "google_cloud_platform", "extra": {"is_anonymous": True}}
    monkeypatch.setenv("AIRFLOW_CONN_MY_GCP", json.dumps(connection))
    gcs.set(store="gs://my_gcp@bucket/row")
    row = gcs.push(b"x")
    assert gcs.fields(row)["uri"].startswith("gs://bucket/row/")
    assert "my_gcp" not in json.dumps(gcs.fields(row))


def test_the_doctor_tells_a_clock_that_is_wrong_by_the_probe(
    gcs: Box, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del gcs
    for ahead, state in ((0, "ok"), (400, "warning"), (1000, "error")):

        def clock(ahead: int = ahead) -> float:
            return time.time() + ahead

        with monkeypatch.context() as patch:
            patch.setattr(
                stores, "time", SimpleNamespace(time=clock, time_ns=time.time_ns), raising=True
            )
            status = main(["doctor", "--json", "--yes", "--no-database"])
        told = json.loads(capsys.readouterr().out)["findings"]
        (found,) = [one for one in told if re.search("clocks? (is|differ)", one["text"])]
        assert (found["state"], status) == (state, int(state == "error")), told
        assert ("s ahead of the server's" in found["text"]) == (ahead > 0)

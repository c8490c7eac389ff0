"""`airfreight.admin.api_client` and `api.connect`, by answers that a test gives."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.leaks import MARK, planted

from airfreight.admin import api, api_client
from airfreight.admin.api_client import Client, Token
from airfreight.errors import (
    ConfigError,
    Error,
    InternalError,
    UnavailableError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[[httpx.Request], httpx.Response]

URL = "https://airflow.example.com"


def client(answer: Answer, token: Token | None = None) -> Client:
    return Client(
        URL,
        token or Token(environment={"AIRFREIGHT_API_TOKEN": planted(8)}),
        transport=httpx.MockTransport(answer),
        sleep=lambda _: None,
    )


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("https://Airflow.Example.com:443/", URL),
        (f"{URL}/api/v2/", URL),
        ("http://[::1]:8080/a/b", "http://[::1]:8080/a/b"),
    ],
)
def test_an_address_has_one_form(given: str, made: str) -> None:
    assert api_client.place(given) == made


@pytest.mark.parametrize(
    "given",
    [
        *("airflow.example.com", "ftp://a", "http://", "http://a:port", "http://[a", "http://ü..x"),
        f"{URL}?token={MARK}",
    ],
)
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="no address of HTTP; right is") as caught:
        api_client.place(given)
    assert MARK not in str(caught.value)


def test_a_password_in_an_address_is_refused_and_not_told() -> None:
    with pytest.raises(ConfigError) as caught:
        api_client.place(f"https://me:{MARK}@airflow.example.com")
    assert MARK not in str(caught.value)


def test_a_token_comes_from_a_file_a_command_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("of-the-file\n")
    environment = {"AIRFREIGHT_API_TOKEN": "ours", "AIRFLOW_CLI_TOKEN": "theirs"}
    assert Token(file, environment=environment).get() == "of-the-file"
    assert Token(None, f"cat '{file}'", environment).get() == "of-the-file"
    assert Token(environment=environment).get() == "ours"
    assert Token(environment={"AIRFLOW_CLI_TOKEN": "theirs"}).get() == "theirs"


def test_what_is_no_token_is_an_error_that_names_its_place_and_not_what_is_there(
    tmp_path: Path,
) -> None:
    file = tmp_path / "token"
    for text in ("", f'{{"access_token": "{MARK}"}}', f"{MARK}\nX-More: 1", f"{MARK}é"):
        file.write_text(text)
        with pytest.raises(ConfigError, match=f"--api-token-file {file} holds no token") as caught:
            Token(file).get()
        assert MARK not in str(caught.value)
    for command, words in (
        ("false", "status 1"),
        ("no-such-program", "can't be run"),
        ("'", "run"),
    ):
        with pytest.raises(ConfigError, match=f"--api-token-cmd .*{words}"):
            Token(None, command).get()
    with pytest.raises(ConfigError, match="No such file"):
        Token(tmp_path / "none").get()
    with pytest.raises(ConfigError, match="give --api-token-file FILE"):
        Token(environment={}).get()
    with pytest.raises(ConfigError, match="give one of"):
        Token(file, "true")


def test_a_command_that_does_not_end_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_client, "COMMAND_TIMEOUT", 1)
    script = tmp_path / "token"
    script.write_text(f"sleep 300 &\necho $! > '{tmp_path}/child'\necho {MARK}\nwait\n")
    with pytest.raises(ConfigError, match=r"--api-token-cmd did not end within 1 s") as caught:
        Token(None, f"sh '{script}'").get()
    assert MARK not in str(caught.value)
    # Nor does what it had started go on. (A zombie has no command line. On a busy machine it takes
    # a moment until a process has its signal.)
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "cmdline")

    def goes_on() -> bool:
        try:
            return bool(child.read_bytes())
        except OSError:
            return False

    until = time.monotonic() + 60
    while goes_on() and time.monotonic() < until:
        time.sleep(0.01)
    assert not goes_on()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://airflow.example.com", True),
        ("http://10.0.0.1:8080", True),
        (URL, False),
        ("http://localhost:8080", False),
        ("http://[::1]:8080", False),
        ("http://127.0.0.2", False),
    ],
)
def test_a_token_that_would_go_through_a_network_in_clear_is_told_of(
    url: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(api.Api, "check", lambda _: None)
    api.connect(url, Token(), said.append)
    assert [f"--api-url ([api] base_url) {url} is plain http" in text for text in said] == [True][
        : int(told)
    ]


def test_a_token_that_has_expired_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        file.write_text("second")
        return httpx.Response(200 if seen[-1] == "Bearer second" else 401, json={})

    made = client(answer, Token(file))
    assert made.get("version") == {}
    assert made.get("version") == {}
    assert seen == ["Bearer first", "Bearer second", "Bearer second"]


def _time_out(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("the read operation timed out", request=request)


def _damaged(_: httpx.Request) -> httpx.Response:
    packed = {"Content-Encoding": "gzip"}
    return httpx.Response(200, headers=packed, stream=httpx.ByteStream(b"no gzip"))


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (lambda _: httpx.Response(401, json={"detail": "x"}), ConfigError, "not take the token"),
        (lambda _: httpx.Response(403, json={"detail": "x"}), ConfigError, "role Viewer"),
        (lambda _: httpx.Response(302, headers={"Location": "/x"}), ConfigError, "leads elsewhere"),
        (lambda _: httpx.Response(500, text="x"), UnavailableError, "has a fault"),
        (lambda _: httpx.Response(503, text="x"), UnavailableError, "does not answer"),
        (_time_out, UnavailableError, "ReadTimeout"),
        (_damaged, UnavailableError, "DecodingError"),
        (lambda _: httpx.Response(200, text="<html>"), InternalError, "is no JSON"),
        (lambda _: httpx.Response(200, content=b"[" * 10**6), InternalError, "is no JSON"),
        (lambda _: httpx.Response(404, text="<html>"), UnsupportedError, "Airflow 3"),
        (lambda _: httpx.Response(404, json={"detail": "Not Found"}), UnsupportedError, "no such"),
        (lambda _: httpx.Response(404, json={"detail": "elsewhere"}), InternalError, "no answer"),
        (lambda _: httpx.Response(422, json={"detail": []}), InternalError, "no answer"),
    ],
)  # fmt: skip
def test_whatever_is_no_answer_is_an_error(answer: Answer, kind: type[Error], words: str) -> None:
    made = client(answer)
    with pytest.raises(kind, match=words) as caught:
        made.get("dags", "d/../é", absent="XCom entry with key: ")
    assert f"{URL}/api/v2/dags/d%2F..%2F%C3%A9" in str(caught.value)
    assert MARK not in str(caught.value)


def test_what_may_pass_is_asked_again_and_a_removal_is_not() -> None:
    tries: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        tries.append(request.method)
        return httpx.Response(503) if len(tries) < 4 else httpx.Response(200, json=[1])

    made = client(answer)
    assert made.get("version") == [1]
    tries.clear()
    with pytest.raises(UnavailableError):
        made.delete("x", absent="", query={})
    assert tries == ["DELETE"]


def test_only_airflows_own_word_says_that_there_is_no_such_thing() -> None:
    said = {"detail": "XCom entry with key: `k` not found"}
    made = client(lambda _: httpx.Response(404, json=said))
    assert made.get("k", absent="XCom entry with key: ") is None
    with pytest.raises(InternalError):
        made.get("k", absent="The DagRun with dag_id: ")
    with pytest.raises(InternalError):
        made.get("k")


def test_parts_of_a_path_stay_parts() -> None:
    seen: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.raw_path)
        return httpx.Response(200, json={})

    client(answer).get("a/b", "..", "", "a%2Fb", "~", "é?#", query={"x": ["1", "2"]})
    assert seen == [b"/api/v2/a%2Fb/%2E%2E//a%252Fb/~/%C3%A9%3F%23?x=1&x=2"]


class Airflow:
    """As Airflow 3.3 answers to what `connect` asks; a test changes some of it."""

    def __init__(self, **changed: Any) -> None:
        self.answers: dict[str, httpx.Response] = {
            "version": httpx.Response(200, json={"version": "3.3.2"}),
            "order": httpx.Response(400, json={"detail": "Ordering with 'x' is disallowed"}),
            "entry": httpx.Response(404, json={"detail": "XCom entry with key: `none` not found"}),
            "run": httpx.Response(404, json={"detail": "The DagRun with dag_id: `a` and"}),
            "config": httpx.Response(200, json={"multi_team": False}),
        } | changed

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        kinds = {
            "/version": "version", "/xcomEntries": "order", "/config": "config",
            "/xcomEntries/none": "entry", "/dagRuns/none": "run",
        }  # fmt: skip
        return self.answers[next(kind for end, kind in kinds.items() if path.endswith(end))]


@pytest.mark.parametrize(
    ("changed", "kind", "words"),
    [
        # A user of one DAG sees its rows, and nothing says that there are others.
        ({"entry": httpx.Response(403, json={"detail": "Forbidden"})}, ConfigError, "of all DAGs"),
        ({"run": httpx.Response(403, json={"detail": "Forbidden"})}, ConfigError, "of all DAGs"),
        ({"config": httpx.Response(200, json={"multi_team": True})}, UnsupportedError, "has teams"),
        ({"config": httpx.Response(200, json=[])}, UnsupportedError, "has teams"),
        ({"config": httpx.Response(200, json={})}, UnsupportedError, "does not say"),
        (
            {"version": httpx.Response(200, json={"version": "3.4.0b2"})},
            UnsupportedError,
            "3.4.0b2",
        ),
        ({"version": httpx.Response(200, json={})}, InternalError, "which Airflow it is"),
        ({"version": httpx.Response(404, text="no")}, UnsupportedError, "on Airflow 2 give"),
        # Releases that know no order ignore the question for one.
        ({"order": httpx.Response(200, json={})}, UnsupportedError, "needs Airflow 3.3"),
    ],
)
def test_an_airflow_that_does_not_show_all_is_refused(
    changed: dict[str, httpx.Response], kind: type[Error], words: str
) -> None:
    api.Api(client(Airflow())).check()
    with pytest.raises(kind, match=words):
        api.Api(client(Airflow(**changed))).check()


def test_a_row_that_airflow_can_not_tell_is_named_with_the_way_round() -> None:
    source = api.Api(client(lambda _: httpx.Response(500, text="Internal Server Error")))
    with pytest.raises(UnavailableError, match="--via db") as caught:
        list(source.find([("sales", "r1", "load", 3, "frame")]))
    said = str(caught.value)
    for part in ("dag 'sales'", "run 'r1'", "task 'load'", "map index 3", "key 'frame'"):
        assert part in said
    assert "the store" not in said
    assert said.endswith("run the same command again when it answers.")


def test_an_airflow_that_does_not_show_all_any_more_is_refused() -> None:
    airflow = Airflow()
    source = api.Api(client(airflow))
    with source.snapshot():
        pass
    assert source.again() is source
    with pytest.raises(ConfigError, match="of all DAGs"), source.snapshot():
        airflow.answers["entry"] = httpx.Response(403, json={"detail": "Forbidden"})
    with pytest.raises(ConfigError, match="of all DAGs"):
        source.again()


def test_the_clock_of_an_airflow_is_that_of_its_answers() -> None:
    def offset(headers: dict[str, str]) -> float:
        version = httpx.Response(200, json={"version": "3.3.2"}, headers=headers)
        return api.Api(client(Airflow(version=version))).offset()

    before = datetime.now(timezone.utc) - timedelta(hours=2)
    assert 7200 <= offset({"Date": format_datetime(before, usegmt=True)}) < 7300
    for wrong in ({}, {"Date": "today"}):
        with pytest.raises(InternalError, match="has no Date"):
            offset(wrong)


def test_a_name_that_means_another_airflow_elsewhere_is_told_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def identity(url: str) -> dict[str, str]:
        return api.Api(Client(url, Token())).identity()

    assert identity(URL) == {"kind": "airflow-api", "url": URL, "from": ""}
    local = (
        "http://api:8080",
        "http://api.airflow.svc:8080",
        # As pods call a service of another namespace, and by the domain of a cluster.
        "http://api.airflow:8080",
        "http://api.airflow.svc.cluster.local.:8080",
        "http://api.airflow.svc.acme.example:8080",
        "http://10.0.0.1",
        "http://localhost",
    )
    here = {identity(url)["from"] for url in local}
    assert len(here) == 1
    assert "" not in here
    monkeypatch.setattr(api, "_SERVICE_ACCOUNT", tmp_path)
    (tmp_path / "ca.crt").write_text("of one cluster")
    seen = set()
    for namespace in ("prod", "staging"):
        (tmp_path / "namespace").write_text(namespace)
        seen.add(json.dumps([identity(url) for url in local]))
    assert len(seen) == 2

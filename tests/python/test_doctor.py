"""`airfreight doctor`: what it says of a healthy environment, and of one with each thing wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests import leaks
from tests.python.test_redis import connect
from tests.servers.faults import Answer
from tests.servers.minio import MinIO
from tests.servers.redis import Redis

from airfreight import config, runtime
from airfreight.admin import doctor
from airfreight.admin.doctor import environment, signatures, stores
from airfreight.cli import main

if TYPE_CHECKING:
    from tests.python.conftest import Box
    from tests.servers.counting_proxy import CountingProxy, Recorded

KEY = leaks.key("k1").partition(":")[2]


class Told:
    """What the command says, as JSON."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        config.forget()
        runtime.forget()
        capsys.readouterr()
        self.status = main(["doctor", "--json", "--no-database", *arguments])
        told = json.loads(capsys.readouterr().out)
        assert told["failed"] == bool(self.status)
        self.findings = [doctor.Finding(**one) for one in told["findings"]]

    def find(self, text: str, area: str = "") -> doctor.Finding:
        """The one finding that holds a text."""
        found = [one for one in self.findings if text in one.text and one.area.startswith(area)]
        assert len(found) == 1, (text, self.findings)
        return found[0]

    def of(self, state: str) -> list[str]:
        return [one.text for one in self.findings if one.state == state]


# --- As a whole -----------------------------------------------------------------------------------


def test_a_healthy_environment_has_no_error_and_says_what_is_in_force(
    box: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    box.set(deployment_id="prod-eu", threshold=100)
    told = Told(capsys)
    assert told.of("error") == []
    assert told.status == 0
    assert told.find("Python ", "versions").state == "note"
    assert "OpenSSL" in told.find("core ", "versions").text
    assert "libcurl" in told.find("core ", "versions").text
    assert told.find("[core] xcom_backend").state == "ok"
    assert "(AIRFLOW__CORE__XCOM_BACKEND)" in told.find("[core] xcom_backend").text
    assert told.find("threshold = 100 (AIRFLOW__AIRFREIGHT__THRESHOLD)")
    assert told.find("signing = auto (default)")
    assert told.find("answers", "store default").state == "ok"
    assert box.objects() == []


def test_lines_are_for_people_and_name_what_to_do(
    box: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    box.set(threshold="many")
    config.forget()
    capsys.readouterr()
    assert main(["doctor", "--no-write", "--no-database"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("error")]
    assert "AIRFLOW__AIRFREIGHT__THRESHOLD" in line
    assert ". Fix: " in line


def test_whatever_is_wrong_or_doubtful_comes_with_a_fix(
    box: Box, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__THRESHHOLD", "1")
    monkeypatch.setenv("AIRFLOW__CORE__XCOM_BACKEND", "airflow.sdk.bases.xcom.BaseXCom")
    box.set(pickle="allow", store="s3://not_there@bucket/xcom")
    told = Told(capsys)
    assert told.status == 1
    assert len(told.of("error")) == 2
    for one in told.findings:
        assert one.fix or one.state not in ("error", "warning")


def test_a_look_that_breaks_ends_nothing_else(
    box: Box, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del box

    def breaks() -> Any:
        raise RuntimeError("TOPSECRET")

    monkeypatch.setattr(environment, "backend", breaks)
    told = Told(capsys)
    assert told.find("RuntimeError", "backend").state == "unknown"
    assert told.find("answers", "store default")
    assert "TOPSECRET" not in str(told.findings)


# --- The environment ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AIRFLOW__CORE__XCOM_BACKED", "AIRFLOW__CORE__XCOM_BACKEND"),
        ("AIRFLOW_CORE__XCOM_BACKEND", "AIRFLOW__CORE__XCOM_BACKEND"),
        ("AIRFLOW__CORE_XCOM_BACKEND", "AIRFLOW__CORE__XCOM_BACKEND"),
        ("AIRFLOW__CORES__XCOM_BACKEND", "AIRFLOW__CORE__XCOM_BACKEND"),
        ("AIRFLOW__AIRFREIHGT__STORE", "AIRFLOW__AIRFREIGHT__STORE"),
        ("AIRFLOW__AIRFREIGHT__STROE", "AIRFLOW__AIRFREIGHT__STORE"),
        ("AIRFLOW_AIRFREIGHT_STORE", "AIRFLOW__AIRFREIGHT__STORE"),
        ("AIRFLOW__DATABASE__SQL_ALCHEMY_CON", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"),
        ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD", ""),
        ("AIRFLOW__CORE__FERNET_KEY_SECRET", ""),
        ("AIRFLOW__SOMEBODY_ELSES__THING", ""),
        ("AIRFLOW_HOME", ""),
        ("AIRFLOW_CONN_X", ""),
        ("AIRFLOW_VAR_CORE", ""),
        ("AIRFLOW_CTX_DAG_ID", ""),
    ],
)
def test_names_that_nobody_reads_are_told_with_what_was_meant(
    box: Box,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    meant: str,
) -> None:
    del box
    if name != "AIRFLOW_HOME":
        monkeypatch.setenv(name, "x")
    told = Told(capsys)
    found = [text for text in told.of("warning") if text.startswith((name, "[airfreight]"))]
    if not meant:
        assert found == []
        return
    assert any(meant in text for text in found), told.of("warning")


def test_secrets_are_said_to_be_set_and_not_shown(
    box: Box, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__SIGNING_KEYS_CMD", f"echo k7:{KEY}")
    told = Told(capsys)
    assert told.find("signing_keys is set (AIRFLOW__AIRFREIGHT__SIGNING_KEYS_CMD)")
    assert told.find("signed with key k7").state == "ok"
    assert KEY not in str(told.findings)
    box.set(signing_keys=f"k8:{KEY} k7@sales:{KEY}")
    told = Told(capsys)
    assert "also valid: k7@sales" in told.find("signed with key k8").text
    assert KEY not in str(told.findings)


def test_a_key_that_can_not_be_had_is_an_error(
    box: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    box.set(signing="required")
    told = Told(capsys)
    assert told.status == 1
    assert "AIRFLOW__AIRFREIGHT__SIGNING_KEYS" in told.find("signing is required", "sig").text


def test_without_keys_and_while_unsigned_ones_pass_there_is_a_warning(
    box: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Told(capsys).find("references are not signed").state == "warning"
    box.set(signing_keys=f"k1:{KEY}", accept_unsigned_until="2099-01-01")
    assert "2099-01-01" in Told(capsys).find("without a signature").text


# --- Stores ---------------------------------------------------------------------------------------


def answers(**by_query: Answer) -> Any:
    """A script for what stands before the server: other answers to questions about the bucket."""

    def script(request: Recorded) -> Answer | None:
        query = request.target.partition("?")[2].partition("=")[0]
        return by_query.get(query) if request.method == "GET" else None

    return script


def xml(text: str, status: int = 200) -> Answer:
    return Answer(status, text.encode(), {"Date": "Thu, 01 Jan 2026 00:00:00 GMT"})


REFUSED = xml("<Error><Code>AccessDenied</Code><Message>no</Message></Error>", 403)


def test_a_bucket_is_asked_about_itself_and_nothing_is_written_unless_told_to(
    s3: Box, proxy: CountingProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    s3.set(deployment_id="prod-eu")
    s3.push(b"value")
    proxy.clear()
    told = Told(capsys, "--no-write")
    assert told.of("error") == []
    assert {request.method for request in proxy.requests} <= {"GET", "HEAD"}
    assert told.find("nothing was written").state == "unknown"
    assert told.find("the clocks differ by", "store default").state == "ok"
    told = Told(capsys, "--yes")
    assert told.find("a probe was written, read and deleted").state == "ok"
    assert not any(stores.PROBE_DAG in key for key in s3.objects())


def test_what_the_role_may_not_ask_is_not_known_and_no_failure(
    s3: Box, proxy: CountingProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    s3.set(deployment_id="prod-eu")
    s3.push(b"value")
    questions = ("versioning", "lifecycle", "publicAccessBlock", "logging", "encoding-type")
    proxy.script = answers(**dict.fromkeys(questions, REFUSED))
    told = Told(capsys)
    assert told.status == 0
    unknown = [
        one for one in told.findings if one.state == "unknown" and "AccessDenied" in one.text
    ]
    assert len(unknown) == 5, told.findings
    assert all("airfreight iam-policy --role" in one.fix for one in unknown)


def test_a_role_that_is_not_shown_what_there_is_is_told_from_one_that_may_do_nothing(
    s3: Box, proxy: CountingProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    s3.set(deployment_id="prod-eu")
    told = Told(capsys, "--yes")
    assert told.find("tells a missing object from a forbidden one", "store default").state == "ok"
    proxy.script = lambda request: REFUSED if "airfreight-probe" in request.target else None
    told = Told(capsys, "--yes")
    found = told.find("(strict): a missing object is a NotFoundOrDeniedError", "store default")
    assert (found.state, told.status) == ("ok", 0)
    assert "airfreight iam-policy --mode diagnosable" in found.fix
    assert not [one for one in told.findings if one.area == "policy"]
    # As long as nothing was written the two are not told apart, and nobody says that they are.
    proxy.script = lambda request: REFUSED
    found = Told(capsys).find("(strict)", "store default")
    assert found.state == "unknown"
    assert "--yes writes one" in found.fix
    assert Told(capsys, "--yes").status == 1


def test_what_is_wrong_with_a_bucket_is_told(
    s3: Box, proxy: CountingProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    del s3
    enabled = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    proxy.script = answers(
        versioning=xml(enabled),
        lifecycle=xml("<Error><Code>NoSuchLifecycleConfiguration</Code></Error>", 404),
        publicAccessBlock=xml("<PublicAccessBlockConfiguration/>"),
        logging=xml("<BucketLoggingStatus/>"),
    )
    told = Told(capsys)
    assert told.status == 1
    clock = told.find("this machine's clock is")
    assert clock.state == "error"
    assert "ahead" in clock.text
    for text in (
        "no rule removes unfinished uploads",
        "versions are enabled, and as far as is known no rule removes old ones",
        "public access is not blocked: BlockPublicAcls",
        "no server access logs",
    ):
        assert told.find(text).state == "warning"


def test_what_is_right_with_a_bucket_is_told(
    s3: Box, proxy: CountingProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    del s3
    rule = (
        "<LifecycleConfiguration><Rule><Status>Enabled</Status><Filter><Prefix>xcom/</Prefix>"
        "</Filter><NoncurrentVersionExpiration><NoncurrentDays>7</NoncurrentDays>"
        "</NoncurrentVersionExpiration><AbortIncompleteMultipartUpload><DaysAfterInitiation>3"
        "</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>"
    )
    blocks = "".join(
        f"<{name}>true</{name}>"
        for name in (
            "BlockPublicAcls",
            "IgnorePublicAcls",
            "BlockPublicPolicy",
            "RestrictPublicBuckets",
        )
    )
    proxy.script = answers(
        versioning=xml(
            "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
        ),
        lifecycle=xml(rule),
        publicAccessBlock=xml(
            f"<PublicAccessBlockConfiguration>{blocks}</PublicAccessBlockConfiguration>"
        ),
        logging=xml(
            "<BucketLoggingStatus><LoggingEnabled><TargetBucket>logs</TargetBucket>"
            "</LoggingEnabled></BucketLoggingStatus>"
        ),
    )
    told = Told(capsys)
    for text in (
        "unfinished uploads go after 3 days",
        "versions are enabled; old ones go after 7 days",
        "public access is blocked",
        "access is logged to the bucket logs",
    ):
        assert told.find(text).state == "ok"


def test_objects_of_another_deployment_are_an_error(
    box: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    box.set(deployment_id="staging é")
    for number in range(30):
        box.push(b"value", task_id=f"theirs{number}")
    told = Told(capsys)
    assert told.find("none is another deployment's", "store default").state == "ok"
    box.set(deployment_id="prod-eu")
    told = Told(capsys)
    found = told.find("objects of other deployments lie here: staging é (ours is prod-eu)")
    assert found.state == "error"
    assert "a prefix of its own" in found.fix
    assert told.status == 1


def test_a_store_that_does_not_answer_or_may_not_be_written_is_an_error(
    s3: Box, proxy: CountingProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    proxy.script = lambda request: REFUSED if request.method == "PUT" else None
    told = Told(capsys, "--yes")
    found = told.find("writing failed")
    assert found.state == "error"
    assert "s3:PutObject" in found.text
    assert "airfreight iam-policy" in found.fix
    proxy.script = None
    s3.set(store="s3://nowhere/xcom")
    told = Told(capsys)
    assert "nowhere" in told.find("does not exist", "stores").text
    assert told.status == 1


def test_secrets_of_a_store_are_in_no_line(
    s3: Box, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del s3
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "TOPSECRET")
    told = Told(capsys, "--yes")
    assert told.status == 1
    assert "TOPSECRET" not in str(told.findings)


def transport(store: str, **opened: str) -> list[doctor.Finding]:
    kind = store.partition("://")[0]
    found = runtime.Store("default", store, ("", kind), {})
    return list(stores._transport("store", found, opened))


def test_what_goes_over_the_network_in_the_open_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    (found,) = transport("s3://bucket", endpoint_url="http://minio:9000")
    assert "minio:9000 is spoken to without TLS" in found.text
    (found,) = transport("redis://cache:6379/0")
    assert "cache:6379 is spoken to without TLS" in found.text
    assert found.fix == "use rediss://"
    assert transport("s3://bucket", endpoint_url="http://127.0.0.1:9000") == []
    assert transport("s3://bucket") == []
    (found,) = transport("s3://bucket", verify="false")
    assert "certificate is not checked" in found.text
    (found,) = transport("s3://bucket", ca_bundle=str(tmp_path / "missing.pem"))
    assert found.state == "error"
    (tmp_path / "ca.pem").touch()
    (found,) = transport("s3://bucket", ca_bundle=str(tmp_path / "ca.pem"))
    assert found.state == "note"


def test_a_certificate_of_an_unknown_authority_names_the_setting(
    box: Box, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with MinIO(bucket="bucket", tls=True) as server:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.access_key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret_key)
        box.set(store="s3://bucket/xcom", s3_endpoint_url=server.endpoint, s3_region="us-east-1")
        told = Told(capsys)
        assert told.status == 1
        found = told.find("SSL certificate problem", "stores").text
        assert re.search("set .*s3_ca_bundle.* to a file with that CA", found, re.I)
        assert "run the task again" not in found
        box.set(s3_ca_bundle=server.ca_file)
        told = Told(capsys, "--yes")
    assert told.status == 0
    assert told.find("a probe was written, read and deleted").state == "ok"
    assert told.find(f"certificates are checked against {server.ca_file}").state == "note"


def test_a_redis_that_drops_values_is_told(
    box: Box, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Redis(settings={"maxmemory": "64mb", "maxmemory-policy": "allkeys-lru"}) as server:
        connect(monkeypatch, login="default", password=server.admin_password)
        box.set(store=server.uri.replace("://", "://my_redis@"), deployment_id="prod-eu")
        told = Told(capsys, "--yes")
    assert told.find("a probe was written, read and deleted", "store default").state == "ok"
    assert told.find("Redis ", "store default").state == "note"
    found = told.find("allkeys-lru", "store default")
    assert found.state == "warning"
    assert found.fix == "see docs/redis.md"
    assert server.admin_password not in str(told.findings)


# --- Rows -----------------------------------------------------------------------------------------


class Row:
    """A row, as airfreight.admin.database has it."""

    archived = False

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    @property
    def value(self) -> Any:
        return json.loads(self.raw) if isinstance(self.raw, str) else self.raw


class Database:
    """Rows."""

    def __init__(self, *raws: Any) -> None:
        self._rows = [Row(raw) for raw in raws]

    def rows(self) -> list[Row]:
        return self._rows


def test_references_of_rows_are_counted_by_their_keys(box: Box) -> None:
    unsigned = json.dumps(box.fields(box.push(b"value")))
    box.set(signing_keys=f"k1:{KEY}")
    signed = json.dumps(box.fields(box.push(b"value")))
    both = json.dumps({"a": json.loads(signed), "b": [json.loads(unsigned)]})
    counts = signatures._count(Database(unsigned, signed.encode(), both, '"plain"', None))
    assert counts == ({"": 2, "k1": 2}, True)


def test_rows_without_a_signature_and_with_unknown_keys_are_told(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsigned = json.dumps(box.fields(box.push(b"value")))
    box.set(signing_keys=f"old:{KEY}")
    signed = json.dumps(box.fields(box.push(b"value")))
    database = Database(unsigned, signed)
    monkeypatch.setattr("airfreight.admin.database.connect", lambda: database, raising=False)
    found = list(signatures._rows({"k1"}))
    assert [one.state for one in found] == ["warning", "error"]
    assert "1 of 2 references in the database are not signed" in found[0].text
    assert "airfreight sign" in found[0].fix
    assert "not valid here: old" in found[1].text
    assert [one.state for one in signatures._rows({"old"})] == ["warning"]
    # What was not looked at is not said to be signed.
    monkeypatch.setattr(signatures, "_MOST_ROWS", 1)
    database._rows.reverse()
    told, all_signed = signatures._rows({"old"})
    assert (told.state, all_signed.state) == ("unknown", "ok")
    assert "airfreight sign --count" in told.fix
    assert "all of 1 references in the first 1 rows of the database" in all_signed.text


def test_a_database_that_can_not_be_asked_is_not_known(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    del box

    def refuses() -> Any:
        raise RuntimeError("postgresql://airflow:TOPSECRET@db")

    monkeypatch.setattr("airfreight.admin.database.connect", refuses, raising=False)
    (found,) = signatures._rows({"k1"})
    assert found.state == "unknown"
    assert "TOPSECRET" not in str(found)

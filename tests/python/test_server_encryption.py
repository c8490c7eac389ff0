"""What stores are asked to encrypt: shown by what they were sent, and what no row holds then."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from tests import leaks
from tests.python.conftest import Box, stored
from tests.servers.azurite import Azurite
from tests.servers.counting_proxy import CountingProxy
from tests.servers.fake_gcs import FakeGCS

import airfreight
from airfreight.admin import rekey
from airfreight.cli import main

S3_KEY = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
GS_KEY = "projects/p/locations/eu/keyRings/r/cryptoKeys/k"
#: Parquet that takes more than one part, and goes out while it is made.
LARGE = pd.DataFrame({"salary": np.random.default_rng(7).random(3 << 20)})


def rule(key: str, **more: str) -> str:
    said = "".join(f"{name} = {text}\n" for name, text in more.items())
    return f'[[rules]]\nname = "pii"\ndag = "hr_*"\nencryption_key = "{key}"\n{said}'


def _sse(headers: Any) -> tuple[str | None, str | None]:
    name = "x-amz-server-side-encryption"
    return headers.get(name), headers.get(f"{name}-aws-kms-key-id")


def test_s3_is_asked_with_each_put_and_where_an_upload_in_parts_begins(
    s3: Box, proxy: CountingProxy
) -> None:
    s3.set(policy=rule(S3_KEY), s3_sse="AES256")
    frame = pd.DataFrame({"name": ["a", "b"]})
    row = stored(s3.push(frame, dag_id="hr_eu"))
    (put,) = proxy.requests
    assert (put.method, _sse(put.headers)) == ("PUT", ("aws:kms", S3_KEY))
    pd.testing.assert_frame_equal(s3.pull(row), frame)
    assert _sse(proxy.requests[-1].headers) == (None, None)

    seen = len(proxy.requests)
    assert s3.through(LARGE, dag_id="hr_eu", key="large").equals(LARGE)
    begun, *others = proxy.requests[seen:]
    assert (begun.method, _sse(begun.headers)) == ("POST", ("aws:kms", S3_KEY))
    assert {_sse(other.headers) for other in others} == {(None, None)}
    assert {"PUT", "POST", "GET"} <= {other.method for other in others}

    seen = len(proxy.requests)
    s3.push(frame, dag_id="sales")
    assert _sse(proxy.requests[seen].headers) == ("AES256", None)


def test_a_rule_asks_for_the_keys_of_s3_itself_by_a_store_that_has_them(
    s3: Box, proxy: CountingProxy
) -> None:
    settings = 'addressing_style = "path"\nregion = "us-east-1"\n'
    s3.set(
        policy=f'[stores.plain]\nuri = "s3://bucket/sse"\nsse = "AES256"\n{settings}'
        f'endpoint_url = "{proxy.url}"\n'
        '[[rules]]\ndag = "hr_*"\nstore = "plain"\nthreshold = 0\n'
    )
    row = stored(s3.push("x", dag_id="hr_eu"))
    s3.push(b"x", dag_id="sales")
    assert [_sse(one.headers) for one in proxy.requests] == [("AES256", None), (None, None)]
    assert s3.pull(row) == "x"


def test_what_is_rekeyed_is_written_under_the_key_of_its_rule(
    s3: Box, proxy: CountingProxy
) -> None:
    first, second = leaks.key("s1"), leaks.key("s2")
    s3.set(policy=rule(S3_KEY, seal="true"), seal_keys=first)
    row = stored(s3.push(b"x", dag_id="hr_eu"))
    s3.set(seal_keys=f"{second} {first}")
    seen = len(proxy.requests)
    assert rekey._rewrap(s3.fields(row), write=True) == "rewrapped"
    writes = [one for one in proxy.requests[seen:] if one.method in ("PUT", "POST")]
    assert [_sse(one.headers) for one in writes] == [("aws:kms", S3_KEY)]
    s3.set(seal_keys=second)
    assert s3.pull(row) == b"x"


def test_google_is_asked_with_each_kind_of_write(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeGCS(bucket="box") as server, CountingProxy(server.endpoint) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        box.set(store="gs://box/x", gs_anonymous="true", policy=rule(GS_KEY))
        assert box.through(b"x", dag_id="hr_eu") == b"x"
        assert box.through(LARGE, dag_id="hr_eu", key="large").equals(LARGE)
        writes = [one for one in proxy.requests if one.method in ("POST", "PUT")]
        begun = [one for one in writes if "upload_id" not in one.target]
        keys = {parse_qs(urlsplit(one.target).query).get("kmsKeyName", [""])[0] for one in begun}
        assert keys == {GS_KEY}


def test_azure_is_asked_with_each_request_that_writes(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Azurite(container="box") as server,
        CountingProxy(server.endpoint.removesuffix(f"/{server.account}")) as proxy,
    ):
        monkeypatch.setenv("AZURE_STORAGE_KEY", server.key)
        endpoint = f"{proxy.url}/{server.account}"
        box.set(store="az://box/x", az_endpoint_url=endpoint, policy=rule("hr-2026"))
        assert box.through(b"x", dag_id="hr_eu") == b"x"
        assert box.through(LARGE, dag_id="hr_eu", key="large").equals(LARGE)
        name = "x-ms-encryption-scope"
        asked = {(one.method, one.headers.get(name)) for one in proxy.requests}
        assert asked == {("PUT", "hr-2026"), ("GET", None)}


@pytest.mark.parametrize("value", [1, "x", [1, {"a": 2}], {"k": (1, 2)}, {1: b"x"}, True, 1.5])
@pytest.mark.parametrize("threshold", ["32768", "-1"])
def test_no_row_holds_a_value_that_is_to_be_encrypted(
    s3: Box, proxy: CountingProxy, value: Any, threshold: str
) -> None:
    s3.set(policy=rule(S3_KEY), threshold=threshold)
    row = stored(s3.push(value, dag_id="hr_eu"))
    assert s3.fields(row)["_xcom_backend"] == "s3"
    assert _sse(proxy.requests[0].headers) == ("aws:kms", S3_KEY)
    assert s3.pull(row) == value
    # Of other DAGs nothing is sent.
    seen = len(proxy.requests)
    s3.push("x", dag_id="sales", task_id="other")
    assert len(proxy.requests) == seen


def test_what_has_no_key_for_an_object_is_refused_and_not_left_in_the_row(s3: Box) -> None:
    s3.set(policy=rule(S3_KEY))
    with pytest.raises(airfreight.InvalidError, match="without run"):
        s3.push("secret", dag_id="hr_eu", run_id=None)


def test_a_task_may_not_have_it_stay_in_the_row(s3: Box) -> None:
    s3.set(policy=rule(S3_KEY, may_change='["threshold"]'))
    with pytest.raises(
        airfreight.InvalidError,
        match=r"threshold = 1024 is refused: rule 'pii', line 4 of .* asks for encryption",
    ):
        s3.push(airfreight.options("x", threshold="1KiB"), dag_id="hr_eu")


@pytest.mark.parametrize(
    ("store", "key", "problem"),
    [
        ("s3://bucket/x", "arn:aws:kms:eu-central-1:1111:key/k", "must be arn:aws:kms:<region>"),
        ("s3://bucket/x", "arn:aws:s3:::bucket", "must be arn:aws:kms:<region>"),
        ("s3://bucket/x", "alias:xcom", "must be alias/<name>"),
        ("gs://bucket/x", S3_KEY, "must be projects/…/locations/…"),
        ("az://box/x", "no/scope", "must be 3 to 63 letters"),
    ],
)
def test_a_key_of_the_wrong_form_is_found_by_the_check_of_texts(
    box: Box, capsys: pytest.CaptureFixture[str], store: str, key: str, problem: str
) -> None:
    box.set(store=store, policy=rule(key))
    assert main(["policy", "check", "--texts"]) == 1
    text = capsys.readouterr().out
    assert f"line 4: rule 'pii': encryption_key {problem}" in text
    assert key in text


@pytest.mark.parametrize(
    ("key", "doubtful"),
    [
        (S3_KEY, False),
        ("arn:aws-us-gov:kms:us-gov-west-1:111122223333:alias/x", False),
        ("alias/xcom", False),
        ("1234abcd-12ab-34cd-56ef-1234567890ab", False),
        ("mrk-1234abcd12ab34cd56ef1234567890ab", False),
        ("key-1", True),
    ],
)
def test_a_key_that_amazon_could_not_know_is_a_warning(
    box: Box, capsys: pytest.CaptureFixture[str], key: str, *, doubtful: bool
) -> None:
    box.set(store="s3://bucket/x", policy=rule(key))
    assert main(["policy", "check", "--texts"]) == 0
    told = "'key-1' is no ARN, alias or id of a key of AWS KMS" in capsys.readouterr().out
    assert told is doubtful

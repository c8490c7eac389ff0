"""Settings: where they are read, what is said of wrong ones, and that Airflow documents them."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import airfreight
from airfreight import _airflow, config, exchange, runtime
from airfreight._settings_table import OPTIONS
from airfreight.provider import get_provider_info

if TYPE_CHECKING:
    from tests.python.conftest import Box

LOCAL = {"executor": "LocalExecutor", "home": "/opt/airflow"}
MODULE = "airflow.models.xcom" if exchange.ROWS_ARE_BYTES else "airflow.sdk.execution_time.xcom"

WRONG = {
    "transfer_memory": ["-1", "256MiB"],
    "max_connections": ["0", "1000", "all"],
    "threshold": ["lots", "-2", "1.5", "32k"],
    "store": [
        "/data",
        "s3:/bucket",
        "s3://",
        "file://relative/path",
        "gs://b/x",
        "file:///",
        "s3://@b",
        "memory://x",
    ],
    "read_also": ["s3://ok/x, nonsense"],
    "digest": ["md5"],
    "compression": ["gzip"],
    "format": ["csv", "feather"],
    "pickle": ["yes", "True", "always"],
    "describe": ["all", "Full", "none"],
    "preview_rows": ["-1", "101", "few"],
    "timeout": ["0", "-1", "soon", "nan", "inf", "1e9", "1_0", "+10"],
    "max_object_bytes": ["-1", "1e9", "1_0", "+10", str(10**23)],
    "s3_addressing_style": ["dns"],
    "s3_verify": ["maybe"],
    "s3_payload_signing": ["yes"],
    "s3_sse": ["kms"],
    "s3_sse_kms_key_id": ["alias/x"],
    "s3_conditional_writes": ["off"],
    "file_fsync": ["2"],
    "file_store_shared": ["si"],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in WRONG.items() for t in texts])
def test_a_wrong_setting_is_named_with_what_it_was_and_a_right_example(
    name: str, text: str
) -> None:
    with pytest.raises(airfreight.ConfigError) as caught:
        config.parse({name: text}, **LOCAL)
    message = str(caught.value)
    variable = f"AIRFLOW__AIRFREIGHT__{name.upper()}"
    assert f"[airfreight] {name}" in message
    assert f"Example: {variable}=" in message
    assert (text if name != "read_also" else "nonsense") in message


def test_all_wrong_settings_are_named_at_once() -> None:
    with pytest.raises(airfreight.ConfigError, match=r"threshold.*digest.*store|store.*threshold"):
        config.parse({"threshold": "x", "digest": "y", "store": "z"}, **LOCAL)


def test_the_examples_and_defaults_are_right_themselves() -> None:
    for option in OPTIONS:
        texts = {option.name: option.example}
        if option.name == "policy_file":
            continue  # There is no such file.
        if option.name.startswith("s3_sse_"):
            texts["s3_sse"] = "aws:kms"
        config.parse(texts, **LOCAL)
        if option.default is not None and option.name != "store":
            config.parse({option.name: option.default}, **LOCAL)


def test_defaults() -> None:
    parsed = config.parse({}, **LOCAL)
    assert parsed == config.Settings(store="file:///opt/airflow/airfreight", slots=parsed.slots)
    # What the documentation says is what holds.
    declared = {option.name: option.default for option in OPTIONS}
    assert declared["threshold"] == str(parsed.threshold)
    assert declared["timeout"] == f"{parsed.timeout:g}"
    assert declared["digest"] == parsed.digest
    assert declared["compression"] == parsed.compression
    assert declared["format"] == parsed.format
    assert declared["pickle"] == parsed.pickle == "never"
    assert declared["describe"] == parsed.describe
    assert declared["preview_rows"] == str(parsed.preview_rows)


def test_store_settings_reach_the_core_under_its_names() -> None:
    parsed = config.parse(
        {
            "store": "s3://bucket/x",
            "s3_endpoint_url": "http://localhost:9000",
            "s3_verify": "No",
            "file_fsync": "f",
            "file_store_shared": "True",
        },
        **LOCAL,
    )
    assert parsed.store_settings == {
        "s3": {"endpoint_url": "http://localhost:9000", "verify": "false"},
        "file": {"fsync": "false", "shared": "true"},
    }


def test_the_documented_defaults_are_what_the_core_is_given(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, dict[str, str]] = {}

    def freight(stores: Any, **_: Any) -> None:
        given.update((uri.partition(":")[0], settings) for _, uri, settings in stores)

    box.set(
        read_also="s3://bucket/x gs://bucket/x az://container/x redis://host/0", file_fsync=None
    )
    monkeypatch.setattr(runtime, "_load", lambda: SimpleNamespace(Freight=freight))
    runtime.freight()
    for option in OPTIONS:
        if option.store and option.default is not None:
            assert given[option.store].pop(option.setting) == option.default
    assert given == {"file": {}, "s3": {}, "gs": {}, "az": {}, "redis": {}}


def test_the_core_takes_every_store_setting(box: Box) -> None:
    from airfreight import _core

    s3 = {option.setting: option.example for option in OPTIONS if option.store == "s3"}
    s3["verify"] = "true"
    s3["sse"] = "aws:kms"
    s3.pop("ca_bundle")
    s3.pop("profile")
    file = {o.setting: o.example.lower() for o in OPTIONS if o.store == "file"}
    redis = {o.setting: o.example for o in OPTIONS if o.store == "redis"}
    stores = [("default", "s3://bucket/x", s3), ("also", "file:///tmp/x", file)]
    _core.Freight([*stores, ("cache", "redis://host/0", redis)])


# Right and wrong texts of everything that the core has rules for too.
SAME: dict[str, list[str]] = {
    "store": [
        "s3://bucket",
        "s3://bucket/",
        "s3://bucket/a/b//",
        "s3://my_conn@bucket/x",
        "s3://Old_Bucket.1/x",
        "s3://bucket/é",
        "file:///tmp/x/",
        "s3://bucket/a//b",
        "s3://bucket//",
        "s3://bucket/a/../x",
        "s3://bucket/./x",
        "s3://bucket/x?y=1",
        "s3://bucket/x#y",
        "s3://bucket/" + "p" * 150,
        "s3://bucket/" + "p" * 151,
        "s3://bucket/" + "é" * 76,
        "s3://ab",
        "s3://abc",
        "s3://" + "b" * 255,
        "s3://" + "b" * 256,
        "s3://bück",
        "s3://name--usw2-az1--x-s3",
        "redis://host/0",
        "redis://host:6379/0/xcom",
        "rediss://my_conn@host.example.com:6380/15/a/b/",
        "redis://[::1]:6379/0",
        "redis://[host]/0",
        "redis://host",
        "redis://host/xcom",
        "redis://host/01",
        "redis://host/2147483647",
        "redis://host/2147483648",
        "redis://host:0/0",
        "redis://host:65535/0",
        "redis://host:65536/0",
        "redis://host:99999999999/0",
        "redis://ho st/0",
        "redis:///0",
        "redis://@host/0",
        "redis://:topsecret@host:6379/0",
        "redis://user:secret@host:6379/0",
        "redis://host/0/a//b",
        "redis://host/0//",
        "redis://host/0/" + "p" * 151,
        "s3://bucket/a\x7fb",
        "s3://bucket/a\tb",
        "S3://bucket/x",
        "s3://",
        "s3:///x",
        "s3://@bucket",
        "s3://key:secret@bucket",
        "s3://key:sec/ret@bucket",
        "s3://bucket:9000/x",
        "file:///",
        "file://x/y",
        "file:///tmp/../x",
        "file:///tmp//x",
        "file:///" + "d" * 2047,
        "file:///" + "d" * 2048,
        "gs://bucket/x",
        "bucket/x",
    ],
    "s3_endpoint_url": [
        "http://minio:9000",
        "HTTPS://Minio.example.com/path/",
        "http://[::1]:9000",
        "http://10.0.0.1",
        "https://host:443/a_b-c.d~e%20",
        "minio:9000",
        "http://",
        "http://minio:",
        "http://minio:0",
        "http://minio:65535",
        "http://minio:65536",
        "http://mi nio",
        "http://minio/x?y",
        "http://minio#x",
        "http://user:password@minio",
        "http://user@minio",
        "http://[::1",
        "http://miniö",
        "ftp://minio",
    ],
    "s3_region": [
        "eu-central-1",
        "x",
        "r" * 63,
        "r" * 64,
        "eu central-1",
        "EU-CENTRAL-1",
        "-x",
        "x-",
        "eu.central",
    ],
    "s3_connect_timeout": ["5", "0.5", "1e1", "604800", "604801", "1e9", "1_0", "+10", "inf"],
    "s3_idle_timeout": ["nan", "0x10", "ten", "1.", ".5", "-1", "1e", "e1", "1 0"],
    "s3_verify": ["TRUE", "t", "on", "0", "2", "wrong"],
    "file_fsync": ["no", "nope"],
    "redis_ttl": ["0", "60", "-1", "1d", "1.5", "3162240000", "3162240001"],
    "redis_sentinels": ["a:1, b", "a:1 b:2", "[::1]:7", "a:x", "a:0", ", ,", "a;b"],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in SAME.items() for t in texts])
def test_the_check_at_import_refuses_what_the_core_refuses(name: str, text: str) -> None:
    from airfreight import _core

    option = next(option for option in OPTIONS if option.name == name)
    places = {"": text, "file": "file:///x", "s3": "s3://bucket", "redis": "redis://host/0"}
    uri = places[option.store]
    given = {} if name == "store" else {option.setting: text}
    try:
        _core.Freight([("default", uri, given)])
        core = True
    except airfreight.InvalidError:
        core = False
    said = ""
    try:
        config.parse({name: text}, **LOCAL)
        ours = True
    except airfreight.ConfigError as error:
        ours = False
        said = str(error)
    if "user" in text or "key:" in text:
        assert text not in said
        assert "not shown" in said
    assert ours == core


@pytest.mark.parametrize("name", ["timeout", "max_object_bytes", "threshold"])
def test_the_largest_number_that_is_taken_reaches_the_core(box: Box, name: str) -> None:
    option = next(option for option in OPTIONS if option.name == name)
    assert option.maximum is not None
    box.set(**{name: f"{option.maximum}"})
    assert box.through(b"x") == b"x"


@pytest.mark.parametrize(
    "executor",
    [
        "CeleryExecutor",
        "KubernetesExecutor",
        "LocalExecutor,CeleryExecutor",
        "LocalKubernetesExecutor",
        "airflow.providers.celery.executors.celery_executor.CeleryExecutor",
        "LocalExecutor,mine:airflow.providers.edge3.executors.EdgeExecutor",
        "LocalExecutor;team1=CeleryExecutor",
    ],
)
@pytest.mark.parametrize("store", ["", "file:///data/xcom"])
def test_a_directory_is_refused_under_executors_of_several_machines(
    executor: str, store: str
) -> None:
    with pytest.raises(airfreight.ConfigError) as caught:
        config.parse({"store": store}, executor=executor, home="/opt/airflow")
    message = str(caught.value)
    assert "AIRFLOW__AIRFREIGHT__STORE=s3://bucket/xcom" in message
    assert "AIRFLOW__AIRFREIGHT__FILE_STORE_SHARED=True" in message
    shared = {"store": store, "file_store_shared": "True"}
    assert config.parse(shared, executor=executor, home="/h").store.startswith("file://")
    config.parse({"store": "s3://bucket/xcom"}, executor=executor, home="/h")


@pytest.mark.parametrize(
    "executor", ["LocalExecutor", "SequentialExecutor", "airflow.x.LocalExecutor", ""]
)
def test_a_directory_is_the_default_under_executors_of_one_machine(executor: str) -> None:
    assert config.parse({}, executor=executor, home="/h/").store == "file:///h/airfreight"


@pytest.mark.parametrize(
    "text",
    [
        "s3://AKIAEXAMPLE:wJalrSecret@bucket/xcom",
        "s3://AKIAEXAMPLE:wJalr/Secret+Key@bucket/xcom",
        "s3://AKIAEXAMPLE:wJalr/Sec/ret@bucket",
        "s3://AKIAEXAMPLE:/wJalrSecret@bucket",
        "s3://AKIAEXAMPLE:wJalr,Secret@bucket",
        "s3:/AKIAEXAMPLE:wJalr/Secret@bucket",
        "AKIAEXAMPLE:wJalr/Secret@bucket",
        "gs://AKIAEXAMPLE:wJalr/Secret@bucket",
    ],
)
@pytest.mark.parametrize("name", ["store", "read_also"])
def test_a_secret_in_a_store_is_not_repeated(name: str, text: str) -> None:
    with pytest.raises(airfreight.ConfigError) as caught:
        config.parse({name: text}, **LOCAL)
    message = str(caught.value)
    assert "wJalr" not in message
    assert "Secret" not in message
    assert f"[airfreight] {name}" in message


# --- In a fresh Airflow ---------------------------------------------------------------------------


def start(code: str, tmp_path: Path, cfg: str = "", **env: str) -> str:
    (tmp_path / "airflow.cfg").write_text(cfg)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("way", ["environment", "airflow.cfg"])
def test_importing_airflow_logs_a_wrong_setting_as_an_error_and_goes_on(
    way: str, tmp_path: Path
) -> None:
    cfg, env = ("[airfreight]\nthreshold = lots\n", {})
    if way == "environment":
        cfg, env = "", {"AIRFLOW__AIRFREIGHT__THRESHOLD": "lots"}
    out = start(f"import airflow, {MODULE} as x; print(x.XCom)", tmp_path, cfg, **env)
    assert "airfreight.backend.XComBackend" in out
    line = next(line for line in out.splitlines() if "AIRFLOW__AIRFREIGHT__THRESHOLD" in line)
    assert "error" in line.lower()
    assert "'lots'" in line
    assert "AIRFLOW__AIRFREIGHT__THRESHOLD=32768" in line


def test_first_use_raises_what_the_log_said(tmp_path: Path) -> None:
    out = start(
        "import airfreight\n"
        "for i in range(2):\n"
        "  try: airfreight.XComBackend.serialize_value({'a': 1}, key='k')\n"
        "  except airfreight.ConfigError as error: print('RAISED', error)",
        tmp_path,
        AIRFLOW__AIRFREIGHT__STORE="bucket/xcom",
    )
    assert (
        out.count("RAISED [airfreight] store (AIRFLOW__AIRFREIGHT__STORE) must begin with s3://")
        == 2
    )


def test_options_of_airflow_cfg_hold_and_the_environment_wins(tmp_path: Path) -> None:
    out = start(
        f"import {MODULE}; from airfreight import config; print(config.settings())",
        tmp_path,
        "[airfreight]\nstore = s3://$BUCKET/xcom\nthreshold = 5\ndigest = sha256\n",
        AIRFLOW__AIRFREIGHT__THRESHOLD="7",
        BUCKET="from-env",
    )
    assert "store='s3://from-env/xcom', threshold=7" in out
    assert "digest='sha256'" in out


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("AIRFLOW__AIRFREIGHT__TRESHOLD", "AIRFLOW__AIRFREIGHT__THRESHOLD"),
        ("AIRFLOW__AIRFREIGHT_STORE", "AIRFLOW__AIRFREIGHT__STORE"),
        ("AIRFLOW_AIRFREIGHT__STORE", "AIRFLOW__AIRFREIGHT__STORE"),
        ("AIRFREIGHT_THRESHOLD", "AIRFLOW__AIRFREIGHT__THRESHOLD"),
    ],
)
def test_a_near_miss_is_answered_with_the_right_name(
    name: str, right: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # apache/airflow#49154, astronomer/airflow-guides#196
    monkeypatch.setenv(name, "1")
    monkeypatch.setenv("AIRFREIGHT_VERSITYGW", "/usr/bin/versitygw")  # Nothing like an option.
    with caplog.at_level("WARNING", logger="airfreight"):
        config.check()
    said = [record.getMessage() for record in caplog.records]
    assert any(name in message and f"did you mean {right}?" in message for message in said)
    assert not any("VERSITYGW" in message for message in said)


def test_an_extension_that_does_not_load_is_a_problem_of_the_policy_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "airfreight._policy", None)
    monkeypatch.delattr(airfreight, "_policy", raising=False)
    monkeypatch.setenv("AIRFREIGHT_THRESHOLD", "1")  # Whose right name only the extension knows.
    with caplog.at_level("WARNING", logger="airfreight"):
        config.check()
    texts = {"store": "s3://bucket/x", "policy": "[[rules]]\nformat = 'arrow'"}
    with pytest.raises(airfreight.ConfigError, match=r"policy can't be read: .*_policy"):
        config.parse(texts, executor="LocalExecutor", home="/h")


def test_the_check_at_import_raises_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(config, "read", lambda: 1 / 0)
    with caplog.at_level("ERROR", logger="airfreight"):
        config.check()
    assert "could not check its settings" in caplog.text


# --- The provider entry point ---------------------------------------------------------------------


def test_the_provider_info_fits_airflows_schema() -> None:
    jsonschema = importlib.import_module("jsonschema")  # Of Airflow's environment.

    import airflow

    schema = json.loads(Path(airflow.__path__[0], "provider_info.schema.json").read_text())
    info = get_provider_info()
    jsonschema.validate(info, schema)
    assert info["package-name"] == "airfreight"


def test_the_provider_info_imports_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); from airfreight.provider import get_provider_info; "
        "get_provider_info(); new = {n.partition('.')[0] for n in set(sys.modules) - before}; "
        "assert new <= {'airfreight', 'typing', 'collections', '__future__', '_typing', 're', "
        "'enum', "
        "'functools', 'operator', 'copyreg', 'contextlib', 'types', 'warnings', 'keyword', "
        "'reprlib', "
        "'itertools', '_collections', '_operator', '_sre', '_functools', 'sre_compile', "
        "'sre_parse', "
        "'sre_constants'}, new"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_airflow_lists_and_documents_the_options(tmp_path: Path) -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        version("airfreight")
    except PackageNotFoundError:
        pytest.skip("needs the installed package: Airflow finds providers by their entry points")
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "airflow",
            "config",
            "list",
            "--section",
            "airfreight",
            "--include-descriptions",
            "--include-env-vars",
            "--defaults",
        ],
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    for option in OPTIONS:
        assert f"{option.name} =" in done.stdout, done.stdout + done.stderr
    assert "AIRFLOW__AIRFREIGHT__STORE" in done.stdout


@pytest.mark.parametrize(
    ("executor", "env", "expected"),
    [
        ("SequentialExecutor", {}, 1),
        ("KubernetesExecutor", {}, 1),
        ("LocalExecutor", {}, 32),
        ("LocalExecutor", {"AIRFLOW__CORE__PARALLELISM": "4"}, 4),
        ("LocalExecutor", {"AIRFLOW__CORE__PARALLELISM": "0"}, 32),
        ("airflow.providers.celery.executors.celery_executor.CeleryExecutor", {}, 16),
        ("CeleryExecutor", {"AIRFLOW__CELERY__WORKER_CONCURRENCY": "3"}, 3),
        ("KubernetesExecutor,LocalExecutor", {"AIRFLOW__CORE__PARALLELISM": "5"}, 5),
        ("LocalExecutor", {"AIRFLOW__CORE__PARALLELISM": "many"}, 32),
    ],
)
def test_the_slots_that_share_the_memory_are_those_of_the_executor(
    monkeypatch: pytest.MonkeyPatch, executor: str, env: dict[str, str], expected: int
) -> None:
    monkeypatch.setattr(_airflow, "file_options", lambda _: {})
    monkeypatch.delenv("AIRFLOW__CORE__PARALLELISM", raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert _airflow.slots(executor) == expected

"""No secret, token, signature or value is in what is logged, raised, printed or kept in a row.

Markers lie in every secret setting, in connections and in values; then everything is done that can
fail, with all loggers at DEBUG, and all that came out is searched for them, in each form in which
they may be written. `tools/dev/leaks.py` searches what the whole suite has printed.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests import leaks
from tests.leaks import MARK, planted
from tests.python.conftest import harm
from tests.servers.faults import Answer

import airfreight
from airfreight import config, runtime
from airfreight.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.python.conftest import Box
    from tests.servers.counting_proxy import CountingProxy

#: What a value holds, and no row may tell.
VALUE = planted(12)
KEY = base64.b64encode(planted(40).encode()).decode()
#: (Of 32 bytes.)
SEAL = base64.b64encode(planted(24).encode()[:32]).decode()


class Spill:
    """All that comes out."""

    def __init__(self, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
        self._caplog = caplog
        self._capfd = capfd
        self._texts: list[str] = []
        self.errors = 0
        caplog.set_level(logging.DEBUG)

    def add(self, text: object) -> None:
        self._texts.append(text if isinstance(text, str) else repr(text))

    def fails(self, call: Callable[[], Any]) -> BaseException:
        """Does what fails, and keeps all that the error tells, also to another process."""
        try:
            call()
        except Exception as error:
            self.errors += 1
            seen: BaseException | None = error
            while seen is not None:
                # (Without the lines of the sources, and with what is left out of tracebacks.)
                self.add("".join(traceback.format_exception_only(type(seen), seen)))
                self.add(repr(seen))
                self.add(repr(vars(seen)))
                seen = seen.__cause__ or seen.__context__
            if isinstance(error, airfreight.Error):
                self.add(str(pickle.loads(pickle.dumps(error))))
            return error
        raise AssertionError("nothing failed")

    def search(self, *secrets: str) -> None:
        """Asserts that nothing of it is in what came out."""
        out = self._capfd.readouterr()
        records = [
            f"{record.getMessage()} {record.args!r} {record.exc_text or ''} "
            + (self._caplog.handler.format(record))
            for record in self._caplog.records
        ]
        text = "\n".join([*self._texts, out.out, out.err, *records]).encode(errors="replace")
        needles = set.union(*(leaks.forms(secret) for secret in (MARK, *secrets)))
        assert list(leaks.search(text, needles, shapes=True)) == []


@pytest.fixture
def spill(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Spill:
    return Spill(caplog, capfd)


def values() -> list[Any]:
    import numpy as np
    import pandas as pd

    return [
        VALUE.encode() * 3,
        {"key": [VALUE] * 3000},
        [VALUE * 3000],
        pd.DataFrame({"column": [VALUE] * 10}),
        pd.Series([VALUE] * 10),
        np.array([VALUE] * 10),
        (VALUE, {1: VALUE}),
    ]


class Nothing:
    """What no codec keeps."""

    def __repr__(self) -> str:
        return VALUE


# --- That the search finds ------------------------------------------------------------------------


@pytest.mark.parametrize("before", range(4))
def test_a_marker_is_found_however_it_is_written(before: int) -> None:
    secret = planted(9)
    for text in (
        secret.encode(),
        base64.b64encode(b"x" * before + secret.encode() + b"after"),
        ("y" * before + secret).encode().hex().encode(),
    ):
        assert list(leaks.search(b"line\n" + b"..." + text + b"...", leaks.forms(MARK)))
    assert not list(leaks.search(b"nothing of it", leaks.forms(MARK), shapes=True))


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/2026",
        "Signature=" + "0a" * 32,
        "https://a.blob.core.windows.net/c?sv=1&sig=abcdefghijklmnopqrst%3D",
        "header 'Bearer ya29.a0AfH6SMBexample'",
        '{"written": "2026-01-01T00:03:11Z", "sig": "k1@sales:' + "0a" * 32 + '"}',
    ],
)
def test_what_looks_like_a_secret_is_found_without_a_marker(text: str, tmp_path: Path) -> None:
    log = tmp_path / "stage.log"
    log.write_text(f"well\n{text}\n")
    (found,) = leaks.search_files([log])
    assert found.startswith("stage.log, line 2: ")
    assert text[-12:] not in found


def test_the_search_of_a_run_fails_where_a_stage_has_printed_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tools.dev import leaks as stage
    from tools.dev.base import DevError

    monkeypatch.setattr(stage, "LOGS", tmp_path)
    (tmp_path / "core.log").write_text("12 passed")
    stage.check()
    (tmp_path / "python.log").write_text(f"E   {planted(9)}")
    with pytest.raises(DevError, match=r"python\.log, line 1"):
        stage.check()


def test_what_a_test_has_written_is_searched_though_it_passes() -> None:
    """pytest keeps that to itself, so that no stage prints it."""
    from tests.conftest import pytest_runtest_makereport

    def reported(text: str) -> Any:
        report = SimpleNamespace(outcome="passed", longrepr=None, sections=[("log call", text)])
        hook = pytest_runtest_makereport()
        next(hook)
        with pytest.raises(StopIteration):
            hook.send(SimpleNamespace(get_result=lambda: report))
        return report

    assert reported(f"digest sha256:{'0a' * 32}").outcome == "passed"
    secret = planted(9)
    found = reported(f"well\nkey {secret}")
    assert found.outcome == "failed"
    assert "log call, line 2: " in found.longrepr
    assert secret not in found.longrepr + repr(found.sections)


# --- Values and rows ------------------------------------------------------------------------------


def test_no_row_and_no_log_line_tells_a_value(box: Box, spill: Spill) -> None:
    box.set(threshold=0)
    for number, value in enumerate(values()):
        row = box.push(value, task_id=f"t{number}")
        spill.add(json.dumps(box.fields(row)))
        spill.add(repr(type(box.pull(row))))
        airfreight.XComBackend.purge(_result(row))
    spill.search()


def test_no_error_of_a_push_tells_the_value(box: Box, spill: Spill) -> None:
    for bad in (Nothing(), [VALUE, Nothing()], {"a": {"b": [Nothing(), VALUE]}}, {Nothing(): 1}):
        spill.fails(partial(box.push, bad))
    box.set(max_object_bytes=1, threshold=0)
    for value in values():
        spill.fails(partial(box.push, value))
    assert spill.errors == 4 + len(values())
    spill.search()


def test_no_error_of_a_pull_tells_value_or_signature(box: Box, spill: Spill) -> None:
    box.set(threshold=0, signing_keys=f"k1:{KEY}")
    signatures = []
    for number, value in enumerate(values()):
        row = box.push(value, task_id=f"t{number}")
        fields = box.fields(row)
        signatures.append(fields["sig"].partition(":")[2])
        forged = {**fields, "size_bytes": fields["size_bytes"] + 1}
        spill.fails(partial(box.pull, _row(forged)))
        spill.fails(partial(box.pull, _row({**fields, "uri": fields["uri"] + "x"})))
        unsigned = {name: field for name, field in fields.items() if name != "sig"}
        spill.fails(partial(box.pull, _row(unsigned)))
        spill.fails(partial(box.pull, _row({**fields, "dag": 7})))
        harm(box.file(row), VALUE.encode() * 5)
        spill.fails(partial(box.pull, row))
        box.file(row).unlink()
        spill.fails(partial(box.pull, row))
    assert spill.errors == 6 * len(values())
    spill.search(*signatures)


def _result(row: Any) -> Any:
    return SimpleNamespace(value=row)


def _row(fields: dict[str, Any]) -> Any:
    from airfreight import exchange

    return json.dumps(fields).encode() if exchange.ROWS_ARE_BYTES else fields


# --- Secrets of settings and connections ----------------------------------------------------------


SECRET = planted(20)
STORES = {
    "refused": "s3://bucket/xcom",
    "by a connection": "s3://conn@bucket/xcom",
    "in the place of one": f"s3://AKID:{SECRET}@bucket/xcom",
    "azure": "az://conn@container/xcom",
    "azure, by a signature": "az://sas@container/xcom",
    "google": "gs://conn@bucket/xcom",
    "redis": "redis://conn@127.0.0.1:1/0/xcom",
    "redis in the URI": f"redis://u:{SECRET}@127.0.0.1:1/0/xcom",
    "fsspec": "fsspec+http://conn@127.0.0.1/xcom",
}


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
def test_no_secret_of_a_store_is_told(
    box: Box, spill: Spill, monkeypatch: pytest.MonkeyPatch, store: str, proxy: CountingProxy
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDAKIDAKIDAKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", planted(30))
    key = base64.b64encode(SECRET.encode()).decode()
    kind = {"s3": "aws", "az": "wasb", "gs": "google_cloud_platform"}.get(store[:2], "redis")
    extra: dict[str, Any] = {
        "aws_session_token": planted(30),
        "keyfile_dict": json.dumps({"type": "service_account", "private_key": SECRET}),
        "fsspec_options": {"headers": {"Authorization": SECRET}},
    }
    if kind == "wasb":
        extra = {"tenant_id": "t", "account_url": "http://127.0.0.1:1/a", "account_key": key}
    made = {"conn_type": kind, "login": "a", "password": SECRET, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_CONN", json.dumps(made))
    sas = {"sas_token": f"?sv=2022&sig={SECRET}", "account_url": "http://127.0.0.1:1/a"}
    monkeypatch.setenv("AIRFLOW_CONN_SAS", json.dumps({**made, "login": "", "extra": sas}))
    box.set(
        store=store,
        threshold=0,
        timeout="0.3",
        signing_keys=f"k1:{KEY}",
        seal_keys=f"s1:{SEAL}",
        s3_endpoint_url=proxy.url,
        s3_region="us-east-1",
        gs_endpoint_url="http://127.0.0.1:1",
    )
    spill.fails(lambda: box.push(VALUE.encode()))
    for command in (
        ["policy", "check"],
        ["policy", "check", "--json"],
        ["policy", "explain", "--dag", "d", "--task", "t"],
        ["doctor", "--no-database", "--yes"],
        ["doctor", "--no-database", "--json"],
        ["iam-policy"],
        ["lifecycle"],
    ):
        config.forget()
        runtime.forget()
        main(command)
    config.check()
    spill.search(key, KEY, SEAL)


@pytest.mark.parametrize("status", [200, 400, 403, 404, 409, 500])
def test_what_a_server_repeats_of_a_request_is_not_told(
    s3: Box, spill: Spill, proxy: CountingProxy, status: int
) -> None:
    s3.set(timeout="0.3", threshold=0)
    row = s3.push(VALUE.encode())
    # AWS's own answer to a wrong signature has the string to sign in it, which is no secret, and
    # servers that are broken answer with what they like.
    echo = (
        "<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message>"
        f"<SignatureProvided>{MARK}</SignatureProvided><StringToSign>{MARK}</StringToSign></Error>"
    )
    proxy.script = lambda _: Answer(status, echo.encode())
    spill.fails(lambda: s3.push(VALUE.encode()))
    spill.fails(lambda: s3.pull(row))
    airfreight.XComBackend.purge(_result(row))
    spill.search()


def test_settings_that_are_wrong_do_not_show_secrets(
    box: Box, spill: Spill, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: list[dict[str, object]] = [
        {"signing_keys": SECRET},
        {"signing_keys": f"k1:{KEY} k2:{SECRET}"},
        {"seal_keys": f"s1:{SEAL} s2:{SECRET}", "seal": True},
        {"store": f"s3:/{SECRET}@bucket"},
        {"read_also": f"s3://a:{SECRET}@bucket"},
        {"policy": f'[stores.a]\nuri = "s3://a:{SECRET}@bucket"\n'},
        {"policy": f'[aliases]\n"s3://a:{SECRET}@bucket" = "s3://b:{SECRET}@c"\n'},
        {"s3_endpoint_url": f"https://a:{SECRET}@host"},
        {"gs_endpoint_url": f"https://a:{SECRET}@host"},
        {"az_endpoint_url": f"https://a:{SECRET}@host"},
        {"az_endpoint_url": f"https://a.blob.core.windows.net/?sv=2022&sig={SECRET}"},
        {"store": f"az://container/xcom?sv=2022&sig={SECRET}"},
        {"read_also": f"az://container/xcom?sv=2022&sig={SECRET}"},
        {"policy": f'[aliases]\n"az://a/x?sig={SECRET}" = "az://b/x?sig={SECRET}"\n'},
        {"policy": f'[stores.a]\nuri = "az://c/x?sig={SECRET}"\n'},
        {"policy": f'[stores.a]\nuri = "az://c/x"\nendpoint_url = "https://a/?sig={SECRET}"\n'},
        {"redis_sentinels": f"a:{SECRET}@host"},
    ]
    clean: dict[str, object] = {name: None for one in wrong for name in one}
    for one in wrong:
        box.set(**{**clean, "store": f"file://{box.root}", **one})
        spill.fails(lambda: box.push(b"x" * 100_000))
        config.check()
        main(["doctor", "--no-database"])
    monkeypatch.setenv(
        "AIRFLOW__AIRFREIGHT__SIGNING_KEYS_CMD", f"sh -c 'echo {SECRET} >&2; exit 1'"
    )
    box.set(**{**clean, "store": f"file://{box.root}"})
    spill.fails(lambda: box.push(b"x" * 100_000))
    assert spill.errors == len(wrong) + 1
    spill.search()


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql+psycopg2://me:{SECRET}@127.0.0.1:1/airflow",
        f"postgresql+psycopg2://me@127.0.0.1:1/airflow?password={SECRET}",
        f"mysql+pymysql://me:{SECRET}@127.0.0.1:1/airflow",
        f"nothing://me:{SECRET}@127.0.0.1/airflow",
        # What has to be percent-encoded and is not: parts of it stand where others belong.
        f"postgresql+psycopg2://me:p@{SECRET}@127.0.0.1:1/airflow",
        f"postgresql+psycopg2://me:p@h:{SECRET}@127.0.0.1:1/airflow",
        f"postgresql+psycopg2://me:p@h/{SECRET}@127.0.0.1:1/airflow",
        f"postgresql+psycopg2://me:{SECRET}/p@127.0.0.1:1/airflow",
        SECRET,
    ],
    ids=range(9),
)
def test_no_command_tells_the_password_of_the_database(
    box: Box, spill: Spill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.chdir(tmp_path)  # (Receipts go there.)
    box.set(signing_keys=f"k1:{KEY}")
    for words in (
        *(["sign"], ["sign", "--json"], ["rekey", "--yes"], ["repatriate", "--json"]),
        *(["erase", "--dag", "d"], ["erase", "--dag", "d", "--yes"], ["sweep"], ["claim", "--yes"]),
    ):
        assert main([*words, "--database", url]) != 0
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", url)
    main(["doctor"])
    for receipt in tmp_path.glob("*.json"):
        spill.add(receipt.read_text())
    spill.search()


def test_the_repr_and_pickle_of_what_holds_secrets_do_not_show_them(s3: Box, spill: Spill) -> None:
    s3.set(signing_keys=f"k1:{KEY}", threshold=0)
    row = s3.push(VALUE.encode())
    core = runtime.freight()
    for thing in (core, config.settings(), *runtime.listed(), row and airfreight.put):
        spill.add(repr(thing))
    from airfreight import signing

    spill.add(repr(signing.seal(config.settings())))
    spill.fails(lambda: pickle.dumps(core))
    spill.search()


def test_a_task_that_fails_prints_no_secret(spill: Spill, tmp_path: Path) -> None:
    """A whole process, with what libraries below Python print too."""
    program = (
        "import faulthandler, logging, traceback; faulthandler.enable()\n"
        "import airfreight\n"
        "logging.basicConfig(level=0, force=True)\n"
        "for value in (b'x' * 100_000, [object()]):\n"
        "    try:\n"
        "        airfreight.XComBackend.serialize_value(value, key='k', task_id='t', dag_id='d',"
        " run_id='r')\n"
        "    except Exception:\n"
        "        print('it failed')\n"
        "        traceback.print_exc()\n"
        "print('done')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ
        | {
            "AIRFLOW_HOME": str(tmp_path),
            "AIRFLOW__AIRFREIGHT__STORE": "s3://bucket/xcom",
            "AIRFLOW__AIRFREIGHT__TIMEOUT": "0.3",
            "AIRFLOW__AIRFREIGHT__S3_ENDPOINT_URL": "http://127.0.0.1:1",
            "AIRFLOW__AIRFREIGHT__SIGNING_KEYS": f"k1:{KEY}",
            "AWS_ACCESS_KEY_ID": "AKIDAKIDAKIDAKID",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_SESSION_TOKEN": planted(30),
            "AIRFLOW_CONN_X": f"aws://a:{SECRET}@",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.endswith("done\n"), done.stderr
    assert done.stdout.count("it failed") == 2
    spill.add(done.stdout)
    spill.add(done.stderr)
    spill.search(KEY)

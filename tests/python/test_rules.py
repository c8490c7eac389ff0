"""The policy: what its file may say, and what pushes make of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from airfreight import config, decision, exchange, rules
from airfreight.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SALES = """\
[[rules]]
name = "rows"
dag = "sales_*"
threshold = 10

[[rules]]
name = "tables"
type = "pandas.*"
format = "arrow"
describe = "size"
"""


def _parse(texts: dict[str, str]) -> config.Settings:
    return config.parse(texts, executor="LocalExecutor", home="/tmp/airflow")


def test_no_policy_is_none_and_loads_no_parser() -> None:
    assert _parse({}).policy is None


def test_stores_and_aliases_reach_the_settings() -> None:
    text = (
        '[stores.eu]\nuri = "s3://bucket/xcom"\nendpoint_url = "http://localhost:9000"\n'
        '[aliases]\n"s3://old/xcom" = "s3://bucket/xcom"'
    )
    settings = _parse({"policy": text})
    assert settings.stores == {
        "eu": ("s3://bucket/xcom", {"endpoint_url": "http://localhost:9000"})
    }
    assert settings.aliases == (("s3://old/xcom", "s3://bucket/xcom"),)


def test_a_file_is_read_and_named_in_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(SALES)
    assert _parse({"policy_file": str(path)}).policy is not None
    path.write_text('[[rules]]\nname = "a"\nformat = "csv"')
    with pytest.raises(ConfigError, match=r"p\.toml, line 3: rule 'a': format is 'csv'"):
        _parse({"policy_file": str(path)})


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ({"policy": SALES, "policy_file": "/p"}, "both set"),
        ({"policy_file": "/nowhere/p.toml"}, "can't be read"),
        ({"policy_file": "/p\0.toml"}, "can't be read"),
        ({"policy": "a = "}, "line 1: it is not TOML"),
        ({"policy": '[[rules]]\nstore = "eu"'}, "line 2: rule '#1': store is 'eu', and there"),
        ({"policy": '[stores.eu]\nuri = "ftp://x"'}, r"\[stores.eu\] uri must begin with"),
        ({"policy": "[[rules]]\n[[rules]]\ndag='x'"}, "can never match"),
    ],
)
def test_what_is_wrong_is_a_config_error(texts: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        _parse(texts)


def test_the_check_at_import_logs_it_and_raises_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__POLICY", '[[rules]]\nfromat = "arrow"')
    config.check()
    assert "line 2: rule '#1': 'fromat' is not known" in caplog.text


def test_the_first_rule_that_matches_holds() -> None:
    settings = _parse({"policy": SALES, "compression": "zstd"})
    assert settings.policy is not None
    found = settings.policy.find("sales_eu", "t", "k", "pandas.DataFrame", None)
    assert found is not None
    assert (found.name, found.line) == ("rows", 1)
    decided = decision.decide(settings, found)
    assert (decided.threshold, decided.format, decided.compression) == (10, "parquet", "zstd")
    assert settings.policy.find("other", "t", "k", "json", None) is None


EVERYTHING = """\
[stores.eu]
uri = "s3://bucket/xcom"

[[rules]]
name = "all"
dag = "sales_*"
store = "eu"
max_size = "2GiB"
encryption_key = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd"
retention = "36h"
digest = "sha256"
outage = "fail"
pickle = "never"
preview_rows = 2
may_change = ["format"]
"""


def test_a_decision_has_what_the_rule_says_and_else_what_the_settings_say() -> None:
    settings = _parse({"policy": EVERYTHING, "pickle": "allow", "max_object_bytes": "7"})
    assert settings.policy is not None
    found = settings.policy.find("sales_eu", "t", "k", "json", 1)
    decided = decision.decide(settings, found)
    assert (decided.store, decided.max_size, decided.retention) == ("eu", 2 << 30, 36 * 3600)
    assert decided.encryption_key.endswith("key/1234abcd")
    assert (decided.digest, decided.outage, decided.pickle) == ("sha256", "fail", "never")
    assert (decided.preview_rows, decided.may_change) == (2, ("format",))
    assert decided.origin("max_size") == "rule 'all', line 8 of [airfreight] policy"
    assert decided.origin("format") == "[airfreight] format"
    other = decision.decide(settings, settings.policy.find("other", "t", "k", "json", 1))
    assert (other.store, other.max_size, other.retention) == ("default", 7, 0)
    assert (other.encryption_key, other.digest, other.pickle) == ("", "crc32c", "allow")
    assert other.may_change == ("compression", "format", "retention")
    assert other.origin("max_size") == "[airfreight] max_object_bytes"


def test_one_setting_alone_is_read_as_a_rule_has_it() -> None:
    assert rules.setting("retention", "7d") == ("604800", "")
    assert rules.setting("may_change", ",".join(decision.MAY_CHANGE)) == (
        "compression,format,retention",
        "",
    )
    value, problem = rules.setting("format", "csv")
    assert value is None
    assert problem == "format is 'csv'; right is one of parquet, arrow"
    assert rules.setting("ttl", "7d") == (None, "'ttl' is not known")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "forever"), (90, "90s"), (300, "5m"), (129600, "36h"), (604800, "7d")],
)
def test_durations_are_told_as_they_are_written(seconds: int, text: str) -> None:
    assert decision.duration(seconds) == text
    if seconds:
        assert rules.setting("retention", text) == (str(seconds), "")


def test_all_settings_of_a_rule_are_decided_and_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from airfreight.cli import main

    with pytest.raises(ConfigError) as raised:
        _parse({"policy": "[[rules]]\nnothing = 1"})
    known = str(raised.value).partition("and the settings ")[2].split(", ")
    assert sorted(decision.NAMES) == known
    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__POLICY", EVERYTHING)
    config.forget()
    assert main(["policy", "explain", "--dag", "sales_eu", "--task", "t"]) == 0
    told = capsys.readouterr().out
    for line in (
        "store = eu  (rule 'all', line 7 of [airfreight] policy)",
        "retention = 36h  (rule 'all', line 10 of [airfreight] policy)",
        "may_change = format  (rule 'all', line 15 of [airfreight] policy)",
        "threshold = 0  (rule 'all', line 9 of [airfreight] policy)",
    ):
        assert line in told.splitlines()
    assert main(["policy", "explain", "--dag", "other", "--task", "t"]) == 0
    told = capsys.readouterr().out
    assert "encryption_key = none  (as the store's settings say)" in told.splitlines()
    assert "retention = forever  (where no rule says otherwise)" in told.splitlines()
    config.forget()


@pytest.fixture
def pack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    from airfreight import runtime

    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__STORE", f"file://{tmp_path}/store")

    def pack(policy: str, value: Any, dag: str = "d", **more: str) -> Any:
        monkeypatch.setenv("AIRFLOW__AIRFREIGHT__POLICY", policy)
        for name, text in more.items():
            monkeypatch.setenv(f"AIRFLOW__AIRFREIGHT__{name.upper()}", text)
        config.forget()
        runtime.forget()
        row = exchange.pack(value, exchange.Address(dag, "r", "t", "return_value", map_index=-1))
        return json.loads(row) if isinstance(row, bytes) else row

    yield pack
    config.forget()
    runtime.forget()


def test_a_threshold_is_of_the_dags_of_its_rule(pack: Callable[..., Any]) -> None:
    value = "x" * 100
    assert pack(SALES, value, "other") == value
    assert pack(SALES, value, "sales_eu")["_xcom_backend"] == "file"


def test_a_dag_is_switched_on_where_nothing_is_written(pack: Callable[..., Any]) -> None:
    value = "x" * 100
    assert pack(SALES, value, "other", threshold="-1") == value
    assert pack(SALES, value, "sales_eu", threshold="-1")["_xcom_backend"] == "file"


def test_format_and_describe_are_of_the_types_of_their_rule(pack: Callable[..., Any]) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"secret_label": [1, 2]})
    row = pack(SALES, frame)
    assert row["uri"].endswith(".arrow")
    assert "secret_label" not in json.dumps(row)
    row = pack(SALES, frame, "sales_eu")
    assert row["uri"].endswith(".parquet")
    assert "secret_label" in json.dumps(row)


def test_sizes_are_those_known_before_encoding(pack: Callable[..., Any]) -> None:
    pd = pytest.importorskip("pandas")
    policy = '[[rules]]\nmin_size = "1KiB"\nformat = "arrow"\nthreshold = 0'
    assert pack(policy, pd.DataFrame({"a": range(1000)}))["uri"].endswith(".arrow")
    assert pack(policy, pd.DataFrame({"a": [1]}))["uri"].endswith(".parquet")
    assert pack(policy, "x" * 1022)["_xcom_backend"] == "file"
    assert pack(policy, "x" * 1021) == "x" * 1021


def test_the_command_explains_and_checks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from airfreight.cli import main

    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__POLICY", SALES)
    config.forget()
    asked = ["policy", "explain", "--dag", "d", "--task", "t", "--type", "pandas.DataFrame"]
    assert main([*asked, "--size", "3GiB"]) == 0
    told = capsys.readouterr().out
    assert "rule 'tables', line 6" in told
    assert "format = arrow  (rule 'tables', line 9 of [airfreight] policy)" in told
    assert "compression = snappy  ([airfreight] compression)" in told
    assert main(["policy", "check"]) == 0
    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__POLICY", "a = ")
    config.forget()
    assert main(["policy", "check"]) == 1
    assert "line 1: it is not TOML" in capsys.readouterr().out
    config.forget()

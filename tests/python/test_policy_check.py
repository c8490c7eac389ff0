"""`airfreight policy check` and `explain`, and what pushes say of a policy that is wrong."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.test_stores import connect

import airfreight
from airfreight import config, runtime
from airfreight.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.python.conftest import Box
    from tests.servers.counting_proxy import CountingProxy
    from tests.servers.versitygw import VersityGW

    Policy = Callable[[str], str]

TABLES = """\
[[rules]]
name = "tables"
type = "pandas.*"
store = "eu"

"""


@pytest.fixture
def policy(box: Box, tmp_path: Path) -> Policy:
    """Sets the policy; returns its path."""
    path = tmp_path / "policy.toml"

    def write(text: str) -> str:
        path.write_text(text)
        box.set(policy_file=path)
        return str(path)

    return write


class Said:
    """What a command printed, and its status."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        config.forget()
        runtime.forget()
        capsys.readouterr()  # What came before.
        self.status = main(["policy", *arguments])
        self.text = capsys.readouterr().out
        self.lines = self.text.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.text)


# --- check ----------------------------------------------------------------------------------------


def test_without_a_policy_the_store_is_asked(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "check")
    assert said.status == 0
    assert said.lines == ["no policy is set", f"store default = file://{box.root}: answers"]


def test_what_is_right_is_told_store_by_store(
    s3: Box,
    server: VersityGW,
    proxy: CountingProxy,
    policy: Policy,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del s3
    connect(monkeypatch, "eu_conn", server)
    path = policy(TABLES + '[stores.eu]\nuri = "s3://eu_conn@bucket/eu"\n')
    proxy.clear()
    said = Said(capsys, "check")
    assert said.status == 0, said.text
    assert said.lines == [
        f"{path}: 1 rule",
        "store default = s3://bucket/xcom: answers",
        "store eu = s3://bucket/eu through connection 'eu_conn': answers",
    ]
    # (The section's endpoint is over the connection's.)
    assert [request.method for request in proxy.requests] == ["GET", "GET"]


def test_json_is_for_programs(policy: Policy, box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    path = policy('[[rules]]\ndag = "x"\n[[rules]]\ntype = "pandas.Dataframe"\n')
    said = Said(capsys, "check", "--json")
    assert said.status == 0
    assert said.json == {
        "policy": f"{path}: 2 rules",
        "errors": [],
        "warnings": [
            (
                f"{path}, line 4: rule '#2': type 'pandas.Dataframe' matches no type that a value "
                "has here; did you mean pandas.DataFrame?"
            )
        ],
        "stores": [
            {
                "name": "default",
                "uri": f"file://{box.root}",
                "connection": "",
                "state": "answers",
            }
        ],
    }
    policy("a = ")
    said = Said(capsys, "check", "--json")
    assert said.status == 1
    assert said.json["stores"] == []
    assert "line 1: it is not TOML" in said.json["errors"][0]


def test_rules_that_seal_without_keys_are_an_error_with_the_remedy(
    policy: Policy, box: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    path = policy('[[rules]]\nname = "people"\ndag = "hr_*"\nseal = true\n')
    said = Said(capsys, "check")
    assert said.status == 1
    assert f"{path}, line 4: rule 'people': objects are to be sealed, and there are no keys" in (
        said.text
    )
    assert "AIRFLOW__AIRFREIGHT__SEAL_KEYS to k1:" in said.text
    assert Said(capsys, "check", "--texts").status == 0  # It runs no command for a key.
    box.set(seal_keys="s1:" + "A" * 43 + "=")
    assert Said(capsys, "check").status == 0


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("pandas.Dataframe", "; did you mean pandas.DataFrame?"),
        ("polars.*Frames", "; did you mean polars."),
        ("nothing", "; types are airfreight.File, bytearray, bytes, json, mappable, "),
        ("bundle", "; types are "),
        ("pandas.*", ""),
        ("?ytes", ""),
        ("json", ""),
        ("geopandas:geopandas.GeoDataFrame", ""),
    ],
)
def test_a_type_that_no_value_has_is_a_warning(
    policy: Policy, pattern: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    policy(f'[[rules]]\ntype = ["numpy.*", "{pattern}"]\n')
    said = Said(capsys, "check", "--texts")
    assert said.status == 0
    warnings = [line for line in said.lines if line.startswith("warning: ")]
    assert len(warnings) == bool(meant)
    assert meant in said.text


def test_a_setting_that_is_none_is_a_warning(
    box: Box, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del box
    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__POLICY_FIEL", "/x")
    said = Said(capsys, "check", "--texts")
    assert said.status == 0
    assert "did you mean AIRFLOW__AIRFREIGHT__POLICY_FILE?" in said.text


def test_texts_alone_ask_nobody(
    s3: Box,
    proxy: CountingProxy,
    policy: Policy,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del s3
    policy(TABLES + '[stores.eu]\nuri = "s3://not_there@nowhere/eu"\n')
    monkeypatch.setattr("airfreight.connections.resolve", None)
    proxy.clear()
    said = Said(capsys, "check", "--texts")
    assert said.status == 0
    assert said.lines[-1] == "store eu = s3://nowhere/eu through connection 'not_there': not asked"
    assert not proxy.requests


# --- Bad input: what, where, and which line -------------------------------------------------------


UNKNOWN_SCHEME = TABLES + '[stores.eu]\nuri = "s4://bucket/xcom"\n'
NEVER = (
    TABLES + '[[rules]]\nname = "frames"\ntype = "pandas.DataFrame"\n[stores.eu]\nuri = "s3://b/x"'
)
NO_STORE = TABLES


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (UNKNOWN_SCHEME, "{policy}, line 7: [stores.eu] uri must begin with s3://, "),
        (
            NEVER,
            (
                "{policy}, line 6: rule 'frames': it can never match: rule 'tables' on line 1 "
                "comes first and matches all that it does"
            ),
        ),
        (TABLES, "{policy}, line 4: rule 'tables': store is 'eu', and there is no [stores.eu]"),
        (
            TABLES + '[stores.eu]\nuri = "s3://bucket/xcom"\nregoin = "x"',
            (
                "{policy}, line 8: [stores.eu] regoin is no setting of a store of s3://; did you "
                "mean region?"
            ),
        ),
        (
            TABLES + '[stores.eu]\nuri = "s3://bucket/x"\n[aliases]\n"s3://old/x" = "s3://else/x"',
            '{policy}, line 9: [aliases] "s3://old/x" = "s3://else/x" leads to where no store lies',
        ),
        ('[[rules]]\nfromat = "arrow"', "{policy}, line 2: rule '#1': 'fromat' is not known; did"),
        ('[[rule]]\nformat = "arrow"', "{policy}, line 1: 'rule' is not known; did you mean rules"),
    ],
    ids=["scheme", "never", "store", "setting", "alias", "name", "table"],
)
def test_what_the_text_tells_is_told_at_import_and_at_push_and_by_check(
    box: Box,
    policy: Policy,
    text: str,
    problem: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    problem = problem.format(policy=policy(text))
    with pytest.raises(airfreight.ConfigError) as raised:
        box.push(b"value")
    assert problem in str(raised.value)
    said = Said(capsys, "check")
    assert said.status == 1
    assert f"error: {problem}" in said.text
    config.check()
    assert problem in caplog.text


def test_a_connection_that_is_not_there_names_store_and_line(
    s3: Box, proxy: CountingProxy, policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    path = policy(TABLES + '[stores.eu]\nuri = "s3://not_there@bucket/eu"\n')
    problem = (
        f"{path}, line 7: [stores.eu] uri: The Airflow connection 'not_there', which a store of "
        "s3:// names, was not found"
    )
    proxy.clear()
    with pytest.raises(airfreight.ConfigError) as raised:
        s3.push(b"value")
    assert str(raised.value).startswith(problem)
    assert not proxy.requests  # Before any byte is sent.
    said = Said(capsys, "check")
    assert said.status == 1
    assert "store default = s3://bucket/xcom: answers" in said.lines
    assert "through connection 'not_there': can't be used" in said.text
    assert f"error: {problem}" in said.text


def test_a_connection_of_the_section_names_its_option(
    s3: Box, capsys: pytest.CaptureFixture[str]
) -> None:
    s3.set(store="s3://not_there@bucket/xcom")
    with pytest.raises(airfreight.ConfigError, match=r"^\[airfreight\] store: The Airflow conn"):
        s3.push(b"value")
    s3.set(store="s3://bucket/xcom", read_also="s3://not_there@old/xcom")
    said = Said(capsys, "check")
    assert said.lines[2].startswith("store of read_also = s3://old/xcom through connection 'not_t")
    assert said.lines[3].startswith("error: [airfreight] read_also: The Airflow connection")


def test_an_account_that_is_told_403_is_warned_of(
    s3: Box, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del s3
    monkeypatch.setattr(runtime, "probe", lambda *_, **__: False)
    said = Said(capsys, "check")
    assert said.status == 0
    assert "warning: [airfreight] store: the store answers 403" in said.text
    assert "s3:ListBucket" in said.text


def test_a_bucket_that_is_not_there_names_store_and_line(
    s3: Box, policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    del s3
    path = policy(TABLES + '[stores.eu]\nuri = "s3://nowhere/eu"\n')
    said = Said(capsys, "check")
    assert said.status == 1
    assert f"error: {path}, line 7: [stores.eu] uri: " in said.text
    assert "nowhere" in said.lines[-1]
    assert "does not exist" in said.lines[-1]


def frames() -> Any:
    import pandas as pd

    return pd.DataFrame({"a": range(1000)})


def test_a_push_to_a_bucket_that_is_not_there_names_the_rule_that_sends_it_there(
    s3: Box, policy: Policy
) -> None:
    path = policy(TABLES + '[stores.eu]\nuri = "s3://nowhere/eu"\n')
    with pytest.raises(airfreight.InvalidError, match="does not exist") as raised:
        s3.push(frames())
    assert f"rule 'tables', line 1 of {path}, s3://nowhere/eu" in str(raised.value)
    assert raised.value.rule == f"rule 'tables', line 1 of {path}"
    s3.push(b"what no rule matches goes where it went")
    context = {"ti": SimpleNamespace(dag_id="d", run_id="r", task_id="t", map_index=-1)}
    with pytest.raises(airfreight.Error) as several:
        airfreight.put_many([b"x", frames()], context=context)
    assert f"rule 'tables', line 1 of {path}" in str(several.value)


def test_a_value_over_the_most_bytes_names_who_says_so_before_anything_is_sent(
    s3: Box, proxy: CountingProxy, policy: Policy
) -> None:
    path = policy(TABLES.replace('store = "eu"', 'max_size = 100\nmay_change = ["max_size"]'))
    proxy.clear()
    with pytest.raises(airfreight.TooLargeError) as raised:
        s3.push(frames())
    assert f"max_size of rule 'tables', line 4 of {path}, allows 100" in str(raised.value)
    assert str(raised.value).count("rule 'tables'") == 1
    assert not proxy.requests
    with pytest.raises(airfreight.TooLargeError, match=r"max_size of airfreight\.options"):
        s3.push(airfreight.options(frames(), max_size=50))
    assert not proxy.requests
    with pytest.raises(airfreight.InvalidError, match="a DAG may only lower it"):
        s3.push(airfreight.options(frames(), max_size="1GiB"))
    assert not proxy.requests


def test_the_rule_of_an_error_stays_when_it_is_pickled(s3: Box, policy: Policy) -> None:
    policy(TABLES + '[stores.eu]\nuri = "s3://nowhere/eu"\n')
    with pytest.raises(airfreight.InvalidError) as raised:
        s3.push(frames())
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_credentials_that_are_refused_are_an_error_without_them(
    s3: Box, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del s3
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "TOPSECRET")
    said = Said(capsys, "check")
    assert said.status == 1
    assert "error: [airfreight] store: " in said.text
    assert "TOPSECRET" not in said.text


# --- explain --------------------------------------------------------------------------------------


ASKED = ["explain", "--dag", "d", "--task", "t", "--type", "pandas.DataFrame"]
SIZES = TABLES.replace('store = "eu"', 'min_size = "1GiB"\nformat = "arrow"\nretention = "7d"')


def test_explain_tells_rule_line_and_where_each_setting_comes_from(
    policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    path = policy(SIZES)
    said = Said(capsys, *ASKED, "--size", "3GiB")
    assert said.status == 0
    assert said.lines[0] == f"rule 'tables', line 1 of {path}"
    assert f"format = arrow  (rule 'tables', line 5 of {path})" in said.lines
    assert "compression = snappy  ([airfreight] compression)" in said.lines
    assert Said(capsys, *ASKED, "--size", "1MiB").lines[0] == "no rule matches"
    assert Said(capsys, *ASKED).lines[0] == "no rule matches"  # A size that is not known.


def test_explain_as_json(policy: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    path = policy(SIZES)
    told = Said(capsys, *ASKED, "--size", "3GiB", "--json").json
    assert told["value"] == {
        "dag": "d",
        "task": "t",
        "key": "return_value",
        "type": "pandas.DataFrame",
        "size": 3 << 30,
    }
    assert told["rule"] == {"name": "tables", "line": 1, "source": path}
    assert told["settings"]["retention"] == {
        "value": 604800,
        "from": f"rule 'tables', line 6 of {path}",
    }
    assert told["settings"]["may_change"]["value"] == ["compression", "format", "retention"]
    told = Said(capsys, *ASKED, "--json").json
    assert told["rule"] is None
    assert told["settings"]["format"] == {"value": "parquet", "from": "[airfreight] format"}


def test_explain_without_a_policy_and_with_a_wrong_one(
    box: Box, policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Said(capsys, *ASKED).lines[0] == "no policy is set"
    policy("a = ")
    said = Said(capsys, *ASKED)
    assert said.status == 1
    assert said.text.startswith("error: ")
    said = Said(capsys, *ASKED, "--json")
    assert said.status == 1
    assert "it is not TOML" in said.json["error"]
    del box


@pytest.mark.parametrize("size", ["3", "3B", "3KiB", "3 GiB", "x", "-1", "3GB"])
def test_sizes_are_given_as_rules_have_them(
    box: Box, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del box
    right = size in ("3", "3B", "3KiB", "3 GiB", "3GB")
    if right:
        assert Said(capsys, *ASKED, f"--size={size}").status == 0
        return
    with pytest.raises(SystemExit):
        Said(capsys, *ASKED, f"--size={size}")
    assert "is no size" in capsys.readouterr().err


# --- The documentation ----------------------------------------------------------------------------


ROOT = Path(__file__).parents[2]
PAGES = ("docs/policy.md", "README.md")


@pytest.mark.parametrize(
    "text",
    [
        (ROOT / "examples" / "airfreight.toml").read_text(),
        *(
            block
            for page in PAGES
            for block in re.findall(r"^```toml\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)
        ),
    ],
)
def test_policies_that_are_shown_are_right(
    policy: Policy, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    policy(text)
    said = Said(capsys, "check", "--texts")
    assert said.status == 0, said.text
    assert "warning" not in said.text

"""`airfreight lifecycle`: what is printed, what is refused, and that servers take it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from tests.python import schemas
from tests.servers.minio import MinIO

from airfreight import config
from airfreight.admin import lifecycle
from airfreight.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.python.conftest import Box

RULES = """
[[rules]]
name = "sales"
dag = ["sales_*", "hr"]
retention = "36h"

[[rules]]
name = "all"
retention = "30d"
"""


class Printed:
    """What the command prints; the settings are those of a box."""

    def __init__(self, box: Box, capsys: pytest.CaptureFixture[str]) -> None:
        self.box = box
        self.capsys = capsys
        self.errors = ""

    def text(self, *arguments: str, status: int = 0, **settings: Any) -> str:
        self.box.set(**settings)
        config.forget()
        self.capsys.readouterr()
        assert main(["lifecycle", *arguments]) == status
        said = self.capsys.readouterr()
        self.errors = said.err
        return said.out

    def __call__(self, *arguments: str, **settings: Any) -> Any:
        return json.loads(self.text(*arguments, **settings))

    def refused(self, *arguments: str, **settings: Any) -> str:
        assert self.text(*arguments, status=1, **settings) == ""
        return self.errors


@pytest.fixture
def printed(box: Box, capsys: pytest.CaptureFixture[str]) -> Printed:
    return Printed(box, capsys)


def expiries(document: Any) -> dict[str, int]:
    """Days by prefix."""
    return {
        rule["Filter"]["Prefix"]: rule["Expiration"]["Days"]
        for rule in document["Rules"]
        if "Days" in rule.get("Expiration", {})
    }


# --- What goes, and what a rule of the bucket must not cut ----------------------------------------


def test_unfinished_uploads_and_old_versions_go_without_any_policy(printed: Printed) -> None:
    assert printed(store="s3://bucket/xcom") == {
        "Rules": [
            {
                "ID": "airfreight-clean-1",
                "Status": "Enabled",
                "Filter": {"Prefix": "xcom/"},
                "NoncurrentVersionExpiration": {"NoncurrentDays": 7},
                "Expiration": {"ExpiredObjectDeleteMarker": True},
                "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
            }
        ]
    }
    assert printed("--abort-after", "0", "--old-versions", "0") == {"Rules": []}
    (rule,) = printed("--abort-after", "2", "--old-versions", "0")["Rules"]
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 2}
    assert "NoncurrentVersionExpiration" not in rule


def test_a_retention_is_an_expiry_of_its_prefix_in_whole_days(printed: Printed) -> None:
    found = expiries(printed(store="s3://bucket/xcom", policy=RULES))
    assert found == {"xcom/sales_": 2, "xcom/hr/": 2, "xcom/": 30}


def test_prefixes_are_as_keys_are(printed: Printed) -> None:
    policy = '[[rules]]\ndag = ["a b/~c*", "x.y-z"]\nretention = "1d"\n'
    assert expiries(printed(store="s3://bucket", policy=policy)) == {"a%20b%2F%7Ec": 1, "x.y-z/": 1}


@pytest.mark.parametrize(
    ("matcher", "why"),
    [
        ('task = "x"', "it matches by task too"),
        ('type = "pandas.*"', "it matches by type too"),
        ('dag = "a*b"', "the pattern 'a*b' is no beginning of names"),
        ('dag = "a?"', "the pattern 'a?' is no beginning of names"),
        (f'dag = "{"x" * 170}*"', "is no beginning of names"),
    ],
)
def test_what_no_prefix_has_is_said_and_left_out(printed: Printed, matcher: str, why: str) -> None:
    policy = f'[[rules]]\nname = "one"\n{matcher}\nretention = "1d"\n'
    assert expiries(printed(store="s3://bucket/xcom", policy=policy)) == {}
    assert "note: rule 'one', line 4 of [airfreight] policy: no rule of the bucket" in (
        printed.errors
    )
    assert why in printed.errors


@pytest.mark.parametrize(
    "longer", ['retention = "forever"', 'retention = "8d"', 'format = "arrow"']
)
def test_no_expiry_cuts_what_an_earlier_rule_keeps_for_longer(
    printed: Printed, longer: str
) -> None:
    policy = (
        f'[[rules]]\nname = "long"\ndag = "sales_eu"\n{longer}\n'
        '[[rules]]\nname = "short"\ndag = "sales_*"\nretention = "7d"\n'
    )
    found = expiries(printed(store="s3://bucket/xcom", policy=policy))
    assert "xcom/sales_" not in found
    assert "rule 'long' comes before it" in printed.errors
    # One that it does not meet, or that keeps its values for less, is in nobody's way.
    for other in ('dag = "other"\n' + longer, 'dag = "sales_eu"\nretention = "1d"'):
        policy = (
            f'[[rules]]\n{other}\n[[rules]]\nname = "short"\ndag = "sales_*"\nretention = "7d"\n'
        )
        assert expiries(printed(policy=policy))["xcom/sales_"] == 7


def test_with_tags_there_is_a_rule_for_each_class(printed: Printed) -> None:
    made = printed(store="s3://bucket/xcom", s3_retention_tags="True", policy=RULES)
    tagged = [rule for rule in made["Rules"] if "And" in rule["Filter"]]
    assert [rule["Expiration"]["Days"] for rule in tagged] == list(lifecycle.CLASSES)
    for rule in tagged:
        days = rule["Expiration"]["Days"]
        tag = {"Key": "airfreight-retention", "Value": f"{days}d"}
        assert rule["Filter"] == {"And": {"Prefix": "xcom/", "Tags": [tag]}}
    assert len(made["Rules"]) == len(lifecycle.CLASSES) + 1
    assert expiries({"Rules": made["Rules"][-1:]}) == {}


def test_classes_are_those_that_objects_are_tagged_with() -> None:
    source = Path(__file__).parents[2] / "src" / "freight" / "retention.cc"
    declared = re.search(r"kClassDays = \{(.*?)\};", source.read_text(), re.S)
    assert declared is not None
    assert tuple(map(int, re.findall(r"\d+", declared[1]))) == lifecycle.CLASSES


def test_everything_may_go_unless_a_rule_keeps_something_for_longer(printed: Printed) -> None:
    found = expiries(printed("--everything-after", "60", store="s3://bucket/xcom"))
    assert found == {"xcom/": 60}
    said = printed.refused("--everything-after", "29", policy=RULES)
    assert "--everything-after 29 is shorter than rule 'all', line 8 of" in said
    assert "for 30 days" in said
    forever = '[[rules]]\nname = "kept"\ndag = "x"\nretention = "forever"\n'
    assert "for ever" in printed.refused("--everything-after", "9999", policy=forever)


@pytest.mark.parametrize("text", ["-1", "1.5", "x", "", "٣", str(2**31)])
def test_days_are_whole_numbers(printed: Printed, text: str) -> None:
    with pytest.raises(SystemExit):
        printed.text(f"--abort-after={text}", store="s3://bucket/xcom")
    assert "is no number of days" in printed.capsys.readouterr().err


# --- Several stores, and what is there already ----------------------------------------------------


def test_stores_of_one_bucket_have_one_list(printed: Printed) -> None:
    policy = RULES + '[[rules]]\ndag = "x"\nstore = "b"\nretention = "1d"\n'
    policy = policy.replace('name = "all"\n', 'name = "all"\ndag = "y*"\n')
    policy += '[stores.b]\nuri = "s3://bucket/b"\n[stores.c]\nuri = "s3://other/c"\n'
    said = printed.refused(store="s3://bucket/a", policy=policy)
    assert "s3://bucket, s3://other. Choose with --store default|b|c" in said
    policy = policy.replace("s3://other/c", "s3://bucket/b/inner")
    made = printed(policy=policy)
    assert expiries(made) == {"a/sales_": 2, "a/hr/": 2, "a/y": 30, "b/x/": 1}
    assert [rule["Filter"]["Prefix"] for rule in made["Rules"]][4:] == ["a/", "b/", "b/inner/"]
    assert "the prefix 'b/inner/' lies below 'b/'" in printed.errors
    # A list of rules replaces the bucket's: it has to be whole.
    assert printed("--store", "b") == made
    assert "there are default, b, c" in printed.refused("--store", "d")


def test_rules_that_are_there_are_kept_but_for_ours(printed: Printed, tmp_path: Path) -> None:
    there = {
        "Rules": [
            {"ID": "theirs", "Status": "Enabled", "Filter": {"Prefix": ""}},
            {"ID": "airfreight-expire-9", "Status": "Enabled", "Filter": {"Prefix": "old/"}},
        ]
    }
    file = tmp_path / "now.json"
    file.write_text(json.dumps(there))
    made = printed("--merge", str(file), store="s3://bucket/xcom")
    assert [rule["ID"] for rule in made["Rules"]] == ["theirs", "airfreight-clean-1"]
    again = tmp_path / "again.json"
    again.write_text(json.dumps(made))
    assert printed("--merge", str(again)) == made
    file.write_text("{")
    assert "--merge" in printed.refused("--merge", str(file))


@pytest.mark.parametrize(
    ("store", "most", "where"),
    [
        ("s3://bucket/xcom", 1000, "a bucket of S3 takes 1000"),
        ("az://container/xcom", 100, "an account of Azure takes 100"),
    ],
)
def test_more_rules_than_the_store_takes_are_refused(
    printed: Printed, store: str, most: int, where: str
) -> None:
    def policy(count: int) -> str:
        return "".join(
            f'[[rules]]\ndag = "d{number}"\nretention = "{number % 5000 + 1}d"\n'
            for number in range(count)
        )

    fits = most - 1  # One is there without any policy.
    printed(store=store, az_account="account", policy=policy(fits))
    said = printed.refused(policy=policy(fits + 1))
    assert f"that would be {most + 1} rules" in said
    assert f"{where} at most" in said


def test_the_rules_of_others_count_too(printed: Printed, tmp_path: Path) -> None:
    ours = len(printed(store="gs://bucket/xcom")["lifecycle"]["rule"])
    file = tmp_path / "now.json"

    def merged(theirs: int) -> tuple[str, ...]:
        rule = {"action": {"type": "Delete"}, "condition": {"age": 1}}
        each = [rule | {"condition": {"age": number}} for number in range(1000, 1000 + theirs)]
        file.write_text(json.dumps({"rule": each}))
        return "--merge", str(file)

    assert len(printed(*merged(100 - ours))["lifecycle"]["rule"]) == 100
    said = printed.refused(*merged(101 - ours))
    assert f"that would be 101 rules ({ours} of Airfreight's)" in said
    assert "a bucket of Google Cloud Storage takes 100 at most" in said


# --- Others ---------------------------------------------------------------------------------------


def test_rules_of_google_are_as_published_and_said_to_be_untried(printed: Printed) -> None:
    made = printed(store="gs://bucket/xcom", policy=RULES)
    jsonschema.validate(made, schemas.GOOGLE_LIFECYCLE)
    assert "not tried against Google Cloud" in printed.errors
    rules = made["lifecycle"]["rule"]
    conditions = [rule["condition"] for rule in rules]
    # One for all retentions: each object says itself when its time is over.
    assert {"daysSinceCustomTime": 0, "matchesPrefix": ["xcom/"]} in conditions
    assert [one["matchesPrefix"] for one in conditions if "age" in one] == [["xcom/~parts/"]]
    assert "no rule of the bucket is printed" not in printed.errors


def test_rules_of_azure_are_as_published_and_said_to_be_untried(printed: Printed) -> None:
    many = "".join(f'[[rules]]\ndag = "d{number}"\nretention = "1d"\n' for number in range(25))
    made = printed(store="az://container/xcom", az_account="account", policy=many + RULES)
    jsonschema.validate(made, schemas.AZURE_LIFECYCLE)
    assert "not tried against Azure" in printed.errors
    names = [rule["name"] for rule in made["rules"]]
    assert names[:3] == [
        "airfreight-expire-1d-1",
        "airfreight-expire-1d-2",
        "airfreight-expire-1d-3",
    ]
    filters = made["rules"][0]["definition"]["filters"]
    assert filters["prefixMatch"][0] == "container/xcom/d0/"


# --- Servers --------------------------------------------------------------------------------------


def as_xml(document: dict[str, Any]) -> bytes:
    """As the tools of AWS send it: API_PutBucketLifecycleConfiguration.html."""
    root = ET.Element("LifecycleConfiguration")

    def fill(parent: ET.Element, value: Any) -> None:
        for name, inner in value.items():
            for one in inner if isinstance(inner, list) else [inner]:
                child = ET.SubElement(parent, {"Rules": "Rule", "Tags": "Tag"}.get(name, name))
                if isinstance(one, dict):
                    fill(child, one)
                else:
                    child.text = str(one).lower() if isinstance(one, bool) else str(one)

    fill(root, document)
    return ET.tostring(root)


@pytest.fixture(scope="module")
def minio() -> Iterator[MinIO]:
    try:
        MinIO.find_binary()
    except FileNotFoundError as missing:
        pytest.fail(f"{missing}: the server that these tests need is made by ./dev setup")
    with MinIO(bucket="bucket") as running:
        yield running


@pytest.mark.parametrize("tags", ["True", "False"])
@pytest.mark.parametrize("prefix", ["xcom", ""])
def test_minio_takes_the_rules_and_has_them(
    printed: Printed, minio: MinIO, tags: str, prefix: str
) -> None:
    made = printed(
        "--everything-after",
        "400",
        store=f"s3://bucket/{prefix}",
        policy=RULES,
        s3_retention_tags=tags,
        s3_endpoint_url=minio.endpoint,
    )
    body = as_xml(made)
    checksum = base64.b64encode(hashlib.md5(body).digest()).decode()
    answer = minio.client.request(
        "PUT",
        "/bucket",
        query={"lifecycle": ""},
        headers={"content-md5": checksum},
        body=body,
    )
    assert answer.status == 200, answer.body
    answer = minio.client.request("GET", "/bucket", query={"lifecycle": ""})
    found = ET.fromstring(answer.body)
    names = [node.text for node in found.iter() if node.tag.endswith("ID")]
    assert sorted(map(str, names)) == sorted(rule["ID"] for rule in made["Rules"])

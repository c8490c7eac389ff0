"""`airfreight iam-policy`: what is printed for which settings. (tests/access has it enforced.)"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from tests.python import schemas

from airfreight import config
from airfreight.cli import main

if TYPE_CHECKING:
    from tests.python.conftest import Box

KEY = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
WORKER = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"]


class Printed:
    """What the command prints; the settings are those of a box."""

    def __init__(self, box: Box, capsys: pytest.CaptureFixture[str]) -> None:
        self.box = box
        self.capsys = capsys
        self.errors = ""

    def text(self, *arguments: str, status: int = 0, **settings: object) -> str:
        self.box.set(**settings)
        config.forget()
        self.capsys.readouterr()
        assert main(["iam-policy", *arguments]) == status
        said = self.capsys.readouterr()
        self.errors = said.err
        return said.out

    def __call__(self, *arguments: str, **settings: Any) -> Any:
        return json.loads(self.text(*arguments, **settings))

    def statements(self, *arguments: str, **settings: Any) -> dict[str, dict[str, Any]]:
        document = self(*arguments, **settings)
        assert document["Version"] == "2012-10-17"
        found = {one["Sid"]: one for one in document["Statement"]}
        assert len(found) == len(document["Statement"])
        return found


@pytest.fixture
def printed(box: Box, capsys: pytest.CaptureFixture[str]) -> Printed:
    return Printed(box, capsys)


# --- S3 -------------------------------------------------------------------------------------------


def test_a_worker_may_get_put_delete_and_abort_below_the_prefix(printed: Printed) -> None:
    found = printed.statements(store="s3://bucket/xcom")
    assert found == {
        "Objects": {
            "Sid": "Objects",
            "Effect": "Allow",
            "Action": WORKER,
            "Resource": ["arn:aws:s3:::bucket/xcom/*"],
        }
    }
    assert printed.errors == ""


def test_a_diagnosable_worker_may_list_below_the_prefix_too(printed: Printed) -> None:
    found = printed.statements("--mode", "diagnosable", store="s3://bucket/xcom")
    assert found["List"]["Action"] == ["s3:ListBucket"]
    assert found["List"]["Resource"] == ["arn:aws:s3:::bucket"]
    assert found["List"]["Condition"] == {"StringLike": {"s3:prefix": ["xcom/*"]}}
    found = printed.statements("--mode", "diagnosable", store="s3://bucket")
    assert "Condition" not in found["List"]
    assert found["Objects"]["Resource"] == ["arn:aws:s3:::bucket/*"]


def test_a_connection_is_not_looked_up(printed: Printed) -> None:
    found = printed.statements(store="s3://not_there@bucket/xcom")
    assert found["Objects"]["Resource"] == ["arn:aws:s3:::bucket/xcom/*"]


def test_tags_of_retention_are_written_only_where_they_are_set(printed: Printed) -> None:
    found = printed.statements(store="s3://bucket/xcom", s3_retention_tags="True")
    assert found["Objects"]["Action"] == sorted([*WORKER, "s3:PutObjectTagging"])
    found = printed.statements("--role", "sweep", store="s3://bucket/xcom")
    assert "s3:PutObjectTagging" not in found["Objects"]["Action"]


def test_where_nothing_is_written_is_only_read_from(printed: Printed) -> None:
    policy = """
        [stores.eu]
        uri = "s3://eu-bucket/xcom"
        [stores.idle]
        uri = "s3://idle/xcom"
        [[rules]]
        dag = "hr_*"
        store = "eu"
    """
    found = printed.statements(store="s3://bucket/xcom", read_also="s3://old/xcom", policy=policy)
    assert found["Objects1"]["Action"] == WORKER
    assert found["Objects1"]["Resource"] == [
        "arn:aws:s3:::bucket/xcom/*",
        "arn:aws:s3:::eu-bucket/xcom/*",
    ]
    assert found["Objects2"]["Action"] == ["s3:GetObject"]
    assert found["Objects2"]["Resource"] == ["arn:aws:s3:::idle/xcom/*", "arn:aws:s3:::old/xcom/*"]


@pytest.mark.parametrize("sse", ["aws:kms", "aws:kms:dsse"])
def test_with_sse_kms_a_worker_may_use_the_key_through_s3_alone(printed: Printed, sse: str) -> None:
    found = printed.statements(store="s3://bucket/xcom", s3_sse=sse, s3_sse_kms_key_id=KEY)
    assert found["Keys"]["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
    assert found["Keys"]["Resource"] == [KEY]
    service = {"kms:ViaService": "s3.*.amazonaws.com"}
    assert found["Keys"]["Condition"] == {"StringLike": service}
    found = printed.statements("--role", "sweep")
    assert found["Keys"]["Action"] == ["kms:Decrypt"]


@pytest.mark.parametrize(
    ("key", "resource", "alias"),
    [
        ("alias/xcom", "arn:aws:kms:eu-central-1:*:key/*", "alias/xcom"),
        (KEY.partition("key/")[0] + "alias/x", KEY.partition("key/")[0] + "key/*", "alias/x"),
        ("1234abcd", "arn:aws:kms:eu-central-1:*:key/1234abcd", ""),
    ],
)
def test_a_key_is_named_as_iam_names_it(
    printed: Printed, key: str, resource: str, alias: str
) -> None:
    found = printed.statements(
        store="s3://bucket/xcom",
        s3_sse="aws:kms",
        s3_sse_kms_key_id=key,
        s3_region="eu-central-1",
    )
    assert found["Keys"]["Resource"] == [resource]
    condition = found["Keys"]["Condition"]
    assert condition["StringLike"] == {"kms:ViaService": "s3.eu-central-1.amazonaws.com"}
    said = condition.get("ForAnyValue:StringEquals", {"kms:ResourceAliases": ""})
    assert said == {"kms:ResourceAliases": alias}


def test_keys_of_rules_belong_to_the_store_of_the_rule(printed: Printed) -> None:
    policy = f"""
        [[rules]]
        dag = "hr_*"
        encryption_key = "{KEY}"
    """
    found = printed.statements(store="s3://bucket/xcom", policy=policy)
    assert found["Keys"]["Resource"] == [KEY]


def test_the_accounts_own_key_and_a_server_with_its_own_get_no_statement(printed: Printed) -> None:
    assert "Keys" not in printed.statements(store="s3://bucket/xcom", s3_sse="aws:kms")
    assert "aws/s3" in printed.errors
    found = printed.statements(
        s3_sse_kms_key_id="minio-key", s3_endpoint_url="https://minio.example.com:9000"
    )
    assert "Keys" not in found
    assert "note: store default: the server at https://minio.example.com:9000" in printed.errors


def test_a_key_that_objects_are_sealed_under_is_asked_for_by_the_process_itself(
    printed: Printed,
) -> None:
    keys = f"s1:aws-kms:{KEY} s2:aws-kms:alias/old"
    found = printed.statements(store="s3://bucket/xcom", seal_keys=keys)
    assert found["Seal"]["Action"] == ["kms:Decrypt", "kms:Encrypt"]
    assert found["Seal"]["Resource"] == [KEY]
    assert "Condition" not in found["Seal"]
    aliases = {"kms:ResourceAliases": "alias/old"}
    assert found["Seal2"]["Condition"] == {"ForAnyValue:StringEquals": aliases}
    assert printed.statements("--role", "sweep")["Seal"]["Action"] == ["kms:Decrypt"]
    secret = "s3:" + "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="
    assert "Seal" not in printed.statements(seal_keys=secret)
    printed.text(status=1, seal_keys=None, seal_keys_cmd="false")
    assert "AIRFLOW__AIRFREIGHT__SEAL_KEYS_CMD failed" in printed.errors


def test_what_is_a_pattern_to_iam_is_escaped(printed: Printed) -> None:
    found = printed.statements("--mode", "diagnosable", store="s3://bucket/a*$b")
    assert found["Objects"]["Resource"] == ["arn:aws:s3:::bucket/a${*}${$}b/*"]
    assert found["List"]["Condition"] == {"StringLike": {"s3:prefix": ["a${*}${$}b/*"]}}


@pytest.mark.parametrize(
    ("region", "partition"), [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")]
)
def test_the_partition_follows_from_the_region(
    printed: Printed, region: str, partition: str
) -> None:
    found = printed.statements(store="s3://bucket/xcom", s3_region=region)
    assert found["Objects"]["Resource"] == [f"arn:{partition}:s3:::bucket/xcom/*"]


def test_each_role_has_what_it_does(printed: Printed) -> None:
    sweep = printed.statements("--role", "sweep", store="s3://bucket/xcom")
    assert sweep["Objects"]["Action"] == [one for one in WORKER if one != "s3:PutObject"]
    assert sweep["Bucket"]["Action"] == ["s3:ListBucketMultipartUploads"]
    erase = printed.statements("--role", "erase")
    assert erase["List"]["Action"] == ["s3:ListBucket", "s3:ListBucketVersions"]
    assert "s3:DeleteObjectVersion" in erase["Objects"]["Action"]
    doctor = printed.statements("--role", "doctor")
    assert "s3:GetBucketLogging" in doctor["Bucket"]["Action"]


def test_a_policy_that_is_longer_than_iam_takes_is_said_to_be(printed: Printed) -> None:
    stores = "".join(
        f'[stores.s{number}]\nuri = "s3://a-bucket-with-a-long-name-{number}/xcom"\n'
        for number in range(120)
    )
    printed.statements(store="s3://bucket/xcom", policy=stores)
    assert "at most 6144" in printed.errors


# --- Others ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["worker", "sweep", "erase", "doctor"])
@pytest.mark.parametrize("mode", ["strict", "diagnosable"])
def test_documents_for_google_and_azure_are_as_published_and_said_to_be_untried(
    printed: Printed, role: str, mode: str
) -> None:
    asked = ("--role", role, "--mode", mode)
    made = printed(*asked, store="gs://bucket/xcom", gs_user_project="payer", gs_kms_key_name=None)
    jsonschema.validate(made, schemas.GOOGLE_ROLE)
    assert "not tried against Google Cloud" in printed.errors
    assert "serviceusage.services.use" in printed.errors
    made = printed(*asked, store="az://container/xcom", az_account="account")
    jsonschema.validate(made, schemas.AZURE_ROLE)
    assert "not tried against Azure" in printed.errors


def test_a_role_of_google_holds_for_what_lies_below_the_prefix(printed: Printed) -> None:
    made = printed(store="gs://bucket/xcom")
    assert made["role"]["includedPermissions"] == [
        "storage.objects.create",
        "storage.objects.delete",
        "storage.objects.get",
    ]
    (binding,) = made["buckets"]["bucket"]["bindings"]
    objects = 'resource.name.startsWith("projects/_/buckets/bucket/objects/xcom/")'
    assert binding["condition"]["expression"] == objects
    made = printed("--mode", "diagnosable")
    (binding,) = made["buckets"]["bucket"]["bindings"]
    assert "storage.objects.list" in made["role"]["includedPermissions"]
    assert binding["condition"]["expression"] == (
        f'{objects} || api.getAttribute("storage.googleapis.com/objectListPrefix", "")'
        '.startsWith("xcom/")'
    )


def test_a_role_of_azure_lists_only_where_it_is_to(printed: Printed) -> None:
    (strict,) = printed(store="az://container/xcom", az_account="account")["assignments"]
    assert strict["scope"].endswith(
        "/storageAccounts/account/blobServices/default/containers/container"
    )
    assert "blobs:path] StringStartsWith 'xcom/'" in strict["condition"]
    assert "blobs:prefix]" not in strict["condition"]
    assert "SubOperationMatches{'Blob.List'}" in strict["condition"]
    (loose,) = printed("--mode", "diagnosable")["assignments"]
    assert "blobs:prefix] StringStartsWith 'xcom/'" in loose["condition"]
    for one in (strict, loose):
        assert one["condition"].count("(") == one["condition"].count(")")


def test_on_azure_who_ends_uploads_writes(printed: Printed) -> None:
    def may_write(role: str) -> bool:
        made = printed("--role", role, store="az://container/xcom", az_account="account")
        return any(name.endswith("/blobs/write") for name in made["role"]["DataActions"])

    assert may_write("worker")
    assert may_write("erase")


def test_stores_of_several_clouds_are_asked_for_one_by_one(printed: Printed) -> None:
    policy = '[stores.g]\nuri = "gs://bucket/xcom"\n'
    assert printed.text(status=1, store="s3://bucket/xcom", policy=policy) == ""
    assert "choose with --cloud s3|gs" in printed.errors
    assert "Statement" in printed("--cloud", "s3")
    assert "buckets" in printed("--cloud", "gs")
    printed.text("--cloud", "az", status=1)
    assert "no store of the settings is of az://" in printed.errors


def test_a_directory_needs_no_policy_and_a_wrong_setting_is_an_error(printed: Printed) -> None:
    printed.text(status=1)
    assert "no store of the settings is in a bucket or a container (file)" in printed.errors
    printed.text(status=1, store="s4://x")
    assert "AIRFLOW__AIRFREIGHT__STORE" in printed.errors

"""The same DAGs with an S3 server that checks signatures, and what is left when it is gone."""

from __future__ import annotations

import pathlib
import urllib.parse
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tests.airflow.conftest import BACKEND, DAGS, RUN_ID, VALUE_FACTS, DirectoryStore, Runs
from tests.airflow.harness import Airflow
from tests.servers.counting_proxy import CountingProxy
from tests.servers.versitygw import VersityGW

pytestmark = [pytest.mark.airflow, pytest.mark.s3, pytest.mark.releases("3.3.2")]


# By task, of one DAG: the others are as they would be without it.
POLICY = """
[stores.vault]
uri = "s3://freight/vault"
retention_tags = true

[[rules]]
name = "secrets"
dag = "routed"
task = "secret_*"
store = "vault"
digest = "sha256"
retention = "6d"
"""


class OnS3(NamedTuple):
    """An Airflow whose store is a bucket of an S3 server, which keeps its objects as files."""

    airflow: Airflow
    server: VersityGW
    proxy: CountingProxy
    store: DirectoryStore
    runs: Runs


@pytest.fixture(scope="module")
def on_s3(version: str, scratch: pathlib.Path, given_env: dict[str, str]) -> Iterator[OnS3]:
    facts = scratch / "s3-facts"
    with VersityGW(bucket="freight") as server, CountingProxy(server.endpoint) as proxy:
        env = {
            **BACKEND,
            **server.environment(),
            "AWS_ENDPOINT_URL_S3": proxy.url,
            "AIRFLOW__AIRFREIGHT__POLICY": POLICY,
            "AIRFLOW__AIRFREIGHT__STORE": "s3://freight/xcom",
            "AIRFLOW_TEST_CONNECTED_STORE": "s3://warehouse@freight/xcom",
            "AIRFLOW_TEST_FACTS": str(facts),
            **given_env,
        }
        store = DirectoryStore(server.directory / "freight" / "xcom", "s3://freight/xcom")
        with Airflow(version, DAGS, env, name=f"{version}-s3") as airflow:
            connection = {
                "connection_id": "warehouse",
                "conn_type": "aws",
                "login": server.access_key,
                "password": server.secret_key,
                "extra": f'{{"endpoint_url": "{server.endpoint}", "region_name": "us-east-1"}}',
            }
            airflow.rest("POST", "/api/v2/connections", connection)
            runs = Runs(airflow, facts)
            for dag_id in ("values", "retried", "changed", "connected", "routed"):
                runs.trigger(dag_id)
            yield OnS3(airflow, server, proxy, store, runs)


@pytest.mark.parametrize("fact", VALUE_FACTS)
def test_what_a_task_pushed_is_what_another_gets(on_s3: OnS3, fact: str) -> None:
    assert on_s3.runs.trigger("values").holds(fact)


def test_a_reference_names_its_object_in_the_bucket(on_s3: OnS3) -> None:
    reference = on_s3.runs.trigger("values").row("produce").value
    assert reference["_xcom_backend"] == "s3"
    assert reference["_xcom_type"] == "pandas.DataFrame"
    run = urllib.parse.quote(RUN_ID, safe="")
    path = f"values/{run}/produce/map_-1/return_value.parquet"
    assert reference["uri"] == f"s3://freight/xcom/{path}"
    assert reference["size_bytes"] == on_s3.store.path(reference["uri"]).stat().st_size


def test_the_bucket_holds_one_object_for_each_large_value(on_s3: OnS3) -> None:
    on_s3.runs.trigger("values").wait()
    assert on_s3.store.objects("values", RUN_ID) == [
        "cut/map_-1/return_value.json",
        *(f"measure/map_{index}/return_value.npy" for index in range(3)),
        "outputs/map_-1/big.json",
        "outputs/map_-1/return_value.zip",
        "outputs/map_-1/table.parquet",
        "produce/map_-1/array.npy",
        "produce/map_-1/blob.bin",
        "produce/map_-1/large.json",
        "produce/map_-1/return_value.parquet",
    ]


def test_a_retry_leaves_one_object_for_each_key(on_s3: OnS3) -> None:
    run = on_s3.runs.trigger("retried")
    assert run.holds("second_attempt_is_what_is_read")
    assert run.holds("an_object_without_a_row_is_replaced")
    assert on_s3.store.objects("retried", RUN_ID, "flaky") == [
        "map_-1/part.parquet",
        "map_-1/return_value.npy",
        "map_-1/rowless.parquet",
    ]


def test_clear_and_rerun_with_a_small_dict_leaves_no_object(on_s3: OnS3) -> None:
    run = on_s3.runs.trigger("changed")
    assert run.wait() == "success", run.story()
    assert on_s3.store.objects("changed", RUN_ID) == ["change/map_-1/return_value.parquet"]
    on_s3.airflow.clear("changed", RUN_ID, ["change"])
    assert run.wait() == "success", run.story()
    assert run.row("change").value == {"attempt": 2}
    assert on_s3.store.objects("changed", RUN_ID) == []


def test_credentials_come_from_an_airflow_connection(on_s3: OnS3) -> None:
    run = on_s3.runs.trigger("connected")
    assert run.holds("frame_through_a_connection")
    assert run.row("write").value["uri"].startswith("s3://freight/xcom/connected/")
    assert on_s3.server.secret_key not in run.log("write") + run.log("read")
    assert on_s3.store.objects("connected", RUN_ID) == ["write/map_-1/return_value.parquet"]


def test_values_go_to_the_store_of_their_rule_and_come_back_from_it(on_s3: OnS3) -> None:
    run = on_s3.runs.trigger("routed")
    assert run.holds("frames_of_two_stores")
    plain, secret = (run.row(task).value for task in ("plain", "secret_salaries"))
    assert (plain["store"], secret["store"]) == ("default", "vault")
    assert plain["uri"].startswith("s3://freight/xcom/routed/")
    assert secret["uri"].startswith("s3://freight/vault/routed/")
    assert plain["digest"].startswith("crc32c:")
    assert secret["digest"].startswith("sha256:")
    assert "expires" not in plain
    assert secret["expires"] > secret["written"]


def test_a_rule_adds_no_request(on_s3: OnS3) -> None:
    on_s3.runs.trigger("routed").wait()
    asked = [one for one in on_s3.proxy.requests if "/routed/" in one.path]
    by_store = {
        store: [one.method for one in asked if one.path.startswith(f"/freight/{store}/")]
        for store in ("xcom", "vault")
    }
    assert by_store == {"xcom": ["PUT", "GET"], "vault": ["PUT", "GET"]}
    assert len(asked) == 4
    tags = [one.headers.get("x-amz-tagging") for one in asked if one.method == "PUT"]
    assert sorted(filter(None, tags)) == ["airfreight-retention=7d"]


def test_the_rest_entry_is_the_readable_reference_when_the_server_is_gone(on_s3: OnS3) -> None:
    for dag_id in ("values", "retried", "changed", "connected", "routed"):
        on_s3.runs.trigger(dag_id).wait()
    on_s3.server.stop()  # The last test of this module: nothing needs it any more.
    run_id = urllib.parse.quote(RUN_ID, safe="")
    path = f"/api/v2/dags/values/dagRuns/{run_id}/taskInstances/produce/xcomEntries/return_value"
    entry = on_s3.airflow.rest("GET", f"{path}?deserialize=true&stringify=false")
    assert entry["value"]["_xcom_type"] == "pandas.DataFrame"
    assert entry["value"]["rows"] == 3
    assert entry["value"]["uri"].startswith("s3://freight/xcom/values/")

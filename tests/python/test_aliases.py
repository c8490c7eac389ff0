"""Aliases: a bucket that was copied keeps the references of the old one alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.python.test_stores import configure, connect, pull
from tests.servers.versitygw import VersityGW

import airfreight
from airfreight import exchange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.python.conftest import Box

OLD, NEW = "s3://a@old/xcom", "s3://b@new/moved/xcom"
ALIAS = ("s3://old/xcom", "s3://new/moved/xcom")


@pytest.fixture(scope="module")
def old() -> Iterator[VersityGW]:
    """The server that was."""
    with VersityGW(bucket="old") as running:
        yield running


@pytest.fixture(scope="module")
def new() -> Iterator[VersityGW]:
    """The server that is."""
    with VersityGW(bucket="new") as running:
        yield running


@pytest.fixture
def copied(
    box: Box, old: VersityGW, new: VersityGW, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """A row of the old server, whose objects have been copied, as tools for that do."""
    connect(monkeypatch, "a", old)
    connect(monkeypatch, "b", new)
    box.set(store=OLD)
    row = box.fields(box.push(pd.DataFrame({"a": range(10)})))
    key = row["uri"].removeprefix("s3://old/xcom/")
    source, target = old.client, new.client
    got = source.request("GET", f"/old/xcom/{key}")
    headers = {
        name: value for name, value in got.headers.items() if name.lower().startswith("x-amz-meta-")
    }
    assert headers
    put = target.request("PUT", f"/new/moved/xcom/{key}", body=got.body, headers=headers)
    assert put.status == 200
    box.set(store=NEW)
    return {**row, "etag": '"of the old place"'}


def test_a_copied_bucket_is_read_through_an_alias(
    box: Box, copied: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(airfreight.OutOfScopeError, match=r"only objects below s3://new/moved/xcom"):
        pull(box, copied)
    configure(monkeypatch, {}, [ALIAS])
    assert list(pull(box, copied)["a"]) == list(range(10))
    # In parts as well.
    assert list(airfreight.get(copied, columns=["a"])["a"]) == list(range(10))


def test_an_alias_of_the_whole_bucket_serves_too(
    box: Box, copied: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, {}, [("s3://old", "s3://new/moved")])
    assert len(pull(box, copied)) == 10


def test_what_lies_behind_an_alias_is_not_removed(
    box: Box,
    copied: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    configure(monkeypatch, {}, [ALIAS])
    exchange.purge(copied)
    assert len(pull(box, copied)) == 10
    # (Airflow 2 tells of each connection that it looks up.)
    assert not [record for record in caplog.records if "airfreight" in record.name]


def test_a_rerun_replaces_the_copy(
    box: Box, copied: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, {}, [ALIAS])
    row = box.fields(box.push(pd.DataFrame({"a": [1]})))
    assert row["uri"].startswith("s3://new/moved/xcom/")
    assert len(pull(box, row)) == 1
    with pytest.raises(airfreight.ReplacedError, match=r"an alias of s3://old/xcom"):
        pull(box, copied)


def test_a_copy_that_is_not_the_object_is_damage(
    box: Box, copied: dict[str, Any], new: VersityGW, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, {}, [ALIAS])
    key = copied["uri"].removeprefix("s3://old/xcom/")
    new.client.request("PUT", f"/new/moved/xcom/{key}", body=b"x")
    with pytest.raises(airfreight.CorruptError):
        pull(box, copied)


def test_a_directory_that_went_to_a_bucket_keeps_its_references(
    box: Box, new: VersityGW, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, "b", new)
    row = box.fields(box.push(b"from disk"))
    key = row["uri"].removeprefix(f"file://{box.root}/")
    new.client.request("PUT", f"/new/moved/xcom/{key}", body=b"from disk")
    box.set(store=NEW)
    configure(monkeypatch, {}, [(f"file://{box.root}", "s3://new/moved/xcom")])
    assert pull(box, row) == b"from disk"

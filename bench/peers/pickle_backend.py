"""Pickle over boto3, the least code that moves any value, as a peer to measure against (Airflow 3).

Not part of the product: whoever may write to its bucket runs code in every task.
"""

from __future__ import annotations

import functools
import json
import pickle
from typing import Any

import boto3
from airflow.sdk.bases.xcom import BaseXCom

BUCKET = "bench"


@functools.cache
def _client() -> Any:
    return boto3.client("s3")


class PickleBackend(BaseXCom):
    """Each value is one object."""

    @staticmethod
    def serialize_value(value, *, key=None, task_id=None, dag_id=None, run_id=None, map_index=None):
        run = run_id.replace(":", "_").replace("+", "_")
        name = f"pickle/{dag_id}/{run}/{task_id}/{map_index}/{key}.pickle"
        _client().put_object(Bucket=BUCKET, Key=name, Body=pickle.dumps(value, protocol=5))
        return json.dumps({"_xcom_backend": "s3", "uri": f"s3://{BUCKET}/{name}"})

    @staticmethod
    def deserialize_value(result):
        bucket, name = json.loads(result.value)["uri"].removeprefix("s3://").split("/", 1)
        return pickle.loads(_client().get_object(Bucket=bucket, Key=name)["Body"].read())

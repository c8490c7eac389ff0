"""The backends under measurement: what each is called, how it is told where to put values."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
from typing import Any

from bench.peers import official

BUCKET = "bench"
CONNECTION = "bench_s3"


@dataclasses.dataclass(frozen=True)
class Server:
    """The S3 server that all share.

    Attributes:
        endpoint: `http://host:port`.
        access: Access key id.
        secret: Secret key.
    """

    endpoint: str
    access: str
    secret: str


@dataclasses.dataclass(frozen=True)
class Backend:
    """One XCom backend.

    Attributes:
        name: Short name, as the tables have it.
        module: Where its class is imported from.
        attribute: The class's name there.
        settings: Of Airfreight, by their names in its section.
    """

    name: str
    module: str
    attribute: str
    settings: tuple[tuple[str, str], ...] = ()

    def load(self) -> Any:
        """Import the class, as Airflow does."""
        return getattr(importlib.import_module(self.module), self.attribute)

    def environment(self, server: Server, *, connection: bool = False) -> dict[str, str]:
        """Everything that a process needs to use this backend, and nothing of the caller's own.

        With `connection`, keys and endpoint come only from an Airflow connection, where the
        backend knows connections: the tutorial's asks boto3 whatever happens.
        """
        values = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AWS_", "AIRFLOW", "AIRFREIGHT", "PYTHON"))
        }
        values |= {
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            # No attempt to find keys on a cloud machine's metadata address.
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        ours = self.module == "airfreight"
        by_connection = connection and (ours or self.name == "official")
        if by_connection:
            values[f"AIRFLOW_CONN_{CONNECTION.upper()}"] = json.dumps(
                {
                    "conn_type": "aws",
                    "login": server.access,
                    "password": server.secret,
                    "extra": {"endpoint_url": server.endpoint, "region_name": "us-east-1"},
                }
            )
        else:
            values |= {
                "AWS_ACCESS_KEY_ID": server.access,
                "AWS_SECRET_ACCESS_KEY": server.secret,
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_REGION": "us-east-1",
                "AWS_ENDPOINT_URL_S3": server.endpoint,
            }
        if ours:
            for setting, text in self.settings:
                values[f"AIRFLOW__AIRFREIGHT__{setting.upper()}"] = text
            authority = f"{CONNECTION}@{BUCKET}" if by_connection else BUCKET
            values["AIRFLOW__AIRFREIGHT__STORE"] = f"s3://{authority}/airfreight"
        elif self.name == "official":
            values |= official.environment(BUCKET, CONNECTION if by_connection else None)
        return values

    def offloaded(self, row: Any) -> bool:
        """Whether a row refers to an object, rather than holding the value."""
        if self.name == "official":
            return official.offloaded(row)
        fields = json.loads(row) if isinstance(row, str) else row
        return isinstance(fields, dict) and fields.get("_xcom_backend") == "s3"


OURS = Backend("airfreight", "airfreight", "XComBackend")
ARROW = dataclasses.replace(OURS, name="airfreight arrow", settings=(("format", "arrow"),))
BOTO3 = Backend("boto3", "bench.peers.tutorial_backend", "TutorialBackend")
OFFICIAL = Backend("official", official.MODULE, official.CLASS)
PICKLE = Backend("pickle", "bench.peers.pickle_backend", "PickleBackend")
DEFAULT = Backend("default", "airflow.sdk.bases.xcom", "BaseXCom")
FLOOR = Backend("floor", "", "")
PEERS = (BOTO3, OFFICIAL)
ALL = {backend.name: backend for backend in (OURS, ARROW, BOTO3, OFFICIAL, PICKLE, DEFAULT, FLOOR)}

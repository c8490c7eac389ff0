"""A deployment that is attacked: rows, the objects that they lead to, and what must stay apart."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import airfreight
from airfreight import config, exchange, runtime
from tests import leaks
from tests.attacks.recording import RecordingS3, Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Self

PREFIX = "AIRFLOW__AIRFREIGHT__"
#: The key that signs; one that was taken out of the setting; one of a stranger.
KEY = leaks.key("k2")
OLD_KEY = leaks.key("k1")
STRANGERS_KEY = leaks.key("k3").replace("k3:", "k2:")

#: The row that is attacked, and what is in all that its reader must not see.
ROW = exchange.Address("sales", "r1", "extract", "return_value", map_index=-1)
VALUE = {"rows": ["the value that the task has returned"] * 3}
CANARY = "canary of somebody else"
#: Below this, and nowhere else, lies what the row may lead to.
SCOPE = "bucket/xcom/sales/r1/extract/map_-1/return_value."

#: Rows of others, and of the same DAG.
OTHERS = {
    "another dag": ROW._replace(dag="finance"),
    "another run": ROW._replace(run="r2"),
    "another task": ROW._replace(task="load"),
    "another instance": ROW._replace(map_index=3),
    "another key": ROW._replace(key="secret"),
}
#: Objects that no row leads to.
STRAY = (
    "bucket/credentials.json",
    "bucket/xcom/credentials.json",
    "bucket/xcom-of-another-deployment/sales/r1/extract/map_-1/return_value.json",
    "other-bucket/xcom/sales/r1/extract/map_-1/return_value.json",
    "bucket/sales/r1/extract/map_-1/return_value.json",
)


class Outcome(NamedTuple):
    """What an attempt came to.

    Attributes:
        code: of the error; "" when there was a value.
        value: None when there was an error.
        message: of the error.
    """

    code: str
    value: Any
    message: str


class World:
    """One store behind a server that writes down what it is asked for.

    Attributes:
        server: the store's.
        row: the fields of the reference in the row that is attacked.
        old: the same of an earlier write, which was replaced.
        others: the same of others, by the names in OTHERS; "put": of an object of airfreight.put.
    """

    def __init__(self, keys: str | None) -> None:
        self.keys = keys
        self.server = RecordingS3()
        self._before = dict(os.environ)

    def __enter__(self) -> Self:
        self.server.__enter__()
        os.environ.update(
            AWS_ACCESS_KEY_ID="AKIAEXAMPLE",
            AWS_SECRET_ACCESS_KEY="of-a-server-that-checks-nothing",
        )
        self.set(
            store="s3://bucket/xcom",
            s3_endpoint_url=self.server.url,
            s3_region="us-east-1",
            threshold="0",
            timeout="1",
            signing_keys=self.keys,
        )
        self.old = self.push({"rows": "of an earlier attempt"}, ROW)
        self.row = self.push(VALUE, ROW)
        self.others = {name: self.push([CANARY], where) for name, where in OTHERS.items()}
        mine = runtime.coordinate("sales", "r1", "extract", "", put_name="features")
        text = exchange.store([CANARY], mine, ROW._replace(key=None))
        self.others["put"] = json.loads(text)
        for name in STRAY:
            self.server.objects[name] = Stored(json.dumps([CANARY]).encode(), {})
        self._objects = dict(self.server.objects)
        return self

    def __exit__(self, *error: object) -> None:
        os.environ.clear()
        os.environ.update(self._before)
        config.forget()
        runtime.forget()
        self.server.__exit__(*error)

    def set(self, **settings: str | None) -> None:
        for name, text in settings.items():
            variable = PREFIX + name.upper()
            if text is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = text
        config.forget()
        runtime.forget()

    def push(self, value: Any, where: exchange.Address) -> dict[str, Any]:
        stored = exchange.pack(value, where)
        fields: dict[str, Any] = json.loads(stored) if exchange.ROWS_ARE_BYTES else stored
        return fields

    def signed_with(self, keys: str, value: Any = VALUE) -> dict[str, Any]:
        """What a holder of other keys would write into the row; nothing of it stays in the store.

        The object's bytes and write id are those of a push of his own.
        """
        objects = dict(self.server.objects)
        self.set(signing_keys=keys)
        made = self.push(value, ROW)
        self.set(signing_keys=self.keys)
        self.server.objects = objects
        return made

    def pull(self, stored: Any, asked: exchange.Address | None = ROW) -> Outcome:
        """Pulls what a row holds, as Airflow has it pulled."""
        return _outcome(lambda: exchange.unpack(stored, asked=asked))

    def read(self, way: Callable[[Any], Any], stored: Any) -> Outcome:
        """Reads what a row leads to in some other way, and looks at what was asked for."""
        self.server.requests.clear()
        outcome = _outcome(lambda: way(stored))
        self._look(outcome)
        return outcome

    def attack(self, stored: Any, asked: exchange.Address = ROW) -> tuple[Outcome, Sequence[Any]]:
        """Pulls what a row holds and then removes it, as a rerun does.

        Returns:
            what the pull came to, and the requests of both.
        """
        self.server.requests.clear()
        outcome = self.pull(stored, asked)
        exchange.purge(stored, asked)
        requests = tuple(self.server.requests)
        gone = self._objects.keys() - self.server.objects.keys()
        self.server.objects = dict(self._objects)
        assert all(name.startswith(SCOPE) for name in gone), f"removed {gone}"
        self._look(outcome)
        return outcome, requests

    def _look(self, outcome: Outcome) -> None:
        """Asserts that nothing was asked for outside of the row's scope, and nothing told of it."""
        asked = self.server.requests
        outside = [request for request in asked if not request.path.startswith(SCOPE)]
        assert not outside, f"asked for {outside}"
        assert CANARY not in repr(outcome.value)
        # No message tells what somebody else's object holds, nor a key or a signature.
        assert CANARY not in outcome.message
        assert KEY.partition(":")[2] not in outcome.message
        if "sig" in self.row:
            assert self.row["sig"].partition(":")[2] not in outcome.message


def _outcome(read: Callable[[], Any]) -> Outcome:
    try:
        return Outcome("", read(), "")
    except airfreight.Error as error:
        return Outcome(error.code, None, str(error))


def as_row(fields: Any) -> Any:
    """What the database gives of JSON that somebody has written into it."""
    return json.dumps(fields).encode() if exchange.ROWS_ARE_BYTES else fields

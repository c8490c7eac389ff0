"""moto with IAM authentication on: users who may not do everything.

    with MotoServer(bucket="b") as server:
        reader = server.user("reader", allow=["s3:GetObject"])
        ...  # reader.access_key, reader.secret_key

The other servers know one user, who may do everything, so denials are looked for here. What moto
holds is in its memory and gone at the end.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.servers.process import REPOSITORY
from tests.servers.server import Server
from tests.servers.sigv4 import S3Client

if TYPE_CHECKING:
    from collections.abc import Sequence

# While authentication is off moto only looks at the service that a request was signed for.
_AS_IAM = "AWS4-HMAC-SHA256 Credential=setup/20260101/us-east-1/iam/aws4_request, Signature=0"


@dataclasses.dataclass(frozen=True)
class User:
    """A user's key."""

    access_key: str
    secret_key: str = dataclasses.field(repr=False)


def find_python() -> Path:
    """The interpreter that has moto: `AIRFREIGHT_MOTO_PYTHON`, else that of developers' tools.

    Raises:
        FileNotFoundError: it has no moto; the message says how to get it.
    """
    named = os.environ.get("AIRFREIGHT_MOTO_PYTHON")
    tools = REPOSITORY / "build" / "venvs" / "tools" / "bin" / "python"
    python = Path(named) if named else tools
    if not any((python.parent.parent / "lib").glob("python3*/site-packages/moto")):
        raise FileNotFoundError(
            f"{python} has no moto, the S3 server of the tests on denials: run `./dev setup`, or "
            "set AIRFREIGHT_MOTO_PYTHON to a python with what tools/requirements.txt names"
        )
    return python


class MotoServer(Server):
    """moto, with users who may not do everything.

    Attributes:
        endpoint: base URL, path style.
        bucket: the bucket that is there from the start.
        root: a user who may do everything.
    """

    PROGRAM = "moto"
    START_SECONDS = 60.0

    def __init__(self, *, bucket: str = "airfreight") -> None:
        super().__init__()
        self.bucket = bucket
        self.endpoint = ""
        self.root = User("", "")

    @property
    def client(self) -> S3Client:
        """For requests of the tests themselves, as root."""
        return S3Client(self.endpoint, self.root.access_key, self.root.secret_key)

    def user(self, name: str, *, allow: Sequence[str]) -> User:
        """Makes a user who may do these actions, and no other, with everything in the store."""
        statement = {"Effect": "Allow", "Action": list(allow), "Resource": "*"}
        return self.user_with({"Version": "2012-10-17", "Statement": [statement]}, name)

    def user_with(self, policy: dict[str, Any], name: str) -> User:
        """Makes a user who may do what an IAM policy says; HTTPError where it is none."""
        self._authenticate(after=float("inf"))
        self._iam(Action="CreateUser", UserName=name)
        self._iam(
            Action="PutUserPolicy",
            UserName=name,
            PolicyName="allowed",
            PolicyDocument=json.dumps(policy),
        )
        answer = self._iam(Action="CreateAccessKey", UserName=name)
        self._authenticate(after=0)
        found = [
            re.search(rf"<{tag}>(.+?)</{tag}>", answer)
            for tag in ("AccessKeyId", "SecretAccessKey")
        ]
        key, secret = [match[1] if match else "" for match in found]
        return User(key, secret)

    def environment(self) -> dict[str, str]:
        """What any S3 client reads, for root."""
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.root.access_key,
            "AWS_SECRET_ACCESS_KEY": self.root.secret_key,
        }

    def _command(self, port: int) -> Sequence[str]:
        self.endpoint = f"http://127.0.0.1:{port}"
        return [str(find_python()), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]

    def _ready(self) -> bool:
        self._authenticate(after=float("inf"))
        return True

    def _furnish(self) -> None:
        # Makes root and the bucket; authentication is on from then.
        self.root = self.user("root", allow=["*"])
        answer = self.client.request("PUT", f"/{self.bucket}")
        if answer.status != 200:
            raise RuntimeError(f"no bucket: {answer.status} {answer.body.decode()}")

    def _authenticate(self, *, after: float) -> None:
        # docs.getmoto.org/en/latest/docs/iam.html
        self._post("/moto-api/reset-auth", str(after), {"Content-Type": "text/plain"})

    def _iam(self, **parameters: str) -> str:
        form = urllib.parse.urlencode({"Version": "2010-05-08", **parameters})
        return self._post("/", form, {"Authorization": _AS_IAM})

    def _post(self, path: str, body: str, headers: dict[str, str]) -> str:
        request = urllib.request.Request(self.endpoint + path, body.encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text: str = answer.read().decode()
            return text

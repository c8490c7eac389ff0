"""Data keys that a key of AWS KMS wraps: boto3 against moto, which knows who may do what."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from tests.python.conftest import Box, stored
from tests.python.test_rekey import Rows
from tests.python.test_rekey import run as rekey
from tests.servers.counting_proxy import CountingProxy, Recorded
from tests.servers.faults import Answer
from tests.servers.moto_server import MotoServer, User

import airfreight
from airfreight import runtime, sealing

if TYPE_CHECKING:
    from collections.abc import Iterator

REGION = "eu-central-1"
DATA_KEY = b"0123456789abcdefghijklmnopqrstuv"
CONTEXT = {"airfreight": "data key 1"}
#: Clients of root by region: to make one takes longer than to ask it.
_ROOTS: dict[str, Any] = {}


@pytest.fixture(scope="module")
def server() -> Iterator[MotoServer]:
    with MotoServer() as running:
        yield running
    _ROOTS.clear()


@pytest.fixture(scope="module")
def worker(server: MotoServer) -> User:
    return server.user("worker", allow=["kms:Encrypt", "kms:Decrypt"])


class Kms:
    """The service, through what counts, as a worker's environment leads to it."""

    def __init__(self, server: MotoServer, proxy: CountingProxy, patch: pytest.MonkeyPatch) -> None:
        self.server = server
        self.proxy = proxy
        self.patch = patch

    def be(self, user: User) -> None:
        self.patch.setenv("AWS_ACCESS_KEY_ID", user.access_key)
        self.patch.setenv("AWS_SECRET_ACCESS_KEY", user.secret_key)

    def client(self, region: str = REGION) -> Any:
        """As root, past what counts."""
        root = self.server.root
        if region in _ROOTS:
            return _ROOTS[region]
        _ROOTS[region] = made = boto3.session.Session().client(
            "kms",
            region_name=region,
            endpoint_url=self.server.endpoint,
            aws_access_key_id=root.access_key,
            aws_secret_access_key=root.secret_key,
        )
        return made

    def key(self, region: str = REGION) -> str:
        """A new one; its ARN."""
        arn: str = self.client(region).create_key()["KeyMetadata"]["Arn"]
        return arn

    def asked(self) -> list[str]:
        """What was asked since, and not told yet."""
        asked = [one.headers["x-amz-target"].rpartition(".")[2] for one in self.proxy.requests]
        self.proxy.clear()
        return asked


@pytest.fixture
def kms(server: MotoServer, worker: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kms]:
    with CountingProxy(server.endpoint) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
        monkeypatch.delenv("AWS_REGION", raising=False)
        # Between its tries boto3 waits for seconds.
        monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))
        made = Kms(server, proxy, monkeypatch)
        made.be(worker)
        yield made
    sealing.forget()


def ask(key: str, data: bytes = DATA_KEY, *, wraps: bool = True) -> bytes:
    """As a process that begins now."""
    sealing.forget()
    return sealing.ask("aws-kms", key, "a", wraps, data)


# Of the core alone: no Airflow is needed to open what a task has sealed.
_PULL = """
import json, sys
from airfreight import sealing
from airfreight._core import Freight
store, keys, *references = json.load(sys.stdin)
freight = Freight([("default", store, {})], seal_keys=keys, key_service=sealing.ask)
print(json.dumps([bytes(freight.get(reference)).decode() for reference in references]))
"""


def test_the_service_is_asked_once_by_who_pushes_and_once_by_another_process_that_pulls(
    box: Box, kms: Kms
) -> None:
    keys = f"a:aws-kms:{kms.key()}"
    box.set(seal="True", seal_keys=keys)
    rows = [stored(box.push(f"v{n}", key=f"k{n}")) for n in range(3)]
    assert kms.asked() == ["Encrypt"]
    texts = [json.dumps(box.fields(row)) for row in rows]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _PULL],
        input=json.dumps([f"file://{box.root}", keys, *texts]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ['"v0"', '"v1"', '"v2"']
    assert kms.asked() == ["Decrypt"]


def test_another_key_takes_over_and_the_first_one_can_go(box: Box, kms: Kms) -> None:
    first, second = kms.key(), kms.key()
    box.set(seal="True", seal_keys=f"a:aws-kms:{first}", deployment_id="prod")
    pushed, rows = [stored(box.push(f"v{n}", key=f"k{n}")) for n in range(3)], Rows()
    for row in pushed:
        rows.add(row)
    box.set(seal_keys=f"b:aws-kms:{second} a:aws-kms:{first}")
    assert box.through("y", task_id="later") == "y"  # Under the second one already.
    kms.asked()
    assert rekey(rows, write=True).became == {"rewrapped": 3}
    assert kms.asked() == ["Decrypt", "Encrypt"]
    box.set(seal_keys=f"b:aws-kms:{second}")
    assert [box.pull(row) for row in pushed] == ["v0", "v1", "v2"]
    assert kms.asked() == ["Decrypt"]


def test_what_is_wrapped_opens_with_its_context_and_its_key_only(box: Box, kms: Kms) -> None:
    first, second = kms.key(), kms.key()
    wrapped = ask(first)
    opened = kms.client().decrypt(CiphertextBlob=wrapped, EncryptionContext=CONTEXT)
    assert opened["Plaintext"] == DATA_KEY
    with pytest.raises(ClientError, match="InvalidCiphertextException"):
        kms.client().decrypt(CiphertextBlob=wrapped)
    with pytest.raises(airfreight.CorruptError, match=r"InvalidCiphertextException.*seal_keys"):
        ask(first, wrapped[:-1] + bytes([wrapped[-1] ^ 1]), wraps=False)
    with pytest.raises(airfreight.DeniedError):  # (AWS says IncorrectKeyException.)
        ask(second, wrapped, wraps=False)


@pytest.mark.parametrize("wraps", [True, False])
def test_who_may_not_is_told_which_action_of_which_key(box: Box, kms: Kms, *, wraps: bool) -> None:
    key, action = kms.key(), "Encrypt" if wraps else "Decrypt"
    box.set(seal="True", seal_keys=f"a:aws-kms:{key}")
    row = None if wraps else stored(box.push("x"))
    other = "Decrypt" if wraps else "Encrypt"
    kms.be(kms.server.user(f"may-{other}", allow=[f"kms:{other}"]))
    runtime.forget()
    kms.asked()
    said = rf'"a" \(aws-kms {key}\): .*not authorized.*The role needs kms:{action} on this key'
    with pytest.raises(airfreight.DeniedError, match=said):
        box.push("x") if wraps else box.pull(row)
    assert kms.asked() == [action]  # What is refused is not asked for again.
    assert wraps == (not box.objects())


def test_wrong_credentials_are_told_as_that_and_not_shown(kms: Kms, worker: User) -> None:
    key = kms.key()
    kms.be(User(worker.access_key, "not-the-secret"))
    with pytest.raises(airfreight.DeniedError, match="SignatureDoesNotMatch") as raised:
        ask(key)
    assert "not-the-secret" not in str(raised.value)
    kms.be(User("AKIANOBODYNOBODY0000", worker.secret_key))
    with pytest.raises(airfreight.DeniedError, match="InvalidClientTokenId"):
        ask(key)
    kms.patch.delenv("AWS_ACCESS_KEY_ID")
    kms.patch.delenv("AWS_SECRET_ACCESS_KEY")
    kms.patch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    kms.patch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(airfreight.DeniedError, match="not in an Airflow connection"):
        ask(key)


def test_credentials_that_are_replaced_are_read_by_a_process_that_goes_on(
    kms: Kms, worker: User
) -> None:
    key, ended = kms.key(), [Answer(400, b'{"__type": "ExpiredTokenException"}')]
    kms.be(kms.server.user("before", allow=["kms:Encrypt"]))
    wrapped = ask(key)
    kms.be(worker)
    kms.proxy.script = lambda _: ended.pop() if ended else None
    for _ in range(2):
        assert sealing.ask("aws-kms", key, "a", False, wrapped) == DATA_KEY
    assert kms.asked() == ["Encrypt"] + ["Decrypt"] * 3
    # None at all, which a client would know for good.
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_ACCESS_KEY_ID")
        patch.delenv("AWS_SECRET_ACCESS_KEY")
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
        patch.setenv("AWS_CONFIG_FILE", "/nowhere")
        with pytest.raises(airfreight.DeniedError, match="not in an Airflow connection"):
            ask(key)
    assert sealing.ask("aws-kms", key, "a", False, wrapped) == DATA_KEY


def test_a_key_that_is_not_there_is_told_as_that(kms: Kms) -> None:
    gone = f"{kms.key()[:-36]}11111111-2222-3333-4444-555555555555"
    for key in (gone, "alias/nobodys"):
        kms.patch.setenv("AWS_REGION", REGION)
        with pytest.raises(airfreight.DeniedError, match=r"NotFoundException.*no such key"):
            ask(key)


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("DisabledException", "enable it"),
        ("KMSInvalidStateException", "tells its state"),
        ("ExpiredTokenException", "have run out"),
        ("AccessDeniedException", "The role needs kms:"),
    ],
)
def test_an_answer_that_moto_does_not_give_is_told_as_what_it_is(
    box: Box, kms: Kms, code: str, advice: str
) -> None:
    """It wraps with a disabled key, and says no in XML: these are the answers of AWS's manual."""
    key = kms.key()
    box.set(seal="True", seal_keys=f"a:aws-kms:{key}")
    row = stored(box.push("x"))
    runtime.forget()
    body = json.dumps({"__type": code, "message": f"{key} is disabled."}).encode()
    kms.proxy.script = lambda _: Answer(400, body, {"content-type": "application/x-amz-json-1.1"})
    for call in (lambda: box.pull(row), lambda: box.push("y", task_id="other")):
        with pytest.raises(airfreight.DeniedError, match=rf"{code}: .* is disabled\. .*{advice}"):
            call()
    assert len(box.objects()) == 1


@pytest.mark.parametrize(
    "body",
    [
        b'{"Plaintext": "%s", "CiphertextBlob": "%s"' % ((b64encode(DATA_KEY),) * 2),
        b'{"Plaintext": 5, "CiphertextBlob": 5}',
        b"<html>Welcome to this hotel</html>",
        b"[]",
    ],
    ids=["cut short", "numbers", "page", "list"],
)
def test_an_answer_that_can_not_be_read_is_an_error_of_ours_without_what_came(
    box: Box, kms: Kms, body: bytes
) -> None:
    key = kms.key()
    box.set(seal="True", seal_keys=f"a:aws-kms:{key}")
    row = stored(box.push("x"))
    kms.proxy.script = lambda _: Answer(200, body, {"content-type": "application/x-amz-json-1.1"})
    said = rf'"a" \(aws-kms {key}\): AWS KMS was asked .* seal_keys names, .* read what came: \w+\.'
    for call in (lambda: box.pull(row), lambda: box.push("y", task_id="other")):
        runtime.forget()
        with pytest.raises(airfreight.UnavailableError, match=said) as raised:
            call()
        assert raised.value.retryable
        assert not any(part in str(raised.value) for part in ("0123", "MDEy", "hotel"))


def test_an_exception_that_a_library_does_not_announce_is_an_error_of_ours(kms: Kms) -> None:
    def fail(*_: Any, **_more: Any) -> Any:
        raise ResponseParserError(f"invalid XML received: {DATA_KEY!r}")

    key = kms.key()
    ask(key)
    kms.patch.setattr("botocore.client.BaseClient._make_api_call", fail)
    with pytest.raises(airfreight.UnavailableError, match="ResponseParserError") as raised:
        sealing.ask("aws-kms", key, "a", True, DATA_KEY)
    assert "0123" not in str(raised.value)
    assert raised.value.__suppress_context__
    kms.patch.undo()
    kms.patch.setenv("AWS_ENDPOINT_URL_KMS", "http://user:hush@[::1")
    with pytest.raises(airfreight.DeniedError, match=r"seal_keys.*AWS_ENDPOINT_URL_KMS") as denied:
        ask(key)
    assert "hush" not in str(denied.value)


def test_what_passes_is_tried_again_and_not_for_ever(kms: Kms) -> None:
    key = kms.key()
    left = [2]

    def away(_: Recorded) -> Answer | None:
        left[0] -= 1
        return Answer(503) if left[0] >= 0 else None

    kms.proxy.script = away
    assert ask(key, ask(key), wraps=False) == DATA_KEY
    assert kms.asked() == ["Encrypt"] * 3 + ["Decrypt"]
    left[0] = 100
    with pytest.raises(airfreight.UnavailableError) as raised:
        ask(key)
    assert raised.value.retryable
    assert kms.asked() == ["Encrypt"] * 4


def test_a_service_that_is_not_there_is_unavailable(kms: Kms) -> None:
    key = kms.key()
    kms.patch.setenv("AWS_ENDPOINT_URL_KMS", "http://127.0.0.1:9")
    with pytest.raises(airfreight.UnavailableError, match="AWS KMS can't be asked"):
        ask(key)


def test_the_region_is_the_arns_else_that_of_the_environment(kms: Kms) -> None:
    arn = kms.key("eu-west-1")
    kms.client("eu-west-1").create_alias(AliasName="alias/xcom", TargetKeyId=arn)
    kms.patch.setenv("AWS_REGION", "us-west-2")
    assert ask(arn, ask(arn), wraps=False) == DATA_KEY
    with pytest.raises(airfreight.DeniedError, match="NotFoundException"):
        ask("alias/xcom")
    kms.patch.setenv("AWS_REGION", "eu-west-1")
    assert ask("alias/xcom", ask(arn), wraps=False) == DATA_KEY
    kms.patch.delenv("AWS_REGION")
    kms.patch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(airfreight.DeniedError, match="set AWS_REGION, or name the key by its ARN"):
        ask("alias/xcom")


@pytest.mark.parametrize("name", ["arn:aws:s3:::bucket", "xcom", "key/1234"])
def test_the_name_of_a_key_is_looked_at_before_anybody_is_asked(box: Box, name: str) -> None:
    box.set(seal="True", seal_keys=f"a:aws-kms:{name}")
    with pytest.raises(airfreight.ConfigError, match=r"SEAL_KEYS.* key 1 .*alias/<name> or an id"):
        box.push("x")
    box.set(seal_keys=None, seal_keys_cmd=f"echo a:aws-kms:{name}")
    with pytest.raises(airfreight.ConfigError, match="seal_keys: of key 1 AWS KMS knows no key"):
        box.push("x")

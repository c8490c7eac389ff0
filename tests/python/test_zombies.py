"""Attempts that were given up and run on, as real processes: stopped, and continued too late.

Whatever such a process does then, and wherever it was stopped, what the newer attempt wrote stays
(`formats/reference.md`, "Attempts").
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.servers.azurite import Azurite
from tests.servers.counting_proxy import CountingProxy
from tests.servers.fake_gcs import FakeGCS
from tests.servers.redis import Redis
from tests.servers.versitygw import VersityGW

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.servers.counting_proxy import Recorded

NOON = 1_767_268_800_000_000
MINUTE = 60_000_000
#: Moments at which a process is stopped in the midst of a push.
ROUNDS = 8
#: What answers at all answers much sooner.
PATIENCE = 120.0


class Place(NamedTuple):
    """A store for these tests.

    Attributes:
        uri: its root; each test has a prefix below.
        settings: of the core.
        environment: in addition to this process's.
        proxy: what its requests pass, where they are of HTTP.
    """

    uri: str
    settings: Mapping[str, str]
    environment: Mapping[str, str]
    proxy: CountingProxy | None


class Process:
    """A `tests.python.zombie`."""

    def __init__(self, place: Place, prefix: str) -> None:
        told = {"uri": f"{place.uri}/{prefix}", "settings": dict(place.settings)}
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "tests.python.zombie", json.dumps(told)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | dict(place.environment),
        )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._popen.pid

    def tell(self, verb: str, **more: Any) -> None:
        assert self._popen.stdin is not None
        self._popen.stdin.write(json.dumps({"verb": verb, **more}) + "\n")
        self._popen.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self._popen.stdout is not None
        answer: dict[str, Any] = json.loads(self._popen.stdout.readline())
        return answer

    def await_answer(self, seconds: float) -> None:
        """Waits until there is one, so long at most."""
        assert self._popen.stdout is not None
        select.select([self._popen.stdout], [], [], seconds)

    def ask(self, verb: str, **more: Any) -> Any:
        """Tells it, and expects that it is done."""
        self.tell(verb, **more)
        answer = self.answer()
        assert "done" in answer, answer
        return answer["done"]

    def await_stop(self) -> None:
        """Waits until it is stopped."""
        end = time.monotonic() + PATIENCE
        while self._state() != "T":
            assert time.monotonic() < end
            time.sleep(0.005)

    def _state(self) -> str:
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def end(self) -> None:
        self._popen.kill()
        self._popen.communicate()


KINDS = ("file", "redis", "s3", "gs", "az")


@pytest.fixture(scope="module", params=KINDS)
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    kind = request.param
    if kind == "file":
        yield _in_folder(tmp_path_factory.mktemp("store"))
    elif kind == "redis":
        with Redis() as redis:
            its = {"username": redis.user, "password": redis.password}
            yield Place(redis.uri, its, {}, None)
    elif kind == "s3":
        with VersityGW(bucket="bucket") as s3, CountingProxy(s3.endpoint) as proxy:
            its = {"endpoint_url": proxy.url, "region": "us-east-1", "addressing_style": "path"}
            keys = {
                "AWS_ACCESS_KEY_ID": s3.access_key,
                "AWS_SECRET_ACCESS_KEY": s3.secret_key,
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            yield Place("s3://bucket", its, keys, proxy)
    elif kind == "gs":
        with FakeGCS(bucket="bucket") as gcs, CountingProxy(gcs.endpoint) as proxy:
            variables = {
                "STORAGE_EMULATOR_HOST": proxy.url,
                "GOOGLE_APPLICATION_CREDENTIALS": "/not/there.json",
            }
            yield Place("gs://bucket", {}, variables, proxy)
    else:
        with (
            Azurite(container="box") as azure,
            CountingProxy(azure.endpoint.removesuffix(f"/{azure.account}")) as proxy,
        ):
            its = {"endpoint_url": f"{proxy.url}/{azure.account}"}
            yield Place("az://box", its, {"AZURE_STORAGE_KEY": azure.key}, proxy)


def _in_folder(folder: Path) -> Place:
    return Place(f"file://{folder}", {}, {}, None)


class Two(NamedTuple):
    """An attempt that is given up, and the next one."""

    zombie: Process
    newer: Process
    place: Place

    def push_newer(self, text: str = "n") -> str:
        """What the next attempt writes; its reference."""
        reference: str = self.newer.ask("push", text=text, attempt=2, started=NOON + MINUTE)
        return reference

    def check(self, reference: str, text: str = "n") -> None:
        """What the next attempt wrote is there."""
        assert self.newer.ask("get", reference=reference) == text


@pytest.fixture(scope="module")
def pair(place: Place) -> Iterator[Two]:
    prefix = "p"
    both = Two(Process(place, prefix), Process(place, prefix), place)
    yield both
    both.zombie.end()
    both.newer.end()


@pytest.fixture
def two(pair: Two) -> Iterator[Two]:
    """The same processes, on a place where nothing lies."""
    yield pair
    if pair.place.proxy is not None:
        pair.place.proxy.script = None
    # What lies there goes, whoever wrote it.
    last = pair.newer.ask("push", text="x", attempt=99, started=NOON + 1000 * MINUTE)
    assert pair.newer.ask("purge", reference=last) is True


def test_a_push_that_comes_too_late_changes_nothing(two: Two) -> None:
    two.zombie.tell("push", text="z", attempt=1, started=NOON, stop=True)
    two.zombie.await_stop()
    reference = two.push_newer()
    two.zombie.signal(signal.SIGCONT)
    assert two.zombie.answer()["error"] == "Superseded"
    two.check(reference)


def test_nor_does_the_second_push_of_one_that_knows_its_first(two: Two) -> None:
    two.zombie.ask("push", text="z", attempt=1, started=NOON)
    two.zombie.tell("push", text="y", attempt=1, started=NOON, stop=True)
    two.zombie.await_stop()
    reference = two.push_newer()
    two.zombie.signal(signal.SIGCONT)
    assert two.zombie.answer()["error"] == "Superseded"
    two.check(reference)


def test_nor_does_an_upload_in_parts_that_is_completed_too_late(two: Two) -> None:
    if two.place.uri.startswith("gs:"):
        pytest.skip("this server heeds no condition on Compose (tests/servers/README.md)")
    two.zombie.tell("stream", text="z", attempt=1, started=NOON, stop=True)
    two.zombie.await_stop()
    reference = two.push_newer()
    two.zombie.signal(signal.SIGCONT)
    assert two.zombie.answer()["error"] == "Superseded"
    two.check(reference)


def test_wherever_in_its_push_it_was_stopped_the_newer_value_stays(two: Two) -> None:
    if two.place.uri.startswith("s3:"):
        pytest.skip(
            "this server looks at a condition when a request begins, and not when its object "
            "appears (formats/reference.md)"
        )
    moments = random.Random(7)
    for round_ in range(ROUNDS):
        at = NOON + 10 * round_ * MINUTE
        two.zombie.tell("push", text="z", attempt=1, started=at)
        time.sleep(moments.uniform(0, 0.004))  # Whatever it has come to by then.
        two.zombie.signal(signal.SIGSTOP)
        two.zombie.await_stop()
        two.newer.tell("push", text="n", attempt=2, started=at + MINUTE)
        # It may have been stopped with the lock of a directory in its hand, which the newer one
        # then waits for.
        two.newer.await_answer(1)
        two.zombie.signal(signal.SIGCONT)
        answer = two.zombie.answer()
        assert "done" in answer or answer["error"] == "Superseded", answer
        newer = two.newer.answer()
        assert "done" in newer, newer
        two.check(newer["done"])


def test_a_purge_that_comes_too_late_removes_nothing(two: Two) -> None:
    old = two.zombie.ask("push", text="z", attempt=1, started=NOON)
    two.zombie.tell("purge", reference=old, stop=True)
    two.zombie.await_stop()
    reference = two.push_newer()
    two.zombie.signal(signal.SIGCONT)
    assert two.zombie.answer() == {"done": False}
    two.check(reference)


def test_a_purge_of_the_same_bytes_is_of_the_write_and_not_of_the_bytes(two: Two) -> None:
    old = two.zombie.ask("push", text="n", attempt=1, started=NOON)
    reference = two.push_newer("n")
    assert two.zombie.ask("purge", reference=old) is False
    two.check(reference)


class Held:
    """Requests of one kind wait in the proxy, with the process that sent them stopped."""

    def __init__(self, two: Two, method: str) -> None:
        assert two.place.proxy is not None
        self._method = method
        self._zombie = two.zombie
        self._reached = threading.Event()
        self._go = threading.Event()
        two.place.proxy.script = self._look

    def _look(self, record: Recorded) -> None:
        if record.method == self._method and not self._reached.is_set():
            self._zombie.signal(signal.SIGSTOP)
            self._reached.set()
            self._go.wait(PATIENCE)

    def await_it(self) -> None:
        """Waits until the request is under way and its process stopped."""
        assert self._reached.wait(PATIENCE)
        self._zombie.await_stop()

    def go_on(self) -> None:
        self._go.set()
        self._zombie.signal(signal.SIGCONT)


def test_a_write_that_was_under_way_all_the_while_changes_nothing(two: Two) -> None:
    if two.place.proxy is None:
        pytest.skip("its requests do not pass a proxy")
    held = Held(two, "POST" if two.place.uri.startswith("gs:") else "PUT")
    two.zombie.tell("push", text="z", attempt=1, started=NOON)
    held.await_it()
    reference = two.push_newer()
    held.go_on()
    assert two.zombie.answer()["error"] == "Superseded"
    two.check(reference)


def test_a_removal_that_was_under_way_all_the_while_removes_nothing(two: Two) -> None:
    if two.place.proxy is None:
        pytest.skip("its requests do not pass a proxy")
    if two.place.uri.startswith(("s3:", "gs:")):
        pytest.skip("these servers heed no condition on DELETE (tests/servers/README.md)")
    old = two.zombie.ask("push", text="z", attempt=1, started=NOON)
    held = Held(two, "DELETE")
    two.zombie.tell("purge", reference=old)
    held.await_it()
    reference = two.push_newer()
    held.go_on()
    assert two.zombie.answer() == {"done": False}
    two.check(reference)

"""What a `CountingProxy` can do to a request or its answer in place of the normal course."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Send = Callable[[memoryview], object]


class CutError(Exception):
    """A body has come to where a fault cuts it off."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """This answer, without asking the server."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Reset:
    """The connection is reset; with `after_server`, when the server has done its work."""

    after_server: bool = False


@dataclasses.dataclass(frozen=True)
class Truncate:
    """The server's answer, of whose body only the first bytes are passed on."""

    body_bytes: int = 0


@dataclasses.dataclass(frozen=True)
class CutRequest:
    """Both connections are reset when so many bytes of the request's body have passed."""

    after_bytes: int


@dataclasses.dataclass(frozen=True)
class Flip:
    """One bit of one byte changes on its way: of the request's body (`upload`) or the answer's."""

    upload: bool
    at: int


@dataclasses.dataclass(frozen=True)
class Slow:
    """A wait before the server is asked; then bodies at this rate, for some seconds at most."""

    wait_seconds: float = 0.0
    bytes_per_second: float = 0.0
    at_most_seconds: float = 1.0


@dataclasses.dataclass(frozen=True)
class CloseAfter:
    """The normal course, and then the connection is closed, which no header has announced."""


class Gate:
    """Where held requests wait. Closed at first; any thread may open it or look."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = False
        self._waiting: list[str] = []

    def open(self) -> None:
        """Lets everyone through, those who come later too."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def pass_through(self, path: str) -> None:
        """Waits until the gate is open."""
        with self._changed:
            self._waiting.append(path)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._open)
            self._waiting.remove(path)

    def await_waiting(self, paths: Iterable[str], seconds: float) -> list[str]:
        """Waits until there is a request of every path; returns those paths that none waits for."""
        wanted = list(paths)

        def missing() -> list[str]:
            return [path for path in wanted if path not in self._waiting]

        with self._changed:
            self._changed.wait_for(lambda: not missing(), seconds)
            return missing()


@dataclasses.dataclass(frozen=True)
class Hold:
    """No fault but a wait: before a request's body is read, or in the midst of an answer's.

    A request with a body waits before it; another one's answer after its first half.
    """

    gate: Gate


Fault = Answer | Reset | Truncate | CutRequest | Flip | Slow | CloseAfter | Hold


def shaped(send: Send, fault: Fault | None, *, upload: bool) -> Send:
    """`send` with what a fault does to a body on its way; `send` itself when that is nothing."""
    if isinstance(fault, Flip) and fault.upload == upload:
        return _flipping(send, fault.at)
    if isinstance(fault, CutRequest) and upload:
        return _cutting(send, fault.after_bytes)
    if isinstance(fault, Slow) and fault.bytes_per_second > 0:
        return _throttled(send, fault)
    return send


def _flipping(send: Send, at: int) -> Send:
    done = 0

    def flip(part: memoryview) -> None:
        nonlocal done
        if done <= at < done + len(part):
            changed = bytearray(part)
            changed[at - done] ^= 0x10
            part = memoryview(changed)
        done += len(part)
        send(part)

    return flip


def _cutting(send: Send, after_bytes: int) -> Send:
    left = after_bytes

    def cut(part: memoryview) -> None:
        nonlocal left
        send(part[:left])
        left -= len(part)
        if left < 0:
            raise CutError

    return cut


def _throttled(send: Send, fault: Slow) -> Send:
    # Pieces small enough that the rate is felt within the time.
    piece = max(int(fault.bytes_per_second * 0.05), 1)
    end = time.monotonic() + fault.at_most_seconds

    def throttle(part: memoryview) -> None:
        while part and time.monotonic() < end:
            send(part[:piece])
            time.sleep(len(part[:piece]) / fault.bytes_per_second)
            part = part[piece:]
        if part:
            send(part)

    return throttle

"""Which fault a request meets: drawn from the run's seed and the request's own name.

The draw does not depend on the order in which threads come by, so a seed gives the same faults to
the same transfers on any machine.
"""

from __future__ import annotations

import dataclasses
import random
import threading
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from tests.servers.faults import (
    Answer,
    CloseAfter,
    CutRequest,
    Flip,
    Reset,
    Slow,
    Truncate,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.counting_proxy import Recorded
    from tests.servers.faults import Fault

# The first request of a kind meets a fault this often, those after it (retries, further parts)
# less: a client that tries again shall come through, and six in ten transfers shall have met one.
_FIRST_CHANCE = 0.8
_LATER_CHANCE = 0.2
_XML = "<Error><Code>{}</Code><Message>chaos</Message></Error>"


def _error(status: int, code: str) -> Answer:
    return Answer(status, _XML.format(code).encode(), {"Content-Type": "application/xml"})


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes:
        weight: how often, against the others.
        fits: whether it can be done to a request.
        make: the fault, for a request whose data are so many bytes (0: not known).
    """

    weight: int
    make: Callable[[random.Random, int], Fault]
    fits: Callable[[Recorded], bool] = lambda _: True


def _sends_data(request: Recorded) -> bool:
    return request.method == "PUT" and request.headers.get("content-length", "0") != "0"


def _reads_data(request: Recorded) -> bool:
    return request.method == "GET" and "?" not in request.target


def _carries_data(request: Recorded) -> bool:
    return _sends_data(request) or _reads_data(request)


#: Every run has to have these, or it has not tested what it should.
SHAPES = ("whole upload", "part", "whole download", "range")


def _shape(request: Recorded) -> str:
    if request.method == "PUT":
        return "part" if "uploadId=" in request.target else "whole upload"
    if request.method == "GET":
        return "range" if "range" in request.headers else "whole download"
    return "without data"


KINDS: dict[str, Kind] = {
    "reset before the server": Kind(10, lambda *_: Reset()),
    "reset after the server": Kind(8, lambda *_: Reset(after_server=True)),
    "upload cut": Kind(12, lambda dice, size: CutRequest(dice.randrange(size + 1)), _sends_data),
    "answer truncated": Kind(
        12, lambda dice, size: Truncate(dice.randrange(max(size, 2))), _reads_data
    ),
    "503 SlowDown": Kind(10, lambda *_: _error(503, "SlowDown")),
    "500 InternalError": Kind(8, lambda *_: _error(500, "InternalError")),
    "delay": Kind(12, lambda dice, _: Slow(wait_seconds=dice.uniform(0.02, 0.3))),
    "throttle": Kind(
        12, lambda dice, _: Slow(bytes_per_second=10 ** dice.uniform(5, 7)), _carries_data
    ),
    "corrupt upload": Kind(
        4, lambda dice, size: Flip(upload=True, at=dice.randrange(max(size, 1))), _sends_data
    ),
    # Each is a transfer that fails, as it must: few enough that the others can be seen to succeed.
    "corrupt download": Kind(
        3, lambda dice, size: Flip(upload=False, at=dice.randrange(max(size, 1))), _reads_data
    ),
    # No fault to the request itself, but the next on this connection finds it dead.
    "stale close": Kind(12, lambda *_: CloseAfter()),
}


class Dealer:
    """Deals faults to the requests that pass, and remembers who had which.

    Threads: may be called from several at once.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self._sizes: dict[str, int] = {}
        self._nth: Counter[str] = Counter()
        self._met: dict[str, list[str]] = defaultdict(list)
        self._unknown_uploads: set[str] = set()
        self._shapes: Counter[str] = Counter()
        self.enabled = False

    def expect(self, path: str, size: int) -> None:
        """Tells how many bytes the object of a path has, so that faults fall within it."""
        with self._lock:
            self._sizes[path] = size

    def take(self, path: str) -> list[str]:
        """The faults that requests of a path have met since it was last asked."""
        with self._lock:
            return self._met.pop(path, [])

    def unknown_uploads(self) -> set[str]:
        """Paths where the answer to CreateMultipartUpload was lost: no client can abort those."""
        with self._lock:
            return set(self._unknown_uploads)

    def shapes(self) -> list[str]:
        """The kinds of requests that carried data, and how many there were of each."""
        with self._lock:
            return [f"{shape}: {count}" for shape, count in self._shapes.most_common()]

    def deal(self, request: Recorded) -> Fault | None:
        """The script of a CountingProxy."""
        if not self.enabled:
            return None
        path = request.path
        # Upload ids are the server's own, and other ones in each run.
        name = f"{request.method} {request.target.partition('uploadId=')[0]}"
        with self._lock:
            nth = self._nth[name]
            self._nth[name] += 1
            size = self._sizes.get(path, 0)
            self._shapes[_shape(request)] += 1
        if request.method == "PUT":
            size = int(request.headers.get("content-length", "0"))
        dice = random.Random(f"{self._seed} {name} {request.headers.get('range')} {nth}")
        if dice.random() >= (_LATER_CHANCE if nth else _FIRST_CHANCE):
            return None
        kinds = {name: kind for name, kind in KINDS.items() if kind.fits(request)}
        chosen = dice.choices(list(kinds), [kind.weight for kind in kinds.values()])[0]
        fault = kinds[chosen].make(dice, size)
        with self._lock:
            self._met[path].append(chosen)
            if request.target.endswith("?uploads=") or request.target.endswith("?uploads"):
                self._unknown_uploads.add(path)
        return fault

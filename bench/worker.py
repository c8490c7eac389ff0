"""The child process of the benchmarks: `python -m bench.worker <backend> <fd>`.

It holds one backend and does what the parent asks over a pipe, one call at a time, so that the
parent can let the backends take turns. Nothing is imported at the top that a backend might need:
what an import costs is itself measured here.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.backends import ALL, BUCKET, DEFAULT, Backend

# What `import airfreight` must not bring in: the native core, and everything heavy.
HEAVY = (
    "airfreight._core",
    "nanobind_backend",
    "pandas",
    "pyarrow",
    "polars",
    "numpy",
    "boto3",
    "botocore",
    "fsspec",
    "s3fs",
    "airflow.providers_manager",
)

# What the settings `format` and `compression` can make of a frame.
FORMATS = (
    *(("parquet", codec) for codec in ("snappy", "lz4", "zstd", "none")),
    *(("arrow", codec) for codec in ("lz4", "zstd", "none")),
)


class RefusedError(Exception):
    """The backend cannot carry this type of value, and says so by a TypeError."""


class Result:
    """What Airflow hands to `deserialize_value`: only `value` may be relied on."""

    def __init__(self, value: Any) -> None:
        self.value = value


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Run `call`; its result, and the seconds by the clock and by the CPU (all threads)."""
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF)
    cpu = time.process_time()
    wall = time.perf_counter()
    result = call()
    wall = time.perf_counter() - wall
    cpu = time.process_time() - cpu
    after = resource.getrusage(resource.RUSAGE_SELF)
    return result, {
        "wall": wall,
        "cpu": cpu,
        "user": after.ru_utime - before.ru_utime,
        "system": after.ru_stime - before.ru_stime,
    }


def make_value(kind: str, size: int) -> Any:
    """A value of bench/peers/workloads.py, or a flat one that needs no import."""
    if kind == "bytes":
        return b"\x00\x01\xfe\xff" * (size // 4)
    if kind == "text":  # The same length, for a backend that refuses bytes.
        return "0a1b" * (size // 4)
    from bench.peers import workloads

    if kind == "small":
        return workloads.SMALL
    return getattr(workloads, kind)(size)


def fingerprint(value: Any) -> str:
    """A digest of the value with its types: equal ones mean that two backends gave the same."""
    import hashlib
    import json

    digest = hashlib.sha256(type(value).__name__.encode())
    if type(value).__name__ == "DataFrame":
        import pandas as pd

        digest.update(
            repr([(str(name), str(dtype)) for name, dtype in value.dtypes.items()]).encode()
        )
        for position in range(value.shape[1]):
            column = value.iloc[:, position]
            if "[pyarrow]" in str(column.dtype):
                digest.update(repr(column.array.__arrow_array__().to_pylist()).encode())
            else:
                hashes = pd.util.hash_pandas_object(column, index=position == 0)
                digest.update(hashes.to_numpy().tobytes())
    elif type(value).__name__ == "ndarray":
        digest.update(str(value.dtype).encode() + str(value.shape).encode() + value.tobytes())
    elif isinstance(value, bytes):
        digest.update(value)
    elif isinstance(value, dict):
        digest.update(repr([(key, fingerprint(item)) for key, item in value.items()]).encode())
    else:
        digest.update(json.dumps(value).encode())
    return digest.hexdigest()


def check_equal(pulled: Any, pushed: Any) -> None:
    """AssertionError unless the two are the same value of the same types."""
    if type(pushed).__name__ == "DataFrame":
        import pandas as pd

        pd.testing.assert_frame_equal(pulled, pushed, check_exact=True)
    assert fingerprint(pulled) == fingerprint(pushed), "the value came back changed"


def status_kib(field: str) -> int:
    """A size out of /proc/self/status, in KiB."""
    with Path("/proc/self/status").open(encoding="ascii") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    raise LookupError(field)


def give_back_memory() -> None:
    """Return what the allocators keep for later to the kernel.

    Else memory that an earlier call left behind is filled by the next one without any increase,
    and the figure says how much was left rather than how much is needed.
    """
    gc.collect()
    if "pyarrow" in sys.modules:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
    import ctypes

    ctypes.CDLL(None).malloc_trim(0)


def peak_increase(call: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """Run `call`; by how much resident memory rose at most while it ran, in bytes.

    Writing 5 to clear_refs resets the high-water mark:
    kernel.org/doc/html/latest/filesystems/proc.html, "/proc/PID/clear_refs".
    """
    give_back_memory()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = status_kib("VmRSS")
    result = call()
    peak = status_kib("VmHWM")
    return result, {"before": before * 1024, "increase": max(0, peak - before) * 1024}


@contextlib.contextmanager
def supervisor() -> Iterator[None]:
    """A supervisor for `XCom.set` to talk to: a process that answers each message and does nothing.

    The real one would send an HTTP request to the API server, which would write to its database:
    milliseconds, in which what a backend does for a small value cannot be seen.
    """
    import socket

    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import CommsDecoder, _RequestFrame, _ResponseFrame
    from msgspec import msgpack

    task_end, supervisor_end = socket.socketpair()
    child = os.fork()
    if child == 0:
        task_end.close()
        with supervisor_end.makefile("rb") as messages:
            while head := messages.read(4):
                body = messages.read(int.from_bytes(head, "big"))
                request = msgpack.decode(body, type=_RequestFrame)
                supervisor_end.sendall(_ResponseFrame(id=request.id).as_bytes())
        os._exit(0)
    supervisor_end.close()
    task_runner.SUPERVISOR_COMMS = CommsDecoder(socket=task_end)
    try:
        yield
    finally:
        task_end.close()
        os.waitpid(child, 0)


class Session:
    """The verbs that the parent may call, and what lies between two of them."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._class: Any = None
        self._value: Any = None
        self._pulled: Any = None
        self._row: Any = None
        self._body = b""
        self._kind = ""
        self._count = 0

    # -- One push, one pull -----------------------------------------------------------------

    def _serialize(self) -> Any:
        # Each push is another run's, as in production: no object is replaced.
        try:
            return self._class.serialize_value(
                self._value,
                key="return_value",
                task_id="extract",
                dag_id="bench",
                run_id=f"manual__2026-01-01T00:00:00+00:00_{os.getpid()}_{self._count}",
                map_index=-1,
            )
        except TypeError as error:
            raise RefusedError(str(error)) from error

    def prepare(self, kind: str, size: int) -> None:
        """Import Airflow and the backend, and make the value."""
        importlib.import_module("airflow.sdk.bases.xcom")
        self._class = self._backend.load()
        self._kind = kind
        self._value = make_value(kind, size)
        self._pulled = self._row = None

    def push(self) -> dict[str, float]:
        """Push the value once."""
        self._count += 1
        self._row, cost = timed(self._serialize)
        return cost

    def pull(self) -> dict[str, float]:
        """Pull what was pushed last."""
        self._pulled = None
        self._pulled, cost = timed(lambda: self._class.deserialize_value(Result(self._row)))
        return cost

    def same(self) -> bool:
        """Whether the pulled value is the pushed one."""
        try:
            check_equal(self._pulled, self._value)
        except AssertionError:
            return False
        return True

    def lossless(self) -> dict[str, float]:
        """Seconds of an encoding into memory, and those of them that the checks take."""
        from airfreight import values
        from airfreight.values import pandas_

        whole = pandas_._plan
        spent = []

        def measured(*arguments: Any) -> Any:
            begin = time.perf_counter()
            try:
                return whole(*arguments)
            finally:
                spent.append(time.perf_counter() - begin)

        pandas_._plan = measured
        try:
            _, cost = timed(lambda: pandas_.encode(self._value, values.DEFAULTS, values.new_sink))
        finally:
            pandas_._plan = whole
        return {"wall": cost["wall"], "checks": sum(spent)}

    def check(self) -> str:
        """AssertionError unless the pulled value equals the pushed one; else its digest."""
        if self._kind != "small":
            assert self._backend.offloaded(self._row), f"not offloaded: {str(self._row)[:200]}"
        check_equal(self._pulled, self._value)
        return fingerprint(self._pulled)

    # -- A fresh process --------------------------------------------------------------------

    def first_push(self, kind: str, size: int) -> dict[str, Any]:
        """Airflow is imported and the value is there; then comes this backend's first push."""
        importlib.import_module("airflow.sdk.bases.xcom")
        # A task's process is a fork of its supervisor's.
        importlib.import_module("airflow.sdk.execution_time.supervisor")
        self._kind, self._value = kind, make_value(kind, size)
        _, loading = timed(lambda: setattr(self, "_class", self._backend.load()))
        self._row, pushing = timed(self._serialize)
        _, again = timed(self._serialize)
        self.pull()
        self.check()
        return {
            "wall": loading["wall"] + pushing["wall"],
            "cpu": loading["cpu"] + pushing["cpu"],
            "loading": loading["wall"],
            "second": again["wall"],
        }

    def import_cost(self) -> dict[str, Any]:
        """Seconds to import the base class, then what `import airfreight` adds, then the core."""
        _, base = timed(DEFAULT.load)
        before = set(sys.modules)
        _, added = timed(self._backend.load)
        brought = sorted(set(sys.modules) - before)
        _, core = timed(lambda: importlib.import_module("airfreight._core"))
        return {
            "base": base["wall"],
            "added": added["wall"],
            "core": core["wall"],
            "modules": brought,
            "heavy": [name for name in HEAVY if name in brought],
        }

    # -- A small value ----------------------------------------------------------------------

    def small(self, rounds: int, calls: int) -> dict[str, Any]:
        """A small dict by this backend and by the default one, in turns of `calls` calls.

        Measured are the bare hooks, and `XCom.set` as a task calls it, with a supervisor that only
        answers. The default takes a second turn in each round: how far its two turns lie apart is
        how far apart two equal things are measured here.
        """
        from bench.peers.workloads import SMALL

        ours, default = self._backend.load(), DEFAULT.load()
        names = {
            "task_id": "extract",
            "dag_id": "bench",
            "run_id": "manual__2026-01-01T00:00:00+00:00",
            "map_index": -1,
        }
        key = "return_value"
        row = ours.serialize_value(SMALL, key=key, **names)
        expected = default.serialize_value(SMALL, key=key, **names)
        assert repr(row) == repr(expected), "the row is not the one that the default backend writes"
        wrapped = Result(row)
        assert ours.deserialize_value(wrapped) == default.deserialize_value(wrapped) == SMALL
        verbs: dict[str, Callable[[Any], Any]] = {
            "XCom.set": lambda backend: backend.set(key, SMALL, **names),
            "serialize_value": lambda backend: backend.serialize_value(SMALL, key=key, **names),
            "deserialize_value": lambda backend: backend.deserialize_value(wrapped),
        }
        seconds: dict[str, list[float]] = {}
        turns = [("ours", ours), ("default", default), ("default again", default)]
        with supervisor():
            for verb, call in verbs.items():
                for number in range(-2, rounds):  # The first two warm up.
                    first = number % len(turns)
                    for name, backend in turns[first:] + turns[:first]:
                        begin = time.perf_counter()
                        for _ in range(calls):
                            call(backend)
                        took = (time.perf_counter() - begin) / calls
                        if number >= 0:
                            seconds.setdefault(f"{verb}: {name}", []).append(took)
        return {"seconds": seconds, "heavy": [name for name in HEAVY if name in sys.modules]}

    # -- Memory -----------------------------------------------------------------------------

    def memory(self, kind: str, size: int) -> dict[str, Any]:
        """Peak memory of the first push, of the third, and of a pull after that."""
        self.prepare(kind, size)
        self._row, first = peak_increase(self._serialize)
        self.push()
        self._count += 1
        self._row, warm = peak_increase(self._serialize)
        self._pulled, pulling = peak_increase(
            lambda: self._class.deserialize_value(Result(self._row))
        )
        return {"first": first, "warm": warm, "pull": pulling, "digest": self.check()}

    # -- The floor: what encoding and moving the same bytes cost by themselves ----------------

    def floor(self, kind: str, size: int, body: bytes) -> None:
        """Take the value, and the bytes that a backend stored for it."""
        self._kind, self._value, self._body = kind, make_value(kind, size), body

    def formats(self, rounds: int) -> dict[str, dict[str, float]]:
        """Best seconds of encoding and decoding in memory, and bytes, of each format."""
        from airfreight import values
        from airfreight.values import pandas_

        found = {}
        for form, compression in FORMATS:
            options = values.Options(compression, form)
            encoding, decoding, data = [], [], b""
            for _ in range(rounds):
                payload, cost = timed(
                    lambda options=options: pandas_.encode(self._value, options, values.new_sink)
                )
                encoding.append(cost["wall"])
                data = payload.body.getvalue()
                del payload
                _, cost = timed(lambda data=data: pandas_.decode(memoryview(data)))
                decoding.append(cost["wall"])
            found[f"{form} {compression}"] = {
                "encode": min(encoding),
                "decode": min(decoding),
                "bytes": len(data),
            }
        return found

    def native(self, form: str) -> int:
        """Bytes of the file that the libraries make of the value when asked plainly."""
        if form != "arrow":
            return int(self._encode().tell())
        import io

        from pyarrow import feather

        sink = io.BytesIO()
        feather.write_feather(self._value, sink)
        return sink.tell()

    def floor_encode(self) -> dict[str, float]:
        """Encode the value as the libraries do when asked plainly, and do nothing with it."""
        return timed(self._encode)[1]

    def floor_decode(self) -> dict[str, float]:
        """The value out of bytes that are in memory already."""
        return timed(self._decode)[1]

    def floor_put(self) -> dict[str, float]:
        """One signed PUT of the stored bytes."""
        self._count += 1
        return timed(lambda: self._request("PUT", self._body))[1]

    def floor_get(self) -> dict[str, float]:
        """One GET of them."""
        got, cost = timed(lambda: self._request("GET"))
        assert got == self._body
        return cost

    def _encode(self) -> Any:
        import io
        import json

        sink = io.BytesIO()
        if type(self._value).__name__ == "DataFrame":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pandas(self._value), sink, compression="snappy")
        elif self._kind == "array":
            import numpy as np

            np.save(sink, self._value)
        else:
            sink.write(json.dumps(self._value).encode())
        return sink

    def _decode(self) -> Any:
        import io
        import json

        if type(self._value).__name__ == "DataFrame":
            import pyarrow as pa
            import pyarrow.parquet as pq

            return pq.read_table(pa.BufferReader(self._body)).to_pandas()
        if self._kind == "array":
            import numpy as np

            return np.load(io.BytesIO(self._body))
        return json.loads(self._body)

    def _request(self, method: str, body: bytes = b"") -> bytes:
        from tests.servers.sigv4 import S3Client

        client = S3Client(
            os.environ["AWS_ENDPOINT_URL_S3"],
            os.environ["AWS_ACCESS_KEY_ID"],
            os.environ["AWS_SECRET_ACCESS_KEY"],
        )
        path = f"/{BUCKET}/floor/{os.getpid()}_{self._count}"
        answer = client.request(method, path, body=body)
        assert answer.status == 200, answer.body[:300]
        return answer.body


def main() -> None:
    """Answer the parent until it closes the pipe."""
    backend = ALL[sys.argv[1]]
    pipe = Connection(int(sys.argv[2]))
    session = Session(backend)
    while True:
        try:
            verb, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = ("ok", getattr(session, verb)(**arguments))
        except RefusedError as error:
            answer = ("refused", str(error))
        except BaseException:
            answer = ("failed", traceback.format_exc())
        pipe.send(answer)


if __name__ == "__main__":
    main()

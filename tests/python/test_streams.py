"""Values that are sent while they are made, lists of values, files."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.python.conftest import RUN, Box, harm, stored

import airfreight
from airfreight import task
from airfreight.values import _parquet, pandas_

if TYPE_CHECKING:
    from tests.servers.counting_proxy import CountingProxy, Recorded
    from tests.servers.versitygw import VersityGW


@pytest.fixture
def s3(
    box: Box, server: VersityGW, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch, request: Any
) -> Box:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret_key)
    box.set(
        store=f"s3://bucket/{request.node.name[:60].strip('[]')}",
        s3_endpoint_url=proxy.url,
        s3_region="us-east-1",
        s3_addressing_style="path",
    )
    return box


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task is running."""
    instance = SimpleNamespace(
        dag_id="sales", run_id=RUN, task_id="extract", map_index=-1, id=None, try_number=1,
        start_date=None, next_method=None,
    )  # fmt: skip
    monkeypatch.setattr(task, "context", lambda: {"ti": instance})


#: Of a frame of four row groups: two are encoded at the same time, and one is on its way before
#: the last is begun.
ROWS = 640_000


def big() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(3).random((ROWS, 12)))  # 61 MB


def parts(proxy: CountingProxy) -> list[Recorded]:
    return [r for r in proxy.requests if r.method == "PUT" and "partNumber=" in r.target]


def aborts(proxy: CountingProxy) -> list[Recorded]:
    """Those that the server took.

    VersityGW removes the upload's folder, and answers 500 while a part that was cut off is still
    being written there; the request is then made again.
    """
    asked = [r for r in proxy.requests if r.method == "DELETE" and "uploadId=" in r.target]
    return [r for r in asked if r.status != 500]


def hold_last_group(monkeypatch: pytest.MonkeyPatch, before: Any) -> None:
    """Calls `before` when the last rows of a frame are about to be encoded."""
    from airfreight.values._columns import to_arrow

    monkeypatch.setattr(_parquet, "_MOST_THREADS", 2)
    writing = False

    def held(column: Any, start: int, stop: int) -> Any:
        nonlocal writing
        # A sample, which is looked at first, has fewer rows than any group but the last.
        writing = writing or stop - start >= 64 << 10
        if writing and stop == ROWS:
            before()
        return to_arrow(column, start, stop)

    monkeypatch.setattr(pandas_, "to_arrow", held)


@pytest.mark.s3
def test_a_frame_is_on_its_way_while_it_is_still_encoded(
    s3: Box, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = threading.Event()
    proxy.script = lambda request: first.set() if "partNumber=" in request.target else None
    hold_last_group(monkeypatch, lambda: first.wait(60) or pytest.fail("no part was sent"))
    frame = big()
    row = stored(s3.push(frame))
    assert len(parts(proxy)) >= 3
    pd.testing.assert_frame_equal(s3.pull(row), frame)


@pytest.mark.s3
def test_a_codec_that_fails_leaves_nothing_in_the_store(
    s3: Box, proxy: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = threading.Event()
    proxy.script = lambda request: first.set() if "partNumber=" in request.target else None

    def fail() -> None:
        assert first.wait(60)
        raise MemoryError("in the codec")

    hold_last_group(monkeypatch, fail)
    with pytest.raises(MemoryError, match="in the codec"):
        s3.push(big())
    assert len(aborts(proxy)) == 1
    assert s3.objects() == []


class ExecutionTimeoutError(Exception):
    pass


def raises(*_: Any) -> None:
    raise ExecutionTimeoutError("the task's time is over")


@pytest.mark.s3
@pytest.mark.parametrize("signum", [signal.SIGALRM, signal.SIGTERM])
def test_a_signal_ends_a_stalled_upload_and_removes_its_parts(
    s3: Box, proxy: CountingProxy, signum: int
) -> None:
    release = threading.Event()

    def script(request: Recorded) -> None:
        if "partNumber=" in request.target:
            os.kill(os.getpid(), signum)
            release.wait(120)

    proxy.script = script
    before = signal.signal(signum, raises)
    try:
        with pytest.raises(ExecutionTimeoutError):
            s3.push(big())
        assert aborts(proxy)  # Long before the parts would have been answered.
    finally:
        # Signals of the other parts that were under way.
        signal.signal(signum, signal.SIG_IGN)
        release.set()
        signal.signal(signum, before)


@pytest.mark.s3
def test_a_small_frame_takes_one_put(s3: Box, proxy: CountingProxy) -> None:
    s3.push(pd.DataFrame({"a": [1]}))
    assert [request.method for request in proxy.requests] == ["PUT"]


# put_stream, get(to=…)


class Reader:
    """A file that only has `read`, and gives less than it is asked for."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, 100_000))


DATA = np.random.default_rng(5).bytes(20_000_000)


@pytest.mark.s3
@pytest.mark.parametrize("make", [io.BytesIO, Reader], ids=["readinto", "read"])
def test_a_stream_is_bytes(
    s3: Box, proxy: CountingProxy, running: None, make: Any, tmp_path: Path
) -> None:
    reference = airfreight.put_stream(make(DATA), name="raw")
    assert reference.type == "bytes"
    assert reference.size_bytes == len(DATA)
    assert "20.0 MB" in reference.summary
    assert len(parts(proxy)) >= 2
    assert airfreight.get(reference) == DATA
    path = tmp_path / "raw.bin"
    assert airfreight.get(reference, to=path) == path
    assert path.read_bytes() == DATA
    assert airfreight.get(airfreight.put_stream(make(b""), name="empty")) == b""


def test_a_stream_of_text_is_an_error_that_leaves_nothing(box: Box, running: None) -> None:
    with pytest.raises(TypeError, match="binary mode"):
        airfreight.put_stream(io.StringIO("text"))
    assert box.objects() == []


@pytest.mark.s3
def test_a_stream_that_breaks_leaves_nothing(s3: Box, proxy: CountingProxy, running: None) -> None:
    class Breaking(Reader):
        count = 0

        def read(self, size: int) -> bytes:
            self.count += 1
            if self.count > 150:
                raise OSError("the pipe broke")
            return super().read(size)

    with pytest.raises(OSError, match="the pipe broke"):
        airfreight.put_stream(Breaking(DATA))
    assert len(aborts(proxy)) == 1
    assert s3.objects() == []


def test_a_file_that_is_there_stays_when_the_object_is_damaged(
    box: Box, running: None, tmp_path: Path
) -> None:
    reference = airfreight.put(b"x" * 1000)
    path = tmp_path / "out.bin"
    path.write_bytes(b"before")
    file = Path(reference.uri.removeprefix("file://"))
    harm(file, b"y" * 1000)
    with pytest.raises(airfreight.CorruptError):
        airfreight.get(reference, to=str(path))
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in path.parent.iterdir() if entry.suffix == ".bin"] == ["out.bin"]
    with pytest.raises(airfreight.Error, match="nowhere"):
        airfreight.get(reference, to=tmp_path / "nowhere" / "x")
    with pytest.raises(airfreight.InvalidError):
        airfreight.get(reference, to=str(path), columns=["a"])


# Lists.


@pytest.mark.s3
def test_lists_of_values_take_one_request_each(
    s3: Box, proxy: CountingProxy, running: None
) -> None:
    values: list[Any] = [f"{n}".encode() for n in range(50)]
    values += [{"n": 1}, (1, 2), np.arange(3), pd.DataFrame({"a": [1]}), None]
    references = airfreight.put_many(values)
    assert [r.method for r in proxy.requests] == ["PUT"] * 55
    assert [reference.type for reference in references[-5:]] == [
        "json", "document", "numpy.ndarray", "pandas.DataFrame", "json",
    ]  # fmt: skip
    proxy.clear()
    found = airfreight.get_many(references)
    assert [r.method for r in proxy.requests] == ["GET"] * 55
    assert proxy.connections <= 32
    assert found[:52] == values[:52]
    assert found[52].tolist() == [0, 1, 2]
    assert found[53].equals(values[53])
    assert found[54] is None
    assert airfreight.get_many([]) == airfreight.put_many([]) == []


def test_the_first_error_of_a_list_is_raised_with_its_reference(box: Box, running: None) -> None:
    references = airfreight.put_many([b"a", b"b", b"c"])
    Path(references[1].uri.removeprefix("file://")).unlink()
    with pytest.raises(airfreight.NotFoundError) as caught:
        airfreight.get_many(references)
    assert caught.value.uri == references[1].uri
    with pytest.raises(TypeError):
        airfreight.get_many([references[0], "text"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="lock"):
        airfreight.put_many([b"a", threading.Lock()])


# pull


class Instance(SimpleNamespace):
    """A task instance of Airflow 3, or of Airflow 2, whose pulls have no `run_id`."""

    def xcom_pull(
        self, task_ids: Any = None, dag_id: Any = None, key: str = "k", **more: Any
    ) -> Any:
        self.asked = {"task_ids": task_ids, "dag_id": dag_id, "key": key, **more}
        return airfreight.XComBackend.deserialize_value(SimpleNamespace(value=self.row))


def test_pull_takes_what_a_task_returned_or_some_columns_of_it(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(airfreight.InvalidError, match="inside a task"):
        airfreight.pull("extract")
    instance = Instance(row=stored(box.push(pd.DataFrame({"a": [1], "b": [2]}))))
    monkeypatch.setattr(task, "context", lambda: {"ti": instance})
    assert airfreight.pull("extract").shape == (1, 2)
    assert instance.asked == {"task_ids": "extract", "dag_id": None, "key": "return_value"}
    assert list(airfreight.pull("extract", map_indexes=3, columns=["b"]).columns) == ["b"]
    assert instance.asked["map_indexes"] == 3
    with pytest.raises(airfreight.InvalidError, match="'a', 'b'"):
        airfreight.pull("extract", columns=["c"])
    instance.row = stored(box.push({"small": 1}))
    assert airfreight.pull("extract") == {"small": 1}
    with pytest.raises(airfreight.InvalidError, match="the value is no frame"):
        airfreight.pull("extract", columns=["c"])
    assert box.pull(instance.row) == {"small": 1}  # It held for the pull only.
    with pytest.raises(airfreight.InvalidError, match="no other run"):
        airfreight.pull("extract", run_id="other")


def test_a_pull_ends_with_its_own_error_only(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance(row=stored(box.push(b"x")))
    monkeypatch.setattr(task, "context", lambda: {"ti": instance})
    with contextlib.suppress(airfreight.InvalidError):
        airfreight.pull(columns=["a"])
    assert airfreight.pull() == b"x"


def test_a_sink_that_was_given_up_has_no_content() -> None:
    from airfreight._core import Sink

    sink = Sink()
    sink.write(b"half")
    sink.abandon()
    # A library closes its file after an error too, and writes to that end.
    assert sink.write(b"the end") == len(b"the end")
    with pytest.raises(ValueError, match="given up"):
        sink.getvalue()

"""Files, folders and bytes as values."""

from __future__ import annotations

import array
import errno
import gc
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import numpy as np
import pytest
from tests import leaks
from tests.oracle import assert_same
from tests.python.conftest import Box, harm, stored
from tests.servers.versitygw import VersityGW

import airfreight
from airfreight import exchange, parts, values
from airfreight import files as airfreight_files
from airfreight.values import Options, _leaves, files, new_sink

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder for what is pulled."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def tree(path: Path) -> dict[str, Any]:
    """All that travels of what lies at a path."""
    found: dict[str, Any] = {}
    for at in [path, *sorted(path.rglob("*"))]:
        name = os.fspath(at.relative_to(path.parent))
        status = at.lstat()
        content: Any = None
        if at.is_symlink():
            content = os.readlink(at)
        elif at.is_file():
            content = at.read_bytes()
        mode = None if at.is_symlink() else status.st_mode
        found[name] = (mode, content, None if at.is_symlink() else status.st_mtime_ns)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data é"
    (made / "deep" / "empty").mkdir(parents=True)
    (made / "a.txt").write_bytes(b"hello")
    (made / "nothing").touch()
    (made / "deep" / "b.bin").write_bytes(os.urandom(100_000))
    (made / "deep" / os.fsdecode(b"\xff not utf-8")).write_bytes(b"x")
    (made / ("long" * 50)).write_bytes(b"y")
    (made / "link").symlink_to("deep/b.bin")
    (made / "deep" / "up").symlink_to("../a.txt")
    (made / "dangling").symlink_to("not there")
    (made / "a.txt").chmod(0o640)
    (made / "deep" / "b.bin").chmod(0o755)
    (made / "deep" / "empty").chmod(0o500)
    os.utime(made / "a.txt", (1e9, 1e9 + 0.25))
    return made


@pytest.mark.parametrize(
    "time",
    [0, 1, -1, -(10**9), -(10**18) - 7, 10**18 + 1, 1_796_028_618_170_140_899, 2**33 * 10**9 + 7],
)
def test_times_come_back_to_the_nanosecond(box: Box, tmp_path: Path, time: int) -> None:
    path = tmp_path / "dated"
    path.mkdir()
    (path / "file").write_bytes(b"x")
    for one in (path / "file", path):
        os.utime(one, ns=(time, time))
    back = box.through(airfreight.File(path))
    assert tree(back.path) == tree(path)


@pytest.mark.parametrize("text", ["9" * 21, "1e9", "nan", "-", "1.", "0x1", "", "1 "])
def test_a_time_of_another_spelling_is_read_as_tar_reads_it(text: str) -> None:
    info = tarfile.TarInfo("x")
    info.pax_headers, info.mtime = {"mtime": text}, 5
    assert files._time_of(info) == 5 * 10**9


def test_a_file_comes_back_with_name_content_mode_and_time(box: Box, tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_bytes(b"a,b\n1,2\n")
    path.chmod(0o640)
    os.utime(path, (1e9, 1e9 + 0.5))
    row = box.push(airfreight.File(path))
    fields = box.fields(row)
    assert fields["_xcom_type"] == "airfreight.File"
    assert "report" not in fields["summary"]
    back = box.pull(stored(row))
    assert type(back) is airfreight.File
    assert back.path.name == "report.csv"
    assert back.path != path
    assert tree(back.path) == tree(path)
    with open(back) as file:
        assert file.readline() == "a,b\n"
    assert os.path.getsize(back) == 8


def test_a_folder_comes_back_with_all_that_is_in_it(box: Box, folder: Path, tmp_path: Path) -> None:
    row = box.push(airfreight.File(folder))
    assert tree(box.pull(row).path) == tree(folder)
    inside = box.through({"n": (1,), "where": [airfreight.File(folder)]}, key="inside")
    assert tree(inside["where"][0].path) == tree(folder)
    # Ordinary tools open it.
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["tar", "-xpf", box.file(row), "-C", out], check=True)
    assert tree(out / folder.name) == tree(folder)


def test_a_large_file_is_not_read_into_memory(box: Box, tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "large"
    with open(path, "wb") as file:
        for number in range(64):
            file.write(bytes([number]) * (1 << 20))
    value = airfreight.File(path)
    box.through(value)
    tracemalloc.start()
    back = box.through(value, key="second")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert back.path.stat().st_size == 64 << 20
    assert back.path.read_bytes() == path.read_bytes()


def test_of_many_values_no_file_is_read_into_memory(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "decode", Mock(side_effect=AssertionError))
    paths = [tmp_path / name for name in ("f0", "f1")]
    rows = [box.push(b"first" * 1000, key="first")]
    for path in paths:
        path.write_bytes(os.fsencode(path.name))
        rows.append(box.push(airfreight.File(path), key=path.name))
    rows.append(box.push(b"last" * 1000, key="last"))
    for found in (
        airfreight.get_many([box.fields(row) for row in rows]),
        exchange.unpack_many([stored(row) for row in rows]),
    ):
        assert (found[0], found[3]) == (b"first" * 1000, b"last" * 1000)
        assert [one.path.read_bytes() for one in found[1:3]] == [b"f0", b"f1"]
    (only,) = airfreight.get_many([box.fields(rows[1])])
    assert only.path.name == "f0"
    box.file(rows[2]).unlink()
    with pytest.raises(airfreight.NotFoundError) as caught:
        airfreight.get_many([box.fields(row) for row in rows])
    assert caught.value.xcom_key == "f1"


def test_what_was_pulled_goes_with_the_object(
    box: Box, tmp_path: Path, temporary: Path, folder: Path
) -> None:
    back = box.through(airfreight.File(folder))
    assert len(list(temporary.iterdir())) == 1
    # A forked child is not the owner.
    if (child := os.fork()) == 0:
        del back
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert back.path.exists()
    del back
    gc.collect()
    assert list(temporary.iterdir()) == []


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_many_files_hold_one_descriptor(box: Box, tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    row = box.push(airfreight.File(path))
    box.pull(row)
    before = descriptors()
    found = [box.pull(row) for _ in range(30)]
    assert descriptors() < before + 10
    assert len({one.path for one in found}) == 30
    assert len(list(temporary.iterdir())) == 1
    del found[10:]
    gc.collect()
    assert all(one.path.read_bytes() == b"x" for one in found)
    found.clear()
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_child_has_a_folder_of_its_own(box: Box, tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    data = memoryview(box.file(box.push(airfreight.File(path))).read_bytes())
    mine = files.decode(data)
    if (child := os.fork()) == 0:
        theirs = files.decode(data)
        apart = theirs.path.parent.parent != mine.path.parent.parent
        os._exit(0 if apart and theirs.path.exists() else 1)
    assert os.waitpid(child, 0)[1] == 0
    # What the child has left is removed, what the parent has is not.
    again = files.decode(data)
    assert mine.path.read_bytes() == again.path.read_bytes() == b"x"
    del again
    gc.collect()
    assert mine.path.exists()


@pytest.mark.parametrize("name", ["open", "rename"])
def test_a_folder_that_can_not_be_locked_or_named_is_not_left(
    box: Box, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    raised = OSError(errno.EMFILE, "too many")
    monkeypatch.setattr(airfreight_files, "_home", None)
    failing = SimpleNamespace(**(vars(os) | {name: Mock(side_effect=raised)}))
    monkeypatch.setattr(airfreight_files, "os", failing)
    before = descriptors()
    with pytest.raises(airfreight.UnavailableError, match="too many"):
        airfreight_files.Folder()
    assert list(temporary.iterdir()) == []
    assert descriptors() <= before


def test_folders_that_can_not_be_read_are_removed(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = airfreight_files.Folder()
    locked = Path(folder.path) / "a" / "b"
    locked.mkdir(parents=True)
    (locked / "f").touch()
    opened: set[str] = set()
    scandir, chmod = os.scandir, os.chmod

    # As for everybody but root.
    def noting(path: Any, mode: int, **options: Any) -> None:
        opened.add(os.fspath(path))
        chmod(path, mode, **options)

    def scanning(path: Any) -> Any:
        if os.fspath(path) not in opened:
            raise PermissionError(errno.EACCES, "denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "chmod", noting)
    monkeypatch.setattr(os, "scandir", scanning)
    folder.remove()
    monkeypatch.undo()
    assert not Path(folder.path).exists()


def test_a_deep_folder_comes_back_and_goes(box: Box, tmp_path: Path, temporary: Path) -> None:
    deep = os.fspath(tmp_path / "d")
    for _ in range(1200):
        os.mkdir(deep)
        deep += "/d"
    Path(deep).write_bytes(b"x")
    try:
        back = box.through(airfreight.File(tmp_path / "d"))
        assert Path(os.fspath(back.path) + deep.removeprefix(f"{tmp_path}/d")).read_bytes() == b"x"
        del back
        gc.collect()
        assert list(temporary.iterdir()) == []
    finally:
        airfreight_files._remove(os.fspath(tmp_path / "d"))
    assert not (tmp_path / "d").exists()


def test_what_a_killed_process_left_is_removed_by_the_next_pull(
    box: Box, tmp_path: Path, temporary: Path
) -> None:
    program = (
        "import os, tempfile; from airfreight.files import Folder; f = Folder(); "
        "print(f.path, flush=True); os._exit(1)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    left = Path(done.stdout.strip()).parent
    assert left.parent == temporary
    assert left.exists()
    path = tmp_path / "f"
    path.write_bytes(b"x")
    one = box.through(airfreight.File(path))
    assert not left.exists()
    another = box.through(airfreight.File(path), key="b")
    # That of a living one is not.
    assert one.path.read_bytes() == another.path.read_bytes() == b"x"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: (path / "l").symlink_to("/etc/passwd"), "leads to '/etc/passwd', outside"),
        (lambda path: (path / "l").symlink_to("../other"), "outside of the folder"),
        (lambda path: (path / "l").symlink_to("d/../../other"), "outside of the folder"),
        (lambda path: os.mkfifo(path / "pipe"), "neither a file nor a folder nor a link"),
    ],
    ids=["absolute", "up", "through", "pipe"],
)
def test_what_can_not_travel_is_refused(box: Box, tmp_path: Path, make: Any, words: str) -> None:
    path = tmp_path / "f"
    path.mkdir()
    make(path)
    with pytest.raises(TypeError, match=words):
        box.push(airfreight.File(path))
    with pytest.raises(TypeError, match=rf"^value\['k'\]: .*{words}"):
        box.push({"k": airfreight.File(path)})
    assert box.objects() == []


def test_a_file_that_is_not_there_is_refused(box: Box, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"airfreight\.File\('.*nowhere'\) can't be read"):
        box.push(airfreight.File(tmp_path / "nowhere"))
    with pytest.raises(TypeError, match="root"):
        box.push(airfreight.File("/"))
    with pytest.raises(TypeError, match="as text"):
        airfreight.File(b"x")  # type: ignore[arg-type]


class Meanwhile:
    """A sink at whose first write something happens."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act: Callable[[], object] | None = act
        self.abandoned = False

    def write(self, _data: Any) -> None:
        if self._act is not None:
            act, self._act = self._act, None
            act()

    def tell(self) -> int:
        return 0

    def abandon(self, *, hurry: bool = False) -> None:
        self.abandoned = True


def rewritten(path: Path) -> None:
    with open(path, "r+b") as file:
        file.write(b"y" * path.stat().st_size)


def grown(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b"x")


def replaced(path: Path, by: Callable[[Path], object]) -> None:
    path.unlink()
    by(path)


@pytest.mark.parametrize(
    "act",
    [
        rewritten,
        grown,
        lambda path: os.truncate(path, 0),
        lambda path: os.truncate(path, (3 << 20) + 1),
        lambda path: os.truncate(path, 5 << 20),
    ],
    ids=["rewritten", "grown", "emptied", "cut", "cut at a block"],
)
def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path, act: Any) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * ((6 << 20) + 100))
    # So that a change has another time, however fast it comes.
    os.utime(path, (1e9, 1e9))
    sink: Any = Meanwhile(lambda: act(path))
    with pytest.raises(airfreight.InvalidError, match="f' has changed while it was pushed"):
        files.encode(airfreight.File(path), Options(), lambda _form=None: sink)
    assert sink.abandoned


@pytest.mark.parametrize(
    "by",
    [
        lambda path: path.symlink_to("/etc/passwd"),
        os.mkfifo,
        lambda path: path.mkdir(),
        lambda path: None,
    ],
    ids=["link", "pipe", "folder", "nothing"],
)
def test_what_takes_the_place_of_a_file_is_not_read(tmp_path: Path, by: Any) -> None:
    path = tmp_path / "d" / "f"
    path.parent.mkdir()
    path.write_bytes(b"x")
    sink: Any = Meanwhile(lambda: replaced(path, by))
    with pytest.raises(airfreight.InvalidError, match="f' has changed while it was pushed"):
        files.encode(airfreight.File(path.parent), Options(), lambda _form=None: sink)
    assert sink.abandoned


def test_a_link_is_sent_as_it_was_when_it_was_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "d" / "l"
    path.parent.mkdir()
    path.symlink_to("inside")
    kept = new_sink()
    act = Meanwhile(lambda: replaced(path, lambda it: it.symlink_to("/etc/passwd")))

    class Both(Meanwhile):
        def write(self, data: Any) -> None:
            act.write(data)
            kept.write(data)

    sink: Any = Both(lambda: None)
    files.encode(airfreight.File(path.parent), Options(), lambda _form=None: sink)
    back = files.decode(memoryview(bytearray(kept.getvalue())))
    assert os.readlink(back.path / "l") == "inside"


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_what_is_no_path_is_refused(box: Box, tmp_path: Path, name: str) -> None:
    with pytest.raises(TypeError, match=r"^value: airfreight\.File\(.* can't be read"):
        box.push(airfreight.File(tmp_path / name))
    with pytest.raises(TypeError, match=r"^value\[0\]: airfreight\.File\(.* can't be read"):
        box.push([airfreight.File(tmp_path / name)])


def test_a_link_to_a_file_is_that_file_by_the_name_of_the_link(box: Box, tmp_path: Path) -> None:
    (tmp_path / "v7").write_bytes(b"x")
    (tmp_path / "latest").symlink_to("v7")
    back = box.through(airfreight.File(tmp_path / "latest"))
    assert (back.path.name, back.path.read_bytes()) == ("latest", b"x")
    assert not back.path.is_symlink()


def test_the_folder_where_one_is_has_its_name(
    box: Box, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert box.through(airfreight.File(".")).path.name == folder.name


def archive(*members: tuple[Any, ...]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = target
            info.mode = 0o777
            tar.addfile(info)
    return file.getvalue()


DIR, REG, LINK, HARD = tarfile.DIRTYPE, tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.mark.parametrize(
    "members",
    [
        [("../evil", REG, "")],
        [("/evil", REG, "")],
        [("d", DIR, ""), ("d/../../evil", REG, "")],
        [("d", DIR, ""), ("d/../evil", REG, "")],
        [("d", DIR, ""), ("d/l", LINK, "/etc")],
        [("d", DIR, ""), ("d/l", LINK, "..")],
        [("d", DIR, ""), ("d/l", LINK, "x/../..")],
        [("d", DIR, ""), ("d/l", LINK, "."), ("d/l/evil", REG, "")],
        [("d", DIR, ""), ("d/f", REG, ""), ("d/f", REG, "")],
        [("d", DIR, ""), ("d/h", HARD, "/etc/passwd")],
        [("d", DIR, ""), ("d/p", tarfile.FIFOTYPE, "")],
        [("d", DIR, ""), ("d/c", tarfile.CHRTYPE, "")],
        [("d", DIR, ""), ("e", DIR, "")],
        [("d", DIR, ""), ("d/no/f", REG, "")],
        [("l", LINK, "x")],
        [],
    ],
    ids=str,
)
def test_an_archive_that_no_push_makes_is_not_unpacked(
    members: list[Any], temporary: Path, tmp_path: Path
) -> None:
    before = set(tmp_path.rglob("*"))
    with pytest.raises((ValueError, tarfile.TarError)):
        files.decode(memoryview(archive(*members)))
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("why", ["nowhere", "no descriptors", "no room"])
def test_a_machine_without_room_is_no_damage(
    box: Box, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    rows = [box.push(airfreight.File(path)), box.push([airfreight.File(path)], key="inside")]

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EMFILE if why == "no descriptors" else errno.ENOSPC, why)

    if why == "nowhere":
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    elif why == "no room":
        monkeypatch.setattr(files, "_write", fail)
    else:
        monkeypatch.setattr("tempfile.mkdtemp", fail)
    for row in rows:
        with pytest.raises(airfreight.UnavailableError, match="let TMPDIR name a folder with room"):
            box.pull(row)
    references = [box.fields(row) for row in rows]
    for fields, data in zip(references, exchange.fetch(references), strict=True):
        with pytest.raises(airfreight.UnavailableError, match="TMPDIR"):
            exchange.decode(fields, data)
    assert list(temporary.iterdir()) == []


def test_an_error_of_the_machine_in_a_decoder_is_no_damage(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary: Any = values.for_type("bytes")
    value = b"x" * 100_000
    rows = [box.push(value), box.push([value], key="inside")]

    # The second is what Arrow says of bytes that it can't read.
    for raised, expected in (
        (OSError(errno.EMFILE, "too many files"), airfreight.UnavailableError),
        (OSError("not read"), airfreight.CorruptError),
    ):
        monkeypatch.setattr(binary, "decode", Mock(side_effect=raised))
        for row in rows:
            with pytest.raises(expected, match=r"too many files|not read"):
                box.pull(row)


@pytest.mark.s3
def test_files_and_streams_are_sent_in_parts(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "large"
    with open(path, "wb") as file:
        for number in range(40):
            file.write(bytes([number]) * (1 << 20))
    schema = pa.schema([("a", pa.int64())])

    def batches(last: Exception | None = None) -> Any:
        for number in range(40):
            yield pa.RecordBatch.from_arrays([pa.array([number] * 100_000)], schema=schema)
        if last is not None:
            raise last

    with VersityGW(bucket="bucket") as server:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.access_key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret_key)
        box.set(
            store="s3://bucket/files",
            s3_endpoint_url=server.endpoint,
            s3_region="us-east-1",
            s3_addressing_style="path",
            compression="none",
        )
        back = box.through(airfreight.File(path))
        assert back.path.read_bytes() == path.read_bytes()
        row = box.push(pa.RecordBatchReader.from_batches(schema, batches()), key="stream")
        assert box.fields(row)["size_bytes"] > 30_000_000
        assert sum(len(batch) for batch in box.pull(row)) == 4_000_000
        failing = pa.RecordBatchReader.from_batches(schema, batches(LookupError("no more")))
        with pytest.raises(Exception, match="no more"):
            box.push(failing, key="failing")
        assert not [key for key in box.objects() if "failing" in key]


# Bytes.


@pytest.mark.parametrize(
    "value",
    [
        bytearray(b""),
        bytearray(b"\x00\xff" * 50_000),
        memoryview(b"readonly"),
        memoryview(bytearray(b"writable")),
        memoryview(b""),
        memoryview(array.array("d", [1.5, float("nan")])),
        memoryview(array.array("l", range(6))).cast("B").cast("l", [2, 3]),
        memoryview(b"\x01\x00").cast("?"),
        memoryview(b"abc").cast("c"),
    ],
    ids=repr,
)
def test_buffers_come_back_as_they_were(box: Box, value: Any) -> None:
    row = box.push(value)
    assert box.fields(row)["_xcom_type"] == type(value).__name__
    back = box.pull(stored(row))
    assert type(back) is type(value)
    assert bytes(back) == bytes(value)
    if isinstance(value, memoryview):
        shown = [(it.format, it.shape, it.readonly) for it in (back, value)]
        assert shown[0] == shown[1]
        with zipfile.ZipFile(box.file(row)) as opened:
            assert opened.read("data.bin") == bytes(value)
        inside = box.through((1, value))[1]
        assert (inside.format, inside.tobytes()) == (value.format, value.tobytes())
    else:
        assert box.file(row).read_bytes() == value
        assert_same(box.through((1, value)), (1, value))


def test_a_view_that_bytes_do_not_make_again_is_refused(box: Box) -> None:
    for view in (memoryview(b"abcdef")[::2], memoryview(array.array("d", [1, 2]))[::-1]):
        with pytest.raises(TypeError, match=r"contiguous ones.*value\.tobytes\(\)"):
            box.push(view)


@pytest.mark.parametrize(
    "text", ["é" * 60_000, "a\x00b" * 20_000, "\ud800" * 50_000, "\U0010ffff" * 20_000, "\\u0000"]
)
def test_text_of_any_code_points_comes_back(box: Box, text: str) -> None:
    assert_same(box.through(text), text)
    assert_same(box.through({"k": [text]}), {"k": [text]})


GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "file" / "v1"


def test_golden_files_are_read() -> None:
    back = files.decode(memoryview((GOLDEN / "folder.tar").read_bytes()))
    assert back.path.name == "folder"
    found = tree(back.path)
    assert {name: content for name, (_, content, _) in found.items()} == {
        "folder": None,
        "folder/a.txt": b"hello\n",
        "folder/deep": None,
        "folder/deep/up": "../a.txt",
        "folder/é": b"",
    }
    assert found["folder/a.txt"][0] & 0o777 == 0o640
    assert found["folder/a.txt"][2] == 1_000_000_000_250_000_000
    view: Any = values.for_type("memoryview")
    doubles = view.decode(memoryview((GOLDEN / "doubles.zip").read_bytes()))
    assert (doubles.format, doubles.shape, doubles.tolist()) == ("d", (2, 1), [[1.5], [-2.0]])


def test_the_same_folder_has_the_same_bytes(folder: Path) -> None:
    bodies: list[Any] = [
        files.encode(airfreight.File(folder), Options(), new_sink).body for _ in range(2)
    ]
    assert bodies[0].getvalue() == bodies[1].getvalue()


# Inside of others.


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large"
    with path.open("wb") as file:
        for number in range(20):
            file.write(bytes([number]) * (1 << 20))
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each call of a reader of parts gives; nothing else may give any."""
    lengths: list[int] = []
    read = parts._Reader.read

    def noting(self: Any, ranges: Any) -> Any:
        lengths.append(sum(length for _, length in ranges))
        return read(self, ranges)

    monkeypatch.setattr(parts._Reader, "read", noting)
    monkeypatch.setattr(files, "decode", Mock(side_effect=AssertionError))
    monkeypatch.setattr(_leaves, "_PIECE_BYTES", 4 << 20)
    return lengths


def test_a_file_inside_of_others_is_not_read_into_memory(
    box: Box, large: Path, reads: list[int], tmp_path: Path
) -> None:
    import tracemalloc

    value = {"model": airfreight.File(large), "n": 3, "x": np.arange(9000.0)}
    box.push(value, key="first")
    tracemalloc.start()
    row = stored(box.push(value))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    fields = box.fields(row)
    for read in (
        lambda: box.pull(row),
        lambda: airfreight.get(fields),
        lambda: airfreight.get_many([fields])[0],
        lambda: exchange.unpack_many([row])[0],
    ):
        found = read()
        assert tree(found["model"].path) == tree(large)
        assert found["n"] == 3
        assert found["x"].tolist() == value["x"].tolist()
    assert tree(airfreight.get(fields, "model").path) == tree(large)
    airfreight.get(fields, "model", to=tmp_path / "model.tar")
    with tarfile.open(tmp_path / "model.tar") as archive:
        assert archive.getnames() == ["large"]
    assert max(reads) == 4 << 20
    assert sum(reads) > 6 * (20 << 20)


def test_files_of_a_mappable_are_not_read_into_memory(
    box: Box, large: Path, reads: list[int]
) -> None:
    value = airfreight.mappable([b"x" * 50_000, airfreight.File(large), 7])
    found = box.through(value)
    assert tree(found[1].path) == tree(large)
    (first, second, third) = found
    assert (first, third) == (b"x" * 50_000, 7)
    assert tree(second.path) == tree(large)
    assert max(reads) <= 4 << 20


def test_where_the_row_does_not_tell_of_files_large_objects_are_looked_into(
    box: Box, large: Path, reads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = box.fields(stored(box.push({"model": airfreight.File(large)})))
    monkeypatch.setattr(parts, "_WORTH_LOOKING", 1)
    for told in ({}, {"columns": [["x", "bytes"]], "columns_cut": True}):
        other = {name: it for name, it in row.items() if name != "columns"} | told
        assert tree(box.pull(other)["model"].path) == tree(large)
    assert reads
    assert not parts.lands(row | {"columns": [["x", "bytes"]]})


def test_what_is_signed_is_checked_as_a_whole_whatever_its_columns_say(
    box: Box, large: Path, reads: list[int], temporary: Path
) -> None:
    """The signed digest is the whole's: what is not signed must not have only parts checked."""
    box.set(signing_keys=leaks.key("k1"))
    row = box.fields(stored(box.push({"model": airfreight.File(large), "x": b"y" * 9000})))
    found = box.pull(row)
    assert tree(found["model"].path) == tree(large)
    assert found["x"] == b"y" * 9000
    assert reads == []
    del found
    file = box.file(row)
    data = bytearray(file.read_bytes())
    data[10 << 20] ^= 1
    harm(file, data)
    with pytest.raises(airfreight.CorruptError, match="digest"):
        box.pull(row)
    assert reads == []


def test_a_damaged_file_inside_of_others_leaves_nothing(
    box: Box, large: Path, temporary: Path
) -> None:
    row = box.fields(stored(box.push({"model": airfreight.File(large), "x": b"y" * 9000})))
    file = box.file(row)
    data = bytearray(file.read_bytes())
    data[10 << 20] ^= 1
    harm(file, data)
    with pytest.raises(airfreight.CorruptError) as caught:
        box.pull(row)
    assert caught.value.task == "extract"
    assert list(temporary.iterdir()) == []
    assert airfreight.get(row, "x") == b"y" * 9000


def test_a_machine_without_room_for_a_part_is_no_damage(
    box: Box, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = stored(box.push({"model": airfreight.File(large)}))

    def full(_: Any) -> Any:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(files, "decode_pieces", full)
    with pytest.raises(airfreight.UnavailableError, match="no room"):
        box.pull(row)

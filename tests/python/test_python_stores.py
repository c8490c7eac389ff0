"""Stores that are written in Python: a package's own, and what fsspec reaches."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.python.conftest import Box, harm, stored
from tests.python.test_stores import configure, pull

import airfreight
from airfreight import connections, exchange, runtime, stores
from airfreight.stores import Info, ObjectStore, _fsspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKAGES = Path(__file__).resolve().parent.parent / "packages"


@pytest.fixture
def toy(box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Box]:
    """A backend on the store of another package, whose folder an Airflow connection names."""
    monkeypatch.syspath_prepend(str(PACKAGES / "toystore"))
    connection = {"conn_type": "generic", "extra": {"folder": str(tmp_path / "toys")}}
    monkeypatch.setenv("AIRFLOW_CONN_TOYS", json.dumps(connection))
    box.set(store="toy://toys@box/xcom")
    yield box
    sys.modules.pop("toystore", None)


def test_a_store_of_another_package_keeps_and_gives_back(toy: Box, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": range(1000), "b": "x"})
    row = toy.fields(stored(toy.push(frame)))
    assert row["_xcom_backend"] == "toy"
    assert row["uri"].startswith("toy://box/xcom/sales/")
    assert (tmp_path / "toys" / "box.sqlite").exists()
    pd.testing.assert_frame_equal(pull(toy, row), frame)
    assert list(airfreight.get(row, columns=["a"])["a"]) == list(range(1000))
    exchange.purge(row)
    with pytest.raises(airfreight.NotFoundError, match=r"toy://box/xcom/sales"):
        pull(toy, row)


def test_what_is_larger_than_a_piece_is_put_and_read_whole(toy: Box) -> None:
    value = bytes(range(256)) * (100_000)
    assert toy.through(value) == value


def test_many_are_put_and_got_from_threads(toy: Box) -> None:
    rows = [toy.fields(stored(toy.push(b"%d" % i, map_index=i))) for i in range(20)]
    assert airfreight.get_many(rows) == [b"%d" % i for i in range(20)]


def test_a_later_attempt_replaces_and_an_earlier_one_does_not(
    toy: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = toy.fields(stored(toy.push(b"1")))
    runtime.forget()  # As another process.
    second = toy.fields(stored(toy.push(b"2")))
    assert pull(toy, second) == b"2"
    with pytest.raises(airfreight.ReplacedError):
        pull(toy, first)


def test_a_store_of_the_policy_has_settings_of_its_own(
    toy: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = toy.fields(stored(toy.push(b"value")))
    toy.set(store=f"file://{toy.root}")
    configure(monkeypatch, {"toys": ("toy://box/xcom", {"folder": str(tmp_path / "toys")})})
    assert pull(toy, row) == b"value"
    configure(monkeypatch, {"toys": ("toy://box/xcom", {})})
    with pytest.raises(airfreight.ConfigError, match="no setting 'folder'"):
        pull(toy, row)


def test_a_scheme_that_nobody_registered_is_refused(box: Box) -> None:
    box.set(store="toy://box/xcom")
    with pytest.raises(airfreight.ConfigError, match=r"must begin with s3://"):
        box.push(b"x")


def register(path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    folder = path / f"{name}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[airfreight.stores]\ntoy = {value}\n")
    monkeypatch.syspath_prepend(str(path))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("nowhere:Store", "can't be loaded from the package one: ModuleNotFoundError"),
        ("json:dumps", "no subclass of airfreight.stores.ObjectStore"),
    ],
)
def test_a_package_whose_store_is_none_is_named(
    box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str, said: str
) -> None:
    register(tmp_path / "one", monkeypatch, "one", value)
    box.set(store="toy://box/xcom")
    with pytest.raises(airfreight.ConfigError, match=said):
        box.push(b"x")


def test_two_packages_for_one_scheme_are_both_named(toy: Box, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        register(tmp_path / "two", patch, "two", "other:Store")
        with pytest.raises(airfreight.ConfigError, match="toystore, two"):
            stores.store_class("toy")


# What a store raises.


class Failing(ObjectStore):
    """Raises what it is told, as often as told; then there is nothing."""

    raised: BaseException = FileNotFoundError()
    times = 1_000_000
    calls = 0

    def head(self, key: str) -> Info:
        type(self).calls += 1
        if self.calls <= self.times:
            raise self.raised
        raise FileNotFoundError(key)

    def get(self, key: str, offset: int, length: int) -> tuple[Info, bytes]:
        return self.head(key), b""

    def put(self, key: str, *_: Any, **__: Any) -> str:
        self.head(key)
        return ""

    def remove(self, key: str, *, condition: str | None) -> None:
        self.head(key)

    def list(self, prefix: str, after: str, limit: int) -> Any:
        return [(prefix, self.head(prefix))], ""


@pytest.fixture
def failing(box: Box, monkeypatch: pytest.MonkeyPatch) -> type[Failing]:
    kind = type("Failing", (Failing,), {})
    monkeypatch.setattr(stores, "is_python", lambda scheme: scheme == "failing")
    monkeypatch.setattr(stores, "store_class", lambda _: kind)
    box.set(store="failing://place/xcom", timeout="0.2")
    return kind


@pytest.mark.parametrize(
    ("raised", "expected", "said"),
    [
        (PermissionError("not yours"), airfreight.DeniedError, "PermissionError: not yours"),
        (ConnectionResetError("gone"), airfreight.UnavailableError, "ConnectionResetError: gone"),
        (TimeoutError("slow"), airfreight.UnavailableError, "slow"),
        (airfreight.ThrottledError("less", retryable=False), airfreight.ThrottledError, "less"),
        (
            ZeroDivisionError("of its own"),
            airfreight.InternalError,
            "ZeroDivisionError: of its own",
        ),
        (KeyError("\x00\ud800" * 300), airfreight.InternalError, "KeyError"),
    ],
)
def test_what_a_store_raises_is_an_error_of_its_kind(
    box: Box, failing: Any, raised: Exception, expected: type[airfreight.Error], said: str
) -> None:
    failing.raised = raised
    with pytest.raises(expected) as caught:
        box.push(b"x")
    assert said in str(caught.value)
    assert caught.value.task == "extract"
    retried = isinstance(raised, (ConnectionError, TimeoutError))
    assert (failing.calls > 1) == retried


def test_what_may_pass_is_tried_again(box: Box, failing: Any) -> None:
    box.set(timeout=60)
    failing.raised, failing.times = ConnectionError("once"), 1
    with pytest.raises(airfreight.NotFoundError):
        box.push(b"x")
    assert failing.calls > 1


class StopError(BaseException):
    """As a time-out of Airflow's, which is no Exception."""


@pytest.mark.parametrize("raised", [StopError(), KeyboardInterrupt()])
def test_what_is_meant_for_the_task_reaches_it(
    box: Box, failing: Any, raised: BaseException
) -> None:
    failing.raised = raised
    with pytest.raises(type(raised)) as caught:
        box.push(b"x")
    assert caught.value is raised
    assert failing.calls == 1
    # And is over then.
    failing.raised = PermissionError("later")
    with pytest.raises(airfreight.DeniedError):
        box.push(b"x")


class Keeping(Failing):
    """Keeps the views that it is given."""

    kept: list[Any] = []  # noqa: RUF012

    def head(self, key: str) -> Info:
        raise FileNotFoundError(key)

    def put(self, key: str, body: Any, **_: Any) -> str:
        self.kept.extend(body)
        return "1"


def test_what_a_store_was_given_to_write_ends_with_the_call(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "is_python", lambda scheme: scheme == "failing")
    monkeypatch.setattr(stores, "store_class", lambda _: Keeping)
    box.set(store="failing://place/xcom")
    box.push(b"x")
    (view,) = Keeping.kept
    with pytest.raises(ValueError, match="released"):
        bytes(view)
    Keeping.kept.clear()


# fsspec.


@pytest.fixture
def files(box: Box, tmp_path: Path) -> Box:
    """A backend on fsspec's own local files."""
    pytest.importorskip("fsspec")
    box.set(store=f"fsspec+file://{tmp_path}/spec/xcom")
    return box


def test_fsspec_keeps_and_gives_back(files: Box, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": range(10)})
    row = files.fields(stored(files.push(frame)))
    assert row["_xcom_backend"] == "fsspec+file"
    pd.testing.assert_frame_equal(pull(files, row), frame)
    # An object is a file that every tool reads.
    path = Path(row["uri"].removeprefix("fsspec+file://"))
    pd.testing.assert_frame_equal(pd.read_parquet(path), frame)
    assert json.loads(Path(f"{path}.airfreight-meta").read_text())["metadata"]["af-attempt"] == "0"
    exchange.purge(row)
    assert not list(path.parent.iterdir())


def test_a_writer_that_was_killed_between_its_two_files_has_changed_nothing(
    files: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = files.fields(stored(files.push(b"first")))
    runtime.forget()
    write = _fsspec.FsspecStore._write

    def killed(self: Any, path: str, body: Any) -> None:
        if not path.endswith("-meta"):
            raise PermissionError("killed")
        write(self, path, body)

    monkeypatch.setattr(_fsspec.FsspecStore, "_write", killed)
    with pytest.raises(airfreight.DeniedError):
        files.push(b"other")
    monkeypatch.undo()
    assert pull(files, row) == b"first"
    runtime.forget()
    assert pull(files, files.fields(stored(files.push(b"again")))) == b"again"
    with pytest.raises(airfreight.ReplacedError):
        pull(files, row)


def test_what_was_damaged_is_corrupt(files: Box) -> None:
    row = files.fields(stored(files.push(b"value")))
    harm(Path(row["uri"].removeprefix("fsspec+file://")), b"valuf")
    with pytest.raises(airfreight.CorruptError):
        pull(files, row)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"host": "h", "port": "22", "login": "u", "password": "p"},
            {"username": "u", "password": "p", "port": 22},
        ),
        ({"options": '{"timeout": 3}', "extra": '{"timeout": 1, "a": 2}'}, {"timeout": 3, "a": 2}),
    ],
)
def test_a_connection_is_what_the_file_system_is_opened_with(
    monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, str], expected: dict[str, Any]
) -> None:
    fsspec = pytest.importorskip("fsspec")
    opened: list[Any] = []

    def open_(uri: str, **options: Any) -> Any:
        opened.append((uri, options))
        return fsspec.filesystem("memory"), "/srv/xcom"

    monkeypatch.setattr(fsspec.core, "url_to_fs", open_)
    stores.open_store("fsspec+sftp://host/srv/xcom", settings)
    ((uri, options),) = opened
    assert uri == "sftp://host/srv/xcom"
    quiet = {"skip_instance_cache": True, "use_listings_cache": False}
    assert options == {**quiet, **expected}


def test_the_extras_of_a_connection_may_hold_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = {
        "conn_type": "sftp",
        "host": "h",
        "port": 2222,
        "login": "u",
        "extra": {"fsspec_options": {"key_filename": "/k"}, "no_host_key_check": True},
    }
    monkeypatch.setenv("AIRFLOW_CONN_FILES", json.dumps(connection))
    assert connections.resolve("files", "fsspec").settings == {
        "host": "h",
        "port": "2222",
        "login": "u",
        "extra": '{"key_filename": "/k"}',
    }


@pytest.mark.parametrize(
    ("uri", "settings", "said"),
    [
        ("fsspec+nothing://x/y", {}, "can't be opened"),
        ("fsspec+file:///x", {"options": "SECRET"}, "must be a JSON object"),
        ("fsspec+file:///x", {"login": "u"}, "put it into the extras"),
        ("fsspec+file:///x", {"zzz": "u"}, "'zzz' is not known"),
    ],
)
def test_a_wrong_store_of_fsspec_is_an_error(uri: str, settings: Any, said: str) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(airfreight.ConfigError, match=said) as caught:
        stores.open_store(uri, settings)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("fsspec+memory://x/y", "with which it ends"),
        ("fsspec+sftp://", "no place"),
        ("fsspec+sftp://u:secret@host/x", "must not hold credentials"),
        ("fsspec+sftp://@host/x", "no connection id"),
        ("fsspec+sftp://host/a//b", "two slashes"),
    ],
)
def test_a_wrong_uri_is_refused_when_airflow_starts(box: Box, uri: str, said: str) -> None:
    box.set(store=uri)
    with pytest.raises(airfreight.ConfigError, match=said):
        box.push(b"x")


def test_stores_in_python_are_not_loaded_for_those_of_the_core(box: Box) -> None:
    loaded = {name: sys.modules.pop(name) for name in list(sys.modules) if "_fsspec" in name}
    box.through(b"x")
    assert not [name for name in sys.modules if "_fsspec" in name]
    sys.modules.update(loaded)

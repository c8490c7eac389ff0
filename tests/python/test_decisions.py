"""What a rule decides, carried out: the store, the limit, the digest, the time that a value has."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

import airfreight
from airfreight import config, exchange, runtime
from airfreight.values import json_

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WEEK = timedelta(days=7)


class Box:
    """Two stores, `default` and `eu`, and what is pushed to them under a policy."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self._patch = patch
        self._folder = folder
        self.rules("")

    def rules(self, text: str, **settings: str) -> None:
        """Sets the rules, as a process has them that starts now."""
        stores = f'[stores.eu]\nuri = "file://{self._folder}/eu"\n'
        settings = {"store": f"file://{self._folder}/default", "policy": stores + text} | settings
        for name, value in settings.items():
            self._patch.setenv(f"AIRFLOW__AIRFREIGHT__{name.upper()}", value)
        config.forget()
        runtime.forget()

    def push(self, value: Any, dag: str = "d", task: str = "t") -> Any:
        row = exchange.pack(value, self.address(dag, task))
        return json.loads(row) if isinstance(row, bytes) else row

    @staticmethod
    def address(dag: str = "d", task: str = "t") -> exchange.Address:
        return exchange.Address(dag, "r", task, "return_value", map_index=-1)

    def pull(self, row: Any) -> Any:
        return exchange.unpack(json.dumps(row).encode() if exchange.ROWS_ARE_BYTES else row)

    def files(self, store: str) -> list[str]:
        """The names of what lies in a store."""
        return sorted(path.name for path in (self._folder / store).rglob("*.*") if path.is_file())


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Box]:
    yield Box(monkeypatch, tmp_path)
    config.forget()
    runtime.forget()


TO_EU = """
[[rules]]
name = "eu"
dag = "sales_*"
store = "eu"
threshold = 0
"""


def test_values_go_to_the_store_of_their_rule_and_say_so(box: Box) -> None:
    np = pytest.importorskip("numpy")
    box.rules(TO_EU, threshold="0")
    for value in ("x" * 100, b"y" * 100, np.arange(10), [np.arange(2000), {"a": 1}]):
        here, there = box.push(value, "other"), box.push(value, "sales_eu")
        assert (here["store"], there["store"]) == ("default", "eu")
        assert "/eu/" in there["uri"]
        assert repr(box.pull(there)) == repr(box.pull(here)) == repr(value)


def test_references_stay_readable_when_the_rules_change(box: Box) -> None:
    box.rules(TO_EU)
    row = box.push("x" * 100, "sales_eu")
    box.rules("")
    assert box.pull(row) == "x" * 100
    exchange.purge(row)
    assert box.files("eu") == []


def test_the_same_xcom_under_another_rule_leaves_nothing_behind(box: Box) -> None:
    box.rules('[[rules]]\nmin_size = 50\nstore = "eu"', threshold="0")
    box.push("x" * 100)
    assert len(box.files("eu")) > 0
    box.push("x")
    assert box.files("eu") == []
    assert len(box.files("default")) > 0


class _Task:
    """A task that runs, as `put` finds it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        from airfreight import api

        self._names = iter("abcdefghijkl")
        patch.setattr(api, "_place", self.place)

    def place(self, *_: Any) -> Any:
        coordinate = runtime.coordinate("sales_eu", "r", "t", "", put_name=next(self._names))
        return coordinate, exchange.Address("sales_eu", "r", "t", None, map_index=-1)


def test_what_is_put_by_hand_goes_by_the_rules_too(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    _Task(monkeypatch)
    box.rules(TO_EU + 'digest = "sha256"\nretention = "7d"')
    put = [
        airfreight.put("x"),
        *airfreight.put_many(["x", b"y"]),
        airfreight.put_stream(io.BytesIO(b"z" * 100)),
    ]
    for reference in put:
        fields = reference.to_dict()
        assert fields["store"] == "eu"
        assert reference.digest.startswith("sha256:")
        assert reference.expires is not None
    assert airfreight.get_many(put) == ["x", "x", b"y", b"z" * 100]


def test_each_of_many_has_its_own_rule(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    _Task(monkeypatch)
    box.rules('[[rules]]\ntype = "bytes"\nstore = "eu"')
    stores = [one.to_dict()["store"] for one in airfreight.put_many(["x", b"y", "z"])]
    assert stores == ["default", "eu", "default"]


SMALL = """
[[rules]]
name = "small"
max_size = 1000
"""


@pytest.mark.parametrize("threshold", ["0", "100000"])
def test_a_value_above_the_limit_is_refused_and_nothing_is_written(
    box: Box, threshold: str
) -> None:
    box.rules(SMALL, threshold=threshold)
    assert box.pull(box.push("x" * 998)) == "x" * 998
    box.rules(SMALL, threshold=threshold, store=f"file://{box._folder}/other")
    with pytest.raises(airfreight.TooLargeError) as raised:
        box.push("x" * 999)
    text = str(raised.value)
    assert "takes 1001 bytes" in text
    assert "max_size of rule 'small', line 6 of [airfreight] policy, allows 1000" in text
    assert "task 't'" in text
    assert box.files("other") == []


def test_documents_and_what_airflow_keeps_have_the_limit_too(box: Box) -> None:
    box.rules(SMALL)
    with pytest.raises(airfreight.TooLargeError, match="rule 'small'"):
        box.push({"at": [datetime(2026, 1, 1, tzinfo=timezone.utc)] * 100})


def test_a_stream_ends_where_it_passes_the_limit_and_nothing_stays(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    _Task(monkeypatch)
    box.rules(SMALL)
    read = 0

    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            nonlocal read
            read += len(buffer)
            assert read < 1 << 24
            return len(buffer)

    with pytest.raises(airfreight.TooLargeError, match="max_size of rule 'small', line 6"):
        airfreight.put_stream(Endless())
    assert box.files("default") == []


def test_a_frame_above_the_limit_leaves_nothing(box: Box) -> None:
    pd = pytest.importorskip("pandas")
    np = pytest.importorskip("numpy")
    box.rules(SMALL)
    with pytest.raises(airfreight.TooLargeError, match="rule 'small'"):
        box.push(pd.DataFrame({"a": np.random.default_rng(1).random(10_000)}))
    assert box.files("default") == []


def test_the_limit_of_the_settings_is_called_by_its_name(box: Box) -> None:
    box.rules('[[rules]]\ndag = "no"\nmax_size = 5', max_object_bytes="1000", threshold="0")
    with pytest.raises(airfreight.TooLargeError, match=r"\[airfreight\] max_object_bytes allows"):
        box.push("x" * 1000)


def test_a_key_for_a_store_that_takes_none_is_refused_in_the_text(box: Box) -> None:
    box.rules('[[rules]]\nname = "pii"\nstore = "eu"\nencryption_key = "k"')
    with pytest.raises(
        airfreight.ConfigError,
        match=r"policy, line 6: rule 'pii': encryption_key is for stores .* 'eu' is file:///",
    ):
        box.push("x")


KEPT = """
[[rules]]
name = "kept"
retention = "7d"
"""


def _changed(row: Any, **fields: str) -> Any:
    return {**row, **fields}


def test_the_reference_says_until_when_the_value_is_kept(box: Box) -> None:
    box.rules(KEPT, threshold="0")
    before = datetime.now(timezone.utc).replace(microsecond=0)
    row = box.push("x")
    after = datetime.now(timezone.utc)
    expires = datetime.strptime(row["expires"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    assert before + WEEK <= expires <= after + WEEK
    assert airfreight.Reference.from_dict(row).expires == row["expires"]
    assert box.pull(row) == "x"
    box.rules("", threshold="0")
    assert "expires" not in box.push("x")


def test_what_is_pulled_after_its_time_has_expired_and_is_not_called_lost(box: Box) -> None:
    box.rules(KEPT, threshold="0")
    row = _changed(box.push("x"), expires="2026-01-08T00:00:00Z")
    with pytest.raises(airfreight.ExpiredError) as raised:
        box.pull(row)
    assert not isinstance(raised.value, airfreight.NotFoundError)
    text = str(raised.value)
    assert "kept until 2026-01-08T00:00:00Z" in text
    assert "rerun task 't'" in text
    assert "retention" in text
    # Whether the object is there still, or not.
    exchange.purge(row)
    assert box.files("default") == []
    with pytest.raises(airfreight.ExpiredError):
        box.pull(row)


def test_partial_reads_expire_too(box: Box) -> None:
    pd = pytest.importorskip("pandas")
    box.rules(KEPT)
    row = _changed(box.push(pd.DataFrame({"a": [1]})), expires="2026-01-08T00:00:00Z")
    reference = airfreight.Reference.from_dict(row)
    with pytest.raises(airfreight.ExpiredError):
        airfreight.get(reference, columns=["a"])
    with pytest.raises(airfreight.ExpiredError):
        airfreight.get_many([reference])
    with pytest.raises(airfreight.ExpiredError):
        airfreight.get(reference, to=str(box._folder / "a.parquet"))


@pytest.mark.parametrize("store_it", [True, False])
def test_a_rule_that_looks_at_sizes_has_json_encoded_once(
    box: Box, monkeypatch: pytest.MonkeyPatch, store_it: bool
) -> None:
    box.rules("[[rules]]\nmin_size = 10\nthreshold = 100")
    made: list[Any] = []
    text_of = json_.text_of

    def counted(value: Any) -> Any:
        made.append(value)
        return text_of(value)

    monkeypatch.setattr(json_, "text_of", counted)
    value = "x" * (1000 if store_it else 50)
    assert isinstance(box.push(value), dict) is store_it
    assert made == [value]

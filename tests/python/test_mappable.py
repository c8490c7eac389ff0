"""`airfreight.mappable`: a list of which an instance of a mapped task moves only its element."""

from __future__ import annotations

import collections.abc
import copy
import itertools
import json
import pickle
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.oracle import assert_same
from tests.python.conftest import MANY, Box, harm, stored

import airfreight
from airfreight import exchange, parts
from airfreight.mapped import MappableDict, MappableList
from airfreight.values import DEFAULTS, new_sink
from airfreight.values import mappable as codec

if TYPE_CHECKING:
    from tests.servers.counting_proxy import CountingProxy

try:
    from airflow.sdk.definitions._internal.expandinput import DictOfListsExpandInput
    from airflow.sdk.definitions.mappedoperator import is_mappable_value
except ImportError:
    from airflow.models.expandinput import DictOfListsExpandInput
    from airflow.models.taskinstance import (
        _is_mappable_value as is_mappable_value,
    )

GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "mappable" / "v1"
ALL_GOLDEN = sorted(GOLDEN.glob("*.zip"))


def array(number: int = 0, size: int = 4096) -> Any:
    return np.arange(number, number + size, dtype="float64")


def elements() -> list[Any]:
    """One element of each kind: plain JSON, document, a type of its own, a bundle, empty."""
    return [
        *({"n": n, "text": "x" * 300} for n in range(3)),
        (1, float("nan")),
        pd.DataFrame({"a": [1, 2, 3]}),
        array(),
        b"raw" * 3000,
        b"",
        {"frame": pd.DataFrame({"b": [1.5]}), "array": array()},
        None,
        "text",
        [[]],
    ]


def expanded(value: Any, index: int) -> Any:
    """What Airflow gives the instance `index` of a task that is mapped over a value."""
    made = DictOfListsExpandInput({"x": value})
    if exchange.ROWS_ARE_BYTES:
        lengths = {"x": len(value)}
        made_any: Any = SimpleNamespace(
            value={"x": value}, _get_map_lengths=lambda *_, **__: lengths
        )
        context = {"ti": SimpleNamespace(map_index=index), "run_id": "r"}
        return DictOfListsExpandInput._expand_mapped_field(
            made_any, "x", value, context, session=None, include_xcom=True
        )
    return made._expand_mapped_field("x", value, index, {"x": len(value)})


@pytest.mark.parametrize("here", [True, False], ids=["pushed", "pulled"])
def test_a_list_is_as_the_list_itself(box: Box, here: bool) -> None:
    bare = elements()
    found: Any = airfreight.mappable(elements())
    if not here:
        row = stored(box.push(found))
        assert "tail" in box.fields(row)
        found = box.pull(row)
    assert type(found) is MappableList
    assert isinstance(found, collections.abc.Sequence)
    assert is_mappable_value(found)
    assert len(found) == len(bare)
    assert_same(list(found), bare)
    assert_same(found[3], bare[3])
    assert_same(found[-1], bare[-1])
    assert_same(found[2:9:3], bare[2:9:3])
    assert_same(found[::-1], bare[::-1])
    assert found[5:5] == []
    for index in (len(bare), -len(bare) - 1):
        with pytest.raises(IndexError, match=rf"no element {index}; there are {len(bare)}"):
            found[index]
    for wrong in ("x", 1.0, None, (1,)):
        with pytest.raises(TypeError, match="a number or a slice"):
            found[wrong]  # type: ignore[call-overload]
    assert_same(found[np.int64(1)], bare[1])
    for index, one in enumerate(bare):
        assert_same(expanded(found, index), one)


@pytest.mark.parametrize("here", [True, False], ids=["pushed", "pulled"])
def test_a_dict_is_as_the_dict_itself(box: Box, here: bool) -> None:
    keys = [*"abc", "", "../x", "\x00", "A", "a/b", "\ud800", "z", "0", "1"]
    bare = dict(zip(keys, elements(), strict=True))
    found = airfreight.mappable(dict(bare))
    if not here:
        found = box.pull(stored(box.push(found)))
    assert type(found) is MappableDict
    assert isinstance(found, collections.abc.Mapping)
    assert is_mappable_value(found)
    assert len(found) == len(bare)
    assert list(found) == list(found.keys()) == keys
    assert_same(dict(found), bare)
    assert_same(dict(found.items()), bare)
    assert_same(list(found.values()), list(bare.values()))
    assert_same(found["A"], bare["A"])
    assert_same(found.get("nope", 7), 7)
    assert "A" in found
    assert "nope" not in found
    for missing in ("nope", 1.5, None):
        with pytest.raises(KeyError):
            found[missing]
    with pytest.raises(IndexError):
        found[len(bare)]
    for index, pair in enumerate(bare.items()):
        # What Airflow gives of a bare dict, too.
        assert_same(expanded(bare, index), pair)
        assert_same(expanded(found, index), pair)


def test_equality_is_that_of_the_elements(box: Box) -> None:
    found = box.through(airfreight.mappable([1, [2], "3"]))
    assert found == [1, [2], "3"]
    assert [1, [2], "3"] == found  # noqa: SIM300 (the other way round)
    assert found == airfreight.mappable([1, [2], "3"])
    assert found != [1, [2]]
    assert found != [1, [2], 3]
    assert found != (1, [2], "3")
    as_dict = box.through(airfreight.mappable({"a": 1, "b": [2]}))
    assert as_dict == {"b": [2], "a": 1}
    assert as_dict != {"a": 1}
    for value in (found, as_dict):
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)


def test_copies_and_pickles_are_plain(box: Box) -> None:
    found = box.through(airfreight.mappable([1, {"a": 2}]))
    assert_same(pickle.loads(pickle.dumps(found)), [1, {"a": 2}])
    assert_same(copy.deepcopy(found), [1, {"a": 2}])
    as_dict = box.through(airfreight.mappable({"a": 1}))
    assert_same(pickle.loads(pickle.dumps(as_dict)), {"a": 1})


def test_what_is_printed_is_short(box: Box) -> None:
    for value in (airfreight.mappable(["secret"] * 1000), airfreight.mappable({"secret": 1})):
        for one in (value, box.through(value)):
            assert "secret" not in repr(one) + str(one)
            assert len(str(one)) < 80
    row = box.fields(box.push(airfreight.mappable([array(), array(), "x"])))
    assert row["summary"].startswith("mappable list of 3 elements (numpy.ndarray, json) · "), row[
        "summary"
    ]


def test_it_is_pushed_again_and_inside_others(box: Box) -> None:
    found = box.through(airfreight.mappable(elements()))
    assert_same(list(box.through(found, task_id="second")), elements())
    inside = box.through({"x": airfreight.mappable([array(), 2])})
    assert_same(list(inside["x"]), [array(), 2])
    nested = box.through(airfreight.mappable([airfreight.mappable([array()] * 2), 3]))
    assert_same(list(nested[0]), [array()] * 2)


@pytest.mark.parametrize("here", [True, False], ids=["pushed", "pulled"])
def test_a_number_is_no_key_of_a_dict(box: Box, here: bool) -> None:
    found = airfreight.mappable({"a": 1, "5": b"x" * 100_000})
    if not here:
        found = box.through(found)
    for key in (0, 5, -7, True, 1.5, None, ("a",)):
        assert found.get(key) is None
        assert found.get(key, 7) == 7
        assert key not in found
        assert (key, 1) not in found.items()
    assert found.get("a", 7) == 1
    assert ("a", 1) in found.items()
    for item in (("a", 2), (), "ab", None):
        assert item not in found.items()


def test_one_that_contains_itself_is_refused_with_its_place(box: Box) -> None:
    inner: dict[str, Any] = {}
    found = airfreight.mappable([array(), inner])
    inner["m"] = found
    for value, place in (
        (found, r"value\[1\]\['m'\]"),
        (inner, r"value\['m'\]\[1\]\['m'\]"),
        ((1, found), r"value\[1\]\[1\]\['m'\]"),
    ):
        with pytest.raises(TypeError, match=f"^{place}: a mappable that contains itself"):
            box.push(value)
        assert box.objects() == []
    many: Any = [1]
    for _ in range(17):
        many = airfreight.mappable([many])
    with pytest.raises(TypeError, match=r"^value(\[0\]){16}: a mappable that .* in 16 others"):
        box.push(many)
    # Side by side is not inside.
    twice = airfreight.mappable([1])
    assert box.through(airfreight.mappable([twice, twice, many[0][0]]), key="b")[0] == [1]


def test_empty_ones(box: Box) -> None:
    assert list(box.through(airfreight.mappable([]))) == []
    assert dict(box.through(airfreight.mappable({}))) == {}


def test_a_threshold_below_zero_writes_what_the_default_backend_writes(box: Box) -> None:
    box.set(threshold=-1)
    for value in ([1, "a"], {"a": [1]}):
        row = box.push(airfreight.mappable(value))
        assert row == box.push(value)
        assert_same(box.pull(stored(row)), value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text", r"not str: pass list\(…\)"),
        (iter([1]), "not list_iterator"),
        ({1, 2}, "not set"),
        (pd.DataFrame({"a": [1]}), "not DataFrame"),
        ({1: 2}, r"and 1 is a key: pass list\(….items\(\)\)"),
        ({None: 2}, "None is a key"),
    ],
    ids=range(6),
)
def test_what_is_not_mappable_is_refused(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        airfreight.mappable(value)


def test_a_refusal_names_the_element(box: Box) -> None:
    with pytest.raises(TypeError, match=r"value\[1\]\['a'\]\[0\]: an object of type .*object"):
        box.push(airfreight.mappable([array(), {"a": [object()]}]))
    with pytest.raises(
        TypeError, match=r"value\['k'\]: a numpy array of Python objects|value\['k'\]"
    ):
        box.push(airfreight.mappable({"j": array(), "k": object()}))
    assert box.objects() == []


def test_parts_and_many(box: Box) -> None:
    row = box.fields(stored(box.push(airfreight.mappable([array(), {"a": [7]}]))))
    assert_same(airfreight.get(row, 0), array())
    assert airfreight.get(row, 1, "a", 0) == 7
    with pytest.raises(airfreight.InvalidError, match="has no part 2; it has 2 items"):
        airfreight.get(row, 2)
    with pytest.raises(airfreight.InvalidError, match="only frames have columns"):
        airfreight.get(row, columns=["a"])
    assert_same(list(airfreight.get_many([row])[0]), [array(), {"a": [7]}])


def test_a_flipped_byte_is_found_wherever_it_is_read(box: Box) -> None:
    row = box.fields(stored(box.push(airfreight.mappable([array(n) for n in range(5)]))))
    file = box.file(row)
    data = file.read_bytes()
    found = box.pull(row)
    (entry, other) = found._elements._index.entries[1:3]
    for place in (entry.start, (entry.start + entry.stop) // 2, entry.stop - 1):
        harmed = bytearray(data)
        harmed[place] ^= 1
        harm(file, harmed)
        with pytest.raises(airfreight.CorruptError) as caught:
            box.pull(row)[1]
        assert caught.value.task == "extract"
        with pytest.raises(airfreight.CorruptError):
            list(box.pull(row))
        assert_same(box.pull(row)[2], array(2))
    for place in range(row["tail"][0], len(data), 11):
        harmed = bytearray(data)
        harmed[place] ^= 1
        harm(file, harmed)
        with pytest.raises(airfreight.CorruptError):
            box.pull(row)
    file.unlink()
    with pytest.raises(airfreight.NotFoundError):
        found[1]
    with pytest.raises(airfreight.NotFoundError):
        box.pull(row)
    assert other.start > entry.stop


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {"~mappable": []},
        {"~mappable": ["list"]},
        {"~mappable": ["set", [["json", 2]]]},
        {"~mappable": ["list", [["json", 3]]]},
        {"~mappable": ["list", [["json", 2**70]]]},
        {"~mappable": ["list", [["json", -2], ["json", 4]]]},
        {"~mappable": ["list", [["json", 2, 1]]]},
        {"~mappable": ["list", [["json", 2]], ["a", "b"]]},
        {"~mappable": ["dict", [["json", 2]], ["a"]]},
        {"~mappable": ["dict", [["json", 2]], ["a", "a"]]},
        {"~mappable": ["dict", [["json", 2]], ["a", 1]]},
    ],
    ids=range(13),
)
def test_an_index_that_lies_is_refused(box: Box, content: Any) -> None:
    row = box.fields(stored(box.push(airfreight.mappable([1, "x" * 40_000]))))
    entries = box.pull(row)._elements._index.entries
    with pytest.raises(ValueError, match=r"value\.json|elements"):
        codec.Index([*entries, entries[0]], content)


@pytest.mark.parametrize("kind", ["no.such", ""])
def test_elements_of_a_newer_type_are_said_to_be(box: Box, kind: str) -> None:
    row = box.fields(stored(box.push(airfreight.mappable([1, "x" * 40_000]))))
    entries = box.pull(row)._elements._index.entries
    with pytest.raises(airfreight.NewerFormatError):
        codec.Index([*entries, entries[0]], {"~mappable": ["list", [[kind, 2]]]})


def test_the_bytes_of_elements_go_as_their_values_are_there(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = box.through(airfreight.mappable([{"n": n, "text": "x" * 20_000} for n in range(5)]))
    read, make = parts._Reader.read, codec.Index.make
    alive: list[Any] = []
    counts = []

    class Buffer(bytearray):
        pass

    def reading(reader: Any, ranges: Any) -> list[memoryview]:
        buffers = [Buffer(view) for view in read(reader, ranges)]
        alive.extend(map(weakref.ref, buffers))
        return [memoryview(buffer) for buffer in buffers]

    def making(index: Any, *arguments: Any) -> Any:
        counts.append(sum(one() is not None for one in alive))
        return make(index, *arguments)

    monkeypatch.setattr(parts._Reader, "read", reading)
    monkeypatch.setattr(codec.Index, "make", making)
    assert [one["n"] for one in found[:]] == [0, 1, 2, 3, 4]
    assert counts == [5, 4, 3, 2, 1]


# What is moved.


@pytest.mark.s3
@pytest.mark.parametrize("kind", ["array", "bytes", "json"])
def test_all_instances_together_move_no_more_than_the_list_and_a_tenth(
    s3: Box, proxy: CountingProxy, kind: str
) -> None:
    size = 1 << 20
    # 1,000 of them in a soak: they are views of one array, so that they fit any machine.
    many = array(0, size // 8 + 1000)
    make: Any = {
        "array": lambda n: many[n : n + size // 8],
        "bytes": lambda n: bytes((n,)) * size,
        "json": lambda n: {"n": n, "text": "x" * size},
    }[kind]
    count = 1000 if kind == "array" and MANY > 1 else 50
    row = stored(s3.push(airfreight.mappable([make(n) for n in range(count)])))
    total = s3.fields(row)["size_bytes"]
    proxy.clear()
    for index in range(count):
        # As each instance does: in a process of its own it pulls the row's value, and takes one.
        assert_same(expanded(s3.pull(row), index), make(index))
    moved = sum(request.response_bytes for request in proxy.requests)
    assert moved <= 1.1 * total
    assert {request.method for request in proxy.requests} == {"GET"}
    assert len(proxy.requests) == 2 * count


@pytest.mark.s3
def test_the_index_of_a_thousand_elements_stays_small(s3: Box) -> None:
    """1,000 instances fetch it 1,000 times: a tenth of elements of 1 MiB is 104,857 bytes."""
    for value in ([b"x"] * 1000, {f"part-{n}": b"x" for n in range(1000)}):
        row = s3.fields(s3.push(airfreight.mappable(value)))
        assert row["size_bytes"] - row["tail"][0] < 104_857, type(value)


@pytest.mark.s3
def test_looking_for_an_element_takes_few_requests(s3: Box, proxy: CountingProxy) -> None:
    bare = [{"n": n, "text": "x" * 10_000} for n in range(60)]
    found = s3.pull(stored(s3.push(airfreight.mappable(bare))))
    as_dict = s3.pull(
        stored(s3.push(airfreight.mappable({str(n): one for n, one in enumerate(bare)}), key="b"))
    )
    for act in (
        lambda: list(reversed(found)) == bare[::-1],
        lambda: found.index(bare[50]) == 50,
        lambda: found.index(bare[50], -20, 55) == 50,
        lambda: found.count(bare[50]) == 1,
        lambda: bare[50] in found,
        lambda: bare[50] in as_dict.values(),
        lambda: ("50", bare[50]) in as_dict.items(),
    ):
        proxy.clear()
        assert act()
        assert len(proxy.requests) <= 1
    for arguments in ((7,), (bare[50], 51), (bare[50], 0, 50)):
        with pytest.raises(ValueError, match="is not in it"):
            found.index(*arguments)


@pytest.mark.s3
def test_slices_and_iterations_take_few_requests(s3: Box, proxy: CountingProxy) -> None:
    bare = [array(n, 10_000) for n in range(60)]
    found = s3.pull(stored(s3.push(airfreight.mappable(bare))))
    proxy.clear()
    assert_same(found[10:20], bare[10:20])
    assert len(proxy.requests) == 1
    proxy.clear()
    for one, wanted in itertools.zip_longest(found, bare):
        assert_same(one, wanted)
    assert len(proxy.requests) <= 2
    assert json.dumps([request.method for request in proxy.requests]).count("GET") <= 2


# Golden files.


@pytest.mark.parametrize("path", ALL_GOLDEN, ids=lambda path: path.stem)
def test_golden_lists_are_read_and_written_again(path: Path) -> None:
    names = {"np": np}
    expected = eval(path.with_suffix(".txt").read_text("utf-8"), names)
    raw = path.read_bytes()
    found = codec.decode(memoryview(bytearray(raw)))
    assert_same(dict(found) if type(expected) is dict else list(found), expected)
    body: Any = codec.encode(airfreight.mappable(expected), DEFAULTS, new_sink).body
    assert body.getvalue() == raw


def test_there_are_golden_lists() -> None:
    assert len(ALL_GOLDEN) >= 3

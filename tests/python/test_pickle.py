"""Pickles: only where the settings allow them, of what nothing else keeps, and seen in the row."""

from __future__ import annotations

import base64
import copyreg
import dataclasses
import functools
import pickle
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.oracle import assert_same
from tests.python.conftest import Box, harm, stored

import airfreight
from airfreight import exchange, values
from airfreight.values import _foreign, _leaves, pickle_

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.counting_proxy import CountingProxy

GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "pickle" / "v1"
SETTING = "AIRFLOW__AIRFREIGHT__PICKLE=allow"

ran: list[str] = []


def run(what: str) -> str:
    """What a pickle of somebody else's has run."""
    ran.append(what)
    return what


class Canary:
    """Unpickling it is seen."""

    def __reduce__(self) -> Any:
        return run, ("canary",)


def archive(kind: str, member: str = "pickle", data: bytes = b"") -> bytes:
    """A bundle or a mappable list with one member, which no push can have left in a row."""
    writer = _leaves.ArchiveWriter(values.new_sink)
    name = "one.pkl"
    writer._archive.add(name, (data or pickle.dumps(Canary()),))
    index: Any = {
        "bundle": {"a": [{"~leaf": [name, member]}]},
        "mappable": {"~mappable": ["list", [[member, 1]]]},
    }
    sink, _ = writer.finish(index[kind])
    whole: bytes = sink.getvalue()
    return whole


#: Archives with a pickle in them, at once and deeper.
ARCHIVES = {
    "bundle": ("bundle", archive("bundle")),
    "mappable": ("mappable", archive("mappable")),
    "mappable in mappable": ("mappable", archive("mappable", "mappable", archive("mappable"))),
    "bundle in mappable": ("mappable", archive("mappable", "bundle", archive("bundle"))),
    "mappable in bundle": ("bundle", archive("bundle", "mappable", archive("mappable"))),
}


class Model:
    """What a library has that Airfreight does not know."""

    def __init__(self, weights: Any) -> None:
        self.weights = weights

    def __eq__(self, other: object) -> bool:
        return type(other) is Model and bool(np.all(other.weights == self.weights))

    __hash__ = None  # type: ignore[assignment]


class Other:
    """Held by others."""

    def method(self) -> None:
        """May be held too."""


def helper() -> None:
    """Held by others."""


class Thief(dict):  # type: ignore[type-arg]
    """A subclass, which would come back as something else."""

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    ran.clear()
    yield
    ran.clear()


@pytest.fixture
def allowed(box: Box) -> Box:
    box.set(pickle="allow")
    return box


def array() -> Any:
    return np.arange(10_000, dtype="float64")


# Where it is not allowed, which is the default.


@pytest.mark.parametrize("value", [Model(1), {"a": [Model(1)]}, re.compile("a+")], ids=range(3))
def test_by_default_nothing_is_pickled_and_the_setting_is_named_last(box: Box, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"convert it to .*; the last way.*{SETTING}\)$"):
        box.push(value)
    with pytest.raises(TypeError, match=rf"{SETTING}\)$"):
        airfreight.mappable([value]) and box.push(airfreight.mappable([array(), value]))
    assert box.objects() == []


def test_where_a_conversion_helps_the_setting_comes_after_it(box: Box) -> None:
    with pytest.raises(TypeError, match=rf"convert it with dict\(…\); the last way.*{SETTING}\)$"):
        box.push(Thief(a=1))


@pytest.mark.parametrize("where", ["whole", "bundle", "mappable", "small"])
def test_what_was_pushed_is_not_read_where_that_is_not_allowed(box: Box, where: str) -> None:
    box.set(pickle="allow")
    model = Model(array() if where != "small" else 1)
    value = {
        "whole": model,
        "bundle": {"model": model, "other": array()},
        "mappable": airfreight.mappable([{"deep": model}, array()]),
        "small": (model, 3),
    }[where]
    row = box.fields(stored(box.push(value)))
    box.set(pickle=None)
    parts: dict[str, list[Any]] = {"bundle": ["model"], "mappable": [0]}
    part = parts.get(where, [])
    reads = [
        lambda: box.pull(row)[0] if where == "mappable" else box.pull(row),
        lambda: airfreight.get(row, *part),
        lambda: [airfreight.get_many([row])[0][0]],
    ]
    for number, read in enumerate(reads):
        with pytest.raises(airfreight.UnsupportedError, match=SETTING) as caught:
            read()
        assert "[airfreight] pickle = allow" in str(caught.value)
        # (Of a mappable that was fetched whole, elements are made later.)
        assert caught.value.task == "extract" or (where, number) == ("mappable", 2)


def test_what_lies_beside_a_pickle_is_read_all_the_same(box: Box) -> None:
    box.set(pickle="allow")
    row = box.fields(stored(box.push({"model": Model(array()), "other": array(), "n": 3})))
    box.set(pickle=None)
    assert_same(airfreight.get(row, "other"), array())
    assert airfreight.get(row, "n") == 3


@pytest.mark.s3
def test_a_refused_pickle_is_not_even_fetched(s3: Box, proxy: CountingProxy) -> None:
    s3.set(pickle="allow")
    row = stored(s3.push(Model(array())))
    s3.set(pickle=None)
    proxy.clear()
    with pytest.raises(airfreight.UnsupportedError, match=SETTING):
        s3.pull(row)
    assert proxy.requests == []


# Rows that somebody has edited.


def forged(box: Box, kind: str, extension: str) -> dict[str, Any]:
    """The row of a pickle that lies in the store under the name of another type."""
    row = box.fields(stored(box.push(pickle.dumps(Canary()))))
    row["_xcom_type"] = kind
    file = box.file(row)
    row["uri"] = row["uri"].removesuffix(".bin") + f".{extension}"
    for one in file.parent.iterdir():
        one.rename(one.with_name(one.name.replace(".bin", f".{extension}")))
    return row


@pytest.mark.parametrize("setting", ["never", "allow"])
def test_bytes_are_no_pickle_because_a_row_says_so(box: Box, setting: str) -> None:
    box.set(pickle=setting)
    row = box.fields(stored(box.push(pickle.dumps(Canary()))))
    row["_xcom_type"] = "pickle"
    for read in (lambda: box.pull(row), lambda: airfreight.get_many([row])):
        with pytest.raises((airfreight.ForgedError, airfreight.UnsupportedError)):
            read()
    assert ran == []


def test_a_forged_type_runs_nothing_by_default(box: Box) -> None:
    row = forged(box, "pickle", "pkl")
    for read in (lambda: box.pull(row), lambda: airfreight.get_many([row])):
        with pytest.raises(airfreight.UnsupportedError, match=SETTING):
            read()
    assert ran == []
    # That it would have run otherwise.
    box.set(pickle="allow")
    assert box.pull(row) == "canary"
    assert ran == ["canary"]


@pytest.mark.parametrize("setting", ["never", "allow"])
def test_a_pickle_in_a_row_is_never_read(box: Box, setting: str) -> None:
    """Rows can be written through Airflow's REST API, objects can not."""
    box.set(pickle=setting)
    text = base64.b64encode(pickle.dumps(Canary())).decode()
    row = {
        "_xcom_backend": "inline",
        "_xcom_type": "document",
        "_airfreight": 1,
        "value": {"a": [{"~value": ["pickle", text]}]},
    }
    with pytest.raises(airfreight.ForgedError, match="no push writes"):
        box.pull(row)
    assert ran == []


@pytest.mark.parametrize("kind", ARCHIVES)
def test_nor_is_one_in_an_archive_in_a_row(box: Box, kind: str) -> None:
    """Elements of a mappable list are made after the row was read."""
    box.set(pickle="allow")
    name, data = ARCHIVES[kind]
    row = {
        "_xcom_backend": "inline",
        "_xcom_type": "document",
        "_airfreight": 1,
        "value": {"a": [{"~value": [name, base64.b64encode(data).decode()]}]},
    }
    with pytest.raises(airfreight.ForgedError, match="no push writes"):
        list(box.pull(row)["a"][0])
    assert ran == []


def test_no_other_package_may_have_its_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    for extension, others in (("pkl", ()), ("x", ("pkl",))):
        codec = SimpleNamespace(
            EXTENSION=extension,
            EXTENSIONS=others,
            CONTENT_TYPE="a/b",
            encode=lambda *_: None,
            decode=lambda _: None,
        )
        entry: Any = SimpleNamespace(
            name="a.B", value="a:b", dist=None, load=functools.partial(lambda it: it, codec)
        )
        with pytest.raises(airfreight.UnsupportedError, match="pkl is that of airfreight's own"):
            _foreign._loaded.__wrapped__(entry)


# Where it is allowed.


def test_a_pickle_comes_back_and_its_row_says_what_it_is(allowed: Box) -> None:
    row = allowed.fields(allowed.push(Model(array())))
    assert row["_xcom_type"] == "pickle"
    assert row["uri"].endswith("/return_value.pkl")
    assert row["summary"].startswith(f"pickle of {__name__}.Model · 80."), row["summary"]
    assert allowed.pull(stored(row)) == Model(array())
    assert pickle.loads(allowed.file(row).read_bytes()) == Model(array())
    by_hand = airfreight.get_many([row])
    assert by_hand == [Model(array())]


@pytest.mark.parametrize(
    ("make", "columns"),
    [
        (lambda it: {"train": array(), "model": it}, [["train", "numpy.ndarray"]]),
        (lambda it: {"model": it}, []),
        (lambda it: {"a": (1, [it])}, []),
        (lambda it: {1: it, "b": {2: it}}, []),
    ],
    ids=range(4),
)
def test_inside_of_others_it_is_a_leaf(allowed: Box, make: Any, columns: Any) -> None:
    pattern = re.compile("a+", re.IGNORECASE)
    row = allowed.fields(stored(allowed.push(make(pattern))))
    assert row["_xcom_type"] == "bundle"
    assert " (pickle inside) with " in row["summary"]
    assert [kind for _, kind in row["columns"]].count("pickle") == 1
    assert len(row["columns"]) == len(columns) + 1
    found = allowed.pull(row)
    assert_same(found, make(pattern))
    assert_same(allowed.pull(stored(allowed.push(found))), make(pattern))


def test_in_a_mappable_too(allowed: Box) -> None:
    pattern = re.compile("a+")
    row = allowed.fields(stored(allowed.push(airfreight.mappable([pattern, {"a": pattern}]))))
    assert "(pickle inside)" in row["summary"]
    assert list(allowed.pull(row)) == [pattern, {"a": pattern}]
    row = allowed.fields(stored(allowed.push({"list": airfreight.mappable([{"a": pattern}])})))
    assert "(pickle inside)" in row["summary"]


def test_what_has_a_format_of_its_own_is_not_pickled(allowed: Box) -> None:
    kept = {"array": array(), "tuple": (1, {2}), "bytes": b"x" * 9000, "none": None}
    row = allowed.fields(allowed.push(kept))
    assert "pickle" not in str(row)
    for value in (array(), (1, 2), [1], {"a": {1: 2}}):
        assert "pickle" not in str(allowed.push(value))


def test_what_airflow_does_not_allow_is_not_let_in_as_a_pickle(
    allowed: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = dataclasses.make_dataclass("Made", ["x"])
    made.__module__ = __name__
    monkeypatch.setitem(globals(), "Made", made)
    # Of the last ones Airflow does not get as far as to say so.
    for held in (1, b"x", Model(1), [made(Model(1))]):
        for value in ({"a": made(held)}, made(held)):
            with pytest.raises(TypeError, match="allowed_deserialization_classes") as caught:
                allowed.push(value)
            assert "can't be pickled" not in str(caught.value)
            assert SETTING not in str(caught.value)
    assert allowed.objects() == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (threading.Lock(), "can't be pickled .*lock"),
        (iter(lambda: 1, 2), "can't be pickled"),
        (Canary(), "would come back from its pickle as builtins.str"),
        (Thief(a=1), "would come back from its pickle as builtins.dict"),
    ],
    ids=range(4),
)
def test_what_a_pickle_does_not_keep_is_refused_at_push(
    allowed: Box, value: Any, words: str
) -> None:
    for wrapped, place in ((value, "value"), ({"a": [value, Model(1)]}, r"value\['a'\]\[0\]")):
        with pytest.raises(TypeError, match=f"^{place}: an object of type .* {words}"):
            allowed.push(wrapped)
    with pytest.raises(TypeError, match=r"^value\['b'\]: "):
        allowed.push({"a": Model(1), "b": value})
    assert allowed.objects() == []


def test_a_class_of_the_main_program_is_refused(
    allowed: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Model, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Model", Model, raising=False)
    with pytest.raises(TypeError, match="in a module that can be imported"):
        allowed.push(Model(1))


@pytest.mark.parametrize("what", ["an object", "the class", "a function", "a bound method"])
def test_what_is_of_the_main_program_is_refused_wherever_it_lies(
    allowed: Box, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    held: Any = {
        "an object": Other(),
        "the class": Other,
        "a function": helper,
        "a bound method": Other().method,
    }[what]
    value = Model([1, {"deep": (held,)}])
    assert type(allowed.through(value)) is Model
    main = sys.modules["__main__"]
    for one in (Other, helper):
        monkeypatch.setattr(one, "__module__", "__main__")
        monkeypatch.setattr(main, one.__name__, one, raising=False)
    named = "helper" if what == "a function" else "Other"
    for pushed, place in ((value, "value"), ({"a": [value]}, r"value\['a'\]\[0\]")):
        with pytest.raises(TypeError, match=rf"^{place}: .* not find __main__\.{named}: define it"):
            allowed.push(pushed)


def test_a_pickle_that_holds_parts_of_others_by_number_comes_back(allowed: Box) -> None:
    """What copyreg has numbers for goes through the same look-up of classes."""
    copyreg.add_extension(__name__, "Other", 0x7F000001)
    try:
        assert type(allowed.through(Model([Other()])).weights[0]) is Other
    finally:
        copyreg.remove_extension(__name__, "Other", 0x7F000001)


def test_a_reader_without_the_class_is_told_so(
    allowed: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = stored(allowed.push(Model(array())))
    monkeypatch.delitem(globals(), "Model")
    with pytest.raises(airfreight.UnsupportedError, match="install the packages") as caught:
        allowed.pull(row)
    assert caught.value.task == "extract"


def test_a_threshold_below_zero_pickles_nothing(allowed: Box) -> None:
    allowed.set(threshold=-1)
    with pytest.raises(TypeError):
        allowed.push(Model(1))


def test_by_hand_and_many_at_once(allowed: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = exchange.push._choose
    codec, made, payload = choose(Model(1))
    assert (codec, type(made), payload) == (pickle_, Model, None)
    codec, _, _ = choose([Model(1)])
    assert codec.TYPE == "bundle"


def test_a_damaged_one_is_not_read(allowed: Box) -> None:
    row = allowed.fields(stored(allowed.push(Model(array()))))
    file = allowed.file(row)
    data = bytearray(file.read_bytes())
    data[50] ^= 1
    harm(file, data)
    with pytest.raises(airfreight.CorruptError):
        allowed.pull(row)


# Golden files.


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.pkl")), ids=lambda path: path.stem)
def test_golden_pickles_are_read(allowed: Box, path: Path) -> None:
    expected = eval(path.with_suffix(".txt").read_text("utf-8"), {"re": re})
    found = values.for_type("pickle").decode(memoryview(path.read_bytes()))  # type: ignore[union-attr]
    assert found == expected
    assert type(found) is type(expected)


def test_there_are_golden_pickles() -> None:
    assert list(GOLDEN.glob("*.pkl"))

"""Tagged JSON: what plain JSON would change comes back as it was, or is refused by name."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import importlib
import importlib.resources
import io
import json
import math
import pathlib
import uuid
import zoneinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from formats.golden import classes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracle import assert_same
from tests.python.conftest import MANY, Box, airflow_3, default, stored
from tests.python.models import MODELS

import airfreight
from airfreight import _airflow, exchange, runtime
from airfreight.reference import Reference
from airfreight.values import DEFAULTS, document, json_

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "document" / "v1"


ENDS = ("start", "stop", "step")


def same(left: Any, right: Any) -> Any:
    """Equality that also looks at types, zones, folds, NaN and the sign of zero."""
    if type(left) is not type(right):
        return False
    if left is pd.NaT or left is pd.NA:
        return left is right
    if isinstance(left, float):
        return repr(left) == repr(right)
    if isinstance(left, complex):
        return repr(left) == repr(right)
    if isinstance(left, decimal.Decimal):
        return left.as_tuple() == right.as_tuple()
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, collections.defaultdict) and left.default_factory is not (
        right.default_factory
    ):
        return False
    if isinstance(left, (range, slice)):
        return all(same(getattr(left, end), getattr(right, end)) for end in ENDS)
    if isinstance(left, pd.Timestamp):
        return (left.asm8, left.unit, left.fold) == (right.asm8, right.unit, right.fold) and same(
            left.tzinfo, right.tzinfo
        )
    if isinstance(left, pd.Timedelta):
        return (left.asm8, left.unit) == (right.asm8, right.unit)
    if isinstance(left, pd.Interval):
        return left.closed == right.closed and all(
            same(getattr(left, end), getattr(right, end)) for end in ("left", "right")
        )
    if isinstance(left, dict):
        # Order does not count: databases lose it.
        return len(left) == len(right) and all(
            any(same(key, other) and same(left[key], right[other]) for other in right)
            for key in left
        )
    if isinstance(left, (set, frozenset)):
        return len(left) == len(right) and all(any(same(a, b) for b in right) for a in left)
    if isinstance(left, (datetime.datetime, datetime.time)):
        return (
            left.replace(tzinfo=None, fold=0) == right.replace(tzinfo=None, fold=0)
            and left.fold == right.fold
            and same(left.tzinfo, right.tzinfo)
        )
    if isinstance(left, datetime.timezone):
        return repr(left) == repr(right)
    if isinstance(left, collections.deque):
        return left.maxlen == right.maxlen and same(list(left), list(right))
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.tolist() == right.tolist()
    return bool(left == right)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_golden_documents_are_read_and_written_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {
        name: globals()[name]
        for name in ("collections", "datetime", "decimal", "fractions", "np", "pathlib", "pd")
    }
    names |= {"uuid": uuid, "zoneinfo": zoneinfo, "Reference": Reference, "classes": classes}
    for late in ("pendulum", "pytz"):
        names[late] = importlib.import_module(late)  # Of Airflow's environment.
    if path.stem.startswith("pydantic"):
        pytest.importorskip("pydantic")
    monkeypatch.setattr(_airflow, "may_load", lambda name: name.startswith("formats.golden."))
    value = eval(path.with_suffix(".txt").read_text(), names)
    raw = path.read_bytes()
    assert same(document.decode(memoryview(raw)), value)
    assert document.Encoder(options=DEFAULTS).text(value) == raw
    # As PostgreSQL would give it back.
    assert same(document.from_json(json.loads(json.dumps(json.loads(raw), sort_keys=True))), value)


def test_there_are_golden_documents() -> None:
    assert len(list(GOLDEN.glob("*.json"))) >= 20


texts = st.text() | st.text(st.characters(codec=None, categories=None), max_size=5)
zones = (
    st.none()
    | st.just(datetime.timezone.utc)
    | st.sampled_from([zoneinfo.ZoneInfo("Europe/Berlin"), zoneinfo.ZoneInfo("America/New_York")])
    | st.timedeltas(datetime.timedelta(hours=-23), datetime.timedelta(hours=23)).map(
        datetime.timezone
    )
)
hashable = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | texts
    | st.binary(max_size=8)
    | st.decimals().filter(lambda number: not number.is_snan())
    | st.uuids()
    | st.dates()
    | st.builds(datetime.time.replace, st.times(), tzinfo=zones, fold=st.integers(0, 1))
    | st.builds(datetime.datetime.replace, st.datetimes(), tzinfo=zones, fold=st.integers(0, 1))
    | st.timedeltas()
    | st.complex_numbers()
    | st.fractions()
    | st.builds(range, st.integers(), st.integers(), st.integers(1))
    | texts.filter(lambda text: "\0" not in text).map(pathlib.PurePosixPath)
    | texts.map(pathlib.PureWindowsPath)
)
markers = st.sampled_from([*sorted(json_.MARKERS), "~tuple", "~", "~dict"])


def containers(inner: Any) -> Any:
    return (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(texts | markers, inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=3)
        | st.dictionaries(texts, inner, max_size=3).map(collections.OrderedDict)
        | st.dictionaries(hashable, inner, max_size=3).map(collections.Counter)
        | st.dictionaries(hashable, inner, max_size=3).map(partial(collections.defaultdict, set))
        | st.builds(collections.deque, st.lists(inner, max_size=3), st.none() | st.integers(3, 9))
        | st.builds(slice, inner, inner, inner)
        | st.frozensets(hashable, max_size=3)
        | st.sets(hashable, max_size=3)
    )


values = st.recursive(hashable | st.binary(max_size=8).map(bytearray), containers, max_leaves=12)


@settings(
    max_examples=300 * MANY,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(value=values, threshold=st.sampled_from([0, 60, 32768]))
def test_whatever_is_pushed_is_what_is_pulled(box: Box, value: Any, threshold: int) -> None:
    box.set(threshold=threshold)
    assert same(box.through(value), value)


@pytest.mark.parametrize(
    "value",
    [
        [float("nan"), float("inf"), "a\x00b"],  # apache/airflow#53759
        {1: "a"},
        {None: 1},
        [(1, 2), {"a": (3,)}],
        decimal.Decimal("0.1234567890123456789012345"),
        datetime.timedelta(days=1_000_000, microseconds=1),
        [b"inside"],
        pytest.param(1e22, marks=airflow_3),
        pytest.param(-0.0, marks=airflow_3),
    ],
    ids=repr,
)
def test_a_small_value_that_the_default_changes_stays_in_the_row_without_a_request(
    box: Box, value: Any
) -> None:
    row = box.push(value)
    assert box.fields(row)["_xcom_backend"] == "inline"
    assert runtime.loaded() is None
    assert same(box.pull(stored(row)), value)


@airflow_3
def test_floats_that_jsonb_would_change_are_tagged_in_the_row_only(box: Box) -> None:
    assert box.fields(box.push(1e16)) == {
        "_xcom_backend": "inline",
        "_xcom_type": "document",
        "_airfreight": 1,
        "value": {"~float": "1e+16"},
    }
    assert box.push(9.9e15) == 9.9e15
    assert box.fields(box.push([1e22] * 50_000))["_xcom_type"] == "json"


def test_a_backslash_before_u0000_is_no_nul(box: Box) -> None:
    assert box.through({"\\u0000": ["\\u0000"]}) == {"\\u0000": ["\\u0000"]}


@pytest.mark.parametrize("depth", [50, 99, 150, 249])
def test_deep_values_come_back(box: Box, depth: int) -> None:
    value: Any = "x"
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    assert box.through(value) == value


def test_a_value_that_contains_itself_is_refused(box: Box) -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises((TypeError, RecursionError)):
        box.push(value)
    with pytest.raises(TypeError, match="contains itself"):
        document.encode(value)


# --- References inside ----------------------------------------------------------------------------


# --- What is refused ------------------------------------------------------------------------------


class Plain:
    pass


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    __slots__ = ()


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Model:
    layers: list[Any]


@dataclasses.dataclass
class Outer:
    model: Model


@dataclasses.dataclass
class Marked:
    """Has fields with names by which Airflow and we tell dicts."""

    __version__: int
    _airfreight: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    """Slots, no __init__ that takes what it holds."""

    __slots__ = ("held",)
    held: Any


@pytest.mark.parametrize(
    ("value", "place", "kind"),
    [
        (Plain(), "value:", "Plain"),
        ([{"x": Plain()}], "value[0]['x']:", "Plain"),
        ({"model": Model([1, 2, 3, Plain()])}, "value['model'].layers[3]:", "Plain"),
        ({"o": Outer(Model([(1, Plain())]))}, "value['o'].model.layers[0][1]:", "Plain"),
        ({1: {2: [Plain()]}}, "value[1][2][0]:", "Plain"),
        (({"a"}, {Plain()}), "value[1]{…}:", "Plain"),
        ({"f": print}, "value['f']:", "builtin_function_or_method"),
        ({"g": (_ for _ in range(0))}, "value['g']:", "generator"),
        ({"lock": object()}, "value['lock']:", "object"),
        ({"c": Point(1, 2)}, "value['c']:", "Point"),
        ({"d": collections.defaultdict(lambda: 0)}, "value['d']:", "defaultdict"),
        ({"d": collections.defaultdict(Plain)}, "value['d']:", "defaultdict"),
        ({"d": collections.deque([Plain()])}, "value['d'][0]:", "Plain"),
        ({"d": collections.Counter({Plain(): 1})}, "value['d'] key <", "Plain"),
        ([Name("x")], "value[0]:", "Name"),
        ([Level.LOW], "value[0]:", "Level"),
        ({"c": Color.RED}, "value['c']:", "Color"),
        ({"s": slice(0, Plain())}, "value['s'][1]:", "Plain"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("threshold", [0, 32768])
def test_an_unsupported_value_is_a_type_error_that_names_the_place_and_the_type(
    box: Box, value: Any, place: str, kind: str, threshold: int
) -> None:
    box.set(threshold=threshold)
    with pytest.raises(TypeError) as caught:
        box.push(value)
    message = str(caught.value)
    assert message.startswith(place)
    assert kind in message
    assert box.objects() == []


@pytest.mark.parametrize(
    "factory",
    [
        *(collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque),
        *(decimal.Decimal, fractions.Fraction, list, None),
    ],
    ids=str,
)
def test_what_a_defaultdict_makes_its_values_with_comes_back(box: Box, factory: Any) -> None:
    value: Any = collections.defaultdict(factory)
    if factory is not None:
        value["a"]
    back = box.through(value)
    assert back.default_factory is factory
    assert_same(back, value)


def test_the_message_holds_no_values() -> None:
    with pytest.raises(TypeError) as caught:
        document.encode({"k": ["secret-value", object()], "other": "secret-too"})
    assert "secret" not in str(caught.value)


def test_what_airflow_could_not_read_is_refused_when_it_is_pushed(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The default backend accepts the push and fails the pull.
    with pytest.raises(TypeError, match="allowed_deserialization_classes"):
        box.push({"m": Model([1])})


def allow(monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    name = "airflow.serialization.serde" if exchange.ROWS_ARE_BYTES else "airflow.sdk.serde"
    try:
        serde = importlib.import_module(name)
    except ModuleNotFoundError:
        serde = importlib.import_module("airflow.serialization.serde")
    monkeypatch.setenv("AIRFLOW__CORE__ALLOWED_DESERIALIZATION_CLASSES", pattern)
    for function in (
        "_match",
        "_match_glob",
        "_match_regexp",
        "_get_patterns",
        "_get_regexp_patterns",
    ):
        getattr(getattr(serde, function, None), "cache_clear", lambda: None)()


def test_what_airflow_keeps_is_written_as_airflow_writes_it(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, "airflow.* tests.python.*")
    value = {"m": Model([1, "x"]), "n": [1]}
    try:
        row = box.push(value)
        assert row == default(value)
        assert box.pull(stored(row)) == value
        box.set(threshold=20)
        row = box.push(value)
        assert box.fields(row)["_xcom_type"] == "airflow.serde"
        assert box.pull(stored(row)) == value
        mixed = {1: Model([1]), "t": (Model([2]),)}
        for threshold in (20, 32768):
            box.set(threshold=threshold)
            row = box.push(mixed)
            assert box.fields(row)["_xcom_type"] == "document"
            assert box.pull(stored(row)) == mixed
        # Airflow's serializer makes a dict of an inner dataclass, and of an OrderedDict.
        ordered = Model([collections.OrderedDict(a=1)])
        nan = Outer(Model([float("nan")]))
        for odd in (Outer(Model([1])), ordered, Frozen((1, {2})), Marked(2, {1: 2}), nan):
            back = box.through(odd)
            assert type(back) is type(odd)
            assert repr(back) == repr(odd)
        with pytest.raises(TypeError, match=r"value\[0\]\.model\.layers\[0\]: .*Plain"):
            box.push([Outer(Model([Plain()]))])
    finally:
        monkeypatch.undo()
        allow(monkeypatch, "airflow.*")
        monkeypatch.undo()


class Shade(enum.Flag):
    LIGHT = 1
    DARK = 2


class Pair(NamedTuple):
    left: Any
    right: Any

    def __iter__(self) -> Any:
        raise AssertionError("what a class makes of its own iteration is not what it holds")


Old = collections.namedtuple("Old", ["a"])  # noqa: PYI024 (as people have it)


class Attributed(Old):
    """Has a __dict__."""


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Our own classes may be loaded, for a while."""
    allow(monkeypatch, "airflow.* tests.python.*")
    yield
    monkeypatch.undo()
    allow(monkeypatch, "airflow.*")
    monkeypatch.undo()


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("threshold", [0, 32768])
@pytest.mark.parametrize(
    "value",
    [Color.RED, Level.LOW, Shade.LIGHT, Shade.LIGHT | Shade.DARK, Shade(0), Point(1, 2), Old((1,))],
    ids=repr,
)
def test_enums_and_named_tuples_come_back_as_their_class(
    box: Box, value: Any, threshold: int
) -> None:
    box.set(threshold=threshold)
    for wrapped in (value, [value], {value: (value,)}):
        back = box.through(wrapped)
        assert same(back, wrapped)
        item = back if wrapped is value else next(iter(back))
        assert type(item) is type(value)
        assert item == value
        assert not isinstance(value, enum.Enum) or item is value


@pytest.mark.usefixtures("allowed")
def test_a_named_tuple_keeps_what_it_holds(box: Box) -> None:
    value = Pair({1, 2}, Pair(None, [decimal.Decimal(1)]))
    back = box.through([value])[0]
    assert type(back) is type(back.right) is Pair
    assert (back.left, back.right.right) == ({1, 2}, [decimal.Decimal(1)])
    with pytest.raises(TypeError, match=r"value\['p'\]\[1\]\[0\]: .*Plain"):
        box.push({"p": Pair(1, [Plain()])})
    with pytest.raises(TypeError, match="plain tuple"):
        box.push([Attributed(1)])


@pytest.mark.usefixtures("allowed")
def test_a_class_that_no_other_process_would_find_is_refused(box: Box) -> None:
    class Local(enum.Enum):
        X = 1

    with pytest.raises(TypeError, match=r"value\[0\].*Local.* top level of a module"):
        box.push([Local.X])


def test_a_class_that_is_not_allowed_is_neither_pushed_nor_pulled(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TypeError, match=r"value\['c'\].*allowed_deserialization_classes"):
        box.push({"c": Color.RED})
    allow(monkeypatch, "tests.python.*")
    row = stored(box.push({"c": Color.RED}))
    monkeypatch.undo()
    allow(monkeypatch, "airflow.*")
    box.set(store=f"file://{box.root}")
    with pytest.raises(ImportError, match=r"Color.*allowed_deserialization_classes"):
        box.pull(row)


@pytest.mark.parametrize("name", ["os:system", "builtins:eval", "json:JSONEncoder", "nowhere:X"])
def test_a_row_can_not_have_any_class_loaded(name: str) -> None:
    for tag, content in (("~enum", ["x", None]), ("~named", [1])):
        with pytest.raises(ImportError, match="may not be loaded"):
            document.from_json({tag: [name, content]})


# What Airflow's serializer refuses or changes: apache/airflow#53759 and the like.
E4 = {
    "Timestamp": "pd.Timestamp('2026-01-01 12:00:00.000000001')",
    "Timestamp with zone": "pd.Timestamp('2026-10-25T01:30Z').tz_convert('Europe/Berlin')",
    "Timestamp with fixed zone": "pd.Timestamp('2026-01-01T00:00+05:30')",
    "Timestamp of seconds": "pd.Timestamp('2026-01-01').as_unit('s')",
    "Timestamp far away": "pd.Timestamp(np.datetime64('9999-12-31', 's'))",
    "Timestamp with fold": "pd.Timestamp('2026-10-25 02:30').replace(fold=1)",
    "Timedelta": "pd.Timedelta(1, 'ns')",
    "Timedelta of seconds": "pd.Timedelta(-5, 's').as_unit('s')",
    "NaT": "pd.NaT",
    "NA": "pd.NA",
    "Period": "pd.Period('2026Q3', freq='Q-NOV')",
    "Period of days": "pd.Period('2026-01-01', freq='3D')",
    "Interval": "pd.Interval(pd.Timestamp('2026'), pd.Timestamp('2027', ), closed='neither')",
    "Interval of floats": "pd.Interval(0.5, 1, 'both')",
    "datetime64": "np.datetime64('2026-01-01T00:00:00.000000001')",
    "bytes": "[b'x']",
    "time": "datetime.time(1, 2, 3, 4, fold=1)",
    "deque": "collections.deque([1], 3)",
    "range": "range(1, 10, 3)",
    "complex": "1 + 2j",
    "path": "pathlib.PurePosixPath('/a/b')",
    "Decimal": "decimal.Decimal('0.1234567890123456789012345')",
    "timedelta": "datetime.timedelta(days=1_000_000, microseconds=1)",
    "str_": "np.str_('x')",
    "complex128": "np.complex128(1j)",
    "keys": "{1: 'a', (1, 2): 'b', None: 'c', 'd': 4}",
}


@pytest.mark.parametrize("threshold", [0, 32768])
@pytest.mark.parametrize("name", E4)
def test_what_airflow_refuses_or_changes_comes_back_as_it_was(
    box: Box, name: str, threshold: int
) -> None:
    box.set(threshold=threshold)
    value = eval(E4[name], globals())
    assert same(box.through(value), value)
    assert same(box.through({"k": [value, (value,)]}), {"k": [value, (value,)]})


def test_a_pandas_subclass_of_a_scalar_is_refused() -> None:
    class Mine(pd.Timestamp):  # type: ignore[misc]
        pass

    mine = Mine("2026-01-01")
    if type(mine) is Mine:  # pandas makes its own of it.
        with pytest.raises(TypeError, match="Mine"):
            document.encode([mine])


def test_a_time_of_pytz_keeps_its_zone_and_which_offset_it_has() -> None:
    pytz = pytest.importorskip("pytz")
    berlin = pytz.timezone("Europe/Berlin")
    winter = berlin.localize(datetime.datetime(2026, 1, 1))
    for value in (winter, berlin, pytz.utc, pytz.FixedOffset(90), pd.Timestamp(winter)):
        packed = document.pack_zone(getattr(value, "tzinfo", value), type(value))
        zone = document.unpack_zone(json.loads(json.dumps(packed)))
        assert zone is getattr(value, "tzinfo", value)
    encoded = document.Encoder().encode([winter, pd.Timestamp(winter)])
    back = document.from_json(json.loads(json.dumps(encoded)))
    assert back == [winter, pd.Timestamp(winter)]
    assert back[0].tzinfo is winter.tzinfo
    assert back[1].tzinfo is pd.Timestamp(winter).tzinfo


@pytest.mark.parametrize(
    "value",
    [
        [
            {"id": i, "when": datetime.date(2026, 1, 1 + i % 28), "tags": ("a", i)}
            for i in range(99)
        ],
        {"a": [[[{"b": {"c": [1, {2}]}}]], "x"], "same": {"d": 1.5}},
    ],
    ids=["records", "nested"],
)
def test_what_is_encoded_is_left_as_it_was(value: Any) -> None:
    before = repr(value)
    encoded = document.Encoder().encode(value)
    assert repr(value) == before
    assert same(document.from_json(encoded), value)
    assert same(document.decode(memoryview(document.dump(encoded))), value)
    # What is read is new.
    plain = {"b": [1]}
    assert document.from_json(plain) == plain
    assert document.from_json(plain)["b"] is not plain["b"]


def test_what_airflow_makes_of_an_object_has_to_be_text_that_a_row_can_hold() -> None:
    with pytest.raises(document.Unsupported, match="lone surrogate") as caught:
        document.Encoder(lambda _: '"\ud800"').encode([object()])
    assert str(caught.value.as_type_error()).startswith("value[0]: ")


def test_a_value_that_changes_while_it_is_encoded_is_an_error_and_no_crash() -> None:
    growing: dict[str, Any] = {"a": (1,), "b": (2,)}

    def leaf(_: Any) -> str:
        growing.clear()
        growing.update({str(i): i for i in range(1000)})
        return "null"

    growing["c"] = object()
    with pytest.raises(RuntimeError, match="changed size"):
        document.Encoder(leaf).encode([growing, growing])
    shrinking: list[Any] = [object(), [1] * 99, {"a": 1}]

    def emptying(_: Any) -> str:
        shrinking.clear()
        return "null"

    assert document.Encoder(emptying).encode([shrinking]) == [[{"~airflow": "null"}]]


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("threshold", [0, 32768])
@pytest.mark.parametrize("name", MODELS)
def test_objects_of_declared_fields_come_back_exactly(box: Box, name: str, threshold: int) -> None:
    box.set(threshold=threshold)
    value = MODELS[name]
    for wrapped in ([value], {"k": (value, 1)}):
        item = box.through(wrapped)
        back = item[0] if isinstance(item, list) else item["k"][0]
        assert type(back) is type(value)
        assert back == value
        assert repr(back) == repr(value)
        for kept in ("fields_set", "extra", "private"):
            name = f"__pydantic_{kept}__"
            assert_same(getattr(value, name, None), getattr(back, name, None))


@pytest.mark.usefixtures("allowed")
def test_an_object_that_holds_more_than_its_fields_is_refused() -> None:
    class Cached(Outer):
        pass

    value = Outer(Model([1]))
    vars(value)["more"] = 1
    with pytest.raises(TypeError, match=r"value\[0\]: .*Outer"):
        document.encode([value])
    with pytest.raises(TypeError, match=r"value\[0\].*Cached"):
        document.encode([Cached(Model([]))])


@pytest.mark.parametrize("name", MODELS)
def test_objects_of_declared_fields_that_are_not_allowed_are_refused_by_name(
    box: Box, name: str
) -> None:
    with pytest.raises(TypeError, match=r"^value\['m'\].*: .*allowed_deserialization_classes"):
        box.push({"m": MODELS[name]})


@pytest.mark.parametrize("option", ["", "_regexp"])
def test_patterns_that_airflow_can_not_read_are_an_error_that_names_the_setting(
    box: Box, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    try:
        allow(monkeypatch, "tests.python.*")
        row = stored(box.push([Point(1, 2), Color.RED]))
        monkeypatch.undo()
        allow(monkeypatch, "airflow.*" if option else "*")
        if option:
            monkeypatch.setenv("AIRFLOW__CORE__ALLOWED_DESERIALIZATION_CLASSES_REGEXP", "*")
        for value in ([Point(1, 2)], [Color.RED], [Outer(Model([1]))]):
            with pytest.raises(airfreight.ConfigError, match="allowed_deserialization_classes"):
                Box(monkeypatch, box.root).push(value)
        with pytest.raises(airfreight.ConfigError, match=r"_regexp = \.\*"):
            box.pull(row)
    finally:
        monkeypatch.undo()
        allow(monkeypatch, "airflow.*")
        monkeypatch.undo()


@pytest.mark.parametrize("module", [None, 5, b"m", ""])
def test_a_class_that_does_not_say_where_it_is_from_is_refused(box: Box, module: Any) -> None:
    odd: Any = type("Odd", (), {"__module__": module})
    for value, place in ((odd(), "value: "), ({"a": [odd()]}, "value['a'][0]: ")):
        with pytest.raises(TypeError, match=r"can't be pushed as an XCom") as caught:
            box.push(value)
        assert str(caught.value).startswith(place)


def test_a_row_can_not_have_an_object_of_any_class_made() -> None:
    for name in ("os:system", "builtins:object", "subprocess:Popen"):
        with pytest.raises(ImportError, match="may not be loaded"):
            document.from_json({"~object": [[name, None], {}]})


def test_pendulum_is_left_to_airflow_where_that_keeps_it(box: Box) -> None:
    pendulum = importlib.import_module("pendulum")  # Of Airflow's environment, not of the tools'.

    value = {"when": pendulum.datetime(2026, 1, 1, tz="UTC", fold=0)}
    row = box.push(value)
    assert row == default(value)
    assert_same(value, box.pull(stored(row)))
    # Airflow's serializer would make UTC of no zone, and loses the fold that pendulum sets.
    for odd in (
        pendulum.naive(2026, 1, 1),
        pendulum.datetime(2026, 1, 1, tz="Europe/Berlin"),
        pendulum.datetime(2026, 10, 25, 2, 30, 0, 5, tz="Europe/Berlin", fold=1),
        pendulum.parse("2026-01-01T00:00:00+05:30"),
        pendulum.DateTime(2026, 1, 1, tzinfo=datetime.timezone.utc),
    ):
        for whole in (odd, [odd], {odd: 1}, (odd,)):
            assert_same(whole, box.through(whole))


# Frames that Airflow's serializer takes and gives back as something else.
ODD_FRAMES = {
    "seconds": "pd.DataFrame({'t': np.array(['2026-01-01', 'NaT'], dtype='M8[s]')})",
    "objects with None": "pd.DataFrame({'a': pd.Series([1, None], dtype=object)})",
    "labels of several types": "pd.DataFrame([[1, 2]], columns=[1, 'a'])",
    "frequency": "pd.DataFrame({'a': range(3)}, index=pd.date_range('2026', periods=3, freq='D'))",
    "attrs": "pd.DataFrame({'a': [1]})",
    "empty": "pd.DataFrame()",
}


@pytest.mark.parametrize("threshold", [0, 32768])
@pytest.mark.parametrize("name", ODD_FRAMES)
def test_a_frame_inside_another_value_comes_back_exactly(
    box: Box, name: str, threshold: int
) -> None:
    box.set(threshold=threshold)
    frame = eval(ODD_FRAMES[name], {"pd": pd, "np": np})
    if name == "attrs":
        frame.attrs = {"from": (1, 2)}
    for value in ({"df": frame}, [frame], (frame,), {1: [(frame,)]}):
        row = box.push(value)
        assert box.fields(row)["_xcom_type"] == ("document" if threshold else "bundle")
        assert (box.fields(row)["_xcom_backend"] == "inline") == (threshold > 0)
        back: Any = box.pull(stored(row))
        assert type(back) is type(value)
        while not isinstance(back, pd.DataFrame):
            (back,) = back.values() if isinstance(back, dict) else back
        pd.testing.assert_frame_equal(back, frame, check_freq=True)
        assert list(map(type, back.columns)) == list(map(type, frame.columns))
        assert [list(map(type, column)) for column in back.T.values] == [
            list(map(type, column)) for column in frame.T.values
        ]
        assert back.attrs == frame.attrs


@pytest.mark.parametrize("threshold", [0, 32768])
def test_an_array_inside_another_value_comes_back_exactly(box: Box, threshold: int) -> None:
    box.set(threshold=threshold)
    for array in (
        np.arange(6, dtype=">i2").reshape(2, 3).T,
        np.array(5),
        np.array(["2026-01-01"], dtype="M8[s]"),
    ):
        back = box.through({"a": [array], "b": (array, None)})
        for item in (back["a"][0], back["b"][0]):
            assert type(item) is np.ndarray
            assert item.dtype == array.dtype
            assert item.shape == array.shape
            assert item.tobytes() == array.tobytes()
            assert item.flags.writeable


def test_a_large_frame_inside_a_dict_goes_to_the_store(box: Box) -> None:
    row = box.push({"df": pd.DataFrame({"a": np.random.default_rng(0).random(10_000)})})
    assert box.fields(row)["_xcom_backend"] == "file"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"x": [pd.DataFrame({"a": [1, print]})]}, "value['x'][0]: column 'a': row 1:"),
        ((np.array([None, object()]),), "value[0][1]: an object of type object"),
    ],
    ids=["frame", "array"],
)
def test_a_frame_that_is_refused_is_named_with_its_place(box: Box, value: Any, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        box.push(value)
    assert str(caught.value).startswith(words)
    assert box.objects() == []


def test_a_damaged_value_inside_a_document_is_an_error() -> None:
    for content in (["bytes"], "x"):
        with pytest.raises(ValueError, match=r"tag|expected"):
            document.from_json({"~value": content})
    # Whether it was damaged is for those to say who know its digest: as alone, so in a document.
    for name in ("numpy.ndarray", "pandas.DataFrame"):
        with pytest.raises(airfreight.UnsupportedError, match=f"can't be read as {name}"):
            document.from_json({"~value": [name, "AAAA"]})
    with pytest.raises(airfreight.NewerFormatError, match=r"vaex\.DataFrame"):
        document.from_json({"~value": ["vaex.DataFrame", "AAAA"]})


@pytest.mark.parametrize("depth", [40, 49, 51, 80, 124])
@pytest.mark.parametrize("kind", ["tuple", "dict of numbers", "list"])
def test_a_deep_document_comes_back_or_is_refused_when_it_is_pushed(
    box: Box, depth: int, kind: str
) -> None:
    levels = {"tuple": 2, "dict of numbers": 3, "list": 1}[kind] * depth
    value: Any = (1,)
    for _ in range(depth):
        value = {"tuple": (value,), "dict of numbers": {1: value}, "list": [value]}[kind]
    if levels > 248:
        with pytest.raises(TypeError, match="levels") as caught:
            box.push(value)
        assert len(str(caught.value)) < 600
        return
    row = box.push(value)
    inline = box.fields(row)["_xcom_backend"] == "inline"
    # Airflow 3's message to its supervisor is validated with a limit of depth.
    assert inline == (exchange.ROWS_ARE_BYTES or levels < 99)
    assert box.pull(stored(row)) == value


@pytest.mark.parametrize(
    "expression",
    [
        "np.float64(1.5)",
        "np.float32(0.1)",
        "np.float16(2)",
        "np.int64(-5)",
        "np.uint8(255)",
        "np.bool_(True)",
        "np.complex128(1+2j)",
        "np.str_('é')",
        "np.bytes_(b'x')",
        "np.datetime64('2026-01-01T00:00:00.000000001')",
        "np.datetime64('NaT')",
        "np.timedelta64(5, 'ms')",
        "np.float64('nan')",
        "np.str_('')",
        "np.bytes_(b'')",
        "np.bytes_(b'a\\0')",
        "np.bytes_(b'\\0\\0')",
        "np.str_('a\\0')",
        "np.str_('\\0')",
        "np.str_('\\ud800')",
    ],
)
def test_numpy_scalars_keep_their_type_and_bits(box: Box, expression: str) -> None:
    value = eval(expression, {"np": np})
    for wrapped in (value, {"mean": value}, (value,)):
        back = box.through(wrapped)
        item = (
            back["mean"] if isinstance(back, dict) else back[0] if isinstance(back, tuple) else back
        )
        assert type(item) is type(value)
        assert item.dtype == value.dtype
        assert item.tobytes() == value.tobytes()
        if isinstance(value, (str, bytes)):
            assert len(item) == len(value)


@pytest.mark.parametrize("code", ["V0", "V3", "S0", "U0"])
@pytest.mark.parametrize("threshold", [0, 32768])
def test_numpy_scalars_of_no_bytes_come_back(box: Box, code: str, threshold: int) -> None:
    box.set(threshold=threshold)
    value = np.zeros((), code)[()]
    for wrapped in (value, [value], {1: (value,)}):
        assert_same(box.through(wrapped), wrapped)


def test_a_numpy_scalar_that_is_not_kept_is_refused(box: Box) -> None:
    masked = np.ma.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")], mask=[(0, 1)])[0]
    with pytest.raises(TypeError, match=r"value\[0\].*numpy"):
        box.push([masked])


@pytest.mark.parametrize("name", ["a\x00b", "\ud800", "", "UTC+05:30"])
def test_the_name_of_a_time_zone_may_be_any_text(box: Box, name: str) -> None:
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30), name)
    row = box.push([zone, datetime.time(1, tzinfo=zone)])
    assert "\\u0000" not in json.dumps(box.fields(row))
    back = box.pull(stored(row))
    assert back[0].tzname(None) == back[1].tzname() == name


@pytest.mark.parametrize("hours", [0, 1])
def test_a_time_zone_that_was_given_the_name_that_it_has_anyway(box: Box, hours: int) -> None:
    offset = datetime.timedelta(hours=hours)
    for name in ((), (datetime.timezone(offset).tzname(None),)):
        zone = datetime.timezone(offset, *name)
        moments = [datetime.datetime(2026, 1, 1, tzinfo=zone), datetime.time(1, tzinfo=zone)]
        back = box.through([zone, *moments])
        zones = [back[0], *(moment.tzinfo for moment in back[1:])]
        assert [repr(one) for one in zones] == [repr(zone)] * 3
        index = pd.DatetimeIndex(["2026-01-01"]).tz_localize(zone)
        assert repr(box.through(pd.DataFrame({"a": [1]}, index=index)).index.tz) == repr(zone)


def test_zones_of_dateutil_are_kept_by_the_names_that_it_finds_them_by(box: Box) -> None:
    tz = pytest.importorskip("dateutil.tz")
    named = [tz.tzoffset("x", 3600), tz.tzoffset(None, datetime.timedelta(microseconds=-1))]
    for zone in (tz.gettz("Europe/Berlin"), tz.tzutc(), *named):
        moment = datetime.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=zone)
        frame = pd.DataFrame({"a": pd.date_range("2026", periods=3, tz=zone)})
        cells = pd.DataFrame({"a": pd.Series([moment, None], dtype=object)})
        for value in (moment, moment.timetz(), frame, frame.set_index("a"), frame.a[0], cells):
            assert_same(value, box.through(value))
    # What is another on the next machine, or a rule of its own.
    data = importlib.resources.files("tzdata").joinpath("zoneinfo/Europe/Berlin").read_bytes()
    others = [tz.tzfile(io.BytesIO(data), name) for name in ("Asia/Tokyo", "../secret", "")]
    for zone in (tz.tzlocal(), tz.tzstr("EST5EDT4"), *others):
        with pytest.raises(TypeError, match=r"dateutil.*not kept exactly"):
            box.push(datetime.datetime(2026, 1, 1, tzinfo=zone))


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "a/../b", ":x", "EST5EDT4", "Nowhere"])
def test_a_document_names_no_file_as_a_zone_of_dateutil(name: str) -> None:
    pytest.importorskip("dateutil")
    with pytest.raises(ValueError, match="no time zone"):
        document.unpack_zone(["dateutil", name])


def test_a_zone_that_its_name_does_not_tell_is_refused(box: Box) -> None:
    data = importlib.resources.files("tzdata").joinpath("zoneinfo/Europe/Berlin")
    with data.open("rb") as file:
        zone = zoneinfo.ZoneInfo.from_file(file, key="Europe/Paris")
    with pytest.raises(TypeError, match="read from a file"):
        box.push([zone])


# --- Damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "encoded",
    [
        {"~tuple": 1},
        {"~dict": [[1]]},
        {"~dict": {"a": 1}},
        {"~int": "12z"},
        {"~float": 1},
        {"~bytes": "***"},
        {"~date": "yesterday"},
        {"~datetime": ["2026-01-01", "utc"]},
        {"~datetime": ["2026-01-01T00:00:00", ["mars"], 0]},
        {"~set": [[1]]},
        {"~decimal": "x"},
        {"~uuid": 5},
        {"~complex": ["1"]},
        {"~timedelta": [1]},
        {"~str": "/w=="},
        {"~airflow": 1},
    ],
    ids=repr,
)
def test_a_tag_with_the_wrong_content_is_damage(encoded: Any) -> None:
    with pytest.raises(ValueError, match=r"tag|expected|no Airflow"):
        document.from_json([encoded])


def test_an_unknown_tag_is_of_a_newer_release() -> None:
    with pytest.raises(airfreight.NewerFormatError, match="~polars"):
        document.from_json({"a": {"~polars": 1}})


def test_describe() -> None:
    assert json_.describe([1]) == "list of 1 items"
    assert json_.describe("abc") == "str of 3 characters"
    assert json_.describe(None) == "None"
    assert json_.describe({"a": 1}) == "dict of 1 keys"
    assert math.isnan(document.from_json({"~float": "nan"}))
    assert uuid.UUID(int=1) == document.from_json({"~uuid": str(uuid.UUID(int=1))})

"""The tags that are made in C++: the text that the specification says, and back again."""

from __future__ import annotations

import base64
import datetime
import decimal
import gc
import json
import math
import sys
import uuid
import zoneinfo
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.oracle import assert_same
from tests.python.conftest import MANY

from airfreight import _json
from airfreight.values import document

if TYPE_CHECKING:
    from collections.abc import Callable

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def moment(value: datetime.datetime | datetime.time) -> list[Any]:
    text = value.replace(tzinfo=None, fold=0).isoformat()
    return [text, document.pack_zone(value.tzinfo, type(value)), value.fold]


# Word for word what formats/document.md says of each.
CONTENTS: dict[type, Callable[[Any], tuple[str, Any]]] = {
    bytearray: lambda value: ("~bytearray", base64_of(value)),
    bytes: lambda value: ("~bytes", base64_of(value)),
    datetime.date: lambda value: ("~date", value.isoformat()),
    datetime.datetime: lambda value: ("~datetime", moment(value)),
    datetime.time: lambda value: ("~time", moment(value)),
    datetime.timedelta: lambda value: (
        "~timedelta",
        [value.days, value.seconds, value.microseconds],
    ),
    decimal.Decimal: lambda value: ("~decimal", str(value)),
    frozenset: lambda value: ("~frozenset", in_order(value)),
    set: lambda value: ("~set", in_order(value)),
    tuple: lambda value: ("~tuple", [form(item) for item in value]),
    uuid.UUID: lambda value: ("~uuid", str(value)),
}


def in_order(value: Any) -> list[Any]:
    return sorted(map(form, value), key=lambda item: json.dumps(item, sort_keys=True))


def form(value: Any) -> Any:
    kind = type(value)
    if kind is float:
        kept = math.isfinite(value) and abs(value) < 1e16 and repr(value) != "-0.0"
        return value if kept else {"~float": repr(value)}
    if kind is int:
        return value if -(2**63) <= value < 2**64 else {"~int": hex(value)}
    if kind is str:
        if document.is_plain_text(value):
            return value
        return {"~str": base64_of(value.encode("utf-8", "surrogatepass"))}
    if kind is list:
        return [form(item) for item in value]
    if kind is dict:
        return {"~dict": [[form(key), form(item)] for key, item in value.items()]}
    if kind in CONTENTS:
        name, content = CONTENTS[kind](value)
        return {name: content}
    return value


zones = (
    st.none()
    | st.sampled_from([datetime.timezone.utc, BERLIN, zoneinfo.ZoneInfo("Asia/Kolkata")])
    | st.timedeltas(datetime.timedelta(hours=-23), datetime.timedelta(hours=23)).map(
        datetime.timezone
    )
    | st.builds(
        datetime.timezone,
        st.timedeltas(datetime.timedelta(hours=-23), datetime.timedelta(hours=23)),
        st.text(max_size=3),
    )
)
keys = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text()
    | st.text(st.characters(codec=None, categories=None), max_size=4)
    | st.binary(max_size=9)
    | st.decimals().filter(lambda number: not number.is_snan())
    | st.uuids()
    | st.dates()
    | st.builds(datetime.time.replace, st.times(), tzinfo=zones, fold=st.integers(0, 1))
    | st.builds(datetime.datetime.replace, st.datetimes(), tzinfo=zones, fold=st.integers(0, 1))
    | st.timedeltas()
)
hashable = st.recursive(
    keys,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=4),
    max_leaves=6,
)
values = st.recursive(
    hashable | st.binary(max_size=9).map(bytearray) | st.sets(hashable, max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(hashable.filter(lambda key: type(key) is not str), inner, min_size=1)
    ),
    max_leaves=10,
)


def has_tag(encoded: Any) -> bool:
    if isinstance(encoded, dict):
        return any(name.startswith("~") for name in encoded)
    return isinstance(encoded, list) and any(map(has_tag, encoded))


@settings(max_examples=300 * MANY, deadline=None)
@given(value=values)
@example(value={"]", "\x7f", "é"})  # (In ASCII the last two begin with a backslash.)
def test_the_text_is_that_of_the_specification_and_comes_back(value: Any) -> None:
    encoder = document.Encoder()
    text = encoder.text(value)
    spelt = json.dumps(form(value), ensure_ascii=False, separators=(",", ":"))
    assert text == spelt.encode()
    back = document.decode(memoryview(text))
    assert_same(value, back)
    assert_same(value, document.from_json(json.loads(text)))
    assert encoder.tagged == has_tag(json.loads(text))


def levels_of(encoded: Any) -> int:
    if isinstance(encoded, list):
        return 1 + max(map(levels_of, encoded), default=0)
    if isinstance(encoded, dict):
        return 1 + max(map(levels_of, encoded.values()), default=0)
    return 0


@settings(max_examples=200 * MANY, deadline=None)
@given(value=values)
def test_levels_are_those_of_the_json(value: Any) -> None:
    encoder = document.Encoder()
    assert levels_of(json.loads(encoder.text(value))) == encoder.levels


@pytest.mark.parametrize(
    "value",
    [
        datetime.datetime(1, 1, 1),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, fold=1),
        datetime.datetime(2026, 12, 31, 1, tzinfo=datetime.timezone.utc, fold=1),
        datetime.datetime(2024, 2, 29, 0, 0, 0, 1, tzinfo=BERLIN),
        datetime.time(23, 59, 59, 999999, fold=1),
        datetime.time(tzinfo=datetime.timezone(datetime.timedelta(microseconds=-1))),
        datetime.date(1, 1, 1),
        datetime.date(9999, 12, 31),
        datetime.timedelta.min,
        datetime.timedelta.max,
        uuid.UUID(int=0),
        uuid.UUID(int=2**128 - 1),
        decimal.Decimal("-0E-1000"),
        decimal.Decimal("NaN123"),
        decimal.Decimal("sNaN"),
        decimal.Decimal(1) / 3,
        frozenset(),
        frozenset([frozenset([1, 10, 2]), ("a", "B", "é", "\x7f", "𝄞", "﹐")]),
        {(1, "x"): [2], None: 3, 1.5: ()},
        {"~": 1},
        {"_airfreight": (1,)},
        b"",
        bytes(range(256)) * 40,
        "\x00",
        "a\ud800",
    ],
    ids=repr,
)
def test_the_edges_are_kept(value: Any) -> None:
    text = document.Encoder().text([value, {"k": value}])
    assert_same([value, {"k": value}], document.decode(memoryview(text)))


@pytest.mark.parametrize(
    ("tag", "content"),
    [
        ("~date", "2026-02-29"),
        ("~date", "0000-01-01"),
        ("~date", "2026-13-01"),
        ("~datetime", ["2026-01-01T24:00:00", None, 0]),
        ("~datetime", ["2026-01-01T00:60:00", None, 0]),
        ("~datetime", ["2026-01-01T00:00:00", None, 2]),
        ("~datetime", ["2026-01-01T00:00:00", "mars", 0]),
        ("~datetime", ["2026-01-01T00:00:00", None]),
        ("~time", ["00:00:61", None, 0]),
        ("~time", "00:00:00"),
        ("~timedelta", [1, 2]),
        ("~timedelta", [1, 2, 3.0]),
        ("~timedelta", [10**10, 0, 0]),
        ("~uuid", "x" * 36),
        ("~bytes", "AAA"),
        ("~bytes", "A=AA"),
        ("~bytes", "AAA*"),
        ("~bytes", "\ud800"),
        ("~datetime", ["2026-01-01T00:00:00", ["iana", "Europe"], 0]),
        ("~set", [[]]),
        ("~set", "a"),
        ("~dict", [[[], 1]]),
        ("~dict", [1]),
        ("~tuple", "a"),
        ("~decimal", "1.2.3"),
        ("~float", "one"),
    ],
)
def test_what_is_not_ours_is_damage(tag: str, content: Any) -> None:
    with pytest.raises(ValueError, match=f"tag {tag} has a wrong content"):
        document.decode(memoryview(json.dumps({tag: content}).encode()))
    with pytest.raises(ValueError, match=f"tag {tag} has a wrong content"):
        document.from_json({tag: content})


def test_a_name_that_comes_twice_is_its_last() -> None:
    assert document.decode(memoryview(b'{"~tuple":[1],"~tuple":[2]}')) == (2,)


def test_a_uuid_keeps_whether_it_is_safe() -> None:
    for safe in uuid.SafeUUID:
        back = document.decode(
            memoryview(document.Encoder().text([uuid.UUID(int=7, is_safe=safe)]))
        )
        assert (back[0].int, back[0].is_safe) == (7, safe)


def test_times_of_one_zone_share_it() -> None:
    value = [datetime.datetime(2026, 1, 1, hour, tzinfo=BERLIN) for hour in range(24)]
    value += [
        datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=hours)))
        for hours in (*range(20), *range(20))
    ]
    back = document.decode(memoryview(document.Encoder().text(value)))
    assert_same(value, back)
    assert all(one.tzinfo is BERLIN for one in back[:24])


def test_a_zone_that_is_refused_is_refused_each_time_with_its_place() -> None:
    class Mine(datetime.tzinfo):
        def utcoffset(self, _: Any) -> datetime.timedelta:
            return datetime.timedelta(0)

        def dst(self, _: Any) -> None:
            return None

        def tzname(self, _: Any) -> str:
            return "mine"

    when = datetime.datetime(2026, 1, 1, tzinfo=Mine())
    for value, place in (([when], r"value\[0\]"), ({"a": (1, when)}, r"value\['a'\]\[1\]")):
        with pytest.raises(TypeError, match=f"{place}: .*datetime.*time zone"):
            document.encode(value)


def test_subclasses_are_no_such_tags() -> None:
    class Day(datetime.date):
        pass

    class Many(tuple[int, ...]):  # noqa: SLOT001
        pass

    for value in (Day(2026, 1, 1), Many((1,)), type("Ids", (uuid.UUID,), {})(int=1)):
        with pytest.raises(TypeError, match=r"value\[0\]"):
            document.encode([value])


def test_objects_in_sets_are_still_found() -> None:
    with pytest.raises(TypeError, match=r"value\[0\]\{…\}: .*object"):
        document.encode([{1, object()}])


def test_code_of_python_may_run_in_what_is_hashed() -> None:
    """(Enum members and the like: the collector is then as it was.)"""
    during = []

    class Key:
        def __hash__(self) -> int:
            during.append(gc.isenabled())
            return 1

    def untag(name: str, content: Any) -> Any:
        return Key() if name == "~key" else set(content)

    _json.decode(b'{"~set":[{"~key":1}]}', untag)
    assert during == [gc.isenabled()]


def test_nothing_is_kept_of_what_was_tagged() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=1), "x")
    value = [
        (1, {2: {3}}),
        datetime.datetime(2026, 1, 1, tzinfo=zone),
        uuid.uuid4(),
        decimal.Decimal(1),
        {"name" * 30: b"1" * 99},
    ]
    text = document.Encoder().text(value)

    def refused() -> None:
        with pytest.raises(TypeError):
            document.encode([value, {4: (object(),)}])

    watched = (zone, None, datetime.datetime, uuid.UUID)
    for call in (
        lambda: document.Encoder().text(value),
        lambda: document.Encoder().texts(value),
        lambda: document.decode(memoryview(text)),
        refused,
    ):
        call()
        gc.collect()
        before = len(gc.get_objects()), *map(sys.getrefcount, watched)
        for _ in range(200):
            call()
        gc.collect()
        after = len(gc.get_objects()), *map(sys.getrefcount, watched)
        assert all(abs(one - other) < 100 for one, other in zip(before, after, strict=True))


def test_texts_of_several_values() -> None:
    encoder = document.Encoder()
    values: list[Any] = [None, 1, "x" * 600_000, (1,), {"a": None}]
    texts = encoder.texts(values)
    assert texts[0] is None
    assert document.decode(memoryview(document.array(texts))) == values
    with pytest.raises(document.Unsupported) as caught:
        encoder.texts([1, {"a": object()}])
    assert caught.value.steps == ["['a']", "[1]"]
    with pytest.raises(TypeError, match="list"):
        _json.documents((1,), lambda _value, _depth: ("~x", 1, 0))  # type: ignore[arg-type]

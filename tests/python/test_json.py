"""Plain JSON: the pass in C++ against Python's own `json` and a look at each value in Python."""

from __future__ import annotations

import gc
import json
import math
import signal
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.conftest import MANY, Box, stored

from airfreight import _json
from airfreight.values import json_
from airfreight.values.json_ import MARKERS, Kind

texts = st.text() | st.text(st.characters(codec=None, categories=None), max_size=5)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**63) - 2, 2**64 + 2)
    | st.floats()
    | texts
)
values = st.recursive(
    scalars | st.just(()) | st.just(b""),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(texts | st.sampled_from(sorted(MARKERS)), inner, max_size=5)
        | st.dictionaries(st.integers(), inner, max_size=1)
    ),
    max_leaves=20,
)


def spell(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def kind_of(value: Any, depth: int = 0) -> Kind:
    """What the text of the specification says, word for word (formats/document.md)."""
    kind = type(value)
    if kind is str:
        plain = "\0" not in value and not any("\ud800" <= c <= "\udfff" for c in value)
        return Kind.PLAIN if plain else Kind.NOT
    if kind is bool or value is None:
        return Kind.PLAIN
    if kind is int:
        return Kind.PLAIN if -(2**63) <= value < 2**64 else Kind.NOT
    if kind is float:
        if not math.isfinite(value):
            return Kind.NOT
        kept = abs(value) < 1e16 and (value != 0 or math.copysign(1, value) > 0)
        return Kind.PLAIN if kept else Kind.FLOATS
    if kind not in (list, dict) or depth == 250:
        return Kind.NOT
    kinds = [Kind.PLAIN if depth < 100 else Kind.DEEP]
    if kind is dict:
        if any(type(key) is not str or key in MARKERS for key in value):
            return Kind.NOT
        kinds += [kind_of(key) for key in value]
        value = value.values()
    return min(kinds + [kind_of(item, depth + 1) for item in value])


def encoded(value: Any) -> bytes | None:
    text = json_.text_of(value)
    return None if text is None else b"".join(text.segments)


@settings(max_examples=500 * MANY, deadline=None)
@given(value=values)
def test_the_kind_is_that_of_the_specification_and_the_text_that_of_json(value: Any) -> None:
    text = json_.text_of(value)
    kind = kind_of(value)
    if text is None:
        assert kind is Kind.NOT
    else:
        assert text.kind is kind
        assert b"".join(text.segments) == spell(value).encode()
        assert repr(_json.decode(b"".join(text.segments))) == repr(value)


@settings(max_examples=500 * MANY, deadline=None)
@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_spelt_as_python_spells_it(number: float) -> None:
    assert encoded(number) == repr(number).encode()


@pytest.mark.parametrize(
    "numbers",
    [
        [2.0**exponent for exponent in range(-1074, 1024)],
        [float(f"{digit}e{exponent}") for digit in (1, 5, 9) for exponent in range(-330, 308)],
        [0.0, -0.0, 5e-324, 2.2250738585072014e-308, sys.float_info.max, 1e16, 1e-5, 0.0001, 1e15],
        [9007199254740993.0, 123456789012345680.0, 0.1, 1 / 3, 9999999999999998.0],
    ],
    ids=["powers of two", "powers of ten", "limits", "digits"],
)
def test_the_edges_of_floats_are_spelt_and_read_as_python_does(numbers: list[float]) -> None:
    assert encoded(numbers) == spell(numbers).encode()
    assert repr(_json.decode(spell(numbers).encode())) == repr(numbers)


@settings(max_examples=300 * MANY, deadline=None)
@given(
    value=st.recursive(
        scalars.filter(lambda one: not isinstance(one, float) or math.isfinite(one)),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    ),
    indent=st.sampled_from([None, 0, 3]),
)
def test_what_json_writes_is_read_as_json_reads_it(value: Any, indent: int | None) -> None:
    # Escapes for everything that is not ASCII, lone surrogates and NUL among it; spaces; any int.
    text = json.dumps(value, indent=indent)
    assert repr(_json.decode(text.encode())) == repr(json.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "1e400",
        "-1e400",
        "1e-400",
        "1" * 300,
        "-0",
        "-0.0",
        "1E5",
        "0.5e+3",
        '{"a":1,"b":2,"a":3}',
        ' \n\r\t[ 1 , { "a" : [ ] } ] ',
        '"\\ud83d\\ude00\\ud83d\\u0041\\ude00 \\uD83D"',
        '"\\ud83dx"',
        '"é\\ud800é"',
        '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000"',
        "\x22\x7f\u2028\x22",
    ],
)
def test_what_others_write_is_read_as_json_reads_it(text: str) -> None:
    found, expected = _json.decode(text.encode()), json.loads(text)
    assert repr(found) == repr(expected)
    assert found == expected


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (b"", 0),
        (b"  ", 2),
        (b"[1,]", 3),
        (b'{"a":1,}', 7),
        (b'{"a" 1}', 5),
        (b"{1:2}", 1),
        (b"[1 2]", 3),
        (b"[1}", 2),
        (b"[", 1),
        (b'{"a":', 5),
        (b"01", 1),
        (b"1.", 2),
        (b".5", 0),
        (b"+1", 0),
        (b"1e", 2),
        (b"-", 1),
        (b"tru", 0),
        (b"NaN", 0),
        (b"-Infinity", 1),
        (b"[1] 2", 4),
        (b'"a', 2),
        (b'"\\', 1),
        (b'"\\x"', 1),
        (b'"\\u12g4"', 5),
        (b'"\x01"', 1),
        (b'"a\x00"', 2),
        (b"'a'", 0),
        (b"\xef\xbb\xbf1", 0),
        (b'["\xff"]', 4),
        (b'"\xed\xa0\x80"', 5),
        (b'"\\ud800\xed\xa0\x80"', 7),
        (b'"\xed\xa0\x80\\ud800"', 10),
        (b'"\xc0\x80"', 4),
        (b"[" * 2000, 1024),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: bytes, offset: int) -> None:
    with pytest.raises(ValueError, match=rf"not JSON: .* byte {offset}( |$)"):
        _json.decode(text)


@pytest.mark.parametrize("size", [*range(40), 4095, 4096, 4097, (256 << 10) - 1, 256 << 10])
@pytest.mark.parametrize("letter", ["x", "é", '"', "\n", "漢", "🚢"])
def test_texts_of_any_length_are_kept(size: int, letter: str) -> None:
    # Words of eight bytes, copies of long texts and segments have their ends here.
    value = ["a" * size + letter, letter + "b" * size, {letter * (size % 999): size}]
    text = encoded(value)
    assert text == spell(value).encode()
    assert _json.decode(text) == value


def test_a_long_text_is_cut_into_segments_that_are_never_joined() -> None:
    value = [{"id": number, "name": f"name {number}"} for number in range(30_000)]
    text = json_.text_of(value)
    assert text is not None
    assert len(text.segments) > 2
    assert max(map(len, text.segments)) <= 256 << 10
    assert text.size == len(spell(value))
    assert json_.decode(memoryview(bytearray().join(text.segments))) == value


@pytest.mark.parametrize("marker", sorted(MARKERS))
def test_a_dict_with_a_marker_is_no_plain_json(marker: str) -> None:
    assert encoded({"a": {marker: 1}}) is None
    assert encoded({"a": {f"{marker}x": 1}}) is not None


def test_depth_has_a_limit_and_needs_no_stack() -> None:
    for depth, kind in ((100, Kind.PLAIN), (101, Kind.DEEP), (250, Kind.DEEP), (251, None)):
        value: Any = 1
        for _ in range(depth):
            value = [value]
        text = json_.text_of(value)
        assert (None if text is None else text.kind) is kind
    itself: list[Any] = []
    itself.extend((itself, {"a": itself}))
    assert json_.text_of(itself) is None
    chain: Any = 1
    for _ in range(100_000):
        chain = {"a": chain}
    assert json_.text_of(chain) is None
    while isinstance(chain, dict):  # Or its own end would need the stack.
        chain = chain["a"]


class Text(str):
    __slots__ = ()


class Number(int):
    pass


@pytest.mark.parametrize("value", [Text("x"), Number(1), (1,), {1: 2}, {Text("a"): 1}, b"x", {1}])
def test_other_types_are_no_plain_json(value: Any) -> None:
    assert encoded(value) is None
    assert encoded([{"a": value}]) is None


def test_names_that_repeat_are_one_object() -> None:
    rows = _json.decode(b'[{"a name": "a value"}, {"a name": "a value"}]')
    assert next(iter(rows[0])) is next(iter(rows[1]))


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_as_it_was(*, on: bool) -> None:
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        during = []
        _json.decode(b'[{"~x": 1}]', lambda _name, _content: during.append(gc.isenabled()))
        assert during == [on]  # Other threads may go on in code of Python.
        assert gc.isenabled() is on
        with pytest.raises(ValueError, match="not JSON"):
            _json.decode(b"[")
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()


def test_nothing_is_kept_of_what_was_encoded_or_decoded() -> None:
    value = {"k" * 50: ["v" * 50, 2**62, {"n": None}]}
    text = spell(value).encode()

    def refused(wrong: bytes) -> None:
        with pytest.raises(ValueError, match="not JSON"):
            _json.decode(wrong)

    for call in (
        lambda: _json.encode(value),
        lambda: _json.decode(text),
        lambda: refused(text[:-1]),
        lambda: refused(b'{"' + b"k" * 50 + b'": ["\xff"]}'),
    ):
        call()
        gc.collect()
        before = len(gc.get_objects()), sys.getrefcount(value), sys.getrefcount(None)
        for _ in range(200):
            call()
        gc.collect()
        after = len(gc.get_objects()), sys.getrefcount(value), sys.getrefcount(None)
        assert all(abs(one - other) < 100 for one, other in zip(before, after, strict=True))


def test_a_damaged_object_says_where(box: Box) -> None:
    box.set(threshold=0)
    row = box.push({"a": 1})
    path = box.file(row)
    size = len(path.read_bytes())
    assert path.read_bytes() == b'{"a":1}'
    assert box.pull(stored(row)) == {"a": 1}
    with pytest.raises(ValueError, match="byte 6"):
        json_.decode(memoryview(b'{"a":1'[:size]))


@pytest.mark.parametrize("text", ["漢" * 40, "é" * 40, "🙂" * 4096])
def test_a_push_does_not_make_the_users_texts_larger(text: str) -> None:
    value = [{text + str(number): text + str(number)} for number in range(3)]
    texts = [each for one in value for pair in one.items() for each in pair]
    before = list(map(sys.getsizeof, texts))
    assert _json.encode(value) is not None
    assert list(map(sys.getsizeof, texts)) == before


def test_what_a_decoder_of_tags_raises_comes_through() -> None:
    def untag(_name: str, _content: Any) -> Any:
        return b"\xff".decode()

    with pytest.raises(UnicodeDecodeError):
        _json.decode(b'{"a": {"~str": "/w=="}}', untag)


@pytest.mark.parametrize("data", [[0x31], "1", 1, None])
def test_json_text_is_bytes(data: Any) -> None:
    with pytest.raises(TypeError, match="bytes"):
        _json.decode(data)


@pytest.mark.parametrize("name", ["tuple", "", "~\ud800", "~\x00"])
def test_a_tag_has_a_plain_name(name: str) -> None:
    with pytest.raises(TypeError, match="begins with ~"):
        _json.document(object(), lambda _value, _depth: (name, [1], 1))


def test_a_signal_ends_the_encoding_of_a_large_value() -> None:
    class EndedError(Exception):
        pass

    def end(_number: int, _frame: Any) -> None:
        raise EndedError

    value: Any = "x" * 1000
    for _ in range(24):  # 17 GB of text.
        value = [value, value]
    was = signal.signal(signal.SIGALRM, end)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(EndedError):
            _json.encode(value)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, was)


@pytest.mark.parametrize("encode", [_json.encode, _json.dump])
def test_a_list_that_a_signals_handler_shortens_is_shorter(encode: Any) -> None:
    value = [1] * 3_000_000

    def shorten(_number: int, _frame: Any) -> None:
        value[:] = [1]

    was = signal.signal(signal.SIGALRM, shorten)
    try:
        for _ in range(5):
            value.extend([1] * 3_000_000)
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            encode(value)  # (It read behind the list's end.)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, was)
    assert value[:1] == [1]


def no_tag(*_: Any) -> Any:
    raise AssertionError("all of it is tagged in C++")


def test_what_a_signals_handler_raises_is_what_ends_the_encoding() -> None:
    class EndedError(Exception):
        pass

    def end(_number: int, _frame: Any) -> None:
        raise EndedError

    value = [{"é" * 63: 1}] * 60_000  # The cuts of its text fall where a dict begins.
    _json.document((1,), no_tag)  # It looks for its types once.
    was = signal.signal(signal.SIGALRM, end)
    ended = 0
    try:
        for tenths in range(1, 61):
            try:
                signal.setitimer(signal.ITIMER_REAL, tenths * 1e-4)
                _json.document(value, no_tag)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except EndedError:
                ended += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, was)
    assert ended

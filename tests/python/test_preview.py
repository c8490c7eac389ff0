"""The setting `preview_rows`: the first rows of a value in its row, with secrets masked."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.python.test_describe import MASKED, MOST_BYTES, RECORDS, STRUCTURE, TABLE, frame, told

import airfreight
from airfreight.values import _describe, _preview

if TYPE_CHECKING:
    from tests.python.conftest import Box

pl = pytest.importorskip("polars")

PREVIEWS: list[tuple[Any, list[list[str]]]] = [
    (
        frame().astype({"b": object}).replace({np.nan: None}).astype({"a": float}),
        [["1.5", "x", "1"], ["nan", "None", "2"]],
    ),
    (pd.Series([1, 2, 3]), [["1"], ["2"]]),
    (pd.Index(["a", "b", "c"]), [["a"], ["b"]]),
    (pd.RangeIndex(5), [["0"], ["1"]]),
    (pd.MultiIndex.from_tuples([(1, "x"), (2, "y"), (3, "z")]), [["1", "x"], ["2", "y"]]),
    (pd.Categorical(["a", "b"]), [["a"], ["b"]]),
    (pd.array([1, None], dtype="Int8"), [["1"], ["<NA>"]]),
    (pd.date_range("2026-01-01", periods=3), [["2026-01-01 00:00:00"], ["2026-01-02 00:00:00"]]),
    (pl.DataFrame({"a": [1, None], "b": [[1, 2], [3]]}), [["1", "[1, 2]"], ["None", "[3]"]]),
    (pl.LazyFrame({"a": [1, 2, 3]}), [["1"], ["2"]]),
    (pl.Series([1.5, None]), [["1.5"], ["None"]]),
    (TABLE, [["1", "x"], ["None", "None"]]),
    (TABLE.to_batches()[0], [["1", "x"], ["None", "None"]]),
    (pa.array([b"12", None]), [["<2 bytes>"], ["None"]]),
    (pa.chunked_array([[1], [2, 3]]), [["1"], ["2"]]),
    (pa.array([{"a": [1]}]), [["{'a': [1]}"]]),
    (pa.array(["x", None]).dictionary_encode(), [["x"], ["None"]]),
    (np.arange(3), [["0"], ["1"]]),
    (np.arange(6).reshape(3, 2), [["0", "1"], ["2", "3"]]),
    (np.array(["2026-01-01"], "M8[ns]"), [["2026-01-01T00:00:00.000000000"]]),
    (STRUCTURE, [["1", "2.0"]]),
    (MASKED, [["None", "1.0", "2.0"], ["3.0", "None", "None"]]),
    (np.array([1, "a", None], object), [["1"], ["a"]]),
    (RECORDS, [["0", "n0" * 31 + "n…"], ["1", "n1" * 31 + "n…"]]),
]  # fmt: skip


@pytest.mark.parametrize(("value", "rows"), PREVIEWS, ids=lambda it: type(it).__name__)
def test_the_first_rows_are_shown(box: Box, value: Any, rows: list[list[str]]) -> None:
    fields = told(box, value, preview_rows=2, threshold=0)
    assert fields["preview"] == rows
    assert airfreight.Reference.from_dict(fields).preview == tuple(map(tuple, rows))


@pytest.mark.parametrize(
    "value",
    [
        b"secret" * 1000,
        bytearray(b"secret" * 1000),
        "secret" * 1000,
        {"a": "secret" * 1000},
        ["secret" * 1000],
        {"k": pd.DataFrame({"a": ["secret"]})},
        np.array("secret"),
        np.full((2, 2, 2), "secret"),
        airfreight.mappable([{"a": "secret"}]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_have_no_preview(box: Box, value: Any) -> None:
    fields = told(box, value, preview_rows=5, threshold=0, describe="full")
    assert "preview" not in fields
    assert "secret" not in json.dumps(fields)


@pytest.mark.parametrize(
    ("redact", "label", "hidden"),
    [
        (None, "price", False),
        (None, "PASSWORD", True),
        (None, "db_password_2", True),
        (None, "Access Token", True),
        (None, ("user", "api_key"), True),
        ("salary", "Base Salary EUR", True),
        ("salary, iban", "IBAN", True),
        ("*_iban", "x_iban", True),
        ("*_iban", "x_iban_2", False),
        ("c?", "c1", True),
        ("c[12]", "C2", True),
        ("c[12]", "c3", False),
        ("a.b", "axb", False),
        ("*", "anything", True),
        ("7", 17, True),
        (" , ", "price", False),
    ],
)
def test_columns_that_match_are_masked(
    box: Box, redact: str | None, label: Any, hidden: bool
) -> None:
    index = pd.Index([label, "other"], dtype=object, tupleize_cols=False)
    value = pd.DataFrame([["seen", "x"]], columns=index)
    fields = told(box, value, preview_rows=1, redact=redact)
    covered = "***" if redact == "*" else "x"
    assert fields["preview"] == [["***" if hidden else "seen", covered]]
    assert "seen" not in json.dumps(fields) or not hidden


def test_labels_are_matched_whole_though_they_are_cut(box: Box) -> None:
    value = pd.DataFrame({"x" * 100 + "password": ["seen"]})
    assert told(box, value, preview_rows=1)["preview"] == [["***"]]


def test_what_airflow_is_told_to_mask_is_masked(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    value = pa.table({"Patient": ["seen"], "ward": ["x"]})
    assert told(box, value, preview_rows=1)["preview"] == [["seen", "x"]]
    monkeypatch.setenv("AIRFLOW__CORE__SENSITIVE_VAR_CONN_NAMES", "iban, patient")
    assert told(box, value)["preview"] == [["***", "x"]]


def test_airflows_own_names_are_among_ours() -> None:
    from airfreight import _airflow

    for name in (
        "airflow.sdk._shared.secrets_masker",
        "airflow.sdk.execution_time.secrets_masker",
        "airflow.utils.log.secrets_masker",
    ):
        try:
            module = __import__(name, fromlist=["DEFAULT_SENSITIVE_FIELDS"])
        except ImportError:
            continue
        assert _airflow.sensitive_names() >= module.DEFAULT_SENSITIVE_FIELDS
        return
    pytest.fail("no secrets masker was found")


class Login(NamedTuple):
    user: str
    password: str


class Color(enum.Enum):
    RED = "seen"


class Field(str, enum.Enum):
    FIRST = "password"


@dataclass
class Account:
    password: str = "seen"


class Rude(dict[Any, Any]):
    def __repr__(self) -> str:
        raise RuntimeError


class RudeDate(datetime.date):
    def __str__(self) -> str:
        raise RuntimeError


#: All of Unicode's Default_Ignorable_Code_Point.
IGNORABLE = re.findall(_describe.IGNORABLE, "".join(map(chr, range(0x110000))))

LOOP: list[Any] = []
LOOP.append(LOOP)

CELLS: list[tuple[Any, str]] = [
    ({"user": "u", "password": "seen"}, "{'user': 'u', 'password': ***}"),
    ({"a": [{"Token": "seen"}]}, "{'a': [{'Token': ***}]}"),
    ([("api_key", "seen"), ("b", 1)], "[('api_key', ***), ('b', 1)]"),
    (Login("u", "seen"), "{'user': 'u', 'password': ***}"),
    (np.array([(1, "seen")], dtype=[("a", "i4"), ("secret", "U9")])[0], "{'a': 1, 'secret': ***}"),
    ({Field.FIRST: "seen"}, "{Field.FIRST: ***}"),
    ({b"password": "seen"}, "{<8 bytes>: ***}"),
    ([(b"password", "seen")], "[(<8 bytes>, ***)]"),
    ({"ＰＡＳＳＷＯＲＤ": "seen"}, "{'ＰＡＳＳＷＯＲＤ': ***}"),
    (Account(), "<Account>"),
    (Color.RED, "Color.RED"),
    (Rude(a="seen"), "<Rude>"),
    (RudeDate(2026, 1, 1), "<RudeDate>"),
    (object(), "<object>"),
    (lambda: "seen", "<function>"),
    (frame(), "<DataFrame>"),
    (b"seen", "<4 bytes>"),
    ([b"seen"], "[<4 bytes>]"),
    (LOOP, "[[[[…]]]]"),
    (1 << 10_000, "<int of 10,001 bits>"),
    ("x" * 64, "x" * 64),
    ("x" * 65, "x" * 63 + "…"),
    ("a\x00\ud800\n\u2028é🚢", "a\\x00\\ud800\\n\\u2028é🚢"),
    (list(range(10**6)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, …"),
    (collections.OrderedDict(a=1), "{'a': 1}"),
    (decimal.Decimal("1.50"), "1.50"),
    (np.datetime64("2026-01-01", "ns"), "2026-01-01T00:00:00.000000000"),
    (np.float32(1.5), "1.5"),
    (np.str_("x"), "x"),
    (pd.NaT, "NaT"),
    (pd.Interval(0, 1), "(0, 1]"),
    (None, "None"),
    (True, "True"),
    ({1, }, "{1}"),
    (np.arange(3), "[0, 1, 2]"),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "text"), CELLS, ids=lambda it: type(it).__name__)
def test_a_cell_is_a_short_text_without_secrets(cell: Any, text: str) -> None:
    hides = _preview.hider((), frozenset(("password", "token", "api_key", "secret")))
    assert _preview.text(cell, hides) == text


def test_spellings_of_one_label_are_one() -> None:
    hides = _preview.hider(("straße", "café*"))
    assert hides("STRASSE")
    assert hides("cafe\u0301s")  # A combining accent.
    assert not hides("cafes")


def test_what_nobody_sees_in_a_label_does_not_hide_a_secret() -> None:
    hides = _preview.hider(("salary*", "größe"), frozenset(("password",)))
    assert hides("\ufeffSalary 2026")  # The first column of a CSV file with a byte order mark.
    assert hides("pass\u00adword")
    assert hides("GRÖSSE".encode())
    assert hides(frozenset(("x", "Salary 2026")))
    assert not hides("my salary")
    for one in IGNORABLE:
        assert hides(f"pass{one}word"), ascii(one)


def test_what_nobody_sees_is_shown_as_an_escape() -> None:
    # "# Total code points" of the property in DerivedCoreProperties.txt.
    assert len(IGNORABLE) == 4174
    hides = _preview.hider(())
    for one in IGNORABLE:
        escape = one.encode("unicode_escape").decode()
        assert _preview.text(f"a{one}b", hides) == f"a{escape}b"
        assert _describe.label(f"a{one}b") == f"a{escape}b"
    # Letters, accents, a filler's neighbours and a ship are seen.
    seen = "é漢각ᄀe\u0301🚢"
    assert _preview.text(seen, hides) == _describe.label(seen) == seen
    # So is whether a symbol is a picture; what is behind that, or behind a letter, is not.
    for seen in ("\u2764\ufe0f", "\u2764\ufe0e", "\u2194\ufe0f", "1\ufe0f\u20e3"):
        assert _preview.text(seen, hides) == _describe.label(seen) == seen
    # A place in Japan, and a form that an ideograph has from its other repertoire.
    for seen in ("\u845b\U000e0100\u57ce", "\u4fae\ufe00"):
        assert _describe.label(seen) == seen
    assert _describe.label("\U000e0100a\U000e0100") == "\\U000e0100a\\U000e0100"
    assert _describe.label("\u2764\ufe0f\ufe0f") == "\u2764\ufe0f\\ufe0f"
    assert _describe.label("\ufe0fe\ufe0f=\ufe0f") == "\\ufe0fe\\ufe0f=\\ufe0f"


def test_structures_inside_of_structures_keep_their_names(box: Box) -> None:
    kind = [("id", "i4"), ("login", [("user", "U4"), ("password", "U8")])]
    fields = told(box, np.array([(1, ("u", "seen"))], dtype=kind), preview_rows=1)
    assert fields["preview"] == [["1", "{'user': 'u', 'password': ***}"]]


@pytest.mark.parametrize("masked", [False, True])
def test_titles_inside_of_structures_are_names_too(box: Box, masked: bool) -> None:
    login = [("user", "U4"), (("Password of it", "p"), "U8")]
    kind = [("id", "i4"), ("login", login), ("all", [("one", login)], 2)]
    value: Any = np.array([(1, ("u", "seen"), [(("v", "seen"),)] * 2)], dtype=kind)
    fields = told(box, np.ma.array(value) if masked else value, preview_rows=1)
    assert "seen" not in json.dumps(fields)
    assert fields["preview"][0][1:] == [
        "{'user': 'u', 'p': ***}",
        "[{'one': {'user': 'v', 'p': ***}}, {'one': {'user': 'v', 'p': *…",
    ]
    told_by_rule = told(box, value, preview_rows=1, redact="password of *")
    assert "seen" not in json.dumps(told_by_rule)


def test_of_nested_cells_no_more_is_made_than_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    cell: Any = 1
    for _ in range(3):
        cell = [cell] * 40
    made = 0
    one = _preview._arrow

    def counted(scalar: Any, left: list[int] | None = None) -> Any:
        nonlocal made
        made += 1
        return one(scalar, left)

    monkeypatch.setattr(_preview, "_arrow", counted)
    (row,) = _preview.cells(pa.table({"a": [cell]}), ["a"], 1, ())
    assert row == ["[[[" + "1, " * 20 + "…"]
    assert made <= 70


@pytest.mark.parametrize("what", ["frame", "series", "index", "array", "levels"])
def test_of_nested_cells_of_pandas_no_more_is_made_than_is_shown(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    made = 0
    one = _preview._arrow

    def counted(scalar: Any, left: list[int] | None = None) -> Any:
        nonlocal made
        made += 1
        return one(scalar, left)

    monkeypatch.setattr(_preview, "_arrow", counted)
    kind = pd.ArrowDtype(pa.list_(pa.int64()))
    array = pd.array([list(range(100_000)), None], dtype=kind)
    value: Any = {
        "frame": lambda: pd.DataFrame({"a": array}),
        "series": lambda: pd.Series(array),
        "index": lambda: pd.Index(array),
        "array": lambda: array,
        "levels": lambda: pd.DataFrame({"a": array, "b": array}),
    }[what]()
    rows = _preview.cells(value, ["a", "b"] if what == "levels" else ["a"], 2, ())
    width = 2 if what == "levels" else 1
    assert rows == [
        ["[" + "".join(f"{n}, " for n in range(20))[:62] + "…"] * width,
        ["None"] * width,
    ]
    assert made <= 70 * width


def test_large_nested_cells_of_polars_show_their_kind(box: Box) -> None:
    small, large = {"a": [1, 2]}, {"a": list(range(200_000))}
    for first, shown in ((small, "{'a': [1, 2]}"), (large, "<Nested>")):
        fields = told(box, pl.DataFrame({"x": [first, large]}), preview_rows=1)
        assert fields["preview"] == [[shown]]


def test_members_of_cells_of_tables_are_masked(box: Box) -> None:
    cells = [{"user": "u", "token": "seen"}]
    kind = pa.map_(pa.string(), pa.string())
    for value in (
        pa.table({"a": cells}),
        pa.table({"a": pa.array([[("token", "seen")]], kind)}),
        pl.DataFrame({"a": cells}),
        pd.DataFrame({"a": cells}),
        pd.DataFrame({"a": pd.Series(cells, dtype=pd.ArrowDtype(pa.array(cells).type))}),
        [{"a": cells[0]}, {"a": cells[0]}],
    ):
        fields = told(box, value, preview_rows=3, threshold=0)
        assert "***" in fields["preview"][0][0]
        assert "seen" not in json.dumps(fields)


def test_the_title_of_a_field_is_a_name_of_it(box: Box) -> None:
    value = np.array([("seen", 1)], dtype=[(("password", "n"), "U9"), ("m", "i4")])
    assert told(box, value, preview_rows=1)["preview"] == [["***", "1"]]


def test_members_of_maps_are_masked_by_all_of_their_keys_whatever_these_are(box: Box) -> None:
    for key, kind in (
        ("x" * 300 + "token", pa.string()),
        (17, pa.int64()),
        (b"token", pa.binary()),
        ({"k": "hush"}, pa.struct({"k": pa.string()})),
    ):
        array = pa.array([[(key, "seen")]], pa.map_(kind, pa.string()))
        for value in (
            pa.table({"a": array}),
            pd.DataFrame({"a": pd.array([[(key, "seen")]], pd.ArrowDtype(array.type))}),
        ):
            fields = told(box, value, preview_rows=1, redact="17, h*sh")
            assert "seen" not in json.dumps(fields)
            assert fields["preview"][0][0].startswith("[(")


def test_a_preview_looks_at_nothing_but_the_first_rows(box: Box) -> None:
    class Cell(datetime.date):
        seen = 0

        def __str__(self) -> str:
            Cell.seen += 1
            return "cell"

    hides = _preview.hider(())
    found = _preview.cells(pd.DataFrame({"a": [Cell(2026, 1, 1)] * 1000}), ["a"], 3, ["no"])
    assert found == [["cell"]] * 3
    assert Cell.seen == 3
    assert not hides("a")


def test_what_can_not_be_previewed_is_pushed_without(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setitem(_preview._TAKERS, "pandas", broken)
    fields = told(box, frame(), preview_rows=3)
    assert "preview" not in fields
    assert fields["nulls"] == [1, 2, 0]


def test_rows_of_the_preview_give_way_to_columns(box: Box) -> None:
    names = [f"a_long_label_{number}" for number in range(60)]
    value = pa.table({name: ["y" * 60] * 5 for name in names})
    fields = told(box, value, preview_rows=5)
    assert len(json.dumps(fields, separators=(",", ":"))) <= MOST_BYTES
    assert len(fields["columns"]) == 60
    assert "preview" not in fields
    few = told(box, value.select(names[:10]), preview_rows=5)
    assert 0 < len(few["preview"]) < 5

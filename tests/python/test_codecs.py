"""Codecs of other packages: the entry point group `airfreight.codecs`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.conftest import Box, stored

import airfreight
from airfreight import exchange, values
from airfreight.values import Options, _foreign

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SHAPES = ROOT / "tests" / "packages" / "shapes"


def installed(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.syspath_prepend(str(path))
    _foreign.forget()


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> Iterator[None]:
    _foreign.forget()
    yield
    _foreign.forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == "shapes"]:
        del sys.modules[name]


@pytest.fixture
def polygon(monkeypatch: pytest.MonkeyPatch) -> Any:
    installed(monkeypatch, SHAPES)
    from shapes import Polygon

    return Polygon([(0.0, 0.5), (1.0, 0.0), (-0.0, 1e300)])


def package(path: Path, name: str, entry: str) -> Path:
    folder = path / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[airfreight.codecs]\n{entry}\n")
    return path


def test_a_type_of_another_package_comes_back(box: Box, polygon: Any) -> None:
    row = box.push(polygon)
    fields = box.fields(row)
    assert fields["_xcom_type"] == "shapes-airfreight:shapes.Polygon"
    assert fields["rows"] == 3
    assert fields["summary"].startswith("Polygon of 3 points")
    assert box.file(row).suffix == ".geojson"
    back = box.pull(stored(row))
    assert type(back) is type(polygon)
    assert back == polygon
    inside = box.through({"many": [polygon, (polygon,)], "n": 1}, key="inside")
    assert inside == {"many": [polygon, (polygon,)], "n": 1}


def test_what_its_codec_refuses_is_refused_with_its_place(box: Box, polygon: Any) -> None:
    polygon.points[1] = (1.0, float("nan"))
    with pytest.raises(TypeError, match=r"^value\.points\[1\]: .*no finite float"):
        box.push(polygon)
    with pytest.raises(TypeError, match=r"^value\['a'\]\[0\]\.points\[1\]: "):
        box.push({"a": [polygon]})
    assert box.objects() == []


def test_a_reader_without_the_package_is_told_its_name(
    box: Box, polygon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = box.push(polygon)
    document = box.push({1: polygon}, key="inside")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(SHAPES)])
    _foreign.forget()
    for one in (row, document):
        with pytest.raises(airfreight.UnsupportedError, match=r"'shapes-airfreight'.*install"):
            box.pull(one)
    with pytest.raises(TypeError, match=r"type shapes\.Polygon can't be pushed"):
        box.push(polygon)


def test_two_packages_for_one_class_are_an_error_that_names_both(
    box: Box, polygon: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = box.push(polygon)
    entry = "shapes.Polygon = shapes.airfreight_codec"
    installed(monkeypatch, package(tmp_path / "site", "other-shapes", entry))
    for value in (polygon, [polygon]):
        with pytest.raises(
            airfreight.ConfigError, match="'other-shapes' and 'shapes-airfreight' both"
        ):
            box.push(value)
    # A row says which of them has written it.
    assert box.pull(row) == polygon
    # Values of other types are not concerned.
    assert box.through({1: 2}, key="other") == {1: 2}


def test_the_codec_of_another_package_reads_nothing_of_the_first(
    box: Box, polygon: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = box.push(polygon)
    inside = box.push([polygon], key="inside")
    site = tmp_path / "site"
    shutil.copytree(SHAPES / "shapes", site / "shapes")
    package(site, "other-shapes", "shapes.Polygon = shapes.airfreight_codec")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(SHAPES)])
    installed(monkeypatch, site)
    assert _foreign.has("shapes.Polygon")
    for one in (row, inside):
        with pytest.raises(airfreight.UnsupportedError, match=r"'shapes-airfreight'.*install"):
            box.pull(one)


def test_a_package_is_found_however_its_name_is_spelled(
    box: Box, polygon: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = box.push(polygon)
    site = tmp_path / "site"
    shutil.copytree(SHAPES / "shapes", site / "shapes")
    package(site, "Shapes_Airfreight", "shapes.Polygon = shapes.airfreight_codec")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(SHAPES)])
    installed(monkeypatch, site)
    assert box.pull(row) == polygon


def test_a_row_that_names_the_object_of_another_type_is_forged(box: Box, polygon: Any) -> None:
    fields = box.fields(box.push(polygon)) | {
        name: value
        for name, value in box.fields(box.push(b"x" * 100_000, key="other")).items()
        if name != "_xcom_type"
    }
    assert fields["_xcom_type"] == "shapes-airfreight:shapes.Polygon"
    row = json.dumps(fields).encode() if exchange.ROWS_ARE_BYTES else fields
    with pytest.raises(airfreight.ForgedError, match=r"does not end in \.geojson"):
        box.pull(row)


def test_the_other_extensions_of_a_codec_are_those_that_it_names(
    box: Box, polygon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shapes import airfreight_codec

    encode = airfreight_codec.encode

    def as_json(value: Any, options: Any, new_sink: Any) -> Any:
        form = values.Form("json", "application/json")
        return encode(value, options, new_sink)._replace(form=form)

    monkeypatch.setattr(airfreight_codec, "encode", as_json)
    with pytest.raises(TypeError, match=r"writes a \.json, which is none of its EXTENSIONS"):
        box.push(polygon)
    monkeypatch.setattr(airfreight_codec, "EXTENSIONS", ("json",), raising=False)
    _foreign.forget()
    row = box.push(polygon)
    assert box.file(row).suffix == ".json"
    assert box.pull(row) == polygon


@pytest.mark.parametrize("name", ["pandas.DataFrame", "polars.Expr", "builtins.dict"])
def test_a_class_of_ours_stays_ours(
    box: Box,
    polygon: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    installed(
        monkeypatch, package(tmp_path / "site", "greedy", f"{name} = shapes.airfreight_codec")
    )
    assert box.through(polygon) == polygon
    assert f"'greedy' registers a codec for {name}" in caplog.text


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere.at_all", "can't be imported .*nowhere"),
        ("shapes", "has no right encode, decode, CONTENT_TYPE, EXTENSION"),
    ],
)
def test_a_codec_that_is_none_is_an_error_that_names_the_package(
    box: Box,
    polygon: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    target: str,
    words: str,
) -> None:
    import shapes

    class Circle:
        pass

    Circle.__module__, Circle.__qualname__ = "shapes", "Circle"
    monkeypatch.setattr(shapes, "Circle", Circle, raising=False)
    installed(monkeypatch, package(tmp_path / "site", "bad-one", f"shapes.Circle = {target}"))
    with pytest.raises(airfreight.UnsupportedError, match=f"'bad-one', {words}"):
        box.push(Circle())


def test_a_codec_that_breaks_its_word_is_an_error(
    box: Box, polygon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shapes import airfreight_codec

    row = box.push(polygon)
    monkeypatch.setattr(airfreight_codec, "decode", lambda data: [1])
    words = r"shapes\.Polygon made a builtins\.list.* by the package 'shapes-airfreight' 1\.0\. "
    # The bytes are what was written: this environment has another release of the package.
    rows = [row, box.push([polygon], key="inside"), box.push([polygon, b"x" * 9000], key="leaf")]
    for one in (*rows, box.push(airfreight.mappable([polygon]), key="element")):
        with pytest.raises(airfreight.UnsupportedError, match=words):
            list(box.pull(one))
    monkeypatch.setattr(airfreight_codec, "encode", lambda *_: b"x")
    with pytest.raises(TypeError, match=r"returned a bytes, not an airfreight\.values\.Payload"):
        box.push(polygon)


#: (Of arguments that no type checker lets pass.)
payload: Any = values.Payload


def open_and_forget(value: Any, options: Any, new_sink: Any) -> Any:
    new_sink().write(b"x")
    return values.Payload([b"y"], "a polygon")


def write_a_text(value: Any, options: Any, new_sink: Any) -> Any:
    new_sink().write("x")


@pytest.mark.parametrize(
    ("encode", "words"),
    [
        (lambda *_: payload(["text"], "a"), "a body that is no list of buffers of bytes"),
        (lambda *_: payload("text", "a"), "a body that is no list of buffers"),
        (lambda *_: payload(iter([b"x"]), "a"), "a body that is no list of buffers"),
        (lambda *_: payload([memoryview(b"abc")[::2]], "a"), "no list of buffers"),
        (lambda *_: payload([b"x"], None), "whose summary should be a text"),
        (lambda *_: payload([b"x"], "a", rows="3"), "whose rows should be a count, or None"),
        (lambda *_: payload([b"x"], "a", rows=-3), "whose rows should be a count, or None"),
        (
            lambda *_: payload([b"x"], "a", columns=["ab", 5]),
            "whose columns should be pairs",
        ),
        (lambda *_: payload([b"x"], "a", nulls=[2.5]), "whose nulls should be counts"),
        (open_and_forget, "opened a sink, and returned another body"),
        (write_a_text, r"fails \("),
        (lambda *_: int("1") + payload, r"fails \(unsupported operand"),
    ],
    ids=range(12),
)
def test_what_a_codec_makes_of_a_value_is_looked_at(
    box: Box, polygon: Any, monkeypatch: pytest.MonkeyPatch, encode: Any, words: str
) -> None:
    from shapes import airfreight_codec

    monkeypatch.setattr(airfreight_codec, "encode", encode)
    who = r": the codec for shapes\.Polygon, of the package 'shapes-airfreight', "
    for value, place in (
        (polygon, "value"),
        ({"a": [polygon]}, r"value\['a'\]\[0\]"),
        (airfreight.mappable([1, polygon]), r"value\[1\]"),
    ):
        with pytest.raises(TypeError, match=f"^{place}{who}.*{words}"):
            box.push(value)
    assert box.objects() == []


def test_a_codec_may_say_that_it_does_not_know_a_count(
    box: Box, polygon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shapes import airfreight_codec

    encode = airfreight_codec.encode

    def telling(*arguments: Any) -> Any:
        told = encode(*arguments)
        return told._replace(columns=[("x", "float"), ("y", "float")], nulls=(None, 2))

    monkeypatch.setattr(airfreight_codec, "encode", telling)
    assert box.fields(box.push(polygon))["nulls"] == [-1, 2]


def test_packages_are_looked_through_when_a_class_is_unknown_and_not_before() -> None:
    program = """
import importlib.metadata, datetime, decimal, sys
import airfreight
from airfreight import values
def fail(*_, **__):
    raise AssertionError("looked through")
importlib.metadata.entry_points = fail
for value in (b"x", {}, (1,), datetime.datetime.now(), decimal.Decimal(1), memoryview(b"")):
    values.for_value(value)
assert "airfreight.values._foreign" not in sys.modules
class Own:
    pass
try:
    values.for_value(Own())
except AssertionError:
    sys.exit(7)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 7


def test_the_example_of_the_documentation_is_the_one_that_is_tested(polygon: Any) -> None:
    text = (ROOT / "docs" / "adding-a-type.md").read_text()
    assert (SHAPES / "shapes" / "airfreight_codec.py").read_text() in text
    entry = (SHAPES / "shapes_airfreight-1.0.dist-info" / "entry_points.txt").read_text()
    assert '"shapes.Polygon" = "shapes.airfreight_codec"' in text
    assert "shapes.Polygon = shapes.airfreight_codec" in entry
    codec: Any = values.for_value(polygon)
    body: Any = codec.encode(polygon, Options(), values.new_sink).body
    assert codec.decode(memoryview(b"".join(body))) == polygon

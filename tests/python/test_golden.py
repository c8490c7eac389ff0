"""Whatever a format can say, some golden file says: later releases can't forget to read it.

That each is read, and gives the value that stands beside it, is with the tests of its format.
"""

from __future__ import annotations

import base64
import json
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from airfreight import values
from airfreight.values import _polars_enums, document

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMATS = Path(__file__).parents[2] / "formats"
GOLDEN = FORMATS / "golden"
SOURCES = Path(values.__file__).parent

#: Types whose objects are somebody else's format, as it is: there is nothing of ours to keep.
PLAIN_TYPES = {"bytes", "bytearray", "json", "pickle"}
#: Types whose objects are those of another type: a reader's are a table's.
SAME_AS = {"pyarrow.RecordBatchReader": "pyarrow.Table"}
#: Dtypes of a package that these environments do not have: test_arrays.py has them by hand.
WITHOUT_PACKAGE = {"class"}
#: Its content is Airflow's, and differs from release to release.
OF_AIRFLOW = {"~airflow"}


def walk(content: Any) -> Iterator[Any]:
    """Everything in a JSON value, itself included."""
    yield content
    for inner in content.values() if isinstance(content, dict) else content:
        if isinstance(inner, (dict, list)):
            yield from walk(inner)


def documents() -> Iterator[Any]:
    """The documents of golden files: those that are one, and those of archives."""
    for path in GOLDEN.glob("document/v*/*.json"):
        yield json.loads(path.read_text(encoding="utf-8"))
    for path in [*GOLDEN.glob("bundle/v*/*.zip"), *GOLDEN.glob("mappable/v*/*.zip")]:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    yield json.loads(archive.read(name))


def tags() -> set[str]:
    """The tags in golden documents."""
    found = set()
    for content in documents():
        for inner in walk([content]):
            if isinstance(inner, dict) and len(inner) == 1:
                (name,) = inner
                if name.startswith("~"):
                    found.add(name)
    return found


def specs() -> list[dict[str, Any]]:
    """The specs of columns, levels, categories, values and ends in golden frames."""
    found = []
    for path in GOLDEN.glob("frame/**/*.parquet"):
        metadata = pq.read_metadata(path).metadata[b"airfreight"]
        found += [it for it in walk(json.loads(metadata)) if isinstance(it, dict) and "kind" in it]
    return found


def descriptions() -> Iterator[Any]:
    """What archives of arrays say of themselves."""
    for path in [*GOLDEN.glob("array/v*/*.npz"), *GOLDEN.glob("file/v*/*.zip")]:
        with zipfile.ZipFile(path) as archive:
            yield json.loads(archive.read("airfreight.json"))


def table_of(page: str, head: str) -> set[str]:
    """The names in the first column of a table of a specification."""
    lines = (FORMATS / page).read_text(encoding="utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(head))
    found: set[str] = set()
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.update(re.findall(r"`([^`]+)`", line.split("|")[1]))
    return found


def written(pattern: str, *names: str) -> set[str]:
    """What some sources write, by a pattern."""
    text = "".join((SOURCES / name).read_text(encoding="utf-8") for name in names)
    return set(re.findall(pattern, text))


def test_each_tag_of_a_document_is_in_a_golden_file() -> None:
    known = {*document._DECODERS, "~airflow", "~leaf", "~ref", "~value"}
    told = table_of("document.md", "| tag |")
    assert told | {"~leaf"} == known
    assert tags() >= known - OF_AIRFLOW


def test_each_kind_of_column_is_in_a_golden_file() -> None:
    known = table_of("frame.md", "| kind |")
    of_code = written(r'"kind"\]? ?[:=] "(\w+)"', "_columns.py", "_arrow_types.py")
    assert of_code <= known
    assert {spec["kind"] for spec in specs()} >= known


def test_each_form_of_cells_is_in_a_golden_file() -> None:
    page = (FORMATS / "frame.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"The `arrow` of objects is (.*?)for each cell", page, re.DOTALL)
    known = set(re.findall(r"`(\w+)`", sentence)) - {"items"}
    of_cells = [spec for spec in specs() if spec["kind"] == "object"]
    assert {spec["arrow"] for spec in of_cells} | {
        spec["items"] for spec in of_cells if spec["arrow"] == "list"
    } >= known
    assert {spec["null"] for spec in of_cells if "null" in spec} == {"none", "nan", "na"}


def test_each_way_to_tell_an_index_is_in_a_golden_file() -> None:
    found: set[str] = set()
    for path in GOLDEN.glob("frame/**/*.parquet"):
        metadata = json.loads(pq.read_metadata(path).metadata[b"airfreight"])
        for inner in walk(metadata):
            if isinstance(inner, dict) and "names" in inner:
                found |= inner.keys()
                found |= {"offset"} if isinstance(inner.get("freq"), dict) else set()
            if isinstance(inner, dict) and "arrow" in inner and "kind" not in inner:
                base64.b64decode(inner["arrow"], validate=True)
                found.add("arrow")
            if isinstance(inner, dict) and "objects" in inner:
                found.add("objects")
    assert found >= {"range", "levels", "level_dtypes", "level_labels", "freq", "offset", "arrays"}
    assert found >= {"arrow", "objects"}


def test_each_member_of_an_array_is_in_a_golden_file() -> None:
    page = (FORMATS / "array.md").read_text(encoding="utf-8")
    forms = page.partition("**An array**")[2].partition("## Golden files")[0]
    known = set(re.findall(r"^(?:- |  - )`(\w+)`", forms, re.MULTILINE)) | {
        *("mask", "fill_value", "hard_mask", "format", "shape", "readonly", "metadata", "coerce")
    }
    found = {
        key for one in descriptions() for it in walk(one) if isinstance(it, dict) for key in it
    }
    assert found >= known - WITHOUT_PACKAGE


def test_each_type_with_a_format_of_ours_has_a_golden_file() -> None:
    kinds = {"document", "pandas.DataFrame", "bundle", "mappable", "airfreight.File", "memoryview"}
    for path in [*GOLDEN.glob("array/v*/*.txt"), *GOLDEN.glob("arrow/v*/*.txt")]:
        kinds.add(path.read_text(encoding="utf-8").splitlines()[0])
    for path in GOLDEN.glob("pandas/v*/*.txt"):
        kinds.add(path.read_text(encoding="utf-8").splitlines()[0])
    assert kinds >= {SAME_AS.get(it, it) for it in values._BY_TYPE} - PLAIN_TYPES


def test_each_entry_in_the_metadata_of_a_table_is_in_a_golden_file() -> None:
    found: set[str] = set()
    for path in (GOLDEN / "arrow" / "v1").iterdir():
        if path.suffix == ".parquet":
            found |= {key.decode() for key in pq.read_metadata(path).metadata or {}}
        elif path.suffix == ".arrows":
            found |= {key.decode() for key in pa.ipc.open_stream(path).schema.metadata or {}}
    page = (FORMATS / "arrow.md").read_text(encoding="utf-8")
    known = set(re.findall(r"`(airfreight\.\w+(?:\.\w+)?)`", page))
    of_code = {f"{_polars_enums.NEEDS}{name}" for name in _polars_enums._NEW}
    of_code |= set(re.findall(r'"(airfreight\.\w+)"', (SOURCES / "arrow_.py").read_text("utf-8")))
    assert known == of_code
    assert {key for key in found if key.startswith("airfreight.")} == known


def test_tables_have_golden_files_of_both_forms() -> None:
    for folder in ("arrow/v1", "pandas/v1"):
        assert {path.suffix for path in (GOLDEN / folder).iterdir()} >= {".arrow", ".parquet"}
    assert list((GOLDEN / "frame").glob("*.arrow"))

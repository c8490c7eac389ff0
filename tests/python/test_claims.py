"""SECURITY.md and docs/threat-model.md: each claim names a test that is there and that CI runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("SECURITY.md", "docs/threat-model.md")
#: `path` and, beside it, a function of Python or Suite.Name of C++; or a path alone.
CLAIM = re.compile(r"`((?:src|tests|fuzz)/[^`\s]+)`(?: ((?:test_\w+)|(?:\w+\.\w+)))?")
#: What tests of C++ are part of: a path, and the program or programs that a stage names.
PROGRAMS = (
    (re.compile(r"src/.+_test\.cc"), "airfreight_unit_tests"),
    (re.compile(r"tests/conformance/\w+_test\.cc"), "airfreight_conformance_tests"),
    (re.compile(r"fuzz/\w+_fuzz\.cc"), "*_fuzz"),
)


def claims(page: str) -> list[tuple[str, str]]:
    return CLAIM.findall((ROOT / page).read_text())


def said_by_stages(source: str) -> set[str]:
    """The texts in all that `./dev test`, which is what CI runs, comes to call."""
    functions = {
        node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)
    }
    texts: set[str] = set()
    waiting, seen = ["test"], {"test"}
    while waiting:
        for node in ast.walk(functions[waiting.pop()]):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            elif isinstance(node, ast.Name) and node.id in functions and node.id not in seen:
                seen.add(node.id)
                waiting.append(node.id)
    return texts


STAGES = said_by_stages((ROOT / "tools" / "dev" / "verbs.py").read_text())


def is_run(path: str, stages: set[str] = STAGES) -> bool:
    """Whether a stage runs what is in a file."""
    for pattern, program in PROGRAMS:
        if pattern.fullmatch(path):
            return program in stages
    if not re.fullmatch(r"tests/(?:\w+/)+test_\w+\.py", path):  # (pytest collects these only.)
        return path.endswith(".py") and path[:-3].replace("/", ".") in stages
    return path in stages or any(str(folder) in stages for folder in Path(path).parents)


def is_there(path: str, name: str) -> bool:
    """Whether a file has a test of that name, which is not left out whatever is asked for."""
    file = ROOT / path
    return file.is_file() and (not name or has(file.read_text(), name))


def has(text: str, name: str) -> bool:
    """The same of a file's text."""
    suite, dot, case = name.partition(".")
    if dot:
        # (What GoogleTest leaves out has another name, DISABLED_….)
        found = re.findall(rf"^TEST(?:_F|_P)?\({suite},\s*{case}\) {{(.*?)^}}", text, re.M | re.S)
        return len(found) == 1 and not re.match(r"\s*GTEST_SKIP\(", found[0])
    functions = [
        node
        for node in ast.parse(text).body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name
    ]
    # (Of two with the same name pytest knows the second.)
    return len(functions) == 1 and not any(
        re.match(r"pytest\.mark\.(?:skip|xfail)\b", ast.unparse(mark))
        for mark in functions[0].decorator_list
    )


@pytest.mark.parametrize(
    ("path", "name"), sorted({claim for page in PAGES for claim in claims(page)})
)
def test_a_test_that_a_claim_names_is_there_and_is_run(path: str, name: str) -> None:
    assert is_there(path, name)
    assert is_run(path)


def test_what_is_not_there_is_found_not_to_be() -> None:
    here = "tests/python/test_claims.py"
    assert is_there(here, "test_what_is_not_there_is_found_not_to_be")
    assert not is_there(here, "test_what_was_renamed")
    assert not is_there("tests/python/test_renamed.py", "")
    assert is_there("src/freight/place_test.cc", "PlaceTest.NoStoreIsTakenByChance")
    assert not is_there("src/freight/place_test.cc", "PlaceTest.Renamed")


def test_what_is_left_out_is_found_not_to_be() -> None:
    here, twice = "def test_a(): pass\n", "def test_a(): pass\n" * 2
    assert has(here, "test_a")
    assert has("@pytest.mark.skipif(AIRFLOW_2, reason='3')\n" + here, "test_a")
    for text in (f"@pytest.mark.skip(reason='')\n{here}", f"@pytest.mark.xfail\n{here}", twice):
        assert not has(text, "test_a")
    assert not has("class Box:\n    def test_a(self): pass\n", "test_a")
    assert has("TEST(A, B) {\n  F();\n}\n", "A.B")
    assert not has("TEST(A, B) {\n  GTEST_SKIP() << 1;\n}\n", "A.B")
    assert not has("TEST(A, DISABLED_B) {\n  F();\n}\n", "A.B")


def test_what_no_stage_runs_is_found_not_to_be() -> None:
    for path in (
        "tests/python/claims.py",
        "tests/chaos/test_new.py",
        "tests/access/helper.py",
        "src/freight/place.cc",
        "tests/conformance/stores.cc",
    ):
        assert not is_run(path), path
    source = "def test(): stage(one)\ndef one(): run('tests/a')\ndef other(): run('tests/b')\n"
    stages = said_by_stages(source)
    assert is_run("tests/a/test_x.py", stages)
    assert not is_run("tests/b/test_x.py", stages)
    assert not is_run("src/a_test.cc", stages)


def test_every_claim_has_a_test() -> None:
    rows = [
        line
        for line in (ROOT / "docs" / "threat-model.md").read_text().splitlines()
        if line.startswith("|") and line.count("|") == 3 and not line.startswith("|---")
    ]
    claimed = [row for row in rows if "shown by" not in row]
    assert len(claimed) > 30
    assert [row for row in claimed if not CLAIM.search(row.split("|")[2])] == []


def test_links_lead_to_pages() -> None:
    for page in PAGES:
        folder = (ROOT / page).parent
        for target in re.findall(r"\]\(([^)#]+)", (ROOT / page).read_text()):
            assert (folder / target).is_file(), target

"""SECURITY.md and docs/threat-model.md: each claim names a test, and each of these is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("SECURITY.md", "docs/threat-model.md")
#: `path` and, beside it, a function of Python or Suite.Name of C++; or a path alone.
CLAIM = re.compile(r"`((?:src|tests|fuzz)/[^`\s]+)`(?: ((?:test_\w+)|(?:\w+\.\w+)))?")


def claims(page: str) -> list[tuple[str, str]]:
    return CLAIM.findall((ROOT / page).read_text())


def is_there(path: str, name: str) -> bool:
    """Whether a file has a test of that name."""
    file = ROOT / path
    if not file.is_file():
        return False
    if not name:
        return True
    text = file.read_text()
    suite, dot, case = name.partition(".")
    if not dot:
        return re.search(rf"^(?:async )?def {name}\(", text, re.M) is not None
    return re.search(rf"^TEST(?:_F|_P)?\({suite},\s*{case}\)", text, re.M) is not None


@pytest.mark.parametrize(
    ("path", "name"), sorted({claim for page in PAGES for claim in claims(page)})
)
def test_a_test_that_a_claim_names_is_there(path: str, name: str) -> None:
    assert is_there(path, name)


def test_what_is_not_there_is_found_not_to_be() -> None:
    here = "tests/python/test_claims.py"
    assert is_there(here, "test_what_is_not_there_is_found_not_to_be")
    assert not is_there(here, "test_what_was_renamed")
    assert not is_there("tests/python/test_renamed.py", "")
    assert not is_there("src/freight/place_test.cc", "PlaceTest.Renamed")


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

"""What is captured of each test is searched for secrets, though nobody sees it where a test passes.

`tools/dev/leaks.py` searches what is printed, and pytest prints what it has captured of tests that
fail only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests import leaks

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, None]:
    """Fails a test that has written a secret to its output or to a log."""
    outcome = yield
    report = outcome.get_result()
    told = [
        f"{name}, {place}"
        for name, text in report.sections
        for place in leaks.search(text.encode(errors="replace"), leaks.NEEDLES, shapes=True)
    ]
    if told:
        report.outcome = "failed"
        report.longrepr = "\n".join(["The test has written secrets:", *told[:20]])
        report.sections = []  # (They would be printed.)

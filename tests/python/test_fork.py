"""Airflow forks its tasks from processes with threads: what a child finds must be of use to it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python.test_import import run

PROGRAM = Path(__file__).with_name("first_push.py")


def first_push(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> dict[str, int]:
    monkeypatch.setenv("AIRFLOW__AIRFREIGHT__STORE", f"file://{tmp_path}/store")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), *arguments],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    found = re.search(r"^modules .*", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    words = found[0].split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def test_a_fork_in_the_middle_of_the_first_push_never_hangs_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # apache/airflow#71707 and its kind
    outcome = first_push(tmp_path, monkeypatch, "60")
    assert outcome["modules"] > 5
    assert (outcome["well"], outcome["hung"], outcome["failed"]) == (60, 0, 0)


def test_the_child_does_hang_when_the_fork_does_not_wait_for_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # That the test above can fail: the same with forks that do not wait.
    assert first_push(tmp_path, monkeypatch, "2", "--regardless")["hung"] > 0


VALUES = {
    "bytes": "b'x'",
    "json": "['x' * 50_000]",
    "document": "{'t': (1, Decimal('1.10'), datetime.now(ZoneInfo('Europe/Berlin'))), 2: b'x'}",
    "array": "numpy.arange(3)",
    "options": "airfreight.options(['x' * 50_000], format='arrow')",
    "frame": "pandas.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': pandas.Categorical(list('xy')),"
    " 'd': pandas.to_datetime(['2026-01-01', None]).tz_localize('Europe/Berlin'),"
    " 'e': pandas.period_range('2026', periods=2), 'f': pandas.interval_range(0, 2)},"
    " index=pandas.date_range('2026', periods=2, freq='h'))",
}


@pytest.mark.parametrize("kind", VALUES)
def test_whatever_a_first_push_or_pull_imports_no_fork_can_fall_into(
    tmp_path: Path, kind: str
) -> None:
    # Every import of a module that is not there yet has to be where a fork waits for its end.
    library = {"array": "numpy", "frame": "pandas"}.get(kind, "json")
    out = run(
        f"""
import os, sys, airfreight, {library}
from datetime import datetime
from decimal import Decimal
from types import SimpleNamespace
from zoneinfo import ZoneInfo
airfreight.XComBackend
from airfreight._imports import loading

class Watcher:
    def find_spec(self, name, path=None, target=None):
        if not loading._is_owned():
            print('UNGUARDED', name)

value = {VALUES[kind]}
reader, writer = os.pipe()
for child in ('push', 'pull', 'purge'):  # The pull is a first use of its own.
    if (pid := os.fork()) == 0:
        sys.meta_path.insert(0, Watcher())
        B = airfreight.XComBackend
        if child == 'push':
            row = B.serialize_value(value, key='k', task_id='t', dag_id='d', run_id='r')
            os.write(writer, repr(row).encode())
        else:
            result = SimpleNamespace(value=eval(os.read(reader, 1 << 20)))
            if child == 'pull':
                B.deserialize_value(result)
                os.write(writer, repr(result.value).encode())
            else:
                B.purge(result)
        sys.stdout.flush()
        print(child, 'done', flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
""",
        AIRFLOW__AIRFREIGHT__STORE=f"file://{tmp_path}/store",
    )
    for child in ("push", "pull", "purge"):
        assert f"{child} done" in out, out
    assert "UNGUARDED" not in out, out

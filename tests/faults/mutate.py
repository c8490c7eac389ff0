"""Proves that the fault cases can fail: takes one handling away at a time and runs its cases.

``python3 -m tests.faults.mutate`` copies the sources, applies each entry of ``mutations.json`` in
turn, builds the fault tests and runs the cases that the entry names: every one of them has to fail.

An entry has ``name``, ``file`` (or a folder, of which one source holds the text), ``text`` (a
string or a list of lines, there exactly once), ``by`` (what stands in its place), ``cases`` and,
for the few that ``--quick`` runs, ``quick``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FAULTS = ROOT / "tests" / "faults"
MUTATIONS = FAULTS / "mutations.json"
# What configuring and the build of the fault tests read.
COPIED = ("CMakeLists.txt", "CMakePresets.json", "include", "src", "tests")
SUFFIXES = (".cc", ".h", ".txt", ".json")
# A mutant that hangs has been noticed. The slowest case takes three seconds; the idle time-out,
# which ends most hangs, is a minute.
TIMEOUT = 30.0


class MutationError(Exception):
    """An entry that does not fit the sources or the cases."""


@dataclass(frozen=True)
class Mutation:
    """One handling that is taken away, and the cases that miss it."""

    name: str
    file: str
    text: str
    by: str
    cases: tuple[str, ...]
    quick: bool

    @classmethod
    def parse(cls, entry: dict[str, Any]) -> Mutation:
        """Reads one entry of the list; a field too many or too few is an error."""
        wrong = set(entry) ^ {"name", "file", "text", "by", "cases"}
        if wrong - {"quick"}:
            raise MutationError(f"{entry.get('name', entry)}: {', '.join(sorted(wrong))}?")

        def joined(value: str | list[str]) -> str:
            return value if isinstance(value, str) else "\n".join(value)

        return cls(
            name=entry["name"],
            file=entry["file"],
            text=joined(entry["text"]),
            by=joined(entry["by"]),
            cases=tuple(entry["cases"]),
            quick=entry.get("quick", False),
        )

    def place(self, root: Path) -> Path:
        """The file that holds the text; an error unless it is there exactly once."""
        where = root / self.file
        files = [where] if where.is_file() else sorted(where.rglob("*.cc"))
        counts = {
            file: file.read_text().count(self.text)
            for file in files
            if not file.name.endswith("_test.cc")
        }
        if sum(counts.values()) != 1:
            raise MutationError(
                f"{self.name}: the text is {sum(counts.values())} times in {self.file}: "
                f"{self.text.splitlines()[0]}"
            )
        return next(file for file, count in counts.items() if count)


def load() -> list[Mutation]:
    """All entries, each checked against the sources and the cases."""
    mutations = [Mutation.parse(entry) for entry in json.loads(MUTATIONS.read_text())]
    known = {path.stem for path in (FAULTS / "cases").glob("*.json")}
    problems = []
    for mutation in mutations:
        try:
            mutation.place(ROOT)
        except MutationError as error:
            problems.append(str(error))
        problems += [
            f"{mutation.name}: there is no case '{case}'"
            for case in mutation.cases
            if case not in known
        ]
        if not mutation.cases:
            problems.append(f"{mutation.name}: names no case")
    if len({mutation.name for mutation in mutations}) != len(mutations):
        problems.append("two entries have one name")
    if problems:
        raise MutationError("\n".join(problems))
    return mutations


class Tree:
    """A copy of the sources with a build of its own, kept between runs."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.root = folder
        self.jobs = jobs
        self.environment = os.environ | {
            "CCACHE_BASEDIR": str(folder),
            "CCACHE_NOHASHDIR": "1",
        }

    def refresh(self) -> None:
        """Makes the sources those of the project; files that are the same keep their time."""
        wanted = set()
        for name in COPIED:
            place = ROOT / name
            for source in [place] if place.is_file() else sorted(place.rglob("*")):
                if not source.is_file() or source.suffix not in SUFFIXES:
                    continue
                relative = source.relative_to(ROOT)
                wanted.add(relative)
                target = self.root / relative
                data = source.read_bytes()
                if target.is_file() and target.read_bytes() == data:
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        for name in COPIED:
            for old in (self.root / name).rglob("*"):
                if old.is_file() and old.relative_to(self.root) not in wanted:
                    old.unlink()

    def _run(self, *command: str) -> bool:
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            print(done.stdout[-4000:])
        return done.returncode == 0

    def configure(self) -> bool:
        """Configures the build: unoptimised, as compiling is what takes the time, and without
        warnings, as a mutant may leave a variable unused."""
        # Each source alone: a mutation changes one.
        options = ("-DAIRFREIGHT_DEVELOPER_MODE=OFF", "-DAIRFREIGHT_UNITY=OFF")
        return self._run("cmake", "--preset", "debug", *options)

    def build(self) -> bool:
        """Builds the fault tests."""
        return self._run("ninja", "-C", "build/debug", f"-j{self.jobs}", "airfreight_fault_tests")

    def survivors(self, cases: tuple[str, ...]) -> list[str]:
        """Those of the cases that pass. A crash or a hang counts as a failure."""
        passed = []
        for case in cases:
            try:
                done = subprocess.run(
                    [
                        self.root / "build" / "debug" / "airfreight_fault_tests",
                        f"--gtest_filter=Faults.{case}",
                    ],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                    timeout=TIMEOUT,
                )
            except subprocess.TimeoutExpired:
                continue
            if done.returncode == 0 and "[  PASSED  ] 1 test." in done.stdout:
                passed.append(case)
        return passed


def apply(tree: Tree, mutation: Mutation) -> str:
    """Builds and runs one mutant; what became of it."""
    place = mutation.place(tree.root)
    original = place.read_text()
    try:
        place.write_text(original.replace(mutation.text, mutation.by))
        if not tree.build():
            return "BROKEN: it does not compile"
        passed = tree.survivors(mutation.cases)
        return f"SURVIVED: {', '.join(passed)} passed" if passed else "killed"
    finally:
        place.write_text(original)


def main() -> int:
    """Runs what the arguments say; 0 when every mutant was killed."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.faults.mutate", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", help="entries whose name has this in it")
    parser.add_argument("--quick", action="store_true", help="only the few that are marked so")
    parser.add_argument("--check", action="store_true", help="only see that every entry fits")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at once")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants")
    arguments = parser.parse_args()
    try:
        mutations = load()
    except MutationError as error:
        print(error)
        return 1
    print(f"{len(mutations)} mutations fit the sources")
    if arguments.check:
        return 0
    chosen = [
        mutation
        for mutation in mutations
        if (arguments.only or "") in mutation.name and (mutation.quick or not arguments.quick)
    ]
    tree = Tree(arguments.folder, arguments.jobs)
    tree.refresh()
    if not tree.configure() or not tree.build():
        print("the copy of the sources does not build without a mutation")
        return 1
    every = tuple(sorted({case for mutation in chosen for case in mutation.cases}))
    if failed := sorted(set(every) - set(tree.survivors(every))):
        print(f"without a mutation already fail: {', '.join(failed)}")
        return 1
    alive = 0
    for mutation in chosen:
        begun = time.monotonic()
        outcome = apply(tree, mutation)
        alive += outcome != "killed"
        print(f"{mutation.name}: {outcome} ({time.monotonic() - begun:.0f} s)", flush=True)
    tree.build()  # Leaves a build of the sources as they are for the next run.
    print(f"{len(chosen) - alive} of {len(chosen)} mutants killed")
    return 1 if alive or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())

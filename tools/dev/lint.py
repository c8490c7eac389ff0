"""`./dev lint [--fix]`: formatters, linters, types."""

from __future__ import annotations

import json
import os

from tools.dev.base import BUILD, ROOT, TOOLS_VENV, output, run

CXX_PATTERNS = ("*.cc", "*.h")


def tracked(*patterns: str) -> list[str]:
    """Files git knows or would take, that match."""
    listing = output(["git", "ls-files", "-co", "--exclude-standard", *patterns])
    return [name for name in listing.splitlines() if (ROOT / name).is_file()]


def format_cxx(*, fix: bool) -> None:
    """clang-format over every C++ file."""
    mode = ["-i"] if fix else ["--dry-run", "--Werror"]
    run([TOOLS_VENV / "bin" / "clang-format", *mode, *tracked(*CXX_PATTERNS)], quiet=True)


def tidy(*, analyze: bool = False) -> None:
    """clang-tidy over the sources of the core that the `clang-debug` preset compiles.

    Args:
        analyze: Run the static analyzer in place of the checks of .clang-tidy.
    """
    run(["cmake", "--preset", "clang-debug"], quiet=True)
    commands = json.loads((BUILD / "clang-debug" / "compile_commands.json").read_text())
    wanted = set(tracked("src/*.cc"))
    files = [
        entry["file"]
        for entry in commands
        if entry["file"].removeprefix(f"{ROOT}/") in wanted
        and not entry["file"].endswith("_test.cc")
    ]
    checks = ["-checks=-*,clang-analyzer-*"] if analyze else []
    # From PyPI: since clang-tidy 22 it leaves what stands in system headers alone, a quarter of the
    # time that Debian's takes.
    tools = TOOLS_VENV / "bin"
    run(
        [
            *("nice", "-n", "10", tools / "python", tools / "run-clang-tidy.py"),
            *("-clang-tidy-binary", tools / "clang-tidy"),
            *checks,
            *("-quiet", "-j", str(os.cpu_count() or 2), "-p", BUILD / "clang-debug"),
            *sorted(set(files)),
        ],
        quiet=True,
    )


def python(*, fix: bool) -> None:
    """Ruff and mypy --strict."""
    ruff = TOOLS_VENV / "bin" / "ruff"
    run([ruff, "format", *([] if fix else ["--check"])])
    run([ruff, "check", *(["--fix"] if fix else [])])
    run([TOOLS_VENV / "bin" / "mypy"])


def shell() -> None:
    """Shellcheck over the scripts."""
    scripts = [*tracked("*.sh"), "dev", ".ci/run"]
    run(["shellcheck", *scripts])

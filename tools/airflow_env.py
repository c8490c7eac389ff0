#!/usr/bin/env python3
"""Makes a virtual environment with one release of Apache Airflow and what the tests need beside it.

    python3 tools/airflow_env.py 3.3.2
    python3 tools/airflow_env.py 3.3.2 --wheel dist/airfreight-*.whl
    python3 tools/airflow_env.py 2.11.2 "polars==1.*"       # further requirements
    python3 tools/airflow_env.py tools                      # only uv and pytest, the outer Python
    python3 tools/airflow_env.py --list

The environment is `build/venvs/airflow-<version>`; its path is the last line on standard output.
A second call with the same arguments does nothing: a stamp file in the environment says what is
in it. Calls at the same time wait for each other.

Airflow states its dependencies openly, so that an old release installed today gets packages that
it was never tried with. Its own constraint files are not on a package registry; what serves here
is the date: each release gets the newest of everything that there was on a day shortly after it
came out (`uv pip install --exclude-newer`). Our own wheel and its dependencies are exempt.

Needs Python 3.9 or newer with its `venv` module, and PyPI. Nothing but the standard library.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENVS = ROOT / "build" / "venvs"
TOOLS = VENVS / "tools"
STAMP = ".airfreight-env.json"

# What the outer Python has: the installer, and what runs the tests around an Airflow.
TOOLS_PINS = ROOT / "tools" / "requirements.txt"

COMMON = ("psycopg2-binary", "pymysql", "pyarrow", "numpy")
# For the tests of the package that run inside such an environment; duckdb reads what we write.
# boto3 and google-cloud-kms are what sealing asks key services through.
PYTHON_TESTS = ("pytest", "hypothesis", "polars", "duckdb", "boto3", "google-cloud-kms")
# The official backend with its S3 file system: the peer of the benchmark.
PEER = (
    "apache-airflow-providers-common-io",
    "apache-airflow-providers-amazon",
    "s3fs",
    "boto3",
)
CELERY = ("apache-airflow-providers-celery", "redis")


@dataclasses.dataclass(frozen=True)
class Release:
    """One release of Airflow: the day whose packages it gets, and what else is installed.

    `cutoff` is some days after the release was published on PyPI, so that its own parts (task SDK,
    providers) are all there.
    """

    cutoff: str
    requirements: tuple[str, ...]
    prerelease: bool = False


RELEASES: dict[str, Release] = {
    "2.9.3": Release("2024-07-20", (*COMMON, "pandas>=2,<3")),
    "2.10.5": Release("2025-02-14", (*COMMON, "pandas>=2,<3")),
    "2.11.2": Release("2026-03-18", (*COMMON, *PEER, *PYTHON_TESTS, "pandas>=2,<3")),
    "3.0.6": Release("2025-09-02", (*COMMON, "asyncpg", "pandas>=2,<3")),
    "3.3.2": Release(
        "2026-09-21", (*COMMON, *PEER, *CELERY, *PYTHON_TESTS, "asyncpg", "pandas>=3")
    ),
    "3.4.0b2": Release("2026-10-24", (*COMMON, "asyncpg", "pandas>=3"), prerelease=True),
}


def venv_path(version: str) -> pathlib.Path:
    """Where the environment of `version` lies, made or not."""
    return VENVS / f"airflow-{version}"


def _run(*command: str | os.PathLike[str]) -> None:
    """Runs a command with its output on our standard error; ends the program when it fails."""
    words = [os.fspath(word) for word in command]
    print("+", " ".join(words), file=sys.stderr, flush=True)
    done = subprocess.run(words, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        sys.exit(f"{words[0]} ended with exit code {done.returncode}; its message is above.")


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    """Holds the lock `name` among all processes that make environments in this checkout."""
    VENVS.mkdir(parents=True, exist_ok=True)
    with (VENVS / f".lock-{name}").open("w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure_tools() -> pathlib.Path:
    """Makes `build/venvs/tools` (uv, pytest, linters) of tools/requirements.txt; its path."""
    with _locked("tools"):
        stamp_file = TOOLS / STAMP
        pins = TOOLS_PINS.read_text()
        if not stamp_file.exists() or stamp_file.read_text() != pins:
            _run(base_python(), "-m", "venv", "--clear", TOOLS)
            _run(TOOLS / "bin" / "python", "-m", "pip", "install", "-q", "-r", TOOLS_PINS)
            stamp_file.write_text(pins)
    return TOOLS


def base_python() -> str:
    """The Python that environments are made of: Debian's where there is one, else this one."""
    debian = "/usr/bin/python3"
    return debian if os.access(debian, os.X_OK) else sys.executable


def _digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def ensure(
    version: str, wheel: pathlib.Path | None = None, extras: tuple[str, ...] = ()
) -> pathlib.Path:
    """Makes the environment of Airflow `version`, with our wheel and `extras`; returns its path.

    `extras` are requirements as PyPI's tools write them. They stay in the environment: a later
    call without them does not take them out. Without `wheel` an installed one stays as it is.
    """
    release = RELEASES.get(version)
    if release is None:
        sys.exit(f"Airflow {version} is not among {', '.join(RELEASES)}.")
    uv = ensure_tools() / "bin" / "uv"
    venv = venv_path(version)
    python = venv / "bin" / "python"
    stamp_file = venv / STAMP
    with _locked(f"airflow-{version}"):
        stamp: dict[str, object] = {}
        if stamp_file.exists():
            stamp = json.loads(stamp_file.read_text())
        before = stamp.get("extras")
        kept = tuple(before) if isinstance(before, list) else ()
        all_extras = tuple(sorted({*kept, *extras}))
        wanted = [f"apache-airflow=={version}", *release.requirements, *all_extras]
        if stamp.get("requirements") != wanted or stamp.get("cutoff") != release.cutoff:
            if venv.exists() and not stamp:
                shutil.rmtree(venv)  # Broken off half-way: start again.
            if not python.exists():
                _run(uv, "venv", "-q", "--python", base_python(), venv)
            _run(
                *(uv, "pip", "install", "-q", "--python", python, "--compile-bytecode"),
                *("--exclude-newer", release.cutoff),
                *(("--prerelease", "allow") if release.prerelease else ()),
                *wanted,
            )
            stamp = {"requirements": wanted, "cutoff": release.cutoff, "extras": list(all_extras)}
            stamp_file.write_text(json.dumps(stamp, indent=1))
        if wheel is not None and stamp.get("wheel") != (digest := _digest(wheel)):
            # Without the cut-off: what the wheel needs is newer than an old Airflow. An installed
            # package that fits stays as it is.
            _run(
                *(uv, "pip", "install", "-q", "--python", python),
                *("--reinstall-package", "airfreight", wheel),
            )
            stamp["wheel"] = digest
            stamp_file.write_text(json.dumps(stamp, indent=1))
    return venv


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version", nargs="?", help="a release of Airflow, or `tools`")
    parser.add_argument("extras", nargs="*", help="further requirements to install")
    parser.add_argument("--wheel", type=pathlib.Path, help="the built wheel of Airfreight")
    parser.add_argument("--list", action="store_true", help="print the releases that it knows")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(RELEASES))
    elif arguments.version is None:
        parser.error("which release of Airflow?")
    elif arguments.version == "tools":
        print(ensure_tools())
    else:
        print(ensure(arguments.version, arguments.wheel, tuple(arguments.extras)))


if __name__ == "__main__":
    main()

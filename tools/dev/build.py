"""Configuring, compiling and the wheel."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from tools.dev.base import BUILD, ROOT, DevError, locked, output, run

_LIBSTDCXX = "-print-file-name=libstdc++.so.6"


def configure_and_build(preset: str) -> Path:
    """Build a CMake preset; its folder."""
    with locked(preset):
        run(["cmake", "--preset", preset], quiet=True)
        compile_folder(BUILD / preset)
    return BUILD / preset


def compile_folder(folder: Path, *targets: str) -> None:
    """Compile what is configured in a folder, on all processors, behind whatever else runs.

    Tests that run beside it find the machine nearly as quiet as they would without.
    """
    jobs = str(os.cpu_count() or 2)
    wanted = ["--target", *targets] if targets else []
    # A person sees the progress; a log gets the last line, or everything when it failed.
    tail = 0 if sys.stdout.isatty() else 1
    run(["nice", "-n", "10", "cmake", "--build", folder, "--parallel", jobs, *wanted], tail=tail)


def wheel() -> Path:
    """The portable wheel, built unless it is newer than everything that goes into it."""
    with locked("wheel"):
        return _wheel()


def _wheel() -> Path:
    built = sorted((ROOT / "dist").glob("airfreight-*-cp310-abi3-*.whl"))
    sources = [
        path
        for folder in ("include", "src", "python", "packaging")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith("_test.cc")
    ] + [ROOT / "CMakeLists.txt", ROOT / "pyproject.toml"]
    newest = max(path.stat().st_mtime for path in sources)
    if built and built[-1].stat().st_mtime > newest:
        return built[-1]
    for old in built:
        old.unlink()
    run(["nice", "-n", "10", ROOT / "packaging" / "build_wheel.sh"])
    built = sorted((ROOT / "dist").glob("airfreight-*-cp310-abi3-*.whl"))
    if not built:
        raise DevError("packaging/build_wheel.sh left no wheel in dist/")
    return built[-1]


def sanitized_package() -> Path:
    """A folder for PYTHONPATH: the package from its sources, the extension with AddressSanitizer.

    To be loaded with `sanitizer_environment`.
    """
    wheel()  # Leaves an environment that has nanobind.
    python = BUILD / "wheel-tools" / "bin" / "python"
    options = ["-DAIRFREIGHT_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={python}"]
    with locked("asan"):
        run(["cmake", "--preset", "asan", *options], quiet=True)
        compile_folder(BUILD / "asan")
    package = BUILD / "asan" / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "airfreight", package / "airfreight")
    for name in ("_core", "_json", "_policy"):
        (extension,) = (BUILD / "asan" / "python" / "bindings").glob(f"{name}.*.so")
        shutil.copy(extension, package / "airfreight")
    return package


def sanitizer_environment(package: Path) -> dict[str, str]:
    """What an interpreter needs that was not built with AddressSanitizer itself."""
    clang = ["clang++-19", f"-print-file-name=libclang_rt.asan-{platform.machine()}.so"]
    # libstdc++ too: the sanitizer looks for the real __cxa_throw when it is loaded.
    libraries = [output(command).strip() for command in (clang, ["g++", _LIBSTDCXX])]
    return {
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONPATH": str(package),
        # Python's own allocator would hide what happens within its arenas.
        "PYTHONMALLOC": "malloc",
        # The interpreter leaks on purpose at its end.
        "ASAN_OPTIONS": "detect_leaks=0",
    }


def bindings() -> Path:
    """Compile the extensions as developers do: with warnings as errors, which no wheel is.

    Returns their folder, where the conformance suite for stores in Python lies too.
    """
    wheel()  # Leaves an environment that has nanobind.
    python = BUILD / "wheel-tools" / "bin" / "python"
    options = ["-DAIRFREIGHT_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={python}"]
    with locked("debug"):
        run(["cmake", "--preset", "debug", *options], quiet=True)
        compile_folder(BUILD / "debug", "_core", "_json", "_policy", "_conformance")
    return BUILD / "debug" / "python" / "bindings"

"""Configuring, compiling and the wheel."""

from __future__ import annotations

from pathlib import Path

from tools.dev.base import BUILD, ROOT, DevError, run


def configure_and_build(preset: str) -> Path:
    """Build a CMake preset; its folder."""
    run(["cmake", "--preset", preset], quiet=True)
    run(["cmake", "--build", "--preset", preset])
    return BUILD / preset


def wheel() -> Path:
    """The portable wheel, built unless it is newer than everything that goes into it."""
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
    run([ROOT / "packaging" / "build_wheel.sh"])
    built = sorted((ROOT / "dist").glob("airfreight-*-cp310-abi3-*.whl"))
    if not built:
        raise DevError("packaging/build_wheel.sh left no wheel in dist/")
    return built[-1]

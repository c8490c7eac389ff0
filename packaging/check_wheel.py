"""Checks a built wheel for what a release promises; prints its size; exit status 1 on any finding.

    python packaging/check_wheel.py WHEEL [--glibc 2.34] [--unrepaired]

The default of --glibc is what RHEL 9 has (Ubuntu 22.04: 2.35, Debian 12: 2.36). Needs nothing but
the standard library and, for a Linux wheel, binutils (`nm`, `readelf`).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

# What is linked into the extension, as the root CMakeLists.txt has it. A library without its
# licence text would be a breach. That they are static shows in what the extension needs.
LINKED = (
    "curl",
    "openssl",
    "fmt",
    "pugixml",
    "nlohmann-json",
    "tl-expected",
    "tomlplusplus",
    "nanobind",
)

# What a manylinux machine has, and nothing beyond it. libstdc++ and libgcc are shared with
# nanobind's backend.
SYSTEM_LIBRARIES = re.compile(
    r"(libc|libm|libdl|libpthread|librt|libresolv)\.so\.\d+"
    r"|libstdc\+\+\.so\.6|libgcc_s\.so\.1|ld-linux.*"
)

#: The core; JSON and the policy alone, which need none of the core's libraries.
EXTENSIONS = (
    "airfreight/_core.abi3.so",
    "airfreight/_json.abi3.so",
    "airfreight/_policy.abi3.so",
)

REQUIRED_FILES = (
    "airfreight/__init__.py",
    "airfreight/py.typed",
    "airfreight/_core.pyi",
    "airfreight/_json.pyi",
    "airfreight/_policy.pyi",
)
FOREIGN_FILES = re.compile(r"\.(cc|cpp|h|hpp|a|o|pyc|map)$|(^|/)tests?/|(^|/)__pycache__/")


def run(*command: str) -> str:
    """Standard output of a tool; its failure is ours."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_names(
    wheel: Path, names: list[str], glibc: tuple[int, int], *, repaired: bool
) -> list[str]:
    """The tag in the file name, and which files there are."""
    findings = []
    match = re.fullmatch(
        r"airfreight-[^-]+-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>.+)\.whl", wheel.name
    )
    if match is None:
        return [f"{wheel.name} is not the name of an airfreight wheel"]
    if (match["python"], match["abi"]) != ("cp310", "abi3"):
        findings.append(f"tagged {match['python']}-{match['abi']}, not cp310-abi3")
    if repaired and match["platform"].startswith(("linux", "manylinux")):
        platform = match["platform"]
        versions = [(int(a), int(b)) for a, b in re.findall(r"manylinux_(\d+)_(\d+)_", platform)]
        if not versions:
            findings.append(f"platform {platform} is not a manylinux one")
        elif min(versions) > glibc:
            findings.append(f"platform {platform} is too new: `auditwheel show` names the symbols")
    findings += [f"{name} is missing" for name in REQUIRED_FILES if name not in names]
    findings += [f"{name} does not belong in it" for name in names if FOREIGN_FILES.search(name)]
    return findings


def check_metadata(archive: zipfile.ZipFile, names: list[str]) -> list[str]:
    """What pip and Airflow read of it."""
    findings = []
    info = next(name for name in names if name.endswith(".dist-info/METADATA")).rsplit("/", 1)[0]
    metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
    required = metadata.get_all("Requires-Dist") or []
    hard = [requirement for requirement in required if "extra ==" not in requirement]
    if len(hard) != 1 or not hard[0].startswith("nanobind-backend"):
        findings.append(f"depends on {hard}, not on nanobind-backend alone")
    if metadata["License-Expression"] != "Apache-2.0":
        findings.append(f"licence is {metadata['License-Expression']!r}")
    wheel_file = Parser().parsestr(archive.read(f"{info}/WHEEL").decode())
    if wheel_file["Root-Is-Purelib"] != "false":
        findings.append("is marked as pure Python")
    entry_points = f"{info}/entry_points.txt"
    said = archive.read(entry_points) if entry_points in names else b""
    findings += [
        f"has no entry point {group}: Airflow would not know it"
        for group in ("apache_airflow_provider", "airflow.policy")
        if f"[{group}]".encode() not in said
    ]
    return findings


def check_licences(archive: zipfile.ZipFile, names: list[str]) -> list[str]:
    """A text for the project, for each library linked in, for each shared one beside it."""
    licences = [name for name in names if ".dist-info/licenses/" in name]
    texts = {Path(name).stem.lower(): archive.read(name) for name in licences}
    findings = []
    if b"Apache License" not in texts.get("license", b""):
        findings.append("its own LICENSE is missing")
    findings += [
        f"the licence text of {library} is missing"
        for library in LINKED
        if len(texts.get(library, b"")) < 200
    ]
    for name in names:
        if re.search(r"\.so(\.\d+)*$|\.dylib$", name) and name not in EXTENSIONS:
            library = re.sub(r"^lib", "", Path(name).name).split("-")[0].split(".")[0].lower()
            if library not in texts:
                findings.append(f"{name} is bundled without a licence text {library}.txt")
    return findings


def check_extension(path: Path) -> list[str]:
    """What the extension exports and what it needs of the machine (ELF only)."""
    findings = []
    defined = run("nm", "-D", "--defined-only", str(path)).splitlines()
    symbols = [line.split()[-1] for line in defined]
    init = f"PyInit_{path.name.partition('.')[0]}"
    if symbols != [init]:
        findings.append(f"exports {len(symbols)} symbols, not {init} alone: {symbols[:4]} ...")
    # A shared object links with holes in it: Python's own symbols are filled in at load time.
    missing = re.findall(r"\S*10airfreight\S*", run("nm", "-D", "--undefined-only", str(path)))
    if missing:
        findings.append(f"declared, used and nowhere defined: {missing}")
    dynamic = run("readelf", "-dW", str(path))
    findings += [
        f"the extension needs {library}, which not every machine has"
        for library in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
        if not SYSTEM_LIBRARIES.fullmatch(library)
    ]
    if "libstdc++.so.6" not in dynamic:
        findings.append("libstdc++ is linked statically; nanobind's backend must share it")
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        findings.append("the extension has a run path")
    if "TEXTREL" in dynamic:
        findings.append("the extension has text relocations: some of it was compiled without -fPIC")
    return findings


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Check a built wheel.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--glibc", default="2.34", help="newest that the tag may ask for")
    parser.add_argument("--unrepaired", action="store_true", help="not through auditwheel yet")
    arguments = parser.parse_args()
    major, minor = arguments.glibc.split(".")

    with zipfile.ZipFile(arguments.wheel) as archive:
        names = archive.namelist()
        glibc = (int(major), int(minor))
        findings = check_names(arguments.wheel, names, glibc, repaired=not arguments.unrepaired)
        findings += check_metadata(archive, names)
        extensions = sorted(name for name in names if re.fullmatch(r"airfreight/[^/]+\.so", name))
        if extensions != sorted(EXTENSIONS):
            findings.append(f"extensions {extensions}, not {sorted(EXTENSIONS)}")
        else:
            findings += check_licences(archive, names)
            with tempfile.TemporaryDirectory() as folder:
                for name in extensions:
                    path = Path(archive.extract(name, folder))
                    if path.read_bytes().startswith(b"\x7fELF"):
                        findings += [f"{path.name}: {one}" for one in check_extension(path)]
            sizes = ", ".join(
                f"{Path(name).name} {archive.getinfo(name).file_size / 1e6:.2f} MB"
                for name in extensions
            )
            size = arguments.wheel.stat().st_size / 1e6
            print(f"{arguments.wheel.name}: {size:.2f} MB ({sizes})")

    for finding in findings:
        print(f"{arguments.wheel.name}: {finding}", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

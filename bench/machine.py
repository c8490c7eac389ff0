"""What the figures were measured on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

from bench.parent import ROOT

PACKAGES = (
    "airfreight",
    "apache-airflow",
    "apache-airflow-task-sdk",
    "apache-airflow-providers-common-io",
    "apache-airflow-providers-amazon",
    "boto3",
    "s3fs",
    "pandas",
    "numpy",
    "pyarrow",
)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def facts() -> dict[str, str]:
    """Processor, memory, system, versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": f"{_cpu_model()}, {os.cpu_count()} cores",
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "commit": _commit(),
        **{package: _version(package) for package in PACKAGES},
    }


def load() -> str:
    """The load averages: above 1 or so at the start, someone else is at work here."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg())

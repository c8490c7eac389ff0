"""`./dev docs`: the pages that are made from the code, so that they cannot disagree with it."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from tests.matrix import table

from tools.dev.base import ROOT, DevError

SETTINGS_PAGE = ROOT / "docs" / "settings.md"
SUPPORT_PAGE = ROOT / "docs" / "support.md"

_HEAD = """\
# Settings

Section `[airfreight]` of `airflow.cfg`; each also as the environment variable that is named with
it. `airflow config list` shows them. This page is made from
`python/airfreight/_settings_table.py` by `./dev docs`.

A wrong setting is an ERROR line in the log of every process that imports Airflow, and a
`ConfigError` at first use; both name the setting, what it was, and a right one. A name that is not
a setting is a warning with the nearest one that is.
"""


def _table() -> ModuleType:
    """The table of settings by its path: importing the package would want it installed."""
    path = ROOT / "python" / "airfreight" / "_settings_table.py"
    spec = importlib.util.spec_from_file_location("airfreight_settings_table", path)
    if spec is None or spec.loader is None:
        raise DevError(f"cannot read {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def settings_page() -> str:
    """The text of docs/settings.md."""
    parts = [_HEAD]
    for option in _table().OPTIONS:
        lines = [f"## `{option.name}`", "", option.description, ""]
        lines.append(f"- variable: `{option.environment_name}`")
        if option.secret:
            name = option.environment_name
            lines.append(
                f"- a secret: it may also be what is in the file that `{name}_FILE` names, the "
                f"output of the command in `{name}_CMD`, or the entry of Airflow's secrets backend "
                f"that `{name}_SECRET` names; in `airflow.cfg` likewise `{option.name}_file`, "
                f"`{option.name}_cmd` and `{option.name}_secret`"
            )
        if option.choices:
            lines.append("- one of: " + ", ".join(f"`{choice}`" for choice in option.choices))
        else:
            lines.append(f"- kind: {option.kind}")
        lines.append(f"- default: `{option.default}`" if option.default else "- default: not set")
        lines.append(f"- example: `{option.example}`")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def write() -> None:
    """Write the pages."""
    SETTINGS_PAGE.write_text(settings_page())
    SUPPORT_PAGE.write_text(table.page(table.load()))


def check() -> None:
    """Raise when a page is not what the code makes of it."""
    if not SETTINGS_PAGE.exists() or SETTINGS_PAGE.read_text() != settings_page():
        raise DevError("docs/settings.md is not what the code says: run ./dev docs and commit it")
    if not SUPPORT_PAGE.exists() or SUPPORT_PAGE.read_text() != table.page(table.load()):
        raise DevError(f"docs/support.md is not what {table.PATH.name} says: run ./dev docs")

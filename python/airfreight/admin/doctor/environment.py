"""Versions, the backend, the names of settings, and what the settings are and come from."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from typing import TYPE_CHECKING, Any

from airfreight import _airflow, _checks, config
from airfreight._settings_table import ENVIRONMENT_PREFIX, OPTIONS, SECTION
from airfreight.admin.doctor import ERROR, NOTE, OK, UNKNOWN, WARNING, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airfreight._settings_table import Option
    from airfreight.config import Settings

_PACKAGES = ("apache-airflow", "airfreight", "pyarrow", "pandas", "polars", "numpy")
_BACKEND = "airfreight.XComBackend"
_BACKEND_VARIABLE = "AIRFLOW__CORE__XCOM_BACKEND"
#: What of Airflow's own decides how XComs are kept.
_ENDINGS = ("_CMD", "_SECRET")


def versions() -> Iterator[Finding]:
    """Of what runs here."""
    found = [f"Python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            found.append(f"{package} is not installed")
    yield Finding("versions", NOTE, ", ".join(found))
    try:
        from airfreight import _core
    except ImportError as error:
        yield Finding(
            "versions",
            ERROR,
            f"the native core does not load: {error}",
            "install the wheel of this platform: pip install --force-reinstall airfreight",
        )
        return
    libraries = _core.libraries()
    yield Finding("versions", NOTE, f"core {_core.version()} with {'; '.join(libraries.values())}")
    try:
        installed = metadata.version("airfreight")
    except metadata.PackageNotFoundError:
        return
    if installed != _core.version():
        yield Finding(
            "versions",
            ERROR,
            f"the package is {installed} and its native core {_core.version()}",
            "install the wheel anew: pip install --force-reinstall airfreight",
        )


def backend() -> Iterator[Finding]:
    """Which XCom backend Airflow has here."""
    conf = _airflow.configuration()
    if conf is None:
        yield Finding("backend", UNKNOWN, "there is no Airflow in this environment")
        return
    said = str(conf.get("core", "xcom_backend", fallback=""))
    where = _origin("core", "xcom_backend")
    if said == _BACKEND:
        yield Finding("backend", OK, f"[core] xcom_backend = {said} ({where})")
    elif _is_ours(said):
        yield Finding("backend", OK, f"[core] xcom_backend = {said}, a subclass of ours ({where})")
    else:
        yield Finding(
            "backend",
            ERROR,
            f"[core] xcom_backend = {said or 'not set'} ({where}): Airfreight is not in use here",
            f"set {_BACKEND_VARIABLE}={_BACKEND} in every scheduler, worker, triggerer and API "
            "server",
        )


def _is_ours(path: str) -> bool:
    module, _, name = path.rpartition(".")
    if not module:
        return False
    try:
        found = getattr(__import__(module, fromlist=[name]), name, None)
    except ImportError:
        return False
    return any(base.__module__ == "airfreight.backend" for base in getattr(found, "__mro__", ()))


def _origin(section: str, option: str) -> str:
    name = f"AIRFLOW__{section.upper()}__{option.upper()}"
    for ending in ("", *_ENDINGS):
        if os.environ.get(name + ending, "").strip():
            return name + ending
    file = _airflow.file_options(section)
    for ending in ("", *_ENDINGS):
        if option + ending.lower() in file:
            return f"airflow.cfg, [{section}] {option}{ending.lower()}"
    return "default"


def settings() -> tuple[Settings | None, list[Finding]]:
    """The settings, where they are right; and what is in force, and wrong."""
    current, doubts, problems = config.review()
    found = [Finding("settings", ERROR, problem, _see("settings.md")) for problem in problems]
    found += [Finding("settings", WARNING, doubt, "correct the name") for doubt in doubts]
    texts = config.read()
    for option in OPTIONS:
        where = _origin(SECTION, option.name)
        if option.secret:
            if where != "default":
                found.append(Finding("settings", NOTE, f"{option.name} is set ({where})"))
            continue
        shown = texts.get(option.name, "").strip()
        always = option.name in ("store", "threshold", "signing", "deployment_id")
        if shown and _may_be_shown(option, shown):
            found.append(Finding("settings", NOTE, f"{option.name} = {shown} ({where})"))
        elif shown:
            found.append(Finding("settings", NOTE, f"{option.name} is set ({where})"))
        elif always and not shown:
            default = current.store if current and option.name == "store" else option.default
            found.append(Finding("settings", NOTE, f"{option.name} = {default or ''} (default)"))
    if current is None:
        return None, found
    if current.policy is not None:
        count = len(current.policy.rules())
        found.append(Finding("policy", OK, f"{current.policy.source}: {count} rules"))
    if current.threshold < 0:
        found.append(
            Finding(
                "settings",
                NOTE,
                "threshold = -1: values are written as the default backend writes them, unless a "
                "rule says otherwise",
            )
        )
    if current.pickle == "allow":
        found.append(
            Finding(
                "settings",
                WARNING,
                "pickle = allow: whoever can write to the store can run code in tasks that pull",
                "set AIRFLOW__AIRFREIGHT__PICKLE=never, or forbid it by rules of the policy",
            )
        )
    if not current.deployment_id:
        found.append(
            Finding(
                "settings",
                WARNING,
                "deployment_id is not set: objects do not say whose they are",
                "set AIRFLOW__AIRFREIGHT__DEPLOYMENT_ID to a name for this Airflow, e.g. prod-eu",
            )
        )
    return current, found


def _may_be_shown(option: Option, text: str) -> bool:
    """Whether a text is right, and none that may hold a secret, as the policy's stores may."""
    if (
        option.name in ("policy", "fsspec_options")
        or config.wrong(option, text)
        or _checks.may_tell_secret(text)
    ):
        return False
    if option.name in ("store", "read_also"):
        return not any(map(_checks.store_uri, re.split(r"[\s,]+", text)))
    return "@" not in text


def _see(page: str) -> str:
    return f"see docs/{page}; `airfreight policy check --texts` checks again"


def names() -> Iterator[Finding]:
    """Variables `AIRFLOW…` that Airflow does not read, and which was probably meant."""
    conf = _airflow.configuration()
    known = _known(conf)
    if not known:
        return
    sections = {section.replace(".", "_").upper(): options for section, options in known.items()}
    for name in sorted(os.environ):
        if not name.upper().startswith("AIRFLOW_") or name.startswith(ENVIRONMENT_PREFIX):
            continue  # (Those of our section are looked at with the settings.)
        if meant := _meant(name, sections):
            yield Finding(
                "settings",
                WARNING,
                f"{name} is not read by Airflow; did you mean {meant}?",
                "correct the name of the variable",
            )


def _known(conf: Any) -> dict[str, list[str]]:
    description = getattr(conf, "configuration_description", None)
    if not isinstance(description, dict):
        return {}
    found = {
        section: list(about.get("options") or {})
        for section, about in description.items()
        if isinstance(about, dict)
    }
    # (Airflow 2 has providers' sections only once they are loaded.)
    return {**found, SECTION: [option.name for option in OPTIONS]}


def _meant(name: str, sections: dict[str, list[str]]) -> str:
    """What of Airflow's a variable was to be; "" where it is right, or anything else."""
    match = re.fullmatch(r"AIRFLOW__(.+?)__(.+)", name)
    if match is None:
        # AIRFLOW_CORE__…, AIRFLOW__CORE_…, airflow__core__…: other numbers of underscores.
        squeezed = re.sub(r"_+", "_", name.upper())
        for section, options in sections.items():
            for option in options:
                if squeezed == f"AIRFLOW_{section}_{option.upper()}":
                    return f"AIRFLOW__{section}__{option.upper()}"
        return ""
    section, option = match[1], match[2]
    if section not in sections:
        near = _nearest(section, list(sections))
        return f"AIRFLOW__{near}__{option}" if near else ""
    bare = re.sub(f"({'|'.join(_ENDINGS)})$", "", option)
    right = [one.upper() for one in sections[section]]
    if option in right or bare in right:
        return ""
    near = _nearest(option, right)
    return f"AIRFLOW__{section}__{near}" if near else ""


def _nearest(text: str, known: list[str]) -> str:
    from airfreight import _policy

    # (Of a variable of the environment, whose name may be no text.)
    found: str = _policy.nearest(text.encode(errors="replace").decode(), known) or ""
    return found

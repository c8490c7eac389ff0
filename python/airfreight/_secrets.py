"""Settings that are secrets: the text itself, or where Airflow's other secrets would come from.

Airflow reads an option that it knows to be sensitive from its variable, from the output of the
command in `..._CMD` or from the entry of its secrets backend that `..._SECRET` names, and then
likewise from `airflow.cfg` (airflow.apache.org/docs/apache-airflow/stable/howto/set-config.html).
`..._FILE` is ours: a secret of Docker or Kubernetes is a file, and needs no process to be read.
That is done here anew: 2.x knows which options of a provider are sensitive only once all providers
are loaded, which a task's process never does, and 3.x keeps the line feed at a command's end.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING

from airfreight import _airflow
from airfreight._imports import loading
from airfreight._settings_table import ENDINGS, ENVIRONMENT_PREFIX, SECTION
from airfreight.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from airfreight._settings_table import Option

#: For how long a command may run, in seconds: a vault that does not answer must not hang each task.
_PATIENCE = 60.0
#: The most bytes of a file: as many keys as there may be take less.
_MAX_FILE_BYTES = 1 << 20


def read(option: Option) -> str:
    """Returns a secret, without blanks at its ends; "" where it is set in none of these ways.

    Reads the file, runs the command or asks the secrets backend, each time; keeps nothing.

    Raises:
        ConfigError: a file can't be read or is empty, a command fails or prints nothing, or the
            backend has no such entry; names the setting and never shows what came out.
    """
    file = _airflow.file_options(SECTION)
    sources: tuple[tuple[Callable[[str], str | None], Callable[[str], str]], ...] = (
        (
            lambda ending: os.environ.get((ENVIRONMENT_PREFIX + option.name + ending).upper()),
            _spelt,
        ),
        (lambda ending: file.get(option.name + ending), _spelt_in_file),
    )
    fetches: tuple[Callable[[str, str], str], ...] = (_as_it_is, _contents, _output, _entry)
    for get, spell in sources:
        for ending, fetch in zip(("", *ENDINGS), fetches, strict=True):
            text = get(ending)
            if text and text.strip():
                return fetch(text.strip(), spell(option.name + ending)).strip()
    return ""


def _spelt(name: str) -> str:
    return ENVIRONMENT_PREFIX + name.upper()


def _spelt_in_file(name: str) -> str:
    return f"[{SECTION}] {name} of airflow.cfg"


def _as_it_is(text: str, _: str) -> str:
    return text


def _contents(path: str, setting: str) -> str:
    # (Without a cause: it would show what of the file could not be decoded.)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (what is wrong is told by the path as given)
            data = file.read(_MAX_FILE_BYTES + 1)
        text = data.decode()
    except (OSError, ValueError) as error:
        reason = (error.strerror or "") if isinstance(error, OSError) else "it is no text in UTF-8"
        raise ConfigError(
            f"The file {path!r}, which {setting} names, can't be read: {reason}. Mount it where "
            "the tasks run, readable by their user."
        ) from None
    if len(data) > _MAX_FILE_BYTES or not text.strip():
        what = "is far too large for a secret" if len(data) > _MAX_FILE_BYTES else "is empty"
        raise ConfigError(f"The file {path!r}, which {setting} names, {what}.")
    return text


def _output(command: str, setting: str) -> str:
    try:
        arguments = shlex.split(command)
        done = subprocess.run(  # noqa: S603 (the administrator's own, as Airflow's are)
            arguments, capture_output=True, check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"The command of {setting} has not ended after {_PATIENCE:.0f} s."
        ) from None
    except (OSError, ValueError) as error:
        # (Without its cause: the command may hold a token.)
        raise ConfigError(
            f"The command of {setting} can't be run: {_reason(error)}. It is run without a shell; "
            "right is, for example, cat /run/secrets/airfreight_signing_keys"
        ) from None
    if done.returncode != 0:
        raise ConfigError(
            f"The command of {setting} failed with status {done.returncode}. What it printed is "
            "not shown, as it may hold a secret; run it by hand as the user of the worker."
        )
    text = done.stdout.decode(errors="replace")
    if not text.strip():
        raise ConfigError(f"The command of {setting} printed nothing.")
    return text


def _reason(error: Exception) -> str:
    return error.strerror or "" if isinstance(error, OSError) else "its quotes do not match"


def _entry(name: str, setting: str) -> str:
    with loading:
        from airflow.configuration import get_custom_secret_backend

    backend = get_custom_secret_backend()
    if backend is None:
        raise ConfigError(
            f"{setting} names an entry of Airflow's secrets backend, and there is none: "
            "[secrets] backend is not set here."
        )
    try:
        text = backend.get_config(name)
    except Exception as error:
        raise ConfigError(
            f"Airflow's secrets backend could not be asked for the entry {name!r} of {setting} "
            f"({type(error).__name__})."
        ) from error
    if not text or not text.strip():
        raise ConfigError(
            f"Airflow's secrets backend ({type(backend).__name__}) has no entry {name!r}, which "
            f"{setting} names. It looks for it below its config_prefix."
        )
    return str(text)

"""The narrow door to Airflow: the few things that are taken from it, for every supported release.

2.9-2.11: `airflow.models.xcom`, rows are JSON bytes. 3.x: `airflow.sdk.bases.xcom`, rows are JSON
values. Nothing else of Airflow is imported at import time, because Airflow itself is only half
there when it imports its XCom backend.
"""

from __future__ import annotations

import configparser
import os
import sys
from typing import TYPE_CHECKING, Any

from airfreight.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Where Airflow has its configuration: 3.x, 2.x. Our section is looked up in its file layer only: a
#: look-up of an unknown option through `conf.get` makes Airflow 3.2+ import every provider first.
_CONFIGURATION_MODULES = ("airflow.sdk.configuration", "airflow.configuration")


def base_class() -> tuple[type[Any], bool]:
    """Returns BaseXCom and whether its rows are bytes (Airflow 2)."""
    try:
        from airflow.sdk.bases.xcom import BaseXCom
    except ModuleNotFoundError:
        from airflow.models.xcom import BaseXCom

        return BaseXCom, True
    return BaseXCom, False


#: Where Airflow keeps the XCom backend that it found: 3.x, 2.x.
_BACKEND_MODULES = ("airflow.sdk.execution_time.xcom", "airflow.models.xcom")


def backend_in_use() -> type[Any]:
    """The class of Airflow's XCom backend, once Airflow has it; `object` before."""
    for name in _BACKEND_MODULES:
        found = getattr(sys.modules.get(name), "XCom", None)
        if isinstance(found, type):
            return found
    return object


def is_reference(value: Any) -> bool:
    """Whether a value stands for another task's, which is not there before that has run."""
    # Where it lies depends on the release. `.map`, `.zip` and arguments of mapped groups are some.
    return any(
        base.__name__ == "ResolveMixin" and base.__module__.startswith("airflow.")
        for base in type(value).__mro__
    )


def configuration() -> Any:
    """Airflow's configuration object, or None where Airflow has none yet."""
    for name in _CONFIGURATION_MODULES:
        conf = getattr(sys.modules.get(name), "conf", None)
        if conf is not None:
            return conf
    for name in _CONFIGURATION_MODULES:
        try:
            module = __import__(name, fromlist=["conf"])
        except ImportError:
            continue
        if (conf := getattr(module, "conf", None)) is not None:
            return conf
    return None


def file_options(section: str) -> dict[str, str]:
    """The options of a section of `airflow.cfg`, expanded as Airflow expands them."""
    conf = configuration()
    if not isinstance(conf, configparser.ConfigParser):
        return {}
    found = {}
    # The methods of the plain parser: Airflow's own also look into defaults and providers.
    if configparser.ConfigParser.has_section(conf, section):
        for name in configparser.ConfigParser.options(conf, section):
            try:
                value = configparser.ConfigParser.get(conf, section, name)
            except configparser.InterpolationError:
                value = configparser.ConfigParser.get(conf, section, name, raw=True)
            found[name] = _expand(value)
    return found


#: Where Airflow's serializer of XComs lies: 3.2+, earlier.
_SERIALIZERS = ("airflow.sdk.serde", "airflow.serialization.serde")
#: Airflow's own list of classes that may be loaded.
ALLOWED_CLASSES = "[core] allowed_deserialization_classes"


def may_load(class_name: str) -> bool:
    """Whether Airflow would load a class that an XCom names, by its module and name.

    The serializer's own test, which has no public name: `_match` reads `[core]
    allowed_deserialization_classes` and `..._regexp`, and `_extra_allowed` is what operators
    declare (airflow/sdk/serde/__init__.py, `deserialize`). Without it nothing may be loaded.

    Raises:
        ConfigError: Airflow can't read these settings.
    """
    for name in _SERIALIZERS:
        try:
            serde = __import__(name, fromlist=["_match"])
        except ImportError:
            continue
        match = getattr(serde, "_match", None)
        try:
            matches = match is not None and match(class_name)
        except Exception as error:  # (That of `re`, or of `re2`.)
            # Airflow compiles its globs too as regular expressions, of which a bare * is none.
            raise ConfigError(
                f"Airflow can't read the patterns of {ALLOWED_CLASSES} or of "
                f"{ALLOWED_CLASSES}_regexp ({type(error).__name__}: {error}). Each has to be a "
                "regular expression, the globs of the first too, as my_package.* is; for all "
                f"classes set {ALLOWED_CLASSES}_regexp = .*"
            ) from error
        return bool(matches) or class_name in getattr(serde, "_extra_allowed", ())
    return False


#: Where Airflow masks secrets: 3.1+ in tasks and elsewhere, 3.0, 2.x.
_MASKERS = (
    "airflow.sdk._shared.secrets_masker",
    "airflow._shared.secrets_masker",
    "airflow.sdk.execution_time.secrets_masker",
    "airflow.utils.log.secrets_masker",
)


class Masker:
    """What Airflow hides of a text in this process."""

    def __init__(self) -> None:
        """Looks for Airflow's own.

        Raises:
            LookupError: there is none that says what it hides.
        """
        # (Later releases keep the older names as modules that warn of themselves.)
        found = [vars(sys.modules[name]) for name in _MASKERS if name in sys.modules]
        self._redact = [one["redact"] for one in found if "_secrets_masker" in one]
        if not self._redact:
            raise LookupError("Airflow's masker of secrets is not loaded")
        #: How many characters a secret has, at the most. (Airflow has them escaped.)
        self.longest = max(
            len(pattern)
            for one in found
            if "_secrets_masker" in one
            for pattern in ("", *one["_secrets_masker"]().patterns)
        )

    def redact(self, value: Any, name: str | None = None) -> Any:
        """The value with `***` in the place of secrets, as `redact` of Airflow has it."""
        for redact in self._redact:
            value = redact(value, name)
        return value


def mask(secrets: Iterable[str]) -> None:
    """Has Airflow hide texts in what this process logs, where its masker is loaded."""
    found = [vars(sys.modules[name]).get("mask_secret") for name in _MASKERS if name in sys.modules]
    for secret in secrets:
        for hide in found:
            if hide is not None:
                hide(secret)


def executor() -> str:
    """The text of `[core] executor`; empty where it can't be told."""
    value = os.environ.get("AIRFLOW__CORE__EXECUTOR")
    if value is None:
        conf = configuration()
        if conf is None:
            return ""
        try:
            value = conf.get("core", "executor", fallback="")
        except Exception:  # noqa: BLE001 (a half-initialised Airflow; the first use asks again)
            return ""
    return value or ""


#: What Airflow's documentation says of what is not set: airflow/config_templates/config.yml and the
#: configuration of the Celery provider.
_DEFAULT_PARALLELISM = 32
_DEFAULT_CONCURRENCY = 16


def slots(names: str) -> int:
    """How many tasks may run beside each other on one machine under these executors, at most."""
    most = 1
    for name in names.replace(";", ",").split(","):
        if "Celery" in name:
            most = max(most, _number("celery", "worker_concurrency", _DEFAULT_CONCURRENCY))
        elif "LocalExecutor" in name:
            most = max(most, _number("core", "parallelism", _DEFAULT_PARALLELISM))
    return most


def _number(section: str, option: str, default: int) -> int:
    """A positive number of Airflow's configuration, without a look into that of providers."""
    text = os.environ.get(f"AIRFLOW__{section.upper()}__{option.upper()}")
    if text is None:
        text = file_options(section).get(option, "")
    try:
        number = int(text)
    except ValueError:
        return default
    return number if number > 0 else default


#: Names that Airflow masks in its logs (`DEFAULT_SENSITIVE_FIELDS` of its secrets_masker), as any
#: release that is supported has them.
_SENSITIVE = frozenset(
    (
        *("access_key", "access_token", "api_key", "apikey", "auth_header", "authorization"),
        *("bearer", "connection_string", "dsn", "keyfile_dict", "passphrase", "passwd", "password"),
        *("private_key", "proxies", "proxy", "proxy_password", "secret", "service_account"),
        *("service_key", "token", "webhook_url"),
    )
)


def sensitive_names() -> frozenset[str]:
    """Parts of names whose values are secrets: Airflow's, and `[core] sensitive_var_conn_names`."""
    text = os.environ.get("AIRFLOW__CORE__SENSITIVE_VAR_CONN_NAMES")
    if text is None:
        text = file_options("core").get("sensitive_var_conn_names", "")
    return _SENSITIVE | {name for part in text.split(",") if (name := part.strip().lower())}


def home() -> str:
    """AIRFLOW_HOME, as Airflow works it out."""
    return _expand(os.environ.get("AIRFLOW_HOME", "~/airflow"))


def _expand(value: str) -> str:
    """Variables and `~`, until nothing changes (as airflow.configuration.expand_env_var)."""
    while True:
        expanded = os.path.expanduser(os.path.expandvars(value))  # noqa: PTH111 (not always a path)
        if expanded == value:
            return value
        value = expanded

"""Airfreight: an XCom backend for Apache Airflow.

Values that are too big or too rich for a database row go to object storage in their own format; the
row keeps a small, readable, verifiable reference.

Importing this package loads nothing else: Airflow imports its XCom backend in every process, before
it is fully initialised itself. Names are resolved at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airfreight.api import get as get
    from airfreight.api import get_many as get_many
    from airfreight.api import pull as pull
    from airfreight.api import put as put
    from airfreight.api import put_many as put_many
    from airfreight.api import put_stream as put_stream
    from airfreight.backend import XComBackend as XComBackend
    from airfreight.errors import (
        CancelledError as CancelledError,
    )
    from airfreight.errors import (
        ConfigError as ConfigError,
    )
    from airfreight.errors import (
        CorruptError as CorruptError,
    )
    from airfreight.errors import (
        DeadlineError as DeadlineError,
    )
    from airfreight.errors import (
        DeniedError as DeniedError,
    )
    from airfreight.errors import (
        Error as Error,
    )
    from airfreight.errors import (
        ExpiredError as ExpiredError,
    )
    from airfreight.errors import (
        ForgedError as ForgedError,
    )
    from airfreight.errors import (
        InternalError as InternalError,
    )
    from airfreight.errors import (
        InvalidError as InvalidError,
    )
    from airfreight.errors import (
        NewerFormatError as NewerFormatError,
    )
    from airfreight.errors import (
        NotFoundError as NotFoundError,
    )
    from airfreight.errors import (
        NotFoundOrDeniedError as NotFoundOrDeniedError,
    )
    from airfreight.errors import (
        OutOfScopeError as OutOfScopeError,
    )
    from airfreight.errors import (
        ReplacedError as ReplacedError,
    )
    from airfreight.errors import (
        SupersededError as SupersededError,
    )
    from airfreight.errors import (
        ThrottledError as ThrottledError,
    )
    from airfreight.errors import (
        TooLargeError as TooLargeError,
    )
    from airfreight.errors import (
        UnavailableError as UnavailableError,
    )
    from airfreight.errors import (
        UnsupportedError as UnsupportedError,
    )
    from airfreight.files import File as File
    from airfreight.mapped import mappable as mappable
    from airfreight.reference import Reference as Reference
    from airfreight.wrapped import options as options

    __version__: str

# Exported name -> the module that has it.
_EXPORTS = {
    "XComBackend": "backend",
    "put": "api",
    "put_many": "api",
    "put_stream": "api",
    "get": "api",
    "get_many": "api",
    "pull": "api",
    "mappable": "mapped",
    "options": "wrapped",
    "File": "files",
    "Reference": "reference",
    "CancelledError": "errors",
    "ConfigError": "errors",
    "CorruptError": "errors",
    "DeadlineError": "errors",
    "DeniedError": "errors",
    "Error": "errors",
    "ExpiredError": "errors",
    "ForgedError": "errors",
    "InternalError": "errors",
    "InvalidError": "errors",
    "NewerFormatError": "errors",
    "NotFoundError": "errors",
    "NotFoundOrDeniedError": "errors",
    "OutOfScopeError": "errors",
    "ReplacedError": "errors",
    "SupersededError": "errors",
    "ThrottledError": "errors",
    "TooLargeError": "errors",
    "UnavailableError": "errors",
    "UnsupportedError": "errors",
}

__all__ = [*_EXPORTS, "__version__"]  # noqa: PLE0604 (the names are text: the keys above)


def __getattr__(name: str) -> Any:
    module = _EXPORTS.get(name)
    if module is not None:
        from importlib import import_module

        if module == "backend":
            # Airflow imports its XCom backend while it is imported itself. It goes first, so that
            # it never finds our module half done.
            from airfreight._airflow import base_class

            base_class()
            if name in globals():
                return globals()[name]
            value = import_module("airfreight.backend").XComBackend
        else:
            from airfreight._imports import loading

            with loading:
                value = getattr(import_module(f"airfreight.{module}"), name)
    elif name == "__version__":
        from importlib.metadata import version

        value = version("airfreight")
    else:
        raise AttributeError(f"module 'airfreight' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

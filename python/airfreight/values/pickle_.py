"""Pickles, where an administrator allows them: of what nothing else keeps, and of nothing else.

Specification: `formats/pickle.md`. To read a pickle is to run the code that it names
(https://docs.python.org/3/library/pickle.html): none is read where the settings do not allow it,
whatever a row says, and never one that lies in a row.
"""

from __future__ import annotations

import io
import pickle
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from airfreight import values
from airfreight._settings_table import BY_NAME, SECTION
from airfreight.config import settings
from airfreight.errors import Error, UnsupportedError
from airfreight.values import DEFAULTS, Payload, class_name, human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airfreight.values import Options

TYPE = values.PICKLE_TYPE
EXTENSION = "pkl"
CONTENT_TYPE = "application/octet-stream"

#: The newest one that every Python which is supported here reads (PEP 574).
PROTOCOL = 5
#: Characters that an error shows of a reason, and a summary of a name.
_SHOWN = 200

_refused: ContextVar[bool] = ContextVar("airfreight_pickle_refused", default=False)


def encode(value: Any, _options: Options = DEFAULTS, _new_sink: Any = None, /) -> Payload:
    """Encodes into memory, after making sure that this process reads it again.

    Takes the time of a pull more, and the memory of a second value meanwhile: what would fail at
    the pull has to fail here.

    Raises:
        TypeError: it can't be pickled, or would not come back as an object of its class.
    """
    name = class_name(type(value)).removeprefix("builtins.")
    done = "be pickled"
    try:
        data = pickle.dumps(value, PROTOCOL)
        done = "be read again from its pickle"
        back = _Elsewhere(io.BytesIO(data)).load()
    except MemoryError:
        raise
    except _NotFoundError as error:
        raise TypeError(
            f"value: an object of type {name} can't be pickled for another process, which would "
            f"not find {error}: define it in a module that can be imported"
        ) from None
    except Exception as error:  # whatever a class says
        raise TypeError(
            f"value: an object of type {name} can't {done} ({_reason(error)}): convert it to one "
            "of the supported types"
        ) from error
    if type(back) is not type(value):
        raise TypeError(
            f"value: an object of type {name} would come back from its pickle as "
            f"{class_name(type(back))}: convert it to one of the supported types"
        )
    shown = f"pickle of {name[:_SHOWN]}"
    return Payload(body=(data,), summary=f"{shown} · {human_bytes(len(data))} pickle", pickled=True)


class _NotFoundError(Exception):
    """What the readers of a pickle would look for in vain."""


class _Elsewhere(pickle.Unpickler):
    """Reads a pickle of our own making as another process would."""

    def find_class(self, module: str, name: str, /) -> Any:
        """As of the base, but not in the main program, which is another one there."""
        if module == "__main__":
            raise _NotFoundError(f"__main__.{name[:_SHOWN]}")
        return super().find_class(module, name)


def decode(data: memoryview) -> Any:
    """Reads a pickle, where that is allowed.

    Raises:
        UnsupportedError: it is not, or the classes in it are not here as the writer had them.
    """
    require()
    try:
        return pickle.loads(data)  # noqa: S301 (an administrator says so)
    except (Error, MemoryError):
        raise
    except Exception as error:  # whatever a class says of a state that is not of its version
        raise UnsupportedError(
            f"the pickle can't be read in this environment ({_reason(error)}): install the "
            "packages that the task had which pushed it, in the same versions."
        ) from error


@contextmanager
def refused() -> Iterator[None]:
    """Whatever the settings allow, no pickle is read meanwhile: it would be one of a row.

    Many may write rows (through Airflow's REST API, for one) who may not write to the store.
    """
    token = _refused.set(True)
    try:
        yield
    finally:
        _refused.reset(token)


def require() -> None:
    """Raises UnsupportedError where the settings allow no pickle."""
    if _refused.get():
        raise UnsupportedError(
            "the row holds a pickle itself, and none is read from a row: Airfreight writes none "
            "there."
        )
    if settings().pickle == "allow":
        return
    option = BY_NAME["pickle"]
    raise UnsupportedError(
        "the value is a pickle, and none is read here, because that runs whatever code somebody "
        "with access to the store may have put there. Where it is trusted, an administrator sets "
        f"[{SECTION}] {option.name} = allow ({option.environment_name}=allow); else have the task "
        "return one of the supported types."
    )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:_SHOWN]

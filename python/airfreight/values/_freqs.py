"""Frequencies of times and periods, as pandas calls its offsets, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from airfreight.errors import UnsupportedError
from airfreight.values import document
from airfreight.values._freq_names import of_offset
from airfreight.values._objects import Refused

if TYPE_CHECKING:
    from airfreight.values import Options

#: Offsets whose names not every supported pandas knows.
_NEWLY_NAMED = ("LWOM",)


def pack_freq(freq: Any, options: Options | None) -> Any:
    """The name of a frequency, or what makes it where the name does not tell it in full.

    Raises:
        Refused: neither does.
    """
    text: str = freq.freqstr
    try:
        if not text.lstrip("-0123456789").startswith(_NEWLY_NAMED) and same_freq(
            pd.tseries.frequencies.to_offset(text), freq
        ):
            return text
    except ValueError:
        pass
    # A calendar is made of the other two.
    usual = _usual(type(freq))
    kwds = {
        name: value
        for name, value in freq.kwds.items()
        if name != "calendar" and not (name in usual and _is_same(value, usual[name]))
    }
    try:
        packed = {
            "offset": type(freq).__name__,
            "n": freq.n,
            "normalize": freq.normalize,
            "kwds": document.Encoder(options=options).encode(kwds),
        }
        same = same_freq(unpack_freq(packed), freq)
    except (document.Unsupported, UnsupportedError, TypeError, ValueError):
        same = False
        packed = {}
    if not same:
        raise Refused(
            f"its frequency {text} is one that its name does not tell in full; drop it with "
            "index.freq = None"
        )
    return packed


def unpack_freq(packed: Any) -> Any:
    """The inverse."""
    if isinstance(packed, str):
        return of_offset(pd.tseries.frequencies.to_offset, packed)
    kwds = document.from_json(packed["kwds"])
    return offset(packed["offset"], packed["n"], packed["normalize"], kwds)


def offset(name: str, n: int, normalize: bool, kwds: dict[str, Any]) -> Any:
    """An offset of pandas by the name of its class."""
    made = getattr(pd.offsets, name, None)
    if not (isinstance(made, type) and issubclass(made, pd.offsets.BaseOffset)):
        raise UnsupportedError(
            f"the value has the frequency {name}, which pandas {pd.__version__} here does not have."
        )
    return made(n=n, normalize=normalize, **kwds)


def same_freq(one: Any, other: Any) -> bool:
    """Whether two frequencies are the same to what pandas does not compare."""
    if type(one) is not type(other) or one != other or one.normalize != other.normalize:
        return False
    return one.kwds.keys() == other.kwds.keys() and all(
        # (A calendar is made of the others.)
        name == "calendar" or _is_same(value, other.kwds[name])
        for name, value in one.kwds.items()
    )


def set_freq(index: Any, freq: Any) -> None:
    """Gives a DatetimeIndex or TimedeltaIndex, just made, its frequency.

    Without a look whether its times have it: those of a part of an index, or of one turned around,
    need not by the rules of the setter, and a frequency that pandas gave it is the value's.
    """
    index._data._freq = freq


def _usual(kind: type) -> dict[str, Any]:
    """The arguments of an offset that nobody gave: other versions of pandas may not have them."""
    try:
        made: dict[str, Any] = kind().kwds
    except (TypeError, ValueError):
        return {}
    return made


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)

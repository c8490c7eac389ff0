"""Tags of numpy's and pandas' scalars: `formats/document.md`.

The libraries are there already when there is one of their scalars.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from airfreight._imports import loading
from airfreight.values import for_value
from airfreight.values._content import from_base64, items, to_base64, typed
from airfreight.values._freq_names import of_period
from airfreight.values._unsupported import ITEMS, RAW, Unsupported
from airfreight.values._zones import pack_zone, unpack_zone

if TYPE_CHECKING:
    from collections.abc import Callable

    from airfreight.values._tags import Tag

_UNITS = ("s", "ms", "us", "ns")


def tag_numpy(value: Any) -> Tag | None:
    """The tag of a numpy scalar; None when it is no scalar. Unsupported: it is not kept exactly."""
    with loading:
        import numpy as np

    if not isinstance(value, np.generic):
        return None  # An array.
    dtype = value.dtype
    plain = not dtype.hasobject and dtype.names is None and dtype.subdtype is None
    # Long doubles: their bytes differ between machines.
    if type(value) is dtype.type and plain and dtype.char not in "gG":
        packed = [dtype.str, to_base64(_numpy_bytes(value, dtype))]
        back = _unnumpy(packed)
        if (
            type(back) is type(value)
            and back.dtype == dtype
            and _numpy_bytes(back, dtype) == _numpy_bytes(value, dtype)
        ):
            return "~numpy", packed, RAW
    if for_value(value) is not None:
        return None  # By its codec, where values may be embedded.
    raise Unsupported(type(value), f"a numpy scalar of dtype {dtype} is not kept exactly")


def _numpy_bytes(value: Any, dtype: Any) -> bytes:
    # Of texts and bytes numpy's own notion of an item drops zeros at the end.
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, str):
        return value.encode(_utf32(dtype), "surrogatepass")
    data: bytes = value.tobytes()
    return data


def _utf32(dtype: Any) -> str:
    return "utf-32-be" if dtype.str.startswith(">") else "utf-32-le"


def _unnumpy(content: Any) -> Any:
    with loading:
        import numpy as np

    text, data = items(content, str, str)
    dtype = np.dtype(text)
    if dtype.hasobject:
        raise ValueError("no Python objects here")
    raw = from_base64(data)
    if dtype.kind == "S":
        return dtype.type(raw)
    if dtype.kind == "U":
        return dtype.type(raw.decode(_utf32(dtype), "surrogatepass"))
    if dtype.itemsize == 0:
        return np.zeros((), dtype)[()]
    return np.frombuffer(raw, dtype=dtype, count=1)[0]


def tag_pandas(value: Any) -> Tag | None:
    """The tag of a pandas scalar; None when it is none of those that are known by now."""
    with loading:
        import pandas as pd

    if value is pd.NaT:
        return "~pandas.NaT", None, RAW
    if value is pd.NA:
        return "~pandas.NA", None, RAW
    encoders: dict[type, Callable[[Any], Tag]] = {
        pd.Timestamp: _timestamp,
        pd.Timedelta: _timedelta,
        pd.Period: _period,
        pd.Interval: lambda interval: (
            "~pandas.Interval",
            [interval.left, interval.right, interval.closed],
            ITEMS,
        ),
    }
    encode = encoders.get(type(value))
    return None if encode is None else encode(value)


def _timestamp(value: Any) -> Tag:
    packed = [int(value.asm8.view("i8")), value.unit, pack_zone(value.tzinfo, type(value))]
    packed.append(value.fold)
    back = _untimestamp(packed)
    if back.tzinfo != value.tzinfo or back.unit != value.unit or back.fold != value.fold:
        raise Unsupported(type(value), "its time zone and fold do not tell it")
    return "~pandas.Timestamp", packed, RAW


def _untimestamp(content: Any) -> Any:
    with loading:
        import numpy as np
        import pandas as pd

    count, unit, zone, fold = typed(content, list)
    stamp: Any = pd.Timestamp(np.datetime64(typed(count, int), _unit(unit)))
    if zone is not None:
        utc: Any = stamp.tz_localize("UTC")
        stamp = utc.tz_convert(unpack_zone(zone))
    return stamp if stamp.fold == fold else stamp.replace(fold=typed(fold, int))


def _timedelta(value: Any) -> Tag:
    return "~pandas.Timedelta", [int(value.asm8.view("i8")), value.unit], RAW


def _untimedelta(content: Any) -> Any:
    with loading:
        import numpy as np
        import pandas as pd

    count, unit = items(content, int, str)
    return pd.Timedelta(np.timedelta64(count, _unit(unit)))


def _unit(text: Any) -> Any:
    if text not in _UNITS:
        raise ValueError(f"{text!r} is no unit of a time")
    return text


def _period(value: Any) -> Tag:
    # (A week that ends on no day in particular has no name.)
    name, freq = value.freqstr, value.freq
    if type(name) is str and _is_told(name, freq):
        return "~pandas.Period", [int(value.ordinal), name], RAW
    with loading:
        import pandas as pd

        from airfreight.values import _freqs
        from airfreight.values._objects import Refused

    packed: Any = None
    try:
        packed = _freqs.pack_freq(freq, None)
        back = _freqs.unpack_freq(packed)
        kept = type(packed) is dict and _freqs.same_freq(
            pd.Period(ordinal=value.ordinal, freq=back).freq, freq
        )
    except (Refused, TypeError, ValueError):
        kept = False
    if not kept:
        raise Unsupported(type(value), f"its frequency {freq!r} is not kept exactly")
    made = [packed[name] for name in ("offset", "n", "normalize", "kwds")]
    return "~pandas.Period.offset", [int(value.ordinal), *made], RAW


@lru_cache(maxsize=64, typed=True)
def _is_told(name: str, freq: Any) -> bool:
    """Whether the name of a period's frequency tells it in full.

    (Pandas takes as long to read a name as dozens of periods take, and those of a list share one.)
    """
    with loading:
        import pandas as pd

        from airfreight.values import _freqs

    return _freqs.same_freq(of_period(pd.PeriodDtype, name).freq, freq)


def _unperiod(content: Any) -> Any:
    with loading:
        import pandas as pd

    ordinal, frequency = items(content, int, str)
    return of_period(lambda name: pd.Period(ordinal=ordinal, freq=name), frequency)


def _unperiod_of_offset(content: Any) -> Any:
    with loading:
        import pandas as pd

        from airfreight.values import _freqs

    ordinal, *made = items(content, int, str, int, bool, dict)
    return pd.Period(ordinal=ordinal, freq=_freqs.offset(*made))


def _uninterval(content: Any) -> Any:
    with loading:
        import pandas as pd

    left, right, closed = typed(content, list)
    return pd.Interval(left, right, closed)


def _missing(name: str) -> Callable[[Any], Any]:
    def decode(content: Any) -> Any:
        with loading:
            import pandas as pd

        typed(content, type(None))
        return getattr(pd, name)

    return decode


DECODERS: dict[str, Callable[[Any], Any]] = {
    "~numpy": _unnumpy,
    "~pandas.Interval": _uninterval,
    "~pandas.NA": _missing("NA"),
    "~pandas.NaT": _missing("NaT"),
    "~pandas.Period": _unperiod,
    "~pandas.Period.offset": _unperiod_of_offset,
    "~pandas.Timedelta": _untimedelta,
    "~pandas.Timestamp": _untimestamp,
}

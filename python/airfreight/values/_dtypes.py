"""numpy's dtypes as JSON, where the header of `.npy` does not tell all of one.

Specification: `formats/array.md`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from airfreight._imports import loading
from airfreight.values import document

#: Packages whose dtypes are kept by name. A name in an object must not import just anything.
_EXTENDING = frozenset(("ml_dtypes",))
_STRINGS = getattr(getattr(np, "dtypes", None), "StringDType", None)


def is_strings(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is numpy 2's StringDType."""
    return _STRINGS is not None and isinstance(dtype, _STRINGS)


def pack(dtype: np.dtype[Any]) -> Any:
    """The JSON form of a dtype; TypeError when it does not come back as it was."""
    try:
        packed = _pack(dtype)
        if same(unpack(packed), dtype):
            return packed
    except (document.Unsupported, TypeError, ValueError, AttributeError):
        pass
    raise TypeError(
        f"value: dtype {short(str(dtype))} of this numpy array can't be kept exactly; convert it "
        "with value.astype(…) to one of numpy's own dtypes"
    )


def _pack(dtype: np.dtype[Any]) -> Any:
    if dtype.metadata is not None:
        bare = _pack(without_metadata(dtype))
        return {"of": bare, "metadata": document.Encoder().encode(dict(dtype.metadata))}
    if is_strings(dtype):
        strings: Any = dtype
        packed = {"coerce": strings.coerce}
        if hasattr(strings, "na_object"):
            packed["na"] = document.Encoder().encode(strings.na_object)
        return {"strings": packed}
    if dtype.subdtype is not None:
        return {"of": _pack(dtype.subdtype[0]), "shape": list(dtype.shape)}
    if dtype.names is not None:
        fields: Any = dtype.fields
        found = [fields[name] for name in dtype.names]
        return {
            "names": list(dtype.names),
            "formats": [_pack(field[0]) for field in found],
            "offsets": [field[1] for field in found],
            "titles": [
                document.Encoder().encode(field[2]) if field[2:] else None for field in found
            ],
            "itemsize": dtype.itemsize,
            "aligned": dtype.isalignedstruct,
            "record": dtype.type is np.record,
        }
    if dtype.isbuiltin == 2 or (dtype.kind == "V" and dtype.type is not np.void):
        return {"class": f"{dtype.type.__module__}.{dtype.type.__name__}"}
    if np.dtype(dtype.str).type is not dtype.type:  # `longlong`, which is an `int64` by its bytes.
        return {"char": dtype.char, "order": dtype.byteorder}
    return dtype.str


def unpack(packed: Any) -> np.dtype[Any]:
    """The inverse of `pack`."""
    if isinstance(packed, str):
        return np.dtype(packed)
    if "strings" in packed:
        if _STRINGS is None:
            raise ValueError("it is an array of numpy 2's StringDType, and this is numpy 1")
        strings = packed["strings"]
        options = {"na_object": document.from_json(strings["na"])} if "na" in strings else {}
        made: np.dtype[Any] = _STRINGS(coerce=strings["coerce"], **options)
        return made
    if "metadata" in packed:
        metadata = document.from_json(packed["metadata"])
        return np.dtype(unpack(packed["of"]), metadata=metadata)  # type: ignore[call-overload,no-any-return,unused-ignore]
    if "of" in packed:
        return np.dtype((unpack(packed["of"]), tuple(packed["shape"])))
    if "char" in packed:
        return np.dtype(packed["char"]).newbyteorder(packed["order"])
    if "class" in packed:
        module, _, name = packed["class"].rpartition(".")
        if module not in _EXTENDING:
            raise ValueError(f"a dtype of {module!r} is not known")
        with loading:
            return np.dtype(getattr(import_module(module), name))
    spec = {key: packed[key] for key in ("names", "offsets", "itemsize", "aligned")}
    spec["formats"] = [unpack(inner) for inner in packed["formats"]]
    if any(title is not None for title in packed["titles"]):
        spec["titles"] = [document.from_json(title) for title in packed["titles"]]
    dtype = np.dtype(spec)
    return np.dtype((np.record, dtype)) if packed["record"] else dtype


def without_metadata(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype without the metadata of its outermost level."""
    if dtype.metadata is None:
        return dtype
    if dtype.names is not None:
        fields: Any = dtype.fields
        found = [fields[name] for name in dtype.names]
        spec = {
            "names": list(dtype.names),
            "formats": [field[0] for field in found],
            "offsets": [field[1] for field in found],
            "titles": [field[2] if field[2:] else None for field in found],
            "itemsize": dtype.itemsize,
            "aligned": dtype.isalignedstruct,
        }
        if not any(title is not None for title in spec["titles"]):
            del spec["titles"]
        bare = np.dtype(spec)
        return np.dtype((np.record, bare)) if dtype.type is np.record else bare
    return np.dtype(dtype.str)


def same(back: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Whether two dtypes are the same in what `==` does not look at, too."""
    if (
        back != dtype
        or back.type is not dtype.type
        or back.isalignedstruct != dtype.isalignedstruct
        or dict(back.metadata or {}) != dict(dtype.metadata or {})
    ):
        return False
    if is_strings(dtype):
        ones, others = (vars_of_strings(it) for it in (back, dtype))
        return ones == others
    if dtype.subdtype is not None and back.subdtype is not None:
        return same(back.subdtype[0], dtype.subdtype[0])
    if dtype.fields is None or back.fields is None:
        return True
    return all(
        same(back.fields[name][0], field[0]) and back.fields[name][2:] == field[2:]
        for name, field in dtype.fields.items()
    )


def vars_of_strings(dtype: Any) -> tuple[Any, ...]:
    """What tells one StringDType from another."""
    missing = getattr(dtype, "na_object", dtype)
    return dtype.coerce, None if missing is dtype else (type(missing), repr(missing))


def short(text: str) -> str:
    """A text for a message."""
    return text if len(text) <= 60 else f"{text[:59]}…"

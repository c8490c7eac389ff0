"""Arrays and scalars of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle import difference, items


def compare(one: Any, other: Any, place: str) -> Any:
    """The difference of two values of one class of numpy's; NotImplemented: not looked at here."""
    if isinstance(one, np.dtype):
        return dtypes(one, other, place)
    if isinstance(one, np.ma.MaskedArray):
        return _masked(one, other, place)
    if isinstance(one, (np.bytes_, np.str_)):
        # As their bytes: numpy's own notion of an item drops zeros at the end.
        plain = bytes if isinstance(one, bytes) else str
        same = one.dtype == other.dtype and plain(one) == plain(other)
        return None if same else f"{place}: {one!r} against {other!r}"
    if isinstance(one, (np.ndarray, np.generic)):
        return arrays(one, other, place)
    return NotImplemented


def dtypes(one: np.dtype[Any], other: np.dtype[Any], place: str) -> str | None:
    """Byte order, fields with their titles and offsets, and metadata, which `==` leaves out."""
    if (
        type(one) is not type(other)
        or one != other
        or one.isnative != other.isnative
        or _layout(one) != _layout(other)
        or (dict(one.metadata or {}) != dict(other.metadata or {}))
    ):
        return f"{place}: dtype {one!r} against {other!r}"
    return None


def _layout(dtype: np.dtype[Any]) -> Any:
    if dtype.names is None:
        if dtype.subdtype is not None:
            return dtype.subdtype[1], _layout(dtype.subdtype[0])
        return dtype.str if dtype.kind != "T" else repr(dtype)
    assert dtype.fields is not None
    fields = [(name, dtype.fields[name]) for name in dtype.names]
    return (
        dtype.itemsize,
        dtype.isalignedstruct,
        [(name, _layout(field[0]), *field[1:]) for name, field in fields],
    )


def arrays(one: Any, other: Any, place: str) -> str | None:
    """Two arrays or scalars: dtype, shape, order in memory, and the bits of each element."""
    found = dtypes(one.dtype, other.dtype, f"{place}.dtype")
    if found:
        return found
    if one.shape != other.shape:
        return f"{place}: shape {one.shape} against {other.shape}"
    if isinstance(one, np.ndarray):
        orders = [(it.flags.c_contiguous, it.flags.f_contiguous) for it in (one, other)]
        # An array whose elements do not lie one after another need not come back so.
        if orders[0] != orders[1] and all(map(any, orders)):
            return f"{place}: C and Fortran order {orders[0]} against {orders[1]}"
    return elements(one, other, place)


def elements(one: Any, other: Any, place: str) -> str | None:
    """The first element that differs; of the same dtype and shape."""
    dtype = one.dtype
    if dtype.names is not None:
        # Of a scalar a field of objects would be the object itself.
        one, other = np.asarray(one), np.asarray(other)
        for name in dtype.names:
            found = elements(one[name], other[name], f"{place}[{name!r}]")
            if found:
                return found
        return None
    if dtype.kind in "OT":
        if np.ndim(one) == 0 and dtype.kind == "O":
            return difference(np.asarray(one).item(), np.asarray(other).item(), place)
        return items(np.ravel(one).tolist(), np.ravel(other).tolist(), place)
    same = _same_bits(np.asarray(one), np.asarray(other))
    if same.all():
        return None
    at = np.unravel_index(int(np.argmin(same)), same.shape)
    where = f"[{', '.join(map(str, at))}]" if at else ""
    return f"{place}{where}: {np.asarray(one)[at]!r} against {np.asarray(other)[at]!r}"


def _same_bits(one: Any, other: Any) -> Any:
    kind = one.dtype.kind
    if kind == "c":
        return _same_bits(one.real, other.real) & _same_bits(one.imag, other.imag)
    if kind == "f":
        missing = np.isnan(one) & np.isnan(other)
        return missing | ((one == other) & (np.signbit(one) == np.signbit(other)))
    if kind in "mM":
        return one.view("i8") == other.view("i8")
    if not one.size:
        return np.ones(one.shape, bool)
    if kind == "V":
        whole = [np.frombuffer(it.tobytes(), dtype="u1") for it in (one, other)]
        return (whole[0] == whole[1]).reshape(*one.shape, -1).all(axis=-1)
    return one == other


def _masked(one: Any, other: Any, place: str) -> str | None:
    if (one.mask is np.ma.nomask) != (other.mask is np.ma.nomask):
        return f"{place}: mask {one.mask!r} against {other.mask!r}"
    if one.hardmask != other.hardmask:
        return f"{place}: hardmask {one.hardmask} against {other.hardmask}"
    return (
        arrays(np.asarray(one.data), np.asarray(other.data), f"{place}.data")
        or arrays(np.ma.getmaskarray(one), np.ma.getmaskarray(other), f"{place}.mask")
        or difference(one.fill_value, other.fill_value, f"{place}.fill_value")
    )

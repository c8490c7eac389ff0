"""What `.npy` does not hold, as `.npz`: an archive of arrays that numpy opens, with a description.

Python objects, strings of any length, masks, and dtypes whose layout or class `.npy` does not tell.
Specification: `formats/array.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from airfreight import values
from airfreight.values import DEFAULTS, Payload, _container, _dtypes, document, numpy_

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from airfreight.values import NewSink, Options

    Array: TypeAlias = "np.ndarray[Any, Any]"


class _Packer:
    """Gathers the members of an archive."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.members: list[tuple[str, list[Buffer]]] = []

    def _add(self, extension: str, buffers: list[Any]) -> str:
        name = f"{len(self.members)}.{extension}"
        self.members.append((name, buffers))
        return name

    def array(self, value: Array, place: str = "value") -> dict[str, Any]:
        """The JSON form of an array, whose data are members."""
        dtype = value.dtype
        fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        spec = {"shape": list(value.shape), "order": "F" if fortran else "C"}
        if _dtypes.is_strings(dtype):
            return {**spec, "dtype": _dtypes.pack(dtype), "texts": self._texts(value)}
        if dtype.hasobject and dtype.names is not None:
            fields = [
                self.array(value[name], f"{place}[{values.shown(name)}]") for name in dtype.names
            ]
            return {**spec, "dtype": _dtypes.pack(dtype), "fields": fields}
        if dtype.hasobject:
            return {**spec, "dtype": _dtypes.pack(dtype), "objects": self._objects(value, place)}
        if (body := numpy_.to_npy(value)) is not None:
            return {"data": self._add("npy", body)}
        packed = _dtypes.pack(dtype)
        if dtype.itemsize == 0:
            return {**spec, "dtype": packed}
        for bare in _layouts(dtype):
            if numpy_.keeps(bare):
                contiguous = value if fortran else np.ascontiguousarray(value).reshape(value.shape)
                body = numpy_.to_npy(contiguous.view(bare))
                if body is not None:
                    return {"dtype": packed, "data": self._add("npy", body)}
        raise AssertionError("bytes are kept")

    def _texts(self, value: Array) -> str:
        texts = [item if type(item) is str else None for item in value.ravel().tolist()]
        return self._add("json", [document.array(document.Encoder().texts(texts))])

    def _objects(self, value: Array, place: str) -> str:
        encoder = document.Encoder(options=self.options)
        flat = value.ravel().tolist() if value.ndim else [value.item()]
        cells = []
        for number, item in enumerate(flat):
            try:
                cells.append(encoder.text(item))
            except RecursionError:
                raise TypeError(
                    f"{place}: this numpy array contains itself, or lies too deep in others: take "
                    "it out of itself"
                ) from None
            except document.Unsupported as error:
                at = ", ".join(map(str, np.unravel_index(number, value.shape) or ("()",)))
                error.within(f"{place.removeprefix('value')}[{at}]")
                raise error.as_type_error() from None
        return self._add("json", [document.array(cells)])


def _layouts(dtype: np.dtype[Any]) -> list[np.dtype[Any]]:
    """Dtypes of the same layout of which one is kept: with the fields, if possible, else bytes."""
    bytes_ = np.dtype(f"V{dtype.itemsize}")
    fields: Any = dtype.fields
    if dtype.names is None:
        return [_dtypes.without_metadata(dtype), bytes_]
    found = [(name, *fields[name][:2]) for name in dtype.names]
    spec = {
        "names": [name for name, _, _ in found],
        "formats": [_layouts(inner)[0] for _, inner, _ in found],
        "offsets": [offset for _, _, offset in found],
        "itemsize": dtype.itemsize,
    }
    return [np.dtype(spec), bytes_]


class _Unpacker:
    def __init__(self, members: dict[str, memoryview]) -> None:
        self._members = members

    def array(self, spec: dict[str, Any]) -> Array:
        dtype = None if "dtype" not in spec else _dtypes.unpack(spec["dtype"])
        if "data" in spec:
            array: Array = numpy_.from_npy(self._members[spec["data"]])
            return array if dtype is None else array.view(dtype)
        if dtype is None:
            raise ValueError("an array without a dtype")
        shape, order = tuple(spec["shape"]), spec["order"]
        if "fields" in spec:
            array = np.zeros(shape, dtype, order)
            for name, field in zip(dtype.names or (), spec["fields"], strict=True):
                array[name] = self.array(field)
            return array
        if "texts" in spec:
            missing = getattr(dtype, "na_object", None)
            texts = self._documents(spec["texts"])
            flat = np.array([missing if text is None else text for text in texts], dtype)
            return _shaped(flat, shape, order)
        if "objects" in spec:
            items = self._documents(spec["objects"])
            flat = np.empty(len(items), dtype)
            for number, item in enumerate(items):
                flat[number] = item
            return _shaped(flat, shape, order)
        return np.ndarray(shape, dtype, order=order)  # Items of no bytes.

    def _documents(self, name: str) -> list[Any]:
        items: list[Any] = document.decode(self._members[name])
        return items


def _shaped(flat: Array, shape: tuple[int, ...], order: str) -> Array:
    array = flat.reshape(shape)
    return np.asfortranarray(array) if order == "F" else array


# --- Classes --------------------------------------------------------------------------------------


def encode_array(value: Array, options: Options, new_sink: NewSink) -> Payload:
    """Encodes an ndarray that `.npy` does not hold. Raises as `numpy_.encode`."""
    packer = _Packer(options)
    return _payload(value, "ndarray", {"array": packer.array(value)}, packer, new_sink)


def _payload(
    value: Array,
    name: str,
    description: dict[str, Any],
    packer: _Packer,
    new_sink: NewSink,
    mask: Any = None,
) -> Payload:
    sink = new_sink(numpy_.NPZ)
    _container.write(sink, description, packer.members)
    nulls: list[int] = []
    more = ""
    if mask is not None:
        masks = [mask] if mask.dtype.names is None else [mask[name] for name in mask.dtype.names]
        nulls = [_count(one) for one in masks]
        more = f", {sum(nulls):,} masked"
    return Payload(
        body=sink,
        summary=numpy_.summary(
            name, value, sink.tell(), numpy_.NPZ.extension, packer.options, more
        ),
        rows=numpy_.rows(value),
        columns=numpy_.columns(value),
        form=numpy_.NPZ,
        nulls=nulls,
    )


def _count(mask: Array) -> int:
    """How many cells are masked; of structures within structures this is not asked."""
    return int(np.count_nonzero(mask)) if mask.dtype.names is None else -1


def decode(data: memoryview, kind: str) -> Any:
    """Decodes an archive to a value of an `_xcom_type`; the views into it stay writable."""
    description, members = _container.read(data)
    unpacker = _Unpacker(members)
    array = unpacker.array(description["array"])
    if kind == SCALAR.TYPE:
        return array[()]
    if kind == RECORDS.TYPE:
        return array.view(np.recarray)
    if kind != MASKED.TYPE:
        return array
    mask = description["mask"]
    masked: Any = np.ma.MaskedArray(
        array,
        mask=np.ma.nomask if mask is None else unpacker.array(mask),
        hard_mask=description["hard_mask"],
    )
    fill_value = description["fill_value"]
    # As numpy itself keeps it: an array without dimensions; None: the default of the dtype.
    masked._fill_value = None if fill_value is None else unpacker.array(fill_value)
    return masked


class _NpzCodec:
    """What the codecs of this module have in common."""

    TYPE: str
    EXTENSION = numpy_.NPZ.extension
    CONTENT_TYPE = numpy_.NPZ.content_type

    def decode(self, data: memoryview) -> Any:
        return decode(data, self.TYPE)


class _MaskedCodec(_NpzCodec):
    TYPE = "numpy.ma.MaskedArray"

    def encode(
        self, value: Any, options: Options = DEFAULTS, new_sink: NewSink = values.new_sink, /
    ) -> Payload:
        """Encodes data, mask and fill value; what lies under the mask too."""
        if value._baseclass is not np.ndarray or value._optinfo or value._basedict:
            raise TypeError(
                "value: this masked array is made of a subclass of numpy.ndarray, or has "
                "attributes of its own: make it anew with numpy.ma.MaskedArray(value.data, "
                "value.mask)"
            )
        packer = _Packer(options)
        mask, fill_value = value._mask, value._fill_value
        description = {
            "array": packer.array(value.data),
            "mask": None if mask is np.ma.nomask else packer.array(mask),
            "fill_value": None if fill_value is None else packer.array(np.asarray(fill_value)),
            "hard_mask": bool(value.hardmask),
        }
        found = np.zeros(value.shape, bool) if mask is np.ma.nomask else mask
        return _payload(value.data, "MaskedArray", description, packer, new_sink, found)


class _RecordsCodec(_NpzCodec):
    TYPE = "numpy.recarray"

    def encode(
        self, value: Any, options: Options = DEFAULTS, new_sink: NewSink = values.new_sink, /
    ) -> Payload:
        """Encodes as the array that it is a view of."""
        packer = _Packer(options)
        # (Its own `view` gives fields back as plain ones.)
        array = np.ndarray.view(value, np.ndarray)
        description = {"array": packer.array(array)}
        return _payload(array, "recarray", description, packer, new_sink)


class _ScalarCodec(_NpzCodec):
    """Scalars of which bytes and `numpy.dtype.str` do not tell all; others are documents."""

    TYPE = "numpy.generic"

    def encode(
        self, value: Any, options: Options = DEFAULTS, new_sink: NewSink = values.new_sink, /
    ) -> Payload:
        """Encodes as the array without dimensions that it is taken out of."""
        packer = _Packer(options)
        array = np.asarray(value)
        description = {"array": packer.array(array)}
        if type(array[()]) is not type(value):
            raise TypeError(
                f"value: a numpy scalar of class {type(value).__name__} would come back as "
                f"{type(array[()]).__name__}"
            )
        return _payload(array, type(value).__name__, description, packer, new_sink)


MASKED = _MaskedCodec()
SCALAR = _ScalarCodec()
RECORDS = _RecordsCodec()

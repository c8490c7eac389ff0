"""`bytes`, `bytearray`, `memoryview`: the bytes as they are. Specification: `formats/array.md`."""

from __future__ import annotations

from math import prod
from struct import calcsize
from struct import error as StructError  # noqa: N812
from typing import TYPE_CHECKING, Any

from airfreight import values
from airfreight._imports import loading
from airfreight.values import DEFAULTS, Payload, human_bytes

if TYPE_CHECKING:
    from airfreight.values import NewSink, Options

TYPE = "bytes"
EXTENSION = "bin"
CONTENT_TYPE = "application/octet-stream"

_MEMBER = "data.bin"


def encode(value: bytes, _options: Any = None, _new_sink: Any = None, /) -> Payload:
    """Encodes without a copy."""
    return Payload(body=(value,), summary=f"bytes · {human_bytes(len(value))} bin")


def decode(data: memoryview) -> bytes:
    """Decodes with the one copy that a `bytes` object needs."""
    return data.tobytes()


class _ByteArrayCodec:
    TYPE = "bytearray"
    EXTENSION = EXTENSION
    CONTENT_TYPE = CONTENT_TYPE

    def encode(self, value: bytearray, _options: Any = None, _new_sink: Any = None, /) -> Payload:
        """Encodes without a copy."""
        return Payload(body=(value,), summary=f"bytearray · {human_bytes(len(value))} bin")

    def decode(self, data: memoryview) -> bytearray:
        """Decodes with one copy, which can grow."""
        return bytearray(data)


class _MemoryViewCodec:
    TYPE = "memoryview"
    EXTENSION = "zip"
    CONTENT_TYPE = "application/zip"

    def encode(
        self,
        value: memoryview,
        _options: Options = DEFAULTS,
        new_sink: NewSink = values.new_sink,
        /,
    ) -> Payload:
        """Encodes a contiguous view; TypeError for one that can't be made again from bytes."""
        with loading:
            from airfreight.values import _container

        flat: memoryview | bytes
        try:
            shape = value.shape or ()
        except ValueError as error:  # It was released.
            raise TypeError(f"value: {error}: push the bytes before, or a copy of them") from None
        try:
            if value.shape == (0,):  # Which `cast` does not take.
                flat = b""
                _nothing(value.format)
            else:
                flat = value.cast("B")
                flat.cast(value.format, value.shape)  # type: ignore[call-overload]
        except (TypeError, ValueError, StructError) as error:
            raise TypeError(
                f"value: a memoryview of format {value.format!r} and shape {value.shape} can't be "
                f"pushed ({error}); only contiguous ones of native formats can: push "
                "value.tobytes(), or numpy.asarray(value)"
            ) from None
        description = {
            "format": value.format,
            "shape": list(shape),
            "readonly": value.readonly,
        }
        sink = new_sink()
        _container.write(sink, description, [(_MEMBER, (flat,))])
        return Payload(
            body=sink,
            summary=(
                f"memoryview of {prod(shape):,} {value.format} · {human_bytes(sink.tell())} zip"
            ),
        )

    def decode(self, data: memoryview) -> memoryview:
        """Decodes to a view of the memory of `data`."""
        with loading:
            from airfreight.values import _container

        description, members = _container.read(data)
        if description["shape"] == [0]:
            view = _nothing(description["format"])
        else:
            view = members[_MEMBER].cast("B").cast(description["format"], description["shape"])
        return view.toreadonly() if description["readonly"] else view


def _nothing(format_: str) -> memoryview:
    """A view of no items."""
    view: memoryview = memoryview(bytearray(calcsize(format_))).cast(format_)  # type: ignore[call-overload]
    return view[:0]


BYTEARRAY = _ByteArrayCodec()
MEMORYVIEW = _MemoryViewCodec()

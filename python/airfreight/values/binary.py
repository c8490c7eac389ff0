"""`bytes`, as they are."""

from __future__ import annotations

from typing import Any

from airfreight.values import Payload, human_bytes

TYPE = "bytes"
EXTENSION = "bin"
CONTENT_TYPE = "application/octet-stream"


def encode(value: bytes, _options: Any = None, _new_sink: Any = None, /) -> Payload:
    """Encodes without a copy."""
    return Payload(body=(value,), summary=f"bytes · {human_bytes(len(value))}")


def decode(data: memoryview) -> bytes:
    """Decodes with the one copy that a `bytes` object needs."""
    return data.tobytes()

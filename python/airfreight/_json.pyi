"""JSON in one pass. The extension's sources: python/bindings/json."""

from collections.abc import Callable
from typing import Any

from typing_extensions import Buffer

def encode(value: Any, /) -> tuple[int, list[bytes]] | None: ...
def encode_document(
    value: Any, tag: Callable[[Any, int], tuple[str, Any, bool]], /
) -> tuple[int, list[bytes]]: ...
def decode(data: Buffer, untag: Callable[[str, Any], Any] | None = None, /) -> Any: ...

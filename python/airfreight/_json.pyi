"""JSON in one pass. The extension's sources: python/bindings/json."""

from collections.abc import Callable
from typing import Any

from typing_extensions import Buffer

def encode(value: Any, /) -> tuple[int, list[bytes]] | None: ...
def dump(value: Any, /) -> list[bytes]: ...
def tagged(
    value: Any,
    tag: Callable[[Any, int], tuple[str, Any, int] | tuple[str, Any, int, Any]],
    depth: int = 0,
    /,
) -> tuple[Any, int]: ...
def untagged(encoded: Any, untag: Callable[[str, Any], Any], /) -> Any: ...
def decode(data: Buffer, untag: Callable[[str, Any], Any] | None = None, /) -> Any: ...

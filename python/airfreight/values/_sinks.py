"""What libraries write to: a native sink as the file object that they want."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airfreight._core import Sink, Writer


class Writable:
    """What a file object for writing has besides `write` and `tell`."""

    closed = False

    def flush(self) -> None:
        """Nothing: the sink decides when it sends."""

    def close(self) -> None:
        """Nothing: who opened the sink finishes it."""

    def readable(self) -> bool:
        """False."""
        return False

    def writable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """False."""
        return False


class File(Writable):
    """A native sink for libraries that write any kind of buffer, or lose what a write raises.

    Attributes:
        error: what a write raised; None as long as none did. Nothing is written after it.

    Threads, blocking, errors: as the sink's.
    """

    def __init__(self, sink: Sink | Writer) -> None:
        self._sink = sink
        self.error: BaseException | None = None

    def write(self, data: Any) -> int:
        """Appends the bytes of a contiguous buffer of any format."""
        if self.error is not None:
            raise self.error
        try:
            # (pyarrow's buffers are of signed bytes, which the core does not take.)
            return self._sink.write(data if type(data) is bytes else memoryview(data).cast("B"))
        except BaseException as error:
            self.error = error
            raise

    def tell(self) -> int:
        """Bytes so far."""
        return self._sink.tell()

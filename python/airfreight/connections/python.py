"""Connections of stores that are written in Python: their class says what it takes of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airfreight.connections.base import Resolved
from airfreight.stores import FSSPEC, store_class

if TYPE_CHECKING:
    from collections.abc import Mapping


class Reader:
    """The `connections.base.Provider` of one kind of store."""

    CREDENTIALS: tuple[str, ...] = ()

    def __init__(self, kind: str) -> None:
        fsspec = kind == FSSPEC.rstrip("+")
        self._scheme = FSSPEC if fsspec else kind
        self.EXAMPLE = "sftp://USER:PASSWORD@host:22" if fsspec else f"{kind}://USER:PASSWORD@host"
        self.BARE = "fsspec+sftp://host/srv/xcom" if fsspec else f"{kind}://place/xcom"

    def settings_of(self, connection_id: str, connection: Any, extra: dict[str, Any]) -> Resolved:
        """What the class takes of the connection."""
        del connection_id
        found = store_class(self._scheme).settings_of(connection, extra)
        return Resolved(found, float("inf"))

    def borrowed(self, settings: Mapping[str, str]) -> Resolved | None:
        """None: there is no other place to ask."""
        del settings
        return None

"""What the kinds of Airflow connections have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from airfreight.errors import ConfigError, InvalidError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What the core says of credentials that it does not know how to get
#: (src/store/s3/credentials/source.h).
FOREIGN = "ForeignCredentials"


class BusyError(InvalidError):
    """Airflow can't be asked from this thread now."""


class Resolved(NamedTuple):
    """What a connection says, as settings of a store of the core.

    Attributes:
        settings: of the store.
        expires: when to ask again.
        ends: when the credentials really end; until then they serve, should asking fail.
    """

    settings: dict[str, str]
    expires: float
    ends: float = float("inf")


class Provider(Protocol):
    """A module for the connections of one kind of store.

    Attributes:
        EXAMPLE: a right connection, as the text of its environment variable.
        BARE: a right store that has no connection.
        CREDENTIALS: the settings by whose presence a store has credentials of its own, so that
            it borrows none.
    """

    EXAMPLE: str
    BARE: str
    CREDENTIALS: tuple[str, ...]

    def settings_of(self, connection_id: str, connection: Any, extra: dict[str, Any]) -> Resolved:
        """What a connection says. Raises ConfigError (`wrong`) when it can't be used."""

    def borrowed(self, settings: Mapping[str, str]) -> Resolved | None:
        """What the service's own library finds where the core could not help itself.

        `settings` are the store's. None, logged, when it finds nothing either.
        """


def wrong(connection_id: str, problem: str, example: str, bare: str) -> Exception:
    """The error about a connection, with a right one and the way to do without."""
    variable = f"AIRFLOW_CONN_{connection_id.upper()}"
    scheme = bare.partition("://")[0]
    return ConfigError(
        f"The Airflow connection {connection_id!r}, which a store of {scheme}:// names, {problem}. "
        f"Create it in Airflow or as {variable}, e.g. {variable}='{example}'; or use the "
        f"environment's own credentials with a store that names none, e.g. {bare}."
    )


def mapping(value: Any) -> dict[str, Any]:
    """A part of a connection's extras that is an object in its turn; empty where it is not."""
    return value if isinstance(value, dict) else {}

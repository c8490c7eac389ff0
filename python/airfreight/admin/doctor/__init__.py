"""`airfreight doctor`: what is really in force where it runs, and what is wrong with it.

Each module beside this one looks at one thing and gives findings. Whatever it may not ask, or can't
reach, is "unknown", with the reason; that never fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

OK, NOTE, UNKNOWN, WARNING, ERROR = "ok", "note", "unknown", "warning", "error"


class Finding(NamedTuple):
    """One line.

    Attributes:
        area: what it is about: "settings", "backend", "versions", "store default", ….
        state: "ok", "note", "unknown", "warning" or "error".
        text: what is so. Holds no secret.
        fix: what to do; "" where there is nothing to do.
    """

    area: str
    state: str
    text: str
    fix: str = ""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return self._asdict()


class Asked(NamedTuple):
    """What may be done.

    Attributes:
        write: whether a probe may be written to the stores, read back and deleted.
        database: whether Airflow's database may be asked.
        patience: seconds for which a store that does not answer is asked again.
    """

    write: bool = False
    database: bool = True
    patience: float = 10.0


def findings(asked: Asked) -> Iterator[Finding]:
    """Looks at everything, one thing after another; raises nothing."""
    from airfreight.admin.doctor import environment, signatures, stores

    yield from _guarded("versions", environment.versions)
    yield from _guarded("backend", environment.backend)
    yield from _guarded("settings", environment.names)
    current, found = environment.settings()
    yield from found
    if current is None:
        return
    yield from _guarded("stores", lambda: stores.look(asked))
    yield from _guarded("signatures", lambda: signatures.look(current, asked))


def _guarded(area: str, look: Any) -> Iterator[Finding]:
    """What a look finds; what goes wrong in it is not known, and ends nothing else."""
    try:
        yield from look()
    except Exception as error:  # noqa: BLE001 (a doctor who falls ill)
        # (Without its text, which may be anything.)
        yield Finding(area, UNKNOWN, f"could not be looked at ({type(error).__name__})")


def failed(found: list[Finding]) -> bool:
    """Whether something is wrong that has to be put right."""
    return any(finding.state == ERROR for finding in found)

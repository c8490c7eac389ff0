"""Which references are signed, and with what: the settings `signing...`, at first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from airfreight import _airflow, _secrets
from airfreight._settings_table import OPTIONS
from airfreight.errors import ConfigError

if TYPE_CHECKING:
    from airfreight.config import Settings

_OPTIONS = {option.name: option for option in OPTIONS}
_signs: tuple[Settings, bool] | None = None


#: For those who need one.
NO_KEY = (
    "there is no key to sign with: set AIRFLOW__AIRFREIGHT__SIGNING_KEYS, or one of the other ways "
    "that docs/signing.md has, here as it is set for the workers"
)


class Seal(NamedTuple):
    """What the core is told of signatures.

    Attributes:
        keys: as in formats/reference.md; "" for none. A secret.
        unsigned_until: seconds since 1970; 0: unsigned references are not followed.
    """

    keys: str = ""
    unsigned_until: int = 0

    def __repr__(self) -> str:
        """Without the keys."""
        return f"Seal(keys={'…' if self.keys else ''!r}, unsigned_until={self.unsigned_until})"


def signs(settings: Settings) -> bool:
    """Whether there are keys, without which nobody looks at a signature. Raises as `seal`.

    Where they come from is asked once for the same settings, as it is for the core.
    """
    global _signs  # noqa: PLW0603
    known = _signs
    if known is None or known[0] is not settings:
        known = _signs = settings, bool(seal(settings).keys)
    return known[1]


def seal(settings: Settings) -> Seal:
    """Returns what these settings ask for.

    Raises:
        ConfigError: there is no key and one is required; or where it comes from gives none.
    """
    if settings.signing == "off":
        return Seal()
    keys = _secrets.read(_OPTIONS["signing_keys"])
    if not keys:
        if settings.signing == "required":
            name = _OPTIONS["signing_keys"].environment_name
            raise ConfigError(
                f"[airfreight] signing is required, and there is no key to sign with. Set {name} "
                "to <id>:<base64>, for example k1: and what `openssl rand -base64 32` prints, or "
                f"{name}_FILE, {name}_CMD or {name}_SECRET to what gives it; the same on all "
                "machines."
            )
        return Seal()
    # (Each key by itself: what is masked is the whole text that was given.)
    _airflow.mask(entry.rpartition(":")[2] for entry in keys.replace(",", " ").split())
    return Seal(keys, settings.accept_unsigned_until)

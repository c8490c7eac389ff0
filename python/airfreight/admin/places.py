"""What the settings and the policy do with each store: for what an administrator prints.

Texts only: no connection is looked up, and no store asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from airfreight import config, runtime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: The kinds of stores that have permissions and lifecycle rules, by the schemes of their URIs.
CLOUDS = {"s3": "Amazon S3", "gs": "Google Cloud Storage", "az": "Azure Blob Storage"}


class Place(NamedTuple):
    """A store and what is done with it.

    Attributes:
        name: as references carry it; "" for one of `read_also`.
        kind: "s3", "gs", "az", "redis", "file" or "fsspec".
        bucket: or container; of other kinds "".
        prefix: without slashes at its ends; "" for none.
        settings: those that were set for it.
        written: whether anything is pushed to it: the default store, and those of rules.
        keys: that rules encrypt single values under there.
    """

    name: str
    kind: str
    bucket: str
    prefix: str
    settings: Mapping[str, str]
    written: bool
    keys: tuple[str, ...]

    @property
    def folder(self) -> str:
        """What the names of all objects begin with; "" where there is no prefix."""
        return f"{self.prefix}/" if self.prefix else ""


def places() -> list[Place]:
    """The configured stores, the default one first.

    Raises:
        ConfigError: a setting is wrong.
    """
    policy = config.settings().policy
    rules = policy.rules() if policy is not None else []
    used = {runtime.DEFAULT_STORE} | {rule.values.get("store", "") for rule in rules}
    keys: dict[str, list[str]] = {}
    for rule in rules:
        if key := rule.values.get("encryption_key"):
            keys.setdefault(rule.values.get("store", runtime.DEFAULT_STORE), []).append(key)
    found = []
    for store in runtime.listed():
        kind = store.connection[1]
        bucket = prefix = ""
        if kind in CLOUDS:
            bucket, _, prefix = store.uri.partition("://")[2].partition("/")
        found.append(
            Place(
                store.name,
                kind,
                bucket,
                prefix.strip("/"),
                store.settings,
                bool(store.name) and store.name in used,
                tuple(dict.fromkeys(keys.get(store.name, ()))),
            )
        )
    return found


def wrapping_keys(service: str) -> list[str]:
    """The keys of a service ("aws-kms", "gcp-kms") that objects are sealed under, by `seal_keys`.

    Raises:
        ConfigError: where the setting comes from gives nothing.
    """
    from airfreight import sealing

    entries = (entry.split(":", 2) for entry in sealing.keys().replace(",", " ").split())
    return [entry[2] for entry in entries if len(entry) == 3 and entry[1] == service]


def of_one_cloud(found: Sequence[Place], cloud: str | None) -> tuple[list[Place], str]:
    """The places of one kind of cloud, and what is wrong with the choice ("" where nothing is).

    Args:
        found: all places.
        cloud: one of CLOUDS, or None: the only kind that there is.
    """
    kinds = list(dict.fromkeys(place.kind for place in found if place.kind in CLOUDS))
    if cloud is None:
        if not kinds:
            held = ", ".join(dict.fromkeys(place.kind for place in found))
            return [], f"no store of the settings is in a bucket or a container ({held})"
        if len(kinds) > 1:
            return [], f"the stores are of several kinds: choose with --cloud {'|'.join(kinds)}"
        cloud = kinds[0]
    elif cloud not in kinds:
        return [], f"no store of the settings is of {cloud}://"
    return [place for place in found if place.kind == cloud], ""


def endpoint_is_own(place: Place) -> bool:
    """Whether the settings send requests somewhere else than to the cloud itself."""
    url = place.settings.get("endpoint_url", "")
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower()
    return bool(host) and not host.endswith((".amazonaws.com", ".amazonaws.com.cn"))

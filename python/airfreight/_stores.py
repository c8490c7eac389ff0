"""What is wrong with the stores and aliases of the policy, as far as their texts tell.

Nothing is opened and nobody asked: whether a server is there only a request finds out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from airfreight import _checks, config
from airfreight._settings_table import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from airfreight.rules import Policy

#: What stands in references for ever, and in rules.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: The kinds of stores whose settings are options; a store of another package knows its own.
_KINDS = {option.store for option in OPTIONS if option.store}
#: Kinds that encrypt no object under a key of its own; of others the core knows when it opens them.
_WITHOUT_KEYS = ("file", "fsspec", "memory", "redis")
#: What a key looks like, of kinds of stores that take one; of others their own servers know.
_KEYS = {
    "s3": (_checks.s3_key, "arn:aws:kms:eu-central-1:111122223333:key/1234abcd or alias/xcom"),
    "gs": (
        _checks.gs_kms_key_name,
        "projects/my-project/locations/eu/keyRings/airflow/cryptoKeys/xcom",
    ),
    "az": (_checks.az_encryption_scope, "sales-2026, a scope of the account"),
}
#: The name of the store of `[airfreight] store`.
_DEFAULT = "default"


def problems(
    policy: Policy,
    *,
    others: Sequence[str],
    executor: str,
    shared: bool,
) -> list[str]:
    """Returns a sentence for each thing that is wrong.

    Args:
        policy: the policy, for its stores and aliases.
        others: the URIs of `[airfreight] store` and `read_also`.
        executor: the text of `[core] executor`.
        shared: whether `file_store_shared` holds for all stores.
    """
    found: list[str] = []
    for name, (uri, its_settings) in policy.stores.items():
        wrong = _of_store(name, uri, its_settings, executor=executor, shared=shared)
        found += [f"{policy.where(f'stores.{name}{part}')}: {problem}" for part, problem in wrong]
    if found:
        return found
    places = [_bare(uri) for uri in (*others, *(uri for uri, _ in policy.stores.values()))]
    return [
        f"{policy.where(f'aliases.{old}')}: {problem}"
        for old, new in policy.aliases
        if (problem := _of_alias(old, new, places))
    ]


def of_rules(policy: Policy, default: str) -> list[str]:
    """What is wrong with what rules ask of the stores that they name.

    Args:
        policy: whose stores are right.
        default: the URI of `[airfreight] store`.
    """
    uris = {name: uri for name, (uri, _) in policy.stores.items()} | {_DEFAULT: default}
    return [
        f"{policy.source}, line {rule.lines['encryption_key']}: rule {rule.name!r}: {problem}"
        for rule in policy.rules()
        if (key := rule.values.get("encryption_key"))
        and (problem := _of_key(key, store := rule.values.get("store", _DEFAULT), uris[store]))
    ]


def _of_key(key: str, store: str, uri: str) -> str:
    kind = _checks.kind(uri)
    if kind in _WITHOUT_KEYS:
        return (
            "encryption_key is for stores that encrypt an object under a key of its own, and the "
            f"store {store!r} is {_bare(uri)}. Give the rule another store, or take encryption_key "
            "out"
        )
    check, example = _KEYS.get(kind, (None, ""))
    if check is None or not (problem := check(key)):
        return ""
    return (
        f"encryption_key {problem}; it was {key!r}, for the store {store!r}, which is "
        f"{_bare(uri)}. Example: {example}"
    )


def doubtful_keys(policy: Policy, default: str) -> list[str]:
    """Keys of rules that Amazon could not know, for stores that are not said to be another's."""
    uris = {name: uri for name, (uri, _) in policy.stores.items()} | {_DEFAULT: default}
    found = []
    for rule in policy.rules():
        key, store = rule.values.get("encryption_key"), rule.values.get("store", _DEFAULT)
        if not key or _checks.kind(uris[store]) != "s3" or _checks.is_aws_key(key):
            continue
        found.append(
            f"{policy.source}, line {rule.lines['encryption_key']}: rule {rule.name!r}: "
            f"encryption_key {key!r} is no ARN, alias or id of a key of AWS KMS; another server "
            f"that the store {store!r} may be has names of its own. Example: {_KEYS['s3'][1]}"
        )
    return found


def _of_store(
    name: str, uri: str, its_settings: Mapping[str, str], *, executor: str, shared: bool
) -> list[tuple[str, str]]:
    """What is wrong with a store, each with what of it that is: "", ".uri" or ".<setting>"."""
    where = f"[stores.{name}]"
    if problem := _of_name(name):
        return [("", f"{where}: {problem}")]
    if problem := _checks.store_uri(uri):
        secret = _checks.may_tell_secret(uri)
        shown = "it may hold a secret and is not shown" if secret else f"it was {uri!r}"
        return [(".uri", f'{where} uri {problem}; {shown}. Example: uri = "s3://bucket/xcom"')]
    kind = _checks.kind(uri)
    options = {option.setting: option for option in OPTIONS if option.store == kind}
    found = []
    for setting, text in its_settings.items():
        option = options.get(setting)
        if option is None and kind in _KINDS:
            found.append((f".{setting}", _unknown(where, kind, setting, options)))
        elif option is not None and (problem := config.wrong(option, text)):
            # Not shown where it may hold what is a secret.
            secret = "@" in text or _checks.may_tell_secret(text)
            shown = "it is not shown" if secret else f"it was {text!r}"
            told = f"{where} {setting} {problem}; {shown}. Example: {option.example}"
            found.append((f".{setting}", told))
    shared = shared or config.boolean(its_settings.get("shared", "false"))
    if _checks.is_directory(uri) and not shared and (remote := config.distributed(executor)):
        told = (
            f"{where} uri must not be a directory under {remote}, whose tasks run on other "
            f"machines; it was {uri!r}. Set it to an object store, e.g. s3://bucket/xcom; if every "
            "worker sees this directory, add shared = true"
        )
        found.append((".uri", told))
    return found


def _of_name(name: str) -> str:
    if name == _DEFAULT:
        return (
            f"{name!r} is the name of the store of [airfreight] store; give this one another name"
        )
    if not _NAME.fullmatch(name):
        return (
            "a store's name must be 1 to 64 letters, digits, dots, hyphens and underscores, and "
            "begin with a letter or a digit. Example: [stores.eu-archive]"
        )
    return ""


def _unknown(where: str, kind: str, setting: str, options: Iterable[str]) -> str:
    from airfreight import _policy

    known = list(options)
    bare = setting.removeprefix(f"{kind}_").removeprefix("file_store_")
    near = _policy.nearest(bare, known)
    hint = f"; did you mean {near}?" if near else f"; it knows {', '.join(known) or 'none'}"
    return f"{where} {setting} is no setting of a store of {kind}://{hint}"


def _of_alias(old: str, new: str, places: Sequence[str]) -> str:
    where = f'[aliases] "{{}}" = "{new}"'
    for uri in (old, new):
        if problem := _checks.store_uri(uri):
            if _checks.may_tell_secret(uri):
                return "[aliases]: a place must not hold credentials (not shown)"
            return (
                f'[aliases] {uri!r} {problem}. Example: "s3://old-bucket/xcom" = "s3://bucket/xcom"'
            )
        if _bare(uri) != _place(uri):
            return (
                f"[aliases] {uri!r} must not name a connection: it is only the name of a place. "
                f"Right is {_bare(uri)!r}"
            )
    where = where.format(old)
    if _place(old) == _place(new):
        return f"{where} leads to itself"
    if not any(f"{place}/".startswith(f"{_place(new)}/") for place in places):
        return (
            f"{where} leads to where no store lies; the stores are {', '.join(places)}. Name the "
            "new place in [airfreight] store, in read_also or in [stores.<name>]"
        )
    return ""


def _place(uri: str) -> str:
    """A place as references spell it."""
    _, separator, rest = uri.partition("://")
    if separator and _checks.kind(uri) == "az":  # Whose schemes have other spellings.
        uri = f"az://{rest}"
    return uri.rstrip("/")


def _bare(uri: str) -> str:
    """A place without its connection."""
    scheme, separator, rest = uri.partition("://")
    authority, slash, path = rest.partition("/")
    if scheme not in ("file", "memory"):
        authority = authority.rpartition("@")[2]
    return _place(f"{scheme}{separator}{authority}{slash}{path}")

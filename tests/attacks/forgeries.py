"""What somebody who can write rows may try, and the error that each is to come to."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.attacks.world import World

#: A value instead of an error: what was changed steers nothing.
SAME = ""


class Attack(NamedTuple):
    """One row.

    Attributes:
        name: what is tried.
        fields: what the row holds, as JSON.
        with_key: the code of the error where there is a key; SAME: the very value.
        without_key: the same where there is none.
    """

    name: str
    fields: Any
    with_key: str
    without_key: str


def by_hand(world: World) -> Iterator[Attack]:
    """Each kind that the documentation names."""
    yield from _moved(world)
    yield from _elsewhere(world)
    yield from _rewritten(world)
    yield from _malformed(world)


def _moved(world: World) -> Iterator[Attack]:
    """Valid references, where they do not belong."""
    for name, other in world.others.items():
        yield Attack(f"copied from {name}", other, "Forged", "Forged")
        # With the coordinate of the row, so that it is not seen to be another's.
        mine = {key: world.row[key] for key in ("dag", "run", "task", "map", "key")}
        disguised = {key: value for key, value in other.items() if key != "put"} | mine
        yield Attack(f"disguised, from {name}", disguised, "Forged", "OutOfScope")
        yield Attack(
            f"disguised, with its own place, from {name}",
            disguised | {"uri": world.row["uri"]},
            "Forged",
            # Of the object there: not that write's, or not of that size.
            "Replaced",
        )
    yield Attack("replayed from an earlier write", world.old, "Replaced", "Replaced")


def _elsewhere(world: World) -> Iterator[Attack]:
    """Places outside of the store, or outside of what the row may lead to."""
    row, uri = world.row, world.row["uri"]
    name = "sales/r1/extract/map_-1/return_value.json"
    places = {
        "another bucket": f"s3://other-bucket/xcom/{name}",
        "another prefix": f"s3://bucket/xcom-of-another-deployment/{name}",
        "no prefix": f"s3://bucket/{name}",
        "the parent by ..": "s3://bucket/xcom/../credentials.json",
        ".. in the middle": uri.replace("/sales/", "/sales/../sales/"),
        ".. to another DAG": uri.replace("/sales/", "/sales/../finance/"),
        "encoded ..": "s3://bucket/xcom/%2e%2e/credentials.json",
        "encoded .. twice": "s3://bucket/xcom/%252e%252e/credentials.json",
        "encoded slash": uri.replace("/sales/", "/sales%2F"),
        "backslashes": uri.replace("/sales/", "\\sales\\"),
        "two slashes": uri.replace("/sales/", "//sales/"),
        "a user and a password": uri.replace("s3://", "s3://user:password@"),
        "another host": uri.replace("s3://bucket", "s3://bucket@evil.example"),
        "a query": uri + "?versionId=1",
        "a fragment": uri + "#.json",
        "a NUL": uri[:-5] + "\0.json",
        "a blank at the end": uri + " ",
        "capital letters": uri.replace("bucket", "BUCKET"),
        "full-width letters": uri.replace("bucket", "ｂｕｃｋｅｔ"),
        "a full-width slash": uri.replace("/sales/", "／sales/"),
        "a division slash": uri.replace("/sales/", "∕sales/"),
        "full-width dots": uri.replace("/sales/", "/．．/"),
        "a Cyrillic letter": uri.replace("/sales/", "/sаles/"),
        "a joined letter": uri.replace("/sales/", "/s\u200dales/"),
        "text from right to left": uri.replace("/sales/", "/\u202esales/"),
        "no place": "s3://",
        "nothing": "",
    }
    for what, place in places.items():
        without = "Invalid" if "\0" in place else "OutOfScope"
        if not place.startswith("s3://") or not place.endswith(".json"):
            without = "Forged" if "\0" not in place else without
        yield Attack(what, row | {"uri": place}, _first(without), without)
    # The place of another XCom of ours: its key is not the row's.
    for what, other in world.others.items():
        yield Attack(f"the place of {what}", row | {"uri": other["uri"]}, "Forged", "OutOfScope")
    for scheme, place in {
        "file": "file:///etc/passwd.json",
        "http": "http://169.254.169.254/latest/meta-data.json",
        "gs": f"gs://bucket/xcom/{name}",
        "memory": f"memory://bucket/xcom/{name}",
        "fsspec+file": "fsspec+file:///etc/passwd.json",
        "S3": f"S3://bucket/xcom/{name}",
    }.items():
        moved = row | {"_xcom_backend": scheme, "uri": place}
        malformed = scheme == "S3"
        yield Attack(
            f"the scheme {scheme}",
            moved,
            "Invalid" if malformed else "Forged",
            "Invalid" if malformed else "OutOfScope",
        )
        yield Attack(f"{scheme} in the URI alone", row | {"uri": place}, "Forged", "Forged")
    # Names decide between stores that share a root; there is one store here.
    yield Attack("a store that is not there", row | {"store": "evil"}, "Forged", SAME)


def _first(without: str) -> str:
    """What comes with a key: form and contradictions are seen before a signature."""
    return without if without in ("Invalid", "Forged") else "Forged"


def _rewritten(world: World) -> Iterator[Attack]:
    """Fields that steer a reader, and those that steer nobody."""
    row = world.row
    for name, value, without in (
        ("dag", "sаles", "Forged"),
        ("run", "r1\u200b", "Forged"),
        ("task", "extract ", "Forged"),
        ("map", 0, "Forged"),
        ("map", -2, "Forged"),
        ("key", "Return_value", "Forged"),
        ("write", "0" * 32, "Replaced"),
        ("size_bytes", row["size_bytes"] + 1, "Corrupt"),
        ("size_bytes", 0, "Corrupt"),
        ("size_bytes", 2**62, "Corrupt"),
        ("digest", "crc32c:00000000", "Corrupt"),
        ("digest", "sha256:" + "0" * 64, "Corrupt"),
        ("_xcom_type", "document", SAME),
        ("_xcom_type", "pickle", "Forged"),
        ("_xcom_type", "bytes", "Forged"),
        ("_xcom_type", "airflow.serde", SAME),
        ("expires", "2020-01-01T00:00:00Z", "Expired"),
        ("expires", "2999-01-01T00:00:00Z", SAME),
        ("attempt", 7, SAME),
        ("owner", "somebody", SAME),
        ("tail", [0, "crc32c:00000000"], SAME),
        ("written", "2020-01-01T00:00:00Z", SAME),
    ):
        changed = row | {name: value}
        seen = without == "Forged"
        yield Attack(f"{name} = {value!r}", changed, "Forged", "Forged" if seen else without)
    for name, value in (("etag", '"0"'), ("summary", "<script>"), ("preview", [["x"]])):
        yield Attack(f"{name}, which steers nothing", row | {name: value}, SAME, SAME)
    yield Attack("a field of a later release", row | {"later": {"a": [1]}}, SAME, SAME)
    # It is none of what was sealed: what stands at its end opens with no key.
    sealed = row | {"_airfreight": 2, "sealed": 1}
    yield Attack("said to be sealed", sealed, "Forged", "Invalid")
    sized = sealed | {"size_bytes": 5000}
    yield Attack("said to be sealed, of another size", sized, "Forged", "Corrupt")
    unsigned = {name: value for name, value in row.items() if name != "sig"}
    yield Attack("without its signature", unsigned, "Forged", SAME)
    signature = row.get("sig", "k2:" + "0" * 64)
    key, _, digits = signature.partition(":")
    for what, forged in {
        "a signature of zeros": f"{key}:{'0' * 64}",
        "a cut signature": f"{key}:{digits[:-1]}",
        "a signature of one digit": f"{key}:{digits[:1]}",
        "another key's name": f"k1:{digits}",
        "the name of a key that never was": f"nobody:{digits}",
        "the name with a DAG": f"{key}@sales:{digits}",
    }.items():
        yield Attack(what, row | {"sig": forged}, "Forged", SAME)
    yield Attack("a signature without a key", row | {"sig": f":{digits}"}, "Invalid", "Invalid")
    yield Attack("an empty signature", row | {"sig": ""}, "Forged", SAME)
    capitals = row | {"sig": f"{key}:{'A' * 64}"}
    yield Attack("a signature in capitals", capitals, "Invalid", "Invalid")


def _malformed(world: World) -> Iterator[Attack]:
    """What is no reference at all."""
    row = world.row
    for name in ("_xcom_type", "uri", "store", "dag", "run", "task", "map", "key", "digest"):
        cut = {field: value for field, value in row.items() if field != name}
        yield Attack(f"without {name}", cut, "Invalid", "Invalid")
    for name, value in (
        ("uri", ["s3://bucket"]),
        ("uri", {"a": "b"}),
        ("uri", None),
        ("size_bytes", "10"),
        ("size_bytes", -1),
        ("size_bytes", 1.5),
        ("size_bytes", True),
        ("size_bytes", 2**64),
        ("digest", "md5:0"),
        ("digest", "sha256:" + "A" * 64),
        ("write", "x" * 32),
        ("tail", [10**9, "crc32c:00000000"]),
        ("columns", [[1, 2]]),
        ("host", "somewhere"),
        ("sealed", True),
        ("sealed", 0),
        ("_xcom_type", ""),
    ):
        yield Attack(f"{name} = {value!r}", row | {name: value}, "Invalid", "Invalid")
    yield Attack("a list for a scheme", row | {"_xcom_backend": ["s3"]}, "Forged", "Forged")
    for version in (3, 10**9):
        newer = row | {"_airfreight": version}
        yield Attack(f"version {version}", newer, "NewerFormat", "NewerFormat")
    for wrong in ("1", None, 0, -1, 1.5):
        yield Attack(f"version {wrong!r}", row | {"_airfreight": wrong}, "Invalid", "Invalid")
    yield Attack("oversized", row | {"summary": "x" * 70_000}, "Invalid", "Invalid")
    deep: Any = "x"
    for _ in range(20_000):
        deep = [deep]
    yield Attack("nested deeply", row | {"columns": deep}, "Invalid", "Invalid")
    yield Attack("nested", row | {"columns": [[[["x"]]]]}, "Invalid", "Invalid")
    inline = {"_xcom_backend": "inline", "_airfreight": 1, "_xcom_type": "document"}
    yield Attack("a value in the row that is none", inline, "Corrupt", "Corrupt")
    yield Attack(
        "a tag that is none",
        inline | {"value": {"~ref": {"uri": row["uri"]}}},
        "Invalid",
        "Invalid",
    )


_TEXTS = (
    "", "..", "../..", "%2e%2e", "/", "\\", "s3://bucket/credentials.json", "file:///etc/passwd",
    "finance", "r2", "load", "secret", "a" * 5000, "\0", "\u202e", "ｓ", "sales\n", " sales",
    "k1:" + "0" * 64, "crc32c:00000000", "sha256:" + "0" * 64, "0" * 32, "document", "pickle",
    "2020-01-01T00:00:00Z", "null", "True",
)  # fmt: skip
_OTHERS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 1.5, 1e300, [], {}, [[]], {"a": 1},
    [1, "crc32c:00000000"], ["s3://bucket"],
)  # fmt: skip


def made(world: World, count: int, seed: int) -> Iterator[Any]:
    """Rows that chance makes out of the real ones: the same for the same seed."""
    chance = random.Random(seed)
    real = [world.row, world.old, *world.others.values()]
    for _ in range(count):
        fields = dict(chance.choice(real))
        for _ in range(chance.randint(1, 4)):
            _change(fields, chance, real)
        yield fields


def _change(fields: dict[str, Any], chance: random.Random, real: list[dict[str, Any]]) -> None:
    name = chance.choice([*fields, "put", "ti", "writer", "expires", "tail", "sig", "owner"])
    how = chance.randrange(9)
    if how == 0:
        fields.pop(name, None)
    elif how == 1:
        fields[name] = chance.choice(_TEXTS)
    elif how == 2:
        fields[name] = chance.choice(_OTHERS)
    elif how in (3, 4):
        other = chance.choice(real)
        if name in other:
            fields[name] = other[name]
    elif how == 5:
        fields[chance.choice(["x", name.upper(), f" {name}", f"{name}\u200b"])] = 1
    elif how == 6 and isinstance(fields.get(name), str) and fields[name]:
        text = fields[name]
        place = chance.randrange(len(text))
        fields[name] = text[:place] + chance.choice(string.printable) + text[place + 1 :]
    elif how == 7 and isinstance(fields.get(name), str):
        fields[name] = fields[name][: chance.randrange(len(fields[name]) + 1)]
    elif how == 8 and type(fields.get(name)) is int:
        fields[name] += chance.choice([-1, 1, 1000])

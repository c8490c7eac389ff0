"""What must never be seen: markers in the secrets of all tests, and the search for them.

Every secret that the servers of the tests are given holds `MARK`, so that one search through all
that a run has printed finds any that leaked: `tools.dev.leaks`, at the end of `./dev test`.
"""

from __future__ import annotations

import base64
import re
import secrets
import urllib.parse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

#: Stands at the beginning of each secret. Nothing in the sources may print it.
MARK = "PL" + "ANTEDmarker"  # (In two, so that a printed line of this file is none.)

#: What looks like a secret whoever made it: signatures of requests, tokens, shared access
#: signatures. (Those of the published examples that unit tests sign are printed by none of them.)
_SHAPES = (
    rb"(?i:authorization): *[A-Za-z0-9-]+ [A-Za-z0-9+/=._-]{16}",
    rb"Signature=[0-9a-f]{64}",
    rb"X-Amz-Signature=[0-9a-f]{16}",
    rb"[?&]sig=[A-Za-z0-9%+/]{20}",
    rb"\bBearer [A-Za-z0-9._-]{20}",
    # Of a reference: "<key id>:<digits>". A digest, of which errors tell, has the same form, and
    # zeros are nobody's.
    rb"(?<!sha256):(?!0{64})[0-9a-f]{64}(?![0-9a-f])",
)

#: Keys that tests in C++ sign and seal with, as they stand there.
_KEYS = (bytes(range(32)), bytes(reversed(range(32))))


def planted(random_bytes: int) -> str:
    """A secret, of so many random bytes and letters that stand in URLs as they are."""
    return MARK + secrets.token_urlsafe(random_bytes)


def key(name: str) -> str:
    """A key of 32 bytes, the same for the same id, as `signing_keys` and `seal_keys` take it."""
    return f"{name}:{base64.b64encode((MARK + name).encode().ljust(32, b'.')).decode()}"


def forms(secret: str) -> set[bytes]:
    """How a secret may be written: as it is, percent-encoded, in hex, and in base64 at any place.

    Of base64 what stands for it whatever is beside it.
    """
    raw = secret.encode()
    found = {raw, urllib.parse.quote(secret, safe="").encode(), raw.hex().encode()}
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw)
        # The first characters hold bits of what stands before, the last ones of what follows.
        first = (8 * before + 5) // 6
        last = 8 * (before + len(raw)) // 6
        found.add(whole[first:last])
    return found


#: All that must not be in what a run prints or logs.
NEEDLES = forms(MARK).union(
    *({raw.hex().encode(), base64.b64encode(raw).rstrip(b"=")} for raw in _KEYS)
)


def search(text: bytes, needles: Iterable[bytes], *, shapes: bool = False) -> Iterator[str]:
    """The lines in which one of them stands: number, and what was found without what it is."""
    patterns = [re.escape(needle) for needle in needles] + (list(_SHAPES) if shapes else [])
    pattern = re.compile(b"|".join(patterns))
    for number, line in enumerate(text.splitlines(), 1):
        for match in pattern.finditer(line):
            before = line[max(0, match.start() - 60) : match.start()].decode(errors="replace")
            yield f"line {number}: …{before}[here]"


def search_files(paths: Iterable[Path]) -> list[str]:
    """The places in files where a marker stands, or what looks like a secret."""
    return [
        f"{path.name}, {place}"
        for path in paths
        for place in search(path.read_bytes(), NEEDLES, shapes=True)
    ]

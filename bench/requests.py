"""What requests say of their payload, as a proxy saw them."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers.counting_proxy import Recorded


def payload_of(request: Recorded) -> str:
    """What `x-amz-content-sha256` says of the payload, and the checksums that are sent beside it
    (docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html)."""
    value = request.headers.get("x-amz-content-sha256", "")
    signing = "signed" if len(value) == 64 else value.lower() or "none"
    checksums = [
        name.removeprefix("x-amz-checksum-")
        for name in request.headers
        if name.startswith("x-amz-checksum-")
        and name not in {"x-amz-checksum-mode", "x-amz-checksum-type", "x-amz-checksum-algorithm"}
    ]
    if "x-amz-trailer" in request.headers:
        checksums.append(request.headers["x-amz-trailer"] + " trailing")
    return " + ".join([signing, *sorted(checksums)])


def summary(requests: Sequence[Recorded]) -> str:
    """Methods with their number, and how the payload of those that have one is protected."""
    methods = collections.Counter(request.method for request in requests)
    payloads = sorted({payload_of(request) for request in requests if request.method == "PUT"})
    counted = " ".join(f"{count} {method}" for method, count in methods.items())
    return f"{counted}; {', '.join(payloads)}"

"""A signed S3 request with nothing but the standard library, so that fixtures need no SDK.

Signature version 4, as specified at
https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html. Written apart from
the C++ signer on purpose: a server that accepts both has checked one against the other.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import hmac
import http.client
import ssl
import urllib.parse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT = 30.0


@dataclasses.dataclass(frozen=True)
class S3Answer:
    """Status, headers (lower-case names) and body of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclasses.dataclass(frozen=True)
class S3Client:
    """Sends single signed requests to a path-style endpoint; opens a connection for each."""

    endpoint: str
    access_key: str
    secret_key: str = dataclasses.field(repr=False)
    region: str = "us-east-1"
    ca_file: str | None = None
    service: str = "s3"

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> S3Answer:
        """Performs one request; `path` is `/bucket/key`, not encoded."""
        url = urllib.parse.urlsplit(self.endpoint)
        encoded_path = urllib.parse.quote(path, safe="/-_.~")
        encoded_query = "&".join(
            f"{urllib.parse.quote(name, safe='-_.~')}={urllib.parse.quote(value, safe='-_.~')}"
            for name, value in sorted((query or {}).items())
        )
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        digest = hashlib.sha256(body).hexdigest()
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        sent |= {"host": url.netloc, "x-amz-content-sha256": digest, "x-amz-date": now}
        signed = sorted(name for name in sent if name == "host" or name.startswith("x-amz-"))
        canonical = "\n".join(
            [
                method,
                encoded_path,
                encoded_query,
                *(f"{name}:{' '.join(sent[name].split())}" for name in signed),
                "",
                ";".join(signed),
                digest,
            ]
        )
        scope = f"{now[:8]}/{self.region}/{self.service}/aws4_request"
        to_sign = (
            f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        )
        key = b"AWS4" + self.secret_key.encode()
        for part in (*scope.split("/"), to_sign):
            key = hmac.digest(key, part.encode(), "sha256")
        sent["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.access_key}/{scope},"
            f"SignedHeaders={';'.join(signed)},Signature={key.hex()}"
        )
        target = encoded_path + (f"?{encoded_query}" if encoded_query else "")
        connection = self._connect(url)
        try:
            connection.request(method, target, body=body, headers=sent)
            answer = connection.getresponse()
            return S3Answer(
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(),
            )
        finally:
            connection.close()

    def _connect(self, url: urllib.parse.SplitResult) -> http.client.HTTPConnection:
        host = url.hostname or ""
        if url.scheme == "https":
            context = ssl.create_default_context(cafile=self.ca_file)
            return http.client.HTTPSConnection(host, url.port, timeout=_TIMEOUT, context=context)
        return http.client.HTTPConnection(host, url.port, timeout=_TIMEOUT)

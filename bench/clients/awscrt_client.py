"""awscrt's S3 client: aws-c-s3, which splits each request into ranges or parts by itself."""

from __future__ import annotations

import io
import urllib.parse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from awscrt import s3
from awscrt.auth import AwsCredentialsProvider
from awscrt.http import HttpHeaders, HttpRequest
from awscrt.io import ClientBootstrap, DefaultHostResolver, EventLoopGroup

from bench import clients
from bench.backends import BUCKET

if TYPE_CHECKING:
    from bench.backends import Server


class Client(clients.Client):
    """Requests at its defaults, with a part size that suits 128 MiB."""

    def __init__(self, server: Server) -> None:
        self._host = urllib.parse.urlsplit(server.endpoint).netloc
        loops = EventLoopGroup()
        credentials = AwsCredentialsProvider.new_static(server.access, server.secret)
        self._client = s3.S3Client(
            bootstrap=ClientBootstrap(loops, DefaultHostResolver(loops)),
            region="us-east-1",
            tls_mode=s3.S3RequestTlsMode.DISABLED,
            signing_config=s3.create_default_s3_signing_config(
                region="us-east-1", credential_provider=credentials
            ),
            part_size=8 << 20,
            throughput_target_gbps=10.0,
        )

    def _request(self, method: str, name: str, data: bytes = b"") -> HttpRequest:
        headers = HttpHeaders([("host", self._host)])
        if method == "PUT":
            headers.add("content-length", str(len(data)))
            headers.add("content-type", "application/octet-stream")
        body = io.BytesIO(data) if method == "PUT" else None
        return HttpRequest(method, f"/{BUCKET}/{name}", headers, body)

    def _start_put(self, name: str, data: bytes) -> Any:
        return self._client.make_request(
            type=s3.S3RequestType.PUT_OBJECT, request=self._request("PUT", name, data)
        )

    def _start_get(self, name: str, size: int) -> tuple[Any, bytearray]:
        memory = bytearray(size)
        view = memoryview(memory)

        def on_body(chunk: Any, offset: int, **_: Any) -> None:
            view[offset : offset + len(chunk)] = chunk

        request = self._client.make_request(
            type=s3.S3RequestType.GET_OBJECT, request=self._request("GET", name), on_body=on_body
        )
        return request, memory

    def put(self, name: str, data: bytes) -> str:
        """One request of the client's, in parts over the wire."""
        self._start_put(name, data).finished_future.result()
        return name

    def get(self, handle: str, size: int) -> bytearray:
        """One request of the client's; pieces are copied to where they belong as they come."""
        request, memory = self._start_get(handle, size)
        request.finished_future.result()
        return memory

    def put_many(self, objects: Sequence[tuple[str, bytes]]) -> list[Any]:
        """All at once: it queues by itself."""
        requests = [self._start_put(name, data) for name, data in objects]
        for request in requests:
            request.finished_future.result()
        return [name for name, _ in objects]

    def get_many(self, handles: Sequence[Any], size: int) -> list[Any]:
        """All at once: it queues by itself."""
        started = [self._start_get(handle, size) for handle in handles]
        for request, _ in started:
            request.finished_future.result()
        return [memory for _, memory in started]

"""Ways to the server on which one connection is slow: what parallel ranges are there for."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench.parent import RESULTS, ROOT, BenchError

if TYPE_CHECKING:
    from bench.backends import Server

RATE = 50_000_000
# Added to each round trip. tc's netem would do it, where the kernel has it and one is root; the
# proxy does it everywhere, the same each time.
LATENCY_MS = 20
# What one connection may have under way: 52 MB/s at that distance. S3's own guide reckons with 85
# to 90 for a connection inside a region
# (docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance-design-patterns.html).
WINDOW = 1 << 20
SOURCE = ROOT / "bench" / "proxy" / "held.cc"


def _port(server: Server) -> int:
    port = urllib.parse.urlsplit(server.endpoint).port
    assert port is not None
    return port


def _binary() -> Path:
    binary = RESULTS / "held"
    if not binary.exists() or binary.stat().st_mtime < SOURCE.stat().st_mtime:
        RESULTS.mkdir(parents=True, exist_ok=True)
        subprocess.run(["g++", "-std=c++20", "-O2", "-o", binary, SOURCE], check=True)
    return binary


@contextlib.contextmanager
def held(server: Server, *options: str) -> Iterator[Server]:
    """The server behind `bench/proxy/held.cc`."""
    with subprocess.Popen(
        [str(_binary()), str(_port(server)), *options], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield dataclasses.replace(server, endpoint=f"http://127.0.0.1:{port}")
        finally:
            process.kill()


def find_nginx() -> str | None:
    """Its executable: Debian keeps it where only root's PATH looks."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


_NGINX = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_max_body_size 0;
  upstream store {{ server 127.0.0.1:{target}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{port};
    limit_rate {rate};
    location / {{
      proxy_pass http://store;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;  # It is signed.
      proxy_max_temp_file_size 0;
      proxy_request_buffering off;
      proxy_buffer_size 64k;
      proxy_buffers 16 64k;
      proxy_busy_buffers_size 512k;
    }}
  }}
}}
"""


@contextlib.contextmanager
def nginx(server: Server, executable: str) -> Iterator[Server]:
    """The server behind nginx, whose `limit_rate` holds each answer to RATE.

    It counts from the start of a request in whole seconds; a short answer may go at once.
    """
    with (
        tempfile.TemporaryDirectory(prefix="airfreight-nginx-") as folder,
        socket.socket() as probe,
    ):
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        text = _NGINX.format(folder=folder, target=_port(server), port=port, rate=RATE)
        (Path(folder) / "nginx.conf").write_text(text, encoding="utf-8")
        process = subprocess.Popen(
            [executable, "-p", folder, "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]
        )
        try:
            deadline = time.monotonic() + 10
            while True:
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                if process.poll() is not None or time.monotonic() > deadline:
                    raise BenchError(f"nginx: {(Path(folder) / 'error.log').read_text()}")
                time.sleep(0.05)
            yield dataclasses.replace(server, endpoint=f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            process.wait()

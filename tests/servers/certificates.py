"""A private CA and a server's certificate, by the openssl tool."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Certificates:
    """Files in PEM form.

    Attributes:
        ca: the CA's certificate, for clients.
        certificate, key: the server's, for 127.0.0.1 and localhost.
    """

    ca: Path
    certificate: Path
    key: Path


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def make_certificates(directory: Path) -> Certificates:
    """A private CA and a server certificate for 127.0.0.1 and localhost, signed by it."""
    ca_key, ca = directory / "ca.key", directory / "ca.pem"
    key, request, certificate = (directory / f"server.{end}" for end in ("key", "csr", "pem"))
    extensions = directory / "server.ext"
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    _openssl(
        "req", "-x509", *curve, "-days", "2", "-subj", "/CN=Airfreight test CA",
        "-addext", "keyUsage=critical,keyCertSign", "-keyout", str(ca_key), "-out", str(ca),
    )  # fmt: skip
    _openssl("req", *curve, "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(request))
    extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    _openssl(
        "x509", "-req", "-in", str(request), "-CA", str(ca), "-CAkey", str(ca_key), "-days", "2",
        "-CAcreateserial", "-extfile", str(extensions), "-out", str(certificate),
    )  # fmt: skip
    return Certificates(ca, certificate, key)

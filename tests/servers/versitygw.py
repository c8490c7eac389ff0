"""A real S3 server that checks signatures: versitygw on a directory of its own.

As a context manager:

    with VersityGW(bucket="xcoms") as server:
        ...  # server.endpoint, server.access_key, server.client

and as a command that runs another one beside a server, with its place in the environment:

    python3 -m tests.servers.versitygw --bucket xcoms -- build/debug/airfreight_conformance_tests
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.s3_server import S3Server, main

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.servers.certificates import Certificates


def _keeps_attributes(directory: Path) -> bool:
    # The server keeps metadata in extended attributes, which not every file system has.
    try:
        os.setxattr(directory, "user.airfreight", b"1")
    except (AttributeError, OSError):
        return False
    os.removexattr(directory, "user.airfreight")
    return True


class VersityGW(S3Server):
    """The server that everything is tested on; objects lie at `directory/bucket/key`."""

    PROGRAM = "versitygw"
    VARIABLE = "AIRFREIGHT_VERSITYGW"
    MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

    #: Keep metadata in files of its own, which take any length. ext4 has 4 KiB for the attributes
    #: of a file, which the list of some hundred parts exceeds: completing them is an InternalError.
    sidecar = False
    #: Keep every version of an object, and marks of removals, from the start.
    versioned = False

    def _arguments(self, port: int, certificates: Certificates | None) -> Sequence[str]:
        storage = ["posix"]
        if self.sidecar or not _keeps_attributes(self.directory):
            sidecar = self._scratch / "sidecar"
            sidecar.mkdir(exist_ok=True)
            storage += ["--sidecar", str(sidecar)]
        if self.versioned:
            versions = self._scratch / "versions"
            versions.mkdir(exist_ok=True)
            storage += ["--versioning-dir", str(versions)]
        tls: list[str] = []
        if certificates is not None:
            tls = ["--cert", str(certificates.certificate), "--key", str(certificates.key)]
        return [
            "--port", f"127.0.0.1:{port}", "--region", self.region,
            # Without it the server closes each connection, which no real one does.
            "--keep-alive", "--quiet", "--disable-strict-bucket-names",
            *tls, *storage, str(self.directory),
        ]  # fmt: skip

    def _furnish(self) -> None:
        super()._furnish()
        if self.versioned:
            text = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
            answer = self.client.request(
                "PUT", f"/{self.bucket}", query={"versioning": ""}, body=text
            )
            if answer.status != 200:
                raise RuntimeError(f"could not set versioning: {answer.status} {answer.body!r}")

    def _variables(self) -> Mapping[str, str]:
        variables = {name: value for name, value in os.environ.items() if name[:4] != "VGW_"}
        return variables | {
            "ROOT_ACCESS_KEY_ID": self.access_key,
            "ROOT_SECRET_ACCESS_KEY": self.secret_key,
        }


if __name__ == "__main__":
    sys.exit(main(VersityGW, "tests.servers.versitygw"))

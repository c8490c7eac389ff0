"""A second S3 server, written by others than the first: MinIO on a directory of its own.

Same use as `tests.servers.versitygw`:

    python3 -m tests.servers.minio --tls -- build/debug/airfreight_conformance_tests

A program of the tests only: nothing of it is linked, imported or shipped.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from tests.servers.s3_server import S3Server, main

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.servers.certificates import Certificates


class MinIO(S3Server):
    """MinIO with one drive; nothing of it goes to any other machine."""

    PROGRAM = "minio"
    VARIABLE = "AIRFREIGHT_MINIO"
    # The last commit that the module proxy has; the project's release tags are no Go versions.
    MODULE = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"
    LACKS = frozenset({"2000-bytes-of-metadata", "puts-beside-removals"})

    def _arguments(self, port: int, certificates: Certificates | None) -> Sequence[str]:
        # The names are MinIO's: min.io/docs/minio/linux/operations/network-encryption.html.
        folder = self._scratch / "certs"
        folder.mkdir(exist_ok=True)
        if certificates is not None:
            shutil.copy(certificates.certificate, folder / "public.crt")
            shutil.copy(certificates.key, folder / "private.key")
        return [
            "server", "--quiet", "--certs-dir", str(folder), "--address", f"127.0.0.1:{port}",
            str(self.directory),
        ]  # fmt: skip

    def _variables(self) -> Mapping[str, str]:
        variables = {name: value for name, value in os.environ.items() if name[:6] != "MINIO_"}
        return variables | {
            "HOME": str(self._scratch),
            "MINIO_ROOT_USER": self.access_key,
            "MINIO_ROOT_PASSWORD": self.secret_key,
            "MINIO_SITE_REGION": self.region,
            "MINIO_BROWSER": "off",
            # No look for a newer release, no report home.
            "MINIO_UPDATE": "off",
            "MINIO_CALLHOME_ENABLE": "off",
        }


if __name__ == "__main__":
    sys.exit(main(MinIO, "tests.servers.minio"))

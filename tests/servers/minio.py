"""A second S3 server, written by others than the first: MinIO on a directory of its own.

Same use as `tests.servers.versitygw`:

    python3 -m tests.servers.minio --tls -- build/debug/airfreight_conformance_tests

A program of the tests only: nothing of it is linked, imported or shipped.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import sys
import urllib.parse
from typing import TYPE_CHECKING, Any

from tests.servers.s3_server import S3Server, main

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.servers.certificates import Certificates
    from tests.servers.sigv4 import S3Client


class MinIO(S3Server):
    """MinIO with one drive; nothing of it goes to any other machine."""

    PROGRAM = "minio"
    VARIABLE = "AIRFREIGHT_MINIO"
    # The last commit that the module proxy has; the project's release tags are no Go versions.
    MODULE = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"
    LACKS = frozenset({"2000-bytes-of-metadata", "puts-beside-removals", "uploads-by-prefix"})

    def assume(self, policy: dict[str, Any]) -> dict[str, str]:
        """Keys that may do what a policy says and nothing else, as what any S3 client reads.

        Those of a session (docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html).

        Raises:
            ValueError: the server does not take the policy; with its words.
        """
        return self._assumed(policy, self.client)

    @staticmethod
    def _assumed(policy: dict[str, Any], root: S3Client) -> dict[str, str]:
        form = {"Action": "AssumeRole", "Version": "2011-06-15", "Policy": json.dumps(policy)}
        answer = dataclasses.replace(root, service="sts").request(
            "POST",
            "/",
            headers={"content-type": "application/x-www-form-urlencoded"},
            body=urllib.parse.urlencode(form).encode(),
        )
        text = answer.body.decode()
        names = {
            "AWS_ACCESS_KEY_ID": "AccessKeyId",
            "AWS_SECRET_ACCESS_KEY": "SecretAccessKey",
            "AWS_SESSION_TOKEN": "SessionToken",
        }
        found = {name: re.search(f"<{tag}>(.+?)</{tag}>", text) for name, tag in names.items()}
        if answer.status != 200 or None in found.values():
            raise ValueError(f"{answer.status}: {text}")
        return {name: match[1] for name, match in found.items() if match}

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

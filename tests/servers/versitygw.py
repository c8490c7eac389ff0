"""A real S3 server that checks signatures: versitygw on a directory of its own.

As a context manager:

    with VersityGW(bucket="xcoms") as server:
        ...  # server.endpoint, server.access_key, server.client

and as a command that runs another one beside a server, with its place in the environment:

    python3 -m tests.servers.versitygw --bucket xcoms -- build/debug/airfreight_conformance_tests
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.sigv4 import S3Client

if TYPE_CHECKING:
    from types import TracebackType

_REPOSITORY = Path(__file__).resolve().parents[2]
_START_SECONDS = 20.0
# A port found free may be taken before the server binds it.
_START_ATTEMPTS = 5


def find_binary() -> Path:
    """The server's executable: `AIRFREIGHT_VERSITYGW`, `build/bin`, then `PATH`.

    Raises:
        FileNotFoundError: it is in none of these; the message says how to get it.
    """
    named = os.environ.get("AIRFREIGHT_VERSITYGW")
    if named:
        if os.access(named, os.X_OK):
            return Path(named)
        msg = f"AIRFREIGHT_VERSITYGW names {named!r}, which is no executable"
        raise FileNotFoundError(msg)
    built = _REPOSITORY / "build" / "bin" / "versitygw"
    if os.access(built, os.X_OK):
        return built
    found = shutil.which("versitygw")
    if found:
        return Path(found)
    msg = (
        "versitygw, the S3 server of the tests, is not installed: run `./dev setup test`, or "
        f"`GOBIN={built.parent} go install github.com/versity/versitygw/cmd/versitygw@latest`"
    )
    raise FileNotFoundError(msg)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def make_certificates(directory: Path) -> tuple[Path, Path, Path]:
    """A private CA and a server certificate for 127.0.0.1 and localhost, signed by it.

    Returns:
        The CA's certificate, the server's certificate, the server's key.
    """
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
    return ca, certificate, key


def _keeps_attributes(directory: Path) -> bool:
    # The server keeps metadata in extended attributes, which not every file system has.
    try:
        os.setxattr(directory, "user.airfreight", b"1")
    except (AttributeError, OSError):
        return False
    os.removexattr(directory, "user.airfreight")
    return True


class VersityGW:
    """A server on a free port of 127.0.0.1, with one bucket; gone, with its data, at the end.

    Threads: as a process. The server and whatever it starts are ended as one process group.

    Attributes:
        endpoint: base URL, path style.
        access_key, secret_key: the root user's, made up for this run.
        region: what requests have to be signed for.
        bucket: the bucket that is there from the start.
        ca_file: the private CA with `tls`, else None.
        directory: the bucket's files, `directory/bucket/key`.
    """

    def __init__(
        self, *, bucket: str = "airfreight", tls: bool = False, region: str = "us-east-1"
    ) -> None:
        self.bucket = bucket
        self.region = region
        self.access_key = "AFTEST" + secrets.token_hex(7).upper()
        self.secret_key = secrets.token_urlsafe(30)
        self.endpoint = ""
        self.ca_file: str | None = None
        self._tls = tls
        self._process: subprocess.Popen[bytes] | None = None
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> VersityGW:
        """Starts the server and creates the bucket."""
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the server and removes its data."""
        self.stop()

    @property
    def directory(self) -> Path:
        """Where the server keeps its buckets."""
        return self._scratch / "buckets"

    @property
    def client(self) -> S3Client:
        """For requests of the tests themselves."""
        return S3Client(self.endpoint, self.access_key, self.secret_key, self.region, self.ca_file)

    def environment(self) -> dict[str, str]:
        """What a process needs to find the server as any S3 client would, and our own tests too."""
        variables = {
            "AIRFREIGHT_TEST_S3": f"s3://{self.bucket}/xcom",
            "AIRFREIGHT_TEST_S3_ENDPOINT": self.endpoint,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
        }
        if self.ca_file:
            variables["AWS_CA_BUNDLE"] = self.ca_file
        return variables

    def start(self) -> None:
        """Starts the server and creates the bucket.

        Raises:
            FileNotFoundError: the server is not installed.
            RuntimeError: it did not come up; the message holds what it said.
        """
        binary = find_binary()
        self._scratch = Path(
            self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="airfreight-s3-"))
        )
        self.directory.mkdir()
        options: list[str] = []
        if self._tls:
            ca, certificate, key = make_certificates(self._scratch)
            self.ca_file = str(ca)
            options = ["--cert", str(certificate), "--key", str(key)]
        storage = ["posix"]
        if not _keeps_attributes(self.directory):
            (self._scratch / "sidecar").mkdir()
            storage += ["--sidecar", str(self._scratch / "sidecar")]
        said = b""
        for _ in range(_START_ATTEMPTS):
            port = _free_port()
            self.endpoint = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
            self._launch(binary, port, options, storage)
            if self._wait(port):
                break
            said = (self._scratch / "log").read_bytes()
            self._kill()
        else:
            msg = f"{binary} did not come up: {said.decode(errors='replace')[-2000:]}"
            raise RuntimeError(msg)
        answer = self.client.request("PUT", f"/{self.bucket}")
        if answer.status != 200:
            msg = f"could not create the bucket: {answer.status} {answer.body.decode()}"
            raise RuntimeError(msg)

    def stop(self) -> None:
        """Ends the server and removes its data; may be called again."""
        self._kill()
        self._cleanup.close()

    def _launch(self, binary: Path, port: int, options: list[str], storage: list[str]) -> None:
        # Secrets by environment: a command line can be read by every user of the machine.
        variables = {name: value for name, value in os.environ.items() if name[:4] != "VGW_"}
        variables |= {
            "ROOT_ACCESS_KEY_ID": self.access_key,
            "ROOT_SECRET_ACCESS_KEY": self.secret_key,
        }
        with (self._scratch / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(binary), "--port", f"127.0.0.1:{port}", "--region", self.region,
                    # Without it the server closes each connection, which no real one does.
                    "--keep-alive", "--quiet", "--disable-strict-bucket-names",
                    *options, *storage, str(self.directory),
                ],
                env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def _wait(self, port: int) -> bool:
        # Ours, and not another that was first at the port: ours would have ended then.
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process and self._process.poll() is None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                if self.client.request("GET", "/").status == 200:
                    return True
            time.sleep(0.05)
        return False

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main() -> int:
    """Runs a command beside a server; its exit status is ours."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.servers.versitygw", description=main.__doc__
    )
    parser.add_argument("--bucket", default="airfreight")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--tls", action="store_true", help="HTTPS, with a private CA")
    parser.add_argument("command", nargs="+", help="after --, the command and its arguments")
    arguments = parser.parse_args()
    with VersityGW(bucket=arguments.bucket, tls=arguments.tls, region=arguments.region) as server:
        done = subprocess.run(arguments.command, env=os.environ | server.environment(), check=False)
        return done.returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileNotFoundError as missing:
        sys.exit(str(missing))

"""Google's Cloud KMS for tests: a double of our own, of the two calls that are used, over REST.

There is no emulator of Google's. What it answers is taken from the reference of the methods
(cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys/encrypt and
…/decrypt) and from the guidelines on checksums (cloud.google.com/kms/docs/
data-integrity-guidelines); the client that asks it is Google's own library.

    with CloudKms(NAME) as service:
        client = KeyManagementServiceClient(transport="rest", client_options={
            "api_endpoint": service.url}, credentials=AnonymousCredentials())
"""

from __future__ import annotations

import base64
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

if TYPE_CHECKING:
    from typing_extensions import Self

_PATH = re.compile(r"/v1/(projects/[^?]+):(encrypt|decrypt)(?:\?.*)?")
#: google.rpc.Code by the status of HTTP that goes with it (cloud.google.com/apis/design/errors).
_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
}


def crc32c(data: bytes) -> int:
    """CRC-32C, bit by bit (www.rfc-editor.org/rfc/rfc3720, appendix B.4)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Refusal(Exception):  # noqa: N818
    """An answer that is an error."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class CloudKms:
    """The service, with some keys, in this process.

    Attributes:
        url: where it is.
        asked: "encrypt" or "decrypt", and the key, of each request.
        faults: what happens to the requests to come, one each: the name of a status is the answer;
            "sent" changes what is sent on its way, "answered" what comes back; "unverified" is a
            service that has not seen the checksums; "garbled" is an answer that has a list in the
            place of a text.
        disabled: keys whose version is.
    """

    def __init__(self, *names: str) -> None:
        self.asked: list[tuple[str, str]] = []
        self.faults: list[str] = []
        self.disabled: set[str] = set()
        self._keys = {name: AESGCM(os.urandom(32)) for name in names}
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                match = _PATH.fullmatch(self.path)
                assert match is not None, self.path
                status, answer = service._answer(match[2], match[1], json.loads(body))
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json; charset=UTF-8")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        # It looks for its end twice a second by default, which each test would wait for.
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, verb: str, name: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.asked.append((verb, name))
        fault = self.faults.pop(0) if self.faults else ""
        try:
            if fault in _STATUS:
                raise Refusal(fault, f"{fault.lower()}, for the purposes of this test")
            answer = self._encrypt(name, given, fault) if verb == "encrypt" else None
            answer = answer or self._decrypt(name, given, fault)
            if fault == "garbled":
                member = "ciphertext" if verb == "encrypt" else "plaintext"
                answer[member] = [answer[member]]
            return 200, answer
        except Refusal as refusal:
            status = _STATUS[refusal.status]
            error = {"code": status, "message": refusal.message, "status": refusal.status}
            return status, {"error": error}

    def _encrypt(self, name: str, given: dict[str, Any], fault: str) -> dict[str, Any]:
        key = self._key(name)
        plaintext = _checked(given, "plaintext", altered=fault == "sent")
        bound = _checked(given, "additionalAuthenticatedData")
        nonce = os.urandom(12)
        made = nonce + key.encrypt(nonce, plaintext, bound)
        answer: dict[str, Any] = {
            "name": f"{name}/cryptoKeyVersions/1",
            "ciphertext": base64.b64encode(made).decode(),
            "ciphertextCrc32c": str(crc32c(made)),
            "protectionLevel": "SOFTWARE",
        }
        if fault == "answered":
            answer["ciphertext"] = base64.b64encode(_flipped(made)).decode()
        if fault != "unverified":
            # (What is false is left out: protobuf.dev/programming-guides/json.)
            answer |= {
                "verifiedPlaintextCrc32c": "plaintextCrc32c" in given,
                "verifiedAdditionalAuthenticatedDataCrc32c": "additionalAuthenticatedDataCrc32c"
                in given,
            }
        return answer

    def _decrypt(self, name: str, given: dict[str, Any], fault: str) -> dict[str, Any]:
        key = self._key(name)
        ciphertext = _checked(given, "ciphertext", altered=fault == "sent")
        bound = _checked(given, "additionalAuthenticatedData")
        try:
            made = key.decrypt(ciphertext[:12], ciphertext[12:], bound)
        except (InvalidTag, ValueError):
            raise Refusal(
                "INVALID_ARGUMENT",
                "Decryption failed: verify that 'name' refers to the correct CryptoKey.",
            ) from None
        sent = _flipped(made) if fault == "answered" else made
        return {
            "plaintext": base64.b64encode(sent).decode(),
            "plaintextCrc32c": str(crc32c(made)),
            "usedPrimary": True,
            "protectionLevel": "SOFTWARE",
        }

    def _key(self, name: str) -> AESGCM:
        if name not in self._keys:
            raise Refusal("NOT_FOUND", f"CryptoKey {name} not found.")
        if name in self.disabled:
            raise Refusal(
                "FAILED_PRECONDITION",
                f"{name}/cryptoKeyVersions/1 is not enabled, current state is: DISABLED.",
            )
        return self._keys[name]


def _checked(given: dict[str, Any], name: str, *, altered: bool = False) -> bytes:
    """A field of a request, by its checksum where that came along."""
    data = base64.b64decode(given.get(name, ""))
    if altered:
        data = _flipped(data)
    told = given.get(f"{name}Crc32c")
    if told is not None and int(told) != crc32c(data):
        raise Refusal(
            "INVALID_ARGUMENT",
            f"The checksum in field {name}_crc32c did not match the data in field {name}.",
        )
    return data


def _flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]

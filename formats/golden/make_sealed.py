#!/usr/bin/env python3
"""Writes golden/sealed/v1 and golden/outage/v2, by another implementation.

Objects as formats/sealed.md has them, and a row as formats/outage.md has it.

    python formats/golden/make_sealed.py

Needs `cryptography`, which every Airflow has. The same bytes each time: salts and nonces, which are
random in life, are counted up here.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from make import coordinate, coordinate_hash

FRAME, ENVELOPE = 65536, 1024
COORDINATE, WRITE = "00112233445566778899aabbccddeeff", "7f3c0123456789abcdef0123456789ab"
KEYS = "s1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
FOLDER = Path(__file__).parent / "sealed" / "v1"
ROWS = Path(__file__).parent / "outage" / "v2"


def value(size: int) -> bytes:
    """Bytes that are no other value's."""
    return bytes((n * 131 + n // 251) % 256 for n in range(size))


def sealed(plain: bytes, salt: bytes, coordinate: str = COORDINATE) -> bytes:
    """The object of a value."""
    data_key = bytes(range(100, 132))
    key = HKDF(SHA256(), 32, salt, b"airfreight sealed object 1\n").derive(data_key)
    bound = f"airfreight sealed frame 1\n{coordinate}{WRITE}".encode()
    last = len(plain) // FRAME
    frames = b"".join(
        AESGCM(key).encrypt(
            (1 if index == last else 0).to_bytes(4, "big") + index.to_bytes(8, "big"),
            plain[index * FRAME : (index + 1) * FRAME],
            bound,
        )
        for index in range(last + 1)
    )
    nonce = bytes(range(12))
    wrapped = nonce + AESGCM(bytes(range(32))).encrypt(
        nonce, data_key, b"airfreight data key 1\ns1"
    )
    envelope = b"AFSEALED" + (1).to_bytes(2, "big") + salt + b"\x02s1"
    envelope += len(wrapped).to_bytes(2, "big") + wrapped
    return frames + envelope.ljust(ENVELOPE, b"\0")


def main() -> None:
    """Writes all files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    sizes = {"nothing": 0, "one_frame": 13, "two_frames": FRAME + 10, "whole_frame": FRAME}
    for number, (name, size) in enumerate(sizes.items()):
        plain = value(size)
        (FOLDER / f"{name}.bin").write_bytes(sealed(plain, bytes(range(number, number + 32))))
        told = {
            "keys": KEYS,
            "coordinate": COORDINATE,
            "write": WRITE,
            "bytes": size,
            "sha256": hashlib.sha256(plain).hexdigest(),
        }
        (FOLDER / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n")

    ROWS.mkdir(parents=True, exist_ok=True)
    kept = sealed(b"\x00\xff" * 5, bytes(range(40, 72)), coordinate_hash(coordinate()))
    row = json.loads((ROWS.parent / "v1" / "bytes.json").read_text())
    row = {name: row[name] for name in row if name != "body"} | {
        "_airfreight": 2,
        "size_bytes": len(kept),
        "write": WRITE,
        "sealed": 1,
        "body": base64.b64encode(kept).decode(),
    }
    (ROWS / "bytes.json").write_text(json.dumps(row, separators=(",", ":")) + "\n")
    (ROWS / "bytes.txt").write_text("b'\\x00\\xff' * 5\n")


if __name__ == "__main__":
    main()

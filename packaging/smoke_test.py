"""What an installed wheel must do wherever it is installed, Airflow or not: push and pull.

    python smoke_test.py                                        a directory as the store
    python smoke_test.py s3://bucket/prefix ENDPOINT WRONG_CA   a server behind TLS

With a server: credentials and its CA come as the AWS tools have them (`AWS_ACCESS_KEY_ID`,
`AWS_SECRET_ACCESS_KEY`, `AWS_CA_BUNDLE`); WRONG_CA is a file with a certificate that it must not be
trusted by. Nothing but the standard library and the wheel.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path


def milliseconds_since(start: float) -> str:
    """Elapsed time for people."""
    return f"{(time.perf_counter() - start) * 1e3:.1f} ms"


def main() -> None:
    """Push and pull once, with what has to fail failing."""
    start = time.perf_counter()
    import airfreight

    print(f"import airfreight: {milliseconds_since(start)}")
    assert "airfreight._core" not in sys.modules, "import airfreight loads the native core"
    start = time.perf_counter()
    from airfreight import _core, _json, errors

    print(f"load of the native core: {milliseconds_since(start)}")
    assert _core.version() == airfreight.__version__, (_core.version(), airfreight.__version__)

    kind, segments = _json.encode({"n": [1, 2.5, "é", None]})
    assert (kind, _json.decode(b"".join(segments))) == (3, {"n": [1, 2.5, "é", None]}), segments

    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, str] = {}
        uri = Path(folder).as_uri()
        if len(sys.argv) > 1:
            uri, endpoint, wrong_ca = sys.argv[1:]
            settings = {"endpoint_url": endpoint, "region": "us-east-1"}
        freight = _core.Freight([("default", uri, settings)], timeout=10.0)
        coordinate = _core.Coordinate("smoke", "run:1+2/3", "task", "return_value", map_index=3)
        # 8 MiB that no compression and no page of zeros can make look right.
        head, body = b"head", os.urandom(8 << 20)

        start = time.perf_counter()
        reference = freight.put(coordinate, [head, body], type="bytes", extension="bin")
        print(f"push: {milliseconds_since(start)}")
        fields = _core.parse_reference(reference)
        assert fields["size_bytes"] == len(head) + len(body), reference
        key = coordinate.object_key("bin")
        assert fields["uri"] == f"{uri}/{key}", reference

        start = time.perf_counter()
        assert bytes(freight.get(reference)) == head + body, "other bytes came back"
        print(f"pull: {milliseconds_since(start)}")
        assert freight.list() == [(key, len(head) + len(body))], freight.list()

        if settings:
            distrustful = _core.Freight(
                [("default", uri, settings | {"ca_bundle": wrong_ca})], timeout=1.0
            )
            try:
                distrustful.get(reference)
            except errors.Error as error:
                assert "certificate" in str(error), error
                print(f"another CA: {error}")
            else:
                raise AssertionError("the server's certificate was not checked")

        assert freight.purge(reference) is True
        try:
            freight.get(reference)
        except errors.NotFoundError as error:
            print(f"after the purge: {error}")
        else:
            raise AssertionError("what was removed came back")
    print(f"{uri.split(':')[0]} store: works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()

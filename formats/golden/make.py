"""Makes golden files of keys, references, signatures, documents: their second implementation.

    python3 formats/golden/make.py          writes the files that are not there yet
    python3 formats/golden/make.py --check  says which files differ from what this makes

A golden file is never changed: rows and objects like it lie in databases and stores.
"""  # noqa: INP001 (a script)

from __future__ import annotations

import argparse
import base64
import hashlib
import hmac
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
UUID = "01994a3e-7d0f-7c3e-a5f1-6b1d2c3e4f50"
RUN = "manual__2026-01-01T00:00:00+00:00"

Fields = dict[str, Any]


# -- formats/key.md -------------------------------------------------------------------------------


def percent(text: str) -> str:
    """Rule 3."""
    return "".join(chr(b) if b in KEPT else f"%{b:02X}" for b in text.encode())


def part(text: str, whole: int = 200, head: int = 160) -> str:
    """One field as it stands in a key."""
    if text in {"", ".", ".."}:
        return {"": "~", ".": "%2E", "..": "%2E%2E"}[text]
    encoded = percent(text)
    if len(encoded) <= whole:
        return encoded
    count = max(n for n in range(len(text)) if len(percent(text[:n])) <= head)
    return f"{percent(text[:count])}~{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def instance(c: Fields, *, encoded: bool) -> str:
    """`map_<i>`, `ti-<id>` or `write-<id>`."""
    if "map" in c:
        return f"map_{c['map']}"
    name, text = ("ti", c["ti"]) if "ti" in c else ("write", c["writer"])
    return f"{name}-{part(text, 40, 7) if encoded else text}"


def object_key(c: Fields, extension: str) -> str:
    """The key of a coordinate."""
    leaf = f"_put/{part(c['put'])}" if "put" in c else part(c["key"])
    parts = [part(c["dag"]), part(c["run"]), part(c["task"]), instance(c, encoded=True), leaf]
    return f"{'/'.join(parts)}.{extension}"


def shortened(c: Fields) -> bool:
    """Whether a part of the key is a hash, so that the key does not tell the coordinate."""
    limits = {"ti": 40, "writer": 40}
    texts = {name: text for name, text in c.items() if name != "map"}
    return any(len(percent(text)) > limits.get(name, 200) for name, text in texts.items())


def coordinate_hash(c: Fields) -> str:
    """The 128 bits that an object's metadata carries."""
    kind = "put" if "put" in c else "key"
    where = instance(c, encoded=False)
    texts = ["airfreight.coordinate.v1", c["dag"], c["run"], c["task"], where, kind, c[kind]]
    raw = [text.encode() for text in texts]
    data = b"".join(len(r).to_bytes(8, "big") + r for r in raw)
    return hashlib.sha256(data).hexdigest()[:32]


def coordinate(**changes: object) -> Fields:
    """An ordinary coordinate with some fields changed."""
    c: Fields = {"dag": "sales", "run": RUN, "task": "extract", "map": -1, "key": "return_value"}
    if "ti" in changes or "writer" in changes:
        del c["map"]
    if "put" in changes:
        del c["key"]
    return c | changes


HOSTILE = [
    "", ".", "..", "...", "/", "//", "../../evil", "a/b", "a%2Fb", "%", "%%", ":", "+", " ", "~",
    "_", "-", "a:b", "a_b", "a+b c", "\\", "\n", "\x01\x7f", "'\"`$(){}[]<>|&;*?#!", "é", "e\u0301",
    "漢字", "🚢", "\ufeff", "\uffff", "a.parquet", ".hidden", "CON", "_put", "map_-1",
]  # fmt: skip


def keys() -> Fields:
    """golden/key/v1.json."""
    cases: list[tuple[Fields, str]] = [
        (coordinate(), "parquet"),
        (coordinate(map=0, key="a"), "npy"),
        (coordinate(map=2**63 - 1), "arrow"),
        (coordinate(run="scheduled__2026-01-01T00:00:00.123456+00:00"), "json"),
        (coordinate(task="group.sub_group.load"), "bin"),
        (coordinate(ti=UUID), "parquet"),
        (coordinate(ti=""), "json"),
        (coordinate(ti="a/b"), "json"),
        (coordinate(ti="i" * 40), "json"),
        (coordinate(ti="i" * 41), "json"),
        (coordinate(ti="漢" * 20), "json"),
        (coordinate(writer=UUID), "json"),
        (coordinate(writer="w" * 500), "json"),
        (coordinate(put="0"), "json"),
        (coordinate(put="model v2"), "bin"),
        (coordinate(put="", ti=UUID), "json"),
        (coordinate(run="r" * 200), "json"),
        (coordinate(run="r" * 201), "json"),
        (coordinate(run="r" * 250), "json"),
        (coordinate(run=":" * 66), "json"),
        (coordinate(run=":" * 67), "json"),
        (coordinate(run="🚢" * 2000), "json"),
        (coordinate(run="a" + "é" * 200), "json"),
        (coordinate(key="k" * 512), "json"),
        (coordinate(key="é" * 512, map=3), "json"),
        (coordinate(put="../" * 100), "abcdefghijklmnop"),
        (
            dict.fromkeys(("dag", "run", "task", "writer", "put"), "/" * 2000),
            "abcdefghijklmnop",
        ),
    ]
    cases += [(coordinate(key=text), "json") for text in HOSTILE]
    cases += [
        ({"dag": text, "run": text, "task": text, "ti": text, "key": text}, "json")
        for text in ("", ".", "..", "/", "%2F", ":", "é")
    ]
    return {
        "specification": "formats/key.md, version 1",
        "keys": [
            {
                "coordinate": c,
                "extension": extension,
                "object_key": object_key(c, extension),
                "hash": coordinate_hash(c),
                "decodes": not shortened(c),
            }
            for c, extension in cases
        ],
        "not_keys": [
            "", "a", "d/r/t/map_-1/k", "d/r/t/map_-1/.json", "d/r/t/map_-1/k.JSON",
            "d//t/map_-1/k.json", "d/r/../map_-1/k.json", "d/r/%2e/map_-1/k.json",
            "d/r/%41/map_-1/k.json", "d/:/t/map_-1/k.json", "d/%3/t/map_-1/k.json",
            "d/%00/t/map_-1/k.json", "d/%FF/t/map_-1/k.json", "d/%ED%A0%80/t/map_-1/k.json",
            "d/r/t/map_01/k.json", "d/r/t/map_-2/k.json", "d/r/t/map_9223372036854775808/k.json",
            "d/r/t/ti-/k.json", "d/r/t/map_-1/put/k.json", "d/r/t/map_-1/_put/a/k.json",
            "d/r/t~/map_-1/k.json", f"d/{'r' * 201}/t/map_-1/k.json",
            f"d/r~{'0' * 32}/t/map_-1/k.json",
        ],
    }  # fmt: skip


# -- formats/reference.md -------------------------------------------------------------------------


def reference(c: Fields, extension: str, **changes: object) -> Fields:
    """A reference, its fields in the order of writing; `None` leaves one out."""
    root = str(changes.pop("root", "s3://bucket/xcom"))
    fields: Fields = {
        "_xcom_backend": root.split(":", maxsplit=1)[0],
        "_xcom_type": "pandas.DataFrame",
        "_airfreight": 1,
        "store": "default",
        "uri": f"{root}/{object_key(c, extension)}",
        **{name: c[name] for name in ("dag", "run", "task")},
        **{name: c[name] for name in ("map", "ti", "writer", "key", "put") if name in c},
        "attempt": 1,
        "rows": None,
        "size_bytes": 29213841,
        "digest": "crc32c:9f3a11c2",
        "tail": None,
        "etag": '"9b2cf535f27731c974343645a3985328"',
        "summary": None,
        "columns": None,
        "nulls": None,
        "columns_cut": None,
        "preview": None,
        "written": "2026-01-01T00:03:11Z",
        "write": "7f3c0123456789abcdef0123456789ab",
        "host": None,
        "owner": None,
        "sig": None,
    }
    fields |= changes
    return {name: value for name, value in fields.items() if value is not None}


def compact(fields: Fields) -> str:
    """As a reference is written."""
    return json.dumps(fields, separators=(",", ":"))


def jsonb(fields: Fields) -> str:
    """As PostgreSQL prints a JSONB value: shorter names first, spaces, no escapes beyond need."""
    names = sorted(fields, key=lambda name: (len(name.encode()), name.encode()))
    return json.dumps({name: fields[name] for name in names}, ensure_ascii=False)


def references() -> dict[str, str]:
    """golden/reference/v1/: file name to text."""
    frame = reference(
        coordinate(), "parquet",
        rows=1000000,
        summary="DataFrame 1,000,000 × 2: id int64, größe float64 · 29.2 MB parquet",
        columns=[["id", "int64"], ["größe", "float64"]],
        owner="prod-eu",
    )  # fmt: skip
    wide = reference(
        coordinate(), "parquet", rows=10, summary="DataFrame 10 × 2,000 · 1.1 MB parquet",
        columns=[], columns_cut=True,
    )  # fmt: skip
    all_columns = [[f"column_{i}", "float64"] for i in range(2000)]
    while len(compact(wide | {"columns": all_columns[: len(wide["columns"]) + 1]})) <= 4096:
        wide["columns"] = all_columns[: len(wide["columns"]) + 1]
    hostile = coordinate(dag="..", run="🚢" * 300, task='"\\/\n\x01', key="é:+ %2F")
    rows = {
        "frame": frame,
        "wide_frame": wide,
        "array_of_mapped_task": reference(
            coordinate(map=3), "npy", _xcom_type="numpy.ndarray", size_bytes=8128,
            summary="ndarray (1000,) float64 · 8.1 kB npy",
        ),
        "task_instance": reference(coordinate(ti=UUID), "bin", _xcom_type="bytes", attempt=2),
        "written_for_another_task": reference(coordinate(writer=UUID), "json", _xcom_type="json"),
        "put_by_hand": reference(coordinate(put="model v2"), "bin", _xcom_type="bytes"),
        "least": reference(
            coordinate(), "json", root="file:///srv/airfreight", _xcom_type="json", attempt=None,
            etag=None, size_bytes=0, digest="crc32c:00000000",
        ),
        "file_of_a_host": reference(
            coordinate(), "bin", root="file:///srv/airfreight", _xcom_type="bytes",
            etag="1:2:3", host="worker-7.example.com", owner="prod-eu",
        ),
        "store_of_pythons": reference(
            coordinate(), "bin", root="fsspec+sftp://host/srv/xcom", _xcom_type="bytes",
            store="archive", etag=None,
        ),
        "signed": reference(
            coordinate(), "json", _xcom_type="json", size_bytes=2**63 - 1,
            digest="sha256:" + hashlib.sha256(b"airfreight").hexdigest(), sig="k1:" + "5a" * 32,
        ),
        "hostile_names": reference(hostile, "json", _xcom_type="json"),
        "frame_with_nulls_and_preview": reference(
            coordinate(), "parquet", rows=200, columns_cut=True,
            summary="DataFrame 200 × 65: id int64, größe float64, … 63 more · 29.2 MB parquet",
            columns=[["id", "int64"], ["größe", "float64"], ["api_key", "str"]],
            nulls=[0, 17, -1],
            preview=[["1", "0.5", "***"], ["2", "NaN", "***"], ["\\x00 🚢", "\\ud800"], []],
        ),
        "frame_with_tail": reference(
            coordinate(), "parquet", rows=1000000, tail=[29213000, "crc32c:00c0ffee"],
            summary="DataFrame 1,000,000 × 2 · 29.2 MB parquet",
        ),
    }  # fmt: skip
    rows["sealed"] = frame | {"_airfreight": 2, "size_bytes": 29221993, "sealed": 1}
    texts = {name: compact(fields) for name, fields in rows.items()}
    expected: dict[str, Fields] = {name: rows[name] | {"canonical": True} for name in rows}

    texts["frame_in_jsonb"] = jsonb(frame)
    expected["frame_in_jsonb"] = dict(frame)
    texts["numbers_and_unknown_fields"] = (
        compact(frame)
        .replace('"rows":1000000', '"rows": 1E+6, "later": {"uri": "s3://x", "n": [1.5, [null]]}')
        .replace('"size_bytes":29213841', '\n "size_bytes" : 29213841.000')
        .replace('"_airfreight":1', '"_airfreight":1.0')
    )
    expected["numbers_and_unknown_fields"] = dict(frame)
    refused = {
        "newer_format": ("NewerFormat", compact(frame | {"_airfreight": 3, "uri": ["parts"]})),
        "sealed_in_version_1": ("Invalid", compact(frame | {"sealed": 1})),
        "field_twice": ("Invalid", compact(frame)[:-1] + ',"uri":"s3://elsewhere/x"}'),
        "tail_beyond_the_end": (
            "Invalid",
            compact(frame).replace('"etag"', '"tail":[29213842,"crc32c:00c0ffee"],"etag"'),
        ),
        "nulls_of_other_columns": (
            "Invalid",
            compact(frame).replace('"written"', '"nulls":[0],"written"'),
        ),
        "fraction": ("Invalid", compact(frame).replace("29213841", "29213841.5")),
        "inline_document": (
            "Invalid",
            compact({"_xcom_backend": "inline", "_xcom_type": "document", "_airfreight": 1}),
        ),
        "users_own": ("Invalid", compact({"_airfreight": 1, "mine": True})),
    }
    for name, (error, text) in refused.items():
        texts[name] = text
        expected[name] = {"error": error}
    files = {f"{name}.json": text + "\n" for name, text in texts.items()}
    for name, fields in expected.items():
        files[f"{name}.expected"] = json.dumps(fields, indent=1, ensure_ascii=False) + "\n"
    return files


# -- formats/reference.md, "Signatures" -----------------------------------------------------------

SIGNED = (
    "_xcom_backend", "_xcom_type", "store", "uri", "dag", "run", "task", "map", "ti", "writer",
    "put", "key", "attempt", "rows", "size_bytes", "digest", "tail", "written", "expires", "write",
    "host", "owner",
)  # fmt: skip
FIRST_LINE = b"airfreight reference 1\n"


def canonical(fields: Fields) -> bytes:
    """What is signed."""
    out = FIRST_LINE
    for name in SIGNED:
        if name in fields:
            value = fields[name]
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            out += f"{name} {len(text.encode())}:{text}\n".encode()
    return out


def derived(secret: bytes, dag: str) -> bytes:
    """The key of one DAG: HKDF-SHA256, no salt, 32 bytes."""
    extracted = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(extracted, FIRST_LINE + dag.encode() + b"\x01", "sha256")


def signatures() -> list[Fields]:
    """References, signed, with what was signed and the keys."""
    secrets = {"k1": bytes(range(32)), "2026-q1": bytes(range(255, 215, -1))}
    setting = ",".join(f"{i}:{base64.b64encode(s).decode()}" for i, s in secrets.items())
    digest = "sha256:" + hashlib.sha256(b"the object").hexdigest()
    unsigned = [
        reference(coordinate(), "parquet", digest=digest),
        reference(coordinate(dag="café.東京", map=7), "bin", digest=digest, owner="prod-eu"),
        reference(coordinate(ti=UUID, key="x\ny 1:z"), "json", digest=digest, rows=0),
        reference(
            coordinate(put="model 1"),
            "parquet",
            digest=digest,
            tail=[20, "crc32c:0badf00d"],
            root="file:///mnt/xcom",
            host="worker-1",
        ),
    ]
    made = []
    for fields in unsigned:
        for key_id, secret in secrets.items():
            signed = canonical(fields)
            key = derived(secret, fields["dag"])
            row = fields | {"sig": f"{key_id}:{hmac.digest(key, signed, 'sha256').hex()}"}
            key_text = f"{key_id}@{fields['dag']}:{base64.b64encode(key).decode()}"
            made.append(
                {
                    "keys": setting,
                    "row": compact(row),
                    "canonical": signed.decode(),
                    "key_of_dag": key_text,
                }
            )
    return made


# -- formats/document.md --------------------------------------------------------------------------


def documents() -> dict[str, tuple[str, str]]:
    """golden/document/v1/: name to expression and text, each written by hand.

    (Those that are not here are older than this function.)
    """
    return {
        "counter": (
            "collections.Counter({'b': 2, 'a': -1, 3: 0.5})",
            '{"~counter":[["b",2],["a",-1],[3,0.5]]}',
        ),
        "defaultdict": (
            (
                "[collections.defaultdict(list, {'a': [1], (2,): [b'x']}), "
                "collections.defaultdict(None), collections.defaultdict(int, {1: 1})]"
            ),
            (
                '[{"~defaultdict":["list",[["a",[1]],[{"~tuple":[2]},[{"~bytes":"eA=="}]]]]},'
                '{"~defaultdict":[null,[]]},{"~defaultdict":["int",[[1,1]]]}]'
            ),
        ),
        "deque": (
            "[collections.deque([1, (2,)], 5), collections.deque(), collections.deque([], 0)]",
            '[{"~deque":[5,[1,{"~tuple":[2]}]]},{"~deque":[null,[]]},{"~deque":[0,[]]}]',
        ),
        "ranges": (
            "[range(3), range(2**70, 0, -2), slice(None, 5), slice('a', (1,), None), ...]",
            (
                '[{"~range":[0,3,1]},{"~range":[{"~int":"0x400000000000000000"},0,-2]},'
                '{"~slice":[null,5,null]},{"~slice":["a",{"~tuple":[1]},null]},{"~ellipsis":null}]'
            ),
        ),
        "fractions": (
            "[fractions.Fraction(1, -3), fractions.Fraction(2**65, 3)]",
            '[{"~fraction":[-1,3]},{"~fraction":[{"~int":"0x20000000000000000"},3]}]',
        ),
        "paths": (
            (
                "[pathlib.PurePosixPath('//a/b'), pathlib.PureWindowsPath('C:/x'), "
                "pathlib.PosixPath('a\\udcff')]"
            ),
            (
                '[{"~path":["PurePosixPath","//a/b"]},{"~path":["PureWindowsPath","C:\\\\x"]},'
                '{"~path":["PosixPath",{"~str":"Ye2zvw=="}]}]'
            ),
        ),
        "pandas_scalars": (
            (
                "[pd.NaT, pd.NA, pd.Timestamp('2026-01-01').as_unit('s'), "
                "pd.Timestamp('2026-10-25T00:30:00.000000001Z').as_unit('ns').tz_convert("
                "zoneinfo.ZoneInfo('Europe/Berlin')), "
                "pd.Timestamp('2026-10-25T01:30Z').as_unit('ms').tz_convert("
                "zoneinfo.ZoneInfo('Europe/Berlin')), pd.Timedelta(-1, 'ns').as_unit('ns'), "
                "pd.Timedelta('1D').as_unit('s'), pd.Period('2026-01', 'M'), pd.Interval(0, 1.5)]"
            ),
            (
                '[{"~pandas.NaT":null},{"~pandas.NA":null},'
                '{"~pandas.Timestamp":[1767225600,"s",null,0]},'
                '{"~pandas.Timestamp":[1792888200000000001,"ns",["iana","Europe/Berlin"],0]},'
                '{"~pandas.Timestamp":[1792891800000,"ms",["iana","Europe/Berlin"],1]},'
                '{"~pandas.Timedelta":[-1,"ns"]},{"~pandas.Timedelta":[86400,"s"]},'
                '{"~pandas.Period":[672,"M"]},{"~pandas.Interval":[0,1.5,"right"]}]'
            ),
        ),
        "periods_of_offsets": (
            (
                "[pd.Period('2026-01-01', pd.offsets.MonthEnd(normalize=True)), "
                "pd.Period('2026-01-01', pd.offsets.QuarterEnd(2, True, startingMonth=2))]"
            ),
            (
                '[{"~pandas.Period.offset":[672,"MonthEnd",1,true,{}]},'
                '{"~pandas.Period.offset":[227,"QuarterEnd",2,true,{"startingMonth":2}]}]'
            ),
        ),
        "numpy_scalars": (
            "[np.float64(0.5), np.int8(-1), np.datetime64(5, 'ns'), np.bool_(True)]",
            (
                '[{"~numpy":["<f8","AAAAAAAA4D8="]},{"~numpy":["|i1","/w=="]},'
                '{"~numpy":["<M8[ns]","BQAAAAAAAAA="]},{"~numpy":["|b1","AQ=="]}]'
            ),
        ),
        "pydantic_more": (
            "[classes.Open(number=2, more=(1,))]",
            (
                '[{"~pydantic":[["formats.golden.classes:Open",["more","number"],["more"],null],'
                '{"number":2,"more":{"~tuple":[1]}}]}]'
            ),
        ),
        "enums": (
            (
                "[classes.Color.RED, classes.Color.BLUE, classes.Level.LOW, classes.Shade.DARK, "
                "classes.Shade.LIGHT | classes.Shade.DARK, classes.Shade(0)]"
            ),
            (
                '[{"~enum":["formats.golden.classes:Color",["RED",null]]},'
                '{"~enum":["formats.golden.classes:Color",["BLUE",null]]},'
                '{"~enum":["formats.golden.classes:Level",["LOW",null]]},'
                '{"~enum":["formats.golden.classes:Shade",["DARK",null]]},'
                '{"~enum":["formats.golden.classes:Shade",[null,3]]},'
                '{"~enum":["formats.golden.classes:Shade",[null,0]]}]'
            ),
        ),
        "named_tuples": (
            "classes.Point(1, {classes.Point('a', None): classes.Point({2}, [])})",
            (
                '{"~named":["formats.golden.classes:Point",[1,{"~dict":'
                '[[{"~named":["formats.golden.classes:Point",["a",null]]},'
                '{"~named":["formats.golden.classes:Point",[{"~set":[2]},[]]]}]]}]]}'
            ),
        ),
        "objects": (
            ("[classes.Model(classes.Model([1]), (2,)), classes.Slotted({1})]"),
            (
                '[{"~object":[["formats.golden.classes:Model",null],{"layers":{"~object":'
                '[["formats.golden.classes:Model",null],{"layers":[1],"more":null}]},'
                '"more":{"~tuple":[2]}}]},'
                '{"~object":[["formats.golden.classes:Slotted",null],{"first":{"~set":[1]}}]}]'
            ),
        ),
        "pydantic": (
            "[classes.Inner(held=(1,)), classes.Inner(number=5)]",
            (
                '[{"~object":[["formats.golden.classes:Inner",[["held"],false,false]],'
                '{"number":1,"held":{"~tuple":[1]}}]},'
                '{"~object":[["formats.golden.classes:Inner",[["number"],false,false]],'
                '{"number":5,"held":null}]}]'
            ),
        ),
        "pendulum": (
            (
                "[pendulum.naive(2026, 1, 1, 12), "
                "pendulum.datetime(2026, 1, 1, tz='Europe/Berlin'), "
                "pendulum.datetime(2026, 10, 25, 2, 30, 0, 5, tz='Europe/Berlin', fold=1), "
                "pendulum.parse('2026-01-01T00:00:00+05:30')]"
            ),
            (
                '[{"~pendulum.DateTime":["2026-01-01T12:00:00",null,1]},'
                '{"~pendulum.DateTime":["2026-01-01T00:00:00",["pendulum","Europe/Berlin"],1]},'
                '{"~pendulum.DateTime":["2026-10-25T02:30:00.000005",["pendulum","Europe/Berlin"],'
                '1]},{"~pendulum.DateTime":["2026-01-01T00:00:00",["pendulum-fixed",19800,"+05:30"],'
                "0]}]"
            ),
        ),
        "reference": (
            f"[Reference.from_dict({json.loads(references()['array_of_mapped_task.json'])!r})]",
            '[{"~ref":'
            + json.dumps(
                json.loads(references()["array_of_mapped_task.json"]),
                sort_keys=True,
                separators=(",", ":"),
                ensure_ascii=False,
            )
            + "}]",
        ),
        "zones_of_pytz": (
            (
                "[datetime.datetime(2026, 7, 1, tzinfo=pytz.utc), "
                "datetime.time(1, tzinfo=pytz.FixedOffset(330)), "
                "pytz.timezone('Europe/Berlin').localize(datetime.datetime(2026, 7, 1))]"
            ),
            (
                '[{"~datetime":["2026-07-01T00:00:00",["pytz-utc"],0]},'
                '{"~time":["01:00:00",["pytz-fixed",330],0]},{"~datetime":'
                '["2026-07-01T00:00:00",["pytz","Europe/Berlin",7200,3600,"CEST"],0]}]'
            ),
        ),
    }


def main() -> int:
    """Writes or compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    files = {"key/v1.json": json.dumps(keys(), indent=1, ensure_ascii=False) + "\n"}
    files |= {f"reference/v1/{name}": text for name, text in references().items()}
    files["signature/v1.json"] = json.dumps(signatures(), indent=1, ensure_ascii=False) + "\n"
    for name, (expression, text) in documents().items():
        files[f"document/v1/{name}.txt"] = expression + "\n"
        files[f"document/v1/{name}.json"] = text
    differing = []
    for name, text in files.items():
        path = HERE / name
        if not check and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            differing.append(name)
    for name in differing:
        sys.stderr.write(f"differs: {name}\n")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""What the core asks of the texts of settings, for the check when Airflow is imported.

The same rules as in `src/store/uri.cc`, `src/store/checks.cc` and `src/store/s3/endpoint.cc`, where
the core would apply them at the first push; here without loading it. The tests run one table
against both. Each function returns what is wrong with a text, as the end of a sentence that the
option's name begins; empty when nothing is.
"""

from __future__ import annotations

import re
from datetime import datetime

#: kMaxDirectoryBytes, kMinBucketBytes and kMaxBucketBytes in `src/store/uri.cc`; kMaxPrefixBytes in
#: `include/airfreight/coordinate.h`; kMaxLabel in `src/store/s3/endpoint.cc`.
_MAX_DIRECTORY_BYTES = 2048
_MIN_BUCKET, _MAX_BUCKET = 3, 255
#: cloud.google.com/storage/docs/buckets#naming: names with dots up to 222.
_MAX_GS_BUCKET = 222
_MIN_CONTAINER, _MAX_CONTAINER = 3, 63
_MAX_PREFIX_BYTES = 150
_MAX_REGION = 63

_ENDPOINT = re.compile(
    r"(?i:https?)://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]+))?[A-Za-z0-9/_.~%-]*"
)


_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\])(?::([0-9]+))?")
#: A time in UTC, as the settings have it.
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d)(?:Z|\+00:00))?", re.ASCII)
#: An `int` of the core.
_MAX_DATABASE = 2**31 - 1


def holds_secret(text: str) -> bool:
    """Whether a text may be `s3://key:secret@bucket`; a secret key may itself hold slashes."""
    rest = text.partition("://")[2] or text
    return ":" in rest.partition("/")[0] and "@" in rest.partition(":")[2]


def may_tell_secret(text: str) -> bool:
    """Whether a text that is wrong may hold a secret, where a place or an address belongs.

    Credentials before an `@`; or a query, such as the shared access signature of a URL of Azure's.
    """
    return holds_secret(text) or ("://" in text and "=" in text.partition("?")[2])


#: Schemes that are other spellings of one kind of store.
_KINDS = {"rediss": "redis", "abfs": "az", "abfss": "az", "wasb": "az", "wasbs": "az"}


def kind(uri: str) -> str:
    """The kind of store that a URI names: what its settings and references call it."""
    scheme = uri.partition("://")[0]
    return "fsspec" if scheme.startswith("fsspec+") else _KINDS.get(scheme, scheme)


#: RFC 3986, 3.1.
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")


def store_uri(uri: str) -> str:
    """Checks the URI of a store that may be configured (`memory://` dies with its process)."""
    if holds_secret(uri):
        return "must not hold credentials: before the `@` stands the id of an Airflow connection"
    scheme, separator, rest = uri.partition("://")
    native = kind(uri) in ("s3", "gs", "az", "redis", "file")
    if not separator or not (native or _is_python(scheme)):
        return (
            "must begin with s3://, gs://, az://, redis://, rediss://, file:// or "
            "fsspec+<protocol>://"
        )
    if any(char < " " or char == "\x7f" or "\ud800" <= char <= "\udfff" for char in uri):
        return "must not hold control characters, nor anything that is not UTF-8"
    if "?" in uri or "#" in uri:
        return "must not hold `?` or `#`: options are settings of their own"
    if not native:
        return _place_of_python(scheme, rest)
    if scheme == "file":
        return _directory(rest)
    if kind(uri) == "redis":
        return _redis(rest)
    return _container_and_prefix(rest) if kind(uri) == "az" else _bucket_and_prefix(scheme, rest)


def is_directory(uri: str) -> bool:
    """Whether a store is a directory of this machine."""
    return uri.startswith(("file://", "fsspec+file://", "fsspec+local://"))


def _is_python(scheme: str) -> bool:
    if not _SCHEME.fullmatch(scheme) or scheme == "memory":
        return False
    from airfreight import stores  # Not for those that the core serves.

    return stores.is_python(scheme)


def _place_of_python(scheme: str, rest: str) -> str:
    if scheme == "fsspec+memory":
        return "must not be in the memory of a process, with which it ends"
    authority, _, path = rest.partition("/")
    connection, at, place = authority.rpartition("@")
    if at and not connection:
        return "has an `@` but no connection id before it"
    if not place and not path.strip("/"):
        return f"has no place after {scheme}://"
    if len(path.encode()) > _MAX_DIRECTORY_BYTES:
        return f"must have a path of at most {_MAX_DIRECTORY_BYTES} bytes"
    return _parts(path.rstrip("/"))


def _directory(path: str) -> str:
    directory = path.rstrip("/")
    if not path.startswith("/") or not directory:
        return "must name a directory from the root, with three slashes"
    if len(directory.encode()) > _MAX_DIRECTORY_BYTES:
        return f"must name a directory of at most {_MAX_DIRECTORY_BYTES} bytes"
    return _parts(directory[1:])


def _redis(rest: str) -> str:
    authority, _, path = rest.partition("/")
    connection, at, address = authority.rpartition("@")
    if at and not connection:
        return "has an `@` but no connection id before it"
    if fault := redis_address(address):
        return fault
    database, _, prefix = path.partition("/")
    if not re.fullmatch(r"0|[1-9][0-9]*", database) or int(database) > _MAX_DATABASE:
        return "must have the number of a database after the host: redis://host:6379/0/xcom"
    return _prefix(prefix)


def redis_address(text: str) -> str:
    """Checks a host with a port, perhaps."""
    match = _ADDRESS.fullmatch(text)
    if match is None or (match[1] is not None and not 0 < int(match[1]) < 1 << 16):
        return "must name a host, perhaps with a port from 1 to 65535: redis://host:6379/0/xcom"
    return ""


def redis_sentinels(text: str) -> str:
    """Checks a list of addresses."""
    words = text.replace(",", " ").split(" ")
    if any(redis_address(word) for word in words if word):
        return "must be hosts with their ports, separated by blanks or commas"
    return ""


def _bucket_and_prefix(scheme: str, rest: str) -> str:
    authority, _, prefix = rest.partition("/")
    connection, at, bucket = authority.rpartition("@")
    if at and not connection:
        return "has an `@` but no connection id before it"
    if not re.fullmatch(r"[A-Za-z0-9._-]+", bucket):
        return f"has no right bucket name after {scheme}://"
    longest = _MAX_BUCKET if scheme == "s3" else _MAX_GS_BUCKET
    if not _MIN_BUCKET <= len(bucket) <= longest:
        return f"must name a bucket of {_MIN_BUCKET} to {longest} characters"
    if scheme == "s3" and bucket.endswith("--x-s3"):
        return "must not name a directory bucket (S3 Express), which is not supported"
    return _prefix(prefix)


def _container_and_prefix(rest: str) -> str:
    authority, _, prefix = rest.partition("/")
    connection, at, container = authority.rpartition("@")
    if at and not connection:
        return "has an `@` but no connection id before it"
    if at and "." in container:
        return (
            "has an Airflow connection before the `@`, and not the container as in Hadoop's "
            f"spelling: az://{connection}/prefix with az_account = {container.partition('.')[0]}"
        )
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", container):
        return "has no right container name: small letters, digits and single hyphens between them"
    if not _MIN_CONTAINER <= len(container) <= _MAX_CONTAINER:
        return f"must name a container of {_MIN_CONTAINER} to {_MAX_CONTAINER} characters"
    return _prefix(prefix)


def _prefix(prefix: str) -> str:
    prefix = prefix.rstrip("/")
    if len(prefix.encode()) > _MAX_PREFIX_BYTES:
        return f"must have a prefix of at most {_MAX_PREFIX_BYTES} bytes"
    return _parts(prefix)


def _parts(path: str) -> str:
    for part in path.split("/") if path else ():
        if not part:
            return "must not have two slashes in a row"
        if part in (".", ".."):
            return f"must not have {part!r} as a part"
    return ""


#: An entry of `signing_keys`, as `src/seal/signature.cc` has it; 32 bytes have 43 digits.
_SIGNING_KEY = re.compile(r"[A-Za-z0-9._-]{1,64}(@[^\s:,@]+)?:[A-Za-z0-9+/_-]{43,}={0,2}")


def signing_keys(text: str) -> str:
    """Checks keys, none of which it shows."""
    for number, entry in enumerate(text.replace(",", " ").split(), 1):
        if _SIGNING_KEY.fullmatch(entry) is None:
            return f"must be <id>:<base64 of 32 bytes or more>, which key {number} is not"
    return ""


#: An entry of `seal_keys`, as `src/seal/sealing_keys.cc` has it; 32 bytes have 43 digits.
_SEAL_KEY = re.compile(
    r"[A-Za-z0-9._-]{1,64}:"
    r"(?:[A-Za-z0-9+/_-]{43}=?|aws-kms:[!-~]+|gcp-kms:projects/[!-~]+/cryptoKeys/[!-~]+)"
)


def seal_keys(text: str) -> str:
    """Checks keys, none of which it shows."""
    for number, entry in enumerate(text.replace(",", " ").split(), 1):
        if _SEAL_KEY.fullmatch(entry) is None:
            return (
                "must be <id>:<base64 of 32 bytes>, <id>:aws-kms:<key> or "
                f"<id>:gcp-kms:projects/…/cryptoKeys/<name>, which key {number} is not"
            )
        service, _, name = entry.partition(":")[2].partition(":")
        if name and (wrong := service_key(service, name)):
            return f"must name keys as their service does, and of key {number} {wrong}"
    return ""


def service_key(service: str, name: str) -> str:
    """Checks what a service ("aws-kms", "gcp-kms") calls one of its keys, by which it is asked."""
    if service == "aws-kms":
        if is_aws_key(name):
            return ""
        return (
            f"AWS KMS knows no key by {name!r}; right is arn:aws:kms:<region>:<account>:key/<id>, "
            "arn:aws:kms:<region>:<account>:alias/<name>, alias/<name> or an id"
        )
    if service != "gcp-kms" or not gs_kms_key_name(name):
        return ""
    right = "projects/<project>/locations/<place>/keyRings/<ring>/cryptoKeys/<name>"
    if "/cryptoKeyVersions/" in name:
        return (
            f"{name!r} is one version of a key, with which Cloud KMS opens nothing; right is the "
            f"key, {name.partition('/cryptoKeyVersions/')[0]}"
        )
    return f"Cloud KMS knows no key by {name!r}; right is {right}"


def moment(text: str) -> str:
    """Checks a time in UTC."""
    return "" if seconds(text) is not None else "must be a date, or a date and time in UTC"


def seconds(text: str) -> int | None:
    """The seconds since 1970 of a time in UTC; None when it is none."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    try:
        when = datetime.strptime(
            f"{match[1]} {match[2] or '00:00:00'} +0000", "%Y-%m-%d %H:%M:%S %z"
        )
    except ValueError:
        return None
    return int(when.timestamp())


def endpoint_url(url: str) -> str:
    """Checks the URL of a server."""
    if "@" in url:
        return "must not hold a user or a password"
    match = _ENDPOINT.fullmatch(url)
    if match is None or (match[1] is not None and not 0 < int(match[1]) < 1 << 16):
        return "must be https:// or http://, a host and perhaps a port and a path"
    return ""


def gs_kms_key_name(text: str) -> str:
    """Checks the name of a key of Cloud KMS."""
    shape = r"projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+"
    if text.isascii() and text.isprintable() and " " not in text and re.fullmatch(shape, text):
        return ""
    return "must be projects/…/locations/…/keyRings/…/cryptoKeys/…"


def gs_user_project(text: str) -> str:
    """Checks the id of a project, perhaps with its domain, or its number."""
    right = re.fullmatch(r"[a-z0-9.:-]{1,100}", text)
    return "" if right else "must be a project's id, as the console has it"


def az_account(text: str) -> str:
    """Checks the name of a storage account."""
    return (
        "" if re.fullmatch(r"[a-z0-9]{3,24}", text) else "must be 3 to 24 small letters or digits"
    )


def az_id(text: str) -> str:
    """Checks the id of a tenant or of an application."""
    return (
        "" if re.fullmatch(r"[A-Za-z0-9.-]{1,253}", text) else "must be an id, as the portal has it"
    )


def az_encryption_scope(text: str) -> str:
    """Checks the name of an encryption scope."""
    right = re.fullmatch(r"[A-Za-z0-9_-]{3,63}", text)
    return "" if right else "must be 3 to 63 letters, digits, hyphens and underscores"


def s3_key(text: str) -> str:
    """Checks what looks like a key of AWS KMS: other servers have names of their own for theirs.

    The forms: docs.aws.amazon.com/kms/latest/developerguide/concepts-intro.html (identifiers).
    """
    if text.startswith("arn:"):
        arn = r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(?:key/[A-Za-z0-9-]+|alias/[A-Za-z0-9/_-]+)"
        if re.fullmatch(arn, text):
            return ""
        return "must be arn:aws:kms:<region>:<account's 12 digits>:key/<id> or …:alias/<name>"
    if text.startswith("alias") and not re.fullmatch(r"alias/[A-Za-z0-9/_-]{1,250}", text):
        return "must be alias/<name>"
    return ""


def is_aws_key(text: str) -> bool:
    """Whether AWS KMS could know a key by this: an ARN, an alias, an id."""
    if text.startswith(("arn:", "alias/")):
        return not s3_key(text)
    # (Of keys in several regions: mrk- and 32 digits.)
    return bool(
        re.fullmatch(r"(?:mrk-)?[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text)
    )


def region(text: str) -> str:
    """Checks the name of a region."""
    if len(text) > _MAX_REGION or not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", text):
        return "must be made of small letters, digits and hyphens"
    return ""

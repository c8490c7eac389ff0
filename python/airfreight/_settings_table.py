"""The options of section `[airfreight]`: one table for the parser and for Airflow's documentation.

Pure data. Imported by the provider entry point, in every process that lists providers.
"""

from __future__ import annotations

from typing import NamedTuple

SECTION = "airfreight"
#: What Airflow puts before an option's name to make an environment variable of it.
ENVIRONMENT_PREFIX = "AIRFLOW__AIRFREIGHT__"
#: Of an option that is a secret: where it may come from in place of its own text.
ENDINGS = ("_file", "_cmd", "_secret")
#: The core counts in milliseconds, and waits for a week at most (`src/store/checks.cc`).
_LEAST_SECONDS = 0.001
_MOST_SECONDS = 7 * 24 * 3600
#: A hundred years (`src/store/redis/options.cc`).
_MOST_TTL = 100 * 366 * 24 * 3600
#: Beyond, servers answer with 503 rather than with more bytes.
_MOST_CONNECTIONS = 256
#: The stores with settings of their own, which are named `<kind>_<setting>`.
_KINDS = ("s3", "gs", "az", "redis", "file", "fsspec")
#: More rows of a preview never fit a reference.
_MOST_PREVIEW = 100
#: The core's sizes have 64 bits.
_MOST_BYTES = 2**63 - 1
#: What is larger is sent in parts, of which none is kept once it was sent (`include/airfreight/
#: freight.h`); and nobody wants it in a database.
_MOST_INLINE = 4 << 20


class Option(NamedTuple):
    """One option.

    Attributes:
        name: as in `airflow.cfg`; the environment variable is `AIRFLOW__AIRFREIGHT__<NAME>`.
        kind: "string", "integer", "number" (seconds) or "boolean".
        default: as text; None when there is none.
        example: a right value.
        description: for `airflow config list`.
        choices: the only values that are right; empty: any.
        minimum, maximum: smallest and largest right number.
        store: "s3", "gs", "az", "redis", "file" or "fsspec" when the option belongs to that kind
            of store; else "".
        secret: whether its text is one: it is shown nowhere, and may also come from a command
            (`<NAME>_CMD`) or from Airflow's secrets backend (`<NAME>_SECRET`).
    """

    name: str
    kind: str
    default: str | None
    example: str
    description: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    store: str = ""
    secret: bool = False

    @property
    def environment_name(self) -> str:
        """The environment variable that sets it."""
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def setting(self) -> str:
        """The name that the store in the native core gives it: without the kind of store."""
        return (
            "shared"
            if self.name == "file_store_shared"
            else self.name.removeprefix(f"{self.store}_")
        )


def _option(
    name: str,
    kind: str,
    default: str | None,
    example: str,
    description: str,
    *,
    choices: tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    secret: bool = False,
) -> Option:
    store = next((kind for kind in _KINDS if name.startswith(f"{kind}_")), "")
    return Option(
        name, kind, default, example, description, choices, minimum, maximum, store, secret
    )


OPTIONS: tuple[Option, ...] = (
    _option(
        "store",
        "string",
        "file://{AIRFLOW_HOME}/airfreight",
        "s3://bucket/xcom",
        "Where values go: s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or "
        "redis://host:port/db/prefix (rediss:// for TLS), each with conn_id@ after the // where an "
        "Airflow connection has the credentials, or file:///directory. The default, a directory, "
        "serves one machine only and is refused under Celery, Kubernetes and other distributed "
        "executors.",
    ),
    _option(
        "threshold",
        "integer",
        "32768",
        "32768",
        "Bytes of compact JSON up to which a JSON value stays in the database, as the default "
        "backend "
        "writes it. 0: every value goes to the store. -1: writes exactly as the default "
        "backend does, "
        "still reads references; the way in and out.",
        minimum=-1,
        maximum=_MOST_BYTES,
    ),
    _option(
        "read_also",
        "string",
        None,
        "s3://old-bucket/xcom",
        "Further stores that references may be read from, separated by blanks or commas: for "
        "example "
        "the one that was written to before a move.",
    ),
    _option(
        "policy_file",
        "string",
        None,
        "/etc/airflow/airfreight.toml",
        "File of the policy (docs/policy.md): further stores, aliases, and rules that say how the "
        "values of which DAGs, tasks and types are kept.",
    ),
    _option(
        "policy",
        "string",
        None,
        'rules = [{dag = "sales_*", format = "arrow"}]',
        "The text of the policy itself, in place of a file.",
    ),
    _option(
        "digest",
        "string",
        "crc32c",
        "sha256",
        "What objects are written with, and checked by when they are read. Both find damage; "
        "sha256 costs more processor time.",
        choices=("crc32c", "sha256"),
    ),
    _option(
        "compression",
        "string",
        "snappy",
        "zstd",
        "Compression of tables.",
        choices=("snappy", "zstd", "lz4", "none"),
    ),
    _option(
        "format",
        "string",
        "parquet",
        "arrow",
        "Format of tables: parquet, which is the smaller one and which most tools read, or arrow "
        "(files of Arrow IPC), which is the faster one.",
        choices=("parquet", "arrow"),
    ),
    _option(
        "pickle",
        "string",
        "never",
        "allow",
        "Whether values that nothing else keeps are pickled, and pickles in the store read. allow: "
        "whoever can write to the store can run code in every task that pulls one; each one's row "
        "says that it is one.",
        choices=("never", "allow"),
    ),
    _option(
        "timeout",
        "number",
        "60",
        "60",
        "Seconds for which each request that fails is tried again before the push or pull fails. "
        "A transfer that moves is never cut off by it.",
        minimum=_LEAST_SECONDS,
        maximum=_MOST_SECONDS,
    ),
    _option(
        "max_object_bytes",
        "integer",
        "0",
        "10737418240",
        "Largest object that may be pushed; larger ones are refused. 0: the store's own limit.",
        minimum=0,
        maximum=_MOST_BYTES,
    ),
    _option(
        "transfer_memory",
        "integer",
        "0",
        "268435456",
        "Bytes that all transfers of a process may hold at a time beside the values themselves. 0: "
        "256 MiB, and never more than a quarter of the memory limit of the container, divided by "
        "the task slots that share it ([celery] worker_concurrency, or [core] parallelism under "
        "LocalExecutor).",
        minimum=0,
        maximum=_MOST_BYTES,
    ),
    _option(
        "max_connections",
        "integer",
        "16",
        "16",
        "Most requests at once for one value, and for one list of values (all results of a mapped "
        "task, say).",
        minimum=1,
        maximum=_MOST_CONNECTIONS,
    ),
    _option(
        "outage",
        "string",
        "fail",
        "inline",
        "What becomes of a push whose store is still away after timeout (docs/outage.md). fail: it "
        "fails. inline: a value of up to inline_max_bytes stays in the database, marked as that, "
        "until `airfreight repatriate` moves it to the store.",
        choices=("fail", "inline"),
    ),
    _option(
        "inline_max_bytes",
        "integer",
        "262144",
        "49152",
        "Largest value, in bytes of its object, that stays in the database under outage = inline; "
        "its row takes a third more. The rows of Airflow 2 on MySQL or MariaDB take 65535 bytes: "
        "set 48000 there.",
        minimum=0,
        maximum=_MOST_INLINE,
    ),
    _option(
        "deployment_id",
        "string",
        None,
        "prod-eu",
        "A name for this Airflow deployment that every reference and object carries "
        "(docs/ownership.md). What bears another one is neither replaced nor removed. Deployments "
        "need a prefix each, and a copy of a deployment needs a name of its own.",
    ),
    _option(
        "signing",
        "string",
        "auto",
        "required",
        "Whether references are signed, so that nobody who can write to the database can make one "
        "up or change one (formats/reference.md). auto: where there are signing_keys, all are "
        "signed, with a sha256 digest, and only signed ones are followed. required: the same, and "
        "without a key nothing is pushed or pulled. off: keys are not looked at.",
        choices=("off", "auto", "required"),
    ),
    _option(
        "signing_keys",
        "string",
        None,
        "k1:q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=",
        "What references are signed with: <id>:<base64 of 32 bytes or more>, the same on all "
        "machines. Several, separated by commas or blanks, for rotation: the first one signs, all "
        "are valid. <id>@<dag>:<base64> is a key for one DAG only.",
        secret=True,
    ),
    _option(
        "accept_unsigned_until",
        "string",
        None,
        "2027-01-31T00:00:00Z",
        "Until when references without a signature are followed although there are signing_keys: "
        "as long as there are rows from before. A date, or a date and time in UTC.",
    ),
    _option(
        "seal",
        "boolean",
        "False",
        "True",
        "Whether objects are encrypted before they leave the process that pushes them, with "
        "AES-256-GCM under seal_keys (docs/encryption.md). All values go to the store then. A rule "
        "of the policy may say otherwise.",
    ),
    _option(
        "seal_keys",
        "string",
        None,
        "s1:q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=",
        "What sealed objects are encrypted under: <id>:<base64 of 32 bytes>, <id>:aws-kms:<ARN, "
        "alias or id> or <id>:gcp-kms:projects/…/cryptoKeys/<name>, the same on all machines. "
        "Several, separated by commas or blanks, for rotation: the first one encrypts, all open.",
        secret=True,
    ),
    _option(
        "refuse_unsealed",
        "boolean",
        "False",
        "True",
        "Whether a pull refuses what is not sealed, in the row or in the store, where seal asks "
        "for that when it is read (docs/encryption.md). What was pushed before then is refused "
        "with it, but for references that are signed.",
    ),
    _option(
        "log_return_values",
        "boolean",
        "False",
        "True",
        "Whether tasks of Python operators log the value that they return, as Airflow has them do "
        "(show_return_value_in_logs). False: where the DAG does not say, they do not; one line "
        "tells type, size and place of each value that is pushed.",
    ),
    _option(
        "render_whole_arguments",
        "boolean",
        "True",
        "False",
        "Whether Airflow makes a text of all of an argument that comes from an XCom, of which it "
        "keeps [core] max_templated_field_length characters for the page of rendered templates. "
        "False: of large ones, it makes a text of the first part. The task gets all either way.",
    ),
    _option(
        "describe",
        "string",
        "schema",
        "size",
        "What rows tell of values in the store, to everybody who may see the task. schema: type, "
        "size, dtypes, null counts, and the labels of the first 64 columns of a table. full: the "
        "labels of all columns that fit, the keys of dicts on the way to frames and arrays in a "
        "value, and categories; they may be data. size: type, counts and bytes, no label.",
        choices=("full", "schema", "size"),
    ),
    _option(
        "preview_rows",
        "integer",
        "0",
        "3",
        "Rows of a table that its row shows, as texts of at most 64 characters, as far as 4 KiB "
        "take them; none under describe = size. Names like password, token or api_key (those that "
        "Airflow masks in its logs, and [core] sensitive_var_conn_names) and those of redact are "
        "masked.",
        minimum=0,
        maximum=_MOST_PREVIEW,
    ),
    _option(
        "redact",
        "string",
        None,
        "salary, *_iban, customer_*",
        "Columns, and keys of dicts in cells, that preview_rows shows as ***: names separated by "
        "commas, in upper or lower case. With *, ? or [...] a pattern of the whole label; without, "
        "every label that contains it. Their categories are not shown either (describe = full).",
    ),
    _option(
        "file_store_shared",
        "boolean",
        "False",
        "True",
        "Says that a file:// store is a directory which every worker sees (a network file system); "
        "without it, file:// is refused under distributed executors.",
    ),
    _option(
        "file_fsync",
        "boolean",
        "True",
        "True",
        "Whether a file:// store waits until the disk has each object before the row is written.",
    ),
    _option(
        "fsspec_options",
        "string",
        None,
        '{"timeout": 30}',
        "Arguments for the file system of a store of fsspec+<protocol>://: a JSON object. Secrets "
        "belong into an Airflow connection instead, whose extras may have an object of this name.",
    ),
    _option(
        "az_account",
        "string",
        None,
        "myaccount",
        "Azure storage account of an az:// store. Default: that of its Airflow connection, "
        "AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING.",
    ),
    _option(
        "az_endpoint_url",
        "string",
        None,
        "https://myaccount.blob.core.usgovcloudapi.net",
        "URL of the account's blob service, where that is not in Azure's public cloud; an "
        "emulator's has the account as its path.",
    ),
    _option(
        "az_tenant_id",
        "string",
        None,
        "72f988bf-86f1-41af-91ab-2d7cd011db47",
        "Tenant of the workload identity or application that asks. Default: AZURE_TENANT_ID.",
    ),
    _option(
        "az_client_id",
        "string",
        None,
        "72f988bf-86f1-41af-91ab-2d7cd011db47",
        "Client id of the managed identity, workload identity or application that asks; keys in "
        "the environment then do not count. Default: AZURE_CLIENT_ID, or the machine's own "
        "identity.",
    ),
    _option(
        "az_encryption_scope",
        "string",
        None,
        "sales-2026",
        "Encryption scope that objects are written under. Default: the container's.",
    ),
    _option(
        "az_checksums",
        "string",
        "auto",
        "never",
        "What uploads carry that the service checks before it confirms them: auto is CRC-64, md5 "
        "is slower and for servers that do not know CRC-64.",
        choices=("auto", "md5", "never"),
    ),
    _option(
        "az_ca_bundle",
        "string",
        None,
        "/etc/ssl/certs/company-ca.pem",
        "As s3_ca_bundle, for az:// stores.",
    ),
    _option("az_verify", "boolean", "True", "True", "As s3_verify, for az:// stores."),
    _option(
        "az_connect_timeout",
        "number",
        "10",
        "10",
        "As s3_connect_timeout, for az:// stores.",
        minimum=_LEAST_SECONDS,
        maximum=_MOST_SECONDS,
    ),
    _option(
        "az_idle_timeout",
        "number",
        "60",
        "60",
        "As s3_idle_timeout, for az:// stores.",
        minimum=_LEAST_SECONDS,
        maximum=_MOST_SECONDS,
    ),
    _option(
        "s3_endpoint_url",
        "string",
        None,
        "https://minio.example.com:9000",
        "URL of a server that speaks S3. Default: AWS, or what AWS_ENDPOINT_URL_S3, "
        "AWS_ENDPOINT_URL "
        "and the AWS profile say.",
    ),
    _option(
        "s3_region",
        "string",
        None,
        "eu-central-1",
        "Region that requests are signed for. Default: AWS_REGION, AWS_DEFAULT_REGION or the "
        "profile.",
    ),
    _option(
        "s3_addressing_style",
        "string",
        "auto",
        "path",
        "Where the bucket's name goes: virtual (in the host name), path, or auto (virtual on "
        "AWS, path "
        "on other endpoints).",
        choices=("auto", "virtual", "path"),
    ),
    _option(
        "s3_profile",
        "string",
        None,
        "analytics",
        "Profile of ~/.aws/config and ~/.aws/credentials. Default: AWS_PROFILE, or `default`.",
    ),
    _option(
        "s3_payload_signing",
        "string",
        "auto",
        "always",
        "Whether the body is part of the signature: auto (only over http://), always, never.",
        choices=("auto", "always", "never"),
    ),
    _option(
        "s3_ca_bundle",
        "string",
        None,
        "/etc/ssl/certs/company-ca.pem",
        "File of the certificate authorities that are trusted. Default: AWS_CA_BUNDLE, "
        "SSL_CERT_FILE or "
        "the system's.",
    ),
    _option(
        "s3_verify",
        "boolean",
        "True",
        "True",
        "Whether the server's certificate is checked. Turn it off only to find out whether a "
        "certificate is what is wrong.",
    ),
    _option(
        "s3_connect_timeout",
        "number",
        "10",
        "10",
        "Seconds that connecting may take before the next try.",
        minimum=_LEAST_SECONDS,
        maximum=_MOST_SECONDS,
    ),
    _option(
        "s3_idle_timeout",
        "number",
        "60",
        "60",
        "Seconds without a single byte moved after which a request is given up.",
        minimum=_LEAST_SECONDS,
        maximum=_MOST_SECONDS,
    ),
    _option(
        "s3_conditional_writes",
        "string",
        "auto",
        "never",
        "Whether writes carry If-None-Match and If-Match, which AWS and most servers honour. "
        "never: for "
        "servers that refuse them; an older attempt's late write is then found by a look "
        "before it only.",
        choices=("auto", "never"),
    ),
    _option(
        "s3_request_payer",
        "string",
        "owner",
        "requester",
        "Who pays for requests: the bucket's owner, or the requester where the bucket asks for "
        "that.",
        choices=("requester", "owner"),
    ),
    _option(
        "s3_retention_tags",
        "boolean",
        "False",
        "True",
        "Whether objects that a rule of the policy gives a retention carry it as a tag, "
        "airfreight-retention=7d, for the bucket's lifecycle rules (docs/policy.md). Writing needs "
        "s3:PutObjectTagging then.",
    ),
    _option(
        "s3_sse",
        "string",
        None,
        "aws:kms",
        "Server-side encryption that is asked for on every write. Default: what the bucket "
        "does itself.",
        choices=("AES256", "aws:kms", "aws:kms:dsse"),
    ),
    _option(
        "s3_sse_kms_key_id",
        "string",
        None,
        "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
        "Key for s3_sse = aws:kms. Default: the account's own for S3.",
    ),
    _option(
        "s3_sse_kms_context",
        "string",
        None,
        '{"team": "sales"}',
        "Encryption context for s3_sse = aws:kms: a JSON object of texts.",
    ),
    _option(
        "s3_sse_bucket_key",
        "boolean",
        "False",
        "True",
        "Whether s3_sse = aws:kms asks for a bucket key, which makes fewer requests to the key "
        "service. Default: as the bucket has it.",
    ),
    _option(
        "s3_checksums",
        "string",
        "auto",
        "never",
        "Whether uploads carry a CRC-32C that the store checks: until it refuses one (auto), "
        "always, or never.",
        choices=("auto", "always", "never"),
    ),
    _option(
        "gs_endpoint_url",
        "string",
        None,
        "http://127.0.0.1:4443",
        "URL of the server of gs:// stores. Default: STORAGE_EMULATOR_HOST, else Google's own.",
    ),
    _option(
        "gs_anonymous",
        "boolean",
        "False",
        "True",
        "Whether gs:// stores send no token: for emulators and public buckets.",
    ),
    _option(
        "gs_key_path",
        "string",
        None,
        "/run/secrets/airflow.json",
        "File of a service account's key. Default: GOOGLE_APPLICATION_CREDENTIALS, what gcloud "
        "has left, the metadata server.",
    ),
    _option(
        "gs_kms_key_name",
        "string",
        None,
        "projects/p/locations/eu/keyRings/airflow/cryptoKeys/xcom",
        "Cloud KMS key that new objects are encrypted under. Default: as the bucket has it.",
    ),
    _option(
        "gs_user_project",
        "string",
        None,
        "my-project",
        "Project that pays for requests to a bucket where the requester pays.",
    ),
    _option(
        "gs_ca_bundle",
        "string",
        None,
        "/etc/ssl/certs/company-ca.pem",
        "As s3_ca_bundle, for gs:// stores.",
    ),
    _option("gs_verify", "boolean", "True", "True", "As s3_verify, for gs:// stores."),
    _option(
        "gs_connect_timeout",
        "number",
        "10",
        "10",
        "As s3_connect_timeout, for gs:// stores.",
        minimum=_LEAST_SECONDS,
        maximum=_MOST_SECONDS,
    ),
    _option(
        "gs_idle_timeout",
        "number",
        "60",
        "60",
        "As s3_idle_timeout, for gs:// stores.",
        minimum=_LEAST_SECONDS,
        maximum=_MOST_SECONDS,
    ),
    _option(
        "redis_ttl",
        "integer",
        "0",
        "604800",
        "Seconds after which Redis drops a value that no rule gives a retention of its own. 0: "
        "values stay until they are removed.",
        minimum=0,
        maximum=_MOST_TTL,
    ),
    _option(
        "redis_ca_bundle",
        "string",
        None,
        "/etc/ssl/certs/company-ca.pem",
        "File of the certificate authorities that are trusted under rediss://. Default: "
        "SSL_CERT_FILE or the system's.",
    ),
    _option(
        "redis_verify",
        "boolean",
        "True",
        "True",
        "Whether the server's certificate is checked. Turn it off only to find out whether a "
        "certificate is what is wrong.",
    ),
    _option(
        "redis_check_hostname",
        "boolean",
        "True",
        "False",
        "Whether the name in the server's certificate has to be the host's.",
    ),
    _option(
        "redis_certfile",
        "string",
        None,
        "/etc/ssl/airflow.pem",
        "File of this client's certificate, for servers that ask for one (tls-auth-clients).",
    ),
    _option(
        "redis_keyfile",
        "string",
        None,
        "/etc/ssl/private/airflow.key",
        "File of the key to redis_certfile. Default: it is in that file, too.",
    ),
    _option(
        "redis_sentinels",
        "string",
        None,
        "sentinel-1:26379, sentinel-2:26379",
        "Sentinels that are asked where the master is, separated by blanks or commas. The host in "
        "the store's URI is then the master's name: redis://mymaster/0/xcom.",
    ),
    _option(
        "redis_sentinel_master",
        "string",
        None,
        "mymaster",
        "Name of the master that the Sentinels are asked for. Default: the host in the store's "
        "URI.",
    ),
    _option(
        "redis_connect_timeout",
        "number",
        "10",
        "10",
        "Seconds that connecting may take before the next try.",
        minimum=_LEAST_SECONDS,
        maximum=_MOST_SECONDS,
    ),
    _option(
        "redis_idle_timeout",
        "number",
        "60",
        "60",
        "Seconds without a single byte moved after which a command is given up.",
        minimum=_LEAST_SECONDS,
        maximum=_MOST_SECONDS,
    ),
)

BY_NAME = {option.name: option for option in OPTIONS}

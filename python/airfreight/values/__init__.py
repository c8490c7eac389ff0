"""Codecs: a value of Python to bytes and back, one module for each family.

A codec serves exactly the types that it registers: a subclass may carry what the codec would lose.
Types are found by name, so that no library is imported to look at a value.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from airfreight._imports import loading
from airfreight.errors import InvalidError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from airfreight._core import Sink, Writer


class Options(NamedTuple):
    """What the settings say on formats. Codecs take what their format knows.

    Attributes:
        compression: "snappy", "zstd", "lz4" or "none".
        format: of tables: "parquet" or "arrow" (the file format of Arrow IPC).
        pickle: whether what nothing else keeps is pickled. (Reading asks the settings.)
        describe: what the row tells of a value: "full", "schema" or "size".
        preview_rows: of a table, that the row shows.
        redact: patterns of names whose cells it does not show.
    """

    compression: str = "snappy"
    format: str = "parquet"
    pickle: bool = False
    describe: str = "schema"
    preview_rows: int = 0
    redact: tuple[str, ...] = ()


DEFAULTS = Options()


class Form(NamedTuple):
    """What an object is called and said to be.

    Attributes:
        extension: of its key.
        content_type: of the object.
        may_start_over: whether what is written may turn out to be wrong: the codec abandons its
            sink then, and opens another.
    """

    extension: str
    content_type: str
    may_start_over: bool = False


class NewSink(Protocol):
    """Opens what a codec writes to."""

    def __call__(self, form: Form | None = None, /) -> Sink | Writer:
        """A sink for an object of this form; None: the codec's own."""


class Payload(NamedTuple):
    """What a codec made of a value.

    Attributes:
        body: the object's bytes: the sink that was written to, or buffers in their order. These are
            views of the value's own memory where that is possible; the value must not change while
            they are sent.
        rows: for tabular values.
        summary: one line for people: types and sizes, no contents.
        columns: label and dtype of each column; an array has one without a label.
        form: of the object where it is another than the codec's own and the body no sink.
        pickled: whether it is a pickle, or holds one.
        nulls: of each column, how many of its cells are null, -1 where that would cost a look at
            them; empty: not known of any.
        sample: a table of the first rows, of a value that tells them only once.
    """

    body: Sink | Writer | Sequence[Buffer]
    summary: str
    rows: int | None = None
    columns: Sequence[tuple[Any, str]] = ()
    form: Form | None = None
    pickled: bool = False
    nulls: Sequence[int] = ()
    sample: Any = None


class Codec(Protocol):
    """What each module of this package offers."""

    #: `_xcom_type` of its references.
    TYPE: str
    #: Extension of its object keys.
    EXTENSION: str
    #: Content type of its objects.
    CONTENT_TYPE: str

    def encode(self, value: Any, options: Options, new_sink: NewSink, /) -> Payload:
        """Encodes a value. TypeError when it can't be kept exactly, naming the place.

        `options` is for codecs whose format has some, `new_sink` for those that write: they call it
        when nothing can be refused any more, and return what it gave as the body. (One that starts
        again, because what it wrote turned out to be wrong, abandons that sink before the next; its
        form says beforehand that it may.) A codec with a second form says there which it is; its
        readers go by the bytes.
        """

    def decode(self, data: memoryview) -> Any:
        """Decodes the verified bytes of an object."""


# Full name of a type -> module of its codec, and the name in it where it is not the module itself.
# Those whose values always go to the store.
_BY_CLASS = {
    "airfreight.files.File": "files",
    "airfreight.mapped.MappableDict": "mappable",
    "airfreight.mapped.MappableList": "mappable",
    "builtins.bytearray": "binary:BYTEARRAY",
    "builtins.bytes": "binary",
    "builtins.memoryview": "binary:MEMORYVIEW",
    "numpy.clongdouble": "_npz:SCALAR",
    "numpy.complex256": "_npz:SCALAR",  # numpy before 1.25
    "numpy.float128": "_npz:SCALAR",  # numpy before 1.25
    "numpy.longdouble": "_npz:SCALAR",
    "numpy.longlong": "_npz:SCALAR",
    "numpy.ma.MaskedArray": "_npz:MASKED",  # numpy 2
    "numpy.ma.core.MaskedArray": "_npz:MASKED",  # numpy 1
    "numpy.ndarray": "numpy_",
    "numpy.rec.recarray": "_npz:RECORDS",  # numpy 2
    "numpy.recarray": "_npz:RECORDS",  # numpy 1
    "numpy.record": "_npz:SCALAR",
    "numpy.ulonglong": "_npz:SCALAR",
    "numpy.void": "_npz:SCALAR",
    "pandas.Categorical": "pandas_parts:CATEGORICAL",
    "pandas.CategoricalIndex": "pandas_parts:INDEX",
    "pandas.DataFrame": "pandas_",  # pandas 3
    "pandas.DatetimeIndex": "pandas_parts:INDEX",
    "pandas.Index": "pandas_parts:INDEX",
    "pandas.IntervalIndex": "pandas_parts:INDEX",
    "pandas.MultiIndex": "pandas_parts:INDEX",
    "pandas.PeriodIndex": "pandas_parts:INDEX",
    "pandas.RangeIndex": "pandas_parts:INDEX",
    "pandas.Series": "pandas_parts:SERIES",
    "pandas.TimedeltaIndex": "pandas_parts:INDEX",
    "pandas.core.arrays.categorical.Categorical": "pandas_parts:CATEGORICAL",
    "pandas.core.frame.DataFrame": "pandas_",  # pandas 1 and 2
    "pandas.core.indexes.base.Index": "pandas_parts:INDEX",
    "pandas.core.indexes.category.CategoricalIndex": "pandas_parts:INDEX",
    "pandas.core.indexes.datetimes.DatetimeIndex": "pandas_parts:INDEX",
    "pandas.core.indexes.interval.IntervalIndex": "pandas_parts:INDEX",
    "pandas.core.indexes.multi.MultiIndex": "pandas_parts:INDEX",
    "pandas.core.indexes.period.PeriodIndex": "pandas_parts:INDEX",
    "pandas.core.indexes.range.RangeIndex": "pandas_parts:INDEX",
    "pandas.core.indexes.timedeltas.TimedeltaIndex": "pandas_parts:INDEX",
    "pandas.core.series.Series": "pandas_parts:SERIES",
    "polars.dataframe.frame.DataFrame": "polars_:FRAME",
    "polars.lazyframe.frame.LazyFrame": "polars_:LAZY_FRAME",
    "polars.series.series.Series": "polars_:SERIES",
    "pyarrow.ipc.RecordBatchStreamReader": "arrow_:READER",
    "pyarrow.lib.ChunkedArray": "arrow_:CHUNKED_ARRAY",
    "pyarrow.lib.RecordBatch": "arrow_:BATCH",
    "pyarrow.lib.RecordBatchReader": "arrow_:READER",
    "pyarrow.lib.Table": "arrow_:TABLE",
}
# As `_BY_CLASS`, of types of which each has many classes, which the codec tells apart.
_BY_BASE = {
    "pandas.api.extensions.ExtensionArray": "pandas_parts:ARRAY",
    "pandas.core.arrays.base.ExtensionArray": "pandas_parts:ARRAY",
    "pyarrow.lib.Array": "arrow_:ARRAY",
}
# Values of other types that give Arrow tables: the protocol's method and the codec. Not those of
# packages whose types have codecs of their own: what is not registered there is refused.
_BY_PROTOCOL = ("__arrow_c_stream__", "arrow_:STREAM")
_NOT_BY_PROTOCOL = frozenset(("numpy", "pandas", "polars", "pyarrow"))
_BY_TYPE = {
    "airfreight.File": "files",
    "bundle": "bundle",
    "bytearray": "binary:BYTEARRAY",
    "bytes": "binary",
    "document": "document",
    "json": "json_",
    "mappable": "mappable",
    "memoryview": "binary:MEMORYVIEW",
    "numpy.generic": "_npz:SCALAR",
    "numpy.ma.MaskedArray": "_npz:MASKED",
    "numpy.ndarray": "numpy_",
    "numpy.recarray": "_npz:RECORDS",
    "pandas.Categorical": "pandas_parts:CATEGORICAL",
    "pandas.DataFrame": "pandas_",
    "pandas.Index": "pandas_parts:INDEX",
    "pandas.Series": "pandas_parts:SERIES",
    "pandas.array": "pandas_parts:ARRAY",
    "pickle": "pickle_",
    "polars.DataFrame": "polars_:FRAME",
    "polars.LazyFrame": "polars_:LAZY_FRAME",
    "polars.Series": "polars_:SERIES",
    "pyarrow.Array": "arrow_:ARRAY",
    "pyarrow.ChunkedArray": "arrow_:CHUNKED_ARRAY",
    "pyarrow.RecordBatch": "arrow_:BATCH",
    "pyarrow.RecordBatchReader": "arrow_:READER",
    "pyarrow.Table": "arrow_:TABLE",
}
# Type -> extensions of its objects, first the one of the module: to check a row against the name of
# its object takes no library. Airflow's serializer gives text, which has no codec.
_EXTENSIONS = {
    "airflow.serde": ("json",),
    "airfreight.File": ("tar",),
    "bundle": ("zip",),
    "bytearray": ("bin",),
    "bytes": ("bin",),
    "document": ("json",),
    "json": ("json",),
    "mappable": ("zip",),
    "memoryview": ("zip",),
    "numpy.generic": ("npz",),
    "numpy.ma.MaskedArray": ("npz",),
    "numpy.ndarray": ("npy", "npz"),
    "numpy.recarray": ("npz",),
    "pandas.Categorical": ("parquet", "arrow"),
    "pandas.DataFrame": ("parquet", "arrow"),
    "pandas.Index": ("parquet", "arrow"),
    "pandas.Series": ("parquet", "arrow"),
    "pandas.array": ("parquet", "arrow"),
    "pickle": ("pkl",),
    "polars.DataFrame": ("parquet", "arrow"),
    "polars.LazyFrame": ("parquet", "arrow"),
    "polars.Series": ("parquet", "arrow"),
    "pyarrow.Array": ("arrows",),
    "pyarrow.ChunkedArray": ("arrows",),
    "pyarrow.RecordBatch": ("arrows",),
    "pyarrow.RecordBatchReader": ("arrows",),
    "pyarrow.Table": ("arrows",),
}


#: Before the name of a class whose codec an installed package has.
_FOREIGN = "@"
#: Between the package and the class in an `_xcom_type`: so that a reader without the codec knows
#: what to install.
_OF_PACKAGE = ":"
#: Labels that an error names.
_SHOWN_LABELS = 20
#: The type whose objects are not read into memory.
FILE_TYPE = "airfreight.File"
#: The type whose objects are read only where the settings allow it.
PICKLE_TYPE = "pickle"


def class_name(cls: type) -> str:
    """The full name of a class, by which codecs are found."""
    return f"{cls.__module__}.{cls.__qualname__}"


def package_of(cls: type) -> str:
    """The name of the package of a class; empty where it names none."""
    module: Any = cls.__module__  # None, or whatever somebody has set.
    return module.partition(".")[0] if isinstance(module, str) else ""


def for_value(value: Any) -> Codec | None:
    """The codec of a value that always goes to the store; None for all others.

    Raises:
        UnsupportedError: the codec needs a library that is not there.
    """
    cls = type(value)
    place = _BY_CLASS.get(class_name(cls))
    if place is None or only_looks(cls):  # type: ignore[arg-type]
        place = _other_place(cls)  # type: ignore[arg-type]
    return _load(place) if place is not None else None


@lru_cache(maxsize=1024)
def only_looks(cls: type) -> bool:
    """Whether a class only calls itself by the name of one that is registered."""
    name = class_name(cls)
    if name not in _BY_CLASS:
        return False
    module = sys.modules.get(cls.__module__)
    return getattr(module, cls.__name__, None) is not cls


@lru_cache(maxsize=1024)
def _other_place(cls: type) -> str | None:
    """The codec of a class that is not registered itself."""
    package = package_of(cls)
    if package in sys.stdlib_module_names or only_looks(cls):
        return None
    ours = package in _NOT_BY_PROTOCOL
    if not ours and _registered().has(class_name(cls)):
        return f"{_FOREIGN}{class_name(cls)}"
    for base in cls.__mro__[1:]:
        if place := _BY_BASE.get(class_name(base)):
            return place
    method, place = _BY_PROTOCOL
    if ours or not hasattr(cls, method):
        return None
    # A subclass of what has a codec may hold more than the codec keeps.
    return place if not base_of(cls) else None


def _registered() -> Any:
    with loading:
        from airfreight.values import _foreign as foreign

    return foreign


def is_own(name: str) -> bool:
    """Whether a class of this full name is none that other packages may have a codec for."""
    package = name.partition(".")[0]
    return name in _BY_CLASS or package in _NOT_BY_PROTOCOL or package in sys.stdlib_module_names


def forget() -> None:
    """Forgets what was found out about classes (for tests)."""
    _other_place.cache_clear()
    only_looks.cache_clear()


def for_type(name: str) -> Codec | None:
    """The codec of an `_xcom_type`; None when this release has none. Raises as `for_value`."""
    place = _BY_TYPE.get(name)
    if place is not None:
        return _load(place, name)
    package, separator, its = name.partition(_OF_PACKAGE)
    if not separator:
        return None
    codec: Codec = _registered().reading_codec(its, package)
    return codec


def types() -> list[str]:
    """Each `_xcom_type` that has a codec, without those of other packages."""
    return list(_BY_TYPE)


def extensions(kind: str) -> tuple[str, ...]:
    """The extensions that objects of an `_xcom_type` may have; none when its codec is not here."""
    found = _EXTENSIONS.get(kind)
    if found is None and _OF_PACKAGE in kind:
        try:
            codec: Any = for_type(kind)
        except UnsupportedError:
            return ()  # Which whoever wants the value is told.
        found = codec.EXTENSIONS
    return found or ()


def reads_once(codec: Any, value: Any) -> bool:
    """Whether a value, or a part of it, is used up by being encoded: there is no second attempt."""
    if getattr(codec, "READS_ONCE", False):
        return True
    return getattr(codec, "NESTING", False) and bool(codec.reads_once(value))


def embed(value: Any, options: Options) -> tuple[str, bytes] | None:
    """A value that has a codec, for a document that holds it: the codec's type and bytes.

    Raises:
        TypeError: the value can't be kept exactly.
    """
    codec = for_value(value)
    if codec is None:
        return None
    body: Any = codec.encode(value, options, new_sink).body
    if hasattr(body, "getvalue"):
        return codec.TYPE, body.getvalue()
    return codec.TYPE, b"".join(body)


def new_sink(_form: Form | None = None, /) -> Sink:
    """A sink that keeps what is written to it."""
    with loading:
        from airfreight._core import Sink

    return Sink()


def base_of(cls: type) -> str:
    """The name of a registered type that a class inherits from; empty when there is none."""
    for base in cls.__mro__[1:]:
        if place := _BY_CLASS.get(class_name(base)):
            # By its public name, as in references.
            return next(kind for kind, its in _BY_TYPE.items() if its == place)
    return ""


def _load(place: str, kind: str = "") -> Codec:
    if place.startswith(_FOREIGN):
        its: Codec = _registered().codec(place.removeprefix(_FOREIGN))
        return its
    module, _, name = place.partition(":")
    try:
        with loading:
            found = import_module(f"airfreight.values.{module}")
    except ModuleNotFoundError as error:
        kind = kind or next((kind for kind, its in _BY_TYPE.items() if its == place), "table")
        raise UnsupportedError(
            f"a {kind} can't be kept or read here, because {error.name} is not installed in this "
            "environment."
        ) from error
    codec: Codec = getattr(found, name) if name else found
    return codec


def library_of(kind: Any) -> str | None:
    """The libraries that read objects of an `_xcom_type`, and their versions; None: it is we."""
    if not isinstance(kind, str):
        return None
    package, separator, _ = kind.partition(_OF_PACKAGE)
    if separator:
        return f"the package {package!r} {_registered().version_of(package)}"
    name = kind.partition(".")[0]
    if name not in _NOT_BY_PROTOCOL:
        return None
    names = (name, "pyarrow") if name == "pandas" else (name,)
    return " and ".join(
        f"{it} {getattr(sys.modules.get(it), '__version__', 'of this environment')}" for it in names
    )


def unreadable(what: str, kind: Any, error: Exception) -> UnsupportedError | None:
    """The error for bytes that are what was written, and that a library here can't read.

    None where what reads them is no library's: then they are not what was written.
    """
    library = library_of(kind)
    if library is None:
        return None
    return UnsupportedError(
        f"{what} can't be read as {kind} ({type(error).__name__}: {error}) by {library}. If "
        "another release wrote it, which has more types, read it with that one, or convert the "
        "value before it is pushed."
    )


def shown(label: Any) -> str:
    """A key or a label for a message, of bounded length."""
    text = repr(label)
    return text if len(text) <= 60 else f"{text[:59]}…"


def require_labels(labels: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Raises InvalidError for a column that a frame does not have, naming those that it has."""
    missing = next((label for label in wanted if label not in labels), None)
    if missing is None and None not in wanted:
        return
    names = ", ".join(map(repr, labels[:_SHOWN_LABELS]))
    more = f" and {len(labels) - _SHOWN_LABELS} more" if len(labels) > _SHOWN_LABELS else ""
    has = f"it has {names}{more}" if labels else "it has none"
    raise InvalidError(f"the frame has no column {missing!r}; {has}")


def human_bytes(size: int) -> str:
    """A size for people, in decimal units: "29.2 MB"."""
    number = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{int(number)} bytes" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"

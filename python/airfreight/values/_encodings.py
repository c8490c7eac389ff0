"""Which of Parquet's encodings a column is written with, chosen from a sample of it.

A pure function of the sample, its type and the compression: the same frame gives the same file on
every machine. For each encoding that the type allows, the bytes of a value are estimated from the
sample and the time of writing and reading it from a table of costs; the choice is the cheapest one
that is not larger than what a writer's defaults (a dictionary where it fits, else plain values,
compressed) make of the column.

Encodings: https://parquet.apache.org/docs/file-format/data-pages/encodings/. All of them are read
by pyarrow 12, DuckDB 0.10, polars 1.0 and later (pyarrow 11 lacks DELTA_LENGTH_BYTE_ARRAY, polars
0.20.0 BYTE_STREAM_SPLIT of columns with nulls); nothing of what is newer is written.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as is_

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Rows that are looked at: a part of them, within these bounds, in blocks that are spread over
#: the frame. Neighbours tell of order, distant rows of how many different values there are.
SAMPLE_ROWS = 8 << 10
_MIN_SAMPLE_ROWS = 1 << 10
_BLOCKS = 4

#: Nanoseconds that a byte of the object is worth: sent and fetched once each at 2 Gbit/s.
_BYTE = 8.0
#: A choice may be larger than the default by this: an estimate is no more exact than that.
_TOLERANCE = 1.005
#: Where Parquet's writers give a dictionary up and go on with plain values
#: (parquet/properties.h, DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT).
_DICTIONARY_BYTES = 1 << 20
#: Nanoseconds to compress and to decompress a byte that gets smaller, measured with Arrow 25.
_CODEC_COSTS = {"snappy": (2.2, 1.1), "lz4": (2.2, 0.6), "zstd": (3.6, 1.3), "none": (0.0, 0.0)}
#: The same of a byte that does not, which all of them soon give up on.
_FUTILE = 0.3
#: DELTA_BINARY_PACKED as Arrow writes it: values of a block, and of a part with a width of its own.
_DELTA_BLOCK = 128
_DELTA_PART = 32
#: Bytes of the texts of each block that a codec is tried on.
_CODEC_BYTES = 16 << 10
#: What is left of the four bytes of a plain length.
_PLAIN_LENGTH = 0.3
#: Texts whose common beginnings are measured, and bytes of each that are looked at.
_PREFIX_TEXTS = 512
_PREFIX_BYTES = 64


_TEXTS = (is_.is_string, is_.is_large_string, is_.is_binary, is_.is_large_binary)


class Choice(NamedTuple):
    """How a column is written.

    Attributes:
        encoding: "PLAIN", "DICTIONARY", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT",
            "DELTA_LENGTH_BYTE_ARRAY" or "DELTA_BYTE_ARRAY".
        compress: whether its pages are compressed.
    """

    encoding: str
    compress: bool


class _Candidate(NamedTuple):
    """A choice with its estimates, both for one value that is not null."""

    choice: Choice
    bytes: float
    nanoseconds: float


def blocks(rows: int) -> list[tuple[int, int]]:
    """Beginning and end of the blocks of rows that a sample is made of."""
    size = min(rows, max(_MIN_SAMPLE_ROWS, min(SAMPLE_ROWS, rows // 32)))
    if size == rows:
        edges = [rows * number // _BLOCKS for number in range(_BLOCKS + 1)]
        return [(start, stop) for start, stop in itertools.pairwise(edges) if start < stop]
    length = size // _BLOCKS
    gap = (rows - length) / (_BLOCKS - 1)
    return [(int(number * gap), int(number * gap) + length) for number in range(_BLOCKS)]


def leaves(path: str, sample: Sequence[pa.Array]) -> Iterator[tuple[str, list[pa.Array]]]:
    """The columns that Parquet makes of a field, by their paths, with their part of the sample."""
    kind = sample[0].type
    if isinstance(kind, pa.BaseExtensionType):
        yield from leaves(path, [part.storage for part in sample])
    elif is_.is_struct(kind):
        for number in range(kind.num_fields):
            name = kind.field(number).name
            yield from leaves(f"{path}.{name}", [part.field(number) for part in sample])
    elif is_.is_map(kind):
        yield from leaves(f"{path}.key_value.key", [_within(part, part.keys) for part in sample])
        yield from leaves(f"{path}.key_value.value", [_within(part, part.items) for part in sample])
    elif is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        yield from leaves(f"{path}.list.element", [part.flatten() for part in sample])
    else:
        yield path, list(sample)


def _within(maps: pa.Array, children: pa.Array) -> pa.Array:
    start, stop = (maps.offsets[at].as_py() for at in (0, -1)) if len(maps) else (0, 0)
    return children.slice(start, stop - start)


def choose(sample: Sequence[pa.Array], rows: int, compression: str) -> Choice:
    """Chooses for one column of Parquet.

    Args:
        sample: what `blocks` says of it, in order; of a type that is not nested.
        rows: of a row group, which is what a dictionary serves.
        compression: the name of the codec that the file is written with, or "none".
    """
    kind = sample[0].type
    if is_.is_dictionary(kind):
        return Choice("DICTIONARY", compress=True)
    present = [part for part in (part.drop_null() for part in sample) if len(part)]
    taken = sum(map(len, sample))
    count = sum(map(len, present))
    if is_.is_boolean(kind) or is_.is_null(kind) or count < 2:
        return Choice("PLAIN", compress=True)
    codec = _Codec(compression)
    values = rows * count / max(1, taken)
    if _is_number(kind):
        candidates = _numbers(kind, present, values, codec)
    elif any(is_text(kind) for is_text in _TEXTS):
        candidates = _texts(present, values, codec)
    elif is_.is_decimal(kind) or is_.is_fixed_size_binary(kind):
        width = kind.bit_width / 8
        estimate = _dictionary(present, width, values)
        wanted = estimate is not None and _dictionary_bytes(estimate, width, values) < width
        return Choice("DICTIONARY" if wanted else "PLAIN", compress=True)
    else:
        return Choice("PLAIN", compress=True)
    # The first one, or the second where the first can't be, is what a writer does by default.
    limit = _TOLERANCE * candidates[0].bytes
    fitting = [one for one in candidates if one.bytes <= limit]
    return min(fitting, key=lambda one: one.nanoseconds + _BYTE * one.bytes).choice


class _Codec:
    """Measures what a codec makes of bytes."""

    def __init__(self, name: str) -> None:
        self._codec = None if name == "none" else pa.Codec("lz4_raw" if name == "lz4" else name)
        self._compress, self._decompress = _CODEC_COSTS[name]

    @property
    def works(self) -> bool:
        """Whether there is one."""
        return self._codec is not None

    def ratio(self, data: Any) -> float:
        """The part that is left of some bytes; 1 where they don't get smaller."""
        size = memoryview(data).nbytes
        if self._codec is None or size == 0:
            return 1.0
        return min(1.0, float(self._codec.compress(data).size) / size)

    def nanoseconds(self, ratio: float) -> float:
        """What a byte costs, written and read, of which that part is left."""
        if self._codec is None:
            return 0.0
        return _FUTILE if ratio > 0.98 else self._compress + self._decompress


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        is_.is_integer(kind)
        or is_.is_temporal(kind)
        or is_.is_float32(kind)
        or is_.is_float64(kind)
    )


# --- Numbers --------------------------------------------------------------------------------------


def _numbers(
    kind: pa.DataType, parts: Sequence[pa.Array], values: float, codec: _Codec
) -> list[_Candidate]:
    floating = is_.is_floating(kind)
    arrays = [_numpy(part) for part in parts]
    # Parquet has no integers of fewer than 32 bits.
    if arrays[0].dtype.itemsize < 4:
        arrays = [array.astype(np.int32) for array in arrays]
    width = arrays[0].dtype.itemsize
    flat = np.concatenate(arrays)
    ratio = codec.ratio(flat)
    found = [
        _Candidate(
            Choice("PLAIN", compress=True), width * ratio, 11 + width * codec.nanoseconds(ratio)
        ),
        _Candidate(Choice("PLAIN", compress=False), width, 11),
    ]
    if floating:
        streams = np.ascontiguousarray(flat.view(np.uint8).reshape(-1, width).T)
        ratio = codec.ratio(streams)
        # Most streams are noise, which costs nothing: this is far cheaper than of values.
        futile = width * _FUTILE + width * (1 - ratio) * codec.nanoseconds(ratio)
        found.append(
            _Candidate(Choice("BYTE_STREAM_SPLIT", compress=True), width * ratio, 13 + futile)
        )
    else:
        size = _delta_bytes(arrays)
        # Small, and then often regular: worth the codec's look at it.
        compress = size < width / 4
        found.append(_Candidate(Choice("DELTA_BINARY_PACKED", compress=compress), size, 10 + size))
    return _with_dictionary(found, parts, width, values)


def _numpy(array: pa.Array) -> np.ndarray[Any, Any]:
    """The numbers that Parquet keeps of an array without nulls."""
    kind = array.type
    if is_.is_temporal(kind):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    numbers: np.ndarray[Any, Any] = array.to_numpy(zero_copy_only=False)
    return numbers


def _delta_bytes(arrays: Sequence[np.ndarray[Any, Any]]) -> float:
    """Bytes of a value in DELTA_BINARY_PACKED."""
    width = arrays[0].dtype.itemsize
    unsigned, signed = np.dtype(f"u{width}"), np.dtype(f"i{width}")
    # They wrap around, as Parquet's do. What lies between two blocks of the sample is no step.
    steps = np.concatenate([np.diff(array.view(unsigned)) for array in arrays]).view(signed)
    if not len(steps):
        return float(width)
    bits = 8 * width
    whole = len(steps) // _DELTA_BLOCK
    if whole:
        table = steps[: whole * _DELTA_BLOCK].reshape(whole, _DELTA_BLOCK)
    else:
        table = steps.reshape(1, -1)
    above = (table - table.min(axis=1, keepdims=True)).view(unsigned)
    if whole:
        above = above.reshape(-1, _DELTA_PART)
    widths = np.frexp(above.max(axis=1).astype(np.float64))[1]  # The exponent counts the bits.
    overhead = (4 + bits // 16) / _DELTA_BLOCK
    return float(np.minimum(widths, bits).mean() / 8 + overhead)


# --- Texts ----------------------------------------------------------------------------------------


def _texts(parts: Sequence[pa.Array], values: float, codec: _Codec) -> list[_Candidate]:
    shapes = [_buffers(part) for part in parts]
    lengths = [np.diff(offsets) for _, offsets in shapes]
    count = sum(map(len, lengths))
    mean = sum(len(text) for text, _ in shapes) / count
    ratio = codec.ratio(np.concatenate([text[:_CODEC_BYTES] for text, _ in shapes]))
    squeezing = mean * codec.nanoseconds(ratio)
    length_bytes = _delta_bytes(lengths)
    # Plain lengths stand between the texts, where any codec makes little of them, but is kept busy.
    plain = mean * ratio + _PLAIN_LENGTH if codec.works else mean + 4
    found = [
        _Candidate(
            Choice("PLAIN", compress=True),
            plain,
            20 + 0.85 * mean + (mean + 4) * codec.nanoseconds(plain / (mean + 4)),
        ),
        _Candidate(Choice("PLAIN", compress=False), mean + 4, 20 + 0.85 * mean),
        _Candidate(
            Choice("DELTA_LENGTH_BYTE_ARRAY", compress=True),
            mean * ratio + length_bytes,
            45 + 0.85 * mean + squeezing,
        ),
        _Candidate(
            Choice("DELTA_LENGTH_BYTE_ARRAY", compress=False),
            mean + length_bytes,
            45 + 0.85 * mean,
        ),
    ]
    shared, prefix_bytes = _shared_prefixes(*shapes[len(shapes) // 2])
    if shared > 1:
        rest = mean - shared
        found.append(
            _Candidate(
                Choice("DELTA_BYTE_ARRAY", compress=False),
                rest + length_bytes + prefix_bytes,
                75 + 0.85 * mean,
            )
        )
    return _with_dictionary(found, parts, mean + 4, values)


def _buffers(array: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Bytes of an array of texts without nulls, and where each begins, the last end included."""
    wide = is_.is_large_string(array.type) or is_.is_large_binary(array.type)
    dtype = np.dtype(np.int64 if wide else np.int32)
    _, offsets_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype)[array.offset : array.offset + len(array) + 1]
    if data_buffer is None:
        return np.empty(0, np.uint8), offsets - offsets[0]
    data = np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]]
    return data, offsets - offsets[0]


def _shared_prefixes(
    data: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any]
) -> tuple[float, float]:
    """Bytes that a text has in common with the one before it, and the bytes of that number."""
    starts = offsets[:-1][:_PREFIX_TEXTS]
    lengths = np.diff(offsets)[:_PREFIX_TEXTS]
    if len(starts) < 3 or not len(data):
        return 0.0, 0.0
    columns = np.arange(_PREFIX_BYTES)
    places = np.minimum(starts[:, None] + columns, len(data) - 1)
    heads = np.where(columns < lengths[:, None], data[places], 0)
    inside = columns < np.minimum(lengths[1:], lengths[:-1])[:, None]
    same = (heads[1:] == heads[:-1]) & inside
    shared = np.minimum.accumulate(same, axis=1).sum(axis=1)
    return float(shared.mean()), _delta_bytes([shared.astype(np.int32)])


# --- Dictionaries ---------------------------------------------------------------------------------


class _Dictionary(NamedTuple):
    """What a sample tells of a dictionary.

    Attributes:
        distinct: how many different values a row group has, estimated.
        code_bytes: of the number that stands for a value.
    """

    distinct: float
    code_bytes: float


def _with_dictionary(
    found: list[_Candidate], parts: Sequence[pa.Array], width: float, values: float
) -> list[_Candidate]:
    """Candidates with that of a dictionary, before the others, when there is one.

    The first one that is there says what a codec makes of values, of which a dictionary consists.
    """
    estimate = _dictionary(parts, width, values)
    if estimate is None:
        return found
    # The hash table leaves the processor's caches as it grows.
    nanoseconds = 12 + 4 * math.log10(estimate.distinct + 1)
    if len(found) > 3:  # Texts are hashed and copied.
        nanoseconds += 12 + 0.4 * width
    size = _dictionary_bytes(estimate, found[0].bytes, values)
    return [_Candidate(Choice("DICTIONARY", compress=True), size, nanoseconds), *found]


def _dictionary_bytes(dictionary: _Dictionary, width: float, values: float) -> float:
    """Bytes of a value."""
    return dictionary.code_bytes + dictionary.distinct * width / max(1.0, values)


def _dictionary(parts: Sequence[pa.Array], width: float, values: float) -> _Dictionary | None:
    """The dictionary of some values; None where Parquet's writers would give it up."""
    lengths = [len(part) for part in parts]
    first = parts[0]
    if len(first) > 64 and len(first.unique()) == len(first):
        return None
    codes = pa.concat_arrays(parts).dictionary_encode()
    numbers = codes.indices.to_numpy()
    distinct = _distinct(numbers, len(codes.dictionary), lengths, values)
    if distinct * width > _DICTIONARY_BYTES:
        return None
    bits = max(1, math.ceil(math.log2(distinct + 1)))
    # Repeats are counted where they are long; else numbers are packed.
    changes = (1 + np.count_nonzero(numbers[1:] != numbers[:-1])) / len(numbers)
    index = bits / 8
    if changes < 1 / 8:
        index = min(index, changes * (1 + math.ceil(bits / 8)))
    return _Dictionary(distinct, index)


def _distinct(
    numbers: np.ndarray[Any, Any], seen: int, lengths: Sequence[int], values: float
) -> float:
    """How many different values a row group has, from a sample in which these were seen.

    By the values of which one block has all, and two (Chao's second estimator: A. Chao, Estimating
    the population size for capture-recapture data with unequal catchability, Biometrics 43, 1987).
    What one block is full of and no other has is a column in order, whose number grows with it.
    """
    blocks_of = np.zeros(seen, dtype=np.int8)
    start = 0
    for length in lengths:
        block = np.zeros(seen, dtype=bool)
        block[numbers[start : start + length]] = True
        blocks_of += block
        start += length
    once, twice = np.bincount(blocks_of, minlength=3)[1:3].tolist()
    grown = seen * values / max(1, len(numbers))
    if len(lengths) < 2 or len(numbers) >= values:
        return float(min(seen, grown))
    if not once:
        return float(seen)
    if not twice:
        return max(float(seen), grown)
    share = (len(lengths) - 1) / len(lengths)
    unseen: float = share * once * once / (2 * twice)
    return min(seen + unseen, grown)

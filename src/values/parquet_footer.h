#pragma once

/// \file
/// \brief The footer of a Parquet file that is put together of others.

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "airfreight/bytes.h"
#include "airfreight/result.h"

namespace airfreight {

/// A file whose row groups become those of a larger one.
struct ParquetPart {
  ByteView footer;    ///< Its FileMetaData, without the length and the magic bytes that follow.
  int64_t shift = 0;  ///< How much further its pages lie in the larger file.
};

/// An entry of a file's key-value metadata.
using ParquetEntry = std::pair<std::string, std::string>;

/// \brief Makes the end of a Parquet file whose pages are those of `parts`, in their order: the
/// FileMetaData, its length and the magic bytes.
///
/// All offsets are shifted and row groups are numbered anew; everything else is taken over as it
/// is, known or not, from the first part what is of the whole file. With one writer's choices for
/// all parts the result is, byte for byte, what that writer makes of all row groups in one file.
///
/// https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift, in
/// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
///
/// Threads: any. Errors: Invalid when a footer is none, or the parts' schemas differ; TooLarge
/// beyond what the format counts (32,767 row groups, 2 GiB of footer); Unsupported when a part is
/// encrypted.
///
/// \param parts one at least.
/// \param entries come before those of the first part.
Result<std::string> MergeParquetFooters(std::span<const ParquetPart> parts,
                                        std::span<const ParquetEntry> entries);

}  // namespace airfreight

#pragma once

/// \file
/// \brief What the database row holds in place of a value. Specification: `formats/reference.md`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "airfreight/coordinate.h"
#include "airfreight/result.h"

namespace airfreight {

/// The highest version that is read, the field `_airfreight`. A reader refuses a higher one.
inline constexpr int64_t kReferenceVersion = 2;
/// What is written: the lowest version whose readers read the value rightly.
inline constexpr int64_t kPlainReferenceVersion = 1;
inline constexpr int64_t kSealedReferenceVersion = 2;
/// What a reference may take in the row, as compact UTF-8 JSON. `preview`, then `columns`, then
/// `summary`, are cut to fit; only names that alone exceed it (a coordinate of thousands of
/// characters) may go above.
inline constexpr size_t kMaxReferenceBytes = 4096;

/// \brief A parsed reference. Plain data; a parsed one is well-formed but not yet trusted: only
/// Freight decides whether it may be followed.
struct Reference {
  std::string backend;  ///< `_xcom_backend`: "s3", "gs", "az", "redis", "file", "memory".
  std::string type;     ///< `_xcom_type`: "pandas.DataFrame", "numpy.ndarray", "bytes", "json", …
  std::string store;    ///< The configured name of the store that holds the object.
  std::string uri;      ///< Store root + "/" + object key, keys as they are (not encoded again).
  Coordinate coordinate;
  int64_t attempt = 0;          ///< Airflow's try number; 0 when not known.
  std::optional<int64_t> rows;  ///< For tabular values.
  uint64_t size_bytes = 0;      ///< Length of the object.
  /// "crc32c:<8 hex>" or "sha256:<64 hex>" of the object's bytes; of a sealed one without its
  /// envelope.
  std::string digest;
  /// Where the tail begins that has a checksum of its own (`ValueWriter::SealBlocks`), and that.
  /// Of a sealed object the place is one in the value, and the checksum that of its frames.
  struct Tail {
    uint64_t offset = 0;
    std::string digest;  ///< "crc32c:<8 hex>"
  };
  std::optional<Tail> tail;
  std::string etag;     ///< The store's version at the time of writing; a hint.
  std::string summary;  ///< One line for people.
  std::vector<std::pair<std::string, std::string>> columns;  ///< (label, dtype)
  /// For each of `columns`, how many of its cells are null; -1 where that is not known. Empty: of
  /// none of them it is.
  std::vector<int64_t> nulls;
  bool columns_cut = false;  ///< `columns` lists only the first ones.
  /// The first rows, each as the texts of its first cells. Only where the settings ask for it.
  std::vector<std::vector<std::string>> preview;
  std::string written;    ///< UTC, "2026-01-01T00:03:11Z".
  std::string expires;    ///< As `written`: from when on it is not read; empty: it stays.
  std::string write;      ///< The write id that the object's metadata carries: 32 hex digits.
  std::string host;       ///< The machine that wrote it, of `file` only: one may not see another's.
  std::string owner;      ///< The deployment that wrote it; empty when it has no id.
  int64_t sealed = 0;     ///< The version of `formats/sealed.md`; 0: the object is not encrypted.
  std::string signature;  ///< "<key id>:<hex>"; empty when unsigned.

  /// The compact JSON that goes into the row, with `preview`, `columns` and `summary` cut to
  /// kMaxReferenceBytes. ASCII only: labels and cells are escaped, so that any database keeps them.
  /// Invalid when a field holds what JSON text in a database cannot (NUL, broken UTF-8 outside of
  /// what is for people); TooLarge when names alone take more than Parse reads (64 KiB).
  Result<std::string> ToJson() const;

  /// Parses what the row holds, whatever a database did to it (key order, spacing, number form).
  /// Invalid when it is not a reference or a field is missing or of the wrong type, naming the
  /// field; NewerFormat when its version is above kReferenceVersion.
  static Result<Reference> Parse(std::string_view json);
};

}  // namespace airfreight

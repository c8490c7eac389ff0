#pragma once

/// \file
/// \brief Bytes as they cross Airfreight: views of someone else's memory, a body made of several
/// such views, and memory that we own.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "airfreight/result.h"

namespace airfreight {

using ByteView = std::span<const std::byte>;

inline ByteView AsBytes(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}
inline std::string_view AsText(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// \brief The bytes of one object, as a list of segments that lie anywhere in memory.
///
/// A `.npy` file is a small header and the array's own memory; a Parquet file is the list of
/// chunks that its sink received. Neither is copied together to be sent.
///
/// Threads: immutable after construction, may be read by several. Ownership: views only; the
/// memory must outlive the Body and must not change while a store sends it (a retry sends the
/// same bytes again).
///
/// A SHA-256 that a store has made for a signature is kept beside the bytes, for the next sending;
/// copies share it.
class Body {
 public:
  Body() = default;
  explicit Body(ByteView bytes) { Append(bytes); }
  explicit Body(std::string_view text) : Body(AsBytes(text)) {}

  void Append(ByteView bytes) {
    if (bytes.empty()) return;
    segments_.push_back(bytes);
    size_ += bytes.size();
    sha256_ = std::make_shared<Memo>();
  }
  const std::vector<ByteView>& segments() const { return segments_; }
  uint64_t size() const { return size_; }

  /// In lower-case hexadecimal; empty when no one has made it yet.
  std::string known_sha256() const {
    if (sha256_ == nullptr) return {};
    const std::lock_guard lock(sha256_->mutex);
    return sha256_->text;
  }
  void RememberSha256(std::string text) const {
    if (sha256_ == nullptr) return;
    const std::lock_guard lock(sha256_->mutex);
    sha256_->text = std::move(text);
  }

 private:
  struct Memo {
    std::mutex mutex;
    std::string text;
  };

  std::vector<ByteView> segments_;
  uint64_t size_ = 0;
  std::shared_ptr<Memo> sha256_;  // Of exactly these segments: Append makes a new one.
};

/// \brief Owned, uninitialised, fixed-capacity memory. Large ones are page mappings for which the
/// kernel is asked for huge pages: half of the cost of receiving 128 MiB was page faults.
///
/// Threads: as a `std::vector`. Ownership: move-only.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  /// Memory for `capacity` bytes with `size()` 0. TooLarge when the system has none.
  static Result<Buffer> Allocate(size_t capacity);

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  ByteView view() const { return {data_, size_}; }

  /// Sets the length; `size` must not exceed `capacity()`.
  void Resize(size_t size);
  /// Copies `bytes` to the end; false, with nothing changed, when they do not fit.
  bool Append(ByteView bytes);
  /// As Append, but moves to memory of twice the size when they do not fit.
  Status AppendGrowing(ByteView bytes);

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t mapped_ = 0;  // Length of the mapping, 0 when the memory came from malloc.
};

}  // namespace airfreight

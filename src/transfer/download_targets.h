#pragma once

/// \file
/// \brief A download's bytes in memory, or in a file.

#include <atomic>
#include <string>
#include <utility>

#include "airfreight/bytes.h"
#include "store/file/posix.h"
#include "transfer/download.h"

namespace airfreight {

/// One allocation of the object's size, on huge pages where it is large.
class BufferTarget final : public DownloadTarget {
 public:
  BufferTarget() = default;
  /// With what is there already.
  explicit BufferTarget(Buffer buffer) : buffer_(std::move(buffer)) {}
  Status Reserve(uint64_t size) override;
  Status WriteAt(uint64_t offset, ByteView bytes) override;
  Result<ByteView> ReadBack(uint64_t offset, uint64_t most) override;
  Status Truncate(uint64_t size) override;
  Buffer Take() { return std::move(buffer_); }

 private:
  Buffer buffer_;
};

/// \brief A file that appears under its name when it is complete.
///
/// Threads: as DownloadTarget. Ownership: of a temporary file in the same folder, `.<random>.tmp`,
/// which is removed with it unless it was kept. Blocking: as the file system does. Errors: Denied,
/// Unavailable, Invalid, each with the path.
class FileTarget final : public DownloadTarget {
 public:
  explicit FileTarget(std::string path) : path_(std::move(path)) {}
  FileTarget(const FileTarget&) = delete;
  FileTarget& operator=(const FileTarget&) = delete;
  ~FileTarget() override;

  /// Makes the temporary file: to be called before the first request, so that a folder that cannot
  /// be written to costs none.
  Status Create();
  Status Reserve(uint64_t size) override;
  Status WriteAt(uint64_t offset, ByteView bytes) override;
  Result<ByteView> ReadBack(uint64_t offset, uint64_t most) override;
  Status Truncate(uint64_t size) override;
  /// Syncs it and gives it its name; replaces what is there.
  Status Keep();

 private:
  Error AtPath(Error error) const;

  const std::string path_;
  std::string temporary_;  // Empty when there is none.
  posix::Descriptor file_;
  std::atomic<uint64_t> written_{0};
  Buffer piece_;
};

}  // namespace airfreight

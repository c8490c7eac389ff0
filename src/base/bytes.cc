#include "airfreight/bytes.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace airfreight {
namespace {

// Size and alignment of a huge page on x86-64 and on arm64 with 4 KiB pages
// (kernel.org/doc/html/latest/admin-guide/mm/transhuge.html).
constexpr size_t kHugePage = size_t{2} << 20;
// From here on a mapping of its own is worth its system calls: below, malloc reuses warm pages.
constexpr size_t kMappingThreshold = size_t{4} << 20;

constexpr size_t RoundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// A mapping aligned to a huge page; nullptr when the system refuses.
std::byte* MapHuge(size_t length) {
  const size_t room = length + kHugePage;
  void* raw = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* base = static_cast<std::byte*>(raw);
  const size_t misaligned = reinterpret_cast<uintptr_t>(base) % kHugePage;
  const size_t head = misaligned == 0 ? 0 : kHugePage - misaligned;
  if (head > 0) munmap(base, head);
  if (room - head > length) munmap(base + head + length, room - head - length);
  // Refused by kernels without transparent huge pages; ordinary pages serve as well, only slower.
  (void)madvise(base + head, length, MADV_HUGEPAGE);
  return base + head;
}

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

Buffer::~Buffer() {
  if (mapped_ != 0) {
    munmap(data_, mapped_);
  } else {
    std::free(data_);
  }
}

Result<Buffer> Buffer::Allocate(size_t capacity) {
  Buffer buffer;
  if (capacity >= kMappingThreshold && capacity <= SIZE_MAX - 2 * kHugePage) {
    buffer.mapped_ = RoundUp(capacity, kHugePage);
    buffer.data_ = MapHuge(buffer.mapped_);
    if (buffer.data_ == nullptr) buffer.mapped_ = 0;
  } else if (capacity > 0) {
    buffer.data_ = static_cast<std::byte*>(std::malloc(capacity));
  }
  if (capacity > 0 && buffer.data_ == nullptr) {
    return Fail(ErrorCode::kTooLarge, fmt::format("no memory for {} bytes", capacity));
  }
  buffer.capacity_ = capacity;
  return buffer;
}

void Buffer::Resize(size_t size) { size_ = std::min(size, capacity_); }

bool Buffer::Append(ByteView bytes) {
  if (bytes.size() > capacity_ - size_) return false;
  if (!bytes.empty()) std::memcpy(data_ + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
  return true;
}

Status Buffer::AppendGrowing(ByteView bytes) {
  if (Append(bytes)) return {};
  AIRFREIGHT_ASSIGN_OR_RETURN(Buffer larger,
                              Allocate(std::max(capacity_ * 2, size_ + bytes.size())));
  larger.Append(view());
  larger.Append(bytes);
  *this = std::move(larger);
  return {};
}

}  // namespace airfreight

#pragma once

// Objects as files of Python: what a codec writes into, and ranges that it reads.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "airfreight/freight.h"
#include "calls.h"
#include "transfer/segmented_buffer.h"

namespace airfreight {

// What the row tells of a value: rows, summary, columns, their nulls, whether there are more
// columns, preview. As `airfreight.values.Told`.
using Told = std::tuple<std::optional<int64_t>, std::string,
                        std::vector<std::pair<std::string, std::string>>, std::vector<int64_t>,
                        bool, std::vector<std::vector<std::string>>>;

inline void Describe(Told told, ValueInfo* info) {
  std::tie(info->rows, info->summary, info->columns, info->nulls, info->columns_cut,
           info->preview) = std::move(told);
}

// Memory that a codec writes into. One thread at a time.
class PySink {
 public:
  PySink() = default;
  PySink(const PySink&) = delete;
  PySink& operator=(const PySink&) = delete;

  size_t Write(const BytesLike& bytes) {
    if (closed_) throw nb::value_error("write to a closed sink");
    // As with a writer below: a library closes its file after an error too, and writes to that end.
    if (!given_up_) ValueOrRaise(buffer_.Append(View(bytes)));
    return bytes.size();
  }
  void Abandon(bool /*hurry*/) { given_up_ = true; }
  uint64_t size() const { return buffer_.size(); }
  void Close() { closed_ = true; }
  bool closed() const { return closed_; }
  Body body() const {
    // What was written since is not there.
    if (given_up_) throw nb::value_error("the value was given up");
    return buffer_.body();
  }

  nb::bytes GetValue() const {
    std::string all;
    const Body written = body();
    all.reserve(written.size());
    for (ByteView segment : written.segments()) all += AsText(segment);
    return nb::bytes(all.data(), all.size());
  }

 private:
  SegmentedBuffer buffer_;
  bool closed_ = false;
  bool given_up_ = false;
};

// A value on its way to the store while a codec is still writing it.
class PyWriter {
 public:
  PyWriter(std::unique_ptr<ValueWriter> writer, ValueInfo info)
      : writer_(std::move(writer)), info_(std::move(info)) {}
  PyWriter(const PyWriter&) = delete;
  PyWriter& operator=(const PyWriter&) = delete;
  ~PyWriter() {
    // Waits for the requests that are under way.
    const nb::gil_scoped_release release;
    writer_.reset();
  }

  size_t Write(const BytesLike& bytes) {
    if (closed_) throw nb::value_error("write to a closed sink");
    // A library that was told of an error closes its file nevertheless, and writes to that end.
    if (given_up_) return bytes.size();
    given_up_ = true;
    WithoutGil([&](const Context& context) { return writer_->Append(View(bytes), context); });
    given_up_ = false;
    return bytes.size();
  }
  uint64_t size() const { return writer_->size(); }
  void Close() { closed_ = true; }
  bool closed() const { return closed_; }

  nb::bytes SealBlocks() {
    std::string table;
    for (const uint32_t block : writer_->SealBlocks()) {
      for (int shift = 0; shift < 32; shift += 8) {
        table += static_cast<char>(static_cast<unsigned char>(block >> shift));
      }
    }
    return nb::bytes(table.data(), table.size());
  }

  std::string Finish(Told told) {
    Describe(std::move(told), &info_);
    // What was written since is not there.
    if (given_up_) throw nb::value_error("the value was given up");
    closed_ = true;
    return WithoutGil([&](const Context& context) -> Result<std::string> {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reference reference, writer_->Finish(info_, context));
      return reference.ToJson();
    });
  }

  std::string write() const { return writer_->write(); }

  // All bytes of an object that could not be finished, if none of them was sent in parts.
  nb::object Unsent() const {
    const Body body = writer_->Unsent();
    if (body.size() == 0) return nb::none();
    std::string all;
    all.reserve(body.size());
    for (ByteView segment : body.segments()) all += AsText(segment);
    return nb::bytes(all.data(), all.size());
  }

  // Neither polls signals nor raises: it is called because something was raised. `hurry`: that was
  // to end the task, so that it must not take seconds.
  void Abandon(bool hurry) {
    given_up_ = true;
    const nb::gil_scoped_release release;
    Context context;
    if (hurry) context.cancelled = [] { return true; };
    (void)writer_->Abandon(context);
  }

 private:
  std::unique_ptr<ValueWriter> writer_;
  ValueInfo info_;
  bool closed_ = false;
  bool given_up_ = false;
};

// Ranges of an object.
class PyReader {
 public:
  explicit PyReader(std::unique_ptr<ValueReader> reader) : reader_(std::move(reader)) {}

  uint64_t size() const { return reader_->size(); }
  uint64_t tail_offset() const { return reader_->tail_offset(); }

  nb::object ReadTail() {
    return Memory(WithoutGil([&](const Context& context) { return reader_->ReadTail(context); }));
  }

  void SetBlocks(const BytesLike& table) {
    std::vector<uint32_t> blocks(table.size() / 4);
    for (size_t i = 0; i < blocks.size() * 4; ++i) {
      blocks[i / 4] |= uint32_t{table.data()[i]} << (8 * (i % 4));
    }
    ValueOrRaise(reader_->SetBlocks(std::move(blocks)));
  }

  void SetChecks(const std::vector<std::tuple<uint64_t, uint64_t, uint32_t>>& given) {
    std::vector<ValueReader::Check> checks;
    for (const auto& [offset, length, crc] : given) checks.push_back({offset, length, crc});
    ValueOrRaise(reader_->SetChecks(std::move(checks)));
  }

  nb::list Read(const std::vector<std::pair<uint64_t, uint64_t>>& wanted) {
    std::vector<ValueReader::Range> ranges;
    for (const auto& [offset, length] : wanted) ranges.push_back({offset, length});
    auto buffers =
        WithoutGil([&](const Context& context) { return reader_->Read(ranges, context); });
    nb::list views;
    for (Buffer& buffer : buffers) views.append(Memory(std::move(buffer)));
    return views;
  }

 private:
  std::unique_ptr<ValueReader> reader_;
};

}  // namespace airfreight

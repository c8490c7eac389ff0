#include "values/parquet_footer.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace airfreight {
namespace {

// Types of the compact protocol.
enum Type : uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
  kUuid = 13,
};

// Structs of Parquet lie in four others at most.
constexpr int kDeepest = 16;

tl::unexpected<Error> Broken() {
  return Fail(ErrorCode::kInvalid, "the footer of a Parquet file is broken");
}

struct Field {
  int16_t id = 0;
  uint8_t type = kStop;  // kStop: the end of the struct.
};

struct ListHead {
  uint64_t count = 0;
  uint8_t type = kStop;
};

class Input {
 public:
  explicit Input(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }

  // `last` is the number of the field before it in the same struct.
  Result<Field> ReadField(int16_t last) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const uint8_t head, Byte());
    Field field;
    field.type = head & 0x0f;
    if (field.type == kStop) return field;
    if (const int delta = head >> 4; delta != 0) {
      if (last > std::numeric_limits<int16_t>::max() - delta) return Broken();
      field.id = static_cast<int16_t>(last + delta);
    } else {
      AIRFREIGHT_ASSIGN_OR_RETURN(const int64_t id, Integer());
      if (id < std::numeric_limits<int16_t>::min() || id > std::numeric_limits<int16_t>::max()) {
        return Broken();
      }
      field.id = static_cast<int16_t>(id);
    }
    return field;
  }

  Result<ListHead> ReadList() {
    AIRFREIGHT_ASSIGN_OR_RETURN(const uint8_t head, Byte());
    ListHead list;
    list.type = head & 0x0f;
    list.count = head >> 4;
    if (list.count == 15) {
      AIRFREIGHT_ASSIGN_OR_RETURN(list.count, Varint());
    }
    // Each element takes a byte at least, so that no count makes a reader go on for ever.
    if (list.count > text_.size() - at_) return Broken();
    return list;
  }

  Result<int64_t> Integer() {
    AIRFREIGHT_ASSIGN_OR_RETURN(const uint64_t bits, Varint());
    return static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
  }

  // The bytes of a value, as they are. In a list a bool takes a byte, as a field none.
  Result<std::string_view> Value(uint8_t type, bool in_list = false) {
    const size_t start = at_;
    AIRFREIGHT_RETURN_IF_ERROR(Skip(type, in_list, 0));
    return text_.substr(start, at_ - start);
  }

 private:
  Result<uint8_t> Byte() {
    if (at_ == text_.size()) return Broken();
    return static_cast<uint8_t>(text_[at_++]);
  }

  Result<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      AIRFREIGHT_ASSIGN_OR_RETURN(const uint8_t byte, Byte());
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return Broken();
  }

  Status Advance(uint64_t bytes) {
    if (bytes > text_.size() - at_) return Broken();
    at_ += static_cast<size_t>(bytes);
    return {};
  }

  Status Skip(uint8_t type, bool in_list, int depth) {  // NOLINT(misc-no-recursion): kDeepest.
    if (depth > kDeepest) return Broken();
    switch (type) {
      case kTrue:
      case kFalse:
        return in_list ? Advance(1) : Status();
      case kByte:
        return Advance(1);
      case kI16:
      case kI32:
      case kI64: {
        AIRFREIGHT_RETURN_IF_ERROR(Varint());
        return {};
      }
      case kDouble:
        return Advance(8);
      case kUuid:
        return Advance(16);
      case kBinary: {
        AIRFREIGHT_ASSIGN_OR_RETURN(const uint64_t length, Varint());
        return Advance(length);
      }
      case kList:
      case kSet: {
        AIRFREIGHT_ASSIGN_OR_RETURN(const ListHead list, ReadList());
        for (uint64_t i = 0; i < list.count; ++i) {
          AIRFREIGHT_RETURN_IF_ERROR(Skip(list.type, true, depth + 1));
        }
        return {};
      }
      case kMap: {
        AIRFREIGHT_ASSIGN_OR_RETURN(const uint64_t count, Varint());
        if (count == 0) return {};
        AIRFREIGHT_ASSIGN_OR_RETURN(const uint8_t types, Byte());
        if (count > text_.size() - at_) return Broken();
        for (uint64_t i = 0; i < count; ++i) {
          AIRFREIGHT_RETURN_IF_ERROR(Skip(types >> 4, true, depth + 1));
          AIRFREIGHT_RETURN_IF_ERROR(Skip(types & 0x0f, true, depth + 1));
        }
        return {};
      }
      case kStruct:
        for (int16_t last = 0;;) {
          AIRFREIGHT_ASSIGN_OR_RETURN(const Field field, ReadField(last));
          if (field.type == kStop) return {};
          AIRFREIGHT_RETURN_IF_ERROR(Skip(field.type, false, depth + 1));
          last = field.id;
        }
      default:
        return Broken();
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

class Output {
 public:
  void WriteField(int16_t last, Field field) {
    const int delta = field.id - last;
    if (delta > 0 && delta < 16) {
      Byte(static_cast<uint8_t>(delta << 4 | field.type));
    } else {
      Byte(field.type);
      Integer(field.id);
    }
  }
  void Stop() { Byte(kStop); }
  void List(ListHead list) {
    if (list.count < 15) {
      Byte(static_cast<uint8_t>(list.count << 4 | list.type));
    } else {
      Byte(static_cast<uint8_t>(0xf0U | list.type));
      Varint(list.count);
    }
  }
  void Integer(int64_t value) {
    Varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void Binary(std::string_view bytes) {
    Varint(bytes.size());
    Raw(bytes);
  }
  void Raw(std::string_view bytes) { text_ += bytes; }
  std::string Take() { return std::move(text_); }
  size_t size() const { return text_.size(); }

 private:
  void Byte(uint8_t byte) { text_ += static_cast<char>(byte); }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) Byte(static_cast<uint8_t>(value | 0x80));
    Byte(static_cast<uint8_t>(value));
  }

  std::string text_;
};

// Copies a struct. `edit` is asked for each field, and reads and writes its value where it returns
// true.
template <typename Edit>
Status CopyStruct(Input& in, Output& out, Edit edit) {
  int16_t last = 0;
  for (;;) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Field field, in.ReadField(last));
    if (field.type == kStop) break;
    out.WriteField(last, field);
    AIRFREIGHT_ASSIGN_OR_RETURN(const bool edited, edit(field));
    if (!edited) {
      AIRFREIGHT_ASSIGN_OR_RETURN(const std::string_view value, in.Value(field.type));
      out.Raw(value);
    }
    last = field.id;
  }
  out.Stop();
  return {};
}

// Writes an offset that is `shift` further. One of 0 or less is none.
Result<bool> CopyOffset(Input& in, Output& out, const Field& field, int64_t shift) {
  if (field.type != kI64) return Broken();
  AIRFREIGHT_ASSIGN_OR_RETURN(int64_t offset, in.Integer());
  if (offset > 0) {
    if (offset > std::numeric_limits<int64_t>::max() - shift) return Broken();
    offset += shift;
  }
  out.Integer(offset);
  return true;
}

Status CopyColumnMetaData(Input& in, Output& out, int64_t shift) {
  return CopyStruct(in, out, [&](const Field& field) -> Result<bool> {
    switch (field.id) {
      case 9:   // data_page_offset
      case 10:  // index_page_offset
      case 11:  // dictionary_page_offset
      case 14:  // bloom_filter_offset
        return CopyOffset(in, out, field, shift);
      default:
        return false;
    }
  });
}

Status CopyColumnChunk(Input& in, Output& out, int64_t shift) {
  return CopyStruct(in, out, [&](const Field& field) -> Result<bool> {
    switch (field.id) {
      case 2:  // file_offset
      case 4:  // offset_index_offset
      case 6:  // column_index_offset
        return CopyOffset(in, out, field, shift);
      case 3:  // meta_data
        if (field.type != kStruct) return Broken();
        AIRFREIGHT_RETURN_IF_ERROR(CopyColumnMetaData(in, out, shift));
        return true;
      case 8:  // crypto_metadata
      case 9:  // encrypted_column_metadata
        return Fail(ErrorCode::kUnsupported, "columns of a Parquet file are encrypted");
      default:
        return false;
    }
  });
}

Status CopyRowGroup(Input& in, Output& out, int64_t shift, int16_t ordinal) {
  return CopyStruct(in, out, [&](const Field& field) -> Result<bool> {
    switch (field.id) {
      case 1: {  // columns
        if (field.type != kList) return Broken();
        AIRFREIGHT_ASSIGN_OR_RETURN(const ListHead list, in.ReadList());
        if (list.count > 0 && list.type != kStruct) return Broken();
        out.List(list);
        for (uint64_t i = 0; i < list.count; ++i) {
          AIRFREIGHT_RETURN_IF_ERROR(CopyColumnChunk(in, out, shift));
        }
        return true;
      }
      case 5:  // file_offset
        return CopyOffset(in, out, field, shift);
      case 7: {  // ordinal
        if (field.type != kI16) return Broken();
        AIRFREIGHT_RETURN_IF_ERROR(in.Integer());
        out.Integer(ordinal);
        return true;
      }
      default:
        return false;
    }
  });
}

// What is needed of the footer of a part.
struct Footer {
  std::vector<std::pair<Field, std::string_view>> fields;  // In their order; values as they are.

  std::optional<std::string_view> Find(int16_t id, uint8_t type) const {
    for (const auto& [field, value] : fields) {
      if (field.id == id && field.type == type) return value;
    }
    return std::nullopt;
  }
};

// The fields of FileMetaData.
constexpr int16_t kSchema = 2;
constexpr int16_t kRows = 3;
constexpr int16_t kRowGroups = 4;
constexpr int16_t kEntries = 5;
constexpr int16_t kEncryption = 8;

Result<Footer> ReadFooter(ByteView bytes) {
  Input in(AsText(bytes));
  Footer footer;
  for (int16_t last = 0;;) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Field field, in.ReadField(last));
    if (field.type == kStop) break;
    if (field.id <= last) return Broken();
    if (field.id == kEncryption) {
      return Fail(ErrorCode::kUnsupported, "a Parquet file is encrypted");
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const std::string_view value, in.Value(field.type));
    footer.fields.emplace_back(field, value);
    last = field.id;
  }
  if (!in.at_end() || !footer.Find(kSchema, kList) || !footer.Find(kRows, kI64) ||
      !footer.Find(kRowGroups, kList)) {
    return Broken();
  }
  return footer;
}

Result<int64_t> SumRows(const std::vector<Footer>& footers) {
  int64_t sum = 0;
  for (const Footer& footer : footers) {
    Input in(*footer.Find(kRows, kI64));
    AIRFREIGHT_ASSIGN_OR_RETURN(const int64_t rows, in.Integer());
    if (rows < 0 || rows > std::numeric_limits<int64_t>::max() - sum) return Broken();
    sum += rows;
  }
  return sum;
}

Status WriteRowGroups(const std::vector<Footer>& footers, std::span<const ParquetPart> parts,
                      Output& out) {
  std::vector<std::pair<Input, ListHead>> lists;
  uint64_t count = 0;
  for (const Footer& footer : footers) {
    Input in(*footer.Find(kRowGroups, kList));
    AIRFREIGHT_ASSIGN_OR_RETURN(const ListHead list, in.ReadList());
    if (list.count > 0 && list.type != kStruct) return Broken();
    count += list.count;
    lists.emplace_back(in, list);
  }
  // RowGroup.ordinal is an i16.
  if (count > static_cast<uint64_t>(std::numeric_limits<int16_t>::max())) {
    return Fail(ErrorCode::kTooLarge, "a Parquet file can't have more than 32,767 row groups");
  }
  out.List({count, kStruct});
  int16_t ordinal = 0;
  for (size_t i = 0; i < lists.size(); ++i) {
    auto& [in, list] = lists[i];
    for (uint64_t j = 0; j < list.count; ++j) {
      AIRFREIGHT_RETURN_IF_ERROR(CopyRowGroup(in, out, parts[i].shift, ordinal++));
    }
  }
  return {};
}

Status WriteEntries(const Footer& footer, std::span<const ParquetEntry> entries, Output& out) {
  Input in("");
  ListHead list;
  if (const auto old = footer.Find(kEntries, kList)) {
    in = Input(*old);
    AIRFREIGHT_ASSIGN_OR_RETURN(list, in.ReadList());
    if (list.count > 0 && list.type != kStruct) return Broken();
  }
  out.List({entries.size() + list.count, kStruct});
  for (const auto& [key, value] : entries) {
    out.WriteField(0, {1, kBinary});
    out.Binary(key);
    out.WriteField(1, {2, kBinary});
    out.Binary(value);
    out.Stop();
  }
  for (uint64_t i = 0; i < list.count; ++i) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const std::string_view entry, in.Value(kStruct, true));
    out.Raw(entry);
  }
  return {};
}

}  // namespace

Result<std::string> MergeParquetFooters(std::span<const ParquetPart> parts,
                                        std::span<const ParquetEntry> entries) {
  if (parts.empty()) return Fail(ErrorCode::kInvalid, "a Parquet file of no parts has no schema");
  std::vector<Footer> footers;
  for (const ParquetPart& part : parts) {
    if (part.shift < 0) return Fail(ErrorCode::kInvalid, "a part lies before its own beginning");
    AIRFREIGHT_ASSIGN_OR_RETURN(Footer footer, ReadFooter(part.footer));
    footers.push_back(std::move(footer));
    if (footers.back().Find(kSchema, kList) != footers.front().Find(kSchema, kList)) {
      return Fail(ErrorCode::kInvalid, "the parts of a Parquet file differ in their schemas");
    }
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const int64_t rows, SumRows(footers));

  Output out;
  int16_t last = 0;
  bool entries_written = entries.empty();
  const auto write_entries = [&]() -> Status {
    out.WriteField(last, {kEntries, kList});
    last = kEntries;
    entries_written = true;
    return WriteEntries(footers.front(), entries, out);
  };
  for (const auto& [field, value] : footers.front().fields) {
    if (!entries_written && field.id >= kEntries) {
      AIRFREIGHT_RETURN_IF_ERROR(write_entries());
      if (field.id == kEntries) continue;
    }
    out.WriteField(last, field);
    last = field.id;
    if (field.id == kRows) {
      out.Integer(rows);
    } else if (field.id == kRowGroups) {
      AIRFREIGHT_RETURN_IF_ERROR(WriteRowGroups(footers, parts, out));
    } else {
      out.Raw(value);
    }
  }
  if (!entries_written) AIRFREIGHT_RETURN_IF_ERROR(write_entries());
  out.Stop();

  const size_t length = out.size();
  if (length > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return Fail(ErrorCode::kTooLarge, "the footer of a Parquet file can't have more than 2 GiB");
  }
  std::string end;
  for (int shift = 0; shift < 32; shift += 8) end += static_cast<char>(length >> shift & 0xff);
  out.Raw(end);
  out.Raw("PAR1");
  return out.Take();
}

}  // namespace airfreight

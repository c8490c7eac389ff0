#include "airfreight/coordinate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "airfreight/store.h"
#include "base/digest.h"
#include "base/hex.h"
#include "base/percent.h"
#include "base/utf8.h"

namespace airfreight {
namespace {

// What stays as it is in a part of a key. All of S3's "safe characters"
// (docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html) that no file system, URL or
// shell gives a meaning to.
constexpr ByteSet kPartCharacters = ByteSet::AlphanumericAnd("._-");

// Never comes out of percent-encoding, so that it can mark the two special forms of a part.
constexpr char kMark = '~';
// Half of a SHA-256: no two names that anybody finds collide.
constexpr size_t kHashDigits = 32;
constexpr size_t kMaxExtension = 16;

// How long a part may get before it is shortened, and what its readable head may take then.
struct PartLimit {
  size_t whole;
  size_t head;
};
constexpr PartLimit kFieldLimit{kMaxPartBytes, 160};
// Ids are UUIDs, of 36 characters; five parts of 200 bytes would not fit into a key.
constexpr PartLimit kIdLimit{40, 7};

// "map_-9223372036854775808" is shorter than "write-" and an id.
constexpr size_t kMaxInstance = 6 + kIdLimit.whole;
constexpr size_t kMaxFile = kMaxPartBytes + 1 + kMaxExtension;
constexpr size_t kLongestKey =
    3 * (kMaxPartBytes + 1) + kMaxInstance + 1 + std::string_view("_put/").size() + kMaxFile;
static_assert(kFieldLimit.head + 1 + kHashDigits <= kFieldLimit.whole);
static_assert(kIdLimit.head + 1 + kHashDigits <= kIdLimit.whole);
static_assert(kMaxPrefixBytes + 1 + kLongestKey <= kMaxKeyBytes);

constexpr std::string_view kMapPrefix = "map_";
constexpr std::string_view kTiPrefix = "ti-";
constexpr std::string_view kWritePrefix = "write-";
constexpr std::string_view kPutFolder = "_put";

std::string Hash128(std::string_view bytes) {
  return HexEncode(Sha256(AsBytes(bytes))).substr(0, kHashDigits);
}

std::string Encode(std::string_view part, PartLimit limit) {
  if (part.empty()) return std::string(1, kMark);
  if (part == ".") return "%2E";
  if (part == "..") return "%2E%2E";
  std::string encoded = PercentEncode(part, kPartCharacters);
  if (encoded.size() <= limit.whole) return encoded;

  // The head ends between two characters, so that it decodes to readable text.
  std::string head;
  for (size_t pos = 0; pos < part.size();) {
    const size_t length = std::max<size_t>(1, Utf8LengthAt(part, pos));
    std::string next = PercentEncode(part.substr(pos, length), kPartCharacters);
    if (head.size() + next.size() > limit.head) break;
    head += next;
    pos += length;
  }
  return head + kMark + Hash128(part);
}

Result<std::string> Decode(std::string_view encoded, PartLimit limit) {
  if (encoded == std::string_view(&kMark, 1)) return std::string();
  const auto invalid = [] { return Fail(ErrorCode::kInvalid, "not a part of one of our keys"); };
  const size_t mark = encoded.find(kMark);
  const std::string_view plain = encoded.substr(0, mark);
  const std::optional<std::string> part = PercentDecode(plain);
  if (!part) return invalid();
  if (mark == std::string_view::npos) {
    // Whatever else would decode to the same (`%41`, `%2e`, a bare `.`) is not ours.
    if (Encode(*part, limit) != encoded) return invalid();
    return *part;
  }
  // A head is cut only where the next character, of 12 encoded bytes at most, would not have
  // fitted.
  const bool canonical = PercentEncode(*part, kPartCharacters) == plain &&
                         plain.size() <= limit.head && plain.size() + 12 > limit.head &&
                         IsLowerHex(encoded.substr(mark + 1), kHashDigits);
  if (!canonical) return invalid();
  return Fail(ErrorCode::kNotFound,
              "a part of this key was shortened to a hash: its name stands in the reference only");
}

// The text of an instance before its id is encoded; also what the coordinate's hash takes in.
std::string InstanceText(const Instance& instance, std::string_view id) {
  switch (instance.kind) {
    case Instance::Kind::kMap:
      return fmt::format("{}{}", kMapPrefix, instance.map_index);
    case Instance::Kind::kTi:
      return fmt::format("{}{}", kTiPrefix, id);
    case Instance::Kind::kWrite:
      return fmt::format("{}{}", kWritePrefix, id);
  }
  return {};
}

bool TakePrefix(std::string_view prefix, std::string_view* text) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

Result<Instance> DecodeInstance(std::string_view text) {
  std::string_view rest = text;
  if (TakePrefix(kMapPrefix, &rest)) {
    int64_t index = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    // Printing it again finds leading zeros and a minus zero.
    if (error == std::errc() && end == rest.data() + rest.size() && index >= -1 &&
        fmt::format("{}", index) == rest) {
      return Instance::Map(index);
    }
  } else if (TakePrefix(kTiPrefix, &rest)) {
    return Decode(rest, kIdLimit).map(&Instance::Ti);
  } else if (TakePrefix(kWritePrefix, &rest)) {
    return Decode(rest, kIdLimit).map(&Instance::Write);
  }
  return Fail(ErrorCode::kInvalid, "not the instance part of one of our keys");
}

bool IsExtension(std::string_view text) {
  return !text.empty() && text.size() <= kMaxExtension &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Status CheckText(std::string_view name, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} holds a NUL character, which databases cannot keep", name));
  }
  if (!IsUtf8(text)) {
    return Fail(
        ErrorCode::kInvalid,
        fmt::format("{} is not Unicode text (a lone surrogate, or bytes that are not UTF-8)",
                    name));
  }
  return {};
}

}  // namespace

std::string EncodePart(std::string_view part) { return Encode(part, kFieldLimit); }

Result<std::string> DecodePart(std::string_view encoded) { return Decode(encoded, kFieldLimit); }

Status Coordinate::Validate() const {
  AIRFREIGHT_RETURN_IF_ERROR(CheckText("the dag id", dag));
  AIRFREIGHT_RETURN_IF_ERROR(CheckText("the run id", run));
  AIRFREIGHT_RETURN_IF_ERROR(CheckText("the task id", task));
  AIRFREIGHT_RETURN_IF_ERROR(CheckText("the task instance's id", instance.id));
  AIRFREIGHT_RETURN_IF_ERROR(CheckText("the key", key));
  if (put_name) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckText("the name of an object put by hand", *put_name));
    if (!key.empty()) {
      return Fail(ErrorCode::kInvalid, "an object put by hand has a name and no XCom key");
    }
  }
  const bool mapped = instance.kind == Instance::Kind::kMap;
  if (mapped ? instance.map_index < -1 || !instance.id.empty() : instance.map_index != -1) {
    return Fail(ErrorCode::kInvalid,
                "an instance has either a map index of -1 or more, or the id of its task instance");
  }
  return {};
}

Result<std::string> Coordinate::ObjectKey(std::string_view extension) const {
  AIRFREIGHT_RETURN_IF_ERROR(Validate());
  if (!IsExtension(extension)) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("an extension is 1 to {} characters of a-z and 0-9, as in \"parquet\"",
                            kMaxExtension));
  }
  std::string out = EncodePart(dag);
  out += '/';
  out += EncodePart(run);
  out += '/';
  out += EncodePart(task);
  out += '/';
  out += InstanceText(instance, Encode(instance.id, kIdLimit));
  out += '/';
  if (put_name) {
    out += kPutFolder;
    out += '/';
  }
  out += EncodePart(put_name ? *put_name : key);
  out += '.';
  out += extension;
  return out;
}

Result<Coordinate> Coordinate::FromObjectKey(std::string_view object_key, std::string* extension) {
  const auto invalid = [] {
    return Fail(ErrorCode::kInvalid,
                "not one of our keys, which look like dag/run/task/map_-1/return_value.parquet");
  };
  const std::vector<std::string_view> parts = Split(object_key, '/');
  const bool by_hand = parts.size() == 6 && parts[4] == kPutFolder;
  if (parts.size() != 5 && !by_hand) return invalid();
  const std::string_view file = parts.back();
  const size_t dot = file.rfind('.');
  if (dot == std::string_view::npos || !IsExtension(file.substr(dot + 1))) return invalid();

  // Every part is looked at before a shortened one is reported, so that NotFound means "one of
  // ours".
  Result<std::string> fields[] = {DecodePart(parts[0]), DecodePart(parts[1]), DecodePart(parts[2]),
                                  DecodePart(file.substr(0, dot))};
  Result<Instance> instance = DecodeInstance(parts[3]);
  bool shortened = !instance;
  if (!instance && instance.error().code == ErrorCode::kInvalid) return invalid();
  for (const Result<std::string>& field : fields) {
    if (field) continue;
    if (field.error().code == ErrorCode::kInvalid) return invalid();
    shortened = true;
  }
  if (extension != nullptr) *extension = file.substr(dot + 1);
  if (shortened) {
    return Fail(
        ErrorCode::kNotFound,
        "a part of this key was shortened to a hash: its name stands in the reference only");
  }

  Coordinate coordinate;
  coordinate.dag = *std::move(fields[0]);
  coordinate.run = *std::move(fields[1]);
  coordinate.task = *std::move(fields[2]);
  coordinate.instance = *std::move(instance);
  if (by_hand) {
    coordinate.put_name = *std::move(fields[3]);
  } else {
    coordinate.key = *std::move(fields[3]);
  }
  if (!coordinate.Validate()) return invalid();
  return coordinate;
}

std::string Coordinate::Hash() const {
  // A length before each field: no text can be moved from one field into its neighbour.
  std::string text;
  const auto add = [&text](std::string_view field) {
    const uint64_t length = field.size();
    for (int shift = 56; shift >= 0; shift -= 8)
      text += static_cast<char>((length >> shift) & 0xFF);
    text += field;
  };
  add("airfreight.coordinate.v1");
  add(dag);
  add(run);
  add(task);
  add(InstanceText(instance, instance.id));
  add(put_name ? "put" : "key");
  add(put_name ? *put_name : key);
  return Hash128(text);
}

std::string Coordinate::ToString() const {
  std::string text = fmt::format("dag '{}', run '{}', task '{}', ", VisibleText(dag),
                                 VisibleText(run), VisibleText(task));
  switch (instance.kind) {
    case Instance::Kind::kMap:
      text += fmt::format("map index {}", instance.map_index);
      break;
    case Instance::Kind::kTi:
      text += fmt::format("task instance '{}'", VisibleText(instance.id));
      break;
    case Instance::Kind::kWrite:
      text += fmt::format("write '{}'", VisibleText(instance.id));
      break;
  }
  text += put_name ? fmt::format(", put '{}'", VisibleText(*put_name))
                   : fmt::format(", key '{}'", VisibleText(key));
  return text;
}

}  // namespace airfreight

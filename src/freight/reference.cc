#include "airfreight/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/digest.h"
#include "base/hex.h"
#include "base/host.h"
#include "base/json.h"
#include "base/time.h"
#include "base/utf8.h"
#include "freight/members.h"

namespace airfreight {
namespace {

// The largest text that is read, and so the largest that is written: sixteen times the usual limit,
// as names of thousands of characters, escaped, may exceed kMaxReferenceBytes.
constexpr size_t kMaxParsedBytes = size_t{64} << 10;
// A key id of a signature. It names a setting, so that it is short.
constexpr size_t kMaxKeyIdBytes = 64;

// Field names, in the order in which they are written: what a person looks for first comes first.
constexpr char kBackend[] = "_xcom_backend";
constexpr char kType[] = "_xcom_type";
constexpr char kVersion[] = "_airfreight";
constexpr char kStore[] = "store";
constexpr char kUri[] = "uri";
constexpr char kDag[] = "dag";
constexpr char kRun[] = "run";
constexpr char kTask[] = "task";
constexpr char kMap[] = "map";
constexpr char kTi[] = "ti";
constexpr char kWriter[] = "writer";
constexpr char kKey[] = "key";
constexpr char kPut[] = "put";
constexpr char kAttempt[] = "attempt";
constexpr char kRows[] = "rows";
constexpr char kSize[] = "size_bytes";
constexpr char kDigest[] = "digest";
constexpr char kTail[] = "tail";
constexpr char kEtag[] = "etag";
constexpr char kSummary[] = "summary";
constexpr char kColumns[] = "columns";
constexpr char kNulls[] = "nulls";
constexpr char kColumnsCut[] = "columns_cut";
constexpr char kPreview[] = "preview";
constexpr char kWritten[] = "written";
constexpr char kExpires[] = "expires";
constexpr char kWrite[] = "write";
constexpr char kHost[] = "host";
constexpr char kOwner[] = "owner";
constexpr char kSealed[] = "sealed";
constexpr char kSignature[] = "sig";

constexpr std::string_view kTailForm = "[offset, \"crc32c:<8 hex digits>\"]";
constexpr std::string_view kNullsForm = "a list of integers of -1 or more, one for each column";

tl::unexpected<Error> Malformed(std::string_view field, std::string_view expected) {
  return Fail(ErrorCode::kInvalid,
              fmt::format("malformed reference: field \"{}\" must be {}", field, expected));
}

bool IsCleanText(std::string_view text) {
  return text.find('\0') == std::string_view::npos && IsUtf8(text);
}

bool IsScheme(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

bool IsSignature(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > kMaxKeyIdBytes) return false;
  const std::string_view hex = text.substr(colon + 1);
  return !hex.empty() && IsLowerHex(hex, hex.size());
}

// What both directions hold to, so that whatever is written can be read. `summary`, `columns` and
// `preview` are for people only, and are made visible text in both directions instead.
Status CheckFields(const Reference& r) {
  constexpr std::string_view kText = "Unicode text without NUL";
  constexpr std::string_view kSomeText = "Unicode text without NUL, and not empty";
  if (!IsScheme(r.backend)) return Malformed(kBackend, "the scheme of a store, as in \"s3\"");
  for (const auto& [field, text] : {std::pair<const char*, const std::string&>{kType, r.type},
                                    {kStore, r.store},
                                    {kUri, r.uri}}) {
    if (text.empty() || !IsCleanText(text)) return Malformed(field, kSomeText);
  }
  for (const auto& [field, text] :
       {std::pair<const char*, const std::string&>{kEtag, r.etag}, {kOwner, r.owner}}) {
    if (!IsCleanText(text)) return Malformed(field, kText);
  }
  if (Status status = r.coordinate.Validate(); !status) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("malformed reference: {}", status.error().message));
  }
  if (r.attempt < 0) return Malformed(kAttempt, "an integer of 0 or more");
  if (r.rows && *r.rows < 0) return Malformed(kRows, "an integer of 0 or more");
  if (r.size_bytes > static_cast<uint64_t>(INT64_MAX)) return Malformed(kSize, "below 2^63");
  if (!DigestKindOf(r.digest)) {
    return Malformed(kDigest, "\"crc32c:<8 hex digits>\" or \"sha256:<64 hex digits>\"");
  }
  if (r.tail) {
    if (r.tail->offset > r.size_bytes) return Malformed(kTail, "within the object");
    if (DigestKindOf(r.tail->digest) != DigestKind::kCrc32c) return Malformed(kTail, kTailForm);
  }
  if (!r.nulls.empty() &&
      (r.nulls.size() != r.columns.size() ||
       std::any_of(r.nulls.begin(), r.nulls.end(), [](int64_t count) { return count < -1; }))) {
    return Malformed(kNulls, kNullsForm);
  }
  if (!ParseIso8601(r.written)) return Malformed(kWritten, "a UTC time, as 2026-01-01T00:03:11Z");
  if (!r.expires.empty() && !ParseIso8601(r.expires)) {
    return Malformed(kExpires, "a UTC time, as 2026-01-01T00:03:11Z");
  }
  if (!IsLowerHex(r.write, 32)) return Malformed(kWrite, "32 hexadecimal digits");
  if (!r.host.empty() &&
      (r.host.size() > kMaxHostBytes || VisibleText(r.host) != r.host || r.backend != "file")) {
    return Malformed(kHost, "the name of a host, of at most 64 bytes, and of \"file\" only");
  }
  if (!r.signature.empty() && !IsSignature(r.signature)) {
    return Malformed(kSignature, "\"<key id>:<hexadecimal digits>\"");
  }
  return {};
}

// ---------------------------------------------------------------------------------------- writing

/// Writes one flat JSON object, field by field.
class ObjectWriter {
 public:
  void Text(std::string_view name, std::string_view value) {
    Name(name);
    AppendJsonString(value, &out_);
  }
  void TextUnlessEmpty(std::string_view name, std::string_view value) {
    if (!value.empty()) Text(name, value);
  }
  void Integer(std::string_view name, int64_t value) {
    Name(name);
    out_ += fmt::format("{}", value);
  }
  /// `json` is a complete JSON value.
  void Json(std::string_view name, std::string_view json) {
    Name(name);
    out_ += json;
  }
  /// The members written so far, with commas between them and none at the ends.
  const std::string& members() const { return out_; }

 private:
  void Name(std::string_view name) {
    if (!out_.empty()) out_ += ',';
    AppendJsonString(name, &out_);
    out_ += ':';
  }
  std::string out_;
};

std::string QuotedAscii(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

// The longest beginning of `text`, with an ellipsis, whose JSON string takes at most `room` bytes;
// empty when not even one character fits. `text` itself when it fits.
std::string CutToFit(const std::string& text, size_t room) {
  if (QuotedAscii(text).size() <= room) return text;
  constexpr std::string_view kEllipsis = "…";
  const size_t overhead = QuotedAscii(kEllipsis).size();
  size_t kept = 0;
  size_t used = overhead;
  while (kept < text.size()) {
    const size_t length = std::max<size_t>(1, Utf8LengthAt(text, kept));
    used += QuotedAscii(std::string_view(text).substr(kept, length)).size() - 2;
    if (used > room) break;
    kept += length;
  }
  return kept == 0 ? std::string() : text.substr(0, kept) + std::string(kEllipsis);
}

// What `,"name":` takes in front of a value.
size_t NameCost(std::string_view name) { return name.size() + 4; }

/// A field that is a list, of which items are taken off the end until it fits.
class CuttableList {
 public:
  explicit CuttableList(std::string_view name) : name_(name) {}
  void Add(std::string item) {
    cost_ += item.size() + 1;
    items_.push_back(std::move(item));
  }
  void Pop() {
    cost_ -= items_.back().size() + 1;
    items_.pop_back();
  }
  bool empty() const { return items_.empty(); }
  /// Bytes of the whole field; 0 when it is left out, because it is empty.
  size_t cost() const { return items_.empty() ? 0 : cost_; }
  void WriteTo(ObjectWriter* out) const {
    if (!items_.empty()) out->Json(name_, fmt::format("[{}]", fmt::join(items_, ",")));
  }

 private:
  std::string_view name_;
  std::vector<std::string> items_;
  size_t cost_ = NameCost(name_) + 1;  // "[" and, for each item, "," or the last "]".
};

std::string TextList(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  quoted.reserve(texts.size());
  for (const std::string& text : texts) quoted.push_back(QuotedAscii(VisibleText(text)));
  return fmt::format("[{}]", fmt::join(quoted, ","));
}

}  // namespace

Result<std::string> Reference::ToJson() const {
  AIRFREIGHT_RETURN_IF_ERROR(CheckFields(*this));
  ObjectWriter head;
  head.Text(kBackend, backend);
  head.Text(kType, type);
  head.Integer(kVersion, sealed != 0 ? kSealedReferenceVersion : kPlainReferenceVersion);
  head.Text(kStore, store);
  head.Text(kUri, uri);
  head.Text(kDag, coordinate.dag);
  head.Text(kRun, coordinate.run);
  head.Text(kTask, coordinate.task);
  switch (coordinate.instance.kind) {
    case Instance::Kind::kMap:
      head.Integer(kMap, coordinate.instance.map_index);
      break;
    case Instance::Kind::kTi:
      head.Text(kTi, coordinate.instance.id);
      break;
    case Instance::Kind::kWrite:
      head.Text(kWriter, coordinate.instance.id);
      break;
  }
  if (coordinate.put_name) {
    head.Text(kPut, *coordinate.put_name);
  } else {
    head.Text(kKey, coordinate.key);
  }
  if (attempt != 0) head.Integer(kAttempt, attempt);
  if (rows) head.Integer(kRows, *rows);
  head.Integer(kSize, static_cast<int64_t>(size_bytes));
  head.Text(kDigest, digest);
  if (tail) head.Json(kTail, fmt::format("[{},{}]", tail->offset, QuotedAscii(tail->digest)));
  head.TextUnlessEmpty(kEtag, etag);

  ObjectWriter ending;
  ending.Text(kWritten, written);
  ending.TextUnlessEmpty(kExpires, expires);
  ending.Text(kWrite, write);
  ending.TextUnlessEmpty(kHost, host);
  ending.TextUnlessEmpty(kOwner, owner);
  if (sealed != 0) ending.Integer(kSealed, sealed);
  ending.TextUnlessEmpty(kSignature, signature);

  // Braces, and the comma before the ending.
  const size_t fixed = head.members().size() + ending.members().size() + 3;
  size_t room = kMaxReferenceBytes > fixed ? kMaxReferenceBytes - fixed : 0;
  const auto take = [&room](size_t bytes) { room -= std::min(room, bytes); };

  // The summary is promised its room first: the other two are cut before it is.
  std::string shown = VisibleText(summary);
  const size_t summary_cost = shown.empty() ? 0 : NameCost(kSummary) + QuotedAscii(shown).size();

  CuttableList pairs(kColumns);
  CuttableList counts(kNulls);
  CuttableList cells(kPreview);
  for (const auto& [label, dtype] : columns) pairs.Add(TextList({label, dtype}));
  for (const int64_t count : nulls) counts.Add(fmt::format("{}", count));
  for (const std::vector<std::string>& row : preview) cells.Add(TextList(row));

  bool cut = columns_cut;
  const auto fits = [&] {
    const size_t flag = cut ? NameCost(kColumnsCut) + std::string_view("true").size() : 0;
    return summary_cost + pairs.cost() + counts.cost() + cells.cost() + flag <= room;
  };
  while (!fits() && !cells.empty()) cells.Pop();
  while (!fits() && !pairs.empty()) {
    cut = true;
    pairs.Pop();
    if (!counts.empty()) counts.Pop();
  }
  if (!fits()) {
    take(cut ? NameCost(kColumnsCut) + std::string_view("true").size() : 0);
    take(NameCost(kSummary));
    shown = CutToFit(shown, room);
  }

  head.TextUnlessEmpty(kSummary, shown);
  pairs.WriteTo(&head);
  counts.WriteTo(&head);
  if (cut) head.Json(kColumnsCut, "true");
  cells.WriteTo(&head);
  std::string json = fmt::format("{{{},{}}}", head.members(), ending.members());
  if (json.size() > kMaxParsedBytes) {
    return Fail(
        ErrorCode::kTooLarge,
        fmt::format("the names of this XCom take {} bytes in its reference, where {} is the "
                    "most that is read",
                    json.size(), kMaxParsedBytes));
  }
  return json;
}

// ---------------------------------------------------------------------------------------- reading

namespace {

/// Takes typed fields out of the members; remembers the first that is wrong.
class FieldReader {
 public:
  explicit FieldReader(Members* members) : members_(members) {}

  bool Has(std::string_view name) const { return members_->find(name) != members_->end(); }

  std::string Text(std::string_view name) {
    Member* value = Required(name, Member::Kind::kText, "text");
    return value == nullptr ? std::string() : std::move(value->text);
  }
  std::string OptionalText(std::string_view name) { return Has(name) ? Text(name) : std::string(); }
  int64_t Integer(std::string_view name) {
    const Member* value = Required(name, Member::Kind::kInteger, "an integer of 64 bits");
    return value == nullptr ? 0 : value->integer;
  }
  bool OptionalBool(std::string_view name) {
    const auto entry = members_->find(name);
    if (entry == members_->end()) return false;
    const Member::Kind kind = entry->second.kind;
    if (kind != Member::Kind::kTrue && kind != Member::Kind::kFalse) Wrong(name, "true or false");
    return kind == Member::Kind::kTrue;
  }
  std::vector<std::pair<std::string, std::string>> OptionalColumns(std::string_view name) {
    constexpr std::string_view kExpected = "a list of pairs of texts";
    std::vector<std::pair<std::string, std::string>> columns;
    for (const MemberItem& item : OptionalList(name, kExpected)) {
      if (item.kind != MemberItem::Kind::kTexts || item.texts.size() != 2) {
        Wrong(name, kExpected);
        return {};
      }
      columns.emplace_back(VisibleText(item.texts[0]), VisibleText(item.texts[1]));
    }
    return columns;
  }
  std::vector<std::vector<std::string>> OptionalTexts(std::string_view name) {
    constexpr std::string_view kExpected = "a list of lists of texts";
    std::vector<std::vector<std::string>> rows;
    for (const MemberItem& item : OptionalList(name, kExpected)) {
      if (item.kind != MemberItem::Kind::kTexts) Wrong(name, kExpected);
      rows.emplace_back();
      for (const std::string& text : item.texts) rows.back().push_back(VisibleText(text));
    }
    return rows;
  }
  std::vector<int64_t> OptionalIntegers(std::string_view name, std::string_view expected) {
    std::vector<int64_t> integers;
    for (const MemberItem& item : OptionalList(name, expected)) {
      if (item.kind != MemberItem::Kind::kInteger) Wrong(name, expected);
      integers.push_back(item.integer);
    }
    return integers;
  }
  std::optional<Reference::Tail> OptionalTail(std::string_view name) {
    if (!Has(name)) return std::nullopt;
    const std::vector<MemberItem>& items = OptionalList(name, kTailForm);
    if (items.size() != 2 || items[0].kind != MemberItem::Kind::kInteger || items[0].integer < 0 ||
        items[1].kind != MemberItem::Kind::kText) {
      Wrong(name, kTailForm);
      return std::nullopt;
    }
    return Reference::Tail{static_cast<uint64_t>(items[0].integer), items[1].texts[0]};
  }
  void Wrong(std::string_view name, std::string_view expected) {
    if (status_) status_ = Malformed(name, expected);
  }
  const Status& status() const { return status_; }

 private:
  Member* Required(std::string_view name, Member::Kind kind, std::string_view expected) {
    const auto entry = members_->find(name);
    if (entry != members_->end() && entry->second.kind == kind) return &entry->second;
    Wrong(name, entry == members_->end() ? fmt::format("there ({})", expected) : expected);
    return nullptr;
  }

  const std::vector<MemberItem>& OptionalList(std::string_view name, std::string_view expected) {
    static const std::vector<MemberItem> kNone;
    if (!Has(name)) return kNone;
    const Member* value = Required(name, Member::Kind::kList, expected);
    return value == nullptr ? kNone : value->items;
  }

  Members* members_;
  Status status_;
};

void ReadInstance(FieldReader* fields, Instance* instance) {
  const int kinds =
      (fields->Has(kMap) ? 1 : 0) + (fields->Has(kTi) ? 1 : 0) + (fields->Has(kWriter) ? 1 : 0);
  if (kinds != 1) {
    fields->Wrong(kMap, "there, or one of \"ti\" and \"writer\" in its place, and not several");
  } else if (fields->Has(kMap)) {
    *instance = Instance::Map(fields->Integer(kMap));
  } else if (fields->Has(kTi)) {
    *instance = Instance::Ti(fields->Text(kTi));
  } else {
    *instance = Instance::Write(fields->Text(kWriter));
  }
}

}  // namespace

Result<Reference> Reference::Parse(std::string_view json) {
  if (json.size() > kMaxParsedBytes) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("not a reference: {} bytes, where a reference takes at most {}",
                            json.size(), kMaxParsedBytes));
  }
  Result<Members> members = ParseMembers(json);
  if (!members) {
    return Fail(ErrorCode::kInvalid, fmt::format("not a reference: {}", members.error().message));
  }
  FieldReader fields(&*members);
  if (!fields.Has(kBackend) || !fields.Has(kVersion)) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("not a reference: no \"{}\" and \"{}\" in it", kBackend, kVersion));
  }
  // Before all else: a later format may have other fields.
  const int64_t version = fields.Integer(kVersion);
  AIRFREIGHT_RETURN_IF_ERROR(fields.status());
  if (version > kReferenceVersion) {
    return Fail(ErrorCode::kNewerFormat,
                fmt::format("this reference is of format {}, and this release of Airfreight reads "
                            "up to format {}: upgrade Airfreight where it is read",
                            version, kReferenceVersion));
  }
  if (version < 1) return Malformed(kVersion, "a version of 1 or more");

  Reference r;
  r.backend = fields.Text(kBackend);
  r.type = fields.Text(kType);
  r.store = fields.Text(kStore);
  r.uri = fields.Text(kUri);
  r.coordinate.dag = fields.Text(kDag);
  r.coordinate.run = fields.Text(kRun);
  r.coordinate.task = fields.Text(kTask);
  ReadInstance(&fields, &r.coordinate.instance);
  if (fields.Has(kKey) == fields.Has(kPut)) {
    fields.Wrong(kKey, "there, or \"put\" in its place, and not both");
  } else if (fields.Has(kPut)) {
    r.coordinate.put_name = fields.Text(kPut);
  } else {
    r.coordinate.key = fields.Text(kKey);
  }
  if (fields.Has(kAttempt)) r.attempt = fields.Integer(kAttempt);
  if (fields.Has(kRows)) r.rows = fields.Integer(kRows);
  const int64_t size = fields.Integer(kSize);
  if (size < 0) fields.Wrong(kSize, "an integer of 0 or more");
  r.size_bytes = static_cast<uint64_t>(size);
  r.digest = fields.Text(kDigest);
  r.tail = fields.OptionalTail(kTail);
  r.etag = fields.OptionalText(kEtag);
  r.summary = VisibleText(fields.OptionalText(kSummary));
  r.columns = fields.OptionalColumns(kColumns);
  r.nulls = fields.OptionalIntegers(kNulls, kNullsForm);
  r.columns_cut = fields.OptionalBool(kColumnsCut);
  r.preview = fields.OptionalTexts(kPreview);
  r.written = fields.Text(kWritten);
  if (fields.Has(kExpires)) {
    r.expires = fields.Text(kExpires);
    if (r.expires.empty()) fields.Wrong(kExpires, "a UTC time, as 2026-01-01T00:03:11Z");
  }
  r.write = fields.Text(kWrite);
  r.host = fields.OptionalText(kHost);
  r.owner = fields.OptionalText(kOwner);
  if (fields.Has(kSealed)) {
    r.sealed = fields.Integer(kSealed);
    if (r.sealed < 1 || version < kSealedReferenceVersion) {
      fields.Wrong(kSealed, "an integer of 1 or more, in a reference of format 2");
    }
  }
  r.signature = fields.OptionalText(kSignature);
  AIRFREIGHT_RETURN_IF_ERROR(fields.status());
  AIRFREIGHT_RETURN_IF_ERROR(CheckFields(r));
  return r;
}

}  // namespace airfreight

#include "freight/members.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"

namespace airfreight {
namespace {

/// \brief Takes the events of nlohmann's parser, which calls the functions by these names.
///
/// Not a DOM, for two reasons: numbers come with their own text, so that 2^63-1 and `1E+2` are both
/// read exactly; and a member that occurs twice is seen. Returns false to end the parse.
class MemberReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit MemberReader(Members* members) : members_(members) {}
  std::string_view complaint() const { return complaint_; }

  bool null() override { return Other(Member::Kind::kOther); }
  bool boolean(bool value) override {
    return Other(value ? Member::Kind::kTrue : Member::Kind::kFalse);
  }
  bool number_integer(number_integer_t value) override { return Integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX)) return Other(Member::Kind::kOther);
    return Integer(static_cast<int64_t>(value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    const std::optional<int64_t> exact = ExactInteger(text);
    return exact ? Integer(*exact) : Other(Member::Kind::kOther);
  }
  bool string(string_t& text) override {
    if (!IsInside()) return false;
    if (depth_ == 1) {
      current_->kind = Member::Kind::kText;
      current_->text = std::move(text);
    } else if (depth_ == 2 && IsList()) {
      current_->items.push_back({MemberItem::Kind::kText, 0, {}});
      current_->items.back().texts.push_back(std::move(text));
    } else if (depth_ == 3 && IsList() && current_->items.back().kind == MemberItem::Kind::kTexts) {
      current_->items.back().texts.push_back(std::move(text));
    }
    return true;
  }
  bool binary(binary_t& /*value*/) override { return false; }  // Not in JSON.

  bool start_object(std::size_t /*size*/) override {
    if (depth_ > 0) Spoil();
    ++depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    const auto [entry, fresh] = members_->try_emplace(std::move(name));
    current_ = &entry->second;
    if (!fresh) complaint_ = "a field occurs twice";
    return fresh;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t /*size*/) override {
    if (!IsInside()) return false;
    if (depth_ == 1) {
      current_->kind = Member::Kind::kList;
    } else if (depth_ == 2 && IsList()) {
      current_->items.push_back({MemberItem::Kind::kTexts, 0, {}});
    } else {
      Spoil();
    }
    ++depth_;
    return true;
  }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    if (complaint_.empty()) complaint_ = "not JSON";
    return false;
  }

 private:
  bool IsInside() {
    if (depth_ == 0) complaint_ = "not a JSON object";
    return depth_ > 0;
  }
  // Whether the member that is being read is a list. What nests otherwise, or deeper, belongs to a
  // field that a later release has added, and is passed over.
  bool IsList() const { return current_->kind == Member::Kind::kList; }

  bool Integer(int64_t integer) {
    if (depth_ == 1) {
      current_->kind = Member::Kind::kInteger;
      current_->integer = integer;
      return true;
    }
    if (depth_ == 2 && IsList()) {
      current_->items.push_back({MemberItem::Kind::kInteger, integer, {}});
      return true;
    }
    return Other(Member::Kind::kOther);
  }
  // A value of no use: `kind` is what it is as a member.
  bool Other(Member::Kind kind) {
    if (!IsInside()) return false;
    if (depth_ == 1) {
      current_->kind = kind;
    } else {
      Spoil();
    }
    return true;
  }
  // Something that no list of ours holds.
  void Spoil() {
    if (depth_ == 1) {
      current_->kind = Member::Kind::kOther;
    } else if (depth_ == 2 && IsList()) {
      current_->items.emplace_back();
    } else if (IsList()) {
      current_->items.back() = {};
    }
  }
  bool Close() {
    --depth_;
    return true;
  }

  Members* members_;
  Member* current_ = nullptr;  // The member at depth 1 that is being read.
  size_t depth_ = 0;
  std::string_view complaint_;
};

}  // namespace

Result<Members> ParseMembers(std::string_view json) {
  Members members;
  MemberReader reader(&members);
  if (!nlohmann::json::sax_parse(json, &reader)) {
    return Fail(ErrorCode::kInvalid, std::string(reader.complaint()));
  }
  return members;
}

}  // namespace airfreight

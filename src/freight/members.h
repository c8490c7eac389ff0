#pragma once

/// \file
/// \brief The members of a JSON object from outside, as far as a reference has use for them.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/result.h"

namespace airfreight {

/// An item of a list that is a member of a reference.
struct MemberItem {
  enum class Kind { kOther, kText, kInteger, kTexts };
  Kind kind = Kind::kOther;
  int64_t integer = 0;
  std::vector<std::string> texts;  // One, or those of a list of nothing else.
};

/// The value of a member.
struct Member {
  enum class Kind { kOther, kText, kInteger, kTrue, kFalse, kList };
  Kind kind = Kind::kOther;
  std::string text;
  int64_t integer = 0;
  std::vector<MemberItem> items;
};
using Members = std::map<std::string, Member, std::less<>>;

/// Numbers are read exactly, and what no reference has is passed over: a later release may have
/// added it. Invalid when `json` is no object, or has a member twice; the message says only that.
Result<Members> ParseMembers(std::string_view json);

}  // namespace airfreight

#pragma once

/// \file
/// \brief What a rule may say: each setting's form, and its value in one spelling.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace airfreight {

/// A text as a message shows it: quoted, cut, without control characters.
std::string Shown(std::string_view text);

/// "a, b, c"
std::string Joined(const std::vector<std::string_view>& words);

/// The names of all settings that a rule may have, in their order.
const std::vector<std::string_view>& RuleSettings();

/// What `may_change` may list; what it lists where no rule says.
const std::vector<std::string_view>& Changeable();
inline constexpr std::string_view kChangeableByDefault = "compression,format,retention";

/// Bytes: a whole number, or one with a unit: "64KiB", "2GB".
std::optional<uint64_t> ParseSize(std::string_view text);

/// \brief The value of a setting, as Rule::values has it.
///
/// \param text as it was written; a list as its items with commas between them.
/// \param problem what is wrong, as what follows a rule's name; it begins with the setting's.
std::optional<std::string> CanonicalSetting(std::string_view name, std::string_view text,
                                            std::string* problem);

}  // namespace airfreight

#pragma once

/// \file
/// \brief What was meant by a name that nobody knows.

#include <string>
#include <string_view>
#include <vector>

namespace airfreight {

/// The known name that is most like another one: at most two of five letters differ, counting two
/// that changed places as one. Empty where none is. Capitals and hyphens are no difference.
std::string_view Nearest(std::string_view name, const std::vector<std::string_view>& known);

/// "did you mean format?", or else `otherwise`.
std::string Hint(std::string_view name, const std::vector<std::string_view>& known,
                 std::string_view otherwise);

}  // namespace airfreight

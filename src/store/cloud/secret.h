#pragma once

/// \file
/// \brief What keys and tokens that come out of files and variables have in common.

#include <string>
#include <string_view>

#include "base/secret.h"

namespace airfreight {

/// Text without blanks and line breaks at its ends: keys and tokens that came out of a file or a
/// Kubernetes secret often end in one.
std::string TrimBlanks(std::string_view text);

/// Whether `text` is all printable ASCII without blanks: what keys and tokens are made of.
bool IsHeaderText(std::string_view text);

}  // namespace airfreight

#pragma once

/// \file
/// \brief Resources of the JSON API, alone and in lists. Pure functions over bytes from outside.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight::gcs {

/// Without exceptions: what is no JSON comes out as "discarded", which is no object.
nlohmann::json ParseJson(std::string_view text);

/// A member that is a text; empty when it is anything else.
std::string Text(const nlohmann::json& object, const char* name);

/// Full key, size, generation and time of an object's resource; no metadata. Internal without size
/// or generation.
Result<ObjectInfo> InfoOf(const nlohmann::json& resource);

/// \brief Calls `take` for each resource of a list; the token of the next page, empty on the last.
/// Errors: Internal when the document is anything else; those of `take`, which end it.
Result<std::string> EachItem(std::string_view text,
                             const std::function<Status(const nlohmann::json& item)>& take);

}  // namespace airfreight::gcs

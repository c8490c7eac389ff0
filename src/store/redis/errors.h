#pragma once

/// \file
/// \brief What Redis' error replies mean to us.

#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "store/redis/resp.h"

namespace airfreight::redis {

/// The error that a reply's text says, with what to do about it. Pure. `database` for its message.
Error DecodeError(std::string_view text, int database = 0);

/// The reply, or the error that it is.
Result<Reply> Accepted(Result<Reply> reply, int database = 0);

/// For an answer of another kind than the command's specification has.
tl::unexpected<Error> Unexpected(std::string_view command);

}  // namespace airfreight::redis

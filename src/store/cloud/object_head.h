#pragma once

/// \file
/// \brief What the requests for an object's bytes, and the heads of their answers, have in common.

#include <cstdint>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/transport.h"

namespace airfreight {

/// The value of a `Range` (www.rfc-editor.org/rfc/rfc9110#section-14.2) for what is asked; empty
/// for a whole object. A range of no bytes cannot be asked for: it is one of one byte, which
/// ObjectSink drops.
std::string RangeText(const GetOptions& get);

/// How a service says it in an answer's head.
struct HeadNames {
  std::string_view service;   ///< For messages: "S3".
  std::string_view version;   ///< The header that has it.
  std::string_view metadata;  ///< What their headers' names begin with, in lower case.
};

/// Size, version, time and metadata, these under names in lower case and without their prefix.
/// `size` is that of the whole object, also where a part was asked for. Internal without a version,
/// or for a part without the whole's length.
Result<ObjectInfo> DecodeObjectHead(std::string_view key, const HttpResponse& response,
                                    const HeadNames& names);

/// What a write of so many bytes has made, which the store has confirmed by this answer. Internal
/// where it does not say the version, as its ETag.
Result<ObjectInfo> WrittenInfo(std::string_view key, uint64_t size, const Metadata& metadata,
                               const HttpResponse& response);

/// What the answer to a removal says: NotFound is a success.
Status GoneIsFine(const Result<HttpResponse>& response);

/// The error of an answer that no server of the service gives.
tl::unexpected<Error> NotOfService(std::string_view service, std::string_view what);

}  // namespace airfreight

#include <utility>

#include "airfreight/store.h"

namespace airfreight {

Result<ObjectInfo> ObjectStore::Read(std::string_view key, const GetOptions& options,
                                     ReadSink& sink, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(GetResult got, Get(key, options, context));
  AIRFREIGHT_RETURN_IF_ERROR(sink.Begin(got.info));
  if (got.body.size() > 0) AIRFREIGHT_RETURN_IF_ERROR(sink.Write(got.body.view()));
  return std::move(got.info);
}

Result<std::unique_ptr<PartUpload>> ObjectStore::StartUpload(std::string_view /*key*/,
                                                             const PutOptions& /*options*/,
                                                             const Context& /*context*/) {
  return Fail(ErrorCode::kUnsupported, "the store takes an object in one request only");
}

}  // namespace airfreight

// OpenStore: from a URI and settings to a store in its layers.

#include "store/open.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "store/azure/azure_store.h"
#include "store/breaker.h"
#include "store/breaking_store.h"
#include "store/checks.h"
#include "store/file/file_store.h"
#include "store/gcs/gcs_store.h"
#include "store/memory/memory_store.h"
#include "store/redis/redis_store.h"
#include "store/retrying_store.h"
#include "store/s3/s3_store.h"
#include "store/uri.h"

namespace airfreight {
namespace {

// More attempts than could be made within a day at the longest wait.
constexpr int kMostAttempts = 10'000;

Result<std::shared_ptr<ObjectStore>> OpenBare(const StoreUri& uri, const StoreSettings& settings) {
  if (uri.scheme == "file") return OpenFileStore(uri, settings);
  if (uri.scheme == "memory") return OpenMemoryStore(uri, settings);
  if (uri.scheme == "s3") return OpenS3Store(uri, settings);
  if (uri.scheme == "redis" || uri.scheme == "rediss") return OpenRedisStore(uri, settings);
  if (uri.scheme == "gs") return OpenGcsStore(uri, settings);
  if (uri.scheme == "az") return OpenAzureStore(uri, settings);
  return Fail(ErrorCode::kInternal, "a scheme that the parser takes and no store serves");
}

}  // namespace

std::shared_ptr<ObjectStore> InLayers(std::shared_ptr<ObjectStore> bare, const RetryOptions& retry,
                                      RetryHooks hooks) {
  auto breaker = std::make_shared<Breaker>(BreakerOptions(), hooks.now);
  return std::make_shared<BreakingStore>(
      std::make_shared<RetryingStore>(std::move(bare), retry, std::move(hooks)),
      std::move(breaker));
}

Result<std::shared_ptr<ObjectStore>> OpenStore(std::string_view uri,
                                               const StoreSettings& settings) {
  return OpenStore(uri, settings, RetryHooks::Real());
}

Result<std::shared_ptr<ObjectStore>> OpenStore(std::string_view uri, const StoreSettings& settings,
                                               RetryHooks hooks) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const StoreUri parsed, ParseStoreUri(uri));
  StoreSettings rest = settings;
  RetryOptions retry;
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const double seconds,
      TakeSeconds(rest, parsed.scheme, "retry_timeout", retry.timeout.count()));
  retry.timeout = std::chrono::duration<double>(seconds);
  AIRFREIGHT_ASSIGN_OR_RETURN(retry.max_attempts, TakeInt(rest, parsed.scheme, "max_attempts",
                                                          retry.max_attempts, 0, kMostAttempts));
  auto store = OpenBare(parsed, rest);
  if (!store) return Fail(Located(std::move(store).error(), parsed.Root(), {}));
  return InLayers(std::move(store).value(), retry, std::move(hooks));
}

}  // namespace airfreight

#pragma once

/// \file
/// \brief ObjectStore on a Redis server. Layout: `formats/redis.md`.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/store.h"
#include "store/basic_store.h"
#include "store/redis/client.h"
#include "store/redis/objects.h"
#include "store/uri.h"

namespace airfreight {
namespace redis {

/// \brief Objects in one database of a Redis server, below a prefix.
///
/// A value up to kInlineBytes is one key, written by one command where nothing lay and read by one.
/// A larger one is chunks, which are written first, and the head, which is written last and
/// together with all that makes the chunks last (MULTI): whoever reads sees the old object or the
/// new one, whenever the writer ends.
///
/// Threads, fork, blocking: as ObjectStore and RedisClient. Errors: as ObjectStore; NotFound where
/// an object has expired or was evicted too.
class RedisStore final : public BasicStore {
 public:
  RedisStore(StoreUri uri, RedisOptions options, Environment environment, Clock clock);

  std::string_view scheme() const override { return objects_->uri().scheme; }
  Capabilities capabilities() const override;

 private:
  Result<ObjectInfo> DoPut(std::string_view key, const Body& body, const PutOptions& options,
                           const Context& context) override;
  Result<ObjectInfo> DoRead(std::string_view key, const GetOptions& options, ReadSink& sink,
                            const Context& context) override;
  Result<std::unique_ptr<PartUpload>> DoStartUpload(std::string_view key, const PutOptions& options,
                                                    const Context& context) override;
  Result<ObjectInfo> DoHead(std::string_view key, const Context& context) override;
  Status DoRemove(std::string_view key, const Condition& condition,
                  const Context& context) override;
  Result<ListPage> DoList(std::string_view prefix, std::string_view token, int limit,
                          const Context& context) override;
  Result<UploadPage> DoListUploads(std::string_view prefix, std::string_view token, int limit,
                                   const Context& context) override;
  Status DoAbortUpload(std::string_view key, std::string_view id, const Context& context) override;
  Result<ObjectInfo> PutInChunks(std::string_view key, const Body& body, const PutOptions& options,
                                 const Context& context);

  const std::shared_ptr<Objects> objects_;
};

}  // namespace redis

/// Opens `redis://host[:port]/db[/prefix]`, or `rediss://` for TLS. Invalid when a setting is.
Result<std::shared_ptr<ObjectStore>> OpenRedisStore(const StoreUri& uri,
                                                    const StoreSettings& settings);

}  // namespace airfreight

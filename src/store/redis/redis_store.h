#pragma once

/// \file
/// \brief ObjectStore on a Redis server. Layout: `formats/redis.md`.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/store.h"
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
class RedisStore final : public ObjectStore {
 public:
  RedisStore(StoreUri uri, RedisOptions options, Environment environment, Clock clock);

  const std::string& root() const override { return root_; }
  std::string_view scheme() const override { return objects_->uri().scheme; }
  Capabilities capabilities() const override;

  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override;
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override;
  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) override;
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) override;
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override;
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override;
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) override;
  Result<UploadPage> ListUploads(std::string_view prefix, std::string_view token, int limit,
                                 const Context& context) override;
  Status AbortUpload(std::string_view key, std::string_view id, const Context& context) override;

 private:
  Result<ObjectInfo> DoPut(std::string_view key, const Body& body, const PutOptions& options,
                           const Context& context);
  Result<ObjectInfo> PutInChunks(std::string_view key, const Body& body, const PutOptions& options,
                                 const Context& context);
  Result<ListPage> DoList(std::string_view prefix, std::string_view token, int limit,
                          const Context& context);

  const std::shared_ptr<Objects> objects_;
  const std::string root_;
};

}  // namespace redis

/// Opens `redis://host[:port]/db[/prefix]`, or `rediss://` for TLS. Invalid when a setting is.
Result<std::shared_ptr<ObjectStore>> OpenRedisStore(const StoreUri& uri,
                                                    const StoreSettings& settings);

}  // namespace airfreight

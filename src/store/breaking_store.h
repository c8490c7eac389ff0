#pragma once

/// \file
/// \brief The layer that does not wait again for a store that is away.

#include <memory>
#include <string>
#include <string_view>

#include "airfreight/store.h"
#include "store/breaker.h"

namespace airfreight {

/// \brief An ObjectStore that fails at once while its Breaker is open.
///
/// Stands outside of the layer that tries again, so that what opens it has outlasted all retries:
/// one transfer waits for the store, those after it do not. The trial is a Head of a name that no
/// coordinate gives; whatever the store says to that, it is there.
///
/// What the reader of a read returns says nothing of the store. An upload in parts that is given up
/// is always asked for: it is short, and parts that stay behind are paid for.
///
/// Threads: as the store inside. Ownership: shares the store. Fork: as ObjectStore. Blocking: as
/// the store inside; a trial BreakerOptions::trial at most. Errors: those of the store inside.
class BreakingStore final : public ObjectStore {
 public:
  explicit BreakingStore(std::shared_ptr<ObjectStore> inner,
                         std::shared_ptr<Breaker> breaker = std::make_shared<Breaker>())
      : inner_(std::move(inner)), breaker_(std::move(breaker)) {}

  const std::string& root() const override { return inner_->root(); }
  std::string_view scheme() const override { return inner_->scheme(); }
  Capabilities capabilities() const override { return inner_->capabilities(); }

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
  Result<VersionPage> ListVersions(std::string_view prefix, std::string_view token, int limit,
                                   const Context& context) override;
  Result<ObjectInfo> HeadVersion(std::string_view key, std::string_view id,
                                 const Context& context) override;
  Status RemoveVersion(std::string_view key, std::string_view id, const Context& context) override;
  Result<UploadPage> ListUploads(std::string_view prefix, std::string_view token, int limit,
                                 const Context& context) override;
  Status AbortUpload(std::string_view key, std::string_view id, const Context& context) override;

 private:
  const std::shared_ptr<ObjectStore> inner_;
  const std::shared_ptr<Breaker> breaker_;
};

}  // namespace airfreight

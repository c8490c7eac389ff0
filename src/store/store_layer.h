#pragma once

/// \file
/// \brief What all layers over a store have in common.

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight {

/// \brief A base for layers: passes each request to the store inside, through the layer.
///
/// `Layer`, which derives from StoreLayer<Layer>, has
///
///     template <typename Request>
///     std::invoke_result_t<const Request&> Through(std::string_view key, const Context& context,
///                                                  const Request& request);
///
/// which makes the request by `request()`, if it does and as often as it wants to. `key` is empty
/// for lists. A layer overrides the verbs for which that is not enough.
///
/// ObjectStore has no default for any verb: one that is new and not here does not compile.
///
/// Threads, blocking: as the layer and the store inside. Ownership: shares the store. Fork: as
/// ObjectStore. Errors: those of the layer and of the store inside.
template <typename Layer>
class StoreLayer : public ObjectStore {
 public:
  const std::string& root() const override { return inner_->root(); }
  std::string_view scheme() const override { return inner_->scheme(); }
  Capabilities capabilities() const override { return inner_->capabilities(); }

  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override {
    return layer().Through(key, context, [&] { return inner_->Put(key, body, options, context); });
  }
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override {
    return layer().Through(key, context, [&] { return inner_->Get(key, options, context); });
  }
  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) override {
    return layer().Through(key, context, [&] { return inner_->Read(key, options, sink, context); });
  }
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) override {
    return layer().Through(key, context,
                           [&] { return inner_->StartUpload(key, options, context); });
  }
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override {
    return layer().Through(key, context, [&] { return inner_->Head(key, context); });
  }
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override {
    return layer().Through(key, context, [&] { return inner_->Remove(key, condition, context); });
  }
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) override {
    return layer().Through({}, context,
                           [&] { return inner_->List(prefix, token, limit, context); });
  }
  Result<VersionPage> ListVersions(std::string_view prefix, std::string_view token, int limit,
                                   const Context& context) override {
    return layer().Through({}, context,
                           [&] { return inner_->ListVersions(prefix, token, limit, context); });
  }
  Result<ObjectInfo> HeadVersion(std::string_view key, std::string_view id,
                                 const Context& context) override {
    return layer().Through(key, context, [&] { return inner_->HeadVersion(key, id, context); });
  }
  Status RemoveVersion(std::string_view key, std::string_view id, const Context& context) override {
    return layer().Through(key, context, [&] { return inner_->RemoveVersion(key, id, context); });
  }
  Result<UploadPage> ListUploads(std::string_view prefix, std::string_view token, int limit,
                                 const Context& context) override {
    return layer().Through({}, context,
                           [&] { return inner_->ListUploads(prefix, token, limit, context); });
  }
  Status AbortUpload(std::string_view key, std::string_view id, const Context& context) override {
    return layer().Through(key, context, [&] { return inner_->AbortUpload(key, id, context); });
  }

 protected:
  ObjectStore& inner() { return *inner_; }

 private:
  // Only `Layer` is a base for itself.
  friend Layer;
  explicit StoreLayer(std::shared_ptr<ObjectStore> inner) : inner_(std::move(inner)) {}

  Layer& layer() { return static_cast<Layer&>(*this); }

  const std::shared_ptr<ObjectStore> inner_;
};

}  // namespace airfreight

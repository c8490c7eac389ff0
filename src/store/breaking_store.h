#pragma once

/// \file
/// \brief The layer that does not wait again for a store that is away.

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "store/breaker.h"
#include "store/store_layer.h"

namespace airfreight {

/// \brief Lets requests to a store through while its Breaker does, and tells it what became of
/// them.
///
/// Threads: as Breaker and the store. Ownership: shares both. Blocking: for a trial,
/// BreakerOptions::trial at most. Errors: the breaker's refusal, and those of the trial.
class BreakerGate {
 public:
  BreakerGate(std::shared_ptr<ObjectStore> store, std::shared_ptr<Breaker> breaker)
      : store_(std::move(store)), breaker_(std::move(breaker)) {}

  /// Whether a request may be made now.
  Status Enter(std::string_view key, const Context& context) const;
  /// What the breaker learns of a request's error; null: there was none.
  void Tell(const Error* error, const Context& context) const;

  /// What `request` returns, if it may be made; the breaker is told what became of it.
  template <typename Request>
  std::invoke_result_t<const Request&> Run(std::string_view key, const Context& context,
                                           const Request& request) const {
    AIRFREIGHT_RETURN_IF_ERROR(Enter(key, context));
    auto result = request();
    Tell(result ? nullptr : &result.error(), context);
    return result;
  }

 private:
  Status TryOut(const Context& caller) const;

  std::shared_ptr<ObjectStore> store_;
  std::shared_ptr<Breaker> breaker_;
};

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
class BreakingStore final : public StoreLayer<BreakingStore> {
 public:
  explicit BreakingStore(const std::shared_ptr<ObjectStore>& inner,
                         std::shared_ptr<Breaker> breaker = std::make_shared<Breaker>())
      : StoreLayer(inner), gate_(inner, std::move(breaker)) {}

  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) override;
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) override;

 private:
  friend class StoreLayer<BreakingStore>;
  template <typename Request>
  std::invoke_result_t<const Request&> Through(std::string_view key, const Context& context,
                                               const Request& request) {
    return gate_.Run(key, context, request);
  }

  const BreakerGate gate_;
};

}  // namespace airfreight

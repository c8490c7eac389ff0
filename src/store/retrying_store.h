#pragma once

/// \file
/// \brief The layer that tries again.

#include <memory>
#include <string_view>
#include <type_traits>

#include "airfreight/store.h"
#include "store/retrier.h"
#include "store/store_layer.h"

namespace airfreight {

/// \brief An ObjectStore that repeats what failed in a way that may pass, as Retrier has it.
///
/// A read that breaks goes on where it stopped: the bytes that came are not asked for again, and
/// the object must still be the version that they were of, else it is ConditionFailed. Its budget
/// begins anew with each mebibyte that has come, so that a long read over a poor line ends when
/// nothing moves any more and not when a minute has passed. What the reader of a read returns
/// itself is handed up as it is and never repeated.
///
/// Each request of an upload in parts has a budget of its own.
///
/// A conditional Put whose reply was lost meets its own first write when it is repeated, and
/// answers ConditionFailed. Only the caller can tell that write from another's (Freight does, by
/// the write id); this layer hands the answer up.
///
/// Threads: as the store inside; has no state of its own that changes. Ownership: shares the store.
/// Blocking and errors: as Retrier and the store inside.
class RetryingStore final : public StoreLayer<RetryingStore> {
 public:
  RetryingStore(std::shared_ptr<ObjectStore> inner, RetryOptions options,
                RetryHooks hooks = RetryHooks::Real());

  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override;
  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) override;
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) override;

 private:
  friend class StoreLayer<RetryingStore>;
  template <typename Request>
  std::invoke_result_t<const Request&> Through(std::string_view /*key*/, const Context& context,
                                               const Request& request) {
    return retrier_.Run(context, request);
  }

  const Retrier retrier_;
};

}  // namespace airfreight

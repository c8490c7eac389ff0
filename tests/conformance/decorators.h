#pragma once

/// \file
/// \brief Layers that tests put around a store: one that counts requests, and one on which requests
/// fail as told.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "airfreight/store.h"
#include "store/store_layer.h"

namespace airfreight {

/// \brief Passes everything on to another store. A base for layers that change one thing.
class ForwardingStore : public StoreLayer<ForwardingStore> {
 public:
  explicit ForwardingStore(std::shared_ptr<ObjectStore> inner) : StoreLayer(std::move(inner)) {}

 private:
  friend class StoreLayer<ForwardingStore>;
  template <typename Request>
  std::invoke_result_t<const Request&> Through(std::string_view /*key*/, const Context& /*context*/,
                                               const Request& request) {
    return request();
  }
};

/// \brief What becomes of the requests of an upload in parts. Each hook is asked before its
/// request; an error that it returns is the answer, and the request is not sent. Several at once
/// may be asked.
struct UploadHooks {
  std::function<Status(int number, uint64_t size, const Context& context)> before_part;
  std::function<Status(const Condition& condition)> before_complete;
  /// An error that it returns is the answer of Complete, which was sent: a lost reply.
  std::function<Status(const Result<ObjectInfo>& reply)> after_complete;
  std::function<Status(const Context& context)> before_abort;
};

/// \brief An upload with hooks, which outlive it.
class HookedUpload final : public PartUpload {
 public:
  HookedUpload(std::unique_ptr<PartUpload> inner, const UploadHooks* hooks)
      : inner_(std::move(inner)), hooks_(hooks) {}

  Result<UploadedPart> PutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                               const Context& context) override {
    if (hooks_->before_part) {
      AIRFREIGHT_RETURN_IF_ERROR(hooks_->before_part(number, body.size(), context));
    }
    return inner_->PutPart(number, offset, body, crc32c, context);
  }
  Result<ObjectInfo> Complete(const std::vector<UploadedPart>& parts, const Condition& condition,
                              const Context& context) override {
    if (hooks_->before_complete) AIRFREIGHT_RETURN_IF_ERROR(hooks_->before_complete(condition));
    auto reply = inner_->Complete(parts, condition, context);
    if (hooks_->after_complete) AIRFREIGHT_RETURN_IF_ERROR(hooks_->after_complete(reply));
    return reply;
  }
  Status Abort(const Context& context) override {
    if (hooks_->before_abort) AIRFREIGHT_RETURN_IF_ERROR(hooks_->before_abort(context));
    return inner_->Abort(context);
  }

 private:
  std::unique_ptr<PartUpload> inner_;
  const UploadHooks* hooks_;
};

/// \brief Writes down which requests were made: "PUT", "GET" (for Read too), "HEAD", "DELETE",
/// "LIST"; "CREATE", "PART", "COMPLETE" and "ABORT" of uploads in parts.
class CountingStore final : public ForwardingStore {
 public:
  explicit CountingStore(std::shared_ptr<ObjectStore> inner) : ForwardingStore(std::move(inner)) {
    hooks_.before_part = [this](auto...) -> Status { return Note("PART"); };
    hooks_.before_complete = [this](auto&&) -> Status { return Note("COMPLETE"); };
    hooks_.before_abort = [this](auto&&) -> Status { return Note("ABORT"); };
  }

  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override {
    (void)Note("PUT");
    return inner().Put(key, body, options, context);
  }
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override {
    (void)Note("GET");
    return inner().Get(key, options, context);
  }
  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) override {
    (void)Note("GET");
    return inner().Read(key, options, sink, context);
  }
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) override {
    (void)Note("CREATE");
    AIRFREIGHT_ASSIGN_OR_RETURN(auto upload, inner().StartUpload(key, options, context));
    return std::make_unique<HookedUpload>(std::move(upload), &hooks_);
  }
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override {
    (void)Note("HEAD");
    return inner().Head(key, context);
  }
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override {
    (void)Note("DELETE");
    return inner().Remove(key, condition, context);
  }
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) override {
    (void)Note("LIST");
    return inner().List(prefix, token, limit, context);
  }

  /// What was sent since the last call, e.g. {"PUT", "HEAD", "PUT"}.
  std::vector<std::string> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  Status Note(std::string request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
    return {};
  }

  UploadHooks hooks_;
  std::mutex mutex_;
  std::vector<std::string> requests_;
};

/// \brief Asks a function what becomes of each request: before it is sent, and of its reply.
class FaultyStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  /// An error that it returns is the answer of Put, which is then not sent.
  std::function<Status(std::string_view key, const PutOptions& options)> before_put;
  /// An error that it returns is the answer of Put, which was sent: a lost reply.
  std::function<Status(const Result<ObjectInfo>& reply)> after_put;
  std::function<Status()> before_head;
  std::function<Status(const Context& context)> before_remove;
  std::function<Status(const GetOptions& options, const Context& context)> before_read;
  std::function<Status()> before_start;  ///< Of StartUpload.
  UploadHooks upload;
  Capabilities declared;

  Capabilities capabilities() const override { return declared; }
  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override {
    if (before_put) AIRFREIGHT_RETURN_IF_ERROR(before_put(key, options));
    auto reply = inner().Put(key, body, options, context);
    if (after_put) AIRFREIGHT_RETURN_IF_ERROR(after_put(reply));
    return reply;
  }
  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) override {
    if (before_read) AIRFREIGHT_RETURN_IF_ERROR(before_read(options, context));
    return inner().Read(key, options, sink, context);
  }
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) override {
    if (before_start) AIRFREIGHT_RETURN_IF_ERROR(before_start());
    AIRFREIGHT_ASSIGN_OR_RETURN(auto started, inner().StartUpload(key, options, context));
    return std::make_unique<HookedUpload>(std::move(started), &upload);
  }
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override {
    if (before_head) AIRFREIGHT_RETURN_IF_ERROR(before_head());
    return inner().Head(key, context);
  }
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override {
    if (before_remove) AIRFREIGHT_RETURN_IF_ERROR(before_remove(context));
    return inner().Remove(key, condition, context);
  }
};

}  // namespace airfreight

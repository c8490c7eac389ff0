#pragma once

/// \file
/// \brief Layers that tests put around a store: one that counts requests, and one on which requests
/// fail as told.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "airfreight/store.h"

namespace airfreight {

/// \brief Passes everything on to another store. A base for layers that change one thing.
class ForwardingStore : public ObjectStore {
 public:
  explicit ForwardingStore(std::shared_ptr<ObjectStore> inner) : inner_(std::move(inner)) {}

  const std::string& root() const override { return inner_->root(); }
  std::string_view scheme() const override { return inner_->scheme(); }
  Capabilities capabilities() const override { return inner_->capabilities(); }
  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override {
    return inner_->Put(key, body, options, context);
  }
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override {
    return inner_->Get(key, options, context);
  }
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override {
    return inner_->Head(key, context);
  }
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override {
    return inner_->Remove(key, condition, context);
  }
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) override {
    return inner_->List(prefix, token, limit, context);
  }

 protected:
  ObjectStore& inner() { return *inner_; }

 private:
  std::shared_ptr<ObjectStore> inner_;
};

/// \brief Writes down which requests were made: "PUT", "GET", "HEAD", "DELETE", "LIST".
class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override {
    Note("PUT");
    return inner().Put(key, body, options, context);
  }
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override {
    Note("GET");
    return inner().Get(key, options, context);
  }
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override {
    Note("HEAD");
    return inner().Head(key, context);
  }
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override {
    Note("DELETE");
    return inner().Remove(key, condition, context);
  }
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) override {
    Note("LIST");
    return inner().List(prefix, token, limit, context);
  }

  /// What was sent since the last call, e.g. {"PUT", "HEAD", "PUT"}.
  std::vector<std::string> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  void Note(std::string request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }

  std::mutex mutex_;
  std::vector<std::string> requests_;
};

/// \brief Asks a function what becomes of each Put, Head and Remove: before it is sent, and of its
/// reply.
class FaultyStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  /// An error that it returns is the answer of Put, which is then not sent.
  std::function<Status(std::string_view key, const PutOptions& options)> before_put;
  /// An error that it returns is the answer of Put, which was sent: a lost reply.
  std::function<Status(const Result<ObjectInfo>& reply)> after_put;
  std::function<Status()> before_head;
  std::function<Status()> before_remove;
  Capabilities declared;

  Capabilities capabilities() const override { return declared; }
  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override {
    if (before_put) AIRFREIGHT_RETURN_IF_ERROR(before_put(key, options));
    auto reply = inner().Put(key, body, options, context);
    if (after_put) AIRFREIGHT_RETURN_IF_ERROR(after_put(reply));
    return reply;
  }
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override {
    if (before_head) AIRFREIGHT_RETURN_IF_ERROR(before_head());
    return inner().Head(key, context);
  }
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override {
    if (before_remove) AIRFREIGHT_RETURN_IF_ERROR(before_remove());
    return inner().Remove(key, condition, context);
  }
};

}  // namespace airfreight

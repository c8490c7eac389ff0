#pragma once

/// \file
/// \brief What all stores have in common, and layers have not.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight {

/// \brief A base for stores: says in each error where it was, and answers for what not every store
/// has.
///
/// A store overrides the verb without the place: DoPut for Put. A layer is no store: it derives
/// from StoreLayer (`src/store/store_layer.h`), which has no answers of its own.
///
/// Threads, ownership, fork, blocking: as the store that derives from it; has no state that
/// changes. Errors: those of the verbs, with store and key.
class BasicStore : public ObjectStore {
 public:
  explicit BasicStore(std::string root) : root_(std::move(root)) {}

  const std::string& root() const final { return root_; }

  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) final;
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) final;
  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) final;
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) final;
  Result<ObjectInfo> Head(std::string_view key, const Context& context) final;
  Status Remove(std::string_view key, const Condition& condition, const Context& context) final;
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) final;
  Result<VersionPage> ListVersions(std::string_view prefix, std::string_view token, int limit,
                                   const Context& context) final;
  Result<ObjectInfo> HeadVersion(std::string_view key, std::string_view id,
                                 const Context& context) final;
  Status RemoveVersion(std::string_view key, std::string_view id, const Context& context) final;
  Result<UploadPage> ListUploads(std::string_view prefix, std::string_view token, int limit,
                                 const Context& context) final;
  Status AbortUpload(std::string_view key, std::string_view id, const Context& context) final;

 protected:
  virtual Result<ObjectInfo> DoPut(std::string_view key, const Body& body,
                                   const PutOptions& options, const Context& context) = 0;
  /// The default gathers what DoRead gives.
  virtual Result<GetResult> DoGet(std::string_view key, const GetOptions& options,
                                  const Context& context);
  virtual Result<ObjectInfo> DoRead(std::string_view key, const GetOptions& options, ReadSink& sink,
                                    const Context& context) = 0;
  /// The default is Unsupported.
  virtual Result<std::unique_ptr<PartUpload>> DoStartUpload(std::string_view key,
                                                            const PutOptions& options,
                                                            const Context& context);
  virtual Result<ObjectInfo> DoHead(std::string_view key, const Context& context) = 0;
  virtual Status DoRemove(std::string_view key, const Condition& condition,
                          const Context& context) = 0;
  virtual Result<ListPage> DoList(std::string_view prefix, std::string_view token, int limit,
                                  const Context& context) = 0;
  /// The default, for stores that keep none: the objects of DoList, each with its version as `id`.
  virtual Result<VersionPage> DoListVersions(std::string_view prefix, std::string_view token,
                                             int limit, const Context& context);
  /// The default looks at the object.
  virtual Result<ObjectInfo> DoHeadVersion(std::string_view key, std::string_view id,
                                           const Context& context);
  /// The default removes the object where it is still that version: atomically where
  /// Capabilities::conditional_remove says so, else after a look.
  virtual Status DoRemoveVersion(std::string_view key, std::string_view id, const Context& context);
  /// The default is Unsupported.
  virtual Result<UploadPage> DoListUploads(std::string_view prefix, std::string_view token,
                                           int limit, const Context& context);
  /// The default is Unsupported.
  virtual Status DoAbortUpload(std::string_view key, std::string_view id, const Context& context);

 private:
  const std::string root_;
};

/// \brief The same for an upload in parts: says in each error of which object it is.
///
/// Threads, ownership, fork, blocking: as PartUpload, and the upload that derives from it. Errors:
/// those of the verbs, with store and key.
class BasicUpload : public PartUpload {
 public:
  BasicUpload(std::string root, std::string_view key) : root_(std::move(root)), key_(key) {}

  Result<UploadedPart> PutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                               const Context& context) final;
  Result<ObjectInfo> Complete(const std::vector<UploadedPart>& parts, const Condition& condition,
                              const Context& context) final;
  Status Abort(const Context& context) final;

 protected:
  const std::string& key() const { return key_; }

  virtual Result<UploadedPart> DoPutPart(int number, uint64_t offset, const Body& body,
                                         uint32_t crc32c, const Context& context) = 0;
  virtual Result<ObjectInfo> DoComplete(const std::vector<UploadedPart>& parts,
                                        const Condition& condition, const Context& context) = 0;
  virtual Status DoAbort(const Context& context) = 0;

 private:
  const std::string root_;
  const std::string key_;
};

}  // namespace airfreight

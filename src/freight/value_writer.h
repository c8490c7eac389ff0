#pragma once

/// \file
/// \brief Freight's ValueWriter.

#include <sys/types.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "airfreight/freight.h"
#include "base/digest.h"
#include "freight/push.h"
#include "seal/frames.h"
#include "transfer/stream_upload.h"

namespace airfreight {

/// See ValueWriter.
class StreamingWriter final : public ValueWriter {
 public:
  /// \param push prepared.
  explicit StreamingWriter(std::unique_ptr<Push> push, MemoryBudget& budget);
  ~StreamingWriter() override;

  Status Append(ByteView bytes, const Context& context) override;
  uint64_t size() const override { return sealing_ ? plain_bytes() : upload_->size(); }
  std::vector<uint32_t> SealBlocks() override;
  Result<Reference> Finish(const ValueInfo& info, const Context& context) override;
  Body Unsent() const override;
  std::string write() const override { return push_->Binding().write; }
  Status Abandon(const Context& context) override;

 private:
  // Of an object that is sealed, from its first byte on.
  struct Sealing {
    DataKeys::Made made;
    FrameSealer frames;
    std::optional<Digester> sha256;  // Of the frames; their CRC-32C the upload has.

    Sealing(DataKeys::Made key, const FrameBinding& binding, DigestKind digest)
        : made(std::move(key)), frames(made.object_key, binding) {
      if (digest == DigestKind::kSha256) sha256.emplace(digest);
    }
  };

  uint64_t plain_bytes() const { return frames_ ? frames_->frames.size() : 0; }
  Status BeginSealing();
  Status AppendSealed(ByteView bytes, const Context& context);
  Result<Reference> DoFinish(const ValueInfo& info, const Context& context);
  Status FinishSealed(ObjectFacts* facts, const Context& context);

  const pid_t pid_;
  std::unique_ptr<Push> push_;
  std::unique_ptr<StreamUpload> upload_;
  bool sealing_ = false;             // Whether the object is sealed.
  std::unique_ptr<Sealing> frames_;  // Null before its first byte.
  uint64_t tail_offset_ = 0;         // In the value, of what is sealed.
  bool ended_ = false;  // Finished, failed or abandoned: nothing is left to be given up.
  bool whole_ = false;  // All was appended: a Finish has begun.
};

}  // namespace airfreight

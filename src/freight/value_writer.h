#pragma once

/// \file
/// \brief Freight's ValueWriter.

#include <sys/types.h>

#include <memory>
#include <vector>

#include "airfreight/freight.h"
#include "freight/push.h"
#include "transfer/stream_upload.h"

namespace airfreight {

/// See ValueWriter.
class StreamingWriter final : public ValueWriter {
 public:
  /// \param push prepared.
  explicit StreamingWriter(std::unique_ptr<Push> push, MemoryBudget& budget);
  ~StreamingWriter() override;

  Status Append(ByteView bytes, const Context& context) override;
  uint64_t size() const override { return upload_->size(); }
  std::vector<uint32_t> SealBlocks() override { return upload_->checksums().SealBlocks(); }
  Result<Reference> Finish(const ValueInfo& info, const Context& context) override;
  Body Unsent() const override;
  Status Abandon(const Context& context) override;

 private:
  Result<Reference> DoFinish(const ValueInfo& info, const Context& context);

  const pid_t pid_;
  std::unique_ptr<Push> push_;
  std::unique_ptr<StreamUpload> upload_;
  bool ended_ = false;  // Finished, failed or abandoned: nothing is left to be given up.
  bool whole_ = false;  // All was appended: a Finish has begun.
};

}  // namespace airfreight

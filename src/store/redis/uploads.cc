#include "store/redis/uploads.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "store/checks.h"
#include "store/marker.h"
#include "store/redis/errors.h"
#include "store/redis/layout.h"
#include "store/redis/scan.h"

namespace airfreight::redis {
namespace {

// Chunks of one generation at one key.
struct Generation {
  Marker place;  // Full key and generation.
  std::string chunk;
};

std::vector<Generation> GenerationsOf(const std::vector<std::string>& chunks) {
  std::vector<Generation> generations;
  for (const std::string& chunk : chunks) {
    auto owner = ParseChunkKey(chunk);
    if (!owner) continue;
    Marker place{std::move(owner->full_key), std::move(owner->generation)};
    // In order, those of a generation lie side by side.
    if (!generations.empty() && generations.back().place == place) continue;
    generations.push_back({std::move(place), chunk});
  }
  std::sort(generations.begin(), generations.end(),
            [](const Generation& a, const Generation& b) { return a.place < b.place; });
  return generations;
}

// When chunks with a lease were sent of which that many seconds are left (-1: no lease).
int64_t StartedAt(int64_t now, int64_t left) {
  return left < 0 || left > kLeaseSeconds ? 0 : now - (kLeaseSeconds - left);
}

}  // namespace

Result<UploadPage> ListUploads(Objects& objects, std::string_view prefix, std::string_view token,
                               int limit, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  AIRFREIGHT_ASSIGN_OR_RETURN(const Marker after, ParseMarker(token));
  const std::string full_prefix = objects.uri().FullKey(prefix);
  const size_t strip = full_prefix.size() - prefix.size();
  return objects.client().Run(context, [&](Session& session) -> Result<UploadPage> {
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto chunks,
                                ScanKeys(session, full_prefix, Scanned::kChunks));
    UploadPage page;
    for (const Generation& generation : GenerationsOf(chunks)) {
      if (generation.place <= after) continue;
      Request request;
      request.Command({"GETRANGE", generation.place.key, "0", std::to_string(kHeadLineProbe - 1)});
      request.Command({"TTL", generation.chunk});
      AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reply text, session.Receive());
      // Who may not ask is told no time.
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reply left, session.Receive());
      const auto head = ParseHeadLine(text.text);
      if (head && head->generation == generation.place.id) continue;
      if (page.uploads.size() == static_cast<size_t>(limit)) {
        const UploadInfo& last = page.uploads.back();
        page.next_token = PrintMarker({objects.uri().FullKey(last.key), last.id});
        break;
      }
      page.uploads.push_back({generation.place.key.substr(strip), generation.place.id,
                              StartedAt(objects.Now(), left.IsError() ? -1 : left.integer)});
    }
    return page;
  });
}

Status AbortUpload(Objects& objects, std::string_view key, std::string_view id,
                   const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, objects.uri().prefix));
  const std::string full_key = objects.uri().FullKey(key);
  // The pattern of a prefix: what is no generation has none.
  const std::string chunk = ChunkKey(full_key, id, 1);
  if (!ParseChunkKey(chunk)) {
    return Fail(ErrorCode::kInvalid, "an upload's id that is none of Redis's");
  }
  const std::string prefix = chunk.substr(0, chunk.size() - 1);
  AIRFREIGHT_ASSIGN_OR_RETURN(const auto chunks,
                              objects.client().Run(context, [&](Session& session) {
                                return ScanKeys(session, prefix, Scanned::kChunks);
                              }));
  return objects.DiscardUnnamed(full_key, id, chunks, context);
}

}  // namespace airfreight::redis

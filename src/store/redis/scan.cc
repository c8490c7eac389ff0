#include "store/redis/scan.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "store/redis/errors.h"
#include "store/redis/layout.h"

namespace airfreight::redis {
namespace {

// Keys that the server looks at in one step of a SCAN: well below a millisecond of its time.
constexpr std::string_view kScanCount = "1000";

}  // namespace

Result<std::vector<std::string>> ScanKeys(Session& session, const std::string& prefix,
                                          Scanned which) {
  const std::string pattern = EscapeGlob(prefix) + "*";
  std::vector<std::string> keys;
  std::string cursor = "0";
  do {
    Request request;
    request.Command({"SCAN", cursor, "MATCH", pattern, "COUNT", kScanCount});
    AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
    AIRFREIGHT_ASSIGN_OR_RETURN(Reply reply, session.Expect());
    if (reply.elements.size() != 2) return Unexpected("SCAN");
    cursor = std::move(reply.elements[0].text);
    for (Reply& key : reply.elements[1].elements) {
      if (key.text.starts_with(prefix) && IsChunkKey(key.text) == (which == Scanned::kChunks)) {
        keys.push_back(std::move(key.text));
      }
    }
  } while (cursor != "0");
  // SCAN may give a key more than once (redis.io/docs/latest/commands/scan).
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace airfreight::redis

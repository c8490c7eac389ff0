// The input as replies of a Redis server, whole and in small pieces, which have to be the same; and
// as an object's head, of which what parses is printed and read as the same.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "check.h"
#include "input.h"
#include "store/checks.h"
#include "store/redis/errors.h"
#include "store/redis/health.h"
#include "store/redis/layout.h"
#include "store/redis/resp.h"

namespace {

using airfreight::redis::Reply;

class TextSource final : public airfreight::redis::ByteSource {
 public:
  TextSource(std::string_view text, size_t step) : rest_(text), step_(step) {}
  airfreight::Result<airfreight::ByteView> More() override {
    if (rest_.empty()) return airfreight::Fail(airfreight::ErrorCode::kUnavailable, "the end");
    const std::string_view piece = rest_.substr(0, step_);
    rest_.remove_prefix(piece.size());
    return airfreight::AsBytes(piece);
  }

 private:
  std::string_view rest_;
  size_t step_;
};

bool Same(const Reply& a, const Reply& b) {
  return a.kind == b.kind && a.text == b.text && a.integer == b.integer &&
         std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                    Same);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = airfreight::FuzzText(data, size);
  TextSource whole(text, std::max<size_t>(size, 1));
  TextSource pieces(text, 3);
  airfreight::redis::ReplyReader one(whole);
  airfreight::redis::ReplyReader other(pieces);
  for (;;) {
    const auto reply = one.Read();
    const auto again = other.Read();
    AIRFREIGHT_FUZZ_CHECK(reply.has_value() == again.has_value());
    if (!reply) break;
    AIRFREIGHT_FUZZ_CHECK(Same(*reply, *again));
    AIRFREIGHT_FUZZ_CHECK(one.consumed() == other.consumed() && one.consumed() <= size);
    if (reply->IsError()) {
      AIRFREIGHT_FUZZ_CHECK(
          airfreight::IsOneLine(airfreight::redis::DecodeError(reply->text).ToString()));
    }
  }

  (void)airfreight::redis::HeadBytes(text);
  (void)airfreight::redis::RoomFor(airfreight::redis::ParseInfo(text), size);
  if (const auto owner = airfreight::redis::ParseChunkKey(text)) {
    AIRFREIGHT_FUZZ_CHECK(text.starts_with(owner->full_key + "//" + owner->generation + "/"));
  }
  const auto head = airfreight::redis::ParseHead(text);
  if (!head) return 0;
  AIRFREIGHT_FUZZ_CHECK(airfreight::CheckMetadata(head->metadata));
  AIRFREIGHT_FUZZ_CHECK(head->head_bytes <= size);
  const auto printed = airfreight::redis::PrintHead(*head);
  AIRFREIGHT_FUZZ_CHECK(printed);
  const auto parsed = airfreight::redis::ParseHead(*printed);
  AIRFREIGHT_FUZZ_CHECK(parsed);
  AIRFREIGHT_FUZZ_CHECK(parsed->generation == head->generation && parsed->size == head->size);
  AIRFREIGHT_FUZZ_CHECK(parsed->metadata == head->metadata && parsed->chunks == head->chunks);
  return 0;
}

#include "store/redis/redis_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/time.h"
#include "store/checks.h"
#include "store/redis/errors.h"
#include "store/redis/redis_upload.h"
#include "store/redis/scan.h"
#include "store/redis/uploads.h"

namespace airfreight {
namespace redis {
namespace {

// Cleaning up must not hold back a task that was told to stop.
constexpr std::chrono::seconds kDiscardTime{2};

// The body cut into pieces of `bytes`, the last one shorter. Views of the same memory.
std::vector<Body> Cut(const Body& body, uint64_t bytes) {
  std::vector<Body> pieces;
  Body piece;
  for (ByteView segment : body.segments()) {
    while (!segment.empty()) {
      const auto room = static_cast<size_t>(bytes - piece.size());
      const ByteView part = segment.first(std::min(segment.size(), room));
      piece.Append(part);
      segment = segment.subspan(part.size());
      if (piece.size() < bytes) continue;
      pieces.push_back(std::move(piece));
      piece = Body();
    }
  }
  if (piece.size() > 0) pieces.push_back(std::move(piece));
  return pieces;
}

}  // namespace

RedisStore::RedisStore(StoreUri uri, RedisOptions options, Environment environment, Clock clock)
    : BasicStore(uri.Root()),
      objects_(std::make_shared<Objects>(std::move(uri), std::move(options), std::move(environment),
                                         std::move(clock))) {}

Capabilities RedisStore::capabilities() const {
  Capabilities capabilities;
  capabilities.max_put_bytes = kMaxChunkBytes * kMaxChunks;
  capabilities.parts = true;
  capabilities.max_part_bytes = kMaxChunkBytes;
  capabilities.max_parts = kMaxChunks;
  capabilities.max_object_bytes = kMaxChunkBytes * kMaxChunks;
  // One thread of the server carries out all commands: a second connection waits for the first.
  capabilities.parallel = false;
  capabilities.uploads = true;
  return capabilities;
}

Result<ObjectInfo> RedisStore::DoPut(std::string_view key, const Body& body,
                                     const PutOptions& options, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, objects_->uri().prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, capabilities()));
  if (body.size() > kMaxChunkBytes * kMaxChunks) {
    return Fail(ErrorCode::kTooLarge, fmt::format("{} bytes; a value in Redis has at most {}",
                                                  body.size(), kMaxChunkBytes * kMaxChunks));
  }
  if (body.size() > kInlineBytes) return PutInChunks(key, body, options, context);
  AIRFREIGHT_ASSIGN_OR_RETURN(const ObjectHead head, objects_->NewHead(options, body.size()));
  Change change;
  change.full_key = objects_->uri().FullKey(key);
  change.condition = options.condition;
  change.generation = head.generation;
  change.ttl_seconds = objects_->Ttl(options);
  AIRFREIGHT_ASSIGN_OR_RETURN(change.head, PrintHead(head));
  change.inline_body = body.segments();
  if (options.condition.kind != Condition::Kind::kAbsent) {
    AIRFREIGHT_RETURN_IF_ERROR(objects_->Apply(change, context));
    return head.Info(key);
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const bool written, objects_->PutAbsent(change, context));
  if (written) return head.Info(key);
  return Fail(ErrorCode::kConditionFailed, "an object is there already");
}

Result<ObjectInfo> RedisStore::PutInChunks(std::string_view key, const Body& body,
                                           const PutOptions& options, const Context& context) {
  // A condition that does not hold, and a value that does not fit, are known before any byte of it
  // is sent.
  AIRFREIGHT_ASSIGN_OR_RETURN(ObjectHead head, objects_->NewHead(options, body.size()));
  Change change;
  change.full_key = objects_->uri().FullKey(key);
  change.condition = options.condition;
  AIRFREIGHT_RETURN_IF_ERROR(objects_->CheckBefore(change, body.size(), context));

  const std::vector<Body> bodies = Cut(body, ChunkBytesFor(body.size()));
  for (const Body& one : bodies) AppendChunk(head.chunks, one.size());
  change.generation = head.generation;
  change.chunks = Objects::ChunkKeys(change.full_key, head.generation, bodies.size());
  change.ttl_seconds = objects_->Ttl(options);
  AIRFREIGHT_ASSIGN_OR_RETURN(change.head, PrintHead(head));
  Status written = objects_->SendChunks(change.chunks, bodies, context);
  if (written) written = objects_->Apply(change, context);
  if (written) return head.Info(key);
  // Not where the head may be there all the same, its reply having been lost.
  if (written.error().code != ErrorCode::kUnavailable) {
    Context little;
    little.deadline = Context::Clock::now() + kDiscardTime;
    const auto there = objects_->Look(change.full_key, little);
    if ((there && there->generation != head.generation) ||
        (!there && there.error().code == ErrorCode::kNotFound)) {
      (void)objects_->Discard(change.chunks, little);  // What is left goes with its lease.
    }
  }
  return Fail(std::move(written).error());
}

Result<ListPage> RedisStore::DoList(std::string_view prefix, std::string_view token, int limit,
                                    const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  const std::string full_prefix = objects_->uri().FullKey(prefix);
  const size_t strip = full_prefix.size() - prefix.size();
  return objects_->client().Run(context, [&](Session& session) -> Result<ListPage> {
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto keys, ScanKeys(session, full_prefix, Scanned::kObjects));
    ListPage page;
    auto next = token.empty()
                    ? keys.begin()
                    : std::upper_bound(keys.begin(), keys.end(), objects_->uri().FullKey(token));
    while (next != keys.end() && page.objects.size() < static_cast<size_t>(limit)) {
      const auto wanted =
          static_cast<std::ptrdiff_t>(static_cast<size_t>(limit) - page.objects.size());
      const auto end = next + std::min(wanted, keys.end() - next);
      Request request;
      for (auto key = next; key != end; ++key) {
        request.Command({"GETRANGE", *key, "0", std::to_string(kHeadLineProbe - 1)});
      }
      AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
      for (; next != end; ++next) {
        AIRFREIGHT_ASSIGN_OR_RETURN(const Reply reply, session.Receive());
        // Gone meanwhile, or not ours: someone may share the database.
        if (reply.kind != Reply::Kind::kBulk) continue;
        const auto head = ParseHeadLine(reply.text);
        if (head) page.objects.push_back(head->Info(std::string_view(*next).substr(strip)));
      }
    }
    if (next != keys.end() && !page.objects.empty()) page.next_token = page.objects.back().key;
    return page;
  });
}

Result<ObjectInfo> RedisStore::DoRead(std::string_view key, const GetOptions& options,
                                      ReadSink& sink, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, objects_->uri().prefix));
  return objects_->Read(key, options, sink, context);
}

Result<std::unique_ptr<PartUpload>> RedisStore::DoStartUpload(std::string_view key,
                                                              const PutOptions& options,
                                                              const Context& context) {
  return StartRedisUpload(objects_, key, options, context);
}

Result<ObjectInfo> RedisStore::DoHead(std::string_view key, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, objects_->uri().prefix));
  AIRFREIGHT_ASSIGN_OR_RETURN(const ObjectHead head,
                              objects_->Look(objects_->uri().FullKey(key), context));
  return head.Info(key);
}

Status RedisStore::DoRemove(std::string_view key, const Condition& condition,
                            const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, objects_->uri().prefix));
  Change change;
  change.full_key = objects_->uri().FullKey(key);
  change.condition = condition;
  return objects_->Apply(change, context);
}

Result<UploadPage> RedisStore::DoListUploads(std::string_view prefix, std::string_view token,
                                             int limit, const Context& context) {
  return redis::ListUploads(*objects_, prefix, token, limit, context);
}

Status RedisStore::DoAbortUpload(std::string_view key, std::string_view id,
                                 const Context& context) {
  return redis::AbortUpload(*objects_, key, id, context);
}

}  // namespace redis

Result<std::shared_ptr<ObjectStore>> OpenRedisStore(const StoreUri& uri,
                                                    const StoreSettings& settings) {
  const Environment environment = Environment::OfProcess();
  AIRFREIGHT_ASSIGN_OR_RETURN(redis::RedisOptions options,
                              redis::ParseRedisOptions(uri, settings, environment));
  return std::make_shared<redis::RedisStore>(uri, std::move(options), environment, &UnixSecondsNow);
}

}  // namespace airfreight

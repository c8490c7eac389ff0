#pragma once

/// \file
/// \brief What a store asks of HTTP: one request, one answer, and a place for the answer's body.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "airfreight/bytes.h"
#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/headers.h"

namespace airfreight {

/// How much of an error's document is kept. Error documents of S3 are below 1 KiB; the rest is for
/// the pages of proxies, of which the first lines say enough.
inline constexpr size_t kMaxErrorDocument = size_t{64} << 10;

/// One request. The body's memory belongs to the caller and outlives the call.
struct HttpRequest {
  std::string method = "GET";
  std::string url;  ///< Complete and encoded; goes on the wire as it is.
  Headers headers;  ///< Without Host and Content-Length, which follow from `url` and `body`.
  Body body;        ///< Sent with PUT and POST only.
  /// How long no byte may move before the request is given up, where that is longer than the
  /// transport's own limit.
  std::optional<std::chrono::seconds> idle_timeout;
  /// Becomes true once a connection stood, whatever came then: for who has to tell that a service
  /// is not there from one that does not answer. May be null.
  bool* connected = nullptr;
};

/// The head of the answer, and the document of an answer that is not a success.
struct HttpResponse {
  int status = 0;
  Headers headers;
  std::optional<uint64_t> content_length;
  std::string error_document;  ///< Body of a status outside 200–299, cut at kMaxErrorDocument.
};

/// \brief Where the body of a successful answer (200–299) goes.
///
/// Threads: called from the thread that performs the request. Errors: one that is returned ends the
/// transfer and becomes its result.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  /// Called once, before the first byte, and for an answer without a body too.
  virtual Status Begin(const HttpResponse& head) = 0;
  virtual Status Write(ByteView bytes) = 0;
};

/// \brief Collects a body in one Buffer, allocated at once from what the answer says of its length.
class BufferSink final : public ResponseSink {
 public:
  /// \param limit longest body that is taken: above it the transfer ends with TooLarge.
  /// \param expected a guess for answers that do not say how long they are; not bounding.
  explicit BufferSink(uint64_t limit = UINT64_MAX, uint64_t expected = 0)
      : limit_(limit), expected_(expected) {}

  Status Begin(const HttpResponse& head) override;
  Status Write(ByteView bytes) override;

  Buffer& buffer() { return buffer_; }
  ByteView view() const { return buffer_.view(); }

 private:
  uint64_t limit_;
  uint64_t expected_;
  Buffer buffer_;
};

/// \brief Performs requests.
///
/// Threads: Perform may be called from several at once. Ownership: the request, the body's memory
/// and the sink are the caller's and must live through the call. Fork: as ObjectStore.
/// Blocking: until the answer is complete, the deadline has passed or the call was cancelled; both
/// are looked at every 200 ms at most. Errors: none for an answer of whatever status. Unavailable
/// (retryable) when there was no complete answer, Timeout, Cancelled, Invalid for a request that
/// cannot be sent, and the sink's own.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  /// \param sink may be null: then the body of a success is dropped.
  virtual Result<HttpResponse> Perform(const HttpRequest& request, const Context& context,
                                       ResponseSink* sink) = 0;
};

}  // namespace airfreight

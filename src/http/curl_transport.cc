#include "http/curl_transport.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/fork_guard.h"
#include "base/sigpipe_guard.h"
#include "http/proxy.h"

namespace airfreight {
namespace {

using std::chrono::milliseconds;

// Context promises a look at cancellation every 200 ms: half for the wait, half for what may lie
// between two looks of a busy transfer, where asking (which may take Python's lock) is not free.
constexpr milliseconds kPollInterval{100};
// libcurl's default of 16 KiB costs a system call and a callback for each. 512 KiB is the most that
// every supported release takes (curl.se/libcurl/c/CURLOPT_BUFFERSIZE.html).
constexpr long kTransferBuffer = 512L << 10;
// What a server says to an upload is a page of XML at most. A buffer of 512 KiB for that would be
// taken from the system and given back for each request.
constexpr long kAnswerBuffer = 64L << 10;
// libcurl sends a body of less than this together with the head, if it is told where it lies
// (MAX_INITIAL_POST_SIZE in its http.h): one segment less, and one wake of the server less, is a
// tenth of the time that a small object takes.
constexpr uint64_t kJoinedBody = (uint64_t{64} << 10) - 1;
// Connections that one handle keeps: a bucket's, and that of another region it was sent to.
constexpr long kConnectionsPerHandle = 2;
// Handles kept between requests. As many threads as that can be at work without reconnecting;
// beyond, what they cost idle is no longer worth it.
constexpr size_t kMaxIdleHandles = 16;

struct SlistFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Slist = std::unique_ptr<curl_slist, SlistFree>;

Status InitialiseCurl() {
  // Never undone: undoing would pull OpenSSL away from whoever else uses it in this process.
  static constinit std::atomic<bool> initialised{false};
  if (initialised.load(std::memory_order_acquire)) return {};
  const ForkGuard guard;  // OpenSSL's set-up is part of it.
  if (initialised.load(std::memory_order_acquire)) return {};
  if (const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK) {
    return Fail(ErrorCode::kInternal, fmt::format("libcurl: {}", curl_easy_strerror(code)));
  }
  initialised.store(true, std::memory_order_release);
  return {};
}

// When the request was begun to be sent, in microseconds; 0 while there is no connection.
curl_off_t SentAt(CURL* easy) {
  curl_off_t sent_at = 0;
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sent_at);
  return sent_at;
}

CaSettings CaSettingsOf(const CurlTransportOptions& options) {
  return {options.ca_bundle, options.names.ca_bundle, options.names.ca_variable};
}

bool IsHttps(std::string_view url) { return EqualsIgnoreCase(url.substr(0, 8), "https://"); }

bool HasBody(std::string_view method) { return method == "PUT" || method == "POST"; }

bool IsJoined(const HttpRequest& request) {
  return HasBody(request.method) && request.body.size() > 0 && request.body.size() <= kJoinedBody;
}

// Scheme, host and port of a URL, for messages.
std::string_view Origin(std::string_view url) {
  const size_t host = url.find("://");
  if (host == std::string_view::npos) return url.substr(0, url.find('/'));
  return url.substr(0, url.find_first_of("/?#", host + 3));
}

Error MakeError(ErrorCode code, std::string message, bool retryable) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.retryable = retryable;
  return error;
}

}  // namespace

struct CurlTransport::Handle {
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    if (multi != nullptr) curl_multi_cleanup(multi);
  }

  CURL* easy = nullptr;
  CURLM* multi = nullptr;  // Owns the connections.
  std::array<char, CURL_ERROR_SIZE> message{};
};

/// One request under way: what libcurl's callbacks read and write.
struct CurlTransport::Transfer {
  const HttpRequest& request;
  ResponseSink* sink;
  HeadParser parser;
  HttpResponse response;
  std::optional<Error> error;  // Why a callback ended the transfer.
  Slist fields;
  std::string ca_path;
  Proxy proxy;
  std::string joined;  // A small body of several segments.
  size_t segment = 0;  // Where in the body the next byte to send lies.
  size_t offset = 0;
  bool answered = false;    // Something of an answer has come, be it an interim one.
  bool lost_reuse = false;  // A connection from before failed without an answer.

  bool success() const { return response.status >= 200 && response.status < 300; }

  bool Check(Status status) {
    if (status) return true;
    error = std::move(status).error();
    return false;
  }

  bool OnHeadLine(std::string_view line) {
    answered = true;
    switch (parser.Feed(line)) {
      case HeadParser::Progress::kMore:
        return true;
      case HeadParser::Progress::kTooLarge:
        error = MakeError(
            ErrorCode::kInternal,
            fmt::format("the head of the answer is longer than {} bytes", HeadParser::kMaxBytes),
            false);
        return false;
      case HeadParser::Progress::kComplete:
        break;
    }
    if (response.status != 0) return true;  // The end of trailers.
    response.status = parser.status();
    response.headers = parser.headers();
    response.content_length = parser.content_length();
    return !success() || sink == nullptr || Check(sink->Begin(response));
  }

  bool OnBody(ByteView bytes) {
    if (success()) return sink == nullptr || Check(sink->Write(bytes));
    const size_t room = kMaxErrorDocument - response.error_document.size();
    response.error_document.append(AsText(bytes.first(std::min(bytes.size(), room))));
    return true;
  }

  size_t Read(std::byte* to, size_t room) {
    const auto& segments = request.body.segments();
    size_t copied = 0;
    while (copied < room && segment < segments.size()) {
      const ByteView rest = segments[segment].subspan(offset);
      const size_t part = std::min(rest.size(), room - copied);
      std::memcpy(to + copied, rest.data(), part);
      copied += part;
      offset += part;
      if (offset == segments[segment].size()) {
        ++segment;
        offset = 0;
      }
    }
    return copied;
  }

  bool Seek(uint64_t position) {
    if (position > request.body.size()) return false;
    segment = 0;
    for (const ByteView bytes : request.body.segments()) {
      if (position < bytes.size()) break;
      position -= bytes.size();
      ++segment;
    }
    offset = static_cast<size_t>(position);
    return true;
  }
};

namespace {

// The callbacks of libcurl, in C's terms. `Transfer` is private to the class, hence the template.
template <typename T>
size_t HeaderCallback(char* data, size_t size, size_t count, void* user) {
  return static_cast<T*>(user)->OnHeadLine({data, size * count}) ? size * count : 0;
}

template <typename T>
size_t WriteCallback(char* data, size_t size, size_t count, void* user) {
  // A return that differs from what came ends the transfer; the count is never zero here.
  return static_cast<T*>(user)->OnBody(AsBytes({data, size * count})) ? size * count : 0;
}

template <typename T>
size_t ReadCallback(char* to, size_t size, size_t count, void* user) {
  return static_cast<T*>(user)->Read(reinterpret_cast<std::byte*>(to), size * count);
}

template <typename T>
int SeekCallback(void* user, curl_off_t offset, int origin) {
  const bool done = origin == SEEK_SET && offset >= 0 &&
                    static_cast<T*>(user)->Seek(static_cast<uint64_t>(offset));
  return done ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

// What would end a field, or the text that libcurl is given.
bool HasBreak(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

/// Sets options until one fails, and remembers that.
class Options {
 public:
  explicit Options(CURL* easy) : easy_(easy) {}

  template <typename V>
  void Set(CURLoption option, V value) {
    if (code_ == CURLE_OK) code_ = curl_easy_setopt(easy_, option, value);
  }
  CURLcode code() const { return code_; }

 private:
  CURL* easy_;
  CURLcode code_ = CURLE_OK;
};

Result<Slist> MakeFields(const HttpRequest& request) {
  Slist list;
  const auto append = [&list](const std::string& line) {
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) return false;
    list.release();  // NOLINT(bugprone-unused-return-value): `longer` begins with it.
    list.reset(longer);
    return true;
  };
  // libcurl adds `Expect: 100-continue` to large uploads by itself: a second lost on each where a
  // server does not know it, and worse behind proxies (aws/aws-cli#1116, cloudflare/workerd#6845).
  bool done = append("Expect:") && append("Accept:");
  std::string line;
  for (const auto& [name, value] : request.headers) {
    if (name.empty() || HasBreak(name) || HasBreak(value)) {
      return Fail(ErrorCode::kInvalid, "a header of the request holds a line break or a NUL");
    }
    // "Name:" would remove a field, "Name;" sends it empty (CURLOPT_HTTPHEADER).
    line = name;
    line += value.empty() ? ";" : ": ";
    line += value;
    done = done && append(line);
  }
  // libcurl would call a body that it is given in one piece a form.
  if (IsJoined(request) && !request.headers.Find("content-type")) {
    done = done && append("Content-Type:");
  }
  if (!done) return Fail(ErrorCode::kTooLarge, "no memory for the request's headers");
  return list;
}

}  // namespace

CurlTransport::CurlTransport(CurlTransportOptions options, Environment environment)
    : options_(std::move(options)), environment_(std::move(environment)) {}

CurlTransport::~CurlTransport() = default;

Result<std::unique_ptr<CurlTransport::Handle>> CurlTransport::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Handle> handle = std::move(idle_.back());
      idle_.pop_back();
      return handle;
    }
  }
  return NewHandle();
}

Result<std::unique_ptr<CurlTransport::Handle>> CurlTransport::NewHandle() {
  AIRFREIGHT_RETURN_IF_ERROR(InitialiseCurl());
  auto handle = std::make_unique<Handle>();
  handle->easy = curl_easy_init();
  handle->multi = curl_multi_init();
  if (handle->easy == nullptr || handle->multi == nullptr) {
    return Fail(ErrorCode::kTooLarge, "no memory for a connection");
  }
  curl_multi_setopt(handle->multi, CURLMOPT_MAXCONNECTS, kConnectionsPerHandle);
  return handle;
}

void CurlTransport::Return(std::unique_ptr<Handle> handle) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdleHandles) idle_.push_back(std::move(handle));
}

Result<CaLocation> CurlTransport::CaBundle() {
  const std::lock_guard lock(mutex_);
  if (ca_ == nullptr) {
    ca_ = std::make_unique<Result<CaLocation>>(FindCaBundle(CaSettingsOf(options_), environment_));
  }
  return *ca_;
}

std::chrono::seconds CurlTransport::IdleTimeout(const HttpRequest& request) const {
  return std::max(request.idle_timeout.value_or(options_.idle_timeout), options_.idle_timeout);
}

Status CurlTransport::Configure(Handle& handle, Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  curl_easy_reset(handle.easy);
  handle.message[0] = '\0';
  AIRFREIGHT_ASSIGN_OR_RETURN(transfer.fields, MakeFields(request));

  Options options(handle.easy);
  options.Set(CURLOPT_ERRORBUFFER, handle.message.data());
  options.Set(CURLOPT_NOSIGNAL, 1L);
  options.Set(CURLOPT_URL, request.url.c_str());
  // What was signed is what is sent: no folding of `/./` and `/../`.
  options.Set(CURLOPT_PATH_AS_IS, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
  options.Set(CURLOPT_PROTOCOLS_STR, "http,https");
#else
  options.Set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  // A look-up that hangs must not hold back a cancelled call while its thread is waited for.
  options.Set(CURLOPT_QUICK_EXIT, 1L);
#endif
  options.Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  options.Set(CURLOPT_FOLLOWLOCATION, 0L);
  options.Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  options.Set(CURLOPT_USERAGENT, options_.user_agent.c_str());
  options.Set(CURLOPT_HTTPHEADER, transfer.fields.get());
  options.Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!options_.local_service) transfer.proxy = FindProxy(request.url, environment_);
  // Empty too: else libcurl would look into the environment by itself.
  options.Set(CURLOPT_PROXY, transfer.proxy.url.c_str());
  options.Set(CURLOPT_NOPROXY, transfer.proxy.exempt.c_str());

  options.Set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout.count()));
  options.Set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  options.Set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(IdleTimeout(request).count()));
  options.Set(CURLOPT_MAXAGE_CONN, static_cast<long>(options_.max_idle_age.count()));
  // Routers forget a connection on which a store thinks for minutes.
  options.Set(CURLOPT_TCP_KEEPALIVE, 1L);
  options.Set(CURLOPT_BUFFERSIZE, HasBody(request.method) ? kAnswerBuffer : kTransferBuffer);
  options.Set(CURLOPT_UPLOAD_BUFFERSIZE, kTransferBuffer);

  options.Set(CURLOPT_HEADERFUNCTION, &HeaderCallback<Transfer>);
  options.Set(CURLOPT_HEADERDATA, &transfer);
  options.Set(CURLOPT_WRITEFUNCTION, &WriteCallback<Transfer>);
  options.Set(CURLOPT_WRITEDATA, &transfer);
  if (IsJoined(request)) {
    const std::vector<ByteView>& segments = request.body.segments();
    if (segments.size() > 1) {
      transfer.joined.reserve(request.body.size());
      for (const ByteView bytes : segments) transfer.joined += AsText(bytes);
    }
    // Not copied; the method is the one set above.
    options.Set(CURLOPT_POST, 1L);
    options.Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    options.Set(CURLOPT_POSTFIELDS,
                segments.size() > 1 ? transfer.joined.data() : AsText(segments.front()).data());
  } else if (HasBody(request.method)) {
    options.Set(CURLOPT_UPLOAD, 1L);
    options.Set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    options.Set(CURLOPT_READFUNCTION, &ReadCallback<Transfer>);
    options.Set(CURLOPT_READDATA, &transfer);
    options.Set(CURLOPT_SEEKFUNCTION, &SeekCallback<Transfer>);
    options.Set(CURLOPT_SEEKDATA, &transfer);
  } else if (request.method == "HEAD") {
    options.Set(CURLOPT_NOBODY, 1L);
  }

  if (IsHttps(request.url)) {
    options.Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    options.Set(CURLOPT_SSL_VERIFYPEER, options_.verify ? 1L : 0L);
    options.Set(CURLOPT_SSL_VERIFYHOST, options_.verify ? 2L : 0L);
    if (options_.verify) {
      AIRFREIGHT_ASSIGN_OR_RETURN(const CaLocation ca, CaBundle());
      transfer.ca_path = fmt::format("{} ({})", ca.path, ca.source);
      options.Set(ca.is_directory ? CURLOPT_CAPATH : CURLOPT_CAINFO, ca.path.c_str());
    }
  }
  if (options.code() != CURLE_OK) {
    return Fail(ErrorCode::kInternal,
                fmt::format("libcurl refused an option: {}", curl_easy_strerror(options.code())));
  }
  return {};
}

Result<HttpResponse> CurlTransport::Run(Handle& handle, Transfer& transfer,
                                        const Context& context) {
  const SigPipeGuard guard;  // Hence CURLOPT_NOSIGNAL.
  const CURLMcode added = curl_multi_add_handle(handle.multi, handle.easy);
  if (added != CURLM_OK) return Fail(ErrorCode::kInternal, curl_multi_strerror(added));
  // Ends the transfer and, where it is not complete, its connection.
  struct Remove {
    Handle& handle;
    ~Remove() { curl_multi_remove_handle(handle.multi, handle.easy); }
  } const remove{handle};

  auto last_look = Context::Clock::now();
  for (;;) {
    int running = 0;
    CURLMcode code = curl_multi_perform(handle.multi, &running);
    if (code == CURLM_OK && running == 0) break;

    auto now = Context::Clock::now();
    auto wait = kPollInterval;
    if (context.deadline) {
      if (now >= *context.deadline) {
        return Fail(MakeError(ErrorCode::kTimeout,
                              fmt::format("{} {} was not complete at the deadline",
                                          transfer.request.method, Origin(transfer.request.url)),
                              true));
      }
      wait = std::min(wait, std::chrono::ceil<milliseconds>(*context.deadline - now));
    }
    if (now - last_look >= kPollInterval) {
      if (context.IsCancelled()) {
        return Fail(MakeError(ErrorCode::kCancelled, "the caller ended the transfer", false));
      }
      last_look = now;
    }
    if (code == CURLM_OK) {
      code = curl_multi_poll(handle.multi, nullptr, 0, static_cast<int>(wait.count()), nullptr);
    }
    if (code != CURLM_OK) return Fail(ErrorCode::kInternal, curl_multi_strerror(code));
  }

  int left = 0;
  const CURLMsg* message = curl_multi_info_read(handle.multi, &left);
  if (message == nullptr || message->msg != CURLMSG_DONE) {
    return Fail(ErrorCode::kInternal, "libcurl ended a transfer without a result");
  }
  if (message->data.result != CURLE_OK) {
    transfer.lost_reuse = LostReuse(handle, transfer, static_cast<int>(message->data.result));
    return Fail(Explain(handle, transfer, static_cast<int>(message->data.result)));
  }
  if (transfer.response.status == 0) {
    // libcurl takes a connection that ends within the head for the end of an answer without a body.
    return Fail(MakeError(ErrorCode::kUnavailable,
                          fmt::format("{} {}: the answer ended within its head",
                                      transfer.request.method, Origin(transfer.request.url)),
                          true));
  }
  return std::move(transfer.response);
}

bool CurlTransport::LostReuse(const Handle& handle, const Transfer& transfer, int curl_code) {
  switch (static_cast<CURLcode>(curl_code)) {
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
      break;
    default:
      return false;
  }
  long connects = 0;
  return !transfer.answered && !transfer.error &&
         curl_easy_getinfo(handle.easy, CURLINFO_NUM_CONNECTS, &connects) == CURLE_OK &&
         connects == 0;
}

Error CurlTransport::Explain(const Handle& handle, const Transfer& transfer, int curl_code) const {
  // A callback's own reason says more than "failed writing received data".
  if (transfer.error) return *transfer.error;

  const auto code = static_cast<CURLcode>(curl_code);
  const std::string reason = handle.message[0] != '\0' ? std::string(handle.message.data())
                                                       : std::string(curl_easy_strerror(code));
  const std::string where =
      fmt::format("{} {}: ", transfer.request.method, Origin(transfer.request.url));
  long tunnel = 0;
  if (curl_easy_getinfo(handle.easy, CURLINFO_HTTP_CONNECTCODE, &tunnel) == CURLE_OK &&
      tunnel >= 400) {
    // Its own URL is not shown: passwords stand in such.
    const bool refused = tunnel < 500;
    return MakeError(
        refused ? ErrorCode::kDenied : ErrorCode::kUnavailable,
        fmt::format("{}the proxy of {} answered {} to CONNECT{}", where, transfer.proxy.source,
                    tunnel,
                    tunnel == 407 ? "; it wants a user: http://user:password@proxy:3128"
                    : refused     ? "; have it let this host through, or name the host in NO_PROXY"
                                  : ""),
        !refused);
  }
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
      return MakeError(
          ErrorCode::kUnavailable,
          fmt::format("{}{}. Checked against {}; if a private CA signed it, set "
                      "{} to a file with that CA",
                      where, reason, transfer.ca_path, CaAdvice(CaSettingsOf(options_))),
          false);
    case CURLE_URL_MALFORMAT:
      return MakeError(ErrorCode::kInvalid, where + reason, false);
    case CURLE_UNSUPPORTED_PROTOCOL: {
      // Of a URL, or, once the request was sent, of an answer ("Received HTTP/0.9 when not
      // allowed"): then the status line was damaged on its way, or no HTTP server is there.
      const bool of_answer = SentAt(handle.easy) > 0;
      return MakeError(
          of_answer ? ErrorCode::kUnavailable : ErrorCode::kInvalid,
          where + (of_answer ? fmt::format("the answer is no HTTP ({})", reason) : reason),
          of_answer);
    }
    case CURLE_OUT_OF_MEMORY:
      return MakeError(ErrorCode::kTooLarge, where + reason, false);
    case CURLE_PARTIAL_FILE:
      return MakeError(ErrorCode::kUnavailable,
                       fmt::format("{}the answer ended early ({})", where, reason), true);
    case CURLE_OPERATION_TIMEDOUT: {
      const auto named = [](const std::string& name) {
        return name.empty() ? std::string() : fmt::format(" ({})", name);
      };
      const std::string limit =
          SentAt(handle.easy) == 0
              ? fmt::format("no connection within {} ms{}", options_.connect_timeout.count(),
                            named(options_.names.connect_timeout))
              : fmt::format("not a byte moved for {} s{}", IdleTimeout(transfer.request).count(),
                            named(options_.names.idle_timeout));
      return MakeError(ErrorCode::kUnavailable, where + limit, true);
    }
    default:
      // Refused, reset, closed, unresolved, TLS handshakes cut short: all of the network, all worth
      // another try.
      return MakeError(ErrorCode::kUnavailable, where + reason, true);
  }
}

Result<HttpResponse> CurlTransport::Perform(const HttpRequest& request, const Context& context,
                                            ResponseSink* sink) {
  if (context.Expired()) {
    return Fail(MakeError(ErrorCode::kTimeout, "the deadline had passed before the request", true));
  }
  if (context.IsCancelled()) {
    return Fail(MakeError(ErrorCode::kCancelled, "cancelled before the request", false));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(std::unique_ptr<Handle> handle, Take());
  for (bool fresh = false;; fresh = true) {
    Transfer transfer{request, sink, {}, {}, {}, {}, {}, {}, {}};
    AIRFREIGHT_RETURN_IF_ERROR(Configure(*handle, transfer));
    Result<HttpResponse> response = Run(*handle, transfer, context);
    if (request.connected != nullptr && (response || SentAt(handle->easy) > 0)) {
      *request.connected = true;
    }
    if (response) {
      Return(std::move(handle));
      return response;
    }
    // A handle that failed is not used again: its connection is of no use, and one whose look-up of
    // a name failed refuses options from then on (libcurl 7.88).
    if (fresh || !transfer.lost_reuse) return response;
    // The server closed the connection while it lay idle, and the request met that on its way:
    // which is no failure of the server, and so neither waited for nor counted. libcurl does the
    // same, but not where the failure is one of sending. A new handle has no old connection.
    AIRFREIGHT_ASSIGN_OR_RETURN(handle, NewHandle());
  }
}

}  // namespace airfreight

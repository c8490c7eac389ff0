#pragma once

/// \file
/// \brief A fault case as its file has it. The format: `tests/faults/README.md`.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "faults/fake_service.h"
#include "faults/fault_server.h"

namespace airfreight::faults {

/// What a header must be.
struct HeaderRule {
  enum class Kind { kIs, kContains, kAbsent };
  std::string name;
  Kind kind = Kind::kIs;
  std::string text;
};

/// What a request must be like, to be answered by a step or to be the one that was expected.
struct RequestRule {
  std::string method;  ///< Empty: any.
  std::string path;    ///< Empty: any.
  std::map<std::string, std::string> query;
  std::vector<HeaderRule> headers;
  std::optional<uint64_t> body_size;  ///< For expectations.
  bool some = false;                  ///< For expectations: one request or more.
  std::string text;                   ///< As the file has it, for messages.
};

/// How the length of a body is told.
enum class LengthKind { kRight, kNone, kStated, kTwice, kChunked, kChunkedWithoutEnd };

/// One step of a server's script.
struct Step {
  RequestRule on;
  int times = 1;  ///< -1: whenever it matches.

  /// \name The answer
  /// @{
  bool silent = false;        ///< Nothing is sent.
  bool perform = false;       ///< Begins as what a faultless service answers, with its effects.
  std::optional<int> status;  ///< Over that.
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;  ///< Null: taken out.
  std::optional<std::string> body;
  std::string before;              ///< Sent before the status line.
  std::optional<std::string> raw;  ///< In place of all of it.
  LengthKind length = LengthKind::kRight;
  uint64_t stated_length = 0;
  std::optional<uint64_t> cut;   ///< Only so many bytes of the body are sent.
  std::optional<uint64_t> flip;  ///< The bits of this byte of the body are inverted.
  uint64_t extra = 0;            ///< So many bytes more than the body has.
  size_t head_bytes = 0;         ///< The head carries so many bytes more, in lines of 100.
  bool before_body = false;      ///< Sent before the request's body is read.
  size_t trickle = 0;
  Ending ending = Ending::kKeep;
  /// @}

  std::string replace;      ///< "before" or "after" the answer another writer replaces the object.
  std::string credentials;  ///< Access key id that the credentials file names from then on.
};

/// What an action must come to.
struct Expectation {
  std::optional<ErrorCode> error;  ///< Absent: success.
  std::vector<std::string> message;
  std::vector<std::string> message_without;
  std::optional<bool> retryable;
  std::optional<int> http_status;
  std::optional<std::string> service_code;
  std::optional<std::string> request_id;
  std::optional<std::string>
      text;                     ///< The bytes that a read gives; absent: those that were written.
  std::optional<bool> removed;  ///< What a purge says.
};

/// One thing that is done with the store or with Freight.
struct Action {
  enum class Verb {
    kPut,
    kGet,
    kHead,
    kRemove,
    kList,
    kUpload,
    kPush,
    kStream,
    kPull,
    kToFile,
    kPurge
  };
  Verb verb = Verb::kPut;
  uint64_t size = 100;
  uint64_t seed = 0;     ///< Another one is another value.
  uint64_t piece = 0;    ///< Bytes of each Append of a stream or part of an upload; 0: all at once.
  bool abandon = false;  ///< A stream or upload is given up in place of finished.
  /// A stream is given up once the server has seen so many requests.
  std::optional<size_t> abandon_after;
  int process = 1;             ///< Each number has its own store, connections and Freight.
  std::optional<size_t> of;    ///< Which push a pull or purge is about, from 0; absent: the last.
  std::string encryption_key;  ///< Of a put or an upload, as is the next.
  std::string retention_class;
  int64_t attempt = 1;
  int64_t minute = 0;  ///< At which the attempt started.
  Condition::Kind condition = Condition::Kind::kNone;
  std::optional<uint64_t> offset;
  std::optional<uint64_t> length;
  /// Cancelled from the moment at which the server has seen so many requests.
  std::optional<size_t> cancel_after;
  std::optional<double> deadline;  ///< Seconds.
  Expectation expect;
};

/// Requests that must come, in any order among themselves.
using RequestGroup = std::vector<RequestRule>;

struct Case {
  std::string name;
  std::string file;
  std::string source;
  std::string fact;
  const Dialect* dialect = nullptr;                            ///< Of the store that it is about.
  std::map<std::string, std::optional<std::string>> settings;  ///< Null takes a default out.
  int connections = 4;                                         ///< TransferOptions.
  uint64_t part_bytes = 5 << 20;                               ///< TransferOptions.
  std::string credentials;     ///< Access key id in the credentials file; empty: settings.
  bool refuse_first = false;   ///< The server listens only once the client has waited.
  std::vector<Action> before;  ///< Done with a faultless server, and not counted.
  std::vector<Step> script;
  std::vector<Action> actions;
  std::vector<RequestGroup> requests;
  std::optional<int> expect_connections;
  std::optional<double> waited_least;
  std::optional<double> waited_most;
  std::optional<size_t> open_uploads;
  std::optional<size_t> objects;
};

/// Parses a file's text. Invalid when a field is missing, unknown or of the wrong type, naming it.
Result<Case> ParseCase(std::string_view name, std::string_view text);

/// The bytes of a value: the same for the same size and seed, and different everywhere for others.
std::string ValueOf(uint64_t size, uint64_t seed);

}  // namespace airfreight::faults

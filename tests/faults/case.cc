#include "faults/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "faults/fake_service.h"

namespace airfreight::faults {
namespace {

using nlohmann::json;

[[noreturn]] void Refuse(const std::string& what) { throw std::invalid_argument(what); }

/// \brief An object whose members are taken one by one; what is left at the end is a mistake.
///
/// Errors: throws std::invalid_argument with the path of the member; ParseCase makes it a Result.
class Fields {
 public:
  Fields(const json& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value_.is_object()) Refuse(where_ + " is not an object");
  }

  const json* Find(const std::string& name) {
    taken_.insert(name);
    const auto found = value_.find(name);
    return found == value_.end() ? nullptr : &*found;
  }
  template <typename T>
  std::optional<T> Take(const std::string& name) {
    const json* member = Find(name);
    if (member == nullptr) return std::nullopt;
    return As<T>(*member, Path(name));
  }
  template <typename T>
  T Get(const std::string& name, T fallback) {
    return Take<T>(name).value_or(std::move(fallback));
  }
  std::string Path(const std::string& name) const { return where_ + "." + name; }
  const std::string& where() const { return where_; }
  const json& value() const { return value_; }

  void End() const {
    for (const auto& [name, value] : value_.items()) {
      if (!taken_.contains(name)) Refuse(Path(name) + " is not known");
    }
  }

  template <typename T>
  static T As(const json& value, const std::string& where) {
    bool right = false;
    if constexpr (std::is_same_v<T, bool>) {
      right = value.is_boolean();
    } else if constexpr (std::is_unsigned_v<T>) {
      right = value.is_number_unsigned();
    } else if constexpr (std::is_integral_v<T>) {
      right = value.is_number_integer();
    } else if constexpr (std::is_floating_point_v<T>) {
      right = value.is_number();
    } else {
      right = value.is_string();
    }
    if (!right) Refuse(where + " is of the wrong type");
    return value.get<T>();
  }

 private:
  const json& value_;
  std::string where_;
  std::set<std::string> taken_;
};

template <typename T>
T Choose(const std::string& where, const std::string& word,
         std::initializer_list<std::pair<std::string_view, T>> choices) {
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
  }
  Refuse(fmt::format("{}: '{}' is not known", where, word));
}

std::vector<std::string> Texts(Fields& fields, const std::string& name) {
  const json* list = fields.Find(name);
  std::vector<std::string> texts;
  if (list == nullptr) return texts;
  if (!list->is_array()) Refuse(fields.Path(name) + " is not a list");
  for (const json& text : *list) texts.push_back(Fields::As<std::string>(text, fields.Path(name)));
  return texts;
}

// A body: text, or an error document of the service.
std::string ParseBody(const json& value, const Dialect& dialect, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  Fields fields(value, where);
  const std::string before = fields.Get<std::string>("blanks", "");
  const auto bytes = fields.Take<uint64_t>("value");
  std::string body = bytes ? ValueOf(*bytes, 0)
                           : before + dialect.error(fields.Take<std::string>("error").value_or("?"),
                                                    fields.Get<std::string>("message", ""),
                                                    fields.Get<std::string>("more", ""));
  fields.End();
  return body;
}

std::vector<HeaderRule> ParseHeaderRules(Fields& fields, const std::string& name) {
  std::vector<HeaderRule> rules;
  const json* headers = fields.Find(name);
  if (headers == nullptr) return rules;
  if (!headers->is_object()) Refuse(fields.Path(name) + " is not an object");
  for (const auto& [header, value] : headers->items()) {
    HeaderRule rule{header, HeaderRule::Kind::kIs, {}};
    if (value.is_null()) {
      rule.kind = HeaderRule::Kind::kAbsent;
    } else if (value.is_string()) {
      rule.text = value.get<std::string>();
    } else {
      Fields inner(value, fields.Path(name) + "." + header);
      rule.kind = HeaderRule::Kind::kContains;
      rule.text = inner.Take<std::string>("contains").value_or("");
      if (rule.text.empty()) Refuse(inner.where() + " says nothing");
      inner.End();
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

void Expand(std::string& text, std::string_view name, std::string_view with) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += with.size()) {
    text.replace(at, name.size(), with);
  }
}

// "PUT {object}?partNumber=1": method, then path and query where they matter.
RequestRule ParseLine(std::string line, const Dialect& dialect, const std::string& where) {
  RequestRule rule;
  rule.text = line;
  for (const auto& [name, key] : {std::pair("object", kObject), {"key", kKey}}) {
    for (const auto& [placeholder, text] : dialect.names(name, key)) {
      Expand(line, "{" + placeholder + "}", text);
    }
  }
  const size_t blank = std::min(line.find(' '), line.size());
  rule.method = line.substr(0, blank);
  if (rule.method == "ANY") rule.method.clear();
  Target target = ParseTarget(std::string_view(line).substr(std::min(blank + 1, line.size())));
  if (!target.path.empty() && target.path[0] != '/') {
    Refuse(fmt::format("{}: '{}' has no path that begins with a slash", where, rule.text));
  }
  rule.path = std::move(target.path);
  rule.query = std::move(target.query);
  return rule;
}

RequestRule ParseExpected(const json& value, const Dialect& dialect, const std::string& where) {
  if (value.is_string()) return ParseLine(value.get<std::string>(), dialect, where);
  Fields fields(value, where);
  RequestRule rule = ParseLine(fields.Get<std::string>("is", ""), dialect, where);
  if (rule.method.empty() || rule.path.empty()) Refuse(where + ".is needs a method and a path");
  rule.headers = ParseHeaderRules(fields, "headers");
  rule.body_size = fields.Take<uint64_t>("body_size");
  if (const auto times = fields.Take<std::string>("times")) {
    if (*times != "some") Refuse(fields.Path("times") + " is 'some'");
    rule.some = true;
  }
  fields.End();
  return rule;
}

Step ParseStep(const json& value, const Dialect& dialect, const std::string& where) {
  Fields fields(value, where);
  Step step;
  step.on = ParseLine(fields.Get<std::string>("on", "ANY"), dialect, where);
  step.on.headers = ParseHeaderRules(fields, "where");
  if (const json* times = fields.Find("times"); times != nullptr) {
    step.times = *times == "always" ? -1 : Fields::As<int>(*times, fields.Path("times"));
  }
  step.silent = fields.Get("silent", false);
  step.perform = fields.Get("perform", false);
  step.status = fields.Take<int>("status");
  if (const json* headers = fields.Find("headers"); headers != nullptr) {
    if (!headers->is_object()) Refuse(fields.Path("headers") + " is not an object");
    for (const auto& [name, text] : headers->items()) {
      std::optional<std::string> set;
      if (!text.is_null()) set = Fields::As<std::string>(text, fields.Path("headers"));
      step.headers.emplace_back(name, std::move(set));
    }
  }
  if (const json* body = fields.Find("body"); body != nullptr) {
    step.body = ParseBody(*body, dialect, fields.Path("body"));
  }
  step.before = fields.Get<std::string>("before", "");
  step.raw = fields.Take<std::string>("raw");
  if (const json* length = fields.Find("length"); length != nullptr) {
    if (length->is_number()) {
      step.length = LengthKind::kStated;
      step.stated_length = Fields::As<uint64_t>(*length, fields.Path("length"));
    } else {
      step.length = Choose<LengthKind>(fields.Path("length"),
                                       Fields::As<std::string>(*length, fields.Path("length")),
                                       {{"none", LengthKind::kNone},
                                        {"twice", LengthKind::kTwice},
                                        {"chunked", LengthKind::kChunked},
                                        {"chunked without end", LengthKind::kChunkedWithoutEnd}});
    }
  }
  step.cut = fields.Take<uint64_t>("cut");
  step.flip = fields.Take<uint64_t>("flip");
  step.extra = fields.Get<uint64_t>("extra", 0);
  step.head_bytes = fields.Get<size_t>("head_bytes", 0);
  step.before_body = fields.Get("before_body", false);
  step.trickle = fields.Get<size_t>("trickle", 0);
  step.ending = Choose<Ending>(fields.Path("end"), fields.Get<std::string>("end", "keep"),
                               {{"keep", Ending::kKeep},
                                {"close", Ending::kClose},
                                {"reset", Ending::kReset},
                                {"stall", Ending::kStall}});
  step.replace = fields.Get<std::string>("replace", "");
  if (!step.replace.empty() && step.replace != "before" && step.replace != "after") {
    Refuse(fields.Path("replace") + " is 'before' or 'after'");
  }
  step.credentials = fields.Get<std::string>("credentials", "");
  fields.End();
  if (!step.silent && !step.perform && !step.status && !step.raw) {
    Refuse(where + " has no answer: status, perform, raw or silent");
  }
  return step;
}

ErrorCode ParseErrorCode(const std::string& where, const std::string& name) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    if (ErrorCodeName(static_cast<ErrorCode>(code)) == name) return static_cast<ErrorCode>(code);
  }
  Refuse(fmt::format("{}: '{}' is no error code", where, name));
}

Expectation ParseExpectation(const json& value, const std::string& where) {
  Expectation expect;
  if (value == "ok") return expect;
  Fields fields(value, where);
  if (const auto name = fields.Take<std::string>("error")) {
    expect.error = ParseErrorCode(where, *name);
  }
  expect.message = Texts(fields, "message");
  expect.message_without = Texts(fields, "message_without");
  expect.retryable = fields.Take<bool>("retryable");
  expect.http_status = fields.Take<int>("http_status");
  expect.service_code = fields.Take<std::string>("service_code");
  expect.request_id = fields.Take<std::string>("request_id");
  expect.text = fields.Take<std::string>("text");
  expect.removed = fields.Take<bool>("removed");
  fields.End();
  return expect;
}

Action ParseAction(const json& value, const std::string& where, bool counted) {
  using Verb = Action::Verb;
  Fields fields(value, where);
  Action action;
  action.verb = Choose<Verb>(where, fields.Get<std::string>("do", ""),
                             {{"put", Verb::kPut},
                              {"get", Verb::kGet},
                              {"head", Verb::kHead},
                              {"remove", Verb::kRemove},
                              {"list", Verb::kList},
                              {"upload", Verb::kUpload},
                              {"push", Verb::kPush},
                              {"stream", Verb::kStream},
                              {"pull", Verb::kPull},
                              {"pull to file", Verb::kToFile},
                              {"purge", Verb::kPurge}});
  action.size = fields.Get<uint64_t>("size", action.size);
  action.seed = fields.Get<uint64_t>("seed", action.seed);
  action.piece = fields.Get<uint64_t>("piece", action.piece);
  action.abandon = fields.Get("abandon", action.abandon);
  action.abandon_after = fields.Take<size_t>("abandon_after");
  action.process = fields.Get("process", action.process);
  action.of = fields.Take<size_t>("of");
  action.encryption_key = fields.Get<std::string>("encryption_key", "");
  action.retention_class = fields.Get<std::string>("retention_class", "");
  action.attempt = fields.Get<int64_t>("attempt", action.attempt);
  action.minute = fields.Get<int64_t>("minute", action.minute);
  action.condition = Choose<Condition::Kind>(fields.Path("condition"),
                                             fields.Get<std::string>("condition", "none"),
                                             {{"none", Condition::Kind::kNone},
                                              {"absent", Condition::Kind::kAbsent},
                                              {"version", Condition::Kind::kVersion}});
  action.offset = fields.Take<uint64_t>("offset");
  action.length = fields.Take<uint64_t>("length");
  action.cancel_after = fields.Take<size_t>("cancel_after");
  action.deadline = fields.Take<double>("deadline");
  const json* expect = fields.Find("expect");
  if (expect != nullptr) {
    action.expect = ParseExpectation(*expect, fields.Path("expect"));
  } else if (counted) {
    Refuse(fields.Path("expect") + " is missing");
  }
  fields.End();
  return action;
}

const json& List(Fields& fields, const std::string& name, bool required) {
  static const json empty = json::array();
  const json* list = fields.Find(name);
  if (list == nullptr && required) Refuse(fields.Path(name) + " is missing");
  if (list == nullptr) return empty;
  if (!list->is_array()) Refuse(fields.Path(name) + " is not a list");
  return *list;
}

Case Parse(std::string_view name, std::string_view text) {
  const json root = json::parse(text);
  Fields fields(root, std::string(name));
  Case parsed;
  parsed.name = name;
  parsed.source = fields.Get<std::string>("source", "");
  parsed.fact = fields.Get<std::string>("fact", "");
  if (parsed.source.empty() || parsed.fact.empty()) {
    Refuse("source and fact say where the case comes from and what it protects");
  }
  const std::string store = fields.Get<std::string>("store", "s3");
  parsed.dialect = FindDialect(store);
  if (parsed.dialect == nullptr) Refuse(fmt::format("store '{}' is not known", store));
  if (const json* settings = fields.Find("settings"); settings != nullptr) {
    for (const auto& [key, value] : settings->items()) {
      parsed.settings[key] = value.is_null()
                                 ? std::nullopt
                                 : std::optional(Fields::As<std::string>(value, "settings." + key));
    }
  }
  if (const json* transfer = fields.Find("transfer"); transfer != nullptr) {
    Fields inner(*transfer, fields.Path("transfer"));
    parsed.connections = inner.Get("connections", parsed.connections);
    parsed.part_bytes = inner.Get<uint64_t>("part_bytes", parsed.part_bytes);
    inner.End();
  }
  parsed.credentials = fields.Get<std::string>("credentials", "");
  parsed.refuse_first = fields.Get("refuse_first", false);
  for (const json& action : List(fields, "before", false)) {
    parsed.before.push_back(ParseAction(action, fields.Path("before"), false));
  }
  for (const json& step : List(fields, "script", false)) {
    const std::string where = fmt::format("script[{}]", parsed.script.size());
    parsed.script.push_back(ParseStep(step, *parsed.dialect, where));
  }
  for (const json& action : List(fields, "actions", true)) {
    const std::string where = fmt::format("actions[{}]", parsed.actions.size());
    parsed.actions.push_back(ParseAction(action, where, true));
  }
  int somes = 0;
  for (const json& request : List(fields, "requests", true)) {
    const std::string where = fmt::format("requests[{}]", parsed.requests.size());
    RequestGroup group;
    if (request.is_array()) {
      for (const json& one : request) group.push_back(ParseExpected(one, *parsed.dialect, where));
    } else {
      group.push_back(ParseExpected(request, *parsed.dialect, where));
    }
    for (const RequestRule& rule : group) {
      if (!rule.some) continue;
      if (group.size() > 1 || somes++ > 0) Refuse(where + ": 'some' is for one, alone");
    }
    parsed.requests.push_back(std::move(group));
  }
  parsed.expect_connections = fields.Take<int>("connections");
  if (const json* waited = fields.Find("waited"); waited != nullptr) {
    Fields inner(*waited, fields.Path("waited"));
    parsed.waited_least = inner.Take<double>("least");
    parsed.waited_most = inner.Take<double>("most");
    inner.End();
  }
  parsed.open_uploads = fields.Take<size_t>("open_uploads");
  parsed.objects = fields.Take<size_t>("objects");
  fields.End();
  return parsed;
}

}  // namespace

Result<Case> ParseCase(std::string_view name, std::string_view text) {
  try {
    return Parse(name, text);
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kInvalid, fmt::format("{}: {}", name, error.what()));
  }
}

std::string ValueOf(uint64_t size, uint64_t seed) {
  // Constants: the generator of Knuth's MMIX (en.wikipedia.org/wiki/Linear_congruential_generator).
  uint64_t state = size ^ (seed * 0x9e3779b97f4a7c15);
  std::string value(size, '\0');
  for (size_t at = 0; at < value.size(); at += sizeof(state)) {
    state = state * 6364136223846793005 + 1442695040888963407;
    std::memcpy(&value[at], &state, std::min(sizeof(state), value.size() - at));
  }
  return value;
}

}  // namespace airfreight::faults

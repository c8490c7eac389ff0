#include "faults/scripted_server.h"

#include <fmt/format.h>

#include <utility>

namespace airfreight::faults {
namespace {

bool HeaderMatches(const HeaderRule& rule, const Headers& headers) {
  const auto value = headers.Find(rule.name);
  switch (rule.kind) {
    case HeaderRule::Kind::kIs:
      return value && *value == rule.text;
    case HeaderRule::Kind::kContains:
      return value && value->find(rule.text) != std::string_view::npos;
    case HeaderRule::Kind::kAbsent:
      return !value;
  }
  return false;
}

Reply WithChanges(Reply reply, const Step& step) {
  if (step.status) reply.status = *step.status;
  Headers headers;
  for (const auto& [name, value] : reply.headers) {
    bool removed = false;
    for (const auto& [other, text] : step.headers) {
      removed = removed || (!text && EqualsIgnoreCase(name, other));
    }
    if (!removed) headers.Set(name, value);
  }
  for (const auto& [name, text] : step.headers) {
    if (text) headers.Set(name, *text);
  }
  reply.headers = std::move(headers);
  if (step.body) reply.body = *step.body;
  reply.body.append(step.extra, 'x');
  if (step.flip && *step.flip < reply.body.size()) {
    reply.body[*step.flip] = static_cast<char>(~reply.body[*step.flip]);
  }
  return reply;
}

std::string ToBytes(const Reply& reply, const Step& step, bool head_only) {
  std::string bytes = step.before + fmt::format("HTTP/1.1 {} Scripted\r\n", reply.status);
  for (const auto& [name, value] : reply.headers) bytes += fmt::format("{}: {}\r\n", name, value);
  constexpr size_t kLine = 100;
  for (size_t i = 0; i < step.head_bytes / kLine; ++i) {
    bytes += fmt::format("X-Padding-{:06}: {}\r\n", i, std::string(kLine - 20, 'p'));
  }
  const std::string length = fmt::format("Content-Length: {}\r\n", reply.body.size());
  bool chunked = false;
  switch (step.length) {
    case LengthKind::kRight:
      // www.rfc-editor.org/rfc/rfc9110#section-8.6: none with 204.
      if (reply.status != 204) bytes += length;
      break;
    case LengthKind::kNone:
      break;
    case LengthKind::kStated:
      bytes += fmt::format("Content-Length: {}\r\n", step.stated_length);
      break;
    case LengthKind::kTwice:
      bytes += length + fmt::format("Content-Length: {}\r\n", reply.body.size() + 1);
      break;
    case LengthKind::kChunked:
    case LengthKind::kChunkedWithoutEnd:
      bytes += "Transfer-Encoding: chunked\r\n";
      chunked = true;
      break;
  }
  bytes += "\r\n";
  if (head_only || reply.status == 204 || reply.status == 304) return bytes;
  const std::string body = reply.body.substr(0, step.cut.value_or(reply.body.size()));
  if (!chunked) return bytes + body;
  if (!body.empty()) bytes += fmt::format("{:x}\r\n{}\r\n", body.size(), body);
  if (step.length == LengthKind::kChunked) bytes += "0\r\n\r\n";
  return bytes;
}

}  // namespace

bool Matches(const RequestRule& rule, const Request& request, bool whole_query) {
  if (!rule.method.empty() && rule.method != request.method) return false;
  const Target target = ParseTarget(request.target);
  if (rule.path.ends_with('*')) {
    if (!target.path.starts_with(std::string_view(rule.path).substr(0, rule.path.size() - 1))) {
      return false;
    }
  } else if (!rule.path.empty() && rule.path != target.path) {
    return false;
  }
  for (const auto& [name, value] : rule.query) {
    const auto found = target.query.find(name);
    if (found == target.query.end()) return false;
    if (value != "*" && found->second != value) return false;
  }
  if (whole_query && target.query.size() != rule.query.size()) return false;
  for (const HeaderRule& header : rule.headers) {
    if (!HeaderMatches(header, request.headers)) return false;
  }
  return !rule.body_size || (request.body_read && request.body.size() == *rule.body_size);
}

ScriptedServer::ScriptedServer(std::vector<Step> script, std::unique_ptr<FakeService> service,
                               std::function<void(const std::string&)> on_credentials)
    : script_(std::move(script)),
      service_(std::move(service)),
      on_credentials_(std::move(on_credentials)),
      used_(script_.size(), 0) {}

void ScriptedServer::Start() {
  const std::lock_guard lock(mutex_);
  started_ = true;
}

bool ScriptedServer::OnHead(size_t number, const Request& request) {
  const std::lock_guard lock(mutex_);
  if (!started_) return true;
  for (size_t i = 0; i < script_.size(); ++i) {
    const Step& step = script_[i];
    if (step.times >= 0 && used_[i] >= step.times) continue;
    if (!Matches(step.on, request, false)) continue;
    ++used_[i];
    chosen_[number] = i;
    return !step.before_body;
  }
  return true;
}

Answer ScriptedServer::OnRequest(size_t number, const Request& request) {
  static const Step honest = [] {
    Step step;
    step.perform = true;
    return step;
  }();
  const Step* step = &honest;
  {
    const std::lock_guard lock(mutex_);
    if (const auto chosen = chosen_.find(number); chosen != chosen_.end()) {
      step = &script_[chosen->second];
    }
  }
  if (step->replace == "before") service_->Replace(request);
  if (!step->credentials.empty()) on_credentials_(step->credentials);
  Reply reply;
  if (step->perform) reply = service_->Perform(request);
  if (step->replace == "after") service_->Replace(request);

  Answer answer;
  answer.ending = step->ending;
  answer.trickle = step->trickle;
  if (step->raw) {
    answer.bytes = *step->raw;
  } else if (!step->silent) {
    answer.bytes = ToBytes(WithChanges(std::move(reply), *step), *step, request.method == "HEAD");
  }
  return answer;
}

std::string ScriptedServer::Unused() const {
  const std::lock_guard lock(mutex_);
  std::string lines;
  for (size_t i = 0; i < script_.size(); ++i) {
    const bool enough = script_[i].times < 0 ? used_[i] > 0 : used_[i] == script_[i].times;
    if (enough) continue;
    lines +=
        fmt::format("script[{}] ({}) was asked for {} time(s)\n", i, script_[i].on.text, used_[i]);
  }
  return lines;
}

}  // namespace airfreight::faults

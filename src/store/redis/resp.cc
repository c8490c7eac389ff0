#include "store/redis/resp.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

#include "store/checks.h"

namespace airfreight::redis {
namespace {

// Redis' own errors and statuses have some 200 bytes.
constexpr size_t kMaxLine = size_t{64} << 10;
// No command here is answered with more than arrays in an array (SCAN), or in EXEC's.
constexpr int kMaxDepth = 4;

tl::unexpected<Error> Damaged(std::string_view what, std::string_view line) {
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message = fmt::format("{}: {}. Is a Redis server at this address, and no TLS missing?",
                              what, Quoted(line));
  return Fail(std::move(error));
}

Result<int64_t> Number(std::string_view line) {
  const std::string_view digits = line.substr(1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Damaged("a reply with a number that is none", line);
  }
  return number;
}

}  // namespace

void Request::Append(std::string_view text) {
  if (!pieces_.empty() && pieces_.back().foreign == nullptr) {
    pieces_.back().length += text.size();  // The text before ends where this begins.
  } else {
    pieces_.push_back({nullptr, text_.size(), text.size()});
  }
  text_ += text;
  size_ += text.size();
}

Request& Request::Command(size_t count) {
  Append(fmt::format("*{}\r\n", count));
  ++commands_;
  return *this;
}

Request& Request::Command(std::initializer_list<std::string_view> words) {
  Command(words.size());
  for (const std::string_view word : words) Text(word);
  return *this;
}

Request& Request::Text(std::string_view text) {
  Append(fmt::format("${}\r\n", text.size()));
  Append(text);
  Append("\r\n");
  return *this;
}

Request& Request::Value(std::string_view head, std::span<const ByteView> segments) {
  uint64_t length = head.size();
  for (const ByteView segment : segments) length += segment.size();
  Append(fmt::format("${}\r\n", length));
  Append(head);
  for (const ByteView segment : segments) {
    if (segment.empty()) continue;
    pieces_.push_back({segment.data(), 0, segment.size()});
    size_ += segment.size();
  }
  Append("\r\n");
  return *this;
}

std::vector<ByteView> Request::Pieces() const {
  std::vector<ByteView> views;
  views.reserve(pieces_.size());
  const ByteView text = AsBytes(text_);
  for (const Piece& piece : pieces_) {
    views.push_back(piece.foreign != nullptr ? ByteView(piece.foreign, piece.length)
                                             : text.subspan(piece.offset, piece.length));
  }
  return views;
}

Status ReplyReader::Fill() {
  if (!rest_.empty()) return {};
  AIRFREIGHT_ASSIGN_OR_RETURN(rest_, source_.More());
  return {};
}

Result<std::string> ReplyReader::Line() {
  std::string line;
  for (;;) {
    AIRFREIGHT_RETURN_IF_ERROR(Fill());
    const std::string_view here = AsText(rest_);
    const size_t end = here.find('\n');
    const size_t taken = end == std::string_view::npos ? here.size() : end + 1;
    line += here.substr(0, std::min(taken, kMaxLine + 1));
    rest_ = rest_.subspan(taken);
    consumed_ += taken;
    if (line.size() > kMaxLine) return Damaged("a reply with a line without an end", line);
    if (end == std::string_view::npos) continue;
    if (!line.ends_with("\r\n")) return Damaged("a reply with a line that ends too early", line);
    line.resize(line.size() - 2);
    if (line.empty()) return Damaged("a reply that is empty", line);
    return line;
  }
}

Result<ByteView> ReplyReader::Next(uint64_t left) {
  AIRFREIGHT_RETURN_IF_ERROR(Fill());
  const ByteView piece = rest_.first(std::min<uint64_t>(rest_.size(), left));
  rest_ = rest_.subspan(piece.size());
  consumed_ += piece.size();
  return piece;
}

Status ReplyReader::End() {
  for (const char expected : {'\r', '\n'}) {
    AIRFREIGHT_RETURN_IF_ERROR(Fill());
    if (static_cast<char>(rest_.front()) != expected) {
      return Damaged("a reply that is longer than it says", AsText(rest_.first(1)));
    }
    rest_ = rest_.subspan(1);
    ++consumed_;
  }
  return {};
}

Result<Reply> ReplyReader::Parse(bool gather, int depth, uint64_t& budget) {
  if (depth > kMaxDepth) return Damaged("a reply of arrays within arrays", "*");
  AIRFREIGHT_ASSIGN_OR_RETURN(std::string line, Line());
  Reply reply;
  switch (line[0]) {
    case '+':
    case '-':
      reply.kind = line[0] == '+' ? Reply::Kind::kStatus : Reply::Kind::kError;
      reply.text = line.substr(1);
      return reply;
    case ':': {
      reply.kind = Reply::Kind::kInteger;
      AIRFREIGHT_ASSIGN_OR_RETURN(reply.integer, Number(line));
      return reply;
    }
    case '$': {
      AIRFREIGHT_ASSIGN_OR_RETURN(reply.integer, Number(line));
      if (reply.integer == -1) return Reply{};
      if (reply.integer < 0) return Damaged("a string of negative length", line);
      reply.kind = Reply::Kind::kBulk;
      if (!gather) return reply;
      auto left = static_cast<uint64_t>(reply.integer);
      if (left > budget) return Damaged("a reply that is longer than any that was asked for", line);
      budget -= left;
      while (left > 0) {
        AIRFREIGHT_ASSIGN_OR_RETURN(const ByteView piece, Next(left));
        reply.text += AsText(piece);
        left -= piece.size();
      }
      AIRFREIGHT_RETURN_IF_ERROR(End());
      reply.integer = 0;
      return reply;
    }
    case '*': {
      AIRFREIGHT_ASSIGN_OR_RETURN(const int64_t count, Number(line));
      if (count == -1) return Reply{};
      if (count < 0) return Damaged("an array of negative length", line);
      reply.kind = Reply::Kind::kArray;
      for (int64_t i = 0; i < count; ++i) {
        // An element takes memory even where it is empty.
        if (budget < sizeof(Reply)) return Damaged("a reply of too many elements", line);
        budget -= sizeof(Reply);
        AIRFREIGHT_ASSIGN_OR_RETURN(Reply element, Parse(true, depth + 1, budget));
        reply.elements.push_back(std::move(element));
      }
      return reply;
    }
    default:
      return Damaged("what came is no reply of Redis' protocol", line);
  }
}

Result<Reply> ReplyReader::Read() {
  uint64_t budget = kMaxGathered;
  return Parse(true, 0, budget);
}

Result<Reply> ReplyReader::ReadHead() {
  uint64_t budget = kMaxGathered;
  return Parse(false, 0, budget);
}

}  // namespace airfreight::redis

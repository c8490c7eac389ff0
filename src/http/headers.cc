#include "http/headers.h"

#include <algorithm>
#include <charconv>

namespace airfreight {
namespace {

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optional white space around a field's value (www.rfc-editor.org/rfc/rfc9110#section-5.6.3), and
// the line end.
constexpr std::string_view kBlanks = " \t\r\n";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The code of a status line, "HTTP/1.1 200 OK"; 0 when the line is none.
int ParseStatusLine(std::string_view line) {
  if (line.substr(0, 5) != "HTTP/") return 0;
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos || line.size() < blank + 4) return 0;
  int status = 0;
  const char* first = line.data() + blank + 1;
  const auto [end, error] = std::from_chars(first, first + 3, status);
  return error == std::errc() && end == first + 3 && status >= 100 ? status : 0;
}

}  // namespace

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerAscii(x) == LowerAscii(y); });
}

Headers::Headers(std::initializer_list<Field> fields) {
  for (const auto& [name, value] : fields) Set(name, value);
}

void Headers::Set(std::string_view name, std::string_view value) {
  for (auto& field : fields_) {
    if (EqualsIgnoreCase(field.first, name)) {
      field.second = value;
      return;
    }
  }
  fields_.emplace_back(name, value);
}

void Headers::Combine(std::string_view name, std::string_view value) {
  for (auto& field : fields_) {
    if (EqualsIgnoreCase(field.first, name)) {
      field.second.append(", ").append(value);
      return;
    }
  }
  fields_.emplace_back(name, value);
}

std::optional<std::string_view> Headers::Find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (EqualsIgnoreCase(field.first, name)) return field.second;
  }
  return std::nullopt;
}

HeadParser::Progress HeadParser::Feed(std::string_view line) {
  // Checked by subtraction: a line may be as long as its sender likes.
  if (line.size() > kMaxBytes - bytes_) return Progress::kTooLarge;
  bytes_ += line.size();

  if (const int status = ParseStatusLine(line); status != 0 && !complete_) {
    status_ = status;
    headers_.clear();
    return Progress::kMore;
  }
  if (Trim(line).empty()) {
    const bool final_answer = status_ >= 200;
    complete_ = complete_ || final_answer;
    return final_answer ? Progress::kComplete : Progress::kMore;
  }
  // A trailer; what it says came too late to be acted on.
  if (complete_) return Progress::kMore;
  const size_t colon = line.find(':');
  // A line that begins with a blank would continue the one before; forbidden to senders since
  // www.rfc-editor.org/rfc/rfc9112#section-5.2.
  if (colon == std::string_view::npos || colon == 0 || line[0] == ' ' || line[0] == '\t') {
    return Progress::kMore;
  }
  headers_.Combine(Trim(line.substr(0, colon)), Trim(line.substr(colon + 1)));
  return Progress::kMore;
}

std::optional<uint64_t> HeadParser::content_length() const {
  return ParseDecimal(headers_.Get("content-length"));
}

std::optional<uint64_t> ParseDecimal(std::string_view text) {
  uint64_t value = 0;
  // from_chars takes a minus sign even for unsigned types.
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace airfreight

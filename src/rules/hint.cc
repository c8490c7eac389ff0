#include "rules/hint.h"

#include <algorithm>

namespace airfreight {
namespace {

// A longer one is no name that was mistyped, and the comparison takes time.
constexpr size_t kLongest = 100;

std::string Plain(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return plain;
}

// Letters that were left out, put in, changed, or changed places with the next (the "optimal string
// alignment" of Damerau, Communications of the ACM 7(3), 1964).
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> two_ago;
  std::vector<size_t> last(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_ago[j - 2] + 1);
      }
    }
    two_ago = std::move(last);
    last = std::move(row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view Nearest(std::string_view name, const std::vector<std::string_view>& known) {
  if (name.size() > kLongest) return {};
  const std::string plain = Plain(name);
  std::string_view nearest;
  size_t least = kLongest;
  for (const std::string_view one : known) {
    const size_t distance = Distance(plain, Plain(one));
    if (distance < least && 5 * distance <= 2 * std::max(name.size(), one.size())) {
      least = distance;
      nearest = one;
    }
  }
  return nearest;
}

std::string Hint(std::string_view name, const std::vector<std::string_view>& known,
                 std::string_view otherwise) {
  const std::string_view nearest = Nearest(name, known);
  return nearest.empty() ? std::string(otherwise) : "did you mean " + std::string(nearest) + "?";
}

}  // namespace airfreight

#include "airfreight/rules.h"

#include <algorithm>

namespace airfreight {

bool Matches(std::string_view pattern, std::string_view text) {
  size_t at = 0;
  size_t star = std::string_view::npos;  // The last `*`, and where the text went on behind it.
  size_t resume = 0;
  size_t in = 0;
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      resume = at;
    } else if (in < pattern.size() && (pattern[in] == '?' || pattern[in] == text[at])) {
      ++in;
      ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in) == std::string_view::npos;
}

bool Rule::Applies(const Subject& subject) const {
  const auto text_of = [&](std::string_view field) {
    if (field == "dag") return subject.dag;
    if (field == "task") return subject.task;
    return field == "key" ? subject.key : subject.type;
  };
  for (const auto& [field, patterns] : matchers) {
    const std::string_view text = text_of(field);
    if (std::none_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return Matches(pattern, text); })) {
      return false;
    }
  }
  if (!min_size && !below_size) return true;
  if (!subject.size) return false;
  return *subject.size >= min_size.value_or(0) && (!below_size || *subject.size < *below_size);
}

const Rule* Rules::Find(const Subject& subject) const {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const Rule& rule) { return rule.Applies(subject); });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace airfreight

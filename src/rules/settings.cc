#include "rules/settings.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "airfreight/rules.h"

namespace airfreight {
namespace {

constexpr std::string_view kStoreExample = "store = \"eu\", for a [stores.eu]";
constexpr std::string_view kKeyExample =
    "encryption_key = \"arn:aws:kms:eu-central-1:111122223333:key/1234abcd\"";
// Names of keys are shorter: 2,048 bytes is what AWS takes of one
// (docs.aws.amazon.com/kms/latest/APIReference/API_DescribeKey.html).
constexpr size_t kMostKeyBytes = 2048;
constexpr uint64_t kMostPreviewRows = 100;
// A thousand years, so that no sum with a time of day leaves what a date can say.
constexpr uint64_t kMostSeconds = uint64_t{366} * 24 * 60 * 60 * 1000;

using Canonical = std::optional<std::string>;

Canonical Wrong(std::string* problem, std::string text) {
  *problem = std::move(text);
  return std::nullopt;
}

std::optional<uint64_t> ParseNumber(std::string_view text, std::string_view* rest) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  *rest = text.substr(static_cast<size_t>(end - text.data()));
  return number;
}

std::optional<uint64_t> ParseDuration(std::string_view text) {
  struct Unit {
    std::string_view name;
    uint64_t seconds;
  };
  constexpr Unit kUnits[] = {{"s", 1}, {"m", 60}, {"h", 3'600}, {"d", 86'400}, {"w", 604'800}};
  std::string_view unit;
  const auto number = ParseNumber(text, &unit);
  if (!number || *number == 0) return std::nullopt;
  for (const auto& [name, seconds] : kUnits) {
    if (unit == name) {
      return *number <= kMostSeconds / seconds ? std::optional(*number * seconds) : std::nullopt;
    }
  }
  return std::nullopt;
}

Canonical OneOf(std::string_view name, std::string_view text,
                const std::vector<std::string_view>& right, std::string* problem) {
  if (std::find(right.begin(), right.end(), text) != right.end()) return std::string(text);
  return Wrong(problem,
               std::string(name) + " is " + Shown(text) + "; right is one of " + Joined(right));
}

Canonical Size(std::string_view name, std::string_view text, std::string* problem) {
  if (const auto size = ParseSize(text)) return std::to_string(*size);
  return Wrong(problem,
               std::string(name) + " is no size. Example: " + std::string(name) + " = \"64MiB\"");
}

Canonical Threshold(std::string_view name, std::string_view text, std::string* problem) {
  return text == "-1" ? std::string(text) : Size(name, text, problem);
}

Canonical PreviewRows(std::string_view name, std::string_view text, std::string* problem) {
  std::string_view rest;
  const auto rows = ParseNumber(text, &rest);
  if (rows && rest.empty() && *rows <= kMostPreviewRows) return std::to_string(*rows);
  return Wrong(problem, std::string(name) + " is a whole number from 0 to 100");
}

Canonical Retention(std::string_view name, std::string_view text, std::string* problem) {
  if (text == "forever") return std::string("0");
  if (const auto seconds = ParseDuration(text)) return std::to_string(*seconds);
  return Wrong(problem, std::string(name) + " is " + Shown(text) +
                            "; right is a whole number of s, m, h, d or w, or \"forever\". "
                            "Example: retention = \"7d\"");
}

Canonical Store(std::string_view name, std::string_view text, std::string* problem) {
  if (!text.empty()) return std::string(text);
  return Wrong(problem, std::string(name) +
                            " is no name of a store. Example: " + std::string(kStoreExample));
}

// It goes into a header of each write.
Canonical EncryptionKey(std::string_view name, std::string_view text, std::string* problem) {
  const bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (printable && !text.empty() && text.size() <= kMostKeyBytes) return std::string(text);
  return Wrong(problem, std::string(name) + " is the name of a key, without blanks. Example: " +
                            std::string(kKeyExample));
}

Canonical Pickle(std::string_view name, std::string_view text, std::string* problem) {
  if (text == "allow") {
    return Wrong(problem, std::string(name) +
                              " = \"allow\" is for [airfreight] pickle alone, since whoever reads "
                              "a pickle runs its code. Right is pickle = \"never\"");
  }
  return OneOf(name, text, {"never"}, problem);
}

Canonical MayChange(std::string_view name, std::string_view text, std::string* problem) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const auto& right = Changeable();
    if (std::find(right.begin(), right.end(), one) == right.end()) {
      return Wrong(problem, std::string(name) + " lists " + Shown(one) +
                                ", which is not for a DAG to change; right is a list of some of " +
                                Joined(right));
    }
    names.emplace_back(one);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string all;
  for (const std::string& one : names) all += (all.empty() ? "" : ",") + one;
  return all;
}

struct Form {
  std::string_view name;
  Canonical (*read)(std::string_view name, std::string_view text, std::string* problem);
  std::vector<std::string_view> choices;
};

const std::vector<Form>& Forms() {
  static const std::vector<Form> forms = {
      {"accept_external", nullptr, {"true", "false"}},
      {"compression", nullptr, {"snappy", "zstd", "lz4", "none"}},
      {"describe", nullptr, {"full", "schema", "size"}},
      {"digest", nullptr, {"crc32c", "sha256"}},
      {"encryption_key", EncryptionKey, {}},
      {"format", nullptr, {"parquet", "arrow"}},
      {"max_size", Size, {}},
      {"may_change", MayChange, {}},
      {"outage", nullptr, {"fail", "inline"}},
      {"pickle", Pickle, {}},
      {"preview_rows", PreviewRows, {}},
      {"retention", Retention, {}},
      {"seal", nullptr, {"true", "false"}},
      {"store", Store, {}},
      {"threshold", Threshold, {}},
  };
  return forms;
}

}  // namespace

std::string Shown(std::string_view text) {
  std::string shown = "'";
  for (const char c : text.substr(0, 100)) shown += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return shown + "'";
}

std::string Joined(const std::vector<std::string_view>& words) {
  std::string all;
  for (const std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  return all;
}

const std::vector<std::string_view>& RuleSettings() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> found;
    for (const Form& form : Forms()) found.push_back(form.name);
    return found;
  }();
  return names;
}

const std::vector<std::string_view>& Changeable() {
  static const std::vector<std::string_view> names = {"compression", "describe", "digest",
                                                      "format",      "max_size", "outage",
                                                      "retention",   "threshold"};
  return names;
}

std::optional<uint64_t> ParseSize(std::string_view text) {
  constexpr uint64_t kKilo = 1000;
  constexpr uint64_t kKibi = 1024;
  std::string_view unit;
  const auto number = ParseNumber(text, &unit);
  if (!number) return std::nullopt;
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  uint64_t factor = 1;
  if (!unit.empty() && unit != "B") {
    const size_t power = std::string_view("KMGT").find(unit.front());
    const bool binary = unit.size() == 3 && unit.substr(1) == "iB";
    if (power == std::string_view::npos || (!binary && unit.substr(1) != "B")) return std::nullopt;
    for (size_t i = 0; i <= power; ++i) factor *= binary ? kKibi : kKilo;
  }
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (*number > kMost / factor) return std::nullopt;
  return *number * factor;
}

std::optional<std::string> CanonicalSetting(std::string_view name, std::string_view text,
                                            std::string* problem) {
  const auto& forms = Forms();
  const auto form =
      std::find_if(forms.begin(), forms.end(), [&](const Form& one) { return one.name == name; });
  if (form == forms.end()) return Wrong(problem, Shown(name) + " is not known");
  if (form->read == nullptr) return OneOf(name, text, form->choices, problem);
  return form->read(name, text, problem);
}

}  // namespace airfreight

#pragma once

/// \file
/// \brief The policy as its file has it: further stores, aliases, and rules that say what goes
/// where and how. Read once, asked at each push.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace airfreight {

/// What a rule is asked about.
struct Subject {
  std::string_view dag;
  std::string_view task;
  std::string_view key;
  std::string_view type;         ///< As `_xcom_type` has it: "pandas.DataFrame", "json".
  std::optional<uint64_t> size;  ///< Bytes, as far as known before encoding.
};

/// Glob patterns, one of which has to match the whole text: `*` any run, `?` one byte.
using Patterns = std::vector<std::string>;
bool Matches(std::string_view pattern, std::string_view text);

struct Rule {
  std::string name;
  int line = 0;                              ///< Of its `[[rules]]`, from 1.
  std::map<std::string, Patterns> matchers;  ///< By "dag", "task", "key", "type"; absent: any.
  std::optional<uint64_t> min_size;          ///< Matches from so many bytes on,
  std::optional<uint64_t> below_size;        ///< and below so many. Unknown sizes match neither.
  /// By the names of the settings; sizes and durations as whole numbers of bytes and seconds.
  std::map<std::string, std::string> values;
  std::map<std::string, int> lines;  ///< Of `matchers` and `values`.

  bool Applies(const Subject& subject) const;
};

struct Rules {
  struct Store {
    std::string uri;
    std::map<std::string, std::string> settings;
  };
  std::vector<Rule> rules;
  std::map<std::string, Store> stores;
  std::vector<std::pair<std::string, std::string>> aliases;
  /// Of "stores.eu", "stores.eu.uri" and the like, and of "aliases.s3://old/xcom".
  std::map<std::string, int> lines;

  /// The first that applies; null: none.
  const Rule* Find(const Subject& subject) const;
};

/// \brief Reads the policy of a file or setting.
///
/// \param source What it is called in messages.
/// \param problems A sentence for each thing that is wrong, naming source, line, rule and setting;
///     the result is only of use while there is none.
///
/// Throws nothing on any input.
Rules ParseRules(std::string_view text, std::string_view source,
                 std::vector<std::string>* problems);

}  // namespace airfreight

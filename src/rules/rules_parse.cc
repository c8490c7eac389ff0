#define TOML_EXCEPTIONS 0
// One of its assertions does not hold for a table without a name (`[:`), which it refuses all the
// same where assertions are off.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "airfreight/rules.h"
#include "rules/hint.h"
#include "rules/settings.h"

namespace airfreight {
namespace {

// A policy is written by hand; what is longer is no policy.
constexpr size_t kMostBytes = size_t{1} << 20;

constexpr std::array<std::string_view, 4> kMatchers = {"dag", "task", "key", "type"};
// The name of the store of `[airfreight] store`, in references and here.
constexpr std::string_view kDefaultStore = "default";

int LineOf(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

// The line of the first byte beyond ASCII; 0 when there is none.
int LineOfStray(std::string_view text) {
  const auto stray = std::find_if(text.begin(), text.end(),
                                  [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (stray == text.end()) return 0;
  return static_cast<int>(std::count(text.begin(), stray, '\n')) + 1;
}

class Reader {
 public:
  Reader(std::string_view source, std::vector<std::string>* problems)
      : source_(source), problems_(*problems) {}

  Rules Read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      if (key == "stores") {
        ReadStores(node);
      } else if (key == "aliases") {
        ReadAliases(node);
      } else if (key == "rules") {
        ReadRules(node);
      } else {
        const std::vector<std::string_view> known = {"stores", "aliases", "rules"};
        Refuse(LineOf(node), Shown(key.str()) + " is not known; " +
                                 Hint(key.str(), known, "known are " + Joined(known)));
      }
    }
    if (problems_.empty()) CheckTogether();
    return std::move(found_);
  }

 private:
  void Refuse(int line, std::string_view what) {
    std::ostringstream text;
    text << source_ << ", line " << line << ": " << what;
    problems_.push_back(text.str());
  }
  void Refuse(const Rule& rule, int line, std::string_view what) {
    Refuse(line, "rule " + Shown(rule.name) + ": " + std::string(what));
  }

  // A text, a number or a boolean, as the settings of Airflow have it.
  static std::optional<std::string> TextOf(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) return text;
    if (const auto number = node.value_exact<int64_t>()) return std::to_string(*number);
    if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
    return std::nullopt;
  }

  // A list of texts, or one, with commas between them.
  static std::optional<std::string> ListOf(const toml::node& node) {
    const toml::array* const list = node.as_array();
    if (list == nullptr) return node.value_exact<std::string>();
    std::string all;
    for (const toml::node& item : *list) {
      const auto one = item.value_exact<std::string>();
      if (!one || one->empty()) return std::nullopt;
      all += (all.empty() ? "" : ",") + *one;
    }
    return all;
  }

  void ReadStores(const toml::node& node) {
    const toml::table* const stores = node.as_table();
    if (stores == nullptr) return Refuse(LineOf(node), "stores are tables: [stores.eu]");
    for (const auto& [name, entry] : *stores) {
      const toml::table* const table = entry.as_table();
      if (table == nullptr) {
        Refuse(LineOf(entry), "a store is a table: [stores.eu]");
        continue;
      }
      Rules::Store store;
      const std::string place = "stores." + std::string(name.str());
      found_.lines[place] = LineOf(entry);
      for (const auto& [key, value] : *table) {
        const auto text = TextOf(value);
        found_.lines[place + "." + std::string(key.str())] = LineOf(value);
        if (!text) {
          Refuse(LineOf(value), "store " + Shown(name.str()) + ": " + Shown(key.str()) +
                                    " is no text, number or boolean");
        } else if (key == "uri") {
          store.uri = *text;
        } else {
          store.settings[std::string(key.str())] = *text;
        }
      }
      if (store.uri.empty()) {
        Refuse(LineOf(entry),
               "store " + Shown(name.str()) + " has no uri. Example: uri = \"s3://bucket/xcom\"");
      }
      found_.stores[std::string(name.str())] = std::move(store);
    }
  }

  void ReadAliases(const toml::node& node) {
    const toml::table* const aliases = node.as_table();
    if (aliases == nullptr) return Refuse(LineOf(node), "aliases are a table: [aliases]");
    for (const auto& [from, value] : *aliases) {
      if (const auto to = value.value_exact<std::string>()) {
        found_.aliases.emplace_back(from.str(), *to);
        found_.lines["aliases." + std::string(from.str())] = LineOf(value);
      } else {
        Refuse(LineOf(value),
               "an alias leads from text to text. Example: \"s3://old/xcom\" = \"s3://new/xcom\"");
      }
    }
  }

  void ReadRules(const toml::node& node) {
    const toml::array* const rules = node.as_array();
    if (rules == nullptr) return Refuse(LineOf(node), "rules are a list of tables: [[rules]]");
    for (const toml::node& entry : *rules) {
      const toml::table* const table = entry.as_table();
      if (table == nullptr) {
        Refuse(LineOf(entry), "a rule is a table: [[rules]]");
        continue;
      }
      Rule rule;
      rule.line = LineOf(entry);
      rule.name = "#" + std::to_string(found_.rules.size() + 1);
      if (const toml::node* name = table->get("name"); name != nullptr) {
        const auto text = name->value_exact<std::string>();
        if (text && !text->empty()) {
          rule.name = *text;
        } else {
          Refuse(rule, LineOf(*name), "name is no text");
        }
      }
      for (const auto& [key, value] : *table) {
        if (key != "name") ReadEntry(key.str(), value, &rule);
      }
      found_.rules.push_back(std::move(rule));
    }
  }

  void ReadEntry(std::string_view key, const toml::node& node, Rule* rule) {
    const int line = LineOf(node);
    if (std::find(kMatchers.begin(), kMatchers.end(), key) != kMatchers.end()) {
      return ReadPatterns(key, node, rule);
    }
    const auto text = key == "may_change" ? ListOf(node) : TextOf(node);
    if (key == "min_size" || key == "below_size") {
      (key == "min_size" ? rule->min_size : rule->below_size) = SizeOf(key, text, line, *rule);
      return;
    }
    const auto& known = RuleSettings();
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      std::vector<std::string_view> all(kMatchers.begin(), kMatchers.end());
      all.insert(all.end(), {"name", "min_size", "below_size"});
      all.insert(all.end(), known.begin(), known.end());
      return Refuse(
          *rule, line,
          Shown(key) + " is not known; " +
              Hint(key, all,
                   "known are name, the matchers dag, task, key, type, min_size and below_size, "
                   "and the settings " +
                       Joined(known)));
    }
    if (!text) return Refuse(*rule, line, Shown(key) + " is no text");
    std::string problem;
    const auto value = CanonicalSetting(key, *text, &problem);
    if (!value) return Refuse(*rule, line, problem);
    rule->lines[std::string(key)] = line;
    rule->values[std::string(key)] = *value;
  }

  std::optional<uint64_t> SizeOf(std::string_view key, const std::optional<std::string>& text,
                                 int line, const Rule& rule) {
    const auto size = text ? ParseSize(*text) : std::nullopt;
    if (!size) {
      Refuse(rule, line,
             std::string(key) + " is no size. Example: " + std::string(key) + " = \"64MiB\"");
    }
    return size;
  }

  void ReadPatterns(std::string_view key, const toml::node& node, Rule* rule) {
    Patterns patterns;
    if (const auto one = node.value_exact<std::string>()) patterns.push_back(*one);
    if (const toml::array* const list = node.as_array()) {
      for (const toml::node& item : *list) {
        if (const auto one = item.value_exact<std::string>()) {
          patterns.push_back(*one);
        } else {
          return Refuse(*rule, LineOf(item), std::string(key) + " has a pattern that is no text");
        }
      }
    }
    if (patterns.empty()) {
      return Refuse(*rule, LineOf(node),
                    std::string(key) + " is a pattern or a list of some. Example: " +
                        std::string(key) + " = \"sales_*\"");
    }
    rule->matchers[std::string(key)] = std::move(patterns);
    rule->lines[std::string(key)] = LineOf(node);
  }

  // Whether `wide` matches every text that `narrow` does, as far as one look along both tells.
  static bool CoversPattern(std::string_view wide, std::string_view narrow) {
    if (wide == narrow) return true;
    // A `?` takes one byte, which a `*` need not be.
    const bool bytes =
        wide.find('?') == std::string_view::npos || narrow.find('*') == std::string_view::npos;
    return bytes && Matches(wide, narrow);
  }

  // Whether `wide` matches whatever `narrow` does, as far as their texts tell: a pattern covers
  // another that it matches as a text, since `*` and `?` in that stand for what it takes too.
  static bool Covers(const Rule& wide, const Rule& narrow) {
    for (const auto& [name, patterns] : wide.matchers) {
      const auto other = narrow.matchers.find(name);
      if (other == narrow.matchers.end()) return false;
      for (const std::string& pattern : other->second) {
        if (std::none_of(patterns.begin(), patterns.end(),
                         [&](const std::string& one) { return CoversPattern(one, pattern); })) {
          return false;
        }
      }
    }
    if (wide.min_size && (!narrow.min_size || *narrow.min_size < *wide.min_size)) return false;
    if (wide.below_size && (!narrow.below_size || *narrow.below_size > *wide.below_size)) {
      return false;
    }
    // Both bounds may come from a rule that has one: an unknown size matches the narrow one only.
    return !(wide.min_size || wide.below_size) || narrow.min_size || narrow.below_size;
  }

  void CheckStore(const Rule& rule) {
    const auto named = rule.values.find("store");
    if (named == rule.values.end() || named->second == kDefaultStore ||
        found_.stores.contains(named->second)) {
      return;
    }
    std::vector<std::string_view> known = {kDefaultStore};
    for (const auto& [name, store] : found_.stores) known.push_back(name);
    Refuse(rule, rule.lines.at("store"),
           "store is " + Shown(named->second) + ", and there is no [stores." + named->second +
               "]; " + Hint(named->second, known, "the stores are " + Joined(known)));
  }

  // What stays in the row is not encrypted: where it is asked for nothing does.
  void CheckEncryption(const Rule& rule) {
    const auto threshold = rule.values.find("threshold");
    if (threshold == rule.values.end() || threshold->second == "0") return;
    const auto seal = rule.values.find("seal");
    const bool seals = seal != rule.values.end() && seal->second == "true";
    if (!seals && !rule.values.contains("encryption_key")) return;
    const std::string what = seals ? "seal" : "an encryption_key";
    Refuse(rule, rule.lines.at("threshold"),
           "threshold is " + Shown(threshold->second) + " beside " + what +
               ", and what stays in the row is not encrypted. Leave it out: under " + what +
               " all values go to the store");
  }

  void CheckTogether() {
    const auto& rules = found_.rules;
    for (size_t i = 0; i < rules.size(); ++i) {
      const Rule& rule = rules[i];
      CheckStore(rule);
      CheckEncryption(rule);
      if (rule.min_size && rule.below_size && *rule.min_size >= *rule.below_size) {
        Refuse(rule, rule.line,
               "it can never match: no size is at least min_size and below "
               "below_size");
      }
      for (size_t j = 0; j < i; ++j) {
        if (rules[j].name == rule.name) {
          Refuse(rule, rule.line,
                 "another rule has this name, on line " + std::to_string(rules[j].line));
        }
        if (Covers(rules[j], rule)) {
          Refuse(rule, rule.line,
                 "it can never match: rule " + Shown(rules[j].name) + " on line " +
                     std::to_string(rules[j].line) + " comes first and matches all that it does");
          break;
        }
      }
    }
  }

  const std::string source_;
  std::vector<std::string>& problems_;
  Rules found_;
};

}  // namespace

Rules ParseRules(std::string_view text, std::string_view source,
                 std::vector<std::string>* problems) {
  if (text.size() > kMostBytes) {
    problems->push_back(std::string(source) + " has more than 1 MiB: that is no policy");
    return {};
  }
  // toml++ 3.3 is undefined behaviour for some letters beyond ASCII, and where text is not UTF-8.
  if (const int line = LineOfStray(text); line > 0) {
    problems->push_back(std::string(source) + ", line " + std::to_string(line) +
                        ": a character beyond ASCII; write it as \\uXXXX, in double quotes");
    return {};
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    std::ostringstream what;
    what << source << ", line " << parsed.error().source().begin.line
         << ": it is not TOML: " << parsed.error().description();
    problems->push_back(what.str());
    return {};
  }
  return Reader(source, problems).Read(parsed.table());
}

}  // namespace airfreight

// Any text as a policy: it is read or refused, and what was read can be asked.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "airfreight/rules.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> problems;
  const airfreight::Rules rules = airfreight::ParseRules(text, "policy", &problems);
  (void)rules.Find({"dag", "task", "key", "pandas.DataFrame", size});
  (void)rules.Find({text, text, text, text, std::nullopt});
  return 0;
}

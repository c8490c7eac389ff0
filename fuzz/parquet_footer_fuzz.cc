// The input as the footer of a Parquet file. What is taken over once is taken over as it is the
// second time.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "input.h"
#include "values/parquet_footer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using airfreight::AsBytes;
  using airfreight::MergeParquetFooters;
  const std::string_view text = airfreight::FuzzText(data, size);

  const std::vector<airfreight::ParquetPart> parts = {{AsBytes(text), 0}, {AsBytes(text), 1000}};
  const std::vector<airfreight::ParquetEntry> entries = {{"key", "value"}};
  const auto merged = MergeParquetFooters(parts, entries);
  if (!merged) return 0;
  AIRFREIGHT_FUZZ_CHECK(merged->size() > 8 && merged->ends_with("PAR1"));
  const std::string footer = merged->substr(0, merged->size() - 8);
  const std::vector<airfreight::ParquetPart> one = {{AsBytes(footer), 0}};
  const auto again = MergeParquetFooters(one, {});
  AIRFREIGHT_FUZZ_CHECK(again && *again == *merged);
  return 0;
}

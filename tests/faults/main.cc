// Registers a test for each file in tests/faults/cases.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "faults/case.h"
#include "faults/runner.h"

namespace airfreight::faults {
namespace {

class FaultTest : public testing::Test {
 public:
  explicit FaultTest(Result<Case> parsed) : parsed_(std::move(parsed)) {}
  void TestBody() override {
    ASSERT_TRUE(parsed_.has_value()) << parsed_.error().message;
    const std::string differences = RunCase(*parsed_);
    EXPECT_TRUE(differences.empty()) << parsed_->source << ": " << parsed_->fact << "\n"
                                     << differences;
  }

 private:
  Result<Case> parsed_;
};

void RegisterAll(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const std::string name = file.stem();
    testing::RegisterTest("Faults", name.c_str(), nullptr, nullptr, file.c_str(), 1,
                          [parsed = ParseCase(name, text)]() -> FaultTest* {
                            return new FaultTest(parsed);  // GoogleTest owns it.
                          });
  }
}

}  // namespace
}  // namespace airfreight::faults

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  airfreight::faults::RegisterAll(AIRFREIGHT_SOURCE_DIR "/tests/faults/cases");
  return RUN_ALL_TESTS();
}

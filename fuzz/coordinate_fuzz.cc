// The input once as an object key, once as the fields of a coordinate, separated by 0xFF (which is
// in no UTF-8 text). A key that is read back is exactly the key of what was read; a coordinate
// comes back from its key, or its key says that a part was shortened.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "airfreight/coordinate.h"
#include "airfreight/store.h"
#include "check.h"
#include "input.h"

namespace {

using airfreight::Coordinate;
using airfreight::ErrorCode;
using airfreight::Instance;

void ReadAsKey(std::string_view key) {
  std::string extension;
  const auto coordinate = Coordinate::FromObjectKey(key, &extension);
  if (!coordinate) return;
  const auto again = coordinate->ObjectKey(extension);
  AIRFREIGHT_FUZZ_CHECK(again);
  AIRFREIGHT_FUZZ_CHECK(*again == key);
}

void ReadAsFields(std::string_view text) {
  std::array<std::string, 6> fields;
  for (std::string& field : fields) field = airfreight::TakeField(text);
  // The first byte of the last field chooses the forms of instance and leaf.
  const unsigned form = fields[5].empty() ? 0 : static_cast<unsigned char>(fields[5][0]);
  Coordinate coordinate{fields[0], fields[1], fields[2], Instance::Map(-1), fields[4], {}};
  if (form % 3 == 1) coordinate.instance = Instance::Ti(fields[3]);
  if (form % 3 == 2) coordinate.instance = Instance::Write(fields[3]);
  if (form % 2 == 1) {
    coordinate.put_name = std::move(coordinate.key);
    coordinate.key.clear();
  }
  const auto key = coordinate.ObjectKey("json");
  AIRFREIGHT_FUZZ_CHECK(key.has_value() == coordinate.Validate().has_value());
  if (!key) return;
  AIRFREIGHT_FUZZ_CHECK(key->size() + 1 + airfreight::kMaxPrefixBytes <= airfreight::kMaxKeyBytes);
  const auto back = Coordinate::FromObjectKey(*key);
  if (back) {
    AIRFREIGHT_FUZZ_CHECK(*back == coordinate);
  } else {
    AIRFREIGHT_FUZZ_CHECK(back.error().code == ErrorCode::kNotFound);
    AIRFREIGHT_FUZZ_CHECK(key->find('~') != std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = airfreight::FuzzText(data, size);
  ReadAsKey(text);
  ReadAsFields(text);
  return 0;
}

// Any bytes as JSON: accepted exactly when another parser accepts them, and with the same content.
// Corpus: texts of JSON, good and bad.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/utf8.h"
#include "check.h"
#include "input.h"

namespace {

using airfreight::JsonText;
// Members keep their order and their last value.
using Json = nlohmann::ordered_json;

// Makes the other parser's values.
class Maker {
 public:
  bool Null() { return Push(nullptr); }
  bool Bool(bool value) { return Push(value); }
  bool Integer(std::string_view spelt) { return Number(spelt); }
  bool Fraction(std::string_view spelt) {
    AIRFREIGHT_FUZZ_CHECK(spelt.find_first_of(".eE") != std::string_view::npos);
    return Number(spelt);
  }
  bool Key(const JsonText& text) { return String(text); }
  bool String(const JsonText& text) {
    AIRFREIGHT_FUZZ_CHECK(
        text.ascii == std::none_of(text.utf8.begin(), text.utf8.end(),
                                   [](char c) { return static_cast<unsigned char>(c) >= 0x80; }));
    if (text.surrogates) {
      // The other parser refuses these; what Python makes of them, its own tests say.
      surrogates_ = true;
      return Push("");
    }
    return airfreight::IsUtf8(text.utf8) && Push(std::string(text.utf8));
  }
  bool BeginArray() { return Begin(); }
  bool BeginObject() { return Begin(); }
  bool EndArray() {
    Json array = Json::array();
    for (size_t i = starts_.back(); i < values_.size(); ++i) array.push_back(std::move(values_[i]));
    return Close(std::move(array));
  }
  bool EndObject() {
    Json object = Json::object();
    for (size_t i = starts_.back(); i < values_.size(); i += 2) {
      object[values_[i].get<std::string>()] = std::move(values_[i + 1]);
    }
    return Close(std::move(object));
  }

  const std::vector<Json>& values() const { return values_; }
  bool surrogates() const { return surrogates_; }
  bool infinite() const { return infinite_; }

 private:
  bool Number(std::string_view spelt) {
    const double number = std::strtod(std::string(spelt).c_str(), nullptr);
    if (number > 1.7976931348623157e308 || number < -1.7976931348623157e308) infinite_ = true;
    return Push(number);
  }
  bool Push(Json value) {
    values_.push_back(std::move(value));
    return true;
  }
  bool Begin() {
    starts_.push_back(values_.size());
    return true;
  }
  bool Close(Json container) {
    values_.resize(starts_.back());
    starts_.pop_back();
    return Push(std::move(container));
  }

  std::vector<Json> values_;
  std::vector<size_t> starts_;
  bool surrogates_ = false;
  bool infinite_ = false;
};

// Numbers as doubles, as `Maker` has them.
void WithDoubles(Json* value) {
  if (value->is_number()) {
    *value = value->get<double>();
  } else if (value->is_structured()) {
    for (Json& item : *value) WithDoubles(&item);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = airfreight::FuzzText(data, size);
  Maker maker;
  airfreight::JsonReader<Maker> reader(text, maker);
  const bool read = reader.Read();
  AIRFREIGHT_FUZZ_CHECK(reader.offset() <= size);
  AIRFREIGHT_FUZZ_CHECK(!read || (reader.error() == nullptr && maker.values().size() == 1));
  // What the other one does otherwise: lone surrogates and infinite numbers are errors to it, a
  // byte order mark is not, and its recursion has no end.
  if (maker.surrogates() || maker.infinite() || text.starts_with("\xEF\xBB\xBF")) return 0;
  if (text.find('\0') != std::string_view::npos) {
    AIRFREIGHT_FUZZ_CHECK(!read);  // The other one takes it for the end.
    return 0;
  }
  const std::string_view deep = "deeper than 1024 levels";
  if (!read && reader.error() != nullptr && reader.error() == deep) return 0;
  Json other = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  AIRFREIGHT_FUZZ_CHECK(read == !other.is_discarded());
  if (read) {
    WithDoubles(&other);
    AIRFREIGHT_FUZZ_CHECK(maker.values().front() == other);
  }
  return 0;
}

#include "freight/place.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace airfreight {
namespace {

// What Decision::store says when nothing else was decided.
constexpr std::string_view kDefaultStore = "default";

std::string UriOf(const NamedStore& store, std::string_view key) {
  return fmt::format("{}/{}", store.store->root(), key);
}

}  // namespace

std::string Place::Uri() const { return UriOf(*store, key); }

Error About(const Coordinate& coordinate, const Place& place, Error error) {
  error.message += fmt::format(" ({})", coordinate.ToString());
  if (place.store != nullptr && error.store.empty()) error.store = place.root();
  if (error.key.empty()) error.key = place.key;
  return error;
}

Result<const NamedStore*> FindStoreToWrite(const std::vector<NamedStore>& stores,
                                           std::string_view name) {
  std::string known;
  for (const NamedStore& named : stores) {
    if (named.name == name) return &named;
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", named.name);
  }
  if (name == kDefaultStore && !stores.empty()) return &stores.front();
  return Fail(
      ErrorCode::kInvalid,
      fmt::format("this value belongs into store '{}', and the configured ones are {}; set e.g. "
                  "[airfreight] store = s3://bucket/xcom",
                  VisibleText(name), known.empty() ? "none" : known));
}

Result<Place> Locate(const std::vector<NamedStore>& stores, const Reference& reference) {
  const std::string_view uri = reference.uri;
  const size_t dot = uri.rfind('.');
  const auto key = reference.coordinate.ObjectKey(
      dot == std::string_view::npos ? std::string_view() : uri.substr(dot + 1));
  const NamedStore* found = nullptr;
  bool in_a_root = false;
  std::string roots;
  for (const NamedStore& named : stores) {
    const std::string& root = named.store->root();
    in_a_root = in_a_root || uri.starts_with(root + '/');
    // The store of the reference's own name if there is one; another name for the same place will
    // do.
    const bool same = key && uri == UriOf(named, *key);
    if (same && (found == nullptr || named.name == reference.store)) found = &named;
    roots += fmt::format("{}{}", roots.empty() ? "" : ", ", root);
  }
  if (found != nullptr) return Place{found, *key};
  const std::string shown = VisibleText(uri.substr(0, kMaxReferenceBytes));
  if (in_a_root) {
    return Fail(
        ErrorCode::kOutOfScope,
        fmt::format(
            "the row refers to {}, which is not where the object of this XCom lies: the row was "
            "edited, or copied from another one. Nothing was read",
            shown));
  }
  return Fail(
      ErrorCode::kOutOfScope,
      fmt::format("the row refers to {}, and only objects below {} may be read here. If that is a "
                  "place of yours, name it in [airfreight] store or in [airfreight] read_also",
                  shown, roots.empty() ? "no store at all" : roots));
}

}  // namespace airfreight

#include "freight/place.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "store/checks.h"
#include "store/uri.h"

namespace airfreight {
namespace {

// What Decision::store says when nothing else was decided.
constexpr std::string_view kDefaultStore = "default";

std::string Join(std::string_view root, std::string_view key) {
  return fmt::format("{}/{}", root, key);
}

// Whether a root is that place or lies below it, by whole parts of the path.
bool IsBelow(std::string_view root, std::string_view place) {
  return root.starts_with(place) && (root.size() == place.size() || root[place.size()] == '/');
}

std::string Shown(const Reference& reference) {
  return VisibleText(std::string_view(reference.uri).substr(0, kMaxReferenceBytes));
}

std::string Roots(const std::vector<NamedStore>& stores) {
  std::string roots;
  for (const NamedStore& named : stores) {
    roots += fmt::format("{}{}", roots.empty() ? "" : ", ", named.store->root());
  }
  return roots.empty() ? "no store at all" : roots;
}

// "store 'eu'", or "the stores 'eu' and 'us'".
std::string Names(const std::vector<Place>& places) {
  std::string names;
  for (size_t i = 0; i < places.size(); ++i) {
    const char* between = i == 0 ? "" : i + 1 < places.size() ? ", " : " and ";
    const std::string& name = places[i].store->name;
    names += between + (name.empty() ? "one of read_also" : fmt::format("'{}'", name));
  }
  return (places.size() == 1 ? "store " : "the stores ") + names;
}

// The place, if it is the only one.
Result<Place> OnlyOne(const std::vector<Place>& places, const Reference& reference) {
  if (places.size() == 1) return places.front();
  return Fail(
      ErrorCode::kOutOfScope,
      fmt::format("the row refers to {} in the store {}, and {} all have that place. Give the "
                  "one that wrote it the name {} again",
                  Shown(reference), Quoted(reference.store), Names(places),
                  Quoted(reference.store)));
}

Error NotAllowed(const std::vector<NamedStore>& stores, const Reference& reference) {
  const auto inside = [&](const std::string& root) {
    return reference.uri.starts_with(root + '/');
  };
  Error error;
  error.code = ErrorCode::kOutOfScope;
  for (const NamedStore& named : stores) {
    if (inside(named.store->root()) ||
        std::any_of(named.aliases.begin(), named.aliases.end(), inside)) {
      error.message = fmt::format(
          "the row refers to {}, which is not where the object of this XCom lies: the row was "
          "edited, or copied from another one. Nothing was read",
          Shown(reference));
      return error;
    }
  }
  error.message = fmt::format(
      "the row refers to {}, and only objects below {} may be read here. If that is a place of "
      "yours, name it in [airfreight] store or in [airfreight] read_also",
      Shown(reference), Roots(stores));
  return error;
}

Result<std::string> RootOfAlias(const std::string& uri) {
  auto parsed = ParseStoreUri(uri);
  if (!parsed) {
    Error error = std::move(parsed).error();
    error.message = "an alias in [aliases]: " + error.message;
    return Fail(std::move(error));
  }
  if (parsed->connection.empty()) return parsed->Root();
  return Fail(ErrorCode::kInvalid,
              fmt::format("the alias {} in [aliases] names a connection, and is only the name of a "
                          "place: right is {}",
                          Quoted(uri), Quoted(parsed->Root())));
}

// Locate, but for Place::of_copies.
Result<Place> Find(const std::vector<NamedStore>& stores, const Reference& reference) {
  const std::string_view uri = reference.uri;
  const size_t dot = uri.rfind('.');
  const auto key = reference.coordinate.ObjectKey(
      dot == std::string_view::npos ? std::string_view() : uri.substr(dot + 1));
  const auto leads_to = [&](const std::string& root) { return key && uri == Join(root, *key); };
  const NamedStore* own = nullptr;  // The store of the reference's name.
  std::vector<Place> aliased;
  std::vector<Place> nameless;
  std::vector<Place> others;
  for (const NamedStore& named : stores) {
    const bool is_own = !named.name.empty() && named.name == reference.store;
    if (is_own) own = &named;
    if (leads_to(named.store->root())) {
      if (is_own) return Place{&named, *key};
      (named.name.empty() ? nameless : others).push_back({&named, *key});
    }
    const auto alias = std::find_if(named.aliases.begin(), named.aliases.end(), leads_to);
    if (alias != named.aliases.end()) aliased.push_back({&named, *key, *alias});
  }
  for (const Place& place : aliased) {
    if (place.store == own) return place;
  }
  if (!aliased.empty()) return OnlyOne(aliased, reference);
  if (!nameless.empty()) return OnlyOne(nameless, reference);
  if (others.empty()) return Fail(NotAllowed(stores, reference));
  if (own == nullptr || reference.store == kDefaultStore) return OnlyOne(others, reference);
  return Fail(
      ErrorCode::kOutOfScope,
      fmt::format("the row refers to {} in the store {}, which is {} here; the place belongs to "
                  "{}. If {} has moved, name its old place in [airfreight] read_also, or say in "
                  "[aliases] of the policy where its objects lie now",
                  Shown(reference), Quoted(reference.store), own->store->root(), Names(others),
                  Quoted(reference.store)));
}

}  // namespace

std::string Place::Uri() const { return Join(root(), key); }

Error About(const Coordinate& coordinate, const Place& place, Error error) {
  error.message += fmt::format(" ({})", coordinate.ToString());
  if (!place.alias.empty()) {
    error.message += fmt::format(" (read at {}, an alias of {})", place.root(), place.alias);
  }
  if (place.store != nullptr && error.store.empty()) error.store = place.root();
  if (error.key.empty()) error.key = place.key;
  return error;
}

Result<const NamedStore*> FindStoreToWrite(const std::vector<NamedStore>& stores,
                                           std::string_view name) {
  std::string known;
  for (const NamedStore& named : stores) {
    if (named.name.empty()) continue;
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
  AIRFREIGHT_ASSIGN_OR_RETURN(Place place, Find(stores, reference));
  place.of_copies = !place.alias.empty() ||
                    std::any_of(stores.begin(), stores.end(), [&](const NamedStore& named) {
                      return named.name.empty() && named.store->root() == place.root();
                    });
  return place;
}

Status SetAliases(const std::vector<Alias>& aliases, std::vector<NamedStore>* stores) {
  std::vector<Alias> roots;
  for (const Alias& alias : aliases) {
    AIRFREIGHT_ASSIGN_OR_RETURN(std::string from, RootOfAlias(alias.from));
    AIRFREIGHT_ASSIGN_OR_RETURN(std::string to, RootOfAlias(alias.to));
    if (from == to) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("the alias of {} in [aliases] leads to itself", Quoted(from)));
    }
    roots.push_back({std::move(from), std::move(to)});
  }
  // The longest first: one that was found keeps those for more from the same objects.
  std::sort(roots.begin(), roots.end(),
            [](const Alias& a, const Alias& b) { return a.from.size() > b.from.size(); });
  for (const Alias& alias : roots) {
    bool used = false;
    for (NamedStore& named : *stores) {
      const std::string& root = named.store->root();
      if (!IsBelow(root, alias.to)) continue;
      used = true;
      std::string old = alias.from + root.substr(alias.to.size());
      const bool taken = std::any_of(roots.begin(), roots.end(), [&](const Alias& other) {
        return other.from.size() > alias.from.size() && IsBelow(old, other.from);
      });
      if (!taken) named.aliases.push_back(std::move(old));
    }
    if (!used) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("the alias of {} in [aliases] leads to {}, and no store lies there; "
                              "the stores are {}",
                              Quoted(alias.from), Quoted(alias.to), Roots(*stores)));
    }
  }
  return {};
}

}  // namespace airfreight

// Stores as administrators' commands see them: lists, versions, unfinished uploads, single objects.
// Nothing here looks at references, and nothing asks whose an object is.

#include "admin.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "airfreight/coordinate.h"
#include "airfreight/freight.h"
#include "airfreight/store.h"
#include "base/fork_local.h"
#include "calls.h"
#include "opening.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace): argument names, as nanobind
                               // has it.

namespace airfreight {
namespace {

// Key, size, version, seconds since 1970.
using ObjectRow = std::tuple<std::string, uint64_t, std::string, int64_t>;
// The same, and: id, latest, removal.
using VersionRow = std::tuple<std::string, uint64_t, std::string, int64_t, std::string, bool, bool>;
// Key, id, seconds since 1970.
using UploadRow = std::tuple<std::string, std::string, int64_t>;
// Size, version, metadata, seconds since 1970.
using HeadRow = std::tuple<uint64_t, std::string, Metadata, int64_t>;

template <typename Row>
using Page = std::pair<std::vector<Row>, std::string>;

HeadRow RowOf(const ObjectInfo& info) {
  return {info.size, info.version, info.metadata, info.modified_unix};
}

// None, "" for "where nothing is", or a version.
Condition ConditionOf(const std::optional<std::string>& condition) {
  if (!condition) return Condition::None();
  return condition->empty() ? Condition::Absent() : Condition::Version(*condition);
}

class Administration {
 public:
  Administration(std::vector<StoreSpec> stores, AliasPairs aliases, double timeout)
      : opened_([stores = WithTimeout(std::move(stores), timeout), aliases = std::move(aliases)] {
          return std::make_unique<Result<std::vector<NamedStore>>>(OpenNamed(stores, aliases));
        }) {
    (void)Named();  // Texts are checked here and now.
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const NamedStore& store : Named()) names.push_back(store.name);
    return names;
  }

  std::string Root(const std::string& store) { return Find(store).root(); }

  std::map<std::string, bool> Abilities(const std::string& store) {
    const Capabilities abilities = Find(store).capabilities();
    return {{"conditional_put", abilities.conditional_put},
            {"conditional_remove", abilities.conditional_remove},
            {"parts", abilities.parts},
            {"versions", abilities.versions},
            {"uploads", abilities.uploads}};
  }

  Page<ObjectRow> List(const std::string& store, const std::string& prefix,
                       const std::string& token, int limit) {
    ObjectStore& found = Find(store);
    return WithoutGil([&](const Context& context) -> Result<Page<ObjectRow>> {
      AIRFREIGHT_ASSIGN_OR_RETURN(ListPage page, found.List(prefix, token, limit, context));
      Page<ObjectRow> rows;
      rows.second = std::move(page.next_token);
      for (ObjectInfo& object : page.objects) {
        rows.first.emplace_back(std::move(object.key), object.size, std::move(object.version),
                                object.modified_unix);
      }
      return rows;
    });
  }

  Page<VersionRow> ListVersions(const std::string& store, const std::string& prefix,
                                const std::string& token, int limit) {
    ObjectStore& found = Find(store);
    return WithoutGil([&](const Context& context) -> Result<Page<VersionRow>> {
      AIRFREIGHT_ASSIGN_OR_RETURN(VersionPage page,
                                  found.ListVersions(prefix, token, limit, context));
      Page<VersionRow> rows;
      rows.second = std::move(page.next_token);
      for (VersionInfo& version : page.versions) {
        ObjectInfo& object = version.object;
        rows.first.emplace_back(std::move(object.key), object.size, std::move(object.version),
                                object.modified_unix, std::move(version.id), version.latest,
                                version.removal);
      }
      return rows;
    });
  }

  Page<UploadRow> ListUploads(const std::string& store, const std::string& prefix,
                              const std::string& token, int limit) {
    ObjectStore& found = Find(store);
    return WithoutGil([&](const Context& context) -> Result<Page<UploadRow>> {
      AIRFREIGHT_ASSIGN_OR_RETURN(UploadPage page,
                                  found.ListUploads(prefix, token, limit, context));
      Page<UploadRow> rows;
      rows.second = std::move(page.next_token);
      for (UploadInfo& upload : page.uploads) {
        rows.first.emplace_back(std::move(upload.key), std::move(upload.id), upload.started_unix);
      }
      return rows;
    });
  }

  HeadRow Head(const std::string& store, const std::string& key) {
    ObjectStore& found = Find(store);
    return WithoutGil([&](const Context& context) -> Result<HeadRow> {
      AIRFREIGHT_ASSIGN_OR_RETURN(const ObjectInfo info, found.Head(key, context));
      return RowOf(info);
    });
  }

  HeadRow HeadVersion(const std::string& store, const std::string& key, const std::string& id) {
    ObjectStore& found = Find(store);
    return WithoutGil([&](const Context& context) -> Result<HeadRow> {
      AIRFREIGHT_ASSIGN_OR_RETURN(const ObjectInfo info, found.HeadVersion(key, id, context));
      return RowOf(info);
    });
  }

  std::pair<HeadRow, nb::object> Get(const std::string& store, const std::string& key) {
    ObjectStore& found = Find(store);
    GetResult got = WithoutGil([&](const Context& context) { return found.Get(key, {}, context); });
    return {RowOf(got.info), Memory(std::move(got.body))};
  }

  std::string Put(const std::string& store, const std::string& key, const BytesLike& body,
                  const Metadata& metadata, const std::optional<std::string>& condition,
                  const std::string& content_type) {
    ObjectStore& found = Find(store);
    PutOptions options;
    options.condition = ConditionOf(condition);
    options.metadata = metadata;
    options.content_type = content_type;
    return WithoutGil([&](const Context& context) -> Result<std::string> {
      AIRFREIGHT_ASSIGN_OR_RETURN(const ObjectInfo info,
                                  found.Put(key, Body(View(body)), options, context));
      return info.version;
    });
  }

  void Remove(const std::string& store, const std::string& key,
              const std::optional<std::string>& condition) {
    ObjectStore& found = Find(store);
    WithoutGil(
        [&](const Context& context) { return found.Remove(key, ConditionOf(condition), context); });
  }

  void RemoveVersion(const std::string& store, const std::string& key, const std::string& id) {
    ObjectStore& found = Find(store);
    WithoutGil([&](const Context& context) { return found.RemoveVersion(key, id, context); });
  }

  void AbortUpload(const std::string& store, const std::string& key, const std::string& id) {
    ObjectStore& found = Find(store);
    WithoutGil([&](const Context& context) { return found.AbortUpload(key, id, context); });
  }

 private:
  const std::vector<NamedStore>& Named() {
    const auto& opened = opened_.Get();
    if (!opened) Raise(opened.error());
    return *opened;
  }

  ObjectStore& Find(const std::string& name) {
    for (const NamedStore& store : Named()) {
      if (store.name == name) return *store.store;
    }
    Raise({.code = ErrorCode::kInvalid, .message = "no store is named '" + name + "'"});
  }

  ForkLocal<Result<std::vector<NamedStore>>> opened_;  // Made anew in a forked child.
};

// The coordinate that a key spells, as the keyword arguments of Coordinate, and the extension.
nb::object ParseKey(const std::string& key) {
  std::string extension;
  auto found = Coordinate::FromObjectKey(key, &extension);
  if (!found && found.error().code == ErrorCode::kNotFound) return nb::none();
  const Coordinate coordinate = ValueOrRaise(std::move(found));
  const Instance& instance = coordinate.instance;
  nb::dict fields;
  fields["dag"] = coordinate.dag;
  fields["run"] = coordinate.run;
  fields["task"] = coordinate.task;
  fields["map_index"] = instance.map_index;
  fields["ti_id"] = instance.kind == Instance::Kind::kTi ? nb::cast(instance.id) : nb::none();
  fields["write_id"] = instance.kind == Instance::Kind::kWrite ? nb::cast(instance.id) : nb::none();
  fields["key"] = coordinate.key;
  fields["put_name"] = coordinate.put_name;
  fields["extension"] = extension;
  return fields;
}

}  // namespace

void BindAdministration(nb::module_& module) {
  nb::class_<Administration>(
      module, "Administration",
      "Stores by name, as `Freight` has them, for administrators' commands: it asks of no object "
      "whose it is. Threads may share it; a forked child may use it. Raises as `Freight` does.")
      .def(
          "__init__",
          [](Administration* self, std::vector<StoreSpec> stores, AliasPairs aliases,
             double timeout) {
            new (self) Administration(std::move(stores), std::move(aliases), timeout);
          },
          "stores"_a, nb::kw_only(), "aliases"_a = nb::cast(AliasPairs{}), "timeout"_a = 60.0,
          "Checks (name, uri, settings) of each store; nothing is opened yet.")
      .def_prop_ro("names", &Administration::Names, "Of the stores, in their order.")
      .def("root", &Administration::Root, "store"_a, "The store's URI without its connection.")
      .def("abilities", &Administration::Abilities, "store"_a,
           "What the store can do: conditional_put, conditional_remove, parts, versions, uploads.")
      .def("list_versions", &Administration::ListVersions, "store"_a, "prefix"_a = "",
           "token"_a = "", "limit"_a = 1000,
           nb::sig("def list_versions(self, store: str, prefix: str = '', token: str = '', limit: "
                   "int = 1000) -> tuple[list[tuple[str, int, str, int, str, bool, bool]], str]"),
           "A page as `list` has it, of every version: with its id, whether it is the latest, and "
           "whether it is the mark of a removal.")
      .def("list_uploads", &Administration::ListUploads, "store"_a, "prefix"_a = "", "token"_a = "",
           "limit"_a = 1000,
           nb::sig("def list_uploads(self, store: str, prefix: str = '', token: str = '', limit: "
                   "int = 1000) -> tuple[list[tuple[str, str, int]], str]"),
           "A page of (key, id, seconds since 1970) of what was begun and not ended. The key is a "
           "folder, or empty, where the store does not tell it; the time 0.")
      .def("head", &Administration::Head, "store"_a, "key"_a,
           nb::sig("def head(self, store: str, key: str) -> tuple[int, str, dict[str, str], int]"),
           "Size, version, metadata, seconds since 1970.")
      .def("head_version", &Administration::HeadVersion, "store"_a, "key"_a, "id"_a,
           nb::sig("def head_version(self, store: str, key: str, id: str) -> tuple[int, str, "
                   "dict[str, str], int]"),
           "The same of one version, by the id of `list_versions`. NotFoundError for the mark of a "
           "removal.")
      .def("get", &Administration::Get, "store"_a, "key"_a,
           nb::sig("def get(self, store: str, key: str) -> tuple[tuple[int, str, dict[str, str], "
                   "int], memoryview]"),
           "What `head` gives, and the bytes.")
      .def("put", &Administration::Put, "store"_a, "key"_a, "body"_a, nb::kw_only(),
           "metadata"_a = nb::cast(Metadata{}), "condition"_a = nb::none(),
           "content_type"_a = "application/octet-stream",
           nb::sig("def put(self, store: str, key: str, body: Buffer, *, metadata: Mapping[str, "
                   "str] = {}, condition: str | None = None, content_type: str = "
                   "'application/octet-stream') -> str"),
           "Writes an object; its version. `condition`: '' for where nothing is, or a version.")
      .def("remove", &Administration::Remove, "store"_a, "key"_a, nb::kw_only(),
           "condition"_a = nb::none(),
           "Removes an object, which in some stores stays as a version. `condition`: a version, "
           "for stores with the ability conditional_remove.")
      .def("remove_version", &Administration::RemoveVersion, "store"_a, "key"_a, "id"_a,
           "Removes one version, by the id of `list_versions`, for good.")
      .def("abort_upload", &Administration::AbortUpload, "store"_a, "key"_a, "id"_a,
           "Removes what was sent of an upload, by the key and id of `list_uploads`.")
      .def("list", &Administration::List, "store"_a, "prefix"_a = "", "token"_a = "",
           "limit"_a = 1000,
           nb::sig("def list(self, store: str, prefix: str = '', token: str = '', limit: int = "
                   "1000) -> tuple[list[tuple[str, int, str, int]], str]"),
           "A page of (key, size, version, seconds since 1970), and the token of the next, '' on "
           "the last.");

  module.def(
      "encode_part", [](const std::string& part) { return EncodePart(part); }, "part"_a,
      "A part of an object's key, as formats/key.md spells it.");
  module.def("parse_key", &ParseKey, "key"_a,
             nb::sig("def parse_key(key: str) -> dict[str, Any] | "
                     "None"),
             "The coordinate that an object's key spells, and its extension; None where a part of "
             "it is a hash. Raises where it is no key of ours.");
}

}  // namespace airfreight

// The seam between Python and the core: buffers in, buffers out, errors and signals. No logic.

#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "admin.h"
#include "airfreight/freight.h"
#include "airfreight/reference.h"
#include "airfreight/store.h"
#include "base/cgroup.h"
#include "base/crc32c.h"
#include "base/digest.h"
#include "calls.h"
#include "doctor.h"
#include "opening.h"
#include "py_freight.h"
#include "seal/seal.h"
#include "streams.h"
#include "values/parquet_footer.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace): argument names, as nanobind
                               // has it.

namespace airfreight {
namespace {

Coordinate MakeCoordinate(std::string dag, std::string run, std::string task, std::string key,
                          int64_t map_index, std::optional<std::string> ti_id,
                          std::optional<std::string> write_id,
                          std::optional<std::string> put_name) {
  if (ti_id && write_id) throw nb::value_error("give ti_id or write_id, not both");
  Instance instance = ti_id      ? Instance::Ti(std::move(*ti_id))
                      : write_id ? Instance::Write(std::move(*write_id))
                                 : Instance::Map(map_index);
  Coordinate coordinate{std::move(dag),      std::move(run), std::move(task),
                        std::move(instance), std::move(key), std::move(put_name)};
  ValueOrRaise(coordinate.Validate());
  return coordinate;
}

nb::dict ReferenceFields(const std::string& json) {
  const Reference reference = ValueOrRaise(Reference::Parse(json));
  nb::dict fields;
  fields["backend"] = reference.backend;
  fields["type"] = reference.type;
  fields["store"] = reference.store;
  fields["uri"] = reference.uri;
  fields["dag"] = reference.coordinate.dag;
  fields["run"] = reference.coordinate.run;
  fields["task"] = reference.coordinate.task;
  const Instance& instance = reference.coordinate.instance;
  fields["map_index"] =
      instance.kind == Instance::Kind::kMap ? nb::cast(instance.map_index) : nb::none();
  fields["ti_id"] = instance.kind == Instance::Kind::kTi ? nb::cast(instance.id) : nb::none();
  fields["write_id"] = instance.kind == Instance::Kind::kWrite ? nb::cast(instance.id) : nb::none();
  fields["key"] = reference.coordinate.key;
  fields["put_name"] = reference.coordinate.put_name;
  fields["attempt"] = reference.attempt;
  fields["rows"] = reference.rows;
  fields["size_bytes"] = reference.size_bytes;
  fields["digest"] = reference.digest;
  fields["etag"] = reference.etag;
  fields["summary"] = reference.summary;
  fields["columns"] = reference.columns;
  fields["nulls"] = reference.nulls;
  fields["columns_cut"] = reference.columns_cut;
  fields["preview"] = reference.preview;
  fields["written"] = reference.written;
  fields["expires"] = reference.expires;
  fields["write"] = reference.write;
  fields["host"] = reference.host;
  fields["owner"] = reference.owner;
  fields["signature"] = reference.signature;
  return fields;
}

}  // namespace
}  // namespace airfreight

NB_MODULE(_core, module) {
  using namespace airfreight;  // NOLINT(google-build-using-namespace): the module is this
                               // namespace.
  module.doc() = "The native core of Airfreight.";

  // OpenSSL sets itself up at its first use, and finds each algorithm once, under locks that know
  // nothing of forks: a child that is forked in that moment waits for them for ever. The module is
  // loaded where a fork waits for its end (`airfreight._imports`), so that it happens here.
  (void)Sha256({});
  (void)HmacSha256({}, {});
  // A forked child that exits in good order has frames of threads that it does not have; what they
  // hold is no leak, and no news for a task's log.
  nb::set_leak_warnings(false);

  nb::class_<Coordinate>(module, "Coordinate", "Where an XCom belongs (immutable).")
      .def(
          "__init__",
          [](Coordinate* self, std::string dag, std::string run, std::string task, std::string key,
             int64_t map_index, std::optional<std::string> ti_id,
             std::optional<std::string> write_id, std::optional<std::string> put_name) {
            new (self) Coordinate(MakeCoordinate(std::move(dag), std::move(run), std::move(task),
                                                 std::move(key), map_index, std::move(ti_id),
                                                 std::move(write_id), std::move(put_name)));
          },
          "dag"_a, "run"_a, "task"_a, "key"_a, nb::kw_only(), "map_index"_a = -1,
          "ti_id"_a = nb::none(), "write_id"_a = nb::none(), "put_name"_a = nb::none())
      .def(
          "object_key",
          [](const Coordinate& self, const std::string& extension) {
            return ValueOrRaise(self.ObjectKey(extension));
          },
          "extension"_a, "The object key, without the store's prefix.")
      .def_prop_ro("hash", &Coordinate::Hash, "128 bits over all fields, as 32 hex digits.");

  nb::class_<PySink>(module, "Sink",
                     "A growing native file object that a codec writes into: give it to "
                     "pyarrow.PythonFile. One thread at a time.")
      .def(nb::init<>())
      .def("write", &PySink::Write, "data"_a, "Append bytes-like data; returns its length.")
      .def("tell", &PySink::size)
      .def("flush", [](PySink&) {})
      .def("close", &PySink::Close)
      .def("readable", [](const PySink&) { return false; })
      .def("writable", [](const PySink&) { return true; })
      .def("seekable", [](const PySink&) { return false; })
      .def_prop_ro("closed", &PySink::closed)
      .def("abandon", &PySink::Abandon, nb::kw_only(), "hurry"_a = false,
           "What is still written is dropped.")
      .def("getvalue", &PySink::GetValue, "A copy of all that was written.");

  nb::class_<PyWriter>(module, "Writer",
                       "A file object whose bytes are sent while more are written: give it to "
                       "pyarrow.PythonFile. One thread at a time.")
      .def("write", &PyWriter::Write, "data"_a,
           "Append bytes-like data; returns its length. Blocks while too much is unsent.")
      .def("tell", &PyWriter::size)
      .def("flush", [](PyWriter&) {})
      .def("close", &PyWriter::Close, "As a file has it; nothing is finished by it.")
      .def("readable", [](const PyWriter&) { return false; })
      .def("writable", [](const PyWriter&) { return true; })
      .def("seekable", [](const PyWriter&) { return false; })
      .def_prop_ro("closed", &PyWriter::closed)
      .def("seal_blocks", &PyWriter::SealBlocks,
           "Checksums of the blocks so far, 32 bits each, little-endian; what follows is the tail.")
      .def("finish", &PyWriter::Finish, "told"_a = nb::cast(Told{}),
           "Returns the reference as JSON text once the store has confirmed the object. `told` as "
           "for `Freight.put`.")
      .def("unsent", &PyWriter::Unsent, nb::sig("def unsent(self) -> bytes | None"),
           "All bytes of an object that `finish` has failed to send, where no part of it was sent.")
      .def_prop_ro("write_id", &PyWriter::write,
                   "What the reference is to have, and sealed frames are bound to.")
      .def("abandon", &PyWriter::Abandon, nb::kw_only(), "hurry"_a = false,
           "Gives the value up and removes what was sent; in a hurry within half a second.");

  nb::class_<PyReader>(module, "Reader", "Ranges of the object of a reference.")
      .def_prop_ro("size", &PyReader::size)
      .def_prop_ro("tail_offset", &PyReader::tail_offset)
      .def("read_tail", &PyReader::ReadTail, nb::sig("def read_tail(self) -> memoryview"),
           "The tail, checked. One request.")
      .def("set_blocks", &PyReader::SetBlocks, "table"_a, "Sets what `Writer.seal_blocks` gave.")
      .def("set_checks", &PyReader::SetChecks, "checks"_a,
           nb::sig("def set_checks(self, checks: Sequence[tuple[int, int, int]]) -> None"),
           "Sets (offset, length, CRC-32C) of runs of any length, in order, in place of blocks.")
      .def("read", &PyReader::Read, "ranges"_a,
           nb::sig("def read(self, ranges: Sequence[tuple[int, int]]) -> list[memoryview]"),
           "Reads (offset, length) ranges before the tail at once, checked by their blocks or "
           "runs.");

  nb::class_<PyFreight> freight(
      module, "Freight",
      "Stores by name, the first of which is written to by default. Threads may share it; a "
      "forked child may use it.");
  freight
      .def(
          "__init__",
          [](PyFreight* self, std::vector<StoreSpec> stores, AliasPairs aliases,
             const std::string& digest, uint64_t max_bytes, std::string owner, double timeout,
             uint64_t memory, int slots, int connections, const std::string& signing_keys,
             int64_t unsigned_until, const std::string& seal_keys, nb::object key_service) {
            TransferOptions transfer;
            transfer.memory_bytes = memory;
            transfer.slots = slots;
            transfer.connections = connections;
            new (self) PyFreight(
                std::move(stores), std::move(aliases), digest, max_bytes, std::move(owner), timeout,
                transfer,
                MakeSeal(signing_keys, unsigned_until, seal_keys, std::move(key_service)));
          },
          "stores"_a, nb::kw_only(), "aliases"_a = nb::cast(AliasPairs{}), "digest"_a = "crc32c",
          "max_bytes"_a = 0, "owner"_a = "", "timeout"_a = 60.0, "memory"_a = 0, "slots"_a = 1,
          "connections"_a = 16, "signing_keys"_a = "", "unsigned_until"_a = 0, "seal_keys"_a = "",
          "key_service"_a = nb::none(),
          "Checks (name, uri, settings) of each store; nothing is opened yet. One without a name "
          "is only read from. `aliases`: URIs, and those that are read in their place. `timeout`: "
          "seconds that a request may be tried again. `memory`: bytes that transfers may hold; 0: "
          "by what "
          "the machine has, shared among `slots`. `signing_keys`: as in formats/reference.md; "
          "where "
          "there are some, references without a signature are followed until `unsigned_until`, in "
          "seconds since 1970, and others without a good one never. `seal_keys`: as in "
          "formats/sealed.md; `key_service`: called as airfreight.sealing.ask.")
      .def(
          "put",
          [](PyFreight& self, const Coordinate& coordinate,
             const std::variant<const PySink*, Segments>& body, std::string type,
             std::string extension, std::string content_type, Told told, int64_t attempt,
             int64_t started_micros, std::optional<DecisionFields> decision) {
            return self.Put({coordinate,
                             BodyOf(body),
                             MakeInfo({std::move(type), std::move(extension),
                                       std::move(content_type), std::move(told)}),
                             {attempt, started_micros},
                             MakeDecision(std::move(decision))});
          },
          "coordinate"_a, "body"_a, nb::kw_only(), "type"_a, "extension"_a,
          "content_type"_a = "application/octet-stream", "told"_a = nb::cast(Told{}),
          "attempt"_a = 0, "started_micros"_a = 0, "decision"_a = nb::none(),
          "Stores what a Sink gathered, or the bytes of a list of segments; returns the reference "
          "as JSON text. `told`: rows, summary, columns, nulls, columns_cut and preview of "
          "formats/reference.md. `decision`: store, digest, most bytes and who "
          "says so, encryption key and who says so, retention in seconds, and whether it is "
          "sealed.")
      .def("put_many", &PyFreight::PutMany, "items"_a,
           nb::sig("def put_many(self, items: Sequence[tuple[Coordinate, Sink | Sequence[Buffer], "
                   "tuple[str, str, str, tuple[int | None, str, Sequence[tuple[str, str]], "
                   "Sequence[int], bool, Sequence[Sequence[str]]]], "
                   "tuple[int, int], tuple[str, str, int, str, str, str, int, bool] | None]]) -> "
                   "list[str | BaseException]"),
           "Stores (coordinate, body, (type, extension, content_type, told), "
           "(attempt, started_micros), decision), many at a time; in their order, an exception "
           "where there "
           "is one.")
      .def(
          "open",
          [](PyFreight& self, const Coordinate& coordinate, std::string type, std::string extension,
             std::string content_type, int64_t attempt, int64_t started_micros,
             std::optional<DecisionFields> decision) {
            ValueInfo info;
            info.type = std::move(type);
            info.extension = std::move(extension);
            info.content_type = std::move(content_type);
            return self.OpenWriter(coordinate, std::move(info), {attempt, started_micros},
                                   MakeDecision(std::move(decision)));
          },
          nb::keep_alive<0, 1>(), "coordinate"_a, nb::kw_only(), "type"_a, "extension"_a,
          "content_type"_a = "application/octet-stream", "attempt"_a = 0, "started_micros"_a = 0,
          "decision"_a = nb::none(),
          "Opens the value of a coordinate for writing. No request. `decision`: as for `put`.")
      .def("open_reader", &PyFreight::OpenReader, nb::keep_alive<0, 1>(), "reference"_a,
           "Opens the object of a reference (JSON text) for reading parts of it. No request.")
      .def("get_to_file", &PyFreight::GetToFile, "reference"_a, "path"_a,
           "Writes the verified bytes of an object to a file, which appears when it is whole.")
      .def("get", &PyFreight::GetBytes, "reference"_a,
           "Follows a reference (JSON text): verified bytes, as a writable memoryview of memory "
           "that "
           "lives as long as the view.")
      .def("get_many", &PyFreight::GetMany, "references"_a,
           nb::sig("def get_many(self, references: Sequence[str]) -> list[memoryview | "
                   "BaseException]"),
           "Follows references, many at a time; in their order, an exception where there is one.")
      .def("purge", &PyFreight::Purge, "reference"_a,
           "Removes the object if it still bears the reference's write id; True when it removed "
           "one.")
      .def("rewrap_key", &PyFreight::RewrapKey, "reference"_a, "decision"_a = nb::none(),
           nb::kw_only(), "dry"_a,
           "Has the data key of a sealed object wrapped by the first of the sealing keys; what "
           "became of it: not sealed, current, old (`dry`: nothing is written), rewrapped, gone, "
           "replaced or foreign.")
      .def(
          "seal_value",
          [](PyFreight& self, const Coordinate& coordinate,
             const std::variant<const PySink*, Segments>& body) {
            return self.SealValue(coordinate, BodyOf(body));
          },
          "coordinate"_a, "body"_a,
          "The sealed object that a push would write, of what a Sink gathered or the bytes of a "
          "list of segments, for a row; before it the write id that it is bound to.")
      .def("open_value", &PyFreight::OpenValue, "coordinate"_a, "write_id"_a, "data"_a,
           nb::sig("def open_value(self, coordinate: Coordinate, write_id: str, data: Buffer) -> "
                   "memoryview"),
           "The value in a sealed object that `seal_value` has made for a coordinate.")
      .def("rewrap_value", &PyFreight::RewrapValue, "data"_a,
           "The end that a sealed object of `seal_value` is to have, with its data key wrapped by "
           "the first of the sealing keys; None where it is.")
      .def(
          "adopt", &PyFreight::Adopt, "reference"_a, "coordinate"_a, nb::kw_only(),
          "external"_a = false,
          "Returns a reference that somebody else made (JSON text) as the row of the coordinate "
          "may hold it. Raises unless it is signed and of that coordinate; `external`: where there "
          "are no keys, an unsigned one will do.")
      .def("sign", &PyFreight::Sign, "reference"_a,
           "Returns a reference (JSON text) signed, after its object was read and found to be what "
           "the reference says; with the first key, and without a look at the object, where it has "
           "a good signature already.")
      .def("settle", &PyFreight::Settle, "coordinate"_a, nb::kw_only(), "keep"_a = "",
           "Removes what this process wrote for the coordinate, now that the row holds something "
           "else; what has the write id `keep` stays.")
      .def("probe", &PyFreight::Probe,
           "Asks the first store for an object that is not there. True: it says so; False: it does "
           "not tell those who may not list. Raises where it can't be used.")
      .def("list", &PyFreight::List, "prefix"_a = "",
           "(key, bytes) of everything in the first store under a key prefix.");

  BindAdministration(module);
  module.def("parse_reference", &ReferenceFields, "text"_a,
             "The fields of a reference, as the core understood them.");
  module.def(
      "signing_key",
      [](const std::string& keys, const std::string& dag) {
        const SigningKeys parsed = ValueOrRaise(SigningKeys::Parse(keys));
        return std::string(ValueOrRaise(parsed.ForDag(dag)).Reveal());
      },
      "keys"_a, "dag"_a,
      "The key of one DAG, as the setting signing_keys has it: made of the first secret of "
      "`keys`.");
  module.def(
      "crc32c",
      [](const BytesLike& data, uint32_t before) { return ExtendCrc32c(before, View(data)); },
      "data"_a, "before"_a = 0,
      "CRC-32C (RFC 3720) of bytes-like data, after what has the checksum `before`.");
  module.def(
      "merge_parquet_footers",
      [](const std::vector<std::pair<BytesLike, int64_t>>& parts,
         const std::vector<std::pair<nb::bytes, nb::bytes>>& entries) {
        std::vector<ParquetPart> views;
        for (const auto& [footer, shift] : parts) views.push_back({View(footer), shift});
        std::vector<ParquetEntry> texts;
        for (const auto& [key, value] : entries) {
          texts.emplace_back(std::string(key.c_str(), key.size()),
                             std::string(value.c_str(), value.size()));
        }
        const std::string end = ValueOrRaise(MergeParquetFooters(views, texts));
        return nb::bytes(end.data(), end.size());
      },
      "parts"_a, "entries"_a,
      nb::sig("def merge_parquet_footers(parts: Sequence[tuple[Buffer, int]], "
              "entries: Sequence[tuple[bytes, bytes]]) -> bytes"),
      "The end of a Parquet file that is made of the pages of others, whose (footer, shift of "
      "offsets) these are; `entries` of metadata come first.");
  module.def(
      "available_cpus", [] { return AvailableCpus(); },
      "Processors that this process may use: by its affinity and the quotas of its cgroups.");
  BindDoctor(module);
  module.def("version", [] { return std::string(AIRFREIGHT_VERSION); });
}

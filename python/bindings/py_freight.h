#pragma once

// Freight, as values of Python go through it.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "airfreight/freight.h"
#include "airfreight/reference.h"
#include "airfreight/store.h"
#include "base/digest.h"
#include "base/fork_local.h"
#include "calls.h"
#include "opening.h"
#include "py_keys.h"
#include "seal/seal.h"
#include "streams.h"

namespace airfreight {

using Segments = std::vector<BytesLike>;
// Type, extension, content type, what the row tells.
using InfoFields = std::tuple<std::string, std::string, std::string, Told>;
using AttemptFields = std::pair<int64_t, int64_t>;
// Store, digest, most bytes and who says so, encryption key and who says so, retention in seconds,
// whether it is sealed.
using DecisionFields = std::tuple<std::string, std::string, uint64_t, std::string, std::string,
                                  std::string, int64_t, bool>;
using PutItem = std::tuple<Coordinate, std::variant<const PySink*, Segments>, InfoFields,
                           AttemptFields, std::optional<DecisionFields>>;

inline Body BodyOf(const std::variant<const PySink*, Segments>& source) {
  if (const auto* sink = std::get_if<const PySink*>(&source)) return (*sink)->body();
  Body body;
  for (const BytesLike& segment : std::get<Segments>(source)) body.Append(View(segment));
  return body;
}

inline ValueInfo MakeInfo(InfoFields fields) {
  ValueInfo info;
  std::tie(info.type, info.extension, info.content_type, std::ignore) = fields;
  Describe(std::get<Told>(std::move(fields)), &info);
  return info;
}

inline DigestKind MakeDigest(const std::string& name) {
  if (name == "sha256") return DigestKind::kSha256;
  if (name == "crc32c") return DigestKind::kCrc32c;
  Raise({.code = ErrorCode::kInvalid,
         .message = "digest must be crc32c or sha256, not '" + name + "'"});
}

inline std::optional<Decision> MakeDecision(std::optional<DecisionFields> fields) {
  if (!fields) return std::nullopt;
  Decision decision;
  std::string digest;
  std::tie(decision.store, digest, decision.max_bytes, decision.max_bytes_name,
           decision.encryption_key, decision.encryption_key_name, decision.retention_seconds,
           decision.seal) = *std::move(fields);
  decision.digest = MakeDigest(digest);
  return decision;
}

inline std::shared_ptr<const Seal> MakeSeal(const std::string& keys, int64_t unsigned_until,
                                            const std::string& seal_keys, nb::object key_service) {
  return std::make_shared<const Seal>(
      Seal{ValueOrRaise(SigningKeys::Parse(keys)), unsigned_until,
           ValueOrRaise(SealingKeys::Parse(seal_keys, WrapKeyService(std::move(key_service))))});
}

inline Attempt MakeAttempt(const AttemptFields& fields) { return {fields.first, fields.second}; }

// Freight as Python calls it: made anew in a forked child (see ForkLocal), at the first call there.
//
// Threads: any, several at once. Each method is called with the GIL, and gives it back while it
// waits; what it makes of Python's objects, it makes before and after that.
// Ownership: the stores, and the keys with the seal that all copies of it share. The bytes of a
// value that is put stay the caller's: a call pins their memory (BytesLike) until it returns, and
// nothing of it is kept. What is got belongs to the object that is returned. A PyReader or PyWriter
// must not outlive this object; the module has it live as long as they do (nb::keep_alive).
// Blocking and cancellation: as long as the stores take, by their time-outs; a signal whose handler
// raises cancels the call, and that exception is what the caller sees (see WithoutGil). Errors:
// those of `airfreight.errors`. GetMany and PutMany raise none for a single item, which has its
// exception in its place. What is wrong with a setting is raised by the constructor.
class PyFreight {
 public:
  PyFreight(std::vector<StoreSpec> stores, AliasPairs aliases, const std::string& digest,
            uint64_t max_bytes, std::string owner, double timeout, TransferOptions transfer,
            std::shared_ptr<const Seal> seal)
      : freight_([stores = WithTimeout(std::move(stores), timeout), aliases = std::move(aliases),
                  defaults = Defaults(digest, max_bytes), owner = std::move(owner), transfer,
                  seal = std::move(seal)] {
          return Open(stores, aliases, defaults, owner, transfer, seal);
        }) {
    Get();  // Texts are checked here and now, before any value is at stake.
  }

  std::string Put(const Freight::Item& item) {
    Freight& freight = Get();
    return WithoutGil([&](const Context& context) -> Result<std::string> {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reference reference, freight.Put(item, context));
      return reference.ToJson();
    });
  }

  nb::object GetBytes(const std::string& json) {
    Freight& freight = Get();
    return Memory(WithoutGil([&](const Context& context) -> Result<Buffer> {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reference reference, Reference::Parse(json));
      return freight.Get(reference, context);
    }));
  }

  nb::list GetMany(const std::vector<std::string>& texts) {
    Freight& freight = Get();
    using Results = std::vector<Result<Buffer>>;
    Results results = WithoutGil([&](const Context& context) -> Result<Results> {
      // What is no reference takes its error's place; the others are fetched together.
      Results found;
      std::vector<Reference> references;
      std::vector<size_t> places;
      for (const std::string& text : texts) {
        auto reference = Reference::Parse(text);
        if (reference) {
          places.push_back(found.size());
          references.push_back(*std::move(reference));
          found.emplace_back();
        } else {
          found.push_back(Fail(std::move(reference).error()));
        }
      }
      Results fetched = freight.GetMany(references, context);
      for (size_t i = 0; i < places.size(); ++i) found[places[i]] = std::move(fetched[i]);
      return found;
    });
    nb::list items;
    for (Result<Buffer>& result : results) {
      items.append(result ? Memory(*std::move(result)) : Exception(result.error()));
    }
    return items;
  }

  nb::list PutMany(const std::vector<PutItem>& given) {
    Freight& freight = Get();
    std::vector<Freight::Item> items;
    for (const auto& [coordinate, body, info, attempt, decision] : given) {
      items.push_back(
          {coordinate, BodyOf(body), MakeInfo(info), MakeAttempt(attempt), MakeDecision(decision)});
    }
    using Results = std::vector<Result<std::string>>;
    Results results = WithoutGil([&](const Context& context) -> Result<Results> {
      Results texts;
      for (Result<Reference>& put : freight.PutMany(items, context)) {
        texts.push_back([&]() -> Result<std::string> {
          AIRFREIGHT_ASSIGN_OR_RETURN(const Reference reference, std::move(put));
          return reference.ToJson();
        }());
      }
      return texts;
    });
    nb::list texts;
    for (Result<std::string>& result : results) {
      texts.append(result ? nb::object(nb::cast(*result)) : Exception(result.error()));
    }
    return texts;
  }

  void GetToFile(const std::string& json, const std::string& path) {
    Freight& freight = Get();
    WithoutGil([&](const Context& context) -> Status {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reference reference, Reference::Parse(json));
      return freight.GetToFile(reference, path, context);
    });
  }

  std::unique_ptr<PyReader> OpenReader(const std::string& json) {
    const Reference reference = ValueOrRaise(Reference::Parse(json));
    return std::make_unique<PyReader>(ValueOrRaise(Get().OpenReader(reference)));
  }

  std::unique_ptr<PyWriter> OpenWriter(const Coordinate& coordinate, ValueInfo info,
                                       const Attempt& attempt,
                                       const std::optional<Decision>& decision) {
    auto writer = ValueOrRaise(Get().Open(coordinate, info, attempt, decision));
    return std::make_unique<PyWriter>(std::move(writer), std::move(info));
  }

  bool Purge(const std::string& json) {
    Freight& freight = Get();
    return WithoutGil([&](const Context& context) -> Result<bool> {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reference reference, Reference::Parse(json));
      return freight.Purge(reference, context);
    });
  }

  std::pair<std::string, nb::bytes> SealValue(const Coordinate& coordinate, const Body& body) {
    Freight& freight = Get();
    const SealedValue sealed =
        WithoutGil([&](const Context&) { return freight.SealValue(coordinate, body); });
    return {sealed.write, nb::bytes(sealed.bytes.data(), sealed.bytes.size())};
  }

  nb::object OpenValue(const Coordinate& coordinate, const std::string& write,
                       const BytesLike& data) {
    Freight& freight = Get();
    return Memory(WithoutGil(
        [&](const Context&) { return freight.OpenValue(coordinate, write, View(data)); }));
  }

  std::optional<nb::bytes> RewrapValue(const BytesLike& data) {
    Freight& freight = Get();
    const auto envelope =
        WithoutGil([&](const Context&) { return freight.RewrapValue(View(data)); });
    if (!envelope) return std::nullopt;
    return nb::bytes(envelope->data(), envelope->size());
  }

  std::string RewrapKey(const std::string& json, std::optional<DecisionFields> decision, bool dry) {
    Freight& freight = Get();
    const std::optional<Decision> decided = MakeDecision(std::move(decision));
    switch (WithoutGil([&](const Context& context) -> Result<Rewrap> {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reference reference, Reference::Parse(json));
      return freight.RewrapKey(reference, decided, dry, context);
    })) {
      case Rewrap::kNotSealed:
        return "not sealed";
      case Rewrap::kCurrent:
        return "current";
      case Rewrap::kOld:
        return "old";
      case Rewrap::kRewrapped:
        return "rewrapped";
      case Rewrap::kGone:
        return "gone";
      case Rewrap::kReplaced:
        return "replaced";
      case Rewrap::kForeign:
        break;
    }
    return "foreign";
  }

  std::string Adopt(const std::string& json, const Coordinate& coordinate, bool external) {
    const Reference reference = ValueOrRaise(Reference::Parse(json));
    ValueOrRaise(Get().Adopt(reference, coordinate, external));
    return ValueOrRaise(reference.ToJson());
  }

  std::string Sign(const std::string& json) {
    Freight& freight = Get();
    return WithoutGil([&](const Context& context) -> Result<std::string> {
      AIRFREIGHT_ASSIGN_OR_RETURN(Reference reference, Reference::Parse(json));
      AIRFREIGHT_ASSIGN_OR_RETURN(reference, freight.Sign(std::move(reference), context));
      return reference.ToJson();
    });
  }

  void Settle(const Coordinate& coordinate, const std::string& keep) {
    Freight& freight = Get();
    WithoutGil([&](const Context& context) { return freight.Settle(coordinate, context, keep); });
  }

  // A name that no coordinate gives: theirs have at least five parts.
  bool Probe() {
    Freight& freight = Get();
    return WithoutGil([&](const Context& context) -> Result<bool> {
      auto found = freight.stores().front().store->Get("airfreight-probe", {}, context);
      if (found || found.error().code == ErrorCode::kNotFound) return true;
      if (found.error().code == ErrorCode::kNotFoundOrDenied) return false;
      return Fail(std::move(found).error());
    });
  }

  std::vector<std::pair<std::string, uint64_t>> List(const std::string& prefix) {
    Freight& freight = Get();
    using Rows = std::vector<std::pair<std::string, uint64_t>>;
    return WithoutGil([&](const Context& context) -> Result<Rows> {
      Rows rows;
      std::string token;
      do {
        AIRFREIGHT_ASSIGN_OR_RETURN(
            ListPage page, freight.stores().front().store->List(prefix, token, 1000, context));
        for (ObjectInfo& object : page.objects)
          rows.emplace_back(std::move(object.key), object.size);
        token = std::move(page.next_token);
      } while (!token.empty());
      return rows;
    });
  }

 private:
  // Made anew in a forked child, where what it holds must not be touched: see ForkLocal.
  struct Opened {
    std::unique_ptr<Freight> freight;
    Error error;
  };

  static Decision Defaults(const std::string& digest, uint64_t max_bytes) {
    Decision defaults;
    defaults.digest = MakeDigest(digest);
    defaults.max_bytes = max_bytes;
    return defaults;
  }

  static std::unique_ptr<Opened> Open(const std::vector<StoreSpec>& stores,
                                      const AliasPairs& aliases, const Decision& defaults,
                                      const std::string& owner, const TransferOptions& transfer,
                                      const std::shared_ptr<const Seal>& seal) {
    auto opened = std::make_unique<Opened>();
    auto named = OpenNamed(stores, aliases);
    if (!named) {
      opened->error = std::move(named).error();
      return opened;
    }
    opened->freight = std::make_unique<Freight>(*std::move(named), defaults, owner, transfer, seal);
    return opened;
  }

  Freight& Get() {
    Opened& opened = freight_.Get();
    if (!opened.freight) Raise(opened.error);
    return *opened.freight;
  }

  ForkLocal<Opened> freight_;
};

}  // namespace airfreight

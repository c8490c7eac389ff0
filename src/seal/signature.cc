#include "seal/signature.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "airfreight/coordinate.h"
#include "base/base64.h"
#include "base/digest.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "seal/hkdf.h"
#include "seal/key_list.h"

namespace airfreight {
namespace {

// What separates this use of a secret from any other that it may have (RFC 5869, section 3.2).
constexpr std::string_view kPurpose = "airfreight reference 1\n";
// The first line of what is signed: nothing else that is ever signed begins so.
constexpr std::string_view kFirstLine = "airfreight reference 1\n";
constexpr KeyListWords kWords{
    "", "<id>:<base64 of 32 bytes or more>, as \"k1:\" and what `openssl rand -base64 32` prints",
    "k2:<base64>,k1:<base64>"};

// The id of a DAG, as Airflow has it (letters of any script, digits, "_", "-", "."): it can stand
// in a list of keys.
bool IsDagOfAnEntry(std::string_view dag) {
  return !dag.empty() && IsUtf8(dag) && std::none_of(dag.begin(), dag.end(), [](char c) {
    return kKeySeparators.find(c) != std::string_view::npos || c == ':' || c == '\0';
  });
}

void AppendField(std::string_view name, std::string_view value, std::string* out) {
  fmt::format_to(std::back_inserter(*out), "{} {}:", name, value.size());
  *out += value;
  *out += '\n';
}

void AppendField(std::string_view name, int64_t value, std::string* out) {
  AppendField(name, fmt::format("{}", value), out);
}

void AppendUnlessEmpty(std::string_view name, std::string_view value, std::string* out) {
  if (!value.empty()) AppendField(name, value, out);
}

std::string SignatureHex(const Secret& key, const Reference& reference) {
  const Sha256Value mac = HmacSha256(AsBytes(key.Reveal()), AsBytes(CanonicalForm(reference)));
  return HexEncode(mac);
}

}  // namespace

std::string CanonicalForm(const Reference& reference) {
  const Coordinate& c = reference.coordinate;
  std::string out(kFirstLine);
  AppendField("_xcom_backend", reference.backend, &out);
  AppendField("_xcom_type", reference.type, &out);
  AppendField("store", reference.store, &out);
  AppendField("uri", reference.uri, &out);
  AppendField("dag", c.dag, &out);
  AppendField("run", c.run, &out);
  AppendField("task", c.task, &out);
  switch (c.instance.kind) {
    case Instance::Kind::kMap:
      AppendField("map", c.instance.map_index, &out);
      break;
    case Instance::Kind::kTi:
      AppendField("ti", c.instance.id, &out);
      break;
    case Instance::Kind::kWrite:
      AppendField("writer", c.instance.id, &out);
      break;
  }
  if (c.put_name) {
    AppendField("put", *c.put_name, &out);
  } else {
    AppendField("key", c.key, &out);
  }
  if (reference.attempt != 0) AppendField("attempt", reference.attempt, &out);
  if (reference.rows) AppendField("rows", *reference.rows, &out);
  AppendField("size_bytes", static_cast<int64_t>(reference.size_bytes), &out);
  AppendField("digest", reference.digest, &out);
  if (reference.tail) {
    AppendField("tail", fmt::format("{} {}", reference.tail->offset, reference.tail->digest), &out);
  }
  AppendField("written", reference.written, &out);
  AppendUnlessEmpty("expires", reference.expires, &out);
  AppendField("write", reference.write, &out);
  AppendUnlessEmpty("host", reference.host, &out);
  AppendUnlessEmpty("owner", reference.owner, &out);
  if (reference.sealed != 0) AppendField("sealed", reference.sealed, &out);
  return out;
}

Result<SigningKeys::Key> SigningKeys::ParseKey(std::string_view entry, size_t number) {
  const size_t colon = entry.rfind(':');
  if (colon == std::string_view::npos) return WrongKey(kWords, number, {}, "has no colon");
  const std::string_view name = entry.substr(0, colon);
  const size_t at = name.find('@');
  Key key;
  if (!IsKeyId(name.substr(0, at))) {
    return WrongKey(kWords, number, {},
                    "has an id that is not 1 to 64 letters, digits, \".\", \"_\", \"-\"");
  }
  key.id = name.substr(0, at);
  if (at != std::string_view::npos) {
    key.dag = name.substr(at + 1);
    if (!IsDagOfAnEntry(key.dag))
      return WrongKey(kWords, number, key.id, "has no DAG behind its \"@\"");
  }
  std::optional<Secret> bytes = DecodeKeyBytes(entry.substr(colon + 1));
  if (!bytes) return WrongKey(kWords, number, key.id, "is not base64 behind its colon");
  key.bytes = *std::move(bytes);
  const size_t size = key.bytes.Reveal().size();
  if (size < kMinSigningSecretBytes || size > kMaxSigningSecretBytes) {
    return WrongKey(kWords, number, key.id, fmt::format("has {} bytes", size));
  }
  return key;
}

Result<SigningKeys> SigningKeys::Parse(std::string_view text) {
  SigningKeys keys;
  AIRFREIGHT_ASSIGN_OR_RETURN(
      keys.keys_, ParseKeyList<Key>(kWords, text, ParseKey, [](const Key& one, const Key& other) {
        return one.id == other.id && one.dag == other.dag;
      }));
  return keys;
}

Secret SigningKeys::KeyOf(const Key& key, std::string_view dag) {
  if (!key.dag.empty()) return key.bytes;
  return HkdfSha256(AsBytes(key.bytes.Reveal()), {}, fmt::format("{}{}", kPurpose, dag));
}

const SigningKeys::Key* SigningKeys::FindToSign(std::string_view dag) const {
  for (const Key& key : keys_) {
    if (key.dag.empty() || key.dag == dag) return &key;
  }
  return nullptr;
}

const SigningKeys::Key* SigningKeys::FindToVerify(std::string_view id, std::string_view dag) const {
  for (const Key& key : keys_) {
    if (key.id == id && (key.dag.empty() || key.dag == dag)) return &key;
  }
  return nullptr;
}

Status SigningKeys::Sign(Reference* reference) const {
  const std::string& dag = reference->coordinate.dag;
  const Key* key = FindToSign(dag);
  if (key == nullptr) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("there is no key to sign with for the DAG \"{}\": the keys here are {}",
                            VisibleText(dag), keys_.empty() ? "none" : "of other DAGs"));
  }
  if (DigestKindOf(reference->digest) != DigestKind::kSha256) {
    return Fail(ErrorCode::kInternal, "a reference without a SHA-256 was to be signed");
  }
  reference->signature = fmt::format("{}:{}", key->id, SignatureHex(KeyOf(*key, dag), *reference));
  return {};
}

Status SigningKeys::Verify(const Reference& reference) const {
  const std::string_view signature = reference.signature;
  const size_t colon = signature.find(':');
  if (colon == std::string_view::npos) {
    return Fail(ErrorCode::kForged,
                "the reference is not signed, and here only signed ones are followed. Where it was "
                "written before keys were set, `airfreight sign` signs it");
  }
  const std::string_view id = signature.substr(0, colon);
  const std::string& dag = reference.coordinate.dag;
  const Key* key = FindToVerify(id, dag);
  if (key == nullptr) {
    return Fail(ErrorCode::kForged,
                fmt::format("the reference is signed with the key \"{}\" for the DAG \"{}\", which "
                            "is not among the keys here ({}). Keep a key in the setting until no "
                            "row is signed with it; if it never was there, somebody has made "
                            "this reference up",
                            VisibleText(id), VisibleText(dag),
                            keys_.empty() ? "none" : fmt::format("{}", fmt::join(Ids(), ", "))));
  }
  const std::string expected = SignatureHex(KeyOf(*key, dag), reference);
  const std::string_view given = signature.substr(colon + 1);
  if (given.size() != expected.size() ||
      CRYPTO_memcmp(given.data(), expected.data(), expected.size()) != 0) {
    return Fail(ErrorCode::kForged,
                fmt::format("the reference is not what was signed with the key \"{}\": somebody "
                            "has changed it, or two secrets go under that id",
                            VisibleText(id)));
  }
  return {};
}

Result<Secret> SigningKeys::ForDag(std::string_view dag) const {
  if (!IsDagOfAnEntry(dag)) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("\"{}\" is not the id of a DAG", VisibleText(dag)));
  }
  for (const Key& key : keys_) {
    if (!key.dag.empty()) continue;
    const Secret made = KeyOf(key, dag);
    return Secret(fmt::format("{}@{}:{}", key.id, dag, Base64Encode(AsBytes(made.Reveal()))));
  }
  return Fail(ErrorCode::kInvalid,
              "there is no secret here that keys of DAGs could be made of; right is " +
                  std::string(kWords.entry));
}

std::vector<std::string> SigningKeys::Ids() const {
  std::vector<std::string> ids;
  for (const Key& key : keys_) {
    if (std::find(ids.begin(), ids.end(), key.id) == ids.end()) ids.push_back(key.id);
  }
  return ids;
}

}  // namespace airfreight

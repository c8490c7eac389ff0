#include "seal/sealing_keys.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "seal/aes_gcm.h"
#include "seal/hkdf.h"
#include "seal/key_list.h"

namespace airfreight {
namespace {

constexpr KeyListWords kWords{
    "[airfreight] seal_keys: ",
    "<id>:<base64 of 32 bytes>, as \"s1:\" and what `openssl rand -base64 32` prints; "
    "<id>:aws-kms:<ARN, alias or id of a key>; or <id>:gcp-kms:projects/…/cryptoKeys/<name>",
    "s2:<base64>,s1:<base64>"};
constexpr std::string_view kObjectPurpose = "airfreight sealed object 1\n";
constexpr std::string_view kAws = "aws-kms";
constexpr std::string_view kGoogle = "gcp-kms";
constexpr size_t kNonceBytes = std::tuple_size_v<GcmNonce>;
constexpr size_t kWrappedBytes = kNonceBytes + kAesKeyBytes + kGcmTagBytes;

std::string WrapPurpose(std::string_view id) {
  return fmt::format("airfreight data key 1\n{}", id);
}

Status FillRandom(std::byte* out, size_t size) {
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out), static_cast<int>(size)) == 1) return {};
  return Fail(ErrorCode::kInternal, "OpenSSL has no random numbers to make a key of");
}

std::byte* BytesOf(std::string& text) { return reinterpret_cast<std::byte*>(text.data()); }

}  // namespace

Result<SealingKeys::Key> SealingKeys::ParseKey(std::string_view entry, size_t number) {
  const size_t colon = entry.find(':');
  if (colon == std::string_view::npos) return WrongKey(kWords, number, {}, "has no colon");
  Key key;
  if (!IsKeyId(entry.substr(0, colon))) {
    return WrongKey(kWords, number, {},
                    "has an id that is not 1 to 64 letters, digits, \".\", \"_\", \"-\"");
  }
  key.id = entry.substr(0, colon);
  const std::string_view rest = entry.substr(colon + 1);
  const size_t second = rest.find(':');
  if (second != std::string_view::npos) {
    key.service = rest.substr(0, second);
    key.name = rest.substr(second + 1);
    if (key.service != kAws && key.service != kGoogle) {
      return WrongKey(kWords, number, key.id, "is of a service that is not aws-kms or gcp-kms");
    }
    const bool printable =
        std::all_of(key.name.begin(), key.name.end(), [](char c) { return c > 0x20 && c < 0x7f; });
    if (key.name.empty() || !printable)
      return WrongKey(kWords, number, key.id, "has no name of a key");
    if (key.service == kGoogle && (!key.name.starts_with("projects/") ||
                                   key.name.find("/cryptoKeys/") == std::string::npos)) {
      return WrongKey(kWords, number, key.id, "is no name of a key of Google's");
    }
    return key;
  }
  std::optional<Secret> bytes = DecodeKeyBytes(rest);
  if (!bytes) return WrongKey(kWords, number, key.id, "is not base64 behind its colon");
  key.bytes = *std::move(bytes);
  if (key.bytes.Reveal().size() != kAesKeyBytes) {
    return WrongKey(kWords, number, key.id, fmt::format("has {} bytes", key.bytes.Reveal().size()));
  }
  return key;
}

Result<SealingKeys> SealingKeys::Parse(std::string_view text, KeyService service) {
  SealingKeys keys;
  keys.service_ = std::move(service);
  AIRFREIGHT_ASSIGN_OR_RETURN(
      keys.keys_, ParseKeyList<Key>(kWords, text, ParseKey, [](const Key& one, const Key& other) {
        return one.id == other.id;
      }));
  return keys;
}

std::vector<std::string> SealingKeys::Ids() const {
  std::vector<std::string> ids;
  ids.reserve(keys_.size());
  for (const Key& key : keys_) ids.push_back(key.id);
  return ids;
}

Result<std::string> SealingKeys::Wrap(const Secret& data_key) const {
  if (keys_.empty()) {
    return Fail(ErrorCode::kInvalid,
                "the value is to be sealed, and there is no key to seal with: set [airfreight] "
                "seal_keys");
  }
  const Key& key = keys_.front();
  if (!key.service.empty()) {
    if (!service_) {
      return Fail(ErrorCode::kUnsupported, fmt::format("no {} is to be reached here", key.service));
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const Secret wrapped,
                                service_(key.service, key.name, key.id, true, data_key.Reveal()));
    const size_t size = wrapped.Reveal().size();
    if (size == 0 || size > kMaxWrappedBytes) {
      return Fail(ErrorCode::kInternal,
                  fmt::format("{} has wrapped a key in {} bytes, where {} is the most", key.service,
                              size, kMaxWrappedBytes));
    }
    return std::string(wrapped.Reveal());
  }
  std::string wrapped(kWrappedBytes, '\0');
  GcmNonce nonce{};
  AIRFREIGHT_RETURN_IF_ERROR(FillRandom(nonce.data(), nonce.size()));
  std::copy(nonce.begin(), nonce.end(), BytesOf(wrapped));
  AesGcm(key.bytes).Encrypt(nonce, WrapPurpose(key.id), AsBytes(data_key.Reveal()),
                            BytesOf(wrapped) + kNonceBytes);
  return wrapped;
}

Result<Secret> SealingKeys::Unwrap(const Envelope& envelope) const {
  const auto key = std::find_if(keys_.begin(), keys_.end(),
                                [&](const Key& one) { return one.id == envelope.key_id; });
  if (key == keys_.end()) {
    return Fail(ErrorCode::kDenied,
                fmt::format("the object is sealed with the key \"{}\", which is not among the keys "
                            "here ({}). Keep a key in [airfreight] seal_keys until `airfreight "
                            "rekey` finds no object that is sealed with it",
                            VisibleText(envelope.key_id),
                            keys_.empty() ? "none" : fmt::format("{}", fmt::join(Ids(), ", "))));
  }
  if (!key->service.empty()) {
    if (!service_) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("no {} is to be reached here", key->service));
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(
        Secret opened, service_(key->service, key->name, key->id, false, envelope.wrapped));
    if (opened.Reveal().size() == kAesKeyBytes) return opened;
  } else if (envelope.wrapped.size() == kWrappedBytes) {
    const ByteView wrapped = AsBytes(envelope.wrapped);
    GcmNonce nonce{};
    std::copy_n(wrapped.begin(), kNonceBytes, nonce.begin());
    std::string opened(kAesKeyBytes, '\0');
    const bool right =
        AesGcm(key->bytes)
            .Decrypt(nonce, WrapPurpose(key->id), wrapped.subspan(kNonceBytes), BytesOf(opened));
    Secret data_key(std::move(opened));
    if (right) return data_key;
  }
  return Fail(ErrorCode::kCorrupt,
              fmt::format("the data key of the object is not what the key \"{}\" has wrapped: "
                          "somebody has changed it, or two secrets go under that id",
                          key->id));
}

Result<DataKeys::Made> DataKeys::ForNewObject() {
  Made made;
  AIRFREIGHT_RETURN_IF_ERROR(FillRandom(made.envelope.salt.data(), made.envelope.salt.size()));
  // Held while a service is asked: whoever comes meanwhile needs the same key.
  const std::lock_guard lock(mutex_);
  if (!own_) {
    std::string random(kAesKeyBytes, '\0');
    const Status filled = FillRandom(BytesOf(random), random.size());
    Own own{Secret(std::move(random)), {}};
    if (!filled) return Fail(filled.error());
    AIRFREIGHT_ASSIGN_OR_RETURN(own.wrapped, keys_.Wrap(own.key));
    own_ = std::move(own);
  }
  made.envelope.key_id = keys_.newest();
  made.envelope.wrapped = own_->wrapped;
  made.object_key = HkdfSha256(AsBytes(own_->key.Reveal()), made.envelope.salt, kObjectPurpose);
  return made;
}

Result<Envelope> DataKeys::Rewrap(const Envelope& envelope) const {
  AIRFREIGHT_ASSIGN_OR_RETURN(const Secret data_key, keys_.Unwrap(envelope));
  Envelope rewrapped = envelope;
  AIRFREIGHT_ASSIGN_OR_RETURN(rewrapped.wrapped, keys_.Wrap(data_key));
  rewrapped.key_id = keys_.newest();
  return rewrapped;
}

Result<Secret> DataKeys::ForObject(const Envelope& envelope) {
  const std::string name = envelope.key_id + ':' + envelope.wrapped;
  const auto derived = [&](const Secret& data_key) {
    return HkdfSha256(AsBytes(data_key.Reveal()), envelope.salt, kObjectPurpose);
  };
  {
    const std::lock_guard lock(mutex_);
    if (own_ && own_->wrapped == envelope.wrapped && keys_.newest() == envelope.key_id) {
      return derived(own_->key);
    }
    if (const auto known = unwrapped_.find(name); known != unwrapped_.end()) {
      return derived(known->second);
    }
  }
  // Without the lock: pulls of many values unwrap many keys at once.
  AIRFREIGHT_ASSIGN_OR_RETURN(Secret data_key, keys_.Unwrap(envelope));
  Secret object_key = derived(data_key);
  const std::lock_guard lock(mutex_);
  if (unwrapped_.size() >= kMostKept) unwrapped_.clear();
  unwrapped_.insert_or_assign(name, std::move(data_key));
  return object_key;
}

}  // namespace airfreight

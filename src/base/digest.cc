#include "base/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <climits>
#include <new>

#include "base/crc32c.h"
#include "base/hex.h"

namespace airfreight {
namespace {

constexpr std::string_view kCrc32cName = "crc32c:";
constexpr std::string_view kSha256Name = "sha256:";

// SHA-256 is part of every OpenSSL, so that its calls fail only for want of memory.
void Require(bool ok) {
  if (!ok) throw std::bad_alloc();
}

unsigned char* AsUnsigned(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* AsUnsigned(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

Sha256Value Sha256(ByteView bytes) {
  Sha256Value value;
  unsigned length = 0;
  Require(EVP_Digest(bytes.data(), bytes.size(), AsUnsigned(value.data()), &length, EVP_sha256(),
                     nullptr) == 1);
  return value;
}

Sha256Value HmacSha256(ByteView key, ByteView bytes) {
  Sha256Value value;
  unsigned length = 0;
  // HMAC() takes an int, and a null key means "the key of before" to it: keys here are short, and
  // an empty one is given as a pointer to nothing.
  static constexpr std::byte kEmpty{};
  Require(key.size() <= INT_MAX);
  const std::byte* key_data = key.empty() ? &kEmpty : key.data();
  Require(HMAC(EVP_sha256(), key_data, static_cast<int>(key.size()), AsUnsigned(bytes.data()),
               bytes.size(), AsUnsigned(value.data()), &length) != nullptr);
  return value;
}

struct Digester::Sha256Context {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> evp{EVP_MD_CTX_new()};
};

Digester::Digester(DigestKind kind) : kind_(kind) {
  if (kind_ != DigestKind::kSha256) return;
  sha256_ = std::make_unique<Sha256Context>();
  Require(sha256_->evp != nullptr);
  Require(EVP_DigestInit_ex(sha256_->evp.get(), EVP_sha256(), nullptr) == 1);
}

Digester::Digester(Digester&&) noexcept = default;
Digester& Digester::operator=(Digester&&) noexcept = default;
Digester::~Digester() = default;

void Digester::Update(ByteView bytes) {
  if (kind_ == DigestKind::kCrc32c) {
    crc_ = ExtendCrc32c(crc_, bytes);
  } else if (!bytes.empty()) {
    Require(EVP_DigestUpdate(sha256_->evp.get(), bytes.data(), bytes.size()) == 1);
  }
}

void Digester::Update(const Body& body) {
  for (ByteView segment : body.segments()) Update(segment);
}

std::string Digester::Finish() {
  if (kind_ == DigestKind::kCrc32c) return Crc32cText(crc_);
  Sha256Value value;
  unsigned length = 0;
  Require(EVP_DigestFinal_ex(sha256_->evp.get(), AsUnsigned(value.data()), &length) == 1);
  return fmt::format("{}{}", kSha256Name, HexEncode(value));
}

std::string Crc32cText(uint32_t crc) { return fmt::format("{}{:08x}", kCrc32cName, crc); }

std::string DigestOf(DigestKind kind, const Body& body) {
  Digester digester(kind);
  digester.Update(body);
  return digester.Finish();
}

std::optional<DigestKind> DigestKindOf(std::string_view digest) {
  const auto is = [digest](std::string_view name, size_t digits) {
    return digest.substr(0, name.size()) == name && IsLowerHex(digest.substr(name.size()), digits);
  };
  if (is(kCrc32cName, 8)) return DigestKind::kCrc32c;
  if (is(kSha256Name, 64)) return DigestKind::kSha256;
  return std::nullopt;
}

}  // namespace airfreight

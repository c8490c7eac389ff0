#include "base/digest.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <new>

#include "base/crc32c.h"
#include "base/fork_guard.h"
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

// EVP_sha256() looks the algorithm up again in each call, which takes longer than hashing the few
// bytes of a signature (openssl.org/docs/man3.0/man7/crypto.html, "Performance"). Never freed.
const EVP_MD* FetchedSha256() {
  static constinit std::atomic<const EVP_MD*> algorithm{nullptr};
  const EVP_MD* found = algorithm.load(std::memory_order_acquire);
  if (found == nullptr) {
    const ForkGuard guard;  // The first look-up loads the provider, for a millisecond or two.
    found = algorithm.load(std::memory_order_acquire);
    if (found == nullptr) {
      found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
      Require(found != nullptr);
      algorithm.store(found, std::memory_order_release);
    }
  }
  return found;
}

}  // namespace

Sha256Value Sha256(ByteView bytes) {
  Sha256Value value;
  unsigned length = 0;
  Require(EVP_Digest(bytes.data(), bytes.size(), AsUnsigned(value.data()), &length, FetchedSha256(),
                     nullptr) == 1);
  return value;
}

// RFC 2104, section 2. Written out, since OpenSSL's HMAC() looks up the algorithm and its
// parameters by name each time: 1.5 µs against 0.4, and a signature takes five.
Sha256Value HmacSha256(ByteView key, ByteView bytes) {
  constexpr size_t kBlock = 64;
  std::array<std::byte, kBlock> pad{};
  if (key.size() > kBlock) {
    const Sha256Value shorter = Sha256(key);
    std::copy(shorter.begin(), shorter.end(), pad.begin());
  } else {
    std::copy(key.begin(), key.end(), pad.begin());
  }
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  Require(context != nullptr);
  Sha256Value value{};
  const auto digest = [&](ByteView second) {
    unsigned length = 0;
    Require(EVP_DigestInit_ex(context.get(), FetchedSha256(), nullptr) == 1);
    Require(EVP_DigestUpdate(context.get(), pad.data(), pad.size()) == 1);
    Require(EVP_DigestUpdate(context.get(), second.data(), second.size()) == 1);
    Require(EVP_DigestFinal_ex(context.get(), AsUnsigned(value.data()), &length) == 1);
  };
  constexpr std::byte kInner{0x36};
  constexpr std::byte kOuter{0x5c};
  for (std::byte& byte : pad) byte ^= kInner;
  digest(bytes);
  for (std::byte& byte : pad) byte ^= kInner ^ kOuter;
  digest(value);
  // It is a secret key, with a pattern over it.
  OPENSSL_cleanse(pad.data(), pad.size());
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
  Require(EVP_DigestInit_ex(sha256_->evp.get(), FetchedSha256(), nullptr) == 1);
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

std::optional<uint32_t> Digester::crc32c() const {
  if (kind_ != DigestKind::kCrc32c) return std::nullopt;
  return crc_;
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

Result<Digested> DigestOf(DigestKind kind, const Body& body, const std::function<Status()>& go_on) {
  Digester digester(kind);
  for (ByteView rest : body.segments()) {
    while (!rest.empty()) {
      AIRFREIGHT_RETURN_IF_ERROR(go_on());
      const ByteView piece = rest.first(std::min(rest.size(), kDigestPiece));
      digester.Update(piece);
      rest = rest.subspan(piece.size());
    }
  }
  Digested digested{{}, digester.crc32c()};
  digested.text = digester.Finish();
  return digested;
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

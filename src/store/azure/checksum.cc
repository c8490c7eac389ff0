#include "store/azure/checksum.h"

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/base64.h"
#include "base/crc64.h"
#include "base/fork_guard.h"

namespace airfreight::azure {
namespace {

struct FreeAlgorithm {
  void operator()(EVP_MD* algorithm) const { EVP_MD_free(algorithm); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

std::unique_ptr<EVP_MD, FreeAlgorithm> FetchMd5() {
  const ForkGuard guard;  // The first look-up loads OpenSSL's provider.
  return std::unique_ptr<EVP_MD, FreeAlgorithm>(EVP_MD_fetch(nullptr, "MD5", nullptr));
}

std::string Crc64Of(const Body& body) {
  uint64_t crc = 0;
  for (const ByteView bytes : body.segments()) crc = ExtendCrc64(crc, bytes);
  std::array<std::byte, 8> value;
  for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<std::byte>(crc >> (8 * i));
  return Base64Encode(value);
}

// CheckAvailable() has said that there is one, so that only memory can be wanting.
std::string Md5Of(const Body& body) {
  const auto algorithm = FetchMd5();
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  std::array<std::byte, 16> value{};
  unsigned length = 0;
  bool ok = algorithm != nullptr && context != nullptr &&
            EVP_DigestInit_ex(context.get(), algorithm.get(), nullptr) == 1;
  for (const ByteView bytes : body.segments()) {
    ok = ok && EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1;
  }
  ok = ok && EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(value.data()),
                                &length) == 1;
  if (!ok) throw std::bad_alloc();
  return Base64Encode(value);
}

}  // namespace

Checksum ChecksumOf(Checksums kind, const Body& body) {
  switch (kind) {
    case Checksums::kCrc64:
      return {"x-ms-content-crc64", Crc64Of(body)};
    case Checksums::kMd5:
      return {"Content-MD5", Md5Of(body)};
    case Checksums::kNever:
      break;
  }
  return {};
}

Status CheckAvailable(Checksums kind) {
  if (kind != Checksums::kMd5 || FetchMd5() != nullptr) return {};
  return Fail(ErrorCode::kUnsupported,
              "[airfreight] az_checksums is 'md5', which OpenSSL does not have on this machine "
              "(FIPS mode?); right is 'auto'");
}

}  // namespace airfreight::azure

#include "seal/aes_gcm.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <new>

namespace airfreight {
namespace {

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

// EVP takes lengths as int, and memory that is not const.
constexpr size_t kMost = size_t{1} << 30;

const unsigned char* Bytes(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* Bytes(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

// What OpenSSL can only fail at where it has no memory: every argument is ours.
void Check(int done) {
  if (done != 1) throw std::bad_alloc();
}

Context Ready(const Secret& key, bool encrypts) {
  Context context(EVP_CIPHER_CTX_new());
  if (context == nullptr || key.Reveal().size() != kAesKeyBytes) throw std::bad_alloc();
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.Reveal().data());
  Check(EVP_CipherInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes, nullptr,
                          encrypts ? 1 : 0));
  return context;
}

void Run(EVP_CIPHER_CTX* context, const GcmNonce& nonce, std::string_view associated,
         ByteView input, std::byte* out) {
  int length = 0;
  Check(EVP_CipherInit_ex(context, nullptr, nullptr, nullptr, Bytes(nonce.data()), -1));
  if (!associated.empty()) {
    const auto* data = reinterpret_cast<const unsigned char*>(associated.data());
    Check(EVP_CipherUpdate(context, nullptr, &length, data, static_cast<int>(associated.size())));
  }
  while (!input.empty()) {
    const ByteView piece = input.first(std::min(input.size(), kMost));
    Check(EVP_CipherUpdate(context, Bytes(out), &length, Bytes(piece.data()),
                           static_cast<int>(piece.size())));
    out += piece.size();
    input = input.subspan(piece.size());
  }
}

}  // namespace

struct AesGcm::Contexts {
  Context encrypting;
  Context decrypting;
};

AesGcm::AesGcm(const Secret& key)
    : contexts_(std::make_unique<Contexts>(Contexts{Ready(key, true), Ready(key, false)})) {}
AesGcm::AesGcm(AesGcm&&) noexcept = default;
AesGcm& AesGcm::operator=(AesGcm&&) noexcept = default;
AesGcm::~AesGcm() = default;

void AesGcm::Encrypt(const GcmNonce& nonce, std::string_view associated, ByteView plain,
                     std::byte* out) {
  EVP_CIPHER_CTX* const context = contexts_->encrypting.get();
  Run(context, nonce, associated, plain, out);
  std::byte* const tag = out + plain.size();
  int length = 0;
  Check(EVP_CipherFinal_ex(context, Bytes(tag), &length));
  Check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, kGcmTagBytes, Bytes(tag)));
}

bool AesGcm::Decrypt(const GcmNonce& nonce, std::string_view associated, ByteView sealed,
                     std::byte* out) {
  if (sealed.size() < kGcmTagBytes) return false;
  const ByteView input = sealed.first(sealed.size() - kGcmTagBytes);
  // (Before the bytes are written, which may be where the tag is read from.)
  std::array<std::byte, kGcmTagBytes> tag{};
  std::copy_n(sealed.data() + input.size(), kGcmTagBytes, tag.data());
  EVP_CIPHER_CTX* const context = contexts_->decrypting.get();
  Run(context, nonce, associated, input, out);
  Check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, kGcmTagBytes, Bytes(tag.data())));
  std::array<std::byte, kGcmTagBytes> rest{};
  int length = 0;
  if (EVP_CipherFinal_ex(context, Bytes(rest.data()), &length) == 1) return true;
  if (!input.empty()) OPENSSL_cleanse(out, input.size());
  return false;
}

}  // namespace airfreight

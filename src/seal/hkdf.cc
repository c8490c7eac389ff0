#include "seal/hkdf.h"

#include <openssl/crypto.h>

#include <string>

#include "base/digest.h"

namespace airfreight {

Secret HkdfSha256(ByteView key, ByteView salt, std::string_view info) {
  Sha256Value extracted = HmacSha256(salt, key);
  std::string block(info);
  block += '\x01';  // The first block of output, which is all that is asked for.
  Sha256Value expanded = HmacSha256(extracted, AsBytes(block));
  Secret made(std::string(reinterpret_cast<const char*>(expanded.data()), expanded.size()));
  OPENSSL_cleanse(extracted.data(), extracted.size());
  OPENSSL_cleanse(expanded.data(), expanded.size());
  return made;
}

}  // namespace airfreight

#include "seal/key_list.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <string>

#include "base/base64.h"

namespace airfreight {
namespace {

// No secret has fewer: those of AES-256 and of an HMAC with SHA-256 that is not to be guessed.
constexpr size_t kLeastSecretBytes = 32;

}  // namespace

bool IsKeyId(std::string_view text) {
  return !text.empty() && text.size() <= kMaxKeyIdBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  c == '.' || c == '_' || c == '-';
         });
}

std::string_view TakeKey(std::string_view* list) {
  const size_t begin = std::min(list->find_first_not_of(kKeySeparators), list->size());
  const size_t end = std::min(list->find_first_of(kKeySeparators, begin), list->size());
  const std::string_view entry = list->substr(begin, end - begin);
  list->remove_prefix(end);
  return entry;
}

std::optional<Secret> DecodeKeyBytes(std::string_view text) {
  std::string standard(text);
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  while (standard.size() % 4 != 0) standard += '=';
  std::optional<std::string> bytes = Base64Decode(standard);
  OPENSSL_cleanse(standard.data(), standard.size());
  if (!bytes) return std::nullopt;
  return Secret(*std::move(bytes));
}

tl::unexpected<Error> WrongKey(const KeyListWords& words, size_t number, std::string_view id,
                               std::string_view what) {
  // (What is as long as a secret may be one, with its id behind it.)
  const std::string which = id.empty() || id.size() >= kLeastSecretBytes
                                ? fmt::format("key {}", number)
                                : fmt::format("key {}, \"{}\",", number, id);
  return Fail(ErrorCode::kInvalid,
              fmt::format("{}{} {}; right is {}", words.prefix, which, what, words.entry));
}

tl::unexpected<Error> SharedKeyId(const KeyListWords& words, size_t number, std::string_view id) {
  return Fail(ErrorCode::kInvalid,
              fmt::format("key {} has the id \"{}\" of another; give each key an id of its own, as "
                          "in {}",
                          number, id, words.two));
}

tl::unexpected<Error> TooManyKeys() {
  return Fail(ErrorCode::kInvalid, fmt::format("there are more than {} keys", kMaxListedKeys));
}

}  // namespace airfreight

#pragma once

/// \file
/// \brief Lists of keys, as settings hold them: `<id>:<what the key is>`, separated by commas or
/// white space.

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "airfreight/result.h"
#include "base/secret.h"

namespace airfreight {

/// As `formats/reference.md` has it for the signature's text, and `formats/sealed.md` for the
/// envelope.
inline constexpr size_t kMaxKeyIdBytes = 64;
/// As many as rotations of a lifetime need, or derived keys of a pod.
inline constexpr size_t kMaxListedKeys = 256;
/// What stands between keys, once or more often, and before the first and behind the last.
inline constexpr std::string_view kKeySeparators = ", \t\n\r\f\v";

/// Whether `text` can be the id of a key: 1 to 64 of `A-Za-z0-9._-`.
bool IsKeyId(std::string_view text);

/// Takes the first entry off a list; empty when there is none left.
std::string_view TakeKey(std::string_view* list);

/// The bytes that `text` spells, in either alphabet of base64 and with its padding or without:
/// Python's secrets and cryptography write the alphabet for URLs, OpenSSL the other; both are used.
std::optional<Secret> DecodeKeyBytes(std::string_view text);

/// What messages about a list say beside what is wrong.
struct KeyListWords {
  std::string_view prefix;  ///< What they begin with, where who reads the list does not name it.
  std::string_view entry;   ///< What a right entry is.
  std::string_view two;     ///< Two right entries, in short.
};

/// \brief Invalid: what is wrong with an entry. Names it by its number, from 1, and by `id` where
/// that is not empty and too short to be a secret.
tl::unexpected<Error> WrongKey(const KeyListWords& words, size_t number, std::string_view id,
                               std::string_view what);
/// Invalid: the entry has the id of one before it.
tl::unexpected<Error> SharedKeyId(const KeyListWords& words, size_t number, std::string_view id);
/// Invalid: more than kMaxListedKeys.
tl::unexpected<Error> TooManyKeys();

/// \brief Parses a list, up to the first entry that is wrong. `parse` has the entry's number for
/// its messages; `Key` has an `id`.
///
/// `same`: whether one id is for the same use twice. Errors: TooManyKeys, SharedKeyId, those of
/// `parse`.
template <typename Key>
Result<std::vector<Key>> ParseKeyList(const KeyListWords& words, std::string_view text,
                                      Result<Key> (*parse)(std::string_view entry, size_t number),
                                      bool (*same)(const Key& one, const Key& other)) {
  std::vector<Key> keys;
  for (std::string_view entry = TakeKey(&text); !entry.empty(); entry = TakeKey(&text)) {
    const size_t number = keys.size() + 1;
    if (number > kMaxListedKeys) return TooManyKeys();
    AIRFREIGHT_ASSIGN_OR_RETURN(Key key, parse(entry, number));
    for (const Key& other : keys) {
      if (same(other, key)) return SharedKeyId(words, number, key.id);
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace airfreight

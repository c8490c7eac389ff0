#pragma once

/// \file
/// \brief Signatures of references: who cannot sign cannot make a row that a worker follows.
/// Specification: `formats/reference.md`, "Signatures".

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/reference.h"
#include "airfreight/result.h"
#include "base/secret.h"

namespace airfreight {

/// The least and the most bytes of a secret. HKDF takes any number; what has fewer than the 32 of
/// a SHA-256 value can be guessed more easily than the signature, and what has more than 1 KiB is
/// some other file.
inline constexpr size_t kMinSigningSecretBytes = 32;
inline constexpr size_t kMaxSigningSecretBytes = 1024;

/// \brief The keys that a process may sign and verify with.
///
/// A key is made for each DAG out of a secret (HKDF), so that a process which serves one DAG only
/// can be given that DAG's key in place of the secret, and cannot sign for others. Several secrets
/// may be valid at once, for rotation: the first one signs, all of them verify.
///
/// Threads: const methods from several at once. Ownership: a value; secrets are wiped when it goes.
/// Blocking: never.
class SigningKeys {
 public:
  /// No keys: nothing can be signed or verified.
  SigningKeys() = default;

  /// \brief Parses what the setting holds: keys separated by commas or white space, the one that
  /// signs first. Each is `<id>:<base64>`, a secret, or `<id>@<dag>:<base64>`, the key of one DAG
  /// as `ForDag` gives it. Both alphabets of base64 are read. Invalid when it is anything else,
  /// saying which entry by its number, and its id where that is well-formed; never what is behind
  /// the colon.
  static Result<SigningKeys> Parse(std::string_view text);

  bool empty() const { return keys_.empty(); }

  /// Whether `dag`'s references can be signed.
  bool CanSign(std::string_view dag) const { return FindToSign(dag) != nullptr; }

  /// Sets the signature of a reference of this process's own making. Invalid when there is no key
  /// for its DAG; Internal when its digest is no SHA-256, as a CRC can be forged by anybody.
  Status Sign(Reference* reference) const;

  /// \brief Whether the signature is one that these keys give. Forged when there is none, when it
  /// is of a key that is not among these, or when it does not fit what the reference says.
  Status Verify(const Reference& reference) const;

  /// The key of one DAG, as an entry for `Parse`: what is handed to a process that serves only it.
  /// Of the first secret. Invalid when there is no secret, or no such DAG can be spelt there.
  Result<Secret> ForDag(std::string_view dag) const;

  /// The ids, in order, each once: for messages.
  std::vector<std::string> Ids() const;

 private:
  struct Key {
    std::string id;
    std::string dag;  ///< Whose key it is; empty for a secret, of which every DAG's is made.
    Secret bytes;
  };
  const Key* FindToSign(std::string_view dag) const;
  const Key* FindToVerify(std::string_view id, std::string_view dag) const;
  static Secret KeyOf(const Key& key, std::string_view dag);
  static Result<Key> ParseKey(std::string_view entry, size_t number);

  std::vector<Key> keys_;
};

/// What is signed: every field by which a reader acts, in one form whatever a database has done to
/// the JSON.
std::string CanonicalForm(const Reference& reference);

}  // namespace airfreight

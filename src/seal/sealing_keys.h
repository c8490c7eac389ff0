#pragma once

/// \file
/// \brief The keys that wrap data keys, and the data keys of a process. Specification:
/// `formats/sealed.md`.

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "base/secret.h"
#include "seal/envelope.h"

namespace airfreight {

/// \brief Asks a service that keeps keys to itself to wrap or unwrap a data key.
///
/// \param service "aws-kms" or "gcp-kms".
/// \param key what the service calls the key.
/// \param id what we call it: the key id.
/// \param wraps whether to wrap `bytes`, else to unwrap them.
///
/// Threads: called from several at once. Errors: Denied, Unavailable and the like, with messages
/// that name the key and hold no bytes.
using KeyService =
    std::function<Result<Secret>(std::string_view service, std::string_view key,
                                 std::string_view id, bool wraps, std::string_view bytes)>;

/// \brief The wrapping keys of the settings.
///
/// Threads: const methods from several at once. Ownership: a value; secrets are wiped when it goes.
/// Blocking: as the service that is asked, if one is.
class SealingKeys {
 public:
  /// No keys: nothing can be sealed or opened.
  SealingKeys() = default;

  /// \brief Parses what the setting holds: keys separated by commas or white space, the one that
  /// wraps first. Each is `<id>:<base64 of 32 bytes>`, `<id>:aws-kms:<ARN, alias or id>` or
  /// `<id>:gcp-kms:<resource name>`. Invalid when it is anything else, saying which entry by its
  /// number, and its id where that is well-formed; never what could be a secret.
  static Result<SealingKeys> Parse(std::string_view text, KeyService service = {});

  bool empty() const { return keys_.empty(); }
  std::vector<std::string> Ids() const;
  /// The id of the one that wraps. There must be one.
  const std::string& newest() const { return keys_.front().id; }

  /// The data key wrapped by the newest key. Errors: those of its service.
  Result<std::string> Wrap(const Secret& data_key) const;
  /// The data key of an envelope. Denied where its key is not among these, Corrupt where it is and
  /// does not unwrap it; those of its service.
  Result<Secret> Unwrap(const Envelope& envelope) const;

 private:
  struct Key {
    std::string id;
    Secret bytes;  // Empty where a service has them.
    std::string service;
    std::string name;  // What the service calls it.
  };
  static Result<Key> ParseKey(std::string_view entry, size_t number);

  std::vector<Key> keys_;
  KeyService service_;
};

/// \brief The data keys of one process: its own, and those of objects that it has read.
///
/// Threads: any number at once. Ownership: must not outlive the keys. Fork: not to be used in a
/// child, which makes its own. Blocking: while a data key is wrapped or unwrapped, once for each.
class DataKeys {
 public:
  explicit DataKeys(const SealingKeys& keys) : keys_(keys) {}

  /// The key of a new object, and the envelope that tells of it. Errors: as SealingKeys::Wrap;
  /// Invalid where there are no keys.
  struct Made {
    Envelope envelope;
    Secret object_key;
  };
  Result<Made> ForNewObject();
  /// The key of the object with this envelope. Errors: as SealingKeys::Unwrap.
  Result<Secret> ForObject(const Envelope& envelope);
  /// The same envelope with the data key wrapped by the newest key. Errors: as both of SealingKeys.
  Result<Envelope> Rewrap(const Envelope& envelope) const;

 private:
  struct Own {
    Secret key;
    std::string wrapped;
  };
  // A process that pulls what a thousand mapped tasks pushed needs as many; what is dropped is
  // unwrapped anew.
  static constexpr size_t kMostKept = 4096;

  const SealingKeys& keys_;
  std::mutex mutex_;
  std::optional<Own> own_;
  std::map<std::string, Secret, std::less<>> unwrapped_;  // By id and wrapped key.
};

}  // namespace airfreight

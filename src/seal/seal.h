#pragma once

/// \file
/// \brief Which references are signed, which are followed, and what objects are sealed with.

#include <cstdint>

#include "airfreight/reference.h"
#include "airfreight/result.h"
#include "seal/sealing_keys.h"
#include "seal/signature.h"

namespace airfreight {

/// \brief What a deployment has decided of signatures. Without keys nothing is signed and nothing
/// is asked for; with keys every reference is signed, and only signed ones are followed.
///
/// Threads: const methods from several at once. Blocking: never.
struct Seal {
  SigningKeys keys = {};
  /// References without a signature are followed until then, as those are that were written before
  /// there were keys; one whose signature is wrong never is. Seconds since 1970.
  int64_t unsigned_until_unix = 0;
  /// Of objects that are encrypted before they leave the process, where a decision says so.
  SealingKeys sealing = {};

  bool Signs() const { return !keys.empty(); }
  /// Signs a reference of this process's own making, if there are keys. Errors: as
  /// SigningKeys::Sign.
  Status Sign(Reference* reference) const;
  /// Forged where there are keys and the reference may not be followed.
  Status Check(const Reference& reference, int64_t now_unix) const;
  /// Whether a reference that has passed Check is signed, so that its digest says which bytes.
  bool Vouches(const Reference& reference) const { return Signs() && !reference.signature.empty(); }
};

}  // namespace airfreight

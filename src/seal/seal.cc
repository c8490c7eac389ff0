#include "seal/seal.h"

namespace airfreight {

Status Seal::Sign(Reference* reference) const {
  if (!Signs()) return {};
  return keys.Sign(reference);
}

Status Seal::Check(const Reference& reference, int64_t now_unix) const {
  if (!Signs()) return {};
  if (reference.signature.empty() && now_unix < unsigned_until_unix) return {};
  return keys.Verify(reference);
}

}  // namespace airfreight

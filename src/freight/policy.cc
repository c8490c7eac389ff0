#include "airfreight/policy.h"

namespace airfreight {

Decision Policy::Resolve(const Coordinate& /*coordinate*/, std::string_view /*type*/,
                         uint64_t /*size*/) const {
  return defaults_;
}

}  // namespace airfreight

#include "base/random.h"

#include <sys/random.h>
#include <unistd.h>

#include <array>

#include "airfreight/bytes.h"
#include "base/hex.h"

namespace airfreight {

Result<std::string> RandomHex128() {
  std::array<std::byte, 16> bytes{};
  // getentropy rather than getrandom: macOS has it too, and up to 256 bytes it never returns fewer.
  if (getentropy(bytes.data(), bytes.size()) != 0) {
    return Fail(ErrorCode::kInternal, "the system's random generator does not answer");
  }
  return HexEncode(bytes);
}

}  // namespace airfreight

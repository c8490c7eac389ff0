#include "base/host.h"

#include <unistd.h>

#include <array>

#include "base/utf8.h"

namespace airfreight {

std::string HostName() {
  std::array<char, kMaxHostBytes + 1> name =
      {};  // Where it is cut nothing says that a NUL ends it.
  if (gethostname(name.data(), kMaxHostBytes) != 0) return {};
  std::string shown = VisibleText(name.data());
  // Control characters are shown by four.
  return shown.size() <= kMaxHostBytes ? shown : std::string();
}

}  // namespace airfreight

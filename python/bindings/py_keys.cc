#include "py_keys.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "calls.h"
#include "py_store.h"

namespace airfreight {

KeyService WrapKeyService(nb::object ask) {
  if (ask.is_none()) return {};
  // The last copy may go on a thread that does not have the GIL.
  const std::shared_ptr<nb::object> shared(new nb::object(std::move(ask)), [](nb::object* held) {
    const nb::gil_scoped_acquire gil;
    delete held;
  });
  return [shared](std::string_view service, std::string_view key, std::string_view id, bool wraps,
                  std::string_view bytes) -> Result<Secret> {
    const nb::gil_scoped_acquire gil;
    try {
      const nb::object answer =
          (*shared)(service, key, id, wraps, nb::bytes(bytes.data(), bytes.size()));
      const auto made = nb::cast<nb::bytes>(answer);
      return Secret(std::string(made.c_str(), made.size()));
    } catch (nb::python_error& raised) {
      Error error = ErrorOf(raised);
      error.message = fmt::format("the key \"{}\" ({} {}): {}", id, service, key, error.message);
      return Fail(std::move(error));
    } catch (const std::exception&) {  // A result that is none. (Its text could hold a secret.)
      return Fail(ErrorCode::kInternal,
                  fmt::format("the key \"{}\" ({} {}): the answer is no bytes", id, service, key));
    }
  };
}

}  // namespace airfreight

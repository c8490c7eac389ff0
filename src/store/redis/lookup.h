#pragma once

/// \file
/// \brief A host's addresses, without being held up by a name server that does not answer.

#include <netdb.h>

#include <memory>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "store/redis/options.h"

namespace airfreight::redis {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// The addresses of `address.host`, one at least. The look-up of a name goes on in a thread of its
/// own, which is left to itself when the caller stops or `until` has passed.
Result<Addresses> LookUp(const Address& address, const Context& context,
                         Context::Clock::time_point until);

}  // namespace airfreight::redis

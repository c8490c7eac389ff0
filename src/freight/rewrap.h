#pragma once

/// \file
/// \brief Giving a sealed object an envelope whose data key is wrapped by the newest key.

#include "airfreight/freight.h"
#include "freight/place.h"
#include "freight/push.h"

namespace airfreight {

/// What Freight::Rewrap does, of what may be read. Errors without the coordinate in their messages.
Result<Rewrap> RewrapObject(const Place& place, const Reference& reference,
                            const Decision& decision, bool dry, FreightState& state,
                            const Context& context);

}  // namespace airfreight

// What a generator noticed of itself, as bytes.
#pragma once

#include "plan/finding.h"

namespace bellwether::wire {
class Finding;
}

namespace bellwether::dispatch {

void put(const plan::Finding& from, wire::Finding& to);
// False: it has figures that cannot be.
bool read(const wire::Finding& from, plan::Finding& to);

}  // namespace bellwether::dispatch

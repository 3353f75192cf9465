// Drawing the length of a pause. A function of the generator's state: one seed gives one sequence of pauses.
#pragma once

#include "core/base/prng.h"
#include "core/base/time.h"
#include "load/scenario/delay.h"

namespace bellwether::plan {

using scenario::Delay;

// In [delay.low, delay.high]. A delay that is always the same draws nothing.
Duration draw(const Delay& delay, Prng& prng);

}  // namespace bellwether::plan

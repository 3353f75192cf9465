// How soon a healthy group in which nothing breaks has another leader.
#pragma once

#include "core/base/time.h"

namespace bellwether::sim {

struct Takeover {
  Duration crash;      // from the crash of the leader to the next one
  Duration hand_over;  // from the end of the old term to the new one
};

}  // namespace bellwether::sim

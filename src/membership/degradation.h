// How far a node should withdraw when it is slow: five levels from its local health score and from how far its event
// loop lags behind (lag over the loop's period), the worse of the two counting, and what each level asks for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bellwether::membership {

enum class Degradation : uint8_t { kNormal, kElevated, kHigh, kSevere, kCritical };
const char* to_string(Degradation level);

// Scores 0–1 normal, 2–3 elevated, 4–5 high, 6 severe, 7–8 critical; lag ratios below 0.5, 1, 2, 4, and above.
Degradation degradation_of(int health_score, double lag_ratio);

struct DegradedConduct {
  double stretch = 1;            // of timeouts and intervals
  double skipped_probes = 0;     // the share of probes left out; suspects and the watched neighbour are always probed
  int gossip_fanout_less = 0;    // so many fewer peers a round, but at least one
  std::size_t piggyback = 1400;  // bytes of a packet that news may fill
  bool consider_step_down = false;
  bool must_step_down = false;
  bool refuse_new_work = false;
};
DegradedConduct conduct(Degradation level);

}  // namespace bellwether::membership

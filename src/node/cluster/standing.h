// Which of the nodes that may lead stand for the key of their cluster, where a store decides and whoever asks first
// would win: fit ones before unfit ones, those of a higher priority before the others. This only orders, and only for a
// while; what keeps two from leading is the store. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"

namespace bellwether::node {

// Another gate or manager that is alive.
struct Rival {
  std::string name;
  unsigned priority = 8;
  bool electable = false;  // as it says itself: it is fit, and reaches what decides
  int health_score = 0;
  std::string decided_by;  // what it leaves the decision to: "quorum", "etcd" …; empty: it does not say
};

struct Situation {
  std::string unfit;  // why this node is not fit to lead; empty: it is
  unsigned priority = 8;
  std::string decided_by;
  bool named = false;              // the last leader left the key to this node
  std::optional<Duration> vacant;  // for how long the store has shown that nobody leads; nothing: somebody does
  Duration lease;                  // of the store
  std::span<const Rival> rivals;
};

// Why this node does not stand now; empty: it does.
std::string why_not_standing(const Situation& now);
// Another node that leaves the decision to something else: two leaders would be possible. Nothing: there is none.
const Rival* other_minded(std::span<const Rival> rivals, const std::string& decided_by);
// To whom to hand over; nothing when nobody else is electable.
const Rival* fittest(std::span<const Rival> rivals);

}  // namespace bellwether::node

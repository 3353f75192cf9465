// Leadership over every kind of store while everything breaks: never two who may act, never an epoch twice, and when
// all is whole again one leader within the budget, who stays.
#include "sim/all_worlds.h"
#include "tests/sim/world_testing.h"

namespace bellwether::sim {

WorldTest world_test() {
  const auto worlds = leadership_worlds();
  return {.worlds = {worlds.begin(), worlds.end()},
          .seeds_for_mistake = 20'000,
          .probes = {"leadership: a store comes back empty", "leadership: a store comes back with an older state",
                     "leadership: etcd begins its leases anew", "group work: the resource refuses a late act",
                     "election: a look fails", "election: an act fails", "election: a store has lost data",
                     "election: a claim whose answer was lost is found", "election: a claim comes too late",
                     "election: a claim is answered after its own end", "election: a renewal is withheld"}};
}

}  // namespace bellwether::sim

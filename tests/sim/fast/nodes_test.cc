// Whole nodes while everything breaks: never two leaders of a term or two that may act at once, and when all is whole
// again everybody is there, one leads, that stays so, and another one follows when its power fails.
#include "sim/all_worlds.h"
#include "tests/sim/world_testing.h"

namespace bellwether::sim {

WorldTest world_test() {
  return {.worlds = {cluster_world()},
          .runs = 2,
          .seeds_for_mistake = 2000,
          .probes = {"cluster world: a disk fails", "cluster world: what a disk had not confirmed is lost",
                     "node: a process is proven to have ended", "cluster world: a role is talked to"}};
}

}  // namespace bellwether::sim

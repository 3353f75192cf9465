// The register of a job while everything breaks: every answer fits into one order of writes and reads, each between its
// asking and its answer; no two owners under one fence, none beside another.
#include "sim/all_worlds.h"
#include "tests/sim/world_testing.h"

namespace bellwether::sim {

WorldTest world_test() {
  return {.worlds = {register_world()},
          .probes = {"register world: a disk fails", "register: a job is held under a lease",
                     "register: a write under an older fence is refused", "register: a record could not be written",
                     "register: an owner learns that it is none any more",
                     "register: a replica learns a newer value from another",
                     "register: a change of the replicas is found under way"}};
}

}  // namespace bellwether::sim

// Groups of members that watch each other while everything breaks: nobody but its owner raises an incarnation, and when
// all is whole again all views agree with the world.
#include "sim/all_worlds.h"
#include "tests/sim/world_testing.h"

namespace bellwether::sim {

WorldTest world_test() { return {.worlds = {membership_world()}, .runs = 2, .seeds_for_mistake = 300}; }

}  // namespace bellwether::sim

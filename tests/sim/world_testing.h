// What is tested of every world of `bellwether sim`: it holds, it reaches whatever can go wrong in it, one seed gives
// one run, and each mistake of its table is found out. An executable says by world_test() which worlds it tests; the
// tests are in world_cases.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/harness/worlds.h"

namespace bellwether::sim {

struct WorldTest {
  std::vector<WorldRow> worlds;
  uint64_t runs = 10;                 // of each world, for a seed that is asked for (see seeds.h)
  uint64_t every = 1;                 // only each so many-th of those seeds: for large worlds
  uint64_t seeds_for_mistake = 5000;  // within which each mistake must be found out
  std::vector<const char*> probes;    // of the product and the world, which runs without a mistake must have reached
};
WorldTest world_test();

}  // namespace bellwether::sim

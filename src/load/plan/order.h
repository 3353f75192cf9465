// The order of the steps of an iteration.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace bellwether::plan {

// The steps of a workflow, or those that one of its steps holds; indices into Workflow::steps.
struct Order {
  uint16_t number = 0;          // unique in the workflow; 0: its own
  std::vector<uint16_t> steps;  // each after those of its `after`
  bool is_chain = false;        // each begins when the one before it has ended
  std::vector<uint16_t> first;  // those with the first measured requests of each iteration
  uint32_t width = 0;           // requests at the same time: at most
};

// The rounds of a step in one iteration.
struct Repeat {
  uint32_t times = 1;
  std::optional<uint16_t> index;  // the slot of the number of the round, from 0; none: no template mentions it
};

// The work of a step that holds steps.
struct Block {
  Order order;
  // Each time one of the steps is drawn: by place in the order, the sum of the weights up to that step's. Empty: all
  // run.
  std::vector<uint64_t> weights;
};

}  // namespace bellwether::plan

// In which order members are probed: all of them once a round, shuffled anew each round; who comes in mid-round gets a
// random place (SWIM, section 4.3: completeness within two rounds). Also the urn from which random peers are drawn.
#pragma once

#include <optional>
#include <vector>

#include "base/prng.h"
#include "membership/directory.h"

namespace bellwether::membership {

class ProbeList {
 public:
  void add(NodeIndex node, Prng& prng);
  void remove(NodeIndex node);
  // The next in turn, whatever its state; nothing when the list is empty.
  std::optional<NodeIndex> next(Prng& prng);
  NodeIndex any(Prng& prng) const { return order_[prng.below(order_.size())]; }
  std::size_t size() const { return order_.size(); }

 private:
  std::vector<NodeIndex> order_;
  std::size_t at_ = 0;
};

}  // namespace bellwether::membership

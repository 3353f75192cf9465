#include "membership/probe_list.h"

#include <algorithm>

namespace bellwether::membership {

void ProbeList::add(NodeIndex node, Prng& prng) {
  order_.push_back(node);
  std::swap(order_.back(), order_[prng.below(order_.size())]);
}

void ProbeList::remove(NodeIndex node) {
  const auto found = std::find(order_.begin(), order_.end(), node);
  if (found == order_.end()) return;
  if (static_cast<std::size_t>(found - order_.begin()) < at_) --at_;
  order_.erase(found);
}

std::optional<NodeIndex> ProbeList::next(Prng& prng) {
  if (order_.empty()) return std::nullopt;
  if (at_ >= order_.size()) {
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[prng.below(i)]);
    at_ = 0;
  }
  return order_[at_++];
}

}  // namespace bellwether::membership

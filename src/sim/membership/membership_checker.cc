#include "sim/membership/membership_checker.h"

#include <algorithm>

namespace bellwether::sim {

using membership::MemberChange;
using membership::MemberState;

void MembershipChecker::issued(const std::string& name, uint32_t incarnation) {
  uint32_t& highest = issued_[name];
  highest = std::max(highest, incarnation);
}

void MembershipChecker::fail(const std::string& text, Instant world) {
  if (violation_.empty()) violation_ = "at " + std::to_string(world.ns() / 1'000'000) + " ms: " + text;
}

void MembershipChecker::saw(std::size_t node, const membership::MemberEvent& event, Instant world) {
  const std::string seen = world_.name(node) + " holds " + event.name + " " + to_string(event.change);
  const auto known = issued_.find(event.name);
  if (known == issued_.end() || event.incarnation > known->second) {
    fail("I14: " + seen + " at incarnation " + std::to_string(event.incarnation) + ", which it never took", world);
  }
  if (!calm_ || event.change != MemberChange::kDied) return;
  for (std::size_t i = 0; i < world_.size(); ++i) {
    if (world_.running(i) && world_.name(i) == event.name)
      fail("I14: " + seen + ", which runs and is reachable", world);
  }
}

std::string MembershipChecker::wrong_in(std::size_t node) const {
  const membership::MemberTable& view = world_.kernel(node).table();
  std::size_t running = 0;
  for (std::size_t i = 0; i < world_.size(); ++i) {
    const auto found = view.find(world_.id(i));
    const bool alive = found && view.at(*found).state == MemberState::kAlive;
    if (world_.running(i)) {
      ++running;
      if (!alive) {
        return world_.name(node) + " holds " + world_.name(i) + " " +
               (found ? to_string(view.at(*found).state) : "unknown") + ", which runs";
      }
      if (view.endpoint(*found) != MemberWorld::endpoint(i)) {
        return world_.name(node) + " looks for " + world_.name(i) + " where it is not";
      }
    }
  }
  if (view.present() != running) {
    return world_.name(node) + " sees " + std::to_string(view.present()) + " members, of which run " +
           std::to_string(running);
  }
  return {};
}

std::string MembershipChecker::disagreement() const {
  for (std::size_t i = 0; i < world_.size(); ++i) {
    if (!world_.running(i)) continue;
    std::string wrong = wrong_in(i);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace bellwether::sim

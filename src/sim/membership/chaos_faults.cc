// What goes wrong in a membership world.
#include <algorithm>

#include "sim/membership/chaos.h"

namespace bellwether::sim {

void MembershipChaos::something_goes_wrong() {
  ++run_.faults;
  if (!clogged_.empty() && world_.prng().chance(0.5)) return unclog_one();
  world_.prng().chance(0.5) ? break_process() : break_network();
}

void MembershipChaos::break_process() {
  const std::size_t node = any();
  const std::string who = world_.name(node) + " at slot " + std::to_string(node);
  if (!world_.running(node)) {
    // A clone's slot is used once.
    if (node < names_) start(node);
    return;
  }
  switch (world_.prng().below(6)) {
    case 0:
    case 1:
      note("crash " + who);
      memories_[node].view = world_.kernel(node).remember();
      world_.crash(node);
      if (world_.prng().chance(0.4)) {
        run_until(world_.now() + between(0, 3'000));
        if (!world_.running(node) && node < names_) start(node);
      }
      return;
    case 2: {
      const Stall kind = world_.prng().chance(0.5) ? Stall::kBlocked : Stall::kStopped;
      const Duration span = between(100, world_.prng().chance(0.3) ? 20'000 : 2'000);
      note("stall " + who + " for " + std::to_string(span.ms()) + " ms");
      world_.stall(node, kind, span);
      return;
    }
    case 3:
      if (!world_.prng().chance(0.4)) return;
      note("leave " + who);
      world_.tell(node, membership::Leave{});
      return;
    case 4:
      world_.tell(node, membership::SetMeta{"meta " + std::to_string(world_.now().ns())});
      world_.tell(node, membership::SetState{"state " + std::to_string(world_.now().ns())});
      return;
    case 5: return start_clone();
    default: return;
  }
}

// Another process under a name that is in use: a copied machine, a wrong configuration.
void MembershipChaos::start_clone() {
  if (world_.size() >= names_ + 3 || !world_.prng().chance(0.3)) return;
  const std::size_t original = world_.prng().below(names_);
  const std::size_t slot = world_.add(world_.name(original));
  memories_.push_back(memories_[original]);
  note("clone " + world_.name(original));
  start(slot);
}

void MembershipChaos::break_network() {
  Prng& prng = world_.prng();
  const std::size_t a = any();
  const std::size_t b = any();
  switch (prng.below(8)) {
    case 0: return isolate_groups(false);
    case 1: return isolate_groups(true);
    case 2: return ring_of_majorities();
    case 3: return clog_some();
    case 4:
      note("one way: slot " + std::to_string(a) + " does not reach slot " + std::to_string(b));
      if (a != b) world_.cut(a, b, true);
      return;
    case 5:
      note("deaf: nothing reaches slot " + std::to_string(a));
      for (std::size_t i = 0; i < world_.size(); ++i) {
        if (i != a) world_.cut(i, a, true);
      }
      return;
    case 6:
      note("flapping link between slots " + std::to_string(a) + " and " + std::to_string(b));
      for (int i = 0; a != b && i < 10; ++i) {
        world_.cut(a, b, i % 2 == 0);
        world_.cut(b, a, i % 2 == 0);
        run_until(world_.now() + between(50, 800));
      }
      return;
    default:
      note("all links heal");
      world_.heal_links();
      clogged_.clear();
  }
}

// Two groups that do not reach each other; with a bridge one node reaches both.
void MembershipChaos::isolate_groups(bool bridge) {
  std::vector<bool> side(world_.size());
  for (std::size_t i = 0; i < world_.size(); ++i) side[i] = world_.prng().chance(0.4);
  const std::size_t both = bridge ? any() : world_.size();
  note(bridge ? "partition with a bridge" : "partition");
  for (std::size_t i = 0; i < world_.size(); ++i) {
    for (std::size_t j = 0; j < world_.size(); ++j) world_.cut(i, j, side[i] != side[j] && i != both && j != both);
  }
}

// Everybody reaches a majority, and no two the same one.
void MembershipChaos::ring_of_majorities() {
  note("ring of majorities");
  const std::size_t n = world_.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t apart = std::min((i + n - j) % n, (j + n - i) % n);
      world_.cut(i, j, apart > n / 4 + 1);
    }
  }
}

// Swizzle-clog: some nodes lose their network one after the other, and get it back in another order.
void MembershipChaos::clog_some() {
  for (std::size_t count = 1 + world_.prng().below(world_.size()); count > 0; --count) {
    const std::size_t node = any();
    note("clog slot " + std::to_string(node));
    for (std::size_t i = 0; i < world_.size(); ++i) {
      if (i == node) continue;
      world_.cut(i, node, true);
      world_.cut(node, i, true);
    }
    clogged_.push_back(node);
    run_until(world_.now() + between(0, 300));
  }
}

void MembershipChaos::unclog_one() {
  const std::size_t which = world_.prng().below(clogged_.size());
  const std::size_t node = clogged_[which];
  clogged_.erase(clogged_.begin() + static_cast<std::ptrdiff_t>(which));
  note("unclog slot " + std::to_string(node));
  for (std::size_t i = 0; i < world_.size(); ++i) {
    world_.cut(i, node, false);
    world_.cut(node, i, false);
  }
}

}  // namespace bellwether::sim

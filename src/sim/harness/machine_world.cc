#include "sim/harness/machine_world.h"

#include "core/base/units.h"

namespace bellwether::sim {
namespace {

constexpr int64_t kDriftPpm = 9'000;  // of the 1 % that is declared
constexpr Duration kWallStep = Duration::hours(1);
constexpr Duration kLongestPause = Duration::seconds(8);
constexpr Duration kLongestCut = Duration::seconds(12);
constexpr Duration kLongestSpoilt = Duration::seconds(8);
constexpr Duration kLongestUntilStart = Duration::seconds(4);

}  // namespace

void MachineWorld::end_processes() {
  for (std::size_t i = 0; i < world_.size(); ++i) world_.node(i).lose_power();
}

void MachineWorld::start_later(Node& node) {
  starting_.insert(node.index());
  world_.after(draw(Duration::millis(1), kLongestUntilStart), [this, &node] {
    if (node.is_running() && leaves(node)) return start_later(node);
    starting_.erase(node.index());
    if (!node.is_running()) start(node);
  });
}

bool MachineWorld::lose_power_for_a_while(Node& node) {
  say(node.name() + " loses its power");
  lose_power(node);
  start_later(node);
  return true;
}

bool MachineWorld::kill(Node& node) {
  say(node.name() + " is killed");
  node.kill();
  start_later(node);
  return true;
}

bool MachineWorld::pause(Node& node) {
  say(node.name() + " is paused");
  node.pause();
  world_.after(draw(Duration::millis(100), kLongestPause), [this, &node] {
    say(node.name() + " goes on");
    node.resume();
  });
  start_later(node);
  return true;
}

bool MachineWorld::cut_off(Node& node) {
  say(node.name() + " is cut off");
  world_.network().isolate(node);
  heal_later();
  return true;
}

bool MachineWorld::cut(const Node& from, const Node& to, bool both_ways) {
  say(fmt::format("nothing goes {}{}{}{}", both_ways ? "between " : "from ", from.name(), both_ways ? " and " : " to ",
                  to.name()));
  if (both_ways) {
    world_.network().block_both_ways(from, to);
  } else {
    world_.network().block(from, to);
  }
  heal_later();
  return true;
}

bool MachineWorld::split() {
  std::vector<bool> side;
  for (std::size_t i = 0; i < world_.size(); ++i) side.push_back(chance(0.5));
  for (std::size_t a = 0; a < world_.size(); ++a) {
    for (std::size_t b = a + 1; b < world_.size(); ++b) {
      if (side[a] != side[b]) world_.network().block_both_ways(world_.node(a), world_.node(b));
    }
  }
  heal_later();
  return true;
}

void MachineWorld::heal_later() {
  world_.after(draw(Duration::millis(200), kLongestCut), [this] {
    say("all links are repaired");
    world_.network().heal();
  });
}

bool MachineWorld::spoil_links() {
  Link link;
  link.latency_max = draw(Duration::micros(200), Duration::millis(80));
  if (chance(0.7)) link.loss = prng().unit() * 0.3;
  if (chance(0.5)) link.duplicate = prng().unit() * 0.2;
  if (chance(0.5)) link.reorder = prng().unit() * 0.5;
  say(fmt::format("the network loses {} % and delays up to {}", static_cast<int>(link.loss * 100),
                  format_duration(link.latency_max)));
  world_.network().set_links(link);
  world_.after(draw(Duration::millis(500), kLongestSpoilt), [this] {
    say("the network is fast again");
    world_.network().set_links({});
  });
  return true;
}

bool MachineWorld::spoil_disk(Node& node) {
  DiskSettings settings;
  if (chance(0.6)) {
    settings.sync_error = prng().unit() * 0.5;
  } else {
    settings.sync_max = draw(Duration::millis(10), Duration::seconds(2));
  }
  say(fmt::format("the disk of {} is slow or fails", node.name()));
  node.disk().settings() = settings;
  world_.after(draw(Duration::millis(500), kLongestSpoilt), [&node] { node.disk().settings() = {}; });
  return true;
}

bool MachineWorld::let_clocks_drift(Node& node) {
  say(fmt::format("the clocks of {} drift", node.name()));
  node.set_drift(prng().between(-kDriftPpm, kDriftPpm));
  return true;
}

// No decision may depend on the wall clock.
bool MachineWorld::set_wall_clock(Node& node) {
  const Duration by = draw(-kWallStep, kWallStep);
  say(fmt::format("the wall clock of {} is set by {}", node.name(), format_duration(by)));
  node.step_wall(by);
  return true;
}

void MachineWorld::heal() {
  world_.network().heal();
  world_.network().set_links({});
  for (std::size_t i = 0; i < world_.size(); ++i) {
    world_.node(i).disk().settings() = {};
    world_.node(i).resume();
  }
}

}  // namespace bellwether::sim

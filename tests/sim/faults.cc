#include "tests/sim/faults.h"

namespace bellwether::sim {

Node& Faults::any_node() { return world_.node(world_.prng().below(world_.size())); }

Node& Faults::any_victim() {
  while (true) {
    Node& node = any_node();
    if (&node != spared_) return node;
  }
}

void Faults::spoil_links() {
  Prng& prng = world_.prng();
  Link link;
  link.latency_max = prng.between(Duration::micros(200), Duration::millis(100));
  if (prng.chance(0.5)) link.loss = prng.unit() * 0.3;
  if (prng.chance(0.5)) link.duplicate = prng.unit() * 0.2;
  if (prng.chance(0.5)) link.reorder = prng.unit() * 0.5;
  if (prng.chance(0.3))
    link.bytes_per_second = static_cast<uint64_t>(prng.between(int64_t{10'000}, int64_t{1'000'000}));
  if (prng.chance(0.5)) {
    world_.network().set_links(link);
  } else {
    world_.network().set_link(any_node(), any_node(), link);
  }
}

void Faults::partition() {
  Node& a = any_node();
  Node& b = any_node();
  switch (world_.prng().below(4)) {
    case 0: return world_.network().isolate(a);
    case 1: return world_.network().block(a, b);
    case 2: return world_.network().block_both_ways(a, b);
    default: return world_.network().heal();
  }
}

void Faults::strike(Node& node) {
  switch (world_.prng().below(4)) {
    case 0: return node.kill();
    case 1: return node.lose_power();
    case 2: return node.pause();
    default: return node.resume();
  }
}

void Faults::spoil_clock(Node& node) {
  Prng& prng = world_.prng();
  switch (prng.below(3)) {
    case 0: return node.set_drift(prng.between(int64_t{-500'000}, int64_t{500'000}));
    case 1: return node.step_wall(prng.between(Duration::hours(-1), Duration::hours(1)));
    default: return node.step_boot(prng.between(Duration::zero(), Duration::minutes(10)));
  }
}

void Faults::spoil_disk(Node& node) {
  Prng& prng = world_.prng();
  DiskSettings settings;
  if (prng.chance(0.3)) settings.open_error = 0.3;
  if (prng.chance(0.3)) settings.read_error = 0.1;
  if (prng.chance(0.3)) settings.write_error = 0.1;
  if (prng.chance(0.3)) settings.sync_error = 0.2;
  if (prng.chance(0.2)) settings.sync_max = Duration::seconds(2);
  if (prng.chance(0.2)) settings.capacity = prng.below(10'000);
  node.disk().settings() = settings;
}

void Faults::happen_once() {
  switch (world_.prng().below(6)) {
    case 0: return spoil_links();
    case 1: return partition();
    case 2: return spoil_clock(any_victim());
    case 3: return spoil_disk(any_victim());
    default: return strike(any_victim());
  }
}

void Faults::start_what_is_down() {
  for (std::size_t i = 0; i < world_.size(); ++i) {
    Node& node = world_.node(i);
    if (!node.is_running() && &node != spared_) node.restart();
  }
}

void Faults::happen(int count) {
  for (int i = 0; i < count; ++i) {
    happen_once();
    world_.run_for(world_.prng().between(Duration::millis(1), Duration::seconds(2)));
    if (world_.prng().chance(0.5)) start_what_is_down();
  }
}

void Faults::end() {
  world_.network().heal();
  world_.network().set_links({});
  for (std::size_t i = 0; i < world_.size(); ++i) {
    for (std::size_t k = 0; k < world_.size(); ++k) world_.network().set_link(world_.node(i), world_.node(k), {});
    world_.node(i).disk().settings() = {};
    world_.node(i).set_drift(0);
    world_.node(i).resume();
  }
  start_what_is_down();
}

}  // namespace bellwether::sim

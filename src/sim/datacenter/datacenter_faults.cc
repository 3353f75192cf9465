// What goes wrong in a simulated datacenter.
#include "base/probe.h"
#include "base/units.h"
#include "sim/datacenter/datacenter_run.h"
#include "sim/datacenter/sim_manager.h"

namespace bellwether::sim {
namespace {

constexpr int64_t kDriftPpm = 9'000;  // of the 1 % that is declared
constexpr Duration kWallStep = Duration::hours(1);

}  // namespace

void DatacenterWorld::something_goes_wrong() {
  if (gentle_ || prng().chance(0.4)) return manager_trouble();
  switch (prng().below(10)) {
    case 0:
    case 1:
    case 2: return strike(any_worker());
    case 3: return strike(any_place());
    case 4:
    case 5: return cut();
    case 6: return spoil_links();
    case 7: return ask_to_leave(any_worker());
    case 8: return press(any_worker());
    default: return set_clocks(any_place());
  }
}

void DatacenterWorld::manager_trouble() {
  switch (prng().below(9)) {
    case 0:
    case 1:
    case 2: return strike(any_manager());
    case 3: return strike_all_managers();
    case 4:
    case 5: return cut_among_managers();
    case 6: return spoil_disk(any_manager());
    case 7: return ask_to_leave(any_manager());
    default: return set_clocks(any_manager());
  }
}

// Starts what does not run by then, and what is leaving once it has left.
void DatacenterWorld::start_later(DatacenterPlace& place) {
  starting_.insert(place.index);
  world_.after(draw(Duration::millis(1), Duration::seconds(4)), [this, &place] {
    const bool leaves = place.process != nullptr && place.process->leaves();
    if (leaves && node_of(place).is_running()) return start_later(place);
    starting_.erase(place.index);
    start(place);
  });
}

// Somebody sees to it that what has ended by itself is started again, and what cannot use its disk any more, too.
void DatacenterWorld::start_what_ended() {
  for (const auto& place : places_) {
    if (starting_.contains(place->index) || node_of(*place).is_paused()) continue;
    SimManager* const manager = place->process == nullptr ? nullptr : place->process->manager();
    if (manager != nullptr && manager->disk_is_broken()) {
      say("the disk of " + place->name + " is seen to");
      node_of(*place).kill();
    }
    const bool done = place->index + 1 == places_.size() && node_of(*place).ended() > 0;
    if (!node_of(*place).is_running() && !done) start_later(*place);
  }
}

void DatacenterWorld::lose_power(DatacenterPlace& place) {
  node_of(place).lose_power();
  if (stage_.mistake == DatacenterMistake::kCopiesNotDurable && place.copies != nullptr) place.copies->replace();
}

void DatacenterWorld::strike(DatacenterPlace& place) {
  Node& node = node_of(place);
  switch (prng().below(4)) {
    case 0:
      BW_PROBE("datacenter: a machine loses its power");
      say(node.name() + " loses its power");
      lose_power(place);
      break;
    case 1: {
      BW_PROBE("datacenter: a process stands still");
      say(node.name() + " is paused");
      node.pause();
      world_.after(draw(Duration::millis(100), Duration::seconds(8)), [this, &node] {
        say(node.name() + " goes on");
        node.resume();
      });
      break;
    }
    default:
      BW_PROBE("datacenter: a process is killed");
      say(node.name() + " is killed");
      node.kill();
  }
  start_later(place);
}

void DatacenterWorld::strike_all_managers() {
  BW_PROBE("datacenter: all managers are gone");
  say("all managers lose their power");
  for (std::size_t i = 0; i < managers_; ++i) {
    lose_power(*places_[i]);
    start_later(*places_[i]);
  }
}

void DatacenterWorld::cut() {
  Network& network = world_.network();
  Node& one = node_of(any_place());
  Node& other = node_of(any_place());
  switch (prng().below(4)) {
    case 0:
      BW_PROBE("datacenter: a node is cut off");
      say(one.name() + " is cut off");
      network.isolate(one);
      break;
    case 1:
      BW_PROBE("datacenter: a link is cut one way");
      say("nothing goes from " + one.name() + " to " + other.name());
      network.block(one, other);
      break;
    case 2:
      BW_PROBE("datacenter: a link is cut");
      say("nothing goes between " + one.name() + " and " + other.name());
      network.block_both_ways(one, other);
      break;
    default: {
      BW_PROBE("datacenter: two sides");
      say("two sides");
      std::vector<bool> side;
      for (std::size_t i = 0; i < world_.size(); ++i) side.push_back(prng().chance(0.5));
      for (std::size_t a = 0; a < world_.size(); ++a) {
        for (std::size_t b = a + 1; b < world_.size(); ++b) {
          if (side[a] != side[b]) network.block_both_ways(world_.node(a), world_.node(b));
        }
      }
    }
  }
  world_.after(draw(Duration::millis(200), Duration::seconds(15)), [this] {
    say("all links are whole");
    world_.network().heal();
  });
}

void DatacenterWorld::cut_among_managers() {
  BW_PROBE("datacenter: managers are cut off from each other");
  const DatacenterPlace& one = any_manager();
  say(one.name + " is cut off from the other managers");
  for (std::size_t i = 0; i < managers_; ++i) {
    if (places_[i].get() != &one) world_.network().block_both_ways(node_of(one), node_of(*places_[i]));
  }
  world_.after(draw(Duration::millis(200), Duration::seconds(12)), [this] {
    say("all links are whole");
    world_.network().heal();
  });
}

void DatacenterWorld::spoil_links() {
  BW_PROBE("datacenter: the network is slow and loses packets");
  Link link;
  link.latency_max = draw(Duration::micros(200), Duration::millis(80));
  if (prng().chance(0.7)) link.loss = prng().unit() * 0.3;
  if (prng().chance(0.5)) link.duplicate = prng().unit() * 0.2;
  if (prng().chance(0.5)) link.reorder = prng().unit() * 0.5;
  say("the network loses " + std::to_string(static_cast<int>(link.loss * 100)) + " %, and takes up to " +
      format_duration(link.latency_max));
  world_.network().set_links(link);
  world_.after(draw(Duration::millis(500), Duration::seconds(8)), [this] {
    say("the network is fast again");
    world_.network().set_links({});
  });
}

void DatacenterWorld::spoil_disk(DatacenterPlace& place) {
  BW_PROBE("datacenter: a disk is slow or fails");
  DiskSettings settings;
  if (prng().chance(0.6)) {
    settings.sync_error = prng().unit() * 0.5;
  } else {
    settings.sync_max = draw(Duration::millis(10), Duration::seconds(2));
  }
  say("the disk of " + place.name + " is slow or fails");
  Node& node = node_of(place);
  node.disk().settings() = settings;
  world_.after(draw(Duration::millis(500), Duration::seconds(8)), [&node] { node.disk().settings() = {}; });
}

void DatacenterWorld::set_clocks(DatacenterPlace& place) {
  if (prng().chance(0.5)) {
    say("the clocks of " + place.name + " drift");
    return node_of(place).set_drift(prng().between(-kDriftPpm, kDriftPpm));
  }
  BW_PROBE("datacenter: a wall clock is set");
  const Duration by = draw(-kWallStep, kWallStep);
  say("the wall clock of " + place.name + " is set by " + format_duration(by));
  node_of(place).step_wall(by);
}

void DatacenterWorld::ask_to_leave(DatacenterPlace& place) {
  if (place.process == nullptr || node_of(place).is_paused()) return;
  BW_PROBE("datacenter: a node is asked to leave");
  say(place.name + " is asked to leave");
  node_of(place).runtime().post(
      [](void* context) {
        MemberProcess* process = static_cast<DatacenterPlace*>(context)->process;
        if (process != nullptr) process->ask_to_leave();
      },
      &place);
  start_later(place);
}

void DatacenterWorld::press(DatacenterPlace& place) {
  BW_PROBE("datacenter: a worker has too much to do");
  say(place.name + " is short of memory");
  place.pressed = true;
  world_.after(draw(Duration::seconds(1), Duration::seconds(10)), [&place] { place.pressed = false; });
}

void DatacenterWorld::make_whole() {
  say("from now on nothing is broken");
  world_.network().heal();
  world_.network().set_links({});
  for (const auto& place : places_) {
    Node& node = node_of(*place);
    node.disk().settings() = {};
    node.resume();
    place->pressed = false;
  }
  start_what_ended();
}

}  // namespace bellwether::sim

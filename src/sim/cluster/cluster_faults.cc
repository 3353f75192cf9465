// What goes wrong in a simulated cluster.
#include <algorithm>

#include "base/probe.h"
#include "base/units.h"
#include "sim/cluster/cluster_run.h"

namespace bellwether::sim {
namespace {

constexpr int64_t kDriftPpm = 9'000;  // of the 1 % that is declared

constexpr Duration kWallStep = Duration::hours(1);

}  // namespace

void ClusterWorld::something_goes_wrong() {
  switch (prng().below(12)) {
    case 0:
    case 1:
    case 2: return strike(any_node());
    case 3: {
      ClusterPlace* chief = leader();
      return strike(chief == nullptr ? any_node() : node_of(*chief));
    }
    case 4:
    case 5: return cut();
    case 6: return spoil_links();
    case 7: return spoil_disk(any_node());
    case 8: return any_node().set_drift(prng().between(-kDriftPpm, kDriftPpm));
    case 9: return set_wall(any_node());
    case 10: return replace_disk(any_place());
    default: return bother();
  }
}

// Nothing may go by what it shows.
void ClusterWorld::set_wall(Node& node) {
  BW_PROBE("cluster world: a wall clock is set");
  const Duration by = draw(-kWallStep, kWallStep);
  say("the wall clock of " + node.name() + " is set by " + format_duration(by));
  node.step_wall(by);
}

// Starts what does not run by then, and what is leaving once it has left.
void ClusterWorld::start_later(Node& node) {
  ClusterPlace& place = *places_[node.index()];
  world_.after(draw(Duration::millis(1), Duration::seconds(4)), [this, &node, &place] {
    if (!node.is_running()) return node.start(&run_cluster_process, &place);
    if (place.process != nullptr && place.process->leaves()) start_later(node);
  });
}

void ClusterWorld::strike(Node& node) {
  switch (prng().below(4)) {
    case 0:
      BW_PROBE("cluster world: a machine loses its power");
      say(node.name() + " loses its power");
      node.lose_power();
      break;
    case 1: {
      BW_PROBE("cluster world: a process stands still");
      say(node.name() + " is paused");
      node.pause();
      const Duration span = draw(Duration::millis(100), Duration::seconds(5));
      world_.after(span, [this, &node] {
        say(node.name() + " goes on");
        node.resume();
      });
      break;
    }
    default:
      BW_PROBE("cluster world: a process is killed");
      say(node.name() + " is killed");
      node.kill();
  }
  start_later(node);
}

void ClusterWorld::cut() {
  Network& network = world_.network();
  Node& one = any_node();
  Node& other = any_node();
  switch (prng().below(5)) {
    case 0:
      BW_PROBE("cluster world: a node is cut off");
      say(one.name() + " is cut off");
      network.isolate(one);
      break;
    case 1:
      BW_PROBE("cluster world: a link is cut one way");
      say("nothing goes from " + one.name() + " to " + other.name());
      network.block(one, other);
      break;
    case 2:
      BW_PROBE("cluster world: a link is cut");
      say("nothing goes between " + one.name() + " and " + other.name());
      network.block_both_ways(one, other);
      break;
    case 3: {
      BW_PROBE("cluster world: two sides");
      const uint64_t side = prng().next();
      say("two sides");
      for (std::size_t a = 0; a < world_.size(); ++a) {
        for (std::size_t b = a + 1; b < world_.size(); ++b) {
          if (((side >> a) & 1) != ((side >> b) & 1)) network.block_both_ways(world_.node(a), world_.node(b));
        }
      }
      break;
    }
    default: break;
  }
  world_.after(draw(Duration::millis(200), Duration::seconds(12)), [this] {
    say("all links are whole");
    world_.network().heal();
  });
}

void ClusterWorld::spoil_links() {
  BW_PROBE("cluster world: the network is slow and loses packets");
  Link link;
  link.latency_max = draw(Duration::micros(200), Duration::millis(80));
  if (prng().chance(0.7)) link.loss = prng().unit() * 0.3;
  if (prng().chance(0.5)) link.duplicate = prng().unit() * 0.2;
  if (prng().chance(0.5)) link.reorder = prng().unit() * 0.5;
  say("the network loses " + std::to_string(static_cast<int>(link.loss * 100)) + " %, and takes up to " +
      format_duration(link.latency_max));
  world_.network().set_links(link);
  world_.after(draw(Duration::millis(500), Duration::seconds(8)), [this] { world_.network().set_links({}); });
}

// Its voter follows from then on. Fewer than half of the voters may lose theirs, as is assumed.
void ClusterWorld::replace_disk(ClusterPlace& place) {
  const auto lost = std::count_if(places_.begin(), places_.end(), [](const auto& one) { return one->lost; });
  if (place.lost || (static_cast<std::size_t>(lost) + 1) * 2 >= places_.size()) return;
  BW_PROBE("cluster world: a disk is replaced");
  say("the disk of " + place.name + " is replaced");
  node_of(place).lose_power();
  place.stored->replace();
  place.lost = true;
  start_later(node_of(place));
}

void ClusterWorld::spoil_disk(Node& node) {
  DiskSettings settings;
  if (prng().chance(0.6)) {
    settings.sync_error = prng().unit() * 0.5;
  } else {
    settings.sync_max = draw(Duration::millis(10), Duration::seconds(2));
  }
  say("the disk of " + node.name() + " is slow or fails");
  node.disk().settings() = settings;
  world_.after(draw(Duration::millis(500), Duration::seconds(8)), [&node] { node.disk().settings() = {}; });
}

// Somebody wants another leader, or a node to go.
void ClusterWorld::bother() {
  ClusterPlace& one = any_place();
  if (one.process != nullptr && !node_of(one).is_paused() && prng().chance(0.4)) {
    BW_PROBE("cluster world: a node is asked to leave");
    say(one.name + " is asked to leave");
    node_of(one).runtime().post(
        [](void* context) {
          ClusterProcess* process = static_cast<ClusterPlace*>(context)->process;
          if (process != nullptr) process->ask_to_leave();
        },
        &one);
    return start_later(node_of(one));
  }
  const ClusterPlace* chief = leader();
  if (chief == nullptr || node_of(*chief).is_paused()) return;
  BW_PROBE("cluster world: a leader is asked to hand over");
  ClusterPlace& place = *places_[chief->index];
  say(place.name + " is asked to hand over");
  place.heir_wanted = prng().chance(0.5) ? any_place().name : std::string();
  node_of(place).runtime().post(
      [](void* context) {
        auto& asked = *static_cast<ClusterPlace*>(context);
        if (asked.process != nullptr) asked.process->ask_to_step_down(asked.heir_wanted);
      },
      &place);
}

void ClusterWorld::make_whole() {
  say("from now on nothing is broken");
  world_.network().heal();
  world_.network().set_links({});
  for (const auto& place : places_) {
    Node& node = node_of(*place);
    node.disk().settings() = {};
    node.resume();
    if (place->process != nullptr && place->process->disk_is_broken()) node.kill();
    if (!node.is_running()) node.start(&run_cluster_process, place.get());
  }
}

}  // namespace bellwether::sim

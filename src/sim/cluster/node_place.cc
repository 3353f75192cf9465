#include "sim/cluster/node_place.h"

#include <utility>

#include "cluster/node/node_admin.h"
#include "core/base/check.h"
#include "core/base/probe.h"

namespace bellwether::sim {

using runtime::task;

wire::Keyring keyring_of_nodes() {
  auto secret = wire::Secret::take("what all simulated nodes know, 7Q");
  check(secret.has_value(), "the secret is a good one");
  return wire::Keyring(std::move(*secret));
}

cluster::NodeConfig config_of_nodes() {
  cluster::NodeConfig config;
  config.cluster = "flock";
  config.environment = "sim";
  config.datacenter = "dc1";
  config.leadership = config.jobs = cluster::kQuorum;
  config.profile = "lan";
  return config;
}

NodePlace::NodePlace(Node& on, FaultyWorld& lives_in)
    : machine(on), home(lives_in), index(on.index()), name(on.name()), stored(home.prng(), on.disk()) {
  options.config = config_of_nodes();
  options.config.name = name;
  options.config.listen = {on.address().to_string(), kNodePort};
}

node::NodeSupplies NodePlace::make_supplies(runtime::Runtime& runtime) {
  node::NodeSupplies supplies(keyring_of_nodes());
  if (!remembers) return supplies;
  auto disk = std::make_unique<SimKv>(runtime, stored, careless_disk);
  kv = disk.get();
  supplies.kv = std::move(disk);
  return supplies;
}

void NodePlace::on_line(std::string_view event, const std::string& text, const Journal::Fields&) {
  say(fmt::format("{}: {}", event, text));
}

// --- observations ----------------------------------------------------------------------------------------------------

// These nodes elect by the votes of a quorum.
const cluster::ElectionDriver* NodePlace::election() const {
  return process == nullptr ? nullptr : static_cast<const cluster::ElectionDriver*>(process->election().leadership());
}

bool NodePlace::leads(Instant world) const {
  const cluster::ElectionDriver* driver = election();
  return driver != nullptr && driver->leads(machine.clock().boot(world));
}

std::size_t NodePlace::alive() const {
  std::size_t count = 0;
  if (process == nullptr || !process->members().made()) return count;
  process->members().for_each([&](const node::NodeMembers::Member& member) {
    if (member.state == membership::MemberState::kAlive) ++count;
  });
  return count;
}

void NodePlace::post_hand_over(const std::string& heir) {
  heir_ = heir;
  machine.runtime().post(
      [](void* context) {
        auto& asked = *static_cast<NodePlace*>(context);
        if (asked.process == nullptr) return;
        const auto begun = asked.process->admin().transfer(asked.heir_);
        asked.say(begun ? *begun : begun.error().message);
      },
      this);
}

// --- its process -----------------------------------------------------------------------------------------------------

task<void> run_node(runtime::Runtime& runtime, void* context) {
  auto& place = *static_cast<NodePlace*>(context);
  struct End {
    NodePlace& place;
    ~End() { place.ended(); }
  } const end{place};
  ++place.starts;
  place.options.first_start = place.is_new();
  place.options.found = place.founds && place.NodePlace::is_new();
  Journal journal(-1, false, "node");
  journal.tell(callback_to<&NodePlace::on_line>(place));
  node::ClusterNode node(runtime, place.options, place.make_supplies(runtime), place.make_roles(runtime), journal);
  struct Presence {
    NodePlace& place;
    ~Presence() { place.process = nullptr, place.kv = nullptr; }
  } const presence{place};
  place.process = &node;
  const int exit_code = co_await node.run();
  if (exit_code == node::kExitNotJoined) BW_PROBE("simulated node: a name is taken");
}

}  // namespace bellwether::sim

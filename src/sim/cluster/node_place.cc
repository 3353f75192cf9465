#include "sim/cluster/node_place.h"

#include <algorithm>
#include <utility>

#include "cluster/node/node_admin.h"
#include "core/base/check.h"
#include "core/base/probe.h"

namespace bellwether::sim {

using cluster::KvChange;
using runtime::task;

namespace {

// Of failures: how many leave nothing but a new start.
constexpr double kFinal = 0.2;
// The portion of failed writes that are on the disk all the same.
constexpr double kThereAllTheSame = 0.3;
// How long a system keeps unsynced data in memory.
constexpr Duration kWrittenBack = Duration::seconds(5);

Error gone() { return {Errc::kIo, "the simulated disk has failed: it works again after a restart"}; }

}  // namespace

void StoredKeys::apply_first() {
  for (const KvChange& change : under_way_.front().changes) {
    if (change.value) {
      table_[change.key] = *change.value;
    } else {
      table_.erase(change.key);
    }
  }
  under_way_.pop_front();
}

SimKv::~SimKv() {
  write_back();
  while (!stored_.under_way_.empty() && stored_.prng_.chance(0.5)) stored_.apply_first();
  if (!stored_.under_way_.empty()) BW_PROBE("cluster world: what a disk had not confirmed is lost");
  stored_.under_way_.clear();
}

// The data that the system has written by now, although no caller waited for it.
void SimKv::write_back() {
  while (careless_ && !stored_.under_way_.empty() && stored_.under_way_.front().done_at <= runtime_.now()) {
    stored_.apply_first();
  }
}

task<Result<std::optional<std::string>>> SimKv::get(std::string key) {
  co_await runtime_.sleep(stored_.disk_.draw_latency());
  if (broken_) co_return tl::unexpected(gone());
  const auto found = stored_.table_.find(key);
  if (found == stored_.table_.end()) co_return std::nullopt;
  co_return std::optional(found->second);
}

task<Result<std::vector<std::pair<std::string, std::string>>>> SimKv::list(std::string prefix) {
  co_await runtime_.sleep(stored_.disk_.draw_latency());
  if (broken_) co_return tl::unexpected(gone());
  std::vector<std::pair<std::string, std::string>> found;
  for (auto at = stored_.table_.lower_bound(prefix); at != stored_.table_.end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    found.push_back(*at);
  }
  co_return found;
}

void SimKv::finish_first(bool written) {
  if (written) {
    stored_.apply_first();
  } else {
    stored_.under_way_.pop_front();
  }
  if (!stored_.under_way_.empty()) stored_.under_way_.front().turn->set();
}

bool SimKv::too_large(const std::vector<KvChange>& changes) {
  return std::any_of(changes.begin(), changes.end(), [](const KvChange& change) {
    return change.key.size() > kMaxKeyBytes || (change.value && change.value->size() > kMaxValueBytes);
  });
}

// One after the other, in the order of the calls.
task<Status> SimKv::put(std::vector<KvChange> changes) {
  if (too_large(changes)) co_return fail(Errc::kTooLarge, "a key or a value is too long");
  if (broken_) co_return tl::unexpected(gone());
  if (careless_) {
    const Duration takes = stored_.prng_.between(Duration::zero(), kWrittenBack);
    const Instant before = stored_.under_way_.empty() ? runtime_.now() : stored_.under_way_.back().done_at;
    stored_.under_way_.push_back({std::move(changes), before + takes, nullptr});
    write_back();
    co_return Status();
  }
  runtime::Event turn;
  if (stored_.under_way_.empty()) turn.set();
  stored_.under_way_.push_back({std::move(changes), {}, &turn});
  co_await turn.wait();
  co_await runtime_.sleep(stored_.disk_.draw_sync_latency());
  if (broken_) {
    finish_first(false);
    co_return tl::unexpected(gone());
  }
  const double fails = stored_.disk_.settings().sync_error;
  if (fails > 0 && stored_.prng_.chance(fails)) {
    BW_PROBE("cluster world: a disk fails");
    broken_ = stored_.prng_.chance(kFinal);
    finish_first(stored_.prng_.chance(kThereAllTheSame));
    if (broken_) co_return tl::unexpected(gone());
    co_return fail(Errc::kNoSpace, "the simulated disk is full temporarily");
  }
  finish_first(true);
  co_return Status();
}

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

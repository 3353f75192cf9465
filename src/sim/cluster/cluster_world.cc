#include "sim/cluster/cluster_world.h"

#include <algorithm>
#include <vector>

#include "cluster/node/node_admin.h"
#include "core/base/units.h"
#include "sim/cluster/cluster_roles.h"
#include "sim/harness/machine_world.h"

namespace bellwether::sim {
namespace {

constexpr Duration kHandOver = Duration::seconds(1);
constexpr Duration kPreparesWithin = Duration::millis(12);
// Members ask the dead again each five seconds, and links wait up to five seconds to be made again. A member that was
// cut off and began a separate cluster is found later: each asks one of its seeds a minute.
constexpr Duration kAgreeWithin = Duration::minutes(6);
// The worst that budget_of() says, and rounds in which two stand at once.
constexpr Duration kTakeOverWithin = Duration::seconds(5);

struct ClusterWorld final : MachineWorld {
  explicit ClusterWorld(const RunSettings& settings) : MachineWorld(settings) {
    const std::size_t count = 3 + prng().below(3);
    const ClusterPlace::Watcher watcher{callback_to<&ClusterWorld::elected>(*this),
                                        callback_to<&ClusterWorld::prepares>(*this)};
    for (std::size_t i = 0; i < count; ++i) {
      Node& node = world_.add_node(fmt::format("m{}", i + 1));
      places_.push_back(std::make_unique<ClusterPlace>(node, *this, watcher, settings.mistake));
    }
    places_.front()->founds = true;
    for (const auto& place : places_) {
      cluster::NodeConfig& config = place->options.config;
      for (const auto& other : places_) {
        if (config.seeds.size() < 3) config.seeds.push_back(other->options.config.listen);
        config.voters.push_back(other->name);
      }
    }
  }
  ~ClusterWorld() override { end_processes(); }

  ClusterPlace& any_place() { return *places_[prng().below(places_.size())]; }
  void start(Node& node) override { node.start(&run_node, static_cast<NodePlace*>(places_[node.index()].get())); }
  bool leaves(const Node& node) const override {
    const node::ClusterNode* process = places_[node.index()]->process;
    return process != nullptr && process->leaves();
  }

  // --- rules that always hold
  void elected(ClusterPlace& place, uint64_t term) {
    place.say(fmt::format("elected, term {}", term));
    ++terms_;
    if (term == highest_term_) fail(fmt::format("I1: a second leader in term {}: {}", term, place.name));
    if (term < highest_term_) {
      fail(fmt::format("I3: {} leads in an earlier term, {}", place.name, term));
    }
    highest_term_ = std::max(highest_term_, term);
  }
  void look() {
    ++events_;
    const ClusterPlace* acting = nullptr;
    for (const auto& place : places_) {
      if (place->lost && takes_part(*place)) {
        fail(fmt::format("I5: {} votes although its former disk with its earlier votes is lost", place->name));
      }
      if (place->is_misled())
        fail(fmt::format("I9: a role of {} works in a term that has ended for its node", place->name));
      if (!place->may_act(place->machine.clock().boot(now()))) continue;
      if (acting != nullptr) fail(fmt::format("I2: {} and {} may act at once", acting->name, place->name));
      acting = place.get();
    }
  }
  bool takes_part(const ClusterPlace& place) const {
    return place.election() != nullptr && place.election()->kernel().takes_part();
  }
  template <class Come>
  bool run_until(Duration at_most, Come come) {
    return world_.run_while_waiting(at_most, [&] {
      look();
      return !holds() || come();
    });
  }
  bool run_for(Duration span) override {
    run_until(span, [] { return false; });
    return holds();
  }

  // --- faults
  // A node with another disk only follows from then on. Fewer than half of the voters may lose theirs, by assumption.
  bool replace_disk(ClusterPlace& place) {
    const auto lost = std::count_if(places_.begin(), places_.end(), [](const auto& one) { return one->lost; });
    if (place.lost || (static_cast<std::size_t>(lost) + 1) * 2 >= places_.size()) return false;
    say(fmt::format("the disk of {} is replaced", place.name));
    place.machine.lose_power();
    place.stored.replace();
    place.lost = true;
    start_later(place.machine);
    return true;
  }
  bool ask_to_hand_over() {
    ClusterPlace* place = leader();
    if (place == nullptr || place->machine.is_paused()) return false;
    say(place->name + " is asked to hand over");
    place->post_hand_over(chance(0.5) ? any_place().name : std::string());
    return true;
  }
  // It is started later, and its roles read and write their disks then.
  bool kill_while_it_prepares(ClusterPlace& place) {
    if (place.dies_preparing) return false;
    place.dies_preparing = true;
    return kill(place.machine);
  }
  void prepares(ClusterPlace& place) {
    if (!std::exchange(place.dies_preparing, false)) return;
    world_.after(draw(Duration::zero(), kPreparesWithin), [this, &place, start = place.starts] {
      if (place.process != nullptr && place.starts == start) kill(place.machine);
    });
  }
  void make_whole() override {
    heal();
    for (const auto& place : places_) {
      place->dies_preparing = false;
      if (place->disk_is_broken()) place->machine.kill();
      if (!place->machine.is_running()) start(place->machine);
    }
  }

  // --- phases
  Pace pace() const override {
    // A hand-over that was asked for is still under way when all is made whole.
    return {.least_faults = 3, .most_faults = 16, .gap = Duration::seconds(2), .rest = kHandOver};
  }
  void begin() override {
    for (std::size_t i = 0; i < world_.size(); ++i) start_later(world_.node(i));
    run_for(draw(Duration::seconds(1), Duration::seconds(6)));
  }
  ClusterPlace* leader() {
    const auto found =
        std::find_if(places_.begin(), places_.end(), [&](const auto& place) { return place->leads(now()); });
    return found == places_.end() ? nullptr : found->get();
  }
  uint64_t term_of(const ClusterPlace& place) const {
    return place.election() == nullptr ? 0 : place.election()->kernel().term().value();
  }
  static bool is_well(const ClusterPlace& place) {
    node::ClusterNode& process = *place.process;
    return process.members().kernel().degradation() == membership::Degradation::kNormal &&
           (place.lost || process.admin().not_ready().empty());
  }
  // All members are present and agree, those that still have their votes are ready for work, and no member that was cut
  // off feels unwell: such a member hands over soon.
  bool agreed() {
    const ClusterPlace* chief = leader();
    return chief != nullptr && std::all_of(places_.begin(), places_.end(), [&](const auto& place) {
             const node::ClusterNode* process = place->process;
             return process != nullptr && process->election().leader() == chief->name &&
                    term_of(*place) == term_of(*chief) && place->alive() == places_.size() && is_well(*place);
           });
  }
  bool expect_agreement() {
    if (!run_until(kAgreeWithin, [&] { return agreed(); })) {
      fail("I13: all faults are repaired, but the nodes do not agree after " + format_duration(kAgreeWithin));
    }
    return holds();
  }
  void expect_recovery() override {
    if (!expect_agreement()) return;
    const uint64_t terms = terms_;
    if (!run_for(Duration::seconds(5))) return;
    if (terms_ != terms) return fail("I13: the leader changed although nothing was broken");
    if (!agreed()) return fail("I13: the nodes no longer agree although nothing was broken");
    expect_takeover();
  }
  void expect_takeover() {
    ClusterPlace* chief = leader();
    const auto voters = std::count_if(places_.begin(), places_.end(),
                                      [&](const auto& place) { return place.get() != chief && takes_part(*place); });
    // A node that has lost its disk counts as gone already.
    if (static_cast<std::size_t>(voters) < quorum::majority_of(places_.size())) return;
    const uint64_t term = term_of(*chief);
    say(chief->name + " loses its power");
    chief->machine.lose_power();
    const bool led = run_until(kTakeOverWithin, [&] {
      const ClusterPlace* next = leader();
      return next != nullptr && term_of(*next) > term;
    });
    if (!holds()) return;
    if (!led) return fail("I13: no node has taken over after " + format_duration(kTakeOverWithin));
    chief->machine.restart();
    expect_agreement();
  }
  void tell_states() override {
    for (const auto& place : places_) {
      const node::ClusterNode* process = place->process;
      place->say(
          process == nullptr
              ? std::string("is not running")
              : fmt::format("{} in term {}, sees {} alive{}",
                            place->leads(now()) ? "leads" : fmt::format("follows '{}'", process->election().leader()),
                            term_of(*place), place->alive(), takes_part(*place) ? "" : ", takes no part"));
    }
  }
  std::vector<Run::Count> counts() const override {
    uint64_t starts = 0;
    for (const auto& place : places_) starts += place->starts;
    return {{"terms", terms_}, {"starts", starts}};
  }

  std::vector<std::unique_ptr<ClusterPlace>> places_;
  uint64_t highest_term_ = 0;
  uint64_t terms_ = 0;
};

constexpr auto kClusterFaults =
    joined(kMachineFaults<ClusterWorld>,
           std::to_array<Fault<ClusterWorld>>({
               {5, "a disk is replaced", [](ClusterWorld& w) { return w.replace_disk(w.any_place()); }},
               {2, "a node is asked to leave", [](ClusterWorld& w) { return w.ask_to_leave(w.any_place()); }},
               {3, "a node is killed while its roles prepare",
                [](ClusterWorld& w) { return w.kill_while_it_prepares(w.any_place()); }},
               {3, "a leader is asked to hand over", [](ClusterWorld& w) { return w.ask_to_hand_over(); }},
           }));

}  // namespace

WorldRow cluster_world() {
  return world_row<ClusterWorld, kClusterMistakes, kClusterFaults>("cluster",
                                                                   "complete nodes with their links and disks");
}

}  // namespace bellwether::sim

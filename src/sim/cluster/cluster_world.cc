#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/net/message_classes.h"
#include "cluster/node/node_admin.h"
#include "core/base/bytes.h"
#include "core/base/callback.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "core/runtime/event.h"
#include "sim/all_worlds.h"
#include "sim/cluster/node_place.h"
#include "sim/harness/faulty_world.h"
#include "sim/harness/machine_world.h"

namespace bellwether::sim {

// The roles of the nodes of the world: one with work that only a leader may do, and one
// that keeps data on its disk and receives messages of the others. Mistakes in the assembly of a node are made here.

// Well-known ways to bind the kernels of a node to the world wrong, and to put a node together wrong.
inline constexpr auto kClusterMistakes = std::to_array<Mistake>({
    {.name = "confirms-before-durable", .what = "the disk confirms a write that is only in memory", .seed = 10},
    {.name = "death-is-proof",
     .what = "the election takes membership's suspicion of a leader as proof of its death",
     .seed = 407},
    {"acts-on-after-term", "the work does not stop when its term has ended"},
    {"told-late", "a role learns of the end of a term two seconds late"},
    {.name = "routed-before-ready", .what = "a role accepts messages before it has read its data", .seed = 106},
    {"outlives-node", "a role outlives its node"},
    {"prepares-in-two-steps", "a role that is stopped while it prepares leaves half of its data on the disk"},
});

class GuardedWork;

struct ClusterPlace final : NodePlace {
  // Checks the rules where a process sees the events.
  struct Watcher {
    Callback<void(ClusterPlace& place, uint64_t term)> elected;
    Callback<void(ClusterPlace& place)> prepares;
  };

  ClusterPlace(Node& on, FaultyWorld& lives_in, Watcher told, std::size_t mistake);
  bool is(MistakeIn<kClusterMistakes> one) const { return mistake_ == one.number; }
  std::vector<std::shared_ptr<node::NodeRole>> make_roles(runtime::Runtime& runtime) override;
  void ended() override;

  // By its machine's boot clock: guarded work may act at this time.
  bool may_act(Instant boot) const;
  // A role works on a term that its node knows to be over.
  bool is_misled() const;

  Watcher watcher;
  GuardedWork* work = nullptr;  // of the process
  bool dies_preparing = false;

 private:
  std::size_t mistake_;  // a row of kClusterMistakes, counted from 1
  std::vector<std::weak_ptr<node::NodeRole>> roles_;
  std::vector<std::shared_ptr<node::NodeRole>> kept_;
};

using runtime::task;

namespace {

constexpr Duration kLate = Duration::seconds(2);
constexpr Duration kLook = Duration::millis(20);
constexpr Duration kMaxDrain = Duration::millis(500);

}  // namespace

// --- work that only a leader may do ----------------------------------------------------------------------------------

class GuardedWork final : public node::NodeRole {
 public:
  explicit GuardedWork(ClusterPlace& place) : place_(place), careless_(place.is("acts-on-after-term")) {
    place_.work = this;
  }
  ~GuardedWork() override { place_.work = nullptr; }

  task<Status> prepare(const node::NodeTools& tools) override {
    tools_.emplace(tools);
    co_return Status();
  }
  task<void> run(runtime::Cancellation* cancel) override {
    if (place_.is("death-is-proof")) scope_.spawn(jump_to_conclusions(this));
    co_await tools_->runtime.sleep_until(Instant::never(), cancel);
    scope_.cancel();
    co_await scope_.join();
    stop();
  }
  bool works_while_leading() const override { return true; }
  task<void> work_ended() override {
    const auto stopped = [this] { return !working_; };
    co_await stopped_.wait(tools_->runtime, stopped, Instant::never());
  }
  void on_elected(const election::TermOfOffice& term) override {
    term_ = term.epoch;
    working_ = true;
    ended_by_.reset();
    ++work_;
    place_.watcher.elected(place_, term.epoch.value());
  }
  void on_drain(const std::string&) override {
    scope_.spawn(stop_within(this, work_, tools_->runtime.prng().between(Duration::zero(), kMaxDrain)));
  }
  void on_term_ended(const election::TermEnded& ended) override {
    if (place_.is("told-late") && !scope_.cancellation()->cancelled()) {
      scope_.spawn(hear_late(this, work_, ended));
    } else {
      hear(ended);
    }
  }
  void on_leader_changed(const std::string& leader, election::Term, const std::string&) override {
    if (!leader.empty()) leader_ = leader;
  }

  bool may_act(Instant boot) const { return working_ && (careless_ || boot < stop_by()); }
  bool holds_term() const { return term_.has_value(); }

 private:
  cluster::ElectionDriver& election() const {
    return static_cast<cluster::ElectionDriver&>(*tools_->election.leadership());
  }
  Instant stop_by() const { return ended_by_ ? *ended_by_ : election().kernel().stopped_by(); }
  void hear(const election::TermEnded& ended) {
    term_.reset();
    if (!ended.work_runs) return;
    ended_by_ = ended.stop_by;
    const Duration left = std::max(ended.stop_by - tools_->runtime.boot_now(), Duration::zero());
    scope_.spawn(stop_within(this, work_, tools_->runtime.prng().between(Duration::zero(), left)));
  }
  static task<void> jump_to_conclusions(GuardedWork* self) {
    const node::NodeTools& tools = *self->tools_;
    bool due = true;
    while (due) {
      due = co_await tools.runtime.sleep(kLook, self->scope_.cancellation());
      const std::string& leader = self->leader_;
      if (leader.empty() || !(tools.members.is_suspect(leader) || tools.members.is_gone(leader))) continue;
      cluster::ElectionDriver& election = self->election();
      election.tell(quorum::LeaderDead{cluster::member_id(leader), election.kernel().promised_life()});
    }
  }
  static task<void> hear_late(GuardedWork* self, uint64_t work, election::TermEnded ended) {
    co_await self->tools_->runtime.sleep(kLate, self->scope_.cancellation());
    if (self->work_ == work) self->hear(ended);
  }
  static task<void> stop_within(GuardedWork* self, uint64_t work, Duration most) {
    const Duration late = self->careless_ ? kLate : Duration::zero();
    co_await self->tools_->runtime.sleep(most + late, self->scope_.cancellation());
    if (self->work_ == work) self->stop();
  }
  void stop() {
    if (!std::exchange(working_, false)) return;
    election().work_stopped();
    stopped_.changed();
  }

  ClusterPlace& place_;
  bool careless_;
  std::optional<node::NodeTools> tools_;
  std::string leader_;                   // the last one
  std::optional<election::Epoch> term_;  // as reported
  bool working_ = false;
  uint64_t work_ = 0;
  std::optional<Instant> ended_by_;  // of a term that is over: the end of its last act
  runtime::Condition stopped_;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

// --- the ledger ------------------------------------------------------------------------------------------------------

namespace {

constexpr const char* kLeft = "ledger/left";
constexpr const char* kRight = "ledger/right";
constexpr Duration kWordEvery = Duration::millis(200);

// A ledger with two columns, in which each start of its process writes a line before it answers from it.
class Ledger final : public node::NodeRole, public cluster::Service {
 public:
  explicit Ledger(ClusterPlace& place) : place_(place) {}
  // An object that outlives its node has no router left.
  ~Ledger() override {
    if (connected_ && !place_.is("outlives-node")) tools_->port.router().disconnect(kType);
  }

  task<Status> prepare(const node::NodeTools& tools) override {
    tools_.emplace(tools);
    place_.watcher.prepares(place_);
    if (place_.is("routed-before-ready")) connect();
    cluster::Kv& disk = *tools.supplies.kv;
    const auto left = co_await disk.get(kLeft);
    const auto right = co_await disk.get(kRight);
    if (left && right && *left != *right) {
      place_.home.fail(fmt::format("I4: {} begins with a ledger whose columns do not agree", place_.name));
    }
    const std::string line = std::to_string(place_.starts);
    std::vector<cluster::KvChange> changes{{kLeft, line}, {kRight, line}};
    if (place_.is("prepares-in-two-steps")) {
      const Status first = co_await disk.put({changes.front()});
      static_cast<void>(first);
      changes.erase(changes.begin());
    }
    // A ledger that cannot be written stays as it is, in both columns.
    const Status written = co_await disk.put(std::move(changes));
    static_cast<void>(written);
    if (!connected_) connect();
    ready_ = true;
    co_return Status();
  }
  task<void> run(runtime::Cancellation* cancel) override {
    while (true) {
      const bool due = co_await tools_->runtime.sleep(kWordEvery, cancel);
      if (!due) co_return;
      tools_->members.for_each([&](const node::NodeMembers::Member& member) {
        if (member.name == place_.name || member.gone()) return;
        const cluster::PeerAddress peer{member.name, cluster::to_runtime(member.profile.endpoint)};
        tools_->port.links().send(peer, kType, wire::Priority::kNormal, place_.name, kWordEvery);
      });
    }
  }
  void on_message(link::Connection&, const wire::Inbound&) override {
    BW_PROBE("cluster world: a role is talked to");
    if (!ready_) place_.home.fail(fmt::format("I4: a message reached {} before it was ready for it", place_.name));
  }

 private:
  // The type for registers of jobs; these nodes keep none.
  static constexpr uint16_t kType = cluster::message_type::kJobs;
  void connect() {
    tools_->port.router().connect(kType, *this);
    connected_ = true;
  }

  ClusterPlace& place_;
  std::optional<node::NodeTools> tools_;
  bool connected_ = false;
  bool ready_ = false;
};

}  // namespace

// --- its place -------------------------------------------------------------------------------------------------------

ClusterPlace::ClusterPlace(Node& on, FaultyWorld& lives_in, Watcher told, std::size_t mistake)
    : NodePlace(on, lives_in), watcher(told), mistake_(mistake) {
  careless_disk = is("confirms-before-durable");
}

std::vector<std::shared_ptr<node::NodeRole>> ClusterPlace::make_roles(runtime::Runtime&) {
  std::vector<std::shared_ptr<node::NodeRole>> roles{std::make_shared<Ledger>(*this),
                                                     std::make_shared<GuardedWork>(*this)};
  roles_.assign(roles.begin(), roles.end());
  if (is("outlives-node")) kept_.push_back(roles.front());
  return roles;
}

void ClusterPlace::ended() {
  const auto lives = [](const auto& role) { return !role.expired(); };
  if (std::any_of(roles_.begin(), roles_.end(), lives)) home.fail(fmt::format("I9: a role of {} outlives it", name));
}

bool ClusterPlace::may_act(Instant boot) const { return work != nullptr && work->may_act(boot); }

bool ClusterPlace::is_misled() const {
  return work != nullptr && work->holds_term() && process->election().term().end == nullptr;
}

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

#include "sim/cluster/cluster_roles.h"

#include <algorithm>
#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/bytes.h"
#include "core/base/probe.h"
#include "core/runtime/event.h"

namespace bellwether::sim {

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

}  // namespace bellwether::sim

#include "sim/quorum/register_world.h"

#include <map>
#include <set>
#include <variant>

#include "cluster/register/acceptor.h"
#include "cluster/register/owner.h"
#include "core/base/check.h"
#include "core/base/probe.h"
#include "sim/group/group_network.h"
#include "sim/group/kernel_world.h"
#include "sim/group/record_disk.h"

namespace bellwether::sim {
namespace {

using registers::Place;

constexpr auto kRegisterMistakes = std::to_array<Mistake>({
    {"promise-forgotten", "an acceptor comes back without its promises"},
    {"answer-before-durable", "an answer leaves before it is on the disk"},
    {"disk-error-ignored", "a write that failed counts as done"},
    {"live-majority", "a majority of the running nodes is enough"},
    {"no-margin-for-drift", "clocks are assumed to run at the same rate"},
    {"lease-forgotten", "after a restart an acceptor grants the job immediately"},
    {"reads-unconfirmed", "a former owner reads its own copy of the job without asking the acceptors"},
    {"newest-not-learnt", "a new owner starts with its own copy of the value"},
    {"settles-unfinished", "an owner that releases the job reports an unfinished write as settled"},
});

std::string show_place(Place place) { return fmt::format("{}.{}", place.fence.value(), place.write); }

// The history of one register, checked as it happens. A register with one owner at a time has a known order of writes:
// that of their places. This checks that the order agrees with the time of the world.
class RegisterChecker {
 public:
  // The operations known to have taken effect when an operation began.
  struct Floor {
    Place place;
    Place origin;  // where the value was first written
  };
  explicit RegisterChecker(FaultyWorld& world) : world_(world) {}
  Floor floor() const { return floor_; }

  // A user's value goes out at a place; the adoption of an older one says the older one's.
  void attempted(Place place, const std::string& value) {
    const auto [known, first] = values_.try_emplace(place, value);
    if (!first && known->second != value) world_.fail("two values at " + show_place(place));
    if (!value.empty()) origins_.try_emplace(value, place);
  }
  // A write, read or take-over that was asked for at `from` has been answered with this place and value.
  void done(const std::string& what, bool is_write, const Floor& from, Place place, const std::string& value) {
    const auto known = values_.find(place);
    if (known == values_.end() || known->second != value) {
      return world_.fail(fmt::format("{} at {} has a value that was never written there", what, show_place(place)));
    }
    const auto found = origins_.find(value);
    const Place origin = found == origins_.end() ? Place() : found->second;
    if (place < from.place || (is_write && place == from.place)) {
      world_.fail(fmt::format("{} at {} although {} was done before it was asked for", what, show_place(place),
                              show_place(from.place)));
    }
    if (origin < from.origin) {
      world_.fail(fmt::format("{} returns the value of {} although that of {} was written before the request", what,
                              show_place(origin), show_place(from.origin)));
    }
    done_.insert(place);
    floor_.place = std::max(floor_.place, place);
    floor_.origin = std::max(floor_.origin, origin);
  }
  // An owner believes that every later owner sees this write.
  void settled(Place place) {
    if (place == Place() || done_.contains(place)) return;
    world_.fail(fmt::format("the write at {} counts as settled, but is not done", show_place(place)));
  }
  // I1: a fence has one owner.
  void taken(uint32_t who, registers::JobFence fence) {
    const bool first = fences_.try_emplace(fence.value(), who).second;
    if (!first) world_.fail(fmt::format("I1: a second owner under fence {}", fence.value()));
  }

 private:
  FaultyWorld& world_;
  std::map<Place, std::string> values_;
  std::map<std::string, Place> origins_;
  std::map<uint64_t, uint32_t> fences_;
  std::set<Place> done_;
  Floor floor_;
};

// One node: an acceptor with its disk, and a peer that wants to own the job.
struct RegisterNode : GroupMember {
  struct Operation {
    bool write = false;
    std::string value;
    RegisterChecker::Floor floor;
  };
  registers::MemberId id;
  std::optional<registers::JobAcceptor> acceptor;
  std::optional<registers::JobOwner> owner;
  std::vector<std::variant<registers::OwnerEvent, registers::AcceptorEvent>> missed;
  RecordDisk<registers::KeepJob> disk;
  RegisterChecker::Floor take_floor;
  std::map<uint64_t, Operation> operations;
  std::string known_value;  // that this node wrote or read last
  Place known_place;
};

struct RegisterWorld;
struct RegisterKernel {
  using World = RegisterWorld;
  using Member = RegisterNode;
  using Event = std::variant<registers::OwnerEvent, registers::AcceptorEvent>;
  static Event tick() { return registers::OwnerEvent(registers::JobTick{}); }
};

struct RegisterWorld final : KernelWorld<RegisterKernel> {
  explicit RegisterWorld(const RunSettings& settings) : KernelWorld(settings) {
    if (chance(0.3)) worst_drift_ = 0.1;
    lease_ = Duration::seconds(chance(0.5) ? 3 : 30);
    members_.resize(3 + 2 * prng().below(chance(0.3) ? 4 : 2));
    network_.emplace(timeline_, members_.size(), Duration::micros(50), Duration::millis(2));
    for (std::size_t i = 0; i < members_.size(); ++i) {
      RegisterNode& n = members_[i];
      n.index = static_cast<uint32_t>(i);
      n.id = registers::MemberId(i + 1);
      n.clock.base_local = Instant::from_ns(prng().between(0, Duration::hours(1).ns()));
      n.clock.rate = drawn_rate();
    }
  }
  bool is(MistakeIn<kRegisterMistakes> mistake) const { return makes(mistake.number); }
  RegisterNode* of(registers::MemberId id) {
    return id.value() == 0 || id.value() > members_.size() ? nullptr : &members_[id.value() - 1];
  }

  // --- nodes
  void start(RegisterNode& n) {
    if (n.up) return;
    begin_life(n);
    const double drift = is("no-margin-for-drift") ? 0 : worst_drift_;
    if (is("promise-forgotten")) n.disk.lose();
    n.acceptor.emplace(registers::JobAcceptorConfig{.drift = drift});
    std::vector<registers::RegisterRecord> kept;
    if (!n.disk.empty()) kept.push_back(n.disk.newest().record);
    deliver(n, registers::AcceptorEvent(registers::AcceptorStart{true, std::move(kept)}));
    if (is("lease-forgotten")) n.clock.base_local += lease_ * 2;
    registers::JobOwnerConfig config;
    config.key = "job";
    config.self = n.id;
    for (const RegisterNode& peer : members_) {
      if (!is("live-majority") || &peer == &n || (peer.up && network_->is_open(n.index, peer.index))) {
        config.peers.push_back(peer.id);
      }
    }
    config.lease = lease_;
    config.renew_every = lease_ / 3;
    config.retry = lease_ / 30;
    config.drift = drift;
    n.owner.emplace(std::move(config), prng().next());
    n.take_floor = checker_.floor();
    to_owner(n, registers::TakeJob{});
    use(n, n.life);
  }
  bool crash(RegisterNode& n) {
    if (!end_life(n, false)) return false;
    n.operations.clear();
    after(draw(Duration::millis(1), lease_), [this, &n] { start(n); });
    return true;
  }
  void to_owner(RegisterNode& n, const registers::OwnerEvent& event) { deliver(n, event); }
  bool leads(const RegisterNode& n) const { return n.owner && n.owner->owns(n.clock.local(now())); }

  void step(RegisterNode& n, const RegisterKernel::Event& event) {
    ++events_;
    const auto carry_out = [&](const auto& effects) {
      for (const auto& effect : effects) {
        std::visit(
            [&](const auto& one) {
              expect_evidence(one);
              on(n, one);
            },
            effect);
      }
    };
    if (const auto* to_acceptor = std::get_if<registers::AcceptorEvent>(&event)) {
      registers::AcceptorEffects effects;
      n.acceptor->step(n.clock.local(now()), *to_acceptor, effects);
      return carry_out(effects);
    }
    registers::OwnerEffects effects;
    n.owner->step(n.clock.local(now()), std::get<registers::OwnerEvent>(event), effects);
    carry_out(effects);
    set_wake(n, n.owner->wake());
  }

  // --- the owner
  void on(RegisterNode& from, const registers::SendAsk& sending) {
    if (const auto* accept = std::get_if<registers::Accept>(&sending.ask.body)) {
      checker_.attempted({sending.ask.claim.fence, accept->write}, accept->value);
    }
    registers::Ask ask = sending.ask;
    auto* const release = std::get_if<registers::Release>(&ask.body);
    if (release != nullptr && is("settles-unfinished")) ++release->write;
    send(from, *of(sending.to), registers::AcceptorEvent(registers::Asked{from.id, std::move(ask)}));
  }
  void on(RegisterNode& n, const registers::JobTaken& taken) {
    if (tracing()) {
      say(n, fmt::format("owns the job, fence {}, value '{}'", taken.fence.value(), taken.value));
    }
    ++owners_;
    timeline_.record(taken.fence.value() * 64 + n.index);
    checker_.taken(n.index, taken.fence);
    checker_.done("a take-over", false, n.take_floor, taken.place, taken.value);
    n.known_place = taken.place;
    n.known_value = taken.value;
    expect_sole_owner(n);
  }
  void on(RegisterNode& n, const registers::JobRenewed&) { expect_sole_owner(n); }
  void on(RegisterNode& n, const registers::JobWritten& written) {
    const auto operation = n.operations.find(written.ticket);
    if (operation != n.operations.end()) finished(n, written.ticket, written.place, operation->second.value);
  }
  void on(RegisterNode& n, const registers::JobRead& read) { finished(n, read.ticket, read.place, read.value); }
  void on(RegisterNode& n, const registers::JobFailed& failed) { n.operations.erase(failed.ticket); }
  void on(RegisterNode& n, const registers::JobLost& lost) {
    say(n, fmt::format("loses fence {}: {}", lost.fence.value(), lost.why));
    n.take_floor = checker_.floor();
  }
  void on(RegisterNode&, const registers::JobBusy&) {}
  void finished(RegisterNode& n, uint64_t ticket, Place place, const std::string& value) {
    const auto operation = n.operations.find(ticket);
    if (operation == n.operations.end()) return;
    const bool write = operation->second.write;
    ++(write ? writes_ : reads_);
    checker_.done(write ? "a write" : "a read", write, operation->second.floor, place, value);
    n.known_place = place;
    n.known_value = value;
    n.operations.erase(operation);
  }
  void expect_sole_owner(const RegisterNode& n) {
    for (const RegisterNode& other : members_) {
      if (&other == &n || !other.up || !leads(other)) continue;
      fail(fmt::format("I2: nodes {} and {} hold the job at once", n.id.value(), other.id.value()));
    }
  }
  // The owner writes or reads the job.
  void use(RegisterNode& n, uint32_t life) {
    if (!n.up || n.life != life) return;
    if (!n.paused && leads(n)) {
      const uint64_t ticket = ++ticket_;
      if (chance(0.5)) {
        const std::string value = fmt::format("w{}", ticket);
        n.operations[ticket] = {true, value, checker_.floor()};
        to_owner(n, registers::WriteJob{ticket, value});
      } else {
        n.operations[ticket] = {false, {}, checker_.floor()};
        to_owner(n, registers::ReadJob{ticket});
      }
      if (prng().below(64) == 0) {
        to_owner(n, registers::GiveJobBack{});
        n.take_floor = checker_.floor();
        to_owner(n, registers::TakeJob{});
      }
    }
    if (is("reads-unconfirmed") && n.known_place != Place()) {
      n.operations[++ticket_] = {false, {}, checker_.floor()};
      finished(n, ticket_, n.known_place, n.known_value);
    }
    after(draw(Duration::millis(1), lease_ / 6), [this, &n, life] { use(n, life); });
  }

  // --- the acceptor, its wire and its disk
  void on(RegisterNode& from, const registers::Reply& reply) {
    registers::Answer answer = reply.answer;
    if (is("newest-not-learnt")) {
      answer.accepted = {};
      answer.value.clear();
    }
    send(from, *of(reply.to), registers::OwnerEvent(registers::JobAnswered{from.id, std::move(answer)}));
  }
  void on(RegisterNode& from, const registers::TellFreed& freed) {
    send(from, *of(freed.to), registers::OwnerEvent(registers::JobFreed{}));
  }
  void on(RegisterNode&, const registers::DropJob&) { check(false, "nobody drops the job"); }
  void on(RegisterNode& n, const registers::KeepJob& wanted) {
    if (!wanted.record.unsettled) checker_.settled(wanted.record.accepted);
    if (is("answer-before-durable")) {
      after(Duration::micros(1), [this, &n, life = n.life, number = wanted.number] {
        if (n.life == life) deliver(n, registers::AcceptorEvent(registers::JobKept{number, true}));
      });
    }
    const Duration usually = draw(Duration::micros(100), Duration::millis(5));
    n.disk.write(timeline_, wanted, usually, [this, &n](const registers::KeepJob& written, bool ok) {
      if (!ok) BW_PROBE("register world: a disk fails");
      deliver(n, registers::AcceptorEvent(registers::JobKept{written.number, ok || is("disk-error-ignored")}));
    });
  }
  void send(const RegisterNode& from, RegisterNode& to, RegisterKernel::Event event) {
    network_->send(from.index, to.index, [this, &to, event = std::move(event)] { deliver(to, event); });
  }

  // --- faults
  void break_network(void (GroupNetwork::*strike)(const GroupNetwork::Extent&)) {
    ((*network_).*
     strike)({static_cast<uint32_t>(members_.size()), draw(lease_ / 8, lease_ * 2), lease_ / 30, lease_ / 2});
  }
  bool crash_all() {
    for (RegisterNode& one : members_) crash(one);
    return true;
  }
  bool break_disk(RegisterNode& n) {
    if (chance(0.5)) {
      n.disk.set_failing(prng().unit());
    } else {
      n.disk.set_slow(lease_);
    }
    after(draw(lease_ / 8, lease_ * 2), [&n] { n.disk.mend(); });
    return true;
  }
  void make_whole() override {
    network_->mend();
    for (RegisterNode& n : members_) {
      n.disk.mend();
      resume(n);
      start(n);
    }
  }

  // --- phases
  Pace pace() const override {
    return {
        .least_faults = 4, .most_faults = 32, .before = lease_ / 2, .gap = lease_, .after = lease_ * 3, .rest = lease_};
  }
  void begin() override {
    for (RegisterNode& n : members_) {
      after(draw(Duration::zero(), lease_ / 4), [this, &n] { start(n); });
    }
  }
  void expect_recovery() override {
    const Duration at_most = lease_ * 5;
    run_until(now() + at_most, [this] { return leader() != nullptr; });
    if (!holds()) return;
    if (leader() == nullptr) {
      return fail("I13: all faults are repaired, but no node owns the job after " + format_duration(at_most));
    }
    const uint64_t writes = writes_;
    if (run_for(lease_ * 3) && writes_ == writes) fail("I13: all faults are repaired, but no write succeeds");
  }
  std::vector<Run::Count> counts() const override {
    return {{"owners", owners_}, {"writes", writes_}, {"reads", reads_}};
  }

  Duration lease_;
  std::optional<GroupNetwork> network_;
  RegisterChecker checker_{*this};
  uint64_t ticket_ = 0;
  uint64_t owners_ = 0;
  uint64_t writes_ = 0;
  uint64_t reads_ = 0;
};

constexpr auto kRegisterFaults =
    joined(kNetworkFaultsOf<RegisterWorld>,
           std::to_array<Fault<RegisterWorld>>({
               {12, "a node crashes", [](RegisterWorld& w) { return w.crash(w.any()); }},
               {6, "all nodes crash: the power fails", [](RegisterWorld& w) { return w.crash_all(); }},
               {6, "a node is paused",
                [](RegisterWorld& w) { return w.pause_for(w.any(), false, w.draw(w.lease_ / 8, w.lease_ * 2)); }},
               {6, "a disk is slow or fails", [](RegisterWorld& w) { return w.break_disk(w.any()); }},
               {6, "a clock runs at another rate", [](RegisterWorld& w) { return w.let_clock_drift(w.any()); }},
           }));

}  // namespace

WorldRow register_world() {
  return world_row<RegisterWorld, kRegisterMistakes, kRegisterFaults>("register", "the register of a job");
}

}  // namespace bellwether::sim

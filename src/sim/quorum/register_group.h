// The world of registers (register_world.cc): its nodes, their kernels, wires and disks, and the mistakes it can make.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "cluster/register/acceptor.h"
#include "cluster/register/owner.h"
#include "cluster/register/set_change.h"
#include "cluster/register/small.h"
#include "core/base/check.h"
#include "sim/group/group_network.h"
#include "sim/group/group_work.h"
#include "sim/group/kernel_world.h"
#include "sim/harness/faulty_world.h"

namespace bellwether::sim {

// A simulated node that keeps registers, owns them and changes the set of replicas: its state, and what it says.

// The history of one simulated register, checked as it happens, and the rules that hold for it.

using registers::Place;

inline std::string show_place(Place place) { return fmt::format("{}.{}", place.fence.value(), place.write); }

// A register with one owner at a time has a known order of writes: that of their places. This checks that the order
// agrees with the time of the world.
class RegisterChecker {
 public:
  // The operations known to have taken effect when an operation began.
  struct Floor {
    Place place;
    Place origin;  // where the value was first written
  };
  RegisterChecker(FaultyWorld& world, std::string key) : world_(world), key_(std::move(key)) {}
  Floor floor() const { return floor_; }

  // A user's value goes out at a place; the adoption of an older one says the older one's.
  void attempted(Place place, const std::string& value) {
    const auto [known, first] = values_.try_emplace(place, value);
    if (!first && known->second != value) fail("two values at " + show_place(place));
    if (!value.empty()) origins_.try_emplace(value, place);
  }
  // A write, read or take-over that was asked for at `from` has been answered with this place and value.
  void done(const std::string& what, bool is_write, const Floor& from, Place place, const std::string& value) {
    const auto known = values_.find(place);
    if (known == values_.end() || known->second != value) {
      return fail(fmt::format("{} at {} has a value that was never written there", what, show_place(place)));
    }
    const auto found = origins_.find(value);
    const Place origin = found == origins_.end() ? Place() : found->second;
    if (place < from.place || (is_write && place == from.place)) {
      fail(fmt::format("{} at {} although {} was done before it was asked for", what, show_place(place),
                       show_place(from.place)));
    }
    if (origin < from.origin) {
      fail(fmt::format("{} returns the value of {} although that of {} was written before the request", what,
                       show_place(origin), show_place(from.origin)));
    }
    done_.insert(place);
    floor_.place = std::max(floor_.place, place);
    floor_.origin = std::max(floor_.origin, origin);
  }
  // An owner believes that every later owner sees this write.
  void settled(Place place) {
    if (place == Place() || done_.contains(place)) return;
    fail(fmt::format("the write at {} counts as settled, but is not done", show_place(place)));
  }
  // I1: a fence has one owner.
  void taken(uint32_t who, registers::JobFence fence) {
    const bool first = fences_.try_emplace(fence.value(), who).second;
    if (!first) fail(fmt::format("I1: a second owner under fence {}", fence.value()));
  }

 private:
  void fail(const std::string& rule) { world_.fail(fmt::format("{} (register '{}')", rule, key_)); }

  FaultyWorld& world_;
  std::string key_;
  std::map<Place, std::string> values_;
  std::map<std::string, Place> origins_;
  std::map<uint64_t, uint32_t> fences_;
  std::set<Place> done_;
  Floor floor_;
};

// The messages of registers, and the requests of replicas with their answers.
struct RegisterWire {
  uint32_t from = 0;
  uint64_t set = 0;     // number of the sender's set of replicas
  uint64_t number = 0;  // of a request; its answer repeats it
  std::variant<registers::Ask, registers::Answer, registers::Freed, registers::SetIs, registers::ReadRecords,
               registers::Records, registers::ReadSet, registers::SetState>
      body;
};

// What a node writes to its disk.
struct HasRead {
  uint64_t set = 0;
};
using RegisterRow = std::variant<registers::KeepJob, registers::ReplicaSet, HasRead>;

struct RegisterWritten {
  RegisterRow row;
  bool ok = true;
};
struct RegisterWish {
  std::string key;
  registers::OwnerEvent event;
};
struct RegisterTick {};
using RegisterEvent =
    std::variant<RegisterTick, RegisterWire, RegisterWish, RegisterWritten, registers::JobKept, registers::SetWish>;

struct RegisterNode : GroupMember {
  struct Operation {
    bool write = false;
    std::string value;
    RegisterChecker::Floor floor;
  };
  // One register that this node owns, or wants to own.
  struct Ownership {
    registers::JobOwner owner;
    RegisterChecker::Floor take_floor;
    std::map<uint64_t, Operation> operations = {};
    std::string known_value = {};  // that this node wrote or read last
    Place known_place = {};
    std::map<registers::MemberId, registers::Answer> promised = {};  // a mistake: of the last takeover
  };
  // A page of another's records on its way to the disk.
  struct Page {
    std::string source;
    std::string last;
    bool more = false;
    bool answered = false;
  };

  registers::MemberId id;
  std::string name;
  bool lost = false;  // for good, with its disk
  std::optional<registers::JobAcceptor> acceptor;
  std::map<std::string, Ownership> owned;  // by key
  std::vector<RegisterEvent> missed;
  RecordDisk<RegisterRow> disk;

  registers::ReplicaSet set;                      // the newest that it knows
  registers::ReplicaSet kept;                     // and on its disk
  uint64_t read = 0;                              // number of a set; it has read everything for that one, on its disk
  std::map<std::string, std::string> read_after;  // by the replica that it reads from
  std::set<std::string> read_from;                // everything
  std::map<uint64_t, Page> pages;

  std::optional<registers::SetChange> change;
  bool change_is_over = false;

  bool reads() const {
    return set.joint() && read < set.number && std::binary_search(set.next.begin(), set.next.end(), name);
  }
};

using registers::kSetKey;
using registers::ReplicaSet;

inline constexpr auto kRegisterMistakes = std::to_array<Mistake>({
    {"promise-forgotten", "an acceptor comes back without its promises"},
    {.name = "answer-before-durable", .what = "an answer leaves before it is on the disk", .seed = 194},
    {"disk-error-ignored", "a write that failed counts as done"},
    {"live-majority", "a majority of the running nodes is enough"},
    {.name = "no-margin-for-drift", .what = "clocks are assumed to run at the same rate", .seed = 394},
    {"lease-forgotten", "after a restart an acceptor grants the job immediately"},
    {"reads-unconfirmed", "a former owner reads its own copy of the job without asking the acceptors"},
    {"newest-not-learnt", "a new owner starts with its own copy of the value"},
    {"settles-unfinished", "an owner that releases the job reports an unfinished write as settled"},
    {.name = "old-sets-served", .what = "an owner decides with the old replicas while they change", .seed = 2661},
    {"step-2-early", "the second step of a change is written before a majority of the next replicas has read"},
    {.name = "reads-too-few", .what = "a replica has read when one other has answered it", .seed = 521},
    {.name = "promises-unread", .what = "a replica reads values without promises", .seed = 2426},
    {"leases-unread", "a replica grants a job that it has read although it is leased"},
    {.name = "promises-outlive-set",
     .what = "a takeover counts what was promised and learnt under a former set of replicas",
     .seed = 1526},
    {"set-told-early", "a step is told before the register has it"},
    {"set-forgotten", "after a restart a replica knows only the set of its settings"},
});

inline constexpr const char* kJobKey = "job";

struct RegisterWorld;
struct RegisterKernel {
  using World = RegisterWorld;
  using Member = RegisterNode;
  using Event = RegisterEvent;
  static Event tick() { return RegisterTick{}; }
};

struct RegisterWorld final : KernelWorld<RegisterKernel> {
  explicit RegisterWorld(const RunSettings& settings) : KernelWorld(settings) {
    if (chance(0.3)) worst_drift_ = 0.1;
    wild_clocks_ = chance(0.3);
    if (wild_clocks_) worst_drift_ = 0.5;
    fences_only_ = wild_clocks_ && chance(0.5);
    lease_ = Duration::seconds(chance(0.5) ? 3 : 30);
    const std::size_t first = 3 + 2 * prng().below(chance(0.3) ? 4 : 2);
    // Some of the worlds have replicas that change.
    changes_ = chance(0.5);
    const std::size_t replicas = changes_ ? 1 + prng().below(5) : first;
    members_.resize(changes_ ? replicas + 2 + prng().below(3) : first);
    slow_ = changes_ && chance(0.5);
    network_.emplace(timeline_, members_.size(), Duration::micros(50), slow_ ? lease_ / 20 : Duration::millis(2));
    for (std::size_t i = 0; i < members_.size(); ++i) {
      RegisterNode& n = members_[i];
      n.index = static_cast<uint32_t>(i);
      n.id = registers::MemberId(i + 1);
      n.name = fmt::format("n{:02}", i + 1);
      if (i < replicas) newest_.names.push_back(n.name);
      n.clock.base_local = Instant::from_ns(prng().between(0, Duration::hours(1).ns()));
      n.clock.rate = drawn_rate();
    }
    sets_[0] = newest_;
  }
  bool is(MistakeIn<kRegisterMistakes> mistake) const { return makes(mistake.number); }
  RegisterNode* of(registers::MemberId id) {
    return id.value() == 0 || id.value() > members_.size() ? nullptr : &members_[id.value() - 1];
  }
  RegisterNode& of(const std::string& name) {
    return *std::find_if(members_.begin(), members_.end(), [&](const RegisterNode& n) { return n.name == name; });
  }
  RegisterChecker& checker(const std::string& key) { return key == kJobKey ? job_checker_ : set_checker_; }
  static bool has(const std::vector<std::string>& names, const RegisterNode& n) {
    return std::find(names.begin(), names.end(), n.name) != names.end();
  }

  // --- nodes
  void start(RegisterNode& n);
  bool crash(RegisterNode& n);
  double drift() const { return wild_clocks_ ? 0.01 : is("no-margin-for-drift") ? 0 : worst_drift_; }
  bool leads(const RegisterNode& n, const std::string& key = kJobKey) const;
  Instant wake_of(const RegisterNode& n) const;

  void step(RegisterNode& n, const RegisterEvent& event);
  template <class Effects>
  void carry_out(RegisterNode& n, const std::string& key, const Effects& effects) {
    for (const auto& effect : effects) {
      std::visit(
          [&](const auto& one) {
            expect_evidence(one);
            if constexpr (requires { on(n, key, one); }) {
              on(n, key, one);
            } else {
              on(n, one);
            }
          },
          effect);
    }
  }
  void to_owner(RegisterNode& n, const std::string& key, const registers::OwnerEvent& event);
  void to_acceptor(RegisterNode& n, const registers::AcceptorEvent& event);
  void to_change(RegisterNode& n, const registers::SetEvent& event);

  // --- messages
  void send(const RegisterNode& from, RegisterNode& to, decltype(RegisterWire::body) body, uint64_t number = 0);
  void receive(RegisterNode& n, const RegisterWire& wire);

  // --- the set of replicas
  registers::ReplicaIds ids(const RegisterNode& n);
  void take_over(RegisterNode& n, const ReplicaSet& set);
  static std::string show(const ReplicaSet& set);
  // The register has it.
  void decided(const ReplicaSet& set);
  void on(RegisterNode& n, const registers::HaveSet& have);
  void on(RegisterNode& n, const registers::WriteSet& write);
  void on(RegisterNode& n, const registers::AskSetState& ask);
  void on(RegisterNode& n, const registers::SetDone& done);
  void on(RegisterNode& n, const registers::SetFailed& failed);
  void end_change(RegisterNode& n);

  // --- reading from other replicas
  void forget_pages(RegisterNode& n);
  void read_on(RegisterNode& n, uint32_t life, uint64_t number);
  void read_some(RegisterNode& n);
  void tell_records(RegisterNode& n, RegisterNode& to, const registers::ReadRecords& request, uint64_t number);
  void read_page(RegisterNode& n, const RegisterWire& wire, const registers::Records& records);
  void on(RegisterNode& n, const registers::PageKept& kept);

  // --- the owner
  void own(RegisterNode& n, const std::string& key);
  void on(RegisterNode& from, const registers::SendAsk& sending);
  void on(RegisterNode& n, const std::string& key, const registers::JobTaken& taken);
  void on(RegisterNode& n, const std::string& key, const registers::JobRenewed&) { expect_sole_owner(n, key); }
  void on(RegisterNode& n, const std::string& key, const registers::JobWritten& written);
  void on(RegisterNode& n, const std::string& key, const registers::JobRead& read);
  void on(RegisterNode& n, const std::string& key, const registers::JobFailed& failed);
  void on(RegisterNode& n, const std::string& key, const registers::JobLost& lost);
  void on(RegisterNode&, const registers::JobBusy&) {}
  void finished(RegisterNode& n, const std::string& key, uint64_t ticket, Place place, const std::string& value);
  void expect_sole_owner(const RegisterNode& n, const std::string& key);
  // The owner writes or reads the job.
  void use(RegisterNode& n, uint32_t life);

  // --- the acceptor and the disk
  void on(RegisterNode& from, const registers::Reply& reply);
  void on(RegisterNode& from, const registers::TellFreed& freed);
  void on(RegisterNode&, const registers::DropJob&) { check(false, "nobody drops the job"); }
  void on(RegisterNode& n, const registers::KeepJob& wanted);
  void keep(RegisterNode& n, const RegisterRow& row);
  void on_written(RegisterNode& n, const RegisterWritten& written);

  // --- faults
  void break_network(void (GroupNetwork::*strike)(const GroupNetwork::Extent&));
  bool crash_all();
  bool break_disk(RegisterNode& n);
  // An operator's wish: any that can come true without the nodes that are lost.
  bool change_replicas(RegisterNode& n);
  // A step of a change is the newest set, and a node knows it. Else the next change finds and finishes it.
  bool goes_on() const;
  bool is_changing() const;
  bool lives(const std::vector<std::string>& names, const RegisterNode* without);
  // A machine with its disk. It never comes back under its name.
  bool lose(RegisterNode& n);
  void make_whole() override;

  // --- phases
  Pace pace() const override;
  void begin() override;
  void expect_recovery() override;
  void tell_states() override;
  std::vector<Run::Count> counts() const override;

  Duration lease_;
  std::optional<GroupNetwork> network_;
  RegisterChecker job_checker_{*this, kJobKey};
  RegisterChecker set_checker_{*this, kSetKey};
  bool wild_clocks_ = false;  // they break what is declared: two may hold a register, but all else holds by the fences
  bool fences_only_ = false;  // no replica waits for the end of a lease
  bool changes_ = false;
  bool repaired_ = false;
  bool slow_ = false;                    // a change takes as long as a few writes
  std::map<uint64_t, ReplicaSet> sets_;  // that the register held, by number
  ReplicaSet newest_;
  uint64_t settled_ = 0;             // the newest that its maker has called done
  std::vector<ReplicaSet> pending_;  // newer ones that were to be written
  uint64_t ticket_ = 0;
  uint64_t owners_ = 0;
  uint64_t writes_ = 0;
  uint64_t reads_ = 0;
  uint64_t changes_made_ = 0;
};

}  // namespace bellwether::sim

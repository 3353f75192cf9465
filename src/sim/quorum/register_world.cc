#include "sim/quorum/register_world.h"

#include <variant>

#include "cluster/register/codec.h"
#include "core/base/check.h"
#include "core/base/overloaded.h"
#include "core/base/probe.h"
#include "sim/group/group_network.h"
#include "sim/group/kernel_world.h"
#include "sim/quorum/register_node.h"

namespace bellwether::sim {
namespace {

using registers::kSetKey;
using registers::ReplicaSet;

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
    {"old-sets-served", "an owner decides with the old replicas while they change"},
    {"step-2-early", "the second step of a change is written before a majority of the next replicas has read"},
    {"reads-too-few", "a replica has read when one other has answered it"},
    {"reads-unaware", "a replica reads from one that does not know the change"},
    {"promises-unread", "a replica reads values without promises"},
    {"leases-unread", "a replica grants a job that it has read although it is leased"},
    {"promises-outlive-set", "a takeover counts what was promised and learnt under a former set of replicas"},
    {"set-told-early", "a step is told before the register has it"},
    {"set-not-durable", "a replica counts as one that knows a set before it is on its disk"},
});

constexpr const char* kJobKey = "job";

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
    lease_ = Duration::seconds(chance(0.5) ? 3 : 30);
    const std::size_t first = 3 + 2 * prng().below(chance(0.3) ? 4 : 2);
    // Some of the worlds have replicas that change.
    changes_ = chance(0.5);
    const std::size_t replicas = changes_ ? 1 + prng().below(5) : first;
    members_.resize(changes_ ? replicas + 2 + prng().below(3) : first);
    network_.emplace(timeline_, members_.size(), Duration::micros(50), Duration::millis(2));
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
  void start(RegisterNode& n) {
    if (n.up || n.lost) return;
    begin_life(n);
    if (is("promise-forgotten")) n.disk.lose();
    n.kept = sets_[0];
    n.read = 0;
    std::map<std::string, registers::RegisterRecord> kept;
    for (const RegisterRow& row : n.disk.kept()) {
      std::visit(
          Overloaded{[&](const registers::KeepJob& one) { kept[one.record.key] = one.record; },
                     [&](const ReplicaSet& set) { n.kept = set; }, [&](const HasRead& read) { n.read = read.set; }},
          row);
    }
    n.set = n.kept;
    n.acceptor.emplace(registers::JobAcceptorConfig{.drift = drift()});
    registers::AcceptorStart start;
    for (auto& [key, record] : kept) start.records.push_back(std::move(record));
    to_acceptor(n, std::move(start));
    if (is("lease-forgotten")) n.clock.base_local += lease_ * 2;
    own(n, kJobKey);
    read_on(n, n.life, n.set.number);
    use(n, n.life);
    set_wake(n, wake_of(n));
  }
  bool crash(RegisterNode& n) {
    if (!end_life(n, false)) return false;
    n.owned.clear();
    n.change.reset();
    n.change_is_over = false;
    forget_pages(n);
    after(draw(Duration::millis(1), lease_), [this, &n] { start(n); });
    return true;
  }
  double drift() const { return is("no-margin-for-drift") ? 0 : worst_drift_; }
  bool leads(const RegisterNode& n, const std::string& key = kJobKey) const {
    const auto owned = n.owned.find(key);
    return owned != n.owned.end() && owned->second.owner.owns(n.clock.local(now()));
  }
  Instant wake_of(const RegisterNode& n) const {
    Instant wake = n.change ? n.change->wake() : Instant::never();
    for (const auto& [key, owned] : n.owned) wake = std::min(wake, owned.owner.wake());
    return wake;
  }

  void step(RegisterNode& n, const RegisterEvent& event) {
    ++events_;
    std::visit(Overloaded{
                   [&](const RegisterTick&) {
                     for (auto& [key, owned] : n.owned) to_owner(n, key, registers::JobTick{});
                     if (n.change) to_change(n, registers::SetTick{});
                   },
                   [&](const RegisterWire& wire) { receive(n, wire); },
                   [&](const RegisterWish& wish) { to_owner(n, wish.key, wish.event); },
                   [&](const RegisterWritten& written) { on_written(n, written); },
                   [&](const registers::JobKept& kept) { to_acceptor(n, kept); },
                   [&](const registers::SetWish& wish) {
                     if (n.change) return;
                     n.change.emplace(registers::SetChangeConfig{n.set, wish, lease_ / 30});
                     own(n, kSetKey);
                   },
               },
               event);
    if (n.change_is_over) {
      n.change_is_over = false;
      n.change.reset();
      n.owned.erase(kSetKey);
    }
    set_wake(n, wake_of(n));
  }
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
  void to_owner(RegisterNode& n, const std::string& key, const registers::OwnerEvent& event) {
    const auto owned = n.owned.find(key);
    if (owned == n.owned.end()) return;
    registers::OwnerEffects effects;
    owned->second.owner.step(n.clock.local(now()), event, effects);
    carry_out(n, key, effects);
  }
  void to_acceptor(RegisterNode& n, const registers::AcceptorEvent& event) {
    registers::AcceptorEffects effects;
    n.acceptor->step(n.clock.local(now()), event, effects);
    carry_out(n, "", effects);
  }
  void to_change(RegisterNode& n, const registers::SetEvent& event) {
    registers::SetEffects effects;
    n.change->step(n.clock.local(now()), event, effects);
    carry_out(n, "", effects);
  }

  // --- messages
  void send(const RegisterNode& from, RegisterNode& to, decltype(RegisterWire::body) body, uint64_t number = 0) {
    network_->send(
        from.index, to.index,
        [this, &to, wire = RegisterWire{from.index, from.set.number, number, std::move(body)}] { deliver(to, wire); });
  }
  void receive(RegisterNode& n, const RegisterWire& wire) {
    RegisterNode& from = members_[wire.from];
    if (const auto* news = std::get_if<registers::SetIs>(&wire.body)) {
      if (news->set.number > n.set.number) return take_over(n, news->set);
      if (news->set.number < n.set.number) send(n, from, registers::SetIs{n.set});
      return;
    }
    const bool unaware = is("reads-unaware") && std::holds_alternative<registers::ReadRecords>(wire.body);
    if (wire.set != n.set.number && !unaware) send(n, from, registers::SetIs{n.set});
    const bool is_old = wire.set < n.set.number;
    std::visit(Overloaded{
                   [&](const registers::Ask& ask) {
                     if (!is_old || is("old-sets-served")) to_acceptor(n, registers::Asked{from.id, ask});
                   },
                   [&](const registers::Answer& answer) {
                     to_owner(n, answer.key, registers::JobAnswered{from.id, answer});
                   },
                   [&](const registers::Freed& freed) { to_owner(n, freed.key, registers::JobFreed{}); },
                   [](const registers::SetIs&) {},
                   [&](const registers::ReadRecords& request) {
                     if (unaware || (!is_old && n.kept.number >= wire.set)) tell_records(n, from, request, wire.number);
                   },
                   [&](const registers::Records& records) { read_page(n, wire, records); },
                   [&](const registers::ReadSet&) {
                     const bool early = is("set-not-durable");
                     const ReplicaSet& known = early ? n.set : n.kept;
                     send(n, from, registers::SetState{known, is("step-2-early") ? known.number : n.read});
                   },
                   [&](const registers::SetState& state) {
                     if (n.change) to_change(n, registers::SetStateIs{from.name, state});
                   },
               },
               wire.body);
  }

  // --- the set of replicas
  registers::ReplicaIds ids(const RegisterNode& n) {
    const auto of_names = [&](const std::vector<std::string>& names) {
      std::vector<registers::MemberId> ids;
      for (const std::string& name : names) {
        const RegisterNode& peer = of(name);
        const bool lives = peer.up && network_->is_open(n.index, peer.index);
        if (!is("live-majority") || &peer == &n || lives) ids.push_back(peer.id);
      }
      if (ids.empty() && !names.empty()) ids.push_back(n.id);
      return ids;
    };
    return {of_names(n.set.names), of_names(n.set.next)};
  }
  void take_over(RegisterNode& n, const ReplicaSet& set) {
    if (tracing()) say(n, "knows " + show(set));
    n.set = set;
    forget_pages(n);
    keep(n, set);
    for (auto& [key, owned] : n.owned) to_owner(n, key, registers::ReplicasAre{ids(n)});
    read_on(n, n.life, set.number);
  }
  static std::string show(const ReplicaSet& set) {
    std::string text = fmt::format("set {}:", set.number);
    for (const std::string& name : set.names) text += " " + name;
    if (set.joint()) text += " ->";
    for (const std::string& name : set.next) text += " " + name;
    return text;
  }
  // The register has it.
  void decided(const ReplicaSet& set) {
    const auto [known, first] = sets_.try_emplace(set.number, set);
    if (known->second != set) fail("two sets of replicas: " + show(known->second) + ", and " + show(set));
    if (first) ++changes_made_;
    if (set.number <= newest_.number) return;
    newest_ = set;
    std::erase_if(pending_, [&](const ReplicaSet& one) { return one.number <= set.number; });
  }
  void on(RegisterNode& n, const registers::HaveSet& have) {
    decided(have.set);
    if (have.set.number > n.set.number) take_over(n, have.set);
  }
  void on(RegisterNode& n, const registers::WriteSet& write) {
    pending_.push_back(write.set);
    const uint64_t ticket = ++ticket_;
    const std::string value = message::encode(write.set);
    n.owned.at(kSetKey).operations[ticket] = {true, value, set_checker_.floor()};
    if (is("set-told-early")) take_over(n, write.set);
    to_owner(n, kSetKey, registers::WriteJob{ticket, value});
  }
  void on(RegisterNode& n, const registers::AskSetState& ask) {
    if (ask.to == n.name) {
      return to_change(n, registers::SetStateIs{n.name, {is("set-not-durable") ? n.set : n.kept, n.read}});
    }
    send(n, of(ask.to), registers::SetIs{ask.set});
    send(n, of(ask.to), registers::ReadSet{});
  }
  void on(RegisterNode& n, const registers::SetDone& done) {
    settled_ = std::max(settled_, done.set.number);
    end_change(n);
  }
  void on(RegisterNode& n, const registers::SetFailed& failed) {
    say(n, failed.why.message);
    if (failed.why.code == Errc::kProtocol) fail("the register of the replicas went back: " + failed.why.message);
    end_change(n);
  }
  void end_change(RegisterNode& n) {
    to_owner(n, kSetKey, registers::GiveJobBack{});
    n.change_is_over = true;
  }

  // --- reading from other replicas
  void forget_pages(RegisterNode& n) {
    n.read_after.clear();
    n.read_from.clear();
    n.pages.clear();
  }
  void read_on(RegisterNode& n, uint32_t life, uint64_t number) {
    if (!n.up || n.life != life || n.set.number != number || !n.reads()) return;
    if (!n.paused) read_some(n);
    after(lease_ / 30, [this, &n, life, number] { read_on(n, life, number); });
  }
  void read_some(RegisterNode& n) {
    if (!n.reads() || n.kept.number != n.set.number) return;
    const auto is_read = [&](const std::string& name) { return name == n.name || n.read_from.contains(name); };
    const bool enough =
        is("reads-too-few") ? !n.read_from.empty() || has(n.set.names, n) : ReplicaSet::most(n.set.names, is_read);
    if (enough) return keep(n, HasRead{n.set.number});
    for (const std::string& name : n.set.names) {
      if (is_read(name)) continue;
      n.pages[++ticket_] = {name, {}, false, false};
      send(n, of(name), registers::ReadRecords{n.read_after[name]}, ticket_);
    }
  }
  void tell_records(RegisterNode& n, RegisterNode& to, const registers::ReadRecords& request, uint64_t number) {
    registers::Records records = n.acceptor->page(request.after);
    // In pages of one.
    records.more = records.records.size() > 1;
    if (records.more) records.records.resize(1);
    for (registers::RegisterRecord& record : records.records) {
      if (is("leases-unread")) record.longest_lease = {};
      if (is("promises-unread") && registers::writer_of(record) == quorum::kNobody) {
        record.promised = {record.accepted.fence, {}, 0};
      }
    }
    send(n, to, std::move(records), number);
  }
  void read_page(RegisterNode& n, const RegisterWire& wire, const registers::Records& records) {
    const auto page = n.pages.find(wire.number);
    if (page == n.pages.end() || page->second.answered) return;
    page->second.answered = true;
    page->second.more = records.more;
    if (!records.records.empty()) page->second.last = records.records.back().key;
    to_acceptor(n, registers::Learned{wire.number, records.records});
  }
  void on(RegisterNode& n, const registers::PageKept& kept) {
    const auto found = n.pages.find(kept.page);
    if (found == n.pages.end()) return;
    const RegisterNode::Page page = found->second;
    n.pages.erase(found);
    if (!kept.ok) return;
    if (page.more) {
      n.read_after[page.source] = page.last;
    } else {
      n.read_from.insert(page.source);
    }
    read_some(n);
  }

  // --- the owner
  void own(RegisterNode& n, const std::string& key) {
    registers::JobOwnerConfig config;
    config.key = key;
    config.self = n.id;
    config.replicas = ids(n);
    config.lease = lease_;
    config.renew_every = lease_ / 3;
    config.retry = lease_ / 30;
    config.drift = drift();
    n.owned.insert_or_assign(
        key, RegisterNode::Ownership{registers::JobOwner(std::move(config), prng().next()), checker(key).floor()});
    to_owner(n, key, registers::TakeJob{});
  }
  void on(RegisterNode& from, const registers::SendAsk& sending) {
    const std::string& key = sending.ask.key;
    if (const auto* accept = std::get_if<registers::Accept>(&sending.ask.body)) {
      checker(key).attempted({sending.ask.claim.fence, accept->write}, accept->value);
    }
    registers::Ask ask = sending.ask;
    auto* const release = std::get_if<registers::Release>(&ask.body);
    if (release != nullptr && is("settles-unfinished")) ++release->write;
    if (is("promises-outlive-set") && std::holds_alternative<registers::Prepare>(ask.body)) {
      auto& promised = from.owned.at(key).promised;
      const auto known = promised.find(sending.to);
      if (known != promised.end() && known->second.promised == ask.claim) {
        registers::Answer answer = known->second;
        answer.number = ask.number;
        RegisterWire wire{of(sending.to)->index, from.set.number, 0, std::move(answer)};
        return after(Duration::micros(1), [this, &from, wire = std::move(wire)] { deliver(from, wire); });
      }
    }
    send(from, *of(sending.to), std::move(ask));
  }
  void on(RegisterNode& n, const std::string& key, const registers::JobTaken& taken) {
    if (tracing()) {
      say(n, fmt::format("owns '{}', fence {}, value of {} bytes", key, taken.fence.value(), taken.value.size()));
    }
    RegisterNode::Ownership& owned = n.owned.at(key);
    ++owners_;
    timeline_.record(taken.fence.value() * 64 + n.index);
    checker(key).taken(n.index, taken.fence);
    checker(key).done("a take-over", false, owned.take_floor, taken.place, taken.value);
    owned.known_place = taken.place;
    owned.known_value = taken.value;
    expect_sole_owner(n, key);
    if (key != kSetKey) return;
    registers::SetTaken found;
    if (!taken.value.empty()) found.set = *message::decode<ReplicaSet>(taken.value);
    to_change(n, found);
  }
  void on(RegisterNode& n, const std::string& key, const registers::JobRenewed&) { expect_sole_owner(n, key); }
  void on(RegisterNode& n, const std::string& key, const registers::JobWritten& written) {
    const auto& operations = n.owned.at(key).operations;
    const auto operation = operations.find(written.ticket);
    if (operation == operations.end()) return;
    finished(n, key, written.ticket, written.place, std::string(operation->second.value));
    if (key == kSetKey) to_change(n, registers::SetWritten{});
  }
  void on(RegisterNode& n, const std::string& key, const registers::JobRead& read) {
    finished(n, key, read.ticket, read.place, read.value);
  }
  void on(RegisterNode& n, const std::string& key, const registers::JobFailed& failed) {
    n.owned.at(key).operations.erase(failed.ticket);
    if (key == kSetKey) to_change(n, registers::SetWritten{false});
  }
  void on(RegisterNode& n, const std::string& key, const registers::JobLost& lost) {
    say(n, fmt::format("loses '{}', fence {}: {}", key, lost.fence.value(), lost.why));
    n.owned.at(key).take_floor = checker(key).floor();
    if (key == kSetKey && n.change) to_change(n, registers::SetLost{});
  }
  void on(RegisterNode&, const registers::JobBusy&) {}
  void finished(RegisterNode& n, const std::string& key, uint64_t ticket, Place place, const std::string& value) {
    RegisterNode::Ownership& owned = n.owned.at(key);
    const auto operation = owned.operations.find(ticket);
    if (operation == owned.operations.end()) return;
    const bool write = operation->second.write;
    if (key == kJobKey) ++(write ? writes_ : reads_);
    checker(key).done(write ? "a write" : "a read", write, operation->second.floor, place, value);
    owned.known_place = place;
    owned.known_value = value;
    owned.operations.erase(operation);
  }
  void expect_sole_owner(const RegisterNode& n, const std::string& key) {
    for (const RegisterNode& other : members_) {
      if (&other == &n || !other.up || !leads(other, key)) continue;
      fail(fmt::format("I2: nodes {} and {} hold '{}' at once", n.id.value(), other.id.value(), key));
    }
  }
  // The owner writes or reads the job.
  void use(RegisterNode& n, uint32_t life) {
    if (!n.up || n.life != life) return;
    RegisterNode::Ownership& owned = n.owned.at(kJobKey);
    const auto want = [&](registers::OwnerEvent event) { deliver(n, RegisterWish{kJobKey, std::move(event)}); };
    if (!n.paused && leads(n)) {
      const uint64_t ticket = ++ticket_;
      if (chance(0.5)) {
        const std::string value = fmt::format("w{}", ticket);
        owned.operations[ticket] = {true, value, job_checker_.floor()};
        want(registers::WriteJob{ticket, value});
      } else {
        owned.operations[ticket] = {false, {}, job_checker_.floor()};
        want(registers::ReadJob{ticket});
      }
      if (prng().below(64) == 0) {
        want(registers::GiveJobBack{});
        owned.take_floor = job_checker_.floor();
        want(registers::TakeJob{});
      }
    }
    if (is("reads-unconfirmed") && owned.known_place != Place()) {
      owned.operations[++ticket_] = {false, {}, job_checker_.floor()};
      finished(n, kJobKey, ticket_, owned.known_place, owned.known_value);
    }
    // Whoever made the change may have died.
    if (n.set.joint() && !n.change && chance(0.2)) deliver(n, registers::SetWish{});
    after(draw(Duration::millis(1), lease_ / 6), [this, &n, life] { use(n, life); });
  }

  // --- the acceptor and the disk
  void on(RegisterNode& from, const registers::Reply& reply) {
    registers::Answer answer = reply.answer;
    if (is("newest-not-learnt")) {
      answer.accepted = {};
      answer.value.clear();
    }
    RegisterNode& to = *of(reply.to);
    const auto owned = to.owned.find(answer.key);
    if (is("promises-outlive-set") && owned != to.owned.end() && answer.verdict == registers::Verdict::kGranted) {
      owned->second.promised[from.id] = answer;
    }
    send(from, to, std::move(answer));
  }
  void on(RegisterNode& from, const registers::TellFreed& freed) {
    send(from, *of(freed.to), registers::Freed{freed.key});
  }
  void on(RegisterNode&, const registers::DropJob&) { check(false, "nobody drops the job"); }
  void on(RegisterNode& n, const registers::KeepJob& wanted) {
    if (!wanted.record.unsettled) checker(wanted.record.key).settled(wanted.record.accepted);
    if (is("answer-before-durable")) {
      after(Duration::micros(1), [this, &n, life = n.life, number = wanted.number] {
        if (n.life == life) deliver(n, registers::JobKept{number, true});
      });
    }
    keep(n, wanted);
  }
  void keep(RegisterNode& n, const RegisterRow& row) {
    const Duration usually = draw(Duration::micros(100), Duration::millis(5));
    n.disk.write(timeline_, row, usually, [this, &n](const RegisterRow& written, bool ok) {
      if (!ok) BW_PROBE("register world: a disk fails");
      deliver(n, RegisterWritten{written, ok || is("disk-error-ignored")});
    });
  }
  void on_written(RegisterNode& n, const RegisterWritten& written) {
    std::visit(Overloaded{
                   [&](const registers::KeepJob& kept) {
                     to_acceptor(n, registers::JobKept{kept.number, written.ok});
                   },
                   [&](const ReplicaSet& set) {
                     if (set.number != n.set.number) return;
                     if (!written.ok) return keep(n, set);
                     n.kept = set;
                     read_some(n);
                   },
                   [&](const HasRead& read) {
                     if (written.ok) n.read = std::max(n.read, read.set);
                   },
               },
               written.row);
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
  // An operator's wish: any that can come true without the nodes that are lost.
  bool change_replicas(RegisterNode& n) {
    const bool some_lost = std::any_of(members_.begin(), members_.end(), [](const RegisterNode& m) { return m.lost; });
    if (!changes_ || !n.up || n.paused || n.change || newest_.joint() || (some_lost && is_changing())) return false;
    registers::SetWish wish;
    const RegisterNode& in = any();
    if (chance(0.6) && !in.lost && !newest_.has(in.name)) wish.add = in.name;
    const std::string out = newest_.names[prng().below(newest_.names.size())];
    if (wish.add.empty() || chance(0.5)) wish.remove = out;
    const auto step = registers::begin_change(newest_, wish);
    if (!step || !lives(step->next, nullptr)) return false;
    deliver(n, wish);
    return true;
  }
  bool is_changing() const {
    return !pending_.empty() || newest_.joint() || settled_ != newest_.number ||
           std::any_of(members_.begin(), members_.end(), [](const RegisterNode& n) { return n.change.has_value(); });
  }
  bool lives(const std::vector<std::string>& names, const RegisterNode* without) {
    return ReplicaSet::most(names, [&](const std::string& name) { return !of(name).lost && &of(name) != without; });
  }
  // A machine with its disk. It never comes back under its name.
  bool lose(RegisterNode& n) {
    if (!changes_ || n.lost || is_changing() || !lives(newest_.names, &n)) return false;
    end_life(n, true);
    n.owned.clear();
    forget_pages(n);
    n.lost = true;
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
    const Duration at_most = lease_ * (changes_ ? 12 : 5);
    run_until(now() + at_most, [this] { return leader() != nullptr; });
    if (!holds()) return;
    if (leader() == nullptr) {
      return fail("I13: all faults are repaired, but no node owns the job after " + format_duration(at_most));
    }
    if (newest_.joint()) return fail("I13: all faults are repaired, but " + show(newest_) + " is still under way");
    const uint64_t writes = writes_;
    if (run_for(lease_ * 3) && writes_ == writes) fail("I13: all faults are repaired, but no write succeeds");
  }
  std::vector<Run::Count> counts() const override {
    return {{"owners", owners_}, {"writes", writes_}, {"reads", reads_}, {"sets", changes_made_}};
  }

  Duration lease_;
  std::optional<GroupNetwork> network_;
  RegisterChecker job_checker_{*this, kJobKey};
  RegisterChecker set_checker_{*this, kSetKey};
  bool changes_ = false;
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

constexpr auto kRegisterFaults =
    joined(kNetworkFaultsOf<RegisterWorld>,
           std::to_array<Fault<RegisterWorld>>({
               {12, "a node crashes", [](RegisterWorld& w) { return w.crash(w.any()); }},
               {6, "all nodes crash: the power fails", [](RegisterWorld& w) { return w.crash_all(); }},
               {6, "a node is paused",
                [](RegisterWorld& w) { return w.pause_for(w.any(), false, w.draw(w.lease_ / 8, w.lease_ * 2)); }},
               {6, "a disk is slow or fails", [](RegisterWorld& w) { return w.break_disk(w.any()); }},
               {24, "an operator changes the replicas", [](RegisterWorld& w) { return w.change_replicas(w.any()); }},
               {6, "a machine is lost with its disk", [](RegisterWorld& w) { return w.lose(w.any()); }},
               {6, "a clock runs at another rate", [](RegisterWorld& w) { return w.let_clock_drift(w.any()); }},
           }));

}  // namespace

WorldRow register_world() {
  return world_row<RegisterWorld, kRegisterMistakes, kRegisterFaults>("register", "the register of a job");
}

}  // namespace bellwether::sim

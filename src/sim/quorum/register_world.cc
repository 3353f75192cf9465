#include "cluster/register/codec.h"
#include "core/base/overloaded.h"
#include "core/base/probe.h"
#include "sim/all_worlds.h"
#include "sim/quorum/register_group.h"

namespace bellwether::sim {

// --- nodes -----------------------------------------------------------------------------------------------------------

void RegisterWorld::start(RegisterNode& n) {
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
  if (is("set-forgotten")) n.kept = sets_[0];
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

bool RegisterWorld::crash(RegisterNode& n) {
  if (!end_life(n, false)) return false;
  n.owned.clear();
  n.change.reset();
  n.change_is_over = false;
  forget_pages(n);
  after(draw(Duration::millis(1), lease_), [this, &n] { start(n); });
  return true;
}

bool RegisterWorld::leads(const RegisterNode& n, const std::string& key) const {
  const auto owned = n.owned.find(key);
  return owned != n.owned.end() && owned->second.owner.owns(n.clock.local(now()));
}

Instant RegisterWorld::wake_of(const RegisterNode& n) const {
  Instant wake = n.change ? n.change->wake() : Instant::never();
  for (const auto& [key, owned] : n.owned) wake = std::min(wake, owned.owner.wake());
  return wake;
}

void RegisterWorld::step(RegisterNode& n, const RegisterEvent& event) {
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

void RegisterWorld::to_owner(RegisterNode& n, const std::string& key, const registers::OwnerEvent& event) {
  const auto owned = n.owned.find(key);
  if (owned == n.owned.end()) return;
  registers::OwnerEffects effects;
  owned->second.owner.step(n.clock.local(now()), event, effects);
  carry_out(n, key, effects);
}

void RegisterWorld::to_acceptor(RegisterNode& n, const registers::AcceptorEvent& event) {
  registers::AcceptorEffects effects;
  n.acceptor->step(n.clock.local(now()), event, effects);
  carry_out(n, "", effects);
}

void RegisterWorld::to_change(RegisterNode& n, const registers::SetEvent& event) {
  registers::SetEffects effects;
  n.change->step(n.clock.local(now()), event, effects);
  carry_out(n, "", effects);
}

// --- the owner -------------------------------------------------------------------------------------------------------

void RegisterWorld::own(RegisterNode& n, const std::string& key) {
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

void RegisterWorld::on(RegisterNode& from, const registers::SendAsk& sending) {
  const std::string& key = sending.ask.key;
  if (const auto* accept = std::get_if<registers::Accept>(&sending.ask.body)) {
    checker(key).attempted({sending.ask.claim.fence, accept->write}, accept->value);
  }
  registers::Ask ask = sending.ask;
  if (fences_only_) ask.lease = Duration::nanos(1);
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
  // A former owner has the time to go on.
  const auto* accept = std::get_if<registers::Accept>(&ask.body);
  if (is("promises-unread") && accept != nullptr && accept->write == 1) {
    return after(draw(Duration::zero(), lease_ / 3), [this, &from, to = of(sending.to), ask = std::move(ask)] {
      if (from.up) send(from, *to, ask);
    });
  }
  send(from, *of(sending.to), std::move(ask));
}

void RegisterWorld::on(RegisterNode& n, const std::string& key, const registers::JobTaken& taken) {
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

void RegisterWorld::on(RegisterNode& n, const std::string& key, const registers::JobWritten& written) {
  const auto& operations = n.owned.at(key).operations;
  const auto operation = operations.find(written.ticket);
  if (operation == operations.end()) return;
  finished(n, key, written.ticket, written.place, std::string(operation->second.value));
  if (key == kSetKey) to_change(n, registers::SetWritten{});
}

void RegisterWorld::on(RegisterNode& n, const std::string& key, const registers::JobRead& read) {
  finished(n, key, read.ticket, read.place, read.value);
}

void RegisterWorld::on(RegisterNode& n, const std::string& key, const registers::JobFailed& failed) {
  n.owned.at(key).operations.erase(failed.ticket);
  if (key == kSetKey) to_change(n, registers::SetWritten{false});
}

void RegisterWorld::on(RegisterNode& n, const std::string& key, const registers::JobLost& lost) {
  say(n, fmt::format("loses '{}', fence {}: {}", key, lost.fence.value(), lost.why));
  n.owned.at(key).take_floor = checker(key).floor();
  if (key == kSetKey && n.change) to_change(n, registers::SetLost{});
}

void RegisterWorld::finished(RegisterNode& n, const std::string& key, uint64_t ticket, Place place,
                             const std::string& value) {
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

void RegisterWorld::expect_sole_owner(const RegisterNode& n, const std::string& key) {
  if (wild_clocks_) return;
  for (const RegisterNode& other : members_) {
    if (&other == &n || !other.up || !leads(other, key)) continue;
    fail(fmt::format("I2: nodes {} and {} hold '{}' at once", n.id.value(), other.id.value(), key));
  }
}

void RegisterWorld::use(RegisterNode& n, uint32_t life) {
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
  // The maker of the change may have died.
  if (n.set.joint() && !n.change && chance(0.2)) deliver(n, registers::SetWish{});
  after(draw(Duration::millis(1), lease_ / (slow_ ? 30 : 6)), [this, &n, life] { use(n, life); });
}

// --- the acceptor and the disk ---------------------------------------------------------------------------------------

void RegisterWorld::on(RegisterNode& from, const registers::Reply& reply) {
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

void RegisterWorld::on(RegisterNode& from, const registers::TellFreed& freed) {
  send(from, *of(freed.to), registers::Freed{freed.key});
}

void RegisterWorld::on(RegisterNode& n, const registers::KeepJob& wanted) {
  if (!wanted.record.unsettled) checker(wanted.record.key).settled(wanted.record.accepted);
  if (is("answer-before-durable")) {
    after(Duration::micros(1), [this, &n, life = n.life, number = wanted.number] {
      if (n.life == life) deliver(n, registers::JobKept{number, true});
    });
  }
  keep(n, wanted);
}

void RegisterWorld::keep(RegisterNode& n, const RegisterRow& row) {
  const Duration usually = draw(Duration::micros(100), Duration::millis(5));
  n.disk.write(timeline_, row, usually, [this, &n](const RegisterRow& written, bool ok) {
    if (!ok) BW_PROBE("register world: a disk fails");
    const RegisterWritten event{written, ok || is("disk-error-ignored")};
    // Unlike a message it is not lost when the node stands still.
    if (n.paused) {
      n.missed.push_back(event);
    } else {
      deliver(n, event);
    }
  });
}

void RegisterWorld::on_written(RegisterNode& n, const RegisterWritten& written) {
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

// --- faults ----------------------------------------------------------------------------------------------------------

void RegisterWorld::break_network(void (GroupNetwork::*strike)(const GroupNetwork::Extent&)) {
  ((*network_).*
   strike)({static_cast<uint32_t>(members_.size()), draw(lease_ / 8, lease_ * 2), lease_ / 30, lease_ / 2});
}

bool RegisterWorld::crash_all() {
  for (RegisterNode& one : members_) crash(one);
  return true;
}

bool RegisterWorld::break_disk(RegisterNode& n) {
  if (chance(0.5)) {
    n.disk.set_failing(prng().unit());
  } else {
    n.disk.set_slow(lease_);
  }
  after(draw(lease_ / 8, lease_ * 2), [&n] { n.disk.mend(); });
  return true;
}

bool RegisterWorld::change_replicas(RegisterNode& n) {
  const bool some_lost = std::any_of(members_.begin(), members_.end(), [](const RegisterNode& m) { return m.lost; });
  if (!changes_ || repaired_ || !n.up || n.paused || n.change || newest_.joint() || (some_lost && is_changing()))
    return false;
  registers::SetWish wish;
  const RegisterNode& in = any();
  if (chance(0.6) && !in.lost && !newest_.has(in.name)) wish.add = in.name;
  const std::string out = newest_.names[prng().below(newest_.names.size())];
  if (wish.add.empty() || chance(0.5)) wish.remove = out;
  const auto step = registers::begin_change(newest_, wish);
  if (!step || !lives(step->next, nullptr)) return false;
  deliver(n, wish);
  // In the midst of it more goes wrong, and more is wanted.
  const Duration soon = network_->slowest() * 20;
  if (chance(0.4)) after(draw(Duration::zero(), soon), [this] { return !repaired_ && crash(any()); });
  if (chance(0.4)) {
    after(draw(Duration::zero(), soon), [this] {
      if (!repaired_) break_network(chance(0.5) ? &GroupNetwork::split_but_for_a_bridge : &GroupNetwork::split);
    });
  }
  if (chance(0.3)) break_disk(any());
  if (chance(0.5)) after(draw(soon / 2, lease_ / 2 + soon), [this] { change_replicas(any()); });
  return true;
}

bool RegisterWorld::goes_on() const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const RegisterNode& n) { return n.up && n.set.joint() && newest_ == n.set; });
}

bool RegisterWorld::is_changing() const {
  return !pending_.empty() || newest_.joint() || settled_ != newest_.number ||
         std::any_of(members_.begin(), members_.end(), [](const RegisterNode& n) { return n.change.has_value(); });
}

bool RegisterWorld::lives(const std::vector<std::string>& names, const RegisterNode* without) {
  return ReplicaSet::most(names, [&](const std::string& name) { return !of(name).lost && &of(name) != without; });
}

bool RegisterWorld::lose(RegisterNode& n) {
  if (!changes_ || n.lost || is_changing() || !lives(newest_.names, &n)) return false;
  end_life(n, true);
  n.owned.clear();
  forget_pages(n);
  n.lost = true;
  return true;
}

void RegisterWorld::make_whole() {
  repaired_ = true;
  network_->mend();
  for (RegisterNode& n : members_) {
    n.disk.mend();
    resume(n);
    start(n);
  }
}

// --- phases ----------------------------------------------------------------------------------------------------------

FaultyWorld::Pace RegisterWorld::pace() const {
  return {
      .least_faults = 4, .most_faults = 32, .before = lease_ / 2, .gap = lease_, .after = lease_ * 3, .rest = lease_};
}

void RegisterWorld::begin() {
  for (RegisterNode& n : members_) {
    after(draw(Duration::zero(), lease_ / 4), [this, &n] { start(n); });
  }
}

void RegisterWorld::expect_recovery() {
  const Duration at_most = lease_ * (wild_clocks_ ? 24 : changes_ ? 12 : 5);
  run_until(now() + at_most, [this] { return leader() != nullptr && !goes_on(); });
  if (!holds()) return;
  if (leader() == nullptr) {
    return fail("I13: all faults are repaired, but no node owns the job after " + format_duration(at_most));
  }
  if (goes_on()) return fail("I13: all faults are repaired, but " + show(newest_) + " is still under way");
  // The owner may give it back: then another one takes it.
  const uint64_t writes = writes_;
  if (!run_for(lease_ * 3)) return;
  run_until(now() + at_most, [&] { return writes_ != writes; });
  if (holds() && writes_ == writes) fail("I13: all faults are repaired, but no write succeeds");
}

void RegisterWorld::tell_states() {
  for (const RegisterNode& n : members_) {
    std::string text = n.lost ? "lost" : fmt::format("{}, has read for {}", show(n.set), n.read);
    if (n.change) text += ", a change waits for " + n.change->waits_for();
    for (const char* key : {kJobKey, kSetKey}) {
      const registers::RegisterRecord* record = n.acceptor ? n.acceptor->find(key) : nullptr;
      if (record == nullptr || n.lost) continue;
      text += fmt::format("; '{}': promised {} to {}, accepted {}", key, record->promised.fence.value(),
                          record->promised.owner.value(), show_place(record->accepted));
      if (n.acceptor->is_leased(n.clock.local(now()), key)) text += ", leased";
    }
    for (const auto& [key, owned] : n.owned) {
      text += fmt::format("; asks for '{}' under fence {}, next in {}", key, owned.owner.fence().value(),
                          format_duration(owned.owner.wake() - n.clock.local(now())));
    }
    say(n, text);
  }
}

std::vector<Run::Count> RegisterWorld::counts() const {
  return {{"owners", owners_}, {"writes", writes_}, {"reads", reads_}, {"sets", changes_made_}};
}

namespace {

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

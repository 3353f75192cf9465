// Nodes of a cluster that lead contexts, for tests. An oracle gives them epochs, and informs them late or never. The
// disks of all nodes keep a register and payloads by majority. Pending operations are delayed, doubled, lost, or end in
// a crash between two effects. Jobs outlive their leaders. A sink outside checks the reported outcomes of each request.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "election/context/disks_testing.h"
#include "election/context/duty_leader.h"
#include "election/context/sha256_testing.h"

namespace bellwether::context_lead {

// A mistake that somebody could make around the kernel; each must be found.
enum class Canary : uint8_t {
  kNone,
  kCompletionWithoutFence,        // an end of a job counts for the attempt that runs, whichever it was of
  kAcknowledgedBeforeReplicated,  // the register says that it is written, and writes
  kWriteWithoutFence,             // replicas take what a leader of before writes
  kTakenFromMinority,             // a node that takes the register asks one replica
  kPayloadOnOneDisk,              // a payload is kept where the leader is, and nowhere else
  kAcknowledgedAtOnce,            // who submits is answered when the payload is kept
};

class ContextWorld {
 public:
  ContextWorld(std::size_t nodes, uint64_t seed, Canary canary = Canary::kNone)
      : prng_(seed), canary_(canary), nodes_(nodes + 1), disks_(nodes) {
    for (uint64_t id = 1; id <= nodes; ++id) start(id);
    after(Duration::millis(100), [this] { look_after_office(); });
  }
  ContextWorld(const ContextWorld&) = delete;

  // --- what tests do

  void run(Duration span) {
    const Instant end = now_ + span;
    while (!events_.empty() && events_.begin()->first.first <= end) {
      now_ = std::max(now_, events_.begin()->first.first);
      const std::function<void()> event = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      event();
    }
    now_ = end;
  }
  void crash(uint64_t id) {
    Node& node = nodes_[id];
    if (!node.kernel) return;
    if (id == office_) ++failovers;
    node.kernel.reset();
    disks_.give_up(id);
    ++node.life;
  }
  void start(uint64_t id) {
    Node& node = nodes_[id];
    if (node.kernel) return;
    DutyConfig config;
    config.self = NodeId(id);
    for (uint64_t one = 1; one < nodes_.size(); ++one) config.members.push_back(NodeId(one));
    config.settings.max_queue_transfer_size = 200;
    config.digest = sha256;
    node.kernel = std::make_unique<DutyLeader>(config, prng_.next());
    ++node.life;
    say(id, ManagerRegistered{{"command", static_cast<uint32_t>(1 + prng_.below(4))}});
    if (office_ != 0) say(id, LeaderSeen{NodeId(office_), Epoch(epoch_)});
  }
  void isolate(uint64_t id) {
    if (id == office_) ++failovers;
    for (uint64_t other = 1; other < nodes_.size(); ++other) cut_.insert({std::min(id, other), std::max(id, other)});
  }
  void mend() { cut_.clear(); }
  void transfer(uint64_t target) {
    if (office_ != 0 && nodes_[office_].kernel) say(office_, Transfer{0, NodeId(target), "a test", "a test"});
  }
  void submit_new() {
    const RequestId id{prng_.next(), prng_.next()};
    requests_[id] = {id, static_cast<uint8_t>(prng_.below(3)), wall(), "payload of " + to_string(id)};
    try_submit(id);
  }
  // No more faults: all are up, and reach each other.
  void calm() {
    mend();
    loss = crash_chance = 0;
    sick.clear();
    for (uint64_t id = 1; id < nodes_.size(); ++id) start(id);
  }
  std::size_t undone() const { return requests_.size() - told_.size() - given_up_.size(); }
  std::size_t nodes() const { return nodes_.size() - 1; }
  std::size_t acknowledged() const { return acknowledged_.size(); }
  uint64_t office() const { return office_; }

  double loss = 0;
  double doubled = 0.1;
  double crash_chance = 0;  // between two effects
  std::set<uint64_t> sick;
  std::size_t failovers = 0;
  std::size_t taken_over = 0;  // transfers that went through
  std::size_t refused = 0;     // completions
  std::vector<std::string> wrong;

 private:
  struct Node {
    std::unique_ptr<DutyLeader> kernel;
    uint64_t life = 0;
  };
  using JobKey = std::tuple<uint64_t, RequestId, AttemptFence>;

  WallTime wall() const { return {1'700'000'000'000'000'000 + now_.ns()}; }
  Moment moment() const { return {now_, wall()}; }
  Duration travel() { return prng_.between(Duration::millis(1), Duration::millis(40)); }
  bool lost() { return prng_.chance(loss); }
  void after(Duration span, std::function<void()> event) { events_[{now_ + span, ++sequence_}] = std::move(event); }
  // To that life of a node, and no other.
  void tell(Duration span, uint64_t id, Event event) {
    after(span, [this, id, life = nodes_[id].life, event = std::move(event)] {
      if (nodes_[id].life == life && nodes_[id].kernel) say(id, event);
    });
  }
  void say(uint64_t id, const Event& event) {
    Effects effects;
    nodes_[id].kernel->step(moment(), event, effects);
    const uint64_t life = nodes_[id].life;
    for (Effect& effect : effects) {
      if (prng_.chance(crash_chance)) crash(id);
      if (nodes_[id].life != life) return;
      std::visit([&](auto& one) { carry_out(id, one); }, effect);
    }
    const Instant wake = nodes_[id].kernel->wake();
    if (wake == Instant::never()) return;
    after(std::max(wake - now_, Duration::millis(1)), [this, id, life] {
      if (nodes_[id].life == life && nodes_[id].kernel && nodes_[id].kernel->wake() <= now_) say(id, Tick{});
    });
  }

  // --- reachability

  bool reaches(uint64_t a, uint64_t b) const {
    if (!nodes_[b].kernel) return false;
    return a == b || !cut_.contains({std::min(a, b), std::max(a, b)});
  }
  std::vector<uint64_t> reached(uint64_t from) const {
    std::vector<uint64_t> all;
    for (uint64_t id = 1; id < nodes_.size(); ++id) {
      if (reaches(from, id)) all.push_back(id);
    }
    return all;
  }
  bool is_majority(std::size_t count) const { return count > nodes() / 2; }

  // --- the oracle of leadership

  void look_after_office() {
    after(prng_.between(Duration::millis(100), Duration::millis(900)), [this] { look_after_office(); });
    if (office_ != 0 && nodes_[office_].life == office_life_ && is_majority(reached(office_).size())) return;
    std::vector<uint64_t> able;
    for (uint64_t id = 1; id < nodes_.size(); ++id) {
      if (nodes_[id].kernel && is_majority(reached(id).size())) able.push_back(id);
    }
    if (!able.empty()) elect(able[prng_.below(able.size())]);
  }
  void elect(uint64_t id) {
    const uint64_t old = std::exchange(office_, id);
    const bool again = old == id && nodes_[id].life == office_life_;
    office_life_ = nodes_[id].life;
    ++epoch_;
    // A node that is cut off may believe for long that it leads; the message to it is not certain.
    if (old != 0 && !again && prng_.chance(0.7)) {
      tell(prng_.between(Duration::millis(1), Duration::seconds(20)), old,
           LeadershipLost{Epoch(epoch_ - 1), "an election"});
    }
    tell(travel(), id, Elected{Epoch(epoch_)});
    spread();
  }
  void spread() {
    for (const uint64_t id : reached(office_)) {
      if (id != office_) tell(travel() * 10, id, LeaderSeen{NodeId(office_), Epoch(epoch_)});
    }
    after(Duration::seconds(5), [this, epoch = epoch_] {
      if (epoch == epoch_) spread();
    });
  }
  void carry_out(uint64_t id, const HandOver& effect) {
    if (office_ != id) return;
    const uint64_t target = effect.target.value();
    const double luck = prng_.unit();
    if (luck < 0.7 && nodes_[target].kernel && is_majority(reached(target).size())) {
      elect(target);
    } else if (luck > 0.85) {
      tell(travel(), id, HandOverRefused{"a test"});
    }
  }
  void carry_out(uint64_t id, const TakeBack&) {
    if (office_ != id && is_majority(reached(id).size())) elect(id);
  }
  void carry_out(uint64_t id, const StepDown&) {
    if (office_ == id) office_ = 0;
  }

  // --- the register and the payloads

  // When a question has travelled, unless the node that asks has crashed.
  void at_disks(uint64_t id, Duration span, std::function<void()> event) {
    after(span, [this, id, life = nodes_[id].life, event = std::move(event)] {
      if (nodes_[id].life == life) event();
    });
  }
  void carry_out(uint64_t id, const TakeRegister& effect) {
    at_disks(id, travel(), [this, id, effect] {
      const Disks::Peers peers = reached(id);
      const bool one_is_enough = canary_ == Canary::kTakenFromMinority;
      if ((!one_is_enough && !is_majority(peers.size())) || lost()) {
        return tell(effect.within, id, RegisterFailed{effect.ticket, "no majority"});
      }
      const Disks::Peers readers = one_is_enough ? Disks::Peers{id} : peers;
      tell(travel(), id, RegisterTaken{effect.ticket, disks_.take(id, peers, readers)});
    });
  }
  void carry_out(uint64_t id, const WriteRegister& effect) {
    const bool early = canary_ == Canary::kAcknowledgedBeforeReplicated;
    if (early) tell(Duration::millis(1), id, RegisterWritten{effect.ticket});
    at_disks(id, early ? travel() * 20 : travel(), [this, id, effect, early] {
      const Disks::Peers peers = reached(id);
      if (canary_ != Canary::kWriteWithoutFence && !disks_.may_write(id, peers)) {
        return tell(travel(), id, RegisterLost{"somebody else has it"});
      }
      if (lost()) return tell(effect.within, id, RegisterFailed{effect.ticket, "lost on the way"});
      disks_.write(id, peers, effect.value);
      if (early) return;
      if (!is_majority(peers.size()) || lost()) {
        tell(effect.within, id, RegisterFailed{effect.ticket, "no answer of a majority"});
      } else {
        tell(travel(), id, RegisterWritten{effect.ticket});
      }
    });
  }
  void carry_out(uint64_t id, const ReleaseRegister&) { disks_.give_up(id); }
  void carry_out(uint64_t id, const KeepPayload& effect) {
    at_disks(id, travel(), [this, id, effect] {
      const bool here_only = canary_ == Canary::kPayloadOnOneDisk;
      const Disks::Peers peers = here_only ? Disks::Peers{id} : reached(id);
      disks_.keep(effect.id, effect.payload, peers);
      const bool ok = (here_only || is_majority(peers.size())) && !lost();
      if (ok && canary_ == Canary::kAcknowledgedAtOnce) acknowledged_.insert(effect.id);
      tell(ok ? travel() : effect.within, id, PayloadKept{effect.id, ok, ok ? "" : "no majority"});
    });
  }
  void carry_out(uint64_t id, const FetchPayload& effect) {
    at_disks(id, travel(), [this, id, effect] {
      using Found = PayloadFetched::Found;
      const Disks::Peers peers = reached(id);
      const std::string* found = disks_.find(effect.id, peers);
      PayloadFetched answer{effect.id, effect.fence, found != nullptr ? Found::kHere : Found::kGone, {}, {}};
      if (found != nullptr) answer.payload = *found;
      if (!is_majority(peers.size()) || lost()) answer.found = Found::kFailed;
      for (int i = prng_.chance(doubled) ? 2 : 1; i > 0; --i) tell(travel(), id, answer);
    });
  }
  void carry_out(uint64_t id, const DropPayload& effect) {
    const Disks::Peers peers = reached(id);
    disks_.drop(effect.id, peers);
    if (is_majority(peers.size()) && !lost()) tell(travel(), id, PayloadDropped{effect.id});
  }

  // --- jobs

  void carry_out(uint64_t id, const RunJob& effect) {
    const RequestId request = effect.request.id;
    if (effect.request.payload != requests_.at(request).payload) wrong.push_back("a payload of another request");
    if (!begun_.insert({request, effect.fence}).second) wrong.push_back(to_string(effect.fence) + " begins twice");
    const JobKey key{id, request, effect.fence};
    running_.insert(key);
    const Duration takes = prng_.chance(0.05) ? prng_.between(Duration::seconds(20), Duration::seconds(120))
                                              : prng_.between(Duration::millis(50), Duration::seconds(6));
    after(takes, [this, key] {
      if (running_.contains(key)) end_job(key, prng_.chance(0.05) ? JobEnded::End::kFailed : JobEnded::End::kDone);
    });
  }
  void carry_out(uint64_t id, const CancelJob& effect) {
    const JobKey key{id, effect.id, effect.fence};
    if (!running_.contains(key) || prng_.chance(0.5)) return;
    if (effect.kill) {
      running_.erase(key);
    } else {
      end_job(key, JobEnded::End::kCancelled);
    }
  }
  void end_job(const JobKey& key, JobEnded::End end) {
    running_.erase(key);
    const auto& [node, request, fence] = key;
    if (end != JobEnded::End::kCancelled) ended_.insert({request, fence});
    const JobEnded event{request, fence, end, "a test"};
    for (int i = prng_.chance(doubled) ? 2 : 1; i > 0; --i) {
      const Duration late = prng_.chance(0.2) ? prng_.between(Duration::zero(), Duration::seconds(30)) : travel();
      after(late, [this, id = node, event] { bring(id, event); });
    }
  }
  // To the life of the node at that time.
  void bring(uint64_t id, JobEnded event) {
    if (!nodes_[id].kernel) {
      after(Duration::seconds(1), [this, id, event] { bring(id, event); });
      return;
    }
    if (canary_ == Canary::kCompletionWithoutFence) {
      const LiveRequest* one = nodes_[id].kernel->queue().find(event.id);
      if (one != nullptr && one->is_active()) event.fence = one->fence();
    }
    say(id, event);
  }

  // --- who submits, and who wants to know

  void try_submit(RequestId id) {
    if (acknowledged_.contains(id)) return;
    after(prng_.between(Duration::seconds(1), Duration::seconds(12)), [this, id] { try_submit(id); });
    const uint64_t to = office_ != 0 && prng_.chance(0.8) ? office_ : 1 + prng_.below(nodes());
    if (!nodes_[to].kernel) return;
    tickets_[++sequence_] = id;
    say(to, Submit{sequence_, requests_.at(id)});
  }
  void carry_out(uint64_t, const Answered& effect) {
    const RequestId id = tickets_.at(effect.ticket);
    const bool is_forgotten = !effect.status && effect.status.error().code == Errc::kExists;
    if (effect.status || is_forgotten) acknowledged_.insert(id);
    if (!is_forgotten || told_.contains(id)) return;
    // Who submits looks for the end, and finds none, so it draws a new id. Then the old one must not come back.
    given_up_.insert(id);
    after(travel(), [this] { submit_new(); });
  }
  void carry_out(uint64_t id, const TellOutcome& effect) {
    const FinishedRequest& one = effect.finished;
    const std::string who = "request " + to_string(one.id);
    const auto [at, is_new] = told_.try_emplace(one.id, one.fence);
    if (at->second != one.fence) wrong.push_back(who + " is completed twice");
    if (given_up_.contains(one.id)) wrong.push_back(who + " was given up, and is completed");
    if (!ended_.contains({one.id, one.fence})) wrong.push_back(who + ": " + one.reason + ", but no such attempt ended");
    if (prng_.chance(0.9)) tell(travel(), id, OutcomeTold{one.id});
  }

  // --- the rest

  void carry_out(uint64_t id, const Send& effect) {
    const uint64_t to = effect.to.value();
    if (!reaches(id, to) || lost()) return;
    for (int i = prng_.chance(doubled) ? 2 : 1; i > 0; --i) tell(travel(), to, Heard{NodeId(id), effect.message});
  }
  void carry_out(uint64_t id, const CheckHealth&) {
    HealthReport report;
    for (const uint64_t one : reached(id)) report.nodes[NodeId(one)] = sick.contains(one) ? 0.3 : 0.95;
    tell(travel(), id, report);
  }
  void carry_out(uint64_t, const CompletionRefused&) { ++refused; }
  void carry_out(uint64_t, const TransferBegun& effect) { failovers += effect.source == "a test"; }
  void carry_out(uint64_t, const TransferEnded& effect) { taken_over += effect.ok; }
  template <class Callback>
  void carry_out(uint64_t, const Callback&) {}

  Prng prng_;
  Canary canary_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::map<std::pair<Instant, uint64_t>, std::function<void()>> events_;
  uint64_t sequence_ = 0;
  std::vector<Node> nodes_;  // from 1
  Disks disks_;
  std::set<std::pair<uint64_t, uint64_t>> cut_;
  uint64_t office_ = 0;
  uint64_t office_life_ = 0;
  uint64_t epoch_ = 0;
  std::map<RequestId, Request> requests_;
  std::map<uint64_t, RequestId> tickets_;
  std::set<RequestId> acknowledged_;
  std::map<RequestId, AttemptFence> told_;
  std::set<RequestId> given_up_;
  std::set<std::pair<RequestId, AttemptFence>> begun_;
  std::set<std::pair<RequestId, AttemptFence>> ended_;
  std::set<JobKey> running_;
};

}  // namespace bellwether::context_lead

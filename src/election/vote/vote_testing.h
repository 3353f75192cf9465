// A group of nodes for tests that elect an admin by scored votes. Every message takes a millisecond or the test's
// delay, every write one millisecond, each node has its own clock, and the test decides which messages are lost and
// which nodes are down. Each step checks that no two admins act at once, and that terms have one admin and grow.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "election/vote/vote_elector.h"

namespace bellwether::vote {

class VoteGroup {
 public:
  explicit VoteGroup(std::size_t members, VoteTiming timing = VoteTiming::lan(), uint64_t seed = 1)
      : timing_(timing), prng_(seed) {
    for (uint64_t id = 1; id <= members; ++id) declared_.push_back(NodeId(id));
    for (const NodeId id : declared_) {
      Claim& claim = claims[id.value()];
      claim = {{"admin_election"}, Duration::hours(1), Duration::hours(2), {0.5, 0.5, 0.5, 0.9}};
      // The lower the number the better, so that tests know who wins.
      claim.resources.cpu_used = 0.3 + 0.002 * static_cast<double>(id.value());
    }
  }

  VoteConfig config(uint64_t id) const {
    VoteConfig config;
    config.self = NodeId(id);
    config.members = declared_;
    config.timing = timing_;
    config.rule = rule;
    return config;
  }
  void start(uint64_t id) { start(id, config(id)); }
  void start(uint64_t id, VoteConfig config) {
    Start begin;
    if (const auto disk = disks.find(id); disk != disks.end()) begin = {Start::Found::kRecord, disk->second};
    start(id, std::move(config), begin);
  }
  void start(uint64_t id, VoteConfig config, const Start& begin) {
    nodes_[id] = std::make_unique<VoteElector>(std::move(config), prng_.next());
    ++lives_[id];
    working_.erase(id);
    say(id, Measured{claims[id]});
    say(id, begin);
  }
  void start_all() {
    for (const NodeId id : declared_) start(id.value());
  }
  void stop(uint64_t id) { nodes_.erase(id), working_.erase(id), ++lives_[id]; }
  // All are up, and one is the admin.
  uint64_t lead() {
    start_all();
    run_until(timing_.discovery * 4 + timing_.election, [this] { return admin() != 0 && all_know(admin()); });
    return admin();
  }

  VoteElector& operator[](uint64_t id) { return *nodes_.at(id); }
  bool is_up(uint64_t id) const { return nodes_.contains(id); }
  // By the clock of a node.
  Instant local(uint64_t id) const {
    const auto rate = rates.find(id);
    const double factor = rate == rates.end() ? 1 : rate->second;
    return Instant::from_ns(1'000'000'000 +
                            static_cast<int64_t>(static_cast<double>(now.ns() - 1'000'000'000) * factor));
  }
  void say(uint64_t id, const Event& event) {
    Effects effects;
    nodes_.at(id)->step(local(id), event, effects);
    for (Effect& effect : effects) carry_out(id, std::move(effect));
    look(id);
  }
  // As `from`, further on in the row of its present life, so that what it says itself is still listened to.
  Message forged(uint64_t from, Body body) {
    Message message = last_message_.at(from);
    message.sequence = forged_sequence_[from] = std::max(forged_sequence_[from], message.sequence) + 20;
    message.body = std::move(body);
    return message;
  }
  void hear(uint64_t to, Message message) { say(to, Received{std::move(message)}); }

  void run(Duration span) {
    const Instant end = now + span;
    while (true) {
      Instant next = events_.empty() ? Instant::never() : events_.begin()->first.first;
      for (const auto& [id, node] : nodes_) {
        if (!paused.contains(id)) next = std::min(next, wake_of(id));
      }
      if (next > end) break;
      now = std::max(now, next);
      if (!events_.empty() && events_.begin()->first.first <= now) {
        Due event = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        if (!nodes_.contains(event.to) || lives_[event.to] != event.life) continue;
        if (paused.contains(event.to)) {
          after(Duration::millis(20), event.to, std::move(event.event));
        } else {
          say(event.to, event.event);
        }
        continue;
      }
      for (const auto& [id, node] : nodes_) {
        if (paused.contains(id) || wake_of(id) > now) continue;
        say(id, Tick{});
        break;
      }
    }
    now = end;
  }
  // False when it does not come to hold within `at_most`.
  template <class Holds>
  bool run_until(Duration at_most, Holds holds) {
    const Instant end = now + at_most;
    while (!holds() && now < end) run(Duration::millis(1));
    return holds();
  }

  // 0: none, or more than one.
  uint64_t admin() {
    uint64_t found = 0;
    for (auto& [id, node] : nodes_) {
      if (!node->leads(local(id))) continue;
      if (found != 0) return 0;
      found = id;
    }
    return found;
  }
  std::size_t admins() {
    return static_cast<std::size_t>(std::count_if(
        nodes_.begin(), nodes_.end(), [this](const auto& one) { return one.second->leads(local(one.first)); }));
  }
  bool all_know(uint64_t admin) {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [&](const auto& one) { return one.second->admin() == NodeId(admin); });
  }
  void cut(uint64_t from, uint64_t to) { shut_.insert({from, to}); }
  void part(uint64_t a, uint64_t b) { cut(a, b), cut(b, a); }
  void isolate(uint64_t id) {
    for (const NodeId other : declared_) part(id, other.value());
  }
  void mend() { shut_.clear(); }

  template <class Kind>
  std::vector<Kind> all(uint64_t id) const {
    std::vector<Kind> found;
    const auto log = logs_.find(id);
    if (log == logs_.end()) return found;
    for (const Effect& effect : log->second) {
      if (const auto* one = std::get_if<Kind>(&effect)) found.push_back(*one);
    }
    return found;
  }
  template <class Kind>
  std::size_t count() const {
    std::size_t sum = 0;
    for (const auto& [id, log] : logs_) sum += all<Kind>(id).size();
    return sum;
  }
  template <class Kind>
  std::size_t sent(uint64_t id) const {
    std::size_t sum = 0;
    for (const Broadcast& one : all<Broadcast>(id)) sum += std::holds_alternative<Kind>(one.message.body);
    for (const Send& one : all<Send>(id)) sum += std::holds_alternative<Kind>(one.message.body);
    return sum;
  }
  // Broadcasts and messages to one, of all.
  std::size_t messages() const { return count<Broadcast>() + count<Send>(); }
  bool was_noted(uint64_t id, const std::string& part) const {
    const std::vector<Note> notes = all<Note>(id);
    return std::any_of(notes.begin(), notes.end(),
                       [&](const Note& one) { return one.text.find(part) != std::string::npos; });
  }
  bool was_refused(uint64_t by, const std::string& part) const {
    const std::vector<Refused> all_of = all<Refused>(by);
    return std::any_of(all_of.begin(), all_of.end(),
                       [&](const Refused& one) { return one.why.find(part) != std::string::npos; });
  }
  std::string denied(uint64_t id) const {
    const std::vector<Denied> all_of = all<Denied>(id);
    return all_of.empty() ? "" : all_of.back().why;
  }
  void forget() { logs_.clear(); }

  Instant now = Instant::from_ns(1'000'000'000);
  QuorumRule rule = QuorumRule::kMajority;
  std::map<uint64_t, Claim> claims;
  std::map<uint64_t, double> rates;  // of clocks; 1 where nothing is said
  std::set<uint64_t> paused;
  std::set<uint64_t> hanging_disks;
  std::set<uint64_t> failing_disks;
  std::map<uint64_t, Record> disks;
  double loss = 0;
  double doubled = 0;
  Duration longest_delay = Duration::millis(1);
  bool work_stops_at_once = true;
  std::vector<std::string> wrong;  // what must not be

 private:
  struct Due {
    uint64_t to;
    uint64_t life;
    Event event;
  };
  void after(Duration span, uint64_t to, Event event) {
    events_.insert({{now + span, ++sequence_}, Due{to, lives_[to], std::move(event)}});
  }
  Instant wake_of(uint64_t id) const {
    const Instant wake = nodes_.at(id)->wake();
    if (wake == Instant::never()) return wake;
    const auto rate = rates.find(id);
    if (rate == rates.end()) return wake;
    const double span = static_cast<double>(wake.ns() - 1'000'000'000) / rate->second;
    return Instant::from_ns(1'000'000'001 + static_cast<int64_t>(span));
  }
  void deliver(uint64_t from, uint64_t to, const Message& message) {
    if (shut_.contains({from, to}) || prng_.chance(loss)) return;
    for (int copies = prng_.chance(doubled) ? 2 : 1; copies > 0; --copies) {
      after(prng_.between(Duration::millis(1), longest_delay), to, Received{message});
    }
  }
  void carry_out(uint64_t id, Effect effect) {
    if (const auto* sent = std::get_if<Send>(&effect)) {
      last_message_[id] = sent->message;
      deliver(id, sent->to.value(), sent->message);
    } else if (const auto* all = std::get_if<Broadcast>(&effect)) {
      last_message_[id] = all->message;
      for (const NodeId to : declared_) {
        if (to.value() != id) deliver(id, to.value(), all->message);
      }
    } else if (const auto* persist = std::get_if<Persist>(&effect)) {
      if (failing_disks.contains(id)) {
        after(Duration::millis(1), id, Persisted{persist->record.version, false, "no space left"});
      } else if (!hanging_disks.contains(id)) {
        disks[id] = persist->record;
        after(Duration::millis(1), id, Persisted{persist->record.version, true, {}});
      }
    } else if (const auto* elected = std::get_if<Elected>(&effect)) {
      working_.insert(id);
      const auto [at, is_new] = elected_.try_emplace(elected->epoch.value(), id);
      if (!is_new) wrong.push_back("term " + std::to_string(elected->epoch.value()) + " has two admins");
      if (rule == QuorumRule::kMajority && elected->epoch.value() < newest_) wrong.push_back("terms go back");
      newest_ = std::max(newest_, elected->epoch.value());
    } else if (const auto* reconstruct = std::get_if<Reconstruct>(&effect)) {
      if (keys_are_ready) after(Duration::millis(5), id, KeysReady{reconstruct->term, true, {}});
    }
    const auto* ended = std::get_if<TermEnded>(&effect);
    if (std::holds_alternative<Drain>(effect) || (ended != nullptr && ended->work_runs)) {
      // No later than it must: at the end of the time to stop.
      const Duration most = ended != nullptr ? std::min(timing_.stop_grace, ended->stop_by - local(id)) : Duration();
      if (work_stops_at_once) after(std::max(most / 2, Duration::zero()), id, WorkStopped{});
    }
    logs_[id].push_back(std::move(effect));
  }
  // Who may still act: who leads, and whose work has time to stop.
  void look(uint64_t id) {
    if (nodes_.at(id)->office() == Office::kNone) working_.erase(id);
    if (rule != QuorumRule::kMajority) return;
    std::size_t acting = 0;
    for (const uint64_t one : working_) {
      if (nodes_.contains(one)) acting += local(one) < nodes_.at(one)->stopped_by();
    }
    if (acting > 1) wrong.push_back("two act at once");
  }

 public:
  bool keys_are_ready = true;

 private:
  VoteTiming timing_;
  Prng prng_;
  std::vector<NodeId> declared_;
  std::map<uint64_t, std::unique_ptr<VoteElector>> nodes_;
  std::map<uint64_t, uint64_t> lives_;
  std::map<uint64_t, std::vector<Effect>> logs_;
  std::map<std::pair<Instant, uint64_t>, Due> events_;
  std::set<std::pair<uint64_t, uint64_t>> shut_;
  std::set<uint64_t> working_;  // elected, and its work has not stopped
  std::map<uint64_t, uint64_t> elected_;
  std::map<uint64_t, Message> last_message_;
  std::map<uint64_t, uint64_t> forged_sequence_;
  uint64_t newest_ = 0;
  uint64_t sequence_ = 0;
};

inline void expect_sound(const VoteGroup& group) {
  EXPECT_TRUE(group.wrong.empty()) << group.wrong.front() << " and " << group.wrong.size() - 1 << " more";
}

inline const VoteTiming kLan = VoteTiming::lan();

template <std::size_t kMembers>
struct VoteOf : testing::Test {
  VoteGroup group{kMembers};
};
// Node 1 leads it.
template <std::size_t kMembers>
struct LedVote : VoteOf<kMembers> {
  void SetUp() override { ASSERT_EQ(this->group.lead(), 1u); }
};

}  // namespace bellwether::vote

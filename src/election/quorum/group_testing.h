// A group of electors for tests: one clock for all, every message takes a millisecond, every write one more, and the
// test decides which ways are shut, which disks hang, and who is down.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "election/quorum/quorum_elector.h"

namespace bellwether::quorum {

// Told of every step.
class GroupWatcher {
 public:
  virtual ~GroupWatcher() = default;
  virtual void stepped(uint64_t id, const Event& event, const Effects& effects) = 0;
};

class Group {
 public:
  explicit Group(std::size_t members, QuorumTiming timing = QuorumTiming::lan()) : timing_(timing) {
    for (uint64_t id = 1; id <= members; ++id) declared_.push_back(MemberId(id));
  }

  QuorumConfig config(uint64_t id) const {
    QuorumConfig config;
    config.self = MemberId(id);
    config.timing = timing_;
    config.bootstrap = declared_;
    return config;
  }
  void start(uint64_t id) { start(id, config(id)); }
  void start(uint64_t id, QuorumConfig config) {
    Start begin;
    if (const auto disk = disks_.find(id); disk != disks_.end()) begin = {Start::Found::kRecord, disk->second};
    start(id, std::move(config), begin);
  }
  void start(uint64_t id, QuorumConfig config, const Start& begin) {
    members_[id] = std::make_unique<QuorumElector>(std::move(config), ++seed_);
    ++lives_[id];
    say(id, begin);
  }
  void start_all() {
    for (const MemberId id : declared_) start(id.value());
  }
  void stop(uint64_t id) { members_.erase(id), ++lives_[id]; }
  // All up, synced, and led.
  uint64_t lead() {
    start_all();
    for (const MemberId id : declared_) say(id.value(), Synced{});
    run(Duration::seconds(3));
    return leader();
  }

  QuorumElector& operator[](uint64_t id) { return *members_.at(id); }
  void say(uint64_t id, const Event& event) {
    Effects effects;
    members_.at(id)->step(now, event, effects);
    if (watcher != nullptr) watcher->stepped(id, event, effects);
    for (Effect& effect : effects) carry_out(id, std::move(effect));
  }
  void say_message(uint64_t to, uint64_t from, Term term, Body body) {
    say(to, Received{{MemberId(from), term, members_.at(from)->life(), 0, std::move(body)}});
  }

  void run(Duration span) {
    const Instant end = now + span;
    while (true) {
      const Instant next = std::min(events_.empty() ? Instant::never() : events_.begin()->first.first, earliest_wake());
      if (next > end) break;
      now = std::max(now, next);
      if (!events_.empty() && events_.begin()->first.first <= now) {
        const auto event = events_.begin()->second;
        events_.erase(events_.begin());
        if (members_.contains(event.to) && lives_[event.to] == event.life) say(event.to, event.event);
        continue;
      }
      for (auto& [id, member] : members_) {
        if (member->wake() > now) continue;
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
  uint64_t leader() {
    uint64_t found = 0;
    for (auto& [id, member] : members_) {
      if (!member->leads(now)) continue;
      if (found != 0) return 0;
      found = id;
    }
    return found;
  }
  void cut(uint64_t from, uint64_t to) { shut_.insert({from, to}); }
  void isolate(uint64_t id) {
    for (const MemberId other : declared_) cut(id, other.value()), cut(other.value(), id);
  }
  void mend() { shut_.clear(); }

  template <class Kind>
  std::size_t count(uint64_t id) const {
    const auto log = logs_.find(id);
    if (log == logs_.end()) return 0;
    return static_cast<std::size_t>(std::count_if(log->second.begin(), log->second.end(),
                                                  [](const Effect& e) { return std::holds_alternative<Kind>(e); }));
  }
  template <class Kind>
  const Kind* last(uint64_t id) const {
    const Kind* found = nullptr;
    const auto log = logs_.find(id);
    if (log == logs_.end()) return found;
    for (const Effect& effect : log->second) {
      if (const auto* one = std::get_if<Kind>(&effect)) found = one;
    }
    return found;
  }
  template <class Kind>
  const Kind* last_sent(uint64_t id) const {
    const Kind* found = nullptr;
    const auto log = logs_.find(id);
    if (log == logs_.end()) return found;
    for (const Effect& effect : log->second) {
      const auto* sent = std::get_if<Send>(&effect);
      if (sent == nullptr) continue;
      if (const auto* one = std::get_if<Kind>(&sent->message.body)) found = one;
    }
    return found;
  }
  void forget() { logs_.clear(); }

  Instant now = Instant::from_ns(1'000'000'000);
  std::set<uint64_t> hanging_disks;
  std::set<uint64_t> failing_disks;
  bool work_stops_at_once = true;
  GroupWatcher* watcher = nullptr;
  std::map<uint64_t, Record> disks_;

 private:
  struct Due {
    uint64_t to;
    uint64_t life;
    Event event;
  };
  void after(Duration span, uint64_t to, Event event) {
    events_.insert({{now + span, ++sequence_}, Due{to, lives_[to], std::move(event)}});
  }
  Instant earliest_wake() const {
    Instant wake = Instant::never();
    for (const auto& [id, member] : members_) wake = std::min(wake, member->wake());
    return wake;
  }
  void carry_out(uint64_t id, Effect effect) {
    if (const auto* sent = std::get_if<Send>(&effect)) {
      if (!shut_.contains({id, sent->to.value()}))
        after(Duration::millis(1), sent->to.value(), Received{sent->message});
    } else if (const auto* persist = std::get_if<Persist>(&effect)) {
      if (failing_disks.contains(id)) {
        after(Duration::millis(1), id, Persisted{persist->record.version, false, "no space left"});
      } else if (!hanging_disks.contains(id)) {
        disks_[id] = persist->record;
        after(Duration::millis(1), id, Persisted{persist->record.version, true, {}});
      }
    } else if (work_stops_at_once) {
      const auto* ended = std::get_if<TermEnded>(&effect);
      if (std::holds_alternative<Drain>(effect) || (ended != nullptr && ended->work_runs)) {
        after(Duration::zero(), id, WorkStopped{});
      }
    }
    logs_[id].push_back(std::move(effect));
  }

  QuorumTiming timing_;
  std::vector<MemberId> declared_;
  std::map<uint64_t, std::unique_ptr<QuorumElector>> members_;
  std::map<uint64_t, uint64_t> lives_;
  std::map<uint64_t, std::vector<Effect>> logs_;
  std::map<std::pair<Instant, uint64_t>, Due> events_;
  std::set<std::pair<uint64_t, uint64_t>> shut_;
  uint64_t sequence_ = 0;
  uint64_t seed_ = 0;
};

// A group that `first` leads.
template <std::size_t kMembers>
struct LedGroup : testing::Test {
  Group group{kMembers};
  const uint64_t first = group.lead();
};

}  // namespace bellwether::quorum

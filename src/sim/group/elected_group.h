// The world of a group whose members elect a leader, by any rule: quorum_world.cc and vote_world.cc supply the rest.
// First faults happen while a checker watches. Then everything is made whole, and a member must lead within the budget,
// stay, hand over when asked to, and have a timely successor after a crash.
//
// `Kernel` names, beside the needs of kernel_world.h: Received, Persist, Persisted, Message, Record, and kMistakes, a
// table that begins with kGroupMistakes. Its Member is an ElectedMember. World supplies the facts of the rule:
//   start(Member&)
//   takes_part(member)           its votes and promises count
//   term_of(member)
//   state_of(member)             in words
//   slack()                      beyond the budget, for rounds that fail and clocks that run slow
//   recovers_within()
//   calms_within()               from the first leader of a whole group until no other is to come
//   hands_over_within(), crash_budget()
//   wish_to_hand_over()          the event
//   enough_beside(chief)         the members left without this one can elect another
//   is_found_out(member, older)  a member can see that this record is not the newest one of the member
//   end_twin(Member&, Member&)   one of two processes of one id is ended for good
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "sim/group/group_network.h"
#include "sim/group/group_work.h"
#include "sim/group/kernel_world.h"

namespace bellwether::sim {

// The ways to build such an election wrong that all rules share. The quiet time of a member after its start hides
// several of them; those remove it too.
inline constexpr auto kGroupMistakes = std::to_array<Mistake>({
    {"vote-before-durable", "a vote leaves before it is on the disk"},
    {.name = "disk-error-ignored", .what = "a write that failed counts as done", .seed = 89},
    {"vote-forgotten", "the record does not name the member that got the last vote"},
    {"term-forgotten", "a member restarts in term 0"},
    {"promise-forgotten", "a member votes immediately after a restart"},
    {.name = "lost-record-is-new",
     .what = "a member without a record counts as a new member, and no member corrects it",
     .seed = 1269},
    {"older-disk-unnoticed", "a disk goes back in time, and no member compares versions"},
    {"counts-from-answer", "a term counts from the answer, not from the sending of the heartbeat"},
    {.name = "no-margin-for-drift", .what = "clocks are assumed to run at the same rate", .seed = 524},
    {"clock-stops-in-suspend", "the clock stops while the machine sleeps"},
    {"keeps-leading-unrenewed", "a leader without a quorum warns and continues"},
    {"permits-while-acting", "the leader permits a hand-over while its work still runs"},
    {"live-majority", "a majority of the running members is enough"},
    {"work-outlives-term", "the end of a term does not stop the work"},
    {"resource-forgets-fence", "the guarded resource does not compare terms"},
});

template <class Id, class Elector, class Event, class Record>
struct ElectedMember : GroupMember {
  Id id;
  std::unique_ptr<Elector> elector;  // its parts refer to each other, so it stays where it is
  std::vector<Event> missed;         // that came while it was paused
  RecordDisk<Record> disk;
  bool lost = false;   // its record was lost once: it can only follow
  bool spare = false;  // no member of the group that was declared
  bool gone = false;   // for good: another process has taken its place
};

struct GroupSetting {
  std::size_t members = 0;  // 0: drawn
  bool calm = false;        // alike and healthy, and nothing is drawn to differ: to measure in
};

template <class Kernel>
class ElectedGroup : public KernelWorld<Kernel> {
 public:
  using Base = KernelWorld<Kernel>;
  using Member = typename Kernel::Member;
  using Event = typename Kernel::Event;
  using Message = typename Kernel::Message;
  using Record = typename Kernel::Record;
  using Base::after, Base::any, Base::chance, Base::deliver, Base::draw, Base::fail, Base::holds, Base::leader,
      Base::members_, Base::now, Base::prng, Base::resume, Base::run_for, Base::run_until, Base::say, Base::self,
      Base::timeline_, Base::work_, Base::worst_drift_;

  // Figures of the kernel's own timing.
  struct Times {
    Duration lease;
    Duration promise;      // how long a member that starts anew is quiet, at most
    Duration step;         // the normal time of one round of a vote
    Duration sync;         // of a disk, usually, at most
    Duration beat;         // the length of a short fault
    Duration longest_act;  // after the sending of the acknowledged message
    Duration settles;      // from the first start until a first leader is likely
    bool wide = false;     // sites far apart
  };

  ElectedGroup(const RunSettings& settings, GroupSetting setting) : Base(settings), calm_(setting.calm) {
    if (!calm_ && chance(0.3)) worst_drift_ = 0.1;
    Base::clock_stops_in_suspend_ = is("clock-stops-in-suspend");
  }

  bool is(MistakeIn<Kernel::kMistakes> mistake) const { return Base::makes(mistake.number); }

  // --- defaults that a rule of election may override
  bool has_heir(const Member&) const { return true; }
  bool may_be_lost(const Member&) const {
    const auto lost = std::count_if(members_.begin(), members_.end(), [](const Member& one) { return one.lost; });
    return (static_cast<std::size_t>(lost) + 1) * 2 < declared_.size();
  }
  void made_whole(Member&) {}

  void set_up(const Times& times, std::size_t count, std::size_t spares) {
    times_ = times;
    members_.reserve(count + spares + kTwins);
    network_.emplace(timeline_, members_.capacity(), times.wide ? Duration::millis(5) : Duration::micros(50),
                     times.wide ? Duration::millis(60) : Duration::millis(1));
    work_.emplace(*this, timeline_, checker_, Base::work_host(),
                  WorkMistakes{.counts_from_answer = is("counts-from-answer"),
                               .keeps_leading_unrenewed = is("keeps-leading-unrenewed"),
                               .outlives_term = is("work-outlives-term"),
                               .permits_while_acting = is("permits-while-acting"),
                               .forgets_fence = is("resource-forgets-fence")},
                  WorkHabits{.lease = times.lease, .longest_act = times.longest_act, .acts = !calm_});
    for (std::size_t i = 0; i < count + spares; ++i) {
      Member& m = members_.emplace_back();
      m.index = static_cast<uint32_t>(i);
      m.id = decltype(m.id)(i + 1);
      m.spare = i >= count;
      m.clock.base_local = Instant::from_ns(prng().between(0, Duration::hours(1).ns()));
      if (!calm_) m.clock.rate = Base::drawn_rate();
      if (!m.spare) declared_.push_back(m.id);
      work_->add(m);
    }
  }

  // --- members
  bool leads(const Member& m) const { return m.elector && m.elector->leads(m.clock.local(now())); }
  bool crash(Member& m, bool machine) {
    if (!Base::end_life(m, machine)) return false;
    GroupWork::killed(m);
    return true;
  }
  void restart(Member& m) {
    if (!m.spare || m.life > 0) self().start(m);
  }
  void restart_later(Member& m) {
    lose_record(m, 0.15);
    after(draw(Duration::millis(1), times_.lease * 2), [this, &m] { restart(m); });
  }
  bool has_link(const Member& from, decltype(Member::id) to) const {
    return std::any_of(members_.begin(), members_.end(), [&](const Member& other) {
      return other.id == to && other.up && network_->is_open(from.index, other.index);
    });
  }

  // --- messages and disks
  // Sends it, if it is not lost at once, and keeps some to be said again.
  void send(const Member& from, const Member& to, const Message& message) {
    const bool on_its_way = network_->send(from.index, to.index, [this, message, there = to.index] {
      deliver(members_[there], typename Kernel::Received{message});
    });
    if (calm_ || !on_its_way || prng().below(16) != 0) return;
    Old old{message, from.index, to.index};
    if (old_.size() < kReplays) {
      old_.push_back(std::move(old));
    } else {
      old_[prng().below(kReplays)] = std::move(old);
    }
  }
  void voted(Member& voter, election::Term term, decltype(Member::id) candidate) {
    checker_.voted(voter.id.value(), voter.index, term, candidate.value());
    if (kills_voters_ && chance(0.3)) kill_voter(voter);
  }
  void on(Member& m, const typename Kernel::Persist& writing) {
    const Duration usually = draw(Duration::micros(100), calm_ ? Duration::millis(5) : times_.sync);
    m.disk.write(timeline_, writing.record, usually, [this, &m](const Record& written, bool ok) {
      if (!ok) BW_PROBE("elected group: a disk fails");
      deliver(m, typename Kernel::Persisted{written.version, ok || is("disk-error-ignored"), "the disk failed"});
    });
    if (!is("vote-before-durable")) return;
    after(Duration::micros(1), [this, &m, life = m.life, version = writing.record.version] {
      if (m.life == life) deliver(m, typename Kernel::Persisted{version, true, {}});
    });
  }

  // --- office
  void on(Member& m, const election::Renewed& renewed) { work_->renewed(m, renewed.ends, m.elector->stopped_by()); }
  void on(Member& m, const election::Drain& drain) {
    say(m, "drains: " + drain.cause);
    work_->drain(m, calm_ ? Duration::zero() : times_.lease * 2);
  }
  void on(Member& m, const election::TermEnded& ended) { work_->term_ended(m, ended); }
  void on(Member& m, const election::Note& note) { say(m, note.text); }
  void expect_no_acts(const Member& m) {
    if (work_->may_act(m)) fail("I12: a leader hands over while its work runs");
  }

  // --- faults
  bool crash_one(Member& m, bool machine) {
    if (!crash(m, machine)) return false;
    restart_later(m);
    return true;
  }
  bool crash_all() {
    for (Member& m : members_) crash_one(m, true);
    return true;
  }
  bool crash_leader() {
    Member* chief = leader();
    return chief != nullptr && crash_one(*chief, chance(0.5));
  }
  bool pause_one() {
    const Duration span = draw(times_.lease / 2, times_.lease * 3);
    Member& m = any();
    if (!Base::pause_for(m, chance(0.3), span)) return false;
    if (!chance(0.3)) return true;
    // Like a machine that was moved elsewhere: it hears the missed messages, and then none for a while.
    after(span, [this, &m, cut = draw(times_.lease / 2, times_.lease * 3)] {
      BW_PROBE("elected group: a member goes on, and nobody hears it");
      network_->isolate(m.index, static_cast<uint32_t>(members_.size()), cut);
    });
    return true;
  }
  void break_network(void (GroupNetwork::*strike)(const GroupNetwork::Extent&)) {
    ((*network_).*strike)(
        {static_cast<uint32_t>(members_.size()), draw(times_.lease / 4, times_.lease * 4), times_.beat, times_.lease});
  }
  bool break_disk(Member& m) {
    if (chance(0.5)) {
      m.disk.set_failing(prng().unit());
    } else {
      m.disk.set_slow(draw(times_.step, times_.lease * 3));
    }
    after(draw(times_.lease, times_.lease * 6), [&m] { m.disk.mend(); });
    return true;
  }
  // An attacker repeats recorded messages.
  bool replay() {
    for (int i = 0; i < 8 && !old_.empty(); ++i) {
      const Old& old = old_[prng().below(old_.size())];
      network_->travel(
          old.from, old.to, draw(network_->quickest(), network_->slowest()),
          [this, message = old.message, to = old.to] { deliver(members_[to], typename Kernel::Received{message}); });
    }
    return !old_.empty();
  }
  // The trap for an election without memory: one member does not hear the leader any more and stands. Another one,
  // which has just promised itself to the leader, starts anew and is asked for its vote.
  bool undermine() {
    Member* chief = leader();
    Member& candidate = members_[prng().below(declared_.size())];
    Member& voter = members_[prng().below(declared_.size())];
    if (chief == nullptr || &candidate == chief || &voter == chief || &candidate == &voter) return false;
    const Duration span = times_.lease * 4;
    network_->cut(chief->index, candidate.index, span);
    network_->cut(candidate.index, chief->index, span);
    after(draw(times_.lease / 2, times_.lease * 2), [this, &voter, chief = chief->index, span] {
      if (chance(0.5)) {
        network_->cut(chief, voter.index, span);
        network_->cut(voter.index, chief, span);
      }
      if (is("older-disk-unnoticed") && chance(0.5)) {
        roll_back(voter);
        return;
      }
      crash(voter, chance(0.3));
      lose_record(voter, 0.3);
      after(draw(Duration::millis(1), times_.lease / 8), [this, &voter] { self().start(voter); });
    });
    return true;
  }
  // A member that has just voted is killed, and is back at once.
  void kill_voter(Member& m) {
    after(draw(Duration::zero(), times_.step / 2), [this, &m] {
      if (m.spare || !crash(m, false)) return;
      BW_PROBE("elected group: a member is killed right after its vote");
      after(draw(Duration::millis(1), times_.step), [this, &m] { self().start(m); });
    });
  }
  void lose_record(Member& m, double ratio) {
    if (m.lost || m.spare || m.gone || !chance(ratio) || !self().may_be_lost(m)) return;
    BW_PROBE("elected group: a record is lost");
    say(m, "loses its record");
    m.disk.lose();
    m.lost = true;
  }
  // The disk of a member goes back in time. A member that knows better is up; otherwise no member could find out.
  bool roll_back(Member& m) {
    const bool unnoticed = is("older-disk-unnoticed");
    if (m.spare || m.gone || m.lost || m.disk.kept().size() < 2 || !self().may_be_lost(m)) return false;
    const std::size_t kept = 1 + prng().below(m.disk.kept().size() - 1);
    const Record& older = m.disk.kept()[kept - 1];
    if (!unnoticed && !self().is_found_out(m, older)) return false;
    crash(m, true);
    say(m, "goes back to version " + std::to_string(older.version) + " of its record");
    m.disk.roll_back(kept);
    m.lost = true;
    Base::spare_for(times_.promise * 2);
    self().start(m);
    return true;
  }
  bool roll_one_back() { return (is("older-disk-unnoticed") || whole()) && roll_back(any()); }
  // Starts a copy of a member beside it. Either of them may end as a mere follower.
  bool clone(Member& m) {
    if (m.spare || m.gone || m.lost || !m.up || m.paused || twins_ == kTwins || !whole() || !self().may_be_lost(m))
      return false;
    ++twins_;
    Member& twin = members_.emplace_back();
    const uint32_t index = static_cast<uint32_t>(members_.size() - 1);
    static_cast<typename Kernel::Copied&>(twin) = m;
    twin.index = index;
    twin.id = m.id;
    twin.clock = m.clock;
    twin.disk = RecordDisk<Record>(m.disk.kept());
    twin.lost = true;
    work_->add(twin);
    say(m, "is started a second time");
    Base::spare_for(times_.promise * 2);
    self().start(twin);
    after(times_.promise * 2, [this, &m, &twin] { self().end_twin(m, twin); });
    return true;
  }

  bool whole() const {
    return network_->whole() && std::all_of(members_.begin(), members_.end(), [this](const Member& m) {
             return m.spare || m.gone || (m.up && !m.paused && (m.lost || self().takes_part(m)));
           });
  }
  void make_whole() final {
    kills_voters_ = false;
    network_->mend();
    for (Member& m : members_) {
      m.disk.mend();
      resume(m);
      restart(m);
      if (m.up) self().made_whole(m);
    }
  }

  // --- phases
  FaultyWorld::Pace pace() const final {
    return {.least_faults = 4,
            .most_faults = 32,
            .before = times_.settles,
            .gap = times_.lease * 3,
            .after = times_.lease,
            .rest = times_.lease * 7};
  }
  void begin() override {
    kills_voters_ = chance(0.2);
    for (std::size_t i = 0; i < declared_.size(); ++i) {
      after(draw(Duration::zero(), times_.lease), [this, i] { self().start(members_[i]); });
    }
  }
  void expect_recovery() final {
    expect_leader_that_stays();
    if (holds()) expect_hand_over();
    if (holds()) expect_takeover();
  }
  void expect_leader_that_stays() {
    const Duration at_most = self().recovers_within();
    run_until(now() + at_most, [this] { return leader() != nullptr; });
    if (!holds()) return;
    if (leader() == nullptr) {
      return fail("I13: all faults are repaired, but no member leads after " + format_duration(at_most));
    }
    if (!run_for(self().calms_within())) return;
    const uint32_t terms = checker_.terms();
    if (!run_for(times_.lease * 10)) return;
    if (leader() == nullptr) return fail("I13: all faults are repaired, but no member leads");
    if (checker_.terms() != terms) fail("I13: the leader changed although nothing was broken");
  }
  bool other_leads_within(Duration at_most, election::Term after_term) {
    return run_until(now() + at_most, [this, after_term] {
      const Member* chief = leader();
      return chief != nullptr && self().term_of(*chief) > after_term;
    });
  }
  void expect_hand_over() {
    Member* chief = leader();
    if (!self().has_heir(*chief)) return;
    const election::Term term = self().term_of(*chief);
    work_->forget_last_end();
    deliver(*chief, self().wish_to_hand_over());
    if (!other_leads_within(self().hands_over_within(), term)) {
      return fail("I13: no member has taken over after " + format_duration(self().hands_over_within()));
    }
    hand_over_took_ = work_->last_elected_world() - work_->last_end_world();
    run_for(times_.lease * 3);
  }
  void expect_takeover() {
    Member* chief = leader();
    if (chief == nullptr) return fail("I13: the leader is gone although nothing was broken");
    // A member that has lost its record counts as gone already.
    if (!self().enough_beside(*chief)) return;
    const election::Term term = self().term_of(*chief);
    const Duration at_most =
        Duration::from_seconds_f(self().crash_budget().seconds_f() / (1 - worst_drift_)) + self().slack();
    const Instant crashed = now();
    crash(*chief, true);
    if (!other_leads_within(at_most, term)) {
      // The survivor of two processes under one id may be the one that others take for the past one: they silence it
      // once they meet.
      if (twins_ > 0 && !self().enough_beside(*chief)) return;
      return fail("I13: no takeover within " + format_duration(at_most));
    }
    crash_took_ = now() - crashed;
  }
  std::vector<Run::Count> counts() const final {
    return {{"terms", checker_.terms()}, {"late acts refused", work_->refused_acts()}};
  }
  void tell_states() final {
    for (const Member& m : members_) {
      const Instant wake = m.elector ? m.elector->wake() : Instant::never();
      say(m, !m.up ? "is down"
                   : self().state_of(m) + (m.paused ? ", paused" : "") +
                         (wake == Instant::never() ? "; waits for others"
                                                   : "; wakes in " + format_duration(m.clock.world_at(wake) - now())));
    }
  }

  // --- measurements
  // In a calm group whose members have been started: at any part of a heartbeat's interval, `apart` each time at least.
  Takeover take_over(Duration interval, Duration apart) {
    expect_leader_that_stays();
    run_for(draw(Duration::zero(), interval));
    expect_hand_over();
    run_for(apart + draw(Duration::zero(), interval));
    expect_takeover();
    check(holds(), "in a healthy group everything holds");
    return {crash_took_, hand_over_took_};
  }

  bool calm_;
  Times times_;
  std::vector<decltype(Member::id)> declared_;
  GroupChecker checker_{*this};
  std::optional<GroupNetwork> network_;
  bool kills_voters_ = false;
  int twins_ = 0;
  Duration crash_took_;
  Duration hand_over_took_;

 private:
  static constexpr int kTwins = 1;
  static constexpr std::size_t kReplays = 64;
  struct Old {
    Message message;
    uint32_t from;
    uint32_t to;
  };
  std::vector<Old> old_;  // to be replayed
};

template <class World>
inline constexpr auto kGroupFaults = joined(
    kNetworkFaultsOf<World>,
    std::to_array<Fault<World>>({
        {6, "a member crashes", [](World& w) { return w.crash_one(w.any(), w.chance(0.5)); }},
        {1, "all members crash: the power fails", [](World& w) { return w.crash_all(); }},
        {3, "the leader crashes", [](World& w) { return w.crash_leader(); }},
        {6, "a member, or its machine, is paused", [](World& w) { return w.pause_one(); }},
        {8, "a member that has made a promise restarts during a candidacy", [](World& w) { return w.undermine(); }},
        {8, "a disk is slow or fails", [](World& w) { return w.break_disk(w.any()); }},
        {3, "a disk goes back in time", [](World& w) { return w.roll_one_back(); }},
        {3, "one id, two processes", [](World& w) { return w.clone(w.any()); }},
        {8, "a clock runs at another rate", [](World& w) { return w.let_clock_drift(w.any()); }},
        {8, "old messages are replayed", [](World& w) { return w.replay(); }},
    }));

}  // namespace bellwether::sim

// The work that leaders guard, the guardian that ends it in time even when the elector's process gets no turns, and the
// resource of the work.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "core/base/callback.h"
#include "core/base/time.h"
#include "election/elector_events.h"
#include "election/epoch.h"
#include "sim/harness/faulty_world.h"
#include "sim/timeline.h"

namespace bellwether::sim {

// How soon a healthy group in which nothing breaks has another leader.
struct Takeover {
  Duration crash;      // from the crash of the leader to the next one
  Duration hand_over;  // from the end of the old term to the new one
};

// The clock of one simulated member: a rate, and its start.
struct LocalClock {
  Instant base_world;
  Instant base_local;
  double rate = 1;

  Instant local(Instant world) const {
    return base_local + Duration::nanos(static_cast<int64_t>(static_cast<double>((world - base_world).ns()) * rate));
  }
  // The first world time at which the clock shows at least this.
  Instant world_at(Instant when) const {
    if (when == Instant::never()) return Instant::never();
    const double span = static_cast<double>((when - base_local).ns()) / rate;
    return base_world + Duration::nanos(static_cast<int64_t>(span) + 1);
  }
  void set_rate(Instant world, double new_rate) {
    base_local = local(world);
    base_world = world;
    rate = new_rate;
  }
};

// The state of every simulated member, with any kernel: its clock, its process, and the work that it guards while it
// leads. Its times are local; those of the world are named so.
struct GroupMember {
  uint32_t index = 0;
  LocalClock clock;

  uint32_t life = 0;  // grows with each start
  bool up = false;
  bool paused = false;
  bool suspended = false;  // paused with the whole machine
  uint64_t wake_number = 0;

  // The guarded work: see group_work.h.
  bool working = false;
  bool hung = false;  // the work stands still, and stops only when it is killed
  uint64_t work_number = 0;
  election::Term work_term;
  Instant term_ends;  // as reported to the work
  Instant stop_by;    // no act of the work comes later
};

// The rules of every election, by any method and under any faults. Each rule has the name of its invariant. Members go
// by their ids.
template <class Id>
std::vector<uint64_t> values(const std::vector<Id>& ids) {
  std::vector<uint64_t> all;
  for (const Id id : ids) all.push_back(id.value());
  return all;
}

class GroupChecker {
 public:
  explicit GroupChecker(FaultyWorld& world) : world_(world) {}

  // I5: a member votes once a term. Votes of two processes of one id are not compared: one of them is ignored, and I1
  // and I6 hold for the counted votes.
  void voted(uint64_t voter, uint32_t process, election::Term term, uint64_t candidate);
  // I1: one leader a term. I3: the terms of leaders grow. I6: by a majority of the declared members; while the members
  // change, by majorities of the old and of the new ones. No electorates: this group does not vote.
  void elected(uint64_t who, election::Term term, const std::vector<std::vector<uint64_t>>& electorates);
  // I4: the resource accepted an act.
  void accepted(election::Term term);

  uint32_t terms() const { return terms_; }

 private:
  struct Cast {
    election::Term term;
    uint64_t voter;
    uint32_t process;
    auto operator<=>(const Cast&) const = default;
  };
  FaultyWorld& world_;
  std::map<Cast, uint64_t> votes_;  // for each vote the candidate
  election::Term highest_elected_;
  election::Term highest_accepted_;
  uint32_t terms_ = 0;
};

// The well-known ways to guard work wrong.
struct WorkMistakes {
  bool counts_from_answer = false;       // a term is valid from the answer on, not from the question
  bool keeps_leading_unrenewed = false;  // the end of a term that was not renewed is not obeyed
  bool outlives_term = false;            // no end of a term stops the work
  bool caches_leadership = false;        // the work does not ask again whether its term is still valid
  bool permits_while_acting = false;     // the work is reported as stopped before it has
  bool forgets_fence = false;            // the resource does not compare terms
};

struct WorkHabits {
  Duration lease;        // how long the last renewal counts
  Duration longest_act;  // counted from the renewal; all must outlive it
  bool acts = true;
  bool checks_term = true;  // before each act
  bool stubborn = false;    // does not stop when its term has ended: it must be killed
};

class GroupWork {
 public:
  // The callbacks into the world.
  struct Host {
    Callback<void(const GroupMember& member, const std::string& text)> say;
    Callback<void(GroupMember& member)> work_has_stopped;
    Callback<void(GroupMember& member)> has_acted;
  };
  GroupWork(FaultyWorld& world, Timeline& timeline, GroupChecker& checker, Host host, WorkMistakes mistakes,
            WorkHabits habits)
      : world_(world), timeline_(timeline), checker_(checker), host_(host), mistakes_(mistakes), habits_(habits) {}

  // The member must stay where it is.
  void add(GroupMember& member) { members_.push_back(&member); }

  // Its elector has reported it; `stop_by`: the latest end of its last act.
  void elected(GroupMember& member, election::Term term, Instant ends, Instant stop_by);
  void renewed(GroupMember& member, Instant ends, Instant stop_by);
  // The work stops in good order.
  void drain(GroupMember& member, Duration at_most);
  void term_ended(GroupMember& member, const election::TermEnded& ended);
  // Its machine was asleep.
  void woken(GroupMember& member) {
    if (member.working) guard(member, member.work_number);
  }
  // The work has stopped, unless another one has begun.
  void stopped(GroupMember& member, uint64_t work);
  // The work went with its process.
  static void killed(GroupMember& member) {
    member.work_term = election::Term();
    member.working = member.hung = false;
  }
  // Something of it may act at this moment.
  bool may_act(const GroupMember& member) const {
    return member.working && member.clock.local(timeline_.now()) < member.stop_by;
  }

  uint32_t refused_acts() const { return refused_acts_; }
  Instant last_elected_world() const { return last_elected_world_; }
  Instant last_end_world() const { return last_end_world_; }
  void forget_last_end() { last_end_world_ = Instant(); }

 private:
  void expect_nobody_beside(const GroupMember& member);
  void guard(GroupMember& member, uint64_t work);
  void stop_within(GroupMember& member, Duration at_most);
  void act(GroupMember& member, uint64_t work);
  void arrives(election::Term term);
  Duration draw(Duration low, Duration high) { return timeline_.prng().between(low, high); }

  FaultyWorld& world_;
  Timeline& timeline_;
  GroupChecker& checker_;
  Host host_;
  WorkMistakes mistakes_;
  WorkHabits habits_;
  std::vector<GroupMember*> members_;
  election::BasicFenceGuard<election::Term> resource_;
  uint32_t refused_acts_ = 0;
  Instant last_end_world_;  // of a term
  Instant last_elected_world_;
};

}  // namespace bellwether::sim

// The work that leaders of a simulated group guard, the guardian that ends it in time even when the elector's process
// gets no turns, and the resource that the work acts upon.
#pragma once

#include <cstdint>
#include <vector>

#include "election/elector_events.h"
#include "election/fence_guard.h"
#include "sim/group/group_checker.h"
#include "sim/group/group_member.h"
#include "sim/timeline.h"

namespace bellwether::sim {

// The well-known ways to guard work wrong.
struct WorkMistakes {
  bool counts_from_answer = false;       // a term is valid from the answer on, not from the question
  bool keeps_leading_unrenewed = false;  // the end of a term that was not renewed is not obeyed
  bool outlives_term = false;            // no end of a term stops the work
  bool permits_while_acting = false;     // the work is said to have stopped before it has
  bool forgets_fence = false;            // the resource does not compare terms
};

class GroupWork {
 public:
  // Whoever makes members go on.
  class Host {
   public:
    virtual ~Host() = default;
    virtual void say(const GroupMember& member, const std::string& text) = 0;
    virtual void work_has_stopped(GroupMember& member) = 0;
    // Its elector leads, by its own clock.
    virtual bool leads(const GroupMember& member) const = 0;
    virtual void has_acted(GroupMember&) {}
  };
  // `lease`: for how long what was renewed last counts. `longest_act`: counted from the renewal. All must outlive it.
  GroupWork(Timeline& timeline, GroupChecker& checker, Host& host, WorkMistakes mistakes, Duration lease,
            Duration longest_act, bool acts)
      : timeline_(timeline),
        checker_(checker),
        host_(host),
        mistakes_(mistakes),
        lease_(lease),
        longest_act_(longest_act),
        acts_(acts) {}

  // The member must stay where it is.
  void add(GroupMember& member) { members_.push_back(&member); }

  // Its elector has said so; `stop_by`: when its last act has ended at the latest.
  void elected(GroupMember& member, election::Term term, Instant ends, Instant stop_by);
  void renewed(GroupMember& member, Instant stop_by);
  // The work stops in good order, within `at_most`.
  void drain(GroupMember& member, Duration at_most);
  void term_ended(GroupMember& member, const election::TermEnded& ended);
  // Its machine was asleep.
  void woken(GroupMember& member) {
    if (member.working) guard(member, member.work_number);
  }
  // The work went with its process.
  static void killed(GroupMember& member) {
    member.work_term = election::Term();
    member.working = false;
  }

  uint32_t refused_acts() const { return refused_acts_; }
  Instant last_elected_world() const { return last_elected_world_; }
  Instant last_end_world() const { return last_end_world_; }
  void forget_last_end() { last_end_world_ = Instant(); }

 private:
  void expect_nobody_beside(const GroupMember& member);
  void guard(GroupMember& member, uint64_t work);
  void stop_within(GroupMember& member, Duration at_most);
  void stopped(GroupMember& member, uint64_t work);
  void act(GroupMember& member, uint64_t work);
  void arrives(election::Term term);
  Duration draw(Duration low, Duration high) { return timeline_.prng().between(low, high); }

  Timeline& timeline_;
  GroupChecker& checker_;
  Host& host_;
  WorkMistakes mistakes_;
  Duration lease_;
  Duration longest_act_;
  bool acts_;
  std::vector<GroupMember*> members_;
  election::BasicFenceGuard<election::Term> resource_;
  uint32_t refused_acts_ = 0;
  Instant last_end_world_;  // of a term
  Instant last_elected_world_;
};

}  // namespace bellwether::sim

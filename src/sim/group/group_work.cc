#include "sim/group/group_work.h"

#include <algorithm>
#include <string>

#include "core/base/probe.h"
#include "core/base/units.h"

namespace bellwether::sim {
namespace {

std::string name(uint64_t who) { return fmt::format("member {}", who); }
std::string show(election::Term term) { return fmt::format("term {}", term.value()); }

}  // namespace

void GroupChecker::voted(uint64_t voter, uint32_t process, election::Term term, uint64_t candidate) {
  const auto [place, first] = votes_.try_emplace({term, voter, process}, candidate);
  if (first || place->second == candidate) return;
  world_.fail(
      fmt::format("I5: {} votes for {} in {} after {}", name(voter), name(candidate), show(term), name(place->second)));
}

void GroupChecker::elected(uint64_t who, election::Term term, const std::vector<std::vector<uint64_t>>& electorates) {
  ++terms_;
  if (term == highest_elected_) world_.fail(fmt::format("I1: a second leader in {}: {}", show(term), name(who)));
  if (term < highest_elected_) {
    world_.fail(fmt::format("I3: {} leads in {} after {}", name(who), show(term), show(highest_elected_)));
  }
  highest_elected_ = std::max(highest_elected_, term);
  const auto votes = [&](const std::vector<uint64_t>& list) {
    return static_cast<std::size_t>(std::count_if(list.begin(), list.end(), [&](uint64_t voter) {
      auto vote = votes_.lower_bound({term, voter, 0});
      while (vote != votes_.end() && vote->first.term == term && vote->first.voter == voter && vote->second != who)
        ++vote;
      return vote != votes_.end() && vote->first.term == term && vote->first.voter == voter;
    }));
  };
  for (const std::vector<uint64_t>& electorate : electorates) {
    if (votes(electorate) > electorate.size() / 2) continue;
    world_.fail(fmt::format("I6: {} leads in {} without a majority of the declared members", name(who), show(term)));
  }
}

void GroupChecker::accepted(election::Term term) {
  if (term < highest_accepted_) {
    world_.fail(fmt::format("I4: the resource accepted {} after {}", show(term), show(highest_accepted_)));
  }
  highest_accepted_ = std::max(highest_accepted_, term);
}

using election::Term;

void GroupWork::elected(GroupMember& member, Term term, Instant ends, Instant stop_by) {
  host_.say(member, fmt::format("elected, term {}", term.value()));
  timeline_.record(term.value() * 64 + member.index);
  if (member.working) world_.fail("I10: a term begins before the work of the last one has stopped");
  if (ends <= member.clock.local(timeline_.now())) world_.fail("I9: a term ends before it begins");
  member.working = true;
  member.hung = false;
  member.work_term = term;
  member.term_ends = ends;
  member.stop_by = stop_by;
  last_elected_world_ = timeline_.now();
  expect_nobody_beside(member);
  const uint64_t work = ++member.work_number;
  guard(member, work);
  act(member, work);
}

void GroupWork::renewed(GroupMember& member, Instant ends, Instant stop_by) {
  member.term_ends = ends;
  member.stop_by = mistakes_.counts_from_answer ? member.clock.local(timeline_.now()) + habits_.longest_act : stop_by;
  expect_nobody_beside(member);
}

// I2 and I8: while this one may act, no other member may.
void GroupWork::expect_nobody_beside(const GroupMember& member) {
  for (const GroupMember* other : members_) {
    if (other == &member || !other->working || other->suspended) continue;
    const Instant until = other->clock.world_at(other->stop_by);
    if (until <= timeline_.now()) continue;
    world_.fail(fmt::format("I2: members {} and {} may act at once for another {}", member.index + 1, other->index + 1,
                            format_duration(until - timeline_.now())));
  }
}

// Ends the work when its time has come, regardless of the elector's process.
void GroupWork::guard(GroupMember& member, uint64_t work) {
  const Instant at = std::max(member.clock.world_at(member.stop_by), timeline_.now());
  timeline_.after(at - timeline_.now(), [this, &member, work] {
    if (!member.working || member.work_number != work || member.suspended) return;
    if (may_act(member)) {
      guard(member, work);  // renewed, or the clock runs slower by now
    } else {
      stopped(member, work);
    }
  });
}

void GroupWork::stopped(GroupMember& member, uint64_t work) {
  if (!member.working || member.work_number != work) return;
  member.working = member.hung = false;
  host_.say(member, "work has stopped");
  host_.work_has_stopped(member);
}

void GroupWork::stop_within(GroupMember& member, Duration at_most) {
  if (!member.working || member.hung) return;
  timeline_.after(draw(Duration::zero(), at_most),
                  [this, &member, work = member.work_number] { stopped(member, work); });
}

void GroupWork::drain(GroupMember& member, Duration at_most) {
  if (mistakes_.permits_while_acting) {
    timeline_.after(Duration::micros(1), [this, &member] { host_.work_has_stopped(member); });
    return;
  }
  stop_within(member, at_most);
}

void GroupWork::term_ended(GroupMember& member, const election::TermEnded& ended) {
  host_.say(member, fmt::format("term ends: {}: {}", to_string(ended.reason), ended.why));
  const Instant now = member.clock.local(timeline_.now());
  last_end_world_ = timeline_.now();
  if (!ended.work_runs || !member.working) return;
  member.term_ends = std::min(member.term_ends, now);
  const bool expired = ended.reason == election::EndReason::kExpired;
  if (mistakes_.keeps_leading_unrenewed && expired) {
    member.stop_by = now + Duration::hours(24);
    return;
  }
  if (mistakes_.counts_from_answer && expired) return;
  if (mistakes_.outlives_term) {
    member.stop_by = now + habits_.lease * 3;
    return guard(member, member.work_number);
  }
  member.stop_by = std::min(member.stop_by, ended.stop_by);
  guard(member, member.work_number);
  const Instant last = member.clock.world_at(member.stop_by);
  if (last > timeline_.now() && !habits_.stubborn) stop_within(member, last - timeline_.now());
}

void GroupWork::act(GroupMember& member, uint64_t work) {
  if (!habits_.acts || !member.working || member.work_number != work) return;
  if (!member.suspended && !member.hung && may_act(member)) {
    const bool valid = member.clock.local(timeline_.now()) < member.term_ends;
    if (valid || !habits_.checks_term || mistakes_.caches_leadership) {
      if (!valid && habits_.checks_term) world_.fail("I9: an act after the end of the term");
      timeline_.after(draw(Duration::zero(), habits_.lease * 2), [this, term = member.work_term] { arrives(term); });
      host_.has_acted(member);
    }
  }
  timeline_.after(draw(habits_.lease / 16, habits_.lease / 4), [this, &member, work] { act(member, work); });
}

// I4: acts sent under an earlier term have no effect.
void GroupWork::arrives(Term term) {
  if (mistakes_.forgets_fence) resource_ = {};
  if (resource_.admit(term) == decltype(resource_)::Answer::kRefused) {
    BW_PROBE("group work: the resource refuses a late act");
    ++refused_acts_;
    return;
  }
  checker_.accepted(term);
}

}  // namespace bellwether::sim

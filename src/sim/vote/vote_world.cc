#include "sim/vote/vote_world.h"

#include <algorithm>

#include "base/check.h"
#include "sim/vote/vote_run.h"

namespace bellwether::sim {
namespace {

constexpr int kFaultsMin = 4;
constexpr int kFaultsMax = 32;
constexpr std::size_t kTwin = 1;
constexpr std::size_t kLargest = 100;
constexpr double kLargeShare = 0.0005;  // of the worlds

vote::VoteTiming timing_for(Prng& prng, VoteMistake mistake, double drift) {
  auto timing = prng.chance(0.7) ? vote::VoteTiming::lan() : vote::VoteTiming::standard();
  timing.drift = drift;
  if (mistake == VoteMistake::kNoMarginForDrift) timing.stop_grace = Duration::zero();
  return timing;
}

std::size_t count_for(Prng& prng) {
  if (prng.chance(kLargeShare)) return 10 + prng.below(kLargest - 9);
  return 3 + prng.below(prng.chance(0.3) ? 7 : 3);
}

}  // namespace

VoteWorld::VoteWorld(uint64_t seed, VoteMistake mistake, bool trace, Setting setting)
    : GroupWorld(seed, trace),
      mistake_(mistake),
      calm_(setting.calm),
      worst_drift_(!calm_ && prng().chance(0.3) ? 0.1 : 0.01),
      timing_(calm_ ? setting.timing : timing_for(prng(), mistake, worst_drift_)),
      needs_keys_(!calm_ && prng().chance(0.2)) {
  const std::size_t count = setting.nodes != 0 ? setting.nodes : count_for(prng());
  members_.reserve(count + kTwin);
  keeps_old_ = !calm_;
  const bool wide = lease() > Duration::seconds(2);
  network_.emplace(timeline_, members_.capacity(), wide ? Duration::millis(5) : Duration::micros(50),
                   wide ? Duration::millis(60) : Duration::millis(1));
  const WorkMistakes mistakes{.counts_from_answer = is(VoteMistake::kCountsFromAnswer),
                              .keeps_leading_unrenewed = is(VoteMistake::kKeepsLeadingUnrenewed),
                              .outlives_term = is(VoteMistake::kWorkOutlivesTerm),
                              .permits_while_acting = is(VoteMistake::kPermitsWhileActing),
                              .forgets_fence = is(VoteMistake::kResourceForgetsFence)};
  Host& host = *this;
  work_.emplace(timeline_, checker_, host, mistakes, lease(), timing_.longest_act(), !calm_);
  for (std::size_t i = 0; i < count; ++i) {
    VoteMember& m = members_.emplace_back();
    m.index = static_cast<uint32_t>(i);
    m.id = vote::NodeId(i + 1);
    m.clock.base_local = Instant::from_ns(prng().between(0, Duration::hours(1).ns()));
    m.clock.rate = calm_ ? 1 : 1 + (prng().unit() * 2 - 1) * worst_drift_ * 0.99;
    m.claim.capabilities = {"admin_election"};
    if (!calm_ && i > 1 && prng().chance(0.2)) m.claim.capabilities = {"semantic_analysis"};  // it does not stand
    m.claim.resources = {0.5, 0.5, 0.5, 0.9};
    if (!calm_) m.claim.resources.cpu_used = prng().unit();
    declared_.push_back(m.id);
    work_->add(m);
  }
}

// What an election may take beyond its budget: rounds that split because voters do not believe the same candidates,
// which those wait out who do not know it; keys that are put together, and clocks that run slow.
Duration VoteWorld::slack() const {
  const Duration round = timing_.election + timing_.discovery_backoff * 2;
  return Duration::from_seconds_f((round * 5 + lease() * 2).seconds_f() / (1 - worst_drift_));
}

void VoteWorld::expect_admin_that_stays() {
  // A node that has just started is quiet for a promise, an heir may let others wait, and discovery takes its time.
  const Duration at_most = timing_.promise() * 4 + timing_.discovery * 4 + timing_.transfer * 2 + slack() * 3;
  const Instant end = now() + at_most;
  run_until(end, [this] { return leader() != nullptr; });
  if (!checker_.violation().empty()) return;
  if (leader() == nullptr) {
    return checker_.fail("I13: nothing is broken any more, and nobody leads after " + format_duration(at_most), now());
  }
  // What was asked for before may still come.
  if (!run_until(now() + lease() * 6 + timing_.transfer * 2 + timing_.discovery * 2)) return;
  const uint32_t terms = checker_.terms();
  if (!run_until(now() + lease() * 10)) return;
  if (leader() == nullptr) return checker_.fail("I13: nothing is broken any more, and nobody leads", now());
  if (checker_.terms() != terms) checker_.fail("I13: the admin changed although nothing was broken", now());
}

bool VoteWorld::other_leads(election::Term after) {
  const VoteMember* chief = leader();
  return chief != nullptr && chief->elector->admin_term() > after;
}

// Those that are left can elect one of them.
bool VoteWorld::enough_beside(const VoteMember& chief) const {
  std::size_t voters = 0;
  bool stands = false;
  for (const VoteMember& m : members_) {
    if (&m == &chief || !m.up || m.elector->follows_only()) continue;
    ++voters;
    stands |= m.elector->stands();
  }
  return stands && voters >= vote::majority_of(declared_.size());
}

void VoteWorld::expect_hand_over() {
  VoteMember* chief = leader();
  const bool somebody = std::any_of(members_.begin(), members_.end(),
                                    [&](const VoteMember& m) { return &m != chief && m.up && m.elector->stands(); });
  if (!somebody) return;
  const election::Term term = chief->elector->admin_term();
  work_->forget_last_end();
  deliver(*chief, vote::Transfer{vote::kNobody, "asked to"});
  const Duration at_most = lease() * 4 + timing_.transfer + slack();
  if (!run_until(now() + at_most, [&] { return other_leads(term); })) {
    return checker_.fail("I13: nobody has taken over after " + format_duration(at_most), now());
  }
  hand_over_took_ = work_->last_elected_world() - work_->last_end_world();
  run_until(now() + lease() * 3);
}

void VoteWorld::expect_takeover() {
  VoteMember* chief = leader();
  if (chief == nullptr) return checker_.fail("I13: the admin is gone although nothing was broken", now());
  if (!enough_beside(*chief)) return;
  const election::Term term = chief->elector->admin_term();
  const auto sum = vote::budget_of(timing_, {network_->usually_slowest() * 2, timing_.gather / 4});
  const Duration budget = Duration::from_seconds_f(sum.crash_worst.total.seconds_f() / (1 - worst_drift_));
  const Instant crashed = now();
  crash(*chief, true);
  if (!run_until(now() + budget + slack(), [&] { return other_leads(term); })) {
    return checker_.fail("I13: no takeover within " + format_duration(budget + slack()), now());
  }
  crash_took_ = now() - crashed;
}

VoteRun VoteWorld::live() {
  kills_voters_ = prng().chance(0.2);
  keys_are_there_ = !needs_keys_ || prng().chance(0.5);
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    timeline_.after(draw(Duration::zero(), lease()), [this, i] { start(members_[i]); });
  }
  const auto faults = static_cast<int>(prng().between(kFaultsMin, kFaultsMax));
  Duration after = timing_.discovery * 2;
  for (int i = 0; i < faults; ++i) {
    after += draw(Duration::zero(), lease() * 3);
    timeline_.after(after, [this] { something_goes_wrong(); });
  }
  if (run_until(now() + after + lease())) {
    make_whole();
    // What is still scheduled to break or mend has happened after seven leases.
    if (run_until(now() + lease() * 7)) {
      make_whole();
      expect_admin_that_stays();
      if (checker_.violation().empty()) expect_hand_over();
      if (checker_.violation().empty()) expect_takeover();
    }
  }
  if (!checker_.violation().empty()) tell_states();
  VoteRun run;
  run.violation = checker_.violation();
  run.fingerprint = timeline_.fingerprint();
  run.nodes = static_cast<uint32_t>(declared_.size());
  run.terms = checker_.terms();
  run.events = events_;
  run.refused_acts = work_->refused_acts();
  run.lived = now() - Instant();
  run.trace = std::move(trace_);
  return run;
}

// --- what is measured ------------------------------------------------------------------------------------------------

VoteTakeover VoteWorld::take_over() {
  for (VoteMember& m : members_) start(m);
  expect_admin_that_stays();
  // At any part of a heartbeat's interval.
  run_until(now() + draw(Duration::zero(), lease() * 2));
  expect_hand_over();
  // Out of the window in which an admin is not challenged.
  run_until(now() + timing_.leader_min_term + draw(Duration::zero(), lease() * 2));
  expect_takeover();
  check(checker_.violation().empty(), "in a healthy group everything holds");
  return {crash_took_, hand_over_took_};
}

uint32_t VoteWorld::live_with_noise(Duration time) {
  for (VoteMember& m : members_) start(m);
  expect_admin_that_stays();
  const uint32_t terms = checker_.terms();
  const Instant end = now() + time;
  while (now() < end && checker_.violation().empty()) {
    // Measurements go up and down, by as much as a busy machine's do within half a minute.
    for (VoteMember& m : members_) {
      m.claim.resources = {0.5 + 0.4 * (prng().unit() - 0.5), 0.5, 0.5, 0.9 + 0.1 * (prng().unit() - 0.5)};
      measure(m);
    }
    run_until(now() + lease());
  }
  check(checker_.violation().empty(), "in a healthy group everything holds");
  return checker_.terms() - terms;
}

VoteTakeover measure_vote_takeover(uint64_t seed, std::size_t nodes, const vote::VoteTiming& timing) {
  return VoteWorld(seed, VoteMistake::kNone, false, {nodes, true, timing}).take_over();
}

uint32_t changes_under_noise(uint64_t seed, Duration time) {
  return VoteWorld(seed, VoteMistake::kNone, false, {5, true, vote::VoteTiming::standard()}).live_with_noise(time);
}

VoteRun live_vote(uint64_t seed, VoteMistake mistake, bool trace) { return VoteWorld(seed, mistake, trace, {}).live(); }

}  // namespace bellwether::sim
